"""Sorting against NumPy, by the interpreter of kernel IR, which finds races."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ocl_runtime.arrays as xp
import ocl_runtime.numpy as ours
from ocl_ir.bfloat16 import HELD
from ocl_runtime.errors import Error
from ocl_runtime.plan.kernels import sort
from ocl_runtime.plan.target import Target
from tests.support.arrays import DTYPES, elements
from tests.support.interpreted import InterpretedRuntime

QUICK = settings(
    max_examples=max(1, settings.default.max_examples // 6),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
TARGETS = {
    "gpu": Target(kind="gpu", compute_units=3, group_size=8),
    "cpu": Target(kind="cpu", compute_units=2, group_size=4, vector_bytes=64),
}
LONG = {"gpu": Target(kind="gpu", compute_units=3, group_size=64, fp16=True), "cpu": TARGETS["cpu"]}
"""Two masks of 32 work-items for each digit, and one work-item."""


@pytest.fixture(params=TARGETS)
def runtime(request: pytest.FixtureRequest) -> InterpretedRuntime:
    return InterpretedRuntime(TARGETS[request.param])


@pytest.fixture(params=LONG)
def long(request: pytest.FixtureRequest) -> InterpretedRuntime:
    return InterpretedRuntime(LONG[request.param])


def places(host: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """NumPy's stable argsort, by the values alone."""
    if not descending:
        return np.argsort(host, axis=axis, kind="stable")
    backwards = np.argsort(np.flip(host, axis), axis=axis, kind="stable")
    return np.flip(host.shape[axis] - 1 - backwards, axis)


def check(host: np.ndarray, x: xp.Array, axis: int, descending: bool) -> None:
    """That both functions give the very bits that a stable sort gives."""
    wanted = places(host, axis, descending)
    found = xp.argsort(x, axis=axis, descending=descending).numpy()
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, wanted)
    ordered = xp.sort(x, axis=axis, descending=descending)
    assert ordered.dtype == x.dtype
    assert ordered.numpy().tobytes() == np.take_along_axis(host, wanted, axis).tobytes()


@given(data=st.data())
@QUICK
def test_sorts_are_numpys(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=9))
    host = elements(data.draw(st.sampled_from(DTYPES)), shape, data.draw(st.integers(0, 9)))
    axis = data.draw(st.integers(-host.ndim, host.ndim - 1))
    key = data.draw(st.sampled_from([np.s_[...], np.s_[::-1], np.s_[..., ::2], np.s_[..., None], np.s_[1:]]))
    with xp.use(runtime):
        check(host[key], xp.asarray(host)[key], axis, data.draw(st.booleans()))


LENGTHS = (255, 256, 257, 511, 512, 513, 1023, 1024, 1025)
"""Around the longest rows that are sorted at once, and the ends of tiles."""


