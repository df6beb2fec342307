"""Tiles: right at every edge, the same bits on devices and in the interpreter, products in one fixed order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.errors import Error
from ocl_runtime.language import (
    Array1,
    Array2,
    Constant,
    cdiv,
    dot,
    exp,
    float32,
    group_id,
    load_tile,
    maximum,
    store_tile,
    tile,
)

EDGES = [(15, 7, 16), (16, 8, 17), (17, 9, 33), (1, 1, 1), (40, 25, 50)]


@ocl.kernel(local=(8, 8))
def matmul(a: Array2, b: Array2, c: Array2, epilogue, extra=(), tm: Constant[int] = 16, tn: Constant[int] = 16):
    i0, j0 = group_id(1) * tm, group_id(0) * tn
    acc = tile((tm, tn), float32)
    for k0 in range(0, a.shape[1], 8):
        acc = dot(acc, load_tile(a, (i0, k0), (tm, 8)), load_tile(b, (k0, j0), (8, tn)))
    store_tile(c, (i0, j0), epilogue(acc, (i0, j0), *extra))


def unchanged(acc, at):
    return acc


def bias_relu(acc, at, bias):
    return maximum(acc + load_tile(bias, (at[1],), (acc.shape[1],)), 0)


def operands(m: int, k: int, n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(m * n)
    return tuple(rng.random(shape, dtype=np.float32) - np.float32(0.5) for shape in ((m, k), (k, n), (n,)))


def product(a: Any, b: Any) -> Any:
    """acc = fma(a, b, acc) in float32, over the inner axis in ascending order."""
    acc = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):  # a product of float32 is exact in float64, and so is the rounding of the sum but twice
        acc = (a[:, k, None].astype(np.float64) * b[k].astype(np.float64) + acc).astype(np.float32)
    return acc


@pytest.mark.sample(4)
@pytest.mark.parametrize("shape", EDGES, ids=str)
@pytest.mark.parametrize("tiles", [(16, 16), (24, 12)], ids=str)
def test_a_product_at_edges(shape: tuple[int, int, int], tiles: tuple[int, int]) -> None:
    a, b, bias = operands(*shape)
    c = ocl.zeros((shape[0], shape[2]))
    sizes = cdiv(shape[2], tiles[1]), cdiv(shape[0], tiles[0])
    x, y = ocl.asarray(a), ocl.asarray(b)
    matmul.groups[sizes](x, y, c, unchanged, (), *tiles)
    np.testing.assert_allclose(c.numpy(), product(a, b), rtol=3e-7, atol=1e-7)
    interpreted = ocl.zeros(c.shape)
    matmul.interpret.groups[sizes](x, y, interpreted, unchanged, (), *tiles)
    np.testing.assert_array_equal(c.numpy(), interpreted.numpy())
    matmul.groups[sizes](x, y, c, bias_relu, (ocl.asarray(bias),), *tiles)
    np.testing.assert_allclose(c.numpy(), np.maximum(product(a, b) + bias, 0), rtol=3e-7, atol=2e-7)


@ocl.kernel(local=32)
def summed(x: Array2, y: Array1, z: Array2):
    i0 = group_id(0) * 8
    t = load_tile(x, (i0, 0), (8, 12))
    doubled = tile((8, 12), float32)
    for _ in range(2):
        doubled += t
    store_tile(y, (i0,), doubled.sum(1) - doubled.T.max(0))
    acc = tile((8, 8), float32, fill=1)
    acc += t @ t.T
    store_tile(z, (i0, 0), exp(-acc) * 2)


def test_reductions_transposition_and_the_operator() -> None:
    values = np.random.default_rng(1).random((20, 11), dtype=np.float32)
    padded = np.zeros((24, 12), np.float32)
    padded[:20, :11] = values
    y, z = ocl.zeros(20), ocl.zeros((20, 8))
    summed.groups[3](ocl.asarray(values), y, z)
    np.testing.assert_allclose(y.numpy(), (2 * padded.sum(1) - 2 * padded.max(1))[:20], rtol=1e-6, atol=1e-6)
    blocks = padded.reshape(3, 8, 12)
    wanted = (2 * np.exp(-(1 + blocks @ blocks.transpose(0, 2, 1)))).reshape(24, 8)[:20]
    np.testing.assert_allclose(z.numpy(), wanted, rtol=1e-5)


@ocl.kernel(local=32)
def mismatched(x: Array2):
    acc = dot(tile((8, 8), float32), tile((8, 4), float32), tile((5, 8), float32))
    store_tile(x, (0, 0), acc)


def test_shapes_that_do_not_fit_are_refused_with_their_place() -> None:
    with pytest.raises(Error, match=r"a product of shapes \(8, 4\) and \(5, 8\) into \(8, 8\)") as caught:
        mismatched.groups[1](ocl.zeros((8, 8)))
    assert "test_tiles.py" in caught.value.place
