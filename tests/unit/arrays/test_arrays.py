from __future__ import annotations

import inspect
import operator
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.ops import OPS
from ocl_ir.types import F64
from ocl_runtime.arrays import current_runtime
from ocl_runtime.arrays.array import Array
from ocl_runtime.arrays.meaning.semantics import arity
from ocl_runtime.arrays.meaning.table import TABLE
from ocl_runtime.errors import (
    DTypeError,
    Error,
    MixedDevicesError,
    NoDeviceError,
    NumberRangeError,
    RankError,
    ShapeError,
    SharingError,
)
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime


@pytest.fixture(autouse=True)
def runtime() -> Iterator[InterpretedRuntime]:
    with xp.use(InterpretedRuntime()) as made, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield made


FLOATS = np.array([-np.inf, -2.5, -1.0, -0.5, -0.0, 0.0, 0.3, 0.5, 1.0, 2.5, 7.0, np.inf, np.nan], "f4")
INTS = np.array([-128, -7, -2, -1, 0, 1, 2, 3, 5, 127], "i1")
OTHER_INTS = np.array([3, -2, 0, -1, 1, 7, 2, 0, 4, 5], "i1")
BOOLS = np.array([True, False, True, False])
OTHER_BOOLS = np.array([True, True, False, False])


def reference(name: str) -> Callable[..., Any]:
    if not hasattr(np, name):
        return OPS[TABLE[name].op].reference
    return getattr(np, name)


def same(found: Array, expected: np.ndarray, rtol: float = 3e-6) -> None:
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=rtol, atol=1e-6)


# ---------------------------------------------------------------------- elementwise functions


@pytest.mark.parametrize("name", TABLE)
def test_functions_of_floats_are_numpys(name: str) -> None:
    row, function = TABLE[name], getattr(xp, name)
    given = [FLOATS, FLOATS[::-1].copy(), np.roll(FLOATS, 3)][: arity(row)]
    if row.rule in {"bits", "count"}:
        with pytest.raises(DTypeError, match=f"{name} does not take float32"):
            function(*map(xp.asarray, given))
        return
    same(function(*map(xp.asarray, given)), reference(name)(*given), rtol=2e-5)


@pytest.mark.parametrize("name", TABLE)
def test_functions_of_integers_are_numpys(name: str) -> None:
    row = TABLE[name]
    given = [INTS, np.abs(OTHER_INTS) if name in {"pow"} or "shift" in name else OTHER_INTS, INTS[::-1]][: arity(row)]
    expected = reference(name)(*given)
    if row.rule == "real":
        expected = reference(name)(*(x.astype("f4") for x in given))
    elif row.rule == "count":
        expected = expected.astype("u1")
    same(getattr(xp, name)(*map(xp.asarray, given)), expected, rtol=2e-5)


@pytest.mark.parametrize("name", TABLE)
def test_functions_of_bools_are_numpys(name: str) -> None:
    row = TABLE[name]
    given = [BOOLS, OTHER_BOOLS, ~BOOLS][: arity(row)]
    if name in {"subtract", "negative", "sign"}:
        with pytest.raises(DTypeError, match=f"{name} does not take bool"):
            getattr(xp, name)(*map(xp.asarray, given))
        return
    try:
        expected = reference(name)(*(given if row.rule != "count" else (x.astype("u1") for x in given)))
    except TypeError:
        expected = reference(name)(*(x.astype("u1") for x in given)).astype("?")
    if row.rule == "real":
        expected = reference(name)(*(x.astype("f4") for x in given))
    elif row.rule == "rounding":
        expected = given[0]
    same(getattr(xp, name)(*map(xp.asarray, given)), expected, rtol=2e-5)


@pytest.mark.parametrize("name", TABLE)
def test_functions_have_signatures_and_texts(name: str) -> None:
    function = getattr(xp, name)
    assert function.__name__ == name
    operands = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    assert len(operands) == arity(TABLE[name])
    assert "Raises `DTypeError`" in function.__doc__


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u4", "i8", "u8"])
def test_bits_are_counted(dtype: str) -> None:
    info = np.iinfo(dtype)
    host = np.array([info.min, info.min + 1, 0, 1, 2, 3, 100, info.max - 1, info.max], dtype)
    same(xp.bitwise_count(xp.asarray(host)), np.bitwise_count(host))  # of the absolute value, as NumPy's
    zeros = [info.bits - (int(value) % (1 << info.bits)).bit_length() for value in host]
    same(xp.clz(xp.asarray(host)), np.array(zeros, "u1"))


def test_fma_rounds_once() -> None:
    x = np.float32(1) + np.float32(2**-12)
    found = float(xp.fma(xp.asarray(x), xp.asarray(x), -1 - 2.0**-11))
    assert found == 2.0**-24
    same(xp.fma(xp.asarray([[1.0], [2.0]]), xp.asarray([3.0, 4.0]), 0.5), np.array([[3.5, 4.5], [6.5, 8.5]], "f4"))


def test_compositions() -> None:
    x, y = xp.asarray(FLOATS), xp.asarray(FLOATS[::-1].copy())
    same(xp.square(x), np.square(FLOATS))
    same(xp.reciprocal(x), 1 / FLOATS)
    same(xp.reciprocal(xp.asarray(INTS)), np.float32(1) / INTS.astype("f4"))
    assert xp.positive(x) is not x
    same(xp.positive(x), FLOATS)
    for a in (x, xp.asarray(FLOATS)):
        same(xp.logaddexp(a, y), np.logaddexp(FLOATS, FLOATS[::-1]))
        same(xp.logaddexp(a, a), np.logaddexp(FLOATS, FLOATS))


