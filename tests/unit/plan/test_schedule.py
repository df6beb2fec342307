"""Host programs with bound sizes: what runs, what is refused, streams, waits, memory, and the proof of order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.errors import IRError, ShapeError, VerifyError
from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.conflicts import conflicts
from ocl_ir.host.grammar import Launch, Program, SymbolicLayout
from ocl_ir.host.schedule import Schedule, bind
from ocl_ir.host.verify_order import text, verify_order
from ocl_ir.interpret.host import run
from ocl_ir.kernel.accesses import WRITE
from ocl_ir.sizes import Symbol, parts, smaller, value
from ocl_ir.types import F32, U32
from ocl_runtime.arrays import core
from ocl_runtime.plan.host.in_place import reuse_in_place
from ocl_runtime.plan.host.memory import plan_memory
from ocl_runtime.plan.host.prepare import HostTarget, prepare
from ocl_runtime.plan.host.streams import Costs, place_streams
from ocl_runtime.plan.host.waits import place_waits
from ocl_runtime.plan.kernels.cache import KernelCache
from ocl_runtime.plan.structure import Structure
from tests.support.interpreted import InterpretedRuntime
from tests.support.programs import ACCUMULATE, ADD, BOTH, LOOP, RESTRICTED, REVERSED, SCALE, WIDE


def chain(links: int, streams: int = 0) -> Program:
    """Scales a value that often; with streams, each link on the next one."""
    p = HostBuilder("chain")
    n = p.size("n")
    now = p.input("x", F32, (n,))
    for link in range(links):
        new = p.alloc(F32, (n,), "t")
        with p.stream(link % streams if streams else 0):
            p.launch(SCALE, (n, now, new), (n,))
        now = new
    return p.build(now)


def ready(program: Program, streams: int = 4, **sizes: int) -> Schedule:
    return prepare(program, sizes, HostTarget(KernelCache(), group_size=16, streams=streams))


# ---------------------------------------------------------------------- what runs


def test_loops_are_unrolled_with_an_uneven_last_part() -> None:
    p = HostBuilder("tiles")
    n = p.size("n")
    x, y = p.input("x", F32, (n,)), p.output("y", F32, (n,))
    with p.for_(parts(n, 4)) as i:
        length = smaller(4, n - i * 4)
        p.launch(SCALE, (length, p.slice(x, 0, i * 4, length), p.slice(y, 0, i * 4, length)), (length,))
    program = p.build(y)
    assert [node.sizes for node in bind(program, {"n": 10}).nodes] == [(4,), (4,), (2,)]
    host, out = np.arange(10, dtype="f4"), np.zeros(10, "f4")
    run(program, {"n": 10}, {"x": host, "y": out})
    np.testing.assert_array_equal(out, host * 0.5 + 1)
    assert bind(program, {"n": 0}).nodes == ()


def test_loops_nest_and_branches_are_taken() -> None:
    p = HostBuilder("nest")
    n = p.size("n")
    y = p.output("y", F32, (n, n))
    with p.for_(n) as i, p.for_(n) as j:
        cell = p.slice(p.slice(y, 0, i, 1), 1, j, 1)
        with p.if_(i < j):
            p.fill(cell, 2)
        with p.else_():
            p.fill(cell, 3)
    out = np.zeros((4, 4), "f4")
    run(p.build(y), {"n": 4}, {"y": out})
    np.testing.assert_array_equal(out, np.where(np.triu(np.ones((4, 4)), 1) > 0, 2, 3))


def test_a_sum_over_slices_is_accumulated() -> None:
    """CONTRACT §6.4: `sum += slice(i)`."""
    p = HostBuilder("total")
    n = p.size("n")
    x, total = p.input("x", F32, (n,)), p.alloc(F32, (1,), "total")
    p.fill(total, 0)
    with p.for_(parts(n, 8)) as i, p.stream(i):
        length = smaller(8, n - i * 8)
        p.launch(ACCUMULATE, (length, p.slice(x, 0, i * 8, length), total), (1,))
    program = p.build(total)
    host = np.arange(30, dtype="f4")
    assert run(program, {"n": 30}, {"x": host})[0][0] == host.sum()
    schedule = ready(program, n=30)
    assert [node.waits for node in schedule.nodes[1:]] == [(), (1,), (2,), (3,)]  # each turn after the one before


def test_memory_of_a_loop_is_new_in_each_turn() -> None:
    p = HostBuilder("turns")
    n = p.size("n")
    x, y = p.input("x", F32, (n,)), p.output("y", F32, (n,))
    with p.for_(3):
        t = p.alloc(F32, (n,), "t")
        p.launch(SCALE, (n, x, t), (n,))
        p.launch(SCALE, (n, t, y), (n,))
    schedule = bind(p.build(y), {"n": 5})
    assert len(schedule.lives) == 3


# ---------------------------------------------------------------------- what is refused


def test_what_was_never_computed_is_an_error_with_its_name() -> None:
    p = HostBuilder("p")
    n = p.size("n")
    y, t = p.output("y", F32, (n,)), p.alloc(F32, (n,), "t")
    with p.if_(n < 5):
        p.fill(t, 1)
    p.launch(SCALE, (n, t, y), (n,))
    program = p.build(y)
    assert len(bind(program, {"n": 4}).nodes) == 2
    with pytest.raises(IRError, match="t is read and was never computed") as caught:
        bind(program, {"n": 5})
    assert "> " in caught.value.place
    assert "with n = 5" in caught.value.place
    assert "test_schedule.py:" in caught.value.place


def test_a_result_that_was_never_computed_is_an_error() -> None:
    p = HostBuilder("p")
    n = p.size("n")
    t = p.alloc(F32, (n,), "t")
    with p.for_(n - 3) as i:
        p.fill(p.slice(t, 0, i, 4), 1)
    program = p.build(t)
    assert len(bind(program, {"n": 4}).nodes) == 1
    with pytest.raises(IRError, match="t is a result and was never computed"):
        bind(program, {"n": 3})


@pytest.mark.parametrize("host", [False, True])
def test_an_output_that_was_never_computed_is_an_error(host: bool) -> None:
    """Also if it is no result: the caller looks at it."""
    p = HostBuilder("p")
    n = p.size("n")
    x = p.input("x", F32, (n,))
    y = p.host_output("y", F32, (n,)) if host else p.output("y", F32, (n,))
    with p.for_(n - 3) as i:
        p.copy(p.slice(y, 0, i, 4), p.slice(x, 0, i, 4))
    program = p.build()
    assert len(bind(program, {"n": 4}).nodes) == 1
    with pytest.raises(IRError, match=r"y is an output and was never computed \(none of it was written\)") as caught:
        bind(program, {"n": 3})
    assert "with n = 3" in caught.value.place
    p = HostBuilder("p")
    y = p.host_output("y", F32, (8,)) if host else p.output("y", F32, (8,))
    p.copy(p.slice(y, 0, 0, 6), p.input("x", F32, (6,)))
    with pytest.raises(IRError, match=r"y is an output and was never computed \(2 of 8 elements: \[6:8\]\)"):
        bind(p.build(), {})


def test_only_a_part_that_was_computed_can_be_read() -> None:
    p = HostBuilder("p")
    y, t = p.output("y", F32, (8,)), p.alloc(F32, (8,), "t")
    p.fill(p.slice(t, 0, 0, 4), 1)
    p.copy(p.slice(y, 0, 0, 3), p.slice(t, 0, 1, 3))
    p.copy(p.slice(y, 0, 3, 3), p.slice(t, 0, 2, 3))
    with pytest.raises(IRError, match=r"t_3 is read and was never computed \(1 of 3 elements: \[2\]\)"):
        bind(p.build(y), {})


@pytest.mark.parametrize(("start", "length", "step"), [(-1, 2, 1), (0, 7, 1), (5, 2, 1), (1, 3, 3), (0, 4, -1)])
def test_views_lie_inside(start: int, length: int, step: int) -> None:
    p = HostBuilder("p")
    n = p.size("n")
    y = p.output("y", F32, (n,))
    p.fill(p.slice(p.slice(y, 0, 0, n), 0, start, n - 6 + length, step), 1)
    with pytest.raises(ShapeError, match=r"y_2 is a view of elements .*, which has 6: y_2 -> y_1 -> y"):
        bind(p.build(), {"n": 6})


def test_shapes_and_steps_and_sizes_make_sense() -> None:
    p = HostBuilder("p")
    n, m = p.size("n"), p.size("m")
    x, y = p.input("x", F32, (n,)), p.output("y", F32, (m,))
    p.copy(y, x)
    copying = p.build(y)
    with pytest.raises(ShapeError, match=r"a copy of shape \(3,\) to shape \(4,\)"):
        bind(copying, {"n": 3, "m": 4})
    with pytest.raises(IRError, match="called without the size m"):
        bind(copying, {"n": 3})
    p = HostBuilder("p")
    n = p.size("n")
    with p.for_(0, 5, n):
        p.alloc(F32, (n - 4,))
    with pytest.raises(ShapeError, match=r"the step of i\.0 is 0"):
        bind(p.build(), {"n": 0})
    with pytest.raises(ShapeError, match=r"has the shape \(-1,\)"):
        bind(p.build(), {"n": 3})


def test_pointers_are_aligned_as_the_kernel_wants() -> None:
    p = HostBuilder("p")
    n = p.size("n")
    x, y = p.input("x", F32, (64,)), p.output("y", F32, (64,))
    p.launch(WIDE, (p.slice(x, 0, n, 16), y), (4,))
    program = p.build(y)
    assert len(bind(program, {"n": 8}).nodes) == 1
    with pytest.raises(ShapeError, match="x_1 begins at byte 24, and wide wants it aligned to 16: x_1 -> x"):
        bind(program, {"n": 6})


def test_a_kernel_touches_no_more_than_there_is() -> None:
    p = HostBuilder("p")
    n = p.size("n")
    x, y = p.input("x", F32, (n,)), p.output("y", F32, (n,))
    p.launch(SCALE, (n + 1, x, y), (n,))
    with pytest.raises(ShapeError, match="x has 7 elements, of which scale may touch 8"):
        bind(p.build(y), {"n": 7})


def test_a_copy_does_not_overlap_itself() -> None:
    p = HostBuilder("p")
    y = p.output("y", F32, (8,))
    p.fill(y, 0)
    p.copy(p.slice(y, 0, 1, 4), p.slice(y, 0, 0, 4))
    with pytest.raises(ShapeError, match="a copy between parts that overlap"):
        bind(p.build(y), {})


def test_division_by_a_size_that_is_zero() -> None:
    n = Symbol("n")
    with pytest.raises(ShapeError, match="7 divided by a size that is 0"):
        value(7 // n, {"n": 0})
    with pytest.raises(IRError, match="the size 'n' is not bound"):
        value(n, {})


# ---------------------------------------------------------------------- streams and waits


def test_dependent_work_stays_on_a_stream_and_independent_work_spreads() -> None:
    large = {"n": 10**9}
    assert {node.stream for node in place_streams(bind(chain(9), large), 4).nodes} == {0}
    p = HostBuilder("fan")
    n = p.size("n")
    x = p.input("x", F32, (n,))
    ends = []
    for _ in range(4):
        now = x
        for _ in range(3):
            new = p.alloc(F32, (n,))
            p.launch(SCALE, (n, now, new), (n,))
            now = new
        ends.append(now)
    program = p.build(*ends)
    streams = [node.stream for node in place_streams(bind(program, large), 4).nodes]
    assert [set(streams[at : at + 3]) for at in range(0, 12, 3)] == [{0}, {1}, {2}, {3}]
    tiny = place_streams(bind(program, {"n": 10}), 4, Costs(start=1e-7))
    assert {node.stream for node in tiny.nodes} == {0}  # not worth a wait


def test_long_loops_over_few_bytes_spread() -> None:
    """By their operations: 4 KiB each, and as many turns as it takes. As long in all, by one work-item or by many."""

    def streams(turns: int, n: int) -> set[int | None]:
        p = HostBuilder("loops")
        x = p.input("x", F32, (n,))
        ends = [p.alloc(F32, (n,)) for _ in range(2)]
        for out in ends:
            p.launch(LOOP, (turns, x, out), (n,))
        return {node.stream for node in place_streams(bind(p.build(*ends), {}), 4).nodes}

    assert streams(turns=10**6, n=1024) == {0, 1}
    assert streams(turns=10**5, n=1) == {0, 1}  # one after the other, by a single work-item
    assert streams(turns=10**3, n=2**20) == {0, 1}  # many, though each by itself is soon done
    assert streams(turns=10, n=1024) == {0}
    assert streams(turns=10, n=1) == {0}


def test_streams_are_taken_modulo_their_number() -> None:
    schedule = place_streams(bind(chain(6, streams=6), {"n": 4}), 2)
    assert [node.stream for node in schedule.nodes] == [0, 1, 0, 1, 0, 1]


def test_waits_are_the_fewest() -> None:
    p = HostBuilder("diamond")
    n = p.size("n")
    x, y = p.input("x", F32, (n,)), p.output("y", F32, (n,))
    a, b, c = (p.alloc(F32, (n,), name) for name in "abc")
    for stream, (one, two) in enumerate([(x, a), (a, b), (a, c)]):
        with p.stream(stream):
            p.launch(SCALE, (n, one, two), (n,))
    with p.stream(1):
        p.launch(ADD, (n, a, c, y), (n,))  # a comes before c, which it waits for
        p.launch(ADD, (n, b, c, y), (n,))
    schedule = place_waits(place_streams(bind(p.build(y), {"n": 4}), 4))
    assert [node.waits for node in schedule.nodes] == [(), (0,), (0,), (2,), ()]


def test_every_wait_is_needed() -> None:
    schedule = ready(chain(8, streams=3), n=100)
    verify_order(schedule)
    waits = [(number, wait) for number, node in enumerate(schedule.nodes) for wait in node.waits]
    assert waits
    for number, wait in waits:
        nodes = list(schedule.nodes)
        nodes[number] = replace(nodes[number], waits=tuple(one for one in nodes[number].waits if one != wait))
        with pytest.raises(VerifyError, match=f"nothing orders node {number}") as caught:
            verify_order(replace(schedule, nodes=tuple(nodes)))
        assert f">{number:5} stream" in caught.value.place


def test_columns_on_two_streams_need_no_wait() -> None:
    p = HostBuilder("columns")
    y = p.output("y", F32, (16, 6))
    for column in range(6):
        with p.stream(column % 2):
            p.fill(p.slice(y, 1, column, 1), column)
    assert all(not node.waits for node in ready(p.build(y)).nodes)


def test_a_schedule_prints_itself() -> None:
    lines = text(ready(chain(3, streams=2), n=4)).splitlines()
    assert lines[0] == "     0 stream 0: scale: reads x[0…16], writes t[0…16]"
    assert lines[1] == "     1 stream 1 after 0: scale: reads t[0…16], writes t[0…16]"


# ---------------------------------------------------------------------- in place


def test_results_are_written_over_operands_that_die() -> None:
    """The whole chain runs in the memory of its result; the kernel no longer promises that its parameters are apart."""
    p = HostBuilder("p")
    n = p.size("n")
    now = p.input("x", F32, (n,))
    for _ in range(4):
        new = p.alloc(F32, (n,), "t")
        p.launch(RESTRICTED, (n, now, new), (n,))
        now = new
    schedule, decided = reuse_in_place(bind(p.build(now), {"n": 64}), KernelCache())
    assert [(one.operand, one.reason) for one in decided] == [
        ("", "x is the caller's"),
        ("t", ""),
        ("t_1", ""),
        ("t_2", ""),
    ]
    assert (
        len({place.buffer for place in schedule.results} | {access.buffer for access in schedule.nodes[2].accesses})
        == 1
    )
    assert plan_memory(place_streams(schedule, 1))[1].arena == 0
    kernels = [node.command.kernel for node in schedule.nodes if isinstance(node.command, Launch)]
    assert [any(param.restrict for param in kernel.params) for kernel in kernels] == [True, False, False, False]
    host = np.arange(64, dtype="f4")
    assert np.array_equal(run(p.build(now), {"n": 64}, {"x": host})[0], scaled(scaled(scaled(scaled(host)))))


def scaled(host: np.ndarray) -> np.ndarray:
    return host * np.float32(0.5) + np.float32(1)


def test_a_donated_input_is_written_over() -> None:
    p = HostBuilder("p")
    n = p.size("n")
    x, t = p.input("x", F32, (n,), donated=True), p.alloc(F32, (n,), "t")
    p.launch(SCALE, (n, x, t), (n,))
    schedule, decided = reuse_in_place(bind(p.build(t), {"n": 8}), KernelCache())
    assert decided[0].operand == "x"
    assert schedule.buffers[schedule.results[0].buffer].kind == "donated"


@pytest.mark.parametrize(
    ("reason", "make"),
    [
        ("x is the caller's", lambda p, n, x, a, t: p.launch(SCALE, (n, x, t), (n,))),
        (
            "a is needed later",
            lambda p, n, x, a, t: (p.launch(SCALE, (n, a, t), (n,)), p.launch(SCALE, (n, a, t), (n,))),
        ),
        ("a is read in several ways", lambda p, n, x, a, t: p.launch(ADD, (n, a, a, t), (n,))),
        ("the kernel reads no operand element by element", lambda p, n, x, a, t: p.launch(REVERSED, (n, a, t), (n,))),
        ("a has another size", lambda p, n, x, a, t: p.launch(SCALE, (n // 2, p.slice(a, 0, 0, n // 2), t), (n,))),
    ],
)
def test_what_is_not_written_in_place_has_a_reason(reason: str, make: Any) -> None:
    p = HostBuilder("p")
    n = p.size("n")
    x, a = p.input("x", F32, (n,)), p.alloc(F32, (n,), "a")
    p.copy(a, x)
    t = p.alloc(F32, (n if "size" not in reason else n // 2,), "t")
    make(p, n, x, a, t)
    _, decided = reuse_in_place(bind(p.build(t), {"n": 64}), KernelCache())
    assert [(one.operand, one.reason) for one in decided if one.result == "t"] == [("", reason)]


def test_regression_two_results_of_one_launch_have_two_memories() -> None:
    p = HostBuilder("two")
    n = p.size("n")
    x, a = p.input("x", F32, (n,)), p.alloc(F32, (n,), "a")
    b, c = p.alloc(F32, (n,), "b"), p.alloc(F32, (n,), "c")
    p.copy(a, x)
    p.launch(BOTH, (n, a, b, c), (n,))
    for results in ((b, c), (c,), (b,)):
        schedule, decided = reuse_in_place(bind(p.build(*results), {"n": 8}), KernelCache())
        accesses = schedule.nodes[1].accesses
        assert len({access.buffer for access in accesses if access.mode == WRITE}) == 2
        assert [one.operand for one in decided if one.node == 1] == ["a", ""]


def test_regression_a_written_input_is_not_written_over() -> None:
    """Only a donated one may come to hold something else than what its commands left there."""
    for how, operand in (({"written": True}, ""), ({"donated": True}, "x")):
        p = HostBuilder("p")
        n = p.size("n")
        x, t = p.input("x", F32, (n,), **how), p.alloc(F32, (n,), "t")
        p.fill(x, 3)
        p.launch(SCALE, (n, x, t), (n,))
        _, decided = reuse_in_place(bind(p.build(t), {"n": 8}), KernelCache())
        assert decided[0].operand == operand


# ---------------------------------------------------------------------- memory


def test_a_chain_needs_two_buffers() -> None:
    schedule, memory = plan_memory(place_streams(bind(chain(50), {"n": 64}), 1))
    assert (memory.arena, memory.bound, memory.unshared) == (512, 512, 49 * 256)
    verify_order(place_waits(schedule))


def test_sharing_memory_adds_no_wait() -> None:
    """Two chains on two streams share nothing across streams, though program order would let them."""
    p = HostBuilder("two")
    n = p.size("n")
    x = p.input("x", F32, (n,))
    ends = []
    for stream in range(2):
        now = x
        for _ in range(6):
            new = p.alloc(F32, (n,))
            with p.stream(stream):
                p.launch(SCALE, (n, now, new), (n,))
            now = new
        ends.append(now)
    placed = place_streams(bind(p.build(*ends), {"n": 64}), 2)
    shared, memory = plan_memory(placed)
    assert sum(len(node.waits) for node in place_waits(shared).nodes) == 0
    assert memory.arena == 4 * 256
    assert (memory.bound, memory.live) == (4 * 256, 2 * 256)
    forced, memory = plan_memory(placed, limit=2 * 256)
    assert memory.by_program_order
    assert memory.arena == 2 * 256
    waiting = place_waits(forced)
    verify_order(waiting)
    assert sum(len(node.waits) for node in waiting.nodes) > 0


def test_results_and_parameters_are_not_in_the_arena() -> None:
    schedule, _ = plan_memory(place_streams(bind(chain(3), {"n": 64}), 1))
    kinds = {buffer.id: buffer.kind for buffer in schedule.buffers}
    assert {kinds[buffer] for buffer in schedule.offsets} == {"scratch"}
    assert sorted(kinds.values()) == ["input", "result", "scratch", "scratch"]


def test_views_of_other_dtypes_see_the_same_bytes() -> None:
    p = HostBuilder("p")
    y = p.output("y", F32, (4,))
    seen = p.view(y, SymbolicLayout((4,), (1,), 0), dtype=U32)
    p.fill(seen, 0x3F800000)
    out = np.zeros(4, "f4")
    run(p.build(y), {}, {"y": out})
    np.testing.assert_array_equal(out, 1)


def test_streams_of_a_plan_are_found_from_few_pairs_however_many_launches_write_an_array(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = 80
    runtime = InterpretedRuntime()
    with xp.use(runtime):  # type: ignore[arg-type]
        x = xp.asarray(np.ones((count, 4), np.float32)).compute()
        with monkeypatch.context() as patch:
            patch.setattr(core, "BOUND", 10**6)  # it is one plan
            for row in range(1, count):
                x[row] = x[row] - x[row - 1] * 0.5
        planned = runtime.plans.plan(Structure([x._node]), runtime)
    assert len(planned.launches) == count - 1
    found = conflicts(planned.sized.schedule)
    assert found[-1] == [count - 3]
    assert sum(map(len, found)) == count - 2
