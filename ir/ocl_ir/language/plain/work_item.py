"""The work-item that a thread is: its ids, its group, and how it waits for the others.

One thread of a group runs at a time, from one barrier to the next: what a kernel does is the same each time, and a
debugger sees one frame move.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from ocl_ir.language.errors import ZERO_DIVISOR_REMEDY, KernelError, ZeroDivisorError, work_item_text
from ocl_ir.source_line import calling_line
from ocl_ir.types import F32, DType

Ids = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Launch:
    """What all groups have in common."""

    items: tuple[int, ...]
    group: Ids
    default_real: DType = F32
    checks_divisors: bool = False
    """Integers divided by 0 raise `ZeroDivisorError`, as in the other modes that check, and are not 0."""


class Abandoned(BaseException):
    """Ends a work-item whose group has failed."""


@dataclass
class Group:
    """A work-group that runs: its number along each dimension, and the arrays that its work-items share."""

    number: Ids
    arrays: dict[Any, Any] = field(default_factory=dict)
    """By where they are made."""


class WorkItem:
    """A thread of a group."""

    def __init__(self, launch: Launch, group: Group, local: Ids) -> None:
        self.launch, self.group, self.local = launch, group, local
        self.arrays: dict[Any, Any] = {}
        """Its own arrays, by where they are made."""
        self.waits_at = ""
        """The builtin that it waits in."""
        self.posted: Any = None
        """What it has for the others there."""
        self.error: BaseException | None = None
        self.is_done = False
        self._results: Sequence[Any] = ()
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._abandoned = False
        self._thread: threading.Thread | None = None

    @property
    def position(self) -> Ids:
        """Its index in the whole index space."""
        x, y, z = (
            number * extent + own
            for number, extent, own in zip(self.group.number, self.launch.group, self.local, strict=True)
        )
        return x, y, z

    def __str__(self) -> str:
        return work_item_text(self.local, self.group.number)

    @property
    def number(self) -> int:
        """Its number in the group, dimension 0 fastest."""
        (width, height, _), (x, y, z) = self.launch.group, self.local
        return x + width * (y + height * z)

    # ------------------------------------------------------------------ for the group

    def start(self, body: Callable[[], object]) -> None:
        """Runs a function up to where it waits, or to its end."""
        self._thread = threading.Thread(target=self._run, args=(body,), name=f"work-item {self.position}", daemon=True)
        self._thread.start()
        self._stopped.acquire()

    def resume(self, results: Sequence[Any]) -> None:
        """Lets it go on, with what all work-items have posted."""
        self._results = results
        self._go.release()
        self._stopped.acquire()

    def abandon(self) -> None:
        """Ends it where it waits, if it has begun."""
        if self._thread is not None and not self.is_done:
            self._abandoned = True
            self.resume(())

    def _run(self, body: Callable[[], object]) -> None:
        _RUNNING.set(self)
        try:
            body()
        except Abandoned:
            pass
        except BaseException as error:  # noqa: BLE001  # the launch raises it
            self.error = error
        self.is_done = True
        self._stopped.release()

    # ------------------------------------------------------------------ for builtins

    def meet(self, what: str, posted: Any = None) -> Sequence[Any]:
        """Waits for all work-items of the group in a builtin, and gives what each has posted, by linear id."""
        self.waits_at, self.posted = what, posted
        self._stopped.release()
        self._go.acquire()
        if self._abandoned:
            raise Abandoned
        return self._results


_RUNNING: ContextVar[WorkItem | None] = ContextVar("work-item", default=None)


def running(what: str) -> WorkItem:
    """The work-item that asks for a builtin. Raises `KernelError` where none runs."""
    item = _RUNNING.get()
    if item is None:
        raise KernelError(
            f"{what} is called outside of a kernel",
            place=calling_line(),
            remedy="call it in a function decorated with ocl_runtime.kernel",
        )
    return item


def default_real() -> DType:
    """What quotients of integers are."""
    item = _RUNNING.get()
    return F32 if item is None else item.launch.default_real


def refuse_zero_divisor(operation: str) -> None:
    """Raises `ZeroDivisorError` where a launch runs that checks divisors, for an operation of integers by 0."""
    item = _RUNNING.get()
    if item is not None and item.launch.checks_divisors:
        raise ZeroDivisorError(
            f"{item}: {operation} of integers by 0", place=calling_line(), remedy=ZERO_DIVISOR_REMEDY
        )
