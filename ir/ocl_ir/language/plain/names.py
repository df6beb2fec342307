"""A function that sees the meanings of a kernel: its own code over names of which some stand for others.

The code is the function's own, so frames, lines and `breakpoint()` are those of its file. `range`, `int`, `math.sqrt`
and the like are the builtins that they are in a kernel; helpers are such functions again.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ocl_ir.errors import DTypeError
from ocl_ir.language.plain.numbers import Typed, cast
from ocl_ir.language.plain.work_item import default_real
from ocl_ir.language.values import python_functions
from ocl_ir.language.values.table import ElementFunction
from ocl_ir.types import DType, from_numpy, is_dtype


class Cast:
    """A dtype that converts numbers of a kernel."""

    def __init__(self, dtype: DType) -> None:
        self.type = dtype

    def __call__(self, value: Any) -> Typed:
        """A number as this dtype."""
        return cast(value, self.type)

    def __eq__(self, other: object) -> bool:
        return self.type is dtype_of(other)

    def __hash__(self) -> int:
        return hash(self.type)

    def __repr__(self) -> str:
        return str(self.type.public)


class Names:
    """A module, or an object with methods, whose attributes are the meanings of a kernel."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def __getattr__(self, name: str) -> Any:
        return in_plain(getattr(self._owner, name))


def dtype_of(value: Any) -> DType:
    """The dtype that a value names. Raises `DTypeError` for what is none."""
    if isinstance(value, Cast):
        return value.type
    if value is float or value is python_functions.builtin(float):
        return default_real()
    if value is bool or value is python_functions.builtin(bool):
        return from_numpy("?")
    if isinstance(value, DType):
        return value
    if is_dtype(value):
        return from_numpy(value)
    raise DTypeError(f"{value!r} is no dtype", remedy="use float32, int32, uint8, bool or another")


def in_plain(value: Any) -> Any:
    """What a value of Python's names is in a kernel."""
    builtin = python_functions.builtin(value)
    if builtin is not None:
        return builtin
    if isinstance(value, FunctionType):
        return _rebuilt(value)
    if isinstance(value, ElementFunction):
        return in_plain(value.function)
    if isinstance(value, MethodType):
        return MethodType(in_plain(value.__func__), in_plain(value.__self__))
    if isinstance(value, functools.partial):
        return functools.partial(in_plain(value.func), *map(in_plain, value.args), **_all_in_plain(value.keywords))
    if isinstance(value, ModuleType):
        return Names(value)
    if isinstance(value, np.generic):
        return Typed(value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return Cast(from_numpy(value))
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(map(in_plain, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return Names(value)
    return value


def _all_in_plain(names: dict[str, Any]) -> dict[str, Any]:
    return {name: in_plain(value) for name, value in names.items()}


def _rebuilt(function: FunctionType) -> FunctionType:
    names = set(_names_of(function.__code__))
    namespace = {**function.__globals__, "__builtins__": _python_names()}
    made = FunctionType(
        function.__code__,
        namespace,
        function.__name__,
        None if function.__defaults__ is None else tuple(map(in_plain, function.__defaults__)),
        None if function.__closure__ is None else tuple(map(_cell, function.__closure__)),
    )
    if function.__kwdefaults__:
        made.__kwdefaults__ = _all_in_plain(function.__kwdefaults__)
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        namespace[name] = made if value is function else in_plain(value)
    return made


def _cell(cell: CellType) -> CellType:
    try:
        return CellType(in_plain(cell.cell_contents))
    except ValueError:  # nothing is in it yet
        return cell


def _names_of(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_of(constant)


@functools.cache
def _python_names() -> dict[str, Any]:
    return {name: python_functions.builtin(value) or value for name, value in vars(builtins).items()}


def calls_breakpoint(function: Callable[..., Any]) -> bool:
    """Whether a function's own code names `breakpoint`."""
    code: CodeType | None = getattr(function, "__code__", None)
    return code is not None and "breakpoint" in _names_of(code)
