"""The launch that puts channels last."""

from __future__ import annotations

from collections.abc import Callable

from ocl_ir.graph.build import Storage, buffer
from ocl_ir.layout import Layout
from ocl_runtime.plan.fusion.values import Leaf
from ocl_runtime.plan.kernels.custom_call import Call
from ocl_runtime.plan.kernels.elementwise import elementwise_launch
from ocl_runtime.plan.kernels.form import Output
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Launch


def channels_last_launches(call: Call, _: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """A transposition of all places and channels."""
    (x,), y = call.operands, call.result
    rank = len(x.shape)
    order = (0, *range(2, rank), 1)
    layout = Layout(
        tuple(x.layout.shape[axis] for axis in order), tuple(x.layout.strides[axis] for axis in order), x.layout.offset
    )
    leaf = Leaf(buffer(x.storage, x.dtype, layout), layout, False)
    return [elementwise_launch((leaf,), layout.shape, [Output(0, y.layout, y.storage, y.dtype)], lowering)]
