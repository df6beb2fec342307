"""What array functions mean in nodes: promotion, broadcasting and conversion become explicit.

The graph below knows neither: there, operands have one shape and the dtypes that the op table wants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.graph.nodes import AnyNode
from ocl_ir.guards import Given, PythonNumber
from ocl_ir.indices import Shape
from ocl_ir.layout import broadcast_shapes
from ocl_ir.ops import OPS
from ocl_ir.source_line import Where, caller, calling_line
from ocl_ir.types import BF16, BOOL, F64, I8, U8, DType
from ocl_runtime.arrays.meaning.dtypes import checked, promote, require
from ocl_runtime.arrays.meaning.table import BOOL_OPS, TABLE, WIDENS_BOOL, Row, Rule
from ocl_runtime.errors import DTypeError, NumberRangeError

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor

Operand: TypeAlias = Node | PythonNumber


def common_dtype(operands: Sequence[Operand], executor: Executor) -> DType:
    """The dtype that the operands are promoted to. Raises `DTypeError` where the device does not have it."""
    return require(promote(_kinds(operands), executor.default_real), executor.target)


def common_shape(operands: Sequence[Operand]) -> Shape:
    """The shape that the operands broadcast to. Raises `ShapeError` where there is none."""
    first: Shape | None = None
    for operand in operands:
        if isinstance(operand, AnyNode):
            shape = operand.shape
            if first is None:
                first = shape
            elif len(shape) != len(first) or shape != first:
                return broadcast_shapes(*[operand.shape for operand in operands if isinstance(operand, AnyNode)])
    return () if first is None else first


def as_node(operand: Operand, dtype: DType, shape: Shape) -> Node:
    """An operand converted and broadcast."""
    if isinstance(operand, AnyNode):
        if operand.dtype is dtype and operand.shape == shape:
            return operand
        return graph.expand(cast(operand, dtype), shape)
    return graph.scalar(checked(operand, dtype), dtype, shape, "")  # the operation that it is for has a line


def _kinds(operands: Sequence[Operand]) -> tuple[DType | type, ...]:
    """The dtypes of nodes and the types of numbers, or what they pass for."""
    return tuple([operand.dtype if isinstance(operand, AnyNode) else operand.__class__ for operand in operands])


def cast(node: Node, dtype: DType) -> Node:
    """The node's values as another dtype; a bool is whether a value is not 0."""
    if dtype == node.dtype:
        return node
    if dtype == BOOL:
        return graph.elementwise("ne", node, graph.scalar(_zero(node.dtype), node.dtype, node.shape))
    if node.dtype.is_complex and not dtype.is_complex:
        raise DTypeError(
            f"{node.dtype.public} as {dtype.public} would lose the imaginary part",
            place=calling_line(),
            remedy="take the part that is meant: real(x), imag(x) or abs(x)",
        )
    known = isinstance(node, graph.Scalar) and not isinstance(node.value, Given)
    if isinstance(node, graph.Scalar) and known and (dtype.is_inexact or not node.dtype.is_float):
        return graph.scalar(dtype.value(node.value), dtype, node.shape)
    return graph.convert(node, dtype)


def _zero(dtype: DType) -> PythonNumber:
    return 0.0 if dtype.is_float else 0


def apply(row: Row, operands: Sequence[Operand], executor: Executor) -> Node:
    """A row of the table on operands of any dtypes and shapes.

    Raises `DTypeError` for dtypes that the function does not take or that the device does not have, `ShapeError` for
    shapes that do not broadcast, `NumberRangeError` for a Python number that does not fit its neighbour's dtype.
    """
    common, op, dtype = typed(row.name, executor.default_real, _kinds(operands))
    if common.component is F64:
        require(common, executor.target)
    if op is None:
        return _SPECIAL[row.rule](row, operands, common, executor)
    try:
        return _at(op, operands, dtype)
    except NumberRangeError:
        if row.rule != "compare" or not common.is_integer:
            raise
        return _beyond(op, operands)


