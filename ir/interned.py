"""Objects that are made once: by what they are made of, the one that is still alive.

The table holds them weakly, and belongs to no runtime because it holds nothing but what somebody else keeps alive.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Generic, TypeVar
from weakref import ref

Made = TypeVar("Made", bound=object)


class _Entry(ref[Made]):
    """Where the table has an object, for as long as that lives."""

    __slots__ = ("key",)
    key: Hashable


class Interned(Generic[Made]):
    """The objects by key. What an object keeps alive may stand in its key by `id`: nothing else has that while the
    entry exists. Any thread may use it; whoever finds something takes no lock."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, _Entry[Made]] = {}
        # Re-entrant: freeing an object while the lock is held may run somebody's finalizer.
        self._lock = threading.RLock()
        self._gone = self._forget  # one object for all entries

    def known(self, key: Hashable) -> Made | None:
        """The object of this key, if there is one."""
        entry = self._entries.get(key)
        return None if entry is None else entry()

    def enter(self, key: Hashable, made: Made) -> Made:
        """A new object, or that of another thread which was faster."""
        with self._lock:
            found = self.known(key)
            if found is not None:
                return found
            entry = self._entries[key] = _Entry(made, self._gone)
            entry.key = key
            return made

    def _forget(self, entry: _Entry[Made]) -> None:
        with self._lock:
            if self._entries.get(entry.key) is entry:
                del self._entries[entry.key]

    def __len__(self) -> int:
        return len(self._entries)
