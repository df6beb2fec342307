"""Views: the elements of a node at other places. Movements of leaves are folded into the leaves at once."""

from __future__ import annotations

import math
from typing import cast
from weakref import ref

from ocl_ir.errors import ShapeError
from ocl_ir.graph.leaves import buffer, iota, scalar
from ocl_ir.graph.nodes import Assign, Buffer, Iota, Movement, Node, Scalar, Scatter, Step, Storage
from ocl_ir.graph.readers import note_reader
from ocl_ir.indices import Item, Shape, Span
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where, caller, calling_line

_WITHOUT_MEMORY = frozenset({Iota, Scalar})
_WRITES = frozenset({Assign, Scatter})

_FEW = 64
"""Views of a memory that are never looked through for those that are gone."""


def index(arg: Node, items: tuple[Item, ...], where: Where = "") -> Node:
    """The view that an index (see `ocl_ir.indices.parse_index`) picks."""
    return _indexed(arg, Step("index", items), where)


def _indexed(arg: Node, step: Step, where: Where) -> Node:
    items, shape = step.value, step.shape(arg.shape)
    if shape == arg.shape and len(items) == len(shape):
        for item in items:
            if not isinstance(item, Span) or item.start != 0 or item.step != 1:
                break
        else:
            return arg
    return move(arg, step, shape, where)


def permute(arg: Node, axes: tuple[int, ...]) -> Node:
    """The view whose axis `k` is axis `axes[k]` of `arg`."""
    args = arg.args
    if arg.result is not None:  # as of another thread, which has computed it meanwhile
        return permute(arg.result, axes)
    if isinstance(arg, Movement) and arg.step.kind == "permute":
        inner = cast("Shape", arg.step.value)
        arg, axes = args[0], tuple(inner[axis] for axis in axes)
    unchanged = axes == tuple(range(len(axes)))
    return arg if unchanged else move(arg, Step("permute", axes), tuple(arg.shape[axis] for axis in axes))


def expand(arg: Node, shape: Shape, where: Where = "") -> Node:
    """The view with a shape that `arg`'s broadcasts to."""
    return arg if shape == arg.shape else move(arg, Step("expand", shape), shape, where)


def reshape(arg: Node, shape: Shape) -> Node:
    """The elements in row-major order in another shape. Raises `ShapeError` for a shape of another size."""
    if math.prod(shape) != arg.size:
        raise ShapeError(
            f"{arg.size} elements of shape {arg.shape} do not fit in shape {shape}",
            place=calling_line(),
            remedy="give a shape with the same number of elements",
        )
    return arg if shape == arg.shape else move(arg, Step("reshape", shape), shape)


def stepped(arg: Node, step: Step, where: Where = "") -> Node:
    """The view that a step makes of a node."""
    region = step.region
    if region is not None:
        shape = region.shape
        if shape == arg.shape and region.is_dense and not region.offset:  # it picks everything
            return arg
        if type(arg) is Buffer:
            storage, layout = arg.storage, arg.layout
            if arg.result is None and storage is not None:  # no other thread has moved the elements
                if not layout.is_dense or layout.offset:
                    region = layout.index_again(step.value)
                view = _view(arg, storage, region, where)
                note_reader(getattr(storage, "readers", None), view)
                return view
        elif type(arg) not in _WITHOUT_MEMORY:
            return _movement(arg, step, shape, where)
        return move(arg, step, shape, where)
    if step.kind == "index":
        return _indexed(arg, step, where)
    numbers = cast("Shape", step.value)
    if step.kind == "permute":
        return permute(arg, numbers)
    if step.kind == "windows":
        return move(arg, step, step.shape(arg.shape), where)
    return arg if numbers == arg.shape else move(arg, step, numbers, where)


def move(arg: Node, step: Step, shape: Shape, where: Where = "") -> Node:
    """The elements moved by a step, which gives this shape."""
    kind = type(arg)
    if kind is Buffer or kind is Iota:
        moved = _in_memory(cast("Buffer | Iota", arg), step, where)
        if moved is not None:
            return moved
    elif type(arg) is Scalar:
        return scalar(arg.value, arg.dtype, shape, where or None)
    return _movement(arg, step, shape, where)


def _movement(arg: Node, step: Step, shape: Shape, where: Where) -> Node:
    """A node that moves another one, which is no leaf that takes the step itself."""
    made = Movement(shape, arg.dtype, where or caller(), step.kind == "reshape", (arg,), step)
    made.depth = arg.depth
    if type(arg) in _WRITES and step.kind == "index":
        note_reader(cast("Assign", arg).readers, made)
    return made


def _in_memory(arg: Buffer | Iota, step: Step, where: Where) -> Node | None:
    """What a step makes of a leaf; None for a reshape that has to copy."""
    if type(arg) is Iota:
        layout = step.apply(arg.layout)
        return None if layout is None else iota(arg.dtype, layout, where)
    assert type(arg) is Buffer
    storage = arg.storage
    if arg.result is not None:  # another thread has moved the elements
        return _in_memory(arg.result, step, where)
    layout = step.apply(arg.layout)
    if layout is None:
        return None
    if storage is None:
        return buffer(None, arg.dtype, layout, where)
    view = _view(arg, storage, layout, where)
    if step.kind == "index":
        note_reader(getattr(storage, "readers", None), view)
    return view


def _view(arg: Buffer, storage: Storage, layout: Layout, where: Where) -> Buffer:
    """The elements of a layout in the memory of a node: one node for each layout, so that an expression that looks at
    the same elements more than once has one leaf for them."""
    views = arg.views
    if not views:
        views[arg.layout._identity or arg.layout.identity] = ref(arg)  # what gives all of it is the same node
    key = layout._identity or layout.identity
    entry = views.get(key)
    if entry is not None and (before := entry()) is not None and before.storage is storage:
        return before
    made = Buffer(layout.shape, arg.dtype, where or caller(), layout.is_dense, (), storage, layout, views)
    views[key] = ref(made)
    count = len(views)
    if count > _FEW and not count & (count - 1):  # once they have doubled: it takes no longer than entering them
        for gone in [key for key, entry in views.copy().items() if entry() is None]:
            views.pop(gone, None)
    return made
