"""What every kernel must fulfil: many small checks, each named after its rule.

    verify_scopes.py    names, definitions, uses
    verify_types.py     the types of operands and results
    verify_flow.py      loops, barriers, arrays
    verify_memory.py    constant memory, alignment, bounds

A check yields the faults that it finds. They run in order and the first fault is raised, so that a check may rely on
the ones before it. The interpreter finds what needs values: see `ocl_ir.interpret.kernel`.
"""

from __future__ import annotations

from ocl_ir.errors import VerifyError
from ocl_ir.kernel import verify_flow, verify_memory, verify_scopes, verify_types
from ocl_ir.kernel.fault import Check
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.printer import neighbourhood

CHECKS: tuple[Check, ...] = (
    verify_scopes.names_are_valid,
    verify_types.pointers_only_where_memory_is_meant,
    verify_scopes.single_definition,
    verify_scopes.uses_are_in_scope,
    verify_types.parameter_types,
    verify_types.literals_fit,
    verify_types.operation_types,
    verify_types.array_types,
    verify_types.memory_types,
    verify_types.atomic_types,
    verify_types.collective_types,
    verify_types.shuffle_types,
    verify_types.prints_fit_their_formats,
    verify_types.variable_types,
    verify_types.control_types,
    verify_flow.group_size_is_positive,
    verify_flow.exits_are_in_loops,
    verify_flow.statements_are_reachable,
    verify_flow.local_arrays_are_at_the_top,
    verify_flow.vectorized_loops_are_independent,
    verify_flow.barriers_are_uniform,
    verify_flow.broadcasts_are_of_one_lane,
    verify_flow.groups_are_whole_subgroups,
    verify_memory.constant_memory_is_not_written,
    verify_memory.alignment_can_hold,
    verify_memory.accesses_can_be_inside,
)


def verify(kernel: Kernel) -> None:
    """Raises `VerifyError` for the first rule that the kernel breaks."""
    for check in CHECKS:
        for fault in check(kernel):
            excerpt = neighbourhood(kernel, fault.stmt)
            raise VerifyError(check.__name__, fault.fact, place=excerpt, remedy=fault.remedy)
