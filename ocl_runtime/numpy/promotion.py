"""Which dtype NumPy gives, and what stands for float64 on devices that have none."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, TypeAlias

import numpy as np

from ocl_ir.bfloat16 import bfloat16, is_bfloat16
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays.current_runtime import current_executor
from ocl_runtime.arrays.meaning.dtypes import as_promoted, casts, to_dtype
from ocl_runtime.errors import DTypeError, PrecisionWarning
from ocl_runtime.plan.executor import Executor

DTypeLike: TypeAlias = Any
"""Whatever `numpy.dtype` takes, or None."""

FLOAT64 = np.dtype(np.float64)
FLOAT32 = np.dtype(np.float32)
COMPLEX128 = np.dtype(np.complex128)
COMPLEX64 = np.dtype(np.complex64)


def on_device(dtype: np.dtype[Any], executor: Executor) -> np.dtype[Any]:
    """A dtype that NumPy chose, but float32 for float64 where the device has none, and complex64 for complex128."""
    if dtype not in {FLOAT64, COMPLEX128} or executor.target.fp64:
        return dtype
    real_part = _float32_instead()
    return real_part if dtype == FLOAT64 else COMPLEX64


@cache  # the warning comes once in a process
def _float32_instead() -> np.dtype[Any]:
    warnings.warn_explicit(
        "the device has no float64: ocl_runtime.numpy computes in float32 where NumPy makes float64",
        PrecisionWarning,
        *_file_and_line(),
    )
    return FLOAT32


def _file_and_line() -> tuple[str, int]:
    file, _, line = calling_line().rpartition(":")
    return file, int(line)


def dtype_of(dtype: DTypeLike) -> np.dtype[Any]:
    """What `numpy.dtype` makes of something; the object `bfloat16` of what names that."""
    named: Any = bfloat16
    return named if is_bfloat16(dtype) else np.dtype(dtype)


def can_cast(from_: Any, to: DTypeLike, casting: str) -> bool:
    """What `numpy.can_cast` says, of bfloat16 too."""
    if is_bfloat16(from_) or is_bfloat16(to):
        return casts(to_dtype(from_), to_dtype(to), casting)
    return bool(np.can_cast(from_, to, casting))  # type: ignore[arg-type]


def real(executor: Executor) -> np.dtype[Any]:
    """What NumPy makes of integers where it needs floats: float64."""
    return on_device(FLOAT64, executor)


def made_as(dtype: DTypeLike, executor: Executor | None = None) -> np.dtype[Any]:
    """The dtype that a function which makes arrays was asked for; float64 for None, and for Python's own float, and
    complex128 for its complex numbers."""
    if dtype is None or dtype is float:
        return real(executor or current_executor())
    if dtype is complex:
        return on_device(COMPLEX128, executor or current_executor())
    return dtype_of(dtype)


@lru_cache(maxsize=4096)  # asked for every operation
def resolved(
    ufunc: np.ufunc, operands: Sequence[Any], dtype: np.dtype[Any] | None, casting: str
) -> tuple[np.dtype[Any], ...]:
    """The dtypes in which NumPy would compute an elementwise function: one for each operand and result.

    `operands` are dtypes, and int or float for Python's numbers, which are weak. Raises `DTypeError` where NumPy has no
    such function.
    """

    def rule(kinds: tuple[Any, ...]) -> Sequence[np.dtype[Any]]:
        *known, as_ = kinds
        wanted: dict[str, Any] = {}
        if as_ is not None:
            wanted = {"signature": (None,) * ufunc.nin + (as_,) * ufunc.nout, "casting": casting}
        return ufunc.resolve_dtypes((*known, *(None,) * ufunc.nout), **wanted)

    try:
        return as_promoted(rule, (*operands, dtype))
    except TypeError:
        names = ", ".join(getattr(operand, "__name__", str(operand)) for operand in operands)
        raise DTypeError(
            f"{ufunc.__name__} does not take {names}" + (f" as {dtype}" if dtype is not None else ""),
            place=calling_line(),
            remedy="convert the operands first: x.astype(dtype), or compare, as in x != 0"
            if "complex" not in names
            else "take a part first: real(x), imag(x) or abs(x)",
        ) from None
