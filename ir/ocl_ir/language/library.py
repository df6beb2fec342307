"""Kernels of the library that are written in the language: a function in Python becomes the body of a kernel that
somebody builds.

The parameters of the kernel are made with the builder. What the library puts into an algorithm, as how an element is
read or two are joined, are compile-time functions that take operands of the builder.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.builtins import registry  # noqa: F401, what Python's own functions are
from ocl_ir.language.builtins.tiles import Tiles
from ocl_ir.language.context import LanguageBuilder, Options
from ocl_ir.language.errors import Span
from ocl_ir.language.proofs.fences import with_fences
from ocl_ir.language.syntax.source import source_of
from ocl_ir.language.values.scopes import Scope
from ocl_ir.language.values.table import Builtin
from ocl_ir.language.values.values import Number, Value
from ocl_ir.types import I64, U64, DType, element


class Algorithm:
    """A kernel whose body is a function in Python; `k` is its builder. Unless work-items `exchanges` values through
    global memory, barriers do not wait for that, which takes GPUs most of a barrier.

    algorithm = Algorithm("total", scan_part, index=U32, group_size=(256, 1, 1))
    n = algorithm.k.scalar("n", U32)
    algorithm.write(n, value=algorithm.function(lambda i: k.load(x, i)))
    kernel = algorithm.build()
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., None],
        *,
        index: DType,
        group_size: tuple[int, int, int] | None = None,
        note: str = "",
        exchanges: bool = True,
    ) -> None:
        assert isinstance(function, FunctionType)
        source = source_of(function)
        options = Options(wide=index in {I64, U64}, group_size=group_size or (1, 1, 1))
        self._function = function
        self._exchanges = exchanges
        self.k = LanguageBuilder(name, group_size=group_size, note=note)
        self._t = Tiles(name, options, Span.of(source.node, source.frame), self.k)

    def write(self, *arguments: Any, **keywords: Any) -> None:
        """Writes the body: operands of the builder are numbers of their dtypes, the rest is known."""
        t = self._t
        t.scope, t.frame, before = Scope({}, None, None), t.span.frame, self.k.where
        values = [_value(argument) for argument in arguments]
        t.inlined(self._function, values, {name: _value(value) for name, value in keywords.items()}, is_outermost=True)
        self.k.where = before
        self.k.put_first(t.first_statements)

    def build(self) -> Kernel:
        """The kernel."""
        return with_fences(self.k.build(), exchanges=self._exchanges)

    def function(self, emit: Callable[..., Any], name: str = "function") -> Builtin:
        """A compile-time function of operands and tuples of them, which gives an operand, a tuple of them, or
        nothing."""

        def called(t: Tiles, *values: Value) -> Value:
            return _value(emit(*[_operand(t, value) for value in values]))

        return Builtin(name, called)


def _operand(t: Tiles, value: Value) -> Any:
    return tuple(_operand(t, part) for part in value) if isinstance(value, tuple) else t.number(value).ref


def _value(value: Any) -> Value:
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(map(_value, value))
    return Number(value, element(value.type)) if isinstance(value, Ref) else value
