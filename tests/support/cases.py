"""Named kernels that many tests share: golden sources, the interpreter, devices, other compilers.

Each case has its kernel, arguments made from a random generator, sizes, and what NumPy says the outcome is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from ocl_ir.graph import build as graph
from ocl_ir.indices import parse_index
from ocl_ir.kernel.builder import KernelBuilder, Ref
from ocl_ir.kernel.grammar import Const, Kernel
from ocl_ir.layout import Layout
from ocl_ir.types import BF16, BOOL, C64, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64
from ocl_runtime import arrays as xp
from ocl_runtime.plan.launch import Address
from ocl_runtime.plan.planner import plan
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime

Args = dict[str, Any]


@dataclass(frozen=True)
class Case:
    name: str
    kernel: Kernel
    arguments: Callable[[np.random.Generator], Args]
    expected: Callable[[Args], Args]
    """The arrays that the kernel writes, by name."""
    global_size: tuple[int, ...]
    group_size: tuple[int, ...]
    tolerance: float = 0.0
    """Relative; 0 asks for equal bits (NaN equals NaN, 0 equals -0)."""

    def __str__(self) -> str:
        return self.name


CASES: list[Case] = []


def case(
    arguments: Callable[[np.random.Generator], Args],
    expected: Callable[[Args], Args],
    global_size: tuple[int, ...],
    group_size: tuple[int, ...],
    tolerance: float = 0.0,
) -> Callable[[Callable[[], KernelBuilder]], None]:
    def register(build: Callable[[], KernelBuilder]) -> None:
        CASES.append(Case(build.__name__, build().build(), arguments, expected, global_size, group_size, tolerance))

    return register


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def complex_numbers_of(rng: np.random.Generator, count: int) -> np.ndarray:
    """Of two draws in a row, some have the same numbers."""
    return np.where(np.arange(count) % 5 == 0, 1 + 1j, floats(rng, 2, count).T.copy().view(np.complex64)[:, 0]).astype(
        "c8"
    )


def guarded(k: KernelBuilder, n: Ref) -> Ref:
    """`i`, after items beyond the end have returned."""
    i = k.global_id(0, "i")
    with k.if_(i >= n):
        k.return_()
    return i


# ---------------------------------------------------------------------- plain arithmetic


@case(
    lambda rng: {"n": 100, "a": np.float32(2.5), "x": floats(rng, 100), "y": floats(rng, 100)},
    lambda g: {"y": g["a"] * g["x"] + g["y"]},
    (128,),
    (32,),
)
def saxpy() -> KernelBuilder:
    k = KernelBuilder("saxpy", note="y = a*x + y, one element per work-item")
    n, a = k.scalar("n", U32), k.scalar("a", F32)
    x, y = k.pointer("x", F32, length=n), k.pointer("y", F32, length=n)
    i = k.global_id(0, "i")
    with k.if_(i < n):
        k.store(y, i, a * k.load(x, i) + k.load(y, i))
    return k


@case(
    lambda rng: {"n": 103, **{name: floats(rng, 103) for name in "abcy"}},
    lambda g: {"y": g["a"] * g["b"] + np.sin(g["c"])},
    (32,),
    (8,),
    1e-6,
)
def mul_sin_add() -> KernelBuilder:
    k = KernelBuilder("mul_sin_add", note="y = a*b + sin(c)    float32, contiguous, 4 elements per work-item")
    n = k.scalar("n", U32)
    a, b, c, y = (k.pointer(name, F32, align=16, restrict=True) for name in "abcy")
    base = k.op("mul", k.global_id(0, "i"), 4, hint="base")

    def element(at: Ref) -> None:
        k.store(y, at, k.load(a, at) * k.load(b, at) + k.op("sin", k.load(c, at)))

    with k.if_(base + 3 < n), k.for_(0, 4, hint="lane", vectorize=True) as lane:
        element(base + lane)
    with k.else_(), k.for_(base, n, hint="at") as at:
        element(at)
    return k


@case(
    lambda rng: {
        "n": 64,
        "x": rng.integers(-128, 128, 64).astype(np.int8),
        "y": rng.integers(-128, 128, 64).astype(np.int8),
        "u": rng.integers(0, 1 << 16, 64).astype(np.uint16),
        "r": np.zeros(64, np.int8),
        "s": np.zeros(64, np.uint16),
    },
    lambda g: {
        "r": ((g["x"] * g["y"] + g["x"]) ^ -g["y"]) >> np.int8(1),
        "s": ~(g["u"] * g["u"] + (g["u"] << np.uint16(3))),
    },
    (64,),
    (16,),
)
def narrow_integers() -> KernelBuilder:
    k = KernelBuilder("narrow_integers", note="8 and 16 bits wrap as they do in NumPy, not as C promotes them")
    n = k.scalar("n", U32)
    x, y, u = k.pointer("x", I8), k.pointer("y", I8), k.pointer("u", U16)
    r, s = k.pointer("r", I8), k.pointer("s", U16)
    i = guarded(k, n)
    p, q, w = k.load(x, i, hint="p"), k.load(y, i, hint="q"), k.load(u, i, hint="w")
    k.store(r, i, ((p * q + p) ^ -q) >> 1)
    k.store(s, i, ~(w * w + (w << 3)))
    return k


@case(
    lambda rng: {
        "n": 64,
        "x": rng.integers(-(2**31), 2**31, 64).astype(np.int32),
        "y": np.zeros(64, np.int32),
        "m": np.zeros(64, bool),
    },
    lambda g: {"y": abs(-(g["x"] * np.int32(3) - np.int32(7))), "m": g["x"] + np.int32(1) > g["x"]},
    (64,),
    (16,),
)
def wrapping() -> KernelBuilder:
    k = KernelBuilder("wrapping", note="signed overflow wraps; C leaves it undefined")
    n = k.scalar("n", U32)
    x, y, m = k.pointer("x", I32), k.pointer("y", I32), k.pointer("m", BOOL)
    i = guarded(k, n)
    p = k.load(x, i, hint="p")
    k.store(y, i, k.op("abs", -(p * 3 - 7)))
    k.store(m, i, p + 1 > p)
    return k


@case(
    lambda rng: {
        "x": rng.integers(-20, 20, 64).astype(np.int32),
        "y": rng.integers(-4, 4, 64).astype(np.int32),
        "q": np.zeros(64, np.int32),
        "r": np.zeros(64, np.int32),
        "f": floats(rng, 64) * 9,
        "g": floats(rng, 64),
        "h": np.zeros(64, np.float32),
    },
    lambda g: {
        "q": g["x"] // g["y"],
        "r": g["x"] % g["y"],
        "h": g["f"] // g["g"] - g["f"] % g["g"],
    },
    (64,),
    (16,),
    1e-6,
)
def floor_division() -> KernelBuilder:
    k = KernelBuilder("floor_division", note="operations of several statements")
    x, y, q, r = (k.pointer(name, I32) for name in "xyqr")
    f, g, h = (k.pointer(name, F32) for name in "fgh")
    i = k.global_id(0, "i")
    a, b = k.load(x, i), k.load(y, i)
    k.store(q, i, a // b)
    k.store(r, i, a % b)
    c, d = k.load(f, i), k.load(g, i)
    k.store(h, i, c // d - c % d)
    return k


@case(
    lambda rng: {
        "x": rng.integers(-99, 99, 64).astype(np.int32),
        "d": rng.integers(-3, 9, 64).astype(np.int32),
        "y": np.zeros(64, np.int32),
    },
    lambda g: {"y": g["x"] // g["d"] + g["x"] % g["d"]},
    (16,),
    (4,),
)
def floor_division_of_vectors() -> KernelBuilder:
    k = KernelBuilder("floor_division_of_vectors", note="lane by lane, and reading operands to the end")
    x, d, y = (k.pointer(name, I32) for name in "xdy")
    at = k.global_id(0, "i") * 4
    a, b = k.load(x, at, count=4), k.load(d, at, count=4)
    k.store(y, at, a // b + a % b)
    return k


@case(
    lambda rng: {
        "x": np.where(rng.random(64) < 0.2, np.nan, floats(rng, 64)).astype(np.float32),
        "y": np.where(rng.random(64) < 0.2, np.nan, floats(rng, 64)).astype(np.float32),
        "low": np.zeros(64, np.float32),
        "high": np.zeros(64, np.float32),
        "s": np.zeros(64, np.float32),
    },
    lambda g: {"low": np.minimum(g["x"], g["y"]), "high": np.maximum(g["x"], g["y"]), "s": np.sign(g["x"])},
    (64,),
    (16,),
)
def nan_aware() -> KernelBuilder:
    k = KernelBuilder("nan_aware", note="minimum and maximum pass NaN on, as NumPy's do")
    x, y, low, high, s = (k.pointer(name, F32) for name in ("x", "y", "low", "high", "s"))
    i = k.global_id(0, "i")
    a, b = k.load(x, i, hint="p"), k.load(y, i, hint="q")
    k.store(low, i, k.op("minimum", a, b))
    k.store(high, i, k.op("maximum", a, b))
    k.store(s, i, k.op("sign", a))
    return k


@case(
    lambda rng: {
        "x": rng.integers(0, 2**63, 64).astype(np.uint64),
        "s": rng.integers(0, 80, 64).astype(np.uint64),
        "y": np.zeros(64, np.uint64),
        "z": np.zeros(64, np.int64),
    },
    lambda g: {
        "y": (g["x"] << g["s"]) | (g["x"] >> (g["s"] + np.uint64(5))),
        "z": (g["x"].view(np.int64) >> g["s"].view(np.int64)) + np.bitwise_count(g["x"]).astype(np.int64),
    },
    (64,),
    (16,),
)
def shifts() -> KernelBuilder:
    k = KernelBuilder("shifts", note="a shift by the width or more leaves nothing, as in NumPy")
    x, s, y, z = k.pointer("x", U64), k.pointer("s", U64), k.pointer("y", U64), k.pointer("z", I64)
    i = k.global_id(0, "i")
    p, by = k.load(x, i, hint="p"), k.load(s, i, hint="by")
    k.store(y, i, (p << by) | (p >> (by + 5)))
    k.store(z, i, (k.bitcast(p, I64) >> k.bitcast(by, I64)) + k.bitcast(k.op("popcount", p), I64))
    return k


@case(
    lambda rng: {
        "x": rng.integers(-9, 9, 64).astype(np.int32),
        "e": rng.integers(-2, 12, 64).astype(np.int32),
        "y": np.zeros(64, np.int32),
    },
    lambda g: {"y": np.array([_power(int(x), int(e)) for x, e in zip(g["x"], g["e"], strict=True)]).astype(np.int32)},
    (64,),
    (16,),
)
def integer_powers() -> KernelBuilder:
    k = KernelBuilder("integer_powers", note="a helper function")
    x, e, y = (k.pointer(name, I32) for name in "xey")
    i = k.global_id(0, "i")
    k.store(y, i, k.op("ipow", k.load(x, i), k.load(e, i)))
    return k


def _power(x: int, e: int) -> int:
    if e < 0:
        return {1: 1, -1: -1 if e % 2 else 1}.get(x, 0)
    wrapped = pow(x, e) & 0xFFFFFFFF
    return wrapped - (1 << 32) if wrapped >= 1 << 31 else wrapped


@case(
    lambda rng: {"x": floats(rng, 64).astype(np.float64), "y": np.zeros(64), "k": np.zeros(64, np.int64)},
    lambda g: {"y": np.sqrt(g["x"] * g["x"] + 1.0), "k": (g["x"] * 1000.0).astype(np.int64)},
    (64,),
    (16,),
)
def doubles() -> KernelBuilder:
    k = KernelBuilder("doubles", note="float64 and its conversion")
    x, y, z = k.pointer("x", F64), k.pointer("y", F64), k.pointer("k", I64)
    i = k.global_id(0, "i")
    p = k.load(x, i, hint="p")
    k.store(y, i, k.op("sqrt", p * p + 1.0))
    k.store(z, i, k.convert(p * 1000.0, I64))
    return k


@case(
    lambda rng: {
        "x": complex_numbers_of(rng, 64), "y": complex_numbers_of(rng, 64), "z": np.zeros(64, np.complex64),
        "size": np.zeros(64, np.float32),
    },
    lambda g: {
        "z": np.where(
            (g["x"] == g["y"]) | (np.abs(g["x"]) > 1), g["x"] * g["y"] / (g["x"] + 2), np.exp(g["x"].conj())
        ).astype(np.complex64),
        "size": np.abs(g["x"]) + g["y"].imag,
    },
    (32,),
    (8,),
    1e-5,
)  # fmt: skip
def complex_numbers() -> KernelBuilder:
    k = KernelBuilder("complex_numbers", note="pairs of complex numbers: four floats")
    x, y, z = k.pointer("x", C64, align=16), k.pointer("y", C64, align=16), k.pointer("z", C64, align=16)
    size = k.pointer("size", F32, align=8)
    at = k.global_id(0, "i") * 2
    a, b = k.load(x, at, count=2, align=16, hint="a"), k.load(y, at, count=2, align=16, hint="b")
    length = k.op("magnitude", a, hint="length")
    far = k.op("eq", a, b) | (length > 1.0)
    z_value = k.op("select", far, a * b / (a + 2), k.op("exp", k.op("conj", a)))
    k.store(z, at, z_value, align=16)
    k.store(size, at, length + k.op("imag", b), align=8)
    return k


# ---------------------------------------------------------------------- storage types and vectors


@case(
    lambda rng: {"h": floats(rng, 64).astype(np.float16), "y": np.zeros(64, np.float16)},
    lambda g: {"y": (g["h"].astype(np.float32) * np.float32(1.5) + np.float32(0.1)).astype(np.float16)},
    (32,),
    (8,),
)
def half_storage() -> KernelBuilder:
    k = KernelBuilder("half_storage", note="float16 in memory, float32 in registers: needs no extension")
    h, y = k.pointer("h", F16), k.pointer("y", F16)
    i = k.global_id(0, "i")
    at = i * 2
    pair = k.load_as(h, at, F32, count=2)
    k.store(y, at, pair * 1.5 + 0.1)
    return k


@case(
    lambda rng: {"b": (floats(rng, 64).view(np.uint32) >> 16).astype(np.uint16), "y": np.zeros(64, np.uint16)},
    lambda g: {"y": _to_bf16((g["b"].astype(np.uint32) << 16).view(np.float32) * np.float32(1.1))},
    (64,),
    (8,),
)
def bfloat16_storage() -> KernelBuilder:
    k = KernelBuilder("bfloat16_storage", note="bfloat16 in memory, float32 in registers")
    b, y = k.pointer("b", BF16), k.pointer("y", BF16)
    i = k.global_id(0, "i")
    k.store(y, i, k.load_as(b, i, F32) * 1.1)
    return k


def _to_bf16(x: np.ndarray) -> np.ndarray:
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


@case(
    lambda rng: {"x": floats(rng, 64), "y": floats(rng, 64), "m": np.zeros(64, bool), "z": np.zeros(64, np.float32)},
    lambda g: {
        "m": (g["x"] < g["y"]) & ~(g["x"] > 0),
        "z": np.where((g["x"] < g["y"]) & ~(g["x"] > 0), g["x"], g["y"] * np.float32(2))
        + (g["x"] < g["y"]).astype(np.float32),
    },
    (8,),
    (4,),
)
def masks() -> KernelBuilder:
    k = KernelBuilder("masks", note="bool vectors: made by comparisons, stored as bytes, converted to numbers")
    x, y, z, m = k.pointer("x", F32), k.pointer("y", F32), k.pointer("z", F32), k.pointer("m", BOOL)
    at = k.global_id(0, "i") * 8
    a, b = k.load(x, at, count=8, hint="p"), k.load(y, at, count=8, hint="q")
    less = k.let(a < b, "less")
    both = k.let(less & ~(a > 0.0), "both")
    k.store(m, at, both)
    k.store(z, at, k.op("select", both, a, b * 2.0) + k.convert(less, F32))
    return k


@case(
    lambda rng: {"x": floats(rng, 256), "y": np.zeros(16, np.float32)},
    lambda g: {"y": g["x"].reshape(16, 16).sum(axis=1)},
    (16,),
    (8,),
    1e-4,
)
def halving_a_vector() -> KernelBuilder:
    k = KernelBuilder("halving_a_vector", note="the sum of 16 lanes as a tree")
    x, y = k.pointer("x", F32, align=64), k.pointer("y", F32)
    i = k.global_id(0, "i")
    part = k.load(x, i * 16, count=16, align=64)
    for width in ("eight", "four", "two"):
        part = k.let(k.op("lo", part) + k.op("hi", part), width)
    k.store(y, i, k.op("extract", part, k.const(0, U32)) + k.op("extract", part, k.const(1, U32)))
    return k


@case(
    lambda rng: {"n": 5, "w": 7, "stride": 11, "x": floats(rng, 55), "y": np.zeros(35, np.float32)},
    lambda g: {"y": (g["x"].reshape(5, 11)[:, :7] * np.float32(2)).reshape(-1)},
    (8, 5),
    (4, 1),
)
def strided_rows() -> KernelBuilder:
    k = KernelBuilder("strided_rows", note="two dimensions, rows further apart than they are long")
    n, w, stride = k.scalar("n", U32), k.scalar("w", U32), k.scalar("stride", U32)
    x, y = k.pointer("x", F32), k.pointer("y", F32)
    column, row = k.global_id(0, "column"), k.global_id(1, "row")
    with k.if_((column < w) & (row < n)):
        k.store(y, row * w + column, k.load(x, row * stride + column) * 2.0)
    return k


@case(
    lambda rng: {"x": floats(rng, 64), "index": rng.permutation(64).astype(np.uint32), "y": np.zeros(64, np.float32)},
    lambda g: {"y": g["x"][g["index"]][::-1] * np.arange(64, dtype=np.float32)[::-1]},
    (16,),
    (4,),
)
def gather_and_scatter() -> KernelBuilder:
    k = KernelBuilder("gather_and_scatter", note="lanes that lie apart in memory")
    x, index, y = k.pointer("x", F32), k.pointer("index", U32), k.pointer("y", F32)
    base = k.global_id(0, "i") * 4
    with k.for_(0, 4, hint="lane", vectorize=True) as lane:
        at = base + lane
        value = k.load(x, k.load(index, at)) * k.convert(at, F32)
        k.store(y, k.const(63, U32) - at, value)
    return k


# ---------------------------------------------------------------------- variables and control flow


@case(
    lambda rng: {"n": 7, "x": floats(rng, 64), "y": np.zeros(64, np.float32)},
    lambda g: {"y": _back_edge(g["x"], 7)},
    (64,),
    (16,),
)
def live_across_the_back_edge() -> KernelBuilder:
    """`scale` is last used in the loop before `fresh` is made; recycling it there breaks the next iteration."""
    k = KernelBuilder("live_across_the_back_edge", note="scale is used again in the next iteration")
    n, x, y = k.scalar("n", U32), k.pointer("x", F32), k.pointer("y", F32)
    i = k.global_id(0, "i")
    scale = k.let(k.load(x, i) + 0.5, "scale")
    total = k.variable(0.0, F32, "total")
    with k.for_(0, n, hint="round"):
        scaled = k.let(total * scale, "scaled")
        fresh = k.let(scaled + 1.0, "fresh")
        other = k.let(fresh * 0.25, "other")
        k.assign(total, fresh - other)
    k.store(y, i, total)
    return k


def _back_edge(x: np.ndarray, rounds: int) -> np.ndarray:
    scale, total = x + np.float32(0.5), np.zeros_like(x)
    for _ in range(rounds):
        fresh = total * scale + np.float32(1)
        total = fresh - fresh * np.float32(0.25)
    return total


@case(
    lambda rng: {"x": floats(rng, 64), "y": np.zeros(64, np.float32), "z": np.zeros(64, np.float32)},
    lambda g: {"y": g["x"] * 2, "z": g["x"] * 2 + 1},
    (64,),
    (16,),
)
def a_variable_is_a_copy() -> KernelBuilder:
    k = KernelBuilder("a_variable_is_a_copy", note="b = a, then b += 1 leaves a as it was")
    x, y, z = (k.pointer(name, F32) for name in "xyz")
    i = k.global_id(0, "i")
    a = k.variable(k.load(x, i) * 2.0, hint="a")
    b = k.variable(a, hint="b")
    k.assign(b, b + 1.0)
    k.store(y, i, a)
    k.store(z, i, b)
    return k


@case(
    lambda rng: {"x": rng.integers(1, 1000, 64).astype(np.uint32), "y": np.zeros(64, np.uint32)},
    lambda g: {"y": np.array([_collatz(int(x)) for x in g["x"]], np.uint32)},
    (64,),
    (16,),
)
def collatz() -> KernelBuilder:
    k = KernelBuilder("collatz", note="a loop that ends where the data says")
    x, y = k.pointer("x", U32), k.pointer("y", U32)
    i = k.global_id(0, "i")
    value, steps = k.variable(k.load(x, i), hint="value"), k.variable(0, U32, "steps")
    with k.while_() as loop:
        loop.test(value != 1)
        with k.if_((value & 1) == 0):
            k.assign(value, value >> 1)
        with k.else_():
            k.assign(value, value * 3 + 1)
        k.assign(steps, steps + 1)
    k.store(y, i, steps)
    return k


def _collatz(x: int) -> int:
    steps = 0
    while x != 1:
        x, steps = (x // 2 if x % 2 == 0 else 3 * x + 1), steps + 1
    return steps


@case(
    lambda rng: {"n": 12, "x": rng.integers(-5, 20, 64 * 12).astype(np.int32), "y": np.zeros(64, np.int32)},
    lambda g: {"y": np.array([_until_large(row) for row in g["x"].reshape(64, 12)], np.int32)},
    (64,),
    (16,),
)
def break_and_continue() -> KernelBuilder:
    k = KernelBuilder("break_and_continue", note="sums what is positive, up to the first value above 15")
    n, x, y = k.scalar("n", U32), k.pointer("x", I32), k.pointer("y", I32)
    i = k.global_id(0, "i")
    total = k.variable(0, I32, "total")
    with k.for_(0, n, hint="j") as j:
        value = k.load(x, i * n + j, hint="value")
        with k.if_(value > 15):
            k.break_()
        with k.if_(value < 0):
            k.continue_()
        k.assign(total, total + value)
    k.store(y, i, total)
    return k


def _until_large(row: np.ndarray) -> int:
    total = 0
    for value in row:
        if value > 15:
            break
        total += max(int(value), 0)
    return total


@case(
    lambda rng: {"rows": 9, "columns": 6, "x": floats(rng, 54), "v": floats(rng, 6), "y": np.zeros(9, np.float32)},
    lambda g: {"y": _row_by_row(g["x"].reshape(9, 6), g["v"])},
    (16,),
    (8,),
)
def matrix_times_vector() -> KernelBuilder:
    k = KernelBuilder("matrix_times_vector", note="an unrolled loop over the columns, downward")
    rows, columns = k.scalar("rows", U32), k.scalar("columns", U32)
    x, v, y = (k.pointer(name, F32, restrict=True) for name in "xvy")
    row = k.global_id(0, "row")
    with k.if_(row < rows):
        total = k.variable(0.0, F32, "total")
        last = k.convert(columns, I32) - 1
        with k.for_(last, -1, -1, dtype=I32, hint="column", unroll=2) as column:
            at = k.convert(column, U32)
            k.assign(total, total + k.load(x, row * columns + at) * k.load(v, at))
        k.store(y, row, total)
    return k


def _row_by_row(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    total = np.zeros(len(x), np.float32)
    for column in reversed(range(len(v))):
        total = total + x[:, column] * v[column]
    return total


@case(
    lambda rng: {"w": 16, "h": 8, "most": 50, "y": np.zeros(128, np.uint16)},
    lambda g: {"y": _mandelbrot(16, 8, 50)},
    (16, 8),
    (8, 2),
)
def mandelbrot() -> KernelBuilder:
    k = KernelBuilder("mandelbrot", note="the number of rounds until |z| passes 2")
    w, h, most = k.scalar("w", U32), k.scalar("h", U32), k.scalar("most", U32)
    y = k.pointer("y", U16)
    px, py = k.global_id(0, "px"), k.global_id(1, "py")
    re0 = k.let(k.convert(px, F32) / k.convert(w, F32) * 3.0 - 2.0, "re0")
    im0 = k.let(k.convert(py, F32) / k.convert(h, F32) * 2.0 - 1.0, "im0")
    re, im = k.variable(0.0, F32, "re"), k.variable(0.0, F32, "im")
    rounds = k.variable(0, U32, "rounds")
    with k.while_() as loop:
        loop.test((rounds < most) & (re * re + im * im <= 4.0))
        squared = k.let(re * re - im * im + re0, "squared")
        k.assign(im, re * im * 2.0 + im0)
        k.assign(re, squared)
        k.assign(rounds, rounds + 1)
    k.store(y, py * w + px, k.convert(rounds, U16))
    return k


def _mandelbrot(w: int, h: int, most: int) -> np.ndarray:
    f = np.float32
    out = []
    for py in range(h):
        for px in range(w):
            re0, im0 = f(px) / f(w) * f(3) - f(2), f(py) / f(h) * f(2) - f(1)
            re, im, rounds = f(0), f(0), 0
            while rounds < most and re * re + im * im <= f(4):
                re, im, rounds = re * re - im * im + re0, re * im * f(2) + im0, rounds + 1
            out.append(rounds)
    return np.array(out, np.uint16)


@case(
    lambda rng: {"x": floats(rng, 64), "y": np.zeros(64, np.float32)},
    lambda g: {"y": np.sort(g["x"].reshape(16, 4), axis=1).reshape(-1)},
    (16,),
    (4,),
)
def sorting_in_private_memory() -> KernelBuilder:
    k = KernelBuilder("sorting_in_private_memory", note="an array of one work-item, sorted by insertion")
    x, y = k.pointer("x", F32), k.pointer("y", F32)
    base = k.let(k.global_id(0, "i") * 4, "base")
    mine = k.array(F32, 4, space="private", hint="mine")
    with k.for_(0, 4, hint="j") as j:
        k.store(mine, j, k.load(x, base + j))
    with k.for_(1, 4, hint="j") as j:
        value = k.load(mine, j, hint="value")
        hole = k.variable(j, hint="hole")
        with k.while_() as loop:
            loop.test(hole > 0)
            left = k.load(mine, hole - 1, hint="left")
            with k.if_(left <= value):
                k.break_()
            k.store(mine, hole, left)
            k.assign(hole, hole - 1)
        k.store(mine, hole, value)
    with k.for_(0, 4, hint="j") as j:
        k.store(y, base + j, k.load(mine, j))
    return k


@case(
    lambda rng: {"rows": 6, "columns": 10, "x": floats(rng, 60), "y": np.zeros(60, np.float32)},
    lambda g: {"y": _shifted(g["x"].reshape(6, 10)).reshape(-1)},
    (64,),
    (16,),
)
def signed_indices() -> KernelBuilder:
    k = KernelBuilder("signed_indices", group_size=(16, 1, 1), note="ids and sizes that may be subtracted")
    rows, columns = k.scalar("rows", I32, low=0), k.scalar("columns", I32, low=1)
    x, y = k.pointer("x", F32, restrict=True), k.pointer("y", F32, restrict=True)
    i, item = k.global_id(0, "i", I32), k.item("local_id", 0, "item", I32)
    row, column = k.let(i // columns, "row"), k.let(i % columns, "column")
    with k.if_(row < rows):
        left = k.load(x, k.op("maximum", column - 1, 0) + row * columns)
        k.store(y, i, k.op("select", column - 1 < 0, k.const(0.0, F32), left) + k.convert((item * 4 + 3) // 7, F32))
    return k


def _shifted(x: np.ndarray) -> np.ndarray:
    added = (np.arange(x.size) % 16 * 4 + 3) // 7
    return np.pad(x, ((0, 0), (1, 0)))[:, :-1] + added.reshape(x.shape).astype(np.float32)


# ---------------------------------------------------------------------- work-groups


@case(
    lambda rng: {"n": 250, "x": floats(rng, 250), "y": np.zeros(16, np.float32)},
    lambda g: {"y": np.pad(g["x"], (0, 6)).reshape(16, 16).sum(axis=1)},
    (256,),
    (16,),
    1e-4,
)
def sum_of_a_group() -> KernelBuilder:
    k = KernelBuilder("sum_of_a_group", group_size=(16, 1, 1), note="a tree in local memory")
    n, x, y = k.scalar("n", U32), k.pointer("x", F32), k.pointer("y", F32)
    i, item, group = k.global_id(0, "i"), k.item("local_id", hint="item"), k.item("group_id", hint="group")
    parts = k.array(F32, 16, hint="parts")
    mine = k.variable(0.0, F32, "mine")
    with k.if_(i < n):
        k.assign(mine, k.load(x, i))
    k.store(parts, item, mine)
    half = k.variable(8, U32, "half_")
    with k.while_() as loop:
        loop.test(half > 0)
        k.barrier()
        with k.if_(item < half):
            k.store(parts, item, k.load(parts, item) + k.load(parts, item + half))
        k.assign(half, half >> 1)
    with k.if_(item == 0):
        k.store(y, group, k.load(parts, 0))
    return k


@case(
    lambda rng: {"rows": 12, "columns": 10, "x": floats(rng, 120), "y": np.zeros(120, np.float32)},
    lambda g: {"y": g["x"].reshape(12, 10).T.reshape(-1)},
    (16, 16),
    (8, 8),
)
def transposition() -> KernelBuilder:
    k = KernelBuilder("transposition", group_size=(8, 8, 1), note="through a tile in local memory")
    rows, columns = k.scalar("rows", U32), k.scalar("columns", U32)
    x, y = k.pointer("x", F32, restrict=True), k.pointer("y", F32, restrict=True)
    lx, ly = k.item("local_id", 0, "lx"), k.item("local_id", 1, "ly")
    tile = k.array(F32, 8 * 9, hint="tile")
    column, row = k.item("group_id", 0) * 8, k.item("group_id", 1) * 8
    with k.if_((column + lx < columns) & (row + ly < rows)):
        k.store(tile, ly * 9 + lx, k.load(x, (row + ly) * columns + column + lx))
    k.barrier()
    with k.if_((row + lx < rows) & (column + ly < columns)):
        k.store(y, (column + ly) * rows + row + lx, k.load(tile, lx * 9 + ly))
    return k


@case(
    lambda rng: {"n": 500, "x": rng.integers(0, 8, 500).astype(np.uint8), "counts": np.zeros(8, np.uint32)},
    lambda g: {"counts": np.bincount(g["x"], minlength=8).astype(np.uint32)},
    (128,),
    (32,),
)
def histogram() -> KernelBuilder:
    k = KernelBuilder("histogram", group_size=(32, 1, 1), note="counted in local memory first, then added to the total")
    n, x, counts = k.scalar("n", U32), k.pointer("x", U8), k.pointer("counts", U32)
    i, item = k.global_id(0, "i"), k.item("local_id", hint="item")
    mine = k.array(U32, 8, hint="mine")
    with k.if_(item < 8):
        k.store(mine, item, 0)
    k.barrier()
    with k.for_(i, n, k.item("global_size"), hint="at") as at:
        k.atomic("add", mine, k.convert(k.load(x, at), U32), 1, used=False)
    k.barrier()
    with k.if_(item < 8):
        k.atomic("add", counts, item, k.load(mine, item), used=False)
    return k


@case(
    lambda rng: {"x": floats(rng, 144), "most": np.zeros(6, np.float32), "total": np.zeros(144, np.float32)},
    lambda g: _collected(g["x"].reshape(3, 2, 24)),
    (48,),
    (24,),
)
def collectives() -> KernelBuilder:
    k = KernelBuilder("collectives", group_size=(24, 1, 1), note="a maximum and sums up to each item, row by row")
    x, most, total = k.pointer("x", F32), k.pointer("most", F32), k.pointer("total", F32)
    i, group = k.global_id(0, "i"), k.item("group_id", hint="group")
    with k.for_(0, 3, hint="row") as row:
        value = k.load(x, row * 48 + i, hint="value")
        largest = k.collective("max", value, hint="largest")
        k.store(total, row * 48 + i, k.collective("scan", value))
        with k.if_(k.item("local_id") == 0):
            k.store(most, row * 2 + group, largest)
    return k


def _collected(x: np.ndarray) -> Args:
    sums = x.copy()
    for distance in (1, 2, 4, 8, 16):
        sums[..., distance:] = sums[..., :-distance] + sums[..., distance:]
    return {"most": x.max(axis=2).reshape(-1), "total": sums.reshape(-1)}


@case(
    lambda rng: {
        "x": rng.integers(-50, 50, 48).astype(np.int32),
        "before": np.zeros(48, np.int32),
        "signs": np.zeros(48, np.int32),
        "sums": np.zeros(2, np.int64),
    },
    lambda g: _of_a_block(g["x"].reshape(2, 24)),
    (4, 6, 2),
    (4, 3, 2),
)
def collectives_of_a_block() -> KernelBuilder:
    k = KernelBuilder("collectives_of_a_block", group_size=(4, 3, 2), note="over local ids of three dimensions")
    x, before, signs = (k.pointer(name, I32) for name in ("x", "before", "signs"))
    sums, group = k.pointer("sums", I64), k.item("group_id", 1, "group")
    item = k.let(k.item("local_id", 0) + k.item("local_id", 1) * 4 + k.item("local_id", 2) * 12, "at")
    value = k.load(x, group * 24 + item, hint="value")
    k.store(before, group * 24 + item, k.collective("exclusive_scan", value))
    with k.if_(k.collective("any", value > 45)):
        third = k.collective("broadcast", value, 3, "third")
        is_small = k.collective("all", value > third - 100, hint="is_small")
        k.store(signs, group * 24 + item, k.op("select", is_small, k.op("sign", third), 7))
    total = k.collective("sum", k.convert(value, I64), hint="total")
    with k.if_(item == 0):
        k.store(sums, group, total)
    return k


def _of_a_block(x: np.ndarray) -> Args:
    before = np.cumsum(x, axis=1, dtype=np.int32) - x
    signs = np.where((x > x[:, 3:4] - 100).all(axis=1), np.sign(x[:, 3]), 7) * (x > 45).any(axis=1)
    return {
        "before": before.reshape(-1),
        "signs": np.repeat(signs.astype(np.int32), 24),
        "sums": x.sum(axis=1, dtype=np.int64),
    }


@case(
    lambda rng: {
        "x": floats(rng, 128), "flags": rng.random(128) < 0.5, "total": np.zeros(128, np.float32),
        "wide": np.zeros(128, np.float64), "crossed": np.zeros(128, np.uint8),
    },
    lambda g: _exchanged(g["x"].reshape(-1, 32), g["flags"].reshape(-1, 32)),
    (128,),
    (64,),
)  # fmt: skip
def exchange() -> KernelBuilder:
    k = KernelBuilder("exchange", group_size=(64, 1, 1), note="a sum of each sub-group, and what its items exchange")
    x, flags, total = k.pointer("x", F32), k.pointer("flags", BOOL), k.pointer("total", F32)
    wide, crossed = k.pointer("wide", F64), k.pointer("crossed", U8)
    i, lane = k.global_id(0, "i"), k.let(k.item("local_id") & 31, "lane")
    value = k.load(x, i, hint="value")
    k.store(total, i, k.collective("sum", value, size=32))
    with k.for_(1, 3, hint="by") as by:
        k.store(wide, i, k.load(wide, i) + k.shuffle(k.convert(value, F64), lane + by & 31, 32))
    k.store(
        crossed, i, k.convert(k.shuffle(k.load(flags, i), lane ^ 5, 32), U8) + k.shuffle(k.convert(lane, U8), 3, 32)
    )
    return k


def _exchanged(x: np.ndarray, flags: np.ndarray) -> Args:
    lanes, joined = np.arange(32), x
    for distance in (16, 8, 4, 2, 1):
        joined = joined + joined[:, lanes ^ distance]
    wide = x.astype(np.float64)
    return {
        "total": np.repeat(joined[:, :1], 32, 1).reshape(-1),
        "wide": (wide[:, (lanes + 1) % 32] + wide[:, (lanes + 2) % 32]).reshape(-1),
        "crossed": (flags[:, lanes ^ 5] + np.uint8(3)).reshape(-1),
    }


@case(
    lambda rng: {
        "x": rng.integers(-1000, 1000, 64).astype(np.int32),
        "most": np.array([-5000], np.int32),
        "taken": np.zeros(1, np.int32),
    },
    lambda g: {"most": np.array([g["x"].max()]), "taken": np.array([64], np.int32)},
    (64,),
    (16,),
)
def atomics() -> KernelBuilder:
    k = KernelBuilder("atomics", note="a maximum, and a counter advanced by compare and exchange")
    x, most, taken = k.pointer("x", I32), k.pointer("most", I32), k.pointer("taken", I32)
    i = k.global_id(0, "i")
    k.atomic("max", most, 0, k.load(x, i), used=False)
    expected, done = k.variable(0, I32, "expected"), k.variable(False, BOOL, "done")
    with k.while_() as loop:
        loop.test(~done)
        before = k.atomic("compare_exchange", taken, 0, expected, expected + 1, hint="before")
        assert before is not None
        k.assign(done, before == expected)
        k.assign(expected, before)
    return k


@case(
    lambda rng: {
        "x": rng.integers(-1000, 1000, 64).astype(np.float32) * np.float32(0.25),
        "found": np.array([100, 100, 9000, np.nan, 7, 2], np.float32),
        "before": np.zeros(2, np.float32),
    },
    lambda g: {
        "found": np.array([100 + g["x"].sum(), 100 - g["x"].sum(), g["x"].min(), np.nan, 8, 3], np.float32),
        "before": np.array([7, 2], np.float32),
    },
    (64,),
    (16,),
)
def float_atomics() -> KernelBuilder:
    k = KernelBuilder("float_atomics", group_size=(16, 1, 1), note="sums and extremes, a group's own in local memory")
    x, found, before = (k.pointer(name, F32) for name in ("x", "found", "before"))
    i, item = k.global_id(0, "i"), k.item("local_id", hint="item")
    mine, value = k.array(F32, 1, hint="mine"), k.load(x, i, hint="value")
    with k.if_(item == 0):
        k.store(mine, 0, -0.0)
    k.barrier()
    k.atomic("add", mine, 0, value, used=False)
    k.barrier()
    with k.if_(item == 0):
        k.atomic("add", found, 0, k.load(mine, 0), used=False)
    k.atomic("sub", found, 1, value, used=False)
    k.atomic("min", found, 2, value, used=False)
    k.atomic("max", found, 3, value, used=False)
    with k.if_(i == 0):
        for index, args in enumerate((("exchange", 8.0), ("compare_exchange", 2.0, 3.0))):
            was = k.atomic(args[0], found, 4 + index, *args[1:], hint="was")  # type: ignore[arg-type]
            assert was is not None
            k.store(before, index, was)
    return k


@case(
    lambda rng: {"x": rng.integers(-1000, 1000, 64) * 0.25, "found": np.array([0.0, np.inf, 7, 2])},
    lambda g: {"found": np.array([g["x"].sum() + 7 + 2, g["x"].min(), 8, 3])},
    (64,),
    (16,),
)
def double_atomics() -> KernelBuilder:
    k = KernelBuilder("double_atomics", note="by 64-bit atomics on the bits")
    x, found = k.pointer("x", F64), k.pointer("found", F64)
    i = k.global_id(0, "i")
    k.atomic("add", found, 0, k.load(x, i), used=False)
    k.atomic("min", found, 1, k.load(x, i), used=False)
    with k.if_(i == 3):
        for index, args in enumerate((("exchange", 8.0), ("compare_exchange", 2.0, 3.0))):
            was = k.atomic(args[0], found, 2 + index, *args[1:], hint="was")  # type: ignore[arg-type]
            assert was is not None
            k.atomic("add", found, 0, was, used=False)
    return k


@case(
    lambda rng: {"x": np.array([1.5, -2.25, np.inf, 1e-9], np.float32), "y": np.zeros(4, np.int64)},
    lambda g: {"y": np.arange(4) - 2},
    (4,),
    (2,),
)
def printing() -> KernelBuilder:
    k = KernelBuilder("printing", note="numbers of several types, and a text that C would read in another way")
    x, y, i = k.pointer("x", F32), k.pointer("y", I64), k.global_id(0, "i")
    k.print_('100% of "{{{}}}" is {} \\n??/ {}\t*/ é', i, k.load(x, i), k.load(x, i) > 0.0)
    with k.if_(i >= 1):
        k.store(y, i, k.convert(i, I64) - 2)
        k.print_("{} {}{}", k.load(y, i), k.convert(i, U64) << 60, k.convert(i, U8))
        k.print_("")
    with k.else_():
        k.store(y, i, -2)
    return k


@case(
    lambda rng: {"n": 60, "w": 6, "x": floats(rng, 60), "y": np.zeros(60, np.float32)},
    lambda g: {"y": _stencil(g["x"].reshape(10, 6)).reshape(-1)},
    (64,),
    (16,),
)
def stencil() -> KernelBuilder:
    k = KernelBuilder("stencil", note="five points; the border is copied")
    n, w, x, y = k.scalar("n", U32), k.scalar("w", U32), k.pointer("x", F32), k.pointer("y", F32)
    i = guarded(k, n)
    column, row = k.op("urem", i, w, hint="column"), k.op("udiv", i, w, hint="row")
    middle = k.load(x, i, hint="middle")
    value = k.variable(middle, hint="value")
    inside = (column > 0) & (column + 1 < w) & (row > 0) & (i + w < n)
    with k.if_(inside):
        around = k.load(x, i - 1) + k.load(x, i + 1) + k.load(x, i - w) + k.load(x, i + w)
        k.assign(value, around - middle * 4.0)
    k.store(y, i, value)
    return k


def _stencil(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    y[1:-1, 1:-1] = x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1] - x[1:-1, 1:-1] * np.float32(4)
    return y


@case(
    lambda rng: {"n": 40, "x": floats(rng, 64), "y": np.zeros(64, np.float32)},
    lambda g: {"y": np.concatenate([_many_locals(g["x"][:40]), np.zeros(24, np.float32)])},
    (64,),
    (16,),
)
def nested_scopes() -> KernelBuilder:
    k = KernelBuilder("nested_scopes", note="the same names in scopes beside and inside of each other")
    n, x, y = k.scalar("n", U32), k.pointer("x", F32), k.pointer("y", F32)
    i = k.global_id(0, "i")
    with k.if_(i < n):
        value = k.variable(k.load(x, i), hint="value")
        for _ in range(2):
            with k.for_(0, 3, hint="j") as j, k.for_(0, 2, hint="j") as inner:
                step = k.let(k.convert(j * inner, F32), "step")
                with k.if_(value > step):
                    part = k.variable(value * 0.5, hint="part")
                    k.assign(part, part + step)
                    k.assign(value, part)
                with k.else_():
                    part = k.variable(value + 1.0, hint="part")
                    k.assign(part, part * step)
                    k.assign(value, part - 0.25)
        k.store(y, i, value)
    return k


def _many_locals(x: np.ndarray) -> np.ndarray:
    f = np.float32
    out = []
    for value in x:
        result = value
        for _ in range(2):
            for j in range(3):
                for inner in range(2):
                    step = f(j * inner)
                    result = result * f(0.5) + step if result > step else (result + f(1)) * step - f(0.25)
        out.append(result)
    return np.array(out, f)


@case(
    lambda rng: {"x": floats(rng, 64).astype(np.float16), "y": np.zeros(64, np.float16)},
    lambda g: {"y": g["x"] * g["x"] + np.float16(0.5)},
    (64,),
    (16,),
)
def half_arithmetic() -> KernelBuilder:
    k = KernelBuilder("half_arithmetic", note="float16 in registers: only where the device has it")
    x, y = k.pointer("x", F16), k.pointer("y", F16)
    i = k.global_id(0, "i")
    p = k.load(x, i, hint="p")
    k.store(y, i, p * p + 0.5)
    return k


@case(
    lambda rng: {
        "x": rng.integers(-1000, 1000, 64).astype(np.int16),
        "y": np.zeros(64, np.float32),
        "z": np.zeros(64, np.uint8),
        "w": np.zeros(64, np.int64),
    },
    lambda g: {
        "y": g["x"].astype(np.float32) / 4,
        "z": g["x"].astype(np.uint8),
        "w": g["x"].astype(np.int64) * 1000000007,
    },
    (8,),
    (4,),
)
def conversions() -> KernelBuilder:
    k = KernelBuilder("conversions", note="between widths and kinds, eight lanes at a time")
    x, y, z, w = k.pointer("x", I16), k.pointer("y", F32), k.pointer("z", U8), k.pointer("w", I64)
    at = k.global_id(0, "i") * 8
    p = k.load(x, at, count=8, hint="p")
    k.store(y, at, k.convert(p, F32) / 4.0)
    k.store(z, at, k.convert(p, U8))
    k.store(w, at, k.convert(p, I64) * 1000000007)
    return k


# ---------------------------------------------------------------------- literals


@case(
    lambda rng: {
        "n": np.arange(70, dtype="u8"),
        "y": np.zeros(70, "i8"),
        "z": np.zeros(70, "u8"),
        "w": np.zeros(70, "u8"),
    },
    lambda g: {
        "y": np.left_shift(np.int64(1), g["n"].astype("i8")),
        "z": np.uint64(3) << g["n"],
        "w": np.uint64(5) >> g["n"],
    },
    (70,),
    (1,),
)
def shifted_constants() -> KernelBuilder:
    """What is shifted gives the result its type in C, whatever the amount is."""
    k = KernelBuilder("shifted_constants")
    n, y, z, w = k.pointer("n", U64), k.pointer("y", I64), k.pointer("z", U64), k.pointer("w", U64)
    i = k.global_id(0, "i")
    amount = k.load(n, i, hint="amount")
    k.store(y, i, k.op("shl", Const(1, I64), k.convert(amount, I64)))
    k.store(z, i, k.op("shl", Const(3, U64), amount))
    k.store(w, i, k.op("shr", Const(5, U64), amount))
    return k


# ---------------------------------------------------------------------- planned stencils


def planned(name: str, rows: int, columns: int, numbers: Args) -> None:
    """The mean of four neighbours in a matrix, as a GPU gets it that a few results already keep busy."""
    busy = Target(kind="gpu", compute_units=0, group_size=8)
    runtime = InterpretedRuntime(busy)
    whole = graph.buffer(runtime.executor.allocate(4 * rows * columns), F32, Layout.contiguous((rows, columns)))
    views = [np.s_[:-2, 1:-1], np.s_[2:, 1:-1], np.s_[1:-1, :-2], np.s_[1:-1, 2:]]
    parts = [graph.index(whole, parse_index(whole.shape, view)) for view in views]
    total = reduce(lambda left, right: graph.elementwise("add", left, right), parts)
    root = graph.elementwise("mul", total, graph.scalar(0.25, F32, total.shape))
    (launch,) = plan([root], runtime.executor).launches

    def expected(arguments: Args) -> Args:
        x = arguments["a"].reshape(rows, columns)
        up, down, left, right = (x[view] for view in views)
        return {"y": ((up + down + left + right) * np.float32(0.25)).ravel()}

    def arguments(rng: np.random.Generator) -> Args:
        sizes = {"n0": rows - 2, "n1": columns - 2, "s0": np.float32(0.25), **numbers}
        a, y = floats(rng, rows * columns), np.zeros((rows - 2) * (columns - 2), np.float32)
        return {**sizes, "a": a, "y": y}

    kernel = replace(launch.kernel, name=name)
    CASES.append(Case(name, kernel, arguments, expected, launch.global_size, launch.group_size))


planned("four_neighbours_in_lanes", 9, 20, {"a_stride0": 5, "y_stride0": 9})  # counted in vectors
planned("four_neighbours_in_rows", 12, 11, {"a_stride0": 11, "y_stride0": 9})

# ---------------------------------------------------------------------- planned reductions


def planned_reduction(name: str, shape: tuple[int, int], compute: Callable[[Any, Any], Any]) -> None:
    """An expression of a matrix with reductions, as a GPU gets it whose groups have 32 work-items."""
    runtime = InterpretedRuntime(Target(kind="gpu", compute_units=1, group_size=32))
    with xp.use(runtime):
        root = compute(xp, xp.asarray(np.zeros(shape, np.float32)))
    (launch,) = plan([root._node], runtime.executor).launches
    passed = zip(launch.kernel.params, launch.args, strict=True)
    numbers: Args = {param.value.hint: arg for param, arg in passed if not isinstance(arg, Address)}

    def arguments(rng: np.random.Generator) -> Args:
        return {**numbers, "a": floats(rng, math.prod(shape)), "y": np.zeros(root.size, np.float32)}

    def expected(given: Args) -> Args:
        return {"y": compute(np, given["a"].reshape(shape).astype(np.float64)).astype(np.float32).ravel()}

    kernel = replace(launch.kernel, name=name)
    CASES.append(Case(name, kernel, arguments, expected, launch.global_size, launch.group_size, 1e-4))


def softmax(np_: Any, x: Any) -> Any:
    exponentials = np_.exp(x - np_.max(x, axis=1, keepdims=True))
    return exponentials / np_.sum(exponentials, axis=1, keepdims=True)


planned_reduction("softmax_of_rows", (10, 60), softmax)
planned_reduction("sums_of_columns", (300, 16), lambda np_, x: np_.sum(x, axis=0))

BY_NAME = {case.name: case for case in CASES}