@given(data=st.data())
@settings(QUICK, max_examples=max(1, settings.default.max_examples // 20))
def test_long_rows(long: InterpretedRuntime, data: st.DataObject) -> None:
    length, axis = data.draw(st.sampled_from(LENGTHS)), data.draw(st.integers(0, 1))
    shape = (2, length) if axis else (length, 2)
    host = elements(data.draw(st.sampled_from(DTYPES)), shape, length)
    key = data.draw(st.sampled_from([np.s_[...], np.s_[::-1, ::-1], np.s_[:1], np.s_[:, 1:]]))
    with xp.use(long):
        check(host[key], xp.asarray(host)[key], axis, data.draw(st.booleans()))


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["i2", "f4"])
def test_tiles_of_a_cpu(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of several tiles, each of a work-item."""
    monkeypatch.setattr(sort, "_LEAST_TILE", 40)
    host = elements(dtype, (2, 300), 5)
    with xp.use(InterpretedRuntime(TARGETS["cpu"])):
        check(host, xp.asarray(host), -1, False)


@pytest.mark.parametrize("length", [7, 600])
def test_bfloat16(long: InterpretedRuntime, length: int) -> None:
    host = np.random.default_rng(3).integers(0, 2**16, length).astype(np.uint16)
    wide = (host.astype(np.uint32) << 16).view(np.float32)
    with xp.use(long):
        x = xp.asarray(host.view(HELD))
        np.testing.assert_array_equal(xp.argsort(x).numpy(), np.argsort(wide, kind="stable"))
        assert str(xp.sort(x).dtype) == "bfloat16"
        np.testing.assert_array_equal(xp.astype(xp.sort(x), "f4").numpy(), np.sort(wide))


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", ["f2", "f4"])
@pytest.mark.parametrize("length", [9, 600])
def test_what_stands_before_and_behind(long: InterpretedRuntime, dtype: str, length: int) -> None:
    host = np.random.default_rng(length).integers(-9, 9, (3, length)).astype(dtype)
    with xp.use(long):
        x = xp.asarray(host)
        found = xp.sort(x * 2 + 1, axis=0) - 1
        np.testing.assert_array_equal(found.numpy(), np.sort(host * 2 + 1, axis=0) - 1)
        squares = xp.argsort(x * x, axis=1)
        np.testing.assert_array_equal(squares.numpy(), np.argsort(host * host, axis=1, kind="stable"))
        taken = xp.take_along_axis(x, squares, axis=1)
        np.testing.assert_array_equal(
            taken.numpy(), np.take_along_axis(host, np.argsort(host * host, axis=1, kind="stable"), 1)
        )


def test_the_operand_is_computed_by_the_first_kernel() -> None:
    runtime = InterpretedRuntime(TARGETS["gpu"])
    with xp.use(runtime):
        x = xp.asarray(np.arange(5, dtype="f4"))
        runtime.launched.clear()
        np.testing.assert_array_equal(xp.sort(2 - x).numpy(), [-2, -1, 0, 1, 2])
        assert [launch.kernel.name for launch in runtime.launched] == ["sub_sort_rows"]
        runtime.launched.clear()
        xp.argsort(xp.asarray(np.arange(65, dtype="u1")) + 1).compute()
        names = [launch.kernel.name for launch in runtime.launched]
        assert (names[0], names[-1]) == ("add_count_digits", "add_argsort_by_digit")
        assert sum("count_digits" in name for name in names) == 1


def test_a_row_without_elements_and_one_of_one() -> None:
    with xp.use(InterpretedRuntime()):
        for shape, axis in (((0,), 0), ((3, 0), 1), ((0, 3), 1), ((3, 1), 1)):
            x = xp.zeros(shape)
            assert xp.sort(x, axis=axis).shape == shape
            assert xp.argsort(x, axis=axis).numpy().tolist() == np.zeros(shape, int).tolist()
        everywhere = xp.broadcast_to(xp.asarray(3.0), (2, 70))
        np.testing.assert_array_equal(xp.argsort(everywhere).numpy(), np.tile(np.arange(70), (2, 1)))
        np.testing.assert_array_equal(xp.sort(everywhere).numpy(), np.full((2, 70), 3.0))


@pytest.mark.parametrize("dtype", ["i4", "u1", "?", "f4", "c8"])
def test_descending_of_numpys(dtype: str) -> None:
    """NaN is last there, too; equal elements stay in their order."""
    host = (np.random.default_rng(1).integers(0, 4, (3, 9)) * (0.5 if dtype in "f4c8" else 1)).astype(dtype)
    if dtype == "c8":
        host += np.arange(9) % 2 * 1j
    if dtype in {"f4", "c8"}:
        host[0, 2] = host[2, 5] = np.nan
    wanted = [sorted(row, key=lambda x: (np.isnan(x), -float(np.real(x)), -float(np.imag(x)))) for row in host]
    with xp.use(InterpretedRuntime(TARGETS["cpu"])):
        x = xp.asarray(host)
        np.testing.assert_array_equal(ours.sort(x, descending=True).numpy(), wanted)
        places = ours.argsort(x, descending=True).numpy()
        np.testing.assert_array_equal(np.take_along_axis(host, places, axis=1), wanted)
        same = np.take_along_axis(host, places, axis=1)
        assert (np.diff(places, axis=1)[same[:, 1:] == same[:, :-1]] > 0).all()
        np.testing.assert_array_equal(ours.sort(x, descending=False).numpy(), np.sort(host))
        with pytest.raises(Error, match="descending=True"):
            ours.sort(x, kind="stable", descending=True)
