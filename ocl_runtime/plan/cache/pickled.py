"""Plans and kernels as bytes, read fast, and made of nothing but classes of this library.

Dataclasses are immutable here, and have many small objects: each is written as its class and its fields, which a
function puts back in a fraction of the time that the way of `dataclasses` takes. One that works out some of its fields
is made anew: a hash of text is another one in each process. What may be read late (`ocl_ir.late`) is bytes until then:
a kernel that is launched as it was compiled needs none of its statements.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from ocl_ir.kernel.grammar import Kernel
from ocl_ir.late import Late

_OWN = ("ocl_ir.", "ocl_runtime.plan.", "ocl_runtime.codegen.")
_FUNCTIONS = frozenset(
    {
        *[("builtins", name) for name in ("frozenset", "set")],
        ("ocl_ir.types", "_named"),
        ("ocl_ir.kernel.matrix_instruction", "_named"),
        (__name__, "_restored"),
        (__name__, "_late"),
    }
)
"""What plans are made of beside classes of these packages and scalars of NumPy."""


def pickled(value: object, name: Callable[[Kernel], Hashable] | None = None, *, lines: bool = True) -> bytes:
    """A value as bytes, with a name in place of each kernel, if there is something that gives it. Without `lines`,
    nothing says which Python line asked for it: a kernel serves many, and those of another program are no use.

    Raises what `pickle.dumps` raises for what belongs to this process.
    """
    file = io.BytesIO()
    _Pickler(file, name, lines=lines).dump(value)
    return file.getvalue()


def loaded(content: bytes, kernel: Callable[[Any], Kernel] | None = None) -> Any:
    """The value again. Raises what `pickle.loads` raises, `pickle.UnpicklingError` for what no plan is made of."""
    return _Unpickler(content, kernel).load()


class _Pickler(pickle.Pickler):
    def __init__(
        self, file: io.BytesIO, name: Callable[[Kernel], Hashable] | None, *, lines: bool, within: bool = False
    ) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._name = name
        self._lines = lines
        self._within = within
        """Whether what it writes is read late already."""

    def persistent_id(self, value: object) -> Hashable | None:
        """The name of a kernel; what is none is written as it is."""
        return self._name(value) if self._name is not None and type(value) is Kernel else None

    def reducer_override(self, value: object) -> Any:
        """How dataclasses are written. A line of Python, whose code cannot be, belongs to the program that runs."""
        kind: Any = type(value)
        names, whole = _fields(kind)
        if names is None:
            return NotImplemented
        values = [getattr(value, name) if self._lines or name != "where" else "" for name in names]
        if issubclass(kind, Late) and not self._within:
            first = len(names) - len(kind.LATE)
            file = io.BytesIO()
            _Pickler(file, None, lines=self._lines, within=True).dump(values[first:])
            return _late, (kind, file.getvalue(), *values[:first])
        return (_restored, (kind, *values)) if whole else (kind, tuple(values))


class _Unpickler(pickle.Unpickler):
    def __init__(self, content: bytes, kernel: Callable[[Any], Kernel] | None) -> None:
        super().__init__(io.BytesIO(content))
        self._kernel = kernel

    def persistent_load(self, name: Any) -> Kernel:
        """The kernel of a name."""
        if self._kernel is None:
            raise pickle.UnpicklingError("a kernel where none can be")
        return self._kernel(name)

    def find_class(self, module: str, name: str) -> Any:
        """A class or function that plans are made of: never one that is reached through another."""
        if "." not in name and (module, name) in _FUNCTIONS:
            return super().find_class(module, name)
        if "." not in name and (module.startswith(_OWN) or module == "numpy"):
            member = super().find_class(module, name)
            own = isinstance(member, type) and member.__module__ == module
            if own and (module != "numpy" or issubclass(member, np.generic)):
                return member
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a plan")


@cache
def _fields(kind: Any) -> tuple[list[str] | None, bool]:
    """The fields of a frozen dataclass with slots that say what it is, and whether they are all that it has; None for
    any other class."""
    frozen = is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore[union-attr]
    if not frozen or "__slots__" not in vars(kind) or "__reduce__" in vars(kind):
        return None, False
    whole = all(field.init for field in fields(kind))
    init_fields = [field for field in fields(kind) if field.init]
    if not whole and any(field.kw_only for field in init_fields):
        return None, False
    return [field.name for field in init_fields], whole


@cache
def _setters(kind: Any) -> list[Callable[[object, object], None]]:
    return [getattr(kind, field.name).__set__ for field in fields(kind)]


def _restored(kind: type, *values: object) -> object:
    """A dataclass with these fields."""
    made: object = object.__new__(kind)
    for set_field, value in zip(_setters(kind), values, strict=True):
        set_field(made, value)
    return made


def _late(kind: type, late: bytes, *values: object) -> object:
    """One that has the fields before those that are read late."""
    made: Late = object.__new__(kind)
    for set_field, value in zip(_setters(kind), values, strict=False):
        set_field(made, value)
    made.read_later(partial(loaded, late))
    return made
