"""Windows of tensors that boxes bring to the products of convolutions: run by the interpreter, which finds races, boxes
that begin where no window does, and accesses out of bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ocl_ir.graph import build as graph
from ocl_ir.indices import Span
from ocl_ir.kernel.grammar import CopyAsync, CopyBox, CopyWindows, DescribeWindows
from ocl_ir.layout import Layout
from ocl_ir.types import F16, F64, DType
from ocl_runtime.arrays.meaning import convolutions
from ocl_runtime.arrays.meaning.convolutions import convolution
from ocl_runtime.plan.fusion.values import Leaf, Padding, Split
from ocl_runtime.plan.kernels.products import candidates, tiles
from ocl_runtime.plan.kernels.products.contraction import Contraction, Side
from ocl_runtime.plan.kernels.products.tile import AnyTile
from ocl_runtime.plan.kernels.products.windows import windows_of
from ocl_runtime.plan.target import Target
from tests.support import convolution_reference as reference
from tests.support.products import WARPGROUPS, numbers, statements
from tests.unit.plan.test_plan import Desk
from tests.unit.plan.test_product_operands import channels_last, taps_of

LAYERS: dict[str, tuple[Any, ...]] = {
    # batch, channels, space, results, kernel, stride, before and behind, dilation
    "same": (2, 64, (9, 11), 72, (3, 3), (1, 1), [(1, 1), (1, 1)], (1, 1)),
    "strided": (2, 64, (13, 12), 64, (3, 2), (2, 1), [(0, 2), (1, 0)], (1, 3)),
    "nothing padded": (3, 64, (8, 10), 16, (3, 3), (1, 2), [(0, 0), (0, 0)], (2, 1)),
    "one axis padded": (1, 128, (8, 10), 16, (3, 3), (1, 2), [(2, 0), (0, 0)], (1, 1)),
    "places apart": (2, 64, (12, 10), 16, (1, 1), (3, 2), [(0, 0), (0, 0)], (1, 1)),
    "one tap, padded": (2, 64, (6, 5), 16, (1, 1), (1, 1), [(1, 0), (0, 2)], (1, 1)),
    "a line": (3, 64, (70,), 24, (5,), (2,), [(2, 1)], (1,)),
    "steps of a common unit": (1, 64, (13, 13), 16, (3, 3), (3, 3), [(0, 0), (0, 0)], (2, 2)),
    "taps two apart": (1, 64, (12, 20), 16, (3, 3), (1, 1), [(0, 0), (0, 0)], (1, 2)),
    "three images for a tile": (7, 64, (6, 6), 16, (3, 3), (1, 1), [(1, 1), (1, 1)], (1, 1)),
}  # fmt: skip


@pytest.fixture
def boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only tiles whose operands come in boxes, the smallest one of them."""
    only(monkeypatch, 1)


def only(monkeypatch: pytest.MonkeyPatch, parts: int) -> None:
    def chosen(contraction: Contraction, target: Target) -> Any:
        made = [tile for tile, _ in candidates.tiles(contraction, target)]
        return next(tile for tile in made if tile.boxes and (tile.rows, tile.columns) == (64, 64)), parts

    monkeypatch.setattr(tiles, "chosen", chosen)


def expected(x: np.ndarray, w: np.ndarray, layer: Sequence[Any]) -> np.ndarray:
    *_, stride, pairs, dilation = layer
    return reference.conv(x, w, stride, pairs, dilation)


@pytest.mark.usefixtures("boxes")
@pytest.mark.parametrize("name", LAYERS)
def test_windows_come_in_boxes(name: str) -> None:
    batch, channels, space, results, kernel, stride, pairs, dilation = layer = LAYERS[name]
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(0)
    x, w = numbers(rng, "f2", batch, channels, *space), numbers(rng, "f2", results, channels, *kernel)
    taps = taps_of(kernel, stride, pairs, dilation)
    root = convolution(channels_last(desk, x), channels_last(desk, w), taps, 1, "")
    launches = desk.plan(root).launches
    assert [launch.kernel.name for launch in launches] == ["describe", "contract"]
    assert statements(launches, DescribeWindows) == 1
    assert statements(launches, CopyWindows)
    assert statements(launches, CopyBox)
    assert not statements(launches, CopyAsync)
    assert not [param for launch in launches for param in launch.kernel.params if "_end" in param.value.hint]
    np.testing.assert_array_equal(desk.values(root), expected(x, w, layer))


