"""The type of an operation's result, by the rows of the table and the rules of the operations that are not in it."""

from __future__ import annotations

from functools import lru_cache

from ocl_ir.errors import DTypeError
from ocl_ir.op_rows import CLASS_NAMES, CLASSES, Op
from ocl_ir.ops import OPS, STRUCTURAL, WORK_ITEM
from ocl_ir.program_ops import DefinedOp, InlineC
from ocl_ir.types import (
    BOOL,
    C64,
    C128,
    F32,
    F64,
    I32,
    I64,
    U32,
    U64,
    DType,
    Type,
    ValueType,
    Vector,
    element,
    lanes,
    size_of,
    with_dtype,
)

_COMPLEX = {F32: C64, F64: C128}
"""The complex type, by that of the parts."""


@lru_cache(maxsize=4096)  # asked for every node and every value of kernel IR
def result_type(op: str, args: tuple[Type, ...], result: Type | None = None) -> ValueType:
    """The type of `op` applied to operands of types `args`.

    `result` is the wanted type of a structural operation. Raises `DTypeError` where the operands do not fit.
    """
    if any(not isinstance(arg, DType | Vector) for arg in args):
        raise DTypeError(f"{op} does not take a pointer", remedy="load from the pointer first")
    if isinstance(op, InlineC):
        return op.result
    if isinstance(op, DefinedOp):
        return with_dtype(args[0], op.result)  # type: ignore[arg-type]
    if op in OPS:
        return _elementwise_type(OPS[op], args)  # type: ignore[arg-type]
    if op in WORK_ITEM:
        if result not in {I32, U32, I64, U64}:
            raise DTypeError(f"{op} gives i32, u32, i64 or u64, not {result}")
        return result
    if op not in STRUCTURAL:
        raise DTypeError(f"there is no operation {op!r}", remedy=f"use one of {', '.join(sorted(OPS))}")
    expected = _structural_type(op, args, result)  # type: ignore[arg-type]
    if expected is None or (result is not None and expected != result):
        listed = ", ".join(map(str, args))
        raise DTypeError(f"{op} of ({listed}) cannot give {result}")
    return expected


def _elementwise_type(op: Op, args: tuple[ValueType, ...]) -> ValueType:
    if len(args) != op.arity:
        raise DTypeError(f"{op.name} takes {op.arity} operands, not {len(args)}")
    bound: dict[str, ValueType] = {}
    for position, (letter, type_) in enumerate(zip(op.operands, args, strict=True)):
        if element(type_).kind not in CLASSES[letter] or element(type_).name == "bf16":
            raise DTypeError(
                f"operand {position} of {op.name} is {type_}, not {CLASS_NAMES[letter]}",
                remedy="convert the operand first",
            )
        if bound.setdefault(letter, type_) != type_:
            raise DTypeError(
                f"operands of {op.name} differ in type: {', '.join(map(str, args))}",
                remedy="convert or splat one of them; kernel IR converts nothing by itself",
            )
    if len({lanes(type_) for type_ in args}) != 1:
        raise DTypeError(f"operands of {op.name} differ in lanes: {', '.join(map(str, args))}")
    if not op.takes(element(args[0])):
        raise DTypeError(f"{op.name} takes {' or '.join(sorted(op.only))}, not {args[0]}")
    match op.result:
        case "bool":
            return with_dtype(args[0], BOOL)
        case "real":
            return with_dtype(args[0], element(args[0]).component)
        case "complex":
            return with_dtype(args[0], _complex_of(element(args[0]), op.name))
    return bound[op.result]


def _complex_of(part: DType, op: str) -> DType:
    if part not in _COMPLEX:
        raise DTypeError(f"{op} takes f32 or f64, not {part}", remedy="convert the parts to f32 first")
    return _COMPLEX[part]


def _structural_type(op: str, args: tuple[ValueType, ...], result: Type | None) -> ValueType | None:
    first = args[0] if args else None
    wanted = result if isinstance(result, DType | Vector) else None
    if first is None or any(element(arg).name == "bf16" for arg in args):
        return None
    match op:
        case "copy" | "uniform":
            return first
        case "convert" if wanted is not None and lanes(wanted) == lanes(first) and element(wanted).name != "bf16":
            loses = element(first).is_complex and not element(wanted).is_complex
            return None if loses else wanted
        case "bitcast" if wanted is not None:
            same = size_of(wanted) == size_of(first) and isinstance(wanted, Vector) == isinstance(first, Vector)
            return wanted if same and "bool" not in {element(wanted).kind, element(first).kind} else None
        case "splat" if isinstance(wanted, Vector) and wanted.dtype == first:
            return wanted
        case "vector" if isinstance(first, DType) and all(arg == first for arg in args):
            return Vector(first, len(args))
        case "extract" if isinstance(first, Vector):
            return first.dtype
        case "lo" | "hi" if isinstance(first, Vector) and first.lanes % 2 == 0:
            return first.dtype if first.lanes == 2 else Vector(first.dtype, first.lanes // 2)
    return None
