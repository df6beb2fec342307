"""The operands of an operation as nodes and Python numbers: arrays, numbers, and what arrays can be made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.graph.nodes import AnyNode
from ocl_ir.guards import NUMBERS, PythonNumber
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where, calling_line
from ocl_ir.types import F64
from ocl_runtime.arrays.core import ArrayCore, executor_of
from ocl_runtime.arrays.hosts import converted, host_values, is_array_like, is_pyopencl, refused
from ocl_runtime.arrays.meaning.dtypes import checked, promote, require, to_dtype
from ocl_runtime.arrays.meaning.semantics import Operand

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor

ArrayLike: TypeAlias = ArrayCore | PythonNumber | np.generic | NDArray[Any] | Sequence[Any]
"""An array, a number, or what `asarray` makes an array of. Python's numbers take the dtype of the array beside them,
NumPy's have their own."""


def operands_of(what: str, values: Sequence[object]) -> tuple[list[Operand], Executor]:
    """The operands of an operation as nodes and Python numbers, and the runtime that they belong to. Values of the host
    are uploaded.

    Raises `DTypeError` for what no array can be made of, and `MixedDevicesError` for arrays of two runtimes.
    """
    executor = executor_of(what, values)
    return [
        value._node if isinstance(value, ArrayCore) else _operand(what, value, executor) for value in values
    ], executor


def is_operand(value: object) -> bool:
    """Whether an operator answers for it beside an array, if only by an error that says what to do. What it does not
    answer for may know what to do with arrays."""
    return isinstance(value, (ArrayCore, float, int, complex)) or is_array_like(value) or is_pyopencl(value)


def _operand(what: str, value: object, executor: Executor) -> Operand:
    if isinstance(value, NUMBERS) and not isinstance(value, np.generic):
        return value
    if isinstance(value, np.generic):
        dtype = to_dtype(value.dtype)
        if dtype.component is F64 and not executor.target.fp64:
            return complex(value) if dtype.is_complex else float(value)
        return graph.scalar(value.item(), require(dtype, executor.target))
    if not is_array_like(value):
        raise refused(what, value)
    return uploaded(host_values(value, executor.default_real), executor)


def node_of(what: str, value: object, executor: Executor) -> Node:
    """An operand that stands alone: a Python number has the dtype of its kind."""
    operand = value if isinstance(value, AnyNode) else _operand(what, value, executor)
    if not isinstance(operand, AnyNode):
        dtype = require(promote((operand.__class__,), executor.default_real), executor.target)
        return graph.scalar(checked(operand, dtype), dtype)
    return cast("Node", operand)


def written_operand(value: object, like: ArrayCore, where: Where) -> Operand:
    """What is written into an array, at a Python line. Where the device has no float64, values of the host are
    converted there."""
    executor = like._executor
    if isinstance(value, ArrayCore) and value._executor is executor:
        return value._node_at(where)
    if type(value) is float or type(value) is int:
        return value
    if isinstance(value, (ArrayCore, *NUMBERS, np.generic)) or not is_array_like(value):
        return operands_of("writing", (like, value))[0][1]
    host = host_values(value, executor.default_real)
    if host.dtype in {np.dtype(np.float64), np.dtype(np.complex128)} and not executor.target.fp64:
        host = converted(host, like._dtype)
    return uploaded(host, executor)


def uploaded(host: NDArray[Any], executor: Executor) -> Node:
    """A copy of a NumPy array in the memory of a runtime. Raises `DTypeError` for a dtype that the device does not
    have."""
    dtype = require(to_dtype(host.dtype), executor.target)
    storage = executor.upload(np.ascontiguousarray(host), calling_line()) if host.size else None
    return graph.buffer(storage, dtype, Layout.contiguous(host.shape))
