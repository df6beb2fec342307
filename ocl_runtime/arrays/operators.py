"""Python's operators on arrays: each is a function of `ocl_runtime.arrays.meaning.table`.

An operator takes what `asarray` takes beside an array; for anything else it answers `NotImplemented`, so that the other
operand may know better.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar, cast

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer, Node
from ocl_ir.guards import PythonNumber
from ocl_ir.source_line import Line, caller, calling_line
from ocl_runtime.arrays.core import ArrayCore, compute_together
from ocl_runtime.arrays.meaning.products import matmul
from ocl_runtime.arrays.meaning.semantics import cast as converted
from ocl_runtime.arrays.meaning.writing import check_kind
from ocl_runtime.arrays.operands import is_operand, operands_of
from ocl_runtime.arrays.operations import binary, reflected, unary
from ocl_runtime.errors import DTypeError, ShapeError
from ocl_runtime.plan.donation import is_lent

_NUMBERS = frozenset({float, int})
_Array = TypeVar("_Array", bound="Operators")


def _unary(name: str) -> Callable[[_Array], _Array]:
    """The operator that is the function of this name."""

    def operator(self: _Array) -> _Array:
        return type(self)(unary(name, self), self._executor)

    return operator


def _binary(name: str) -> Callable[[_Array, Any], _Array]:
    """The same with the array as the first operand."""

    def operator(self: _Array, other: Any, /) -> _Array:
        kind = type(self)
        if type(other) is not kind and type(other) not in _NUMBERS and not is_operand(other):
            return cast("_Array", NotImplemented)
        node, executor = binary(name, self, other)
        return kind(node, executor)

    return operator


def _reflected(name: str) -> Callable[[_Array, Any], _Array]:
    """The same with the array as the second operand."""

    def operator(self: _Array, other: Any, /) -> _Array:
        if type(other) not in _NUMBERS and not is_operand(other):
            return cast("_Array", NotImplemented)
        node, executor = reflected(name, self, other)
        return type(self)(node, executor)

    return operator


def _over(name: str) -> Callable[[_Array, Any], _Array]:
    """The same with the result written over the array; of a value, a new one."""

    def operator(self: _Array, other: Any, /) -> _Array:
        if not (type(other) is type(self) or type(other) in _NUMBERS or is_operand(other)):
            return cast("_Array", NotImplemented)
        line = caller(2)
        node, executor = binary(name, self, other, line)
        return type(self)(node, executor) if self._value else self._replaced(name, node, line)

    return operator


class Operators(ArrayCore):
    """The operators of an array, by the functions that they stand for."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # == compares the elements

    def _replaced(self, name: str, result: Node, line: Line) -> Self:
        check_kind(name, result.dtype, self._dtype)
        if result.shape != self.shape:
            raise ShapeError(
                f"{name} of shape {self.shape} in place gives shape {result.shape}",
                place=calling_line(),
                remedy="write x = x … for a new array",
            )
        self._write(converted(result, self._dtype), line)
        return self

    def _product(self, left: object, right: object) -> Self:
        executor = self._executor
        if type(left) is type(right) is type(self) and left._executor is right._executor:
            line = caller(3)
            return type(self)(matmul(left._node_at(line), right._node_at(line), executor, line), executor)
        operands, executor = operands_of("matmul", (left, right))
        if any(isinstance(operand, PythonNumber) for operand in operands):
            raise DTypeError("matmul with a number", place=calling_line(), remedy="use multiply, or x * 2")
        return type(self)(matmul(operands[0], operands[1], executor, caller()), executor)  # type: ignore[arg-type]

    def __matmul__(self, other: Any, /) -> Self:
        return self._product(self, other) if type(other) is type(self) or is_operand(other) else NotImplemented

    def __rmatmul__(self, other: Any, /) -> Self:
        return self._product(other, self) if is_operand(other) else NotImplemented

    def __imatmul__(self, other: Any, /) -> Self:
        if not is_operand(other):
            return cast("Self", NotImplemented)
        return self._replaced("matmul", self._product(self, other)._node, caller())

    def __divmod__(self, other: Any, /) -> tuple[Self, Self]:
        return (self // other, self % other) if is_operand(other) else NotImplemented

    def __rdivmod__(self, other: Any, /) -> tuple[Self, Self]:
        return (other // self, other % self) if is_operand(other) else NotImplemented

    def __pos__(self) -> Self:
        node = self._node
        if type(node) is not Buffer or not is_lent(node.storage):
            return self._new(node)  # until one of them is written they share the memory
        copied = self._new(graph.elementwise("copy", node))
        compute_together((copied,))  # before PyOpenCL writes there
        return copied

    def __copy__(self) -> Self:
        return +self

    def __deepcopy__(self, memo: object) -> Self:
        return +self

    __neg__ = _unary("negative")
    __abs__ = _unary("abs")
    __invert__ = _unary("bitwise_invert")
    __add__, __radd__, __iadd__ = _binary("add"), _reflected("add"), _over("add")
    __sub__, __rsub__, __isub__ = _binary("subtract"), _reflected("subtract"), _over("subtract")
    __mul__, __rmul__, __imul__ = _binary("multiply"), _reflected("multiply"), _over("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _binary("divide"), _reflected("divide"), _over("divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _reflected("floor_divide")
    __ifloordiv__ = _over("floor_divide")
    __mod__, __rmod__, __imod__ = _binary("remainder"), _reflected("remainder"), _over("remainder")
    __pow__, __rpow__, __ipow__ = _binary("pow"), _reflected("pow"), _over("pow")
    __and__, __rand__, __iand__ = _binary("bitwise_and"), _reflected("bitwise_and"), _over("bitwise_and")
    __or__, __ror__, __ior__ = _binary("bitwise_or"), _reflected("bitwise_or"), _over("bitwise_or")
    __xor__, __rxor__, __ixor__ = _binary("bitwise_xor"), _reflected("bitwise_xor"), _over("bitwise_xor")
    __lshift__, __rlshift__ = _binary("bitwise_left_shift"), _reflected("bitwise_left_shift")
    __ilshift__ = _over("bitwise_left_shift")
    __rshift__, __rrshift__ = _binary("bitwise_right_shift"), _reflected("bitwise_right_shift")
    __irshift__ = _over("bitwise_right_shift")
    __lt__, __le__ = _binary("less"), _binary("less_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_equal")
    __eq__ = _binary("equal")  # type: ignore[assignment]
    __ne__ = _binary("not_equal")  # type: ignore[assignment]


for _name, _member in vars(Operators).items():
    if getattr(_member, "__name__", "") == "operator":  # what shows a function shows these
        _member.__name__ = _name
        _member.__qualname__ = f"{Operators.__name__}.{_name}"
