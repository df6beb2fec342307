"""The table of `ocl_runtime.numpy`: complete, with NumPy's signatures, and with a remedy for what is missing."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy
import pytest

import ocl_runtime as ocl
import ocl_runtime.numpy as ours
from ocl_runtime.errors import Error, MissingNameError
from ocl_runtime.numpy import elementwise, hosted, table
from ocl_runtime.numpy.table import TABLE

FUNCTIONS = sorted(
    name
    for name, entry in TABLE.items()
    if entry.kind in {"ours", "reads", "writes"} and not isinstance(entry.value, type | ModuleType)
)
MISSING = sorted(name for name, entry in TABLE.items() if entry.kind == "missing")


def test_every_public_name_of_numpys_is_in_the_table() -> None:
    public = {name for name in numpy.__all__ if not name.startswith("_") or name.startswith("__")}
    assert public - set(TABLE) == set()


def test_the_table_names_nothing_that_numpy_never_had() -> None:
    # Names that came after the oldest NumPy that is supported.
    newer = {"matvec", "vecmat", "cumulative_sum", "cumulative_prod", "unstack"}
    platform = {"float128", "complex256", "float96", "complex192"}
    older = {"in1d", "row_stack", "trapz"}
    assert set(TABLE) - set(numpy.__all__) <= newer | platform | older


def test_each_name_is_one_thing() -> None:
    names = [name for module in table._MODULES for name in module.__all__]
    names += [*elementwise.UFUNCS, *elementwise.ALIASES, *table._SAME.split(), *hosted.READERS, *hosted.WRITERS]
    names += [name for missing in table._MISSING.values() for name in missing.split()]
    assert [name for name, times in Counter(names).items() if times > 1] == []


def parameters(function: Callable[..., Any]) -> list[tuple[str, Any]] | None:
    """The names of a function's parameters, and whether they are given by position only; None where they are hidden."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return None
    only = inspect.Parameter.POSITIONAL_ONLY
    variable = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    return [(one.name, one.kind if one.kind in variable else one.kind == only) for one in signature.parameters.values()]


@pytest.mark.skipif(
    numpy.lib.NumpyVersion(numpy.__version__) < "2.4.0", reason="the signatures are those of NumPy 2.4, which tells all"
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_are_numpys(name: str) -> None:
    if not hasattr(numpy, name):
        assert name == "row_stack", "only this is gone from NumPy, since 2.5"
        return
    theirs = parameters(getattr(numpy, name))
    if theirs is None:
        assert name in {"mgrid", "ogrid", "r_", "c_", "fromstring"}
        return
    if name in {"argsort", "sort"} and numpy.lib.NumpyVersion(numpy.__version__) < "2.5.0":
        theirs.append(("descending", False))
    assert parameters(getattr(ours, name)) == theirs


@pytest.mark.skipif(
    numpy.lib.NumpyVersion(numpy.__version__) < "2.4.0", reason="the signatures are those of NumPy 2.4, which tells all"
)
@pytest.mark.parametrize("name", sorted({*ours.linalg.__all__} - {"LinAlgError"}))
def test_signatures_of_linear_algebra_are_numpys(name: str) -> None:
    theirs = parameters(getattr(numpy.linalg, name))
    assert parameters(getattr(ours.linalg, name)) == theirs
    assert getattr(ours.linalg, name).__doc__


@pytest.mark.skipif(
    numpy.lib.NumpyVersion(numpy.__version__) < "2.4.0", reason="the signatures are those of NumPy 2.4, which tells all"
)
@pytest.mark.parametrize("name", ours.fft.__all__)
def test_signatures_of_fourier_transforms_are_numpys(name: str) -> None:
    assert parameters(getattr(ours.fft, name)) == parameters(getattr(numpy.fft, name))
    assert getattr(ours.fft, name).__doc__


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_say_what_they_do(name: str) -> None:
    assert getattr(ours, name).__doc__


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_name_answers_with_what_comes_nearest(name: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(ours, name)
    error = caught.value
    assert isinstance(error, MissingNameError)
    assert error.fact == f"ocl_runtime.numpy has no {name}"
    assert error.remedy == TABLE[name].nearest != ""
    assert __file__ in error.place
    assert not hasattr(ours, name)


def test_other_names_are_the_modules_business() -> None:
    with pytest.raises(AttributeError, match=r"module 'ocl_runtime\.numpy' has no attribute 'nonsense'") as caught:
        ours.nonsense  # noqa: B018
    assert not isinstance(caught.value, Error)


def test_dtypes_and_constants_are_numpys_own() -> None:
    assert ours.float32 is numpy.float32
    assert ours.dtype is numpy.dtype
    assert ours.errstate is numpy.errstate
    assert ours.newaxis is None
    assert (ours.pi, ours.e, ours.inf) == (numpy.pi, numpy.e, numpy.inf)
    assert ours.ndarray is ocl.Array
    assert isinstance(ours.add, ours.ufunc)
    assert "sum" in dir(ours)
    assert "sort_complex" not in dir(ours)


def test_the_standards_namespace_stays_clean() -> None:
    assert not hasattr(ocl, "arctan2")
    assert not hasattr(ocl, "concatenate")
