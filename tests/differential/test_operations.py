"""Every operation of the table, for every dtype that the device computes with, on scalars and vectors.

The device and the interpreter's reference are held against a result of higher precision, within the bound of the
operation's row; exact operations against NumPy at their own dtype, bit for bit. All operations of one dtype and one
number of lanes are one kernel.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.op_rows import CLASSES, Op
from ocl_ir.ops import OPS, PARTIAL, STRUCTURAL, WORK_ITEM
from ocl_ir.types import BF16, BOOL, DTYPES, F16, F32, F64, I32, I64, LANES, U32, DType, Pointer, element
from ocl_runtime.errors import DTypeError
from ocl_runtime.execute.engine import Engine
from tests.support.ulp import ulps

COUNT = 960
"""Operands of each operation: divided by all numbers of lanes."""
COMPUTED = tuple(dtype for dtype in DTYPES.values() if dtype != BF16 and not dtype.is_complex)
"""Complex numbers have tests of their own."""
FLOATS = tuple(dtype for dtype in COMPUTED if dtype.is_float)
NUMBERS = tuple(dtype for dtype in COMPUTED if dtype != BOOL)
WIDTHS = {
    "bool": (1, 4, 16), "i8": (1, 4, 16), "u8": (1, 4, 2), "i16": (1, 4, 8), "u16": (1, 4, 3), "i32": (1, 4, 3),
    "u32": (1, 4, 16), "i64": (1, 4, 2), "u64": (1, 4, 8), "f16": (1, 4, 8), "f32": (1, 4, 16), "f64": (1, 4, 3),
}  # fmt: skip
CASES = [(DTYPES[name], count) for name, counts in WIDTHS.items() for count in counts]


def name_of(value: object) -> str:
    return str(value)


# ---------------------------------------------------------------------- operands


def special(dtype: DType, denormals: bool) -> np.ndarray:
    if dtype == BOOL:
        return np.array([False, True])
    if not dtype.is_float:
        limits = np.iinfo(dtype.numpy)
        numbers = {limits.min, limits.min + 1, limits.max, limits.max - 1, limits.max // 2, 0, 1, 2, 3, 7, 8, 10}
        numbers |= {dtype.bits - 1, dtype.bits, dtype.bits + 1}  # as amounts of shifts
        numbers |= {-1, -2, -3, -7, -10} if dtype.kind == "int" else set()
        return np.array(sorted(numbers), dtype.numpy)
    info = np.finfo(dtype.numpy)
    numbers = [0.0, 1.0, 0.5, 1.5, 2.0, 2.5, 3.0, 10.0, math.pi, 1 / 3, 100.0, 1000.5, math.inf,
               float(info.max), float(info.tiny), float(info.eps)]  # fmt: skip
    if denormals:
        numbers += [float(info.smallest_subnormal), float(info.tiny) / 4]
    return np.array([*numbers, *(-one for one in numbers), math.nan], dtype.numpy)


@cache
def operands(dtype: DType, denormals: bool) -> tuple[np.ndarray, ...]:
    """Three operands: special ones in all pairs as far as there is room, and random ones, in a random order."""
    rng = np.random.default_rng(dtype.bits + len(dtype.name))
    odd = special(dtype, denormals)
    pairs = np.array([(a, b) for a in odd for b in odd])
    pairs = pairs[rng.permutation(len(pairs))][: COUNT // 2]
    columns = []
    for column in range(3):
        made = random(dtype, COUNT, rng)
        made[: len(pairs)] = pairs[:, column] if column < 2 else rng.choice(odd, len(pairs))
        columns.append(made)
    if dtype.is_float:  # sums that cancel but for what a product loses by rounding
        with np.errstate(all="ignore"):
            columns[2][-COUNT // 8 :] = -(columns[0] * columns[1])[-COUNT // 8 :]
    order = rng.permutation(COUNT)
    return tuple(column[order] for column in columns)


def random(dtype: DType, count: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of all sizes, most of them small."""
    if dtype == BOOL:
        return rng.random(count) < 0.5
    if dtype.is_float:
        most = min(30.0, math.log2(float(np.finfo(dtype.numpy).max)) - 2)
        sizes = np.exp2(np.where(rng.random(count) < 0.7, rng.uniform(-3, 3, count), rng.uniform(-most, most, count)))
        return (rng.standard_normal(count) * sizes).astype(dtype.numpy)
    limits = np.iinfo(dtype.numpy)
    any_ = rng.integers(limits.min, limits.max, count, dtype.numpy, endpoint=True)
    by = rng.integers(0, dtype.bits, count).astype(dtype.numpy)
    return (any_ >> by).astype(dtype.numpy)


