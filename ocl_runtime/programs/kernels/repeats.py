"""Launches of a kernel that come again: over the same arrays, with constants and sizes that are the same.

A loop calls a kernel over the same arrays again and again. The third such call binds what it launches to their memory,
as `prepare` does; those behind it only compare what the kernel reads from around it and hand over their numbers, which
may differ from call to call. Nothing here keeps an array alive.
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

from ocl_ir.language.translate import Translation
from ocl_ir.source_line import Where
from ocl_runtime.arrays import Array
from ocl_runtime.programs.bound_launch import BoundLaunch, open_number
from ocl_runtime.programs.kernels.arguments import Path
from ocl_runtime.programs.kernels.variants import number_of

_CALLS_BEFORE = 2
"""Calls that are launched one by one before what comes again is bound: that takes as long as several of these."""
_MOST_FAILURES = 3
"""Bindings that were outdated by the next call, after which none is made any more."""
_MOST = 16
"""Calls that are remembered for each kernel."""
_MOST_SHORT = 2**31
"""Ints from here on need a variant that counts in 64 bits."""
_BY_IDENTITY = (Array, FunctionType, str, type, np.dtype, type(None))


def key_of(sizes: object, counts_groups: bool, args: Sequence[Any], constants: Container[int]) -> Hashable | None:
    """What tells a call from others, if it may come again: its arrays and constants by identity, its numbers by type.
    `constants` are the indices of parameters that are annotated as such."""
    key: list[object] = [repr(sizes), counts_groups]
    for index, value in enumerate(args):
        if isinstance(value, _BY_IDENTITY) or index in constants:
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
    """A call that may come again. It holds all arguments but arrays, so that nothing else gets the identity of a
    constant."""

    arrays: Sequence[ref[Array]]
    others: Sequence[object]
    calls: int = 0
    failures: int = 0
    bound: tuple[BoundLaunch, Translation] | None = None
    """What it launches, and of which variant: in one piece, since other threads change it."""


class Repeats:
    """The calls of one kernel that may come again. Any thread may ask."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, _Repeat] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, key: Hashable, numbers: Callable[[], Mapping[Path, Any]], where: Where) -> bool:
        """Launches what is bound for a call; False where nothing is, or not any more."""
        repeat = self._known.get(key)
        bound = None if repeat is None else repeat.bound
        if repeat is None or bound is None:
            return False
        launch, translation = bound
        current = all(capture.is_current for capture in translation.captures)
        if current and launch.start((where,), _open_numbers(translation, numbers)):
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
                arrays = [ref(value, forget) for value in args if isinstance(value, Array)]
                others = [value for value in args if not isinstance(value, Array)]
                others += [_body(value) for value in args if isinstance(value, FunctionType)]
                repeat = self._known[key] = _Repeat(arrays, others)
            repeat.calls += 1
            return repeat.calls > _CALLS_BEFORE and repeat.failures < _MOST_FAILURES

    def bind(self, key: Hashable, launch: BoundLaunch | None, translation: Translation) -> None:
        """Remembers what a call launches; nothing, if it cannot be bound."""
        with self._lock:
            repeat = self._known.get(key)
            if repeat is None:
                return
            if launch is None:
                repeat.failures = _MOST_FAILURES
                repeat.bound = None
            else:
                repeat.bound = launch, translation


def _forget(known: OrderedDict[Hashable, _Repeat], key: Hashable, _: object) -> None:
    known.pop(key, None)


def _open_numbers(translation: Translation, numbers: Callable[[], Mapping[Path, Any]]) -> dict[str, Any]:
    """The numbers of a call, by the names that a bound launch has for them."""
    opened: dict[str, Any] = {}
    if translation.open_numbers:
        params, passed = translation.kernel.params, numbers()
        for index in translation.open_numbers:
            value = number_of(translation.sources[index], params[index], passed)
            name, number = open_number(params[index], index, value)
            opened[name] = number
    return opened
