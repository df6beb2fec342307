"""The sides of a branch whose warps specialise: they go on at once, and wait for each other.

Here one of them runs at a time, each in a thread of its own, until it waits for what is not there yet; then the next
one runs. So what happens does not depend on threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context


class _Abandoned(BaseException):
    """Another side has failed, or somebody has interrupted all."""


class Sides:
    """The sides of a branch, as functions."""

    def __init__(self, sides: Sequence[Callable[[], None]]) -> None:
        self._sides = sides
        self._wake = [threading.Semaphore(0) for _ in sides]
        self._all_ended = threading.Semaphore(0)
        self._running = list(range(len(sides)))
        self._now = 0
        self._progress = 0
        """Counts what may be what another side waits for: that a side begins, goes on or ends."""
        self._failure: BaseException | None = None

    def run(self) -> None:
        """Runs all to their ends. Raises what the first one raises that fails, and `KeyboardInterrupt`."""
        contexts = [copy_context() for _ in self._sides]  # how NumPy treats errors, too
        threads = [
            threading.Thread(target=context.run, args=(self._run, number)) for number, context in enumerate(contexts)
        ]
        try:
            self._run_in(threads)
        except BaseException as interrupt:  # noqa: BLE001  # raised again below
            self._failure = interrupt
            for wake in self._wake:
                wake.release()
        for thread in threads:
            if thread.is_alive():  # an interrupt may have come before all were started
                thread.join()
        if self._failure is not None:
            raise self._failure

    def _run_in(self, threads: Sequence[threading.Thread]) -> None:
        for thread in threads:
            thread.start()
        self._wake[0].release()
        self._all_ended.acquire()

    def wait(self, holds: Callable[[], bool]) -> None:
        """Lets other sides run until something holds, or all wait."""
        while not holds():
            seen = self._progress
            self._give_way()
            if self._progress == seen and not holds():
                return
        self._progress += 1

    def check(self) -> None:
        """Ends a side where others have failed."""
        if self._failure is not None:
            raise _Abandoned

    def _run(self, number: int) -> None:
        self._wake[number].acquire()
        self._progress += 1
        try:
            self.check()
            self._sides[number]()
        except _Abandoned:
            pass
        except BaseException as failure:  # noqa: BLE001  # raised again by `run`
            self._failure = self._failure or failure
        self._progress += 1
        following = self._following(number)
        self._running.remove(number)
        if following == number:
            self._all_ended.release()
        else:
            self._wake_up(following)

    def _give_way(self) -> None:
        number = self._now
        following = self._following(number)
        if following != number:
            self._wake_up(following)
            self._wake[number].acquire()
        self.check()

    def _following(self, number: int) -> int:
        at = self._running.index(number) + 1
        return self._running[at % len(self._running)]

    def _wake_up(self, number: int) -> None:
        self._now = number
        self._wake[number].release()
