"""The sweep that places scratch memory: it is valid in every order that streams permit, and near-linear."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocl_ir.host.arena import UNIT
from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.conflicts import Order, _pairs
from ocl_ir.host.grammar import Program
from ocl_ir.host.schedule import Schedule, bind
from ocl_ir.host.verify_order import verify_order
from ocl_ir.types import F32
from ocl_runtime.plan.host import bound
from ocl_runtime.plan.host import memory as memory_module
from ocl_runtime.plan.host.in_place import reuse_in_place, share_memory
from ocl_runtime.plan.host.memory import largest_live_set, plan_memory
from ocl_runtime.plan.host.streams import place_streams
from ocl_runtime.plan.host.sweep import best_fit, interference, program_order, spans_of
from ocl_runtime.plan.host.waits import place_waits
from ocl_runtime.plan.kernels.cache import KernelCache
from tests.support.lines import executed_lines
from tests.support.programs import ADD, SCALE
from tests.support.realistic_programs import PROGRAMS

SIZES = (64, 256, 1024, 4096, 777, 3000)


def chain(count: int) -> Program:
    p = HostBuilder("chain")
    value = p.input("x", F32, (64,))
    for _ in range(count):
        source, value = value, p.alloc(F32, (64,), "t")
        p.launch(SCALE, (64, source, value), (64,))
    return p.build(value)


def lanes(count: int) -> Program:
    """Chains on four streams that have nothing to do with each other."""
    p = HostBuilder("lanes")
    values = [p.input("x", F32, (64,))] * 4
    for index in range(count):
        source, values[index % 4] = values[index % 4], p.alloc(F32, (64,), "t")
        with p.stream(index % 4):
            p.launch(SCALE, (64, source, values[index % 4]), (64,))
    return p.build(*values)


def fork_join(count: int) -> Program:
    p = HostBuilder("fork_join")
    total = p.input("x", F32, (64,))
    for _ in range(count // 8):
        parts = [p.alloc(F32, (64,), "part") for _ in range(4)]
        for stream, part in enumerate(parts):
            with p.stream(stream):
                p.launch(SCALE, (64, total, part), (64,))
        with p.stream(0):
            for part in parts:
                before, total = total, p.alloc(F32, (64,), "total")
                p.launch(ADD, (64, before, part, total), (64,))
    return p.build(total)


def separate_results(count: int) -> Program:
    p = HostBuilder("separate_results")
    x, results = p.input("x", F32, (64,)), []
    for _ in range(count // 2):
        inner, result = p.alloc(F32, (64,), "t"), p.alloc(F32, (64,), "y")
        p.launch(SCALE, (64, x, inner), (64,))
        p.launch(SCALE, (64, inner, result), (64,))
        results.append(result)
    return p.build(*results)


def kept(count: int) -> Program:
    """Values that are all alive at once, and end in another order than they began in."""
    p = HostBuilder("kept")
    total = p.input("x", F32, (64,))
    values = [p.alloc(F32, (64,), "t") for _ in range(count // 2)]
    for value in values:
        p.launch(SCALE, (64, total, value), (64,))
    for value in random.Random(0).sample(values, len(values)):
        before, total = total, p.alloc(F32, (64,), "total")
        p.launch(ADD, (64, before, value, total), (64,))
    return p.build(total)


def mixed(count: int, streams: int | None = None, seed: int = 0) -> Program:
    """Values of many sizes, each from two of the last eight, on streams that were chosen at random."""
    rng = random.Random(seed)
    p = HostBuilder("mixed")
    values = [p.input("x", F32, (1,))]
    for _ in range(count):
        new = p.alloc(F32, (rng.choice(SIZES),), "t")
        with nullcontext() if streams is None else p.stream(rng.randrange(streams)):
            p.launch(ADD, (1, rng.choice(values), rng.choice(values), new), (1,))
        values = [*values, new][-8:]
    return p.build(values[-1])


def spread(schedule: Schedule) -> Schedule:
    return place_streams(schedule, 4)


def planned(schedule: Schedule) -> Schedule:
    return plan_memory(spread(schedule))[0]


PASSES: dict[str, tuple[Callable[[Schedule], Schedule], Callable[[Schedule], object]]] = {
    "plan_memory": (spread, plan_memory),
    "with a limit": (spread, lambda schedule: plan_memory(schedule, limit=0)),
    "place_waits": (planned, place_waits),
    "verify_order": (lambda schedule: place_waits(planned(schedule)), verify_order),
    "place_streams": (spread, spread),
    "reuse_in_place": (spread, lambda schedule: reuse_in_place(schedule, KernelCache())),
    "share_memory": (spread, share_memory),
}
"""What passes get, and what they do with it."""


def steps(pass_: str, program: Program) -> int:
    """The lines of Python that a pass runs, each turn of a loop again."""
    before, work = PASSES[pass_]
    schedule = before(bind(program, {}))
    _pairs.cache_clear()
    return executed_lines(lambda: work(schedule))


@pytest.mark.sample(2)
@pytest.mark.parametrize("pass_", PASSES)
@pytest.mark.parametrize(
    "program", [chain, lanes, fork_join, separate_results, kept, mixed, lambda count: mixed(count, 4)]
)
def test_four_times_the_nodes_are_about_four_times_the_work(
    program: Callable[[int], Program], pass_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound, "_MOST_EDGES", 0)  # up to which finding the lower bound may take longer
    few, many = (steps(pass_, program(count)) / count for count in (120, 480))
    assert many <= 1.3 * few


def test_pairs_are_looked_at_up_to_so_many() -> None:
    spans = spans_of(place_streams(bind(lanes(400), {}), 4))
    assert interference(spans, 10_000) is None
    apart = interference(spans, 400 * 400)
    assert apart is not None
    assert sum(map(len, apart.values())) / 2 > 10_000


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Values on up to three streams, each from up to two earlier ones; some are written in halves on two streams."""
    p = HostBuilder("drawn")
    values = [p.input("x", F32, (64,))]
    for _ in range(draw(st.integers(1, 24))):
        sources = [values[-1 - draw(st.integers(0, min(5, len(values) - 1)))] for _ in range(2)]
        size = draw(st.sampled_from([64, 128, 256, 320]))
        new = p.alloc(F32, (size,), "t")
        parts = draw(st.integers(1, 2))
        for part in range(parts):
            with p.stream(draw(st.integers(0, 2))):
                half = p.slice(new, 0, part * size // parts, size // parts)
                p.fill(half, 0)
                p.launch(ADD, (32, *sources, half), (32,))
        values.append(new)
    return p.build(*values[1:][-draw(st.integers(1, 2)) :])


def precedes(schedule: Schedule) -> Callable[[int, int], bool]:
    """Whether all uses of a buffer come before all of another, by every pair of them."""
    order = Order()
    for node in place_waits(schedule).nodes:
        assert node.stream is not None
        order.add(node.stream, node.waits)
    uses = {
        buffer: [number for number, node in enumerate(schedule.nodes) for use in node.accesses if use.buffer == buffer]
        for buffer in schedule.lives
    }
    return lambda buffer, later: all(order.before(use, other) for use in uses[buffer] for other in uses[later])


@settings(max_examples=60)
@given(programs())
def test_buffers_interfere_where_no_order_has_one_before_the_other(program: Program) -> None:
    schedule = place_streams(bind(program, {}), 3)
    before, spans = precedes(schedule), spans_of(schedule)
    assert interference(spans, 10**6) == {
        buffer: {
            other
            for other in schedule.lives
            if other != buffer and not before(buffer, other) and not before(other, buffer)
        }
        for buffer in schedule.lives
    }


@settings(max_examples=60)
@given(programs(), st.sampled_from([0, 10**6]))
def test_memory_that_is_shared_is_ordered_without_another_wait(program: Program, pairs: int) -> None:
    schedule = place_streams(bind(program, {}), 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_module, "_PAIRS", pairs)
        patch.setattr(memory_module, "_PAIRS_OF_EACH", 0)
        planned, plan = plan_memory(schedule)
        forced, least = plan_memory(schedule, limit=0)
        assert plan_memory(schedule) == (planned, plan)
    assert plan.live == least.live <= plan.bound <= plan.arena <= plan.unshared
    assert least.live <= least.arena
    assert all(offset % UNIT == 0 for offset in planned.offsets.values())
    before, waiting = precedes(schedule), place_waits(planned)
    assert [node.waits for node in waiting.nodes] == [node.waits for node in place_waits(schedule).nodes]
    verify_order(waiting)
    verify_order(place_waits(forced))
    ends = {buffer: low + schedule.buffers[buffer].nbytes for buffer, low in planned.offsets.items()}
    for buffer, low in planned.offsets.items():
        for other in planned.offsets:
            if low < ends[other] and planned.offsets[other] < ends[buffer] and buffer != other:
                assert before(buffer, other) or before(other, buffer)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), min_size=1, max_size=60))
