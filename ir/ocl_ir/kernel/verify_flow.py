"""Checks of control flow: exits leave loops, everything can be reached, and the whole group comes to each barrier."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from ocl_ir.kernel.asynchronous import registers_of
from ocl_ir.kernel.fault import Fault, name_of, quoted
from ocl_ir.kernel.grammar import (
    Array,
    Assign,
    Barrier,
    Block,
    Break,
    Collective,
    Continue,
    For,
    GroupStmt,
    If,
    Kernel,
    Local,
    Return,
    SubgroupStmt,
    While,
    blocks,
    walk,
)
from ocl_ir.kernel.uniformity import uniformity
from ocl_ir.types import Pointer

_REGISTERS = range(24, 257, 8)
"""How many a work-item of a warpgroup can take."""


def group_size_is_positive(kernel: Kernel) -> Iterator[Fault]:
    """The group size is three positive numbers."""
    size = kernel.group_size
    if size is not None and (len(size) != 3 or any(extent < 1 for extent in size)):
        yield Fault(f"the group size is {size}", None, "use three positive numbers, 1 for an unused dimension")


def exits_are_in_loops(kernel: Kernel) -> Iterator[Fault]:
    """`Break` and `Continue` stand inside of a loop."""
    yield from _exits(kernel.body, in_loop=False)


def statements_are_reachable(kernel: Kernel) -> Iterator[Fault]:
    """Nothing stands behind a `Break`, `Continue` or `Return` of the same block."""
    for block in _all_blocks(kernel.body):
        for before, stmt in pairwise(block):
            if isinstance(before, Break | Continue | Return):
                yield Fault(f"this is never reached, because {quoted(kernel, before)} is before it", stmt, "remove it")


def local_arrays_are_at_the_top(kernel: Kernel) -> Iterator[Fault]:
    """Arrays in local memory are declared in the kernel's outermost block, as OpenCL C demands."""
    top = {id(stmt) for stmt in kernel.body}
    for stmt in walk(kernel.body):
        local = (
            isinstance(stmt, Array) and isinstance(stmt.pointer.type, Pointer) and stmt.pointer.type.space == "local"
        )
        if local and id(stmt) not in top:
            yield Fault("an array in local memory is declared inside of a block", stmt, "declare it before the block")


def vectorized_loops_are_independent(kernel: Kernel) -> Iterator[Fault]:
    """The iterations of a loop marked `vectorize` do not order, end or feed one another."""
    for loop in walk(kernel.body):
        if not isinstance(loop, For) or not loop.vectorize:
            continue
        own = {stmt.variable.id for stmt in walk(loop.body) if isinstance(stmt, Local)}
        for stmt in walk(loop.body):
            if isinstance(stmt, Break | Continue | Return | GroupStmt):
                fact = f"a loop marked `vectorize` has a {type(stmt).__name__.lower()}"
                yield Fault(fact, stmt, "unmark the loop, or use an if_ or a select")
            elif isinstance(stmt, Assign) and stmt.variable.id not in own:
                name = name_of(kernel, stmt.variable)
                fact = f"a loop marked `vectorize` assigns {name}, which is declared outside"
                yield Fault(fact, stmt, "unmark the loop, or keep one result per iteration in an array")


def barriers_are_uniform(kernel: Kernel) -> Iterator[Fault]:
    """Each barrier orders some memory; it, and whatever else a group does together, is in no loop's header, and every
    work-item of the group comes to it or none."""
    if not any(isinstance(stmt, GroupStmt) for stmt in walk(kernel.body)):
        return
    headers = {id(stmt) for loop in walk(kernel.body) if isinstance(loop, While) for stmt in walk(loop.header)}
    flow = uniformity(kernel)
    for stmt in walk(kernel.body):
        if not isinstance(stmt, GroupStmt):
            continue
        cause, kind = flow.cause(stmt), type(stmt).__name__.lower()
        if isinstance(stmt, Barrier) and not (stmt.local or stmt.global_):
            yield Fault("a barrier that orders no memory", stmt, "name local or global memory, or remove it")
        elif id(stmt) in headers:
            yield Fault(f"a {kind} in the header of a while loop", stmt, "move it into the body or before the loop")
        elif cause is not None:
            yield Fault(
                f"divergent {kind}: only a part of the group may come here, because of "
                f"{quoted(kernel, cause)}, which differs between work-items",
                stmt,
                f"move the {kind} to where the whole group passes, and keep the condition around the work only",
            )