def test_clip() -> None:
    x = xp.asarray(FLOATS)
    same(xp.clip(x, -1, 2.0), np.clip(FLOATS, -1, 2.0))
    same(xp.clip(x, min=0.25), np.clip(FLOATS, 0.25, None))
    same(xp.clip(x, max=xp.asarray([[0.25], [1.0]])), np.clip(FLOATS, None, np.array([[0.25], [1.0]], "f4")))
    same(xp.clip(x), FLOATS)
    same(xp.clip(xp.asarray(INTS), 2, -2), np.clip(INTS, 2, -2))
    same(xp.clip(xp.asarray(INTS), 1.5, 2.5), np.clip(INTS, 1.5, 2.5).astype("f4"))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "u8"])
def test_clip_takes_integers_beyond_the_dtype_where_they_limit_nothing(dtype: str) -> None:
    info = np.iinfo(dtype)
    host = np.array([info.min, 0, 1, info.max], dtype)
    x = xp.asarray(host)
    for low, high in [(info.min - 1, info.max + 1), (info.min - 2**70, 1), (1, info.max + 2**70), (None, info.max + 1)]:
        same(xp.clip(x, low, high), np.clip(host, low, high))
    for low, high in [(info.max + 1, None), (None, info.min - 1)]:
        with pytest.raises(NumberRangeError):
            xp.clip(x, low, high)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u4", "i8", "u8"])
def test_comparisons_with_integers_beyond_the_dtype_answer(dtype: str) -> None:
    info = np.iinfo(dtype)
    host = np.array([info.min, 0, 1, info.max], dtype)
    x = xp.asarray(host)
    for number in (info.min - 1, info.max + 1, -(2**70), 2**70):
        for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
            same(compare(x, number), compare(host, number))
            same(compare(number, x), compare(number, host))


def test_where() -> None:
    x = xp.asarray(FLOATS)
    same(xp.where(x > 0, x, 0), np.where(FLOATS > 0, FLOATS, np.float32(0)))
    same(xp.where(x > 0, 1, 2), np.where(FLOATS > 0, 1, 2))
    same(xp.where(xp.asarray([[True], [False]]), x, -x), np.where([[True], [False]], FLOATS, -FLOATS))
    with pytest.raises(DTypeError, match="the condition of where is float32"):
        xp.where(x, x, 0)
    same(xp.where(True, x, 0), FLOATS)
    same(xp.where([True, False], [1, 2], 0), np.where([True, False], [1, 2], 0))


@pytest.mark.parametrize("to", ["?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8"])
@pytest.mark.parametrize("from_", ["?", "i1", "u2", "i8", "f2", "f4", "f8"])
def test_astype(from_: str, to: str) -> None:
    host = np.array([0, 1, 2, 100, 127]).astype(from_)
    same(xp.astype(xp.asarray(host), to), host.astype(to))
    same(xp.astype(xp.asarray(host)[0] + xp.zeros((), dtype=host.dtype), to), host[:1].reshape(()).astype(to))


# ---------------------------------------------------------------------- promotion

DTYPES = ["?", "i1", "i4", "i8", "u1", "u8", "f2", "f4", "f8"]


@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("right", DTYPES)
def test_arrays_promote_as_numpys(left: str, right: str) -> None:
    x, y = np.ones(2, left), np.ones(2, right)
    assert (xp.asarray(x) * xp.asarray(y)).dtype == (x * y).dtype
    assert xp.result_type(xp.asarray(x), y.dtype) == np.result_type(x, y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [True, 3, 2.5])
def test_python_numbers_are_weak(dtype: str, number: float) -> None:
    x = np.ones(2, dtype)
    expected = (x * number).dtype
    if isinstance(number, float) and x.dtype.kind in "?iub":
        expected = np.dtype("f4")  # the default real dtype, where NumPy has float64
    for found in (xp.asarray(x) * number, number * xp.asarray(x)):
        assert found.dtype == expected
        np.testing.assert_array_equal(found.numpy(), (x * number).astype(expected))


def test_numpy_scalars_have_their_dtype() -> None:
    x = xp.asarray(np.ones(2, "f4"))
    assert (x * np.float64(2)).dtype == np.float64
    assert (np.float64(2) * x).dtype == np.float64
    assert (x + np.int8(1)).dtype == np.float32
    same(np.int64(3) - xp.asarray(INTS), np.int64(3) - INTS)


def test_the_default_real_is_a_setting() -> None:
    with xp.use(InterpretedRuntime(default_real=F64)):
        assert xp.zeros(3).dtype == np.float64
        assert (xp.arange(3) / 2).dtype == np.float64
        assert xp.asarray([1.5]).dtype == np.float64
        assert xp.sin(xp.arange(3)).dtype == np.float64
    assert xp.mean(xp.arange(3)).dtype == np.float32


@pytest.mark.parametrize(
    ("dtype", "number"), [("u1", 300), ("u1", -1), ("i1", 128), ("u8", 2**64), ("i8", -(2**63) - 1)]
)
def test_numbers_out_of_range_are_refused(dtype: str, number: int) -> None:
    with pytest.raises(NumberRangeError, match=f"{number} is out of range for") as caught:
        xp.asarray(np.ones(2, dtype)) + number
    assert isinstance(caught.value, OverflowError)
    with pytest.raises(NumberRangeError, match="too large for float32"):
        xp.zeros(2) + 10**400


def test_dtype_questions() -> None:
    assert xp.can_cast(xp.int8, xp.int16)
    assert not xp.can_cast(xp.zeros(1), "i4")
    assert xp.isdtype(xp.float32, "real floating")
    assert xp.isdtype(xp.uint8, ("bool", "unsigned integer"))
    assert xp.isdtype(xp.uint8, xp.uint8)
    assert not xp.isdtype(xp.bool, "numeric")
    assert xp.finfo(xp.float16).max == 65504
    assert xp.iinfo(xp.zeros(1, dtype="i2")).max == 32767
    assert xp.result_type(xp.int8, 3, 2.5) == np.float32


# ---------------------------------------------------------------------- operators


