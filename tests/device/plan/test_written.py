"""Evaluations that come again: the function that is written for them does what the general way does, and leaves alone
whatever is not as it was."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.source_line import calling_line
from ocl_runtime.device import Device
from ocl_runtime.errors import LaunchError, OutOfMemoryError
from ocl_runtime.execute.driver import Error
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.memory.pool import NoRoomError
from ocl_runtime.plan import evaluate
from ocl_runtime.plan.cache import known_lines, plans
from ocl_runtime.plan.cache.comparison import Text
from ocl_runtime.plan.cache.known_lines import WORTH
from ocl_runtime.runtime import Runtime
from tests.support.arrays import counting
from tests.support.lives import parts_of

HOST = np.arange(1000, dtype="f4")
TURNS = WORTH + 6


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


@pytest.fixture
def by_function(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each evaluation whether a written function did it; twice where a plan had to be made first."""
    found: list[bool] = []
    repeated = evaluate._repeated

    def noted(*given: Any, into: bool = False) -> Any:
        results = repeated(*given, into=into)
        found.append(results is not None)
        return results

    monkeypatch.setattr(evaluate, "_repeated", noted)
    return found


def test_a_loop_in_place(runtime: Runtime, by_function: list[bool]) -> None:
    """No memory is allocated, every turn is a hit, and a function does it from the ninth on."""
    x, expected = ocl.asarray(HOST) + 0, HOST
    x.compute()
    with counting(runtime) as counted:
        for turn in range(TURNS):
            number = np.float32(turn) * np.float32(0.25)
            x, expected = x * number.item() + 1.0, expected * number + np.float32(1)
            x.compute()
            np.testing.assert_allclose(x.numpy(), expected, rtol=1e-6)
    assert by_function[-TURNS + WORTH - 1 :] == [False] + [True] * (TURNS - WORTH)
    assert counted["memory", "created"] == 0
    assert counted["plan", "hits"] == TURNS - 1
    assert counted["plan", "misses"] == 1
    assert counted["launch", "launches"] == TURNS


def test_signs_of_zero_and_special_numbers(runtime: Runtime, by_function: list[bool]) -> None:
    x = ocl.asarray(np.ones(8, "f4"))
    for number in [0.0, -0.0] * TURNS + [float("inf"), float("nan"), -0.0, 0.0]:
        found = (x * number).numpy()
        np.testing.assert_array_equal(found, np.float32(number) * np.ones(8, "f4"))
        assert np.signbit(found).tolist() == [np.signbit(number)] * 8
    assert by_function[-4:] == [True] * 4


def stepped(x: Any) -> Any:
    """At one line, wherever it is called."""
    return x + 1.0


def evaluated_often(make: Callable[[int], Any]) -> None:
    for turn in range(TURNS):
        make(turn).compute()


def test_one_line_for_several_shapes_and_dtypes(runtime: Runtime, by_function: list[bool]) -> None:
    arrays = [HOST, HOST[:10], HOST.astype("i4"), HOST.reshape(10, 100)]
    given = [ocl.asarray(host) for host in arrays]
    for turn in range(4 * TURNS):
        found = given[turn % 4] * 3 + given[turn % 4]
        np.testing.assert_array_equal(found.numpy(), arrays[turn % 4] * 4)
    assert all(by_function[-4:])


def test_what_others_hold_is_left_alone(runtime: Runtime, by_function: list[bool]) -> None:
    """Memory that nobody else held in the turns before, and that somebody holds now, is not written over."""
    x, kept = ocl.asarray(HOST) + 0, None
    x.compute()
    for turn in range(TURNS):
        if turn == TURNS - 2:
            kept = x
        x = x + 1.0
        x.compute()
    assert kept is not None
    assert by_function[-4:] == [True, False, False, True]
    np.testing.assert_array_equal(kept.numpy(), HOST + TURNS - 2)
    np.testing.assert_array_equal(x.numpy(), HOST + TURNS)


def test_a_part_that_others_hold_is_computed_from_what_was_there(runtime: Runtime, by_function: list[bool]) -> None:
    x, held = ocl.asarray(HOST) + 0, []
    x.compute()
    for turn in range(TURNS):
        part = x * 2.0
        if turn == TURNS - 1:
            held.append(part)
        x = part + 1.0
        del part
        x.compute()
    expected = HOST.astype("f8")
    for _ in range(TURNS - 1):
        expected = expected * 2 + 1
    assert by_function[-3:] == [True, False, False]
    np.testing.assert_allclose(held[0].numpy(), expected * 2, rtol=1e-6)
    np.testing.assert_allclose(x.numpy(), expected * 2 + 1, rtol=1e-6)


