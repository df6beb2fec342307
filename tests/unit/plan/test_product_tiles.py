"""Products in tiles of work-groups, for targets with and without matrix instructions, run by the interpreter, which
finds races, accesses out of bounds, and copies that nobody has waited for."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.indices import Span
from ocl_ir.interpret import boxes as interpreter
from ocl_ir.kernel.grammar import (
    AwaitBoxes,
    Barrier,
    CopyAsync,
    CopyBox,
    InitBoxes,
    Let,
    MatrixMultiply,
    Shuffle,
    Stmt,
    WarpgroupMultiply,
    walk,
)
from ocl_ir.layout import Layout
from ocl_ir.types import BF16, F16
from ocl_runtime.plan.fusion.values import Leaf
from ocl_runtime.plan.kernels.products import candidates, tiles
from ocl_runtime.plan.kernels.products.contraction import Contraction
from ocl_runtime.plan.kernels.products.tile import AnyTile, WarpgroupTile
from ocl_runtime.plan.target import Target
from tests.support.depth import NIGHTLY
from tests.support.products import (
    CDNA,
    FMA,
    MATRICES,
    OTHERS,
    RDNA3,
    RDNA4,
    TARGETS,
    WARPGROUPS,
    XE_HPC,
    XE_HPG,
    exactly,
    numbers,
    numpy_dtype,
    statements,
)
from tests.unit.plan.test_plan import Desk

SHAPES = [
    (16, 1, 16),
    (17, 8, 33),
    (40, 33, 51),
    (64, 64, 64),
    (48, 72, 136),
    (24, 520, 136),
    (129, 40, 24),
]
"""Rows, products for each result, columns."""


def turned(node: Node) -> Node:
    rank = len(node.shape)
    return graph.permute(node, (*range(rank - 2), rank - 1, rank - 2))


def uploaded(desk: Desk, host: np.ndarray, *, transposed: bool) -> Node:
    return turned(desk.buffer(np.swapaxes(host, -1, -2))) if transposed else desk.buffer(host)


CASES = [
    pytest.param(*target, transposed, shape, id=f"{name}, {shape}, {transposed}")
    for i, (name, target) in enumerate(TARGETS.items())
    for j, shape in enumerate(SHAPES)
    for k, transposed in enumerate(itertools.product((False, True), repeat=2))
    if NIGHTLY
    or (math.prod(shape) < 300_000 and (i + j) % 4 == k and (target[0] not in OTHERS.values() or (i + j) % 2))
]
"""In `make test` half of these: each shape in one of the four ways to lie, another one for the next shape and the next
target; for GPUs of AMD and Intel every second shape."""


@pytest.mark.sample(2)
@pytest.mark.parametrize(("target", "dtype", "transposed", "shape"), CASES)
def test_tiles_multiply(target: Target, dtype: str, transposed: tuple[bool, bool], shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    desk, rng = Desk(target), np.random.default_rng(math.prod(shape))
    left, right = numbers(rng, dtype, m, k), numbers(rng, dtype, k, n)
    sides = zip((left, right), transposed, strict=True)
    root = graph.contract(*(uploaded(desk, host, transposed=turn) for host, turn in sides), tf32=dtype == "tf32")
    assert all(launch.kernel.name != "copy" for launch in desk.plan(root).launches)  # operands are read as they lie
    assert (desk.values(root) == exactly(left, right)).all()


@pytest.mark.parametrize(("target", "dtype", "kind"), [
    (FMA, "f2", None),
    (MATRICES, "f2", MatrixMultiply),
    (MATRICES, "f4", None),
    (MATRICES, "f8", None),
    (MATRICES, "tf32", MatrixMultiply),
    (WARPGROUPS, "f8", MatrixMultiply),
    (WARPGROUPS, "f2", WarpgroupMultiply),
    (WARPGROUPS, "f4", None),
    (WARPGROUPS, "tf32", WarpgroupMultiply),
    (FMA, "tf32", None),
    (CDNA, "f2", MatrixMultiply),
    (CDNA, "f4", MatrixMultiply),
    (CDNA, "tf32", MatrixMultiply),  # in float32
    (CDNA, "f8", MatrixMultiply),
    (CDNA, "i4", None),
    (RDNA3, "f4", None),
    (RDNA4, "f2", MatrixMultiply),
    (XE_HPG, "f8", None),
    (XE_HPC, "f2", MatrixMultiply),
])  # fmt: skip
def test_targets_have_their_instructions(target: Target, dtype: str, kind: type | None) -> None:
    desk = Desk(target)
    sides = [desk.random(64, 64, dtype=numpy_dtype(dtype))[1] for _ in range(2)]
    launches = desk.plan(graph.contract(*sides, tf32=dtype == "tf32")).launches
    for each in (MatrixMultiply, WarpgroupMultiply):
        assert bool(statements(launches, each)) == (each is kind)


def test_groups_are_no_larger_than_they_may_be() -> None:
    for items, used in ((256, 256), (64, 64)):
        desk = Desk(replace(RDNA3, group_size=items))
        launches = desk.plan(graph.contract(*(desk.random(512, 512, dtype="f2")[1] for _ in range(2)))).launches
        assert math.prod(launches[0].group_size) == used


def test_groups_take_several_of_intels_units() -> None:
    """Else small tiles would look faster for whole products."""
    desk = Desk(replace(XE_HPG, compute_units=512))
    launches = desk.plan(graph.contract(*(desk.random(2048, 2048, dtype="f2")[1] for _ in range(2)))).launches
    assert "tiles of 128 x 64 x 32" in launches[0].kernel.note
    assert len(launches) == 1, "no part of the inner axis is another group's"


@pytest.mark.parametrize(
    ("target", "dtype", "tolerance"),
    [(CDNA, "f4", 1e-5), (CDNA, "f8", 1e-14), (CDNA, "f2", 1e-3), (RDNA3, "f2", 1e-3), (XE_HPG, "f2", 1e-3)],
)
def test_the_portable_way_gives_nearly_the_same(target: Target, dtype: str, tolerance: float) -> None:
    rng, made = np.random.default_rng(1), []
    left, right = (rng.standard_normal(shape).astype(dtype) for shape in ((33, 72), (72, 24)))
    for each in (target, FMA):
        desk = Desk(each)
        made.append(desk.values(graph.contract(desk.buffer(left), desk.buffer(right))).astype("f8"))
    np.testing.assert_allclose(*made, rtol=tolerance, atol=tolerance)


def test_what_is_not_aligned_goes_without_warpgroups() -> None:
    desk = Desk(WARPGROUPS)
    launches = desk.plan(graph.contract(*(desk.random(65, 65, dtype="f2")[1] for _ in range(2)))).launches
    assert statements(launches, MatrixMultiply)
    assert not statements(launches, WarpgroupMultiply)


def test_bfloat16_is_multiplied_in_float32() -> None:
    for target in (FMA, MATRICES, WARPGROUPS, *OTHERS.values()):
        desk = Desk(target)
        host = np.arange(64 * 64).reshape(64, 64) % 7 - 3.0
        bits = (host.astype("f4").view("u4") >> 16).astype("u2")
        node = graph.buffer(desk.runtime.upload(bits), BF16, Layout.contiguous((64, 64)))
        found = desk.values(graph.contract(node, node))
        expected = host @ host
        got = (found.astype("u4") << 16).view("f4")
        np.testing.assert_allclose(got, expected, rtol=2.0**-8)


@pytest.mark.parametrize("transposed", list(itertools.product((False, True), repeat=2)), ids=str)
@pytest.mark.parametrize(("boxes", "kind"), [(True, CopyBox), (False, CopyAsync)])
def test_operands_are_copied_in_both_ways(
    boxes: bool, kind: type, transposed: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(0)

    def only(contraction: Contraction, target: Target) -> Any:
        made = [tile for tile, _ in candidates.tiles(contraction, target)]
        return next(tile for tile in made if getattr(tile, "boxes", None) is boxes and tile.rows == 64), 1

    monkeypatch.setattr(tiles, "chosen", only)
    for batch, m, k, n in (((), 64, 200, 136), ((3,), 72, 72, 24)):
        left, right = numbers(rng, "f2", *batch, m, k), numbers(rng, "f2", *batch, k, n)
        sides = zip((left, right), transposed, strict=True)
        root = graph.contract(*(uploaded(desk, host, transposed=turn) for host, turn in sides))
        assert statements(desk.plan(root).launches, kind)
        assert (desk.values(root) == exactly(left, right)).all()


@pytest.mark.parametrize("transposed", list(itertools.product((False, True), repeat=2)), ids=str)
@pytest.mark.parametrize("columns", [65, 136])
@pytest.mark.parametrize("number", range(len(candidates.BOXED_DOUBLES)))
def test_doubles_are_copied_in_boxes(
    number: int, columns: int, transposed: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several matrices, ragged in all axes; groups go from tile to tile; sums are stored from registers, alone or in
    pairs, or go through bands where much is computed of them."""
    monkeypatch.setattr(candidates, "_BOXED", {"mma_f64": (candidates.BOXED_DOUBLES[number],)})
    monkeypatch.setitem(candidates.MATRICES, "mma_f64", ())
    desk, rng = Desk(replace(WARPGROUPS, compute_units=2)), np.random.default_rng(columns)
    left, right = numbers(rng, "f8", 2, 150, 104), numbers(rng, "f8", 2, 104, 136)
    sides = zip((left, right), transposed, strict=True)
    x, y = (uploaded(desk, host, transposed=turn) for host, turn in sides)
    right, y = right[..., :columns], graph.index(y, (Span(0, 1, 2), Span(0, 1, 104), Span(0, 1, columns)))
    root = graph.contract(x, y)
    bare = exactly(left, right)
    for node, expected, bands in ((root, bare, False), (graph.elementwise("tanh", root), np.tanh(bare), True)):
        launches = desk.plan(node).launches
        assert launches[0].kernel.name == "describe"
        assert launches[-1].global_size[0] == 2 * launches[-1].group_size[0]
        assert statements(launches, CopyBox)
        assert (statements(launches[-1:], Barrier) > 1) is bands
        np.testing.assert_allclose(desk.values(node), expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize("way", ["an odd stride", "a device without boxes"])
def test_doubles_go_through_registers_otherwise(way: str) -> None:
    target = replace(WARPGROUPS, compute_units=132, warpgroups=way != "a device without boxes")
    desk = Desk(target)
    stride = 4097 if way == "an odd stride" else 4096
    x = graph.index(desk.buffer(np.zeros((512, stride))), (Span(0, 1, 512), Span(0, 1, 512)))
    launches = desk.plan(graph.contract(x, x)).launches
    assert statements(launches, MatrixMultiply)
    assert not statements(launches, CopyBox)


@pytest.mark.parametrize(
    ("target", "dtype"),
    [
        (FMA, "f4"), (FMA, "c8"), (WARPGROUPS, "f8"), (WARPGROUPS, "f2"), (WARPGROUPS, "tf32"), (CDNA, "f4"),
        (RDNA3, "f2"), (XE_HPC, "f2"),
    ],
)  # fmt: skip
def test_axes_in_front_broadcast(target: Target, dtype: str) -> None:
    desk, rng = Desk(target), np.random.default_rng(0)
    left, right = numbers(rng, dtype, 2, 1, 24, 40), numbers(rng, dtype, 3, 40, 32)
    x, y = desk.buffer(left), desk.buffer(right)
    root = graph.contract(graph.expand(x, (2, 3, 24, 40)), graph.expand(y, (2, 3, 40, 32)), tf32=dtype == "tf32")
    assert (desk.values(root) == exactly(left, right)).all()


@pytest.mark.parametrize(
    ("target", "dtype"),
    [
        (FMA, "f4"), (MATRICES, "f2"), (WARPGROUPS, "f8"), (WARPGROUPS, "f2"), (WARPGROUPS, "tf32"), (CDNA, "f8"),
        (RDNA4, "f2"),
    ],
)  # fmt: skip
def test_few_tiles_are_split_along_the_inner_axis(target: Target, dtype: str) -> None:
    desk, rng = Desk(Target(**{**vars_of(target), "compute_units": 64})), np.random.default_rng(0)
    left, right = numbers(rng, dtype, 24, 2048 + 8), numbers(rng, dtype, 2048 + 8, 32)
    root = graph.contract(desk.buffer(left), desk.buffer(right), tf32=dtype == "tf32")
    names = [launch.kernel.name for launch in desk.plan(root).launches]
    assert names[-1] == "sum"
    assert (desk.values(root) == exactly(left, right)).all()


def vars_of(target: Target) -> dict[str, Any]:
    return {name: getattr(target, name) for name in target.__dataclass_fields__}


# ---------------------------------------------------------------------- what is computed of each element


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("target", "dtype"),
    [
        (FMA, "f4"), (MATRICES, "f2"), (WARPGROUPS, "f8"), (WARPGROUPS, "f2"), (WARPGROUPS, "tf32"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("shape", [(64, 64, 64), (3, 33, 51, 40), (1, 24, 2056, 40)], ids=str)
def test_elements_are_computed_by_the_kernel(target: Target, dtype: str, shape: tuple[int, ...]) -> None:
    *batch, m, k, n = shape
    desk, rng = Desk(target), np.random.default_rng(sum(shape))
    left, right = numbers(rng, dtype, *batch, m, k), numbers(rng, dtype, *batch, k, n)
    bias, mask, rest = numbers(rng, dtype, n), numbers(rng, dtype, *batch, m, n), numbers(rng, dtype, *batch, m, n)
    product = graph.contract(desk.buffer(left), desk.buffer(right), tf32=dtype == "tf32")
    whole = (*batch, m, n)
    shifted = graph.elementwise("add", product, graph.expand(desk.buffer(bias), whole))
    positive = graph.elementwise("maximum", shifted, graph.scalar(0.0, product.dtype, whole))
    masked = graph.elementwise("add", graph.elementwise("mul", product, desk.buffer(mask)), desk.buffer(rest))
    bare = exactly(left, right)
    for root, expected in ((positive, np.maximum(bare + bias, 0)), (masked, bare * mask + rest)):
        names = [launch.kernel.name for launch in desk.plan(root).launches]
        assert sum(name.startswith(("add", "mul", "maximum")) for name in names) == 0, names
        assert (desk.values(root) == expected.astype(numpy_dtype(dtype))).all()


@pytest.mark.parametrize(
    ("dtype", "boxes"), [("f2", True), ("f2", False), ("tf32", True)], ids=["in boxes", "copied", "tf32"]
)
@pytest.mark.parametrize("columns", [65, 66, 68, 72, 264])
def test_warpgroups_exchange_what_they_store(
    dtype: str, boxes: bool, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors of 1, 2, 4 and 8 results: work-items hold pairs of neighbours, and exchange these for longer ones."""
    monkeypatch.setattr(candidates, "_ways", lambda *_: [boxes])
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(columns)
    left, right = numbers(rng, dtype, 130, 64), numbers(rng, dtype, 64, columns)
    rest = numbers(rng, dtype, 130, columns)
    product = graph.contract(desk.buffer(left), uploaded(desk, right, transposed=True), tf32=dtype == "tf32")
    more = graph.elementwise("add", product, desk.buffer(rest))
    expected = exactly(left, right)
    for root, values in ((product, expected), (more, expected + rest)):
        launches = desk.plan(root).launches
        assert [launch.kernel.name.startswith("contract") for launch in launches][-1]
        assert statements(launches, WarpgroupMultiply)
        assert bool(statements(launches, Shuffle)) == (columns % 4 == 0)
        assert (desk.values(root) == values.astype(numpy_dtype(dtype))).all()


@pytest.mark.parametrize("boxes", [True, False], ids=["in boxes", "copied"])
def test_of_much_that_is_computed_the_code_is_there_once(boxes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """And results go through local memory, over the steps or behind them."""
    monkeypatch.setattr(candidates, "_ways", lambda *_: [boxes])
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(0)
    left, right = numbers(rng, "f2", 200, 64), numbers(rng, "f2", 64, 264)
    root = graph.elementwise("tanh", graph.contract(desk.buffer(left), desk.buffer(right)))
    launches = desk.plan(root).launches
    assert statements(launches, WarpgroupMultiply)
    assert not statements(launches, Shuffle)
    assert sum(stmt.op == "tanh" for stmt in walk(launches[-1].kernel.body) if isinstance(stmt, Let)) == 1
    np.testing.assert_allclose(desk.values(root), np.tanh(exactly(left, right).astype("f4")), atol=1e-3)


@pytest.mark.parametrize("heavy", [False, True], ids=["exchanged", "in bands"])
def test_a_unit_has_several_groups_where_there_is_room(heavy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each goes from tile to tile; those that have no bands need less memory."""
    monkeypatch.setattr(candidates, "_ways", lambda *_: [True])
    tile = candidates.Candidate((1, 1), (1, 8), 64, 1950, 3)
    monkeypatch.setattr(candidates, "_WARPGROUPS", {F16: (tile,)})
    desk, rng = Desk(replace(WARPGROUPS, compute_units=2)), np.random.default_rng(0)
    left, right = numbers(rng, "f2", 64 * 5, 72), numbers(rng, "f2", 72, 64 * 4)
    root = graph.contract(desk.buffer(left), desk.buffer(right))
    root = graph.elementwise("tanh", root) if heavy else root
    launch = desk.plan(root).launches[-1]
    assert launch.global_size[0] // launch.group_size[0] == 2 * (3 if heavy else 4)
    expected = exactly(left, right)
    values = np.tanh(expected.astype("f4")) if heavy else expected
    np.testing.assert_allclose(desk.values(root), values, atol=1e-3 if heavy else 0)


def halves(*sizes: int) -> Contraction:
    """A product of m × k and k × n halves."""
    m, k, n = sizes
    desk = Desk()
    nodes = [desk.random(*shape, dtype="f2")[1] for shape in ((m, k), (k, n))]
    product = graph.contract(*nodes)
    left, right = (Leaf(node, Layout.contiguous(node.shape), False) for node in nodes)
    return Contraction(left=left, right=right, accumulator=product.accumulator, dtype=product.dtype)


def test_what_was_the_fastest_on_an_h200_is_chosen() -> None:
    """Or what took 5 to 11% longer: few large tiles in boxes, small ones with many steps ahead where there are few
    tiles, and several groups of a unit side by side where there are few steps."""
    device = replace(WARPGROUPS, compute_units=132)

    def chosen(*sizes: int) -> tuple[int, int, int, bool, int]:
        tile, parts = candidates.chosen(halves(*sizes), device)
        assert isinstance(tile, WarpgroupTile)
        return tile.rows, tile.columns, tile.room, tile.boxes, parts

    assert chosen(4096, 4096, 4096) == (128, 256, 4, True, 1)
    assert chosen(2048, 2048, 2048) == (128, 256, 4, True, 1)
    assert chosen(1024, 1024, 1024) in {(64, 128, 8, False, 1), (128, 64, 7, False, 1)}
    assert chosen(512, 512, 512) == (64, 64, 8, False, 1)
    assert chosen(100352, 64, 64) == (128, 64, 4, True, 1)  # 11.3 µs, 64 x 128 with room for 3 steps 12.9
    assert chosen(100352, 64, 256) == (128, 256, 4, True, 1)  # 22.4 µs, 64 x 128 with room for 3 steps 21.6
    assert chosen(100352, 256, 128) == (128, 128, 6, True, 1)  # 25.8 µs, with room for 3 steps 28.4
    assert chosen(1568, 4608, 512) == (128, 128, 6, True, 2)  # 24.1 µs, in one part 64 x 128 24.8, 128 x 64 26.5
    assert chosen(1568, 2304, 512) == (64, 128, 8, True, 1)  # of two alike, the one with fewer groups
    assert chosen(256, 4096, 4096) in {(64, 128, 8, True, 1), (128, 64, 7, True, 1)}


def test_a_band_is_as_long_as_there_is_room_for() -> None:
    """Beside the steps: the rows of a warpgroup, or fewer."""
    most = 225 << 10
    for room, band in ((4, 32), (6, 16)):
        tile = WarpgroupTile((2, 1), (1, 16), 64, room, F16, (True, True), boxes=True)
        assert (tile.band, tile.local_bytes <= most) == (band, True)
    too_deep = WarpgroupTile((2, 1), (1, 16), 64, 7, F16, (True, True), boxes=True)
    assert (too_deep.band, too_deep.local_bytes <= most) == (16, False)  # the rows of one warp, at least
    wide = WarpgroupTile((2, 1), (1, 32), 64, 4, F16, (True, True), boxes=True)
    assert (wide.band, wide.local_bytes) == (16, most)


def test_groups_of_a_unit_share_memory_and_registers() -> None:
    small = WarpgroupTile((1, 1), (1, 8), 64, 3, F16, (False, False), boxes=False)
    large = WarpgroupTile((2, 1), (1, 32), 64, 4, F16, (False, False), boxes=True)
    assert small.local_bytes == 3 * (64 + 64) * 64 * 2
    assert candidates.resident_groups(small, small.local_bytes, 227 << 10) == 4
    assert candidates.resident_groups(large, large.local_bytes, 227 << 10) == 1
    wide = replace(small, fragments=(1, 32), inner=16)
    assert candidates.resident_groups(wide, wide.local_bytes, 1 << 20) == (1 << 16) // (128 * (128 + 56))


@pytest.mark.parametrize("name", OTHERS)
def test_elements_are_computed_on_other_gpus(name: str) -> None:
    desk, rng = Desk(OTHERS[name]), np.random.default_rng(0)
    left, right, bias = numbers(rng, "f2", 2, 33, 40), numbers(rng, "f2", 2, 40, 24), numbers(rng, "f2", 24)
    product = graph.contract(desk.buffer(left), desk.buffer(right))
    root = graph.elementwise("add", product, graph.expand(desk.buffer(bias), (2, 33, 24)))
    assert [launch.kernel.name for launch in desk.plan(root).launches] == ["contract_add"]
    assert (desk.values(root) == exactly(left, right) + bias).all()


def test_the_product_is_stored_too_where_it_is_wanted() -> None:
    desk = Desk(FMA)
    (left, x), (right, y) = desk.random(40, 24), desk.random(24, 36)
    product = graph.contract(x, y)
    roots = product, graph.elementwise("neg", product)
    planned = desk.plan(*roots)
    assert [launch.kernel.name for launch in planned.launches] == ["contract_neg"]
    desk.runtime.run(planned)
    first, second = (desk.host(result) for result in planned.results)
    np.testing.assert_allclose(first, left @ right, rtol=1e-4, atol=1e-2)
    assert (second == -first).all()


@pytest.mark.parametrize(
    "why", ["another reads it", "it is read turned, too", "the target has no tiles", "it is reduced"]
)
def test_products_stay_alone_otherwise(why: str) -> None:
    desk = Desk(Target(kind="cpu") if why == "the target has no tiles" else FMA)
    product = graph.contract(desk.random(40, 24)[1], desk.random(24, 40)[1])
    root = graph.elementwise("add", product, turned(product) if why == "it is read turned, too" else product)
    roots = [root]
    if why == "another reads it":
        roots.append(graph.reduce("sum", product, (1,), product.dtype))
    if why == "it is reduced":
        roots = [graph.reduce("sum", root, (1,), root.dtype)]
    names = [launch.kernel.name for launch in desk.plan(*roots).launches]
    assert names[0] == "contract"
    assert len(names) > 1


def test_a_result_is_not_written_over_an_operand_of_the_product() -> None:
    desk = Desk(FMA)
    (left, x), (right, y) = desk.random(32, 32), desk.random(32, 32)
    inner = graph.elementwise("neg", x)  # its memory is the plan's own
    root = graph.elementwise("neg", graph.contract(inner, y))
    np.testing.assert_allclose(desk.values(root), left @ right, rtol=1e-4, atol=1e-2)


# ---------------------------------------------------------------------- which tile


def contraction(m: int, k: int, n: int, dtype: str = "f4", *batch: int) -> Contraction:
    desk = Desk(FMA)
    x, y = (desk.buffer(np.zeros((*batch, *shape), dtype)) for shape in ((m, k), (k, n)))
    product = graph.contract(x, y)
    left, right = (Leaf(node, Layout.contiguous(node.shape), False) for node in (x, y))
    return Contraction(left=left, right=right, accumulator=product.accumulator, dtype=product.dtype)


def test_large_products_have_large_tiles_and_few_tiles_parts() -> None:
    device = Target(compute_units=132, local_bytes=48 << 10)
    large, parts = candidates.chosen(contraction(2048, 2048, 2048), device)
    assert (large.rows, large.columns, parts) == (128, 128, 1)
    small, _ = candidates.chosen(contraction(256, 64, 256), device)
    assert small.rows * small.columns < large.rows * large.columns
    _, parts = candidates.chosen(contraction(64, 65536, 64), device)
    assert parts > 16


def test_units_end_together() -> None:
    """Of 33 × 33 large tiles, some units would have a ninth one, alone."""
    device = Target(compute_units=132, local_bytes=48 << 10)
    assert candidates.chosen(contraction(4096, 4096, 4096), device)[1] == 1
    tile, parts = candidates.chosen(contraction(4224, 4224, 4224), device)
    assert (tile.rows, tile.columns, parts) != (128, 128, 1)
    matrices = replace(device, matrix_instructions=("mma_f64",), tile_bytes=227 << 10)
    tile, parts = candidates.chosen(contraction(3000, 3000, 3000, "f8"), matrices)
    assert (tile.rows, tile.columns, parts) == (128, 128, 1)


def test_rows_that_are_read_one_by_one_have_wider_tiles() -> None:
    device = Target(compute_units=132, local_bytes=48 << 10)
    tile, _ = candidates.chosen(contraction(2047, 2049, 2048), device)
    assert (tile.rows, tile.columns) == (128, 256)


@pytest.mark.parametrize(
    ("sizes", "expected"), [((2, 4096, 4096), True), ((4096, 4096, 3), True), ((100_000, 4, 4), False)]
)
def test_few_rows_or_columns_have_tiles_where_the_inner_axis_is_long(
    sizes: tuple[int, int, int], expected: bool
) -> None:
    device = Target(kind="gpu", compute_units=132, local_bytes=48 << 10)
    assert tiles.uses_tiles(contraction(*sizes), device) == expected


def test_the_choice_does_not_depend_on_how_operands_lie() -> None:
    device, (x, y) = Target(compute_units=132, local_bytes=48 << 10), (contraction(300, 200, 100).leaves)
    made = contraction(300, 200, 100)
    lies = Layout((300, 200), (1, 300))
    other = Contraction(left=Leaf(x.source, lies, False), right=y, accumulator=made.accumulator, dtype=made.dtype)
    assert candidates.chosen(made, device) == candidates.chosen(other, device)


@pytest.mark.parametrize(("dtype", "ahead"), [("f2", 2), ("f8", 4)])
def test_boxes_come_ahead_over_the_ends_of_tiles(dtype: str, ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of tiles of one step, too: as many steps are on their way as there is room for, before the first one is awaited,
    and no more boxes come than there are."""
    events, used = list[str](), set[AnyTile]()
    run = interpreter.Boxes.run

    def told(self: interpreter.Boxes, stmt: Stmt, items: np.ndarray) -> None:
        if items.size > 1 or not isinstance(stmt, AwaitBoxes):  # one work-item alone waits for memory to be free
            events.append(type(stmt).__name__)
        run(self, stmt, items)

    monkeypatch.setattr(interpreter.Boxes, "run", told)

    def chosen(contraction: Contraction, target: Target) -> Any:
        made = [tile for tile, _ in candidates.tiles(contraction, target) if tile.boxes]
        used.add(next(tile for tile in made if tile.room - 1 - (dtype == "f2") == ahead))
        return next(iter(used)), 1

    monkeypatch.setattr(tiles, "chosen", chosen)
    desk, rng = Desk(replace(WARPGROUPS, compute_units=1)), np.random.default_rng(0)
    left, right = numbers(rng, dtype, 2048, 16), numbers(rng, dtype, 16, 256)
    root = graph.contract(desk.buffer(left), desk.buffer(right))
    np.testing.assert_array_equal(desk.values(root), exactly(left, right))
    kernel = desk.plan(root).launches[-1].kernel
    boxes = next(stmt.boxes for stmt in walk(kernel.body) if isinstance(stmt, InitBoxes))
    before = events[: events.index("AwaitBoxes")]
    assert before.count("CopyBox") == ahead * boxes
    (tile,) = used
    assert events.count("CopyBox") == 2048 // tile.rows * 256 // tile.columns * boxes
