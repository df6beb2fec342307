"""Runs a kernel with its locals in the slots that a strategy gave them, one work-item at a time, as generated C does.

A slot remembers whose value it holds. Reading a value from a slot that meanwhile holds another one is `Clobbered`: two
values that live at the same time share a declaration. Expressions that are inlined are computed where they are used,
the bounds of a loop before every iteration, and an operation of several statements writes before it last reads.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ocl_ir.interpret.memory import Memory
from ocl_ir.interpret.operation import Data, evaluate, filled
from ocl_ir.kernel.grammar import (
    Array,
    Assign,
    Atomic,
    Block,
    Break,
    Const,
    Continue,
    For,
    If,
    Let,
    Load,
    Local,
    Operand,
    Print,
    Return,
    Stmt,
    Store,
    Value,
    While,
)
from ocl_ir.kernel.locals import Locals
from ocl_ir.ops import OPS, WORK_ITEM
from ocl_ir.types import Pointer, element, lanes

BREAK, CONTINUE, RETURN = "break", "continue", "return"
_ATOMICS = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum,
            "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip


class Clobbered(AssertionError):
    """A value was read from a slot that another value had been written to."""


def run(
    locals_: Locals,
    args: dict[str, Any],
    global_size: tuple[int, ...],
    group_size: tuple[int, ...],
    items: range | None = None,
) -> None:
    """Runs some work-items, by linear number, or all of them; kernels with barriers cannot run one item at a time."""
    for number in items or range(math.prod(global_size)):
        place, rest = [], number
        for size in (*global_size, 1, 1)[:3]:
            rest, at = divmod(rest, size)
            place.append(at)
        _Item(locals_, args, tuple(place), (*global_size, 1, 1)[:3], (*group_size, 1, 1)[:3]).run()


class _Item:
    def __init__(
        self,
        locals_: Locals,
        args: dict[str, Any],
        place: tuple[int, ...],
        size: tuple[int, ...],
        group: tuple[int, ...],
    ) -> None:
        self._locals, self._place, self._size, self._group = locals_, place, size, group
        self._held: dict[int, tuple[int, Data]] = {}
        """What each slot holds, by the slot's identity: whose value, and the value."""
        self._params: dict[int, Data] = {}
        self._memory: dict[int, Memory] = {}
        for param in locals_.kernel.params:
            given, type_ = args[param.value.hint], param.value.type
            if isinstance(type_, Pointer):
                self._memory[param.value.id] = Memory(param.value.hint, type_, given, given.size)
            else:
                self._params[param.value.id] = np.array([given], element(type_).numpy)

    def run(self) -> None:
        self._block(self._locals.kernel.body)

    # ------------------------------------------------------------------ slots

    def _write(self, id_: int, value: Data) -> None:
        self._held[id(self._locals.slots[id_])] = (id_, value.copy())

    def _read(self, operand: Operand) -> Data:
        if isinstance(operand, Const):
            return filled(operand.value, operand.type, 1)
        if operand.id in self._params:
            return self._params[operand.id]
        if isinstance(operand, Value) and operand.id in self._locals.inlined:
            made = self._locals.inlined[operand.id]
            return self._computed(made) if isinstance(made, Let) else self._loaded(made)
        slot, names = self._locals.slots[operand.id], self._locals.names
        owner, value = self._held[id(slot)]
        if owner != operand.id:
            raise Clobbered(f"{names[operand.id]} is read from {slot.name}, which holds {names[owner]}")
        return value

    # ------------------------------------------------------------------ statements

    def _block(self, block: Block) -> str | None:
        for stmt in block:
            left = self._statement(stmt)
            if left is not None:
                return left
        return None

    def _statement(self, stmt: Stmt) -> str | None:
        match stmt:
            case Let() | Load():
                if stmt.result.id not in self._locals.inlined:
                    if isinstance(stmt, Let) and stmt.op in OPS and OPS[stmt.op].several_statements:
                        self._write(stmt.result.id, self._computed(stmt))  # the first of the statements
                    self._write(stmt.result.id, self._computed(stmt) if isinstance(stmt, Let) else self._loaded(stmt))
            case Local() | Assign():
                self._write(stmt.variable.id, self._read(stmt.init if isinstance(stmt, Local) else stmt.value))
            case Store():
                memory, positions = self._place_of(stmt, lanes(stmt.value.type))  # type: ignore[arg-type]
                memory.write(positions, self._read(stmt.value))
            case Array():
                pointer = stmt.pointer.type
                assert isinstance(pointer, Pointer)
                data = np.full(stmt.length, 0xCD, np.uint8).astype(pointer.dtype.numpy)
                self._memory[stmt.pointer.id] = Memory("array", pointer, data, stmt.length)
            case Atomic():
                memory, positions = self._place_of(stmt, 1)
                before = memory.data[positions].copy()
                memory.data[positions] = _ATOMICS[stmt.op](before, self._read(stmt.args[0]))
                if stmt.result is not None:
                    self._write(stmt.result.id, before)
            case If():
                return self._block(stmt.then if self._read(stmt.condition)[0] else stmt.orelse)
            case For():
                return self._for(stmt)
            case While():
                return self._while(stmt)
            case Print():
                pass
            case Break():
                return BREAK
            case Continue():
                return CONTINUE
            case Return():
                return RETURN
            case _:
                raise NotImplementedError("a barrier, and only one item runs at a time")
        return None

    def _for(self, stmt: For) -> str | None:
        down = isinstance(stmt.step, Const) and stmt.step.value < 0
        self._write(stmt.index.id, self._read(stmt.start))
        while True:
            index, stop = self._read(stmt.index), self._read(stmt.stop)
            if not (index > stop if down else index < stop)[0]:
                return None
            left = self._block(stmt.body)
            if left in {BREAK, RETURN}:
                return left if left == RETURN else None
            self._write(stmt.index.id, self._read(stmt.index) + self._read(stmt.step))

    def _while(self, stmt: While) -> str | None:
        while True:
            left = self._block(stmt.header)
            if left is None:
                if not self._read(stmt.condition)[0]:
                    return None
                left = self._block(stmt.body)
            if left in {BREAK, RETURN}:
                return left if left == RETURN else None

    # ------------------------------------------------------------------ expressions

    def _computed(self, let: Let) -> Data:
        args = [self._read(arg) for arg in let.args]
        type_ = let.result.type
        assert not isinstance(type_, Pointer)
        if let.op in WORK_ITEM:
            return np.array([self._answer(let.op, int(args[0][0]))], element(type_).numpy)
        return evaluate(let.op, args, type_)

    def _answer(self, question: str, dimension: int) -> int:
        at, size, group = (one[dimension] for one in (self._place, self._size, self._group))
        return {
            "global_id": at, "local_id": at % group, "group_id": at // group,
            "global_size": size, "local_size": group, "num_groups": size // group,
        }[question]  # fmt: skip

    def _loaded(self, load: Load) -> Data:
        type_ = load.result.type
        assert not isinstance(type_, Pointer)
        memory, positions = self._place_of(load, lanes(type_))
        return memory.read(positions, element(type_))

    def _place_of(self, stmt: Load | Store | Atomic, width: int) -> tuple[Memory, Data]:
        memory, index = self._memory[stmt.pointer.id], self._read(stmt.index).astype(np.int64)
        positions = memory.positions(np.zeros(1, np.int64), index, width, vector=width > 1)
        assert (positions >= 0).all()
        return memory, positions
