"""Tiles, sub-groups and collectives three ways: plain Python over NumPy, the interpreter, the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.language import (
    dot,
    exp,
    float16,
    float32,
    global_id,
    group_id,
    load_tile,
    local_id,
    maximum,
    store_tile,
    subgroup,
    tile,
    where,
)
from tests.support.depth import NIGHTLY
from tests.support.roads import ROADS, on
from tests.support.three_ways import agree, launched

RNG = np.random.default_rng(5)
A, B = ((RNG.random(shape) - 0.5).astype(np.float32) for shape in ((21, 13), (13, 30)))
GROUPS = [(4, 4), (16, 1)] if NIGHTLY else [(4, 4)]
MODES = ("interpret", "unchecked", "checked") if NIGHTLY else ("interpret", "unchecked")


def zeros(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.zeros(shape, dtype)


def product(a, b, bias, c):
    i0, j0 = group_id(1) * 12, group_id(0) * 10
    acc = tile((12, 10), float32, fill=1)
    for k0 in range(0, a.shape[1], 8):
        acc = dot(acc, load_tile(a, (i0, k0), (12, 8)), load_tile(b, (k0, j0), (8, 10)))
    offsets = load_tile(bias, (j0,), (10,), fill=2)
    acc = maximum(acc + offsets, 0.5 - acc) * 2
    store_tile(c, (i0, j0), where(acc > 1, exp(-acc), -acc))


def joined(x, rows, columns, least, halves):
    t = load_tile(x, (group_id(0) * 6 - 1, -2), (6, 9), fill=0.25)
    doubled = t + t.T.T
    store_tile(rows, (group_id(0) * 6,), doubled.sum(1))
    store_tile(columns, (group_id(0) * 9,), doubled.T.max(1) - 1)
    store_tile(least, (group_id(0) * 9,), t.min(0))
    acc = tile((6, 6), float16, fill=1)
    acc += t.astype(float16) @ t.T.astype(float16)
    store_tile(halves, (group_id(0) * 6, 0), acc + t.astype(float16).sum(1) * 3)


def of_own_numbers(x, y):
    """Numbers that differ between work-items: each has its own in the elements that it holds."""
    t = load_tile(x, (0, 0), (12, 8)) * (local_id(0) + 2 * local_id(1) + 1)
    whole = load_tile(x, (0, 0), (12, 8), inside=True)
    store_tile(y, (0, 0), t - whole.T.T)


@pytest.mark.parametrize("local", GROUPS, ids=str)
def test_products(local: tuple[int, int]) -> None:
    sizes = (3 * local[0], 2 * local[1])
    bias = RNG.random(30, dtype=np.float32)
    made = agree(
        product, sizes, {"a": A, "b": B, "bias": bias, "c": zeros(21, 30)}, local=local, modes=MODES, most_ulps=4
    )
    acc = 1 + A.astype(np.float64) @ B
    acc = np.maximum(acc + bias, 0.5 - acc) * 2
    np.testing.assert_allclose(made["c"], np.where(acc > 1, np.exp(-acc), -acc), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("local", GROUPS, ids=str)
def test_what_tiles_make_of_their_elements(local: tuple[int, int]) -> None:
    outputs = {"rows": zeros(24), "columns": zeros(36), "least": zeros(36), "halves": zeros(24, 6, dtype=np.float16)}
    made = agree(joined, (4 * local[0], local[1]), {"x": A, **outputs}, local=local, modes=MODES)
    padded = np.full((24, 9), 0.25, np.float32)
    padded[1:22, 2:] = A[:, :7]
    padded[22:] = 0.25
    blocks = padded[:24].reshape(4, 6, 9)
    np.testing.assert_allclose(made["rows"], 2 * blocks.sum(2).reshape(-1), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(made["columns"], (2 * blocks).max(1).reshape(-1) - 1)
    np.testing.assert_array_equal(made["least"], blocks.min(1).reshape(-1))


@pytest.mark.parametrize("local", GROUPS, ids=str)
def test_numbers_of_work_items(local: tuple[int, int]) -> None:
    """Which elements an item holds is the device's business; it is the same in every mode."""
    kernel, arguments = ocl.kernel(of_own_numbers, local=local), {"x": A, "y": zeros(12, 8)}
    made = [launched(kernel, mode, local, arguments)["y"] for mode in ("interpret", "unchecked")]
    np.testing.assert_array_equal(*made)
    factors = np.rint((made[0] + A[:12, :8]) / A[:12, :8])
    assert set(factors.ravel()) <= {x + 2 * y + 1 for x in range(local[0]) for y in range(local[1])}


# ---------------------------------------------------------------------- sub-groups


def exchanged(x, y, places):
    i, v = global_id(0), x[global_id(0)]
    y[0, i], y[1, i], y[2, i] = subgroup.sum(v), subgroup.prod(v), subgroup.max(v)
    y[3, i], y[4, i], y[5, i] = subgroup.min(v), subgroup.scan(v), subgroup.broadcast(v, 3)
    y[6, i], y[7, i] = subgroup.shuffle(v, (i * 5) % 7), subgroup.shuffle_up(v, 2)
    y[8, i], y[9, i] = subgroup.shuffle_down(v, 3), subgroup.shuffle_xor(v, 5)
    y[10, i] = v + subgroup.sum(i) - subgroup.shuffle(2, 1)
    some, every = subgroup.any(v > 3), subgroup.all(v > -3)
    places[0, i], places[1, i], places[2, i] = subgroup.lane(), subgroup.number(), subgroup.size()
    places[3, i], places[4, i] = int(some), int(every)
    places[5, i] = int(subgroup.shuffle_up(v > 0, 1))


@pytest.mark.sample(3)
@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize(
    ("dtype", "group"),
    [
        (np.float32, 8),
        (np.float32, 16),
        (np.int32, 24),
        *([(np.float32, 64), (np.float16, 24), (np.uint32, 8), (np.int32, 64)] if NIGHTLY else []),
    ],
)
def test_subgroups(dtype: Any, group: int, road: str) -> None:
    x = (RNG.integers(0 if dtype is np.uint32 else -4, 5, 2 * group) / (4 if dtype is np.float32 else 1)).astype(dtype)
    outputs = {"y": zeros(11, 2 * group, dtype=dtype), "places": zeros(6, 2 * group, dtype=np.int32)}
    with on(road):
        made = agree(exchanged, 2 * group, {"x": x, **outputs}, local=group, modes=MODES)
    size = made["places"][2, 0]
    assert size == {8: 8, 16: 16, 24: 8, 64: 32}[group]
    np.testing.assert_array_equal(made["y"][5].reshape(-1, size), np.repeat(x.reshape(-1, size)[:, 3:4], size, 1))
