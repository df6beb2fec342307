"""What a work-group makes of its values: in the interpreter, and after the pass that lowers it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ocl_ir.errors import DataRaceError, IRError, VerifyError
from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Barrier, Block, Collective, Kernel, map_blocks, walk
from ocl_ir.kernel.printer import text
from ocl_ir.kernel.verify import verify
from ocl_ir.passes import run as run_passes
from ocl_ir.passes.collectives import collectives
from ocl_ir.types import BOOL, F16, F32, F64, I32, I64, U32, U64, DType

SIZES = [1, 2, 3, 4, 5, 7, 8, 13, 16, 24, 33]
NUMBERS = [I32, U32, I64, U64, F16, F32, F64]
PYTHON = {
    "sum": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
}


def tree(op: str, values: list[Any]) -> Any:
    """Item by item, as the language defines it."""
    values = list(values)
    distance = 1
    while distance * 2 < len(values):
        distance *= 2
    count = len(values)
    while distance and count > 1:
        for item in range(distance):
            if item + distance < count:
                values[item] = PYTHON[op](values[item], values[item + distance])
        count, distance = distance, distance // 2
    return values[0]


def scan(values: list[Any]) -> list[Any]:
    distance = 1
    while distance < len(values):
        values = [value if item < distance else values[item - distance] + value for item, value in enumerate(values)]
        distance *= 2
    return values


def kernel_of(op: str, dtype: DType, items: int, lane: int | None = None) -> Kernel:
    k = KernelBuilder("demo", group_size=(items, 1, 1))
    x, y, i = k.pointer("x", dtype), k.pointer("y", dtype), k.global_id()
    k.store(y, i, k.collective(op, k.load(x, i), lane))  # type: ignore[arg-type]
    return k.build()


def both(kernel: Kernel, x: np.ndarray, items: int) -> np.ndarray:
    """What it gives, which is the same before and after the passes."""
    results = []
    for form in (kernel, collectives(kernel), run_passes(kernel)):
        verify(form)
        y = np.zeros_like(x)
        run(form, {"x": x, "y": y}, (x.size,), (items,))
        results.append(y)
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
    return results[0]


def values_of(dtype: DType, count: int) -> np.ndarray:
    rng = np.random.default_rng(count)
    if dtype == BOOL:
        return rng.random(count) < 0.5
    return (rng.integers(0, 9, count) if dtype.kind == "uint" else rng.normal(0, 9, count)).astype(dtype.numpy)


@pytest.mark.sample(3)
@pytest.mark.parametrize("items", SIZES)
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
@pytest.mark.parametrize("op", ["sum", "prod", "min", "max"])
def test_numbers_are_joined_in_the_order_of_the_tree(op: str, dtype: DType, items: int) -> None:
    x = values_of(dtype, 2 * items)
    with np.errstate(all="ignore"):
        wanted = [tree(op, list(group)) for group in x.reshape(2, items)]
    np.testing.assert_array_equal(both(kernel_of(op, dtype, items), x, items), np.repeat(wanted, items))


@pytest.mark.parametrize("items", SIZES)
@pytest.mark.parametrize("op", ["any", "all"])
def test_bools(op: str, items: int) -> None:
    for x in (np.zeros(items, np.bool_), np.ones(items, np.bool_), values_of(BOOL, items)):
        assert (both(kernel_of(op, BOOL, items), x, items) == getattr(np, op)(x)).all()


@pytest.mark.parametrize("items", SIZES)
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_scans(dtype: DType, items: int) -> None:
    x = values_of(dtype, items)
    sums = np.array(scan(list(x)), x.dtype)
    np.testing.assert_array_equal(both(kernel_of("scan", dtype, items), x, items), sums)
    before = np.concatenate([np.zeros(1, x.dtype), sums[:-1]])
    np.testing.assert_array_equal(both(kernel_of("exclusive_scan", dtype, items), x, items), before)


@pytest.mark.parametrize("dtype", [*NUMBERS, BOOL], ids=str)
def test_a_broadcast_gives_the_value_of_one_lane(dtype: DType) -> None:
    x = values_of(dtype, 7)
    assert (both(kernel_of("broadcast", dtype, 7, 4), x, 7) == x[4]).all()


def test_nan_wins_wherever_it_stands() -> None:
    for item in range(6):
        x = np.arange(6, dtype=np.float32)
        x[item] = np.nan
        for op in ("min", "max", "sum"):
            assert np.isnan(both(kernel_of(op, F32, 6), x, 6)).all()


def rows(items: int = 6) -> KernelBuilder:
    """One array in local memory serves several collectives, turn after turn."""
    k = KernelBuilder("rows", group_size=(items, 1, 1))
    x, y, i = k.pointer("x", I32), k.pointer("y", I32), k.global_id()
    with k.for_(0, 4):
        with k.if_(k.collective("any", k.load(x, i) > 0)):
            total = k.collective("sum", k.load(x, i))
            k.store(y, i, k.load(y, i) + total + k.collective("scan", k.load(x, i)))
        k.store(y, i, k.load(y, i) * k.collective("broadcast", k.load(x, i), 2))
    return k


def test_arrays_are_used_again_without_races() -> None:
    kernel = rows().build()
    x = np.array([1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6], np.int32)
    both(kernel, x, 6)
    arrays = [line for line in text(collectives(kernel)).splitlines() if "array" in line]
    assert arrays == ["  array shared_bool: local bool*[6]", "  array shared_i32: local i32*[12]"]


@pytest.mark.parametrize("left_out", range(10))
def test_no_barrier_is_one_too_many(left_out: int) -> None:
    """Leaving out any of the barriers is a race. (In groups of 4, in which no step has work-items left over.)"""
    k = KernelBuilder("rows", group_size=(4, 1, 1))
    x, y, i = k.pointer("x", I32), k.pointer("y", I32), k.global_id()
    with k.for_(0, 2):
        k.store(y, i, k.collective("exclusive_scan", k.load(x, i)))
        k.store(y, i, k.load(y, i) + k.collective("sum", k.load(x, i)))
        k.store(y, i, k.load(y, i) + k.collective("broadcast", k.load(x, i), 2))
    lowered = collectives(k.build())
    barriers = [stmt for stmt in walk(lowered.body) if isinstance(stmt, Barrier)]
    assert len(barriers) == 10

    def without(block: Block) -> Block:
        return tuple(map_blocks(stmt, without) for stmt in block if stmt is not barriers[left_out])

    broken = replace(lowered, body=without(lowered.body))
    args = {"x": np.arange(4, dtype=np.int32), "y": np.zeros(4, np.int32)}
    with pytest.raises(DataRaceError):
        run(broken, args, (4,), (4,))


def test_without_collectives_the_kernel_stays_the_same_object() -> None:
    k = KernelBuilder("plain")
    k.barrier()
    kernel = k.build()
    assert collectives(kernel) is kernel


def test_after_the_pass_no_collective_is_left_and_every_line_knows_who_asked() -> None:
    lowered = collectives(rows().build())
    assert not any(isinstance(stmt, Collective) for stmt in walk(lowered.body))
    head = [stmt for stmt in walk(lowered.body) if not stmt.where]
    assert [type(stmt).__name__ for stmt in head] == ["Let", "Let", "Array", "Array"]


def test_lowering_needs_a_group_size() -> None:
    k = KernelBuilder("demo")
    k.store(k.pointer("y", F32), k.global_id(), k.collective("sum", k.const(1.0, F32)))
    kernel = k.build()
    y = np.zeros(6, np.float32)
    run(kernel, {"y": y}, (6,), (3,))
    assert y.tolist() == [3.0] * 6
    with pytest.raises(IRError, match="kernel demo has a collective and no group size") as caught:
        collectives(kernel)
    assert "group sum 1.0:f32" in str(caught.value)
    assert "build it with group_size=" in str(caught.value)


def test_the_text() -> None:
    k = KernelBuilder("demo")
    k.collective("broadcast", k.collective("max", k.global_id()), 3, "third")
    k.uniform(k.load(k.array(F32, 4), 0), "shared")
    assert text(k.build()).splitlines()[2:] == [
        "  let group_max: u32 = group max i",
        "  let third: u32 = group broadcast group_max of item 3:u32",
        "  array tile: local f32*[4]",
        "  let tile_value: f32 = load tile[0:u32]",
        "  let shared: f32 = uniform tile_value",
    ]


# ---------------------------------------------------------------------- faults


def test_a_part_of_the_group_does_not_come() -> None:
    k = KernelBuilder("demo")
    with k.if_(k.global_id() < 5):
        k.collective("sum", k.const(1, U32))
    kernel = k.build()
    with pytest.raises(VerifyError, match="divergent collective"):
        verify(kernel)
    with pytest.raises(IRError, match=r"divergent collective: 5 of 8 work-items reach it, work-item \(5, 0, 0\)"):
        run(kernel, {}, (8,), (8,))


@pytest.mark.parametrize("lane", [-1, 4])
def test_a_broadcast_of_a_lane_that_the_group_does_not_have(lane: int) -> None:
    k = KernelBuilder("demo")
    k.collective("broadcast", k.global_id(), k.const(lane, I32))
    with pytest.raises(IRError, match=f"a broadcast of lane {lane} in group .*, which has 4 work-items"):
        run(k.build(), {}, (4,), (4,))


def test_a_value_that_is_not_uniform() -> None:
    k = KernelBuilder("demo")
    k.uniform(k.op("udiv", k.global_id() + 2, 5))  # 0, 0, 0, 1, …
    with pytest.raises(IRError, match=r"work-item \(0, 0, 0\) .* has 0, and work-item \(3, 0, 0\) .* has 1") as caught:
        run(k.build(), {}, (8,), (8,))
    assert "promised to be uniform" in str(caught.value)


def test_uniform_is_a_promise_of_those_who_come_there_only() -> None:
    """NaN is like NaN, and it is not moved to where others would have to keep it."""
    k = KernelBuilder("demo")
    y, item = k.pointer("y", F32), k.item("local_id")
    value = k.let(k.op("select", item < 2, k.const(float("nan"), F32), k.convert(item, F32)), "value")
    with k.for_(0, k.op("select", item < 2, k.const(2, U32), k.const(0, U32))):
        k.store(y, item, k.uniform(value))
    kernel = k.build()
    for form in (kernel, run_passes(kernel)):
        y_ = np.zeros(4, np.float32)
        run(form, {"y": y_}, (4,), (4,))
        assert np.isnan(y_[:2]).all()
        assert not y_[2:].any()


def test_a_constant_is_uniform() -> None:
    k = KernelBuilder("demo")
    k.store(k.pointer("y", F32), k.global_id(), k.uniform(k.const(2.0, F32)))
    assert "uniform" not in text(run_passes(k.build()))
