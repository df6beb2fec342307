"""Elementwise functions of NumPy's that are no ufuncs: rounding, limits, NaNs, tests, comparisons with a tolerance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime import special
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.axes import axis_of
from ocl_runtime.errors import DTypeError, Error
from ocl_runtime.numpy.elementwise import UFUNCS
from ocl_runtime.numpy.operands import NOT_GIVEN, array_of, arrays, common, floats, into, is_weak, only, operands
from ocl_runtime.numpy.promotion import DTypeLike

__all__ = [
    "allclose", "angle", "around", "array_equal", "array_equiv", "astype", "clip", "fix", "i0", "imag", "isclose",
    "iscomplex", "isneginf", "isposinf", "isreal", "nan_to_num", "packbits", "real", "real_if_close", "round", "sinc",
    "unpackbits",
]  # fmt: skip


def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """The nearest number with so many digits behind the point, the even one of two."""
    x = array_of(a)
    if x.dtype.kind == "b":
        return UFUNCS["rint"](x, out=out)
    return into("round", xp.round(x, decimals), out)


around = round


def fix(x: Any, out: Any = None) -> Any:
    """The integer part."""
    return UFUNCS["trunc"](x, out=out)


def clip(
    a: Any,
    a_min: Any = NOT_GIVEN,
    a_max: Any = NOT_GIVEN,
    out: Any = None,
    *,
    min: Any = NOT_GIVEN,
    max: Any = NOT_GIVEN,
    **kwargs: Any,
) -> Any:
    """The elements limited to a range, in the dtype to which the bounds promote them."""
    bounds = [second if first is NOT_GIVEN else first for first, second in ((a_min, min), (a_max, max))]
    limits = [None if bound is NOT_GIVEN else bound for bound in bounds]
    terms, executor = operands("clip", (a, *(bound for bound in limits if bound is not None)))
    dtype = common(*terms)
    least, most = (bound if bound is None or is_weak(bound) else array_of(bound, dtype, executor) for bound in limits)
    result = xp.clip(array_of(a, dtype, executor), least, most)
    where = kwargs.pop("where", True)
    only("clip", **kwargs)
    return into("clip", result, out, where)


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Array:
    """The elements with NaN and infinities replaced by numbers; by default the infinities by the largest floats.

    With `copy=False`, an array of ours is written to.
    """
    array = array_of(x)
    result = array
    if array.dtype.kind == "c":
        real_part, imag_part = (nan_to_num(part, True, nan, posinf, neginf) for part in (array.real, array.imag))
        result = xp.complex_of(real_part, imag_part)
    if array.dtype.kind == "f":
        limits = xp.finfo(array.dtype)
        most = float(limits.max) if posinf is None else posinf
        least = float(limits.min) if neginf is None else neginf
        result = xp.where(xp.isnan(array), array_of(nan, array.dtype, array._executor), array)
        result = xp.where(xp.equal(array, math.inf), most, xp.where(xp.equal(array, -math.inf), least, result))
    if copy or not isinstance(x, Array):
        return xp.positive(result)
    x[...] = result
    return x


def sinc(x: Any) -> Array:
    """sin(pi x) / (pi x), and 1 at 0."""
    (array,) = floats(x)
    if array.dtype.kind != "c":
        return special.sinc(array)
    angle_ = array * math.pi
    return xp.where(xp.equal(array, 0), 1.0, xp.divide(xp.sin(angle_), angle_))


def i0(x: Any) -> Array:
    """The modified Bessel function of the first kind, order 0; infinite at infinity, where NumPy has NaN."""
    return special.i0(*floats(x))


# ---------------------------------------------------------------------- complex numbers and their parts


def real(val: Any) -> Array:
    """The real parts: of real numbers the array itself."""
    x = array_of(val)
    return xp.real(x) if x.dtype.kind == "c" else x


def imag(val: Any) -> Array:
    """The imaginary parts: of real numbers zeros."""
    return xp.imag(array_of(val))


def angle(z: Any, deg: bool = False) -> Array:
    """The angle in the plane, from -pi to pi; NaN of NaN. In degrees if `deg`."""
    (array,) = floats(z)
    turned = xp.angle(array)
    return turned * (180 / math.pi) if deg else turned


def iscomplex(x: Any) -> Array:
    """Where the imaginary part is not 0."""
    return xp.not_equal(xp.imag(array_of(x)), 0)


def isreal(x: Any) -> Array:
    """Where the imaginary part is 0."""
    return xp.equal(xp.imag(array_of(x)), 0)


def real_if_close(a: Any, tol: float = 100) -> Array:
    """The real parts, if all imaginary parts are less than `tol` times the distance from 1 to the next number (or less
    than `tol`, if that is not above 1); else the elements. Waits to know."""
    x = array_of(a)
    if x.dtype.kind != "c":
        return x
    limit = float(xp.finfo(x.dtype).eps) * tol if tol > 1 else tol
    return xp.real(x) if bool(xp.all(xp.less(xp.abs(xp.imag(x)), limit))) else x


def isposinf(x: Any, out: Any = None) -> Any:
    """Where the elements are infinite and positive."""
    return into("isposinf", xp.equal(floats(x)[0], math.inf), out)


def isneginf(x: Any, out: Any = None) -> Any:
    """Where the elements are infinite and negative."""
    return into("isneginf", xp.equal(floats(x)[0], -math.inf), out)


# ---------------------------------------------------------------------- with a tolerance


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Array:
    """Where two are no further apart than `atol + rtol * abs(b)`; NaNs are close if `equal_nan`."""
    first, second = floats(a, b)
    near = UFUNCS["less_equal"](xp.abs(first - second), atol + rtol * xp.abs(second))
    close = xp.logical_or(xp.logical_and(near, xp.isfinite(second)), xp.equal(first, second))
    if equal_nan:
        close = xp.logical_or(close, xp.logical_and(xp.isnan(first), xp.isnan(second)))
    return close


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> bool:
    """Whether `isclose` holds everywhere; waits for it."""
    return bool(xp.all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether two have one shape and the same elements; waits for them."""
    first, second = arrays("array_equal", (a1, a2))
    return first.shape == second.shape and _same(first, second, equal_nan)


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two broadcast to one shape with the same elements; waits for them."""
    first, second = arrays("array_equiv", (a1, a2))
    fits = all(1 in pair or pair[0] == pair[1] for pair in zip(first.shape[::-1], second.shape[::-1], strict=False))
    return fits and _same(first, second, equal_nan=False)


def _same(first: Array, second: Array, equal_nan: bool) -> bool:
    same = UFUNCS["equal"](first, second)
    if equal_nan:
        same = xp.logical_or(same, xp.logical_and(xp.isnan(first), xp.isnan(second)))
    return bool(xp.all(same))


def astype(x: Any, dtype: DTypeLike, /, *, copy: bool = True, device: object = None) -> Array:
    """The elements as another dtype."""
    return xp.astype(array_of(x), dtype, copy=copy, device=device)


# ---------------------------------------------------------------------- bits


def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Array:
    """Eight elements along an axis, each as whether it is not 0, as the bits of one uint8; without an axis, of the flat
    array."""
    x = array_of(a, np.bool_)
    x, axis = (xp.reshape(x, -1), 0) if axis is None else (x, axis_of("packbits", axis, x.ndim))
    x = xp.moveaxis(x, axis, -1)
    x = xp.pad(x, [*[(0, 0)] * (x.ndim - 1), (0, -x.shape[-1] % 8)])
    bits = xp.astype(xp.reshape(x, (*x.shape[:-1], x.shape[-1] // 8, 8)), np.uint8)
    packed = xp.sum(xp.bitwise_left_shift(bits, _shifts(x, bitorder)), axis=-1, dtype=np.uint8)
    return xp.moveaxis(packed, -1, axis)


def unpackbits(a: Any, /, axis: Any = None, count: int | None = None, bitorder: str = "big") -> Array:
    """The eight bits of each uint8 along an axis, the first `count` of all; without an axis, of the flat array."""
    x = array_of(a)
    if x.dtype != np.uint8:
        raise DTypeError(f"unpackbits of {x.dtype}", place=calling_line(), remedy="convert it: astype(x, uint8)")
    x, axis = (xp.reshape(x, -1), 0) if axis is None else (x, axis_of("unpackbits", axis, x.ndim))
    x = xp.expand_dims(xp.moveaxis(x, axis, -1), axis=-1)
    bits = xp.bitwise_and(xp.bitwise_right_shift(x, _shifts(x, bitorder)), 1)
    bits = xp.reshape(bits, (*x.shape[:-2], x.shape[-2] * 8))
    if count is not None:
        bits = xp.pad(bits, [*[(0, 0)] * (bits.ndim - 1), (0, max(0, count - bits.shape[-1]))])[..., :count]
    return xp.moveaxis(bits, -1, axis)


def _shifts(x: Array, bitorder: str) -> Array:
    """How far each of eight bits is from the lowest."""
    if bitorder not in {"big", "little"}:
        raise Error(f"there is no bitorder {bitorder!r}", place=calling_line(), remedy="use big or little")
    with xp.use(x._executor):
        shifts = xp.arange(8, dtype=np.uint8)
    return shifts if bitorder == "little" else xp.flip(shifts)
