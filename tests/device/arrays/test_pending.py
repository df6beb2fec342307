"""Long pending work is started by itself, in parts that share a plan; nobody has to know when to call `compute`."""

from __future__ import annotations

import contextvars
import gc
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.graph.build import Buffer
from ocl_runtime.arrays import core, pending
from ocl_runtime.arrays.pending import BOUND
from ocl_runtime.device import Device
from ocl_runtime.errors import OutOfMemoryError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.observe.commands import Logged, Recording
from ocl_runtime.plan.cache.plans import PlanCache
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same, counting
from tests.support.lives import parts_of
from tests.support.loops import LOOPS, heat, waves

HOST = np.random.default_rng(0).random((24, 32), "f4")
TURNS = 700


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_without_compute_has_a_few_plans(runtime: Runtime, name: str) -> None:
    step, arrays = LOOPS[name]
    turns = {"waves": TURNS, "pendulum": TURNS, "averages": TURNS, "long": 30}.get(name, TURNS // 4)
    state = [ocl.asarray(HOST + number) for number in range(arrays)]
    runtime.finish()
    with counting(runtime) as counted:
        for _ in range(turns):
            state = step(state)
        assert sum(x._node.depth for x in state) <= 2 * 8 * BOUND, "it was cut"
        found = [x.numpy() for x in state]
    assert counted["plan", "misses"] <= 4
    assert counted["launch", "compiled"] <= 9
    state = [ocl.asarray(HOST + number) for number in range(arrays)]
    for _ in range(turns):
        state = step(state)
        ocl.compute(*state)
    for one, x in zip(found, state, strict=True):
        np.testing.assert_allclose(one, x.numpy(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["heat", "fields", "pendulum"])
def test_what_is_pending_is_looked_through_once_a_part(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Also where a loop has arrays that do not belong to the part which is computed: `fields` looked in each turn."""
    step, arrays = LOOPS[name]

    def run() -> None:
        state = [ocl.asarray(HOST + number) for number in range(arrays)]
        for _ in range(TURNS):
            state = step(state)
        ocl.compute(*state)

    run()
    looked: list[Any] = []
    chain = pending._chain
    monkeypatch.setattr(pending, "_chain", lambda *given: looked.append(given) or chain(*given))
    with counting(runtime) as counted:
        run()
    assert counted["plan", "hits"] >= 3, "it was cut"
    assert len(looked) <= 2 * counted["plan", "hits"]


def test_depths_are_noted_anew_from_below(runtime: Runtime) -> None:
    """Whatever they were: those of a chain that was looked through are right, and below them others are too high."""
    below = ocl.asarray(HOST) + 1
    above = below * 2
    below._node.depth, above._node.depth = 50, 3
    pending._measure([weakref.ref(above._node)])
    assert (below._node.depth, above._node.depth) == (1, 2)


def test_what_is_computed_while_its_depth_is_asked_for_has_none() -> None:
    """By another thread, or a handler of a signal: then it has no operands from one moment to the next."""

    class Fleeting:
        """Has operands when asked for the first time."""

        depth, cell = 300, None

        def __init__(self, *args: Any) -> None:
            self._answers = [args, ()]

        @property
        def args(self) -> Any:
            return self._answers.pop(0)

    below = Fleeting()
    below._answers = [()]
    assert pending._depth_below(Fleeting(below)) == 0  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["heat", "normalized"])
def test_parts_end_with_what_a_turn_hands_on(runtime: Runtime, name: str) -> None:
    """And not with a value in the middle of a statement, which happens to be where there is enough pending: what is
    computed first, the rest of that turn, and the turns from there on would be plans of their own."""
    step, _ = LOOPS[name]
    state = [ocl.asarray(HOST)]
    with counting(runtime) as counted:
        for _ in range(TURNS // 4):
            state = step(state)
        ocl.compute(*state)
    assert counted["plan", "misses"] == 2


def test_pending_memory_is_what_a_part_needs(runtime: Runtime) -> None:
    x, weights = ocl.asarray(HOST), ocl.asarray(np.eye(32, dtype="f4") * np.float32(0.999))
    runtime.finish()
    counters = runtime.executor.engine.memory.device_pool.counters
    before = counters.peak_in_use = counters.in_use
    for _ in range(TURNS):
        x = x @ weights
    x.compute()
    runtime.finish()
    assert runtime.executor.engine.memory.device_pool.counters.peak_in_use - before <= 4 * HOST.nbytes


def test_one_long_expression_is_not_cut(runtime: Runtime) -> None:
    source = "x" + "".join(f"*1.0{number % 7}" for number in range(2 * BOUND))
    x = ocl.asarray(HOST)
    with counting(runtime) as counted:
        y = eval(source, {"x": x})  # noqa: S307  # which is text of this test
        y = sum((ocl.sin(y), ocl.cos(y)), y)
    assert counted["launch", "launches"] == 0
    assert not isinstance(y._node, Buffer)


def test_nothing_is_started_in_a_captured_function(runtime: Runtime) -> None:
    @ocl.capture
    def many(x: Any) -> Any:
        for _ in range(BOUND):
            x = ocl.sin(x) * 1.01
        return x

    x = ocl.asarray(HOST)
    assert_same(many(x).numpy(), many(x).numpy())
    with counting(runtime) as counted:
        many(x)
    assert counted["plan", "misses"] == 0


def test_operators_do_not_raise_for_what_cannot_be_started(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    x, failed = ocl.asarray(HOST), []

    def refuse(*_: Any) -> None:
        failed.append(True)
        raise OutOfMemoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(core, "compute_node", refuse)
        for _ in range(4 * BOUND):
            x = ocl.sin(x) * 1.01
    assert 2 <= len(failed) <= 5, "each time after twice as much"
    assert not isinstance(x._node, Buffer)
    expected = ocl.asarray(HOST)
    for _ in range(4 * BOUND):
        expected = (ocl.sin(expected) * 1.01).compute()
    np.testing.assert_allclose(x.numpy(), expected.numpy(), rtol=1e-3)


def test_threads_have_loops_of_their_own(runtime: Runtime) -> None:
    expected = [ocl.asarray(HOST + number) for number in range(3)]
    for _ in range(TURNS // 2):
        expected = [(x * 0.99 + 0.5).compute() for x in expected]
    found: dict[int, Any] = {}

    def loop(number: int) -> None:
        with ocl.use(runtime):
            x = ocl.asarray(HOST + number)
            for _ in range(TURNS // 2):
                x = x * 0.99 + 0.5
            found[number] = x.numpy()

    threads = [threading.Thread(target=loop, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, x in enumerate(expected):
        np.testing.assert_allclose(found[number], x.numpy(), rtol=1e-4)


def _views(x: Any) -> Any:
    part = x[2:5]
    for _ in range(BOUND):
        part += 1
    return part


def _rows(x: Any) -> Any:
    for number in range(BOUND):
        x[number % 24] = x[(number + 1) % 24] * 0.5 + x[number % 24]
    return x


@pytest.mark.parametrize("work", [_views, _rows])
def test_writes_are_cut_too(runtime: Runtime, work: Callable[[Any], Any]) -> None:
    x, host = ocl.asarray(HOST), HOST.copy()
    found, expected = work(x), work(host)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4)
    np.testing.assert_allclose(x.numpy(), host, rtol=1e-4)


def test_a_part_runs_on_the_stream_where_it_was_built(device: Device, engine: Engine) -> None:
    """Whichever is chosen where it starts: here the part is long enough on one stream, and an operator starts it on
    another."""
    runtime = Runtime(device, replace(engine.settings, streams=4))
    runtime.executor.run_on(Engine(device, runtime.settings, driver=Recording))
    driver = runtime.executor.engine.driver
    assert isinstance(driver, Recording)

    def queues(begin: int) -> set[int]:
        return {entry.queue for entry in driver.log[begin:] if isinstance(entry, Logged)}

    with ocl.use(runtime):
        own: dict[int, int] = {}
        for number in (1, 2):
            x = ocl.asarray(HOST).compute()
            begin = len(driver.log)
            with ocl.stream(number):
                (x * 3).compute()
            (own[number],) = queues(begin)
        assert own[1] != own[2]
        x = ocl.asarray(HOST).compute()
        begin, registry = len(driver.log), runtime.executor.registry
        before = registry.evaluations
        with ocl.stream(2):
            while registry.pending.part is None:
                assert registry.evaluations == before
                x = ocl.sin(x) * 1.01
        with ocl.stream(1):
            more = x + 1
        assert registry.evaluations > before
        assert queues(begin) == {own[2]}
        with ocl.stream(1):
            more.compute()
        assert own[1] in queues(begin)


def test_nothing_is_started_amid_an_evaluation(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a finalizer or a handler of a signal may build expressions there."""
    x, runs = ocl.asarray(HOST), 0
    run = runtime.executor.run

    def built_meanwhile(plan: Any) -> None:
        nonlocal runs
        runs += 1
        y = x
        for _ in range(2 * BOUND + 1 if runs == 1 else 0):
            y = ocl.sin(y)
        run(plan)

    monkeypatch.setattr(runtime.executor, "run", built_meanwhile)
    assert_same((x + 1).numpy(), HOST + 1)
    assert runs == 1


def _thomas(x: Any) -> Any:
    for _ in range(BOUND):
        x[:, 1] = 0.5 / (x[:, 0] + 2.0)
        x[:, 0] = x[:, 1] * 0.25
    return x


def _diffused(x: Any) -> Any:
    for _ in range(BOUND):
        x = 0.5 * (x + ocl.roll(x, 1, axis=0))
    return x


def test_another_run_of_a_loop_has_the_plans_of_the_first_whatever_ran_between(runtime: Runtime) -> None:
    loops = [_rows, _diffused, _thomas]
    first = [loop(ocl.asarray(HOST)).numpy() for loop in loops]
    for loops_again in (range(3), reversed(range(3))):
        for number in loops_again:
            with counting(runtime) as counted:
                again = loops[number](ocl.asarray(HOST)).numpy()
            assert counted["plan", "misses"] == 0, loops[number].__name__
            assert_same(again, first[number])


def test_a_part_that_was_read_is_not_started_again(runtime: Runtime) -> None:
    """Nor is anything of the context kept in which it was scheduled."""
    mark: contextvars.ContextVar[object] = contextvars.ContextVar("mark")

    def loop() -> tuple[Any, weakref.ref[Mark]]:
        mark.set(Mark())
        x = ocl.asarray(HOST)
        while runtime.executor.registry.pending.part is None:
            x = x * 1.5
        return x, weakref.ref(mark.get())

    x, alive = contextvars.copy_context().run(loop)
    x.compute()
    with counting(runtime) as counted:
        y = x * 2
        del x
        gc.collect()
        assert alive() is None
        for _ in range(BOUND // 2):
            y = y + 1
    assert counted["launch", "launches"] == 0


class Mark:
    """What a user keeps in a context."""


def test_nothing_is_started_by_a_finalizer(runtime: Runtime) -> None:
    x = ocl.asarray(HOST)
    made: list[Any] = []

    class Final:
        def __del__(self) -> None:
            made.append(x * 2)

    while runtime.executor.registry.pending.part is None:
        x = x * 1.01
    with counting(runtime) as counted:
        final = Final()
        del final
        gc.collect()
        assert made
    assert counted["launch", "launches"] == 0
    with counting(runtime) as counted:
        x = x + 1
    assert counted["launch", "launches"] > 0


def test_nothing_is_started_by_a_handler_a_finalizer_or_a_repr(runtime: Runtime) -> None:
    x = ocl.asarray(HOST)
    while runtime.executor.registry.pending.part is None:
        x = x * 1.01
    made: list[Any] = []

    class Shown:
        def _repr_html_(self) -> str:
            made.append(x * 2)
            return ""

        def handle(self, number: int, frame: object) -> None:
            made.append(x * 3)

        def __call__(self, number: int, frame: object) -> None:
            made.append(x * 4)

    def ended() -> None:
        made.append(x * 5)

    def handled(handler: Any) -> None:
        before = signal.signal(signal.SIGUSR1, handler)
        try:
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(0.01)  # Python runs the handler here at the latest
        finally:
            signal.signal(signal.SIGUSR1, before)

    with counting(runtime) as counted:
        Shown()._repr_html_()
        handled(Shown().handle)
        handled(Shown())
        handled(lambda number, frame: made.append(x * 6))
        shown = Shown()
        weakref.finalize(shown, ended)
        del shown
    assert (len(made), counted["launch", "launches"]) == (5, 0)
    with counting(runtime) as counted:
        x = x + 1
    assert counted["launch", "launches"] > 0


@pytest.mark.parametrize("key", ["mask", "index"])
def test_parts_are_planned_without_the_lock(runtime: Runtime, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, rows = ocl.asarray(HOST), ocl.asarray(np.array([1, 3]))
    free: list[bool] = []
    make = PlanCache.make

    def asked(*args: Any) -> Any:
        def ask() -> None:
            free.append(runtime.executor.registry.lock.acquire(blocking=False))
            if free[-1]:
                runtime.executor.registry.lock.release()

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        return make(*args)

    monkeypatch.setattr(PlanCache, "make", asked)
    for number in range(BOUND):
        x[x > 0.5 + number if key == "mask" else rows] = 0.25
        if free:
            break
    assert free == [True]


def test_a_part_that_is_never_started_keeps_no_runtime(device: Device, engine: Engine) -> None:
    def loop() -> list[weakref.ref[Any]]:
        runtime = Runtime(device, engine.settings)
        with ocl.use(runtime):
            x = ocl.asarray(HOST)
            while runtime.executor.registry.pending.part is None:
                x = x * 1.01
        return parts_of(runtime)

    parts = loop()
    gc.collect()
    assert [part() for part in parts] == [None, None, None]


@pytest.mark.parametrize("loop", [waves, heat])
def test_pending_work_is_not_looked_through_for_each_part(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, loop: Callable[[list[Any]], list[Any]]
) -> None:
    """But it is where something else was computed since: depths may be less than they seem."""
    looked, chain = [0], pending._chain

    def counted(*given: Any) -> Any:
        looked[0] += 1
        return chain(*given)

    monkeypatch.setattr(pending, "_chain", counted)
    state, other = [ocl.asarray(HOST) + 0], ocl.asarray(HOST)
    for _ in range(TURNS):
        state = loop(state)
    found = looked[0]
    with counting(runtime) as more:
        for _ in range(TURNS):
            state = loop(state)
    assert more["launch", "launches"] > 1
    assert looked[0] == found
    for turn in range(TURNS):
        state = loop(state)
        if turn % 16 == 0:
            (other + turn).compute()
    assert looked[0] > found
