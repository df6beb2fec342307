"""The arena planner over programs with the memory patterns of real work, and over random lifetimes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.schedule import Schedule, bind
from ocl_ir.host.verify_order import verify_order
from ocl_ir.types import F32
from ocl_runtime.plan.host.memory import plan_memory
from ocl_runtime.plan.host.streams import place_streams
from ocl_runtime.plan.host.waits import place_waits
from tests.support.programs import ADD
from tests.support.realistic_programs import PROGRAMS


def waits(schedule: Schedule) -> int:
    return sum(len(node.waits) for node in place_waits(schedule).nodes)


@pytest.mark.parametrize("name", PROGRAMS)
def test_real_patterns_come_within_5_percent_of_what_is_alive(name: str) -> None:
    one = place_streams(bind(PROGRAMS[name](), {}), 1)
    planned, memory = plan_memory(one)
    assert memory.live <= memory.arena <= 1.05 * memory.live
    assert waits(planned) == 0
    verify_order(place_waits(planned))


@pytest.mark.parametrize("name", PROGRAMS)
def test_on_several_streams_sharing_adds_no_wait_until_memory_demands_it(name: str) -> None:
    several = place_streams(bind(PROGRAMS[name](), {}), 4)
    planned, memory = plan_memory(several)
    assert waits(planned) == waits(replace(planned, offsets={}, arena=0))
    assert memory.bound <= memory.arena <= 1.3 * memory.bound
    verify_order(place_waits(planned))
    tight, memory = plan_memory(several, limit=memory.arena - 1)
    if memory.by_program_order:
        assert memory.arena <= 1.05 * memory.live
    verify_order(place_waits(tight))


def test_random_lifetimes_come_close_to_what_is_alive() -> None:
    """The mean over many programs of random sizes and lifetimes is within 5 %, and none is far off."""
    ratios = []
    for seed in range(60):
        rng = random.Random(seed)
        p = HostBuilder("random")
        alive = [p.input("x", F32, (1,))]
        for _ in range(60):
            out = p.alloc(F32, (rng.choice([64, 256, 1024, 4096, 777, 3000]),), "t")
            p.fill(out, 1)
            p.launch(ADD, (1, rng.choice(alive), rng.choice(alive), out), (1,))
            alive.append(out)
            if len(alive) > rng.randint(2, 12):
                alive.pop(rng.randrange(len(alive)))
        _, memory = plan_memory(place_streams(bind(p.build(alive[-1]), {}), 1))
        ratios.append(memory.arena / memory.live)
    assert sum(ratios) / len(ratios) <= 1.05
    assert max(ratios) <= 1.25
