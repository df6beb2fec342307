"""The meaning of kernel IR: an interpreter that runs one work-group after the other, each in lock step.

A value is an array with one entry (or one row of lanes) for each work-item of the group. Control flow is a mask:
running a block with the work-items that enter it gives the ones that fall out of its end. Every operation is the op
table's reference on the active work-items only, so that what the others hold can neither fault nor warn.

Where warps specialise, both sides of the branch run in turns, each in lock step.

Lock step is only one of the orders that a device may choose. Programs for which the order matters are faults, and
are reported as such: see `ocl_ir.interpret.races`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from ocl_ir.errors import IRError
from ocl_ir.interpret.accesses import Accesses
from ocl_ir.interpret.arguments import Argument, Launch, Triple, bind, launch, written
from ocl_ir.interpret.asynchronous import Pending
from ocl_ir.interpret.boxes import Boxes, BoxStmt
from ocl_ir.interpret.collective import exchanged, joined
from ocl_ir.interpret.counters import Counters
from ocl_ir.interpret.faults import Faults
from ocl_ir.interpret.memory import new_array, watch
from ocl_ir.interpret.operation import Data, evaluate, same_bits
from ocl_ir.interpret.races import Clock
from ocl_ir.interpret.sides import Sides
from ocl_ir.interpret.turns import Turns
from ocl_ir.interpret.values import Values
from ocl_ir.kernel.asynchronous import WARPGROUP, registers_of
from ocl_ir.kernel.by_identity import by_identity
from ocl_ir.kernel.formats import printf_format
from ocl_ir.kernel.grammar import (
    Array,
    Assign,
    Atomic,
    Await,
    Barrier,
    Block,
    Break,
    Collective,
    Commit,
    Const,
    Continue,
    CopyAsync,
    For,
    GroupStmt,
    If,
    Kernel,
    Let,
    Load,
    Local,
    MatrixMultiply,
    Print,
    Return,
    Shuffle,
    Stmt,
    Store,
    Turn,
    WarpgroupMultiply,
    While,
)
from ocl_ir.kernel.matrix_instruction import disagreeing, multiplied
from ocl_ir.kernel.names import names
from ocl_ir.ops import WORK_ITEM
from ocl_ir.program_ops import ExactOp
from ocl_ir.types import Pointer, element


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

    Raises `MemoryAccessError` for an access outside of its memory or at an address that breaks a promised alignment,
    for a read of what an array of the kernel holds before anything is stored there, and for an access to what a copy or
    product that goes on still needs,
    `DataRaceError` for accesses without an order, `IRError` for a barrier, collective or shuffle that only a part of
    the group reaches, a lane that there is not, a broken promise of uniformity, a zero divisor, a loop whose index
    overflows, boxes that are counted wrongly, a group that ends before what it has begun, and for a group that takes
    more than `max_steps` loop iterations.
    """
    index_space = launch(kernel, global_size, group_size)
    machine = _Machine(kernel, index_space, args, check_races, max_steps, print_)
    for group in index_space.groups():
        machine.run_group(group)
    return machine.counters


_names = by_identity(names)