@pytest.mark.usefixtures("boxes")
@pytest.mark.parametrize("groups", [1, 2])
def test_channels_first_are_copied_and_then_come_in_boxes(groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows are the right operand then, those of each image for themselves."""
    monkeypatch.setattr(convolutions, "_WORTH_COPYING", 0)
    layer = (2, 64 * groups, (7, 9), 32 * groups, (3, 3), (2, 1), [(1, 1), (1, 1)], (1, 1))
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(0)
    x, w = numbers(rng, "f2", 2, 64 * groups, 7, 9), numbers(rng, "f2", 32 * groups, 64, 3, 3)
    taps = taps_of((3, 3), *layer[5:])
    root = convolution(desk.buffer(x), desk.buffer(w), taps, groups, "", copies="whole")
    assert statements(desk.plan(root).launches, CopyWindows)
    np.testing.assert_array_equal(desk.values(root), reference.conv(x, w, *layer[5:], groups))


def test_parts_of_the_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, 2)
    batch, channels, space, results, kernel, stride, pairs, dilation = layer = LAYERS["same"]
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(0)
    x, w = numbers(rng, "f2", batch, channels, *space), numbers(rng, "f2", results, channels, *kernel)
    taps = taps_of(kernel, stride, pairs, dilation)
    root = convolution(channels_last(desk, x), channels_last(desk, w), taps, 1, "")
    assert [launch.kernel.name for launch in desk.plan(root).launches] == ["describe", "contract", "sum"]
    np.testing.assert_array_equal(desk.values(root), expected(x, w, layer))


@pytest.mark.usefixtures("boxes")
def test_tf32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolutions, "in_tf32", lambda: True)
    layer = (2, 32, (7, 9), 32, (3, 3), (2, 1), [(1, 1), (1, 1)], (1, 1))
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(0)
    x, w = numbers(rng, "f4", 2, 32, 7, 9), numbers(rng, "f4", 32, 32, 3, 3)
    root = convolution(channels_last(desk, x), channels_last(desk, w), taps_of((3, 3), *layer[5:]), 1, "")
    launches = desk.plan(root).launches
    assert statements(launches, CopyWindows)
    np.testing.assert_array_equal(desk.values(root), expected(x, w, layer))


@pytest.mark.parametrize("last", [False, True])
def test_float64(last: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By instructions of sub-groups, whose operands come in boxes, too."""
    monkeypatch.setattr(convolutions, "_WORTH_COPYING", 0)
    monkeypatch.setitem(candidates.MATRICES, "mma_f64", ())
    layer = (2, 32, (7, 9), 32, (3, 3), (2, 1), [(1, 1), (1, 1)], (1, 1))
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(0)
    x, w = numbers(rng, "f8", 2, 32, 7, 9), numbers(rng, "f8", 32, 32, 3, 3)
    nodes = (channels_last(desk, each) if last else desk.buffer(each) for each in (x, w))
    root = convolution(*nodes, taps_of((3, 3), *layer[5:]), 1, "", copies="whole")
    assert statements(desk.plan(root).launches, CopyWindows)
    np.testing.assert_array_equal(desk.values(root), expected(x, w, layer))


@pytest.mark.usefixtures("boxes")
def test_views_of_larger_pictures() -> None:
    """Windows over some rows and every second column of an array, which begin behind its first element."""
    layer = (2, 64, (7, 9), 16, (3, 3), (1, 1), [(1, 1), (1, 1)], (1, 1))
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(0)
    whole, w = numbers(rng, "f2", 2, 12, 20, 64), numbers(rng, "f2", 16, 64, 3, 3)
    seen = graph.index(desk.buffer(whole), (Span(0, 1, 2), Span(3, 1, 7), Span(1, 2, 9), Span(0, 1, 64)))
    x = np.moveaxis(whole[:, 3:10, 1:19:2], -1, 1)
    root = convolution(graph.permute(seen, (0, 3, 1, 2)), channels_last(desk, w), taps_of((3, 3), *layer[5:]), 1, "")
    assert statements(desk.plan(root).launches, CopyWindows)
    np.testing.assert_array_equal(desk.values(root), expected(x, w, layer))


def side(
    own: Sequence[tuple[int, int]],
    inner: Sequence[tuple[int, int]],
    *bounds: tuple[Sequence[int], int, int],
    offset: int = 0,
    dtype: DType = F16,
) -> Side:
    """An operand by (length, stride) of its axes; bounds by the steps along these, where they begin and their end."""
    shape, strides = zip(*own, *inner, strict=True)
    layout = Layout(shape, strides, offset)
    made = tuple((Layout(shape, tuple(steps), first), end) for steps, first, end in bounds)
    padding = Padding(layout, made) if made else None
    node = graph.buffer(Desk().runtime.upload(np.zeros(1)), dtype, layout)
    return Side(Leaf(node, layout, False), Split(len(own), len(inner), padding), 0)


ROWS, COLUMNS = (64 * 30, 64), 64
"""Strides of pictures of 30 places a row, with 64 channels."""
PLACES = [(2, 64 * 900), (9, ROWS[0]), (11, ROWS[1])]
TAPS = [(3, ROWS[0]), (3, ROWS[1]), (COLUMNS, 1)]
WIDE = [0, 0, 1, 0, 1, 0], -1, 11
HIGH = [0, 1, 0, 1, 0, 0], -2, 9


def test_axes_are_found_by_strides() -> None:
    offset = 64 * 900 - 64
    windows = windows_of(side(PLACES, TAPS, WIDE, HIGH, offset=offset))
    assert windows is not None
    assert windows.axes == ((2, 1, 0), (4, 3))
    assert (windows.first, windows.columns) == (offset + 64 + 2 * ROWS[0], 64)
    width, height, images = windows.dimensions
    assert (width.length, width.stride, width.step, width.before, width.windows) == (11, 64, 1, 1, 11)
    assert (height.length, height.stride, height.step, height.before, height.windows) == (9, ROWS[0], 1, 2, 9)
    assert (images.length, images.stride) == (2, 64 * 900)


def test_taps_go_along_the_axis_that_has_their_unit() -> None:
    """Where taps of a row lie next to each other, those that are left go down the rows."""
    rows = 115 * 16
    windows = windows_of(side([(2, 115 * rows), (112, rows), (112, 16)], [(4, rows), (64, 1)]))
    assert windows is not None
    assert windows.axes == ((2, 1, 0), (None, 3))
    assert [each.length for each in windows.dimensions] == [112, 115, 2]


def padded(step: int = 1, dilation: int = 1, before: int = 1, length: int = 11, count: int = 11, taps: int = 3) -> Side:
    """Windows along a line."""
    steps = [step, dilation, 0]
    return side([(count, 64 * step)], [(taps, 64 * dilation), (64, 1)], (steps, -before, length), offset=64 * 1000)


def alone(step: int, stride: int) -> Side:
    """Places whose bound knows no taps."""
    return side([(11, stride)], [(64, 1)], ([step, 0], -1, 40), offset=64000)


LIMITS = {
    "steps": (padded(step=8, length=81), padded(step=9, length=91)),
    "taps": (padded(dilation=85, taps=4), padded(dilation=86, taps=4)),
    "before": (padded(before=128), padded(before=129)),
    "before, near the end": (padded(before=128, count=130), padded(before=129, count=131)),
    "behind": (padded(length=138), padded(length=139)),
    "beyond": (padded(count=139), padded(count=140)),
    "columns": (side([(9, 64)], [(3, 64), (128, 1)]), side([(9, 64)], [(3, 64), (96, 1)])),
    "columns of float64": (
        side([(9, 16)], [(3, 16), (16, 1)], dtype=F64), side([(9, 16)], [(3, 16), (8, 1)], dtype=F64),
    ),
    "neighbours": (side([(9, 64)], [(3, 64), (64, 1)]), side([(9, 128)], [(3, 128), (64, 2)])),
    "own axes": (side(PLACES, TAPS), side([(2, 64 * 9000), *PLACES], TAPS)),
    "axes of taps": (side(PLACES, TAPS), side(PLACES, [(2, 64 * 90), *TAPS])),
    "no axis for a tap": (
        side(PLACES, TAPS, WIDE, HIGH),
        side(PLACES, [(2, 64 * 90), *TAPS[1:]], ([0, 0, 1, 0, 1, 0], -1, 11), ([0, 1, 0, 0, 0, 0], 0, 9)),
    ),
    "the same place again and again": (side([(9, 64)], [(3, 64), (64, 1)]), side([(9, 0)], [(3, 64), (64, 1)])),
    "back to front": (side([(9, 64)], [(3, 64), (64, 1)]), side([(9, 64)], [(3, -64), (64, 1)], offset=128)),
    "units": (side([(9, 64)], [(3, 64), (64, 1)], offset=8), side([(9, 64)], [(3, 64), (64, 1)], offset=4)),
    "units of places": (padded(step=2), side([(11, 8)], [(3, 8), (64, 1)], ([2, 2, 0], -2, 40), offset=8000)),
    "bounds along one place": (side(PLACES, TAPS, WIDE, HIGH), side(PLACES, TAPS, ([0, 1, 1, 0, 1, 0], -1, 11))),
    "bounds along one tap": (side(PLACES, TAPS, WIDE), side(PLACES, TAPS, ([0, 0, 1, 1, 1, 0], -1, 11))),
    "bounds along no column": (side(PLACES, TAPS, WIDE), side(PLACES, TAPS, ([0, 0, 1, 0, 1, 1], -1, 11))),
    "bounds of images": (side(PLACES, TAPS, WIDE), side(PLACES, TAPS, WIDE, ([1, 0, 0, 0, 0, 0], -1, 2))),
    "one bound for an axis": (side(PLACES, TAPS, WIDE), side(PLACES, TAPS, WIDE, ([0, 0, 1, 0, 1, 0], -1, 12))),
    "bounds of places alone": (alone(3, 192), alone(3, 64)),
    "bounds of places go on": (alone(1, 64), alone(-1, 64)),
    "words from one to the next": (
        side([(2, 2**33 - 64), (9, 64)], [(3, 64), (64, 1)]), side([(2, 2**33), (9, 64)], [(3, 64), (64, 1)]),
    ),
    "bounds go on": (side(PLACES, TAPS, WIDE), side(PLACES, TAPS, ([0, 0, -1, 0, 1, 0], -1, 11))),
    "bounds of taps go on": (side(PLACES, TAPS, WIDE), side(PLACES, TAPS, ([0, 0, 1, 0, -1, 0], -1, 11))),
    "bounds begin before": (side(PLACES, TAPS, WIDE), side(PLACES, TAPS, ([0, 0, 1, 0, 1, 0], 1, 20))),
    "bounds lie as elements do": (side(PLACES, TAPS, WIDE), side(PLACES, TAPS, ([0, 0, 3, 0, 1, 0], -1, 40))),
    "taps lie as bounds do": (side(PLACES, TAPS, WIDE), side(PLACES, TAPS, ([0, 0, 1, 0, 2, 0], -1, 20))),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_descriptions_have_room_for_so_much(name: str) -> None:
    possible, impossible = LIMITS[name]
    assert windows_of(possible) is not None
    assert windows_of(impossible) is None


OTHERS: dict[str, tuple[Any, ...]] = {
    "channels that fill no row": (1, 72, (9, 9), 16, (3, 3), (1, 1), [(1, 1), (1, 1)], (1, 1)),
    "places too far apart": (1, 64, (30, 9), 16, (3, 3), (9, 1), [(1, 1), (1, 1)], (1, 1)),
    "far behind the end": (1, 64, (300, 3), 16, (2, 3), (1, 1), [(0, 0), (1, 1)], (290, 1)),
    "zeros before": (1, 64, (20, 3), 16, (3, 3), (1, 1), [(130, 0), (1, 1)], (1, 1)),
    "three dimensions": (1, 64, (4, 5, 6), 16, (3, 3, 3), (1, 1, 1), [(1, 1)] * 3, (1, 1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_no_description_says_is_copied_by_work_items(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    batch, channels, space, results, kernel, stride, pairs, dilation = layer = OTHERS[name]
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(0)
    x, w = numbers(rng, "f2", batch, channels, *space), numbers(rng, "f2", results, channels, *kernel)
    asked: list[AnyTile] = []
    chosen = tiles.chosen

    def spy(contraction: Contraction, target: Target) -> Any:
        asked.extend(tile for tile, _ in candidates.tiles(contraction, target))
        return chosen(contraction, target)

    monkeypatch.setattr(tiles, "chosen", spy)
    taps = taps_of(kernel, stride, pairs, dilation)
    root = convolution(channels_last(desk, x), channels_last(desk, w), taps, 1, "")
    np.testing.assert_array_equal(desk.values(root), expected(x, w, layer))
    assert asked
    assert not any(tile.boxes for tile in asked)
