"""Arrays of a runtime whose integers become another real dtype than the runtime's.

The quotient of integers, their mean, a sine of them: what these are is the default real of the executor that an array
belongs to, and results belong to that of their operands. A runtime has one by its settings. `with_real` gives it
another, for the arrays of `ocl_runtime.numpy`, which become float64 where NumPy's do.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, cast

from ocl_ir.types import DType

if TYPE_CHECKING:
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


def with_real(executor: Executor, default_real: DType) -> Executor:
    """The runtime of an executor with a default real that its settings do not change."""
    if isinstance(executor, _WithReal) and executor.default_real == default_real:
        return executor
    runtime = runtime_of(executor)
    # The runtime knows it by a weak reference, since it keeps the runtime. Two threads may make two: nobody asks which.
    reference = vars(runtime).get("_with_real")
    known = None if reference is None else reference()
    if known is None or known.default_real != default_real:
        known = _WithReal(runtime, default_real)
        vars(runtime)["_with_real"] = weakref.ref(known)
    return cast("Executor", known)


def like(executor: Executor, other: Executor) -> Executor:
    """An executor for arrays that come from another runtime's, and keep the default real that they have by themselves,
    if the device has it."""
    own = isinstance(other, _WithReal) and (other.default_real.name != "f64" or executor.target.fp64)
    return with_real(executor, other.default_real) if own else executor


def runtime_of(executor: Executor) -> Executor:
    """The runtime itself."""
    return executor.runtime if isinstance(executor, _WithReal) else executor
