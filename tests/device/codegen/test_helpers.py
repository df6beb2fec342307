"""The functions and statements of the templates on every device there is, against float64 and NumPy.

The transcendental functions see a sample of all 2^32 arguments here; docs/NUMERICS.md gives the errors over every one.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.op_rows import Op
from ocl_ir.ops import OPS
from ocl_ir.types import F32, F64, DType
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.expressions import BY_FOURS, IN_FOURS, ROUNDING
from ocl_runtime.codegen.spelling import Dialect
from ocl_runtime.device import all_devices
from ocl_runtime.device.probe import fault
from tests.support.depth import NIGHTLY
from tests.support.helper_rendering import Bench, CType, elementwise, helper, statements
from tests.support.ulp import ulps

PATTERNS = 1 << 22 if NIGHTLY else 1 << 19
"""Random arguments of roundings, beside all numbers that they round to and those around the middle between two."""
LANES = (1, 2, 3, 4, 8, 16)
F4 = np.dtype("f4")
INTEGERS = [np.dtype(name) for name in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")]
FLOATS = [np.dtype(name) for name in ("f2", "f4", "f8")]
TRANSCENDENTAL = ("sin", "cos", "tan", "exp", "log", "tanh")
# Where something changes in the algorithms or in the result: limits of ranges, of reduction, of overflow and underflow.
TURNING_POINTS = [
    0.0, np.inf, np.nan, 0.5**0.5, 2.0**0.5, 1.0, 0.625, 9.01, 9.1, 88.72283, 89.0, 87.33654, 103.97208, 104.0, 6433.0,
    np.finfo(F4).max, np.finfo(F4).tiny, np.finfo(F4).smallest_subnormal, 3.948896e19, 6.58259e23,
]  # fmt: skip


def _devices() -> list[object]:
    """The usable devices, or None where there are none, so that a test fails instead of vanishing."""
    found: list[object] = []
    for one in all_devices():
        caps = one.capabilities
        if one.quirks.simulator or fault(one, None) is not None:
            continue
        # The PyPI wheel of PoCL 3.0 takes an AVX-512 CPU for a generic one, and its compiler aborts the process on any
        # operation on float16, even a + a.
        aborts = caps.platform == "Portable Computing Language" and caps.driver_version.startswith("3.0")
        marks = [pytest.mark.skip(reason="PoCL 3.0 aborts on vectors of 16 floats")] if aborts else []
        found.append(pytest.param(one, marks=marks, id=f"{caps.platform} {caps.driver_version}"))
    return found or [pytest.param(None, id="no device")]


@pytest.fixture(scope="module", params=_devices())
def bench(request: pytest.FixtureRequest) -> Bench:
    if request.param is None:
        found = "; ".join(map(str, all_devices())) or "none"
        pytest.fail(f'no usable OpenCL device (found: {found}); pip install "ocl-runtime[cpu]" brings one')
    return Bench(request.param)


def _neighbours(values: np.ndarray, count: int) -> np.ndarray:
    """The floats up to `count` steps away, with both signs."""
    bits = values.astype(F4).view(np.int32)[:, None] + np.arange(-count, count + 1, dtype=np.int32)
    near = np.abs(bits.ravel().view(F4))
    return np.concatenate([near, -near])


@cache
def _arguments() -> np.ndarray:
    rng = np.random.default_rng(1)
    patterns = rng.integers(0, 1 << 32, 1 << 19, dtype=np.uint32).view(F4)  # all exponents alike
    quarter_turns = _neighbours(np.arange(1, 1 << 13) * (np.pi / 2), 2)
    ordinary = rng.uniform(-110, 110, 1 << 17).astype(F4)
    return np.concatenate([patterns, quarter_turns, ordinary, _neighbours(np.array(TURNING_POINTS), 3)])


def _ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Errors in units in the last place of a float32; infinite where NaN, infinity or the sign of a zero differs."""
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(exact)
        error = np.abs(got.astype(np.float64) - exact) / np.ldexp(1.0, np.maximum(exponent - 24, -149))
        same = (got == exact.astype(F4)) | (np.isnan(got) & np.isnan(exact))
        wrong_zero = (exact == 0) & (np.signbit(got) != np.signbit(exact)) & ~np.isnan(exact)
        finite = np.isfinite(got) & np.isfinite(exact)
    return np.where(wrong_zero, np.inf, np.where(finite, error, np.where(same, 0, np.inf)))


