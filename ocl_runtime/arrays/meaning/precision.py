"""How exactly products of float32 are multiplied, for a block of code in one thread (or task)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from ocl_ir.source_line import calling_line
from ocl_runtime.errors import SettingError

Precision: TypeAlias = Literal["float32", "tf32"]
_F = TypeVar("_F", bound=Callable[..., Any])
_PRECISIONS = get_args(Precision)
_chosen: ContextVar[Precision] = ContextVar("ocl_runtime_precision", default="float32")


class _Block(ContextDecorator):
    """A block of code, or a function, with a precision of its own."""

    def __init__(self, name: Precision) -> None:
        self._name: Precision = name
        self._before: list[Precision] = []

    def __call__(self, function: _F) -> _F:
        if iscoroutinefunction(function) or isgeneratorfunction(function) or isasyncgenfunction(function):
            raise SettingError(
                f"{function.__name__} goes on after its call, when its decorator is over",
                place=calling_line(),
                remedy="write `with ocl.precision(…):` in it, around what is built without a pause",
            )
        return super().__call__(function)

    def _recreate_cm(self) -> _Block:
        """One for each call: several may be on their way."""
        return _Block(self._name)

    def __enter__(self) -> None:
        before = _chosen.get()
        try:  # an interrupt may come as `set` returns
            _chosen.set(self._name)
        except BaseException:
            _chosen.set(before)
            raise
        self._before.append(before)

    def __exit__(self, *_: object) -> None:
        _chosen.set(self._before.pop())


def precision(name: Precision) -> _Block:
    """Products of float32 that are built in a block of code may be multiplied less exactly, and faster.

        with ocl.precision("tf32"):
            y = x @ w

    - "float32", which is the default, multiplies float32 as it is.
    - "tf32" allows to round operands to 10 bits of their mantissa; products are exact then, and sums are float32.
      Where a device has no instructions for that, nothing changes.

    It counts for `@`, `matmul`, `tensordot`, `einsum`, `conv` and `attention` of float32 matrices, in the calling
    thread, and is decided where the product is built, whenever that is computed. Other dtypes, products with vectors
    and what `linalg` multiplies in its algorithms are not touched. It is a decorator, too, of functions that do not go
    on after their call. Blocks are left in the opposite order. Raises `SettingError` for another name.
    """
    if name not in _PRECISIONS:
        names = " or ".join(f'"{each}"' for each in _PRECISIONS)
        raise SettingError(f"{name!r} is no precision of products", place=calling_line(), remedy=f"choose {names}")
    return _Block(name)


def chosen_precision() -> Precision:
    """What the calling thread has chosen."""
    return _chosen.get()


def in_tf32() -> bool:
    """Whether products that are built now may round float32 operands."""
    return _chosen.get() == "tf32"
