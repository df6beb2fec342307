"""How a reduction is split among the work-groups of a GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime as xp
from ocl_ir.graph.build import walk
from ocl_ir.graph.nodes import Reduce
from ocl_ir.layout import Layout
from ocl_ir.types import BF16, F16, F32, F64, I8, I32, I64, U64, DType
from ocl_runtime.plan.fusion.reduction_order import Order, order
from ocl_runtime.plan.planner import plan
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime

GPU = Target(kind="gpu", compute_units=132, group_size=256, vector_bytes=16)
LARGE = replace(GPU, largest_group_size=1024)


def columns(shape: tuple[int, int], dtype: DType = F32, target: Target = GPU, **options: Any) -> Order:
    accumulator = options.pop("accumulator", dtype)
    return order(Layout.contiguous(shape), (0,), dtype, accumulator, target, **options)


@pytest.mark.parametrize(
    ("dtype", "width", "is_split"),
    [(F32, 8192, True), (F32, 16384, False), (F64, 8192, True), (U64, 8192, True), (U64, 16384, False)],
)
def test_four_groups_of_a_unit_are_enough_for_narrow_columns_only(dtype: DType, width: int, is_split: bool) -> None:
    made = columns((8192, width), dtype)
    assert made.way == "columns"
    assert (made.parts > 1) == is_split


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
    ("shape", "dtype", "accumulator", "beside"),
    [
        ((256, 4096), F32, F32, 8),  # too short for parts
        ((256, 4096), I8, I64, 8),
        ((1024, 65536), F32, F32, 8),  # busy in one part
        ((4096, 4096), F32, F32, 32),
        ((8192, 4096), F64, F64, 32),
        ((8192, 8192), F16, F32, 32),
        ((8192, 8192), I8, I64, 32),
    ],
)
def test_columns_in_parts_are_read_wider(shape: tuple[int, int], dtype: DType, accumulator: DType, beside: int) -> None:
    made = columns(shape, dtype, accumulator=accumulator)
    assert GPU.group_size // made.team == beside
    assert (made.parts > 1) == (beside == 32)


@pytest.mark.parametrize(("group_size", "teams"), [(16, (16, 8)), (32, (32, 8)), (64, (32, 8)), (1024, (32, 8))])
def test_teams_of_small_groups_stay_large(group_size: int, teams: tuple[int, int]) -> None:
    target = replace(GPU, group_size=group_size)
    whole, in_parts = columns((200, 512), target=target), columns((2**20, 512), target=target)
    assert (whole.team, in_parts.team) == teams
    assert whole.parts == 1 < in_parts.parts


@pytest.mark.parametrize("width", [1024, 3072, 4096, 6144, 8192])
def test_groups_of_columns_in_parts_are_there_at_once(width: int) -> None:
    groups = width // 128 * columns((8192, width)).parts
    assert 5 * GPU.compute_units < groups <= 6 * GPU.compute_units


@pytest.mark.parametrize("width", [100, 1001, 4096, 4097])
@pytest.mark.parametrize("elements", [16, 24, 32])
def test_few_elements_are_joined_by_one_work_item(elements: int, width: int) -> None:
    made = columns((elements, width))
    assert (made.team, made.parts) == (1, 1)


@pytest.mark.parametrize(
    ("parts", "width", "team"), [(24, 4096, 4), (16, 4096, 2), (15, 4096, 1), (24, 2**20, 1), (24, 40001, 1)]
)
def test_parts_of_few_columns_are_joined_by_teams(parts: int, width: int, team: int) -> None:
    made = columns((parts, width), split=False)
    assert (made.team, made.parts) == (team, 1)


def test_columns_of_products_are_counted_in_vectors_of_the_factors() -> None:
    assert columns((4096, 4096), factor=F16).parts == 2 * columns((4096, 4096)).parts + 1 == 49
    assert columns((4096, 4100), factor=F16) == columns((4096, 4100)), "they are not vectors of eight"
    layout = Layout.contiguous((4096, 4096))
    assert order(layout, (1,), F32, F32, GPU, factor=F16) == order(layout, (1,), F32, F32, GPU), "rows are not"


@pytest.mark.parametrize(
    ("left", "right", "factor"),
    [("float16", "float16", F16), ("bfloat16", "bfloat16", BF16), ("float16", "float32", F32), ("int8", "int8", I8)],
)
def test_products_of_vectors_say_of_what(left: str, right: str, factor: DType) -> None:
    with xp.use(InterpretedRuntime(GPU)):
        row, vector, matrix = (
            xp.asarray(np.ones(shape), dtype=getattr(xp, name)).compute()
            for name, shape in ((left, (1, 64)), (left, 64), (right, (64, 48)))
        )
        products = [row @ matrix, vector @ matrix, matrix.T @ vector, xp.vecdot(vector, matrix.T)]
    for product in products:
        factors = {node.factor for node in walk(product._node) if isinstance(node, Reduce)}
        assert factors == {factor}


def test_sums_of_converted_halves_are_those_of_floats() -> None:
    """Whether the conversion is part of their kernel or has been computed before."""
    target = Target(kind="gpu", compute_units=1, group_size=64)
    halves = np.random.default_rng(7).standard_normal((600, 32)).astype(np.float16)
    with xp.use(InterpretedRuntime(target)):
        row = xp.asarray(halves[:1, :1] * np.ones((1, 600), np.float16))
        fused = xp.asarray(halves).astype(xp.float32)
        before = xp.asarray(halves).astype(xp.float32).compute()
        for wide in (row.astype(xp.float32), row.astype(xp.float32).compute()):
            assert (wide @ fused).numpy().tobytes() == (wide @ before).numpy().tobytes()
        assert xp.sum(fused, axis=0).numpy().tobytes() == xp.sum(before, axis=0).numpy().tobytes()
        squares = (before * before).compute()
        assert xp.sum(fused * fused, axis=0).numpy().tobytes() == xp.sum(squares, axis=0).numpy().tobytes()


@pytest.mark.parametrize("shape", [(4096, 2048), (256, 100), (1000, 16)])
def test_sums_of_halves_and_of_floats_share_their_kernel(shape: tuple[int, int]) -> None:
    """As gradients of a scale and a shift do: what both read is read once."""
    runtime = InterpretedRuntime(GPU)
    with xp.use(runtime):
        gradient = xp.asarray(np.zeros(shape, np.float16)).astype(xp.float32)
        centred = xp.asarray(np.zeros(shape, np.float32))
        sums = [xp.sum(gradient, axis=0), xp.sum(gradient * centred, axis=0)]
    launches = plan([x._node for x in sums], runtime.executor).launches
    assert len(launches) == (2 if columns(shape).parts > 1 else 1)


@pytest.mark.parametrize(
    ("shape", "dtype", "accumulator", "is_largest"),
    [
        ((1024, 4096), F32, F32, True),  # 128 groups
        ((1023, 4096), F32, F32, False),  # a team would have fewer than eight elements each
        ((16384, 4096), F32, F32, True),
        ((16385, 4096), F32, F32, False),
        ((4096, 8192), F32, F32, True),  # two for each unit
        ((4096, 8448), F32, F32, True),
        ((4096, 8480), F32, F32, False),  # a third one for some
        ((4096, 3776), F32, F32, False),  # for less than nine of ten units
        ((4096, 4608), F32, F32, False),  # a second one for few
        ((4096, 4100), F32, F32, False),
        ((4096, 4097), F32, F32, False),
        ((4096, 8192), F64, F64, False),
        ((4096, 8192), F16, F32, False),
        ((4096, 4096), F32, U64, False),
        ((4096, 4096), I32, I32, False),  # else their greatest element would not share a kernel with their sum
    ],
)
def test_columns_that_largest_groups_share_evenly_are_not_split(
    shape: tuple[int, int], dtype: DType, accumulator: DType, is_largest: bool
) -> None:
    made = columns(shape, dtype, LARGE, accumulator=accumulator)
    assert made.largest == is_largest
    if is_largest:
        assert (made.team, made.parts, made.per) == (128, 1, shape[0])
    else:
        assert made == columns(shape, dtype, GPU, accumulator=accumulator)


def test_products_of_halves_are_split() -> None:
    assert columns((4096, 8192), F32, LARGE).largest
    assert not columns((4096, 8192), F32, LARGE, factor=F16).largest


@pytest.mark.parametrize(("count", "group"), [(1, 1024), (3, 1024), (4, 512), (5, 1024)])
def test_largest_groups_have_room_for_what_teams_exchange(count: int, group: int) -> None:
    """Of 48 KiB: four vectors of four numbers for each of 1024 are too much; of five sums they are vectors of two."""
    runtime = InterpretedRuntime(replace(LARGE, local_bytes=48 << 10))
    with xp.use(runtime):
        x = xp.asarray(np.zeros((1024, 4096), np.float32))
        sums = [xp.sum(x * np.float32(number), axis=0) for number in range(count)]
    (launch,) = plan([each._node for each in sums], runtime.executor).launches
    assert launch.group_size == (group, 1, 1)
    assert launch.global_size[0] % group == 0


@pytest.mark.parametrize("dtype", ["float16", "uint8", "bool"])
def test_largest_groups_are_as_many_where_vectors_could_be_wider(dtype: str) -> None:
    runtime = InterpretedRuntime(LARGE)
    with xp.use(runtime):
        x = xp.asarray(np.zeros((1024, 4096), dtype))
        total = xp.sum(x.astype(xp.float32), axis=0)
    (launch,) = plan([total._node], runtime.executor).launches
    assert launch.global_size[0] == 128 * launch.group_size[0] == 128 * 1024


def test_integers_share_kernels_as_in_smaller_groups() -> None:
    counts = []
    for target in (GPU, LARGE):
        runtime = InterpretedRuntime(target)
        with xp.use(runtime):
            x = xp.asarray(np.zeros((4096, 4096), np.int32))
            both = [xp.max(x, axis=0), xp.sum(x, axis=0)]
        counts.append(len(plan([each._node for each in both], runtime.executor).launches))
    assert counts[0] == counts[1]
