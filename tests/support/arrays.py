"""What tests of arrays on a device have in common: interesting values, counters, and other processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ocl_runtime.runtime import Runtime
from tests.support.checkout import PYTHONPATH
from tests.support.depth import NIGHTLY

INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
FLOATS = ("f2", "f4", "f8")
DTYPES = ("?", *INTEGERS, *FLOATS)
KINDS = DTYPES if NIGHTLY else ("?", "i1", "u2", "i8", *FLOATS)
"""For kernels that differ in the name of a dtype alone: bools, all widths, both signs, all floats; nightly has all."""
COPIES_ARE_WRITABLE = bool(np.lib.NumpyVersion(np.__version__) >= "2.2.5")
"""What `numpy.from_dlpack` gives; older ones call all of it read-only, their own copies too."""


def has(runtime: Runtime, dtype: str) -> bool:
    """Whether arrays of a dtype exist on the device."""
    return dtype != "f8" or runtime.executor.target.fp64


def edges(dtype: str) -> np.ndarray:
    """Values where something changes: signs, zeros, limits, NaN."""
    type_ = np.dtype(dtype)
    if type_.kind == "b":
        return np.array([False, True])
    if type_.kind == "f":
        info = np.finfo(type_)
        some = np.array([0, 0.3, 0.5, 1, 1.5, 2, 7, 100, 1000, info.max, info.tiny, np.inf])
        return np.concatenate([some, -some, [np.nan]]).astype(type_)
    info = np.iinfo(type_)
    low = [info.min, info.min + 1, 0, 1, 2, 3, 7, type_.itemsize * 8 - 1, info.max - 1, info.max]
    return np.array([*low, *([-1, -2, -7] if info.min else [])], type_)


def pairs(dtype: str, more: int = 75, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of the edges, and some random ones of ordinary size; never a multiple of the lanes."""
    a, b = (np.ascontiguousarray(array.ravel()) for array in np.meshgrid(edges(dtype), edges(dtype)))
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        random = [rng.standard_normal(more) * 3 for _ in range(2)]
    else:
        random = [rng.integers(-20 if np.dtype(dtype).kind == "i" else 0, 20, more) for _ in range(2)]
    a, b = (np.concatenate([array, other.astype(dtype)]) for array, other in zip((a, b), random, strict=True))
    return (a, b) if a.size % 4 else (a[1:], b[1:])


def ordinary(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    """Random values of a size that no operation overflows with; floats are whole numbers, so that sums are exact."""
    rng = np.random.default_rng(seed)
    low = 0 if np.dtype(dtype).kind in "ub" else -4
    return rng.integers(low, 2 if dtype == "?" else 5, shape).astype(dtype)


def assert_same(actual: np.ndarray, expected: np.ndarray, *operands: np.ndarray, zeros: bool = True) -> None:
    """Equal dtype, shape and bits; NaNs are alike, and so are zeros if `zeros` is false."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    bits = f"u{actual.dtype.itemsize}"
    same = np.ascontiguousarray(actual).view(bits) == np.ascontiguousarray(expected).view(bits)
    if actual.dtype.kind == "f":
        same |= np.isnan(actual) & np.isnan(expected)
    if not zeros:
        same |= actual == expected
    wrong = np.flatnonzero(~same.ravel())
    if wrong.size:
        shown = [
            (*(array.ravel()[at] for array in operands), actual.ravel()[at], expected.ravel()[at]) for at in wrong[:5]
        ]
        raise AssertionError(f"{wrong.size} of {actual.size} differ; (operands, actual, expected): {shown}")


@dataclass
class Counted:
    """How much each counter of a runtime grew: `counted["launch", "launches"]`."""

    before: dict[str, dict[str, int]]
    growth: dict[tuple[str, str], int] = field(default_factory=dict)

    def __getitem__(self, name: tuple[str, str]) -> int:
        return self.growth[name]


@contextmanager
def counting(runtime: Runtime) -> Iterator[Counted]:
    """Counters of a runtime over a block of code."""
    counted = Counted(runtime.statistics())
    yield counted
    for group, counters in runtime.statistics().items():
        for name, value in counters.items():
            counted.growth[group, name] = value - counted.before[group][name]


def python(*arguments: str, cwd: Path, env: dict[str, str | None] | None = None, timeout: float = 120) -> Any:
    """Python in another process, with changes to the environment; a variable that is None goes."""
    changed: dict[str, str] = {**os.environ, "PYTHONPATH": PYTHONPATH}
    for name, value in (env or {}).items():
        changed.pop(name, None)
        if value is not None:
            changed[name] = value
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=cwd, env=changed, capture_output=True, text=True, timeout=timeout, check=False)


def elements(dtype: Any, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Elements of which many come several times, the extremes among them; of floats NaN of both signs, with payloads,
    infinities, zeros of both signs, and the least numbers."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(shape) < 0.5
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        pool = np.array([limits.min, limits.max, 0, 1, limits.max // 2, limits.max - 1], kind)
        return np.where(rng.random(shape) < 0.4, rng.choice(pool, shape), rng.integers(0, 50, shape).astype(kind))
    bits = np.dtype(f"u{kind.itemsize}")
    least = np.array([1], bits).view(kind)[0]
    negative = np.array([(1 << (8 * kind.itemsize)) - 3], bits).view(kind)[0]
    pool = np.array([np.nan, negative, np.inf, -np.inf, 0.0, -0.0, least, -least, 1.5, -1.5], kind)
    return np.where(rng.random(shape) < 0.6, rng.choice(pool, shape), rng.normal(size=shape).astype(kind))
