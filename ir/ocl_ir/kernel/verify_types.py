"""Checks of types: each statement's operands and result are of types that go together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from ocl_ir.errors import DTypeError
from ocl_ir.kernel.accesses import accesses
from ocl_ir.kernel.fault import Fault, name_of
from ocl_ir.kernel.formats import conversion_of, parts
from ocl_ir.kernel.grammar import (
    Array,
    Assign,
    Atomic,
    Collective,
    CollectiveOp,
    Const,
    For,
    If,
    Kernel,
    Let,
    Load,
    Local,
    MatrixMultiply,
    Operand,
    Print,
    Shuffle,
    Stmt,
    Store,
    While,
    operands,
    walk,
)
from ocl_ir.op_types import result_type
from ocl_ir.ops import WORK_ITEM
from ocl_ir.types import BF16, BOOL, F16, F32, U16, DType, Pointer, Type, Vector, element, limits

_STRUCTURAL_ARITY = {"copy": 1, "convert": 1, "bitcast": 1, "splat": 1, "extract": 2, "lo": 1, "hi": 1,
                     "uniform": 1}  # fmt: skip
_COLLECTIVE_TYPES = {"any": {"bool"}, "sum": {"i32", "u32", "i64", "u64", "f16", "f32", "f64"}}
_NARROW = {"i8", "u8", "i16", "u16"}


def parameter_types(kernel: Kernel) -> Iterator[Fault]:
    """Parameters are scalars or pointers to global or constant memory; a length is a constant or a scalar parameter."""
    scalars = {param.value.id for param in kernel.params if isinstance(param.value.type, DType)}
    for param in kernel.params:
        type_ = param.value.type
        if isinstance(type_, Vector) or type_ == BF16:
            fact = f"parameter {name_of(kernel, param.value)} is {type_}"
            yield Fault(fact, None, "pass a scalar of a dtype that can be computed with")
        if isinstance(type_, Pointer) and type_.space not in {"global", "constant"}:
            fact = f"parameter {name_of(kernel, param.value)} points to {type_.space} memory"
            yield Fault(fact, None, "declare an array in the kernel")
        if param.low is not None and not (_is_index(type_) and _fits(Const(param.low, element(type_)))):
            fact = f"parameter {name_of(kernel, param.value)} is {type_} and promised not to be below {param.low}"
            yield Fault(fact, None, "promise an integer that the type holds, of an integer")
        if param.length is None:
            continue
        known = isinstance(param.length, Const) or param.length.id in scalars
        if not isinstance(type_, Pointer) or not known or not _is_index(param.length.type):
            yield Fault(
                f"the length of parameter {name_of(kernel, param.value)} is {name_of(kernel, param.length)}",
                None,
                "give pointers an integer constant or an integer parameter as length",
            )


def literals_fit(kernel: Kernel) -> Iterator[Fault]:
    """A literal is a Python value that its type holds."""
    for stmt, operand in _operands(kernel):
        if isinstance(operand, Const) and not _fits(operand):
            yield Fault(
                f"the literal {operand.value!r} is no {operand.type}", stmt, "write a literal in the type's range"
            )


def pointers_only_where_memory_is_meant(kernel: Kernel) -> Iterator[Fault]:
    """Pointers are followed, never computed with, and nothing else is followed."""
    for stmt in walk(kernel.body):
        pointers = [pointer for pointer, _ in accesses(stmt)]
        for pointer in pointers:
            if not isinstance(pointer.type, Pointer):
                fact = f"{name_of(kernel, pointer)} is {pointer.type}, no pointer"
                yield Fault(fact, stmt, "use a pointer parameter or an array")
        for operand in operands(stmt):
            if isinstance(operand.type, Pointer) and operand not in pointers:
                fact = f"the pointer {name_of(kernel, operand)} is used as a value"
                yield Fault(fact, stmt, "load from it; pass an index along instead of a pointer")


def operation_types(kernel: Kernel) -> Iterator[Fault]:
    """Each operation gets operands that its row in the op table takes, and gives the type that the row says."""
    for stmt in walk(kernel.body):
        if not isinstance(stmt, Let):
            continue
        problem = _operation_problem(stmt)
        if problem:
            yield Fault(problem[0], stmt, problem[1])


def memory_types(kernel: Kernel) -> Iterator[Fault]:
    """Loads and stores move the pointer's dtype, or float32 to and from narrower floats, whose bits are loaded, too;
    indices are integers."""
    for stmt in walk(kernel.body):
        if not isinstance(stmt, Load | Store | Atomic):
            continue
        if not _is_index(stmt.index.type):
            yield Fault(
                f"the index {name_of(kernel, stmt.index)} is {stmt.index.type}", stmt, "index with an integer scalar"
            )
        if isinstance(stmt, Atomic):
            continue
        moved, stored = (
            element((stmt.result if isinstance(stmt, Load) else stmt.value).type),
            element(stmt.pointer.type),
        )
        widens = stored in {F16, BF16} and moved == F32
        is_bits = stored in {F16, BF16} and moved == U16 and isinstance(stmt, Load)
        if moved == BF16 or (moved != stored and not widens and not is_bits):
            fact = f"{moved} is moved through a pointer to {stored}"
            remedy = (
                "move it as f32" if stored == BF16 else f"convert the value; memory of {stored} holds only {stored}"
            )
            yield Fault(fact, stmt, remedy)


def atomic_types(kernel: Kernel) -> Iterator[Fault]:
    """Atomics change numbers of 32 or 64 bits in shared memory, and the bits of integers only."""
    for stmt in walk(kernel.body):
        if not isinstance(stmt, Atomic) or not isinstance(stmt.pointer.type, Pointer):
            continue
        dtype, space = stmt.pointer.type.dtype, stmt.pointer.type.space
        wanted = {"load": 0, "compare_exchange": 2}.get(stmt.op, 1)
        if dtype.bits < 32 or dtype.is_complex or (dtype.is_float and stmt.op in {"and", "or", "xor"}):
            use = "use float32" if dtype.is_float and dtype.bits < 32 else "use int32"
            yield Fault(f"there is no atomic {stmt.op} of {dtype}", stmt, f"{use}, or another type of 32 or 64 bits")
        elif space not in {"global", "local"}:
            yield Fault(f"an atomic in {space} memory", stmt, "atomics are for memory that work-items share")
        elif len(stmt.args) != wanted:
            yield Fault(f"atomic {stmt.op} takes {wanted} operands, not {len(stmt.args)}", stmt, "pass that many")
        elif any(arg.type != dtype for arg in stmt.args):
            yield Fault(f"an operand of an atomic on {dtype} is not {dtype}", stmt, "convert the operand")
        elif stmt.result is not None and stmt.result.type != dtype:
            yield Fault(f"an atomic on {dtype} cannot give {stmt.result.type}", stmt, f"make the result {dtype}")


def collective_types(kernel: Kernel) -> Iterator[Fault]:
    """A group joins scalars that its operation takes, and gets one of the same type; a broadcast alone has a lane."""
    for stmt in walk(kernel.body):
        if not isinstance(stmt, Collective):
            continue
        type_ = stmt.value.type
        wanted = _COLLECTIVE_TYPES["any" if stmt.op in {"any", "all"} else "sum"]
        if stmt.size and stmt.op not in {"any", "all"}:
            wanted = wanted | _NARROW
        if stmt.op not in get_args(CollectiveOp):
            listed = ", ".join(get_args(CollectiveOp))
            yield Fault(f"there is no collective {stmt.op!r}", stmt, f"use one of {listed}")
        elif not isinstance(type_, DType) or (stmt.op != "broadcast" and type_.name not in wanted):
            listed = ", ".join(sorted(wanted))
            yield Fault(f"there is no collective {stmt.op} of {type_}", stmt, f"convert the value to one of {listed}")
        elif stmt.result.type != type_:
            yield Fault(f"a collective of {type_} cannot give {stmt.result.type}", stmt, f"make the result {type_}")
        elif (stmt.lane is None) == (stmt.op == "broadcast"):
            fact = "names no lane" if stmt.lane is None else "names a lane"
            yield Fault(f"the collective {stmt.op} {fact}", stmt, "a broadcast, and nothing else, is of one lane")
        elif stmt.lane is not None and stmt.size:
            yield Fault("a broadcast in sub-groups", stmt, "use a shuffle, whose lane is one of the sub-group")
        elif stmt.lane is not None and not _is_index(stmt.lane.type):
            fact = f"the lane {name_of(kernel, stmt.lane)} of a broadcast is {stmt.lane.type}"
            yield Fault(fact, stmt, "name the lane by an integer scalar")


def shuffle_types(kernel: Kernel) -> Iterator[Fault]:
    """A sub-group exchanges scalars that can be computed with, at places that are integers."""
    for stmt in walk(kernel.body):
        if not isinstance(stmt, Shuffle):
            continue
        type_ = stmt.value.type
        if not isinstance(type_, DType) or type_ == BF16:
            remedy = "shuffle its lanes (k.op('extract', …))" if type_ != BF16 else "shuffle it as f32"
            yield Fault(f"there is no shuffle of {type_}", stmt, remedy)
        elif stmt.result.type != type_:
            yield Fault(f"a shuffle of {type_} cannot give {stmt.result.type}", stmt, f"make the result {type_}")
        elif not _is_index(stmt.lane.type):
            fact = f"the lane {name_of(kernel, stmt.lane)} of a shuffle is {stmt.lane.type}"
            yield Fault(fact, stmt, "name the lane by an integer scalar")


def matrix_types(kernel: Kernel) -> Iterator[Fault]:
    """A matrix instruction takes and gives what work-items hold of matrices of its dtype."""
    for stmt in walk(kernel.body):
        if not isinstance(stmt, MatrixMultiply):
            continue
        wanted = (*stmt.instruction.types, stmt.instruction.sums.type)
        types = stmt.left.type, stmt.right.type, stmt.sum.type, stmt.result.type
        if types != wanted:
            given, asked = (", ".join(map(str, listed)) for listed in (types, wanted))
            yield Fault(f"a matrix instruction {stmt.instruction} with {given}", stmt, f"give it {asked}")


def prints_fit_their_formats(kernel: Kernel) -> Iterator[Fault]:
    """What is printed has a scalar for each `{}` of its format, and no null character, at which devices stop."""
    for stmt in walk(kernel.body):
        if not isinstance(stmt, Print):
            continue
        try:
            specifications = parts(stmt.format)[1]
            stmt.format.encode()
        except ValueError as error:
            yield Fault(f"the format {stmt.format!r} cannot be read: {error}", stmt, "write {} for each value")
            continue
        vectors = [arg for arg in stmt.args if not isinstance(arg.type, DType)]
        if len(specifications) != len(stmt.args):
            fact = f"the format {stmt.format!r} takes {len(specifications)} values, not {len(stmt.args)}"
            yield Fault(fact, stmt, "write {} for each value, {{ and }} for braces")
        elif vectors:
            fact = f"{name_of(kernel, vectors[0])} is {vectors[0].type} and is printed"
            yield Fault(fact, stmt, "print its lanes (k.op('extract', …))")
        elif "\0" in stmt.format:
            yield Fault(f"the format {stmt.format!r} has a null character", stmt, "leave it out")
        else:
            yield from _specifications_fit(stmt, specifications)


def _specifications_fit(stmt: Print, specifications: Sequence[str]) -> Iterator[Fault]:
    for specification, arg in zip(specifications, stmt.args, strict=True):
        try:
            conversion_of(specification, element(arg.type))
        except ValueError as error:
            yield Fault(f"the format {stmt.format!r} cannot be printed: {error}", stmt, "use d, x, e, f or g")


def variable_types(kernel: Kernel) -> Iterator[Fault]:
    """A variable gets values of exactly its type, and has a type that can be computed with."""
    for stmt in walk(kernel.body):
        if isinstance(stmt, Local | Assign):
            value = stmt.init if isinstance(stmt, Local) else stmt.value
            if value.type != stmt.variable.type:
                fact = (
                    f"the variable {name_of(kernel, stmt.variable)} is {stmt.variable.type}, and the value {value.type}"
                )
                yield Fault(fact, stmt, "convert the value")
            elif element(value.type) == BF16:
                yield Fault("a variable of bfloat16", stmt, "bfloat16 is for storage only: use f32")


def array_types(kernel: Kernel) -> Iterator[Fault]:
    """Arrays lie in local or private memory and have at least one element."""
    for stmt in walk(kernel.body):
        if not isinstance(stmt, Array):
            continue
        if not isinstance(stmt.pointer.type, Pointer) or stmt.pointer.type.space not in {"local", "private"}:
            yield Fault(f"an array of type {stmt.pointer.type}", stmt, "declare it in local or private memory")
        if stmt.length < 1:
            yield Fault(f"an array of {stmt.length} elements", stmt, "give it at least one element")


def control_types(kernel: Kernel) -> Iterator[Fault]:
    """Conditions are bool scalars; a loop's index and bounds are integers of one type, and its step is not zero."""
    for stmt in walk(kernel.body):
        match stmt:
            case If() | While() if stmt.condition.type != BOOL:
                fact = f"the condition {name_of(kernel, stmt.condition)} is {stmt.condition.type}"
                yield Fault(fact, stmt, "compare it: conditions are bool scalars")
            case For():
                bounds = {stmt.index.type, stmt.start.type, stmt.stop.type, stmt.step.type}
                if len(bounds) != 1 or not _is_index(stmt.index.type):
                    listed = ", ".join(sorted(map(str, bounds)))
                    yield Fault(f"the loop's index and bounds are {listed}", stmt, "use one integer type for all four")
                elif isinstance(stmt.step, Const) and stmt.step.value == 0:
                    yield Fault("the loop's step is 0", stmt, "count by 1 or more, or down by a negative constant")


