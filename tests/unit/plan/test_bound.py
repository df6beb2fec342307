"""The lower bound of an arena: exactly the heaviest set of buffers of which no two may share memory."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.schedule import Schedule, bind
from ocl_ir.types import F32
from ocl_runtime.plan.host import bound
from ocl_runtime.plan.host.bound import heaviest
from ocl_runtime.plan.host.memory import plan_memory
from tests.support.programs import SCALE


def apart_by(precedes: set[tuple[int, int]], count: int) -> dict[int, set[int]]:
    apart: dict[int, set[int]] = {one: set() for one in range(count)}
    for one, other in combinations(range(count), 2):
        if (one, other) not in precedes:
            apart[one].add(other)
            apart[other].add(one)
    return apart


def closed(pairs: set[tuple[int, int]], count: int) -> set[tuple[int, int]]:
    """With everything that follows: an order. Pairs lead from lower to higher numbers."""
    found = set(pairs)
    for middle in range(count):
        before = [one for one in range(middle) if (one, middle) in found]
        after = [two for two in range(middle, count) if (middle, two) in found]
        found |= {(one, two) for one in before for two in after}
    return found


def by_trying(sizes: dict[int, int], apart: dict[int, set[int]]) -> int:
    """Over all sets."""
    most = 0
    for number in range(len(sizes) + 1):
        for chosen in combinations(sizes, number):
            if all(other in apart[one] for one, other in combinations(chosen, 2)):
                most = max(most, sum(sizes[one] for one in chosen))
    return most


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_heaviest_set_whatever_the_order(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 11)
    likely = rng.choice([0.05, 0.15, 0.3, 0.6])
    pairs = {pair for pair in combinations(range(count), 2) if rng.random() < likely}
    apart = apart_by(closed(pairs, count), count)
    names = rng.sample(range(100), count)  # numbers of buffers have nothing to do with their order
    sizes = {names[one]: rng.choice([1, 1, 2, 5, 100]) for one in range(count)}
    named = {names[one]: {names[other] for other in others} for one, others in apart.items()}
    begins = {names[one]: one for one in range(count)}
    assert heaviest(sizes, named, begins) == by_trying(sizes, named)


def test_nothing_weighs_nothing() -> None:
    assert heaviest({}, {}, {}) == 0


def test_of_a_long_chain_only_the_next_ones_are_looked_at() -> None:
    """Each of 1,000 buffers precedes all but one of those behind it, which are half a million pairs."""
    count = 1000
    sizes = {one: 1 + one % 7 for one in range(count)}
    apart = {one: {one - 1, one + 1} & set(sizes) for one in sizes}
    assert heaviest(sizes, apart, {one: one for one in sizes}) == 6 + 7


def lanes(streams: int) -> Schedule:
    """On each stream a large buffer, beside a small one, and then three that are larger together, beside it too."""
    p = HostBuilder("lanes")
    x = p.input("x", F32, (64,))
    for lane in range(streams):
        with p.stream(lane):
            large, small, *three = (p.alloc(F32, (64 * size,), "t") for size in (5, 1, 2, 2, 2))
            p.launch(SCALE, (1, x, large), (1,))
            p.launch(SCALE, (1, large, small), (1,))
            for one in three:
                p.launch(SCALE, (1, small, one), (1,))
            for one in (small, *three):
                p.launch(SCALE, (1, one, p.output(f"y{lane}_{one.id}", F32, (64,))), (1,))
    return bind(p.build(), {})


@pytest.mark.parametrize("streams", [1, 2, 4, 8])
def test_streams_that_run_at_once_need_memory_at_once(streams: int) -> None:
    """What one of them needs at most, as many times as there are streams; in program order it is only once.

    Who takes the largest buffers first does not find that.
    """
    _, memory = plan_memory(lanes(streams))
    assert memory.live == 256 * (1 + 2 + 2 + 2)
    assert memory.bound == streams * memory.live
    assert memory.bound <= memory.arena


def test_where_it_would_take_long_it_is_what_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound, "_MOST_EDGES", 10)
    _, memory = plan_memory(lanes(4))
    assert memory.bound == memory.live < memory.arena
