"""Remembers what is known of a kernel by its identity: its hash is that of all its statements."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import ref

from ocl_ir.kernel.grammar import Kernel

_Known = TypeVar("_Known")
_MOST_KNOWN = 4096


def by_identity(function: Callable[[Kernel], _Known]) -> Callable[[Kernel], _Known]:
    """The function, called once for each kernel; who gets the result again must not change it.

    A decorator, or `names_of = by_identity(names)`.
    """
    known: dict[int, tuple[ref[Kernel], _Known]] = {}  # without callbacks, in which an interrupt would be lost

    @wraps(function)
    def remembered(kernel: Kernel) -> _Known:
        entry = known.get(id(kernel))
        if entry is None or entry[0]() is not kernel:
            if len(known) >= _MOST_KNOWN:
                known.clear()
            entry = known[id(kernel)] = ref(kernel), function(kernel)
        return entry[1]

    return remembered
