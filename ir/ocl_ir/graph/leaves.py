"""Nodes without operands, and the table of all nodes.

Nodes are interned: the table holds them weakly, and belongs to no runtime because it keeps nothing alive.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ocl_ir.graph.interned import Interned
from ocl_ir.graph.nodes import Buffer, Iota, Node, Scalar, Storage, Undefined, deepen
from ocl_ir.guards import Given, Number
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where, caller
from ocl_ir.types import DType

NODES: Interned[Node] = Interned()
"""By what they are made of, operands and storages by `id`: so who counts references to a node finds none of these."""


def entered(key: Hashable, made: Node) -> Node:
    """A new node with operands, as the table has it."""
    deepen(made)
    return NODES.enter(key, made)


def buffer(storage: Storage, dtype: DType, layout: Layout, where: Where = "") -> Buffer:
    """Elements of `dtype` that lie in `storage` as `layout` says."""
    key = ("buffer", id(storage), dtype, layout.identity)
    known: Any = None if storage is None else NODES.known(key)  # nothing tells nodes without storage apart
    if known is None:
        made = Buffer(layout.shape, dtype, where or caller(), layout.is_dense, (), storage, layout)
        known = made if storage is None else NODES.enter(key, made)
    of_memory: Buffer = known
    return of_memory


def computed(storage: Storage, dtype: DType, layout: Layout, where: Where) -> Buffer:
    """The same for new memory, which nobody has looked at: it is interned once somebody does."""
    return Buffer(layout.shape, dtype, where, layout.is_dense, (), storage, layout)


def iota(dtype: DType, layout: Layout, where: Where = "") -> Node:
    """The values `offset + i * strides[0] + …` of a layout, which must not be negative, as integers of `dtype`."""
    return Iota(layout.shape, dtype, where or caller(), layout.is_dense, (), layout)


def scalar(value: Number | Given, dtype: DType, shape: Shape = (), where: Where | None = None) -> Scalar:
    """One value at every place of `shape`; `where` is the Python line that asked for it, by default the calling one."""
    return Scalar(shape, dtype, caller() if where is None else where, True, (), value)


def undefined(dtype: DType, shape: Shape, where: Where = "") -> Node:
    """Elements to be written; each such node is one of its own."""
    return Undefined(shape, dtype, where or caller(), True, ())
