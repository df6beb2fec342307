"""Results whose operators and methods make float64 of integers, as NumPy's do: `np.arange(3) / 2`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, cast

from ocl_ir.types import F64
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.core import executor_of
from ocl_runtime.arrays.reals import base_executor, with_real
from ocl_runtime.numpy.operands import arrays_in

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")


def numpys(function: Callable[_Args, _Result]) -> Callable[_Args, _Result]:
    """The function with results that go on as NumPy's do, on devices with float64. What it was given stays as it is, as
    does what anybody else has."""

    @functools.wraps(function)
    def called(*args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        result: Any = function(*args, **kwargs)
        if type(result) is Array and base_executor(result._executor) is not result._executor:  # it is NumPy's already
            return cast("_Result", result)

        def numpys_own(x: Array) -> Array:
            executor = x._executor
            if base_executor(executor) is not executor or not executor.target.fp64:
                return x
            is_argument = any(x is argument for argument in arrays_in([*args, *kwargs.values()]))
            return x if is_argument else x._by(with_real(executor, F64))

        return cast("_Result", _changed(result, numpys_own))

    return called


def as_operators_give(result: Any, operands: Sequence[Array]) -> Any:
    """A result with the default real of its operands, which it may be one of."""
    executor = executor_of("a function of NumPy's", operands)

    def operands_own(x: Array) -> Array:
        return x if x._executor is executor or any(x is operand for operand in operands) else x._by(executor)

    return _changed(result, operands_own)


def _changed(result: Any, change: Callable[[Array], Array]) -> Any:
    if isinstance(result, Array):
        return change(result)
    if type(result) in {tuple, list}:
        return type(result)([_changed(x, change) for x in result])
    return result
