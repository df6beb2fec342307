"""Products of packed panels, planned for a CPU and run by the interpreter, which sees races, accesses out of bounds and
reads of what was never stored. Slices are short here, so that small matrices have several."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer, Node
from ocl_ir.indices import parse_index
from ocl_ir.layout import Layout
from ocl_ir.types import C64, F16, F32, F64, I32, DType, Pointer
from ocl_runtime.arrays.meaning.convolutions import convolution
from ocl_runtime.arrays.meaning.line_convolutions import convolution_of_lines
from ocl_runtime.arrays.meaning.taps import Taps
from ocl_runtime.plan.fusion.values import Leaf
from ocl_runtime.plan.kernels.products import panels
from ocl_runtime.plan.kernels.products.contraction import Contraction
from ocl_runtime.plan.target import Target
from tests.support import convolution_reference as reference
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
    monkeypatch.setattr(panels, "_LEAST_REUSE_OF_ONE", 0)
    monkeypatch.setattr(panels, "_LEAST_WORK", 0)
    monkeypatch.setattr(panels, "_MOST_ROWS_IN_PLACE", 0)
    monkeypatch.setattr(panels, "_MOST_ROWS_OF_OTHERS", 0)
    return Desk(CPU)


@pytest.fixture
def in_place(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Where right matrices with few rows are read where they lie."""
    monkeypatch.setattr(panels, "_MOST_ROWS_IN_PLACE", 256)
    monkeypatch.setattr(panels, "_MOST_ROWS_OF_OTHERS", 16)
    return desk


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


@pytest.mark.parametrize(("m", "n", "k"), EDGES if NIGHTLY else EDGES[::2])
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


# ---------------------------------------------------------------------- a right matrix that is read where it lies


def packed(desk: Desk, root: Node) -> int:
    """How many matrices are packed."""
    packing = next(launch.kernel for launch in desk.plan(root).launches if launch.kernel.name == "pack_panels")
    return sum(param.value.hint.startswith("y") and isinstance(param.value.type, Pointer) for param in packing.params)


@pytest.mark.sample(2)
@pytest.mark.parametrize(("m", "n", "k"), EDGES if NIGHTLY else EDGES[1::2])
def test_edges_of_what_is_read_where_it_lies(in_place: Desk, m: int, n: int, k: int) -> None:
    left, right = whole_numbers(m, k), whole_numbers(k, n, seed=1)
    check(in_place, in_place.buffer(left), in_place.buffer(right), left @ right)
    assert packed(in_place, graph.contract(in_place.buffer(left), in_place.buffer(right))) == 1


@pytest.mark.parametrize(("dtype", "m", "count"), [("f8", 17, 1), ("i2", 17, 1), ("f2", 16, 1), ("f2", 17, 2)])
def test_what_is_converted_is_packed_for_fewer_rows(in_place: Desk, dtype: str, m: int, count: int) -> None:
    desk = with_target(in_place, vector_bytes=16)
    a, b = whole_numbers(m, 40, dtype=dtype), whole_numbers(40, 33, dtype=dtype, seed=1)
    left, right = desk.buffer(a), desk.buffer(b)
    check(desk, left, right, (a.astype("i8") @ b.astype("i8")).astype(dtype))
    assert packed(desk, graph.contract(left, right)) == count


def test_a_right_matrix_whose_columns_lie_apart_is_copied_or_packed(in_place: Desk) -> None:
    """Copied into rows, which costs less; but one that is the same for several left ones is packed, once for all."""
    a, b = whole_numbers(17, 19), whole_numbers(19, 18, seed=1)
    left, right = in_place.buffer(a), VIEWS["columns"](in_place, b)
    root = graph.contract(left, right)
    np.testing.assert_array_equal(in_place.values(root), a @ b)
    assert [launch.kernel.name for launch in in_place.plan(root).launches] == ["transpose", "pack_panels", "contract"]
    assert packed(in_place, root) == 1
    lefts = whole_numbers(3, 17, 19)
    check(in_place, in_place.buffer(lefts), graph.expand(right, (3, 19, 18)), lefts @ b)
    assert packed(in_place, graph.contract(in_place.buffer(lefts), graph.expand(right, (3, 19, 18)))) == 2


