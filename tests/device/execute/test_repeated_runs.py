"""Programs that run again and again: kernel objects of their own, whose arguments are set only where they differ."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.host.builder import HostBuilder
from ocl_ir.types import F32
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.launch import Executable
from ocl_runtime.execute.replay import handles
from ocl_runtime.execute.replay.execution import Execution
from ocl_runtime.execute.replay.handles import Arguments, Own
from ocl_runtime.execute.streams import program
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same, counting
from tests.support.programs import SCALE

RUNS = 12
HOST = np.random.default_rng(0).random(300, "f4")


@pytest.fixture
def runtime(device: Device, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    monkeypatch.setattr(handles, "_WORTH", 2)
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether a run found everything as the last one had left it, one by one."""
    found: list[bool] = []
    over, set_up = Execution.over, Execution.set_up

    def given(run: Execution, *args: Any, apart: bool) -> None:
        found.append(True)
        over(run, *args, apart=apart)

    def given_anew(run: Execution, own: Own | None) -> Arguments | None:
        found[-1] = False
        return set_up(run, own)

    monkeypatch.setattr(Execution, "over", given)
    monkeypatch.setattr(Execution, "set_up", given_anew)
    return found


def evaluated(work: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: work(*given).compute()


WAYS = {"evaluated": evaluated, "captured": ocl.capture}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_set_again_where_nothing_differs(runtime: Runtime, served: list[bool], way: str) -> None:
    work, x = WAYS[way](lambda x: ocl.sum(ocl.cumulative_sum(x)[::-1] * x)), ocl.asarray(HOST)
    expected = work(x).numpy()
    for _ in range(RUNS):
        assert_same(work(x).numpy(), expected)
    assert served[-RUNS // 2 :] == [True] * (RUNS // 2)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("count", "served_at_once"), [(2, True), (3, True), (4, True), (6, False)])
def test_runs_over_a_few_pieces_of_memory_in_turn(
    runtime: Runtime, served: list[bool], monkeypatch: pytest.MonkeyPatch, way: str, count: int, served_at_once: bool
) -> None:
    """A thread has objects for each of them, four at most; more pieces get none."""
    made: list[Own] = []
    monkeypatch.setattr(handles, "Own", lambda executables: made.append(Own(executables)) or made[-1])
    work = WAYS[way](lambda x: ocl.sum(ocl.cumulative_sum(x)[::-1] * x))
    arrays = [ocl.asarray(HOST + number) for number in range(count)]
    expected = [work(x).numpy() for x in arrays]
    for turn in range(20 * count):
        assert_same(work(arrays[turn % count]).numpy(), expected[turn % count])
    assert served[-count:] == [served_at_once] * count
    assert [len(own.sets) for own in made if own.used] == [count if served_at_once else 1]


def test_a_double_buffered_loop(runtime: Runtime, served: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each turn reads what the last one made, by windows, and is given as it is once more: as a read of the whole."""
    parts: list[Any] = []
    record = program.record
    monkeypatch.setattr(program, "record", lambda touches, command: parts.append(command) or record(touches, command))

    def smoothed(u: Any) -> Any:
        return ocl.pad((u[:-2] + u[1:-1] + u[2:]) / 3, 1)

    work, u, expected = ocl.capture(smoothed), ocl.asarray(HOST), HOST
    for turn in range(60):
        if turn == 60 - RUNS:
            parts.clear()
        u = work(u)
        expected = np.pad((expected[:-2] + expected[1:-1] + expected[2:]) / np.float32(3), 1)
    assert not parts
    np.testing.assert_allclose(u.numpy(), expected, rtol=1e-5)
    assert served[-RUNS:] == [True] * RUNS


def test_nothing_is_set_again_for_a_program_by_hand(runtime: Runtime, served: list[bool]) -> None:
    p = HostBuilder("by_hand")
    n = p.size("n")
    x, y = p.input("x", F32, (n,)), p.output("y", F32, (n,))
    p.launch(SCALE, (n, x, y), (n,))
    prepared, given, out = ocl.prepare(p.build(y)), ocl.asarray(HOST), ocl.allocate(HOST.shape)
    for _ in range(RUNS):
        prepared(given, y=out)
    assert served[-RUNS // 2 :] == [True] * (RUNS // 2)


@pytest.mark.parametrize("way", WAYS)
def test_memory_numbers_and_sizes_that_differ_are_set(runtime: Runtime, way: str) -> None:
    work = WAYS[way](lambda x, s: ocl.cumulative_sum(x * s + 1)[::-1] * s)
    arrays = [ocl.asarray(HOST[: 300 - 50 * number] + number) for number in range(3)]
    held = []
    for turn in range(5 * RUNS):
        x, number = arrays[turn // 3 % 3], (0.5, -0.5, 0.0, -0.0, 2.0)[turn // 2 % 5]
        found = work(x, number)
        host = x.numpy()
        expected = np.cumsum(host * np.float32(number) + np.float32(1))[::-1] * np.float32(number)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4)
        assert (np.signbit(found.numpy()) == np.signbit(expected)).all()
        if turn % 4 == 0:
            held.append(found)  # so the next result lies elsewhere


@pytest.mark.parametrize("way", WAYS)
def test_another_number_sets_only_what_has_it(
    runtime: Runtime, served: list[bool], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    work, x = WAYS[way](lambda x, s: ocl.cumulative_sum(x)[::-1] * s), ocl.asarray(HOST)
    for turn in range(RUNS):
        work(x, 0.5 + turn).numpy()
    assert served[-RUNS // 2 :] == [True] * (RUNS // 2)
    filled: list[Any] = []
    args = Execution._args
    monkeypatch.setattr(Execution, "_args", lambda run, command: filled.append(command) or args(run, command))
    with counting(runtime) as counted:
        for turn in range(RUNS):
            expected = np.cumsum(HOST)[::-1] * np.float32(-1.5 - turn)
            np.testing.assert_allclose(work(x, -1.5 - turn).numpy(), expected, rtol=1e-5, atol=1e-5)
    assert counted["launch", "launches"] > len(filled) == RUNS, "one of its kernels has a number"
    for number in (0.0, -0.0):
        assert np.signbit(work(x, number).numpy()).all() == (str(number) == "-0.0")


def test_an_interrupt_while_numbers_are_set_leaves_nothing_half_set(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, x = ocl.capture(lambda x, s: (ocl.cumulative_sum(x * s)[::-1] + 1) * s), ocl.asarray(HOST)
    for turn in range(RUNS):
        work(x, 0.5 + turn).numpy()
    args, left = Execution._args, [1]

    def interrupted(run: Execution, command: Any) -> Any:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return args(run, command)

    with monkeypatch.context() as patched:
        patched.setattr(Execution, "_args", interrupted)
        with pytest.raises(KeyboardInterrupt):
            work(x, 7.0)
    for number in (0.5 + RUNS - 1, 7.0):
        expected = (np.cumsum(HOST * np.float32(number))[::-1] + 1) * np.float32(number)
        np.testing.assert_allclose(work(x, number).numpy(), expected, rtol=1e-4)


def test_threads_have_their_own(runtime: Runtime) -> None:
    work = ocl.capture(lambda x: ocl.sin(x) * 2 + ocl.cumulative_sum(x))
    arrays = [ocl.asarray(HOST * number) for number in range(4)]
    expected = [(ocl.sin(x) * 2 + ocl.cumulative_sum(x)).numpy() for x in arrays]
    wrong: list[int] = []

    def turns(number: int) -> None:
        with ocl.use(runtime):
            for turn in range(RUNS * 4):
                place = (number + turn // 5) % 4
                if work(arrays[place]).numpy().tobytes() != expected[place].tobytes():
                    wrong.append(number)

    threads = [threading.Thread(target=turns, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_programs_that_go_take_the_kernel_objects_along(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Executable] = []
    new = Executable.new_handle

    def noted(executable: Executable) -> Any:
        made.append(executable)
        return new(executable)

    x = ocl.asarray(HOST)
    work = ocl.capture(lambda x: x * 3 + 1)
    expected = work(x).numpy()
    for _ in range(RUNS):
        work(x)
    monkeypatch.setattr(Executable, "new_handle", noted)
    work(x)
    assert not made
    for executable in {id(one): one for _, one in runtime.executor.engine._executables.values()}.values():
        executable.let_go()
    assert_same(work(x).numpy(), expected)
    assert made, "and for the next run they are made again"


def test_a_run_within_a_run_of_the_same_program_does_not_share_its_objects(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a handler of a signal computes what its thread is about to enqueue."""
    work = ocl.capture(lambda x, y: ocl.cumulative_sum(x) * y)
    x, y = ocl.asarray(HOST), ocl.asarray(HOST + 1)
    expected, turned = work(x, y).numpy(), work(y, x).numpy()
    for turn in range(RUNS):
        work(*((x, y) if turn % 2 else (y, x)))
    opencl, within = runtime.executor.engine.opencl, []
    enqueue = opencl.enqueue

    def interrupted(*args: Any) -> Any:
        if not within:
            within.append(None)
            within.append(work(y, x).numpy())
        return enqueue(*args)

    monkeypatch.setattr(opencl, "enqueue", interrupted)
    assert_same(work(x, y).numpy(), expected)
    assert_same(within[1], turned)
    assert_same(work(x, y).numpy(), expected)


def test_memory_of_others_is_not_held_by_what_was_set(runtime: Runtime) -> None:
    work, held = ocl.capture(lambda x: x + 1), ocl.asarray(HOST)
    for _ in range(RUNS):
        work(held)
    runtime.finish()
    before = runtime.statistics()["memory"]["live"]
    del held
    runtime.finish()
    assert runtime.statistics()["memory"]["live"] == before - 1


def test_an_interrupted_run_leaves_its_objects_to_the_next(
    runtime: Runtime, served: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    work, x = ocl.capture(lambda x: x + 1), ocl.asarray(HOST)
    for _ in range(RUNS):
        work(x)

    def interrupted(program: Execution, *given: object, **named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Execution, "over", interrupted)
        with pytest.raises(KeyboardInterrupt):
            work(x)
    served.clear()
    for _ in range(RUNS):
        assert_same(work(x).numpy(), HOST + 1)
    assert len(served) == RUNS


class Latecomer:
    """Has kernel objects of its own; while it is asked when it used them, another thread begins to have some."""

    def __init__(self, executable: Executable) -> None:
        self.executable = executable
        self.thread = threading.Thread(target=lambda: executable.add_user(self.another()))
        self.others: list[Own] = []

    def another(self) -> Own:
        self.others.append(Own([]))
        return self.others[-1]

    @property
    def used(self) -> float:
        if not self.thread.ident:
            self.thread.start()
            self.thread.join(0.2)
        return 1.0

    def let_go(self) -> None:
        """It has none."""


def test_who_comes_while_users_are_asked_is_no_error(engine: Engine) -> None:
    executable = engine.executable(SCALE)
    users = [Latecomer(executable), Latecomer(executable)]
    for user in users:
        executable.add_user(user)
    assert executable.used >= 1.0
    for user in users:
        user.thread.join()
        assert len(user.others) == 1
