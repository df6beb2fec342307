"""Python's operators on arrays: each is a function of `ocl_runtime.arrays.table`."""

from __future__ import annotations

from typing import Any, Self


class Operators:
    """The operators of an array, by the functions that they stand for.

    `Array` has the first three methods: they need the functions, and these need `Array`.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # == compares the elements

    def _apply(self, name: str, *operands: Any) -> Self:
        """The function of this name."""
        raise NotImplementedError

    def _over(self, name: str, other: Any) -> Self:
        """The function of this name with the result written over the first operand."""
        raise NotImplementedError

    def __pos__(self) -> Self:
        """A new array with the same elements."""
        raise NotImplementedError

    def __copy__(self) -> Self:
        return +self

    def __deepcopy__(self, memo: object) -> Self:
        return +self

    def __neg__(self) -> Self:
        return self._apply("negative", self)

    def __abs__(self) -> Self:
        return self._apply("abs", self)

    def __invert__(self) -> Self:
        return self._apply("bitwise_invert", self)

    def __add__(self, other: Any, /) -> Self:
        return self._apply("add", self, other)

    def __radd__(self, other: Any, /) -> Self:
        return self._apply("add", other, self)

    def __sub__(self, other: Any, /) -> Self:
        return self._apply("subtract", self, other)

    def __rsub__(self, other: Any, /) -> Self:
        return self._apply("subtract", other, self)

    def __mul__(self, other: Any, /) -> Self:
        return self._apply("multiply", self, other)

    def __rmul__(self, other: Any, /) -> Self:
        return self._apply("multiply", other, self)

    def __truediv__(self, other: Any, /) -> Self:
        return self._apply("divide", self, other)

    def __rtruediv__(self, other: Any, /) -> Self:
        return self._apply("divide", other, self)

    def __floordiv__(self, other: Any, /) -> Self:
        return self._apply("floor_divide", self, other)

    def __rfloordiv__(self, other: Any, /) -> Self:
        return self._apply("floor_divide", other, self)

    def __mod__(self, other: Any, /) -> Self:
        return self._apply("remainder", self, other)

    def __rmod__(self, other: Any, /) -> Self:
        return self._apply("remainder", other, self)

    def __pow__(self, other: Any, /) -> Self:
        return self._apply("pow", self, other)

    def __rpow__(self, other: Any, /) -> Self:
        return self._apply("pow", other, self)

    def __and__(self, other: Any, /) -> Self:
        return self._apply("bitwise_and", self, other)

    def __rand__(self, other: Any, /) -> Self:
        return self._apply("bitwise_and", other, self)

    def __or__(self, other: Any, /) -> Self:
        return self._apply("bitwise_or", self, other)

    def __ror__(self, other: Any, /) -> Self:
        return self._apply("bitwise_or", other, self)

    def __xor__(self, other: Any, /) -> Self:
        return self._apply("bitwise_xor", self, other)

    def __rxor__(self, other: Any, /) -> Self:
        return self._apply("bitwise_xor", other, self)

    def __lshift__(self, other: Any, /) -> Self:
        return self._apply("bitwise_left_shift", self, other)

    def __rlshift__(self, other: Any, /) -> Self:
        return self._apply("bitwise_left_shift", other, self)

    def __rshift__(self, other: Any, /) -> Self:
        return self._apply("bitwise_right_shift", self, other)

    def __rrshift__(self, other: Any, /) -> Self:
        return self._apply("bitwise_right_shift", other, self)

    def __lt__(self, other: Any, /) -> Self:
        return self._apply("less", self, other)

    def __le__(self, other: Any, /) -> Self:
        return self._apply("less_equal", self, other)

    def __gt__(self, other: Any, /) -> Self:
        return self._apply("greater", self, other)

    def __ge__(self, other: Any, /) -> Self:
        return self._apply("greater_equal", self, other)

    def __eq__(self, other: Any, /) -> Self:  # type: ignore[override]
        return self._apply("equal", self, other)

    def __ne__(self, other: Any, /) -> Self:  # type: ignore[override]
        return self._apply("not_equal", self, other)

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
