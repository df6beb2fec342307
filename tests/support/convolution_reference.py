"""Convolutions and pooling by NumPy, window by window."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np


def conv(
    x: np.ndarray, w: np.ndarray, stride: Sequence[int], pairs: Sequence[tuple[int, int]], dilation: Sequence[int],
    groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """The sums of products, in a dtype that is wide enough, as the dtype of the operands."""
    wide = {"f": "f8", "c": "c16"}.get(x.dtype.kind, "i8")
    padded = np.pad(x.astype(wide), [(0, 0), (0, 0), *pairs])
    places = windows(padded.shape[2:], w.shape[2:], stride, dilation)
    per, taken = w.shape[0] // groups, w.shape[1]
    out = np.zeros((x.shape[0], w.shape[0], *places), wide)
    for place in product(*map(range, places)):
        seen = padded[(..., *parts(place, w.shape[2:], stride, dilation))]
        for group in range(groups):
            rows = slice(group * per, (group + 1) * per)
            of_group = seen[:, group * taken : (group + 1) * taken]
            axes = tuple(range(1, w.ndim))
            out[(slice(None), rows, *place)] = np.tensordot(of_group, w[rows].astype(wide), (axes, axes))
    return out.astype(x.dtype)


def pool(
    x: np.ndarray, of: Any, window: Sequence[int], stride: Sequence[int], pairs: Sequence[tuple[int, int]], fill: float
) -> np.ndarray:
    """What a function gives of the elements of each window, which are in the last axis."""
    padded = np.pad(x, [(0, 0), (0, 0), *pairs], constant_values=fill)
    ones = [1] * len(window)
    places = windows(padded.shape[2:], window, stride, ones)
    out = None
    for place in product(*map(range, places)):
        made = of(padded[(..., *parts(place, window, stride, ones))].reshape(*x.shape[:2], -1))
        out = np.zeros((*x.shape[:2], *places), made.dtype) if out is None else out
        out[(..., *place)] = made
    assert out is not None
    return out


def windows(
    space: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[int, ...]:
    """How many windows there are along each axis."""
    return tuple((n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(space, kernel, stride, dilation, strict=True))


def parts(
    place: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[slice, ...]:
    """The elements of the window at a place."""
    return tuple(
        slice(i * s, i * s + d * (k - 1) + 1, d) for i, k, s, d in zip(place, kernel, stride, dilation, strict=True)
    )
