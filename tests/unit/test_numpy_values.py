"""`ocl_runtime.numpy` against NumPy: the same expressions, on the interpreter of kernel IR."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import ocl_runtime.arrays as xp
import ocl_runtime.numpy as ours
from ocl_runtime.arrays import Array
from ocl_runtime.numpy.table import TABLE
from tests.interpreted import InterpretedRuntime
from tests.numpy_cases import CASES, EXPRESSIONS, names

_TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-12}


@pytest.fixture(autouse=True)
def runtime() -> Iterator[InterpretedRuntime]:
    with xp.use(InterpretedRuntime()) as made, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        yield made


def same(found: Any, expected: Any) -> None:
    """Equal structure, dtypes and shapes, and values up to rounding. NumPy's scalars are arrays of shape ()."""
    if isinstance(expected, list | tuple):
        assert isinstance(found, list | tuple)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif isinstance(expected, numpy.ndarray | numpy.generic) and not isinstance(found, bool):
        assert isinstance(found, Array)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        within = _TOLERANCE.get(expected.dtype.name, 0)
        numpy.testing.assert_allclose(found.numpy(), expected, rtol=within, atol=within)
    else:
        assert found == expected


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_gives_what_numpy_gives(expression: str) -> None:
    expected = eval(expression, names(numpy))
    same(eval(expression, names(ours)), expected)


def test_every_function_of_the_table_has_a_case() -> None:
    computed = {name for name, entry in TABLE.items() if entry.kind == "ours" and name not in {"ndarray", "ufunc"}}
    tested = set(re.findall(r"np\.(\w+)", CASES))
    assert computed - tested == set()
