"""What a function has been translated to, by types: found again as long as what it read of Python's own scopes is the
same. Functions that are made anew for each call, and globals that change with each, are new variants: the oldest go."""

from __future__ import annotations

import threading
from collections import OrderedDict
from itertools import filterfalse
from typing import Any, Generic, Protocol, TypeVar

from ocl_ir.language.values.captures import Capture

_MOST_TYPES = 256
_MOST_CAPTURES = 16
"""What is kept for the same types."""


class _Captures(Protocol):
    @property
    def captures(self) -> tuple[Capture, ...]:
        """What was read of Python's own scopes."""


Made = TypeVar("Made", bound=_Captures)


class Translated(Generic[Made]):
    """What one function has been translated to. Any thread may ask."""

    def __init__(self) -> None:
        self._known: OrderedDict[Any, list[Made]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    def find(self, key: Any) -> Made | None:
        """What is current for a key, if anything is."""
        return next(filter(_is_current, self._known.get(key, ())), None)

    def keep(self, key: Any, made: Made) -> None:
        """Keeps what was made for a key, in the place of what another thread has made meanwhile."""
        with self._lock:
            outdated = [*filterfalse(_is_current, self._known.get(key, ()))]
            self._known[key] = [made, *outdated[: _MOST_CAPTURES - 1]]
            if len(self._known) > _MOST_TYPES:
                self._known.popitem(last=False)

    def kept(self, key: Any) -> list[Made]:
        """What is kept for a key, the newest first."""
        return self._known.get(key, [])

    def keys(self) -> list[Any]:
        """What it has been translated for."""
        with self._lock:
            return list(self._known)

    def all(self) -> list[Made]:
        """All that is kept."""
        with self._lock:
            return [made for several in self._known.values() for made in several]


def _is_current(made: _Captures) -> bool:
    return all(capture.is_current for capture in made.captures)
