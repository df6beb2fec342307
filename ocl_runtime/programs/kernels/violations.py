"""What checked mode found: the record that a kernel wrote, as an error with line, index, axis and length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ocl_ir.errors import Error, IndexingError
from ocl_ir.language.violations import STATUS_WORDS, Site
from ocl_runtime.errors import KernelAssertionError

__all__ = ["STATUS_WORDS", "violation"]


def violation(record: NDArray[np.int32], sites: Sequence[Site], group: Sequence[int]) -> Error | None:
    """The error that a record is; None where nothing was recorded."""
    if not record[0]:
        return None
    site, axis = sites[int(record[1])], int(record[2])
    index, length = (_joined(record[at], record[at + 1]) for at in (3, 5))
    ids = [int(word) for word in record[7:10]]
    who = _work_item(ids, group)
    if site.array is None:
        return KernelAssertionError(
            f"{who}: the assertion does not hold: {site.text}",
            place=site.span.excerpt,
            remedy="look at what the work-item has there: k.interpret runs breakpoint()",
        )
    remedy = f"test it against {site.array}.shape[{axis}] first"
    if index < 0:
        remedy = (
            "negative indices computed at run time do not count from the end: write "
            f"{site.array}.shape[{axis}] + the index"
        )
    return IndexingError(
        f"{who}: index {index} on axis {axis} of {site.array}, whose length there is {length}",
        place=site.span.excerpt,
        remedy=remedy,
    )


def _joined(low: np.int32, high: np.int32) -> int:
    return int(high) * 2**32 + (int(low) % 2**32)


def _work_item(ids: Sequence[int], group: Sequence[int]) -> str:
    local = [number % extent for number, extent in zip(ids, group, strict=True)]
    groups = [number // extent for number, extent in zip(ids, group, strict=True)]
    shown = max([position for position in range(3) if ids[position]], default=0) + 1
    item, of = (_text(numbers[:shown]) for numbers in (local, groups))
    return f"work-item {item} of group {of}"


def _text(numbers: Sequence[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"({', '.join(map(str, numbers))})"
