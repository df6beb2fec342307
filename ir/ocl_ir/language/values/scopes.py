"""Names of a function while it is translated: what each is now, and since which line.

A name has versions. An assignment in a straight line begins a new one, of any type. Where versions meet, behind a
branch and at a loop's head, they become one variable, of one type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ocl_ir.language.errors import Span
from ocl_ir.language.values.values import Value


class Version(NamedTuple):
    """What a name is, and where that was assigned."""

    value: Value
    span: Span


class Scope:
    """The names of one function. What is not assigned in it is looked up around it: in the function that defines it,
    if the kernel has that, else by `outside`, in Python's own scopes."""

    def __init__(
        self, names: Mapping[str, Version], outer: Scope | None, outside: Callable[[str], Value] | None
    ) -> None:
        self.names = dict(names)
        self.outer = outer
        self._outside = outside

    def version(self, name: str) -> Version | None:
        """The version of a name that this function, or one around it in the kernel, has assigned."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None

    def outside(self, name: str) -> Value:
        """The value of a name of Python's scopes. Raises `NameError`."""
        scope = self
        while scope._outside is None:
            assert scope.outer is not None
            scope = scope.outer
        return scope._outside(name)
