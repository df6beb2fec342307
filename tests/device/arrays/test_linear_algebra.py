"""matmul, vecdot and tensordot beside NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import counting, has, ordinary
from tests.support.depth import NIGHTLY
from tests.support.rehearsal import rehearsal

MATMUL = [
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((2, 3), (3, 4)),
    ((32, 64), (64, 48)),
    ((40, 67), (67, 33)),
    ((7, 1, 5, 6), (4, 6, 2)),
    ((1, 1), (1, 1)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((2, 3), (3, 0)),
]
# Interpreted, all shapes are multiplied in many dtypes: see tests/unit/plan/test_contract.py.
OF_ALL_DTYPES = (
    MATMUL if NIGHTLY else [((3,), (3,)), ((5, 2, 3), (3,)), ((40, 67), (67, 33)), ((7, 1, 5, 6), (4, 6, 2))]
)


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


PRODUCTS = [
    (*shapes, dtype) for dtype in ("f4", "f8", "i4", "u1") for shapes in (MATMUL if dtype == "f4" else OF_ALL_DTYPES)
]


@pytest.fixture(scope="module")
def products(runtime: Runtime) -> None:
    """The kernels of all, built together."""
    with ocl.use(runtime), rehearsal(runtime):
        for left, right, dtype in PRODUCTS:
            if has(runtime, dtype):
                (ocl.asarray(ordinary(dtype, *left)) @ ocl.asarray(ordinary(dtype, *right))).compute()


@pytest.mark.sample(4)
@pytest.mark.parametrize(("left", "right", "dtype"), PRODUCTS, ids=str)
@pytest.mark.usefixtures("products")
def test_matmul(runtime: Runtime, left: tuple[int, ...], right: tuple[int, ...], dtype: str) -> None:
    if not has(runtime, dtype):
        pytest.skip(f"no {dtype} here")
    x, y = ordinary(dtype, *left, seed=1), ordinary(dtype, *right, seed=2)
    with ocl.use(runtime):
        found = (ocl.asarray(x) @ ocl.asarray(y)).numpy()
    expected = np.matmul(x, y)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert (found == expected).all()


def test_real_matrices_are_within_the_bound_of_their_sums(runtime: Runtime) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((120, 500), dtype="f4"), rng.standard_normal((500, 90), dtype="f4")
    with ocl.use(runtime):
        a, b = ocl.asarray(x), ocl.asarray(np.ascontiguousarray(y.T)).T
        found = ocl.matmul(a, b).numpy()
        again = ocl.matmul(a, ocl.asarray(y)).numpy()
    scale = np.abs(x).astype("f8") @ np.abs(y).astype("f8")
    assert (np.abs(found - x.astype("f8") @ y.astype("f8")) <= 500 * 2.0**-24 * scale).all()
    assert (found == again).all()  # the order does not depend on how the matrices lie


@pytest.mark.parametrize("axes", [0, 1, 2, ((1,), (0,)), ((0, 2), (1, 0)), ((-1,), (-1,))], ids=str)
def test_tensordot(runtime: Runtime, axes: Any) -> None:
    shapes = {0: ((2, 3), (4,)), 1: ((2, 3), (3, 4)), 2: ((2, 3, 4), (3, 4, 5))}
    others = {
        ((1,), (0,)): ((2, 3), (3, 4)),
        ((0, 2), (1, 0)): ((2, 5, 3), (3, 2, 4)),
        ((-1,), (-1,)): ((2, 3), (4, 3)),
    }
    left, right = shapes[axes] if isinstance(axes, int) else others[axes]
    x, y = ordinary("f4", *left, seed=1), ordinary("f4", *right, seed=2)
    with ocl.use(runtime):
        found = ocl.tensordot(ocl.asarray(x), ocl.asarray(y), axes=axes).numpy()
    assert (found == np.tensordot(x, y, axes=axes)).all()


@pytest.mark.parametrize(("left", "right", "axis"), [((4,), (4,), -1), ((3, 4), (4,), -1), ((5, 4), (3, 5, 4), -2)])
def test_vecdot(runtime: Runtime, left: tuple[int, ...], right: tuple[int, ...], axis: int) -> None:
    x, y = ordinary("i4", *left, seed=1), ordinary("i4", *right, seed=2)
    with ocl.use(runtime), counting(runtime) as counted:
        found = ocl.vecdot(ocl.asarray(x), ocl.asarray(y), axis=axis)
        assert (found.numpy() == (x * y).sum(axis)).all()
        assert found.dtype == np.int32
    assert counted["launch", "launches"] == 1  # the products are never stored


def test_a_new_size_builds_no_kernel(runtime: Runtime) -> None:
    with ocl.use(runtime):

        def product(m: int, k: int, n: int) -> None:
            x, y = ordinary("f4", m, k), ordinary("f4", k, n)
            assert ((ocl.asarray(x) @ ocl.asarray(y)).numpy() == x @ y).all()

        product(64, 80, 96)
        with counting(runtime) as counted:
            product(96, 112, 64)
            product(160, 48, 128)
        assert counted["kernel", "misses"] == 0


def test_promotion_and_in_place(runtime: Runtime) -> None:
    with ocl.use(runtime):
        x, y = ocl.asarray(ordinary("f4", 3, 3, seed=1)), ocl.asarray(ordinary("i2", 3, 3, seed=2))
        assert (x @ y).dtype == np.float32
        expected = x.numpy() @ y.numpy()
        x @= y
        assert (x.numpy() == expected).all()
        with pytest.raises(DTypeError, match="in place"):
            y @= x


def test_what_does_not_fit_is_refused(runtime: Runtime) -> None:
    with ocl.use(runtime):
        x, y = ocl.ones((2, 3)), ocl.ones((4, 5))
        with pytest.raises(ShapeError, match=r"matmul of shapes \(2, 3\) and \(4, 5\)"):
            x @ y
        with pytest.raises(ShapeError, match="need axes"):
            ocl.matmul(ocl.ones(()), x)
        with pytest.raises(DTypeError, match="number"):
            x @ 2  # type: ignore[operator]
        with pytest.raises(DTypeError, match="bools"):
            ocl.matmul(x > 0, x > 0)
        with pytest.raises(ShapeError, match="vecdot"):
            ocl.vecdot(x, y)
        with pytest.raises(ShapeError, match="tensordot"):
            ocl.tensordot(x, y, axes=3)
