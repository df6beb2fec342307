"""Names of Python's own scopes that a kernel reads: what they may be, and whether they are still what they were.

Globals, cells of closures and attributes of modules are read at every launch: a kernel that was translated with another
value is another variant. Arrays, lists and dicts are refused, because a change inside of them would not be seen.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import operator
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from ocl_ir.bfloat16 import BFloat16
from ocl_ir.language.values.table import Namespace
from ocl_ir.types import DType

_PLAIN = (bool, int, float, str, type(None), enum.Enum, np.generic, np.dtype, BFloat16, DType, type, ModuleType)
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, np.ufunc, partial)


class Capture(NamedTuple):
    """A value that was read under a name, and how to read it again."""

    name: str
    read: Callable[[], Any]
    value: Any
    body: object
    """What a function was made of, which reloading its module in a notebook replaces; None for other values."""

    @classmethod
    def of(cls, name: str, read: Callable[[], Any], value: Any) -> Capture:
        """A value as it is now."""
        return cls(name, read, value, _body(value))

    @property
    def is_current(self) -> bool:
        """Whether it is the same now, by identity or value."""
        try:
            now = self.read()
        except (NameError, AttributeError, KeyError, ValueError):
            return False
        return _is_same(now, self.value) and _is_same(_body(now), self.body)


def _body(value: Any) -> object:
    """The code of a function, and its defaults."""
    if not isinstance(value, FunctionType):
        return None
    return value.__code__, value.__defaults__, tuple((value.__kwdefaults__ or {}).items())


def _is_same(a: Any, b: Any) -> bool:
    """Whether a kernel that reads one value is the same as with the other one: 1 differs from 1.0 and True."""
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, _FUNCTIONS):
        return False
    if isinstance(a, float | np.floating):
        return repr(a) == repr(b)  # tells 0.0 from -0.0, and finds NaN
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_is_same, a, b))
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        return all(_is_same(getattr(a, field.name), getattr(b, field.name)) for field in dataclasses.fields(a))
    return bool(a == b)


def may_be_captured(value: Any) -> bool:
    """Whether a kernel may read a value from around it."""
    if isinstance(value, tuple):
        return all(map(may_be_captured, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        frozen = value.__dataclass_params__.frozen  # type: ignore[attr-defined]
        return frozen and all(may_be_captured(getattr(value, field.name)) for field in dataclasses.fields(value))
    if isinstance(value, (*_PLAIN, *_FUNCTIONS, Namespace)):
        return True
    return callable(value) and not hasattr(value, "__array__") and not hasattr(value, "shape")


def python_name(function: FunctionType, name: str) -> Callable[[], Any] | None:
    """How to read a name of a function's own scopes: a cell, a global or a builtin; None where there is none."""
    code = function.__code__
    if name in code.co_freevars and function.__closure__ is not None:
        cell = function.__closure__[code.co_freevars.index(name)]
        return partial(getattr, cell, "cell_contents")
    if name in function.__globals__:
        return partial(operator.getitem, function.__globals__, name)
    return partial(getattr, builtins, name) if hasattr(builtins, name) else None
