"""`ocl_runtime.numpy` against NumPy: the same expressions, on the interpreter of kernel IR."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator

import numpy
import pytest

import ocl_runtime.arrays as xp
import ocl_runtime.numpy as ours
from ocl_runtime.numpy.table import TABLE
from tests.support.interpreted import InterpretedRuntime
from tests.support.numpy_cases import CASES, EXPRESSIONS, names, same


@pytest.fixture(autouse=True)
def runtime() -> Iterator[InterpretedRuntime]:
    with xp.use(InterpretedRuntime()) as made, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        yield made


@pytest.mark.sample(2)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_gives_what_numpy_gives(expression: str) -> None:
    expected = eval(expression, names(numpy))
    same(eval(expression, names(ours)), expected)


def test_every_function_of_the_table_has_a_case() -> None:
    computed = {name for name, entry in TABLE.items() if entry.kind == "ours" and name not in {"ndarray", "ufunc"}}
    tested = set(re.findall(r"np\.(\w+)", CASES))
    assert computed - tested == set()
