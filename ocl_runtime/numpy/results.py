"""Results whose operators and methods make float64 of integers, as NumPy's do: `np.arange(3) / 2`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, cast

from ocl_ir.types import F64
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.core import executor_of
from ocl_runtime.arrays.reals import WithReal, with_real
from ocl_runtime.numpy.operands import arrays_in

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")
_NESTING = frozenset({list, tuple})


def numpys(function: Callable[_Args, _Result]) -> Callable[_Args, _Result]:
    """The function with results that go on as NumPy's do, on devices with float64. What it was given stays as it is, as
    does what anybody else has."""

    @functools.wraps(function)
    def called(*args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        result: Any = function(*args, **kwargs)
        if type(result) is Array and type(result._executor) is WithReal:  # it is NumPy's already
            return cast("_Result", result)
        return cast("_Result", as_numpys(result, [*args, *kwargs.values()] if kwargs else args))

    return called


def as_numpys(result: Any, arguments: Sequence[Any]) -> Any:
    """A result that goes on as NumPy's do, unless it is one of some arguments."""
    if type(result) is Array:
        return _numpys_own(result, arguments)
    return _changed(result, lambda x: _numpys_own(x, arguments))


def _numpys_own(x: Array, arguments: Sequence[Any]) -> Array:
    executor = x._executor
    if type(executor) is WithReal or not executor.target.fp64:
        return x
    for argument in arguments:
        if argument is x or (type(argument) in _NESTING and any(x is inner for inner in arrays_in(argument))):
            return x
    return x._by(with_real(executor, F64))


def as_operators_give(result: Any, operands: Sequence[Array]) -> Any:
    """A result with the default real of its operands, which it may be one of."""
    executor = executor_of("a function of NumPy's", operands)

    def operands_own(x: Array) -> Array:
        return x if x._executor is executor or any(x is operand for operand in operands) else x._by(executor)

    return _changed(result, operands_own)


def _changed(result: Any, change: Callable[[Array], Array]) -> Any:
    if isinstance(result, Array):
        return change(result)
    if type(result) in _NESTING:
        return type(result)([_changed(x, change) for x in result])
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*[_changed(x, change) for x in result])
    return result