def sides_are_apart(kernel: Kernel) -> Iterator[Fault]:
    """Where warps specialise, it is in the outermost block, the sides have numbers of registers that there are, and
    nothing in them is for the whole group."""
    top = {id(stmt) for stmt in kernel.body}
    for stmt in walk(kernel.body):
        if not isinstance(stmt, If) or stmt.registers is None:
            continue
        if id(stmt) not in top:
            yield Fault("warps specialise inside of a block", stmt, "let them before the block")
        for count in stmt.registers:
            if count not in _REGISTERS:
                fact = f"{count} registers for a work-item"
                yield Fault(fact, stmt, f"give it a multiple of 8, {_REGISTERS[0]} to {_REGISTERS[-1]}")
        if kernel.group_size is not None:
            had = registers_of(math.prod(kernel.group_size))
            if not min(stmt.registers) <= had <= max(stmt.registers):
                fact = f"{stmt.registers[0]} and {stmt.registers[1]} registers where work-items have {had}"
                yield Fault(fact, stmt, "let one side leave some and the other one take them")
        for inner in walk((*stmt.then, *stmt.orelse)):
            if isinstance(inner, Barrier | Return) or (isinstance(inner, Collective) and not inner.size):
                fact = f"a {type(inner).__name__.lower()} where warps specialise: only one side comes to it"
                yield Fault(fact, inner, "move it before the branch, or let sides wait for boxes and releases")


def broadcasts_are_of_one_lane(kernel: Kernel) -> Iterator[Fault]:
    """The whole group asks for the value of the same work-item."""
    collectives = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Collective)]
    lanes = [(stmt, stmt.lane) for stmt in collectives if stmt.lane is not None]
    if not lanes:
        return
    flow = uniformity(kernel)
    for stmt, lane in lanes:
        if not flow.is_uniform(lane):
            fact = f"the lane {name_of(kernel, lane)} of a broadcast differs between work-items"
            yield Fault(fact, stmt, "broadcast of a lane that the whole group knows, or go through local memory")


def groups_are_whole_subgroups(kernel: Kernel) -> Iterator[Fault]:
    """A sub-group has as many items as a power of two, and a group that has a size has whole ones."""
    for stmt in walk(kernel.body):
        if not isinstance(stmt, SubgroupStmt) or (isinstance(stmt, Collective) and not stmt.size):
            continue
        size, items = stmt.size, math.prod(kernel.group_size) if kernel.group_size is not None else 0
        if size < 1 or size & (size - 1):
            yield Fault(f"a sub-group of {size} work-items", stmt, "use a power of two")
        elif items % size:
            fact = f"a group of {items} work-items is not made of sub-groups of {size}"
            yield Fault(fact, stmt, "use a size that divides the group")


def _exits(block: Block, *, in_loop: bool) -> Iterator[Fault]:
    for stmt in block:
        if isinstance(stmt, Break | Continue) and not in_loop:
            yield Fault(
                f"a {type(stmt).__name__.lower()} outside of a loop", stmt, "use k.return_() to end a work-item"
            )
        for inner in blocks(stmt):
            yield from _exits(inner, in_loop=in_loop or isinstance(stmt, For | While))


def _all_blocks(block: Block) -> Iterator[Block]:
    yield block
    for stmt in block:
        for inner in blocks(stmt):
            yield from _all_blocks(inner)
