"""The arena planner over programs with the memory patterns of real work, and over random lifetimes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocl_ir.host.arena import UNIT, in_pieces, pack
from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.grammar import Launch
from ocl_ir.host.schedule import Access, Buffer, BufferView, Node, Schedule, bind
from ocl_ir.host.verify_order import verify_order
from ocl_ir.kernel.accesses import READ
from ocl_ir.layout import Layout
from ocl_ir.types import F32
from ocl_runtime.plan.host.in_place import share_memory
from ocl_runtime.plan.host.memory import largest_live_set, plan_memory
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


LIVES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12), st.integers(0, 5000)), max_size=40)


@given(LIVES)
def test_packed_buffers_that_are_used_at_once_share_no_byte(given: list[tuple[int, int, int]]) -> None:
    lives = {number: (first, first + length) for number, (first, length, _) in enumerate(given)}
    sizes = {number: nbytes for number, (_, _, nbytes) in enumerate(given)}
    offsets, arena = pack(lives, sizes)
    for one, (first, last) in lives.items():
        assert offsets[one] % UNIT == 0
        assert offsets[one] + sizes[one] <= arena
        for other, (begin, end) in lives.items():
            if other != one and begin <= last and end >= first and sizes[one] and sizes[other]:
                assert offsets[one] + sizes[one] <= offsets[other] or offsets[other] + sizes[other] <= offsets[one]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(1, 4))
def test_a_chain_is_packed_to_what_is_alive(widths: list[int], held: int) -> None:
    """Each buffer is used until the one `held` steps on is made: so many are alive, and no more memory is taken."""
    lives = {number: (number, number + held) for number in range(len(widths))}
    _, arena = pack(lives, dict.fromkeys(lives, 3 * UNIT))
    assert arena == 3 * UNIT * min(len(widths), held + 1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_pieces_that_are_used_at_once_are_not_the_same(name: str) -> None:
    schedule = bind(PROGRAMS[name](), {})
    found = in_pieces(schedule)
    home = {
        access.buffer: moved.buffer
        for node, other in zip(schedule.nodes, found.nodes, strict=True)
        for access, moved in zip(node.accesses, other.accesses, strict=True)
    }
    pieces = [one for one in found.buffers if one.kind == "piece"]
    assert {home[buffer] for buffer in schedule.lives} == {one.id for one in pieces}
    for buffer, (first, last) in schedule.lives.items():
        assert found.buffers[home[buffer]].nbytes >= schedule.buffers[buffer].nbytes
        for other, (begin, end) in schedule.lives.items():
            assert other == buffer or home[other] != home[buffer] or end < first or begin > last
    live = largest_live_set(schedule.lives, {one: schedule.buffers[one].nbytes for one in schedule.lives})
    assert sum(one.nbytes for one in pieces) <= 2 * live


@given(
    st.lists(st.tuples(st.sampled_from([4, 8]), st.integers(0, 12), st.integers(0, 4)), min_size=1, max_size=16),
    st.integers(0, 3),
    st.dictionaries(st.integers(0, 1), st.sampled_from([4, 8])),
)
def test_what_shares_memory_by_turns_is_never_used_at_once(
    values: list[tuple[int, int, int]], results: int, donated: dict[int, int]
) -> None:
    """Values with (size, first node, nodes that use them later), some of which are results, beside two inputs."""
    layout, length = Layout((1,), (1,)), 20
    buffers = [Buffer(number, 8, "input", "x") for number in range(2)]
    uses: dict[int, list[int]] = {number: [number, 5 - number] for number in range(2)}
    for number, (size, first, more) in enumerate(values, 2):
        buffers.append(Buffer(number, size, "result" if number - 2 < results else "scratch", "t"))
        uses[number] = [first, first + more]
    command = Launch(ADD, (), (), ())
    nodes = [
        Node(command, (), (1,), tuple([Access(number, layout, 4, READ) for number in uses if node in uses[number]]))
        for node in range(length)
    ]
    wanted = tuple([BufferView(one.id, F32, layout) for one in buffers if one.kind == "result"])
    scratch = {one.id: (min(uses[one.id]), max(uses[one.id])) for one in buffers if one.kind == "scratch"}
    program = HostBuilder("p").build()
    shared, over = share_memory(Schedule(program, {}, tuple(buffers), tuple(nodes), wanted, scratch, {}), donated)
    home = {number: number for number in uses}
    for before, after in zip(nodes, shared.nodes, strict=True):
        home |= {one.buffer: other.buffer for one, other in zip(before.accesses, after.accesses, strict=True)}
    lives = {number: (min(use), max(use)) for number, use in uses.items()}
    lives |= {one.id: (lives[one.id][0], length) for one in buffers if one.kind == "result"}  # and for ever
    for one, (begin, end) in lives.items():
        for other, (start, last) in lives.items():
            if one < other and home[one] == home[other]:
                assert end < start or last < begin
                assert {*map(donated.get, {one, other} & {0, 1})} | {buffers[max(one, other)].nbytes} == {
                    buffers[max(one, other)].nbytes
                }
    assert {number for number in lives if home[number] in donated and number != home[number]} == set(over)
    assert {one.id for one in shared.buffers if one.kind == "result"} == {place.buffer for place in wanted} - {
        number for number in home if home[number] != number
    }
    assert all(home[number] == number for number in (0, 1))
