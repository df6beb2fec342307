"""Loops: names that a loop assigns meet at its head.

The type that they have there depends on the body, which depends on it. So a loop is translated until the types stay:
the first time, a literal stands for a number whose type is not known yet (`weak`); what was made then is forgotten.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ocl_ir.kernel.grammar import Break, Const, Continue, For, If, Stmt, While
from ocl_ir.kernel.grammar import Value as IRValue
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.context import waits
from ocl_ir.language.errors import Span
from ocl_ir.language.expressions.joins import Join, Weak, joined
from ocl_ir.language.statements.branches import DECIDED, Branches
from ocl_ir.language.syntax.liveness import assigned
from ocl_ir.language.values.loops import Range, Unrolled
from ocl_ir.language.values.scopes import Version
from ocl_ir.language.values.values import Number, NumberClass, Unassigned, Value
from ocl_ir.types import BOOL

_MOST_ATTEMPTS = 8
"""Translations of a loop until the types of what it carries stay."""


@dataclass
class Loop:
    """A loop that is being translated: the variables of the names that it carries, and what reaches its ends."""

    variables: dict[str, Join]
    reached: dict[str, list[Version]] = field(default_factory=dict)
    """Versions that come to the head again, or leave by `break`, of names that it carries."""
    left: list[dict[str, Version]] = field(default_factory=list)
    """All names at each `break`."""
    exits: dict[str, Join] = field(default_factory=dict)
    """Of `while True`, the variables of names that only its body assigns."""
    depth: int | None = None
    """Of an unrolled loop, how many blocks were open at its start."""


@dataclass(frozen=True, slots=True)
class Turns:
    """The turns of a counted loop that goes up; `number` is what the program counts, of an index."""

    start: Ref
    stop: Ref
    step: Ref
    number: Callable[[Ref], Number]


class Loops(Branches):
    """Translates loops and what leaves them."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._loops: list[Loop] = []
        self.count = 0
        """Statements translated so far."""
        self.by_line: Counter[str] = Counter()
        """The same by line of the kernel."""

    def _Break_stmt(self, stmt: ast.Break) -> bool:  # noqa: N802
        loop = self._innermost("break", "return" if getattr(stmt, "is_return", False) else "break")
        loop.left.append(dict(self.scope.names))
        self._reach(loop, loop.variables | loop.exits)
        self.k.emit(Break())
        return False

    def _Continue_stmt(self, stmt: ast.Continue) -> bool:  # noqa: N802
        loop = self._innermost("continue")
        self._reach(loop, loop.variables)
        self.k.emit(Continue())
        return False

    def _innermost(self, what: str, word: str = "") -> Loop:
        """The loop that `break` or `continue` is of, which the program may have as another word."""
        if not self._loops:
            raise self.fault(f"`{what}` outside of a loop", "leave a helper by return")
        loop = self._loops[-1]
        if loop.depth is not None and loop.depth == self.k.depth:
            raise _StaticExit(what)
        if loop.depth is not None:
            raise self.fault(
                f"`{word or what}` in an unrolled loop under a condition that is known only at run time",
                "use range, or a condition that is known while the kernel is translated",
            )
        return loop

    def _For_stmt(self, stmt: ast.For) -> bool | str:  # noqa: N802
        if stmt.orelse:
            self.span = Span.of(stmt.orelse[0], self.frame, self.called)
            raise self.fault("`else` of a loop has no meaning in a kernel", "set a flag before `break`")
        iterated = self.expression(stmt.iter)
        if isinstance(iterated, Range):
            self._counted(stmt, iterated)
            return True
        if isinstance(iterated, Unrolled | tuple | range | str):
            return self._unrolled(stmt, tuple(iterated))
        raise self.fault(
            f"a loop over {self.described(iterated)}",
            "loop over range(…), unrolled(range(…)) or a tuple; elements of an array are read by index",
        )

    def _unrolled(self, stmt: ast.For, values: tuple[Value, ...]) -> bool | str:
        loop = Loop({}, depth=self.k.depth)
        for value in values:
            self._assign(stmt.target, value)
            outcome = self._turn(stmt.body, loop)
            if outcome == "break":
                break
            if outcome == "return":
                return DECIDED
        return True

    def _turn(self, body: Sequence[ast.stmt], loop: Loop) -> str:
        """One turn of an unrolled loop; how it ends. Exits must stand where conditions are known."""
        self._loops.append(loop)
        try:
            return "" if self.statements(body) else "return"
        except _StaticExit as leaving:
            return leaving.how
        finally:
            self._loops.pop()

    def _counted(self, stmt: ast.For, counted: Range) -> None:
        if not isinstance(stmt.target, ast.Name):
            raise self.fault("a loop over range gives one number", "name it")
        name, span = stmt.target.id, self.span
        self.span = Span.of(stmt.iter, self.frame, self.called)
        start, stop, step, how = self.loop_bounds(counted)
        self.span = span
        index_dtype = self.index_type if counted.dtype is None else counted.dtype
        kind: NumberClass = "index" if counted.dtype is None else "typed"

        def number(index: Ref) -> Number:
            return Number(index, index_dtype, kind, counted.low)

        ascends = isinstance(step.operand, Const) and int(step.operand.value) > 0
        prepares = how is None and ascends
        turn = self.prepared_turn(stmt, name, Turns(start, stop, step, number)) if prepares else None

        def body(loop: Loop) -> Stmt:
            index = IRValue(self.k.take_id(), index_dtype, name)
            self.k.multiples.note(index, self.k.multiples.of(start.operand, step.operand))
            with self.k.block() as block:
                value: Value = number(Ref(self.k, index))
                if how is not None:
                    value = how(value)
                    value = self._named(self.snapshot(value), name)
                self.scope.names[name] = Version(value, span)
                if turn is not None:
                    turn(value)
                if turn is not None or self.statements(stmt.body):
                    self._reach(loop, loop.variables)
            return For(index, start.operand, stop.operand, step.operand, tuple(block), counted.unroll)

        self._looped(stmt, body, {name})
        self.scope.names[name] = Version(
            Unassigned(
                f"{name} has no value behind the loop of line {stmt.lineno}, which may run zero times",
                f"give a name of its own a value before line {stmt.lineno}, and assign {name} to it in the loop",
            ),
            span,
        )

    def _While_stmt(self, stmt: ast.While) -> bool:  # noqa: N802
        if stmt.orelse:
            self.span = Span.of(stmt.orelse[0], self.frame, self.called)
            raise self.fault("`else` of a loop has no meaning in a kernel", "set a flag before `break`")
        endless = isinstance(stmt.test, ast.Constant) and bool(stmt.test.value)

        def body(loop: Loop) -> Stmt:
            with self.k.block() as header:
                tested = self.tested(stmt.test)
            with self.k.block() as block:
                if self.statements(stmt.body):
                    self._reach(loop, loop.variables)
            condition = Const(tested, BOOL) if isinstance(tested, bool) else tested.operand
            if waits(header):  # which the header of a loop of kernel IR does not
                leave = If(condition, (), (Break(),), where=self.k.where or "")
                return While((), Const(True, BOOL), (*header, leave, *block))
            return While(tuple(header), condition, tuple(block))

        return self._looped(stmt, body, set(), endless=endless)

    def _looped(
        self, stmt: ast.For | ast.While, body: Callable[[Loop], Stmt], bound: set[str], *, endless: bool = False
    ) -> bool:
        """A loop, once the types of what it carries are known; says whether what follows it is reached."""
        span, entry = self.span, dict(self.scope.names)
        carried = self._carried(stmt, entry, bound)
        joins = {name: joined(self, name, [entry[name]], span, weak=True) for name in carried}
        exits: dict[str, Join] = {}
        mark, count, by_line = self.marked(), self.count, self.by_line.copy()
        weak: Weak = True  # literals stay open until all else is settled
        for _ in range(_MOST_ATTEMPTS):
            with self.k.block() as declarations:
                variables = {name: self.declared(join, entry[name].value) for name, join in joins.items()}
                loop = Loop(variables, exits={name: self.declared(join) for name, join in exits.items()})
            self.scope.names = entry | {name: Version(self._value_of(join), span) for name, join in variables.items()}
            self._loops.append(loop)
            made = body(loop)
            self._loops.pop()
            self.span = span
            met = {
                name: joined(self, name, [entry[name], *loop.reached.get(name, [])], span, weak=weak) for name in joins
            }
            left = self._left(stmt, loop, entry) if endless else {}
            if left.keys() == exits.keys() and all(met[name].same_type(joins[name]) for name in joins):
                if weak == "first" or not any(join.is_open for join in met.values()):
                    break
                weak = "first"
                met = {
                    name: joined(self, name, [entry[name], *loop.reached.get(name, [])], span, weak=weak)
                    for name in joins
                }
            joins, exits = met, left
            self.back_to(mark)
            self.count, self.by_line = count, by_line.copy()
        else:
            raise self.fault(
                "the types of names that the loop carries depend on each other", "convert them before the loop"
            )
        for declaration in declarations:
            self.k.emit(declaration)
        self.span = Span.of(stmt.test if isinstance(stmt, ast.While) else stmt.iter, self.frame, self.called)
        self.k.emit(made)
        self.span = span
        self.scope.names = self._behind(stmt, entry, loop, endless=endless)
        return not endless or bool(loop.left)

    def _carried(self, stmt: ast.For | ast.While, entry: dict[str, Version], bound: set[str]) -> list[str]:
        """Names that come into the loop and that a turn may change for the next one, or for what follows."""
        needed = self.liveness.head.get(id(stmt), frozenset()) | {"return", "return flag"}
        changed = assigned(stmt.body)
        names = [name for name in entry if name in changed and name in needed and name not in bound]
        for name in names:
            if isinstance(entry[name].value, Unassigned):
                names = [other for other in names if other != name]
        return names

    def _reach(self, loop: Loop, joins: dict[str, Join]) -> None:
        """The end of a turn, or a `break`: what names are now becomes the variables of the loop."""
        for name, join in joins.items():
            version = self.scope.names.get(name)
            if version is not None:
                loop.reached.setdefault(name, []).append(version)
                self._set(join, version.value)

    def _left(self, stmt: ast.While | ast.For, loop: Loop, entry: dict[str, Version]) -> dict[str, Join]:
        """Names that `while True` leaves behind: those that each `break` has, and that did not come in."""
        live = self._live_after(stmt)
        names = [name for name in (loop.left[0] if loop.left else {}) if name in live and name not in entry]
        common = [name for name in names if all(name in left for left in loop.left)]
        joins = {name: joined(self, name, [left[name] for left in loop.left], self.span) for name in common}
        return {name: join for name, join in joins.items() if join.is_number or join.parts is not None}

    def _behind(self, stmt: ast.stmt, entry: dict[str, Version], loop: Loop, *, endless: bool) -> dict[str, Version]:
        variables = loop.variables | loop.exits
        names = entry | {name: Version(self._value_of(join), self.span) for name, join in variables.items()}
        inside = assigned(getattr(stmt, "body", [])) - names.keys()
        if endless and loop.left:
            same = {name for name in loop.left[0] if all(left.get(name) == loop.left[0][name] for left in loop.left)}
            names |= {name: loop.left[0][name] for name in same & inside if not _is_number(loop.left[0][name].value)}
            inside -= same
        for name in inside & self._live_after(stmt):
            why = f"{name} has no value behind the loop of line {stmt.lineno}, which may run zero times"
            remedy = f"give it one before line {stmt.lineno}, as {name} = 0"
            names[name] = Version(Unassigned(why, remedy), self.span)
        return names

    def prepared_turn(self, stmt: ast.For, name: str, turns: Turns) -> Callable[[Number], None] | None:
        """What translates a turn of a loop other than its statements one after the other; None where nothing does.
        `ocl_ir.language.builtins.tile_products` has it."""
        return None

    def loop_bounds(self, counted: Range) -> Any:
        """The operands of a counted loop, and how its index becomes the number that the program counts;
        `ocl_ir.language.statements.calls` has it."""
        raise NotImplementedError


class _StaticExit(Exception):  # noqa: N818
    """`break` or `continue` of an unrolled loop, under conditions that are known."""

    def __init__(self, how: str) -> None:
        self.how = how


def _is_number(value: Value) -> bool:
    return isinstance(value, Number)
