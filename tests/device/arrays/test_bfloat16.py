"""Arrays of bfloat16: computed in float32, rounded once an operation, and moved as bits."""

from __future__ import annotations

import copy
import ctypes
import pickle
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array
import pytest

import ocl_runtime as ocl
import ocl_runtime.numpy as onp
from ocl_runtime.arrays.meaning.semantics import arity
from ocl_runtime.arrays.meaning.table import TABLE
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, NumberRangeError, SharingError
from ocl_runtime.language import Array1, barrier, global_id, local_array, local_id, maximum
from ocl_runtime.runtime import Runtime
from ocl_runtime.settings import Settings
from tests.support.arrays import DTYPES, assert_same, counting, has
from tests.support.bfloat16 import EVERY, ROADS, assert_rounded, bits, bits_in, on_road, rounded, values
from tests.support.rehearsal import rehearsal

BF16 = ocl.bfloat16
EDGES = values(
    np.array([0, 1, 0x7F, 0x80, 0x3DCD, 0x3F00, 0x3F80, 0x3F81, 0x4000, 0x40E0, 0x42C8, 0x7F7F, 0x7F80, 0x7FC0], "u2")
)
"""Zero, the least and the greatest subnormal, the least normal, 0.1, a half, 1 and its neighbour, 2, 7, 100, the
greatest, infinity, NaN."""
OF_FLOATS = [name for name, row in TABLE.items() if row.rule in {"numeric", "real", "rounding"} and name != "nextafter"]
OF_BOOLS = [name for name, row in TABLE.items() if row.rule in {"compare", "classify", "logical"}]


@pytest.fixture(scope="module")
def shared(device: Device) -> Runtime:
    return Runtime(device, Settings(cache_folder=None))


@pytest.fixture(autouse=True)
def runtime(shared: Runtime) -> Iterator[Runtime]:
    with ocl.use(shared), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield shared


@pytest.fixture(params=ROADS)
def road(request: pytest.FixtureRequest) -> Iterator[str]:
    with on_road(request.param):
        yield request.param


def of(x: Any) -> ocl.Array:
    return ocl.asarray(x, dtype=BF16)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """Values of bfloat16 of ordinary size, as float32."""
    return rounded(np.random.default_rng(seed).standard_normal(shape) * 3)


