"""Products of tiles by matrix instructions: for a device that is declared to have them in the interpreter, and on
devices that have them; and what they are where there are none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.errors import DTypeError
from ocl_ir.kernel.grammar import MatrixMultiply, walk
from ocl_runtime import executor
from ocl_runtime.device import choose
from ocl_runtime.language import (
    Array2,
    Constant,
    cdiv,
    dot,
    exp,
    float16,
    float32,
    group_id,
    load_tile,
    store_tile,
    tile,
)
from ocl_runtime.settings import Settings

DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
FAMILIES = [
    ("mma", ("f16", "bf16", "f64")),
    ("mfma", ("f16", "bf16", "f32", "f64")),
    ("wmma", ("f16", "bf16")),
    ("wmma_gfx12", ("f16",)),
    ("xmx8", ("f16", "bf16")),
    ("xmx16", ("f16",)),
]


@pytest.fixture(scope="module", params=FAMILIES, ids=lambda family: family[0])
def family(request: pytest.FixtureRequest) -> tuple[str, tuple[str, ...]]:
    return request.param


@pytest.fixture(scope="module")
def device(family: tuple[str, tuple[str, ...]]) -> Iterator[ocl.Runtime]:
    """One with matrix instructions."""
    chosen, (vendor, dtypes) = choose(), family
    names = tuple(f"{vendor}_{dtype}" for dtype in dtypes)
    quirks = replace(chosen.quirks, matrix_instructions=names)
    capabilities = replace(chosen.capabilities, kind="gpu")
    with pytest.MonkeyPatch.context() as patch:  # which the interpreter has, whatever the device does
        patch.setattr(executor, "usable_instructions", lambda device, folder: device.quirks.matrix_instructions)
        runtime = ocl.Runtime(replace(chosen, capabilities=capabilities, quirks=quirks), Settings(cache_folder=None))
    with ocl.use(runtime):
        yield runtime


@ocl.kernel(local=64)
def matmul(
    a: Array2,
    b: Array2,
    c: Array2,
    dtype: Constant,
    turned: Constant = (False, False),
    tm: Constant[int] = 32,
    tn: Constant[int] = 16,
    tk: Constant[int] = 32,
):
    i, j = group_id(1) * tm, group_id(0) * tn
    acc = tile((tm, tn), dtype)
    for k in range(0, a.shape[0] if turned[0] else a.shape[1], tk):
        left = load_tile(a, (k, i), (tk, tm)).T if turned[0] else load_tile(a, (i, k), (tm, tk))
        right = load_tile(b, (j, k), (tn, tk)).T if turned[1] else load_tile(b, (k, j), (tk, tn))
        acc = dot(acc, left, right, matrix=True)
    store_tile(c, (i, j), acc)


def instructions(kernel: Any) -> int:
    """Of the last variant."""
    return sum(isinstance(stmt, MatrixMultiply) for stmt in walk(kernel.variants[-1].kernel.body))


def numbers(*shape: int) -> np.ndarray:
    """Whole numbers, of which products and sums are exact."""
    return np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(np.float32)


SHAPES = [(32, 32, 16), (33, 40, 24), (31, 64, 17), (64, 33, 40)]


@pytest.mark.sample(8)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)], ids=str)
def test_products(
    device: ocl.Runtime, family: tuple[str, tuple[str, ...]], turned: tuple[bool, bool], shape: tuple[int, int, int]
) -> None:
    vendor, dtypes = family
    for name in dtypes:
        check(DTYPES[name], turned, shape, on_device=f"{vendor}_{name}" in choose().quirks.matrix_instructions)


def check(of: str, turned: tuple[bool, bool], shape: tuple[int, int, int], *, on_device: bool) -> None:
    m, k, n = shape
    a, b = numbers(m, k), numbers(k, n)
    sides = [np.ascontiguousarray(x.T) if turn else x for x, turn in zip((a, b), turned, strict=True)]
    x, y = (ocl.asarray(side).astype(getattr(ocl, of)) for side in sides)
    dtype = np.float64 if of == "float64" else np.float32
    for mode in ("interpret", "unchecked") if on_device else ("interpret",):
        c = ocl.zeros((m, n), dtype=dtype)
        getattr(matmul, mode).groups[cdiv(n, 16), cdiv(m, 32)](x, y, c, dtype, turned)
        assert instructions(matmul)
        np.testing.assert_array_equal(c.numpy(), a @ b)


@ocl.kernel(local=64)
def attention(q, keys, values, y):
    """Scores, their weights, and a weighted sum: accumulators that are computed with, and an operand in registers."""
    scores = tile((16, 32), float32)
    scores = dot(scores, load_tile(q, (0, 0), (16, 32)), load_tile(keys, (0, 0), (32, 32)).T, matrix=True)
    weights = exp(scores - scores.max(1).astype(float32).max(0))
    total = weights.sum(0)
    acc = tile((16, 32), float32, fill=1)
    for k in range(0, 32, 32):
        acc = dot(acc, weights.astype(float16), load_tile(values, (k, 0), (32, 32)), matrix=True)
    store_tile(y, (0, 0), acc * 2 + total)


def test_accumulators_are_tiles_like_all_others(device: ocl.Runtime) -> None:
    rng = np.random.default_rng(4)
    q, keys, values = ((rng.random((rows, 32)) - 0.5).astype(np.float16) for rows in (16, 32, 32))
    y = ocl.zeros((16, 32))
    attention.interpret.groups[1](*map(ocl.asarray, (q, keys, values)), y)
    assert instructions(attention)
    scores = q.astype(np.float64) @ keys.T.astype(np.float64)
    weights = np.exp(scores - scores.max())
    wanted = (1 + weights.astype(np.float16).astype(np.float64) @ values) * 2 + weights.sum(0)
    np.testing.assert_allclose(y.numpy(), wanted, rtol=2e-3)


def test_what_has_no_instructions_is_the_same_as_without() -> None:
    """Odd sizes, dtypes that do not go together, and devices that have none: fused multiply-adds."""
    a, b = numbers(33, 24) / 7, numbers(24, 20) / 7
    made = []
    for matrix in (True, False):
        c = ocl.zeros((33, 20))
        odd.groups[2, 3](ocl.asarray(a), ocl.asarray(b), c, matrix)
        made.append(c.numpy())
    np.testing.assert_array_equal(*made)


@ocl.kernel(local=32)
def odd(a: Array2, b: Array2, c: Array2, matrix: Constant[bool]):
    i, j = group_id(1) * 12, group_id(0) * 10
    acc = tile((12, 10), float32)
    for k in range(0, a.shape[1], 8):
        acc = dot(acc, load_tile(a, (i, k), (12, 8)), load_tile(b, (k, j), (8, 10)), matrix=matrix)
    store_tile(c, (i, j), acc)


@ocl.kernel(local=32)
def by_a_number(x: Array2, n):
    acc = tile((16, 16), float32)
    for k in range(0, 16, 8):
        acc = dot(acc, load_tile(x, (0, k), (16, 8)), load_tile(x, (k, 0), (8, 16)), matrix=n)
    store_tile(x, (0, 0), acc)


def test_the_word_is_known_while_kernels_are_translated() -> None:
    with pytest.raises(DTypeError, match="dot with matrix=an index"):
        by_a_number.groups[1](ocl.zeros((16, 16)), 1)
