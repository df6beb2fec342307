"""The node of an elementwise function on what it is given.

Nearly all operations convert nothing: their arrays have one runtime, shape and dtype, or a Python number stands beside
one. What such an operation is then depends on dtypes only, and is looked up. Everything else goes through `operands_of`
and `apply`, and so does what makes an entry; both ways give the same node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.layout import broadcast_shapes
from ocl_ir.ops import result_type
from ocl_ir.types import F64, DType
from ocl_runtime.arrays.core import ArrayCore
from ocl_runtime.arrays.dtypes import checked
from ocl_runtime.arrays.operands import operands_of
from ocl_runtime.arrays.semantics import apply, is_square, typed
from ocl_runtime.arrays.table import TABLE

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor

Kind: TypeAlias = DType | type | None
"""An array's dtype, or the type of a Python number."""


class _Recipe(NamedTuple):
    """An operation of the graph, and the dtype of its result."""

    op: str
    dtype: DType


class _Recipes(dict[tuple[str, DType, "Kind", "Kind"], "_Recipe | None"]):
    """By function, default real, and what the first and the second operand are; None where an operand is converted or
    the function is no single operation."""

    def __missing__(self, key: tuple[str, DType, Kind, Kind]) -> _Recipe | None:
        name, default_real, *given = key
        kinds = tuple([kind for kind in given if kind is not None])
        common, op, dtype = typed(name, default_real, kinds)
        arrays = [kind for kind in kinds if isinstance(kind, DType)]
        # Comparisons of integers answer for numbers that their dtype does not hold.
        answers = len(arrays) < len(kinds) and TABLE[name].rule == "compare" and dtype.is_integer
        found = None
        if op is not None and common != F64 and not answers and all(kind == dtype for kind in arrays):
            found = _Recipe(op, cast("DType", result_type(op, (dtype,) * len(kinds))))
        self[key] = found
        return found


_RECIPES = _Recipes()


def operation(name: str, given: Sequence[object]) -> tuple[Node, Executor]:
    """What the function of this name in `ocl_runtime.arrays.table` makes of one to three operands, and the runtime of
    that. Errors are those of `operands_of` and of `apply`."""
    operands, executor = operands_of(name, given)
    return apply(TABLE[name], operands, executor), executor


def unary(name: str, x: ArrayCore) -> Node:
    """A function of an array alone."""
    node, executor = x._node, x._executor
    recipe = _RECIPES[name, executor.default_real, node.dtype, None]
    return apply(TABLE[name], (node,), executor) if recipe is None else graph.typed(recipe.op, recipe.dtype, (node,))


def binary(name: str, x: ArrayCore, other: object) -> tuple[Node, Executor]:
    """A function of an array and another operand."""
    executor = x._executor
    if type(other) is float or type(other) is int:
        node = x._node
        recipe = _RECIPES[name, executor.default_real, node.dtype, type(other)]
        if recipe is not None:
            if is_square(recipe.op, other):
                return graph.typed("mul", recipe.dtype, (node, node)), executor
            return graph.with_number(recipe.op, recipe.dtype, node, checked(other, node.dtype)), executor
    elif isinstance(other, ArrayCore) and other._executor is executor:
        node, right = x._node, other._node
        recipe = _RECIPES[name, executor.default_real, node.dtype, right.dtype]
        if recipe is not None:
            if node.shape != right.shape:
                shape = node.shape
                if right.shape != shape[len(shape) - len(right.shape) :]:  # the usual case: `right` is one of its rows
                    shape = broadcast_shapes(shape, right.shape)
                node, right = graph.expand(node, shape), graph.expand(right, shape)
            return graph.typed(recipe.op, recipe.dtype, (node, right)), executor
    return operation(name, (x, other))


def reflected(name: str, x: ArrayCore, other: object) -> tuple[Node, Executor]:
    """The same with the array as the second operand."""
    executor = x._executor
    if type(other) is float or type(other) is int:
        node = x._node
        recipe = _RECIPES[name, executor.default_real, type(other), node.dtype]
        if recipe is not None:
            number = checked(other, node.dtype)
            return graph.with_number(recipe.op, recipe.dtype, node, number, first=True), executor
    return operation(name, (other, x))
