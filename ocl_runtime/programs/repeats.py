"""Launches of a kernel that come again: over the same arrays or views of them, with the same constants and sizes.

A loop calls a kernel over the same arrays again and again. The third such call binds what it launches to their memory,
as `prepare` does; those behind it only hand over their numbers, which may differ from call to call. Nothing here keeps
an array alive.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any
from weakref import ref

import numpy as np

from ocl_ir.source_line import Where
from ocl_runtime.arrays import Array
from ocl_runtime.plan.registry import Cell
from ocl_runtime.programs.bound_launch import BoundLaunch

Numbers = Callable[[Sequence[Any]], "Mapping[str, Any] | None"]
"""What gives the open numbers of a call by name; None where what was bound is outdated."""
_CALLS_BEFORE = 2
"""Calls that are launched one by one before what comes again is bound: that takes as long as several of these."""
_MOST_FAILURES = 3
"""Bindings that were outdated by the next call, after which none is made any more."""
_MOST = 16
"""Calls that are remembered for each kernel."""
_MOST_SHORT = 2**31
"""Ints from here on need a variant that counts in 64 bits."""
_BY_IDENTITY = (FunctionType, str, type, np.dtype, type(None))


def key_of(sizes: object, counts_groups: bool, args: Sequence[Any], constants: Container[int]) -> Hashable | None:
    """What tells a call from others, if it may come again: its arrays by what they are views of and how, constants by
    identity, numbers by type. `constants` are the indices of parameters that are annotated as such."""
    key: list[object] = [repr(sizes), counts_groups]
    for index, value in enumerate(args):
        if isinstance(value, Array):
            key += (id(value._cell), value._steps, id(value._executor), value._value)
        elif isinstance(value, _BY_IDENTITY) or index in constants:
            key.append(id(value))
            if isinstance(value, FunctionType):
                key += map(id, _body(value))
        elif isinstance(value, int) and not -_MOST_SHORT < value < _MOST_SHORT:
            return None
        elif isinstance(value, int | float | np.generic):
            key.append(type(value))
        else:
            return None
    return tuple(key)


def _body(function: FunctionType) -> tuple[object, ...]:
    """What a function is made of, which reloading its module in a notebook replaces."""
    return function.__code__, function.__defaults__


@dataclass(slots=True)
class _Repeat:
    """A call that may come again, as long as what its arrays are views of is there. It holds all other arguments, so
    that nothing else gets the identity of a constant."""

    cells: Sequence[ref[Cell]]
    others: Sequence[object]
    calls: int = 0
    failures: int = 0
    bound: tuple[BoundLaunch, Numbers] | None = None
    """What it launches, and what gives its open numbers: in one piece, since other threads change it."""


class Repeats:
    """The calls of one kernel that may come again. Any thread may ask."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, _Repeat] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, key: Hashable, args: Sequence[Any], where: Where) -> bool:
        """Launches what is bound for a call; False where nothing is, or not any more."""
        repeat = self._known.get(key)
        bound = None if repeat is None else repeat.bound
        if repeat is None or bound is None:
            return False
        launch, numbers_of = bound
        numbers = numbers_of(args)
        if numbers is not None and launch.start((where,), numbers):
            return True
        repeat.bound, repeat.calls = None, 0
        repeat.failures += 1
        return False

    def is_due(self, key: Hashable, args: Sequence[Any]) -> bool:
        """Counts a call; says whether it has come often enough to be bound."""
        with self._lock:
            repeat = self._known.get(key)
            if repeat is None:
                if len(self._known) >= _MOST:
                    self._known.popitem(last=False)
                forget = partial(_forget, self._known, key)
                cells = [ref(value._cell, forget) for value in args if isinstance(value, Array)]
                others = [value for value in args if not isinstance(value, Array)]
                others += [value._executor for value in args if isinstance(value, Array)]
                others += [_body(value) for value in args if isinstance(value, FunctionType)]
                repeat = self._known[key] = _Repeat(cells, others)
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


def _forget(known: OrderedDict[Hashable, _Repeat], key: Hashable, _: object) -> None:
    known.pop(key, None)