def _equal(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Bit for bit, with all NaNs alike."""
    bits = f"u{got.dtype.itemsize}"
    same = got.view(bits) == expected.view(bits)
    return same | (np.isnan(got) & np.isnan(expected)) if got.dtype.kind == "f" else same


def _assert_equal(got: np.ndarray, expected: np.ndarray, *given: np.ndarray) -> None:
    wrong = np.flatnonzero(~_equal(got, expected))
    shown = [(*(one[at] for one in given), got[at], expected[at]) for at in wrong[:5]]
    assert wrong.size == 0, f"{wrong.size} of {got.size} differ; (given, got, expected): {shown}"


def _in_all_widths(bench: Bench, name: str, dtype: np.dtype, call: str, *inputs: np.ndarray) -> list[np.ndarray]:
    """What a helper gives for scalars and for vectors of every width."""
    sources = []
    for lanes in LANES:
        type_ = CType(dtype, lanes)
        body = f"result = {call.format(t=type_)}({', '.join('ab'[: len(inputs)])});"
        sources.append(elementwise(f"test_{lanes}", type_, len(inputs), body, helper(name, type_)))
    program = bench.build("\n".join(sources))
    return [bench.run(program, f"test_{lanes}", lanes, *inputs) for lanes in LANES]


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", TRANSCENDENTAL)
def test_transcendental_functions_keep_the_tables_bounds(bench: Bench, name: str) -> None:
    x = _arguments()
    results = _in_all_widths(bench, f"fast_{name}", F4, f"fast_{name}{{t.suffix}}", x)
    with np.errstate(all="ignore"):
        errors = _ulps(results[0], OPS[name].reference(x.astype(np.float64)))
    worst = int(np.argmax(errors))
    assert errors[worst] <= OPS[name].ulp["f32"], f"{name}({x[worst]!r}) = {results[0][worst]!r}: {errors[worst]} ULP"
    for result in results[1:]:
        _assert_equal(result, results[0], x)  # no lane depends on its neighbours or on the width


@pytest.mark.parametrize("name", ["round_to_half", "convert_to_half"])
def test_rounding_to_halves_is_numpys_conversion(bench: Bench, name: str) -> None:
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(F4)
    midpoints = _neighbours(np.append((halves[1:] + halves[:-1]) / 2, [65520.0]), 1)
    patterns = np.random.default_rng(2).integers(0, 1 << 32, PATTERNS, dtype=np.uint32).view(F4)
    x = np.concatenate([patterns, halves, -halves, midpoints, _neighbours(np.array(TURNING_POINTS), 3)])
    for result in _in_all_widths(bench, name, F4, f"{name}{{t.suffix}}", x):
        _assert_equal(result, OPS["round_f16"].reference(x), x)


def test_round_to_bfloat16_is_the_references_rounding(bench: Bench) -> None:
    upper = np.arange(1 << 16, dtype=np.uint32) << 16
    ties = np.concatenate([upper + low for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)]).astype(np.uint32).view(F4)
    patterns = np.random.default_rng(3).integers(0, 1 << 32, PATTERNS, dtype=np.uint32).view(F4)
    x = np.concatenate([patterns, ties])
    for result in _in_all_widths(bench, "round_to_bfloat16", F4, "round_to_bfloat16{t.suffix}", x):
        _assert_equal(result, OPS["round_bf16"].reference(x), x)
        truncated = (result.view(np.uint32) & np.uint32(0xFFFF0000)).view(F4)
        _assert_equal(truncated, result, x)  # storing the upper half loses nothing, not even that it is a NaN


def test_halves_keep_their_bits_on_the_way_through_integers(bench: Bench) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    x = np.concatenate([bits.view(np.float16).astype(F4), np.random.default_rng(6).normal(0, 300, 1 << 16).astype(F4)])
    for lanes in (2, 4, 8, 16):
        type_ = CType(F4, lanes)
        helpers = "\n\n".join(helper(name, type_) for name in ("any_half", "half_values", "half_bits"))
        memory = f"*(any_half_{lanes} *)(halves + 1)"
        body = f"ushort halves[17];\n{memory} = half_bits_{lanes}(a);\nresult = half_values_{lanes}({memory});"
        program = bench.build(elementwise(f"test_{lanes}", type_, 1, body, helpers))
        _assert_equal(bench.run(program, f"test_{lanes}", lanes, x), x.astype(np.float16).astype(F4), x)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", sorted(ROUNDING))
@pytest.mark.parametrize("dtype", [F4, np.dtype("f8")], ids=str)
def test_rounding_to_whole_numbers_is_exact(bench: Bench, name: str, dtype: np.dtype) -> None:
    if dtype.itemsize == 8 and not bench.device.capabilities.fp64:
        pytest.skip("the device has no float64")
    halves = np.arange(-(2**12), 2**12).astype(dtype) / 2
    bits = np.random.default_rng(5).integers(0, 1 << 63, 1 << 18, dtype=np.uint64)
    digits = np.finfo(dtype).nmant
    far = np.ldexp(np.arange(1, 2**9, dtype=dtype), np.arange(-1, digits - 7)[:, None]).ravel()
    near = [np.nextafter(one, dtype.type(to)) for one in (halves, far) for to in (-np.inf, np.inf)]
    others = np.array([np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal], dtype)
    x = np.concatenate([bits.view(dtype), halves, far, -far, *near, others, -others])
    for result in _in_all_widths(bench, f"whole_{name}", dtype, f"whole_{name}_{{t.T}}", x):
        _assert_equal(result, OPS[name].reference(x), x)


def _pairs(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of the values that matter, and random ones."""
    rng = np.random.default_rng(4)
    count = 1 << 16
    if dtype.itemsize == 1:
        every = np.arange(256, dtype=np.uint8).view(dtype)
        return tuple(np.ascontiguousarray(one.ravel()) for one in np.meshgrid(every, every))
    if dtype.kind == "f":
        info = np.finfo(dtype)
        some = [0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0, 1e3, info.max, info.tiny, info.smallest_subnormal, np.inf]
        edges = np.array([*some, *(-np.array(some)), np.nan]).astype(dtype)
        wide = [rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8).view(dtype) for _ in range(2)]
        near = [(rng.standard_normal(count) * scale).astype(dtype) for scale in (100, 3)]
        whole = [np.round(rng.standard_normal(count) * scale).astype(dtype) for scale in (100, 3)]
        random = [np.concatenate(three) for three in zip(wide, near, whole, strict=True)]
    else:
        info = np.iinfo(dtype)
        low = [info.min + step for step in range(3)] + [0, 1, 2, 3, 5, 7, 31, 63, 64, 100]
        edges = np.array([*low, *(info.max - step for step in range(3)), *(range(-5, 0) if info.min else [])], dtype)
        wide = [rng.integers(info.min, info.max, count, dtype, endpoint=True) for _ in range(2)]
        near = [rng.integers(max(info.min, -20), 20, count, dtype) for _ in range(2)]
        random = [np.concatenate(two) for two in zip(wide, near, strict=True)]
    grid = np.meshgrid(edges, edges)
    a, b = (np.concatenate([one.ravel(), other]) for one, other in zip(grid, random, strict=True))
    return a, b