def given_to(row: Op, columns: tuple[np.ndarray, ...], mask: np.ndarray) -> list[np.ndarray]:
    """What an operation is tested on: C's divisions are undefined for some divisors."""
    args = [mask if letter == "B" else columns[at % 3] for at, letter in enumerate(row.operands)]
    if row.name == "select":
        args = [mask, columns[0], columns[1]]
    if row.name in PARTIAL:
        most = np.iinfo(args[1].dtype).max
        args[1] = args[1] & args[1].dtype.type(most) | args[1].dtype.type(1)
    return args


# ---------------------------------------------------------------------- one kernel of all operations


def rows(dtype: DType) -> Iterator[Op]:
    for row in OPS.values():
        letter = next((one for one in row.operands if one != "B"), "B")
        takes = dtype.kind in CLASSES[letter] and row.result != "complex"
        if takes and row.takes(dtype):
            yield row


def kernel(dtype: DType, count: int) -> Kernel:
    """Operation number p writes its results from element p * COUNT on."""
    k = KernelBuilder(f"operations_of_{dtype}x{count}")
    a, b, c = (k.pointer(name, dtype) for name in "abc")
    mask, same, flags = k.pointer("mask", BOOL), k.pointer("same", dtype), k.pointer("flags", BOOL)
    at = k.global_id(0, "i") * count
    columns = [k.load(pointer, at, count=count, hint=hint) for pointer, hint in ((a, "x"), (b, "y"), (c, "z"))]
    condition = k.load(mask, at, count=count, hint="condition")
    for place, row in enumerate(rows(dtype)):
        args: list[Ref] = [condition if letter == "B" else columns[at_ % 3] for at_, letter in enumerate(row.operands)]
        if row.name == "select":
            args = [condition, columns[0], columns[1]]
        if row.name in PARTIAL:
            args[1] = args[1] & int(np.iinfo(dtype.numpy).max) | 1
        result = k.op(row.name, *args)
        k.store(flags if element(result.type) == BOOL else same, at + place * COUNT, result)
    return k.build()


@cache
def arguments(dtype: DType, denormals: bool) -> dict[str, np.ndarray]:
    columns = operands(dtype, denormals)
    size = COUNT * len(list(rows(dtype)))
    mask = np.random.default_rng(1).random(COUNT) < 0.5
    return {
        **dict(zip("abc", columns, strict=True)), "mask": mask,
        "same": np.zeros(size, dtype.numpy), "flags": np.zeros(size, np.bool_),
    }  # fmt: skip


def launched(engine: Engine, kernel: Kernel, args: dict[str, Any], items: int) -> dict[str, Any]:
    """All arrays as the device leaves them."""
    on_device = {name: (engine.upload(value), 0) for name, value in args.items()}
    engine.launch(kernel, on_device, (items,), (math.gcd(items, 16),))
    return {name: engine.download(on_device[name][0], one.dtype, one.size).result() for name, one in args.items()}


# ---------------------------------------------------------------------- what is right


def fma_exactly(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    def one(x: float, y: float, z: float) -> float:
        if not all(map(math.isfinite, (x, y, z))):
            return float(np.float64(x) * np.float64(y) + np.float64(z))
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf

    with np.errstate(all="ignore"):
        return np.array([one(*map(float, each)) for each in zip(a, b, c, strict=True)])


def erf_exactly(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(float(one)) for one in x])


def integer_power(x: int, y: int) -> int:
    if y < 0:
        return {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)
    return pow(x, y, 1 << 64)


