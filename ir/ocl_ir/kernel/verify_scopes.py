"""Checks of definitions: names and ids are good, each value is defined once, and before and around all of its uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ocl_ir.kernel.fault import Fault, name_of, quoted
from ocl_ir.kernel.grammar import (
    Assign,
    Block,
    Const,
    For,
    If,
    Kernel,
    Local,
    Operand,
    Stmt,
    Value,
    Variable,
    While,
    defined,
    operands,
    walk,
)


def names_are_valid(kernel: Kernel) -> Iterator[Fault]:
    """The kernel and its parameters have names that C takes, and no two parameters share one."""
    seen: set[str] = set()
    for name in (kernel.name, *(param.value.hint for param in kernel.params)):
        if not (name.isidentifier() and name.isascii()):
            yield Fault(f"{name!r} cannot be a name", None, "use letters, digits and underscores")
    for param in kernel.params:
        if param.value.hint in seen:
            yield Fault(f"two parameters have the name {param.value.hint}", None, "give each its own name")
        seen.add(param.value.hint)


def single_definition(kernel: Kernel) -> Iterator[Fault]:
    """Every id has one definition: a binding is written once, where it is declared."""
    seen: dict[int, Stmt | None] = {}
    for operand, stmt in _definitions(kernel):
        if operand.id in seen:
            first = seen[operand.id]
            before = f"first by {quoted(kernel, first)}" if first is not None else "first as a parameter"
            yield Fault(
                f"{name_of(kernel, operand)} is defined twice, {before}",
                stmt,
                "a binding is written once: use a variable (k.variable, k.assign), or take a new id",
            )
        seen.setdefault(operand.id, stmt)


def uses_are_in_scope(kernel: Kernel) -> Iterator[Fault]:
    """Every use is behind the definition, in its block or one inside of it; only declared variables are assigned."""
    yield from _Scopes(kernel).faults()


def _definitions(kernel: Kernel) -> Iterator[tuple[Value | Variable, Stmt | None]]:
    for param in kernel.params:
        yield param.value, None
    for stmt in walk(kernel.body):
        value = _introduced(stmt)
        if value is not None:
            yield value, stmt


def _introduced(stmt: Stmt) -> Value | Variable | None:
    match stmt:
        case Local():
            return stmt.variable
        case For():
            return stmt.index
    return defined(stmt)


class _Scopes:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._visible: dict[int, Value | Variable] = {param.value.id: param.value for param in kernel.params}
        self._closed: dict[int, Stmt] = {}
        """What is defined in a block that has ended, and the statement around that block."""

    def faults(self) -> Iterator[Fault]:
        """Walks the kernel as it runs."""
        for param in self._kernel.params:
            if param.length is not None:
                yield from self._used((param.length,), None)
        yield from self._block(self._kernel.body)

    def _block(self, block: Block) -> Iterator[Fault]:
        for stmt in block:
            if not isinstance(stmt, While):
                yield from self._used(operands(stmt), stmt)
            if isinstance(stmt, Assign):
                yield from self._assigned(stmt)
            match stmt:
                case If():
                    yield from self._scope((stmt.then,), stmt)
                    yield from self._scope((stmt.orelse,), stmt)
                case For():
                    yield from self._scope((stmt.body,), stmt, index=stmt.index)
                case While():
                    yield from self._scope((stmt.header, stmt.body), stmt, condition=stmt.condition)
                case _:
                    introduced = _introduced(stmt)
                    if introduced is not None:
                        self._visible[introduced.id] = introduced

    def _scope(
        self, parts: Iterable[Block], stmt: Stmt, index: Value | None = None, condition: Operand | None = None
    ) -> Iterator[Fault]:
        outer = self._visible
        self._visible = dict(outer)
        if index is not None:
            self._visible[index.id] = index
        for part in parts:
            yield from self._block(part)
            if condition is not None:
                yield from self._used((condition,), stmt)
                condition = None
        for id_ in self._visible.keys() - outer.keys():
            self._closed[id_] = stmt
        self._visible = outer

    def _used(self, used: Iterable[Operand], stmt: Stmt | None) -> Iterator[Fault]:
        for operand in used:
            if isinstance(operand, Const):
                continue
            declared = self._visible.get(operand.id)
            if declared is None:
                yield self._invisible(operand, stmt)
            elif type(declared) is not type(operand) or declared.type != operand.type:
                kind = type(declared).__name__.lower()
                yield Fault(
                    f"{name_of(self._kernel, operand)} is used as a {type(operand).__name__.lower()} of type "
                    f"{operand.type}, and is a {kind} of type {declared.type}",
                    stmt,
                    "use the operand that the definition made",
                )

    def _invisible(self, operand: Value | Variable, stmt: Stmt | None) -> Fault:
        name = name_of(self._kernel, operand)
        if operand.id in self._closed:
            around = quoted(self._kernel, self._closed[operand.id])
            return Fault(
                f"{name} is used outside of the block of {around} that defines it",
                stmt,
                f"make it a variable declared before {around} (k.variable), and assign it inside",
            )
        definition = {other.id: stmt for other, stmt in _definitions(self._kernel)}.get(operand.id)
        if definition is not None:
            fact = f"{name} is used before its definition {quoted(self._kernel, definition)}"
            return Fault(fact, stmt, "move the definition up, or make it a variable with a first value")
        return Fault(f"{name} is used and never defined", stmt, "define it before, or make it a parameter")

    def _assigned(self, stmt: Assign) -> Iterator[Fault]:
        target: object = stmt.variable
        if isinstance(target, Variable):
            yield from self._used((target,), stmt)
        elif isinstance(target, Value):
            name = name_of(self._kernel, target)
            yield Fault(
                f"{name} is assigned, and is a binding, which is written once",
                stmt,
                f"start a variable from it: v = k.variable({name}), then k.assign(v, …)",
            )
