"""The launches of what is to be in memory: mostly none, since it is there when operands of custom calls are."""

from __future__ import annotations

from collections.abc import Callable

from ocl_ir.graph.build import Storage
from ocl_runtime.plan.fusion.values import Leaf
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.elementwise import elementwise_launch
from ocl_runtime.plan.kernels.form import Output
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Launch


def contiguous_launches(call: Call, _: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """A copy, where the operand's memory cannot be that of the result."""
    (x,), y = call.operands, call.result
    if x.storage is y.storage:
        return []
    leaf = Leaf(x, x.layout, False)
    return [elementwise_launch((leaf,), x.shape, [Output(0, y.layout, y.storage, y.dtype)], lowering)]