def in_integers(row: Op, dtype: DType, args: list[np.ndarray]) -> np.ndarray:
    """The result in Python's integers, wrapped to the width."""
    bits, mask = dtype.bits, (1 << dtype.bits) - 1

    def wrapped(number: int) -> int:
        return ((number + (1 << bits - 1)) & mask) - (1 << bits - 1)

    python: dict[str, Callable[..., Any]] = {
        "floordiv": lambda a, b: a // b if b else 0,
        "rem": lambda a, b: a % b if b else 0,
        "sdiv": lambda a, b: abs(a) // b * (-1 if a < 0 else 1), "srem": lambda a, b: abs(a) % b * (-1 if a < 0 else 1),
        "udiv": operator.floordiv, "urem": operator.mod, "minimum": min, "maximum": max, "ipow": integer_power,
        "sign": lambda a: (a > 0) - (a < 0),
        "shl": lambda a, b: a << b if 0 <= b < bits else 0,
        "shr": lambda a, b: a >> (b if 0 <= b < bits else bits),
        "popcount": lambda a: (a & mask).bit_count(),
        "clz": lambda a: bits - (a & mask).bit_length(),
        "float_order": lambda a: mask - a if a >> bits - 1 else a + (1 << bits - 1),
        "join_halves": lambda a, b: a << bits // 2 | b,
        "mul_high": lambda a, b: a * b >> bits,
        "philox": lambda place, *words: word_of_philox(bits, place, *words),
        "normal_bits": lambda word: int(row.reference(np.array([word], dtype.numpy))[0]),  # tests/unit/ir knows better
        "select": lambda c, a, b: a if c else b,
        "nearest": lambda a, n: max(0, min(wrapped(n - 1), a if a >= 0 else wrapped(a + n))),
        "and": operator.and_, "or": operator.or_, "not": (lambda a: not a) if dtype == BOOL else operator.invert,
    }  # fmt: skip
    if row.name.startswith(("gamma", "poisson", "binomial")):
        return np.asarray(row.reference(*args))  # tests/unit/ir knows better
    function = python.get(row.name) or getattr(operator, row.name)
    exact = [int(function(*each)) for each in zip(*(arg.tolist() for arg in args), strict=True)]
    if row.result == "bool" or dtype == BOOL:
        return np.array(exact, np.bool_)
    return np.array([one & mask for one in exact], f"u{bits // 8}").view(dtype.numpy)


