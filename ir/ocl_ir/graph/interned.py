"""Objects that are made once: by what they are made of, the one that is still alive.

The table holds them weakly, and belongs to no runtime because it holds nothing but what somebody else keeps alive.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable
from typing import Any, Generic, Protocol, TypeVar
from weakref import ref


class Entered(Protocol):
    """What knows where the table has it."""

    entry: Any


Made = TypeVar("Made", bound=Entered)

_MOST_DEAD = 256
"""Entries of objects that are gone, before they are removed."""


class _Entry(ref[Made]):
    """Where the table has an object, for as long as that lives."""

    __slots__ = ("key",)
    key: Hashable


class Interned(Generic[Made]):
    """The objects by key. What an object keeps alive may stand in its key by `id`: whoever has that later finds that
    the entry's object is gone. Any thread may use it; whoever finds something takes no lock."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, _Entry[Made]] = {}
        self._dead: deque[_Entry[Made]] = deque()
        """Entries whose objects are gone, until something is entered: a finalizer does no more than put one here."""
        self._gone = self._dead.append  # one object for all entries
        # Held to remove an entry. Re-entrant: freeing an object meanwhile may run somebody's finalizer.
        self._lock = threading.RLock()

    def known(self, key: Hashable) -> Made | None:
        """The object of this key, if there is one."""
        entry = self._entries.get(key)
        return None if entry is None else entry()

    def enter(self, key: Hashable, made: Made) -> Made:
        """A new object, or that of another thread which was faster."""
        if len(self._dead) >= _MOST_DEAD:
            self._sweep()
        entry = _Entry(made, self._gone)
        entry.key = key
        made.entry = entry
        if self._entries.setdefault(key, entry) is entry:  # one operation of the dictionary: no thread comes between
            return made
        with self._lock:
            known = self._entered(key, entry)
        return made if known is None else known

    def enter_once(self, key: Hashable, made: Made) -> None:
        """An object that is there, and may be in the table by now."""
        with self._lock:
            if made.entry is None:
                self.enter(key, made)

    def _entered(self, key: Hashable, entry: _Entry[Made]) -> Made | None:
        """An object that is there already; None where the new one is now."""
        while (before := self._entries.setdefault(key, entry)) is not entry:
            known = before()
            if known is not None:
                return known
            del self._entries[key]  # still that one: only who holds the lock removes entries
        return None

    def leave(self, made: Made) -> None:
        """An object is no longer what its key says; it may have left before."""
        entry: _Entry[Made] | None = made.entry
        if entry is not None:
            with self._lock:
                if self._entries.get(entry.key) is entry:
                    del self._entries[entry.key]

    def _sweep(self) -> None:
        with self._lock:
            self._remove_dead()

    def _remove_dead(self) -> None:
        while self._dead:
            entry = self._dead.popleft()
            if self._entries.get(entry.key) is entry:
                del self._entries[entry.key]

    def __len__(self) -> int:
        """How many there are now."""
        self._sweep()
        return len(self._entries)
