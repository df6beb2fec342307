"""Branches: behind one, names whose versions differ and that are read later become variables.

A variable is declared before the branch and assigned at the end of each side.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from ocl_ir.kernel.grammar import Assign, Const, If, Local, Operand, Stmt, Variable
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.errors import Span
from ocl_ir.language.expressions.joins import Join, elements_of, joined
from ocl_ir.language.statements.assignments import Assignments
from ocl_ir.language.syntax.liveness import Liveness, Names, liveness
from ocl_ir.language.values.promotion import class_of
from ocl_ir.language.values.scopes import Version
from ocl_ir.language.values.values import POISON, ArrayView, Number, Size, Tile, Unassigned, Value, is_static
from ocl_ir.types import BOOL, DType, with_lanes

DECIDED = "decided"
"""How a statement ends that was chosen while the kernel is translated, and behind which nothing is reached."""


class Branches(Assignments):
    """Translates `if`, and joins versions of names."""

    def _If_stmt(self, stmt: ast.If) -> bool | str:  # noqa: N802
        condition = self.tested(stmt.test)
        if isinstance(condition, bool):
            return self.statements(stmt.body if condition else stmt.orelse) or DECIDED
        before = dict(self.scope.names)
        with self.k.block() as then:
            then_falls = self.statements(stmt.body)
            then_names = self.scope.names
        self.scope.names = dict(before)
        with self.k.block() as orelse:
            else_falls = self.statements(stmt.orelse)
            else_names = self.scope.names
        self.span = Span.of(stmt, self.frame, self.called)
        if then_falls and else_falls:
            live = self._live_after(stmt)
            self.scope.names = self._meet_names(before, (then_names, then), (else_names, orelse), live)
        elif then_falls or else_falls:
            side = (then_names, then) if then_falls else (else_names, orelse)
            self.scope.names = self._names_of_one_side(before, side, self._live_after(stmt))
        self.span = Span.of(stmt.test, self.frame, self.called)
        self.k.emit(If(condition.operand, tuple(then), tuple(orelse)))
        return then_falls or else_falls

    @property
    def liveness(self) -> Liveness:
        """The liveness of the names of the function that is translated now."""
        assert self._function is not None
        return liveness(self._function)

    def _live_after(self, stmt: ast.stmt) -> Names:
        return self.liveness.after.get(id(stmt), frozenset()) | {"return", "return flag"}

    def _meet_names(
        self,
        before: dict[str, Version],
        then: tuple[dict[str, Version], list[Stmt]],
        orelse: tuple[dict[str, Version], list[Stmt]],
        live: Names,
    ) -> dict[str, Version]:
        """The names behind a branch, with variables for versions that differ."""
        line = self.span.line
        met: dict[str, Version] = {}
        for name in [*then[0], *(name for name in orelse[0] if name not in then[0])]:
            a, b = then[0].get(name), orelse[0].get(name)
            if a is b and a is not None:
                met[name] = a
            elif name not in live:
                continue
            elif a is None or b is None:
                outcome = "taken" if a is None else "not taken"
                if self._outer_version(name):
                    raise self.fault(
                        f"{name} is assigned on one side of the branch only, and is a name around it",
                        "assign it before",
                    )
                met[name] = Version(
                    Unassigned(
                        f"{name} has no value if the `if` of line {line} is {outcome}",
                        f"give it one before line {line}",
                    ),
                    self.span,
                )
            else:
                join = joined(self, name, [a, b], self.span, weak="any")
                sides = [(a, then[1]), (b, orelse[1])]
                known = b is before.get(name) or (is_static(b.value) and join.accepts(b.value))
                sides, init = (sides[:1], b.value) if known else (sides, POISON)
                if name in before and self._held(join, before[name].value) is not None:
                    init = before[name].value  # what it was before is its variable still
                met[name] = self._variable(join, sides, init)
        return met

    def _names_of_one_side(
        self, before: dict[str, Version], side: tuple[dict[str, Version], list[Stmt]], live: Names
    ) -> dict[str, Version]:
        """The names behind a branch of which only one side goes on: what that has made is carried out of it."""
        names, block = side
        changed = {name for name, version in names.items() if before.get(name) is not version}
        kept = {name: version for name, version in names.items() if name not in changed}
        for name in [name for name in names if name in changed and name in live]:
            kept[name] = Version(self._carried_out(name, names[name], block), names[name].span)
        return kept

    def _carried_out(self, name: str, version: Version, block: list[Stmt]) -> Value:
        value = version.value
        if isinstance(value, ArrayView):
            sizes = [self._size_carried_out(size, version, block) for size in (value.offset, *value.shape)]
            strides = value.strides and tuple(self._size_carried_out(size, version, block) for size in value.strides)
            return ArrayView(value.memory, tuple(sizes[1:]), strides, sizes[0])
        if is_static(value) or not (class_of(value) or isinstance(value, tuple | Tile)):
            return value
        elsewhere = Version(POISON, self.span)  # so that it becomes a variable
        return self._variable(joined(self, name, [version, elsewhere], self.span, weak="any"), [(version, block)]).value

    def _size_carried_out(self, size: Size, version: Version, block: list[Stmt]) -> Size:
        if not isinstance(size, Number):
            return size
        carried: Number = self._carried_out("size", Version(size, version.span), block)
        return carried

    def _outer_version(self, name: str) -> bool:
        return self.scope.outer is not None and self.scope.outer.version(name) is not None

    def _variable(self, join: Join, sides: Sequence[tuple[Version, list[Stmt]]], init: Value = POISON) -> Version:
        """What a name is behind a branch: a variable that sides assign, and that starts as what it is on the others."""
        declared = self.declared(join, init)
        for version, block in sides:
            with self.k.block() as conversions:
                self._set(declared, version.value)
            block.extend(conversions)
        return Version(self._value_of(declared), self.span)

    def declared(self, join: Join, init: Value = POISON) -> Join:
        """The join with variables, which start as a value, or as zero; the variable that has the value already, where
        that has the type: nobody else looks at it, since what gets another name is copied."""
        if join.parts is not None:
            inits = elements_of(init) or (POISON,) * len(join.parts)
            parts = tuple(self.declared(part, first) for part, first in zip(join.parts, inits, strict=True))
            return replace(join, parts=parts)
        if not join.is_number:
            return join
        dtype = join.number_dtype
        type_ = with_lanes(self.computed_as(dtype), join.lanes)
        held = self._held(join, init)
        if held is not None:
            return replace(join, variable=held)
        first: Operand = Const(False if dtype is BOOL else 0.0 if dtype.is_inexact else 0, type_)
        if join.accepts(init):
            first = self._as_join(join, init).operand
        variable = Variable(self.k.take_id(), type_, join.name if join.name.isidentifier() else "result")
        self.k.emit(Local(variable, first))
        return replace(join, variable=variable)

    def _held(self, join: Join, value: Value) -> Variable | None:
        """The variable that a value is, if it has the type of a join."""
        if not isinstance(value, Number) or not isinstance(value.ref.operand, Variable) or not join.is_number:
            return None
        same = (value.dtype, value.kind, value.lanes) == (join.dtype, join.kind, join.lanes)
        return value.ref.operand if same else None

    def _as_join(self, join: Join, value: Value) -> Ref:
        if join.kind == "index":
            return self.index(self._unbooled(value))
        ref = self.converted(value, join.number_dtype)
        return self.k.splat(ref, join.lanes) if join.lanes > 1 and isinstance(ref.type, DType) else ref

    def _set(self, join: Join, value: Value) -> None:
        """Assigns a value to the variables of a join; to none that it does not fit."""
        if join.parts is not None:
            for part, element in zip(join.parts, elements_of(value), strict=False):
                self._set(part, element)
        elif join.variable is not None and join.accepts(value):
            ref = self._as_join(join, value)
            if ref.operand != join.variable:
                self.k.emit(Assign(join.variable, ref.operand))

    def _value_of(self, join: Join) -> Value:
        if join.parts is not None:
            values = tuple(map(self._value_of, join.parts))
            if join.tile is not None:
                return replace(join.tile, dtype=values[0].dtype, elements=values)
            return values if join.named is None else join.named(*values)
        if join.variable is None:
            return join.value
        return Number(Ref(self.k, join.variable), join.number_dtype, join.kind, join.low)

    def statements(self, stmts: Sequence[ast.stmt]) -> bool:
        """Translates statements; says whether what follows them is reached. `statements/statements.py` has it."""
        raise NotImplementedError