def _at(op: str, operands: Sequence[Operand], dtype: DType) -> Node:
    shape = common_shape(operands)
    last = operands[-1]
    # Numbers of NumPy are nodes by now.
    exponent = last.value if isinstance(last, graph.Scalar) and not last.shape else last
    if is_short_power(op, exponent, dtype):
        return short_power(as_node(operands[0], dtype, shape), exponent, caller())
    return graph.elementwise(op, *[as_node(operand, dtype, shape) for operand in operands])


def is_short_power(op: str, exponent: object, dtype: DType) -> bool:
    """Whether an operation is a power that takes an operation or two, many times faster than `pow`: a square, a root or
    a reciprocal, which NumPy's operator computes so too, and products whose error is less than that of `pow`, which
    halves would round on the way."""
    if op not in {"pow", "ipow"} or type(exponent) not in {int, float}:
        return False
    if dtype.is_complex and exponent == -1:
        return False
    return exponent == 2 or (exponent in {0.5, -1} and op == "pow") or (exponent in {3, 4} and dtype.bits != 16)


def short_power(base: Node, exponent: object, line: Where) -> Node:
    """Such a power, which a Python line has asked for."""
    dtype = base.dtype
    if exponent == 0.5:
        return graph.single("sqrt", dtype, base, line)
    if exponent == -1:
        return graph.with_number("div", dtype, base, 1.0, line, first=True)
    square = graph.pair("mul", dtype, base, base, line)
    return square if exponent == 2 else graph.pair("mul", dtype, square, base if exponent == 3 else square, line)


def _beyond(op: str, operands: Sequence[Operand]) -> Node:
    """A comparison of integers with a Python integer that their dtype does not hold: any of them stands for all."""
    left, right = (0 if isinstance(operand, AnyNode) else operand for operand in operands)
    return graph.scalar(bool(OPS[op].reference(left, right)), BOOL, common_shape(operands))


# ---------------------------------------------------------------------- which operation it is, by dtypes


@lru_cache(maxsize=4096)  # asked for every operation
def typed(name: str, default_real: DType, kinds: tuple[DType | type, ...]) -> tuple[DType, str | None, DType]:
    """The operands' common dtype, the operation that a row then is, if it is just one, and its operands' dtype."""
    row, common = TABLE[name], promote(kinds, default_real)
    if row.rule == "logical" and not all(isinstance(kind, DType) for kind in kinds):
        return common, None, common
    op, dtype = _TYPES[row.rule](row, common, default_real)
    return common, op, dtype


def _numeric(row: Row, dtype: DType, _: DType) -> tuple[str | None, DType]:
    if dtype == BOOL:
        if row.op in BOOL_OPS:
            return BOOL_OPS[row.op] or None, BOOL
        if row.op not in WIDENS_BOOL:
            raise _refused(row, dtype, "use logical functions, or convert: astype(x, int8)")
        dtype = I8
    if dtype.is_complex:
        return _of_complex(row, dtype), dtype
    return (None if row.op == "pow" and not dtype.is_float else row.op), dtype


_COMPLEX_OPS = MappingProxyType({"abs": "magnitude"})
"""The operations of complex numbers that have another name than those of real ones."""


def _of_complex(row: Row, dtype: DType) -> str:
    """The operation of a row on complex numbers."""
    op = _COMPLEX_OPS.get(row.op, row.op)
    if not OPS[op].takes_complex():
        raise _refused(row, dtype, "take a part first: real(x), imag(x) or abs(x)")
    return op


def _real(row: Row, dtype: DType, default_real: DType) -> tuple[str | None, DType]:
    if dtype.is_complex:
        return _of_complex(row, dtype), dtype
    dtype = dtype if dtype.is_float else default_real
    return (None if row.op == "nextafter" and dtype.bits == 16 else row.op), dtype


def _rounding(row: Row, dtype: DType, _: DType) -> tuple[str | None, DType]:
    if dtype.is_complex:
        return _of_complex(row, dtype), dtype
    return (row.op if dtype.is_float else None), dtype


def _floating(row: Row, dtype: DType, _: DType) -> tuple[str | None, DType]:
    return (row.op if dtype.is_float else None), dtype


def _compare(row: Row, dtype: DType, _: DType) -> tuple[str | None, DType]:
    if dtype.is_complex:
        return _of_complex(row, dtype), dtype
    ordered_bools = dtype == BOOL and row.op not in {"eq", "ne"}
    return row.op, U8 if ordered_bools else dtype


