"""How a reduction is split among the work-groups of a GPU."""

from __future__ import annotations

import pytest

from ocl_ir.layout import Layout
from ocl_ir.types import F32, F64, U64, DType
from ocl_runtime.plan.fusion.reduction_order import order
from ocl_runtime.plan.target import Target

GPU = Target(kind="gpu", compute_units=132, group_size=256, vector_bytes=16)


@pytest.mark.parametrize(
    ("dtype", "columns", "is_split"),
    [(F32, 8192, True), (F32, 16384, False), (F64, 8192, True), (U64, 8192, True), (U64, 16384, False)],
)
def test_four_groups_of_a_unit_are_enough_for_narrow_columns_only(dtype: DType, columns: int, is_split: bool) -> None:
    columns_of = order(Layout.contiguous((8192, columns)), (0,), dtype, dtype, GPU)
    assert columns_of.way == "columns"
    assert (columns_of.parts > 1) == is_split


@pytest.mark.parametrize("size", [2**24, 2**26, 8191 * 8193])
def test_parts_of_a_long_row_have_whole_rounds(size: int) -> None:
    row = order(Layout.contiguous((size,)), (0,), F32, F32, GPU)
    assert row.parts > 1
    assert row.per % (row.team * row.chains) == 0
    assert (row.parts - 1) * row.per < size // row.lanes <= row.parts * row.per


def test_parts_of_a_short_row_are_even() -> None:
    row = order(Layout.contiguous((2**21,)), (0,), F32, F32, GPU)
    assert row.parts > 1
    assert row.per < 4 * row.team * row.chains
    assert row.parts * row.per - 2**21 // row.lanes < row.parts