def test_an_array_that_is_used_twice_where_two_were(runtime: Runtime, by_function: list[bool]) -> None:
    x, y = ocl.asarray(HOST), ocl.asarray(HOST + 1)

    def product(left: Any, right: Any) -> Any:
        return left * right

    evaluated_often(lambda turn: product(x, y))
    np.testing.assert_array_equal(product(x, x).numpy(), HOST * HOST)
    np.testing.assert_array_equal(product(x, y).numpy(), HOST * (HOST + 1))
    assert by_function[-3:] == [False, False, True]


def test_who_has_built_on_a_result_finds_it(runtime: Runtime, by_function: list[bool]) -> None:
    x, expected = ocl.asarray(HOST), HOST * 2 + 1
    for _ in range(TURNS):
        y = x * 2.0
        later = y + 1.0
        y.compute()
        with counting(runtime) as counted:
            np.testing.assert_array_equal(later.numpy(), expected)
        assert counted["launch", "launches"] == 1
        assert "mul" not in str(ocl.explain(later))
        del y, later
    assert any(by_function)


def test_several_results_and_scratch_memory(runtime: Runtime, by_function: list[bool]) -> None:
    x = ocl.asarray(HOST)
    for turn in range(TURNS):
        total = ocl.sum(x) * 1.0
        y, z = x / total, x - total * float(turn)
        del total
        ocl.compute(y, z)
        np.testing.assert_allclose(y.numpy(), HOST / HOST.sum(), rtol=1e-6)
        np.testing.assert_allclose(z.numpy(), HOST - HOST.sum() * np.float32(turn), rtol=1e-6)
        del y, z
    assert by_function[-1]


def test_compute_into(runtime: Runtime, by_function: list[bool]) -> None:
    x, out = ocl.asarray(HOST), ocl.asarray(np.zeros(1000, "f4"))
    with counting(runtime) as counted:
        for turn in range(TURNS):
            ocl.compute_into(out, x * float(turn) + 1.0)
            np.testing.assert_array_equal(out.numpy(), HOST * np.float32(turn) + 1)
    assert by_function[-TURNS + WORTH - 1 :] == [False] + [True] * (TURNS - WORTH)
    assert counted["memory", "allocations"] == 0
    # Over memory that it reads, it is another plan.
    ocl.compute_into(out, out[::-1] + 0.0)
    np.testing.assert_array_equal(out.numpy(), (HOST * np.float32(TURNS - 1) + 1)[::-1])


