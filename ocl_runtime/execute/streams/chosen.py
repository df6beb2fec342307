"""Which stream the calling thread has chosen, for a block of code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ocl_ir.source_line import calling_line
from ocl_runtime.errors import SettingError

_chosen: ContextVar[int | None] = ContextVar("ocl_runtime_stream", default=None)


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
    before = _chosen.get()
    try:  # and only then: an interrupt may come as `set` returns
        _chosen.set(number)
        yield number
    finally:
        _chosen.set(before)


@contextmanager
def unchosen() -> Iterator[None]:
    """As if the calling thread had chosen no stream."""
    before = _chosen.get()
    try:
        _chosen.set(None)
        yield
    finally:
        _chosen.set(before)


def chosen() -> int | None:
    """The stream that the calling thread has chosen, if it has."""
    return _chosen.get()
