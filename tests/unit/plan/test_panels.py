"""Products of packed panels, planned for a CPU and run by the interpreter, which sees races, accesses out of bounds and
reads of what was never stored. Slices are short here, so that small matrices have several."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer, Node
from ocl_ir.indices import parse_index
from ocl_ir.layout import Layout
from ocl_ir.types import C64, F16, F32, F64, DType
from ocl_runtime.plan.fusion.values import Leaf
from ocl_runtime.plan.kernels.products import panels
from ocl_runtime.plan.kernels.products.contraction import Contraction
from ocl_runtime.plan.target import Target
from tests.support.depth import NIGHTLY
from tests.unit.plan.test_plan import Desk

CPU = Target(kind="cpu", compute_units=2, vector_bytes=8, operations_per_byte=4)
DEPTH = 8  # places of a slice of float32, below
ROWS, COLUMNS = 6, 8  # of a register block of float32, with two lanes
DTYPES = ("f4", "f2", "f8", "i4", "i2", "i1", "u1", "i8")
EDGES = [
    *itertools.product((17, 18, 19), (COLUMNS - 1, COLUMNS, 2 * COLUMNS + 1), (2 * DEPTH,)),
    *itertools.product((20,), (COLUMNS + 1,), (2 * DEPTH + 1, 3 * DEPTH - 1, 3 * DEPTH)),
]


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr(panels, "_SLICE_BYTES", 4 * DEPTH)
    monkeypatch.setattr(panels, "_LEAST_REUSE", 0)
    monkeypatch.setattr(panels, "_LEAST_WORK", 0)
    return Desk(CPU)


def with_target(desk: Desk, **changes: int) -> Desk:
    """Another desk, with a target that differs."""
    return Desk(replace(desk.runtime.target, **changes))


def whole_numbers(*shape: int, dtype: str = "f4", seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.integers(0 if dtype[0] == "u" else -2, 3, shape).astype(dtype)


def check(desk: Desk, left: Node, right: Node, expected: np.ndarray) -> None:
    """Compares a product of panels with what it should be."""
    root = graph.contract(left, right)
    assert [launch.kernel.name for launch in desk.plan(root).launches][:2] == ["pack_panels", "contract"]
    np.testing.assert_array_equal(desk.values(root), expected)


@pytest.mark.parametrize(("m", "n", "k"), EDGES)
def test_sizes_around_the_edges_of_blocks_and_slices(desk: Desk, m: int, n: int, k: int) -> None:
    left, right = whole_numbers(m, k), whole_numbers(k, n, seed=1)
    check(desk, desk.buffer(left), desk.buffer(right), left @ right)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_adds_up_in_its_accumulator(desk: Desk, dtype: str) -> None:
    desk = with_target(desk, vector_bytes=16)
    left, right = whole_numbers(17, 40, dtype=dtype), whole_numbers(40, 33, dtype=dtype, seed=1)
    check(desk, desk.buffer(left), desk.buffer(right), (left.astype("i8") @ right.astype("i8")).astype(dtype))


VIEWS: dict[str, Callable[[Desk, np.ndarray], Node]] = {
    "rows": lambda desk, host: desk.buffer(host),
    "columns": lambda desk, host: graph.permute(desk.buffer(host.T), (1, 0)),
    "back to front": lambda desk, host: view(desk.buffer(host[::-1, ::-1]), np.s_[::-1, ::-1]),
    "every second": lambda desk, host: view(desk.buffer(np.repeat(np.repeat(host, 2, 0), 3, 1)), np.s_[::2, 1::3]),
    "in a larger one": lambda desk, host: view(desk.buffer(np.pad(host, ((1, 2), (3, 2)))), np.s_[1:-2, 3:-2]),
}


def view(node: Node, key: object) -> Node:
    return graph.index(node, parse_index(node.shape, key))


@pytest.mark.sample(2)
@pytest.mark.parametrize(("left", "right"), [
    pair for pair in itertools.product(VIEWS, VIEWS) if NIGHTLY or pair[0] == pair[1] or "rows" in pair
])  # fmt: skip
def test_any_strides_are_packed_where_they_lie(desk: Desk, left: str, right: str) -> None:
    a, b = whole_numbers(17, 19), whole_numbers(19, 18, seed=1)
    check(desk, VIEWS[left](desk, a), VIEWS[right](desk, b), a @ b)


@pytest.mark.parametrize(("first", "second"), [
    ((3,), (3,)), ((2, 3), (2, 3)), ((2, 1), (2, 3)), ((2, 3), (1, 3)), ((1, 3), (2, 1)),
])  # fmt: skip
def test_axes_in_front_are_packed_once_where_they_broadcast(
    desk: Desk, first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    a, b = whole_numbers(*first, 17, 16), whole_numbers(*second, 16, 9, seed=1)
    front = np.broadcast_shapes(first, second)
    left, right = (graph.expand(desk.buffer(host), (*front, *host.shape[-2:])) for host in (a, b))
    check(desk, left, right, a @ b)


def test_a_long_inner_axis_has_parts_that_a_reduction_joins(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "_LEAST_PART", 20)
    desk = with_target(desk, compute_units=16)
    a, b = whole_numbers(16, 130), whole_numbers(130, 8, seed=1)
    left, right = desk.buffer(a), desk.buffer(b)
    assert len(desk.plan(graph.contract(left, right)).launches) > 2
    check(desk, left, right, a @ b)


def test_little_local_memory_makes_smaller_blocks(desk: Desk) -> None:
    small = with_target(desk, compute_units=1, local_bytes=2 * ROWS * COLUMNS * 4)
    a, b = whole_numbers(40, 20), whole_numbers(20, 35, seed=1)
    check(small, small.buffer(a), small.buffer(b), a @ b)


# ---------------------------------------------------------------------- choices


def contraction(m: int, n: int, k: int, dtype: DType = F32, *, turned: bool = False) -> Contraction:
    def leaf(rows: int, columns: int) -> Leaf:
        layout = Layout.contiguous((columns, rows)).permute((1, 0)) if turned else Layout.contiguous((rows, columns))
        node = graph.buffer(object(), dtype, layout)
        assert isinstance(node, Buffer)
        return Leaf(node, layout, False)

    accumulator = F32 if dtype == F16 else dtype
    return Contraction(left=leaf(m, k), right=leaf(k, n), accumulator=accumulator, dtype=dtype)


@pytest.mark.parametrize("dtype", [F16, F32, F64])
def test_the_order_of_additions_does_not_depend_on_how_operands_lie(dtype: DType) -> None:
    target = Target(kind="cpu", compute_units=2, vector_bytes=64, local_bytes=256 << 10)
    for size in ((512, 512, 512), (40, 4096, 9000), (1000, 100, 70)):
        chosen = [panels.chosen(contraction(*size, dtype, turned=turned), target) for turned in (False, True)]
        assert chosen[0] == chosen[1]


def test_small_products_are_not_packed() -> None:
    target = Target(kind="cpu", compute_units=2, vector_bytes=64)
    assert panels.uses_panels(contraction(256, 256, 256), target)
    assert not panels.uses_panels(contraction(256, 256, 256), Target(kind="gpu"))
    assert not panels.uses_panels(contraction(256, 256, 256, C64), target)
    for size in ((4, 4096, 4096), (4096, 8, 4096), (256, 256, 4), (20, 32, 20), (64, 64, 100_000)):
        assert not panels.uses_panels(contraction(*size), target)
