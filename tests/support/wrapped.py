"""A real device whose driver a test looks over: it sees every call, and may hold it up, add to it, or make it fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyopencl as cl

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.types import U32
from ocl_runtime.device import Device
from ocl_runtime.execute.driver import Driver
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.execute.streams.chosen import stream
from ocl_runtime.execute.streams.command import Command, Stream
from ocl_runtime.execute.streams.hazards import Touch
from ocl_runtime.settings import Settings

PATIENCE = 30
"""Seconds after which something that should have happened is a failure."""
PIECE = 2**17
"""Bytes of a block of a small ring, which has eight."""


class Wrapped:
    """Passes calls on to another driver. `before` is told of each, in the thread that makes it; `instead` has what is
    called in place of a method, with that method and its arguments."""

    def __init__(self, inner: Driver) -> None:
        self.inner = inner
        self.before: Callable[[str, tuple[Any, ...]], None] = lambda name, args: None
        self.instead: dict[str, Callable[..., Any]] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.inner, name)

        def call(*args: Any, **more: Any) -> Any:
            self.before(name, args)
            instead = self.instead.get(name)
            return method(*args, **more) if instead is None else instead(method, *args, **more)

        return call


def wrapped(device: Device, settings: Settings, **changes: Any) -> tuple[Engine, Wrapped]:
    """An engine of a device, with changes to its capabilities, and what its calls pass through."""
    made: list[Wrapped] = []

    def wrap(inner: Driver) -> Any:
        made.append(Wrapped(inner))
        return made[0]

    device = replace(device, capabilities=replace(device.capabilities, **changes))
    return Engine(device, settings, driver=wrap), made[0]


def with_small_ring(device: Device, settings: Settings, way: str = "staged", **changes: Any) -> tuple[Engine, Wrapped]:
    """On the device as it is, or as if it had memory of its own."""
    own = {"unified_memory": False} if way == "staged" else {}
    return wrapped(device, replace(settings, **{"staging_bytes": 8 * PIECE, **changes}), **own)


def on(engine: Engine, number: int) -> Stream:
    """What `with stream(number)` gives."""
    with stream(number):
        return engine.streams.current()


@contextmanager
def held(engine: Engine, number: int, *touches: Touch) -> Iterator[Command]:
    """A command on a stream that ends when the block does, for whatever reason."""
    event = cl.UserEvent(engine.opencl.context)

    def enqueue(queue: cl.CommandQueue, waits: list[cl.Event] | None, touches: object) -> cl.Event:
        return cl.enqueue_marker(queue, wait_for=[*(waits or []), event])

    try:
        yield engine.streams.submit(on(engine, number), touches, "a held command", "held.py:1", enqueue)
    finally:
        event.set_status(0)


@contextmanager
def busy(engine: Engine, number: int) -> Iterator[None]:
    """What a stream is given from now on runs when the block ends. The recorder knows of it."""
    gate = engine.driver.gate(engine.streams.downloads.queue, None, ())

    def enqueue(queue: Any, waits: Any, touches: object) -> Any:
        return engine.driver.marker(queue, [*(waits or []), gate])

    try:
        engine.streams.submit(on(engine, number), [], "a held command", "held.py:1", enqueue)
        yield
    finally:
        engine.driver.open(gate, ok=True)


class Stall:
    """Calls of one name wait here until they may go on; `reached` is set when the first does."""

    def __init__(self, driver: Wrapped, name: str) -> None:
        self.reached = threading.Event()
        self._go = threading.Event()
        self._driver = driver
        self._name = name

    def __enter__(self) -> Stall:
        self._driver.before = self._called
        return self

    def __exit__(self, *error: object) -> None:
        self.go()

    def go(self) -> None:
        """Lets everything pass."""
        self._driver.before = lambda name, args: None
        self._go.set()

    def _called(self, name: str, args: tuple[Any, ...]) -> None:
        if name == self._name:
            self.reached.set()
            assert self._go.wait(PATIENCE), f"nobody let {name} go on"


def add() -> Kernel:
    """y[i] = x[i] + more."""
    k = KernelBuilder("add_more")
    n, more = k.scalar("n", U32), k.scalar("more", U32)
    x, y = k.pointer("x", U32, length=n), k.pointer("y", U32, length=n)
    i = k.global_id(0)
    with k.if_(i < n):
        k.store(y, i, k.load(x, i) + more)
    return k.build()


ADD = add()


def adding(engine: Engine, x: Storage, y: Storage, more: int, number: int = 0, where: str = "adding.py:1") -> Command:
    """Gives a stream the kernel; the storages hold uint32."""
    n = y.nbytes // 4
    launch = engine.prepare(ADD, [n, more, (x, 0), (y, 0)], (n,), (64,), where)
    return engine.submit(launch, on(engine, number))


def values(engine: Engine, storage: Storage, dtype: Any = np.uint32) -> np.ndarray[Any, Any]:
    """All of a storage, on the host."""
    kind = np.dtype(dtype)
    return engine.download(storage, kind, storage.nbytes // kind.itemsize).result()


def random_bytes(nbytes: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(0, 256, nbytes, np.uint8)


def eventually(happens: Callable[[], bool]) -> bool:
    """Whether it does, before patience ends."""
    end = time.monotonic() + PATIENCE
    while not happens():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True