def whole(*shape: int, seed: int = 0) -> np.ndarray:
    """Whole numbers, whose sums are exact in float32."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype("f4")


def operands(count: int) -> list[np.ndarray]:
    """All pairs of the edges with both signs, and numbers; subnormals are left to what keeps them."""
    ends = [x for x in [*EDGES, *-EDGES] if x == 0 or not abs(x) < 2.0**-126]
    one, other = (np.ravel(x) for x in np.meshgrid(ends, ends))
    one, other = (np.append(x, numbers(75, seed=seed)) for seed, x in enumerate((one, other)))
    return [one, other, np.roll(one, 3)][:count]


# ---------------------------------------------------------------------- the dtype


def test_the_dtype_is_one_object_with_a_name() -> None:
    x = ocl.zeros(3, dtype=BF16)
    assert x.dtype is BF16
    assert (str(BF16), repr(BF16)) == ("bfloat16", "dtype(bfloat16)")
    assert (BF16.name, BF16.itemsize, BF16.kind) == ("bfloat16", 2, "f")
    assert BF16 == "bfloat16"
    assert BF16 not in ("float16", np.float32, np.dtype("u2"), np.dtype("V2"), None, 5)
    assert (x.itemsize, x.nbytes) == (2, 6)
    assert pickle.loads(pickle.dumps(BF16)) is copy.deepcopy(BF16) is BF16
    assert {BF16: 1}[ocl.ones(1, dtype="bfloat16").dtype] == 1


def test_the_dtype_of_ml_dtypes_is_the_same() -> None:
    with on_road(ROADS[0]):
        import ml_dtypes

        theirs = np.dtype(ml_dtypes.bfloat16)
        assert hash(BF16) == hash(theirs)
        assert {theirs: 1}[BF16] == {BF16: 1}[theirs] == 1
        for named in (ml_dtypes.bfloat16, theirs, "bfloat16", BF16):
            assert named == BF16
            assert ocl.zeros(2, dtype=named).dtype is ocl.zeros(2).astype(named).dtype is BF16
        assert theirs == BF16
        assert np.dtype(BF16) is theirs
        assert np.zeros(2, BF16).dtype is theirs
        assert BF16.type is ml_dtypes.bfloat16
        for name in ("float8_e4m3fn", "int4"):
            assert np.dtype(getattr(ml_dtypes, name)) != BF16
            with pytest.raises(DTypeError, match="has no counterpart"):
                ocl.zeros(2, dtype=getattr(ml_dtypes, name))


def test_numpy_has_no_such_dtype_without_ml_dtypes() -> None:
    with on_road(ROADS[1]):
        assert BF16.type is np.float32
        assert not hasattr(BF16, "dtype")
        with pytest.raises(TypeError):
            np.dtype(BF16)
        assert np.dtype("f4") != BF16


@pytest.mark.usefixtures("road")
def test_limits_and_kinds() -> None:
    info = ocl.finfo(BF16)
    assert info is ocl.finfo(of([1.0]))
    assert (info.max, info.min) == (values(np.uint16([0x7F7F]))[0], values(np.uint16([0xFF7F]))[0])
    assert 1 + info.eps == values(np.uint16([0x3F81]))[0]
    assert 1 - info.epsneg == values(np.uint16([0x3F7F]))[0]
    assert (info.smallest_normal, info.smallest_subnormal) == tuple(values(np.uint16([0x80, 1])))
    assert (info.bits, info.dtype) == (16, BF16)
    assert ocl.isdtype(BF16, "real floating")
    assert ocl.isdtype(BF16, ("bool", BF16))
    assert not ocl.isdtype(BF16, ("integral", ocl.uint16, ocl.float16))
    with pytest.raises(DTypeError, match="bfloat16 is no integer dtype"):
        ocl.iinfo(BF16)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.usefixtures("road")
def test_it_is_promoted_as_float16_is(dtype: str, runtime: Runtime) -> None:
    half = np.result_type("f2", dtype)
    expected = "f4" if dtype == "f2" else BF16 if half == np.float16 else half
    if has(runtime, np.dtype(half).str[1:]):
        assert ocl.result_type(BF16, np.dtype(dtype)) == ocl.result_type(np.dtype(dtype), BF16) == expected
        assert (of([1]) + ocl.asarray(np.ones(1, dtype))).dtype == expected
        assert (np.ones(1, dtype) * of([1])).dtype == expected
        assert onp.result_type(of([1]), np.dtype(dtype)) == onp.add(np.ones(1, dtype), of([1])).dtype == expected
    for x in (of([1]) + 1, 2.5 * of([1]), of([1]) / True, of([1]) ** 2, ocl.where(of([1]) > 0, 1.5, of([0]))):
        assert x.dtype is BF16


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_casts_safely_keeps_its_values(dtype: str) -> None:
    type_ = np.dtype(dtype)
    keeps = type_.itemsize == 1
    assert ocl.can_cast(type_, BF16) == onp.can_cast(type_, BF16) == keeps
    assert ocl.can_cast(BF16, type_) == onp.can_cast(BF16, type_) == (dtype in {"f4", "f8"})
    assert onp.can_cast(type_, BF16, "same_kind")
    assert onp.can_cast(BF16, type_, "same_kind") == (type_.kind == "f")


# ---------------------------------------------------------------------- in and out


@pytest.mark.usefixtures("road")
def test_all_values_go_in_and_out(road: str) -> None:
    x = of(values(EVERY))
    nan = np.isnan(values(EVERY))
    assert np.array_equal(bits_in(x), np.where(nan, 0x7FC0, EVERY))
    out = x.numpy()
    for host in (out, np.asarray(x), x.to_numpy(), np.array(x), ocl.download(x).result(), x[::-1].numpy()[::-1]):
        assert (host.dtype == np.float32) == (road == ROADS[1])
        assert (host.dtype == BF16) == (road == ROADS[0])
        assert np.array_equal(np.asarray(host, "f4").view("u4")[~nan], values(EVERY).view("u4")[~nan])
        assert np.isnan(np.asarray(host, "f4")[nan]).all()
    assert np.array_equal(bits_in(ocl.asarray(out) if road == ROADS[0] else of(out)), bits_in(x))
    assert x.numpy() is not out
    assert np.asarray(x, "f8").dtype == np.float64


def test_numpys_arrays_of_ml_dtypes_come_in() -> None:
    with on_road(ROADS[0]):
        host = np.asarray(numbers(6, 4)).astype(BF16)
        for given in (host, host[::2, ::-1], host[1, 2], host[:0]):
            x = ocl.asarray(given)
            assert x.dtype is BF16
            assert x.numpy().dtype == host.dtype
            assert np.array_equal(x.numpy(), given)
            assert_same(ocl.asarray(given, dtype="f4").numpy(), np.asarray(given).astype("f4"))
        y = ocl.upload(host)
        assert np.array_equal(y.numpy(), host)
        assert (host + of(host)).dtype is (of(host) * host[0, 0]).dtype is BF16
        assert ocl.asarray([host[0, 0], host[0, 1]]).dtype is BF16
        back = np.empty(host.shape, BF16)
        assert np.array_equal(ocl.download(y, out=back).result(), host)
        assert np.array_equal(back, host)
        pinned = ocl.pinned_empty(5, dtype=BF16)
        assert (pinned.dtype, pinned.shape) == (host.dtype, (5,))
        u = ocl.zeros((6, 4), dtype=BF16)
        u[...] = host
        u[1] = host[0, 0]
        assert np.array_equal(u.numpy()[2:], host[2:])
        assert set(u.numpy()[1].tolist()) == {host[0, 0].item()}


def test_what_numpy_cannot_hold_is_said() -> None:
    with on_road(ROADS[1]):
        x = of([1, 2])
        with pytest.raises(DTypeError, match=r"NumPy has no bfloat16[^$]*ml_dtypes"):
            ocl.pinned_empty(5, dtype=BF16)
        with pytest.raises(SharingError, match=r"NumPy has no bfloat16[^$]*ml_dtypes"):
            np.asarray(x, copy=False)
        with pytest.raises(DTypeError, match="download of bfloat16 into float32"):
            ocl.download(x, out=np.empty(2, "f4"))


def test_numpy_sees_the_values_in_place(runtime: Runtime) -> None:
    with on_road(ROADS[0]):
        x = of(numbers(8)).compute()
        if not runtime.executor.engine.transfers._shared:
            with pytest.raises(SharingError):
                np.asarray(x, copy=False)
            return
        seen = np.asarray(x[::2], copy=False)
        assert seen.dtype == BF16
        assert not seen.flags.writeable
        assert np.array_equal(seen, x.numpy()[::2])


@pytest.mark.usefixtures("road")
def test_python_numbers_and_text() -> None:
    x = of([[1, 0.1, -0.0], [np.inf, np.nan, 3e38]])
    assert float(x[0, 1]) == x[0, 1].item() == rounded(0.1).item()
    assert str(x.tolist()) == str(rounded([[1, 0.1, -0.0], [np.inf, np.nan, 3e38]]).tolist())
    assert (int(x[0, 0]), bool(x[0, 2]), complex(x[0, 0]), f"{x[0, 1]:.3f}") == (1, False, 1 + 0j, "0.100")
    assert "1.   ,  2.5  ,  0.301, -0.   ,    inf,    nan]" in repr(of([1, 2.5, 0.3, -0.0, np.inf, np.nan]))
    assert "dtype=bfloat16" in repr(x)
    assert "..., 24.5 , 24.75, 25.  ]" in repr(of(np.arange(101) / 4))
    with pytest.raises(DTypeError, match="an array of bfloat16 is no index"):
        [1, 2][x[0, 0]]  # type: ignore[call-overload]


@pytest.mark.usefixtures("road")
def test_copies_and_pickles_keep_the_bits(device: Device) -> None:
    x = of(values(EVERY))[::3]
    for again in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.copy(), ocl.asarray(x, copy=True)):
        assert np.array_equal(bits_in(again), bits_in(x))
    with ocl.use(Runtime(device, Settings(cache_folder=None))):
        for moved in (ocl.asarray(x), ocl.from_dlpack(x)):
            assert np.array_equal(bits_in(moved), bits_in(x))


# ---------------------------------------------------------------------- conversions


FLOATS = np.concatenate(
    [
        np.arange(0, 2**16, 5, dtype="u4") << 16 | low
        for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)  # ties, and what is just beside them
    ]
).view("f4")


def normal(x: np.ndarray) -> np.ndarray:
    """What no device flushes."""
    return x[~((np.abs(x) < 2.0**-126) & (x != 0))]


@pytest.mark.usefixtures("road")
def test_the_host_rounds_to_nearest_even() -> None:
    doubles = np.concatenate([FLOATS.astype("f8") * scale for scale in (1, 1 + 2.0**-40, 1 - 2.0**-40, 2.0**-20)])
    for host in (FLOATS, doubles, np.float16(numbers(100)), np.arange(-300, 300), np.array([True, False])):
        assert_rounded(of(host), host)
    assert_rounded(of(doubles[:200].tolist()), doubles[:200])
    large = np.array([2**24 + 1, 2**31 - 1, 0x01010000 + 1, -(2**62) - 1])
    assert_rounded(of(large), large.astype("f4"))


def test_the_device_rounds_to_nearest_even(runtime: Runtime) -> None:
    floats = normal(FLOATS)
    assert_rounded(ocl.asarray(floats).astype(BF16), floats)
    for host in (numbers(99).astype("f2"), np.arange(-500, 500, dtype="i2"), np.arange(256, dtype="u1"), floats > 1):
        assert_rounded(ocl.asarray(host).astype(BF16), host)
    large = np.array([2**24 + 1, 2**31 - 1, 0x01010000 + 1, -(2**62) - 1])
    assert_rounded(ocl.asarray(large).astype(BF16), large.astype("f4"))
    if has(runtime, "f8"):  # rounded once, not to float32 first
        doubles = np.concatenate([floats.astype("f8") * (1 + 2.0**-40), floats.astype("f8") * (1 - 2.0**-40), [1e300]])
        doubles = normal(doubles)
        assert (bits(doubles) != bits(doubles.astype("f4"))).any()
        assert_rounded(ocl.asarray(doubles).astype(BF16), doubles)


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions_from_bfloat16(dtype: str, runtime: Runtime) -> None:
    if not has(runtime, dtype):
        return
    host = normal(values(EVERY))
    if dtype != "?" and np.dtype(dtype).kind != "f":
        host = np.arange(100, dtype="f4") / 2
    assert_same(of(host).astype(dtype).numpy(), host.astype(dtype))


def test_numbers_beside_arrays_round_once() -> None:
    tie = 1 + 2.0**-8  # and a little more than the tie, which float32 does not have
    assert_rounded(of([0.0]) + (tie + 2.0**-40), [1 + 2.0**-7])
    assert_rounded(ocl.full(3, tie, dtype=BF16), [1.0] * 3)
    assert_rounded(ocl.full_like(of([0.0]), 1e39), [np.inf])
    assert_rounded(of([1.0]) * -0.0, [-0.0])
    x = ocl.zeros(7, dtype=BF16)
    x[1:4] = 0.3
    x[5] = float("nan")
    assert_rounded(x, [0, 0.3, 0.3, 0.3, 0, np.nan, 0])
    with pytest.raises(NumberRangeError, match="too large for bfloat16"):
        x + 10**400


@pytest.mark.usefixtures("road")
def test_what_makes_arrays() -> None:
    assert_rounded(ocl.arange(600, dtype=BF16), np.arange(600))
    assert_rounded(ocl.arange(0.0, 3.0, 0.1, dtype=BF16), np.arange(30, dtype="f4") * np.float32(0.1))
    assert_rounded(ocl.linspace(0, 1, 5, dtype="bfloat16"), np.linspace(0, 1, 5))
    assert_rounded(ocl.eye(3, dtype=BF16), np.eye(3))
    assert_rounded(ocl.ones((2, 3), dtype=BF16), np.ones((2, 3)))
    assert_rounded(ocl.zeros_like(of([1, 2])), np.zeros(2))
    assert_rounded(ocl.tril(of(whole(4, 4))), np.tril(whole(4, 4)))
    assert ocl.empty(3, dtype=BF16).dtype is ocl.allocate(3, dtype=BF16).dtype is BF16


# ---------------------------------------------------------------------- operations


@pytest.fixture(scope="module")
def functions(shared: Runtime) -> None:
    """The kernels of single functions, built together."""
    with ocl.use(shared), rehearsal(shared):
        for name in [*OF_FLOATS, *OF_BOOLS]:
            hosts = operands(arity(TABLE[name]))
            getattr(ocl, name)(*map(of, hosts)).compute()
            getattr(ocl, name)(*map(ocl.asarray, hosts)).compute()


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", OF_FLOATS)
@pytest.mark.usefixtures("functions")
def test_a_function_is_that_of_float32_rounded(name: str) -> None:
    hosts = operands(arity(TABLE[name]))
    function = getattr(ocl, name)
    result = function(*map(of, hosts))
    assert result.dtype is BF16
    with np.errstate(all="ignore"):
        if name in {"add", "subtract", "multiply", "negative", "abs", "floor", "ceil", "trunc", "maximum", "minimum"}:
            assert_rounded(result, getattr(np, name)(*hosts), zeros=name not in {"maximum", "minimum"})
    assert_rounded(result, function(*map(ocl.asarray, hosts)).numpy(), zeros=name not in {"maximum", "minimum"})


@pytest.mark.parametrize("name", OF_BOOLS)
@pytest.mark.usefixtures("functions")
def test_a_function_that_gives_bools_is_that_of_float32(name: str) -> None:
    hosts = operands(arity(TABLE[name]))
    function = getattr(ocl, name)
    assert_same(function(*map(of, hosts)).numpy(), function(*map(ocl.asarray, hosts)).numpy())
    assert_same(function(*map(of, hosts)).numpy(), getattr(np, name)(*hosts))


def test_other_functions() -> None:
    x, y = numbers(50), numbers(50, seed=1)
    assert_rounded(ocl.clip(of(x), -1, 0.3), np.clip(x, -1, rounded(0.3)))
    assert_rounded(ocl.where(ocl.asarray(x > 0), of(x), of(y)), np.where(x > 0, x, y))
    assert_rounded(+of(x), x)
    assert_rounded(of(x) ** 2, x * x)
    assert_rounded(of(x) ** 3, ocl.pow(ocl.asarray(x), 3.0).numpy())
    assert_rounded(ocl.sqrt(of(abs(x))), np.sqrt(abs(x)))
    assert_rounded(1 / of(x), 1 / x)
    assert_rounded(ocl.real(of(x)), x)


def test_each_operation_rounds_and_fusion_changes_nothing(runtime: Runtime) -> None:
    x, y = numbers(77), numbers(77, seed=1)
    fused = (of(x) * of(y) + 0.1) * of(x) - of(y)
    assert_rounded(fused, rounded(rounded(rounded(rounded(x * y) + rounded(0.1)) * x) - y))
    assert (rounded((x * y + rounded(0.1)) * x - y) != rounded(fused.numpy())).any(), "rounding once would do the same"
    parts = [of(x) * of(y)]
    for step in (lambda z: z + 0.1, lambda z: z * of(x), lambda z: z - of(y)):
        parts.append(step(parts[-1].compute()))
    assert np.array_equal(bits_in(parts[-1]), bits_in(fused))
    with counting(runtime) as counted:
        ((of(x) * of(y) + 0.1) * of(x) - of(y)).compute()
    assert counted["launch", "launches"] == 1


def test_nan_stays_nan() -> None:
    sneaky = np.array([0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF], "u4").view("f4")
    for x in (of(sneaky), ocl.asarray(sneaky).astype(BF16), of(ocl.asarray(sneaky)) + 1, of([np.nan]) * 0):
        assert np.isnan(np.asarray(x.numpy(), "f4")).all()
        assert ocl.all(ocl.isnan(x))
    filled = ocl.full((5,), float("nan"), dtype=BF16).copy()
    filled[:2] = float("nan")
    assert ocl.all(ocl.isnan(filled))


def test_bits_of_integers_are_asked_of_integers() -> None:
    x = of([1.0])
    for name, row in TABLE.items():
        if row.rule in {"bits", "count"} or name == "nextafter":
            with pytest.raises(DTypeError, match=f"{name} does not take bfloat16[^$]*convert"):
                getattr(ocl, name)(*[x] * arity(row))
    with pytest.raises(DTypeError, match=r"index array of bfloat16|bfloat16 is no|array of bfloat16"):
        ocl.arange(3)[x]
    with pytest.raises(DTypeError, match="index array of bfloat16"):
        ocl.take(ocl.arange(3), x)


# ---------------------------------------------------------------------- reductions, scans, products


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("shape", "axis"),
    [*(((3, 40, 7), axis) for axis in (None, 1, (0, 2), -1)), ((2, 3, 700), -1), ((0, 2, 3), 0), ((0, 2, 3), 1)],
)
def test_reductions_add_up_in_float32(shape: tuple[int, ...], axis: Any) -> None:
    for host in (numbers(*shape), rounded(100 + abs(numbers(*shape, seed=2)))):
        x, wide = of(host), ocl.asarray(host)
        for function in (ocl.sum, ocl.prod, ocl.mean, ocl.var):
            with np.errstate(all="ignore"):
                assert_rounded(function(x, axis=axis), function(wide, axis=axis).numpy())
        assert_rounded(ocl.std(x, axis=axis), np.sqrt(rounded(ocl.var(wide, axis=axis).numpy())))
        for function in (ocl.any, ocl.all, ocl.count_nonzero):
            assert_same(function(x, axis=axis).numpy(), function(wide, axis=axis).numpy())
        if host.size:
            for name in ("max", "min"):
                assert_rounded(getattr(ocl, name)(x, axis=axis), getattr(np, name)(host, axis=axis))
            if not isinstance(axis, tuple):
                assert_same(ocl.argmax(x, axis=axis).numpy(), np.asarray(np.argmax(host, axis=axis)))
                assert_same(ocl.argmin(x, axis=axis).numpy(), np.asarray(np.argmin(host, axis=axis)))
        assert_same(ocl.sum(x, axis=axis, dtype="f4").numpy(), ocl.sum(wide, axis=axis).numpy())
        assert_rounded(ocl.sum(wide, axis=axis, dtype=BF16), ocl.sum(x.astype("f4"), axis=axis).numpy())


def test_sums_of_many_do_not_stop_growing() -> None:
    assert float(ocl.sum(ocl.ones(100_000, dtype=BF16))) == rounded(100_000)
    assert float(ocl.mean(ocl.full(100_000, 3e38, dtype=BF16) / 2)) > 1e38


@pytest.mark.parametrize("axis", [0, 1])
def test_scans_add_up_in_float32(axis: int) -> None:
    host = whole(3, 500)
    assert_rounded(ocl.cumulative_sum(of(host), axis=axis), np.cumsum(host, axis=axis))
    signs = np.sign(host) + (host == 0)
    assert_rounded(ocl.cumulative_prod(of(signs), axis=axis), np.cumprod(signs, axis=axis))
    assert_rounded(ocl.cumulative_sum(of(host), axis=axis, include_initial=True)[:1, :1], np.zeros((1, 1)))


@pytest.mark.parametrize("shape", [(5, 7, 9), (33, 64, 20), (1, 300, 1), (4, 0, 3)])
def test_products_add_up_in_float32(shape: tuple[int, int, int]) -> None:
    rows, common, columns = shape
    a, b = whole(rows, common), whole(common, columns, seed=1)
    assert_rounded(of(a) @ of(b), a @ b)
    assert_rounded(ocl.vecdot(of(a), of(a)), (a * a).sum(axis=-1))
    assert_rounded(ocl.tensordot(of(a), of(b), axes=1), a @ b)
    assert (of(a) @ ocl.asarray(b)).dtype == np.float32
    assert_rounded(ocl.matrix_transpose(of(a)) * 2, a.T * 2)


def test_fused_softmax() -> None:
    x = of(numbers(20, 333))
    shifted = x - ocl.max(x, axis=1, keepdims=True)
    found = ocl.exp(shifted) / ocl.sum(ocl.exp(shifted), axis=1, keepdims=True)
    pieces = ocl.exp((x - ocl.max(x, axis=1, keepdims=True).compute()).compute()).compute()
    apart = pieces / ocl.sum(pieces, axis=1, keepdims=True).compute()
    assert np.array_equal(bits_in(found), bits_in(apart))


# ---------------------------------------------------------------------- movement and writes, of bits


HOST = np.random.default_rng(5).integers(0, 2**16, (12, 10)).astype(np.uint16)
HOST[(HOST & 0x7FFF) > 0x7F80] = 0x7FC0
MOVES: dict[str, Callable[[Any, Any], Any]] = {
    "a part": lambda xp, x: x[1:-1:2, ::-1],
    "transposed": lambda xp, x: x.T,
    "reshaped": lambda xp, x: xp.reshape(x.T, (5, 24)),
    "joined": lambda xp, x: xp.concat([x, x[::-1]], axis=1),
    "stacked": lambda xp, x: xp.stack([x, x]),
    "rolled": lambda xp, x: xp.roll(x, 3, axis=0),
    "repeated": lambda xp, x: xp.repeat(x, 2, axis=1),
    "tiled": lambda xp, x: xp.tile(x, (2, 1)),
    "taken": lambda xp, x: xp.take(x, xp.asarray([3, 3, 0, 11]), axis=0),
    "gathered": lambda xp, x: x[xp.asarray([3, 0, 11]), xp.asarray([9, 9, 1])],
    "masked": lambda xp, x: x[xp.asarray(HOST % 3 == 0)],
    "broadcast": lambda xp, x: xp.broadcast_to(x[:, None, :], (12, 4, 10)),
    "flipped": lambda xp, x: xp.flip(x, axis=1),
    "an element": lambda xp, x: x[3, 4],
}


def raw(x: np.ndarray) -> ocl.Array:
    return of(values(x))


@pytest.mark.parametrize("move", MOVES)
def test_movement_moves_bits(move: str) -> None:
    assert np.array_equal(bits_in(MOVES[move](ocl, raw(HOST))), MOVES[move](np, HOST))


def test_writes_write_bits() -> None:
    x, host = raw(HOST), HOST.copy()
    before, view = x * 1, x[2:5]
    for target in (x, host):
        new = raw(HOST[:3]) if target is x else HOST[:3]
        xp: Any = ocl if target is x else np
        target[2:5] = new
        target[xp.asarray([0, 7, 0])] = new
        target[xp.asarray(HOST % 5 == 0)] = target[0, 0]
        target[:, 3] = target[:, 4]
    assert np.array_equal(bits_in(x), host)
    assert np.array_equal(bits_in(view), host[2:5])
    kept = (HOST & 0x7F80) != 0  # products may flush subnormals
    assert np.array_equal(bits_in(before)[kept], HOST[kept])


def test_operations_in_place() -> None:
    host = numbers(40)
    x = of(host)
    x += 1.5
    x[::2] *= of(host[::2])
    expected = rounded(host + 1.5)
    expected[::2] = rounded(expected[::2] * host[::2])
    assert_rounded(x, expected)
    x += ocl.asarray(host)  # float32, which has the same kind
    assert_rounded(x, expected + host)
    counts = ocl.asarray(np.arange(4))
    with pytest.raises(DTypeError, match="in place gives"):
        counts += of([1.0])
    out = ocl.allocate(40, dtype=BF16)
    ocl.compute_into(out, of(host) * 2)
    assert_rounded(out, host * 2)
    with pytest.raises(DTypeError, match="compute_into bfloat16 from float32"):
        ocl.compute_into(out, ocl.asarray(host))


def test_sums_at_places_are_rounded_once(runtime: Runtime) -> None:
    where, addends = np.arange(300) % 7, whole(300)
    expected = np.zeros(7, "f4")
    np.add.at(expected, where, addends)
    x = ocl.zeros(7, dtype=BF16)
    if not runtime.executor.target.atomics64:
        with pytest.raises(DTypeError, match="add_at in bfloat16"):
            ocl.add_at(x, ocl.asarray(where), of(addends))
        return
    ocl.add_at(x, ocl.asarray(where), of(addends))
    assert_rounded(x, expected)
    assert_rounded(ocl.bincount(ocl.asarray(where), weights=of(addends)), expected)


def test_histograms_have_edges_of_float32() -> None:
    counts, edges = ocl.histogram(of(np.arange(200)), bins=300)
    expected, wanted = np.histogram(rounded(np.arange(200)), bins=300)
    assert edges.dtype == np.float32
    assert_same(edges.numpy(), wanted.astype("f4"))
    assert counts.numpy().sum() == expected.sum() == 200


# ---------------------------------------------------------------------- programs and plans


def test_captured_functions_take_it() -> None:
    @ocl.capture
    def step(x: ocl.Array, y: ocl.Array) -> ocl.Array:
        return ocl.sum(x * y + 0.1, axis=0)

    host = numbers(9, 20)
    for turn in range(3):
        for dtype in (BF16, "f4", "f2"):
            x = ocl.asarray(host + turn, dtype=dtype)
            found, expected = step(x, x), ocl.sum(x * x + 0.1, axis=0)
            assert found.dtype == x.dtype
            assert np.array_equal(found.numpy(), expected.numpy())


def test_plans_tell_it_from_integers_of_the_same_width(device: Device, tmp_path: Path) -> None:
    for _ in range(2):  # the second time with what is on disk
        with ocl.use(Runtime(device, Settings(cache_folder=tmp_path))):
            for x, expected in ((of([1.5, 2.0]), 3.0), (ocl.asarray(np.array([1, 2], "u2")), 2)):
                for _ in range(2):
                    assert (x + x).numpy().tolist()[0] == expected
                    assert ocl.sum(x).numpy().item() == sum(x.tolist())
            assert ocl.ones(2, dtype=BF16).copy().numpy().tolist() == [1.0, 1.0]


# ---------------------------------------------------------------------- DLPack

_BFLOAT = 4


class Offering:
    """Who offers bfloat16 by DLPack alone, as torch does but for the names: integers whose type is another."""

    dtype = "their.bfloat16"

    def __init__(self, host: np.ndarray, *, versioned: bool = True) -> None:
        self.host = host
        self.versioned = versioned

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, *, max_version: Any = None, **asked: Any) -> Any:
        asked = {"max_version": max_version} if self.versioned and max_version else {}
        capsule = self.host.__dlpack__(**asked)
        field_of_type(capsule)[0] = _BFLOAT
        return capsule


class Refusing(Offering):
    """The same with an `__array__` that knows no such dtype."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError("Got unsupported ScalarType BFloat16")


