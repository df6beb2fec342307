"""Products of matrices, planned for a GPU and for a CPU and run by the interpreter."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.errors import DTypeError, ShapeError
from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer, Contract, Node, Scalar
from ocl_ir.graph.printer import text
from ocl_ir.layout import Layout
from ocl_ir.types import BOOL, F16, F32, I8, I32, DType, Pointer
from tests.support.depth import NIGHTLY
from tests.support.graphs import is_same
from tests.support.interpreted import InterpretedRuntime
from tests.unit.plan.test_plan import CPU, GPU, Desk

SHAPES = [
    ((), 1, 1, 1),
    ((), 5, 7, 9),
    ((), 33, 70, 40),
    ((), 40, 3, 35),
    ((2, 3), 9, 20, 17),
    ((), 1, 4200, 2),
    ((4,), 2, 300, 1),
]


def buffer(*shape: int, dtype: DType = F32) -> Buffer:
    return graph.buffer(object(), dtype, Layout.contiguous(shape))


@pytest.fixture(params=[GPU, CPU], ids=["gpu", "cpu"])
def desk(request: pytest.FixtureRequest) -> Desk:
    return Desk(request.param)


LONG = 4_000
"""Multiplications; interpreting more of them takes seconds."""


@pytest.mark.parametrize(("batch", "m", "k", "n", "dtype"), [
    (*shape, dtype)
    for shape, dtype in itertools.product(SHAPES, ["f4", "f2", "i4", "i1", "u8"])
    if NIGHTLY or math.prod([*shape[0], *shape[1:]]) < LONG or dtype == ("f4" if shape[2] < 1000 else "i1")
])  # fmt: skip
def test_whole_numbers_are_exact(desk: Desk, batch: tuple[int, ...], m: int, k: int, n: int, dtype: str) -> None:
    rng = np.random.default_rng(m * k * n)
    low = 0 if dtype[0] == "u" else -2
    left, right = rng.integers(low, 3, (*batch, m, k)).astype(dtype), rng.integers(low, 3, (*batch, k, n)).astype(dtype)
    expected = (left.astype("i8") @ right.astype("i8")).astype(dtype)
    assert (desk.values(graph.contract(desk.buffer(left), desk.buffer(right))) == expected).all()


@pytest.mark.parametrize("turned", [(False, True), (True, False), (True, True)])
def test_transposed_matrices_are_read_where_they_lie(desk: Desk, turned: tuple[bool, bool]) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.integers(-4, 5, (20, 30)).astype("f4"), rng.integers(-4, 5, (30, 40)).astype("f4")
    nodes = []
    for host, turn in zip((left, right), turned, strict=True):
        given = desk.buffer(host.T if turn else host)
        nodes.append(graph.permute(given, (1, 0)) if turn else given)
    root = graph.contract(*nodes)
    # Only the right one is copied, so that its columns lie next to each other.
    assert len(desk.plan(root).launches) == 1 + turned[1]
    assert (desk.values(root) == left @ right).all()


def test_operands_and_consumers_are_kernels_of_their_own(desk: Desk) -> None:
    (host, x), (other, y) = desk.random(6, 8), desk.random(8, 5)
    product = graph.contract(graph.elementwise("abs", x), y)
    planned = desk.plan(graph.elementwise("neg", product))
    assert [launch.kernel.name for launch in planned.launches] == ["abs", "contract", "neg"]
    np.testing.assert_allclose(desk.values(graph.elementwise("neg", product)), -(np.abs(host) @ other), rtol=1e-5)


def test_a_long_sum_is_split_and_joined(desk: Desk) -> None:
    (host, x), (other, y) = desk.random(2, 5000), desk.random(5000, 2)
    planned = desk.plan(graph.contract(x, y))
    assert planned.launches[0].kernel.name == "contract"
    assert len(planned.launches) > 1
    exact = host.astype("f8") @ other.astype("f8")
    scale = np.abs(host).astype("f8") @ np.abs(other).astype("f8")
    assert (np.abs(desk.values(graph.contract(x, y)) - exact) <= 1e-6 * scale).all()


@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("shapes", [((1, 300), (300, 40)), ((40, 300), (300, 1)), ((3, 1, 60), (3, 60, 5))])
def test_a_row_or_a_column_is_a_sum_that_fuses(desk: Desk, shapes: tuple[tuple[int, ...], ...], dtype: str) -> None:
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    x, y = desk.buffer(left), desk.buffer(right)
    root = graph.elementwise("neg", graph.contract(graph.elementwise("abs", x), y))
    kernels = [launch.kernel.name for launch in desk.plan(root).launches]
    assert len(kernels) <= 2  # in parts, where the device would have too little to do
    assert not {"abs", "contract", "neg"} & set(kernels)
    exact, scale = np.abs(left).astype("f8") @ right.astype("f8"), np.abs(left).astype("f8") @ np.abs(right)
    rounding = 2.0**-11 if dtype == "f2" else 0.0  # of the result alone: products and sums are float32
    assert (np.abs(desk.values(root).astype("f8") + exact) <= 2e-6 * scale + rounding * np.abs(exact)).all()


def test_vectors_of_halves_are_multiplied_in_float32() -> None:
    with xp.use(InterpretedRuntime(GPU)):
        found = xp.vecdot(xp.asarray(np.array([300.0, -299.0], "f2")), xp.asarray(np.array([300.0, 300.0], "f2")))
        assert float(found) == 300.0  # 300 * 300 is no float16


@pytest.mark.parametrize("shapes", [((0, 64, 64), (64, 64)), ((0, 64), (64, 64)), ((64, 64), (64, 0))])
def test_nothing_behind_a_product_is_nothing(shapes: tuple[tuple[int, ...], ...]) -> None:
    with xp.use(InterpretedRuntime(replace(GPU, group_size=128, local_bytes=48 << 10))):
        x, w = (xp.zeros(shape) for shape in shapes)
        found = xp.maximum(x @ w + 1, 0).numpy()
        assert found.shape == (np.zeros(shapes[0]) @ np.zeros(shapes[1])).shape


def test_scalars_and_counted_operands(desk: Desk) -> None:
    ones = graph.scalar(1.0, F32, (3, 4))
    places = graph.iota(F32, Layout.contiguous((4, 2)))
    expected = np.ones((3, 4)) @ np.arange(8).reshape(4, 2)
    assert (desk.values(graph.contract(ones, places)) == expected).all()


def test_shapes_dtypes_and_text() -> None:
    x, y = buffer(2, 3, 4), buffer(2, 4, 5)
    node = graph.contract(x, y)
    assert isinstance(node, Contract)
    assert is_same(node, graph.contract(x, y))
    assert (node.shape, node.dtype, node.accumulator) == ((2, 3, 5), F32, F32)
    assert text(node) == "y: f32[2, 3, 5] = contract(a, b)\n"
    half = graph.contract(buffer(2, 2, dtype=F16), buffer(2, 2, dtype=F16))
    assert isinstance(half, Contract)
    assert half.accumulator == F32
    small = graph.contract(buffer(2, 2, dtype=I8), buffer(2, 2, dtype=I8))
    assert isinstance(small, Contract)
    assert small.accumulator == I8
    nothing = graph.contract(buffer(2, 0), buffer(0, 3))
    assert isinstance(nothing, Scalar)
    assert nothing.shape == (2, 3)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"product of matrices of shapes \(2, 3\) and \(2, 3\)"):
        graph.contract(buffer(2, 3), buffer(2, 3))
    with pytest.raises(ShapeError):
        graph.contract(buffer(1, 2, 3), buffer(2, 3, 3))
    with pytest.raises(DTypeError, match="f32 and i32"):
        graph.contract(buffer(2, 2), buffer(2, 2, dtype=I32))
    with pytest.raises(DTypeError):
        graph.contract(buffer(2, 2, dtype=BOOL), buffer(2, 2, dtype=BOOL))


def test_operands_are_called_as_the_user_calls_them_but_never_both_the_same() -> None:
    desk = Desk(GPU)
    (host, x), (_, y) = desk.random(6, 6), desk.random(6, 6)

    def hints(left: Node, right: Node, names: dict[Node, str]) -> list[str]:
        launch = desk.plan(graph.contract(left, right), names=names).launches[0]
        return [param.value.hint for param in launch.kernel.params if isinstance(param.value.type, Pointer)]

    assert hints(x, y, {y: "weights"}) == ["a", "weights", "y"]
    assert hints(x, y, {x: "rows", y: "k"}) == ["a", "b", "y"]
    assert hints(x, x, {x: "weights"}) == ["weights", "a", "y"]
    np.testing.assert_allclose(desk.values(graph.contract(x, x)), host @ host, rtol=1e-4)
