"""Which runtime module-level functions use.

`use` chooses one for a block of code in one thread (or task); everything else shares a default, which is made at its
first use by the factory that the runtime's module registers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ocl_ir.reference import calling_line
from ocl_runtime.errors import MixedDevicesError, NoDeviceError
from ocl_runtime.plan.executor import Executor

_chosen: ContextVar[Executor | None] = ContextVar("ocl_runtime_executor", default=None)


class _Default:
    """The runtime of who chooses none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._factory: Callable[[], Executor] | None = None
        self._executor: Executor | None = None

    def register(self, factory: Callable[[], Executor]) -> None:
        with self._lock:
            self._factory, self._executor = factory, None

    def get(self) -> Executor:
        with self._lock:
            if self._executor is None:
                if self._factory is None:
                    raise NoDeviceError(
                        "no runtime is in use", place=calling_line(), remedy="choose one: with use(runtime): …"
                    )
                self._executor = self._factory()
            return self._executor


_default = _Default()


def set_default(factory: Callable[[], Executor]) -> None:
    """Registers what makes the default runtime when it is first needed."""
    _default.register(factory)


def current() -> Executor:
    """The runtime in use. Raises `NoDeviceError` where none was chosen and there is no default."""
    return _chosen.get() or _default.get()


@contextmanager
def use(executor: Executor) -> Iterator[Executor]:
    """Makes a runtime the current one of this thread until the block ends."""
    token = _chosen.set(executor)
    try:
        yield executor
    finally:
        _chosen.reset(token)


def executor_for(device: object) -> Executor:
    """The runtime in use, which `device` (or None) must be the device of. Raises `MixedDevicesError` for another."""
    executor = current()
    if device is not None and device != executor.device:
        raise MixedDevicesError(
            f"the device {device} is not that of the runtime in use, {executor.device}",
            place=calling_line(),
            remedy="choose the runtime: with use(runtime): …",
        )
    return executor
