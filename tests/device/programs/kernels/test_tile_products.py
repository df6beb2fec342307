"""Products of tiles: the same bits in plain Python, in the interpreter and on the device, however operands lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.errors import Error
from ocl_ir.kernel.grammar import Barrier, Kernel, Load, walk
from ocl_ir.types import Vector
from ocl_runtime.device import choose
from ocl_runtime.language import (
    Array2,
    Constant,
    cdiv,
    dot,
    float16,
    float32,
    group_id,
    load_tile,
    store_tile,
    tile,
)
from ocl_runtime.settings import Settings
from tests.support.depth import NIGHTLY
from tests.support.three_ways import agree

TM, TN, TK = 16, 24, 8
SHAPES = [(15, 8, 20), (16, 9, 24), (17, 12, 25)]
LOCALS = [(8, 4), (8, 1), (6, 1)] if NIGHTLY else [(8, 4)]


@pytest.fixture(scope="module", autouse=True, params=["gpu", "cpu"] if NIGHTLY else ["gpu"])
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """One whose groups share tiles as on a GPU, or as on a CPU, whatever it is."""
    chosen = choose()
    capabilities = replace(chosen.capabilities, kind=request.param)
    with ocl.use(ocl.Runtime(replace(chosen, capabilities=capabilities), Settings(cache_folder=None))):
        yield request.param


def operands(m: int, k: int, n: int, dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(m * n + k)
    a, b = ((rng.random(shape) - 0.5).astype(dtype) for shape in ((m, k), (k, n)))
    return a, b


def called(a, b, c):
    i, j = group_id(1) * 16, group_id(0) * 24
    acc = tile((16, 24), float32, fill=0.5)
    for k in range(0, a.shape[1], 8):
        acc = dot(acc, load_tile(a, (i, k), (16, 8)), load_tile(b, (k, j), (8, 24)))
    store_tile(c, (i, j), acc)


def named(a, b, c):
    i, j = group_id(1) * 16, group_id(0) * 24
    acc = tile((16, 24), float32, fill=0.5)
    for step in range(cdiv(a.shape[1], 8)):
        k = step * 8
        left, right = load_tile(a, (i, k), (16, 8)), load_tile(b, (k, j), (8, 24))
        acc += left @ right
    store_tile(c, (i, j), acc)


def descending(a, b, c):
    i, j = group_id(1) * 16, group_id(0) * 24
    acc = tile((16, 24), float32, fill=0.5)
    for k in range(a.shape[1] - a.shape[1] % 8, -1, -8):
        acc = dot(acc, load_tile(a, (i, k), (16, 8)), load_tile(b, (k, j), (8, 24)))
    store_tile(c, (i, j), acc)


def one_by_one(a, b, c):
    i, j = group_id(1) * 16, group_id(0) * 24
    acc = tile((16, 24), float32, fill=0.5)
    for step in range(cdiv(a.shape[1], 8)):
        k = step * 8
        left = load_tile(a, (i, k), (16, 8))
        right = load_tile(b, (k, j), (8, 24))
        acc += left @ right
    store_tile(c, (i, j), acc)


def beside_other_things(a, b, c):
    i, j = group_id(1) * 16, group_id(0) * 24
    acc = tile((16, 24), float32, fill=0.5)
    for k in range(0, a.shape[1], 8):
        left = load_tile(a, (i, k), (16, 8))
        acc += (left * 2) @ (load_tile(b, (k, j), (8, 24)) * 0.5)
    store_tile(c, (i, j), acc)


def turned(a, b, c):
    i, j = group_id(1) * 16, group_id(0) * 24
    acc = tile((16, 24), float32, fill=0.5)
    for k in range(0, a.shape[0], 8):
        acc += load_tile(a, (k, i), (8, 16)).T @ load_tile(b, (j, k), (24, 8)).T
    store_tile(c, (i, j), acc)


def sizes(m: int, n: int, local: tuple[int, int]) -> tuple[int, int]:
    return cdiv(n, TN) * local[0], cdiv(m, TM) * local[1]


@pytest.mark.parametrize("k", [8, 20])
def test_a_loop_that_goes_down(k: int) -> None:
    a, b = (np.random.default_rng(k).integers(-3, 4, shape).astype("f4") for shape in ((16, k), (k, 24)))
    kernel = ocl.kernel(descending, local=(8, 4))
    for mode in (kernel.unchecked, kernel.checked, kernel.interpret):
        c = ocl.zeros((16, 24))
        mode.groups[1, 1](ocl.asarray(a), ocl.asarray(b), c)
        assert (c.numpy() == a @ b + 0.5).all()


@pytest.mark.sample(5)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kernel", [called, named, one_by_one, beside_other_things, turned])
def test_all_ways_give_the_same_bits(kernel: Any, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    a, b = operands(m, k, n)
    wanted = (a.astype("f8") @ b + 0.5).astype("f4")
    if kernel is turned:
        a, b = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
    for local in LOCALS:
        made = agree(kernel, sizes(m, n, local), {"a": a, "b": b, "c": np.zeros((m, n), "f4")}, local=local)
        np.testing.assert_allclose(made["c"], wanted, rtol=0, atol=1e-5)


@ocl.kernel(local=32)
def matmul(a: Array2, b: Array2, c: Array2, dtype: Constant, tm: Constant[int], tn: Constant[int], tk: Constant[int]):
    i, j = group_id(1) * tm, group_id(0) * tn
    acc = tile((tm, tn), dtype)
    for k in range(0, a.shape[1], tk):
        acc = dot(acc, load_tile(a, (i, k), (tm, tk)), load_tile(b, (k, j), (tk, tn)))
    store_tile(c, (i, j), acc)


def multiplied(a: Any, b: Any, dtype: Any, tiles: tuple[int, int, int], *, interpreted: bool = False) -> np.ndarray:
    c = ocl.zeros((a.shape[0], b.shape[1]), dtype=dtype)
    groups = cdiv(b.shape[1], tiles[1]), cdiv(a.shape[0], tiles[0])
    kernel = matmul.interpret if interpreted else matmul
    kernel.groups[groups](a, b, c, dtype, *tiles)
    return np.asarray(c.numpy())


VIEWS = {
    "whole": lambda x: x[:16, :16],
    "from an odd column": lambda x: x[:16, 1:17],
    "from an odd row": lambda x: x[1:17, :16],
    "wide": lambda x: x[:16, 4:20],
    "turned": lambda x: x[:16, :16].T,
    "every other": lambda x: x[:16, :32:2],
    "ends amid a vector": lambda x: x[:16, :15],
}


@pytest.mark.parametrize("view", VIEWS)
def test_views_of_arrays(view: str) -> None:
    x = np.random.default_rng(3).random((20, 36), np.float32)
    part = VIEWS[view]
    left = ocl.asarray(x)
    y = ocl.asarray(np.ascontiguousarray(x[: part(x).shape[1], :16]))
    plain = multiplied(ocl.asarray(np.ascontiguousarray(part(x))), y, np.float32, (16, 16, 8))
    np.testing.assert_array_equal(multiplied(part(left), y, np.float32, (16, 16, 8)), plain)
    np.testing.assert_array_equal(multiplied(part(left), y, np.float32, (16, 16, 8), interpreted=True), plain)
    again = multiplied(part(left), y, np.float32, (16, 16, 8))  # another variant may have come between
    np.testing.assert_array_equal(again, plain)


@pytest.mark.parametrize("of", ["float16", "bfloat16", "float64", "int16"])
def test_operands_of_other_dtypes(of: str) -> None:
    a, b = operands(17, 16, 24)
    if of == "int16":
        a, b = ((x * 8).astype(np.int16) for x in (a, b))
    x, y = (ocl.asarray(each).astype(getattr(ocl, of)) for each in (a, b))
    dtype = np.float64 if of == "float64" else np.float32
    made = multiplied(x, y, dtype, (16, 16, 8))
    np.testing.assert_array_equal(made, multiplied(x, y, dtype, (16, 16, 8), interpreted=True))
    exact = [np.asarray(each.astype(ocl.float64).numpy()) for each in (x, y)]
    np.testing.assert_allclose(made, exact[0] @ exact[1], rtol=0, atol=1e-5)


def into_halves(a, b, c):
    acc = tile((16, 16), float16)
    for k in range(0, a.shape[1], 8):
        acc = dot(acc, load_tile(a, (0, k), (16, 8)), load_tile(b, (k, 0), (8, 16)))
    store_tile(c, (0, 0), acc)


def test_sums_in_halves_are_rounded_after_each_product() -> None:
    a, b = operands(16, 24, 16, np.float16)
    agree(into_halves, (32,), {"a": a, "b": b, "c": np.zeros((16, 16), np.float16)}, local=32)


def test_odd_steps_are_read_one_by_one_where_they_do_not_begin_at_whole_units() -> None:
    a, b = operands(16, 36, 16)
    made = multiplied(ocl.asarray(a), ocl.asarray(b), np.float32, (16, 16, 6))
    np.testing.assert_array_equal(
        made, multiplied(ocl.asarray(a), ocl.asarray(b), np.float32, (16, 16, 6), interpreted=True)
    )
    np.testing.assert_allclose(made, a @ b, rtol=0, atol=1e-5)


def test_what_local_memory_does_not_hold_is_refused_with_its_place() -> None:
    x = ocl.zeros((512, 512))
    with pytest.raises(Error, match=r"a product of shapes \(64, 8192\) and \(8192, 64\) takes") as caught:
        multiplied(x, x, np.float32, (64, 64, 8192))
    assert "test_tile_products.py" in caught.value.place
    assert "a shorter inner axis than 8192" in caught.value.remedy


def vectors(kernel: Kernel, space: str) -> int:
    """Loads of vectors from a space."""
    loads = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Load) and isinstance(stmt.result.type, Vector)]
    return sum(stmt.pointer.type.space == space for stmt in loads)  # type: ignore[union-attr]


def test_the_interpreter_runs_what_gpus_run(kind: str) -> None:
    """Tiles are read in vectors there, too, and a loop has its next operands on the way, so that races are found."""
    if kind == "cpu":
        pytest.skip("neighbouring work-items move neighbours")
    x = ocl.asarray(np.ones((16, 24), np.float32))
    multiplied(x, x.T.copy(), np.float32, (16, 16, 8), interpreted=True)
    made = [translation.kernel for translation in matmul.variants if translation.asks_units]
    assert any(vectors(kernel, "global") and vectors(kernel, "local") for kernel in made)
    barriers = [sum(isinstance(stmt, Barrier) for stmt in walk(kernel.body)) for kernel in made]
    assert set(barriers) == {2}  # before the loop, and in it


def test_wide_accesses_are_those_of_whole_units(kind: str) -> None:
    if kind == "cpu":
        pytest.skip("neighbouring work-items move neighbours")
    x, odd = ocl.zeros((64, 64)), ocl.zeros((64, 63))
    groups = {"sizes": (2 * 32, 2)}
    whole = matmul.source(x, x, x, np.float32, 32, 32, 8, **groups)
    assert "LOAD(float4" in whole
    assert "STORE(float4" in whole
    ragged = matmul.source(odd, x, x, np.float32, 32, 32, 8, **groups)
    assert ragged.count("LOAD(float4") < whole.count("LOAD(float4")


def test_captured_functions_tell_arrays_in_whole_units_from_others(kind: str) -> None:
    @ocl.capture
    def captured(a: Any, b: Any, c: Any) -> None:
        matmul.groups[-(-c.shape[1] // 16), -(-c.shape[0] // 16)](a, b, c, np.float32, 16, 16, 8)

    x = np.random.default_rng(7).random((40, 36), np.float32)
    for m, k, n, first in [(16, 16, 16, 0), (32, 24, 20, 0), (20, 16, 16, 4), (16, 16, 16, 1), (16, 16, 19, 0)]:
        a, b, c = ocl.asarray(x)[:m, first : first + k], ocl.asarray(x[:k, :n].copy()), ocl.zeros((m, n))
        captured(a, b, c)
        np.testing.assert_allclose(c.numpy(), x[:m, first : first + k] @ x[:k, :n], rtol=1e-5)
