"""A line on the terminal while planning and building take long.

Only where standard error is a terminal and rich is installed (`pip install "ocl-runtime[tools]"`), and only after some
seconds: what is quick says nothing, and neither does a program whose output goes to a file.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

AFTER = 2.0
"""Seconds."""


@contextmanager
def progress(after: float = AFTER) -> Iterator[None]:
    """Shows a line from some seconds on until the block ends."""
    stream = sys.stderr
    if stream is None or not stream.isatty() or importlib.util.find_spec("rich") is None:
        yield
        return
    shown: list[Any] = []
    ended = threading.Lock()

    def show() -> None:
        from rich.console import Console

        status = Console(file=stream).status("ocl-runtime: planning, and building kernels …")
        with ended:
            if timer.finished.is_set():
                return
            shown.append(status)
            status.start()

    timer = threading.Timer(after, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with ended:  # the line is there, or never will be
            timer.cancel()
        for status in shown:
            status.stop()
