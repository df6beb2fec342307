"""What it costs to compute a value again, beside keeping it in memory.

Both are counted for one element of the value and in operations, each of which takes as long as an addition of float32:
arithmetic by `ocl_ir.kernel.work.worth`, and bytes by the device's `operations_per_byte`. The number of elements stays
out of it: a plan then serves all sizes, and only where an array takes no longer than a launch could more computing be
cheaper.

A value that is kept is written and read once: what it is made of is read either way, by the kernel that stores it or by
those that compute it again. Neighbours that a kernel reads come from the cache, so that views move no more bytes; but
each of them is a load, and a load is an operation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ocl_ir.kernel.work import worth
from ocl_ir.types import DType
from ocl_runtime.plan.target import Target


@dataclass(frozen=True, slots=True)
class Choice:
    """Computing a value again takes `again` operations, keeping it moves `moved` bytes, which take as long as `worth`
    operations."""

    again: int
    moved: int
    worth: float

    @property
    def keeps(self) -> bool:
        """Whether it is cheaper to keep the value than to compute it again."""
        return self.again > self.worth

    def __str__(self) -> str:
        plural = "s" * (self.moved != 1)
        return (
            f"computing it again takes {self.again} operations an element, and keeping it moves {self.moved} "
            f"byte{plural}, as much as {self.worth:g} operations"
        )


def operation(op: str, dtypes: Iterable[DType]) -> int:
    """What an operation on values of these dtypes is worth. Those of 64 bits count twice: half as many fit in a vector,
    and GPUs have half as many units for them at best."""
    return worth(op) * (2 if any(dtype.size == 8 for dtype in dtypes) else 1)


def choice(times: int, operations: int, loads: int, moved: int, target: Target) -> Choice:
    """Between computing a value `times` more, each time with so many operations and loads, and moving bytes to keep it:
    then one load takes their place."""
    return Choice(times * (operations + max(0, loads - 1)), moved, moved * target.operations_per_byte)
