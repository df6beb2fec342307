"""Groups that share a kernel: what is computed in it, in which pass over the elements, and what is stored.

A value is one of each element, or one of the row (it depends on the kept axes only).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ocl_ir.indices import Shape
from ocl_runtime.plan.fusion.cost import operation
from ocl_runtime.plan.fusion.groups import Group
from ocl_runtime.plan.fusion.reduction_order import Order
from ocl_runtime.plan.fusion.values import Fold, Leaf, Lookup, Operation, Value, below, dtype_of, leaves_of


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a group that a bundle stores: a value by its place. `row`: of the row."""

    group: Group
    value: int
    row: bool


@dataclass(frozen=True)
class Bundle:
    """Groups that become one kernel (a reduction in parts two), over `shape`, which has no axes of length 1 if there
    are several groups or a reduction; their values with all leaves that the bundle reads; what each group gives, by its
    place; and what is stored."""

    groups: tuple[Group, ...]
    shape: Shape
    values: tuple[Value, ...]
    group_values: tuple[int, ...]
    results: tuple[Result, ...]
    axes: tuple[int, ...] = ()
    order: Order | None = None

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """All that is read."""
        return leaves_of(self.values, self.groups[0].base)

    @cached_property
    def of_rows(self) -> list[bool]:
        """Which values are of the row: those that do not change along the reduced axes."""
        of_rows: list[bool] = []
        for value in self.values:
            args = value.operands
            leaf = isinstance(value, Leaf) and not any(value.layout.strides[axis] for axis in self.axes)
            of_rows.append(leaf or isinstance(value, Fold) or (bool(args) and all(of_rows[arg] for arg in args)))
        return of_rows

    def work(self, index: int) -> tuple[int, int]:
        """What the operations of each element are worth that a value takes, and how many elements they load."""
        of_rows, operations, loads = self.of_rows, 0, 0
        for operand in below(self.values, [index]):
            value = self.values[operand]
            if isinstance(value, Operation) and not of_rows[operand]:
                operations += operation(value.op, [dtype_of(self.values[arg]) for arg in (operand, *value.args)])
            loads += isinstance(value, Leaf | Lookup) and not of_rows[operand]
        return operations, loads

    @cached_property
    def passes(self) -> tuple[list[int], list[int]]:
        """For each value the pass over the elements in which it is there first, and the last one that takes it; what a
        fold gives is there in the pass behind its own."""
        turns: list[int] = []
        if Fold not in map(type, self.values):
            return [0] * len(self.values), [0] * len(self.values)
        for value in self.values:
            turns.append(max([turns[arg] for arg in value.operands], default=0) + isinstance(value, Fold))
        last, of_row = list(turns), self.of_rows
        for index in reversed(range(len(turns))):
            used = turns[index] - 1 if isinstance(self.values[index], Fold) else last[index]
            for arg in () if of_row[index] and used >= turns[index] else self.values[index].operands:
                last[arg] = max(last[arg], used)
        return turns, last
