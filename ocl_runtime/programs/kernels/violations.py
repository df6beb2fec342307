"""What checked mode found: the record that a kernel wrote, as an error with line, work-item, fact and remedy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ocl_ir.errors import Error, IndexingError
from ocl_ir.language.errors import ZERO_DIVISOR_REMEDY, work_item_text
from ocl_ir.language.expressions.reports import (
    INTEGER_LIMITS,
    STATUS_WORDS,
    AccessSite,
    AssertionSite,
    ConversionSite,
    DivisionSite,
    Site,
    StepSite,
    StoreSite,
)
from ocl_ir.language.values.values import dtype_name
from ocl_ir.types import DType
from ocl_runtime.errors import KernelAssertionError, KernelError, NumberRangeError, ZeroDivisorError

__all__ = ["STATUS_WORDS", "violation"]


def violation(record: NDArray[np.int32], sites: Sequence[Site], group: Sequence[int]) -> Error | None:
    """The error that a record is; None where nothing was recorded."""
    if not record[0]:
        return None
    site, numbers, ids = sites[int(record[1])], record[2:8], [int(word) for word in record[8:11]]
    kind, fact, remedy = _described(site, numbers)
    return kind(f"{_work_item(ids, group)}: {fact}", place=site.span.excerpt, remedy=remedy)


def _described(site: Site, numbers: NDArray[np.int32]) -> tuple[type[Error], str, str]:
    """The kind of error that a violation at a site is, the fact and the remedy."""
    match site:
        case AccessSite(array=array):
            axis, index, length = (_integer(numbers, position) for position in range(3))
            remedy = f"test it against {array}.shape[{axis}] first"
            if index < 0:
                remedy = (
                    "negative indices computed at run time do not count from the end: write "
                    f"{array}.shape[{axis}] + the index"
                )
            return IndexingError, f"index {index} on axis {axis} of {array}, whose length there is {length}", remedy
        case AssertionSite(text=text):
            remedy = "look at what the work-item has there: k.interpret runs breakpoint()"
            return KernelAssertionError, f"the assertion does not hold: {text}", remedy
        case DivisionSite(operation=operation):
            return ZeroDivisorError, f"{operation} of integers by 0", ZERO_DIVISOR_REMEDY
        case ConversionSite(dtype=dtype, index=index_dtype):
            fact = f"{_number(numbers, dtype)} has no place in an index, which has {index_dtype.bits} bits"
            remedy = "test it, or clamp(…) it, before it becomes an index"
            if dtype.is_integer:
                remedy = "test it before it becomes an index, or compute with its dtype"
            return NumberRangeError, fact, remedy
        case StoreSite(array=array, dtype=dtype):
            limits, name = INTEGER_LIMITS[dtype], dtype_name(dtype)
            fact = (
                f"the index {_integer(numbers, 0)} has no place in {array}, an array of {name}, which holds "
                f"{limits.min} to {limits.max}"
            )
            return (
                NumberRangeError,
                fact,
                f"use an array of a dtype that holds it, or {name}(…), which keeps the lower bits",
            )
    assert isinstance(site, StepSite)
    return KernelError, "range with a step of 0", "use another step, or leave the loop out where it is 0"


def _number(numbers: NDArray[np.int32], dtype: DType) -> int | float:
    """The first number of a record, which has a dtype."""
    if not dtype.is_float:
        return _integer(numbers, 0) % 2**dtype.bits if dtype.kind == "uint" else _integer(numbers, 0)
    bits = np.array([_integer(numbers, 0)], np.int64).astype(f"i{dtype.size}")
    return float(bits.view(dtype.numpy)[0])


def _integer(numbers: NDArray[np.int32], position: int) -> int:
    low, high = numbers[2 * position : 2 * position + 2]
    return int(high) * 2**32 + (int(low) % 2**32)


def _work_item(ids: Sequence[int], group: Sequence[int]) -> str:
    local = [number % extent for number, extent in zip(ids, group, strict=True)]
    groups = [number // extent for number, extent in zip(ids, group, strict=True)]
    return work_item_text(local, groups)
