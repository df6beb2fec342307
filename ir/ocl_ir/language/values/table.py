"""A builtin of the language: what it emits in a kernel, and what it is in plain Python."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from ocl_ir.language.errors import KernelError
from ocl_ir.source_line import calling_line


class Elements(ABC):
    """A value of many numbers in plain Python, of which builtins of numbers take each by itself."""

    @classmethod
    @abstractmethod
    def mapped(cls, function: Callable[..., Any], *operands: Any) -> Any:
        """A function of such values and of numbers, element by element."""


class Builtin:
    """A function of `ocl_runtime.language`.

    `emit` takes the translation and the arguments as values. `python` is the same on NumPy's scalars, where it has a
    meaning outside of a kernel. `is_elementwise`: it takes numbers, and tiles element by element. `is_printing`: it
    takes f-strings.
    """

    def __init__(
        self,
        name: str,
        emit: Callable[..., Any],
        python: Callable[..., Any] | None = None,
        *,
        is_elementwise: bool = False,
        is_printing: bool = False,
    ) -> None:
        self.name = self.__name__ = name
        self.is_printing = is_printing
        self.is_elementwise = is_elementwise
        self.emit = emit
        self.python = python
        self.__doc__ = emit.__doc__
        parameters = [*inspect.signature(emit).parameters.values()][1:]
        self.signature = inspect.Signature(parameters)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """What it is in plain Python. Raises `KernelError` for what only a work-item has."""
        if self.python is None:
            raise KernelError(
                f"{self.name} is called outside of a kernel",
                place=calling_line(),
                remedy="call it in a function decorated with ocl_runtime.kernel",
            )
        for arg in args if self.is_elementwise else ():
            if isinstance(arg, Elements):
                return arg.mapped(self.python, *args)
        return self.python(*args, **keywords)

    def __repr__(self) -> str:
        return f"<builtin {self.name} of the kernel language>"


class ElementFunction:
    """A function of elements that arrays have as an operation; in a kernel it is its function. It is pickled by name,
    as the function is."""

    def __init__(self, function: FunctionType) -> None:
        self.function: Final = function
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__

    def __reduce__(self) -> str:
        return self.__qualname__


class Namespace:
    """Builtins under a common name, as `group.sum`."""

    def __init__(self, name: str, **members: Any) -> None:
        self.name = name
        vars(self).update(members)

    def __repr__(self) -> str:
        return f"<builtins {self.name} of the kernel language>"
