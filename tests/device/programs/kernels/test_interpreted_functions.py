"""Maps, reductions and scans in the interpreter: the same results, and reports of what is wrong with a function or a
join; what is right up to rounding is left alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.errors import DTypeError, Error, KernelError, NumberRangeError, ShapeError, ZeroDivisorError
from ocl_runtime.language import Constant, exp, log, maximum, minimum


@ocl.reduction(0)
def total(a, b):
    return a + b


@ocl.reduction(1)
def product(a, b):
    return a * b


@ocl.reduction(-math.inf)
def log_sum(a, b):
    larger, smaller = maximum(a, b), minimum(a, b)
    return larger + log(1 + exp(smaller - larger)) if smaller > -math.inf else larger


@ocl.reduction(False)
def odd(a, b):
    return a != b


@ocl.reduction((0, 0, 0), map=lambda x: (1 + 0 * x, x, 0 * x))
def moments(a, b):
    """How many there are, their mean, and the sum of squares around it."""
    count = a[0] + b[0]
    share = b[0] / count if count > 0 else 0
    apart = b[1] - a[1]
    return count, a[1] + apart * share, a[2] + b[2] + apart * apart * share * a[0]


@ocl.reduction((-math.inf, -1), map=lambda x, i: (x, i))
def largest_at(a, b):
    return a if a[0] > b[0] or (a[0] == b[0] and a[1] < b[1]) else b


@ocl.scan(0)
def running_total(a, b):
    return a + b


@ocl.scan(0)
def last_that_is_not_zero(a, b):
    return b if b != 0 else a


def message(function: Any, *operands: Any, **keywords: Any) -> str:
    with pytest.raises(KernelError) as caught:
        function.interpret(*operands, **keywords)
    assert "test_interpreted_functions.py:" in caught.value.place
    assert caught.value.remedy
    return caught.value.fact


def normal(*shape: int, dtype: Any = np.float32) -> ocl.Array:
    return ocl.asarray((np.random.default_rng(0).standard_normal(shape) * 10).astype(dtype))


# ---------------------------------------------------------------------- results


@pytest.mark.sample(2)
@pytest.mark.parametrize(("axis", "keepdims"), [(None, False), ((0, 2), True)])
def test_reductions_are_those_of_the_device(axis: Any, keepdims: bool) -> None:
    for dtype in (np.float16, np.float32, np.float64, np.int32, np.uint8):
        x = normal(3, 12, 5, dtype=np.int32).astype(dtype)
        got, wanted = total.interpret(x, axis=axis, keepdims=keepdims), total(x, axis=axis, keepdims=keepdims)
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_array_equal(got.numpy(), wanted.numpy())


def test_reductions_of_tuples_are_those_of_the_device() -> None:
    x, i = ocl.floor(normal(4, 300)), ocl.arange(300, dtype="i4")
    for got, wanted in zip(largest_at.interpret(x, i, axis=1), largest_at(x, i, axis=1), strict=True):
        np.testing.assert_array_equal(got.numpy(), wanted.numpy())


@pytest.mark.parametrize("axis", [0, 2])
def test_scans_are_those_of_numpy(axis: int) -> None:
    x = normal(4, 30, 5)
    got = running_total.interpret(x, axis=axis)
    np.testing.assert_array_equal(got.numpy(), np.cumsum(x.numpy(), axis=axis))


def test_maps_are_those_of_the_device() -> None:
    @ocl.elementwise
    def split(x, step, n):
        return int(x / step) % n, x > step

    x = normal(7, 1, 9)
    steps = ocl.asarray(np.linspace(0.5, 2, 4, dtype=np.float32)[:, None])
    for got, wanted in zip(split.interpret(x, steps, 3), split(x, steps, 3), strict=True):
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_array_equal(got.numpy(), wanted.numpy())
    np.testing.assert_array_equal(split.interpret(x, n=2, step=1.0)[0].numpy(), split(x, 1.0, 2)[0].numpy())


def test_nothing_and_little_to_join() -> None:
    for length in (0, 1, 2):
        assert total.interpret(ocl.ones((3, length)), axis=1).tolist() == [length] * 3
        assert running_total.interpret(ocl.ones((3, length)), axis=1).shape == (3, length)


def test_wrong_operands() -> None:
    with pytest.raises(DTypeError, match="joins two numbers of float16 to float32"):
        ocl.reduction(0)(lambda a, b: a + b * np.float32(1)).interpret(ocl.ones(5, dtype="f2"))
    with pytest.raises(DTypeError, match="joins tuples of 2 numbers"):
        ocl.reduction((0, 0))(lambda a, b: a).interpret(ocl.ones(5))
    with pytest.raises(ShapeError):
        total.interpret(ocl.ones(5), axis=1)


# ---------------------------------------------------------------------- joins that are right up to rounding


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rounding_breaks_no_law(dtype: Any) -> None:
    for scale in (1e-3, 1.0, 1e3):
        x = (normal(5, 500, dtype=np.float64) * scale).astype(dtype)
        total.interpret(x, axis=1)
        log_sum.interpret(x)
        running_total.interpret(x, axis=1)
    mean = 100 if dtype is np.float16 else 1000  # whose square float16 does not hold
    moments.interpret((normal(400, dtype=np.float64) * 1e-2 + mean).astype(dtype))


def test_what_leaves_the_range_of_its_dtype_breaks_no_law() -> None:
    large = np.array([1e30, 1e20, 1e-30, 1e-20, 1e15, 1e-15] * 10, np.float32)
    product.interpret(ocl.asarray(large))
    product.interpret(ocl.asarray(np.arange(-100, 100, 4).astype(np.int8)))
    total.interpret(ocl.asarray(np.array([np.inf, 1, np.nan, -np.inf] * 10, np.float32)))
    odd.interpret(ocl.asarray(np.arange(50) % 3 == 0))


def test_a_scan_need_not_be_commutative() -> None:
    x = ocl.asarray(np.array([0, 3, 0, 0, 5, 0, 1, 0], np.int32))
    assert last_that_is_not_zero.interpret(x).tolist() == [0, 3, 3, 3, 5, 5, 1, 1]
    fact = message(ocl.reduction(0)(last_that_is_not_zero.function), x)
    assert fact.startswith("last_that_is_not_zero is not commutative: join(a, b) is ")


# ---------------------------------------------------------------------- joins that are wrong


def _mean(a, b):
    return (a + b) / 2


def _difference(a, b):
    return a - b


def _weighted(a, b):
    return a + 2 * b


def _squares(a, b):
    return a + b * b


@pytest.mark.parametrize("join", [_mean, _difference, _weighted, _squares])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_joins_that_are_not_associative(join: Any, dtype: Any) -> None:
    x = normal(4, 200, dtype=dtype)
    for function in (ocl.reduction(0)(join), ocl.scan(0)(join)):
        fact = message(function, x, axis=1)
        assert fact.startswith(f"{join.__name__} is not associative: join(join(a, b), c) is "), fact
        assert " and join(a, join(b, c)) is " in fact
        assert ", where a = " in fact


def test_joins_of_integers_are_exact() -> None:
    wrong = ocl.reduction(0)(lambda a, b: a + b if a != 77 else b)
    assert "is not" in message(wrong, ocl.asarray(np.array([77, 1, 2], np.int32)))
    wrong.interpret(ocl.asarray(np.array([1, 2, 3], np.int32)))  # what does not occur is not looked at


def test_short_rows_are_tested_as_far_as_they_are_joined() -> None:
    x = ocl.asarray(np.array([[3, 1, 4], [1, 5, 9]], np.int32))
    difference, smallest = ocl.reduction(0)(lambda a, b: a - b), ocl.reduction(0)(lambda a, b: min(b, a))
    assert "is not associative" in message(difference, x, axis=1)
    assert "is not commutative" in message(difference, x, axis=0)
    assert "0 is not neutral" in message(smallest, x[:1], axis=0)


def test_a_tie_that_the_order_decides() -> None:
    first = ocl.reduction((-math.inf, -1), map=lambda x, i: (x, i))(lambda a, b: a if a[0] > b[0] else b)
    i = ocl.arange(200, dtype="i4")
    assert "is not commutative: join(a, b) is (" in message(first, ocl.floor(normal(200)), i)
    first.interpret(ocl.asarray(np.arange(200, dtype=np.float32)[::-1].copy()), i)


@pytest.mark.parametrize(("neutral", "join"), [(0, lambda a, b: min(b, a)), (-math.inf, lambda a, b: a + b)])
def test_a_neutral_value_that_changes_something(neutral: Any, join: Any) -> None:
    x = ocl.asarray(np.linspace(1, 2, 50, dtype=np.float32))
    fact = message(ocl.reduction(neutral)(join), x)
    assert fact.startswith(f"{neutral} is not neutral to <lambda>: join(neutral, a) is {neutral}")


def test_only_elements_of_one_row_are_joined() -> None:
    x = ocl.asarray(np.array([[2.0] * 20, [5.0] * 20], np.float32))
    same = ocl.reduction(0)(lambda a, b: maximum(a, b) if a * b in (0, 4, 25) else a - b)
    same.interpret(x, axis=1)
    assert "is not associative" in message(same, x, axis=None)


# ---------------------------------------------------------------------- functions that are wrong


def test_what_functions_do_is_reported() -> None:
    a, x = ocl.arange(10, dtype="i4"), ocl.asarray(np.array([1, np.nan], np.float32))
    with pytest.raises(ZeroDivisorError, match="work-item 0 of group 0: // of integers by 0"):
        ocl.elementwise(lambda v: 100 // v).interpret(a)
    with pytest.raises(NumberRangeError, match="nan has no place in an index"):
        ocl.elementwise(lambda v: int(v) + 1).interpret(x)
    with pytest.raises(Error, match=r"% of integers by 0"):
        ocl.reduction(0)(lambda v, w: v + w + v % (w - w)).interpret(a)
    with pytest.raises(ZeroDivisorError):
        ocl.reduction(0, map=lambda v: 100 // v)(lambda v, w: v + w).interpret(a)


def test_arguments_of_all_kinds_are_interpreted() -> None:
    """Tuples, constants, texts, defaults and arguments by name."""

    @ocl.elementwise
    def shaded(pair, mode, power: Constant[int] = 2, *, offset=1):
        low, high = pair
        value = high - low if mode == "span" else low * offset
        for _ in range(power):
            value = value * 2 + offset
        return value

    x, y = ocl.asarray(np.arange(5, dtype="f4")), ocl.asarray(np.arange(5, dtype="f4")[::-1].copy())
    for arguments, keywords in (
        (((x, y), "span"), {}),
        (((x, 3), "other", 1), {"offset": y}),
        (((x, y), "other"), {"power": 3, "offset": 2}),
    ):
        expected = shaded(*arguments, **keywords).numpy()
        for _ in range(2):
            assert (shaded.interpret(*arguments, **keywords).numpy() == expected).all()
