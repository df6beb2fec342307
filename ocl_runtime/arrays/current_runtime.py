"""Which runtime module-level functions use, and so which executor: a runtime is what has one.

`use` chooses one for a block of code in one thread (or task); everything else shares a default, which is made at its
first use by the factory that the runtime's module registers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol, TypeGuard

from ocl_ir.source_line import calling_line
from ocl_runtime.errors import MixedDevicesError, NoDeviceError, UnknownDeviceError

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor


class AnyRuntime(Protocol):
    """A runtime, or an executor that stands for its own."""

    @property
    def executor(self) -> Executor:
        """What computes its arrays."""


_chosen: ContextVar[AnyRuntime | None] = ContextVar("ocl_runtime_runtime", default=None)


class _Default:
    """The runtime of who chooses none, and those that words chose."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._factory: Callable[[], AnyRuntime] | None = None
        self._runtime: AnyRuntime | None = None
        self._by_words: Callable[[str], AnyRuntime] | None = None
        self._named: dict[str, AnyRuntime] = {}

    def register(self, factory: Callable[[], AnyRuntime]) -> None:
        with self._lock:
            self._factory, self._runtime = factory, None

    def register_words(self, by_words: Callable[[str], AnyRuntime]) -> None:
        with self._lock:
            self._by_words = by_words

    def get(self) -> AnyRuntime:
        runtime = self._runtime
        if runtime is not None:
            return runtime
        with self._lock:
            if self._runtime is None:
                if self._factory is None:
                    raise NoDeviceError(
                        "no runtime is in use", place=calling_line(), remedy="choose one: with use(runtime): …"
                    )
                self._runtime = self._factory()
            return self._runtime

    def named(self, words: str) -> AnyRuntime:
        """One runtime for the same words, so that arrays of several blocks go together."""
        with self._lock:
            if words not in self._named:
                if self._by_words is None:
                    raise NoDeviceError(
                        f"nothing makes a runtime for {words!r}", place=calling_line(), remedy="import ocl_runtime"
                    )
                self._named[words] = self._by_words(words)
            return self._named[words]


_default = _Default()


def make_runtimes(made: Callable[..., AnyRuntime]) -> None:
    """Says what makes runtimes: without arguments the default one, from words the one that they describe."""
    _default.register(made)
    _default.register_words(made)


def set_default(runtime: AnyRuntime | str | Callable[[], AnyRuntime]) -> None:
    """Makes a runtime the one of who chooses none: itself, words that choose a device, or what makes it when it is
    first needed.

        set_default("pocl")

    Words choose at once, and the same words always give the same runtime. Raises `UnknownDeviceError` or `DeviceError`
    for words that no usable device fits, `UnknownDeviceError` for anything else.
    """
    if isinstance(runtime, type) or (callable(runtime) and not _is_runtime(runtime)):
        _default.register(runtime)
        return
    resolved = _runtime("set_default", runtime)
    _default.register(lambda: resolved)


def current() -> AnyRuntime:
    """The runtime in use. Raises `NoDeviceError` where none was chosen and there is no default."""
    return _chosen.get() or _default.get()


def current_executor() -> Executor:
    """That of the runtime in use; errors are those of `current`."""
    return current().executor


def use(runtime: AnyRuntime | str) -> AbstractContextManager[AnyRuntime]:
    """Makes a runtime the current one of this thread until the block ends; words choose a device, as for `Runtime`.

        with use("cpu"):
            x = asarray([1, 2, 3])

    The same words always give the same runtime. Raises `UnknownDeviceError` or `DeviceError` for words that no usable
    device fits, `UnknownDeviceError` for what is neither a runtime nor words.
    """
    return _in_use(_runtime("use", runtime))


@contextmanager
def _in_use(runtime: AnyRuntime) -> Iterator[AnyRuntime]:
    before = _chosen.get()
    try:  # and only then: an interrupt may come as `set` returns
        _chosen.set(runtime)
        yield runtime
    finally:
        _chosen.set(before)


def _runtime(name: str, runtime: object) -> AnyRuntime:
    if isinstance(runtime, str):
        return _default.named(runtime)
    if not _is_runtime(runtime):
        raise UnknownDeviceError(
            f"{name} takes a runtime or words that choose a device, and got {runtime!r}",
            place=calling_line(),
            remedy=f'write {name}(Runtime("gpu")) or {name}("gpu"); ocl-devices lists the devices',
        )
    if hasattr(runtime, "registry"):  # an executor stands for the runtime in front of it, which users are to see
        front: AnyRuntime = getattr(runtime.executor, "runtime", runtime.executor)
        return front
    return runtime


def _is_runtime(obj: object) -> TypeGuard[AnyRuntime]:
    return not isinstance(obj, type) and hasattr(getattr(obj, "executor", None), "registry")


def executor_for(device: object) -> Executor:
    """The runtime in use, which `device` (or None) must be the device of. Raises `MixedDevicesError` for another."""
    executor = current_executor()
    if device is not None and device != executor.device:
        raise MixedDevicesError(
            f"the device {device} is not that of the runtime in use, {executor.device}",
            place=calling_line(),
            remedy="choose the runtime: with use(runtime): …",
        )
    return executor
