"""Convolutions by Winograd's method, run by the interpreter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.graph import build as graph
from ocl_ir.graph.build import CustomCall
from ocl_ir.graph.winograd import WinogradConvolution
from ocl_runtime.plan.kernels import winograd
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime
from tests.support.products import FMA, WARPGROUPS
from tests.unit.plan.test_plan import Desk


def by_numpy(x: np.ndarray, w: np.ndarray, before: tuple[int, int], behind: tuple[int, int]) -> np.ndarray:
    around = [(0, 0), (0, 0), *zip(before, behind, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x.astype("f8"), around), (3, 3), axis=(2, 3))
    return np.einsum("nchwij,kcij->nkhw", windows, w.astype("f8"))


@pytest.mark.parametrize(
    ("shape", "made", "before", "behind"),
    [
        ((2, 3, 6, 8), 4, (1, 1), (1, 1)),
        ((1, 5, 7, 5), 2, (1, 0), (0, 2)),  # odd results
        ((3, 1, 3, 3), 1, (0, 0), (0, 0)),  # one result each
        ((1, 2, 4, 9), 3, (3, 2), (1, 4)),  # tiles of nothing but zeros
    ],
)
@pytest.mark.parametrize("target", [FMA, WARPGROUPS], ids=["fma", "warpgroups"])
def test_it_is_the_convolution(
    shape: tuple[int, ...], made: int, before: tuple[int, int], behind: tuple[int, int], target: Target
) -> None:
    desk, rng = Desk(target), np.random.default_rng(made)
    x, w = rng.standard_normal(shape).astype("f4"), rng.standard_normal((made, shape[1], 3, 3)).astype("f4")
    root = graph.custom_call(WinogradConvolution(before, behind), desk.buffer(x), desk.buffer(w))
    expected = by_numpy(x, w, before, behind)
    assert root.shape == expected.shape
    np.testing.assert_allclose(desk.values(root), expected, rtol=1e-5, atol=1e-5)


def test_images_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a large batch, which fills the same memory again and again."""
    monkeypatch.setattr(winograd, "MOST_TILES", 2 * 4 * 6)
    desk, rng = Desk(FMA), np.random.default_rng(3)
    x, w = rng.standard_normal((5, 3, 4, 6)).astype("f4"), rng.standard_normal((4, 3, 3, 3)).astype("f4")
    root = graph.custom_call(WinogradConvolution((1, 1), (1, 1)), desk.buffer(x), desk.buffer(w))
    launched = [launch.kernel.name for launch in desk.plan(root).launches]
    assert launched.count("transform_tiles") == launched.count("transform_results") == 3
    assert launched.count("transform_weights") == 1
    np.testing.assert_allclose(desk.values(root), by_numpy(x, w, (1, 1), (1, 1)), rtol=1e-5, atol=1e-5)


def test_a_large_element_leaves_its_rounding_in_its_windows_only() -> None:
    """Also where its weight is 0."""
    x, w = np.ones((1, 1, 10, 10), "f4"), np.zeros((1, 1, 3, 3), "f4")
    x[0, 0, 4, 5], w[0, 0, 1, 1] = 1e30, 1
    desk = Desk(FMA)
    root = graph.custom_call(WinogradConvolution((0, 0), (0, 0)), desk.buffer(x), desk.buffer(w))
    result = desk.values(root)[0, 0]
    far = np.ones((8, 8), bool)
    far[2:5, 3:6] = False
    assert (result[far] == 1).all()
    assert result[3, 4] == np.float32(1e30)


GPU = replace(FMA, compute_units=132)
LARGE = (32, 128, 28, 28)


def is_by_winograd(
    x: tuple[int, ...], w: tuple[int, ...], dtype: str = "f4", target: Target = GPU, **options: Any
) -> bool:
    with xp.use(InterpretedRuntime(target)):
        node = xp.conv(xp.zeros(x, dtype=dtype), xp.zeros(w, dtype=dtype), **options)._node
    return isinstance(node, CustomCall) and isinstance(node.algorithm, WinogradConvolution)


@pytest.mark.parametrize(
    ("x", "w", "options", "is_so"),
    [
        (LARGE, (128, 128, 3, 3), {"padding": 1}, True),
        (LARGE, (128, 128, 3, 3), {"padding": "same"}, True),
        (LARGE, (128, 128, 3, 3), {"stride": 2}, False),
        (LARGE, (128, 128, 3, 3), {"dilation": 2}, False),
        (LARGE, (128, 64, 3, 3), {"groups": 2}, False),
        (LARGE, (128, 128, 3, 1), {}, False),
        (LARGE, (128, 128, 3, 3), {"dtype": "f2"}, False),
        (LARGE, (128, 128, 3, 3), {"dtype": "f8"}, False),
        ((1, 128, 28, 28), (128, 128, 3, 3), {}, False),  # too few tiles
        ((32, 16, 56, 56), (128, 16, 3, 3), {}, False),  # too few channels
        ((256, 256, 224, 224), (256, 256, 3, 3), {}, True),
        ((1, 1024, 224, 224), (1024, 1024, 3, 3), {}, False),  # too much memory for one image
        ((64, 256, 128, 3), (256, 256, 3, 3), {}, False),  # tiles that are half empty
        ((256, 256, 5, 5), (256, 256, 3, 3), {}, False),
        ((32, 128, 28), (128, 128, 3), {}, False),
    ],
)
def test_which_convolutions_are_computed_so(
    x: tuple[int, ...], w: tuple[int, ...], options: dict[str, Any], is_so: bool
) -> None:
    assert is_by_winograd(x, w, **options) is is_so


def test_others_have_their_reasons() -> None:
    with xp.precision("tf32"):
        assert not is_by_winograd(LARGE, (128, 128, 3, 3), target=replace(WARPGROUPS, compute_units=132))
    assert not is_by_winograd(LARGE, (128, 128, 3, 3), target=replace(GPU, kind="cpu"))
