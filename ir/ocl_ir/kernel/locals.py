"""How a kernel's named locals become declarations: three strategies behind two methods.

    reuse    bindings and variables both live in a pool of declared variables, recycled when what they held is dead
    hybrid   every binding is a constant of its own, variables are pooled (the default)
    ssa      every binding is a constant of its own, every variable has its own declaration; variables that never cross
             control flow become bindings first

A pool holds one exact type. Arrays and what atomics return are never pooled. After CubeCL's local allocators
(tracel-ai/cubecl, pull request 139), with recycling by computed liveness.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Protocol

from ocl_ir.errors import IRError
from ocl_ir.kernel.grammar import (
    Array,
    Assign,
    Atomic,
    Block,
    For,
    Kernel,
    Let,
    Load,
    Local,
    Operand,
    Stmt,
    Value,
    Variable,
    While,
    blocks,
    defined,
    map_blocks,
    map_operands,
    operands,
    walk,
)
from ocl_ir.kernel.ids import next_id
from ocl_ir.kernel.inline import inlined
from ocl_ir.kernel.liveness import Life, lives
from ocl_ir.kernel.names import names
from ocl_ir.types import Type


@dataclass(slots=True, eq=False)
class Slot:
    """One declaration. A `constant` one is initialised where it stands; a shared one is declared at the kernel's
    top."""

    type: Type
    name: str
    constant: bool = False
    occupants: int = 0
    free_from: int = 0

    @property
    def shared(self) -> bool:
        """Whether several values live in it, one after the other."""
        return self.occupants > 1


class Strategy(Protocol):
    """Gives each local its slot, in the order of definition."""

    def binding(self, value: Value, name: str, life: Life) -> Slot:
        """The slot of an immutable value."""

    def variable(self, variable: Variable, name: str, life: Life) -> Slot:
        """The slot of a mutable local."""


@dataclass(frozen=True)
class Locals:
    """The outcome: a slot for every named local by id, what is inlined, and the kernel they belong to."""

    kernel: Kernel
    strategy: str
    names: Mapping[int, str]
    slots: Mapping[int, Slot]
    inlined: Mapping[int, Let | Load]

    @property
    def shared(self) -> tuple[Slot, ...]:
        """Slots declared at the kernel's top because several values live in them."""
        return tuple(dict.fromkeys(slot for slot in self.slots.values() if slot.shared))

    @property
    def declarations(self) -> int:
        """How many locals the kernel declares."""
        return len({id(slot) for slot in self.slots.values()})


class _Pool:
    """Declared variables, by exact type; the slot that has been free for the shortest time is taken again."""

    def __init__(self) -> None:
        self._slots: dict[Type, list[Slot]] = {}

    def take(self, type_: Type, name: str, life: Life) -> Slot:
        known = self._slots.setdefault(type_, [])
        free = [slot for slot in known if slot.free_from < life.start]
        slot = max(free, key=lambda slot: slot.free_from, default=None)
        if slot is None:
            slot = Slot(type_, name)
            known.append(slot)
        slot.occupants += 1
        slot.free_from = life.end
        return slot


class Reuse:
    """Both kinds from the pool."""

    def __init__(self) -> None:
        self._pool = _Pool()

    def binding(self, value: Value, name: str, life: Life) -> Slot:
        """A pooled slot."""
        return self._pool.take(value.type, name, life)

    def variable(self, variable: Variable, name: str, life: Life) -> Slot:
        """A pooled slot."""
        return self._pool.take(variable.type, name, life)


class Hybrid:
    """Bindings are constants, variables are pooled."""

    def __init__(self) -> None:
        self._pool = _Pool()

    def binding(self, value: Value, name: str, life: Life) -> Slot:
        """A constant of its own."""
        return Slot(value.type, name, constant=True, occupants=1)

    def variable(self, variable: Variable, name: str, life: Life) -> Slot:
        """A pooled slot."""
        return self._pool.take(variable.type, name, life)


