"""Random inputs. Arrays are parts of pools of random numbers, each at a place of its own: fresh, and soon made."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from ocl_ir.bfloat16 import HELD, held

Spread = Literal["random", "sorted", "skewed", "constant"]
SPREADS: tuple[Spread, ...] = ("random", "sorted", "skewed", "constant")
_SLACK = 2**16


class Data:
    """Makes arrays from a seed."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.Generator(np.random.SFC64(seed))
        self._pools: dict[tuple[np.dtype[Any], float, float], np.ndarray] = {}

    def real(self, dtype: np.dtype[Any], *shape: int, low: float = 0.0, high: float = 1.0) -> np.ndarray:
        """Numbers that are uniform between two; whole ones of a dtype of integers."""
        size, key = math.prod(shape), (dtype, low, high)
        pool = self._pools.get(key)
        if pool is None or pool.size < size + _SLACK:
            # Sizes that differ by a little need no new pool.
            pool = self._pools[key] = self._pool(dtype, (1 << (size - 1).bit_length()) + _SLACK, low, high)
        start = int(self._rng.integers(pool.size - size))
        return pool[start : start + size].reshape(shape)

    def _pool(self, dtype: np.dtype[Any], size: int, low: float, high: float) -> np.ndarray:
        if dtype.kind in "iu":
            return self._rng.integers(int(low), int(high), size, dtype=dtype)
        pool = self._rng.random(size, np.float64 if dtype.itemsize == 8 else np.float32)
        if (low, high) != (0.0, 1.0):
            pool *= high - low
            pool += low
        return held(pool) if dtype == HELD else pool.astype(dtype, copy=False)

    def mask(self, share: float, *shape: int) -> np.ndarray:
        """Booleans, of which a share is true."""
        return self.real(np.dtype(np.float32), *shape) < share

    def indices(self, count: int, into: int, spread: Spread, dtype: type = np.int64) -> np.ndarray:
        """Places of an axis of length `into`: each as likely, the same sorted, some far more likely than others (the
        density falls with the 7/8th power of the place), or one place alone."""
        if spread == "constant":
            return np.full(count, into // 2, dtype)
        uniform = self._rng.random(count, np.float32)
        if spread == "skewed":
            uniform **= 8
        found = np.minimum((uniform.astype(np.float64) * into).astype(dtype), into - 1)
        return np.sort(found) if spread == "sorted" else found