def test_operators() -> None:
    a, b = np.array([7, -3, 5], "i4"), np.array([2, 3, 1], "i4")
    x, y = xp.asarray(a), xp.asarray(b)
    for found, expected in [
        (x + y, a + b), (x - y, a - b), (x * y, a * b), (x // y, a // b), (x % y, a % b), (x**y, a**b), (x & y, a & b),
        (x | y, a | b), (x ^ y, a ^ b), (x << y, a << b), (x >> y, a >> b), (x < y, a < b), (x <= y, a <= b),
        (x > y, a > b), (x >= y, a >= b), (x == y, a == b), (x != y, a != b), (-x, -a), (+x, +a), (abs(x), abs(a)),
        (~x, ~a), (1 + x, 1 + a), (1 - x, 1 - a), (2 * x, 2 * a), (7 // y, 7 // b), (7 % y, 7 % b), (2**y, 2**b),
        (6 & y, 6 & b), (6 | y, 6 | b), (6 ^ y, 6 ^ b), (1 << y, 1 << b), (64 >> y, 64 >> b), (x > 3, a > 3),
    ]:  # fmt: skip
        same(found, expected)
    same(x / y, (a / b).astype("f4"))
    same(1 / y, (1 / b).astype("f4"))
    x += 1
    same(x, a + 1)


def test_shapes_broadcast() -> None:
    a, b = np.arange(6, dtype="f4").reshape(2, 1, 3), np.arange(4, dtype="f4").reshape(4, 1)
    same(xp.asarray(a) + xp.asarray(b), a + b)
    with pytest.raises(ShapeError, match=r"shapes \(2, 3\) and \(4,\) do not broadcast"):
        xp.zeros((2, 3)) + xp.zeros(4)


# ---------------------------------------------------------------------- values


def test_single_elements_are_numbers() -> None:
    x = xp.asarray(7)
    assert (bool(x), int(x), float(x), complex(x), range(10)[x]) == (True, 7, 7.0, 7 + 0j, 7)
    for convert in (int, float, complex):
        for shape in ((1,), (2, 3)):
            with pytest.raises(
                RankError, match=rf"{convert.__name__} of an array of shape {re.escape(str(shape))}"
            ) as caught:
                convert(xp.zeros(shape))
            assert isinstance(caught.value, TypeError)
    with pytest.raises(ValueError, match=r"bool of an array of shape \(2,\)") as refused:
        bool(xp.zeros(2))
    assert not isinstance(refused.value, TypeError)
    assert bool(xp.ones((1, 1)))
    with pytest.raises(DTypeError, match="an array of float32 is no index"):
        range(10)[xp.asarray(1.5)]


def test_values_are_computed_once(runtime: InterpretedRuntime) -> None:
    x = xp.asarray(FLOATS) * 2 + 1
    assert runtime.launched == []
    x.numpy()
    x.numpy()
    assert x.compute() is x
    (x + 1).numpy()
    assert [launch.kernel.name for launch in runtime.launched] == ["mul_add", "add"]


def test_views_share_storage(runtime: InterpretedRuntime) -> None:
    x = xp.arange(24, dtype="f4").compute()
    before = runtime.allocations.total()
    views = [
        x[3:],
        xp.reshape(x, (4, 6)).T,
        xp.flip(x),
        xp.broadcast_to(x, (3, 24)),
        xp.reshape(x, (2, 3, 4))[:, 1, ::2],
    ]
    for view in views:
        view.numpy()
        assert view._node.storage is x._node.storage  # type: ignore[union-attr]
    assert runtime.allocations.total() == before
    assert len(runtime.launched) == 1
    np.testing.assert_array_equal(views[4].numpy(), np.arange(24, dtype="f4").reshape(2, 3, 4)[:, 1, ::2])


def test_a_sparse_view_is_gathered_before_it_is_downloaded(runtime: InterpretedRuntime) -> None:
    x = xp.arange(1000).compute()
    np.testing.assert_array_equal(x[::100].numpy(), np.arange(1000)[::100])
    assert [launch.kernel.name for launch in runtime.launched][1:] == ["copy"]


def test_results_that_are_computed_together(runtime: InterpretedRuntime) -> None:
    root = xp.sqrt(xp.abs(xp.asarray(FLOATS)))
    one, two = root + 1, xp.exp(root)
    done = xp.asarray([1.0])
    xp.compute(root, one, two, done)
    assert len(runtime.launched) == 1
    assert all(repr(x).startswith("Array([") for x in (root, one, two))
    xp.compute()


def test_numpy_takes_arrays() -> None:
    x = xp.arange(3) * 2
    assert np.asarray(x).tolist() == [0, 2, 4]
    assert np.asarray(x, dtype="f4").dtype == np.float32
    with pytest.raises(Error, match="cannot be had without a copy"):
        np.array(x, copy=False)


def test_repr(runtime: InterpretedRuntime) -> None:
    x = xp.arange(3, dtype="i4") + 1
    on = f"device={runtime.device}"
    assert str(x) == repr(x) == f"Array([1, 2, 3], shape=(3,), dtype=int32, {on})"
    x = xp.arange(100)
    assert repr(x) == f"Array([ 0,  1,  2, ..., 97, 98, 99], shape=(100,), dtype=int64, {on})"
    host = np.arange(20 * 5 * 9).reshape(20, 5, 9)
    shown = np.array2string(host, separator=", ", prefix="Array(", threshold=0)
    shown = shown if "..." in shown else ""
    assert repr(xp.asarray(host[:, ::-1])).startswith("Array([[[ 36,  37,  38, ...,  42,  43,  44],")
    assert repr(xp.asarray(host)) == f"Array({shown}, shape=(20, 5, 9), dtype=int64, {on})"
    assert repr(xp.zeros((0, 2)).compute()) == f"Array([], shape=(0, 2), dtype=float32, {on})"


def test_attributes(runtime: InterpretedRuntime) -> None:
    x = xp.zeros((2, 3, 4), dtype="i2")
    assert (x.shape, x.ndim, x.size, x.dtype, x.device, len(x)) == ((2, 3, 4), 3, 24, np.int16, runtime.device, 2)
    assert x.mT.shape == (2, 4, 3)
    assert x[0].T.shape == (4, 3)
    assert x.__array_namespace__() is sys.modules["ocl_runtime"]
    assert xp.zeros((2, 3, 4)).T.shape == (4, 3, 2)
    assert x.__array_namespace__(api_version="2025.12") is sys.modules["ocl_runtime"]
    assert [part.shape for part in x] == [(3, 4)] * 2
    with pytest.raises(TypeError):
        hash(x)


def test_an_empty_array_has_no_memory(runtime: InterpretedRuntime) -> None:
    for x in (xp.zeros((0, 3)) + 1, xp.asarray([]), xp.asarray(np.zeros((2, 0))), xp.arange(5)[5:] * 2):
        assert x.numpy().shape == x.shape
    assert xp.sum(xp.zeros((0, 3)), axis=0).numpy().tolist() == [0, 0, 0]
    assert float(xp.prod(xp.zeros(0))) == 1
    assert (bool(xp.any(xp.zeros(0))), bool(xp.all(xp.zeros(0)))) == (False, True)
    assert np.isnan(float(xp.mean(xp.zeros(0))))
    assert not any(launch.kernel.name == "add" for launch in runtime.launched)


def test_threads_may_use_one_array(runtime: InterpretedRuntime) -> None:
    x = xp.asarray(FLOATS) * 2
    found = []
    threads = [threading.Thread(target=lambda: found.append((x + 1).numpy())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for values in found:
        np.testing.assert_array_equal(values, FLOATS * 2 + 1)
    assert len(found) == 4


# ---------------------------------------------------------------------- creation


def test_asarray_copies_at_the_call() -> None:
    host = np.arange(6, dtype="f4").reshape(2, 3)
    x, turned = xp.asarray(host), xp.asarray(host.T[::-1])
    expected = host.T[::-1].copy()
    host[:] = 0
    np.testing.assert_array_equal(x.numpy(), np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(turned.numpy(), expected)


class Offers:
    """Something with __array__."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.arange(3, dtype="i2")


class OffersDLPack:
    """Something with DLPack alone."""

    def __init__(self) -> None:
        self._host = np.arange(3, dtype="f4")

    def __dlpack__(self, **more: Any) -> Any:
        return self._host.__dlpack__(**more)

    def __dlpack_device__(self) -> Any:
        return self._host.__dlpack_device__()


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        (3, "i8"), (True, "?"), (2.5, "f4"), ([1, 2], "i8"), ([[1.0], [2]], "f4"), (np.ones(2), "f8"),
        (np.float64(2), "f8"), ([np.float64(2)], "f8"), (np.ones((2, 2), "u2"), "u2"),
        (Offers(), "i2"), (OffersDLPack(), "f4"), ([], "f4"),
        (range(3), "i8"), ([True, False], "?"),
    ],
)  # fmt: skip
def test_asarray_takes(given: Any, dtype: str) -> None:
    x = xp.asarray(given)
    assert x.dtype == np.dtype(dtype)
    expected = np.arange(3) if isinstance(given, Offers | OffersDLPack) else np.asarray(given)
    np.testing.assert_array_equal(x.numpy(), expected)


def test_asarray_of_arrays() -> None:
    x = xp.arange(3)
    assert xp.asarray(x) is x
    assert xp.asarray(x, dtype="f4").dtype == np.float32
    np.testing.assert_array_equal(xp.asarray([x, x * 2]).numpy(), [[0, 1, 2], [0, 2, 4]])
    assert xp.asarray([1, 2], dtype="u1").dtype == np.uint8


@pytest.mark.parametrize(
    ("given", "dtype", "shown"),
    [
        ([300, -1], "u1", "300"), ([[0], [-1]], "u8", "-1"), ([1.5, np.nan], "i4", "1.5"),
        ([1.0, float("nan")], "i4", "nan"),
        (float("inf"), "i8", "inf"), ([2**63], "i8", str(2**63)), (2.0**63, "i8", repr(2.0**63)),
        (2**64, None, str(2**64)), ([10**5000], "f8", "the integer"),
        ([2**1024 - 1], "f8", "the integer"), (range(255, 257), "u1", "256"), ((0, 2), "?", "2"),
    ],
)  # fmt: skip
def test_asarray_refuses_numbers_that_the_dtype_cannot_hold(given: Any, dtype: Any, shown: str) -> None:
    with pytest.raises(NumberRangeError) as caught:
        xp.asarray(given, dtype=dtype)
    assert caught.value.fact.startswith(f"{shown} is no value of ")
    assert "test_arrays.py" in caught.value.place
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        ([255, 0.0, 2.0, True], "u1"), ([0, 1.0], "?"),
        ([float("inf"), -float("inf"), float("nan"), 3.4028235e38], "f4"),
        ([1e40, -1e39], "f4"), ([1e5], "f2"),
        ([65519.9, -65504], "f2"), ([2**64 - 1], "u8"), (2**64, "f4"), ([0.1], "f4"), ([], "i4"), ([[]], "f2"),
    ],
)  # fmt: skip
def test_asarray_takes_numbers_that_the_dtype_holds(given: Any, dtype: Any) -> None:
    same(xp.asarray(given, dtype=dtype), np.asarray(given).astype(dtype), rtol=0)


def test_asarray_converts_numpys_arrays_without_warnings() -> None:
    host = np.array([300.7, np.nan, 1e40, -np.inf])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert xp.asarray(host, dtype="f4").numpy().tolist()[2:] == [np.inf, -np.inf]
        assert xp.asarray(host, dtype="i4").shape == host.shape
        assert int(xp.asarray(np.array(300), dtype="u1")) == 44
        assert int(xp.asarray(xp.asarray(300), dtype="u1")) == 44


@pytest.mark.parametrize("arguments", [(5,), (2, 9), (9, 2, -3), (0.5, 3), (1, 0, 0.5), (3, 1), (2.0,), (-5, 5, 4)])
def test_arange(arguments: tuple[float, ...]) -> None:
    expected = np.arange(*arguments)
    same(xp.arange(*arguments), expected.astype("f4") if expected.dtype.kind == "f" else expected)
    same(xp.arange(*arguments, dtype="f8"), expected.astype("f8"))


def test_linspace() -> None:
    same(xp.linspace(-1, 2, 7), np.linspace(-1, 2, 7, dtype="f4"))
    same(xp.linspace(-1, 2, 7, endpoint=False), np.linspace(-1, 2, 7, endpoint=False, dtype="f4"))
    same(xp.linspace(3, 3.5, 1, dtype="f8"), np.linspace(3, 3.5, 1))
    same(xp.linspace(3, 3.5, 0), np.linspace(3, 3.5, 0, dtype="f4"))
    assert float(xp.linspace(0, 0.1, 1000)[-1]) == np.float32(0.1)


def test_regression_ranges_in_half_count_further_than_half_does() -> None:
    same(xp.linspace(0, 1, 70_001, dtype="f2"), np.linspace(0, 1, 70_001, dtype="f4").astype("f2"), rtol=1e-3)
    assert np.isfinite(xp.linspace(0, 1, 70_001, dtype="f2").numpy()).all()
    same(xp.arange(0, 20, 0.0002, dtype="f2"), (np.arange(100_000) * np.float32(0.0002)).astype("f2"), rtol=1e-3)
    same(xp.arange(3, 2055, dtype="f2"), np.arange(3, 2055).astype("f2"))


def test_matrices() -> None:
    for rows, columns, k in [(3, None, 0), (3, 5, 1), (4, 2, -2)]:
        same(xp.eye(rows, columns, k=k), np.eye(rows, columns, k=k, dtype="f4"))
    host = np.arange(24).reshape(2, 3, 4)
    for k in (-1, 0, 2):
        same(xp.tril(xp.asarray(host), k=k), np.tril(host, k))
        same(xp.triu(xp.asarray(host), k=k), np.triu(host, k))


def test_constants_take_no_memory(runtime: InterpretedRuntime) -> None:
    x = xp.asarray([1.0, 2.0])
    before = runtime.allocations.total()
    same(x + xp.ones(2) + xp.zeros((), dtype="f4"), np.array([2, 3], "f4"))
    assert runtime.allocations.total() == before + 1
    same(xp.full((2, 2), 7), np.full((2, 2), 7))
    same(xp.full(2, True), np.full(2, True))
    same(xp.full(2, np.int16(3)), np.full(2, 3, "i2"))
    value = xp.asarray(INTS)[3]
    same(xp.full((2, 2), value), np.full((2, 2), INTS[3]))
    same(xp.full(2, value, "f4"), np.full(2, INTS[3], "f4"))
    same(xp.full_like(xp.asarray(FLOATS), value), np.full_like(FLOATS, INTS[3]))
    filled = xp.full(3, value)
    filled[0] = 5
    same(filled, np.array([5, INTS[3], INTS[3]], "i1"))
    same(xp.ones((1, 2), dtype=xp.bool), np.ones((1, 2), "?"))
    y = xp.zeros((2, 3), dtype="i2")
    for made, expected in [(xp.zeros_like(y), 0), (xp.ones_like(y), 1), (xp.full_like(y, 5), 5), (xp.empty_like(y), 0)]:
        same(made, np.full((2, 3), expected, "i2"))
    assert xp.empty(3).shape == (3,)


def test_meshgrid() -> None:
    a, b, c = np.arange(3), np.arange(4), np.arange(2)
    for indexing in ("xy", "ij"):
        for found, expected in zip(
            xp.meshgrid(*map(xp.asarray, (a, b, c)), indexing=indexing),  # type: ignore[arg-type]
            np.meshgrid(a, b, c, indexing=indexing),  # type: ignore[call-overload]
            strict=True,
        ):
            same(found, expected)


# ---------------------------------------------------------------------- movements


def test_movements() -> None:
    host = np.arange(24, dtype="f4").reshape(2, 3, 4)
    for x in (xp.asarray(host), xp.asarray(host) * 1):
        same(xp.permute_dims(x, (2, 0, -2)), host.transpose(2, 0, 1))
        same(xp.moveaxis(x, 0, -1), np.moveaxis(host, 0, -1))
        same(xp.moveaxis(x, (0, 1), (2, 0)), np.moveaxis(host, (0, 1), (2, 0)))
        same(xp.reshape(x, (4, -1)), host.reshape(4, -1))
        same(xp.reshape(x.mT, 24), host.swapaxes(1, 2).reshape(24))
        same(xp.expand_dims(x, axis=(0, -1)), host[None, ..., None])
        same(xp.squeeze(x[:1], 0), host[0])
        same(xp.flip(x), np.flip(host))
        same(xp.flip(x, axis=(0, 2)), np.flip(host, (0, 2)))
        same(xp.matrix_transpose(x), host.swapaxes(1, 2))
        same(xp.broadcast_to(x[:, :1], (5, 2, 3, 4)), np.broadcast_to(host[:, :1], (5, 2, 3, 4)))
        one, two = xp.broadcast_arrays(x, x[0, :, :1])
        same(two, np.broadcast_to(host[0, :, :1], host.shape))
        assert one.shape == two.shape
        assert [part.shape for part in xp.unstack(x, axis=1)] == [(2, 4)] * 3


# ---------------------------------------------------------------------- reductions


@pytest.mark.sample(3)
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f2", "i1", "u2", "?"])
def test_reductions_are_numpys(axis: Any, keepdims: bool, dtype: str) -> None:
    host = (np.random.default_rng(1).random((3, 4, 5)) * 4 - (2 if dtype != "u2" else 0)).astype(dtype)
    x, more = xp.asarray(host), {"axis": axis, "keepdims": keepdims}
    rtol = 1e-2 if dtype == "f2" else 1e-5
    for name in ("sum", "prod", "min", "max", "any", "all", "count_nonzero"):
        function = getattr(xp, name)
        expected = np.asarray(getattr(np, name)(host, **more))
        same(function(x, **more), expected.astype("i8") if name == "count_nonzero" else expected, rtol=rtol)
    for name in ("mean", "var", "std"):
        wide = np.asarray(getattr(np, name)(host.astype("f8"), **more))
        same(getattr(xp, name)(x, **more), wide.astype("f2" if dtype == "f2" else "f4"), rtol=rtol)


def test_reductions_convert_first() -> None:
    x = xp.asarray(np.array([1.5, 2.5], "f4"))
    same(xp.sum(x, dtype="i4"), np.array(3, "i4"))
    same(xp.sum(x, dtype="f8"), np.array(4.0))
    same(xp.prod(xp.asarray(INTS), dtype="i2"), INTS.prod(dtype="i2"))
    same(xp.var(x, correction=1), np.array(0.5, "f4"))
    many = xp.full(100, 60000.0, dtype="f2")
    assert float(xp.mean(many)) == 60000
    with pytest.raises(DTypeError, match="sum in bool"):
        xp.sum(x, dtype="?")


# ---------------------------------------------------------------------- errors

X = "xp.zeros((2, 3))"
ERRORS: list[tuple[str, type[Error], str]] = [
    (f"{X}[2]", ShapeError, "index 2 is out of bounds for axis 0 of length 2"),
    (f"{X}[xp.zeros(3, dtype='bool')]", ShapeError, "a mask of shape (3,) for an array of shape (2, 3)"),
    (
        f"{X}[0, xp.zeros(2, dtype='bool')]",
        ShapeError,
        "a mask of shape (2,) for an array of shape (2, 3), from axis 1 on",
    ),
    (f"{X}.__setitem__({X} == 0, np.zeros((4, 3), 'f4'))", ShapeError, "writing shape (4, 3) into shape (2, 3)"),
    ("xp.nonzero(xp.zeros(()))", ShapeError, "nonzero of an array of shape ()"),
    (f"{X}[{X}]", DTypeError, "axis 0 has an index array of float32"),
    (f"{X}[[0.5]]", DTypeError, "axis 0 has an index array of float64"),
    (f"{X}[[0, 2]]", ShapeError, "index 2 is out of bounds for axis 0 of length 2"),
    (f"{X}[:, np.array([0, -4])]", ShapeError, "index -4 is out of bounds for axis 1 of length 3"),
    (f"{X}[[0], [0], [0]]", ShapeError, "3 indices for an array with 2 axes"),
    (f"{X}[..., [0], ...]", ShapeError, "more than one Ellipsis"),
    (f"{X}[[0, 1], [0, 1, 2]]", ShapeError, "do not broadcast"),
    ("xp.zeros((0, 2))[xp.zeros(3, dtype='i4')]", ShapeError, "an index array is out of bounds for axis 0 of length 0"),
    (f"xp.take({X}, [0])", ShapeError, "take of an array with 2 axes names none of them"),
    (f"xp.take({X}, [0], axis=2)", ShapeError, "take along axis 2"),
    (f"xp.take_along_axis({X}, np.array([0]))", ShapeError, "with indices of shape (1,)"),
    (f"xp.take_along_axis({X}, np.zeros((3, 3), 'i4'))", ShapeError, "do not broadcast"),
    (f"{X}[0, 0, 0]", ShapeError, "3 indices for an array with 2 axes"),
    (f"{X}.__setitem__(0, 'text')", DTypeError, "writing does not take an operand of type str"),
    (f"{X}.__setitem__(0, [1, 2])", ShapeError, "writing shape (2,) into shape (3,)"),
    (f"{X}.__setitem__({X}, 1)", DTypeError, "axis 0 has an index array of float32"),
    (f"{X}.__setitem__([0, 5], 1)", ShapeError, "index 5 is out of bounds for axis 0 of length 2"),
    (f"{X}.__setitem__([0, 1], np.zeros(2, 'f4'))", ShapeError, "writing shape (2,) into shape (2, 3)"),
    (f"{X}.__setitem__(xp.zeros(3, dtype='bool'), 1)", ShapeError, "a mask of shape (3,) for an array of shape (2, 3)"),
    ("xp.zeros(2, dtype='i4').__setitem__(0, float('nan'))", NumberRangeError, "nan written into int32"),
    ("xp.zeros(2, dtype='i1').__setitem__(0, 300)", NumberRangeError, "300 is out of range for int8"),
    ("xp.broadcast_to(xp.zeros(2), (3, 2)).__setitem__(0, 1.0)", ShapeError, "where elements are repeated"),
    ("xp.zeros(2, dtype='i4').__iadd__(1.5)", DTypeError, "add of int32 in place gives float32"),
    (f"xp.zeros(3).__imul__({X})", ShapeError, "multiply of shape (3,) in place gives shape (2, 3)"),
    (f"xp.reshape({X}.T, 6, copy=False)", ShapeError, "without a copy, which is no view"),
    (f"xp.add({X}, 'a')", DTypeError, "add does not take an operand of type str"),
    ("xp.sum('a')", DTypeError, "sum does not take an operand of type str"),
    ("xp.reshape(None, 2)", DTypeError, "reshape does not take an operand of type NoneType"),
    (f"{X} < 1j", DTypeError, "less does not take complex64"),
    (f"{X}.__setitem__(0, 1j)", DTypeError, "1j written into float32"),
    (f"xp.astype({X} * 1j, 'f4')", DTypeError, "complex64 as float32 would lose the imaginary part"),
    (f"xp.max({X} * 1j)", DTypeError, "max of complex64, which has no order"),
    (f"{X} + np.clongdouble(1)", DTypeError, "dtype complex256 has no counterpart"),
    (f"{X} & 1", DTypeError, "bitwise_and does not take float32"),
    ("xp.arange(3) ** -1", DTypeError, "pow of integers to the negative power -1"),
    ("xp.nextafter(xp.zeros(2, dtype='f2'), 1)", DTypeError, "nextafter does not take float16"),
    (f"xp.sum({X}, axis=2)", ShapeError, "sum along axis 2 of an array with 2 axes"),
    (f"xp.sum({X}, axis=(0, -2))", ShapeError, "one is named twice"),
    (f"xp.mean({X}, axis=1.5)", ShapeError, "along axis 1.5, which is no integer"),
    ("xp.max(xp.zeros((0, 2)), axis=0)", ShapeError, "max of no elements"),
    ("xp.zeros(-1)", ShapeError, "a shape has the length -1"),
    ("xp.zeros(float('nan'))", ShapeError, "a shape has the length nan"),
    ("xp.zeros((2, 2.0))", ShapeError, "a shape has the length 2.0"),
    ("xp.zeros((2**40, 2**40))", ShapeError, "has too many elements"),
    ("xp.arange(0, float('inf'), 1)", ShapeError, "arange from 0 to inf by 1 never ends"),
    ("xp.arange(0, 5, 0)", ShapeError, "arange from 0 to 5 by 0 never ends"),
    ("xp.arange(float('nan'))", ShapeError, "arange from 0 to nan by 1 never ends"),
    ("xp.arange(5, dtype='?')", DTypeError, "arange does not count in bool"),
    ("xp.linspace(0, 1, -1)", ShapeError, "linspace has the length -1"),
    ("xp.full(3, xp.zeros(3))", DTypeError, "an array cannot be filled with a Array"),
    ("xp.full(3, 'a')", DTypeError, "an array cannot be filled with a str"),
    ("xp.full(3, 2.5, dtype='i4')", DTypeError, "2.5 is no int32"),
    ("xp.full(3, 2, dtype='?')", DTypeError, "2 is no bool"),
    ("xp.asarray([1j], dtype='f4')", DTypeError, "complex128 as float32 would lose the imaginary part"),
    ("xp.complex_of(1j, 2)", DTypeError, "complex_of parts that are complex"),
    ("xp.asarray(['a'])", DTypeError, "dtype <U1 has no counterpart"),
    ("xp.asarray(object())", DTypeError, "asarray does not take an operand of type object"),
    ("xp.asarray(np.zeros(2, 'M8[s]'))", DTypeError, "has no counterpart"),
    ("xp.asarray(np.zeros(2, '>f4'))", DTypeError, "has the other byte order"),
    ("xp.asarray([[1], [2, 3]])", ShapeError, "no array can be made of a list"),
    ("xp.asarray([1], copy=False)", SharingError, "asarray always copies"),
    ("xp.zeros(3, dtype='nonsense')", DTypeError, "'nonsense' is no dtype"),
    ("xp.zeros(3, device='elsewhere')", MixedDevicesError, "the device elsewhere is not that of the runtime in use"),
    (
        f"xp.astype({X}, 'i4', device='elsewhere')",
        MixedDevicesError,
        "the device elsewhere is not that of the runtime in use",
    ),
    (f"xp.broadcast_to({X}, (3, 2))", ShapeError, r"shape (2, 3) does not broadcast to (3, 2)"),
    (f"xp.broadcast_to({X}, (3,))", ShapeError, r"does not broadcast to (3,)"),
    (f"xp.permute_dims({X}, (0,))", ShapeError, "permute_dims of 2 axes names 1"),
    (f"xp.permute_dims({X}, (0, 0))", ShapeError, "one is named twice"),
    (f"xp.moveaxis({X}, (0, 1), 0)", ShapeError, "moveaxis moves 2 axes to 1 places"),
    (f"xp.reshape({X}, (4,))", ShapeError, r"6 elements of shape (2, 3) do not fit in shape (4,)"),
    (f"xp.reshape({X}, (4, -1))", ShapeError, r"the length -1 in (4, -1) cannot be found"),
    (f"xp.reshape({X}, (-1, -1))", ShapeError, "cannot be found"),
    (f"xp.squeeze({X}, 0)", ShapeError, "squeeze of axis 0, which has length 2"),
    (f"xp.expand_dims({X}, axis=4)", ShapeError, "expand_dims along axis 4"),
    (f"xp.flip({X}, axis=2)", ShapeError, "flip along axis 2"),
    (f"xp.cumulative_sum({X})", ShapeError, "cumulative_sum of an array with 2 axes names none of them"),
    (f"xp.cumulative_prod({X}, axis=2)", ShapeError, "cumulative_prod along axis 2"),
    (f"xp.cumulative_sum({X}, axis=0, dtype='?')", DTypeError, "cumulative_sum in bool"),
    (f"xp.sort({X}, axis=2)", ShapeError, "sort along axis 2"),
    (f"xp.argsort({X}, axis=-3)", ShapeError, "argsort along axis -3"),
    ("xp.sort(xp.broadcast_to(1, (2**32,)))", ShapeError, "sort along axis 0 of shape (4294967296,)"),
    ("xp.unique_values(xp.broadcast_to(1, (2**32,)))", ShapeError, "sort along axis 0 of shape (4294967296,)"),
    ("xp.isin(1, xp.broadcast_to(1, (2**32,)))", ShapeError, "sort along axis 0 of shape (4294967296,)"),
    ("xp.concat([])", ShapeError, "concat of no arrays"),
    ("xp.stack([])", ShapeError, "stack of no arrays"),
    (f"xp.top_k({X} * 1j, 1)", DTypeError, "top_k of complex64"),
    (f"xp.concat([{X}, xp.zeros(3)])", ShapeError, "concat of shapes (2, 3) and (3,) along axis 0"),
    (f"xp.concat([{X}, xp.zeros((2, 4))])", ShapeError, "concat of shapes (2, 3) and (2, 4) along axis 0"),
    (f"xp.concat([{X}], axis=2)", ShapeError, "concat along axis 2"),
    (f"xp.stack([{X}, {X}.T])", ShapeError, "stack of shapes (2, 3) and (3, 2)"),
    (f"xp.roll({X}, (1, 2), axis=0)", ShapeError, "roll by 2 shifts along 1 axes"),
    (f"xp.roll({X}, 1, axis=2)", ShapeError, "roll along axis 2"),
    (f"xp.tile({X}, (2, -1))", ShapeError, "tile has the length -1"),
    (f"xp.repeat({X}, -1, axis=0)", ShapeError, "repeat has the length -1"),
    (f"xp.repeat({X}, [1, 2, 3], axis=0)", ShapeError, "repeats of shape (3,) for an axis of length 2"),
    (f"xp.diff({X}, n=-1)", ShapeError, "diff has the length -1"),
    (f"xp.pad({X}, 1, 'around')", Error, "pad has no mode 'around'"),
    (f"xp.pad({X}, ((1, 1), (1, 1), (1, 1)))", ShapeError, "pad of 2 axes by"),
    (f"xp.pad({X}, -1)", ShapeError, "pad has the length -1"),
    ("xp.pad(xp.zeros((0, 2)), 1, 'edge')", ShapeError, "pad by edge of an array without elements"),
    ("xp.zeros(2).mT", ShapeError, "mT of an array with 1 axes"),
    ("len(xp.zeros(()))", ShapeError, r"len of an array with shape ()"),
    ("xp.tril(xp.zeros(2))", ShapeError, "tril of an array with 1 axes"),
    (f"xp.meshgrid({X})", ShapeError, r"meshgrid of arrays of shapes (2, 3)"),
    ("xp.isdtype(xp.int8, 'nonsense')", DTypeError, "there is no kind 'nonsense' of dtypes"),
    ("xp.finfo(xp.int8)", DTypeError, "int8 is no float dtype"),
    ("xp.iinfo(xp.float32)", DTypeError, "float32 is no integer dtype"),
    (f"{X}.__array_namespace__(api_version='1999')", Error, "version 1999 of the array API standard"),
]


@pytest.mark.parametrize(("code", "kind", "fact"), ERRORS, ids=[code for code, _, _ in ERRORS])
def test_errors_state_fact_place_and_remedy(code: str, kind: type[Error], fact: str) -> None:
    with pytest.raises(kind) as caught:
        eval(compile(code, "users_program.py", "eval"), {"xp": xp, "np": np})
    assert fact in caught.value.fact
    assert "users_program.py:1" in caught.value.place
    assert caught.value.remedy


def test_runtimes_do_not_mix() -> None:
    x = xp.zeros(3)
    with xp.use(InterpretedRuntime()):
        y = xp.zeros(3)
    with pytest.raises(MixedDevicesError, match="add of arrays of different runtimes") as caught:
        x + y
    assert "test_arrays.py" in caught.value.place
    with pytest.raises(MixedDevicesError, match="compute of arrays of different runtimes"):
        xp.compute(x, y)


def test_a_device_without_float64_says_so() -> None:
    with xp.use(InterpretedRuntime(Target(group_size=8))):  # which has it: what is remembered of that is no answer here
        assert (xp.arange(3, dtype="i4") + xp.zeros(3, dtype="f4")).dtype == np.float64
    with xp.use(InterpretedRuntime(Target(group_size=8, fp64=False))):
        ints, floats = xp.arange(3, dtype="i4"), xp.zeros(3)
        for refused in (
            lambda: xp.asarray(np.zeros(3)),
            lambda: xp.zeros(3, dtype="f8"),
            lambda: ints + floats,  # NumPy's promotion gives float64, and nothing is cast silently
            lambda: xp.astype(ints, "f8"),
            lambda: floats + np.zeros(3),
            lambda: xp.sum(floats, dtype="f8"),
        ):
            with pytest.raises(DTypeError, match="the device has no float64") as caught:
                refused()
            assert "test_arrays.py" in caught.value.place
        assert (ints + 1.5).dtype == np.float32
        # What is a number on the host is converted there; what is written has the dtype of the array anyway.
        same(floats + np.float64(2), np.full(3, 2, "f4"))
        same(np.float64(2) * ints, np.array([0, 2, 4], "f4"))
        floats[0] = np.float64(3)
        floats[1:] = np.array([0.5, -1.0])
        ints[1:] = np.array([2.75, -1.5])
        same(floats, np.array([3, 0.5, -1], "f4"))
        same(ints, np.array([0, 2, -1], "i4"))
        assert xp.asarray([1.5]).dtype == np.float32


def test_without_a_runtime() -> None:
    found: list[BaseException | Array] = []

    def other_thread() -> None:
        try:
            found.append(xp.zeros(3))
        except NoDeviceError as error:
            found.append(error)

    def in_a_thread() -> BaseException | Array:
        thread = threading.Thread(target=other_thread)
        thread.start()
        thread.join()
        return found.pop()

    saved = current_runtime._default
    try:
        current_runtime._default = current_runtime._Default()
        assert isinstance(in_a_thread(), NoDeviceError)
        shared = InterpretedRuntime()
        xp.set_default(lambda: shared)
        made = in_a_thread()
        assert isinstance(made, Array)
        assert made._executor is shared
        assert xp.current() is not shared
    finally:
        current_runtime._default = saved


def test_what_plans_is_not_imported_before_it_is_used() -> None:
    """Building expressions needs no plans, kernels or drivers' programs: they take longer to import than all else."""
    code = (
        "import sys, ocl_runtime; "
        "print([name for name in sys.modules if name.startswith(('ocl_runtime.plan.cache.template', "
        "'ocl_runtime.plan.host', 'ocl_runtime.plan.planner', 'ocl_runtime.random', 'ocl_ir.kernel', 'mako'))])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
