"""Arrays whose integers become another real dtype than is usual for their executor.

The quotient of integers, their mean, a sine of them: what these are is the default real of the executor that an array
belongs to, and results belong to that of their operands. An executor has one by its settings. `with_real` gives it
another, for the arrays of `ocl_runtime.numpy`, which become float64 where NumPy's do.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, cast

from ocl_ir.types import DType

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor


class WithReal:
    """An executor with another default real."""

    def __init__(self, base: Executor, default_real: DType) -> None:
        self.base = base
        self.default_real = default_real
        # What stays the same as long as that lives, and is asked for by every operation.
        self.target, self.registry = base.target, base.registry

    def __getattr__(self, name: str) -> Any:
        return getattr(self.base, name)


def with_real(executor: Executor, default_real: DType) -> Executor:
    """An executor with a default real that its settings do not change."""
    base: Any = executor
    if type(executor) is WithReal:
        if executor.default_real is default_real:
            return cast("Executor", executor)
        base = executor.base
    # That knows it by a weak reference, since it keeps that. Two threads may make two: nobody asks which.
    reference = vars(base).get("_with_real")
    known = None if reference is None else reference()
    if known is None or known.default_real is not default_real:
        known = WithReal(base, default_real)
        vars(base)["_with_real"] = weakref.ref(known)
    return cast("Executor", known)


def like(executor: Executor, other: Executor) -> Executor:
    """An executor for arrays that come from another runtime's, and keep the default real that they have by themselves,
    if the device has it."""
    own = isinstance(other, WithReal) and (other.default_real.name != "f64" or executor.target.fp64)
    return with_real(executor, other.default_real) if own else executor


def base_executor(executor: Executor) -> Executor:
    """The executor itself, with the default real of its settings."""
    return executor.base if isinstance(executor, WithReal) else executor