def field_of_type(capsule: Any) -> Any:
    """Code, bits and (2 bytes) lanes in a capsule of DLPack, by their offsets on a machine of 64 bits."""
    pointer, name = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_GetName
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    called = name(capsule)
    at = pointer(capsule, called) + {b"dltensor": 20, b"dltensor_versioned": 8 + 8 + 8 + 8 + 20}[called]
    return (ctypes.c_uint8 * 4).from_address(at)


class Taking:
    """Who takes a capsule, and passes it to NumPy as integers once it has seen its type."""

    def __init__(self, x: ocl.Array, **asked: Any) -> None:
        self.x, self.asked, self.seen = x, asked, []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.x.__dlpack_device__()

    def __dlpack__(self, **asked: Any) -> Any:
        capsule = self.x.__dlpack__(**self.asked)
        field = field_of_type(capsule)
        self.seen = list(field)
        field[0] = 1
        return capsule


@pytest.mark.parametrize("asked", [{}, {"max_version": (1, 0)}, {"max_version": (1, 1), "copy": True}])
@pytest.mark.parametrize("index", [np.s_[:], np.s_[1:3, ::2], np.s_[::-1], np.s_[2, 3], np.s_[4:4]])
@pytest.mark.usefixtures("road")
def test_dlpack_gives_bfloat16(index: Any, asked: dict[str, Any]) -> None:
    taking = Taking(raw(HOST)[index], **asked)
    taken = np.from_dlpack(taking)
    assert taking.seen == [_BFLOAT, 16, 1, 0]
    assert taken.dtype == np.uint16
    assert np.array_equal(np.where((taken & 0x7FFF) > 0x7F80, 0x7FC0, taken), HOST[index])


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("index", [np.s_[:], np.s_[1:3, ::2], np.s_[2, 3], np.s_[4:4]])
@pytest.mark.usefixtures("road")
def test_dlpack_takes_bfloat16(index: Any, versioned: bool) -> None:
    host = np.asarray(HOST[index])
    for x in (
        ocl.from_dlpack(Offering(host, versioned=versioned)),
        ocl.asarray(Offering(host, versioned=versioned)),
        ocl.asarray(Refusing(host, versioned=versioned)),
        onp.from_dlpack(Offering(host, versioned=versioned)),
    ):
        assert np.array_equal(bits_in(x), host)
    wide = ocl.asarray(Refusing(host), dtype="f4").numpy()
    assert_same(wide, values(host))
    assert np.array_equal(bits_in(ocl.from_dlpack(Taking(raw(host)).x)), host)


