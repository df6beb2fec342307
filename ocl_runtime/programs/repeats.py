"""Launches of a kernel that come again: over the same arrays or views of them, with the same constants and sizes.

A loop calls a kernel over the same arrays again and again. The third such call binds what it launches to their memory,
as `prepare` does; those behind it only hand over their numbers, which may differ from call to call. Nothing here keeps
an array alive.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any
from weakref import ref

import numpy as np

from ocl_ir.bfloat16 import BFloat16
from ocl_ir.source_line import Where
from ocl_runtime.arrays import Array
from ocl_runtime.plan.registry import Cell
from ocl_runtime.programs.bound_launch import BoundLaunch

Numbers = Callable[[Sequence[Any]], "Mapping[str, Any] | None"]
"""What gives the open numbers of a call by name; None where what was bound is outdated."""
_CALLS_BEFORE = 2
"""Calls that are launched one by one before what comes again is bound: that takes as long as several of these."""
_WORTH = 4
"""Launches that pay for binding."""
_MOST_FAILURES = 3
"""Bindings in a row that were outdated before that, after which none is made any more."""
_MOST = 64
"""Calls that are remembered for each kernel."""
_MOST_SHORT = 2**31
"""Ints from here on need a variant that counts in 64 bits."""
_SIZES = (int, np.integer, type(None))
_BY_IDENTITY = (FunctionType, str, type, np.dtype, BFloat16, type(None))


def by_position(names: Sequence[str], args: Sequence[Any], keywords: Mapping[str, Any]) -> Sequence[Any] | None:
    """All arguments in the order of the parameters; None where some are left out or wrong."""
    rest = names[len(args) :]
    if len(args) + len(keywords) != len(names) or not keywords.keys() >= set(rest):
        return None
    return (*args, *map(keywords.__getitem__, rest))


def key_of(sizes: object, counts_groups: bool, args: Sequence[Any], constants: Container[int]) -> Hashable | None:
    """What tells a call from others, if it may come again: its arrays by what they are views of and how, constants by
    identity, numbers by type. `constants` are the indices of parameters that are annotated as such."""
    key: list[object] = [counts_groups]
    if not _tell_sizes(sizes, key):
        return None
    for index, value in enumerate(args):
        if index in constants and not isinstance(value, tuple):
            key.append(id(value))
        elif index in constants or not _tell(value, key):
            return None
    return tuple(key)


def _tell_sizes(sizes: object, key: list[object]) -> bool:
    """Adds sizes with their types, since 1 equals True and 1.0; says whether they may be sizes."""
    if isinstance(sizes, tuple):
        key.append(len(sizes))
        return all(_tell_sizes(size, key) for size in sizes)
    key += (type(sizes), sizes)
    return isinstance(sizes, _SIZES)


def _tell(value: Any, key: list[object]) -> bool:
    """Adds what tells an argument from others; says whether anything does."""
    if isinstance(value, Array):
        key += (id(value._cell), value._steps, id(value._executor), value._value)
    elif isinstance(value, _BY_IDENTITY):
        key.append(id(value))
        if isinstance(value, FunctionType):
            key += map(id, _body(value))
    elif isinstance(value, tuple):
        key += (type(value), len(value))
        return all(_tell(part, key) for part in value)
    elif isinstance(value, int) and not -_MOST_SHORT < value < _MOST_SHORT:
        return False
    else:
        key.append(type(value))
        return isinstance(value, int | float | np.generic)
    return True


def _body(function: FunctionType) -> tuple[object, ...]:
    """What a function is made of, which reloading its module in a notebook replaces."""
    return function.__code__, function.__defaults__, function.__kwdefaults__


def _leaves(args: Sequence[Any]) -> Iterator[Any]:
    """The arguments, and those in tuples."""
    for value in args:
        if isinstance(value, tuple):
            yield from _leaves(value)
        else:
            yield value


@dataclass(slots=True)
class _Repeat:
    """A call that may come again, as long as what its arrays are views of is there. It holds all other arguments, so
    that nothing else gets the identity of a constant."""

    cells: Sequence[ref[Cell]]
    others: Sequence[object]
    calls: int = 0
    launches: int = 0
    """Since it was bound."""
    failures: int = 0
    last: int = 0
    """The number of the kernel's call that was the last of its own."""
    bound: tuple[BoundLaunch, Numbers] | None = None
    """What it launches, and what gives its open numbers: in one piece, since other threads change it."""


class Repeats:
    """The calls of one kernel that may come again. Any thread may ask."""

    def __init__(self) -> None:
        self._known: dict[Hashable, _Repeat] = {}
        self._lock = threading.Lock()
        self._calls = 0

    def start(self, key: Hashable, args: Sequence[Any], where: Where) -> bool:
        """Launches what is bound for a call; False where nothing is, or not any more."""
        repeat = self._known.get(key)
        bound = None if repeat is None else repeat.bound
        if repeat is None or bound is None:
            return False
        launch, numbers_of = bound
        numbers = numbers_of(args)
        if numbers is not None and launch.start((where,), numbers):
            self._calls += 1
            repeat.last = self._calls
            repeat.launches += 1
            return True
        repeat.failures = 0 if repeat.launches >= _WORTH else repeat.failures + 1
        repeat.bound, repeat.calls, repeat.launches = None, 0, 0
        return False

    def is_due(self, key: Hashable, args: Sequence[Any]) -> bool:
        """Counts a call; says whether it has come often enough to be bound."""
        with self._lock:
            repeat = self._known.get(key)
            if repeat is None:
                if len(self._known) >= _MOST:
                    self._drop()
                repeat = self._known[key] = self._new(key, args)
            self._calls += 1
            repeat.last = self._calls
            repeat.calls += 1
            return repeat.calls > _CALLS_BEFORE and repeat.failures < _MOST_FAILURES

    def bind(self, key: Hashable, launch: BoundLaunch | None, numbers: Numbers) -> None:
        """Remembers what a call launches, and what gives its open numbers; nothing, if it cannot be bound."""
        with self._lock:
            repeat = self._known.get(key)
            if repeat is None:
                return
            if launch is None:
                repeat.failures = _MOST_FAILURES
                repeat.bound = None
            else:
                repeat.bound = launch, numbers

    def _new(self, key: Hashable, args: Sequence[Any]) -> _Repeat:
        leaves = list(_leaves(args))
        arrays = [value for value in leaves if isinstance(value, Array)]
        others = [value for value in (*args, *leaves) if not isinstance(value, Array | tuple)]
        others += [x._executor for x in arrays]
        others += [_body(value) for value in leaves if isinstance(value, FunctionType)]
        forget = partial(_forget, self._known, key)
        return _Repeat([ref(x._cell, forget) for x in arrays], others)

    def _drop(self) -> None:
        """Forgets the call that is the longest ago, rather one that is not bound."""
        known = list(self._known.items())
        oldest, _ = min(known, key=lambda item: (item[1].bound is not None, item[1].last))
        self._known.pop(oldest, None)


def _forget(known: dict[Hashable, _Repeat], key: Hashable, _: object) -> None:
    known.pop(key, None)
