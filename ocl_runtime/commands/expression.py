"""An expression and the dtypes of its names, as typed on a command line, as an array expression over memory that does
not exist.

    a*b + sin(c)            arithmetic, comparisons, & | ~, slices, and the functions of ocl_runtime
    a:f32[n]  m:u8[h, w]    name, dtype, sizes: numbers, or symbols that stand for some size

Only the syntax listed in `_ALLOWED` is evaluated; everything else is an error that points at the place.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir import graph
from ir.graph import Node
from ir.layout import Layout
from ir.types import BF16, DTYPES, F32, DType
from ocl_runtime import arrays
from ocl_runtime.arrays import Array, use
from ocl_runtime.errors import DTypeError, Error, ShapeError
from ocl_runtime.plan.cache import KernelCache
from ocl_runtime.plan.launch import Plan
from ocl_runtime.plan.target import Target

_SIZE = 1000
"""What a symbol stands for, more by one with each symbol; code does not depend on sizes."""

_ALLOWED = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Name, ast.Constant, ast.Subscript, ast.Slice,
    ast.Tuple, ast.Load, ast.keyword, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip


@dataclass(eq=False)
class Planner:
    """An executor that plans and never computes: its memory is empty objects."""

    target: Target
    default_real: DType = F32
    kernels: KernelCache = field(default_factory=KernelCache)
    device: object = "no device: this expression is planned, not computed"

    def allocate(self, nbytes: int) -> object:
        """A storage that holds nothing."""
        return object()

    def upload(self, host: NDArray[Any]) -> object:
        """A storage that holds nothing."""
        return object()

    def download(self, storage: object, dtype: DType, start: int, count: int) -> NDArray[Any]:
        """Nothing is there to be read."""
        raise Error("the expression asks for a value while it is only planned", remedy="leave out bool(), int(), …")

    def run(self, plan: Plan) -> None:
        """Nothing is run."""


@dataclass(frozen=True)
class Parsed:
    """The expression's node, and the names of its buffers."""

    node: Node
    names: dict[Node, str]


def parse(expression: str, declarations: Sequence[str], planner: Planner) -> Parsed:
    """The node of an expression over declared names.

    Raises `Error` for syntax, names or functions that it does not know, `DTypeError` and `ShapeError` as those do.
    """
    sizes: dict[str, int] = {}
    values: dict[str, Array] = {}
    names: dict[Node, str] = {}
    for declaration in declarations:
        name, dtype, shape = _declared(declaration, sizes)
        node = graph.buffer(object(), dtype, Layout.contiguous(shape))
        values[name], names[node] = Array(node, planner), name
    tree = _checked(expression)
    functions = {name: getattr(arrays, name) for name in arrays.__all__ if not name.startswith("_")}
    for name in (node.id for node in ast.walk(tree) if isinstance(node, ast.Name)):
        if name not in values and name not in functions:
            raise Error(
                f"the expression uses {name!r}, which is neither declared nor a function",
                place=expression,
                remedy=f"declare it: {name}:f32[n]",
            )
    code = compile(tree, "<expression>", "eval")
    with use(planner):  # for the functions that make arrays
        result = eval(code, {"__builtins__": {}, **functions, **values})  # only _ALLOWED syntax and these names
    if not isinstance(result, Array):
        raise Error(f"the expression is {result!r}, not an array", place=expression, remedy="use a declared name in it")
    return Parsed(result.node, names)


def _checked(expression: str) -> ast.Expression:
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError as error:
        pointer = " " * ((error.offset or 1) - 1) + "^"
        raise Error(f"the expression cannot be read: {error.msg}", place=f"{expression}\n{pointer}") from None
    for node in ast.walk(tree):
        allowed = isinstance(node, _ALLOWED) and not (
            isinstance(node, ast.Call) and not isinstance(node.func, ast.Name)
        )
        if not allowed:
            column = getattr(node, "col_offset", 0)
            raise Error(
                f"{type(node).__name__} is no part of an array expression",
                place=f"{expression}\n{' ' * column}^",
                remedy="use operators, slices and functions: sum(a*b, axis=0)",
            )
    return tree


def _declared(declaration: str, sizes: dict[str, int]) -> tuple[str, DType, tuple[int, ...]]:
    match = re.fullmatch(r"\s*([A-Za-z]\w*)\s*:\s*(\w+)\s*(?:\[([\w\s,]*)\])?\s*", declaration)
    if match is None:
        raise Error(f"{declaration!r} declares nothing", remedy="write NAME:DTYPE[SIZE, …], as in a:f32[n]")
    name, wanted, axes = match.groups()
    dtype = DTYPES.get(wanted) or _from_numpy_name(wanted)
    if dtype is None or dtype == BF16:
        known = ", ".join(one for one in DTYPES if one != "bf16")
        raise DTypeError(f"{wanted!r} is no dtype of an array", place=declaration, remedy=f"use one of {known}")
    shape = []
    for axis in filter(None, (part.strip() for part in (axes or "").split(","))):
        if axis.isidentifier():
            shape.append(sizes.setdefault(axis, _SIZE + len(sizes)))
        elif axis.isdigit():
            shape.append(int(axis))
        else:
            raise ShapeError(f"{axis!r} is no size", place=declaration, remedy="use a number or a symbol: a:f32[16, n]")
    if math.prod(shape) * dtype.size >= 1 << 63:
        raise ShapeError(
            f"{name} would have {math.prod(shape)} elements", place=declaration, remedy="use smaller sizes"
        )
    return name, dtype, tuple(shape)


def _from_numpy_name(name: str) -> DType | None:
    try:
        return next((dtype for dtype in DTYPES.values() if dtype != BF16 and dtype.numpy == np.dtype(name)), None)
    except TypeError:
        return None
