"""Objects that are made once: by what they are made of, the one that is still alive.

The table holds them weakly, and belongs to no runtime because it holds nothing but what somebody else keeps alive.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Any, Generic, Protocol, TypeVar
from weakref import ref


class Entered(Protocol):
    """What knows its key in the table, which is None until it has been entered."""

    key: Any


Made = TypeVar("Made", bound=Entered)

_MOST_DEAD = 2048
"""Entries of objects that are gone, before they are removed; half as many as others are alive, where that is more."""


class Interned(Generic[Made]):
    """The objects by key. What an object keeps alive may stand in its key by `id`: whoever has that later finds that
    the entry's object is gone. Any thread may use it; whoever finds something takes no lock."""

    def __init__(self) -> None:
        self.entries: dict[Hashable, ref[Made]] = {}
        """By key; whoever looks into it may find an object that is gone."""
        self._limit = _MOST_DEAD
        """At so many entries, those of objects that are gone are removed: none of them has to say so when it goes."""
        # Held to remove or replace an entry. Re-entrant: freeing an object meanwhile may run somebody's finalizer.
        self._lock = threading.RLock()

    def known(self, key: Hashable) -> Made | None:
        """The object of this key, if there is one."""
        entry = self.entries.get(key)
        return None if entry is None else entry()

    def enter(self, key: Hashable, made: Made) -> Made:
        """A new object, or that of another thread which was faster."""
        made.key, entries, entry = key, self.entries, ref(made)
        if entries.setdefault(key, entry) is not entry:  # one operation of the dictionary: no thread comes between
            return self._entered_again(key, made, entry)
        if len(entries) > self._limit:
            self._sweep()
        return made

    def _entered_again(self, key: Hashable, made: Made, entry: ref[Made]) -> Made:
        """The same where the key has an entry, whose object may be gone."""
        with self._lock:
            before = self.entries.setdefault(key, entry)
            known = None if before is entry else before()
            if known is None:
                self.entries[key] = entry
                return made
        return known

    def enter_once(self, key: Hashable, made: Made) -> None:
        """An object that is there, and may be in the table by now."""
        with self._lock:
            if made.key is None:
                self.enter(key, made)

    def leave(self, made: Made) -> None:
        """An object is no longer what its key says; it may have left before."""
        key = made.key
        if key is not None:
            with self._lock:
                entry = self.entries.get(key)
                if entry is not None and entry() is made:
                    del self.entries[key]

    def _sweep(self) -> None:
        with self._lock:
            entries = self.entries
            for key, entry in [item for item in entries.copy().items() if item[1]() is None]:
                if entries.get(key) is entry:
                    del entries[key]
            self._limit = len(entries) + max(_MOST_DEAD, len(entries) // 2)

    def __len__(self) -> int:
        """How many there are now."""
        self._sweep()
        return len(self.entries)
