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
from ocl_runtime.arrays.meaning import convolutions
from ocl_runtime.arrays.meaning.convolutions import convolution
from ocl_runtime.plan.kernels.products import candidates, tiles
from ocl_runtime.plan.kernels.products.contraction import Contraction
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


OTHERS: dict[str, tuple[Any, ...]] = {
    "channels that fill no row": (1, 72, (9, 9), 16, (3, 3), (1, 1), [(1, 1), (1, 1)], (1, 1)),
    "places too far apart": (1, 64, (30, 9), 16, (3, 3), (9, 1), [(1, 1), (1, 1)], (1, 1)),
    "far behind the end": (1, 64, (300, 3), 16, (2, 3), (1, 1), [(0, 0), (1, 1)], (290, 1)),
    "zeros before": (1, 64, (20, 3), 16, (3, 3), (1, 1), [(130, 0), (1, 1)], (1, 1)),
    "three dimensions": (1, 64, (4, 5, 6), 16, (3, 3, 3), (1, 1, 1), [(1, 1)] * 3, (1, 1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_no_description_says_is_copied_by_work_items(name: str) -> None:
    batch, channels, space, results, kernel, stride, pairs, dilation = layer = OTHERS[name]
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(0)
    x, w = numbers(rng, "f2", batch, channels, *space), numbers(rng, "f2", results, channels, *kernel)
    taps = taps_of(kernel, stride, pairs, dilation)
    root = convolution(channels_last(desk, x), channels_last(desk, w), taps, 1, "")
    launches = desk.plan(root).launches
    assert not statements(launches, CopyWindows)
    np.testing.assert_array_equal(desk.values(root), expected(x, w, layer))
