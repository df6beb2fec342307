"""Nodes without operands."""

from __future__ import annotations

from ocl_ir.graph.nodes import Buffer, Elementwise, Iota, Node, Scalar, Storage, Undefined
from ocl_ir.guards import Given, PythonNumber
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where, caller
from ocl_ir.types import DType


def buffer(storage: Storage, dtype: DType, layout: Layout, where: Where = "") -> Buffer:
    """Elements of `dtype` that lie in `storage` as `layout` says."""
    return Buffer(layout.shape, dtype, where or caller(), layout.is_dense, (), storage, layout)


def iota(dtype: DType, layout: Layout, where: Where = "") -> Node:
    """The values `offset + i * strides[0] + …` of a layout, which must not be negative, as integers of `dtype`."""
    return Iota(layout.shape, dtype, where or caller(), layout.is_dense, (), layout)


def zeros(dtype: DType, shape: Shape, where: Where = "") -> Node:
    """0 at every place, which a plan knows, unlike the value of a scalar: an iota that goes nowhere."""
    return iota(dtype, Layout(shape, (0,) * len(shape)), where)


def scalar(value: PythonNumber | Given, dtype: DType, shape: Shape = (), where: Where | None = None) -> Node:
    """One value at every place of `shape`; `where` is the Python line that asked for it, by default the calling one.

    A complex number is joined from its parts, so that kernels and plans only get real numbers."""
    line = caller() if where is None else where
    if not dtype.is_complex:
        assert not isinstance(value, complex)
        return Scalar(shape, dtype, line, True, (), value)
    parts = (value.real, value.imag) if isinstance(value, complex) else (value, 0.0)
    operands = tuple([Scalar(shape, dtype.component, line, True, (), part) for part in parts])
    made = Elementwise(shape, dtype, line, True, operands, "complex")
    made.depth = 1
    return made


def undefined(dtype: DType, shape: Shape, where: Where = "") -> Node:
    """Elements to be written; each such node is one of its own."""
    return Undefined(shape, dtype, where or caller(), True, ())