def _exact_power(x: int, y: int, modulus: int) -> int:
    if y >= 0:
        return pow(x, y, modulus)
    return {1: 1, -1: -1 if y % 2 else 1}.get(x, 0) % modulus


@pytest.mark.sample(5)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_power_is_the_exact_one_modulo_the_width(bench: Bench, dtype: np.dtype) -> None:
    x, y = _pairs(dtype)
    modulus = 1 << CType(dtype).bits
    powers = [_exact_power(*pair, modulus) for pair in zip(x.tolist(), y.tolist(), strict=True)]
    expected = np.array(powers, np.uint64).astype(f"u{dtype.itemsize}").view(dtype)
    for result in _in_all_widths(bench, "integer_power", dtype, "integer_power_{t.T}", x, y):
        _assert_equal(result, expected, x, y)


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", ["floordiv", "rem"])
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
def test_division_is_numpys(bench: Bench, dtype: np.dtype, name: str) -> None:
    needed = {"f2": "cl_khr_fp16", "f8": "cl_khr_fp64"}.get(dtype.str[1:])
    if needed and needed not in bench.extensions:
        pytest.skip(f"the device has no {needed}")
    a, b = _pairs(dtype)
    expected = OPS[name].reference(a, b)
    type_, vector = CType(dtype), CType(dtype, 4)
    enabled = f"#pragma OPENCL EXTENSION {needed} : enable\n" if needed else ""
    by_lane = "".join(
        statements(name, f"result.s{lane}", f"a.s{lane}", f"b.s{lane}", type_) for lane in range(vector.lanes)
    )
    program = bench.build(
        enabled
        + elementwise("scalar", type_, 2, statements(name, "result", "a", "b", type_))
        + elementwise("by_lane", vector, 2, by_lane)
    )
    _assert_equal(bench.run(program, "scalar", 1, a, b), expected, a, b)
    _assert_equal(bench.run(program, "by_lane", vector.lanes, a, b), expected, a, b)


# ---------------------------------------------------------------------- wide functions, as kernels call them

EXTREME = [0.0, 1e-20, 0.5, 1.5, 100.0, 1000.0, 6434.0, 1e30, np.inf]


def _float_rows(dtype: DType) -> list[Op]:
    """The operations on floats alone that have a value of the same type."""
    rows = [row for row in OPS.values() if row.result in "FN" and set(row.operands) <= set("FN")]
    return [row for row in rows if row.takes(dtype)]