def test_numpy_says_that_it_has_no_such_dlpack() -> None:
    with pytest.raises((BufferError, RuntimeError, TypeError)):
        np.from_dlpack(raw(HOST))


@ocl.kernel
def scaled(x: Array1[BF16], y: Any) -> None:
    i = global_id(0)
    y[i] = x[i] * 3 + 0.1


@ocl.elementwise
def line(x: Any, factor: Any) -> Any:
    return x * factor + 0.5


@ocl.reduction(-np.inf)
def greatest(a: Any, b: Any) -> Any:
    return maximum(a, b)


@ocl.scan(-np.inf)
def running(a: Any, b: Any) -> Any:
    return maximum(a, b)


def test_kernels_compute_in_float32_and_store_rounded() -> None:
    host = numbers(16)
    for mode in (scaled, scaled.interpret, scaled.checked):
        x, y = of(host), ocl.zeros(16, dtype=BF16)
        mode[16](x, y)
        assert_rounded(y, host * np.float32(3) + np.float32(0.1))
        assert_rounded(x, host)
    with pytest.raises(DTypeError, match=r"got an array of float32[^$]*takes an array of bfloat16"):
        scaled[16](ocl.asarray(host), y)


def test_functions_of_elements_see_float32() -> None:
    host = numbers(30)
    x = of(host)
    for function in (line, line.interpret):
        assert_same(function(x, 0.3).numpy(), host * np.float32(0.3) + np.float32(0.5))
    for join in (greatest, greatest.interpret):
        assert_same(join(x).numpy(), np.asarray(host.max()))
    for join in (running, running.interpret):
        assert_same(join(x).numpy(), np.maximum.accumulate(host))