def _bits(row: Row, dtype: DType, _: DType) -> tuple[str | None, DType]:
    if dtype.is_inexact:
        raise _refused(row, dtype, "convert to an integer dtype first: astype(x, int32)")
    shifts_bools = dtype == BOOL and row.op in {"shl", "shr"}
    return row.op, I8 if shifts_bools else dtype


def _count(row: Row, dtype: DType, default_real: DType) -> tuple[str | None, DType]:
    return None, _bits(row, dtype, default_real)[1]


def _logical(row: Row, _: DType, __: DType) -> tuple[str | None, DType]:
    return row.op, BOOL


_TYPES: Mapping[Rule, Callable[[Row, DType, DType], tuple[str | None, DType]]] = MappingProxyType(
    {
        "numeric": _numeric,
        "real": _real,
        "rounding": _rounding,
        "compare": _compare,
        "classify": _floating,
        "bits": _bits,
        "count": _count,
        "logical": _logical,
    }
)

# ---------------------------------------------------------------------- what is no operation by itself


def _of_bools_or_power(row: Row, operands: Sequence[Operand], dtype: DType, executor: Executor) -> Node:
    del executor
    if row.op != "pow":
        return as_node(operands[0], dtype, common_shape(operands))
    power = operands[1]
    if not isinstance(power, AnyNode | complex) and power < 0:
        raise DTypeError(
            f"{row.name} of integers to the negative power {power}",
            place=calling_line(),
            remedy="convert to a float dtype first: astype(x, float32)",
        )
    return _at("ipow", operands, I8 if dtype == BOOL else dtype)


def _nextafter(row: Row, operands: Sequence[Operand], dtype: DType, executor: Executor) -> Node:
    if dtype is BF16 or not executor.target.fp16:
        raise _refused(row, dtype, f"convert to float32: this device has no arithmetic in {dtype.public}")
    return _at(row.op, operands, dtype)


def _unrounded(row: Row, operands: Sequence[Operand], dtype: DType, executor: Executor) -> Node:
    del row, executor
    return as_node(operands[0], dtype, common_shape(operands))


def _classified(row: Row, operands: Sequence[Operand], dtype: DType, executor: Executor) -> Node:
    del executor
    if dtype.is_complex:
        if row.op == "signbit":
            raise _refused(row, dtype, "take a part first: real(x) or imag(x)")
        node = as_node(operands[0], dtype, common_shape(operands))
        parts = [graph.elementwise(row.op, graph.elementwise(part, node)) for part in ("real", "imag")]
        return graph.elementwise("and" if row.op == "isfinite" else "or", *parts)
    if row.op == "signbit" and dtype.kind == "int":
        return _at("lt", [*operands, 0], dtype)
    return graph.scalar(row.op == "isfinite", BOOL, common_shape(operands))


def _counted(row: Row, operands: Sequence[Operand], dtype: DType, executor: Executor) -> Node:
    del executor
    if dtype == BOOL:
        dtype = U8
    if row.op == "popcount" and dtype.kind == "int":
        operands = [_at("abs", operands, dtype)]  # of the least integer the same bits, which as a number are right
    return cast(_at(row.op, operands, dtype), U8)


def _of_numbers(row: Row, operands: Sequence[Operand], dtype: DType, executor: Executor) -> Node:
    del dtype, executor
    return _at(row.op, [x if isinstance(x, AnyNode) else bool(x) for x in operands], BOOL)


_SPECIAL: Mapping[Rule, Callable[[Row, Sequence[Operand], DType, Executor], Node]] = MappingProxyType(
    {
        "numeric": _of_bools_or_power,
        "real": _nextafter,
        "rounding": _unrounded,
        "classify": _classified,
        "count": _counted,
        "logical": _of_numbers,
    }
)


def _refused(row: Row, dtype: DType, remedy: str) -> DTypeError:
    return DTypeError(f"{row.name} does not take {dtype.public}", place=calling_line(), remedy=remedy)


def arity(row: Row) -> int:
    """Number of operands."""
    return OPS[row.op].arity
