"""Convolutions of few channels that move by more than 1, in phases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ocl_ir.kernel.grammar import CopyWindows
from ocl_runtime.arrays.meaning import convolutions
from ocl_runtime.arrays.meaning.convolutions import convolution
from ocl_runtime.plan.kernels.products import candidates, tiles
from ocl_runtime.plan.kernels.products.contraction import Contraction
from ocl_runtime.plan.target import Target
from tests.support import convolution_reference as reference
from tests.support.products import MATRICES, WARPGROUPS, numbers, statements
from tests.unit.plan.test_plan import Desk
from tests.unit.plan.test_product_operands import channels_last, taps_of

LAYERS: dict[str, tuple[Any, ...]] = {
    # batch, channels, space, results, kernel, stride, before and behind; places of a sum
    "the first of a network": (2, 3, (20, 22), 16, (7, 7), (2, 2), [(3, 3), (3, 3)], 4 * 4 * 16),
    "odd lengths": (2, 3, (21, 17), 16, (3, 3), (2, 2), [(1, 1), (0, 1)], 2 * 2 * 16),
    "one axis moves by 1": (1, 1, (17, 18), 16, (5, 3), (3, 1), [(2, 2), (1, 1)], 2 * 3 * 8),
    "other strides": (1, 2, (12, 13), 16, (4, 5), (2, 3), [(1, 1), (2, 0)], 2 * 2 * 16),
    "places that no window has": (1, 3, (11, 19), 16, (2, 8), (4, 2), [(0, 0), (0, 1)], 1 * 4 * 24),
}  # fmt: skip


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolutions, "_WORTH_COPYING", 0)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_phases_are_channels(name: str, last: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One kernel writes each operand, and sums are as long as the last number says."""
    batch, channels, space, results, kernel, stride, pairs, taken = LAYERS[name]
    made = products(monkeypatch)
    desk, rng = Desk(MATRICES), np.random.default_rng(0)
    x, w = numbers(rng, "f2", batch, channels, *space), numbers(rng, "f2", results, channels, *kernel)
    x_node, w_node = (channels_last(desk, each) if last else desk.buffer(each) for each in (x, w))
    ones = (1,) * len(space)
    root = convolution(x_node, w_node, taps_of(kernel, stride, pairs, ones), 1, "", copies="filled")
    assert len(desk.plan(root).launches) == 3
    assert {contraction.sizes[2] for contraction in made} == {taken}
    np.testing.assert_array_equal(desk.values(root), reference.conv(x, w, stride, pairs, ones))


def products(monkeypatch: pytest.MonkeyPatch) -> list[Contraction]:
    """What is multiplied in tiles from now on."""
    made: list[Contraction] = []
    chosen = tiles.chosen

    def spy(contraction: Contraction, target: Target) -> Any:
        made.append(contraction)
        return chosen(contraction, target)

    monkeypatch.setattr(tiles, "chosen", spy)
    return made


OTHERS: dict[str, tuple[Any, ...]] = {
    # the same, dilation and groups behind
    "moves by 1": (2, 3, (9, 9), 16, (3, 3), (1, 1), [(1, 1), (1, 1)], (1, 1), 1),
    "taps apart": (2, 3, (19, 19), 16, (3, 3), (2, 2), [(1, 1), (1, 1)], (2, 1), 1),
    "more products": (2, 6, (19, 19), 16, (2, 2), (3, 3), [(0, 0), (0, 0)], (1, 1), 1),
    "as many products": (2, 4, (60,), 16, (2,), (3,), [(0, 0)], (1,), 1),
    "groups": (1, 6, (19, 19), 32, (7, 7), (2, 2), [(3, 3), (3, 3)], (1, 1), 2),
    "enough channels": (1, 12, (19, 19), 16, (4, 4), (4, 4), [(3, 3), (3, 3)], (1, 1), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_other_convolutions_have_no_phases(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    batch, channels, space, results, kernel, stride, pairs, dilation, groups = OTHERS[name]
    monkeypatch.setattr(convolutions, "in_phases", found := Found(convolutions.in_phases))
    desk, rng = Desk(MATRICES), np.random.default_rng(0)
    x, w = numbers(rng, "f2", batch, channels, *space), numbers(rng, "f2", results, channels // groups, *kernel)
    taps = taps_of(kernel, stride, pairs, dilation)
    root = convolution(desk.buffer(x), desk.buffer(w), taps, groups, "", copies="filled")
    assert not any(found.results)
    np.testing.assert_array_equal(desk.values(root), reference.conv(x, w, stride, pairs, dilation, groups))


class Found:
    """A function that keeps what it gave."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.results: list[Any] = []

    def __call__(self, *args: Any) -> Any:
        self.results.append(self._function(*args))
        return self.results[-1]


def test_rows_of_taps_come_in_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four taps of 16 channels are a row of a box."""

    def chosen(contraction: Contraction, target: Target) -> Any:
        return next(tile for tile, _ in candidates.tiles(contraction, target) if tile.boxes and tile.rows == 64), 1

    monkeypatch.setattr(tiles, "chosen", chosen)
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(0)
    x, w = numbers(rng, "f2", 2, 3, 20, 22), numbers(rng, "f2", 16, 3, 7, 7)
    taps = taps_of((7, 7), (2, 2), [(3, 3)] * 2, (1, 1))
    for last in (True, False):
        nodes = (channels_last(desk, each) if last else desk.buffer(each) for each in (x, w))
        root = convolution(*nodes, taps, 1, "", copies="filled")
        assert statements(desk.plan(root).launches, CopyWindows)
        np.testing.assert_array_equal(desk.values(root), reference.conv(x, w, (2, 2), [(3, 3)] * 2, (1, 1)))


def test_an_axis_without_elements_has_zeros_around() -> None:
    desk, rng = Desk(MATRICES), np.random.default_rng(0)
    x, w = np.zeros((2, 3, 0, 40), "f2"), numbers(rng, "f2", 24, 3, 7, 7)
    root = convolution(
        desk.buffer(x), desk.buffer(w), taps_of((7, 7), (2, 2), [(4, 4), (3, 3)], (1, 1)), 1, "", copies="filled"
    )
    assert not desk.values(root).any()


@pytest.mark.parametrize("kernel", [(4, 4), (3, 3)], ids=str)
def test_infinities_stay_in_their_windows_where_strides_divide_lengths(kernel: tuple[int, int]) -> None:
    """Otherwise, as docs/NUMERICS.md says, those beside them are NaN, and no others."""
    desk, rng = Desk(MATRICES), np.random.default_rng(0)
    x, w = numbers(rng, "f2", 1, 3, 12, 12), np.ones((16, 3, *kernel), "f2")
    x[0, 1, 5, 6] = np.inf
    root = convolution(
        desk.buffer(x), desk.buffer(w), taps_of(kernel, (2, 2), [(0, 0)] * 2, (1, 1)), 1, "", copies="filled"
    )
    got = desk.values(root)
    exact = reference.conv(np.isinf(x).astype("f2"), w, (2, 2), [(0, 0)] * 2, (1, 1)) > 0
    if kernel == (4, 4):
        np.testing.assert_array_equal(np.isfinite(got), ~exact)
    else:
        assert np.isinf(got[exact]).all()
        assert np.isnan(got[~np.isfinite(got) & ~exact]).all()
        assert (~np.isfinite(got)).sum() <= 16 * 4
