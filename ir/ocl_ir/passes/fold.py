"""Operations on constants become constants, and identities become what they are equal to.

Only what is exact on every device is folded: integer and boolean operations, comparisons, and the float operations
whose result the standard fixes to the last bit. x + 0.0 stays (it turns -0.0 into 0.0), x * 0.0 stays (NaN, infinity).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ocl_ir.kernel.grammar import (
    Block,
    Break,
    Const,
    Continue,
    For,
    If,
    Kernel,
    Let,
    Operand,
    Return,
    Stmt,
    Store,
    Value,
    Variable,
    While,
    blocks,
    map_blocks,
)
from ocl_ir.ops import OPS, PARTIAL
from ocl_ir.passes.rewrite import Rewriter
from ocl_ir.program_ops import ExactOp
from ocl_ir.types import BOOL, DType, Pointer, Vector, element, lanes


def fold(kernel: Kernel) -> Kernel:
    """The kernel with constants folded and identities applied."""
    return _Fold(kernel).run()


def _leaves(body: Block) -> bool:
    """Whether a loop with this body may end before its time, or a turn of it."""
    inner = (stmt for stmt in body if not isinstance(stmt, For | While))
    return any(isinstance(stmt, Break | Continue) or any(map(_leaves, blocks(stmt))) for stmt in inner)


class _Fold(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self._made: dict[int, Let] = {}
        self._hints: dict[int, str] = {}

    def run(self) -> Kernel:
        return _renamed(super().run(), self._hints)

    def block(self, block: Block) -> Block:
        folded = super().block(self._without_loops_of_one_turn(block))
        leaves = (at for at, stmt in enumerate(folded, start=1) if isinstance(stmt, Break | Continue | Return))
        return folded[: next(leaves, len(folded))]  # what follows a branch that is always taken may never run

    def _without_loops_of_one_turn(self, block: Block) -> Block:
        """A block with the bodies of loops that have one turn in their place, and without those that have none."""
        out: list[Stmt] = []
        for stmt in block:
            turns = self._turns(stmt) if isinstance(stmt, For) else None
            if not isinstance(stmt, For) or turns is None or len(turns) > 1 or (turns and _leaves(stmt.body)):
                out.append(stmt)
            elif turns:
                self.became(stmt.index, self.now(stmt.start))
                out += self._without_loops_of_one_turn(stmt.body)
        return tuple(out)

    def _turns(self, loop: For) -> range | None:
        """What the index of a loop will be, if that is known."""
        bounds = [self.now(bound) for bound in (loop.start, loop.stop, loop.step)]
        known = [int(bound.value) for bound in bounds if isinstance(bound, Const)]
        return range(*known) if len(known) == len(bounds) else None

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        if isinstance(stmt, If) and isinstance(stmt.condition, Const):
            return stmt.then if stmt.condition.value else stmt.orelse
        if isinstance(stmt, While) and stmt.header and isinstance(stmt.header[-1], Break | Continue | Return):
            stmt = replace(stmt, condition=Const(False, BOOL), body=())  # what made the condition may be gone
        if isinstance(stmt, Store):
            return (self._stored(stmt),)
        if not isinstance(stmt, Let):
            return (stmt,)
        equal = self._equal(stmt)
        if isinstance(equal, Let):
            stmt = equal
        elif equal is not None:
            self.became(stmt.result, equal)
            return ()
        self._made[stmt.result.id] = stmt
        return (stmt,)

    def _stored(self, stmt: Store) -> Store:
        """A float32 is rounded as it is stored in fewer bits: there is no need to do it before."""
        value, pointer = stmt.value, stmt.pointer.type
        made = self._made.get(value.id) if isinstance(value, Value) else None
        assert isinstance(pointer, Pointer)
        if made is None or made.op != f"round_{pointer.dtype}" or not isinstance(made.args[0], Value):
            return stmt
        return replace(stmt, value=made.args[0])

    def _equal(self, stmt: Let) -> Operand | Let | None:
        """What the statement's value is equal to: an operand, a simpler operation, or nothing known."""
        if stmt.op == "copy" and not isinstance(stmt.args[0], Variable):
            return self._named(stmt.args[0], stmt.result)
        constants = [arg for arg in stmt.args if isinstance(arg, Const)]
        if stmt.op == "uniform" and constants:
            return constants[0]
        if stmt.op == "extract":
            return self._lane(stmt)
        if stmt.op == "splat" and constants:
            return Const(constants[0].value, stmt.result.type)  # type: ignore[arg-type]
        if stmt.op == "convert" and constants:
            return _converted(constants[0], stmt.result)
        if stmt.op not in OPS:
            return None
        if len(constants) == len(stmt.args):
            return _evaluated(stmt, constants)
        return _identity(stmt) or self._reassociated(stmt)

    def _lane(self, stmt: Let) -> Operand | None:
        """What a lane is of a vector that was made of elements."""
        vector, lane = stmt.args
        made = self._made.get(vector.id) if isinstance(vector, Value) else None
        if made is None or made.op != "vector" or not isinstance(lane, Const):
            return None
        element_ = made.args[int(lane.value)]
        return None if isinstance(element_, Variable) or element_.type != stmt.result.type else element_

    def _named(self, operand: Operand, copy: Value) -> Operand | None:
        """The operand of a copy, which takes over the copy's name if it has none; nothing if it has another one."""
        if isinstance(operand, Const) or not copy.is_named:
            return operand
        if not isinstance(operand, Value) or operand.is_named or operand.id not in self._made:
            return None
        self._hints.setdefault(operand.id, copy.hint)
        return operand

    def _reassociated(self, stmt: Let) -> Let | None:
        """(x + 1) + 2 is x + 3, and the same for products, in integers, which wrap."""
        if stmt.op not in {"add", "mul"} or not element(stmt.result.type).is_integer:
            return None
        x, constant = _constant_last(stmt.args)
        inner = self._made.get(x.id) if isinstance(x, Value) else None
        if not isinstance(constant, Const) or inner is None or inner.op != stmt.op or inner.result.is_named:
            return None
        y, before = _constant_last(inner.args)
        if not isinstance(before, Const) or isinstance(y, Variable):
            return None
        both = _evaluated(Let(stmt.result, stmt.op, (before, constant)), [before, constant])
        op = stmt.op if isinstance(inner.op, ExactOp) else str(stmt.op)  # of two that wrap, one may wrap less often
        return None if both is None else Let(stmt.result, op, (y, both), where=stmt.where)


