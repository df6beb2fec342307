"""Interrupts on a real device: at every place where Python can run a handler, and by real signals at random moments.

`make nightly` takes up to 2,000 places, and as many signals, for each of what is interrupted.
"""

from __future__ import annotations

import gc
import random
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array
import pytest

import ocl_runtime as ocl
from ocl_runtime.codegen.cache import ProgramCache
from ocl_runtime.device import Device
from ocl_runtime.errors import LaunchError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.streams import program
from ocl_runtime.observe.commands import Recording
from ocl_runtime.observe.order import violations
from ocl_runtime.runtime import Runtime
from tests.support.depth import NIGHTLY
from tests.support.interrupts import Interrupt, interrupt
from tests.support.wrapped import PIECE, busy, eventually

PLACES = 2000 if NIGHTLY else 100
"""At which an exception is raised, of those that there are, for each of what is interrupted."""
SIGNALS = 2000 if NIGHTLY else 150
SHARE = {"build": 1 if NIGHTLY else 4}
"""By which both are divided for what takes long."""
N = 1 << 14
HOST = np.random.default_rng(0).random(N, np.float32)

# Signals come by a timer of the process, which pytest-timeout wants for itself otherwise.
pytestmark = pytest.mark.timeout(3000 if NIGHTLY else 250, method="thread")


class Desk:
    """A runtime with arrays, and what is done with them. Results are `expected`, by name of what was done."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.x = ocl.asarray(HOST)
        self.host = HOST.copy()
        self.back = np.empty_like(HOST)
        self.step = ocl.capture(lambda x: ocl.exp(x) * 3 + ocl.sin(x))
        self.tiles = ocl.capture(tiles)
        self.expected = {
            "launch": (ocl.exp(self.x) * 3 + 1).numpy(),
            "replay": self.step(self.x).numpy(),
            "replay_on_streams": self.tiles(self.x).numpy(),
            "upload": HOST,
            "download": HOST,
            "fill": np.full(N, 3, np.float32),
            "build": (ocl.exp(self.x) * 3 + 1).numpy(),
            "in_place": HOST + 2,
            "lend": HOST,
            "borrow": HOST + 1,
        }
        self.theirs = pyopencl.array.to_device(runtime.queue, HOST)
        runtime.finish()

    def launch(self) -> Any:
        return (ocl.exp(self.x) * 3 + 1).compute()

    def replay(self) -> Any:
        return self.step(self.x)

    def replay_on_streams(self) -> Any:
        return self.tiles(self.x)

    def upload(self) -> Any:
        return ocl.upload(self.host)

    def download(self) -> Any:
        return ocl.download(self.x, out=self.back).result()

    def fill(self) -> Any:
        return ocl.full((N,), 3, dtype=np.float32).compute()

    def in_place(self) -> Any:
        y = ocl.upload(self.host)
        y += 2
        return y.compute()

    def lend(self) -> Any:
        return self.x.to_pyopencl().get()

    def borrow(self) -> Any:
        return (ocl.from_pyopencl(self.theirs) + 1).compute()

    def build(self) -> Any:
        """All caches in memory are emptied, and there is none on disk."""
        engine = self.runtime.executor.engine
        engine._executables.clear()
        engine.programs._programs.clear()
        self.runtime.executor.kernels._kernels.clear()
        self.runtime.executor.plans._kept.clear()
        return self.launch()

    def right(self, name: str, result: Any) -> None:
        found = result if isinstance(result, np.ndarray) else result.numpy()
        np.testing.assert_array_equal(found, self.expected[name])

    def storm(self, count: int = 3) -> list[Any]:
        """Others take what memory there is, on other streams."""
        made = []
        for number in range(count):
            with ocl.stream(2 + number % 2):
                made.append(ocl.full((N,), 100 + number, dtype=np.float32).compute())
        return made

    def check(self, name: str, result: Any, late: list[Any], *, read: bool = True) -> None:
        """A result, if there is one, and what came after it are right."""
        for number, one in enumerate(late if read else ()):
            assert (one.numpy() == 100 + number).all()
        if result is not None and read:
            self.right(name, result)

    def live(self) -> dict[str, int]:
        return {name: self.runtime.statistics()[name]["live"] for name in ("memory", "pinned", "staging")}

    def nothing_is_held(self, live: dict[str, int]) -> bool:
        self.runtime.finish()
        return eventually(lambda: self.live() == live and not self.shared())

    def shared(self) -> bool:
        """Whether memory is known to be PyOpenCL's too."""
        sharing = self.runtime.executor.engine.sharing
        sharing.settle()
        return bool(sharing._all or sharing._borrowed or self.x._node.storage.guests)


