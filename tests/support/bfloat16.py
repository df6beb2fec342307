"""What bfloat16 is, said a second time: values by float64 arithmetic, bits by cutting float32."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.bfloat16 import numpy_bfloat16

ROADS = ("with ml_dtypes", "without ml_dtypes")
EVERY = np.arange(2**16, dtype=np.uint16)
"""The bits of all values."""


def rounded(x: Any) -> np.ndarray:
    """The nearest values of bfloat16, ties to even, as float32; of anything that float64 holds."""
    with np.errstate(all="ignore"):
        x = np.asarray(x, np.float64)
        _, exponent = np.frexp(x)
        step = np.maximum(exponent - 8, -133)  # of the 8 bits, and of subnormals
        nearest = np.where(np.isfinite(x), np.ldexp(np.rint(np.ldexp(x, -step)), step), x)
        return np.where(np.abs(nearest) >= 2.0**128, np.copysign(np.inf, x), nearest).astype(np.float32)


def values(bits: np.ndarray) -> np.ndarray:
    """What bits mean, as float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def bits(x: Any) -> np.ndarray:
    """The bits of rounded values; of NaN those of the usual one."""
    near = rounded(x)
    return np.where(np.isnan(near), 0x7FC0, near.view(np.uint32) >> 16).astype(np.uint16)


def bits_in(x: ocl.Array) -> np.ndarray:
    """The bits of an array as they lie in memory, by none of the roads that users take; every NaN is the usual one."""
    assert x.dtype is ocl.bfloat16
    found = x._held().view(np.uint16)
    return np.where((found & 0x7FFF) > 0x7F80, np.uint16(0x7FC0), found)


def assert_rounded(x: ocl.Array, expected: Any, *, zeros: bool = True) -> None:
    """An array is these values, rounded; zeros are alike if `zeros` is false."""
    found, wanted = bits_in(x), bits(expected)
    assert found.shape == wanted.shape
    if not zeros:
        found, wanted = (np.where(one & 0x7FFF, one, 0) for one in (found, wanted))
    wrong = np.flatnonzero(found.ravel() != wanted.ravel())
    assert not wrong.size, [(int(at), hex(found.flat[at]), hex(wanted.flat[at])) for at in wrong[:5]]


@contextmanager
def on_road(road: str) -> Iterator[None]:
    """As where `ml_dtypes` is installed, which it must be, or is not."""
    with pytest.MonkeyPatch.context() as patch:
        if road == ROADS[1]:
            patch.setitem(sys.modules, "ml_dtypes", None)
        numpy_bfloat16.cache_clear()
        try:
            assert (numpy_bfloat16() is None) == (road == ROADS[1]), "install the test extra, with ml_dtypes"
            yield
        finally:
            numpy_bfloat16.cache_clear()
