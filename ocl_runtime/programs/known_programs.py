"""The programs that one captured function has become on one runtime, and at which sizes they are prepared."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from weakref import WeakValueDictionary

from ocl_runtime.programs.captured import Call, Captured, Prepared
from ocl_runtime.programs.trees import Shape

_MOST_PREPARED = 64
"""Programs with their sizes bound that one function keeps."""
_MOST_LAUNCHES = 2**15
"""Of these programs, unless it is one: they take about 64 MiB of the host's memory."""
_MOST_CALLS = 64
"""Arguments that are just so, for which it knows at once what to replay."""
_MOST_PROGRAMS = 16
"""Programs that it keeps for arguments of the same dtypes and numbers of axes."""
_MOST_FAMILIES = 64
"""Kinds of arguments, other Python values among them, that it keeps programs for, and so their constants."""


class KnownPrograms:
    """What one function has become on one runtime, by the `generation` of what was measured."""

    def __init__(self, generation: int = 0) -> None:
        self.generation = generation
        self.prepared: OrderedDict[tuple[Captured, tuple[int, ...]], Prepared] = OrderedDict()
        self.calls: dict[Hashable, Call] = {}
        """By what a look at the arguments shows: these are found at once."""
        self.captured: OrderedDict[Hashable, list[Captured]] = OrderedDict()
        self.floats: dict[Hashable, tuple[str, ...] | bool] = {}
        """By the shape of calls: the floats that all of them had so far, or whether they are numbers of programs."""
        self.writes_shared: set[Hashable] = set()
        """Kinds of calls for which it writes into an argument that shares memory with another one."""
        self._lock = threading.Lock()
        self._making: WeakValueDictionary[Hashable, threading.RLock] = WeakValueDictionary()

    def making(self, family: Hashable) -> threading.RLock:
        """Held by who makes a program for such calls: of threads that want the same, one makes it."""
        with self._lock:
            return self._making.setdefault(family, threading.RLock())

    def find(self, family: Hashable, sizes: tuple[int, ...], floats: Sequence[float]) -> Prepared | Captured | None:
        """What was prepared for a call just like this one, else a program whose guards the sizes and floats pass."""
        with self._lock:
            programs = self.captured.get(family)
            if programs is None:
                return None
            self.captured.move_to_end(family)
            programs = programs[::-1]
            for captured in programs:
                specialized = self.prepared.get((captured, sizes))
                if specialized is None or (floats and not captured.reals.hold(floats)):
                    continue
                self.prepared.move_to_end((captured, sizes))
                return specialized
        for captured in programs:
            named = dict(zip(captured.names, sizes, strict=True))
            if captured.guards.hold(named) and (not floats or captured.reals.hold(floats)):
                return captured
        return None

    def takes_floats(self, shape: Shape, floats: Sequence[float]) -> bool:
        """Whether the floats of a call are numbers of the program. They are a part of it until there is a call with
        others, and wherever the function cannot do without their values."""
        known = self.floats.get(shape)
        if type(known) is bool:
            return known
        told = tuple(map(repr, floats))
        self.note_floats(shape, told if known is None or known == told else True)
        return known is not None and known != told

    def note_floats(self, shape: Shape, told: tuple[str, ...] | bool) -> None:
        """What is known of the floats of a call; False where the function cannot do without their values."""
        with self._lock:
            self.floats[shape] = told
            for oldest in list(self.floats)[: len(self.floats) - _MOST_FAMILIES]:
                del self.floats[oldest]

    @contextmanager
    def without_numbers(self, shape: Shape) -> Iterator[None]:
        """Calls are captured with the values of their floats, since the function could not be without; nothing is known
        if that fails, too, for another reason then."""
        self.note_floats(shape, False)
        try:
            yield
        except BaseException:
            self.note_floats(shape, True)
            raise

    def note_shared(self, family: Hashable) -> None:
        """For such calls the function writes into an argument that shares memory with another one."""
        with self._lock:
            if len(self.writes_shared) >= _MOST_FAMILIES:
                self.writes_shared.clear()
            self.writes_shared.add(family)

    def keep(self, family: Hashable, captured: Captured) -> None:
        """Takes note of a new program."""
        with self._lock:
            programs = self.captured.setdefault(family, [])
            programs.append(captured)
            del programs[:-_MOST_PROGRAMS]
            for _ in range(len(self.captured) - _MOST_FAMILIES):
                self.captured.popitem(last=False)

    def note(self, sizes: tuple[int, ...], look: Hashable, call: Call) -> None:
        """Takes note of how a call was answered, and at once for others that look like it, if they can be known."""
        with self._lock:
            self.prepared[call.prepared.captured, sizes] = call.prepared
            self._forget_oldest()
            if look is not None:
                self.calls[look] = call
                for _ in range(len(self.calls) - _MOST_CALLS):
                    del self.calls[next(iter(self.calls))]

    def _forget_oldest(self) -> None:
        """Drops what was prepared first, with the calls that know it, until what is left is within its bounds. (In a
        loop amid the lock's block an interrupt could leave the lock taken.)"""
        launches = sum(len(known.bound.commands) for known in self.prepared.values())
        while len(self.prepared) > (_MOST_PREPARED if launches <= _MOST_LAUNCHES else 1):
            _, oldest = self.prepared.popitem(last=False)
            launches -= len(oldest.bound.commands)
            self.calls = {look: call for look, call in self.calls.items() if call.prepared is not oldest}
