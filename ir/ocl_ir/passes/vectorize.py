"""Loops marked `vectorize` become vector code: iterations turn into lanes, neighbouring accesses into wide ones.

The loop must count from one constant to another by 1, as often as a vector has lanes, over straight-line code; any
other marked loop stays a loop, unrolled. Each value of the body is one of three things: the same in all iterations (it
stays scalar), an integer that grows by a constant in each iteration (kept as its value in the first iteration and its
step, so that an address needs no vector), or a vector. What is read back to front is read as it lies, and its lanes
turned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import gcd

from ocl_ir.kernel.grammar import Const, For, Kernel, Let, Load, Operand, Stmt, Store, Value, Variable, walk
from ocl_ir.ops import STRUCTURAL
from ocl_ir.passes.rewrite import Rewriter
from ocl_ir.types import COMPLEX_LANES, LANES, U32, DType, Pointer, Vector, element, size_of, with_lanes


def vectorize(kernel: Kernel) -> Kernel:
    """The kernel with marked loops as vector code."""
    return _Vectorize(kernel).run()


class _Vectorize(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self._made: dict[int, Let] = {stmt.result.id: stmt for stmt in walk(kernel.body) if isinstance(stmt, Let)}

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        if not isinstance(stmt, For) or not stmt.vectorize:
            return (stmt,)
        count = _iterations(stmt)
        straight = all(isinstance(inner, Let | Load | Store) and _may_have_lanes(inner) for inner in stmt.body)
        if count not in LANES or not straight or (count not in COMPLEX_LANES and any(map(_is_complex, stmt.body))):
            return (replace(stmt, vectorize=False, unroll=count or 0),)
        body = _Body(self, count, self._made)
        body.start(stmt)
        for inner in stmt.body:
            body.statement(inner)
        return body.out


def _is_complex(stmt: Stmt) -> bool:
    value = stmt.value if isinstance(stmt, Store) else getattr(stmt, "result", None)
    return value is not None and element(value.type).is_complex


def _iterations(loop: For) -> int | None:
    bounds = (loop.start, loop.stop, loop.step)
    start, stop, step = (bound.value if isinstance(bound, Const) else None for bound in bounds)
    if start is None or stop is None or step != 1:
        return None
    return int(stop) - int(start)


def _may_have_lanes(stmt: Stmt) -> bool:
    """Vectors cannot have vectors as lanes, so the body must be scalar code."""
    if isinstance(stmt, Let):
        scalar = isinstance(stmt.result.type, DType) and stmt.op not in {"extract", "vector"}
        return scalar and not any(isinstance(arg, Variable) or isinstance(arg.type, Vector) for arg in stmt.args)
    moved = stmt.result.type if isinstance(stmt, Load) else stmt.value.type if isinstance(stmt, Store) else None
    return isinstance(moved, DType) and not isinstance(getattr(stmt, "value", None), Variable)


class _Body:
    """One loop's body on its way to vector code."""

    def __init__(self, rewriter: Rewriter, count: int, made: dict[int, Let]) -> None:
        self.out: list[Stmt] = []
        self._rewriter = rewriter
        self._count = count
        self._made = made
        self._growing: dict[int, tuple[Operand, int]] = {}
        self._vectors: dict[int, Operand] = {}

    def start(self, loop: For) -> None:
        self._growing[loop.index.id] = (loop.start, 1)

    def statement(self, stmt: Stmt) -> None:
        if isinstance(stmt, Let):
            self._let(stmt)
        elif isinstance(stmt, Load):
            self._load(stmt)
        elif isinstance(stmt, Store):
            self._store(stmt)

    def _varies(self, operand: Operand) -> bool:
        return isinstance(operand, Value) and (operand.id in self._growing or operand.id in self._vectors)

    def _let(self, stmt: Let) -> None:
        if not any(self._varies(arg) for arg in stmt.args):
            self.out.append(stmt)
            return
        grown = self._grown(stmt)
        if grown is not None:
            self._growing[stmt.result.id] = grown
            return
        args = tuple(
            arg if stmt.op in STRUCTURAL and arg is not stmt.args[0] else self._lanes_of(arg) for arg in stmt.args
        )
        self._vectors[stmt.result.id] = self._emit(
            stmt.op, args, with_lanes(element(stmt.result.type), self._count), stmt
        )

    def _grown(self, stmt: Let) -> tuple[Operand, int] | None:
        """The first value and the step of an integer sum or product, where it grows evenly."""
        type_ = stmt.result.type
        if (
            stmt.op not in {"add", "sub", "mul"}
            or not isinstance(type_, DType)
            or type_.name not in {"u32", "u64", "i32", "i64"}
        ):
            return None
        (x, by_x), (y, by_y) = (self._first(arg) for arg in stmt.args)
        if x is None or y is None:
            return None
        if stmt.op == "mul":
            factor = y if by_y == 0 else x if by_x == 0 else None
            if not isinstance(factor, Const):
                return None
            step = (by_x or by_y) * int(factor.value)
        else:
            step = by_x + by_y if stmt.op == "add" else by_x - by_y
        if stmt.op != "sub" and isinstance(x, Const) and not x.value:  # 0 + base is base: the common start of a loop
            first: Operand = y if stmt.op == "add" else x
        elif stmt.op != "mul" and isinstance(y, Const) and not y.value:
            first = x
        else:
            first = self._emit(stmt.op, (x, y), type_, stmt)
        return first, step

    def _first(self, operand: Operand) -> tuple[Operand | None, int]:
        """The operand's value in the first iteration and by how much it grows; no value for a vector."""
        if isinstance(operand, Value) and operand.id in self._growing:
            return self._growing[operand.id]
        return (None, 0) if self._varies(operand) else (operand, 0)

    def _lanes_of(self, operand: Operand) -> Operand:
        """The operand as a vector."""
        type_ = Vector(element(operand.type), self._count)
        if isinstance(operand, Const):
            return Const(operand.value, type_)
        assert isinstance(operand, Value)
        if operand.id not in self._vectors:
            first, step = self._first(operand)
            assert first is not None
            repeated = Const(first.value, type_) if isinstance(first, Const) else self._emit("splat", (first,), type_)
            if step:
                counts = tuple(_wrapped(step * lane, type_.dtype) for lane in range(self._count))
                repeated = self._emit("add", (repeated, self._emit("vector", counts, type_)), type_)
            self._vectors[operand.id] = repeated
        return self._vectors[operand.id]

    def _load(self, stmt: Load) -> None:
        first, step = self._first(stmt.index)
        if first is not None and step == 0:
            self.out.append(stmt)
            return
        type_ = Vector(element(stmt.result.type), self._count)
        if first is not None and step in {1, -1}:
            value = self._rewriter.new_value(type_, stmt.result.hint)
            lowest = first if step == 1 else self._before(first, self._count - 1)
            self.out.append(Load(value, stmt.pointer, lowest, self._alignment(stmt.pointer, lowest), where=stmt.where))
            if step == -1:
                turned = tuple(self._extract(value, lane) for lane in reversed(range(self._count)))
                value = self._emit("vector", turned, type_, stmt)
        else:
            gathered: list[Operand] = []
            for index in self._indices(stmt.index):
                lane = self._rewriter.new_value(stmt.result.type)
                self.out.append(Load(lane, stmt.pointer, index, stmt.align, where=stmt.where))
                gathered.append(lane)
            value = self._emit("vector", tuple(gathered), type_, stmt)
        self._vectors[stmt.result.id] = value

    def _store(self, stmt: Store) -> None:
        first, step = self._first(stmt.index)
        value = self._lanes_of(stmt.value)
        if first is not None and step == 1:
            aligned = self._alignment(stmt.pointer, first)
            self.out.append(Store(stmt.pointer, first, value, aligned, where=stmt.where))
            return
        for lane, index in enumerate(self._indices(stmt.index)):
            lane_value = self._extract(value, lane)
            self.out.append(Store(stmt.pointer, index, lane_value, stmt.align, where=stmt.where))

    def _before(self, index: Operand, count: int) -> Operand:
        """An index so many elements before another one, without a sum where that is so many behind it."""
        let = self._made.get(index.id) if isinstance(index, Value) else None
        if let is not None and let.op == "add" and isinstance(let.args[1], Const) and let.args[1].value == count:
            return let.args[0]
        return self._emit("add", (index, _wrapped(-count, element(index.type))), element(index.type))

    def _indices(self, index: Operand) -> list[Operand]:
        """The index of every lane, as scalars."""
        first, step = self._first(index)
        if first is None:
            vector = self._lanes_of(index)
            return [self._extract(vector, lane) for lane in range(self._count)]
        dtype = element(index.type)
        return [self._emit("add", (first, _wrapped(step * lane, dtype)), dtype) for lane in range(self._count)]

    def _extract(self, vector: Operand, lane: int) -> Value:
        return self._emit("extract", (vector, Const(lane, U32)), element(vector.type))

    def _emit(self, op: str, args: tuple[Operand, ...], type_: DType | Vector, source: Stmt | None = None) -> Value:
        hint = source.result.hint if isinstance(source, Let | Load) else ""
        value = self._rewriter.new_value(type_, hint)
        let = Let(value, op, args, where=source.where if source else "")
        self._made[value.id] = let
        self.out.append(let)
        return value

    def _alignment(self, pointer: Value, index: Operand) -> int:
        """Bytes that certainly divide the address of `pointer[index]`."""
        assert isinstance(pointer.type, Pointer)
        return gcd(pointer.type.align, size_of(pointer.type.dtype) * self._multiple(index))

    def _multiple(self, index: Operand) -> int:
        """A number that certainly divides an index."""
        if isinstance(index, Const):
            return int(index.value) or 1 << 16
        let = self._made.get(index.id)
        if let is None:
            return 1
        if let.op == "mul":
            return self._multiple(let.args[0]) * self._multiple(let.args[1])
        if let.op in {"add", "sub"}:
            return gcd(self._multiple(let.args[0]), self._multiple(let.args[1]))
        return 1


def _wrapped(value: int, dtype: DType) -> Const:
    """The integer modulo the width: stepping down in an unsigned type is adding a large number."""
    value &= (1 << dtype.bits) - 1
    negative = dtype.kind == "int" and value >> (dtype.bits - 1)
    return Const(value - (1 << dtype.bits) if negative else value, dtype)
