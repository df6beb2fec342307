"""The steps of one evaluation: each result knows the one that wrote it. What waits for a result waits for that step,
and a step that fails spoils what it and those behind it should have written, nothing else."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import LaunchError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.plan.cache.known_lines import WORTH
from ocl_runtime.plan.host import streams
from ocl_runtime.plan.host.streams import Costs
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same
from tests.support.wrapped import PATIENCE, Wrapped, wrapped

# A wait in the driver cannot be interrupted, only ended with the process.
pytestmark = pytest.mark.timeout(60, method="thread")

HOSTS = [np.random.default_rng(number).random((300 + number, 400), dtype="f4") for number in range(3)]


WORTH_A_STREAM = 4e-6
"""Seconds of work by the estimate: what `costly` takes."""


def costly(x: Any) -> Any:
    for _ in range(12):
        x = ocl.sin(ocl.exp(x)) * 0.5
    return x


def raised(x: Any) -> Any:
    return costly(x) + 2


def bounded(x: Any) -> Any:
    return ocl.maximum(costly(x), 0.1)


def turned(x: Any) -> Any:
    return ocl.exp(x[::-1]) * x


def lowered(x: Any) -> Any:
    return costly(x) - ocl.cos(x)


STEPS = {
    "a": ("exp_sin_mul_add", raised),
    "b": ("exp_sin_mul_maximum", bounded),
    "c": ("exp_mul", turned),  # of b; the others are independent
    "d": ("exp_sin_mul_cos_sub", lowered),
}
"""The kernel of each result, the same on every device, and what asks for it, in the order in which they are given."""


class Steps:
    """Evaluates them, all on one stream or each chain on its own, and sees their queues and events."""

    def __init__(self, driver: Wrapped, context: cl.Context, *, together: bool) -> None:
        self.driver = driver
        self.together = together
        self.queues: dict[str, Any] = {}
        self.events: dict[str, Any] = {}
        self._context = context
        self._arrays = [ocl.asarray(host).compute() for host in HOSTS]
        self._enqueue: Callable[..., Any] = lambda name, enqueue, queue, kernel, *args: enqueue(queue, kernel, *args)
        self.expected = {name: value.numpy() for name, value in self.evaluated().items()}
        assert len(set(map(id, self.queues.values()))) == (1 if together else 3)

    def evaluated(self, values: dict[str, Any] | None = None) -> dict[str, Any]:
        """New results, or these, whose steps have been given."""
        values = self.made() if values is None else values
        self.queues, self.events = {}, {}
        self.driver.instead["enqueue"] = self._noted
        try:
            with ExitStack() as stack:
                if self.together:
                    stack.enter_context(ocl.stream(1))
                ocl.compute(*values.values())
        finally:
            del self.driver.instead["enqueue"]
        return values

    def made(self) -> dict[str, Any]:
        x, y, z = self._arrays
        b = bounded(y)
        return {"a": raised(x), "b": b, "c": turned(b), "d": lowered(z)}

    def _noted(self, enqueue: Callable[..., Any], queue: Any, kernel: Any, *args: Any) -> Any:
        (name,) = [name for name, (known, _) in STEPS.items() if known == kernel.function_name]
        self.queues[name] = queue
        event = self.events[name] = self._enqueue(name, enqueue, queue, kernel, *args)
        return event

    @contextmanager
    def instead(self, enqueue: Callable[..., Any]) -> Iterator[None]:
        """Steps are given by another function, which gets their name, too."""
        before, self._enqueue = self._enqueue, enqueue
        try:
            yield
        finally:
            self._enqueue = before

    def is_right(self, name: str, value: Any) -> None:
        assert_same(value.numpy(), self.expected[name])

    @contextmanager
    def held(self, *names: str) -> Iterator[dict[str, cl.UserEvent]]:
        """Steps do not begin until their event is complete, which is so at the end in any case."""
        gates = {name: cl.UserEvent(self._context) for name in names}

        def enqueue(name: str, given: Callable[..., Any], *args: Any) -> Any:
            *before, waits = args
            return given(*before, [*(waits or ()), gates[name]] if name in gates else waits)

        try:
            with self.instead(enqueue):
                yield gates
        finally:
            for gate in gates.values():
                _open(gate)

    def fail(self, name: str) -> None:
        """From now on the driver says that the event of a step has ended with an error. What waits for it in the driver
        goes on all the same: some never end what waits for an event that has failed already."""
        failed = self.events[name]

        def status(method: Callable[..., int], event: Any) -> int:
            return cl.status_code.OUT_OF_RESOURCES if event == failed else method(event)

        def wait(method: Callable[..., None], event: Any) -> None:
            if event == failed:
                raise cl.RuntimeError("injected: the event has failed")
            method(event)

        self.driver.instead |= {"status": status, "wait": wait}

    @contextmanager
    def refusing(self, refused: str) -> Iterator[None]:
        """A step is not taken by the driver."""

        def enqueue(name: str, given: Callable[..., Any], *args: Any) -> Any:
            if name == refused:
                raise cl.RuntimeError("injected")
            return given(*args)

        with self.instead(enqueue):
            yield


def _is_closed(gate: cl.UserEvent) -> bool:
    return bool(gate.command_execution_status > cl.command_execution_status.COMPLETE)


def _open(gate: cl.UserEvent) -> None:
    if _is_closed(gate):
        gate.set_status(cl.command_execution_status.COMPLETE)


@pytest.fixture(params=["together", "apart"])
def steps(
    device: Device, engine: Engine, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Steps]:
    # Else a chain that is worth a stream would take a CPU seconds.
    monkeypatch.setattr(streams, "Costs", partial(Costs, chain=WORTH_A_STREAM))
    settings = replace(engine.settings, streams=4)
    runtime = Runtime(device, settings)
    seen, driver = wrapped(device, settings)
    runtime.executor.run_on(seen)
    with ocl.use(runtime):
        yield Steps(driver, seen.opencl.context, together=request.param == "together")


# ---------------------------------------------------------------------- failures

WARM = {"planned": 0, "again": 2, "written out": WORTH + 4}
"""Evaluations before the one in which a step fails."""


def names_the_step(error: LaunchError, name: str) -> None:
    kernel, asks = STEPS[name]
    assert f"kernel {kernel} " in error.fact
    lines, first = inspect.getsourcelines(asks)
    assert f"{__name__.rpartition('.')[2]}.py:{first + len(lines) - 1}" in error.place


@pytest.mark.parametrize("warm", WARM)
def test_a_step_that_fails_spoils_its_own_results_and_those_behind_it(steps: Steps, warm: str) -> None:
    for _ in range(WARM[warm]):
        steps.evaluated()
    order = list(STEPS)
    for number, breaks in enumerate(order):
        values = steps.evaluated()
        steps.fail(breaks)
        behind = {name for name in order[number:] if steps.queues[name] is steps.queues[breaks]}
        assert breaks != "b" or "c" in behind
        for name, value in values.items():
            if name not in behind:
                steps.is_right(name, value)
                continue
            with pytest.raises(LaunchError, match=r"failed: the device reported OUT_OF_RESOURCES \(-5\)") as caught:
                value.numpy()
            names_the_step(caught.value, breaks)
        for name, value in steps.evaluated().items():
            steps.is_right(name, value)


@pytest.mark.parametrize("warm", WARM)
def test_a_step_that_is_refused_is_told_at_once_and_nothing_has_a_result(steps: Steps, warm: str) -> None:
    """The arrays are the expressions that they were, also those whose steps had been given."""
    for _ in range(WARM[warm]):
        steps.evaluated()
    for breaks in STEPS:
        values = steps.made()
        with steps.refusing(breaks), pytest.raises(LaunchError, match="injected") as caught:
            steps.evaluated(values)
        names_the_step(caught.value, breaks)
        for name, value in values.items():
            steps.is_right(name, value)


# ---------------------------------------------------------------------- waits


class Waits:
    """The events that commands of some kind wait for on the device, with the queue of each; and those that the host
    waits for."""

    def __init__(self, driver: Wrapped) -> None:
        self.of: dict[str, list[tuple[Any, list[Any]]]] = {"enqueue": [], "read": []}
        self.host: list[Any] = []
        driver.before = self._called

    def _called(self, name: str, args: tuple[Any, ...]) -> None:
        if name == "wait":
            self.host.append(args[0])
        elif name in self.of:
            lists = [one for one in args if isinstance(one, list) and one and isinstance(one[0], cl.Event)]
            self.of[name].append((args[0], lists[0] if lists else []))


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_who_needs_a_result_waits_for_the_step_that_wrote_it(steps: Steps, name: str) -> None:
    """Neither of the two waits for the steps behind it, which cannot begin."""
    behind = list(STEPS)[list(STEPS).index(name) + 1]
    with steps.held(name, behind) as gates:
        values = steps.evaluated()
        writer, queue = steps.events[name], steps.queues[name]
        waits = Waits(steps.driver)
        coming = ocl.download(values[name])
        with ocl.stream(3):
            more = (values[name] + 1).compute()
        assert len(waits.of["read"]) == len(waits.of["enqueue"]) == 1
        for given, events in (*waits.of["read"], *waits.of["enqueue"]):
            # On its own queue nothing has to be waited for, where nothing is behind it.
            others = [one for one, other in steps.queues.items() if one > name and other is queue]
            assert events == [writer] or (given is queue and not others and not events)
        _open(gates[name])
        patience = threading.Timer(PATIENCE, _open, [gates[behind]])
        patience.daemon = True
        patience.start()
        assert_same(coming.result(), steps.expected[name])
        steps.is_right(name, values[name])
        assert_same(more.numpy(), steps.expected[name] + np.float32(1))
        patience.cancel()
        assert _is_closed(gates[behind]), "the host waited for a step that nobody asked about"
        later = [steps.events[one] for one in list(STEPS) if one >= behind]
        assert waits.host
        assert not [event for event in waits.host if event in later]
    for one, value in values.items():
        steps.is_right(one, value)
