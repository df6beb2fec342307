"""Statements of Python: assignments begin versions of names, and where versions meet there is a variable.

Behind a branch, names whose versions differ and that are read later meet: a variable is declared before the branch and
assigned at the end of each side. Names that a loop assigns meet at its head. The type that they have there depends on
the body, which depends on it, so a loop is translated until the types stay: the first time, a literal stands for a
number whose type is not known yet (`weak`); what was made then is forgotten.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ocl_ir.kernel.grammar import Assign, Break, Const, Continue, For, If, Local, Operand, Return, Stmt, Variable, While
from ocl_ir.kernel.grammar import Value as IRValue
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.errors import Span
from ocl_ir.language.expressions import Expressions
from ocl_ir.language.joins import Join, joined
from ocl_ir.language.liveness import Names, assigned, liveness
from ocl_ir.language.loops import Range, Unrolled
from ocl_ir.language.memory import Site
from ocl_ir.language.scopes import Version
from ocl_ir.language.values import POISON, ArrayView, HostNumber, LocalFunction, Number, Unassigned, Value
from ocl_ir.types import BOOL, DType, Vector, with_lanes

MOST_STATEMENTS = 20_000
"""Statements of a kernel, after helpers are inlined and loops unrolled."""
_MOST_ATTEMPTS = 4
_UNSUPPORTED = {
    ast.With: ("`with`", "kernels have no context managers"),
    ast.Try: ("`try`", "test before"),
    ast.Raise: ("`raise`", "use assert, which checked mode reports"),
    ast.Match: ("`match`", "write if and elif"),
    ast.ClassDef: ("`class`", "define it outside: frozen dataclasses can be passed"),
    ast.Delete: ("`del`", "names end by themselves"),
    ast.Global: ("`global`", "store into an array"),
    ast.Nonlocal: ("`nonlocal`", "return the value"),
    ast.Import: ("`import`", "import outside of the kernel"),
    ast.ImportFrom: ("`import`", "import outside of the kernel"),
    ast.AsyncFor: ("`async`", "kernels do not wait"),
    ast.AsyncWith: ("`async`", "kernels do not wait"),
    ast.AsyncFunctionDef: ("`async`", "kernels do not wait"),
}


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


class Statements(Expressions):
    """Translates statements."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._loops: list[Loop] = []
        self._function: ast.FunctionDef | ast.Lambda
        self._count = 0
        self._by_line: Counter[str] = Counter()
        self.inlined_depth = 0

    # ------------------------------------------------------------------ blocks

    def statements(self, stmts: Sequence[ast.stmt]) -> bool:
        """Translates statements; says whether what follows them is reached."""
        for stmt in stmts:
            self.span = Span.of(stmt, self.frame, self.called)
            self._spend()
            translate = getattr(self, f"_{type(stmt).__name__}_stmt", None)
            if translate is None:
                what, remedy = _UNSUPPORTED.get(type(stmt), (type(stmt).__name__, ""))
                self.fail(f"{what} has no meaning in a kernel", remedy)
            if translate(stmt) is False:
                return False
        return True

    def _spend(self) -> None:
        self._count += 1
        root = self.span
        while root.called is not None:
            root = root.called
        self._by_line[str(root)] += 1
        if self._count > MOST_STATEMENTS:
            largest = ", ".join(f"{line} ({count:,})" for line, count in self._by_line.most_common(3))
            self.fail(
                f"the kernel has more than {MOST_STATEMENTS:,} statements once helpers are inlined and loops unrolled",
                f"unroll less; most come from {largest}",
            )

    # ------------------------------------------------------------------ simple statements

    def _Pass_stmt(self, stmt: ast.Pass) -> None:  # noqa: N802
        pass

    def _Expr_stmt(self, stmt: ast.Expr) -> None:  # noqa: N802
        if not (isinstance(stmt.value, ast.Constant) and (stmt.value.value is Ellipsis or isinstance(stmt.value.value, str))):
            self.is_used = not isinstance(stmt.value, ast.Call) or any(
                isinstance(inner, ast.Call) for argument in stmt.value.args for inner in ast.walk(argument)
            )
            self.expression(stmt.value)
            self.is_used = True

    def _FunctionDef_stmt(self, stmt: ast.FunctionDef) -> None:  # noqa: N802
        if stmt.decorator_list:
            self.fail("a decorated function inside of a kernel", "define it outside, or without the decorator")
        self._bind(stmt.name, LocalFunction(stmt, self.scope, stmt.name))

    def _Assign_stmt(self, stmt: ast.Assign) -> None:  # noqa: N802
        first = stmt.targets[0]
        self.target_name = first.id if isinstance(first, ast.Name) else ""
        value = self.expression(stmt.value)
        self.target_name = ""
        for target in stmt.targets:
            self._assign(target, value)

    def _AnnAssign_stmt(self, stmt: ast.AnnAssign) -> None:  # noqa: N802
        if stmt.value is None:
            self.fail("an annotation without a value", "give the name a value")
        dtype = self.dtype_of(self.expression(stmt.annotation))
        value = self.expression(stmt.value)
        self._assign(stmt.target, Number(self.converted(value, dtype), dtype))

    def _AugAssign_stmt(self, stmt: ast.AugAssign) -> None:  # noqa: N802
        target = stmt.target
        if isinstance(target, ast.Subscript):
            view, index = self.expression(target.value), self._snapshot(self.expression(target.slice))
            if not isinstance(view, ArrayView):
                self._refuse_element(view)
            self.span = Span.of(stmt, self.frame, self.called)
            value = self._augmented(stmt, self.load(view, index))
            self.store(view, index, value)
            return
        if not isinstance(target, ast.Name):
            self._assign(target, None)
        load = ast.copy_location(ast.Name(id=target.id, ctx=ast.Load()), target)  # type: ignore[union-attr]
        self._assign(target, self._augmented(stmt, self.expression(load)))

    def _augmented(self, stmt: ast.AugAssign, before: Value) -> Value:
        right = self.expression(stmt.value)
        op = self.operator_name(stmt.op)
        self.span = Span.of(stmt, self.frame, self.called)
        return self.binary(op, before, right)

    def _assign(self, target: ast.expr, value: Value) -> None:
        self.span = Span.of(target, self.frame, self.called)
        match target:
            case ast.Name(id=name):
                self._bind(name, value)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                self._unpack(elements, value)
            case ast.Subscript():
                view = self.expression(target.value)
                index = self.expression(target.slice)
                if not isinstance(view, ArrayView):
                    self._refuse_element(view)
                self.store(view, index, value)
            case ast.Attribute(attr=name):
                vector = self.expression(target.value)
                if isinstance(vector, Number):
                    text = Span.of(target.value, self.frame).text
                    self.fail("a vector is a value", f"write {text} = {text}.replace({name}=…)")
                self.fail(f"{name} of {self.described(vector)} is assigned", "assign a name or an element")
            case _:
                self.fail(f"an assignment to {type(target).__name__}", "assign a name or an element")

    def _refuse_element(self, value: Value) -> None:
        if isinstance(value, Number) and value.lanes > 1:
            self.fail("a vector is a value", "write v = v.replace(x=…)")
        self.fail(f"an element of {self.described(value)} is assigned", "arrays have elements that can be written")

    def _unpack(self, targets: Sequence[ast.expr], value: Value) -> None:
        if isinstance(value, Number) and isinstance(value.type, Vector):
            value = tuple(self.lanes_of(value, [lane]) for lane in range(value.lanes))
        if not isinstance(value, tuple):
            self.fail(f"{self.described(value)} cannot be unpacked", "give a tuple")
        if any(isinstance(target, ast.Starred) for target in targets):
            self.fail("a starred target", "name the elements")
        if len(targets) != len(value):
            self.fail(f"{len(value)} values for {len(targets)} names", "give as many")
        held = self._snapshot(value)
        for target, element in zip(targets, held, strict=True):
            self._assign(target, element)

    def _bind(self, name: str, value: Value) -> None:
        """Begins a version. What a variable holds now is copied: it may change."""
        self.scope.names[name] = Version(self._named(self._snapshot(value), name), self.span)

    def _snapshot(self, value: Value) -> Value:
        if isinstance(value, tuple):
            elements = tuple(map(self._snapshot, value))
            if all(a is b for a, b in zip(elements, value, strict=True)):
                return value
            return type(value)(*elements) if hasattr(value, "_fields") else elements
        if isinstance(value, Number) and isinstance(value.ref.operand, Variable):
            return Number(self.k.let(value.ref), value.dtype, value.kind, value.low)
        if isinstance(value, ArrayView) and isinstance(value.offset, Number):
            fixed = self._snapshot(value.offset)
            if fixed is not value.offset:
                return ArrayView(value.memory, value.shape, value.strides, fixed)
        return value

    def _named(self, value: Value, name: str) -> Value:
        """The value under a name: a binding that has none takes it."""
        if isinstance(value, HostNumber) and not value.name:
            return replace(value, name=name)
        if not isinstance(value, Number) or not name.isidentifier():
            return value
        ref = self.k.named(value.ref, name)
        return value if ref is value.ref else replace(value, ref=ref)

    # ------------------------------------------------------------------ exits and assertions

    def _Return_stmt(self, stmt: ast.Return) -> bool:  # noqa: N802
        if stmt.value is not None:
            self.fail("a kernel returns nothing", "store the value into an array that is passed")
        self.k.emit(Return())
        return False

    def _Break_stmt(self, stmt: ast.Break) -> bool:  # noqa: N802
        loop = self._innermost("break")
        loop.left.append(dict(self.scope.names))
        self._reach(loop, loop.variables | loop.exits)
        self.k.emit(Break())
        return False

    def _Continue_stmt(self, stmt: ast.Continue) -> bool:  # noqa: N802
        loop = self._innermost("continue")
        self._reach(loop, loop.variables)
        self.k.emit(Continue())
        return False

    def _innermost(self, what: str) -> Loop:
        if not self._loops:
            self.fail(f"`{what}` outside of a loop")
        loop = self._loops[-1]
        if loop.depth is not None and loop.depth == self.k.depth:
            raise _StaticExit(what)
        if loop.depth is not None:
            self.fail(
                f"`{what}` of an unrolled loop under a condition that is known only at run time",
                "use range, or a condition that is known while the kernel is translated",
            )
        return loop

    def _Assert_stmt(self, stmt: ast.Assert) -> None:  # noqa: N802
        if not self.options.checked:
            return
        condition = self.condition(self.expression(stmt.test))
        message = self.expression(stmt.msg) if stmt.msg is not None else ""
        if isinstance(condition, bool):
            if not condition:
                self.fail(f"the assertion does not hold, whenever this runs{f': {message}' if message else ''}")
            return
        site = len(self.sites)
        text = Span.of(stmt.test, self.frame).text + (f": {message}" if message else "")
        self.sites.append(Site(Span.of(stmt, self.frame, self.called), None, text))
        with self.k.if_(self.k.op("not", condition)):
            self.violation(site)

    # ------------------------------------------------------------------ branches

    def _If_stmt(self, stmt: ast.If) -> bool:  # noqa: N802
        condition = self.condition(self.expression(stmt.test))
        if isinstance(condition, bool):
            return self.statements(stmt.body if condition else stmt.orelse)
        where = self.k.where or ""
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
        else:
            self.scope.names = then_names if then_falls else else_names
        self.k.emit(If(condition.operand, tuple(then), tuple(orelse), where=where))
        return then_falls or else_falls

    def _live_after(self, stmt: ast.stmt) -> Names:
        return liveness(self._function).after.get(id(stmt), frozenset()) | {"return", "return flag"}

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
                    self.fail(f"{name} is assigned on one side of the branch only, and is a name around it", "assign it before")
                met[name] = Version(
                    Unassigned(
                        f"{name} has no value if the `if` of line {line} is {outcome}",
                        f"give it one before line {line}",
                    ),
                    self.span,
                )
            else:
                met[name] = self._variable(joined(self, name, [a, b], self.span), [(a, then[1]), (b, orelse[1])])
        return met

    def _outer_version(self, name: str) -> bool:
        return self.scope.outer is not None and self.scope.outer.version(name) is not None

    def _variable(self, join: Join, sides: Sequence[tuple[Version, list[Stmt]]]) -> Version:
        """What a name is behind a branch: a variable that each side assigns, where they differ."""
        declared = self.declared(join)
        for version, block in sides:
            with self.k.block() as conversions:
                self._set(declared, version.value)
            block += conversions
        return Version(self._value_of(declared), self.span)

    def declared(self, join: Join, init: Value = POISON) -> Join:
        """The join with variables, which start as a value, or as zero."""
        if join.parts is not None:
            inits = init if isinstance(init, tuple) else [POISON] * len(join.parts)
            parts = tuple(self.declared(part, first) for part, first in zip(join.parts, inits, strict=True))
            return replace(join, parts=parts)
        if not join.is_number:
            return join
        dtype = join.number_dtype
        type_ = with_lanes(self.computed_as(dtype), join.lanes)
        first: Operand = Const(False if dtype is BOOL else 0.0 if dtype.is_float else 0, type_)
        if join.accepts(init):
            first = self._as_join(join, init).operand
        variable = Variable(self.k.take_id(), type_, join.name if join.name.isidentifier() else "result")
        self.k.emit(Local(variable, first))
        return replace(join, variable=variable)

    def _as_join(self, join: Join, value: Value) -> Ref:
        if join.kind == "index":
            return self.index(self._unbooled(value))
        ref = self.converted(value, join.number_dtype)
        return self.k.splat(ref, join.lanes) if join.lanes > 1 and isinstance(ref.type, DType) else ref

    def _set(self, join: Join, value: Value) -> None:
        """Assigns a value to the variables of a join; to none that it does not fit."""
        if join.parts is not None:
            for part, element in zip(join.parts, value if isinstance(value, tuple) else (), strict=False):
                self._set(part, element)
        elif join.variable is not None and join.accepts(value):
            ref = self._as_join(join, value)
            if ref.operand != join.variable:
                self.k.emit(Assign(join.variable, ref.operand))

    def _value_of(self, join: Join) -> Value:
        if join.parts is not None:
            return tuple(map(self._value_of, join.parts))
        if join.variable is None:
            return join.value
        return Number(Ref(self.k, join.variable), join.number_dtype, join.kind, join.low)

    # ------------------------------------------------------------------ loops

    def _For_stmt(self, stmt: ast.For) -> bool:  # noqa: N802
        if stmt.orelse:
            self.span = Span.of(stmt.orelse[0], self.frame, self.called)
            self.fail("`else` of a loop has no meaning in a kernel", "set a flag before `break`")
        iterated = self.expression(stmt.iter)
        if isinstance(iterated, Range):
            self._counted(stmt, iterated)
            return True
        if isinstance(iterated, Unrolled | tuple | range | str):
            return self._unrolled(stmt, tuple(iterated))
        self.fail(
            f"a loop over {self.described(iterated)}",
            "loop over range(…), unrolled(range(…)) or a tuple; elements of an array are read by index",
        )

    def _unrolled(self, stmt: ast.For, values: tuple[Value, ...]) -> bool:
        loop = Loop({}, depth=self.k.depth)
        for value in values:
            self._assign(stmt.target, value)
            outcome = self._turn(stmt.body, loop)
            if outcome == "break":
                break
            if outcome == "return":
                return False
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
            self.fail("a loop over range gives one number", "name it")
        name, span = stmt.target.id, self.span
        start, stop, step, how = self.loop_bounds(counted)
        index_dtype = self.index_type if counted.dtype is None else counted.dtype
        low = counted.low

        def body(loop: Loop) -> Stmt:
            index = IRValue(self.k.take_id(), index_dtype, name)
            kind = "index" if counted.dtype is None else "typed"
            with self.k.block() as block:
                value: Value = Number(Ref(self.k, index), index_dtype, kind, low)  # type: ignore[arg-type]
                if how is not None:
                    value = how(value)
                    value = self._named(self._snapshot(value), name)
                self.scope.names[name] = Version(value, span)
                if self.statements(stmt.body):
                    self._reach(loop, loop.variables)
            return For(index, start.operand, stop.operand, step.operand, tuple(block), counted.unroll)

        self._looped(stmt, body, {name})
        self.scope.names[name] = Version(
            Unassigned(f"{name} has no value behind the loop of line {stmt.lineno} if it runs zero times", "keep it in a name of its own"),
            span,
        )

    def _While_stmt(self, stmt: ast.While) -> bool:  # noqa: N802
        if stmt.orelse:
            self.span = Span.of(stmt.orelse[0], self.frame, self.called)
            self.fail("`else` of a loop has no meaning in a kernel", "set a flag before `break`")
        endless = isinstance(stmt.test, ast.Constant) and bool(stmt.test.value)

        def body(loop: Loop) -> Stmt:
            with self.k.block() as header:
                tested = self.condition(self.expression(stmt.test))
            with self.k.block() as block:
                if self.statements(stmt.body):
                    self._reach(loop, loop.variables)
            condition = Const(tested, BOOL) if isinstance(tested, bool) else tested.operand
            return While(tuple(header), condition, tuple(block))

        return self._looped(stmt, body, set(), endless=endless)

    def _looped(self, stmt: ast.For | ast.While, body: Callable[[Loop], Stmt], bound: set[str], *, endless: bool = False) -> bool:
        """A loop, once the types of what it carries are known; says whether what follows it is reached."""
        span, entry = self.span, dict(self.scope.names)
        carried = self._carried(stmt, entry, bound)
        joins = {name: joined(self, name, [entry[name]], span, weak=True) for name in carried}
        exits: dict[str, Join] = {}
        mark, count, by_line = self.marked(), self._count, self._by_line.copy()
        for _ in range(_MOST_ATTEMPTS):
            with self.k.block() as declarations:
                variables = {name: self.declared(join, entry[name].value) for name, join in joins.items()}
                loop = Loop(variables, exits={name: self.declared(join) for name, join in exits.items()})
            self.scope.names = entry | {name: Version(self._value_of(join), span) for name, join in variables.items()}
            self._loops.append(loop)
            made = body(loop)
            self._loops.pop()
            self.span = span
            met = {name: joined(self, name, [entry[name], *loop.reached.get(name, [])], span) for name in joins}
            left = self._left(stmt, loop, entry) if endless else {}
            if left.keys() == exits.keys() and all(met[name].same_type(joins[name]) for name in joins):
                break
            joins, exits = met, left
            self.back_to(mark)
            self._count, self._by_line = count, by_line.copy()
        else:
            self.fail("the types of names that the loop carries depend on each other", "convert them before the loop")
        for declaration in declarations:
            self.k.emit(declaration)
        self.k.emit(made)
        self.scope.names = self._behind(stmt, entry, loop, endless=endless)
        return not endless or bool(loop.left)

    def _carried(self, stmt: ast.For | ast.While, entry: dict[str, Version], bound: set[str]) -> list[str]:
        """Names that come into the loop and that a turn may change for the next one, or for what follows."""
        needed = liveness(self._function).head.get(id(stmt), frozenset()) | {"return", "return flag"}
        names = [name for name in entry if name in assigned(stmt.body) and name in needed and name not in bound]
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
            why = f"{name} has no value behind the loop of line {stmt.lineno} if it runs zero times"
            names[name] = Version(Unassigned(why, f"give it one before line {stmt.lineno}"), self.span)
        return names

    # ------------------------------------------------------------------ asked of the rooms above

    def loop_bounds(self, counted: Range) -> Any:
        """The operands of a counted loop, and how its index becomes the number that the program counts."""
        raise NotImplementedError

    def dtype_of(self, value: Value) -> DType:
        """The dtype that a value of Python's names."""
        raise NotImplementedError

    def operator_name(self, operator_: ast.operator) -> str:
        """The name of an operator's operation."""
        raise NotImplementedError


class _StaticExit(Exception):  # noqa: N818
    """`break` or `continue` of an unrolled loop, under conditions that are known."""

    def __init__(self, how: str) -> None:
        self.how = how


def _is_number(value: Value) -> bool:
    return isinstance(value, Number)

