"""bfloat16, the upper half of a float32, which NumPy lacks: the dtype that stands for it, and its bits.

The package `ml_dtypes` gives NumPy such a dtype. It is used where it is installed, and needed by nothing.
"""

from __future__ import annotations

import builtins
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class BFloat16:
    """What stands where other arrays have a `numpy.dtype`: `x.dtype == bfloat16`, `zeros(3, dtype=bfloat16)`.

    It equals the dtype of `ml_dtypes`, that one's type, and the name "bfloat16". Where `ml_dtypes` is installed, NumPy
    takes it for that dtype; else NumPy raises TypeError.
    """

    __slots__ = ()

    name, kind, itemsize, isnative = "bfloat16", "f", 2, True

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype that NumPy is to take it for. Raises `AttributeError` where there is none."""
        registered = numpy_bfloat16()
        if registered is None:
            raise AttributeError("NumPy has no bfloat16 without the package ml_dtypes")
        return registered

    @property
    def type(self) -> builtins.type[np.generic]:
        """The type of NumPy's scalars with such a value: float32 where `ml_dtypes` is not installed."""
        registered = numpy_bfloat16()
        return np.float32 if registered is None else registered.type

    def __eq__(self, other: object) -> bool:
        return is_bfloat16(other)

    def __hash__(self) -> int:
        """That of the dtype of `ml_dtypes`, where it is installed; NumPy's own dtypes do not hash as their names do."""
        registered = numpy_bfloat16()
        return hash(self.name) if registered is None else hash(registered)

    def __reduce__(self) -> str:
        return "bfloat16"

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"dtype({self.name})"


bfloat16 = BFloat16()


class Limits(NamedTuple):
    """The limits of bfloat16, by the names of `numpy.finfo`."""

    bits: int = 16
    eps: float = 2.0**-7
    epsneg: float = 2.0**-8
    max: float = (2 - 2.0**-7) * 2.0**127
    min: float = -(2 - 2.0**-7) * 2.0**127
    smallest_normal: float = 2.0**-126
    tiny: float = 2.0**-126
    smallest_subnormal: float = 2.0**-133
    nmant: int = 7
    nexp: int = 8
    precision: int = 2
    resolution: float = 0.01
    dtype: BFloat16 = bfloat16


LIMITS = Limits()

HELD = np.dtype([(bfloat16.name, np.uint16)])
"""The bits in NumPy's arrays that nobody may take for integers."""


@cache
def numpy_bfloat16() -> np.dtype[Any] | None:
    """NumPy's dtype of `ml_dtypes`; None where that is not installed."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


def is_bfloat16(dtype: object) -> bool:
    """Whether something names this dtype: the object here, its name, the type or the dtype of `ml_dtypes`, `HELD`."""
    if isinstance(dtype, np.dtype):
        return dtype == HELD or (dtype.kind == "V" and dtype.name == bfloat16.name)
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None)
    return isinstance(dtype, BFloat16) or name == bfloat16.name


def bits_of(values: object) -> NDArray[np.uint16]:
    """Numbers as bfloat16 has them, rounded to nearest, ties to even: their bits.

    A float64 is rounded once, an integer by way of float32. NaN stays NaN, with its sign and the upper bits of its
    payload.
    """
    wide = np.asarray(values)
    with np.errstate(all="ignore"):
        narrow = np.asarray(wide, np.float32)
        bits = narrow.view(np.uint32)
        if wide.dtype == np.float64:
            bits = _rounded_to_odd(wide, narrow)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    # A NaN whose payload is in the lower half would become infinity.
    return np.where(np.isnan(narrow), bits >> np.uint32(16) | np.uint32(0x40), rounded).astype(np.uint16)


def _rounded_to_odd(wide: NDArray[np.float64], near: NDArray[np.float32]) -> NDArray[np.uint32]:
    """The bits of a float64 as float32: cut, with the last one set where that lost something, so that rounding this
    once more gives what rounding the float64 would."""
    away = np.abs(near.astype(np.float64)) > np.abs(wide)
    cut = np.asarray(near.view(np.uint32) - away.astype(np.uint32))
    lost = cut.view(np.float32).astype(np.float64) != wide
    return np.where(np.isnan(wide), near.view(np.uint32), cut | lost.astype(np.uint32))


def floats_of(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The values of bits, exactly, as float32."""
    widened: NDArray[np.float32] = (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return widened


def held(values: object) -> NDArray[Any]:
    """Numbers rounded as by `bits_of`, or an array of `ml_dtypes`, as an array of `HELD`."""
    given = np.asarray(values)
    if is_bfloat16(given.dtype):
        return given.view(HELD)
    return bits_of(given).view(HELD)


def shown(values: NDArray[Any]) -> NDArray[Any]:
    """An array of `HELD` as users get it: of the dtype of `ml_dtypes`, over the same memory, or a copy in float32.
    Others as they are."""
    if values.dtype != HELD:
        return values
    registered = numpy_bfloat16()
    return floats_of(values.view(np.uint16)) if registered is None else values.view(registered)
