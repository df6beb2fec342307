"""The interpreter against NumPy and against plain Python, operation by operation and with divergent control flow."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

from ocl_ir.errors import DTypeError, IRError, MemoryAccessError
from ocl_ir.interpret.kernel import run
from ocl_ir.interpret.operation import evaluate
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Const, Kernel, Let, Value
from ocl_ir.kernel.printer import text
from ocl_ir.kernel.verify import verify
from ocl_ir.op_rows import CLASSES, Op
from ocl_ir.op_types import result_type
from ocl_ir.ops import OPS, PARTIAL
from ocl_ir.program_ops import InlineC
from ocl_ir.types import (
    BF16,
    BOOL,
    DTYPES,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    DType,
    Vector,
    element,
    from_numpy,
)

COMPUTED = [dtype for dtype in DTYPES.values() if dtype != BF16]
REAL = [dtype for dtype in COMPUTED if not dtype.is_complex]
"""Operations of complex numbers: tests/differential/test_complex_operations.py."""
SIGNED_OF = {8: I8, 16: I16, 32: I32, 64: I64}

# What each operation means, one number at a time and independently of the op table: integers in Python's unbounded
# arithmetic, cut to the width afterwards; floats in NumPy's arithmetic of float64 or more, rounded once.
INTEGER = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b if b else 0,
    "rem": lambda a, b: a % b if b else 0,
    "udiv": lambda a, b: a // b,
    "urem": lambda a, b: a % b,
    "sdiv": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "srem": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
    "neg": lambda a: -a,
    "abs": abs,
    "sign": lambda a: (a > 0) - (a < 0),
    "minimum": min,
    "maximum": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
}
COMPARED = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
FLOAT_NAMES = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "floordiv": np.floor_divide,
    "rem": np.remainder, "fmod": np.fmod, "neg": np.negative, "abs": np.abs, "sign": np.sign, "minimum": np.minimum,
    "maximum": np.maximum, "pow": np.power, "hypot": np.hypot, "atan2": np.arctan2, "copysign": np.copysign,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint, "exp": np.exp, "exp2": np.exp2,
    "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "cbrt": np.cbrt,
    "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "signbit": np.signbit,
}  # fmt: skip
# Python's own erf, erfc and gamma, fma's definition, and what is told apart by bits have their tests below.
ELSEWHERE = {
    "erf",
    "erfc",
    "tgamma",
    "fma",
    "rsqrt",
    "nextafter",
    "select",
    "nearest",
    "ipow",
    "shl",
    "shr",
    "popcount",
    "clz",
    "float_order",
    "join_halves",
    "mul_high",
    "philox",
    "normal_bits",
    "gamma_bits",
    "poisson_small",
    "poisson_large",
    "binomial_small",
    "binomial_large",
    "round_f16",
    "round_bf16",
}


def samples(dtype: DType) -> np.ndarray:
    if dtype == BOOL:
        return np.array([False, True])
    if dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        numbers = {0, 1, 2, 3, 7, 100, limits.max, limits.max - 1, limits.min, limits.min + 1, limits.max // 3}
        return np.array(sorted(numbers | ({-1, -2, -5} if dtype.kind == "int" else set())), dtype.numpy)
    floats = [0.0, -0.0, 0.25, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, -7.0, 100.0, np.inf, -np.inf, np.nan]
    return np.array(floats, dtype.numpy)


def cases() -> list[tuple[Op, DType]]:
    return [
        (op, dtype)
        for op in OPS.values()
        for dtype in REAL
        if op.result != "complex"
        and any(dtype.kind in CLASSES[letter] for letter in op.operands[-1])
        and op.takes(dtype)
    ]


def operand_grid(op: Op, dtype: DType) -> list[np.ndarray]:
    columns = [samples(BOOL) if letter == "B" else samples(dtype) for letter in op.operands]
    columns[3:] = [column[:2] for column in columns[3:]]  # or there would be millions
    grid = [np.array(column) for column in zip(*itertools.product(*columns), strict=True)]
    grid = [column.astype(source.dtype) for column, source in zip(grid, columns, strict=True)]
    if op.name in PARTIAL:
        defined = (grid[1] != 0) & (grid[1].astype(np.int64) != -1)
        grid = [column[defined] for column in grid]
    return grid


def elementwise_kernel(op: Op, dtype: DType, count: int) -> Kernel:
    k = KernelBuilder("one_operation")
    given = [k.pointer(f"x{n}", BOOL if letter == "B" else dtype) for n, letter in enumerate(op.operands)]
    result = BOOL if op.result == "bool" else dtype
    out = k.pointer("out", result)
    i = k.global_id()
    k.store(out, i * count, k.op(op.name, *(k.load(x, i * count, count=count) for x in given)))
    return k.build()


def wrapped(value: int, dtype: DType) -> int:
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.kind == "int" and value >> (dtype.bits - 1) else value


def expected(op: Op, dtype: DType, grid: list[np.ndarray]) -> np.ndarray:
    rows = list(zip(*(column.tolist() for column in grid), strict=True))
    if op.name in COMPARED:
        return np.array([COMPARED[op.name](*row) for row in rows], np.bool_)
    if dtype == BOOL:
        truth = {
            "and": lambda a, b: a and b,
            "or": lambda a, b: a or b,
            "xor": lambda a, b: a != b,
            "not": lambda a: not a,
        }
        return np.array([truth[op.name](*row) for row in rows], np.bool_)
    if dtype.is_integer:
        return np.array([wrapped(INTEGER[op.name](*row), dtype) for row in rows], dtype.numpy)
    wide = np.float64 if dtype != F64 else np.longdouble
    exact = FLOAT_NAMES[op.name](*(column.astype(wide) for column in grid))
    return exact if exact.dtype == np.bool_ else exact.astype(dtype.numpy)


def run_elementwise(op: Op, dtype: DType, grid: list[np.ndarray], count: int = 1) -> np.ndarray:
    kernel = elementwise_kernel(op, dtype, count)
    verify(kernel)
    padded = [np.resize(column, -(-column.size // count) * count) for column in grid]
    out = np.zeros(padded[0].size, np.bool_ if op.result == "bool" else dtype.numpy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(kernel, {f"x{n}": column for n, column in enumerate(padded)} | {"out": out}, (out.size // count,))
    return out[: grid[0].size]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("op", "dtype"), cases(), ids=lambda value: getattr(value, "name", ""))
def test_every_operation_for_every_dtype(op: Op, dtype: DType) -> None:
    grid = operand_grid(op, dtype)
    given = tuple(from_numpy(column.dtype) for column in grid)
    want_type = result_type(op.name, given)
    result = evaluate(op.name, grid, want_type)
    assert result.dtype == element(want_type).numpy
    assert result.shape == grid[0].shape
    out = run_elementwise(op, dtype, grid)
    np.testing.assert_array_equal(out, result)
    np.testing.assert_array_equal(run_elementwise(op, dtype, grid, count=4), result)
    if op.name in ELSEWHERE:
        return
    with np.errstate(all="ignore"):
        want = expected(op, dtype, grid)
    if dtype.is_float and op.result != "bool":
        # A reference may differ from the rounded exact result by the last place or two; special values may not differ.
        np.testing.assert_allclose(
            out, want, rtol=4 * float(np.finfo(dtype.numpy).eps), atol=1e-7 if dtype == F16 else 1e-15
        )
        if op.name in {"neg", "copysign", "floor", "ceil", "trunc", "rint", "abs", "mul"}:
            number = ~np.isnan(want)  # a NaN's sign means nothing
            np.testing.assert_array_equal(np.signbit(out[number]), np.signbit(want[number]))
    else:
        np.testing.assert_array_equal(out, want)


def test_operations_with_a_test_of_their_own_are_the_only_ones_left_out() -> None:
    complex_alone = {name for name, op in OPS.items() if "C" in op.operands or op.result == "complex"}
    assert set(OPS) == set(INTEGER) | set(COMPARED) | set(FLOAT_NAMES) | ELSEWHERE | complex_alone


def value_of(name: str, dtype: DType, *args: object) -> list[object]:
    letters = OPS[name].operands
    columns = [
        np.array(arg, np.bool_ if letter == "B" else dtype.numpy) for arg, letter in zip(args, letters, strict=True)
    ]
    return run_elementwise(OPS[name], dtype, columns).tolist()


def test_integer_power_wraps_and_truncates_negative_exponents() -> None:
    assert value_of("ipow", I8, [3, 2, -1, 0, 2, 1, -1, -1], [5, 7, 3, 0, -1, -9, -2, -3]) == [
        -13,
        -128,
        -1,
        1,
        0,
        1,
        1,
        -1,
    ]
    assert value_of("ipow", U32, [10, 7], [10, 0]) == [10**10 % 2**32, 1]


def test_shifts_by_the_width_or_more_leave_nothing_but_the_sign() -> None:
    assert value_of("shl", U8, [1, 255, 1, 1], [7, 4, 8, 200]) == [128, 240, 0, 0]
    assert value_of("shr", I8, [-128, -128, 64, -1], [7, 100, 100, -1]) == [-1, -1, 0, -1]
    assert value_of("shl", I32, [1, 1], [31, 32]) == [-(2**31), 0]


def test_bit_counts() -> None:
    for dtype in (U8, U16, U32, U64):
        numbers = [0, 1, 5, 2**dtype.bits - 1, 2 ** (dtype.bits - 1)]
        assert value_of("popcount", dtype, numbers) == [bin(n).count("1") for n in numbers]
        assert value_of("clz", dtype, numbers) == [dtype.bits - n.bit_length() for n in numbers]
    assert value_of("popcount", I16, [-1, 3]) == [16, 2]
    assert value_of("clz", I8, [-1, 1]) == [0, 7]


def test_the_meaning_of_opencl_c_may_write_into_its_operands() -> None:
    def doubled(x: np.ndarray) -> np.ndarray:
        x *= 2
        return x

    k = KernelBuilder("inline")
    i, y = k.global_id(0, "i"), k.pointer("y", F32)
    value = k.load(k.pointer("x", F32), i)
    k.store(y, i, k.op(InlineC("2 * {0}", F32, doubled), value) + value)
    arguments = {"x": np.arange(4, dtype="f4"), "y": np.zeros(4, "f4")}
    run(k.build(), arguments, (4,), (4,))
    np.testing.assert_array_equal(arguments["y"], [0, 3, 6, 9])


def test_keys_of_floats_are_in_their_order() -> None:
    floats = np.array([-np.inf, -2.5, -1e-40, 0.0, 1e-40, 1.5, np.inf, np.nan], np.float32)
    keys = value_of("float_order", U32, floats.view(np.uint32))
    assert keys == sorted(set(keys))
    assert value_of("float_order", U64, np.array([-1.0, 1.0]).view(np.uint64)) == [
        0x400F << 48 | 2**48 - 1,
        0xBFF << 52,
    ]


def test_halves_are_joined() -> None:
    assert value_of("join_halves", U64, [2**32 - 1, 5], [7, 2**32 - 1]) == [2**64 - 2**32 + 7, 6 * 2**32 - 1]
    assert value_of("join_halves", U8, [0x0A], [0x0B]) == [0xAB]


@pytest.mark.parametrize("dtype", [I8, I64])
def test_nearest_counts_from_the_end_and_stays_below_a_length(dtype: DType) -> None:
    assert value_of("nearest", dtype, [0, 4, -1, -5, 5, 99, -6, -99], [5] * 8) == [0, 4, 4, 0, 4, 4, 0, 0]
    assert value_of("nearest", dtype, [0, -1], [0, 0]) == [0, 0]


def test_select_takes_the_second_operand_where_the_first_holds() -> None:
    assert value_of("select", I16, [True, False], [1, 2], [3, 4]) == [1, 4]


def test_fma_rounds_once() -> None:
    a = np.float32(1 + 2**-12)
    assert value_of("fma", F32, [a], [a], [-1.0]) == [2**-11 + 2**-24]  # a*a alone would round 2**-24 away


@pytest.mark.parametrize("powers", [(-5, 5, -60, 60), (-530, 510, -1060, 1020)], ids=["near 1", "far from 1"])
@pytest.mark.parametrize("bits", [2, 27, 53])
def test_fma_of_doubles_is_the_exact_sum_rounded_once(powers: tuple[int, int, int, int], bits: int) -> None:
    """Few bits end halfway between two doubles more often than many."""
    rng, n = np.random.default_rng(bits), 500

    def numbers(low: int, high: int) -> np.ndarray:
        return np.ldexp(rng.integers(-(2**bits), 2**bits, n).astype(float), rng.integers(low, high, n) - bits)

    a, b, c = numbers(*powers[:2]), numbers(*powers[:2]), numbers(*powers[2:])
    with np.errstate(all="ignore"):
        near = -(a * b)  # all that is left is what the product alone would round away, or far less than that
        thirds = [c, near, np.nextafter(near, 0), near * 2.0**53, near * 2.0**-53, -near * 2.0**54]
    for third in (np.where(np.isfinite(each), each, 0) for each in thirds):
        found = value_of("fma", F64, a, b, third)
        exact = [Fraction(x) * Fraction(y) + Fraction(z) for x, y, z in zip(a, b, third, strict=True)]
        for one, right in zip(found, exact, strict=True):
            if math.isinf(one):
                assert abs(right) >= 2**1024 - 2**970  # half a step above the greatest double
                assert (one > 0) == (right > 0)
            else:
                assert one == float(right)


def test_fma_of_doubles_has_the_special_values_of_its_product_and_sum() -> None:
    numbers = [0.0, -0.0, 1.0, -2.0, 5e-324, 1e308, math.inf, -math.inf, math.nan]
    a, b, c = (np.array(column) for column in zip(*itertools.product(numbers, repeat=3), strict=True))
    plain = (a == 0) | (b == 0) | ~(np.isfinite(a) & np.isfinite(b) & np.isfinite(c))
    with np.errstate(all="ignore"):
        found, right = np.array(value_of("fma", F64, a, b, c))[plain], (a * b + c)[plain]
    np.testing.assert_array_equal(found, right)
    known = ~np.isnan(right)
    assert (np.signbit(found) == np.signbit(right))[known].all()


def test_erf_rsqrt_and_nextafter() -> None:
    assert value_of("erf", F64, [0.5]) == [pytest.approx(0.5204998778130465, rel=1e-15)]
    assert value_of("erfc", F64, [0.5, 27.0]) == [
        pytest.approx(0.4795001221869535, rel=1e-15),
        pytest.approx(5.237048923789256e-319, rel=1e-4),
    ]
    gammas = value_of("tgamma", F32, [5.0, 0.5, 0.0, -0.0, -1.0, 40.0, -np.inf])
    expected = [24.0, 1.7724539, np.inf, -np.inf, np.nan, np.inf, np.nan]
    np.testing.assert_allclose(gammas, expected, rtol=1e-6)
    assert value_of("rsqrt", F32, [4.0, 0.0]) == [0.5, np.inf]
    assert value_of("nextafter", F32, [1.0], [2.0]) == [1 + 2**-23]


def test_rounding_to_storage_types() -> None:
    assert value_of("round_f16", F32, [1 + 2**-11, 1 + 3 * 2**-11, 1e6]) == [1.0, 1 + 2**-9, np.inf]
    assert value_of("round_bf16", F32, [1 + 2**-8, 1 + 3 * 2**-8, 3.4e38]) == [1.0, 1 + 2**-6, np.inf]


# ---------------------------------------------------------------------- structural operations


@pytest.mark.parametrize("source", COMPUTED, ids=str)
@pytest.mark.parametrize("target", COMPUTED, ids=str)
def test_convert(source: DType, target: DType) -> None:
    numbers = np.array([0, 1] if BOOL in {source, target} else [0, 1, 2, 100], source.numpy)
    k = KernelBuilder("convert")
    x, y = k.pointer("x", source), k.pointer("y", target)
    i = k.global_id()
    if source.is_complex and not target.is_complex:
        with pytest.raises(DTypeError, match="cannot give"):
            k.op("convert", k.load(x, i), result=target)
        return
    k.store(y, i, k.op("convert", k.load(x, i), result=target))
    out = np.zeros(numbers.size, target.numpy)
    run(k.build(), {"x": numbers, "y": out}, (numbers.size,))
    assert out.tolist() == numbers.tolist()


def test_convert_truncates_wraps_and_does_not_warn() -> None:
    k = KernelBuilder("convert")
    x, y, z, b = k.pointer("x", F32), k.pointer("y", I32), k.pointer("z", U8), k.pointer("b", BOOL)
    i = k.global_id()
    whole = k.convert(k.load(x, i), I32)
    k.store(y, i, whole)
    k.store(z, i, k.convert(whole, U8))
    k.store(b, i, k.convert(k.load(x, i), BOOL))
    given = np.array([2.9, -2.9, 300.0, np.nan, 0.0], np.float32)
    y_, z_, b_ = np.zeros(5, np.int32), np.zeros(5, np.uint8), np.zeros(5, np.bool_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(k.build(), {"x": given, "y": y_, "z": z_, "b": b_}, (5,))
    assert y_[:3].tolist() == [2, -2, 300]
    assert z_[:3].tolist() == [2, 254, 44]
    assert b_.tolist() == [True, True, True, True, False]


def test_vectors_are_made_taken_apart_and_repeated() -> None:
    k = KernelBuilder("vectors")
    y, bits = k.pointer("y", F32), k.pointer("bits", U32)
    v = k.op("vector", *(k.const(float(n), F32) for n in range(8)))
    low, high = k.op("lo", v), k.op("hi", v)
    k.store(y, 0, high)
    k.store(y, 4, k.op("lo", low))
    k.store(y, 6, k.op("extract", v, k.const(5, U32)))
    k.store(y, 7, k.op("hi", k.op("lo", low)))
    k.store(y, 8, k.splat(k.const(2.0, F32), 3))
    k.store(bits, 0, k.bitcast(low, U32))
    kernel = k.build()
    verify(kernel)
    out, raw = np.zeros(11, np.float32), np.zeros(4, np.uint32)
    run(kernel, {"y": out, "bits": raw}, (1,))
    assert out.tolist() == [4, 5, 6, 7, 0, 1, 5, 1, 2, 2, 2]
    assert raw.tolist() == np.arange(4, dtype=np.float32).view(np.uint32).tolist()


@pytest.mark.parametrize("dtype", [U32, U64], ids=str)
def test_questions_about_the_index_space(dtype: DType) -> None:
    questions = ("global_id", "local_id", "group_id", "global_size", "local_size", "num_groups")
    k = KernelBuilder("where_am_i")
    out = k.pointer("out", dtype)
    x, y, z = (k.item("global_id", d) for d in range(3))
    at = ((z * 4 + y) * 6 + x) * 18
    for number, (question, d) in enumerate(itertools.product(questions, range(3))):
        k.store(out, at + number, k.item(question, d, dtype=dtype))
    kernel = k.build()
    verify(kernel)
    found = np.zeros(2 * 4 * 6 * 18, dtype.numpy)
    counters = run(kernel, {"out": found}, (6, 4, 2), (3, 2, 2))
    assert counters.groups == 4
    for z_, y_, x_ in itertools.product(range(2), range(4), range(6)):
        want = [x_, y_, z_, x_ % 3, y_ % 2, z_ % 2, x_ // 3, y_ // 2, z_ // 2, 6, 4, 2, 3, 2, 2, 2, 2, 1]
        assert found.reshape(2, 4, 6, 18)[z_, y_, x_].tolist() == want


# ---------------------------------------------------------------------- memory


def test_float16_and_bfloat16_storage_round_to_nearest_even() -> None:
    k = KernelBuilder("storage")
    x, half, brain, back = k.pointer("x", F32), k.pointer("half", F16), k.pointer("brain", BF16), k.pointer("back", F32)
    i = k.global_id()
    loaded = k.load(x, i * 2, count=2)
    k.store(half, i * 2, loaded)
    k.store(brain, i * 2, loaded)
    k.store(back, i * 4, k.load_as(half, i * 2, F32, count=2))
    k.store(back, i * 4 + 2, k.load_as(brain, i * 2, F32, count=2))
    kernel = k.build()
    verify(kernel)
    sneaky_nan = np.array([0x7F800001], np.uint32).view(np.float32)[0]  # bfloat16 cuts its payload off
    given = np.array([1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-8, 1 + 3 * 2**-8, 1e30, sneaky_nan], np.float32)
    half_, brain_, back_ = np.zeros(6, np.float16), np.zeros(6, np.uint16), np.zeros(12, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(kernel, {"x": given, "half": half_, "brain": brain_, "back": back_}, (3,))
    assert half_.tolist()[:2] == [1.0, 1 + 2**-9]
    assert brain_.tolist()[2:4] == [0x3F80, 0x3F82]
    widened = back_.reshape(3, 2, 2)
    assert widened[1, 1].tolist() == [1.0, 1 + 2**-6]
    assert widened[2, 0, 0] == np.inf
    assert np.isnan(widened[2, :, 1]).all()


def test_an_argument_may_begin_at_an_offset() -> None:
    k = KernelBuilder("copy")
    x, y = k.pointer("x", I32), k.pointer("y", I32)
    i = k.global_id()
    k.store(y, i, k.load(x, i))
    buffer = np.arange(10, dtype=np.int32)
    counters = run(k.build(), {"x": (buffer, 6), "y": (buffer, 1)}, (4,))
    assert buffer.tolist() == [0, 6, 7, 8, 9, 5, 6, 7, 8, 9]
    assert (counters.loads, counters.stores, counters.global_bytes) == (4, 4, 32)


@pytest.mark.parametrize("space", ["local", "private"])
@pytest.mark.parametrize(("index", "count"), [(0, 1), (3, 1), (0, 4)])
def test_a_read_of_what_nothing_was_stored_to_is_reported(space: str, index: int, count: int) -> None:
    k = KernelBuilder("undefined")
    out = k.pointer("out", F32)
    a = k.array(F32, 4, space=space, hint="a")  # type: ignore[arg-type]
    for number in (1, 2):
        k.store(a, number, 5.0)
    k.store(out, 0, k.load(a, 1))
    k.store(out, 0, k.load(a, index, count=count))
    out_ = np.zeros(4, np.float32)
    said = rf"work-item \(0, 0, 0\) of group \(0, 0, 0\) reads a\[{index}\], which nothing has been stored to"
    with pytest.raises(MemoryAccessError, match=said):
        run(k.build(), {"out": out_}, (1,))
    assert out_[0] == 5


def test_private_arrays_belong_to_one_work_item() -> None:
    k = KernelBuilder("private")
    out = k.pointer("out", I32)
    mine = k.array(I32, 3, space="private")
    i = k.global_id()
    k.store(mine, 1, k.convert(i, I32))
    k.store(out, i, k.load(mine, 1))
    out_ = np.zeros(8, np.int32)
    run(k.build(), {"out": out_}, (8,), (4,))
    assert out_.tolist() == list(range(8))


def plain_kernel() -> Kernel:
    k = KernelBuilder("plain")
    n, x = k.scalar("n", I8), k.pointer("x", F32, align=16, length=4)
    k.store(x, 0, k.convert(n, F32))
    return k.build()


BUFFER = np.zeros(8, np.float32)
FROZEN = np.zeros(8, np.float32)
FROZEN.flags.writeable = False


@pytest.mark.parametrize(
    ("args", "error", "said"),
    [
        ({"n": 1}, IRError, "x has no argument of kernel plain"),
        ({"n": 1, "x": BUFFER, "z": 3}, IRError, "z is no parameter of kernel plain"),
        ({"n": 1.5, "x": BUFFER}, DTypeError, "n is i8"),
        ({"n": True, "x": BUFFER}, DTypeError, "n is i8"),
        ({"n": np.int32(1), "x": BUFFER}, DTypeError, "n is i8"),
        ({"n": 128, "x": BUFFER}, DTypeError, "128 does not fit"),
        ({"n": 1, "x": BUFFER.astype(np.float64)}, DTypeError, "points to f32, and the array holds float64"),
        ({"n": 1, "x": BUFFER.reshape(2, 4)}, DTypeError, "contiguous 1-D array"),
        ({"n": 1, "x": BUFFER[::2]}, DTypeError, "contiguous 1-D array"),
        ({"n": 1, "x": 3.0}, DTypeError, "contiguous 1-D array"),
        ({"n": 1, "x": FROZEN}, IRError, "read-only"),
        ({"n": 1, "x": (BUFFER, 9)}, MemoryAccessError, "begins at element 9 of an array of 8"),
        ({"n": 1, "x": (BUFFER, 2)}, MemoryAccessError, "promises an address that 16 divides, and begins at byte 8"),
        ({"n": 1, "x": BUFFER[:3]}, MemoryAccessError, "promises 4 elements, and only 3 follow"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_arguments_that_do_not_fit(args: dict[str, object], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match="remedy: ") as caught:
        run(plain_kernel(), args, (1,))
    assert said in str(caught.value)
    assert "kernel plain(" in str(caught.value)


def test_arguments_that_fit() -> None:
    buffer = np.zeros(8, np.float32)
    run(plain_kernel(), {"n": np.int8(-3), "x": (buffer, 4)}, (1,))
    assert buffer.tolist() == [0, 0, 0, 0, -3, 0, 0, 0]


@pytest.mark.parametrize(
    ("global_size", "group_size", "said"), [((6,), (4,), "do not divide"), ((0,), None, "no size")]
)
def test_index_spaces_that_do_not_fit(
    global_size: tuple[int, ...], group_size: tuple[int, ...] | None, said: str
) -> None:
    with pytest.raises(IRError, match=said):
        run(plain_kernel(), {"n": 1, "x": BUFFER}, global_size, group_size)


def test_a_kernel_s_own_group_size_holds() -> None:
    k = KernelBuilder("fixed", group_size=(4, 1, 1))
    out = k.pointer("out", U32)
    k.store(out, k.global_id(), k.item("local_size"))
    out_ = np.zeros(8, np.uint32)
    assert run(k.build(), {"out": out_}, (8,)).groups == 2
    assert out_.tolist() == [4] * 8
    with pytest.raises(IRError, match=r"needs groups of \(4, 1, 1\)"):
        run(k.build(), {"out": out_}, (8,), (8,))


# ---------------------------------------------------------------------- control flow


def build_collatz() -> Kernel:
    """Steps to 1, given up after `most`; numbers divisible by 5 leave the kernel without an answer."""
    k = KernelBuilder("collatz")
    x, out, most = k.pointer("x", U32), k.pointer("out", U32), k.scalar("most", U32)
    i = k.global_id()
    n, steps = k.variable(k.load(x, i), hint="n"), k.variable(0, U32, hint="steps")
    with k.while_() as loop:
        loop.test(n > 1)
        with k.if_(steps == most):
            k.break_()
        k.assign(steps, steps + 1)
        with k.if_(n % 2 == 0):
            k.assign(n, n // 2)
            k.continue_()
        k.assign(n, n * 3 + 1)
        with k.if_(n % 5 == 0):
            k.return_()
    k.store(out, i, steps)
    return k.build()


def collatz(n: int, most: int, before: int) -> int:
    steps = 0
    while n > 1:
        if steps == most:
            break
        steps += 1
        if n % 2 == 0:
            n //= 2
            continue
        n = n * 3 + 1
        if n % 5 == 0:
            return before
    return steps


def test_while_with_divergent_break_continue_and_return() -> None:
    kernel = build_collatz()
    verify(kernel)
    given = np.arange(1, 257, dtype=np.uint32)
    out = np.full(256, 999, np.uint32)
    run(kernel, {"x": given, "out": out, "most": 20}, (256,), (64,))
    want = [collatz(int(n), 20, 999) for n in given]
    assert out.tolist() == want
    assert {999, 20} < set(want)
    assert len(set(want)) > 10


def build_pairs() -> Kernel:
    """Nested counted loops, up and down, whose inner exits depend on the work-item and on both indices."""
    k = KernelBuilder("pairs")
    out = k.pointer("out", I32)
    me = k.convert(k.global_id(), I32)
    total = k.variable(0, I32, hint="total")
    with k.for_(0, me, dtype=I32, hint="a") as a:
        with k.for_(me, a, -2, dtype=I32, hint="b") as b:
            with k.if_((a + b + me) % 7 == 0):
                k.break_()
            with k.if_((a * b) % 3 == 1):
                k.continue_()
            with k.if_(total > 400):
                k.store(out, me, -total)
                k.assign(total, total + 1000)  # shows if the loop went on after the return
                k.return_()
            k.assign(total, total + a * 10 + b)
        with k.if_((a ^ me) % 5 == 4):
            k.break_()
        k.assign(total, total + 1)
    k.store(out, me, total)
    return k.build()


def pairs(me: int) -> int:
    total = 0
    for a in range(me):
        for b in range(me, a, -2):
            if (a + b + me) % 7 == 0:
                break
            if (a * b) % 3 == 1:
                continue
            if total > 400:
                return -total
            total += a * 10 + b
        if (a ^ me) % 5 == 4:
            break
        total += 1
    return total


def test_nested_loops_with_divergent_exits() -> None:
    kernel = build_pairs()
    verify(kernel)
    out = np.zeros(64, np.int32)
    run(kernel, {"out": out}, (64,), (32,))
    want = [pairs(me) for me in range(64)]
    assert out.tolist() == want
    assert min(want) < 0 < max(want)


def test_branches_run_for_their_own_work_items_only() -> None:
    k = KernelBuilder("branches")
    out = k.pointer("out", U32)
    i = k.global_id()
    v = k.variable(7, U32)
    with k.if_(i < 4):
        # The others' divisor is zero: their lanes must not compute.
        k.assign(v, k.op("udiv", k.const(12, U32), k.op("select", i < 4, i + 1, k.const(0, U32))))
    with k.else_(), k.if_(i != 6):
        k.assign(v, i * 10)
    k.store(out, i, v)
    out_ = np.zeros(8, np.uint32)
    run(k.build(), {"out": out_}, (8,), (8,))
    assert out_.tolist() == [12, 6, 4, 3, 40, 50, 7, 70]


def test_loop_bounds_are_evaluated_once_and_copies_are_snapshots() -> None:
    k = KernelBuilder("once")
    out = k.pointer("out", U32)
    stop = k.variable(3, U32)
    before = k.let(stop)
    rounds = k.variable(0, U32)
    with k.for_(0, stop):
        k.assign(stop, stop + 5)
        k.assign(rounds, rounds + 1)
    k.store(out, 0, rounds)
    k.store(out, 1, before)
    k.store(out, 2, stop)
    out_ = np.zeros(3, np.uint32)
    run(k.build(), {"out": out_}, (1,))
    assert out_.tolist() == [3, 3, 18]


def test_local_memory_tree_reduction() -> None:
    k = KernelBuilder("reduce", group_size=(64, 1, 1))
    x, out = k.pointer("x", I32), k.pointer("out", I32)
    tile = k.array(I32, 64, hint="tile")
    item = k.item("local_id")
    k.store(tile, item, k.load(x, k.global_id()))
    k.barrier()
    width = k.variable(32, U32, hint="width")
    with k.while_() as loop:
        loop.test(width > 0)
        with k.if_(item < width):
            k.store(tile, item, k.load(tile, item) + k.load(tile, item + width))
        k.barrier()
        k.assign(width, width >> 1)
    with k.if_(item == 0):
        k.store(out, k.item("group_id"), k.load(tile, 0))
    kernel = k.build()
    verify(kernel)
    given = np.arange(256, dtype=np.int32) ** 2
    out_ = np.zeros(4, np.int32)
    counters = run(kernel, {"x": given, "out": out_}, (256,))
    assert out_.tolist() == given.reshape(4, 64).sum(axis=1).tolist()
    assert counters.barriers == 4 * 7


@pytest.mark.parametrize(
    ("op", "args", "start", "want"),
    [
        ("add", (200,), 0, 800), ("sub", (1,), 0, 2**32 - 4), ("min", (5,), 9, 5), ("max", (5,), 3, 5),
        ("and", (6,), 3, 2), ("or", (6,), 1, 7), ("xor", (6,), 1, 1), ("exchange", (9,), 1, 9),
        ("compare_exchange", (1, 8), 1, 8), ("compare_exchange", (2, 8), 1, 1), ("load", (), 7, 7),
    ],
)  # fmt: skip
def test_atomics(op: str, args: tuple[int, ...], start: int, want: int) -> None:
    k = KernelBuilder("atomics")
    cell = k.pointer("cell", U32)
    k.atomic(op, cell, 0, *args)  # type: ignore[arg-type]
    kernel = k.build()
    verify(kernel)
    cell_ = np.array([start], np.uint32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counters = run(kernel, {"cell": cell_}, (4,), (2,))
    assert cell_.tolist() == [want]
    assert counters.atomics == 4


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize(
    ("op", "args", "start", "want"),
    [
        ("add", (0.5,), 1.0, 3.0), ("sub", (0.5,), 1.0, -1.0), ("min", (0.5,), 1.0, 0.5), ("max", (0.5,), 1.0, 1.0),
        ("min", (0.5,), np.nan, np.nan), ("max", (np.nan,), 1.0, np.nan), ("add", (np.inf,), -np.inf, np.nan),
        ("exchange", (9.0,), 1.0, 9.0), ("compare_exchange", (1.0, 8.0), 1.0, 8.0),
        ("compare_exchange", (0.0, 8.0), -0.0, -0.0), ("compare_exchange", (np.nan, 8.0), np.nan, 8.0),
    ],
)  # fmt: skip
def test_atomics_of_floats(op: str, args: tuple[float, ...], start: float, want: float, dtype: DType) -> None:
    k = KernelBuilder("atomics")
    k.atomic(op, k.pointer("cell", dtype), 0, *args)  # type: ignore[arg-type]
    kernel = k.build()
    verify(kernel)
    cell = np.array([start], dtype.numpy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(kernel, {"cell": cell}, (4,), (2,))
    np.testing.assert_array_equal(cell, np.array([want], dtype.numpy))
    assert np.isnan(want) or np.signbit(cell) == np.signbit(want)


def test_atomics_go_in_the_order_of_work_items_and_give_what_was_before() -> None:
    k = KernelBuilder("tickets")
    cell, out = k.pointer("cell", I32), k.pointer("out", I32)
    i = k.global_id()
    with k.if_(i != 2):
        k.store(out, i, k.atomic("add", cell, 0, 10))
    cell_, out_ = np.zeros(1, np.int32), np.full(6, -1, np.int32)
    run(k.build(), {"cell": cell_, "out": out_}, (6,), (3,))
    assert out_.tolist() == [0, 10, -1, 20, 30, 40]


def test_printing_is_of_the_work_items_that_come_there(capsys: pytest.CaptureFixture[str]) -> None:
    k = KernelBuilder("prints")
    i = k.global_id()
    with k.if_(i > 1):
        k.print_("{} of {{{}}}: {}%", i, k.convert(i, F32) / 3.0, i == 2)
    kernel = k.build()
    assert text(kernel).splitlines()[-1] == '    print "{} of {{{}}}: {}%", i, quotient, is_equal'
    run(kernel, {}, (4,))
    assert capsys.readouterr().out == "2 of {0.666667}: 1%\n3 of {1}: 0%\n"
    lines: list[str] = []
    run(kernel, {}, (4,), print_=lines.append)
    assert lines == ["2 of {0.666667}: 1%", "3 of {1}: 0%"]


# ---------------------------------------------------------------------- faults that values bring


def test_out_of_bounds_names_the_work_item_the_index_and_the_length() -> None:
    k = KernelBuilder("overflow")
    x = k.pointer("x", F32)
    i = k.global_id()
    k.store(x, i + 1, 0.0)
    with pytest.raises(MemoryAccessError) as caught:
        run(k.build(), {"x": np.zeros(8, np.float32)}, (8,), (4,))
    text = str(caught.value)
    assert "work-item (3, 0, 0) of group (1, 0, 0) accesses x[8], whose length is 8" in text
    assert "-->   store x[" in text
    assert f"asked for at {__file__}:" in text
    assert "remedy: " in text
    x_ = np.ones(9, np.float32)
    run(k.build(), {"x": x_}, (8,), (4,))
    assert x_.tolist() == [1] + [0] * 8


@pytest.mark.parametrize("space", ["local", "private"])
@pytest.mark.parametrize(("index", "inside"), [(0, True), (3, True), (4, False), (-1, False)])
def test_out_of_bounds_in_arrays(space: str, index: int, inside: bool) -> None:
    k = KernelBuilder("overflow")
    at, out = k.scalar("at", I32), k.pointer("out", F32)
    a = k.array(F32, 4, space=space, hint="a")  # type: ignore[arg-type]
    for number in range(4):
        k.store(a, number, 0.0)
    k.store(out, k.global_id(), k.load(a, at))
    args = {"at": index, "out": np.zeros(2, np.float32)}
    if inside:
        run(k.build(), args, (1,))
    else:
        with pytest.raises(MemoryAccessError, match=rf"a\[{index}\], whose length is 4"):
            run(k.build(), args, (1,))


@pytest.mark.parametrize(("index", "inside"), [(4, True), (5, False), (2**64 - 2, False), (2**63 - 1, False)])
def test_a_vector_may_not_be_partly_outside(index: int, inside: bool) -> None:
    k = KernelBuilder("wide")
    at, x, out = k.scalar("at", U64), k.pointer("x", F32), k.pointer("out", F32)
    k.store(out, 0, k.load(x, at, count=4))
    args = {"at": index, "x": np.zeros(8, np.float32), "out": np.zeros(4, np.float32)}
    if inside:
        run(k.build(), args, (1,))
    else:
        with pytest.raises(MemoryAccessError, match=rf"x\[{index} to {index + 3}\], whose length is 8"):
            run(k.build(), args, (1,))


def test_a_parameter_s_length_is_the_limit() -> None:
    k = KernelBuilder("limited")
    n = k.scalar("n", U32)
    x = k.pointer("x", F32, length=n)
    k.store(x, k.global_id(), 1.0)
    with pytest.raises(MemoryAccessError, match=r"x\[3\], whose length is 3"):
        run(k.build(), {"n": 3, "x": np.zeros(8, np.float32)}, (4,))
    run(k.build(), {"n": 4, "x": np.zeros(8, np.float32)}, (4,))


def aligned_load(align: int, space: str = "global", array_align: int = 0) -> Kernel:
    k = KernelBuilder("aligned")
    at, x, out = k.scalar("at", U32), k.pointer("x", F32), k.pointer("out", F32)
    source = x if space == "global" else k.array(F32, 16, space=space, align=array_align)  # type: ignore[arg-type]
    for number in range(16 if space != "global" else 0):
        k.store(source, number, 0.0)
    k.store(out, 0, k.load(source, at, count=4, align=align))
    return k.build()


@pytest.mark.parametrize(("at", "offset", "good"), [(4, 0, True), (2, 0, False), (2, 2, True), (4, 2, False)])
def test_alignment_counts_the_offset(at: int, offset: int, good: bool) -> None:
    args = {"at": at, "x": (np.zeros(16, np.float32), offset), "out": np.zeros(4, np.float32)}
    run(aligned_load(align=0), args, (1,))
    if good:
        run(aligned_load(align=16), args, (1,))
    else:
        with pytest.raises(MemoryAccessError, match=rf"x\[{at}\], an address that 16 does not divide"):
            run(aligned_load(align=16), args, (1,))


@pytest.mark.parametrize("space", ["local", "private"])
def test_an_array_has_the_alignment_that_its_pointer_promises_and_no_more(space: str) -> None:
    args = {"at": 4, "x": np.zeros(16, np.float32), "out": np.zeros(4, np.float32)}
    run(aligned_load(16, space, array_align=16), args, (1,))
    with pytest.raises(MemoryAccessError, match="16 does not divide"):
        run(aligned_load(16, space, array_align=8), args, (1,))


def test_a_promise_of_a_parameter_is_checked() -> None:
    k = KernelBuilder("promise")
    k.store(k.pointer("y", I32), 0, k.scalar("n", I32, low=0))
    kernel = k.build()
    assert text(kernel).startswith("kernel promise(y: global i32*, n: i32 >= 0)")
    y = np.zeros(1, np.int32)
    run(kernel, {"y": y, "n": 0}, (1,))
    with pytest.raises(DTypeError, match="n is promised never to be below 0, and is -1"):
        run(kernel, {"y": y, "n": -1}, (1,))


@pytest.mark.parametrize("op", sorted(PARTIAL))
def test_zero_divisors(op: str) -> None:
    k = KernelBuilder("divide")
    dtype = I32 if op[0] == "s" else U32
    x = k.pointer("x", dtype)
    i = k.global_id()
    k.store(x, i, k.op(op, k.const(9, dtype), k.load(x, i)))
    with pytest.raises(IRError) as caught:
        run(k.build(), {"x": np.array([1, 2, 3, 0], dtype.numpy)}, (4,), (2,))
    assert f"{op} by zero in work-item (1, 0, 0) of group (1, 0, 0)" in str(caught.value)
    assert f"= {op} 9:{dtype}" in caught.value.place
    assert caught.value.remedy


def test_a_barrier_that_a_part_of_the_group_reaches() -> None:
    k = KernelBuilder("divergent")
    with k.if_(k.item("local_id") < 3):
        k.barrier()
    run(k.build(), {}, (3,), (3,))
    with pytest.raises(IRError) as caught:
        run(k.build(), {}, (4,), (4,))
    assert "divergent barrier: 3 of 4 work-items reach it, work-item (3, 0, 0) of group (0, 0, 0) does not" in str(
        caught.value
    )
    assert "-->     barrier local" in str(caught.value)


def test_a_barrier_behind_a_divergent_return() -> None:
    k = KernelBuilder("gone")
    with k.if_(k.item("local_id") == 0):
        k.return_()
    k.barrier()
    with pytest.raises(IRError, match=r"1 of 2 work-items reach it, work-item \(0, 0, 0\)"):
        run(k.build(), {}, (2,), (2,))


def test_endless_loops_end() -> None:
    k = KernelBuilder("endless")
    with k.while_() as loop:
        loop.test(k.global_id() != 1)
    with pytest.raises(IRError, match=r"group \(0, 0, 0\) took more than 50 loop iterations") as caught:
        run(k.build(), {}, (4,), max_steps=50)
    assert "-->   while:" in caught.value.place


def test_a_loop_within_its_step_budget() -> None:
    k = KernelBuilder("short")
    with k.for_(0, 50):
        pass
    run(k.build(), {}, (4,), (2,), max_steps=50)
    with pytest.raises(IRError, match="more than 49"):
        run(k.build(), {}, (4,), (2,), max_steps=49)


def test_an_index_that_overflows() -> None:
    k = KernelBuilder("wraps")
    stop = k.scalar("stop", U8)
    with k.for_(0, stop, 2, dtype=U8):
        pass
    run(k.build(), {"stop": 254}, (1,))
    with pytest.raises(IRError, match="leaves the range of u8"):
        run(k.build(), {"stop": 255}, (1,))


def test_a_step_that_is_not_positive() -> None:
    k = KernelBuilder("step")
    step = k.scalar("step", I32)
    with k.for_(0, 4, step, dtype=I32):
        pass
    run(k.build(), {"step": 3}, (1,))
    with pytest.raises(IRError, match="step is not positive"):
        run(k.build(), {"step": 0}, (1,))


def test_vector_literals() -> None:
    vector = Vector(I32, 2)
    kernel = Kernel("constant", (), (Let(Value(0, vector), "add", (Const(1, vector), Const(2, vector))),))
    verify(kernel)
    assert run(kernel, {}, (3,)).operations == 3