class Ssa:
    """Everything has a declaration of its own."""

    def binding(self, value: Value, name: str, life: Life) -> Slot:
        """A constant of its own."""
        return Slot(value.type, name, constant=True, occupants=1)

    def variable(self, variable: Variable, name: str, life: Life) -> Slot:
        """A declaration of its own."""
        return Slot(variable.type, name, occupants=1)


STRATEGIES: Mapping[str, type[Reuse] | type[Hybrid] | type[Ssa]] = {"reuse": Reuse, "hybrid": Hybrid, "ssa": Ssa}
DEFAULT = "hybrid"


def allocate(kernel: Kernel, strategy: str = DEFAULT) -> Locals:
    """Gives every local of the kernel its slot. Raises `IRError` for a strategy that does not exist."""
    if strategy not in STRATEGIES:
        raise IRError(f"there is no strategy {strategy!r} for locals", remedy=f"use one of {', '.join(STRATEGIES)}")
    if strategy == "ssa":
        kernel = promote(kernel)
    chosen, named = inlined(kernel), names(kernel)
    life = lives(kernel, chosen)
    how: Strategy = STRATEGIES[strategy]()
    slots: dict[int, Slot] = {}
    for stmt in walk(kernel.body):
        if isinstance(stmt, Local):
            id_ = stmt.variable.id
            slots[id_] = how.variable(stmt.variable, named[id_], life[id_])
            continue
        value = stmt.index if isinstance(stmt, For) else defined(stmt)
        if value is None or value.id in chosen:
            continue
        if isinstance(stmt, Array | Atomic | For):
            slots[value.id] = Slot(value.type, named[value.id], constant=True, occupants=1)
        else:
            slots[value.id] = how.binding(value, named[value.id], life[value.id])
    taken = set(named.values())
    for number, slot in enumerate(dict.fromkeys(slot for slot in slots.values() if slot.shared)):
        slot.name = _free_name(f"{str(slot.type).replace(' ', '_')}_{number}", taken)
    return Locals(kernel, strategy, named, slots, chosen)


def _free_name(wish: str, taken: set[str]) -> str:
    while wish in taken:
        wish += "_"
    taken.add(wish)
    return wish


def promote(kernel: Kernel) -> Kernel:
    """Turns variables that never cross control flow into bindings: all their reads and writes stand in one block."""
    homes: dict[int, set[int]] = {}

    def visit(block: Block) -> None:
        for stmt in block:
            # A loop's condition is read inside of the loop: a place of its own, so that such a variable stays one.
            home = id(stmt) if isinstance(stmt, While) else id(block)
            written = (stmt.variable,) if isinstance(stmt, Local | Assign) else ()
            for operand in (*operands(stmt), *written):
                if isinstance(operand, Variable):
                    homes.setdefault(operand.id, set()).add(home)
            for inner in blocks(stmt):
                visit(inner)

    visit(kernel.body)
    straight = frozenset(id_ for id_, where in homes.items() if len(where) == 1)
    return replace(kernel, body=_promoted(kernel.body, straight, count(next_id(kernel))))


def _promoted(block: Block, straight: frozenset[int], ids: Iterator[int]) -> Block:
    held: dict[int, Operand] = {}

    def current(operand: Operand) -> Operand:
        return held.get(operand.id, operand) if isinstance(operand, Variable) else operand

    out: list[Stmt] = []
    for stmt in block:
        if not isinstance(stmt, Local | Assign) or stmt.variable.id not in straight:
            inner = map_blocks(stmt, lambda nested: _promoted(nested, straight, ids))
            out.append(map_operands(inner, current))
            continue
        value = current(stmt.init if isinstance(stmt, Local) else stmt.value)
        if isinstance(value, Variable):  # it stays a variable and may change later: keep what it holds now
            kept = Value(next(ids), value.type, stmt.variable.hint)
            out.append(Let(kept, "copy", (value,), where=stmt.where))
            value = kept
        held[stmt.variable.id] = value
    return tuple(out)
