"""The meaning of kernel IR: an interpreter that runs one work-group after the other, each in lock step.

A value is an array with one entry (or one row of lanes) for each work-item of the group. Control flow is a mask:
running a block with the work-items that enter it gives the ones that fall out of its end. Every operation is the op
table's reference on the active work-items only, so that what the others hold can neither fault nor warn.

Lock step is only one of the orders that a device may choose. Programs for which the order matters are faults, and
are reported as such: see `ocl_ir.interpret.races`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NoReturn

import numpy as np

from ocl_ir.errors import Error, IRError, MemoryAccessError
from ocl_ir.interpret.arguments import Argument, Launch, Triple, bind, launch, written
from ocl_ir.interpret.asynchronous import Machine, Pending
from ocl_ir.interpret.atomic import changed
from ocl_ir.interpret.collective import exchanged, joined
from ocl_ir.interpret.counters import Counters
from ocl_ir.interpret.faults import Faults
from ocl_ir.interpret.memory import Memory, new_array, watch
from ocl_ir.interpret.operation import Data, evaluate, filled, fixed, poison, same_bits, spread
from ocl_ir.interpret.races import ATOMIC, READ, WRITE, Clock
from ocl_ir.kernel.formats import printf_format
from ocl_ir.kernel.grammar import (
    Array,
    Assign,
    Atomic,
    Await,
    AwaitBoxes,
    Barrier,
    Block,
    Break,
    Collective,
    Commit,
    Const,
    Continue,
    CopyAsync,
    CopyBox,
    DescribeMatrix,
    For,
    If,
    InitBoxes,
    Kernel,
    Let,
    Load,
    Local,
    MatrixMultiply,
    Operand,
    Print,
    Return,
    Shuffle,
    Stmt,
    Store,
    Value,
    WarpgroupMultiply,
    While,
    walk,
)
from ocl_ir.kernel.matrix_instruction import multiplied
from ocl_ir.kernel.names import names
from ocl_ir.ops import WORK_ITEM
from ocl_ir.program_ops import ExactOp
from ocl_ir.types import Pointer, ValueType, Vector, element, lanes


def run(
    kernel: Kernel,
    args: Mapping[str, Argument],
    global_size: tuple[int, ...],
    group_size: tuple[int, ...] | None = None,
    *,
    check_races: bool = True,
    max_steps: int = 1_000_000,
    print_: Callable[[str], object] = print,
) -> Counters:
    """Runs a verified kernel; arrays among the arguments are changed in place. `print_` gets each line that it prints.

    Raises `MemoryAccessError` for an access outside of its memory or at an address that breaks a promised alignment and
    for a read of what an array of the kernel holds before anything is stored there,
    `DataRaceError` for accesses without an order, `IRError` for a barrier, collective or shuffle that only a part of
    the group reaches, a lane that there is not, a broken promise of uniformity, a zero divisor, a loop whose index
    overflows, and for a group that takes more than `max_steps` loop iterations.
    """
    index_space = launch(kernel, global_size, group_size)
    machine = _Machine(kernel, index_space, args, check_races, max_steps, print_)
    for group in index_space.groups():
        machine.run_group(group)
    return machine.counters


class _Machine:
    def __init__(
        self,
        kernel: Kernel,
        space: Launch,
        args: Mapping[str, Argument],
        check_races: bool,
        max_steps: int,
        print_: Callable[[str], object],
    ) -> None:
        self.counters = Counters()
        self._kernel = kernel
        self._space = space
        self._max_steps = max_steps
        self._print_line = print_
        self._names = names(kernel)
        statements = list(walk(kernel.body))
        self._numbers = {id(stmt): number for number, stmt in enumerate(statements)}
        self._faults = Faults(kernel, space, statements)
        self._scalars, self._arguments = bind(kernel, args)
        self._clocks: dict[str, Clock] = {}
        if check_races:
            self._clocks = {space_: Clock(space.items, len(statements)) for space_ in ("local", "global")}
            stored = frozenset(memory.name for id_, memory in self._arguments.items() if id_ in written(kernel))
            watch(self._arguments.values(), stored, self._clocks["global"])
        self._group: Triple = (0, 0, 0)
        self._values: dict[int, Data] = {}
        """One may be shared by several values and by who computes with it: nobody writes into it."""
        self._constants: dict[tuple[int, int], Data] = {}
        """By the literal's identity, and for so many work-items."""
        self._memories: dict[int, Memory] = {}
        self._left: list[Data] = []
        self._returned = self._nobody()
        self._steps = 0

    @property
    def _doors(self) -> Machine:
        """What asynchronous statements need."""

        def same_place(access: Stmt, stmt: Stmt) -> None:
            self._numbers[id(access)] = self._numbers[id(stmt)]

        def touch(kind: int, memory: Memory, positions: Data, items: Data, stmt: Stmt) -> None:
            if kind == READ and np.count_nonzero(memory.unfilled(positions)):
                self._fail(MemoryAccessError, "a product reads what nothing was stored to", stmt, "await the copies")
            race = memory.touch(kind, positions, items, self._numbers[id(stmt)])
            if race is not None:
                raise self._faults.race(memory, race)

        at, define, load, store = self._at, self._define, self._load, self._store
        read, write = partial(touch, READ), partial(touch, WRITE)
        memory = lambda pointer: self._memories[pointer.id]  # noqa: E731
        return Machine(at, define, load, store, same_place, memory, read, write, self._fail)

    def run_group(self, group: Triple) -> None:
        """Runs the whole kernel for one group."""
        self.counters.groups += 1
        self._group = group
        self._values = {id_: np.repeat(value, self._space.items) for id_, value in self._scalars.items()}
        self._memories = dict(self._arguments)
        self._pending = Pending(self._doors)
        self._left, self._returned, self._steps = [], self._nobody(), 0
        for clock in self._clocks.values():
            clock.start_group()
        self._block(self._kernel.body, ~self._nobody())

    # ------------------------------------------------------------------ control flow

    def _block(self, block: Block, active: Data) -> Data:
        """Runs statements for the active work-items; gives those that go on behind the block."""
        counted: Data | None = None
        for stmt in block:
            if active is not counted:  # most statements leave it as it is
                counted, items = active, active.nonzero()[0]
                if not items.size:
                    break
            active = self._statement(stmt, active, items)
        return active

    def _statement(self, stmt: Stmt, active: Data, items: Data) -> Data:
        match stmt:
            case Let():
                self._let(stmt, items)
            case Load():
                self._load(stmt, items)
            case Store():
                self._store(stmt, items)
            case Local():
                self._define(stmt.variable.id, stmt.variable.type, items, self._at(stmt.init, items))
            case Assign():
                held = self._values[stmt.variable.id].copy()
                held[items] = self._at(stmt.value, items)
                self._values[stmt.variable.id] = fixed(held)
            case Array():
                pointer, name = _pointer(stmt.pointer), self._names[stmt.pointer.id]
                clock = self._clocks.get(pointer.space)
                self._memories[stmt.pointer.id] = new_array(name, pointer, stmt.length, self._space.items, clock)
            case Atomic():
                self._atomic(stmt, items)
            case If():
                held = self._nobody()
                held[items] = self._at(stmt.condition, items)
                return self._block(stmt.then, held) | self._block(stmt.orelse, active & ~held)
            case For():
                return self._for(stmt, active)
            case While():
                return self._while(stmt, active)
            case Barrier():
                self._barrier(stmt, active)
            case Collective():
                self._collective(stmt, active)
            case Shuffle():
                self._shuffle(stmt, active)
            case MatrixMultiply():
                items = self._faults.check_whole_group(stmt, active, self._group)
                left, right, sums = (self._at(operand, items) for operand in (stmt.left, stmt.right, stmt.sum))
                self._define(stmt.result.id, stmt.result.type, items, multiplied(stmt.dtype, left, right, sums))
            case CopyAsync():
                self._pending.copy(stmt, items)
            case DescribeMatrix():
                self._pending.describe(stmt, items)
            case InitBoxes():
                self._pending.init_boxes(stmt)
            case CopyBox():
                self._pending.copy_box(stmt, items)
            case AwaitBoxes():
                self._pending.await_boxes(stmt, items)
            case Commit():
                self._pending.commit()
            case WarpgroupMultiply():
                self._pending.multiply(stmt, self._faults.check_whole_group(stmt, active, self._group))
            case Await():
                self._pending.await_(stmt)
            case Print():
                self._print(stmt, items)
            case Break():
                self._left[-1] = self._left[-1] | active
                return self._nobody()
            case Continue():
                return self._nobody()
            case Return():
                self._returned = self._returned | active
                return self._nobody()
        return active

    def _for(self, stmt: For, active: Data) -> Data:
        bounds = (stmt.start, stmt.stop, stmt.step)
        index, stop, step = (self._spread(bound, active) for bound in bounds)
        down = isinstance(stmt.step, Const) and stmt.step.value < 0
        if not down and np.count_nonzero(step[active] <= 0):
            self._fail(IRError, "the loop's step is not positive", stmt, "count down with a constant negative step")
        self._left.append(self._nobody())
        live = active & (index > stop if down else index < stop)
        while np.count_nonzero(live):
            self._step(stmt)
            self._values[stmt.index.id] = index
            self._block(stmt.body, live)
            live = live & ~self._left[-1] & ~self._returned
            following = index + step
            if np.count_nonzero(live & (following > index if down else following < index)):
                fact = f"the loop's index leaves the range of {stmt.index.type} before it reaches the end"
                self._fail(IRError, fact, stmt, "use a wider type for the index")
            index = following
            live = live & (index > stop if down else index < stop)
        self._left.pop()
        return active & ~self._returned

    def _while(self, stmt: While, active: Data) -> Data:
        self._left.append(self._nobody())
        live = active
        while np.count_nonzero(live):
            self._step(stmt)
            tested = self._block(stmt.header, live)
            holds = self._nobody()
            items = np.flatnonzero(tested)
            if items.size:  # else nobody may have come to what makes the condition
                holds[items] = self._at(stmt.condition, items)
            self._left[-1] = self._left[-1] | (tested & ~holds)
            self._block(stmt.body, holds)
            live = live & ~self._left[-1] & ~self._returned
        self._left.pop()
        return active & ~self._returned

    def _step(self, stmt: Stmt) -> None:
        self._steps += 1
        if self._steps > self._max_steps:
            fact = f"group {self._group} took more than {self._max_steps} loop iterations"
            self._fail(IRError, fact, stmt, "see that the loop ends, or raise max_steps")

    def _barrier(self, stmt: Barrier, active: Data) -> None:
        self._faults.check_whole_group(stmt, active, self._group)
        self.counters.barriers += 1
        for space, named in (("local", stmt.local), ("global", stmt.global_)):
            if named and space in self._clocks:
                self._clocks[space].barrier()

    def _collective(self, stmt: Collective, active: Data) -> None:
        items = self._faults.check_whole_group(stmt, active, self._group)
        values, lane = self._at(stmt.value, items), 0
        if stmt.lane is not None:
            lane = int(self._at(stmt.lane, items)[0])
            if not 0 <= lane < items.size:
                fact = f"a broadcast of lane {lane} in group {self._group}, which has {items.size} work-items"
                self._fail(IRError, fact, stmt, "name a lane below the group's size")
        parts = np.split(values, items.size // (stmt.size or items.size))
        result = np.concatenate([joined(stmt.op, part, lane) for part in parts])
        self._define(stmt.result.id, element(stmt.value.type), items, result)

    def _shuffle(self, stmt: Shuffle, active: Data) -> None:
        items = self._faults.check_whole_group(stmt, active, self._group)
        values, whose = self._at(stmt.value, items), self._at(stmt.lane, items)
        outside = (whose < 0) | (whose >= stmt.size)
        if np.count_nonzero(outside):
            at = int(np.argmax(outside))
            fact = f"{self._item(at)} asks for lane {whose[at]} of its sub-group, which has {stmt.size} work-items"
            self._fail(IRError, fact, stmt, "name a lane below the sub-group's size")
        self._define(stmt.result.id, element(stmt.value.type), items, exchanged(values, whose, stmt.size))

    # ------------------------------------------------------------------ values

    def _let(self, stmt: Let, items: Data) -> None:
        self.counters.operations += items.size
        type_ = stmt.result.type
        assert not isinstance(type_, Pointer)
        args = [self._at(arg, items) for arg in stmt.args]
        if stmt.op in WORK_ITEM:
            answer = self._space.answer(stmt.op, int(args[0][0]), self._group)
            result = np.broadcast_to(answer, self._space.items)[items].astype(element(type_).numpy)
        else:
            if stmt.op == "uniform":
                self._check_uniform(stmt, args[0], items)
            try:
                result = evaluate(stmt.op, args, type_)
                if isinstance(stmt.op, ExactOp):
                    self._faults.check_exact(stmt, args, items, self._group)
            except ZeroDivisionError:
                by_zero = items[(args[1] == 0).reshape(items.size, -1).any(axis=1)]
                fact = f"{stmt.op} by zero in {self._item(int(by_zero[0]))}"
                self._fail(IRError, fact, stmt, "test the divisor first; the operation is undefined for zero")
        self._define(stmt.result.id, type_, items, result)

    def _check_uniform(self, stmt: Let, values: Data, items: Data) -> None:
        differs = ~same_bits(values, values[:1]).reshape(items.size, -1).all(axis=1)
        if np.count_nonzero(differs):
            has = [f"{self._item(int(items[at]))} has {values[at]}" for at in (0, int(np.argmax(differs)))]
            fact = f"a value that is promised to be uniform differs: {has[0]}, and {has[1]}"
            self._fail(IRError, fact, stmt, "promise it of values that the whole group shares")

    def _at(self, operand: Operand, items: Data) -> Data:
        """The operand's values of the given work-items."""
        if isinstance(operand, Const):
            key = id(operand), items.size
            if key not in self._constants:
                self._constants[key] = fixed(filled(operand.value, operand.type, items.size))
            return self._constants[key]
        whole = self._values[operand.id]
        return whole if items.size == len(whole) else whole[items]

    def _spread(self, operand: Operand, active: Data) -> Data:
        """The operand's values for the whole group."""
        assert not isinstance(operand.type, Pointer)
        items = np.flatnonzero(active)
        return spread(self._at(operand, items), items, operand.type, active.size)

    def _define(self, id_: int, type_: ValueType, items: Data, values: Data) -> None:
        self._values[id_] = spread(values, items, type_, self._space.items)

    def _nobody(self) -> Data:
        return np.zeros(self._space.items, np.bool_)

    # ------------------------------------------------------------------ memory

    def _load(self, stmt: Load, items: Data) -> None:
        type_ = stmt.result.type
        assert not isinstance(type_, Pointer)
        memory, positions = self._reach(stmt, READ, type_, stmt.align, items)
        self._check_filled(stmt, memory, positions, items)
        self.counters.loads += positions.size
        self._define(stmt.result.id, type_, items, memory.read(positions, element(type_)))

    def _store(self, stmt: Store, items: Data) -> None:
        type_ = stmt.value.type
        assert not isinstance(type_, Pointer)
        memory, positions = self._reach(stmt, WRITE, type_, stmt.align, items)
        self.counters.stores += positions.size
        memory.write(positions, self._at(stmt.value, items))

    def _atomic(self, stmt: Atomic, items: Data) -> None:
        dtype = _pointer(stmt.pointer).dtype
        memory, positions = self._reach(stmt, ATOMIC, dtype, 0, items)
        self._check_filled(stmt, memory, positions, items)
        self.counters.atomics += items.size
        args = [self._at(arg, items) for arg in stmt.args]
        before = poison(dtype, items.size)
        for turn in range(items.size):
            # Slices, not scalars: NumPy wraps arrays silently and warns for scalars.
            only, cell = slice(turn, turn + 1), positions[turn : turn + 1]
            before[only] = memory.data[cell]
            memory.data[cell] = changed(stmt.op, before[only], *(arg[only] for arg in args))
        if stmt.result is not None:
            self._define(stmt.result.id, dtype, items, before)

    def _reach(
        self, stmt: Load | Store | Atomic, kind: int, type_: ValueType, align: int, items: Data
    ) -> tuple[Memory, Data]:
        """The memory and the positions in it that a statement may touch, after every check."""
        memory, index, width = self._memories[stmt.pointer.id], self._at(stmt.index, items), lanes(type_)
        start = index.astype(np.int64)  # above 2**63 it turns negative, and so stays outside
        outside = memory.outside(start, width)
        if np.count_nonzero(outside):
            at = int(np.argmax(outside))
            last = f" to {int(index[at]) + width - 1}" if width > 1 else ""
            what = f"accesses {memory.name}[{index[at]}{last}], whose length is {memory.length}"
            fact = f"{self._item(int(items[at]))} {what}"
            self._fail(MemoryAccessError, fact, stmt, "test the index against the length first")
        misaligned = memory.misaligned(start, align)
        if np.count_nonzero(misaligned):
            at = int(np.argmax(misaligned))
            what = f"accesses {memory.name}[{index[at]}], an address that {align} does not divide"
            fact = f"{self._item(int(items[at]))} {what}"
            self._fail(MemoryAccessError, fact, stmt, "promise less with `align`, or align the pointer and the index")
        positions = memory.positions(items, start, width, vector=isinstance(type_, Vector))
        if memory.pointer.space in {"global", "constant"}:
            self.counters.global_bytes += items.size * memory.pointer.dtype.size * width
        race = memory.touch(kind, positions, items, self._numbers[id(stmt)])
        if race is not None:
            raise self._faults.race(memory, race)
        return memory, positions

    def _check_filled(self, stmt: Load | Atomic, memory: Memory, positions: Data, items: Data) -> None:
        unfilled = memory.unfilled(positions)
        if np.count_nonzero(unfilled):
            at = int(np.argmax(unfilled))
            element = f"{memory.name}[{self._at(stmt.index, items)[at]}]"
            fact = f"{self._item(int(items[at]))} reads {element}, which nothing has been stored to"
            self._fail(
                MemoryAccessError, fact, stmt, "store to all elements that are read, and put a barrier behind it"
            )

    def _print(self, stmt: Print, items: Data) -> None:
        line = printf_format(stmt.format, [element(arg.type) for arg in stmt.args])
        values = [self._at(arg, items) for arg in stmt.args]
        for item in range(items.size):
            self._print_line(line % tuple(value[item] for value in values))

    def _item(self, number: int) -> str:
        return self._faults.work_item(number, self._group)

    def _fail(self, kind: type[Error], fact: str, stmt: Stmt, remedy: str) -> NoReturn:
        raise kind(fact, place=self._faults.place(stmt), remedy=remedy)


def _pointer(value: Value) -> Pointer:
    assert isinstance(value.type, Pointer)
    return value.type
