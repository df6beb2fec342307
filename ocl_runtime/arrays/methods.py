"""The methods of an array, with NumPy's names and signatures. Each is a function of the array's namespace, which it
asks for as users of the array API standard do."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Self, TypeAlias, cast

from ocl_ir.graph.build import Step
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays.display import Display
from ocl_runtime.arrays.operands import ArrayLike, is_operand
from ocl_runtime.arrays.operators import Operators
from ocl_runtime.errors import DTypeError, Error, IndexingError, ShapeError

Axis: TypeAlias = int | tuple[int, ...] | None

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""Versions of the array API standard."""


class Methods(Operators, Display):
    """What people type behind a dot. All but `copy`, `fill`, `item` and `tolist` are expressions."""

    __slots__ = ()

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """The module with the functions of the array API standard: `ocl_runtime`. Raises `Error` for a version that is
        not known here."""
        if api_version not in {None, *VERSIONS}:
            raise Error(
                f"version {api_version} of the array API standard is not known here",
                place=calling_line(),
                remedy=f"ask for {VERSIONS[-1]} or an earlier one",
            )
        return sys.modules[__package__.partition(".")[0]]

    def _call(self, function: str, *args: Any, **keywords: Any) -> Self:
        return cast("Self", getattr(self.__array_namespace__(), function)(self, *args, **keywords))

    # ------------------------------------------------------------------ reductions

    def sum(self, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Self:
        """The sum along axes, by default all; see `ocl_runtime.sum`."""
        return self._call("sum", axis=axis, dtype=dtype, keepdims=keepdims)

    def prod(self, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Self:
        """The product along axes; see `ocl_runtime.prod`."""
        return self._call("prod", axis=axis, dtype=dtype, keepdims=keepdims)

    def mean(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """The mean along axes; see `ocl_runtime.mean`."""
        return self._call("mean", axis=axis, keepdims=keepdims)

    def std(self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Self:
        """The standard deviation along axes, of the number of elements less `ddof`; see `ocl_runtime.std`."""
        return self._call("std", axis=axis, correction=ddof, keepdims=keepdims)

    def var(self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Self:
        """The variance along axes, of the number of elements less `ddof`; see `ocl_runtime.var`."""
        return self._call("var", axis=axis, correction=ddof, keepdims=keepdims)

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """The least element along axes; see `ocl_runtime.min`."""
        return self._call("min", axis=axis, keepdims=keepdims)

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """The greatest element along axes; see `ocl_runtime.max`."""
        return self._call("max", axis=axis, keepdims=keepdims)

    def any(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Whether an element along axes is true; see `ocl_runtime.any`."""
        return self._call("any", axis=axis, keepdims=keepdims)

    def all(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Whether all elements along axes are true; see `ocl_runtime.all`."""
        return self._call("all", axis=axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Self:
        """Where the first of the greatest elements is; see `ocl_runtime.argmax`."""
        return self._call("argmax", axis=axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Self:
        """Where the first of the least elements is; see `ocl_runtime.argmin`."""
        return self._call("argmin", axis=axis, keepdims=keepdims)

    def argsort(self, axis: int = -1) -> Self:
        """The places of the elements along an axis in ascending order, the last of them by default; see
        `ocl_runtime.argsort`."""
        return self._call("argsort", axis=axis)

    def cumsum(self, axis: int | None = None, dtype: Any = None) -> Self:
        """The sums of all elements up to each along an axis; without one, of the flat array. See
        `ocl_runtime.cumulative_sum`."""
        return self._running("cumulative_sum", axis, dtype)

    def cumprod(self, axis: int | None = None, dtype: Any = None) -> Self:
        """The products of all elements up to each along an axis; without one, of the flat array. See
        `ocl_runtime.cumulative_prod`."""
        return self._running("cumulative_prod", axis, dtype)

    def _running(self, function: str, axis: int | None, dtype: Any) -> Self:
        flat, axis = (self.ravel(), 0) if axis is None else (self, axis)
        return flat._call(function, axis=axis, dtype=dtype)

    # ------------------------------------------------------------------ elements

    def nonzero(self) -> tuple[Self, ...]:
        """The coordinates of the elements that are not 0, whose number is waited for; see `ocl_runtime.nonzero`."""
        return cast("tuple[Self, ...]", self._call("nonzero"))

    def astype(self, dtype: Any, *, copy: bool = True) -> Self:
        """The elements as another dtype; see `ocl_runtime.astype`."""
        return self._call("astype", dtype, copy=copy)

    def clip(self, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Self:  # noqa: A002
        """The elements limited to a range; see `ocl_runtime.clip`."""
        return self._call("clip", min, max)

    def round(self, decimals: int = 0) -> Self:
        """The elements rounded to decimals, the even one of two that are as near; integers stay as they are."""
        return self._call("round", decimals)

    def __round__(self, decimals: int | None = None) -> Self:
        """`round(x)` and `round(x, 2)`: an array, as of `round`."""
        return self.round(decimals or 0)

    def __contains__(self, value: object) -> bool:
        """Whether an element equals a value. Waits for the answer."""
        return is_operand(value) and bool((self == value).any())

    @property
    def real(self) -> Self:
        """The real part: of real numbers the array itself. A new array, unlike NumPy's view: writing to it does not
        change this one, `x.real = values` does."""
        return self._call("real") if self._dtype.is_complex else self

    @real.setter
    def real(self, values: ArrayLike) -> None:
        self[...] = self.__array_namespace__().complex_of(values, self.imag) if self._dtype.is_complex else values

    @property
    def imag(self) -> Self:
        """The imaginary part: of real numbers zeros. A new array, as of `real`; `x.imag = values` writes to complex
        ones."""
        return self._call("imag")

    @imag.setter
    def imag(self, values: ArrayLike) -> None:
        if not self._dtype.is_complex:
            raise DTypeError(
                f"imaginary parts for an array of {self.dtype}",
                place=calling_line(),
                remedy="make it complex first: astype(x, complex64)",
            )
        self[...] = self.__array_namespace__().complex_of(self.real, values)

    def conj(self) -> Self:
        """The complex conjugate: of real numbers the array as a new one."""
        return self._call("conj")

    def dot(self, other: ArrayLike) -> Self:
        """NumPy's `dot`: a product with a number, the inner product of rows, and of matrices the product; of more axes
        the sum over the last one of this array and the second last one of the other."""
        xp = self.__array_namespace__()
        factor = xp.asarray(other)
        if not self.ndim or not factor.ndim:
            return cast("Self", self * factor)
        axis = 0 if factor.ndim == 1 else factor.ndim - 2
        return cast("Self", xp.tensordot(self, factor, axes=([self.ndim - 1], [axis])))

    # ------------------------------------------------------------------ shapes

    @property
    def T(self) -> Self:  # noqa: N802
        """The axes in reverse order, as NumPy has it for any number of them; of a matrix its transpose. A view."""
        return self.transpose()

    @property
    def mT(self) -> Self:  # noqa: N802
        """The last two axes exchanged. Raises `ShapeError` for fewer."""
        if self.ndim < 2:
            raise ShapeError(
                f"mT of an array with {self.ndim} axes", place=calling_line(), remedy="add axes first: x[:, None]"
            )
        return self._stepped(Step("permute", (*range(self.ndim - 2), self.ndim - 1, self.ndim - 2)))

    def transpose(self, *axes: Any) -> Self:
        """The view whose axis `k` is axis `axes[k]` of this array; without axes, in reverse order. Raises `ShapeError`
        unless each is named once."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        if not order:
            return self._stepped(Step("permute", tuple(reversed(range(self.ndim)))))
        return self._call("permute_dims", order)

    def reshape(self, *shape: Any, copy: bool | None = None) -> Self:
        """The elements in another shape, given as one tuple or as its lengths; see `ocl_runtime.reshape`."""
        return self._call("reshape", shape[0] if len(shape) == 1 else shape, copy=copy)

    def ravel(self) -> Self:
        """The elements along one axis: a view where that can be."""
        return self._call("reshape", (-1,))

    def flatten(self) -> Self:
        """The elements along one axis, as a new array."""
        return self._call("reshape", (-1,), copy=True)

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> Self:
        """The array without axes of length 1: all of them, or those named; see `ocl_runtime.squeeze`."""
        if axis is None:
            axis = tuple(number for number, length in enumerate(self.shape) if length == 1)
        return self._call("squeeze", axis)

    # ------------------------------------------------------------------ values

    def copy(self) -> Self:
        """A new array with the same elements. What is later written into one of them does not show in the other."""
        return +self

    def sort(self, axis: int = -1) -> None:
        """Puts the elements along an axis, by default the last one, in ascending order, in this array; see
        `ocl_runtime.sort`. Raises as `x[...] = value` does."""
        self[...] = self._call("sort", axis=axis)

    def fill(self, value: bool | complex) -> None:
        """Writes a number everywhere. Raises as `x[...] = value` does."""
        self[...] = value

    def item(self, *index: Any) -> bool | int | float | complex:
        """One element as a Python number: that at one integer, which counts in row-major order, or at one for each
        axis; without, the only one. Waits for it. Raises `ShapeError` for several, `IndexingError` for an index out of
        bounds."""
        if len(index) == 1 and isinstance(index[0], tuple):
            (index,) = index
        if not index:
            return cast("float", self._item("item").item())
        if len(index) == 1 and self.ndim != 1:
            (number,), size = index, self.size
            if not -size <= number < size:
                raise IndexingError(
                    f"item {number} of an array with {size} elements",
                    place=calling_line(),
                    remedy="count them from 0, in row-major order",
                )
            index = tuple(number % size // stride % length for stride, length in _row_major_axes(self.shape))
        return self[index].item()

    def tolist(self) -> Any:
        """The values as nested lists of Python's numbers. Waits for them."""
        return self.numpy().tolist()

    def to_device(self, device: object, /, *, stream: object = None) -> Self:
        """The array itself on its own device; on that of the runtime in use, a copy by way of the host. Raises
        `MixedDevicesError` for another one, `Error` for a stream."""
        if stream is not None:
            raise Error(
                f"to_device with the stream {stream!r}",
                place=calling_line(),
                remedy="choose the stream with a block: with ocl_runtime.stream(k): …",
            )
        return self if device == self.device else self._call("asarray", device=device)


def _row_major_axes(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """For each axis, how many elements a step along it is in row-major order, and its length."""
    axes, stride = list[tuple[int, int]](), 1
    for length in reversed(shape):
        axes.append((stride, length))
        stride *= length
    return axes[::-1]
