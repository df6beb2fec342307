"""Attention in one kernel, run by the interpreter, which finds races and copies that nobody has waited for."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.graph import build as graph
from ocl_ir.graph.attention import Attention
from ocl_ir.kernel.grammar import CopyBox, WarpgroupMultiply, walk
from ocl_ir.layout import Layout
from ocl_ir.types import BF16
from tests.differential.test_attention import by_numpy
from tests.support.depth import NIGHTLY
from tests.support.interpreted import InterpretedRuntime
from tests.support.products import WARPGROUPS
from tests.unit.plan.test_plan import Desk

SHAPES = [
    ((), 1, 1, 128, 128, 64),
    ((2,), 2, 1, 40, 200, 64),
    ((), 1, 1, 130, 140, 128),
    ((), 2, 2, 200, 60, 64),
    ((), 3, 1, 1, 300, 64),
]
"""The axes in front, heads, key heads, queries, keys, and their length."""


@pytest.mark.parametrize(("shape", "causal"), list(itertools.product(SHAPES if NIGHTLY else SHAPES[1:], (False, True))))
def test_attention_is_that_of_numpy(shape: tuple[tuple[int, ...], int, int, int, int, int], causal: bool) -> None:
    front, heads, key_heads, n, m, length = shape
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(n)
    shapes = (*front, heads, n, length), (*front, key_heads, m, length), (*front, key_heads, m, length)
    q, k, v = (rng.standard_normal(side).astype("f2") for side in shapes)
    root = graph.custom_call(Attention(causal, 1 / math.sqrt(length)), *(desk.buffer(side) for side in (q, k, v)))
    launches = desk.plan(root).launches
    assert [launch.kernel.name for launch in launches] == ["describe", "attention"]
    statements = [type(stmt) for stmt in walk(launches[1].kernel.body)]
    assert {CopyBox, WarpgroupMultiply} <= set(statements)
    np.testing.assert_allclose(desk.values(root), by_numpy(q, k, v, None, causal=causal, scale=None), atol=2e-3)


def test_sums_are_scaled_when_much_greater_scores_come() -> None:
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(3)
    q, k, v = (rng.standard_normal((1, rows, 64)).astype("f2") for rows in (40, 500, 500))
    k *= np.repeat(np.linspace(0.1, 4, 4), 125).astype("f2")[:, None]  # from block to block the greatest score rises
    root = graph.custom_call(Attention(False, 1.0), *(desk.buffer(side) for side in (q, k, v)))
    np.testing.assert_allclose(desk.values(root), by_numpy(q, k, v, None, causal=False, scale=1.0), atol=4e-3)


@pytest.mark.parametrize(("scale", "is_one"), [(0.5, True), (0.0, False), (-0.5, False)])
def test_only_what_grows_with_scores_is_one_kernel(scale: float, is_one: bool) -> None:
    rng = np.random.default_rng(4)
    with xp.use(InterpretedRuntime(WARPGROUPS)) as runtime:
        q, k, v = (rng.standard_normal((1, rows, 64)).astype("f2") for rows in (16, 24, 24))
        found = xp.attention(q, k, v, scale=scale)
        np.testing.assert_allclose(found.numpy(), by_numpy(q, k, v, None, causal=False, scale=scale), atol=4e-3)
    assert ("attention" in [launch.kernel.name for launch in runtime.launched]) == is_one


def test_bfloat16() -> None:
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(0)
    bits = [(rng.standard_normal((1, 64, 64)).astype("f4").view("u4") >> 16).astype("u2") for _ in range(3)]
    nodes = [graph.buffer(desk.runtime.upload(side), BF16, Layout.contiguous(side.shape)) for side in bits]
    found = (desk.values(graph.custom_call(Attention(False, 0.125), *nodes)).astype("u4") << 16).view("f4")
    q, k, v = ((side.astype("u4") << 16).view("f4") for side in bits)
    np.testing.assert_allclose(found, by_numpy(q, k, v, None, causal=False, scale=0.125), atol=1e-2)


def test_infinities_and_nan_come_through() -> None:
    desk = Desk(WARPGROUPS)
    q, k, v = (np.ones((1, 8, 64), "f2") for _ in range(3))
    q[0, 3, 0] = np.nan
    root = graph.custom_call(Attention(False, 0.125), *(desk.buffer(side) for side in (q, k, v)))
    found = desk.values(root)
    assert np.isnan(found[0, 3]).all()
    assert (np.delete(found[0], 3, axis=0) == 1).all()
