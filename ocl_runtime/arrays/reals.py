"""Arrays of a runtime whose integers become another real dtype than the runtime's.

The quotient of integers, their mean, a sine of them: what these are is the default real of the executor that an array
belongs to, and results belong to that of their operands. A runtime has one by its settings. `with_real` gives it
another, for the arrays of `ocl_runtime.numpy`, which become float64 where NumPy's do.
"""

from __future__ import annotations

import threading
from typing import Any, cast
from weakref import WeakValueDictionary

from ocl_ir.types import DType
from ocl_runtime.plan.executor import Executor


class _WithReal:
    """A runtime with another default real."""

    def __init__(self, runtime: Executor, default_real: DType) -> None:
        self.runtime = runtime
        self.default_real = default_real
        # What stays the same as long as the runtime lives, and is asked for by every operation.
        self.target, self.registry = runtime.target, runtime.registry

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runtime, name)


_lock = threading.Lock()
_known: WeakValueDictionary[tuple[int, DType], _WithReal] = WeakValueDictionary()
"""By the identity of the runtime, which each of them keeps alive."""


def with_real(executor: Executor, default_real: DType) -> Executor:
    """The executor of the same runtime, and of the same arrays, with a default real."""
    if executor.default_real == default_real:
        return executor
    runtime = runtime_of(executor)
    if runtime.default_real == default_real:
        return runtime
    with _lock:
        known = _known.setdefault((id(runtime), default_real), _WithReal(runtime, default_real))
    return cast("Executor", known)


def runtime_of(executor: Executor) -> Executor:
    """The runtime itself."""
    return executor.runtime if isinstance(executor, _WithReal) else executor