def test_kernels_in_opencl_c_have_the_bits() -> None:
    kernel = ocl.RawKernel("__kernel void next(__global ushort *x) { x[get_global_id(0)] += 1; }", "next")
    x = of([1.0, 2.0])
    kernel((2,), (1,), (x,))
    assert bits_in(x).tolist() == [0x3F81, 0x4001]
    twice = ocl.ElementwiseKernel("T x", "T y", "y = x * 2", "twice")
    with pytest.raises(DTypeError, match=r"twice got bfloat16 for x[^$]*convert it"):
        twice(x)


def test_pyopencl_gets_the_bits() -> None:
    x = of(numbers(10)).compute()
    theirs = x.to_pyopencl()
    assert theirs.dtype == np.uint16
    assert np.array_equal(theirs.get(), bits(numbers(10)))
    mine = cl.array.to_device(ocl.current().queue, bits(numbers(10)))
    assert_rounded(ocl.from_pyopencl(mine.base_data, dtype=BF16) * 1, numbers(10))


@ocl.kernel(local=8)
def turned(x: Any, y: Any, kind: Any) -> None:
    i = global_id(0)
    shared = local_array(8, kind)
    shared[local_id(0)] = x[i] * 3
    barrier()
    if x.dtype == BF16:
        y[i] = shared[7 - local_id(0)]


@ocl.kernel
def cast(x: Any) -> None:
    x[global_id(0)] = BF16(x[global_id(0)])


def test_kernels_name_the_dtype() -> None:
    host = numbers(16)
    for mode in (turned, turned.interpret):
        for kind in (BF16, np.float32):
            y = ocl.zeros(16, dtype=BF16)
            mode[16](of(host), y, kind)
            assert_rounded(y, (host * 3).reshape(2, 8)[:, ::-1].reshape(16))
    with pytest.raises(DTypeError, match="bfloat16 is a dtype of memory only"):
        cast[16](of(host))
