"""Which stream the calling thread has chosen, for a block of code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ocl_ir.source_line import calling_line
from ocl_runtime.errors import SettingError

CHOSEN: ContextVar[int | None] = ContextVar("ocl_runtime_stream", default=None)
"""The stream that the calling thread has chosen, if it has."""


@contextmanager
def stream(number: int) -> Iterator[int]:
    """Commands of this thread go to stream `number` (modulo the streams that a runtime has) until the block ends.

    Without, each thread has a stream of its own, by the order in which threads first use a runtime. Raises
    `SettingError` for what is no stream number.
    """
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise SettingError(
            f"{number!r} is no stream", place=calling_line(), remedy="number streams with integers from 0 on"
        )
    before = CHOSEN.get()
    try:  # and only then: an interrupt may come as `set` returns
        CHOSEN.set(number)
        yield number
    finally:
        CHOSEN.set(before)


@contextmanager
def unchosen() -> Iterator[None]:
    """As if the calling thread had chosen no stream."""
    before = CHOSEN.get()
    try:
        CHOSEN.set(None)
        yield
    finally:
        CHOSEN.set(before)


def chosen() -> int | None:
    """The stream that the calling thread has chosen, if it has."""
    return CHOSEN.get()