def test_a_launch_that_the_driver_refuses(
    runtime: Runtime, by_function: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memory that it should have written over is in error, and nothing else."""
    x, y = ocl.asarray(HOST) + 0, ocl.asarray(HOST)
    x.compute()
    for _ in range(WORTH + 40):  # until its launch has a kernel object of its own
        x = stepped(x)
        x.compute()
    assert by_function[-1]

    def refuse(*_: Any) -> Any:
        raise Error("out of resources", -5)

    runtime.finish()
    x = stepped(x)
    with monkeypatch.context() as patch:
        patch.setattr(runtime.executor.engine.driver, "enqueue", refuse)
        with pytest.raises(LaunchError, match="kernel"):
            x.compute()
    with pytest.raises(LaunchError, match="written over"):
        x.numpy()
    for _ in range(3):
        y = stepped(y)
        y.compute()
    np.testing.assert_array_equal(y.numpy(), HOST + 3)
    assert by_function[-2:] == [True, True]


@pytest.mark.parametrize("ask", [lambda x: float(ocl.sum(x)), lambda x: float(x[3])], ids=["a sum", "an element"])
def test_values_that_somebody_holds_are_kept(
    runtime: Runtime, by_function: list[bool], ask: Callable[[Any], float]
) -> None:
    """A loop that asks for a value in each turn stores its state by a function, and plans and allocates nothing."""
    x, expected = ocl.asarray(HOST[:8]) + 0, HOST[:8]
    x.compute()
    for _ in range(2 * TURNS):  # until the element is read at one line
        x, expected = x * 0.5 + 1.0, expected * np.float32(0.5) + np.float32(1)
        ask(x)
    with counting(runtime) as counted:
        for _ in range(TURNS):
            x, expected = x * 0.5 + 1.0, expected * np.float32(0.5) + np.float32(1)
            asked = ask(x)
            assert not x._node.args, "it is in memory"
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-6)
    assert asked == pytest.approx(float(np.sum(expected)) if "sum" in ask.__code__.co_names else float(expected[3]))
    assert by_function[-TURNS:] == [True] * TURNS
    assert counted["plan", "misses"] == 0
    assert counted["memory", "created"] == 0


def test_what_nobody_holds_is_not_kept(runtime: Runtime, by_function: list[bool]) -> None:
    """The function for an expression of which somebody holds a part does nothing where nobody does."""
    held = list[Any]()

    def total(hold: bool) -> float:
        part = ocl.asarray(HOST) * 0.5  # the last that needs this memory
        whole = ocl.sum(part)
        if hold:
            held[:] = [part]
        del part
        return float(whole)

    for _ in range(TURNS):
        expected = total(True)
    assert by_function[-1]
    assert not held[0]._node.args
    assert total(False) == expected
    assert not by_function[-1]
    assert total(True) == expected
    np.testing.assert_array_equal(held[0].numpy(), HOST * np.float32(0.5))


def test_values_that_stay_expressions(runtime: Runtime, by_function: list[bool]) -> None:
    """What is cheap to compute again is left out by the function, too: once, and while others hold its memory."""
    x = ocl.asarray(HOST)

    def more(value: Any) -> Any:
        return (value + 1.0).compute()

    for _ in range(TURNS):
        named = x * 2.0
        more(named)
        assert named._node.args, "it is an expression"
    assert by_function[-TURNS + WORTH :] == [True] * (TURNS - WORTH)

    np.testing.assert_array_equal(more(named).numpy(), HOST * 2 + 1)
    assert not by_function[-1]
    assert not named._node.args, "no evaluation leaves it out twice"

    y = ocl.asarray(HOST + 1)
    other, named = y * 3.0, y * 2.0
    del y  # no array is that memory any more
    np.testing.assert_array_equal(more(named).numpy(), HOST * 2 + 3)
    assert not by_function[-1]
    assert not named._node.args
    np.testing.assert_array_equal(named.numpy() + other.numpy(), HOST * 5 + 5)


def test_what_is_not_written_yet_holds_no_memory(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the evaluation fails, and nobody writes the function."""
    x = ocl.asarray(HOST)
    x.compute()

    def stepped(value: Any) -> Any:
        return (value * 2.0 + 1.0).compute()

    for _ in range(WORTH - 1):
        stepped(x)
    runtime.finish()
    live = runtime.statistics()["memory"]["live"]

    def fails(*given: object) -> None:
        raise LaunchError("planted")

    y = ocl.asarray(HOST + 1)
    with monkeypatch.context() as patched:
        patched.setattr(type(runtime.executor), "run", fails)
        with pytest.raises(LaunchError, match="planted"):
            stepped(y)
    assert runtime.executor.plans.lines.unwritten
    del y
    gc.collect()
    runtime.finish()
    assert runtime.statistics()["memory"]["live"] == live


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError])
def test_a_function_whose_writing_is_cut_off_is_written_later(
    runtime: Runtime, by_function: list[bool], monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    x, function, failures = ocl.asarray(HOST), Text.function, []

    def fails(text: Text) -> Any:
        if not failures:
            failures.append(text)
            raise error
        return function(text)

    monkeypatch.setattr(Text, "function", fails)
    interrupts = 0
    for _ in range(3 * WORTH):
        try:
            np.testing.assert_array_equal((x * 2.0 + 1.0).compute().numpy(), HOST * 2 + 1)
        except KeyboardInterrupt:
            interrupts += 1
    assert interrupts == (error is KeyboardInterrupt)
    assert failures
    assert by_function[-1]


def test_a_function_that_finds_no_memory_has_left_nothing_out(
    runtime: Runtime, by_function: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, memory, refused = ocl.asarray(HOST), runtime.executor.device_memory, list[int]()
    allocate = memory.allocate

    def scarce(nbytes: int, *more: Any, **named: Any) -> Any:
        if refused:
            refused.pop()
            raise OutOfMemoryError("planted")
        return allocate(nbytes, *more, **named)

    monkeypatch.setattr(memory, "allocate", scarce)

    def more(value: Any) -> Any:
        return (value + 1.0).compute()

    for _ in range(TURNS):
        named = x * 2.0
        more(named)
    assert by_function[-1]
    refused.append(1)
    named = x * 2.0
    more(named)
    assert not refused
    assert not by_function[-1]
    assert named._node.args, "it is an expression still"


def test_no_memory_goes_the_general_way(
    runtime: Runtime, by_function: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = ocl.asarray(HOST)
    evaluated_often(lambda _: stepped(x))
    assert by_function[-1]
    pool = runtime.executor.engine.memory.device_pool
    allocate, asked = pool.allocate, [0]

    def later(*given: Any, **named: Any) -> Any:
        asked[0] += 1
        if asked[0] <= 2:  # for the function, and again once all have given up what they can
            raise NoRoomError("no room")
        return allocate(*given, **named)

    monkeypatch.setattr(pool, "allocate", later)
    monkeypatch.setattr(pool, "passed_on", lambda *given: None)
    np.testing.assert_array_equal(stepped(x).numpy(), HOST + 1)
    assert asked[0] == 3
    assert not by_function[-1]


def test_errors_name_the_line_of_the_program(
    runtime: Runtime, by_function: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one of the function that was written for it."""
    x, lines = ocl.asarray(HOST), list[str]()
    pool = runtime.executor.engine.memory.device_pool
    allocate = pool.allocate

    def noted(nbytes: int, stream: Any, where: Any, holder: Any, **named: Any) -> Any:
        lines.extend([str(where), calling_line()])
        return allocate(nbytes, stream, where, holder, **named)

    monkeypatch.setattr(pool, "allocate", noted)
    evaluated_often(lambda _: stepped(x))
    assert by_function[-1]
    assert {line.rpartition(":")[0] for line in lines} == {__file__}


def test_not_while_a_function_is_captured(runtime: Runtime, by_function: list[bool]) -> None:
    x = ocl.asarray(HOST)

    def work(value: Any) -> Any:
        return value * 2.0 + 1.0

    evaluated_often(lambda turn: work(x))
    captured = ocl.capture(work)
    for size in (1000, 1000, 500):
        np.testing.assert_array_equal(captured(x[:size]).numpy(), HOST[:size] * 2 + 1)


def test_a_runtime_with_written_functions_is_freed(device: Device, engine: Engine) -> None:
    def used() -> list[weakref.ref[Any]]:
        runtime = Runtime(device, engine.settings)
        with ocl.use(runtime):
            x = ocl.asarray(HOST)
            evaluated_often(lambda _: stepped(x))
        runtime.finish()
        return parts_of(runtime)

    parts = used()
    gc.collect()
    assert [part() for part in parts] == [None, None, None]


def functions(runtime: Runtime) -> list[Any]:
    return [
        known
        for of_line in runtime.executor.plans.lines.known.values()
        for known in of_line
        if known.evaluate is not None
    ]


def test_plans_that_go_take_their_functions_along(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    x = ocl.asarray(HOST)
    evaluated_often(lambda _: stepped(x))
    assert len(functions(runtime)) == 1
    with monkeypatch.context() as patch:
        patch.setattr(runtime.executor.plans, "_limit", 1)  # the next structure drives it out
        (x * 2.0).compute()
    assert not functions(runtime)
    monkeypatch.setattr(plans, "_MOST_ALIKE", 1)
    evaluated_often(lambda _: stepped(x))
    assert len(functions(runtime)) == 1
    stepped(x[1:]).compute()  # the same structure, and another plan: it is not aligned
    assert not functions(runtime)
    np.testing.assert_array_equal(stepped(x).numpy(), HOST + 1)


def test_sizes_that_come_once_drive_no_function_out(runtime: Runtime, by_function: list[bool]) -> None:
    x = ocl.asarray(HOST)
    evaluated_often(lambda _: stepped(x))
    assert by_function[-1]
    for first in range(8, 160, 8):
        stepped(x[first:]).compute()
        assert not by_function[-1]
    stepped(x).compute()
    assert by_function[-1]
    assert len(next(iter(runtime.executor.plans.lines.known.values()))) == 1, "none of these is known"


def test_plans_come_and_go_while_others_evaluate(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans are made and dropped without the lock under which others evaluate."""
    monkeypatch.setattr(runtime.executor.plans, "_most_bytes", 100_000)
    monkeypatch.setattr(known_lines, "WORTH", 10**9)
    work = [lambda x: x + 1.0, lambda x: ocl.sin(x) * x, lambda x: x - x * x, lambda x: ocl.sum(x) + x]
    errors: list[BaseException] = []

    def evaluate_often(which: int) -> None:
        x = ocl.asarray(HOST[: 100 + which])
        try:
            with ocl.use(runtime):
                for turn in range(60):
                    exec(f"def made(x, work): return work(x)\n{chr(10) * turn}", {}, local := {})
                    local["made"](x[turn % 7 :], work[(turn + which) % 4]).compute()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=evaluate_often, args=(which,)) for which in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not errors
    statistics = runtime.executor.plans.statistics
    assert statistics.nbytes == sum(kept.nbytes for kept in runtime.executor.plans._kept.values())


def test_an_array_that_was_kept_from_a_captured_function(runtime: Runtime) -> None:
    kept: list[Any] = []

    def work(value: Any) -> Any:
        kept.append(value * 2.0)
        kept[-1].compute()
        return kept[-1] + 1.0

    x, out = ocl.asarray(HOST), ocl.asarray(HOST)
    ocl.capture(work)(x)

    def write(value: Any) -> None:
        value[2:5] = stepped(value[3:6])
        value.compute()

    for _ in range(TURNS):
        stepped(x).compute()
        ocl.compute_into(out, stepped(x))
        write(out)
    with pytest.raises(ocl.Error, match="kept from a captured function"):
        stepped(kept[0]).compute()
    with pytest.raises(ocl.Error, match="kept from a captured function"):
        write(kept[0])
    with pytest.raises(ocl.Error, match="kept from a captured function"):
        ocl.compute_into(out, stepped(kept[0]))


def test_after_a_time_without_memory_values_on_the_way_are_kept_again(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, column = ocl.asarray(HOST), ocl.asarray(np.ones((3, 1), "f4"))
    allocate = runtime.executor.allocate

    def short(nbytes: int, where: Any = "", **more: Any) -> Any:
        if nbytes == 3 * HOST.nbytes:
            raise evaluate.OutOfMemoryError("no room")
        return allocate(nbytes, where, **more)

    def launches(is_short: bool) -> int:
        """Of asking for a value that an evaluation had on its way."""
        start = stepped(x)
        start.compute()
        value = ocl.sin(start) * column
        del start
        with monkeypatch.context() as patch:
            if is_short:
                patch.setattr(runtime.executor, "allocate", short)
            ocl.sum(value * value).compute()
        with counting(runtime) as counted:
            value.compute()
        return counted["launch", "launches"]

    assert [launches(False) for _ in range(3)] == [0, 0, 0]
    assert {launches(True) for _ in range(TURNS)} == {1}
    assert [launches(False) for _ in range(3)] == [0, 0, 0]


def test_a_loop_that_writes_in_place(runtime: Runtime, by_function: list[bool]) -> None:
    """Its parts of several turns are evaluated by a function, too, and move no more memory than the first ones."""

    def turns(u: Any, count: int) -> None:
        for _ in range(count):
            u[1:-1] = (u[:-2] + u[1:-1] + u[2:]) / 3

    x, expected = ocl.asarray(HOST[:50]), HOST[:50].copy()
    turns(x, 4000)
    with counting(runtime) as counted:
        turns(x, 1000)
    turns(expected, 5000)
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-5)
    assert any(by_function)
    assert counted["plan", "hits"] > 10
    assert counted["plan", "misses"] == 0
    assert counted["memory", "created"] == 0


@pytest.mark.parametrize("look", ["holds a view", "reads an element", "is another library"])
def test_writes_that_somebody_looks_at(runtime: Runtime, by_function: list[bool], look: str) -> None:
    """What others need of memory that is written over is copied before: no function does that."""

    def write(x: Any, other: Any) -> None:
        x[2:5] = other + 1.0
        x.compute()

    x, other, expected = ocl.asarray(HOST[:40]), ocl.asarray(np.ones(3, "f4")), HOST[:40].copy()
    for _ in range(TURNS):
        write(x, other)
    expected[2:5] = 2
    assert by_function[-1]
    if look == "holds a view":
        pending = x[1:6] * 2
    elif look == "reads an element":
        pending = x[3]
    else:
        lent, pending = x.to_pyopencl(), None
    before, shared = len(by_function), expected.copy()
    other = ocl.asarray(np.full(3, 7, "f4"))
    write(x, other)
    expected[2:5] = 8
    assert not by_function[before]
    np.testing.assert_array_equal(x.numpy(), expected)
    if pending is None:
        np.testing.assert_array_equal(lent.get(), shared, "a write gives the array memory of its own")
    else:
        wanted = shared[1:6] * 2 if look == "holds a view" else shared[3]
        np.testing.assert_array_equal(np.asarray(pending), wanted)
    del pending
    write(x, other)
    assert by_function[-1]
