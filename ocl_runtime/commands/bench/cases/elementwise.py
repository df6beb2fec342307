"""Results of which each element is made of one element of each input, and stencils."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_runtime.commands.bench.case import ANY, Arrays, Case, result_twice, rows, square
from ocl_runtime.commands.bench.data import Data


def flat(count: int, low: float = 0.0, high: float = 1.0) -> Callable[[Data, int, np.dtype[Any]], Arrays]:
    """Inputs of n elements each."""

    def inputs(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
        top = 50 if dtype.kind in "iu" and high == 1.0 else high
        return tuple(data.real(dtype, n, low=low, high=top) for _ in range(count))

    return inputs


def squares(count: int, odd: int = 0) -> Callable[[Data, int, np.dtype[Any]], Arrays]:
    """Square matrices of n elements."""
    return lambda data, n, dtype: tuple(data.real(dtype, square(n), square(n) + odd) for _ in range(count))


def black_scholes_as_written(xp: Any, price: Any, strike: Any, years: Any) -> Any:
    """The price of a European call, as in textbooks."""
    rate, volatility = 0.03, 0.2
    spread = volatility * xp.sqrt(years)
    one = (xp.log(price / strike) + (rate + volatility**2 / 2) * years) / spread
    other = one - spread
    return price * (0.5 + 0.5 * xp.erf(one / math.sqrt(2))) - strike * xp.exp(-rate * years) * (
        0.5 + 0.5 * xp.erf(other / math.sqrt(2))
    )


def black_scholes(xp: Any, price: Any, strike: Any, years: Any) -> Any:
    """The price of a European call (Black and Scholes, 1973), with the fewest operations."""
    rate, volatility = 0.03, 0.2
    scale = volatility * math.sqrt(2)
    growth = (rate + volatility**2 / 2) / scale
    turned = xp.rsqrt(years)
    one = xp.fma(xp.log2(price / strike), math.log(2) / scale, years * growth) * turned
    other = xp.fma(years * turned, -volatility / math.sqrt(2), one)
    return xp.fma(price, _normal(xp, one), -(strike * xp.exp2(years * (-rate / math.log(2))) * _normal(xp, other)))


def _normal(xp: Any, x: Any) -> Any:
    """The cumulative normal distribution, of a number divided by the square root of 2."""
    return xp.fma(xp.erf(x), 0.5, 0.5)


def stencil(_: Any, x: Any) -> Any:
    """The mean of an element and its eight neighbours, inside of a matrix."""
    height, width = x.shape
    total: Any = None
    for down in range(3):
        for right in range(3):
            part = x[down : height - 2 + down, right : width - 2 + right]
            total = part if total is None else total + part
    return total * (1 / 9)


def _slabs_of_rows(key: str, title: str, expression: Any, count: int, **more: Any) -> Case:
    """A case over flat inputs, any part of which can be checked alone."""
    return Case(key, title, expression, more.pop("inputs", flat(count)), slabs=True, **more)


CASES = (
    _slabs_of_rows("negative", "-x", lambda _, x: -x, 1, dtypes=ANY, operations=1),
    _slabs_of_rows("a*b+c", "a*b + c", lambda _, a, b, c: a * b + c, 3, dtypes=ANY, operations=2),
    _slabs_of_rows("a*b+sin", "a*b + sin(c)", lambda xp, a, b, c: a * b + xp.sin(c), 3, operations=3),
    _slabs_of_rows("a*b+c-halves", "a*b + c, f16", lambda _, a, b, c: a * b + c, 3, dtypes=("f16",), operations=2),
    _slabs_of_rows(
        "black-scholes",
        "Black–Scholes as written",
        black_scholes_as_written,
        3,
        inputs=flat(3, 0.5, 2.0),
        dtypes=("f32", "f64"),
        operations=22,
        compiled=True,
    ),
    _slabs_of_rows(
        "black-scholes-short",
        "Black–Scholes, fewest operations",
        black_scholes,
        3,
        inputs=flat(3, 0.5, 2.0),
        dtypes=("f32", "f64"),
        operations=18,
    ),
    *(
        _slabs_of_rows(
            f"power-{name}",
            f"x**{exponent}",
            lambda _, x, exponent=exponent: x**exponent,
            1,
            inputs=flat(1, 0.5, 2.0),
            operations=1,
        )
        for name, exponent in (("2", 2), ("3", 3), ("half", 0.5), ("-1", -1))
    ),
    _slabs_of_rows("maximum", "maximum(x, y)", lambda xp, x, y: xp.maximum(x, y), 2, dtypes=ANY, operations=1),
    _slabs_of_rows("integers", "a*b + c, i32", lambda _, a, b, c: a * b + c, 3, dtypes=("i32", "i8"), operations=2),
    _slabs_of_rows(
        "broadcast",
        "x + row",
        lambda _, x, row: x + row,
        2,
        inputs=lambda data, n, dtype: (data.real(dtype, *rows(n, 1024)), data.real(dtype, 1, 1024)),
        operations=1,
    ),
    _slabs_of_rows(
        "every-second",
        "x[::2] + y[::2]",
        lambda _, x, y: x[::2] + y[::2],
        2,
        moved=lambda inputs, outputs: inputs[0].nbytes + inputs[1].nbytes + outputs[0].nbytes,
        operations=0.5,
    ),
    Case("odd-view", "x[:, 1:] * 2", lambda _, x: x[:, 1:] * 2, squares(1), slabs=True, moved=result_twice),
    Case(
        "odd-length",
        "a*b + c, odd length",
        lambda _, a, b, c: a * b + c,
        lambda data, n, dtype: flat(3)(data, n - 1, dtype),
        slabs=True,
        operations=2,
    ),
    Case("stencil-9", "9-point stencil", stencil, squares(1), ("f32", "f64"), moved=result_twice, operations=9),
)