def _renamed(kernel: Kernel, hints: dict[int, str]) -> Kernel:
    """The kernel with hints for values that had none, where they are defined."""

    def rename(block: Block) -> Block:
        return tuple(named(map_blocks(stmt, rename)) for stmt in block)

    def named(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Let) and stmt.result.id in hints:
            return replace(stmt, result=replace(stmt.result, hint=hints[stmt.result.id]))
        return stmt

    return replace(kernel, body=rename(kernel.body)) if hints else kernel


def _constant_last(args: tuple[Operand, ...]) -> tuple[Operand, Operand]:
    first, second = args
    return (second, first) if isinstance(first, Const) else (first, second)


def _identity(stmt: Let) -> Operand | Let | None:
    """x + 0, x - 0, x * 1, x / 1, x << 0, select with a known condition, and the like."""
    if stmt.op == "select":
        condition, then, orelse = stmt.args
        if isinstance(condition, Const):
            taken = then if condition.value else orelse
            # Of a variable, what it holds now: it may change before the result is used.
            return Let(stmt.result, "copy", (taken,), where=stmt.where) if isinstance(taken, Variable) else taken
        return then if then == orelse and not isinstance(then, Variable) else None
    if len(stmt.args) != 2:
        return None
    x, y = stmt.args
    if stmt.op in {"add", "mul"}:
        x, y = _constant_last(stmt.args)
    if not isinstance(y, Const) or isinstance(x, Variable):
        return None
    integer = element(y.type).is_integer
    match stmt.op, y.value:
        case ("add" | "sub" | "shl" | "shr", 0) if integer:
            return x
        case ("mul" | "div", 1) if not element(y.type).is_complex:  # whose zero part makes NaN of infinity
            return x
        case ("floordiv" | "udiv" | "sdiv", 1) if integer:
            return x
        case ("mul", 0) if integer:
            return y
        case ("urem" | "srem" | "rem", 1) if integer:
            return Const(0, y.type)
    return None


def _evaluated(stmt: Let, constants: list[Const]) -> Const | None:
    row = OPS[stmt.op]
    if element(stmt.result.type).is_complex:
        return None
    exact = row.result == "bool" or all(
        not element(arg.type).is_inexact or row.ulp.get(element(arg.type).name) == 0 for arg in constants
    )
    if not exact or (stmt.op in PARTIAL and constants[1].value == 0):
        return None
    # One element is enough: the lanes of a constant vector are all equal.
    arguments = [np.array([arg.value], dtype=element(arg.type).numpy) for arg in constants]
    outcome = row.reference(*arguments)
    assert isinstance(stmt.result.type, DType | Vector)
    return Const(_python(outcome[0], element(stmt.result.type)), stmt.result.type)


def _converted(constant: Const, result: Value) -> Const | None:
    to, source = element(result.type), element(constant.type)
    assert isinstance(result.type, DType | Vector)
    assert lanes(result.type) == lanes(constant.type)
    if source.is_complex:
        return None
    if to.is_complex:
        return Const(float(np.array(constant.value, source.numpy).astype(to.component.numpy)), result.type)
    if source.is_float and to.is_integer:
        truncated = float(np.trunc(constant.value))
        low, high = (np.iinfo(to.numpy).min, np.iinfo(to.numpy).max)
        if not low <= truncated <= high:  # unspecified: leave it to the device
            return None
    with np.errstate(all="ignore"):
        value = np.array([constant.value], dtype=source.numpy).astype(to.numpy)[0]
    return Const(_python(value, to), result.type)


def _python(value: Any, dtype: DType) -> bool | int | float:
    kinds: dict[str, type[bool] | type[int] | type[float]] = {"bool": bool, "float": float}
    return kinds.get(dtype.kind, int)(value)
