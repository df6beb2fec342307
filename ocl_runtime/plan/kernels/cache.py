"""Kernels by the structure they were built for.

The key of a kernel is its form (see `ocl_runtime.plan.kernels.form`): dtypes, operations, axes and classes of strides,
but no sizes, scalars or identities. So a new shape needs no new kernel, and running an expression again builds no IR.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

from ocl_ir.kernel.grammar import Kernel

Form = TypeVar("Form", bound=Hashable)


@dataclass(frozen=True)
class CacheStatistics:
    """Counts since the cache was made, and how many kernels it holds now."""

    hits: int
    misses: int
    evictions: int
    kernels: int


class KernelCache:
    """The most recently used kernels, at most `limit`."""

    def __init__(self, limit: int = 1024) -> None:
        self._limit = limit
        self._kernels: OrderedDict[Hashable, Kernel] = OrderedDict()
        self._lock = threading.Lock()
        self._hits = self._misses = self._evictions = 0

    def get(self, form: Form, build: Callable[[Form], Kernel]) -> Kernel:
        """The kernel of a form, built at its first use."""
        with self._lock:
            kernel = self._kernels.get(form)
            if kernel is not None:
                self._hits += 1
                self._kernels.move_to_end(form)
                return kernel
            self._misses += 1
        made = build(form)  # outside of the lock: two threads may both build it, and one result is kept
        with self._lock:
            kernel = self._kernels.setdefault(form, made)
            for _ in range(len(self._kernels) - self._limit):
                self._kernels.popitem(last=False)
                self._evictions += 1
        return kernel

    def form_of(self, kernel: Kernel) -> Hashable | None:
        """The form that a kernel was made for, if it is still here."""
        with self._lock:
            return next((form for form, known in self._kernels.items() if known is kernel), None)

    def adopt(self, form: Hashable, kernel: Kernel) -> Kernel:
        """The kernel of a form: that which is here, else this one, which an earlier process has built."""
        with self._lock:
            return self._kernels.setdefault(form, kernel)

    @property
    def statistics(self) -> CacheStatistics:
        """How the cache did so far."""
        with self._lock:
            return CacheStatistics(self._hits, self._misses, self._evictions, len(self._kernels))
