"""A function of numbers in kernel IR, which is written into kernels where it is applied.

It is immutable, has no memory but arrays of its own, and gives one number. Applied to vectors, straight code computes
all lanes at once; what has branches or loops is applied lane by lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from ocl_ir.kernel.grammar import (
    Array,
    Assign,
    Block,
    Const,
    For,
    Let,
    Local,
    Operand,
    Stmt,
    Value,
    Variable,
    While,
    defined,
    map_blocks,
    map_operands,
)
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import DType, Vector, lanes, with_lanes

if TYPE_CHECKING:
    from ocl_ir.kernel.builder import KernelBuilder


@dataclass(frozen=True, slots=True)
class Function:
    """`params` are the names of its operands in `body`, `result` is an operand that is known at its end."""

    params: tuple[Value, ...]
    body: Block
    result: Operand


def apply(k: KernelBuilder, function: Function, args: Sequence[Ref]) -> Ref:
    """The value of a function of operands, whose statements come here under new ids."""
    count = max(lanes(_value_type(arg)) for arg in args) if args else 1
    if count == 1 or is_straight(function):
        return Ref(k, _Copy(k, count).of(function, args))
    results = []
    for lane in range(count):
        scalars = [arg if lanes(_value_type(arg)) == 1 else k.op("extract", arg, lane) for arg in args]
        results.append(apply(k, function, scalars))
    return k.op("vector", *results)


@lru_cache(maxsize=1024)
def is_straight(function: Function) -> bool:
    """Whether all lanes of vectors can be computed at once."""
    return all(isinstance(stmt, Let) and stmt.op not in {"extract", "vector", "splat"} for stmt in function.body)


def _value_type(ref: Ref) -> DType | Vector:
    return cast("DType | Vector", ref.type)


class _Copy:
    """The statements of a function with new ids, and perhaps in lanes."""

    def __init__(self, k: KernelBuilder, count: int) -> None:
        self._k = k
        self._count = count
        self._new: dict[int, Operand] = {}

    def of(self, function: Function, args: Sequence[Ref]) -> Operand:
        for param, arg in zip(function.params, args, strict=True):
            spread = self._count > 1 and lanes(_value_type(arg)) == 1
            self._new[param.id] = (self._k.splat(arg, self._count) if spread else arg).operand
        for stmt in function.body:
            self._k.emit(self._copied(stmt))
        return self._operand(function.result)

    def _copied(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, While):  # the condition is made in the header
            header = self._block(stmt.header)
            return replace(stmt, header=header, condition=self._operand(stmt.condition), body=self._block(stmt.body))
        stmt = map_operands(stmt, self._operand)
        match stmt:
            case For():
                stmt = replace(stmt, index=self._value(stmt.index))
            case Local() | Assign():
                stmt = replace(stmt, variable=self._variable(stmt.variable))
            case Array():
                return replace(stmt, pointer=self._value(stmt.pointer))
        made = defined(stmt)
        if made is not None:
            stmt = replace(stmt, result=self._value(made))  # type: ignore[arg-type]
        return map_blocks(stmt, self._block)

    def _block(self, block: Block) -> Block:
        return tuple([self._copied(stmt) for stmt in block])

    def _operand(self, operand: Operand) -> Operand:
        if isinstance(operand, Const):
            return operand if self._count == 1 else replace(operand, type=self._lanes(operand.type))
        return self._new[operand.id]

    def _value(self, value: Value) -> Value:
        type_ = value.type if isinstance(value.type, Vector) or self._count == 1 else self._lanes(value.type)  # type: ignore[arg-type]
        made = Value(self._k.take_id(), type_, value.hint)
        self._new[value.id] = made
        return made

    def _variable(self, variable: Variable) -> Variable:
        known = self._new.get(variable.id)
        if known is None:
            known = self._new[variable.id] = Variable(self._k.take_id(), variable.type, variable.hint)
        return cast("Variable", known)

    def _lanes(self, type_: DType | Vector) -> DType | Vector:
        return with_lanes(type_, self._count) if isinstance(type_, DType) else type_