class _Course(threading.local):
    """What a thread runs: the group, or one side of a branch whose warps specialise. `left` says who has left each loop
    around, `expected` who comes to what is done together; `pending` is what goes on."""

    left: list[Data]
    expected: Data
    pending: Pending


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
        self._faults = Faults(kernel, space)
        scalars, arguments = bind(kernel, args)
        self._clocks: dict[str, Clock] = {}
        if check_races:
            self._clocks = {space_: Clock(space.items, self._faults.statements) for space_ in ("local", "global")}
            changed = written(kernel)
            stored = frozenset(memory.name for id_, memory in arguments.items() if id_ in changed)
            watch(arguments.values(), stored, self._clocks["global"])
        self._names = _names(kernel)
        self._values = Values(space.items, scalars)
        self._accesses = Accesses(arguments, self._values, self._faults, self.counters)
        self._group: Triple = (0, 0, 0)
        self._course = _Course()
        self._returned = self._nobody()
        self._steps = 0

    def run_group(self, group: Triple) -> None:
        """Runs the whole kernel for one group."""
        self.counters.groups += 1
        self._group = self._faults.group = group
        self._values.start_group()
        self._accesses.start_group()
        self._boxes = Boxes(self._values, self._accesses, self._faults, self._space.items, self._clocks.get("local"))
        self._returned, self._steps, self._turns = self._nobody(), 0, Turns(self._faults)
        for clock in self._clocks.values():
            clock.start_group()
        self._run_course(self._kernel.body, ~self._nobody())
        self._boxes.end()
        self._turns.end()

    def _run_course(self, block: Block, items: Data) -> None:
        course = self._course
        course.left, course.expected = [], items
        course.pending = Pending(self._values, self._accesses, self._faults)
        self._block(block, items)
        course.pending.end()

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
                self._accesses.load(stmt, items)
            case Store():
                self._accesses.store(stmt, items)
            case Local():
                self._values.define(stmt.variable.id, stmt.variable.type, items, self._values.at(stmt.init, items))
            case Assign():
                self._values.assign(stmt.variable.id, items, self._values.at(stmt.value, items))
            case Array():
                pointer, name = stmt.pointer.type, self._names[stmt.pointer.id]
                assert isinstance(pointer, Pointer)
                array = new_array(name, pointer, stmt.length, self._space.items, self._clocks.get(pointer.space))
                self._accesses.memories[stmt.pointer.id] = array
            case Atomic():
                self._accesses.atomic(stmt, items)
            case If():
                held = self._nobody()
                held[items] = self._values.at(stmt.condition, items)
                if stmt.registers is not None:
                    return self._specialise(stmt, active, held)
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
                self._multiply(stmt, active)
            case Print():
                self._print(stmt, items)
            case Break():
                self._course.left[-1] |= active
                return self._nobody()
            case Continue():
                return self._nobody()
            case Return():
                self._returned = self._returned | active
                return self._nobody()
            case Commit() | Await():
                self._together(stmt, active)
                self._course.pending.batch(stmt)
            case CopyAsync():
                self._course.pending.copy(stmt, items)
            case WarpgroupMultiply():
                self._course.pending.multiply(stmt, self._together(stmt, active))
            case Turn():
                self._turns.take(stmt, self._together(stmt, active))
            case _ if isinstance(stmt, BoxStmt):
                self._boxes.run(stmt, items)
        return active

    def _specialise(self, stmt: If, active: Data, held: Data) -> Data:
        """Runs both sides of a branch at once."""
        sides = (stmt.then, held), (stmt.orelse, active & ~held)
        for _, items in sides:
            warpgroups = np.add.reduceat(items, range(0, items.size, WARPGROUP), dtype=np.int64)
            if np.count_nonzero(warpgroups % WARPGROUP):
                fact = f"warps specialise, but a part of a warpgroup of {WARPGROUP} work-items comes to a side"
                self._faults.fail(IRError, fact, stmt, "send whole warpgroups to each side")
        assert stmt.registers is not None
        wanted = sum(int(items.sum()) * count for (_, items), count in zip(sides, stmt.registers, strict=True))
        there = active.size * registers_of(active.size)
        if wanted > there:
            fact = f"warps specialise and want {wanted} registers, of {there}"
            self._faults.fail(IRError, fact, stmt, "let who takes registers wait for no more than others leave")
        self._boxes.sides = Sides([partial(self._run_course, block, items) for block, items in sides])
        self._boxes.sides.run()
        self._boxes.sides = None
        return active

    def _together(self, stmt: GroupStmt, active: Data) -> Data:
        """The work-items that come to a statement: a whole side where warps specialise, or the group."""
        return self._faults.check_whole(stmt, active, self._course.expected)

    def _for(self, stmt: For, active: Data) -> Data:
        bounds = (stmt.start, stmt.stop, stmt.step)
        index, stop, step = (self._values.spread(bound, active) for bound in bounds)
        down = isinstance(stmt.step, Const) and stmt.step.value < 0
        if not down and np.count_nonzero(step[active] <= 0):
            remedy = "count down with a constant negative step"
            self._faults.fail(IRError, "the loop's step is not positive", stmt, remedy)
        left = self._course.left
        left.append(self._nobody())
        live = active & (index > stop if down else index < stop)
        while np.count_nonzero(live):
            self._step(stmt)
            self._values.define_all(stmt.index.id, index)
            self._block(stmt.body, live)
            live = live & ~left[-1] & ~self._returned
            following = index + step
            if np.count_nonzero(live & (following > index if down else following < index)):
                fact = f"the loop's index leaves the range of {stmt.index.type} before it reaches the end"
                self._faults.fail(IRError, fact, stmt, "use a wider type for the index")
            index = following
            live = live & (index > stop if down else index < stop)
        left.pop()
        return active & ~self._returned

    def _while(self, stmt: While, active: Data) -> Data:
        left = self._course.left
        left.append(self._nobody())
        live = active
        while np.count_nonzero(live):
            self._step(stmt)
            tested = self._block(stmt.header, live)
            holds = self._nobody()
            items = np.flatnonzero(tested)
            if items.size:  # else nobody may have come to what makes the condition
                holds[items] = self._values.at(stmt.condition, items)
            left[-1] |= tested & ~holds
            self._block(stmt.body, holds)
            live = live & ~left[-1] & ~self._returned
        left.pop()
        return active & ~self._returned

    def _step(self, stmt: Stmt) -> None:
        self._steps += 1
        if self._steps > self._max_steps:
            fact = f"group {self._group} took more than {self._max_steps} loop iterations"
            self._faults.fail(IRError, fact, stmt, "see that the loop ends, or raise max_steps")
        if self._boxes.sides is not None:
            self._boxes.sides.check()

    def _barrier(self, stmt: Barrier, active: Data) -> None:
        self._faults.check_whole(stmt, active, ~self._nobody())
        self.counters.barriers += 1
        for space, named in (("local", stmt.local), ("global", stmt.global_)):
            if named and space in self._clocks:
                self._clocks[space].barrier()

    def _collective(self, stmt: Collective, active: Data) -> None:
        items = self._together(stmt, active) if stmt.size else self._faults.check_whole(stmt, active, ~self._nobody())
        values, lane = self._values.at(stmt.value, items), 0
        if stmt.lane is not None:
            lane = int(self._values.at(stmt.lane, items)[0])
            if not 0 <= lane < items.size:
                fact = f"a broadcast of lane {lane} in group {self._group}, which has {items.size} work-items"
                self._faults.fail(IRError, fact, stmt, "name a lane below the group's size")
        parts = np.split(values, items.size // (stmt.size or items.size))
        result = np.concatenate([joined(stmt.op, part, lane) for part in parts])
        self._values.define(stmt.result.id, element(stmt.value.type), items, result)

    def _shuffle(self, stmt: Shuffle, active: Data) -> None:
        items = self._together(stmt, active)
        values, whose = self._values.at(stmt.value, items), self._values.at(stmt.lane, items)
        outside = (whose < 0) | (whose >= stmt.size)
        if np.count_nonzero(outside):
            at = int(np.argmax(outside))
            asks = f"{self._faults.work_item(at)} asks for lane {whose[at]} of its sub-group"
            fact = f"{asks}, which has {stmt.size} work-items"
            self._faults.fail(IRError, fact, stmt, "name a lane below the sub-group's size")
        self._values.define(stmt.result.id, element(stmt.value.type), items, exchanged(values, whose, stmt.size))

    def _multiply(self, stmt: MatrixMultiply, active: Data) -> None:
        items = self._together(stmt, active)
        left, right, sums = (self._values.at(operand, items) for operand in (stmt.left, stmt.right, stmt.sum))
        item = disagreeing(stmt.instruction, left, right)
        if item is not None:
            fact = f"{self._faults.work_item(item)} holds other elements than who holds the same of a matrix"
            self._faults.fail(IRError, fact, stmt, "give all of them the same values")
        result = multiplied(stmt.instruction, left, right, sums)
        self._values.define(stmt.result.id, stmt.result.type, items, result)

    # ------------------------------------------------------------------ values

    def _let(self, stmt: Let, items: Data) -> None:
        self.counters.operations += items.size
        type_ = stmt.result.type
        assert not isinstance(type_, Pointer)
        args = [self._values.at(arg, items) for arg in stmt.args]
        if stmt.op in WORK_ITEM:
            answer = self._space.answer(stmt.op, int(args[0][0]), self._group)
            result = np.broadcast_to(answer, self._space.items)[items].astype(element(type_).numpy)
        else:
            if stmt.op == "uniform":
                self._check_uniform(stmt, args[0], items)
            try:
                result = evaluate(stmt.op, args, type_)
                if isinstance(stmt.op, ExactOp):
                    self._faults.check_exact(stmt, args, items)
            except ZeroDivisionError:
                by_zero = items[(args[1] == 0).reshape(items.size, -1).any(axis=1)]
                fact = f"{stmt.op} by zero in {self._faults.work_item(int(by_zero[0]))}"
                self._faults.fail(IRError, fact, stmt, "test the divisor first; the operation is undefined for zero")
        self._values.define(stmt.result.id, type_, items, result)

    def _check_uniform(self, stmt: Let, values: Data, items: Data) -> None:
        differs = ~same_bits(values, values[:1]).reshape(items.size, -1).all(axis=1)
        if np.count_nonzero(differs):
            has = [f"{self._faults.work_item(int(items[at]))} has {values[at]}" for at in (0, int(np.argmax(differs)))]
            fact = f"a value that is promised to be uniform differs: {has[0]}, and {has[1]}"
            self._faults.fail(IRError, fact, stmt, "promise it of values that the whole group shares")

    def _nobody(self) -> Data:
        return np.zeros(self._space.items, np.bool_)

    def _print(self, stmt: Print, items: Data) -> None:
        line = printf_format(stmt.format, [element(arg.type) for arg in stmt.args])
        values = [self._values.at(arg, items) for arg in stmt.args]
        for item in range(items.size):
            self._print_line(line % tuple(value[item] for value in values))
