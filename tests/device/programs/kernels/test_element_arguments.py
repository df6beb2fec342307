"""Arguments of functions of elements: by keyword, with defaults, known while the function is translated, in tuples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.errors import DTypeError, Error
from ocl_runtime.language import Constant, clamp, global_id, maximum, unrolled
from tests.support.three_ways import agree

HOST = np.array([-1.5, 0.25, 2, 3], np.float32)


@pytest.fixture
def x() -> Any:
    return ocl.asarray(HOST)


@ocl.elementwise
def clamped(x, low, high=2.0, *, scale=1, mode=None, then=None):
    v = clamp(x, low, high) * scale
    if mode == "negative":
        v = -v
    return v if then is None else then(v)


@ocl.elementwise
def powers(x, count: Constant[int] = 2):
    result = x
    for _ in unrolled(range(count - 1)):
        result *= x
    return result


class Line(NamedTuple):
    slope: Any
    offset: Any = 0


@dataclass(frozen=True)
class Bounds:
    low: Any
    high: Any


UNIT = Line(1)


@ocl.elementwise
def placed(x, line=UNIT, bounds=None):
    v = x * line.slope + line.offset
    return v if bounds is None else clamp(v, bounds.low, bounds.high)


def weighted(v, weight=2, mode=None):
    return v if mode == "plain" else v * weight


@ocl.reduction(0, map=weighted)
def total(a, b):
    return a + b


@ocl.reduction((0, 0), map=lambda v, weight=1: (v, v * weight))
def totals(a, b):
    return a[0] + b[0], a[1] + b[1]


def test_keywords_and_defaults(x: Any) -> None:
    clip = np.clip(HOST, -1, 2)
    assert clamped(x, -1).tolist() == clip.tolist()
    assert clamped(x, -1, scale=3).tolist() == (clip * 3).tolist()
    assert clamped(high=1, x=x, low=ocl.zeros(4)).tolist() == np.clip(HOST, 0, 1).tolist()
    assert clamped(1.5, low=x, scale=2).tolist() == [3, 3, 4, 4]
    assert (clamped(x, -1, scale=x) + 1).tolist() == (clip * HOST + 1).tolist()


def test_what_is_known_while_the_function_is_translated(x: Any) -> None:
    assert clamped(x, -1, mode="negative").tolist() == [1, -0.25, -2, -2]
    first, second = (lambda v: maximum(v, 0) + 1), (lambda v: maximum(v, 0) + 2)
    assert clamped(x, -1, then=first).tolist() == [1, 1.25, 3, 3]
    assert clamped(x, -1, then=second).tolist() == [2, 2.25, 4, 4]
    assert powers(x).tolist() == (HOST**2).tolist()
    assert powers(x, 3).tolist() == (HOST**3).tolist()
    assert powers(x, np.int64(3)).tolist() == (HOST**3).tolist()
    with pytest.raises(DTypeError, match=r"powers got 0\.5 for count, which takes a constant int"):
        powers(x, 0.5)
    with pytest.raises(DTypeError, match=r"powers got an array of float32, shape \(4,\) for count"):
        powers(x, x + 1)


def test_a_size_of_a_captured_function_is_a_constant(x: Any) -> None:
    captured = ocl.capture(lambda a: powers(a, a.ndim + a.shape[0] - 3))
    assert captured(x).tolist() == (HOST**2).tolist()
    assert captured(ocl.asarray(HOST[:3])).tolist() == HOST[:3].tolist()


def test_tuples_have_arguments_inside(x: Any) -> None:
    assert placed(x).tolist() == HOST.tolist()
    assert placed(x, Line(2, x)).tolist() == (HOST * 3).tolist()
    assert placed(1.0, Line(x)).tolist() == HOST.tolist()
    assert placed(x, bounds=Bounds(0, ocl.ones(4))).tolist() == np.clip(HOST, 0, 1).tolist()


def test_keywords_of_a_reduction_are_those_of_its_map(x: Any) -> None:
    assert float(total(x)) == 2 * HOST.sum()
    assert float(total(x, weight=3)) == 3 * HOST.sum()
    assert float(total(v=x, mode="plain", axis=0)) == HOST.sum()
    assert [float(part) for part in totals(x, weight=x)] == [HOST.sum(), (HOST * HOST).sum()]


def test_wrong_arguments(x: Any) -> None:
    with pytest.raises(Error, match="clamped: missing a required argument: 'low'"):
        clamped(x)
    with pytest.raises(Error, match="clamped: got an unexpected keyword argument 'width'"):
        clamped(x, 1, width=3)
    with pytest.raises(Error, match=r"largest got weight by name, and joins elements without a map(.|\n)*map=f"):
        ocl.reduction(0)(_largest)(x, weight=2)
    with pytest.raises(Error, match="among the parameters of a function of elements"):
        ocl.elementwise(_variable)(x, 1)


def _largest(a, b):
    return maximum(a, b)


def _variable(*values):
    return values[0]


def test_in_kernels() -> None:
    def kernel(x, y):
        i = global_id(0)
        y[i] = clamped(x[i], -1, scale=3, mode="negative") + placed(x[i], line=Line(2, 1)) + powers(x[i], count=3)

    agree(kernel, 4, {"x": HOST, "y": np.zeros(4, np.float32)})


def test_an_annotation_that_nobody_has_defined() -> None:
    @ocl.elementwise
    def scaled(x: Any, factor: Constants[int]) -> Any:  # type: ignore[name-defined]  # noqa: F821
        return x * factor

    with pytest.raises(DTypeError, match="'Constants', which nobody has defined"):
        scaled(ocl.ones(3), 2)
