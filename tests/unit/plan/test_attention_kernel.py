"""Attention in one kernel, run by the interpreter, which finds races and copies that nobody has waited for."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.graph import build as graph
from ocl_ir.graph.attention import Attention, log_heads
from ocl_ir.graph.build import Node
from ocl_ir.indices import parse_index
from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.asynchronous import WARPGROUP, registers_of
from ocl_ir.kernel.grammar import CopyBox, WarpgroupMultiply, walk
from ocl_ir.layout import Layout
from ocl_ir.types import BF16, F16, U8, U16, U32, element
from ocl_runtime.plan.kernels.attention import parts
from ocl_runtime.plan.kernels.attention.parts import Parts
from ocl_runtime.plan.kernels.form import Spec
from tests.differential.test_attention import by_numpy, gradients_by_numpy
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


def attended(algorithm: Attention, q: Node, k: Node, v: Node) -> tuple[Node, Node]:
    """All that attention gives, and its results alone."""
    whole = graph.custom_call(algorithm, q, k, v)
    return whole, graph.index(whole, parse_index(whole.shape, (..., slice(q.shape[-3]), slice(None), slice(None))))


@pytest.mark.parametrize(("shape", "causal"), list(itertools.product(SHAPES if NIGHTLY else SHAPES[1:], (False, True))))
def test_attention_is_that_of_numpy(shape: tuple[tuple[int, ...], int, int, int, int, int], causal: bool) -> None:
    front, heads, key_heads, n, m, length = shape
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(n)
    shapes = (*front, heads, n, length), (*front, key_heads, m, length), (*front, key_heads, m, length)
    q, k, v = (rng.standard_normal(side).astype("f2") for side in shapes)
    _, root = attended(Attention(causal, 1 / math.sqrt(length)), *(desk.buffer(side) for side in (q, k, v)))
    launches = desk.plan(root).launches
    assert [launch.kernel.name for launch in launches] == ["describe", "attention"]
    statements = [type(stmt) for stmt in walk(launches[1].kernel.body)]
    assert {CopyBox, WarpgroupMultiply} <= set(statements)
    np.testing.assert_allclose(desk.values(root), by_numpy(q, k, v, None, causal=causal, scale=None), atol=2e-3)


GRADIENT_SHAPES = [
    ((2,), 4, 2, 40, 70, 64, False),
    ((), 2, 1, 70, 140, 64, True),
    ((), 1, 1, 210, 80, 64, True),  # the first queries see nothing
    ((), 1, 1, 140, 210, 128, True),
]


@pytest.mark.parametrize(("front", "heads", "key_heads", "n", "m", "length", "causal"), [
    *GRADIENT_SHAPES, *([((2, 2), 2, 1, 300, 200, 128, False), ((), 3, 3, 129, 257, 64, True)] if NIGHTLY else [])
])  # fmt: skip
def test_gradients_are_those_of_numpy(
    front: tuple[int, ...], heads: int, key_heads: int, n: int, m: int, length: int, causal: bool
) -> None:
    rng, sides = np.random.default_rng(n), ((heads, n), (key_heads, m), (key_heads, m), (heads, n))
    q, k, v, gradient = (rng.standard_normal((*front, *side, length)).astype("f2") for side in sides)
    with xp.use(InterpretedRuntime(WARPGROUPS)) as runtime:
        arrays = [xp.asarray(x) for x in (q, k, v, gradient)]
        result, by = xp.attention(*arrays[:3], causal=causal), xp.attention_gradients(*arrays, causal=causal)
        xp.compute(result, *by)
        found = [x.numpy() for x in (result, *by)]
    kernels = [launch.kernel.name for launch in runtime.launched]
    # Attention itself is computed once.
    assert Counter(kernels) == Counter(
        attention=1,
        attention_statistics=1,
        attention_by_queries=1,
        attention_by_keys=1,
        attention_by_values=1,
        describe=4,
        mul_sum=1,
    )
    expected = gradients_by_numpy(q, k, v, gradient, None, causal=causal, scale=None)
    np.testing.assert_allclose(found[0], by_numpy(q, k, v, None, causal=causal, scale=None), atol=3e-3)
    for gradient_found, exact in zip(found[1:], expected, strict=True):
        np.testing.assert_allclose(gradient_found, exact, atol=4e-3, rtol=1e-3)


def test_gradients_where_scores_are_far_below_zero() -> None:
    """Keys that are not there have scores of zero, whose weights would be infinite."""
    rng, scale = np.random.default_rng(5), 1.0
    q, v, gradient = (rng.standard_normal((1, rows, 64)).astype("f2") for rows in (70, 70, 70))
    q, k = np.abs(q) + 8, -np.abs(v) - 8  # scores of -4,000 and less
    with xp.use(InterpretedRuntime(WARPGROUPS)):
        found = xp.attention_gradients(q, k, v, gradient, scale=scale)
        for x, exact in zip(found, gradients_by_numpy(q, k, v, gradient, None, causal=False, scale=scale), strict=True):
            np.testing.assert_allclose(x.numpy(), exact, atol=4e-2, rtol=2e-2)


def test_logarithms_lie_behind_the_results() -> None:
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(6)
    heads, n, m, length = 3, 50, 40, 64
    q, k, v = (rng.standard_normal((2, heads, rows, length)).astype("f2") for rows in (n, m, m))
    whole, _ = attended(Attention(True, 0.5), *(desk.buffer(side) for side in (q, k, v)))
    assert whole.shape == (2, heads + log_heads(heads, length), n, length) == (2, heads + 1, n, length)
    found = np.ascontiguousarray(desk.values(whole)[:, heads:]).reshape(2, -1).view("f4")[:, : heads * n]
    scores = 0.5 * q.astype("f8") @ np.swapaxes(k.astype("f8"), -1, -2)
    seen = np.arange(m) <= np.arange(n)[:, None] + m - n
    with np.errstate(divide="ignore"):
        logs = np.log2(np.where(seen, np.exp(scores), 0).sum(-1))
    np.testing.assert_allclose(found.reshape(2, heads, n), np.where(seen.any(-1), logs, np.inf), rtol=1e-5)


def groups(desk: Desk, shape: tuple[int, ...], *, causal: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """What attention gives, what is right, and how many groups there are."""
    rng = np.random.default_rng(sum(shape))
    q, k, v = (rng.standard_normal(shape).astype("f2") for _ in range(3))
    _, root = attended(Attention(causal, 0.2), *(desk.buffer(side) for side in (q, k, v)))
    launch = desk.plan(root).launches[1]
    exact = by_numpy(q, k, v, None, causal=causal, scale=0.2)
    return desk.values(root), exact, launch.global_size[0] // launch.group_size[0]


def test_a_group_goes_from_tile_to_tile_where_all_are_alike() -> None:
    found, exact, count = groups(Desk(replace(WARPGROUPS, compute_units=2)), (3, 400, 64), causal=False)
    assert count == 2  # for nine tiles
    np.testing.assert_allclose(found, exact, atol=2e-3)


def test_causal_tiles_are_groups_of_some_heads_at_once() -> None:
    found, exact, count = groups(Desk(replace(WARPGROUPS, compute_units=2)), (18, 200, 64), causal=True)
    assert count == 36
    np.testing.assert_allclose(found, exact, atol=2e-3)


@pytest.mark.parametrize("last_first", [True, False])
@pytest.mark.parametrize("at_once", [1, 4, 5])
def test_the_order_of_tiles(last_first: bool, at_once: int) -> None:
    """Heads at once, and among these the tiles with the most to do."""
    heads, tiles = 5, 3
    names = ("all_heads", "tiles", "all_tiles", "heads_at_once", "m", "n")
    parts = Parts("order", "", [Spec(name, U32) for name in names], F16, 64, 2)
    k = parts.k
    out = k.pointer("out", U32)
    parts.ring("q", 1, 8)
    parts.begin()
    with parts.tiles(100, last_first=last_first) as tile, k.if_(k.op("eq", parts.item, 0)):
        at = (parts.group + tile.turn * parts.groups) * 2
        k.store(out, at, tile.head)
        k.store(out, at + 1, tile.first)
    found = np.zeros((heads * tiles, 2), "u4")
    sizes = {"all_heads": heads, "tiles": tiles, "all_tiles": heads * tiles, "heads_at_once": at_once, "m": 1, "n": 1}
    items = k.build().group_size[0]  # type: ignore[index]
    run(k.build(), {"out": (flat := found.ravel()), **sizes}, (4 * items,))
    order = range(tiles - 1, -1, -1) if last_first else range(tiles)
    expected = [
        (head, 100 * tile)
        for first in range(0, heads, at_once)
        for tile in order
        for head in range(first, min(first + at_once, heads))
    ]
    assert [tuple(pair) for pair in flat.reshape(-1, 2).tolist()] == expected


@pytest.mark.parametrize("computing", [2, 3])
def test_registers_are_those_of_a_unit(computing: int) -> None:
    take, leave = parts._REGISTERS[computing]
    had = registers_of(parts.items(computing))
    assert leave < had < take
    assert WARPGROUP * (computing * take + leave) <= had * parts.items(computing)


MASKS = [
    ("u1", (2, 1, 1, 70)),  # keys that are only padding
    ("u1", (40, 70)),
    ("f4", (2, 1, 70)),
    ("f2", (2, 2, 40, 70)),
    ("u1", (40, 1)),
]


@pytest.mark.parametrize(("dtype", "shape"), MASKS)
@pytest.mark.parametrize("causal", [False, True] if NIGHTLY else [True])
def test_masks(dtype: str, shape: tuple[int, ...], causal: bool) -> None:
    rng, sides = np.random.default_rng(len(shape)), ((2, 40), (1, 70), (1, 70), (2, 40))
    q, k, v, gradient = (rng.standard_normal((2, *side, 64)).astype("f2") for side in sides)
    mask = rng.random(shape) < 0.7 if dtype == "u1" else rng.standard_normal(shape).astype(dtype)
    if dtype == "u1":
        mask[..., :1, :] = False  # who sees nothing at all
    options = {"causal": causal, "scale": 0.3}
    with xp.use(InterpretedRuntime(WARPGROUPS)) as runtime:
        arrays = [xp.asarray(x) for x in (q, k, v, gradient)]
        result = xp.attention(*arrays[:3], mask=mask, **options)
        by = xp.attention_gradients(*arrays, mask=mask, **options)
        xp.compute(result, *by)
        found = [x.numpy() for x in (result, *by)]
    names = {launch.kernel.name for launch in runtime.launched}
    kernels = {"attention", "attention_by_queries", "attention_by_keys", "attention_by_values"}
    assert kernels & names == (kernels if dtype == "u1" else set())  # numbers may be too large for kernels
    expected = [by_numpy(q, k, v, mask, **options), *gradients_by_numpy(q, k, v, gradient, mask, **options)]
    for x, exact in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, exact, atol=4e-3, rtol=1e-3)


@pytest.mark.parametrize(("keys", "offset", "is_paired"), [(70, 0, True), (71, 0, False), (70, 1, True)])
def test_masks_are_read_in_pairs_where_these_are_whole(keys: int, offset: int, is_paired: bool) -> None:
    rng = np.random.default_rng(keys)
    q, k, v = (rng.standard_normal((1, rows, 64)).astype("f2") for rows in (40, keys, keys))
    bits = rng.random(offset + 40 * keys) < 0.7
    with xp.use(InterpretedRuntime(WARPGROUPS)) as runtime:
        mask = xp.asarray(bits)[offset:].reshape(40, keys)
        found = xp.attention(*(xp.asarray(x) for x in (q, k, v)), mask=mask).numpy()
    (launch,) = [launch for launch in runtime.launched if launch.kernel.name == "attention"]
    (given,) = [param.value.type for param in launch.kernel.params if param.value.hint == "mask"]
    assert element(given) is (U16 if is_paired else U8)
    exact = by_numpy(q, k, v, bits[offset:].reshape(40, keys), causal=False, scale=None)
    np.testing.assert_allclose(found, exact, atol=4e-3, rtol=1e-3)


@pytest.mark.parametrize("offset", [1, 4, 8])
def test_operands_may_begin_anywhere(offset: int) -> None:
    rng, count = np.random.default_rng(offset), 40 * 64
    memory = rng.standard_normal(4 * count + offset).astype("f2")
    parts = [memory[offset + i * count : offset + (i + 1) * count].reshape(1, 40, 64) for i in range(4)]
    with xp.use(InterpretedRuntime(WARPGROUPS)) as runtime:
        whole = xp.asarray(memory)
        views = [whole[offset + i * count : offset + (i + 1) * count].reshape(1, 40, 64) for i in range(4)]
        found = [xp.attention(*views[:3]).numpy(), *(x.numpy() for x in xp.attention_gradients(*views))]
        copies = sum(launch.kernel.name == "copy" for launch in runtime.launched)
    assert bool(copies) == (offset != 8)
    options = {"causal": False, "scale": None}
    expected = [by_numpy(*parts[:3], None, **options), *gradients_by_numpy(*parts, None, **options)]
    for x, exact in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, exact, atol=4e-3, rtol=1e-3)


def test_an_infinite_key_stays_its_own() -> None:
    rng = np.random.default_rng(8)
    q, k, v, gradient = (rng.standard_normal((1, 40, 64)).astype("f2") for _ in range(4))
    k[0, 7, 0], q[0, :, 0] = -np.inf, np.abs(q[0, :, 0])  # a key that nobody sees
    with xp.use(InterpretedRuntime(WARPGROUPS)):
        _, by_keys, by_values = xp.attention_gradients(q, k, v, gradient)
        assert np.isfinite(by_keys.numpy()).all()
        assert np.isfinite(by_values.numpy()).all()


@pytest.mark.parametrize(("d", "e"), [(24, 40), (80, 64)])
def test_other_lengths_are_padded(d: int, e: int) -> None:
    rng = np.random.default_rng(d)
    q, k, v, gradient = (rng.standard_normal((1, *side)).astype("f2") for side in ((40, d), (70, d), (70, e), (40, e)))
    with xp.use(InterpretedRuntime(WARPGROUPS)) as runtime:
        result, by = xp.attention(q, k, v), xp.attention_gradients(q, k, v, gradient)
        found = [x.numpy() for x in (result, *by)]
    assert "attention_by_values" in {launch.kernel.name for launch in runtime.launched}
    options = {"causal": False, "scale": None}
    expected = [by_numpy(q, k, v, None, **options), *gradients_by_numpy(q, k, v, gradient, None, **options)]
    for x, exact in zip(found, expected, strict=True):
        assert x.shape == exact.shape
        np.testing.assert_allclose(x, exact, atol=4e-3, rtol=1e-3)


@pytest.mark.parametrize(("shape", "keys"), [((2, 1, 0, 64), (2, 1, 8, 64)), ((0, 1, 8, 64), (0, 1, 8, 64))])
def test_without_queries_there_is_nothing(shape: tuple[int, ...], keys: tuple[int, ...]) -> None:
    with xp.use(InterpretedRuntime(WARPGROUPS)):
        q, k = np.zeros(shape, "f2"), np.ones(keys, "f2")
        assert xp.attention(q, k, k).numpy().shape == shape
        found = xp.attention_gradients(q, k, k, q)
        assert [x.shape for x in found] == [shape, keys, keys]
        assert not any(x.numpy().any() for x in found)


def test_sums_are_scaled_when_much_greater_scores_come() -> None:
    desk, rng = Desk(WARPGROUPS), np.random.default_rng(3)
    q, k, v = (rng.standard_normal((1, rows, 64)).astype("f2") for rows in (40, 500, 500))
    k *= np.repeat(np.linspace(0.1, 4, 4), 125).astype("f2")[:, None]  # from block to block the greatest score rises
    _, root = attended(Attention(False, 1.0), *(desk.buffer(side) for side in (q, k, v)))
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
    found = (desk.values(attended(Attention(False, 0.125), *nodes)[1]).astype("u4") << 16).view("f4")
    q, k, v = ((side.astype("u4") << 16).view("f4") for side in bits)
    np.testing.assert_allclose(found, by_numpy(q, k, v, None, causal=False, scale=0.125), atol=1e-2)


def test_infinities_and_nan_come_through() -> None:
    desk = Desk(WARPGROUPS)
    q, k, v = (np.ones((1, 8, 64), "f2") for _ in range(3))
    q[0, 3, 0] = np.nan
    _, root = attended(Attention(False, 0.125), *(desk.buffer(side) for side in (q, k, v)))
    found = desk.values(root)
    assert np.isnan(found[0, 3]).all()
    assert (np.delete(found[0], 3, axis=0) == 1).all()
