"""Operands of products that are read where they lie: several axes as one, and zeros around them. Run by the
interpreter, which finds races and accesses out of bounds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node, Scalar
from ocl_ir.graph.contiguous import Contiguous
from ocl_ir.graph.nodes import walk
from ocl_ir.indices import Span
from ocl_ir.kernel.grammar import CopyAsync, CopyBox, MatrixMultiply, WarpgroupMultiply
from ocl_ir.layout import Layout
from ocl_runtime.arrays.meaning import convolutions
from ocl_runtime.arrays.meaning.convolutions import convolution
from ocl_runtime.arrays.meaning.taps import Taps
from ocl_runtime.plan.kernels.products import candidates, tiles
from ocl_runtime.plan.kernels.products.contraction import Side
from ocl_runtime.plan.target import Target
from tests.support import convolution_reference as reference
from tests.support.depth import NIGHTLY
from tests.support.products import FMA, MATRICES, TARGETS, WARPGROUPS, exactly, numbers, statements
from tests.unit.plan.test_plan import CPU, Desk

SOME = {name: target for name, target in TARGETS.items() if name not in {"fma f8", "fma u1", "fma c16"}}
FEW = SOME if NIGHTLY else {name: TARGETS[name] for name in ("fma f4", "matrix f2", "warpgroup f2")}
LAYERS: dict[str, tuple[Any, ...]] = {
    # batch, channels, space, results, kernel, stride, before and behind, dilation, groups
    "same": (2, 3, (9, 11), 16, (3, 3), (1, 1), [(1, 1), (1, 1)], (1, 1), 1),
    "strided": (1, 4, (13, 12), 34, (3, 2), (2, 1), [(0, 2), (1, 0)], (1, 3), 2),
    "line": (3, 8, (40,), 17, (5,), (1,), [(0, 0)], (1,), 1),
    "space": (1, 2, (5, 6, 7), 16, (2, 3, 2), (1, 2, 1), [(1, 0), (1, 1), (0, 1)], (1, 1, 2), 1),
    "only padded": (1, 16, (8, 8), 24, (1, 1), (1, 1), [(1, 1), (2, 0)], (1, 1), 1),
    "deep": (1, 40, (6, 6), 16, (3, 3), (1, 1), [(1, 1), (1, 1)], (1, 1), 1),
    "depthwise": (2, 6, (9, 5), 6, (3, 3), (1, 1), [(1, 1), (1, 1)], (1, 1), 6),
}  # fmt: skip


def taps_of(
    kernel: Sequence[int], stride: Sequence[int], pairs: Sequence[tuple[int, int]], dilation: Sequence[int]
) -> list[Taps]:
    return [Taps(n, s, d, *pair) for n, s, d, pair in zip(kernel, stride, dilation, pairs, strict=True)]


def names(desk: Desk, root: Node) -> list[str]:
    return [launch.kernel.name for launch in desk.plan(root).launches]


def channels_last(desk: Desk, host: np.ndarray) -> Node:
    rank = host.ndim
    return graph.permute(desk.buffer(np.moveaxis(host, 1, -1)), (0, rank - 1, *range(1, rank - 1)))


@pytest.mark.sample(2)
@pytest.mark.parametrize(("target", "dtype", "layer", "last"), [
    pytest.param(*target, layer, last, id=f"{name}, {what}, channels {'last' if last else 'first'}")
    for i, (name, target) in enumerate(FEW.items())
    for j, (what, layer) in enumerate(LAYERS.items())
    for last in (False, True)
    if NIGHTLY or (i + j) % 2 == last
])  # fmt: skip
def test_a_convolution_is_one_kernel(target: Target, dtype: str, layer: tuple[Any, ...], last: bool) -> None:
    batch, channels, space, results, kernel, stride, pairs, dilation, groups = layer
    desk, rng = Desk(target), np.random.default_rng(0)
    x, w = numbers(rng, dtype, batch, channels, *space), numbers(rng, dtype, results, channels // groups, *kernel)
    x_node = channels_last(desk, x) if last else desk.buffer(x)
    w_node = channels_last(desk, w) if last else desk.buffer(w)
    root = convolution(x_node, w_node, taps_of(kernel, stride, pairs, dilation), groups, "")
    if groups != channels and groups == 1:
        found = names(desk, root)
        assert found[0] == "contract"
        assert len(found) == 1 or found[1:] == ["sum"]
    assert (desk.values(root) == reference.conv(x, w, stride, pairs, dilation, groups)).all()


@pytest.mark.parametrize(("target", "dtype"), SOME.values(), ids=SOME)
def test_bias_and_maximum_join_a_convolution(target: Target, dtype: str) -> None:
    if dtype[0] == "c":
        return
    desk, rng = Desk(target), np.random.default_rng(0)
    x, w, b = numbers(rng, dtype, 2, 8, 10, 7), numbers(rng, dtype, 32, 8, 3, 3), numbers(rng, dtype, 32)
    y = convolution(desk.buffer(x), desk.buffer(w), [Taps(3, 1, 1, 1, 1)] * 2, 1, "")
    bias = graph.expand(graph.reshape(desk.buffer(b), (32, 1, 1)), y.shape)
    root = graph.elementwise("add", y, bias)
    root = graph.elementwise("maximum", root, graph.scalar(0, root.dtype, root.shape))
    assert names(desk, root) == ["contract_add_maximum"]
    bare = reference.conv(x, w, (1, 1), [(1, 1)] * 2, (1, 1))
    assert (desk.values(root) == np.maximum(bare + b[:, None, None], 0)).all()


@pytest.mark.parametrize(("target", "kind"), [(MATRICES, MatrixMultiply), (WARPGROUPS, WarpgroupMultiply)])
def test_channels_last_are_read_in_units(target: Target, kind: type) -> None:
    """As wide as 16 bytes, and where copies go on by themselves, these fill in the zeros around."""
    desk, rng = Desk(target), np.random.default_rng(0)
    x, w, b = numbers(rng, "f2", 2, 64, 7, 9), numbers(rng, "f2", 64, 64, 3, 3), numbers(rng, "f2", 64)
    y = convolution(channels_last(desk, x), channels_last(desk, w), [Taps(3, 1, 1, 1, 1)] * 2, 1, "")
    root = graph.elementwise("add", y, graph.expand(graph.reshape(desk.buffer(b), (64, 1, 1)), y.shape))
    planned = desk.plan(root)
    assert [launch.kernel.name for launch in planned.launches] == ["contract_add"]
    assert statements(planned.launches, kind)
    assert bool(statements(planned.launches, CopyAsync)) == target.warpgroups
    assert not statements(planned.launches, CopyBox)
    assert planned.results[0].layout.order == (0, 2, 3, 1)
    expected = reference.conv(x, w, (1, 1), [(1, 1)] * 2, (1, 1)) + b[:, None, None]
    assert (desk.values(root) == expected).all()


@pytest.mark.parametrize(("target", "dtype"), SOME.values(), ids=SOME)
@pytest.mark.parametrize("groups", [1, 2])
def test_channels_are_put_last_where_that_pays(
    target: Target, dtype: str, groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the operand and the weights; then both are read in units, and the result lies channels first all the same."""
    monkeypatch.setattr(convolutions, "_WORTH_COPYING", 0)
    desk, rng = Desk(target), np.random.default_rng(0)
    x, w = numbers(rng, dtype, 2, 32, 7, 9), numbers(rng, dtype, 32, 32 // groups, 3, 3)
    taps = [Taps(3, 1, 1, 1, 1)] * 2
    root = convolution(desk.buffer(x), desk.buffer(w), taps, groups, "", copies="whole")
    planned = desk.plan(root)
    assert [launch.kernel.name for launch in planned.launches[:3]] == ["transpose", "transpose", "contract"]
    assert bool(statements(planned.launches, CopyAsync)) == (target.warpgroups and dtype == "f2")
    assert planned.results[0].layout.order == (0, 1, 2, 3)
    assert (desk.values(root) == reference.conv(x, w, (1, 1), [(1, 1)] * 2, (1, 1), groups)).all()


def test_of_one_tap_only_the_operand_is_turned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where places cannot be read in units: they are odd, or others lie between."""
    monkeypatch.setattr(convolutions, "_WORTH_COPYING", 0)
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(0)
    w = numbers(rng, "f2", 32, 16, 1, 1)
    for side, stride in ((7, 1), (8, 2)):
        x = numbers(rng, "f2", 2, 16, side, side)
        root = convolution(desk.buffer(x), desk.buffer(w), [Taps(1, stride)] * 2, 1, "", copies="whole")
        launches = desk.plan(root).launches
        assert [launch.kernel.name for launch in launches] == ["transpose", "contract"]
        assert statements(launches, CopyAsync)
        assert (desk.values(root) == reference.conv(x, w, (stride,) * 2, [(0, 0)] * 2, (1, 1), 1)).all()


@pytest.mark.parametrize("last", [False, True], ids=["channels first", "channels last"])
@pytest.mark.parametrize("target", [MATRICES, WARPGROUPS], ids=["matrices", "warpgroups"])
def test_few_channels_are_filled_up_with_zeros(target: Target, last: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolutions, "_WORTH_COPYING", 0)
    desk, rng = Desk(target), np.random.default_rng(0)
    x, w = numbers(rng, "f2", 2, 3, 13, 10), numbers(rng, "f2", 24, 3, 5, 3)
    x[0, 0, 2, 2] = np.inf  # which a zero beside its channels makes a NaN of nothing
    w[:, 0] = 1
    taps = [Taps(5, 2, 1, 2, 2), Taps(3, 1, 1, 1, 1)]
    lie = channels_last if last else Desk.buffer
    root = convolution(lie(desk, x), lie(desk, w), taps, 1, "", copies="filled")
    planned = desk.plan(root)
    assert planned.launches[-1].kernel.name == "contract"
    assert bool(statements(planned.launches, CopyAsync)) == target.warpgroups
    assert planned.results[0].layout.order == ((0, 2, 3, 1) if last else (0, 1, 2, 3))
    with np.errstate(invalid="ignore"):
        expected = reference.conv(x, w, (2, 1), [(2, 2), (1, 1)], (1, 1), 1)
    np.testing.assert_array_equal(desk.values(root), expected)


def test_what_a_copy_is_made_of_is_computed_into_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody copies what is contiguous already, and nobody else's memory is written over."""
    monkeypatch.setattr(convolutions, "_WORTH_COPYING", 0)
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(0)
    host = numbers(rng, "f2", 2, 16, 15, 15)
    x, w = desk.buffer(host), desk.buffer(numbers(rng, "f2", 32, 16, 1, 1))
    node = graph.custom_call(Contiguous(), graph.elementwise("neg", x))
    assert names(desk, node) == ["neg"]
    assert (desk.values(node) == -host).all()
    alone = graph.custom_call(Contiguous(), x)
    assert names(desk, alone) == ["copy"]
    assert (desk.values(alone) == host).all()
    root = convolution(graph.elementwise("neg", x), w, [Taps(1, 2)] * 2, 1, "", copies="whole")
    assert names(desk, root) == ["neg", "transpose", "contract"]


@pytest.mark.parametrize(
    ("dtype", "channels", "expected"), [("f4", 4, True), ("f4", 5, False), ("f4", 6, True), ("c16", 4, False)]
)
def test_few_channels_are_read_together_in_units_only(
    dtype: str, channels: int, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of three neighbouring taps lie next to each other: 12, 15 and 18 elements."""
    seen: list[bool] = []

    def is_turned(side: Side) -> bool:
        seen.append(candidates.is_turned(side))
        return seen[-1]

    monkeypatch.setattr(tiles, "is_turned", is_turned)
    desk, rng = Desk(FMA), np.random.default_rng(0)
    x, w = numbers(rng, dtype, 2, channels, 9, 8), numbers(rng, dtype, 32, channels, 3, 3)
    root = convolution(channels_last(desk, x), channels_last(desk, w), [Taps(3)] * 2, 1, "")
    assert (desk.values(root) == reference.conv(x, w, (1, 1), [(0, 0)] * 2, (1, 1), 1)).all()
    assert seen[0] == expected


def test_small_convolutions_and_those_without_tiles_copy_nothing() -> None:
    def copies(batch: int, side: int, channels: int, groups: int, dtype: str = "f2") -> int:
        desk = Desk(WARPGROUPS)
        x, w = (
            desk.buffer(np.zeros(shape, dtype))
            for shape in ((batch, channels, side, side), (channels, channels // groups, 3, 3))
        )
        root = convolution(x, w, [Taps(3, 1, 1, 1, 1)] * 2, groups, "", copies="whole")
        return sum(isinstance(node, graph.CustomCall) for node in walk(root))

    assert copies(2, 64, 32, 1) == 2  # 2 * 64 * 64 * 32 * 32 * 9 products, a little above 2^26
    assert copies(2, 60, 32, 1) == copies(1, 64, 32, 1) == 0
    assert copies(32, 32, 128, 16) == 0  # 8 channels of each group's result
    assert copies(8, 32, 32, 1, "c16") == 0


@pytest.mark.parametrize(
    ("channels", "kernel", "last"), [(20, 3, False), (32, 1, False), (32, 3, True)], ids=["odd", "one tap", "last"]
)
def test_channels_stay_where_they_are_otherwise(
    channels: int, kernel: int, last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convolutions, "_WORTH_COPYING", 0)
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(0)
    x, w = numbers(rng, "f2", 2, channels, 8, 9), numbers(rng, "f2", 32, channels, kernel, kernel)
    x_node = channels_last(desk, x) if last else desk.buffer(x)
    root = convolution(x_node, desk.buffer(w), [Taps(kernel)] * 2, 1, "", copies="whole")
    assert not any(isinstance(node, graph.CustomCall) for node in walk(root))


@pytest.mark.parametrize(("target", "dtype"), SOME.values(), ids=SOME)
def test_products_over_several_axes_copy_nothing(target: Target, dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, y = numbers(rng, dtype, 4, 6, 5, 8), numbers(rng, dtype, 5, 32, 6)
    desk = Desk(target)
    left = graph.reshape(graph.permute(desk.buffer(x), (0, 3, 1, 2)), (32, 30))
    right = graph.reshape(graph.permute(desk.buffer(y), (2, 0, 1)), (30, 32))
    root = graph.contract(left, right)
    assert set(names(desk, root)) <= {"contract", "sum"}
    expected = exactly(x.transpose(0, 3, 1, 2).reshape(32, 30), y.transpose(2, 0, 1).reshape(30, 32))
    assert (desk.values(root) == expected).all()


def test_matrices_that_are_repeated_are_read_in_place() -> None:
    desk, rng = Desk(FMA), np.random.default_rng(0)
    x, y = numbers(rng, "f4", 3, 4, 2, 16), numbers(rng, "f4", 5, 3, 4 * 2, 16)
    left = graph.reshape(graph.permute(desk.buffer(x), (0, 3, 2, 1)), (3, 16, 8))
    root = graph.contract(graph.expand(left, (5, 3, 16, 8)), desk.buffer(y))
    assert names(desk, root) == ["contract"]
    assert (desk.values(root) == exactly(x.transpose(0, 3, 2, 1).reshape(3, 16, 8), y)).all()


def test_what_somebody_else_needs_is_written_all_the_same() -> None:
    desk, rng = Desk(FMA), np.random.default_rng(0)
    x, w = numbers(rng, "f4", 1, 2, 8, 8), numbers(rng, "f4", 16, 2, 3, 3)
    padded = graph.assign(
        graph.zeros(desk.buffer(x).dtype, (1, 2, 10, 10)), Layout((1, 2, 8, 8), (200, 100, 10, 1), 11), desk.buffer(x)
    )
    y = convolution(padded, desk.buffer(w), [Taps(3)] * 2, 1, "")
    planned = desk.plan(padded, y)
    assert "contract" in [launch.kernel.name for launch in planned.launches]
    desk.runtime.run(planned)
    assert (desk.host(planned.results[0]) == np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])).all()
    bare = reference.conv(x, w, (1, 1), [(1, 1)] * 2, (1, 1)).reshape(planned.results[1].shape)
    assert (desk.host(planned.results[1]) == bare).all()


def test_a_row_that_is_written_into_zeros_is_no_padding() -> None:
    desk, rng = Desk(FMA), np.random.default_rng(0)
    row, y = numbers(rng, "f4", 40), numbers(rng, "f4", 40, 24)
    zeros = graph.zeros(desk.buffer(row).dtype, (20, 40))
    for region in (Layout((40,), (1,), 80), Layout((1, 1, 40), (0, 40, 1), 80)):
        value = graph.reshape(desk.buffer(row), region.shape)
        root = graph.contract(graph.assign(zeros, region, value), desk.buffer(y))
        left = np.zeros((20, 40), "f4")
        left[2] = row
        assert (desk.values(root) == exactly(left, y)).all()


@pytest.mark.parametrize("filled", ["by another number", "in steps", "by what is computed"])
def test_other_writes_are_no_padding(filled: str) -> None:
    desk, rng = Desk(FMA), np.random.default_rng(0)
    x, y = numbers(rng, "f4", 20, 20), numbers(rng, "f4", 48, 24)
    step = 2 if filled == "in steps" else 1
    shape, region = (20, 48), Layout((20, 20), (48, step), 3)
    base: Node = graph.zeros(desk.buffer(x).dtype, shape)
    if filled == "by another number":
        base = graph.scalar(2.0, base.dtype, shape)
    value = desk.buffer(x)
    if filled == "by what is computed":
        value = graph.elementwise("neg", value)
    left = np.full(shape, 2.0 if isinstance(base, Scalar) else 0, "f4")
    left[:, 3 : 3 + 20 * step : step] = -x if filled == "by what is computed" else x
    root = graph.contract(graph.assign(base, region, value), desk.buffer(y))
    assert names(desk, root)[-1] == "contract"
    assert len(names(desk, root)) > 1
    assert (desk.values(root) == exactly(left, y)).all()


def test_steps_that_run_over_rows_are_no_padding() -> None:
    """A view of a padded array whose steps go from the end of one row to the next."""
    desk, rng = Desk(FMA), np.random.default_rng(0)
    x, y = numbers(rng, "f4", 18, 20), numbers(rng, "f4", 21, 16)
    padded = graph.assign(graph.zeros(desk.buffer(x).dtype, (20, 21)), Layout((18, 20), (21, 1), 21), desk.buffer(x))
    flat = graph.reshape(padded, (420,))
    shifted = graph.reshape(graph.index(flat, (Span(3, 1, 399),)), (19, 21))
    root = graph.contract(shifted, desk.buffer(y))
    host = np.pad(x, [(1, 1), (0, 1)]).reshape(-1)[3:402].reshape(19, 21)
    assert (desk.values(root) == exactly(host, y)).all()


@pytest.mark.parametrize("target", [CPU, Target(kind="gpu", compute_units=2, group_size=64)], ids=["cpu", "gpu"])
def test_targets_without_tiles_copy(target: Target) -> None:
    desk, rng = Desk(target), np.random.default_rng(0)
    for batch, groups in itertools.product((1, 2), (1, 2)):
        x, w = numbers(rng, "f4", batch, 4, 7, 6), numbers(rng, "f4", 6, 4 // groups, 3, 2)
        taps = taps_of((3, 2), (2, 1), [(1, 2), (0, 1)], (1, 2))
        root = convolution(desk.buffer(x), desk.buffer(w), taps, groups, "")
        expected = reference.conv(x, w, (2, 1), [(1, 2), (0, 1)], (1, 2), groups)
        assert math.prod(root.shape) == expected.size
        assert (desk.values(root) == expected).all()
