"""Python's operators on arrays: each is a function of `ocl_runtime.arrays.table`.

An operator takes what `asarray` takes beside an array; for anything else it answers `NotImplemented`, so that the other
operand may know better.
"""

from __future__ import annotations

from typing import Any, Self, cast

from ocl_ir.graph.build import Node
from ocl_ir.guards import Number
from ocl_ir.source_line import Line, caller, calling_line
from ocl_runtime.arrays.core import ArrayCore
from ocl_runtime.arrays.operands import is_operand, operands_of
from ocl_runtime.arrays.operations import binary, reflected, unary
from ocl_runtime.arrays.products import matmul
from ocl_runtime.arrays.semantics import cast as converted
from ocl_runtime.arrays.writing import check_kind
from ocl_runtime.errors import DTypeError, ShapeError

_NUMBERS = frozenset({float, int})


class Operators(ArrayCore):
    """The operators of an array, by the functions that they stand for."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # == compares the elements

    def _unary(self, name: str) -> Self:
        """The function of this name."""
        return self._new(unary(name, self))

    def _binary(self, name: str, other: Any) -> Self:
        """The function of this name with the array as the first operand."""
        kind = type(self)
        if type(other) is not kind and type(other) not in _NUMBERS and not is_operand(other):
            return cast("Self", NotImplemented)
        node, executor = binary(name, self, other)
        return kind(node, executor)

    def _reflected(self, name: str, other: Any) -> Self:
        """The function of this name with the array as the second operand."""
        if type(other) not in _NUMBERS and not is_operand(other):
            return cast("Self", NotImplemented)
        node, executor = reflected(name, self, other)
        return type(self)(node, executor)

    def _over(self, name: str, other: Any) -> Self:
        """The function of this name with the result written over the array; of a value, a new one."""
        if self._value or not (type(other) is type(self) or is_operand(other)):
            return self._binary(name, other)
        line = caller(2)
        return self._replaced(name, binary(name, self, other, line)[0], line)

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
            line = caller(2)
            return type(self)(matmul(left._node_at(line), right._node_at(line), executor, line), executor)
        operands, executor = operands_of("matmul", (left, right))
        if any(isinstance(operand, Number) for operand in operands):
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
        return self._new(self._node)

    def __copy__(self) -> Self:
        return +self

    def __deepcopy__(self, memo: object) -> Self:
        return +self

    def __neg__(self) -> Self:
        return self._unary("negative")

    def __abs__(self) -> Self:
        return self._unary("abs")

    def __invert__(self) -> Self:
        return self._unary("bitwise_invert")

    def __add__(self, other: Any, /) -> Self:
        return self._binary("add", other)

    def __radd__(self, other: Any, /) -> Self:
        return self._reflected("add", other)

    def __sub__(self, other: Any, /) -> Self:
        return self._binary("subtract", other)

    def __rsub__(self, other: Any, /) -> Self:
        return self._reflected("subtract", other)

    def __mul__(self, other: Any, /) -> Self:
        return self._binary("multiply", other)

    def __rmul__(self, other: Any, /) -> Self:
        return self._reflected("multiply", other)

    def __truediv__(self, other: Any, /) -> Self:
        return self._binary("divide", other)

    def __rtruediv__(self, other: Any, /) -> Self:
        return self._reflected("divide", other)

    def __floordiv__(self, other: Any, /) -> Self:
        return self._binary("floor_divide", other)

    def __rfloordiv__(self, other: Any, /) -> Self:
        return self._reflected("floor_divide", other)

    def __mod__(self, other: Any, /) -> Self:
        return self._binary("remainder", other)

    def __rmod__(self, other: Any, /) -> Self:
        return self._reflected("remainder", other)

    def __pow__(self, other: Any, /) -> Self:
        return self._binary("pow", other)

    def __rpow__(self, other: Any, /) -> Self:
        return self._reflected("pow", other)

    def __and__(self, other: Any, /) -> Self:
        return self._binary("bitwise_and", other)

    def __rand__(self, other: Any, /) -> Self:
        return self._reflected("bitwise_and", other)

    def __or__(self, other: Any, /) -> Self:
        return self._binary("bitwise_or", other)

    def __ror__(self, other: Any, /) -> Self:
        return self._reflected("bitwise_or", other)

    def __xor__(self, other: Any, /) -> Self:
        return self._binary("bitwise_xor", other)

    def __rxor__(self, other: Any, /) -> Self:
        return self._reflected("bitwise_xor", other)

    def __lshift__(self, other: Any, /) -> Self:
        return self._binary("bitwise_left_shift", other)

    def __rlshift__(self, other: Any, /) -> Self:
        return self._reflected("bitwise_left_shift", other)

    def __rshift__(self, other: Any, /) -> Self:
        return self._binary("bitwise_right_shift", other)

    def __rrshift__(self, other: Any, /) -> Self:
        return self._reflected("bitwise_right_shift", other)

    def __lt__(self, other: Any, /) -> Self:
        return self._binary("less", other)

    def __le__(self, other: Any, /) -> Self:
        return self._binary("less_equal", other)

    def __gt__(self, other: Any, /) -> Self:
        return self._binary("greater", other)

    def __ge__(self, other: Any, /) -> Self:
        return self._binary("greater_equal", other)

    def __eq__(self, other: Any, /) -> Self:  # type: ignore[override]
        return self._binary("equal", other)

    def __ne__(self, other: Any, /) -> Self:  # type: ignore[override]
        return self._binary("not_equal", other)

    def __iadd__(self, other: Any, /) -> Self:
        return self._over("add", other)

    def __isub__(self, other: Any, /) -> Self:
        return self._over("subtract", other)

    def __imul__(self, other: Any, /) -> Self:
        return self._over("multiply", other)

    def __itruediv__(self, other: Any, /) -> Self:
        return self._over("divide", other)

    def __ifloordiv__(self, other: Any, /) -> Self:
        return self._over("floor_divide", other)

    def __imod__(self, other: Any, /) -> Self:
        return self._over("remainder", other)

    def __ipow__(self, other: Any, /) -> Self:
        return self._over("pow", other)

    def __iand__(self, other: Any, /) -> Self:
        return self._over("bitwise_and", other)

    def __ior__(self, other: Any, /) -> Self:
        return self._over("bitwise_or", other)

    def __ixor__(self, other: Any, /) -> Self:
        return self._over("bitwise_xor", other)

    def __ilshift__(self, other: Any, /) -> Self:
        return self._over("bitwise_left_shift", other)

    def __irshift__(self, other: Any, /) -> Self:
        return self._over("bitwise_right_shift", other)
