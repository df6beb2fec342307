"""Statements to which the work-items of a group come together.

Barrier local?, global?                        every work-item of the group, or none, comes here
Collective value = op operand, lane?, size     the group, or its sub-groups, join values
Shuffle value = operand, lane, size            what an item of the sub-group has
MatrixMultiply value = left, right, sum        small matrices that a sub-group holds
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ocl_ir.kernel.matrix_instruction import MatrixInstruction
from ocl_ir.kernel.values import Operand, Statement, Value


@dataclass(frozen=True, slots=True)
class Barrier(Statement):
    """Waits for every work-item of the group; orders their accesses to the named spaces."""

    local: bool = True
    global_: bool = False


CollectiveOp = Literal["sum", "prod", "min", "max", "any", "all", "scan", "exclusive_scan", "broadcast"]


@dataclass(frozen=True, slots=True)
class Collective(Statement):
    """`result` is what the group makes of its work-items' values, in the order of `ocl_ir.kernel.collectives`.

    It is the same for all of them, but for the scans. `lane`: whose value a broadcast gives, by linear local id. With a
    `size`, each sub-group of so many items, as those of `Shuffle`, joins its own. It orders no memory.
    """

    result: Value
    op: CollectiveOp
    value: Operand
    lane: Operand | None = None
    size: int = 0


@dataclass(frozen=True, slots=True)
class Shuffle(Statement):
    """`result` is the value of the item at `lane` of a work-item's own sub-group.

    A sub-group has `size` items, a power of two, whose linear local ids follow each other from a multiple of it on. It
    orders no memory.
    """

    result: Value
    value: Operand
    lane: Operand
    size: int


@dataclass(frozen=True, slots=True)
class MatrixMultiply(Statement):
    """`result` is what a work-item holds of `left @ right + sum`, matrices that a sub-group holds together as the
    instruction says."""

    result: Value
    instruction: MatrixInstruction
    left: Operand
    right: Operand
    sum: Operand

    @property
    def size(self) -> int:
        """The items of a sub-group."""
        return self.instruction.size
