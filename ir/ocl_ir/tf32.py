"""tf32, a float32 of which matrix instructions take the upper 19 bits: sign, exponent, 10 bits of mantissa."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_DROPPED = 13
"""Bits of the mantissa that are not taken."""
_HALF = np.uint32(1 << (_DROPPED - 1))
_TAKEN = np.uint32(0xFFFFFFFF ^ (1 << _DROPPED) - 1)
_NAN = np.uint32(0x7FFFE000)


def to_even(values: Any) -> NDArray[np.uint32]:
    """The words of floats that are rounded to the nearest tf32, ties to even, as copies of boxes do."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return _cut(values, bits + (_HALF - np.uint32(1)) + (bits >> np.uint32(_DROPPED) & np.uint32(1)))


def away(values: Any) -> NDArray[np.uint32]:
    """The same with ties away from zero, as PTX's `cvt.rna.tf32` does."""
    return _cut(values, np.asarray(values, np.float32).view(np.uint32) + _HALF)


def _cut(values: Any, bits: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Words without the bits that are not taken; NaN stays NaN."""
    return np.where(np.isnan(values), _NAN, bits & _TAKEN)


def floats_of(bits: NDArray[np.uint32]) -> NDArray[np.float32]:
    """The numbers that an instruction takes of words."""
    return (bits & _TAKEN).view(np.float32)
