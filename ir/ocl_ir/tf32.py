"""tf32, a float32 of which matrix instructions take the upper 19 bits: sign, exponent, 10 bits of mantissa."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_DROPPED = 13
"""Bits of the mantissa that are not taken."""


def bits_of(values: Any) -> NDArray[np.uint32]:
    """The words of floats that are rounded to the nearest tf32, ties away from zero, as PTX's `cvt.rna.tf32` does."""
    numbers = np.asarray(values, np.float32)
    bits = numbers.view(np.uint32)
    half, kept = np.uint32(1 << (_DROPPED - 1)), np.uint32(0xFFFFFFFF << _DROPPED & 0xFFFFFFFF)
    return np.where(np.isnan(numbers), np.uint32(0x7FFFE000), bits + half & kept)


def floats_of(bits: NDArray[np.uint32]) -> NDArray[np.float32]:
    """The numbers that an instruction takes of words."""
    return (bits >> np.uint32(_DROPPED) << np.uint32(_DROPPED)).view(np.float32)
