"""Panels: a few columns of a matrix that a group of a GPU holds in registers."""

from __future__ import annotations

import math
from typing import NamedTuple

from ocl_ir.types import DType
from ocl_runtime.plan.fusion.reduction_order import power_of_two
from ocl_runtime.plan.target import Target

_COLUMNS, _ROWS = 8, 8
"""Columns of a panel, and most rows for a work-item."""
_ITEM_BYTES = 16
"""Of a column for a work-item, up to which twice as many columns find room."""


class HeldPanel(NamedTuple):
    """Its most columns, and how many work-items have how many rows each."""

    columns: int
    items: int
    each: int


def held_panel(target: Target, dtype: DType, rows: int, *, group_bytes: float = math.inf) -> HeldPanel | None:
    """A panel of so many rows; None where no group can hold one. It has more columns where a column takes no more than
    `group_bytes` of the group."""
    group = max(target.group_size, target.large_group_size)
    if target.kind != "gpu" or rows > group * _ROWS:
        return None
    items = max(2, power_of_two(rows, group))
    each = power_of_two(-(-rows // items), _ROWS)
    is_wide = each * dtype.size <= _ITEM_BYTES and items * dtype.size <= group_bytes
    return HeldPanel(2 * _COLUMNS if is_wide else _COLUMNS, items, each)