def word_of_philox(bits: int, place: int, c1: int, c2: int, c3: int, k0: int, k1: int) -> int:
    """Salmon et al. (2011), figure 3, in Python's integers."""
    low = 0xFFFFFFFF
    block, lane = divmod(place, 128 // bits)
    x, key = [block & low, c1 + (block >> 32) & low, c2 & low, c3 & low], [k0 & low, k1 & low]
    for _ in range(10):
        (high0, low0), (high1, low1) = divmod(0xD2511F53 * x[0], 1 << 32), divmod(0xCD9E8D57 * x[2], 1 << 32)
        x = [high1 ^ x[1] ^ key[0], low1, high0 ^ x[3] ^ key[1], low0]
        key = [key[0] + 0x9E3779B9 & low, key[1] + 0xBB67AE85 & low]
    return x[lane] if bits == 32 else x[2 * lane] | x[2 * lane + 1] << 32


PRECISE: dict[str, Callable[..., np.ndarray]] = {
    "fma": fma_exactly,
    "erf": erf_exactly,
    "rsqrt": lambda x: np.longdouble(1) / np.sqrt(x.astype(np.longdouble)),
}


def precise(row: Op, args: list[np.ndarray]) -> np.ndarray:
    """The result as exactly as this host can say it."""
    with np.errstate(all="ignore"):
        if row.name in PRECISE:
            return PRECISE[row.name](*args)
        return np.asarray(row.reference(*(arg.astype(np.longdouble) for arg in args)))


def wrong(row: Op, dtype: DType, args: list[np.ndarray], got: np.ndarray) -> np.ndarray:
    """Which results are outside of what the row promises."""
    bound = row.ulp.get(dtype.name, 0.0)
    if bound:
        return ulps(got, precise(row, args)) > bound
    wanted = np.asarray(row.reference(*args)) if dtype.is_float else in_integers(row, dtype, args)
    assert got.dtype == wanted.dtype, row.name
    equal = got.view(f"u{got.itemsize}") == wanted.view(f"u{got.itemsize}")
    return ~(equal | ((got != got) & (wanted != wanted)))


def complaints(dtype: DType, results: dict[str, np.ndarray], denormals: bool) -> list[str]:
    found = []
    given = arguments(dtype, denormals)
    for place, row in enumerate(rows(dtype)):
        args = given_to(row, tuple(given[name] for name in "abc"), given["mask"])
        got = results["flags" if row.result == "bool" or dtype == BOOL else "same"][place * COUNT : (place + 1) * COUNT]
        bad = np.flatnonzero(wrong(row, dtype, args, got))
        for at in bad[:3]:
            shown = ", ".join(repr(arg[at]) for arg in args)
            off = f", {ulps(got, precise(row, args))[at]:.2f} ULP off" if row.ulp.get(dtype.name) else ""
            right = np.asarray(row.reference(*(arg[at : at + 1] for arg in args)))[0]
            found.append(f"{row.name}({shown}) is {got[at]!r} and not {right!r}{off} ({bad.size} of {COUNT})")
    return found


# ---------------------------------------------------------------------- tests


@pytest.mark.sample(6)
@pytest.mark.parametrize(("dtype", "count"), CASES, ids=name_of)
def test_every_operation_on_the_device(dtype: DType, count: int, engine: Engine) -> None:
    made = kernel(dtype, count)
    if not engine.device.capabilities.computes(dtype.name):
        with pytest.raises(DTypeError, match="cannot compute with"):
            engine.executable(made)
        return
    denormals = engine.device.capabilities.denormals or dtype == F64
    results = launched(engine, made, arguments(dtype, denormals), COUNT // count)
    found = complaints(dtype, results, denormals)
    assert not found, f"{dtype} in {count} lanes on {engine.device}:\n" + "\n".join(found)


@pytest.mark.parametrize(("dtype", "count"), CASES, ids=name_of)
def test_every_operation_in_the_interpreter(dtype: DType, count: int) -> None:
    args = {name: value.copy() for name, value in arguments(dtype, True).items()}
    run(kernel(dtype, count), args, (COUNT // count,))
    found = complaints(dtype, args, True)
    assert not found, f"{dtype} in {count} lanes:\n" + "\n".join(found)


def test_every_operation_is_tested() -> None:
    tested = {row.name for dtype, _ in CASES for row in rows(dtype)}
    complex_alone = {name for name, row in OPS.items() if "C" in row.operands or row.result == "complex"}
    assert tested == set(OPS) - complex_alone
    assert {dtype for dtype, _ in CASES} == set(COMPUTED)
    assert all({1, 4} < set(counts) and set(counts) - {1} <= set(LANES) for counts in WIDTHS.values())


# ---------------------------------------------------------------------- structural operations


@cache
def conversion_kernel(source: DType, targets: tuple[DType, ...], count: int) -> Kernel:
    k = KernelBuilder(f"convert_{source}x{count}")
    x = k.pointer("x", source)
    outputs = [k.pointer(f"to_{target}", target) for target in targets]
    at = k.global_id(0, "i") * count
    value = k.load(x, at, count=count, hint="value")
    for target, output in zip(targets, outputs, strict=True):
        bounded = value
        if source.is_float and target.is_integer:  # out of range is unspecified
            low, high = bounds_of(source, target)
            bounded = k.op("maximum", k.op("minimum", value, high), low)
            zero = k.const(0.0, bounded.type)  # type: ignore[arg-type]
            bounded = k.op("select", k.op("isnan", value), zero, bounded)
        k.store(output, at, k.convert(bounded, target))
    return k.build()


def bounds_of(source: DType, target: DType) -> tuple[float, float]:
    """The range of the integers, in numbers that the float has."""
    limits = np.iinfo(target.numpy)
    info = np.finfo(source.numpy)
    if limits.max > float(info.max):
        return max(float(limits.min), float(info.min)), float(info.max)
    high = source.numpy.type(limits.max)
    return float(limits.min), float(high if int(high) <= limits.max else np.nextafter(high, source.numpy.type(0)))


def converted(value: np.ndarray, source: DType, target: DType) -> np.ndarray:
    with np.errstate(all="ignore"):
        if source.is_float and target.is_integer:
            low, high = (source.numpy.type(one) for one in bounds_of(source, target))
            value = np.where(np.isnan(value), source.numpy.type(0), np.maximum(np.minimum(value, high), low))
        return value.astype(target.numpy)


def computed_by(engine: Engine) -> tuple[DType, ...]:
    return tuple(dtype for dtype in COMPUTED if engine.device.capabilities.computes(dtype.name))


@pytest.fixture(scope="module")
def conversions(engine: Engine) -> None:
    """The kernels of all conversions, in one program."""
    dtypes = computed_by(engine)
    engine.executables([conversion_kernel(source, dtypes, count) for source in dtypes for count in (1, 4, 3)])


@pytest.mark.parametrize("count", [1, 4, 3])
@pytest.mark.parametrize("source", COMPUTED, ids=name_of)
@pytest.mark.usefixtures("conversions")
def test_conversion_between_all_dtypes(source: DType, count: int, engine: Engine) -> None:
    caps = engine.device.capabilities
    if not caps.computes(source.name):
        return  # test_every_operation_on_the_device sees that it is refused
    targets = computed_by(engine)
    x = operands(source, caps.denormals or source == F64)[0]
    if not caps.denormals:
        x = without_results_below_normal(x)
    made = conversion_kernel(source, targets, count)
    args = {"x": x, **{f"to_{target}": np.zeros(COUNT, target.numpy) for target in targets}}
    on_device = launched(engine, made, args, COUNT // count)
    run(made, args, (COUNT // count,))
    for target in targets:
        wanted = converted(x, source, target)
        np.testing.assert_array_equal(args[f"to_{target}"], wanted, f"{source} to {target}, interpreted")
        np.testing.assert_array_equal(on_device[f"to_{target}"], wanted, f"{source} to {target} on {engine.device}")


def without_results_below_normal(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, 0, x).astype(x.dtype) if x.dtype.kind == "f" else x


def bitcast_kernel(source: DType, targets: list[DType], count: int) -> Kernel:
    k = KernelBuilder(f"bitcast_{source}")
    x = k.pointer("x", source)
    outputs = {target: k.pointer(f"to_{target}", target) for target in targets}
    at = k.global_id(0, "i") * count
    value = k.load(x, at, count=count, hint="value")
    for target, output in outputs.items():
        k.store(output, at, k.bitcast(value, target))
    return k.build()


@pytest.mark.parametrize("count", [1, 4, 3])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_bitcast_between_all_dtypes_of_a_width(bits: int, count: int, engine: Engine) -> None:
    caps = engine.device.capabilities
    same = [dtype for dtype in NUMBERS if dtype.bits == bits and caps.computes(dtype.name)]
    kernels = [bitcast_kernel(source, same, count) for source in same]
    engine.executables(kernels)  # as one program
    for source, made in zip(same, kernels, strict=True):
        x_ = operands(source, True)[0]
        args = {"x": x_, **{f"to_{target}": np.zeros(COUNT, target.numpy) for target in same}}
        on_device = launched(engine, made, args, COUNT // count)
        run(made, args, (COUNT // count,))
        for target in same:
            wanted = x_.view(target.numpy)
            for got in (args[f"to_{target}"], on_device[f"to_{target}"]):
                np.testing.assert_array_equal(got.view(f"u{bits // 8}"), wanted.view(f"u{bits // 8}"))


@pytest.mark.parametrize("dtype", COMPUTED, ids=name_of)
def test_vectors_are_made_and_taken_apart(dtype: DType, engine: Engine) -> None:
    """splat, vector, extract, lo, hi and copy, in every number of lanes."""
    if not engine.device.capabilities.computes(dtype.name):
        return
    k = KernelBuilder(f"lanes_of_{dtype}")
    x, y = k.pointer("x", dtype), k.pointer("y", dtype)
    i = k.global_id(0, "i")
    at = k.let(i * 16, "at")
    expected: list[Callable[[np.ndarray], np.ndarray]] = []
    width = 16 * 40

    def put(value: Ref, count: int, wanted: Callable[[np.ndarray], np.ndarray]) -> None:
        k.store(y, i * width + len(expected) * 16, value)
        expected.append(lambda rows_: np.pad(wanted(rows_), ((0, 0), (0, 16 - count))))

    for count in LANES:
        value = k.load(x, at, count=count, hint="value")
        put(k.let(value), count, lambda r, n=count: r[:, :n])
        put(k.splat(k.op("extract", value, count - 1), count), count, lambda r, n=count: r[:, n - 1 : n].repeat(n, 1))
        mirrored = [k.op("extract", value, lane) for lane in reversed(range(count))]
        put(k.op("vector", *mirrored), count, lambda r, n=count: r[:, n - 1 :: -1][:, :n])
        if count % 2 == 0:
            half = count // 2
            put(k.op("lo", value), half, lambda r, h=half: r[:, :h])
            put(k.op("hi", value), half, lambda r, h=half: r[:, h : 2 * h])
    made, items = k.build(), COUNT // 16
    args = {"x": operands(dtype, True)[0], "y": np.zeros(items * width, dtype.numpy)}
    on_device = launched(engine, made, args, items)
    run(made, args, (items,))
    lanes_ = args["x"].reshape(items, 16)
    for got in (args, on_device):
        parts = got["y"].reshape(items, -1, 16)
        for number, wanted in enumerate(expected):
            np.testing.assert_array_equal(parts[:, number], wanted(lanes_), f"number {number}")


@cache
def literals_kernel(dtype: DType, denormals: bool) -> Kernel:
    k = KernelBuilder(f"literals_of_{dtype}")
    y, m = k.pointer("y", dtype), k.pointer("m", BOOL)
    x = k.load(k.pointer("x", dtype), 0, hint="value")
    for place, number in enumerate(special(dtype, denormals).tolist()):
        k.store(y, place * 4, k.const(number, dtype))
        k.store(y, place * 4 + 1, k.const(number, dtypes_vector(dtype, 3)))
        k.store(m, place, k.op("eq", x, number))
    return k.build()


def has_denormals(engine: Engine, dtype: DType) -> bool:
    return engine.device.capabilities.denormals or dtype == F64


@pytest.fixture(scope="module")
def literals(engine: Engine) -> None:
    """The kernels of all literals, in one program."""
    engine.executables([literals_kernel(dtype, has_denormals(engine, dtype)) for dtype in computed_by(engine)])


@pytest.mark.parametrize("dtype", COMPUTED, ids=name_of)
@pytest.mark.usefixtures("literals")
def test_literals_of_every_value(dtype: DType, engine: Engine) -> None:
    """Each special value as a literal: alone, and beside a value; scalar and vector."""
    if not engine.device.capabilities.computes(dtype.name):
        return
    denormals = has_denormals(engine, dtype)
    numbers = special(dtype, denormals)
    args = {"y": np.zeros(numbers.size * 4, dtype.numpy), "m": np.zeros(numbers.size, np.bool_), "x": numbers[:1]}
    got = launched(engine, literals_kernel(dtype, denormals), args, 1)
    unsigned = f"u{numbers.itemsize}"
    same = got["y"].reshape(-1, 4).view(unsigned) == numbers[:, None].view(unsigned)
    assert (same | np.isnan(numbers)[:, None]).all(), numbers[~same.all(1)]
    np.testing.assert_array_equal(got["m"], numbers == numbers[0])


def dtypes_vector(dtype: DType, count: int) -> Any:
    from ocl_ir.types import with_lanes

    return with_lanes(dtype, count)


@cache
def storage_kernel(storage: DType, count: int) -> Kernel:
    k = KernelBuilder(f"storage_{storage}x{count}")
    bits, wide = k.pointer("bits", storage), k.pointer("wide", F32)
    loaded, stored = k.pointer("loaded", F32), k.pointer("stored", storage)
    at = k.global_id(0, "i") * count
    k.store(loaded, at, k.load_as(bits, at, F32, count=count))
    k.store(stored, at, k.load(wide, at, count=count))
    return k.build()


@pytest.fixture(scope="module")
def storages(engine: Engine) -> None:
    """The kernels of both, in one program."""
    engine.executables([storage_kernel(storage, count) for storage in (F16, BF16) for count in (1, *LANES)])


@pytest.mark.parametrize("count", [1, *LANES])
@pytest.mark.parametrize("storage", [F16, BF16], ids=name_of)
@pytest.mark.usefixtures("storages")
def test_half_and_bfloat16_storage(storage: DType, count: int, engine: Engine) -> None:
    """Loaded as float32, and float32 rounded to nearest even by storing it; no extension is needed."""
    rng = np.random.default_rng(3)
    every = np.resize(rng.permutation(1 << 16), 65536 // 240 * 240).astype(np.uint16)
    size = every.size
    # Around the values of the type, halfway between two of them, and anything.
    near = (
        (every.astype(np.uint32) << 16).view(np.float32)
        if storage == BF16
        else every.view(np.float16).astype(np.float32)
    )
    offsets = rng.integers(-2, 3, size) + rng.choice([0, 0x8000, 0x1000], size)
    x = np.where(rng.random(size) < 0.5, (near.view(np.int32) + offsets).astype(np.int32).view(np.float32), near)
    if not engine.device.capabilities.denormals:
        tiny = np.finfo(np.float32).tiny
        x, near = (np.where(np.abs(one) < tiny, np.float32(0), one) for one in (x, near))
        every = np.where((every & 0x7F80) == 0, 0, every).astype(np.uint16) if storage == BF16 else every
    args = {"bits": every.view(storage.numpy), "wide": x.astype(np.float32), "loaded": np.zeros(size, np.float32),
            "stored": np.zeros(size, storage.numpy)}  # fmt: skip
    made = storage_kernel(storage, count)
    on_device = launched(engine, made, args, size // count)
    run(made, args, (size // count,), check_races=False)
    with np.errstate(all="ignore"):
        narrow = x.astype(np.float16) if storage == F16 else OPS["round_bf16"].reference(x)
    for got in (args, on_device):
        np.testing.assert_array_equal(got["loaded"], near)
        back = got["stored"] if storage == F16 else (got["stored"].astype(np.uint32) << 16).view(np.float32)
        np.testing.assert_array_equal(back, narrow)


def test_questions_about_the_index_space(engine: Engine) -> None:
    k = KernelBuilder("questions")
    y = k.pointer("y", DTYPES["u64"])
    places = [k.global_id(dimension, dtype=DTYPES["u64"]) for dimension in range(3)]
    at = (places[2] * 4 + places[1]) * 8 + places[0]
    answers = [k.item(question, dimension, dtype=dtype) for question in WORK_ITEM for dimension in range(3)
               for dtype in (I32, U32, I64, DTYPES["u64"])]  # fmt: skip
    for place, answer in enumerate(answers):
        k.store(y, at * len(answers) + place, k.convert(answer, DTYPES["u64"]))
    made = k.build()
    args = {"y": np.zeros(8 * 4 * 2 * len(answers), np.uint64)}
    on_device = {"y": (engine.upload(args["y"]), 0)}
    engine.launch(made, on_device, (8, 4, 2), (4, 2, 1))
    run(made, args, (8, 4, 2), (4, 2, 1))
    np.testing.assert_array_equal(
        engine.download(on_device["y"][0], np.dtype(np.uint64), args["y"].size).result(), args["y"]
    )
    assert isinstance(y.type, Pointer)


def test_structural_operations_are_all_here() -> None:
    here = {"copy", "uniform", "convert", "bitcast", "splat", "vector", "extract", "lo", "hi"}
    assert here == set(STRUCTURAL)
