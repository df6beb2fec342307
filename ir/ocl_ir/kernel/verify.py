"""What every kernel must fulfil: many small checks, each named after its rule.

    verify_scopes.py        names, definitions, uses
    verify_types.py         the types of operands and results
    verify_asynchronous.py  copies, products and boxes that go on
    verify_flow.py          loops, barriers, arrays
    verify_memory.py        constant memory, alignment, bounds

A check yields the faults that it finds. They run in order and the first fault is raised, so that a check may rely on
the ones before it. The interpreter finds what needs values: see `ocl_ir.interpret.kernel`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from ocl_ir.errors import VerifyError
from ocl_ir.kernel import verify_asynchronous, verify_flow, verify_memory, verify_scopes, verify_types
from ocl_ir.kernel.fault import Check
from ocl_ir.kernel.grammar import (
    Array,
    Assign,
    Atomic,
    Await,
    AwaitBoxes,
    Break,
    Collective,
    Continue,
    CopyAsync,
    CopyBox,
    CopyWindows,
    DescribeMatrix,
    DescribeWindows,
    For,
    GroupStmt,
    If,
    InitBoxes,
    Kernel,
    Let,
    Load,
    Local,
    MatrixMultiply,
    Print,
    ReleaseBoxes,
    Return,
    Shuffle,
    Stmt,
    Store,
    SubgroupStmt,
    Turn,
    WarpgroupMultiply,
    While,
    walk,
)
from ocl_ir.kernel.printer import neighbourhood

CHECKS: Mapping[Check, tuple[type[Stmt], ...]] = {
    verify_scopes.names_are_valid: (),
    verify_types.pointers_only_where_memory_is_meant: (),
    verify_scopes.single_definition: (),
    verify_scopes.uses_are_in_scope: (),
    verify_types.parameter_types: (),
    verify_types.literals_fit: (),
    verify_types.operation_types: (Let,),
    verify_types.array_types: (Array,),
    verify_types.memory_types: (Load, Store, Atomic),
    verify_types.atomic_types: (Atomic,),
    verify_types.collective_types: (Collective,),
    verify_types.shuffle_types: (Shuffle,),
    verify_types.matrix_types: (MatrixMultiply,),
    verify_asynchronous.waits_are_counted: (Await,),
    verify_asynchronous.turns_are_of_warpgroups: (Turn,),
    verify_asynchronous.copy_types: (CopyAsync,),
    verify_asynchronous.warpgroup_types: (WarpgroupMultiply,),
    verify_asynchronous.box_types: (
        DescribeMatrix,
        DescribeWindows,
        InitBoxes,
        CopyBox,
        CopyWindows,
        AwaitBoxes,
        ReleaseBoxes,
    ),
    verify_asynchronous.matrices_are_described_before: (CopyBox, CopyWindows),
    verify_types.prints_fit_their_formats: (Print,),
    verify_types.variable_types: (Local, Assign),
    verify_types.control_types: (If, While, For),
    verify_flow.group_size_is_positive: (),
    verify_flow.exits_are_in_loops: (Break, Continue),
    verify_flow.statements_are_reachable: (Break, Continue, Return),
    verify_flow.local_arrays_are_at_the_top: (Array,),
    verify_flow.vectorized_loops_are_independent: (For,),
    verify_flow.barriers_are_uniform: get_args(GroupStmt),
    verify_flow.sides_are_apart: (If,),
    verify_flow.broadcasts_are_of_one_lane: (Collective,),
    verify_flow.groups_are_whole_subgroups: get_args(SubgroupStmt),
    verify_memory.constant_memory_is_not_written: (Store, Atomic),
    verify_memory.alignment_can_hold: (Load, Store),
    verify_memory.accesses_can_be_inside: (Load, Store, Atomic),
}
"""With the statements that each is about; () where it looks at more. It is not asked about a kernel without them."""


def verify(kernel: Kernel) -> None:
    """Raises `VerifyError` for the first rule that the kernel breaks."""
    there = {type(stmt) for stmt in walk(kernel.body)}
    for check, subjects in CHECKS.items():
        if subjects and there.isdisjoint(subjects):
            continue
        for fault in check(kernel):
            excerpt = neighbourhood(kernel, fault.stmt)
            raise VerifyError(check.__name__, fault.fact, place=excerpt, remedy=fault.remedy)
