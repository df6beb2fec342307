"""Objects of which most is read once somebody asks for it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

_reading = threading.RLock()
"""Held by who reads: of two threads that ask for the same, the second finds it there."""

if hasattr(os, "register_at_fork"):  # of whose holder nothing is left in a child, as Python does with its own locks
    os.register_at_fork(after_in_child=_reading._at_fork_reinit)  # type: ignore[attr-defined]


class Late:
    """A frozen dataclass with slots that may lack the fields named in `LATE`: who asks for one has all of them read."""

    __slots__ = ("_read",)
    LATE: ClassVar[tuple[str, ...]] = ()
    _read: Callable[[], Sequence[object]]
    """Gives the values of these fields; only what lacks them has it."""

    def read_later(self, read: Callable[[], Sequence[object]]) -> None:
        """Has what gives the values of the fields that it lacks."""
        object.__setattr__(self, "_read", read)

    if not TYPE_CHECKING:  # every name would be a field

        def __getattr__(self, name: str) -> Any:
            """A field that is not there, as Python asks for it."""
            if name not in self.LATE:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
            with _reading:
                try:
                    return object.__getattribute__(self, name)  # another thread has read it
                except AttributeError:
                    for field, value in zip(self.LATE, self._read(), strict=True):
                        object.__setattr__(self, field, value)
                    object.__delattr__(self, "_read")  # with what it is read from
            return object.__getattribute__(self, name)
