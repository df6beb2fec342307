"""Calls of the driver during which other Python threads run, and the end of the process.

Python before 3.14 ends a daemon thread that comes back from such a call while the process ends by unwinding its stack,
and the C++ that it comes back through answers by ending the process with an error ("FATAL: exception not rethrown"). So
before the process ends, whoever is in such a call is waited for, and nobody begins to build any more.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from threading import get_ident

_LONGEST = 30.0
"""Seconds to wait for what other threads have begun: a large program may take as long to build."""


class _Threads:
    """Those that are in calls of the driver, with how many."""

    def __init__(self) -> None:
        self.inside: dict[int, int] = {}
        self.last: int | None = None
        """The one that ends the process, once it does."""
        self._is_registered = False

    def register(self) -> None:
        """Has the end of the process wait. Not before the first call: what is registered last comes first, and runtimes
        wait for their commands at the end."""
        if not self._is_registered:
            self._is_registered = True
            atexit.register(self.end)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=self.inside.clear)

    def end(self) -> None:
        """Waits until all others are out."""
        self.last = get_ident()
        until = time.monotonic() + _LONGEST
        while any(thread != self.last for thread in tuple(self.inside)) and time.monotonic() < until:
            time.sleep(0.001)


THREADS = _Threads()


class DriverCall:
    """Around a call of the driver that lets other threads of Python run; with `holds`, whoever comes to one while
    another thread ends the process stays there."""

    def __init__(self, *, holds: bool = False) -> None:
        self._holds = holds

    def __enter__(self) -> None:
        thread, inside = get_ident(), THREADS.inside
        THREADS.register()
        inside[thread] = inside.get(thread, 0) + 1  # before asking: who ends the process asks afterwards
        if self._holds and THREADS.last not in {None, thread}:
            self.__exit__()
            threading.Event().wait()

    def __exit__(self, *error: object) -> None:
        thread, inside = get_ident(), THREADS.inside
        inside[thread] -= 1
        if not inside[thread]:
            del inside[thread]
