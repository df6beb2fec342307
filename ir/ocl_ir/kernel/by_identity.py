"""Remembers what is known of a kernel by its identity: its hash is that of all its statements."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import ref

from ocl_ir.kernel.grammar import Kernel

_Known = TypeVar("_Known")


def by_identity(function: Callable[[Kernel], _Known]) -> Callable[[Kernel], _Known]:
    """The function, called once for each kernel; who gets the result again must not change it. It goes with the kernel.

    `modes = by_identity(modes)`, or as a decorator.
    """
    known: dict[int, tuple[ref[Kernel], _Known]] = {}

    @wraps(function)
    def remembered(kernel: Kernel) -> _Known:
        key = id(kernel)
        entry = known.get(key)
        if entry is None:
            # A kernel's identity is another one's only when it is gone, and its entry with it.
            entry = known[key] = ref(kernel, lambda _: known.pop(key, None)), function(kernel)
        return entry[1]

    return remembered