def test_in_program_order_equal_buffers_take_what_is_alive(intervals: list[tuple[int, int]]) -> None:
    lives = {buffer: (first, first + length) for buffer, (first, length) in enumerate(intervals)}
    sizes = dict.fromkeys(lives, 3 * UNIT)
    _, arena = best_fit(sizes, program_order(lives))
    assert arena == largest_live_set(lives, sizes)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("streams", [1, 4])
def test_the_sweep_alone_is_not_far_from_what_several_orders_reach(
    name: str, streams: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare(place_streams(bind(PROGRAMS[name](), {}), streams), 1.35, monkeypatch)


@pytest.mark.parametrize("streams", [1, 2, 4])
def test_nor_is_it_for_random_programs(streams: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(5):
        compare(place_streams(bind(mixed(150, streams, seed), {}), streams), 1.35, monkeypatch)


def compare(schedule: Schedule, most: float, monkeypatch: pytest.MonkeyPatch) -> None:
    _, best = plan_memory(schedule)
    with monkeypatch.context() as patch:
        patch.setattr(memory_module, "interference", lambda *_: None)
        _, swept = plan_memory(schedule)
    assert best.arena <= swept.arena <= most * best.arena


@pytest.mark.parametrize(("program", "alive"), [(chain, 2), (lanes, 8), (fork_join, 6), (kept, 301)])
def test_long_programs_of_equal_values_take_what_is_alive_on_their_streams(
    program: Callable[[int], Program], alive: int
) -> None:
    schedule = place_streams(bind(program(600), {}), 4)
    planned, plan = plan_memory(schedule)
    assert plan.arena == alive * UNIT
    assert not any(
        set(node.waits) - set(bare.waits)
        for node, bare in zip(
            place_waits(planned).nodes, place_waits(replace(planned, offsets={}, arena=0)).nodes, strict=True
        )
    )
