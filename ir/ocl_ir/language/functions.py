"""Functions of numbers: what a map, a reduction or a scan does with elements, as immutable functions of kernel IR."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from types import FunctionType
from typing import Any, NamedTuple

from ocl_ir.errors import DTypeError
from ocl_ir.kernel.function import Function
from ocl_ir.kernel.grammar import (
    Array,
    Assign,
    Break,
    Continue,
    For,
    If,
    Kernel,
    Let,
    Load,
    Local,
    Store,
    Value,
    Variable,
    While,
    walk,
)
from ocl_ir.kernel.operands import Ref
from ocl_ir.kernel.printer import text
from ocl_ir.language.builtins import registry  # noqa: F401, what Python's own functions are
from ocl_ir.language.context import Options
from ocl_ir.language.errors import KernelError, Span
from ocl_ir.language.parameters import ArgumentType, Constant, ElementType, IndexType, Parts, ScalarType
from ocl_ir.language.statements.calls import Calls
from ocl_ir.language.syntax.source import source_of
from ocl_ir.language.values.captures import Capture
from ocl_ir.language.values.scopes import Scope
from ocl_ir.language.values.table import Builtin
from ocl_ir.language.values.values import Number
from ocl_ir.program_ops import DefinedOp
from ocl_ir.types import F16, F32, DType, Pointer

_ALLOWED = (Let, Load, Store, Local, Assign, Array, If, For, While, Break, Continue)


class Defined(NamedTuple):
    """The operations that a function is for some types, one for each result; `is_tuple`, whether it gives a tuple."""

    ops: tuple[DefinedOp, ...]
    is_tuple: bool
    captures: tuple[Capture, ...]


def define(function: FunctionType, types: Mapping[str, ElementType], options: Options) -> Defined:
    """The operations of a function of numbers, whose parameters have some types or their defaults; the operands of the
    operations are the numbers in the order of the types. Raises what `translate` raises, and `KernelError` for a
    function that asks for its place, or for memory."""
    source = source_of(function)
    span = Span.of(source.node, source.frame)
    t = Calls("function", options, span)
    t.frame, t.span, t._function = source.frame, span, source.node  # errors point there until a statement does
    params: list[Value] = []

    def declared(name: str, type_: ScalarType | IndexType) -> Number:
        dtype = t.index_type if isinstance(type_, IndexType) else type_.dtype
        param = Value(t.k.take_id(), t.computed_as(dtype), name)
        params.append(param)
        return Number(Ref(t.k, param), dtype, "index" if isinstance(type_, IndexType) else "typed")

    positional, by_name = _arguments(function, types, declared)
    with t.k.block() as body:
        t.scope = Scope({}, None, t.names_of(function))
        returned = t.inlined(function, positional, by_name, is_outermost=True)
        results = [t.number(value) for value in (returned if isinstance(returned, tuple) else (returned,))]
    _check(t, body, returned)
    stored = [result for result in results if result.lanes > 1]
    if stored:
        raise t.fault("a vector is the result of an element", "return its components as a tuple", DTypeError)
    ops = tuple(
        _op(source.frame.function, Function(tuple(params), tuple(body), result.ref.operand), result.dtype)
        for result in results
    )
    return Defined(ops, isinstance(returned, tuple), tuple(t.captures.values()))


def applied(function: FunctionType, types: Mapping[str, ElementType]) -> Builtin:
    """The same function within a kernel, of numbers in the order of the types."""

    def emit(t: Calls, *numbers: Any) -> Any:
        rest = iter(numbers)

        def passed(_: str, type_: ScalarType | IndexType) -> Any:
            return t.to_index(next(rest)) if isinstance(type_, IndexType) else next(rest)

        return t.inlined(function, *_arguments(function, types, passed))

    return Builtin(function.__name__, emit)


def _arguments(
    function: FunctionType, types: Mapping[str, ElementType], number: Callable[[str, ScalarType | IndexType], Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call by position and by name, made of what is known and of numbers, which come one by one."""

    def value(name: str, type_: ArgumentType) -> Any:
        match type_:
            case Constant(value=known):
                return known
            case Parts(type=make, names=names, parts=parts):
                values = [value(f"{name}_{part}", inner) for part, inner in zip(names, parts, strict=True)]
                return tuple(values) if make is tuple else make(*values)
            case ScalarType() | IndexType():
                return number(name, type_)
        raise AssertionError(type_)

    values = {name: value(name, type_) for name, type_ in types.items()}
    kinds = {name: parameter.kind for name, parameter in signature(function).parameters.items()}
    positional = [argument for name, argument in values.items() if kinds[name] is Parameter.POSITIONAL_ONLY]
    return positional, {name: x for name, x in values.items() if kinds[name] is not Parameter.POSITIONAL_ONLY}


def _check(t: Calls, body: Sequence[object], returned: object) -> None:
    if returned is None:
        raise t.fault("the function returns nothing for an element", "return a number, or a tuple of numbers")
    for stmt in walk(tuple(body)):  # type: ignore[arg-type]
        pointer = getattr(stmt, "pointer", None)
        shared = pointer is not None and isinstance(pointer.type, Pointer) and pointer.type.space != "private"
        asks = isinstance(stmt, Let) and stmt.op in {"global_id", "local_id", "group_id"}
        if not isinstance(stmt, _ALLOWED) or shared or asks:
            span = getattr(stmt.where, "span", None)
            raise t.fault(
                "a function of elements asks for its place, for the group, or for shared memory",
                "write a kernel: @ocl_runtime.kernel",
                KernelError,
                span,
            )


def _op(name: str, function: Function, dtype: DType) -> DefinedOp:
    """The operation, named after what it does: equal text is the same operation in every process."""
    result = Variable if isinstance(function.result, Variable) else type(function.result)
    params = tuple(param.type for param in function.params)
    described = text(Kernel("function", (), function.body))
    key = f"{described}|{params}|{function.result!r}|{result.__name__}|{dtype}"
    digest = hashlib.sha256(key.encode()).hexdigest()[:12]
    stem = name if name.isidentifier() and name.isascii() else "function"
    dtypes = tuple(F32 if type_ is F16 else type_ for type_ in params)
    return DefinedOp(f"{stem}_{digest}", function, dtypes, dtype)  # type: ignore[arg-type]
