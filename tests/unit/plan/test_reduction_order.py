"""How a reduction is split among the work-groups of a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import ocl_runtime as xp
from ocl_ir.layout import Layout
from ocl_ir.types import F16, F32, F64, I8, I64, U64, DType
from ocl_runtime.plan.fusion.reduction_order import dtype_in_memory, order
from ocl_runtime.plan.planner import plan
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime

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


@pytest.mark.parametrize(
    ("shape", "dtype", "accumulator", "bytes_beside"),
    [
        ((256, 4096), F32, F32, 128),  # too short for parts
        ((1024, 65536), F32, F32, 128),  # busy in one part
        ((4096, 4096), F32, F32, 512),
        ((8192, 4096), F64, F64, 512),
        ((8192, 8192), F16, F32, 512),
        ((8192, 8192), I8, I64, 512),
    ],
)
def test_columns_in_parts_are_read_wider(
    shape: tuple[int, int], dtype: DType, accumulator: DType, bytes_beside: int
) -> None:
    columns = order(Layout.contiguous(shape), (0,), dtype, accumulator, GPU)
    lanes = 16 // max(dtype.size, accumulator.size // 4)
    assert GPU.group_size // columns.team * lanes * dtype.size == bytes_beside
    assert (columns.parts > 1) == (bytes_beside == 512)


@pytest.mark.parametrize("columns", [1024, 3072, 4096, 6144, 8192])
def test_groups_of_columns_in_parts_are_there_at_once(columns: int) -> None:
    made = order(Layout.contiguous((8192, columns)), (0,), F32, F32, GPU)
    groups = columns // 128 * made.parts
    assert 5 * GPU.compute_units < groups <= 6 * GPU.compute_units


def test_parts_of_few_columns_are_joined_by_teams_and_those_of_many_are_not() -> None:
    few, many = (order(Layout.contiguous((24, width)), (0,), F32, F32, GPU, split=False) for width in (4096, 2**20))
    assert (few.team, many.team) == (4, 1)


@pytest.mark.parametrize(
    ("left", "right", "lanes"),
    [("float16", "float16", 8), ("bfloat16", "bfloat16", 8), ("float16", "float32", 4), ("float32", "float32", 4)],
)
def test_a_row_times_a_matrix_is_in_parts_of_vectors_of_what_lies_in_memory(left: str, right: str, lanes: int) -> None:
    runtime = InterpretedRuntime(GPU)
    with xp.use(runtime):
        row, matrix = (
            xp.asarray(np.zeros(shape), dtype=getattr(xp, name)).compute()
            for name, shape in ((left, (1, 4096)), (right, (4096, 4096)))
        )
        product = row @ matrix
    first, _ = plan([product._node], runtime.executor).launches
    groups = 4096 * 8 // (lanes * GPU.group_size)
    assert first.global_size == (groups * GPU.group_size, 6 * GPU.compute_units // groups, 1)


def test_columns_are_joined_in_vectors_of_the_dtype_in_memory_and_rows_of_their_own() -> None:
    layout = Layout.contiguous((2048, 4096))
    columns = [order(layout, (0,), F32, F32, GPU, in_memory=dtype) for dtype in (F16, F32)]
    rows = [order(layout, (1,), F32, F32, GPU, in_memory=dtype) for dtype in (F16, F32)]
    assert columns[0].parts > columns[1].parts
    assert rows[0] == rows[1]


def test_only_factors_are_asked_for_their_dtype_in_memory() -> None:
    """Not the factors of factors: there may be more ways to these than there is time for."""
    runtime = InterpretedRuntime(GPU)
    with xp.use(runtime):
        halves = xp.asarray(np.zeros((8, 8), np.float16))
        power = wide = halves.astype(xp.float32)
        for _ in range(64):
            power = power * power
        dtypes = [dtype_in_memory(x._node) for x in (wide, (wide * wide.T)[2:], wide * 2, wide + wide, power, halves)]
    assert dtypes == [F16, F16, F32, F32, F32, F16]