def tiles(x: Any) -> Any:
    y = ocl.allocate(x.shape)
    for part in range(4):
        with ocl.stream(part):
            rows = slice(part * N // 4, (part + 1) * N // 4)
            ocl.compute_into(y[rows], x[rows] * 2 + 1)
    return y


ROADS = ["launch", "replay", "replay_on_streams", "upload", "download", "fill", "build"]
QUICK = ["launch", "replay", "replay_on_streams", "upload", "fill", "in_place"]
"""Those that wait for nothing."""


def made(device: Device, engine: Engine, driver: Any, **changes: Any) -> Runtime:
    runtime = Runtime(device, replace(engine.settings, streams=4))
    device = replace(device, capabilities=replace(device.capabilities, **changes))
    settings = replace(engine.settings, streams=4, staging_bytes=8 * PIECE)
    runtime.executor.run_on(Engine(device, settings, driver=driver))
    return runtime


# ---------------------------------------------------------------------- at every place


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", [*QUICK, "download", "build", "lend", "borrow"])
def test_an_exception_anywhere_leaves_every_array_right(
    device: Device, engine: Engine, name: str, request: pytest.FixtureRequest
) -> None:
    if name == "build":
        request.getfixturevalue("compiled")
    runtime = made(device, engine, Recording)
    with ocl.use(runtime):
        desk = Desk(runtime)
        road = getattr(desk, name)
        with interrupt(0, "execute", "plan", "arrays", "programs", "codegen", "runtime.py") as whole:
            road()
        assert whole.count > 50
        runtime.finish()
        gc.collect()
        live = desk.live()
        for at in range(1, whole.count + 1, max(1, whole.count // (PLACES // SHARE.get(name, 1)))):
            holding = busy(runtime.executor.engine, 1) if name in QUICK else nullcontext()
            with holding:
                result = None
                with (
                    ocl.stream(1),
                    interrupt(at, "execute", "plan", "arrays", "programs", "codegen", "runtime.py") as injection,
                ):
                    result = road()
                late = desk.storm()
            desk.check(name, result, late)
            assert injection.unraisable == []
            del result, late
            assert desk.nothing_is_held(live), f"{injection.came}: {desk.live()} for {live}"
        assert violations(runtime.executor.engine.driver.log) == []
        desk.right(name, road())
        np.testing.assert_array_equal(desk.x.numpy(), HOST)


# ---------------------------------------------------------------------- by signals


class Signals:
    """Signals of a timer, whose handler raises `Interrupt`. `swallowed` are those that nobody got to see, and where."""

    def __init__(self) -> None:
        self.came = 0
        self.swallowed: list[str] = []

    def __enter__(self) -> Signals:
        self._handler = signal.signal(signal.SIGALRM, self._handle)
        self._hook, sys.unraisablehook = sys.unraisablehook, self._swallow
        # Hypothesis times collections, once one of its tests has run; Python swallows what is raised there.
        self._callbacks, gc.callbacks[:] = gc.callbacks[:], []
        return self

    def __exit__(self, *error: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._handler)
        sys.unraisablehook = self._hook
        gc.callbacks[:] = self._callbacks

    def _handle(self, number: int, frame: object) -> None:
        self.came += 1
        raise Interrupt

    def _swallow(self, given: Any) -> None:
        self.swallowed.append(f"{given.exc_value!r} in {given.object!r}")

    def during(self, road: Callable[[], Any], delay: float) -> Any:
        """Runs a road again and again until a signal comes; the last result before that."""
        results: list[Any] = [None]
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            self._again(road, results)
        except Interrupt:
            pass
        return results[0]

    def _again(self, road: Callable[[], Any], results: list[Any]) -> None:
        before = self.came
        while self.came == before:  # not inside of `try`, which Python 3.13 is not as it goes on
            results[0] = road()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer's signals on this system")
@pytest.mark.parametrize(
    ("name", "way"), [*((name, "as it is") for name in ROADS), ("upload", "own memory"), ("download", "own memory")]
)
def test_signals_at_random_moments(
    device: Device, engine: Engine, name: str, way: str, request: pytest.FixtureRequest
) -> None:
    """Each comes while a road is run again and again; others take memory then, and nothing is wrong or lost."""
    if name == "build":
        request.getfixturevalue("compiled")
    changes = {} if way == "as it is" else {"unified_memory": False}
    runtime = made(device, engine, lambda opencl: opencl, **changes)
    pick = random.Random(name)
    with ocl.use(runtime):
        desk = Desk(runtime)
        road = getattr(desk, name)
        road()
        runtime.finish()
        gc.collect()
        live = desk.live()
        for number in range(SIGNALS // SHARE.get(name, 1)):
            with Signals() as signals, ocl.stream(number % 2):
                result = signals.during(road, pick.uniform(2e-5, 1e-3 if name != "build" else 2e-2))
            assert signals.swallowed == []
            desk.check(name, result, desk.storm(), read=number % 10 == 0)
            del result
        gc.collect()
        assert desk.nothing_is_held(live), runtime.memory_report()
        np.testing.assert_array_equal(desk.x.numpy(), HOST)
        desk.right(name, road())


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer's signals on this system")
def test_signals_amid_evaluations_that_come_again(
    device: Device, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By functions that were written for them, and programs that are given once more: a tracer would see neither."""
    runtime, pick, again = made(device, engine, lambda opencl: opencl), random.Random(0), [0]
    give_again = program._give_again

    def counted(*given: Any) -> None:
        again[0] += 1
        give_again(*given)

    monkeypatch.setattr(program, "_give_again", counted)
    expected = HOST.copy()
    expected[8:-8] = HOST[9:-7] + HOST[8:-8]
    with ocl.use(runtime):
        other = ocl.asarray(HOST)

        def road() -> ocl.Array:
            x = ocl.asarray(HOST)
            x[8:-8] = x[9:-7] + other[8:-8]
            for _ in range(4):
                (other + 1.0).compute()  # in the memory of the one before
            return x.compute()

        for _ in range(80):
            road()
        runtime.finish()
        gc.collect()
        lines, before = runtime.executor.plans.lines, again[0]
        hits, live = lines.hits, runtime.statistics()["memory"]["live"]
        for number in range(SIGNALS):
            with Signals() as signals:
                result = signals.during(road, pick.uniform(2e-5, 1e-3))
            assert signals.swallowed == []
            late = [ocl.full(HOST.shape, 100 + place, dtype=ocl.float32).compute() for place in range(3)]
            for place, array in enumerate(late):
                np.testing.assert_array_equal(array.numpy(), np.float32(100 + place))
            if result is not None and number % 5 == 0:
                np.testing.assert_array_equal(result.numpy(), expected)
            del result, late, array
        assert lines.hits - hits > SIGNALS // 2
        assert again[0] - before > SIGNALS // 2
        np.testing.assert_array_equal(road().numpy(), expected)
        np.testing.assert_array_equal(other.numpy(), HOST)
        runtime.finish()
        gc.collect()
        assert runtime.statistics()["memory"]["live"] <= live


# ---------------------------------------------------------------------- what must not be lost


def test_an_array_whose_computing_over_its_operand_was_interrupted_is_right_or_in_error(
    device: Device, engine: Engine
) -> None:
    runtime = made(device, engine, lambda opencl: opencl)
    at = 0
    with ocl.use(runtime):
        (ocl.upload(HOST) + 2).compute()
        while True:
            at += 1 if NIGHTLY else 11
            y = ocl.upload(HOST) + 2
            with interrupt(at, "execute", "plan", "arrays", "runtime.py") as injection:
                y.compute()
            if not injection.came:
                break
            try:
                found = y.numpy()
            except LaunchError:
                continue
            np.testing.assert_array_equal(found, HOST + 2, injection.came)
        assert at > 100


def test_an_array_is_in_error_where_its_command_was_given_and_nobody_knows_its_event(
    device: Device, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = made(device, engine, lambda opencl: opencl)
    opencl = runtime.executor.engine.opencl
    enqueue = opencl.enqueue

    def interrupted(*args: Any) -> Any:
        enqueue(*args)
        raise Interrupt

    with ocl.use(runtime):
        y = ocl.upload(HOST) + 2
        with monkeypatch.context() as patch:
            patch.setattr(opencl, "enqueue", interrupted)
            with pytest.raises(Interrupt):
                y.compute()
        with pytest.raises(LaunchError, match="written over by a computation that then failed"):
            y.numpy()
        np.testing.assert_array_equal((ocl.upload(HOST) + 2).numpy(), HOST + 2)


def test_the_event_of_a_transfer_is_not_lost_by_who_would_have_to_wait_for_it(device: Device, engine: Engine) -> None:
    """PyOpenCL waits where a transfer's event is let go of, and no thread of Python runs meanwhile."""
    runtime = made(device, engine, lambda opencl: opencl)

    def profile(frame: FrameType, event: str, arg: object) -> None:
        if event == "c_return" and frame.f_code.co_name == "_kept" and getattr(arg, "__name__", "") == "extend":
            raise Interrupt

    def upload() -> None:
        sys.setprofile(profile)
        try:
            ocl.upload(HOST)
        finally:
            sys.setprofile(None)

    with ocl.use(runtime):
        opencl = runtime.executor.engine.opencl
        with busy(runtime.executor.engine, 1):
            with pytest.raises(Interrupt), ocl.stream(1):
                upload()
            assert len(opencl._strays) == 1
        runtime.finish()
        np.testing.assert_array_equal(ocl.upload(HOST).numpy(), HOST)
        assert opencl._strays == []


@pytest.mark.usefixtures("compiled")
def test_a_program_whose_build_was_interrupted_is_built_by_who_asks_next(device: Device) -> None:
    programs = ProgramCache(cl.Context([device.cl]), device, None)
    source = "__kernel void answer(__global int *a) { a[get_global_id(0)] = 42; }"
    at, came = 1, 0
    while True:
        with interrupt(at, "codegen") as injection:
            programs.program(source)
        with ThreadPoolExecutor(1) as pool:  # not even another thread has to wait
            assert pool.submit(programs.program, source).result(30).kernel("answer").num_args == 1
        programs._programs.clear()
        if not injection.came:
            break
        came += 1
        at += 1 if NIGHTLY else 7
    assert came
