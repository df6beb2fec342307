"""The node of an elementwise function on what it is given.

Nearly all operations are one operation of the graph: their arrays have one runtime, or a Python number stands beside
one. What such an operation is then depends on dtypes only, and is looked up. Everything else goes through `operands_of`
and `apply`, and so does what makes an entry; both ways give the same node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.source_line import Line, caller
from ocl_ir.types import F64, DType
from ocl_runtime.arrays.core import ArrayCore
from ocl_runtime.arrays.meaning.broadcasting import broadcast
from ocl_runtime.arrays.meaning.dtypes import checked
from ocl_runtime.arrays.meaning.semantics import apply, is_short_power, short_power, typed
from ocl_runtime.arrays.meaning.semantics import cast as converted
from ocl_runtime.arrays.meaning.table import TABLE
from ocl_runtime.arrays.operands import operands_of

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor

Kind: TypeAlias = DType | type | None
"""An array's dtype, or the type of a Python number."""


_POWERS = frozenset({"pow", "ipow"})


class _Recipe(NamedTuple):
    """An operation of the graph, the dtype of its result, and that of its operands, which some may be converted to;
    and whether that asks for float64, which devices may lack."""

    op: str
    dtype: DType
    operands: DType
    fp64: bool


class _Recipes(dict[tuple[str, DType, "Kind", "Kind"], "_Recipe | None"]):
    """By function, default real, and what the first and the second operand are; None where the function is no single
    operation."""

    def __missing__(self, key: tuple[str, DType, Kind, Kind]) -> _Recipe | None:
        name, default_real, *operand_kinds = key
        kinds = tuple([kind for kind in operand_kinds if kind is not None])
        common, op, dtype = typed(name, default_real, kinds)
        arrays = [kind for kind in kinds if isinstance(kind, DType)]
        # Comparisons of integers answer for numbers that their dtype does not hold.
        answers = len(arrays) < len(kinds) and TABLE[name].rule == "compare" and dtype.is_integer
        recipe = None
        if op is not None and not answers:
            recipe = _Recipe(op, graph.array_dtype(op, (dtype,) * len(kinds)), dtype, common.component is F64)
        self[key] = recipe
        return recipe


_RECIPES = _Recipes()


_USER = 3
"""How far out the user's frame is at the nearest, for `caller`: an operator or function has called what asks."""


def operation(name: str, values: Sequence[object]) -> tuple[Node, Executor]:
    """What the function of this name in `ocl_runtime.arrays.meaning.table` makes of one to three operands, and the
    runtime of that. Errors are those of `operands_of` and of `apply`."""
    operands, executor = operands_of(name, values)
    return apply(TABLE[name], operands, executor), executor


def unary(name: str, x: ArrayCore) -> Node:
    """A function of an array alone."""
    line, executor = caller(_USER), x._executor
    node = x._node_at(line)
    recipe = _RECIPES[name, executor.default_real, node.dtype, None]
    if recipe is None or (recipe.fp64 and not executor.target.fp64):
        return apply(TABLE[name], (node,), executor)
    op, dtype, operand, _ = recipe
    if node.dtype is not operand:
        node = converted(node, operand)
    return graph.single(op, dtype, node, line)


def binary(name: str, x: ArrayCore, other: object, line: Line | None = None) -> tuple[Node, Executor]:
    """A function of an array and another operand, asked for at a line, by default the calling one."""
    executor = x._executor
    if line is None:
        line = caller(_USER)
    if isinstance(other, ArrayCore):
        if other._executor is not executor:
            return operation(name, (x, other))
        node, right = x._cell._node, other._cell._node
        if x._steps or node.result is not None:
            node = x._node_at(line)
        if other._steps or right.result is not None:
            right = other._node_at(line)
        recipe = _RECIPES[name, executor.default_real, node.dtype, right.dtype]
        if recipe is not None and (not recipe.fp64 or executor.target.fp64):
            op, dtype, operand, _ = recipe
            if node.dtype is not operand:
                node = converted(node, operand)
            if right.dtype is not operand:
                right = converted(right, operand)
            if node.shape != right.shape:
                node, right = broadcast(node, right, line)
            return graph.pair(op, dtype, node, right, line), executor
    elif type(other) is float or type(other) is int:
        node = x._cell._node
        if x._steps or node.result is not None:
            node = x._node_at(line)
        recipe = _RECIPES[name, executor.default_real, node.dtype, type(other)]
        if recipe is not None and (not recipe.fp64 or executor.target.fp64):
            op, dtype, operand, _ = recipe
            if node.dtype is not operand:
                node = converted(node, operand)
            if op in _POWERS and is_short_power(op, other, dtype):
                return short_power(node, other, line), executor
            return graph.with_number(op, dtype, node, checked(other, operand), line), executor
    return operation(name, (x, other))


def reflected(name: str, x: ArrayCore, other: object) -> tuple[Node, Executor]:
    """The same with the array as the second operand."""
    executor, line = x._executor, caller(_USER)
    if type(other) is float or type(other) is int:
        node = x._node_at(line)
        recipe = _RECIPES[name, executor.default_real, type(other), node.dtype]
        if recipe is not None and (not recipe.fp64 or executor.target.fp64):
            op, dtype, operand, _ = recipe
            if node.dtype is not operand:
                node = converted(node, operand)
            return graph.with_number(op, dtype, node, checked(other, operand), line, first=True), executor
    return operation(name, (other, x))