@pytest.mark.parametrize(("first", "second"), [((3,), (3,)), ((2, 1), (2, 3)), ((1, 3), (2, 1))])
def test_axes_in_front_of_what_is_read_where_it_lies(
    in_place: Desk, first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    a, b = whole_numbers(*first, 17, 16), whole_numbers(*second, 16, 9, seed=1)
    front = np.broadcast_shapes(first, second)
    left, right = (graph.expand(in_place.buffer(host), (*front, *host.shape[-2:])) for host in (a, b))
    check(in_place, left, right, a @ b)


def test_parts_of_what_is_read_where_it_lies(in_place: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "_LEAST_PART", 20)
    desk = with_target(in_place, compute_units=16)
    a, b = whole_numbers(16, 130), whole_numbers(130, 9, seed=1)
    left, right = desk.buffer(a), desk.buffer(b)
    assert len(desk.plan(graph.contract(left, right)).launches) > 2
    check(desk, left, right, a @ b)


CONVOLUTIONS: dict[str, tuple[Any, ...]] = {
    # batch, channels, space, results, kernel, before and behind, dilation, groups
    "same": (2, 3, (9, 11), 16, (3, 3), [(1, 1), (1, 1)], (1, 1), 1),
    "valid": (1, 4, (8, 12), 9, (3, 2), [(0, 0), (0, 0)], (1, 1), 1),
    "groups": (1, 4, (8, 12), 34, (3, 2), [(0, 2), (1, 0)], (1, 3), 2),
    "space": (1, 2, (5, 6, 7), 16, (2, 3, 2), [(1, 0), (1, 1), (0, 1)], (1, 1, 2), 1),
    "line": (3, 8, (40,), 17, (5,), [(2, 1)], (2,), 1),
}  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize(("layer", "dtype"), [
    *((layer, "f4") for layer in CONVOLUTIONS), ("same", "f2"), ("line", "f2"),
])  # fmt: skip
def test_windows_of_a_convolution_are_lines(desk: Desk, layer: str, dtype: str) -> None:
    """Nothing is copied but what has zeros around it."""
    batch, channels, space, results, kernel, pairs, dilation, groups = CONVOLUTIONS[layer]
    x = whole_numbers(batch, channels, *space, dtype=dtype)
    w = whole_numbers(results, channels // groups, *kernel, dtype=dtype, seed=1)
    taps = [Taps(n, 1, d, *pair) for n, d, pair in zip(kernel, dilation, pairs, strict=True)]
    root = convolution_of_lines(desk.buffer(x), desk.buffer(w), taps, groups, "")
    if root is None:  # along one axis windows are lines anyway
        root = convolution(desk.buffer(x), desk.buffer(w), taps, groups, "")
    names = [launch.kernel.name for launch in desk.plan(root).launches]
    assert names[-2:] == ["pack_panels", "contract"]
    assert set(names[:-2]) <= {"fill", "copy"}
    assert len(names) <= 4
    assert packed(desk, root) == 1
    expected = reference.conv(x, w, (1,) * len(space), pairs, dilation, groups)
    np.testing.assert_array_equal(desk.values(root), expected)


@pytest.mark.parametrize(("space", "taps", "is_lines"), [
    ((56, 56), [Taps(3, 1, 1, 1, 1)] * 2, True),
    ((56, 56), [Taps(3, 2, 1, 1, 1)] * 2, False),
    ((28, 28), [Taps(28)] * 2, False),
    ((56, 56), [Taps(1)] * 2, False),
    ((56,), [Taps(3)], False),
])  # fmt: skip
def test_windows_are_lines_only_where_few_others_come_with_them(
    desk: Desk, space: tuple[int, ...], taps: list[Taps], is_lines: bool
) -> None:
    x = desk.buffer(whole_numbers(1, 2, *space))
    w = desk.buffer(whole_numbers(4, 2, *[each.length for each in taps]))
    assert (convolution_of_lines(x, w, taps, 1, "") is not None) == is_lines


# ---------------------------------------------------------------------- what is computed of each element


def op(name: str, *args: Node) -> Node:
    return graph.elementwise(name, *args)


def over(desk: Desk, host: np.ndarray, node: Node) -> Node:
    return graph.expand(desk.buffer(host), node.shape)


EPILOGUES: dict[str, Callable[[Desk, Node], Node]] = {
    "bias and maximum": lambda desk, y: op(
        "maximum", op("add", y, over(desk, whole_numbers(y.shape[-1]), y)), graph.scalar(0, y.dtype, y.shape)
    ),
    "mask and residual": lambda desk, y: op(
        "add", op("mul", y, desk.buffer(whole_numbers(*y.shape, seed=2))), desk.buffer(whole_numbers(*y.shape, seed=3))
    ),
    "a factor for each row": lambda desk, y: op("mul", y, over(desk, whole_numbers(y.shape[-2], 1), y)),
    "columns that lie apart": lambda desk, y: op(
        "sub", y, graph.permute(desk.buffer(whole_numbers(*y.shape[:-2], *y.shape[:-3:-1])), (1, 0))
    ),
    "its place": lambda desk, y: op(
        "mul", y, graph.convert(graph.iota(I32, Layout(y.shape, (0,) * (len(y.shape) - 1) + (1,))), y.dtype)
    ),
    "a comparison": lambda desk, y: op("lt", y, over(desk, whole_numbers(y.shape[-1]), y)),
    "float64": lambda desk, y: graph.convert(op("exp", y), F64),
}


@pytest.mark.parametrize(("m", "n", "k", "few"), [
    (18, 2 * COLUMNS, 2 * DEPTH, 256),
    (17, COLUMNS + 1, DEPTH + 1, 0),
    *[(17, COLUMNS + 1, 3 * DEPTH - 1, 256), (18, 2 * COLUMNS, 2 * DEPTH, 0)][: 2 * NIGHTLY],
])  # fmt: skip
@pytest.mark.sample(2)
@pytest.mark.parametrize("epilogue", EPILOGUES.values(), ids=EPILOGUES)
def test_elements_are_computed_by_the_kernel(
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    m: int,
    n: int,
    k: int,
    few: int,
    epilogue: Callable[[Desk, Node], Node],
) -> None:
    """With the bits of two kernels."""
    monkeypatch.setattr(panels, "_MOST_ROWS_IN_PLACE", few)
    left, right = (
        desk.buffer(np.random.default_rng(s).random(shape, "f4")) for s, shape in enumerate([(m, k), (k, n)])
    )
    product = graph.contract(left, right)
    root = epilogue(desk, product)
    names = [launch.kernel.name for launch in desk.plan(root).launches]
    assert len(names) == 2
    assert names[1].startswith("contract_")
    stored = graph.buffer(desk.runtime.upload(desk.values(product)), F32, Layout.contiguous((m, n)))
    np.testing.assert_array_equal(desk.values(root), desk.values(epilogue(desk, stored)))


def test_elements_of_batches_and_of_parts(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "_LEAST_PART", 20)
    desk = with_target(desk, compute_units=16)
    for front, k, count in (((3,), 17, 2), ((), 130, 3)):
        a, b = whole_numbers(*front, 17, k), whole_numbers(*front, k, 9, seed=1)
        product = graph.contract(desk.buffer(a), desk.buffer(b))
        root = EPILOGUES["bias and maximum"](desk, product)
        assert len(desk.plan(root).launches) == count
        np.testing.assert_array_equal(desk.values(root), np.maximum(a @ b + whole_numbers(9), 0))


def test_halves_are_rounded_before_more_is_computed(desk: Desk) -> None:
    desk = with_target(desk, vector_bytes=16)
    a, b = (np.random.default_rng(seed).random((20, 20)).astype("f2") for seed in range(2))
    product = graph.contract(desk.buffer(a), desk.buffer(b))
    root = op("mul", product, graph.scalar(3.0, product.dtype, product.shape))
    assert [launch.kernel.name for launch in desk.plan(root).launches] == ["pack_panels", "contract_mul"]
    stored = desk.buffer(desk.values(product))
    alone = op("mul", stored, graph.scalar(3.0, product.dtype, product.shape))
    np.testing.assert_array_equal(desk.values(root), desk.values(alone))


def test_the_product_is_stored_too_where_it_is_wanted(desk: Desk) -> None:
    a, b = whole_numbers(17, 19), whole_numbers(19, 18, seed=1)
    product = graph.contract(desk.buffer(a), desk.buffer(b))
    planned = desk.plan(product, op("neg", product))
    assert [launch.kernel.name for launch in planned.launches] == ["pack_panels", "contract_neg"]
    desk.runtime.run(planned)
    first, second = (desk.host(result) for result in planned.results)
    np.testing.assert_array_equal(first, a @ b)
    np.testing.assert_array_equal(second, -first)


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
    for dtype in (F32, F16):
        assert panels.uses_panels(contraction(4, 4096, 4096, dtype), target)
    for size in ((4096, 8, 4096), (256, 256, 4), (20, 32, 20), (64, 64, 100_000)):
        assert not panels.uses_panels(contraction(*size), target)