def _one_extreme_lane(dtype: DType, lanes: int) -> list[np.ndarray]:
    """Three operands: in each vector one lane has a pair of extreme values and the others ordinary ones."""
    rng = np.random.default_rng(5)
    info = np.finfo(dtype.numpy)
    some = np.array([*EXTREME, info.max, info.tiny, info.smallest_subnormal])
    first, second = (one.ravel() for one in np.meshgrid(*[np.concatenate([some, -some, [np.nan]])] * 2))
    columns = []
    for extreme in (first, second, rng.permutation(first)):
        vectors = np.abs(rng.standard_normal((extreme.size, lanes)) * 3)
        vectors[::3] *= -1
        vectors[np.arange(extreme.size), np.arange(extreme.size) % lanes] = extreme
        columns.append(vectors.ravel().astype(dtype.numpy))
    return columns


def _all_functions(dtype: DType, lanes: int, size: int) -> Kernel:
    """Function number p writes its results from element p * size on."""
    k = KernelBuilder(f"functions_of_{lanes}")
    pointers = [k.pointer(name, dtype) for name in "abc"]
    out = k.pointer("out", dtype)
    at = k.global_id(0, "i") * lanes
    args = [k.load(pointer, at, count=lanes) for pointer in pointers]
    for place, row in enumerate(_float_rows(dtype)):
        k.store(out, at + place * size, k.op(row.name, *args[: row.arity]))
    return k.build()


@pytest.mark.sample(3)
@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_an_extreme_lane_does_not_spoil_the_others(bench: Bench, dtype: DType, lanes: int) -> None:
    """Each lane of a vector has what a scalar has, within twice the bound, because either may be off by the bound."""
    if not bench.device.capabilities.computes(dtype.name):
        pytest.skip(f"the device has no {dtype}")
    columns, rows = _one_extreme_lane(dtype, lanes), _float_rows(dtype)
    dialect = Dialect(bench.device.quirks.own_math, bench.device.quirks.vector_hint)
    size = columns[0].size
    results = []
    for width in (1, lanes):
        kernel = _all_functions(dtype, width, size)
        program = bench.build(compile_kernel(kernel, "hybrid", dialect).source.text)
        results.append(bench.run_kernel(program, size // width, columns, len(rows) * size).reshape(len(rows), size))
    wrong = {}
    for row, scalar, vector in zip(rows, *results, strict=True):
        with np.errstate(all="ignore"):
            at = np.flatnonzero(ulps(vector, scalar) > 2 * row.ulp.get(dtype.name, 0))
        if at.size:
            wrong[row.name] = at.size, *(one[at[0]] for one in (*columns[: row.arity], scalar, vector))
    assert not wrong, f"wrong lanes, and of the first one the operands, the scalar's result and the vector's: {wrong}"


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_regression_functions_are_the_same_bits_on_any_number_of_lanes(bench: Bench, dtype: DType) -> None:
    """Of the arguments that expressions have in lanes and, at the end, one by one."""
    if dtype == F64 and not bench.device.capabilities.fp64:
        pytest.skip("the device has no float64")
    rows = [OPS[name] for name in sorted(IN_FOURS)]
    size = 4096
    columns = [np.random.default_rng(0).uniform(-1, 1, size).astype(dtype.numpy)]
    dialect = Dialect(bench.device.quirks.own_math, bench.device.quirks.vector_hint)
    found = {}
    for width in (1, 2, 4, 8, 16):
        k = KernelBuilder("kernel")
        a, out, i = k.pointer("a", dtype), k.pointer("out", dtype), k.global_id(0, "i")
        x = k.load(a, i * width, count=width)
        for number, row in enumerate(rows):
            k.store(out, i * width + number * size, k.op(row.name, x))
        program = bench.build(compile_kernel(k.build(), "hybrid", dialect).source.text)
        found[width] = bench.run_kernel(program, size // width, columns, len(rows) * size).reshape(len(rows), size)
    for width, results in found.items():
        differ = {row.name: int((results[at] != found[4][at]).sum()) for at, row in enumerate(rows)}
        assert not any(differ.values()), f"{width} lanes and 4: {differ}"


@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("name", sorted(BY_FOURS))
def test_functions_by_fours_are_spelled_for_wide_float64_alone(name: str, lanes: int) -> None:
    def source(dtype: DType, width: int, *, own_math: bool = True) -> str:
        k = KernelBuilder("kernel")
        a, out = k.pointer("a", dtype), k.pointer("out", dtype)
        x = k.load(a, 0, count=width)
        k.store(out, 0, k.op(name, x, x))
        return compile_kernel(k.build(), "hybrid", Dialect(own_math=own_math)).source.text

    assert source(F64, lanes).count(f"{name}_by_fours_{lanes}(") == 2  # the function and its call
    for plain in (source(F64, 4), source(F64, 1), source(F32, lanes), source(F64, lanes, own_math=False)):
        assert "by_fours" not in plain
