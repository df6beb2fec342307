"""An expression and the dtypes of its names, as typed on a command line, as an array expression over memory that does
not exist.

    a*b + sin(c)            arithmetic, comparisons, & | ~ @, slices, and the functions of ocl_runtime
    a:f32[n]  m:u8[h, w]    name, dtype, sizes: numbers, or symbols that stand for some size

Only the syntax listed in `_ALLOWED` is evaluated; everything else is an error that points at the place.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where
from ocl_ir.types import DTYPES, F32, DType, from_numpy
from ocl_runtime import arrays
from ocl_runtime.arrays import Array, use
from ocl_runtime.errors import DTypeError, Error, ShapeError
from ocl_runtime.plan.cache.evaluation import Evaluation
from ocl_runtime.plan.cache.plans import PlanCache
from ocl_runtime.plan.cache.slots import Slot
from ocl_runtime.plan.cache.template import Sized, Template
from ocl_runtime.plan.executor import Coming
from ocl_runtime.plan.kernels.cache import KernelCache
from ocl_runtime.plan.planner import Fusion
from ocl_runtime.plan.registry import Registry
from ocl_runtime.plan.target import Target

_SHOWN = 200
"""Characters of an expression that an error shows."""
_SIZE = 1000
"""What a symbol stands for, more by one with each symbol; code does not depend on sizes."""
_SIZE_DIGITS = 19
"""Digits of a size; no memory has room for more elements."""

_ALLOWED = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Name, ast.Constant, ast.Subscript, ast.Slice,
    ast.Tuple, ast.Load, ast.keyword, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip
_NO_VALUES = frozenset(
    {
        "Array",
        "Download",
        "allocate",
        "compute",
        "compute_into",
        "current",
        "download",
        "explain",
        "pinned_empty",
        "set_default",
        "upload",
        "use",
    }
)
"""Names of `ocl_runtime.arrays` that give no array."""
_LONGEST_WORD = 400
"""Characters of a number or name; no dtype holds a number of more, and Python is slow to read those."""
_LARGEST_POWER = 64
"""Exponent of a number to a number; Python would be busy for years with 9**9**9**9."""


@dataclass(eq=False)
class Planner:
    """An executor that plans and never computes: its memory is nothing but numbers."""

    target: Target
    default_real: DType = F32
    shows_values: bool = False
    checks: None = None
    is_shared: bool = False
    is_watched: bool = True
    stored_plans: None = None
    choices: None = None
    watch_fusion: Callable[[Fusion], None] | None = None
    device_memory: Any = None
    numpy_calls: str = "quiet"
    kernels: KernelCache = field(default_factory=KernelCache)
    plans: PlanCache = field(default_factory=PlanCache)
    registry: Registry = field(default_factory=Registry)
    device: object = "no device: this expression is planned, not computed"

    @property
    def executor(self) -> Planner:
        """Itself."""
        return self

    def allocate(self, nbytes: int, where: Where = "", *, wait: bool = True) -> object:
        """A storage that holds nothing."""
        return object()

    def handed_over(self, storage: object) -> object:
        """It has nothing that could be written over."""
        return storage

    def upload(self, host: NDArray[Any], where: str = "", *, snapshot: bool = True) -> object:
        """A storage that holds nothing."""
        return object()

    def download(
        self, storage: object, dtype: DType, start: int, count: int, where: Where = "", out: NDArray[Any] | None = None
    ) -> Coming:
        """Nothing is there to be read."""
        raise Error("the expression asks for a value while it is only planned", remedy="leave out bool(), int(), …")

    def copy(self, storage: object, dtype: DType, start: int, count: int, where: Where = "") -> object:
        """A storage that holds nothing."""
        return object()

    def view(self, storage: object, dtype: DType, start: int, count: int, where: str = "") -> NDArray[Any] | None:
        """Nothing is there to be read."""
        return None

    def pinned(self, shape: tuple[int, ...], dtype: DType, where: str = "") -> NDArray[Any]:
        """Host memory, as any."""
        return np.empty(shape, dtype.numpy)

    def announce(self, roots: Sequence[Node]) -> None:
        """Nobody is told."""

    def build(self, kernels: Sequence[Kernel]) -> None:
        """Nothing is built."""

    def compiled(self, kernel: Kernel) -> None:
        """Nothing is built."""

    def adopt(self, kernel: Kernel, compiled: object) -> None:
        """Nothing is built."""

    def bind(self, template: Template) -> None:
        """Nothing is bound."""

    def ready(self, plan: Evaluation) -> None:
        """Nothing is built."""

    def give(
        self, sized: Sized, memory: list[Any], lines: Sequence[Where], numbers: dict[str, Any], stream: Any
    ) -> None:
        """Nothing is run."""

    def run(self, plan: Evaluation) -> None:
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
        if name in values:
            raise Error(f"{name} is declared twice", place=declaration, remedy="give each array a name of its own")
        storage = Slot(len(names), math.prod(shape) * dtype.size)
        node = graph.buffer(storage, dtype, Layout.contiguous(shape))
        values[name], names[node] = Array(node, planner), name
    tree = _checked(expression)
    names_of_functions = (name for name in arrays.__all__ if not name.startswith("_") and name not in _NO_VALUES)
    functions = {name: getattr(arrays, name) for name in names_of_functions}
    for name in (node.id for node in ast.walk(tree) if isinstance(node, ast.Name)):
        if name not in values and name not in functions:
            raise Error(
                f"the expression uses {name!r}, which is neither declared nor a function",
                place=_short(expression),
                remedy="use astype or another function of ocl_runtime, which has none of Python's own"
                if hasattr(builtins, name)
                else f"declare it: {name}:f32[n]",
            )
    try:
        code = compile(tree, "<expression>", "eval")
        with use(planner):  # for the functions that make arrays
            result = eval(code, {"__builtins__": {}, **functions, **values})  # only _ALLOWED syntax and these names
    except Error:
        raise
    except (TypeError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        raise _unread(expression, error) from error
    if not isinstance(result, Array):
        kind = type(result).__name__
        raise Error(
            f"the expression gives no array but a {kind}", place=_short(expression), remedy="use a declared name in it"
        )
    return Parsed(result._node, names)


def _checked(expression: str) -> ast.Expression:
    expression = expression.strip()
    long = re.search(rf"\w{{{_LONGEST_WORD + 1},}}", expression)
    if long:
        raise Error(
            f"the expression has a number or name of {len(long[0]):,} characters",
            place=_pointed(expression, long.start()),
            remedy=f"use at most {_LONGEST_WORD}: no dtype holds such numbers",
        )
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise Error(
            f"the expression cannot be read: {error.msg}",
            place=_pointed(expression, (error.offset or len(expression) + 1) - 1),  # without an offset it is the end
            remedy="write it as in Python: a*b + sin(c)",
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:  # a zero byte, or thousands of parentheses
        raise _unread(expression, error) from None
    for node in ast.walk(tree):
        if not _allowed(node):
            refused = node.op if isinstance(node, ast.BinOp) else node
            raise Error(
                f"{type(refused).__name__} is no part of an array expression here",
                place=_pointed(expression, getattr(node, "col_offset", 0)),
                remedy="use operators, slices and functions: sum(a*b, axis=0)",
            )
    return tree


def _allowed(node: ast.AST) -> bool:
    match node:
        case ast.Call():
            return isinstance(node.func, ast.Name)
        case ast.keyword():
            return node.arg is not None
        case ast.BinOp() if not any(isinstance(part, ast.Name) for part in ast.walk(node)):
            return _quick(node)
    return isinstance(node, _ALLOWED)


def _quick(node: ast.BinOp) -> bool:
    """Whether Python itself computes an operation of constants in no time."""
    if not all(isinstance(part.value, int | float) for part in ast.walk(node) if isinstance(part, ast.Constant)):
        return False
    if isinstance(node.op, ast.Pow):
        exponent = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
        small = isinstance(exponent, ast.Constant) and float(exponent.value) <= _LARGEST_POWER  # type: ignore[arg-type]
        return small and not isinstance(node.left, ast.BinOp)
    return isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div)


def _unread(expression: str, error: BaseException) -> Error:
    return Error(
        f"the expression cannot be evaluated: {type(error).__name__}: {error}",
        place=_short(expression),
        remedy="use a shorter one, of declared names, numbers and functions of ocl_runtime",
    )


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _pointed(expression: str, offset: int) -> str:
    """The expression with a place in it marked; of a long one, what is around the place."""
    start = max(0, offset - _SHOWN // 2) if len(expression) > _SHOWN else 0
    before = "…" if start else ""
    return f"{before}{_short(expression[start:])}\n{' ' * (len(before) + offset - start)}^"


def _declared(declaration: str, sizes: dict[str, int]) -> tuple[str, DType, tuple[int, ...]]:
    match = re.fullmatch(r"\s*([A-Za-z]\w*)\s*:\s*(\w+)\s*(?:\[([\w\s,]*)\])?\s*", declaration)
    if match is None:
        raise Error(f"{declaration!r} declares nothing", remedy="write NAME:DTYPE[SIZE, …], as in a:f32[n]")
    name, wanted, axes = match.groups()
    if keyword.iskeyword(name):
        raise Error(f"{name!r} is a word of Python's own", place=declaration, remedy="use another name")
    dtype = DTYPES.get(wanted) or _from_numpy_name(wanted)
    if dtype is None:
        raise DTypeError(
            f"{wanted!r} is no dtype of an array", place=declaration, remedy=f"use one of {', '.join(DTYPES)}"
        )
    shape = []
    for axis in filter(None, (part.strip() for part in (axes or "").split(","))):
        if axis.isidentifier():
            shape.append(sizes.setdefault(axis, _SIZE + len(sizes)))
        elif axis.isdecimal() and len(axis) <= _SIZE_DIGITS:
            shape.append(int(axis))
        else:
            raise ShapeError(
                f"{_short(axis)!r} is no size",
                place=_short(declaration),
                remedy="use a number or a symbol: a:f32[16, n]",
            )
    if math.prod(shape) * dtype.size >= 1 << 63:
        raise ShapeError(f"{name} would have too many elements", place=_short(declaration), remedy="use smaller sizes")
    return name, dtype, tuple(shape)


def _from_numpy_name(name: str) -> DType | None:
    try:
        return from_numpy(name)
    except (DTypeError, TypeError):
        return None
