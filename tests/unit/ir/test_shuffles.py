"""What a sub-group exchanges: in the interpreter, and after the passes, for targets with and without sub-groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ocl_ir.errors import DataRaceError, IRError
from ocl_ir.interpret.counters import Counters
from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.collectives import JOINS, SCANS, distances, tree
from ocl_ir.kernel.grammar import Array, Barrier, Block, Kernel, Shuffle, map_blocks, walk
from ocl_ir.kernel.printer import text
from ocl_ir.kernel.uniformity import uniformity
from ocl_ir.kernel.verify import verify
from ocl_ir.passes import for_target
from ocl_ir.passes import run as run_passes
from ocl_ir.passes.collectives import collectives
from ocl_ir.passes.shuffles import shuffles
from ocl_ir.subgroups import Subgroups
from ocl_ir.types import BOOL, F16, F32, F64, I8, I32, I64, U16, U32, DType
from tests.support.roads import INTEL, NVIDIA

DTYPES = [BOOL, I8, U16, I32, I64, F16, F32, F64]


def exchanging(dtype: DType, size: int, group_size: tuple[int, int, int], stride: int = 3) -> Kernel:
    """Each work-item takes what the item at `stride` times its lane has; lanes are signed."""
    k = KernelBuilder("demo", group_size=group_size)
    x, y = k.pointer("x", dtype), k.pointer("y", dtype)
    item = k.item("local_id", 0) + k.item("local_id", 1) * group_size[0]
    at = k.let(k.item("group_id", 0) * (group_size[0] * group_size[1]) + item, "at")
    lane = k.convert(item * stride & size - 1, I32)
    k.store(y, at, k.shuffle(k.load(x, at), lane, size))
    return k.build()


def ran(kernel: Kernel, x: np.ndarray, **scalars: Any) -> tuple[np.ndarray, Counters]:
    """What it stores, and what it took, in groups of its size along dimension 0."""
    assert kernel.group_size is not None
    verify(kernel)
    width, height, _ = kernel.group_size
    y = np.zeros_like(x)
    counters = run(kernel, {"x": x, "y": y, **scalars}, (x.size // height, height), (width, height))
    return y, counters


@pytest.mark.parametrize("size", [1, 2, 8, 16])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_each_work_item_takes_a_value_of_its_own_subgroup(dtype: DType, size: int) -> None:
    kernel = exchanging(dtype, size, (16, 3, 1))
    x = np.random.default_rng(size).integers(0, 2 if dtype == BOOL else 99, 96).astype(dtype.numpy)
    lanes = np.arange(size) * 3 % size
    wanted = x.reshape(-1, size)[:, lanes].reshape(-1)
    for form in (kernel, shuffles(kernel), run_passes(kernel), run_passes(kernel, pipeline=for_target(INTEL))):
        np.testing.assert_array_equal(ran(form, x)[0], wanted)


def several(group: int = 8, size: int = 4) -> KernelBuilder:
    """Shuffles behind each other, in branches, in loops, and of two dtypes, some with nothing but shuffles between."""
    k = KernelBuilder("several", group_size=(group, 1, 1))
    n, x, y, i = k.scalar("n", U32), k.pointer("x", I32), k.pointer("y", I32), k.global_id()
    lane = k.let(k.item("local_id") & size - 1, "lane")
    value = k.variable(k.load(x, i), hint="value")
    for distance in (1, 2, 3):
        k.assign(value, k.load(x, i) + k.shuffle(value, lane ^ distance, size))
    with k.for_(0, n) as turn:
        k.assign(value, value * 3 + k.shuffle(value, lane ^ 1, size))
        with k.if_(turn == 1):
            k.assign(value, k.shuffle(value, lane ^ 2, size))
            k.assign(value, value - k.shuffle(value, lane ^ 3, size))
        with k.else_():
            k.assign(value, k.shuffle(value + 1, lane ^ 2, size))
        real = k.shuffle(k.convert(value, F32), lane ^ 1, size)
        k.assign(value, value + k.convert(real, I32))
    with k.if_(n == 2):
        k.assign(value, k.shuffle(value, lane ^ 1, size))
    k.store(y, i, value + k.shuffle(value, lane ^ 3, size))
    return k


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_halves_of_an_array_are_used_again_without_races(turns: int) -> None:
    kernel = several().build()
    x = np.arange(16, dtype=np.int32) % 7
    wanted, counters = ran(kernel, x, n=turns)
    assert counters.barriers == 0
    for form in (shuffles(kernel), run_passes(kernel)):
        np.testing.assert_array_equal(ran(form, x, n=turns)[0], wanted)
    arrays = [line.strip() for line in text(shuffles(kernel)).splitlines() if "array" in line]
    assert arrays == ["array exchanged_i32: local i32*[16]", "array exchanged_f32: local f32*[16]"]


def _barriers(kernel: Kernel) -> list[Barrier]:
    return [stmt for stmt in walk(kernel.body) if isinstance(stmt, Barrier)]


def test_shuffles_behind_each_other_take_one_barrier_each() -> None:
    k = KernelBuilder("sum", group_size=(64, 1, 1))
    x, i, lane = k.pointer("x", F32), k.global_id(), k.item("local_id") & 31
    value = k.load(x, i)
    for distance, _ in tree(32):
        value = value + k.shuffle(value, lane ^ distance, 32)
    k.store(x, i, k.shuffle(value, 0, 32))
    assert len(_barriers(shuffles(k.build()))) == 6


@pytest.mark.parametrize("left_out", range(7))
def test_no_barrier_is_one_too_many(left_out: int) -> None:
    """Leaving out any of the barriers is a race."""
    k = KernelBuilder("rows", group_size=(4, 1, 1))
    x, y, i = k.pointer("x", I32), k.pointer("y", I32), k.global_id()
    lane = k.let(k.item("local_id"), "lane")
    value = k.variable(k.load(x, i))
    with k.for_(0, 3):
        for distance in (1, 2, 3):
            k.assign(value, value + k.shuffle(value, lane ^ distance, 4))
    for distance in (3, 1):
        k.assign(value, value + k.shuffle(value, lane ^ distance, 4))
    k.store(y, i, value)
    lowered = shuffles(k.build())
    barriers = _barriers(lowered)
    assert len(barriers) == 7

    def without(block: Block) -> Block:
        return tuple(map_blocks(stmt, without) for stmt in block if stmt is not barriers[left_out])

    x_ = np.arange(4, dtype=np.int32)
    run(lowered, {"x": x_, "y": x_.copy()}, (4,), (4,))
    with pytest.raises(DataRaceError):
        run(replace(lowered, body=without(lowered.body)), {"x": x_, "y": x_.copy()}, (4,), (4,))


# ---------------------------------------------------------------------- targets


@pytest.mark.parametrize(
    ("target", "size", "group_size", "stays"),
    [
        (None, 16, (64, 1, 1), False),
        (INTEL, 16, (64, 1, 1), True),
        (INTEL, 16, (48, 1, 1), True),
        (INTEL, 16, (16, 4, 1), True),
        (INTEL, 16, (8, 8, 1), False),  # its sub-groups end where dimension 0 does
        (INTEL, 8, (8, 8, 1), True),
        (INTEL, 32, (64, 1, 1), False),  # slower than through local memory
        (NVIDIA, 32, (64, 1, 1), True),
        (NVIDIA, 32, (8, 8, 1), True),
        (NVIDIA, 16, (48, 1, 1), False),  # the last warp is not whole
        (NVIDIA, 16, (64, 1, 1), False),
    ],
    ids=str,
)
def test_a_shuffle_stays_where_the_target_has_such_subgroups(
    target: Subgroups | None, size: int, group_size: tuple[int, int, int], stays: bool
) -> None:
    kernel = exchanging(F32, size, group_size)
    lowered = shuffles(kernel, target)
    assert (lowered is kernel) == stays
    x = np.arange(2 * group_size[0] * group_size[1], dtype=np.float32)
    after, counters = ran(run_passes(kernel, pipeline=for_target(target)), x)
    assert after.tobytes() == ran(kernel, x)[0].tobytes()
    assert counters.barriers == (0 if stays else 2)


def test_subgroups_of_two_sizes_go_through_local_memory() -> None:
    """A kernel of a device has one size."""
    k = KernelBuilder("demo", group_size=(16, 1, 1))
    i = k.global_id()
    k.store(k.pointer("y", U32), i, k.shuffle(k.shuffle(i, 1, 8), 2, 16))
    assert not any(isinstance(stmt, Shuffle) for stmt in walk(shuffles(k.build(), INTEL).body))


def test_a_subgroup_of_one_work_item_needs_nothing() -> None:
    k = KernelBuilder("demo", group_size=(3, 1, 1))
    x, i = k.pointer("x", F32), k.global_id()
    k.store(x, i, k.shuffle(k.load(x, i), 0, 1))
    assert not any(isinstance(stmt, Shuffle | Array | Barrier) for stmt in walk(shuffles(k.build()).body))


def test_what_nobody_reads_is_not_exchanged() -> None:
    k = KernelBuilder("demo", group_size=(16, 1, 1))
    k.shuffle(k.global_id(), 0, 16)
    assert not run_passes(k.build(), pipeline=for_target(INTEL)).body


def test_lowering_needs_a_group_size() -> None:
    k = KernelBuilder("demo")
    k.store(k.pointer("y", F32), k.global_id(), k.shuffle(k.const(1.0, F32), 0, 4))
    with pytest.raises(IRError, match="kernel demo has a shuffle and no group size"):
        shuffles(k.build())


# ---------------------------------------------------------------------- collectives of sub-groups


def joining(dtype: DType, op: str, size: int, group_size: tuple[int, int, int]) -> Kernel:
    k = KernelBuilder("demo", group_size=group_size)
    x, y = k.pointer("x", dtype), k.pointer("y", dtype)
    item = k.item("local_id", 0) + k.item("local_id", 1) * group_size[0]
    at = k.let(k.item("group_id", 0) * (group_size[0] * group_size[1]) + item, "at")
    with k.for_(0, 2):
        k.store(y, at, k.collective(op, k.load(x, at), size=size))  # type: ignore[arg-type]
    return k.build()


NUMBERS = [op for op in (*JOINS, *sorted(SCANS)) if op not in {"any", "all"}]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("dtype", "op"), [(BOOL, "any"), (BOOL, "all"), *((dtype, op) for dtype in (I8, F32, I64) for op in NUMBERS)]
)
@pytest.mark.parametrize(("size", "group_size"), [(1, (3, 1, 1)), (8, (24, 1, 1)), (16, (16, 3, 1)), (4, (2, 6, 1))])
def test_collectives_of_subgroups_have_the_bits_of_those_of_groups(
    dtype: DType, op: str, size: int, group_size: tuple[int, int, int]
) -> None:
    x = np.random.default_rng(1).normal(0, 9, 3 * group_size[0] * group_size[1]).astype(dtype.numpy)
    if dtype.is_float:
        x[::17] *= -0.0
        x[-1] = np.nan
    kernel = joining(dtype, op, size, group_size)
    wanted, counters = ran(kernel, x)
    if dtype != I8:  # which groups do not join
        assert wanted.tobytes() == ran(joining(dtype, op, 0, (size, 1, 1)), x)[0].tobytes()
    assert counters.barriers == 0
    for target in (None, INTEL, NVIDIA):
        lowered = collectives(kernel, target)
        stays = target is not None and target.exchange(size, group_size)
        assert any(isinstance(stmt, Shuffle) for stmt in walk(lowered.body)) == (
            (stays or size == 1) and not (size == 1 and op in SCANS - {"exclusive_scan"})
        )
        for form in (lowered, run_passes(kernel, pipeline=for_target(target))):
            after, counters = ran(form, x)
            assert after.tobytes() == wanted.tobytes()
            assert (counters.barriers == 0) == (stays or size == 1)


def test_collectives_of_groups_stay_in_local_memory() -> None:
    kernel = joining(F32, "sum", 0, (64, 1, 1))
    assert text(collectives(kernel, INTEL)) == text(collectives(kernel, NVIDIA)) == text(collectives(kernel))


def test_collectives_and_shuffles_of_two_sizes_go_through_local_memory() -> None:
    k = KernelBuilder("demo", group_size=(16, 1, 1))
    x, i = k.pointer("x", F32), k.global_id()
    k.store(x, i, k.shuffle(k.collective("sum", k.load(x, i), size=16), 0, 8))
    lowered = collectives(k.build(), INTEL)
    assert sum(isinstance(stmt, Shuffle) for stmt in walk(lowered.body)) == 1
    assert any(isinstance(stmt, Barrier) for stmt in walk(lowered.body))


# ---------------------------------------------------------------------- meaning


def test_the_text() -> None:
    k = KernelBuilder("demo")
    k.collective("max", k.shuffle(k.shuffle(k.global_id(), 3, 8), k.item("local_id"), 16, "crossed"), size=8)
    assert text(k.build()).splitlines()[2:] == [
        "  let shuffled: u32 = shuffle i of lane 3:u32 in 8",
        "  let item: u32 = local_id 0:u32",
        "  let crossed: u32 = shuffle shuffled of lane item in 16",
        "  let subgroup_max: u32 = subgroup max crossed in 8",
    ]


def test_it_is_uniform_where_the_group_has_one_value() -> None:
    k = KernelBuilder("demo")
    n, item = k.scalar("n", U32), k.item("local_id")
    values = [k.shuffle(n, item & 7, 8), k.collective("sum", n, size=8), k.shuffle(item, 0, 8)]
    values += [k.collective("sum", item, size=8)]
    flow = uniformity(k.build())
    assert [flow.is_uniform(value.operand) for value in values] == [True, True, False, False]


def test_it_orders_no_memory() -> None:
    k = KernelBuilder("demo", group_size=(4, 1, 1))
    shared, item = k.array(U32, 4, hint="shared"), k.item("local_id")
    k.store(shared, item, item)
    k.store(k.pointer("y", U32), item, k.load(shared, k.shuffle(item, item ^ 1, 4)))
    with pytest.raises(DataRaceError, match="data race on shared"):
        run(k.build(), {"y": np.zeros(4, np.uint32)}, (4,), (4,))


def test_a_scan_is_made_of_it() -> None:
    k = KernelBuilder("demo", group_size=(16, 1, 1))
    x, i, lane = k.pointer("x", F32), k.global_id(), k.item("local_id") & 7
    value = k.load(x, i)
    for distance in distances(8):
        before = k.shuffle(value, lane - distance & 7, 8)
        value = k.op("select", lane >= distance, before + value, value)
    k.store(x, i, value)
    kernel, x_ = k.build(), np.arange(32, dtype=np.float32)
    for form in (kernel, run_passes(kernel), run_passes(kernel, pipeline=for_target(INTEL))):
        y = x_.copy()
        run(form, {"x": y}, (32,), (16,))
        np.testing.assert_array_equal(y, x_.reshape(4, 8).cumsum(1).reshape(-1))


# ---------------------------------------------------------------------- faults


def test_a_part_of_the_group_does_not_come() -> None:
    k = KernelBuilder("demo")
    with k.if_(k.global_id() < 5):
        k.shuffle(k.const(1, U32), 0, 4)
    with pytest.raises(IRError, match=r"divergent shuffle: 5 of 8 work-items reach it, work-item \(5, 0, 0\)"):
        run(k.build(), {}, (8,), (8,))


@pytest.mark.parametrize("lane", [-1, 4])
def test_a_lane_that_the_subgroup_does_not_have(lane: int) -> None:
    k = KernelBuilder("demo")
    k.shuffle(k.global_id(), k.const(lane, I32), 4)
    with pytest.raises(IRError, match=f"asks for lane {lane} of its sub-group, which has 4 work-items"):
        run(k.build(), {}, (8,), (8,))


def test_a_launch_whose_groups_are_no_whole_subgroups() -> None:
    k = KernelBuilder("demo")
    k.shuffle(k.global_id(), 0, 4)
    with pytest.raises(IRError, match="has 6 work-items, which are no whole sub-groups of 4"):
        run(k.build(), {}, (6,), (6,))