def _operation_problem(stmt: Let) -> tuple[str, str] | None:
    types = tuple(arg.type for arg in stmt.args)
    wanted = _STRUCTURAL_ARITY.get(stmt.op, 1 if stmt.op in WORK_ITEM else len(types))
    if len(types) != wanted:
        return f"{stmt.op} takes {wanted} operands, not {len(types)}", "pass that many"
    if stmt.op in WORK_ITEM and not _is_literal_below(stmt.args[0], 3):
        return f"{stmt.op} is asked for a dimension that does not exist", "use the constant 0, 1 or 2"
    try:
        gives = result_type(stmt.op, types, stmt.result.type)
    except DTypeError as error:
        return error.fact, error.remedy or "convert the operands"
    if gives != stmt.result.type:
        return f"{stmt.op} gives {gives}, and its result is declared {stmt.result.type}", f"declare it {gives}"
    if stmt.op == "extract" and isinstance(types[0], Vector) and not _is_literal_below(stmt.args[1], types[0].lanes):
        fact = f"{stmt.op} names no lane of {types[0]}"
        return fact, f"name the lane by an integer constant from 0 to {types[0].lanes - 1}"
    return None


def _is_literal_below(operand: Operand, limit: int) -> bool:
    return isinstance(operand, Const) and _is_index(operand.type) and 0 <= operand.value < limit


def _is_index(type_: Type) -> bool:
    return isinstance(type_, DType) and type_.is_integer


def _fits(literal: Const) -> bool:
    dtype, value = element(literal.type), literal.value
    if dtype.kind == "bool":
        return isinstance(value, bool)
    if dtype.is_float:
        return isinstance(value, float) and dtype != BF16
    if dtype.is_complex:
        return isinstance(value, float)
    low, high = limits(dtype)
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _operands(kernel: Kernel) -> Iterable[tuple[Stmt | None, Operand]]:
    for param in kernel.params:
        if param.length is not None:
            yield None, param.length
    for stmt in walk(kernel.body):
        for operand in operands(stmt):
            yield stmt, operand
