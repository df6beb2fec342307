"""Copies and fills on the device as kernels, so that every node of a schedule is a launch or a transfer.

Elements are moved as unsigned integers of their size. Axes are collapsed first; what is then one run on both sides is a
flat kernel, everything else takes the place apart by division.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ocl_ir.bfloat16 import bits_of
from ocl_ir.host.grammar import Copy, Fill, Launch
from ocl_ir.host.schedule import Argument, BufferView, Node, Schedule
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.layout import Layout, collapse
from ocl_ir.types import BF16, U8, U16, U32, U64, DType
from ocl_runtime.plan.kernels.cache import KernelCache

_BITS = {1: U8, 2: U16, 4: U32, 8: U64}
_WRAP = 2**64


def as_launches(schedule: Schedule, kernels: KernelCache, group_size: int) -> Schedule:
    """The schedule with a launch in place of every copy and fill on the device."""
    nodes = tuple(
        node
        if isinstance(node.command, Launch) or schedule.is_transfer(node)
        else _launch(node, node.command, kernels, group_size)
        for node in schedule.nodes
    )
    return replace(schedule, nodes=nodes)


def _launch(node: Node, command: Copy | Fill, kernels: KernelCache, group_size: int) -> Node:
    views = [arg for arg in node.args if isinstance(arg, BufferView)]
    dtype = _BITS[views[0].dtype.size]
    shape, layouts = collapse(views[0].layout.shape, [view.layout for view in views])
    if not shape:
        shape, layouts = (1,), tuple(Layout((1,), (1,), layout.offset) for layout in layouts)
    kernel = kernels.get(
        ("host move", dtype, len(shape), isinstance(command, Copy)),
        lambda _: _kernel(dtype, len(shape), copies=isinstance(command, Copy)),
    )
    size = layouts[0].size
    args: list[Argument] = [size, *shape[1:]]
    for view, layout in zip(views, layouts, strict=True):
        low, _ = layout.range()
        first = Layout((1,), (1,), low)
        args += [replace(view, layout=first), layout.offset - low, *(stride % _WRAP for stride in layout.strides)]
    if isinstance(command, Fill):
        args.append(bits(command.number, views[0].dtype))
    launch = Launch(kernel, (), (size,), (group_size,), command.stream, where=command.where)
    return replace(node, command=launch, args=tuple(args), sizes=(size,))


def _kernel(dtype: DType, rank: int, *, copies: bool) -> Kernel:
    k = KernelBuilder("copy" if copies else "fill", note=f"{dtype} elements of {rank}-D memory, 1 a work-item")
    n = k.scalar("n", U64)
    sizes = [k.scalar(f"n{axis}", U64) for axis in range(1, rank)]
    sides = []
    for name in ("y", "x") if copies else ("y",):
        pointer, first = k.pointer(name, dtype), k.scalar(f"{name}_first", U64)
        sides.append((pointer, first, [k.scalar(f"{name}_stride{axis}", U64) for axis in range(rank)]))
    number = None if copies else k.scalar("number", dtype)
    i = k.global_id(0, "i", dtype=U64)
    with k.if_(i < n):
        coordinates, rest = [], i
        for size in reversed(sizes):
            coordinates.append(k.op("urem", rest, size))
            rest = k.op("udiv", rest, size)
        coordinates = [rest, *reversed(coordinates)]
        at = []
        for _, first, strides in sides:
            index = first
            for coordinate, stride in zip(coordinates, strides, strict=True):
                index = index + coordinate * stride
            at.append(index)
        value = k.load(sides[1][0], at[1]) if copies else number
        assert value is not None
        k.store(sides[0][0], at[0], value)
    return k.build()


def bits(number: bool | int | float, dtype: DType) -> int:
    """A number of a dtype as an unsigned integer with the same bits."""
    if dtype == BF16:
        return int(bits_of(number))
    return int(np.asarray(number).astype(dtype.numpy).view(f"u{dtype.size}"))
