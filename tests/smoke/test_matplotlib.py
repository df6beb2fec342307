"""matplotlib draws arrays of the device as it draws NumPy's: the same pictures, pixel by pixel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

import ocl_runtime as ocl

mpl.use("Agg")

_RNG = np.random.default_rng(0)
_DATA = {
    "x": np.linspace(0, 1, 24, dtype="f4"),
    "y": _RNG.standard_normal(24, dtype="f4"),
    "size": _RNG.uniform(5, 50, 24).astype("f4"),
    "image": _RNG.standard_normal((8, 12), dtype="f4"),
    "edges_x": np.arange(13, dtype="f4"),
    "edges_y": np.arange(9, dtype="f4"),
    "columns": np.arange(12, dtype="f4"),
    "rows": np.arange(8, dtype="f4"),
    "positive": _RNG.uniform(1, 5, 24).astype("f4"),
    "whole": np.arange(24, dtype="i4"),
    "parts": np.array([3, 5, 2, 7], "f4"),
}

CALLS: dict[str, Callable[[Axes, Any], Any]] = {
    "plot": lambda axes, d: axes.plot(d.x, d.y, "o-"),
    "scatter": lambda axes, d: axes.scatter(d.x, d.y, s=d.size, c=d.y),
    "contour": lambda axes, d: axes.contour(d.columns, d.rows, d.image),
    "contourf": lambda axes, d: axes.contourf(d.image),
    "imshow": lambda axes, d: axes.imshow(d.image, vmin=-1, vmax=1),
    "pcolormesh": lambda axes, d: axes.pcolormesh(d.edges_x, d.edges_y, d.image),
    "quiver": lambda axes, d: axes.quiver(d.columns, d.rows, d.image, -d.image),
    "hist": lambda axes, d: axes.hist(d.y, bins=7),
    "hist2d": lambda axes, d: axes.hist2d(d.x, d.y, bins=5),
    "boxplot": lambda axes, d: axes.boxplot(d.image),
    "violinplot": lambda axes, d: axes.violinplot(d.image),
    "bar": lambda axes, d: axes.bar(d.x, d.positive, width=0.02),
    "barh": lambda axes, d: axes.barh(d.whole, d.positive),
    "fill_between": lambda axes, d: axes.fill_between(d.x, d.y, d.y + 1, where=d.y > 0),
    "errorbar": lambda axes, d: axes.errorbar(d.x, d.y, yerr=d.positive / 10),
    "text": lambda axes, d: axes.text(d.x[3], d.x[5], "here"),
    "axvline": lambda axes, d: (axes.axvline(d.x[3]), axes.axhline(d.x[5])),
    "step": lambda axes, d: axes.step(d.x, d.y),
    "stem": lambda axes, d: axes.stem(d.x, d.y),
    "stackplot": lambda axes, d: axes.stackplot(d.x, d.positive, d.positive * 2),
    "hexbin": lambda axes, d: axes.hexbin(d.x, d.y, gridsize=6),
    "pie": lambda axes, d: axes.pie(d.parts),
    "semilogy": lambda axes, d: axes.semilogy(d.x, d.positive),
}


class _Data:
    """The arrays, made by a function of theirs."""

    def __init__(self, make: Callable[[np.ndarray], Any]) -> None:
        for name, host in _DATA.items():
            setattr(self, name, make(host))


def picture(call: Callable[[Axes, Any], Any], make: Callable[[np.ndarray], Any]) -> np.ndarray:
    """The pixels of a drawing of the data."""
    figure, axes = pyplot.subplots(figsize=(3, 2), dpi=80)
    try:
        call(axes, _Data(make))
        figure.canvas.draw()
        return np.asarray(figure.canvas.buffer_rgba()).copy()
    finally:
        pyplot.close(figure)


@pytest.mark.parametrize("name", CALLS)
def test_draws_the_same_picture(name: str) -> None:
    np.testing.assert_array_equal(picture(CALLS[name], ocl.asarray), picture(CALLS[name], np.asarray))
