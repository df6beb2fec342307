"""Results whose operators and methods make float64 of integers, as NumPy's do: `np.arange(3) / 2`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from ocl_ir.types import F64
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.reals import with_real
from ocl_runtime.numpy.operands import arrays_in

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")


def numpys(function: Callable[_Args, _Result]) -> Callable[_Args, _Result]:
    """The function with results that go on as NumPy's do, on devices with float64. What it was given stays as it is."""

    @functools.wraps(function)
    def called(*args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        result = function(*args, **kwargs)
        if isinstance(result, Array):
            if result._executor.default_real != F64:
                _adopt([result], args, kwargs)
        elif isinstance(result, tuple | list):
            _adopt(arrays_in(result), args, kwargs)
        return result

    return called


def _adopt(results: Sequence[Array], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    given = {id(x) for x in arrays_in([*args, *kwargs.values()])}
    for x in results:
        if id(x) not in given and x._executor.target.fp64:
            x._executor = with_real(x._executor, F64)
