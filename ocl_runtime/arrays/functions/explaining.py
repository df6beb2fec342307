"""What computing arrays would do."""

from __future__ import annotations

from typing import Any

from ocl_ir.graph.forward import current
from ocl_runtime.arrays.array import Array
from ocl_runtime.arrays.core import executor_of, not_computed
from ocl_runtime.arrays.hosts import refused
from ocl_runtime.arrays.reals import base_executor
from ocl_runtime.plan.evaluate import look


class Explanation(str):
    """A text of several lines that shows itself as it is, also in a console or notebook that is given it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return self.rstrip("\n")

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


def explain(*arrays: Array) -> Explanation:
    """What computing arrays together would do, as a text that prints itself; nothing is computed.

    Shows the graph, why it is cut where it is cut, the kernels with the bytes that they move beside the least that are
    possible, the streams that they would run on, counted from the one in use, which results are written over operands
    and why the others are not, and the memory that is allocated. Raises `MixedDevicesError` for arrays of several
    runtimes.
    """
    for x in arrays:
        if not isinstance(x, Array):
            raise refused("explain", x)
    executor = base_executor(executor_of("explain", arrays))
    text = look(lambda: [current(array._node) for array in not_computed(arrays)], executor)
    return Explanation(text or "computed already\n")
