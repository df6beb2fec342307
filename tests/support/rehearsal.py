"""One program for the kernels of many evaluations: PoCL builds ten kernels in one program in the time of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ocl_ir.kernel.grammar import Kernel
from ocl_runtime.arrays.array import Array
from ocl_runtime.plan.cache.evaluation import Evaluation
from ocl_runtime.runtime import Runtime


@contextmanager
def rehearsal(runtime: Runtime) -> Iterator[None]:
    """Within it, evaluations are planned but not run, so no value may be looked at; at its end, all of their kernels
    are built together, and are there when the same is evaluated in earnest."""
    kernels: list[Kernel] = []

    def ready(plan: Evaluation) -> None:
        kernels.extend(launch.kernel for launch in plan.launches)

    with _instead(runtime, build=kernels.extend, ready=ready, run=lambda plan: None):
        yield
    runtime.executor.engine.executables(kernels)


def one_by_one(runtime: Runtime, make: Callable[[], Sequence[Array]]) -> list[Array]:
    """The arrays, each computed on its own, though their kernels are built together."""
    with rehearsal(runtime):
        for array in make():
            array.compute()
    return [array.compute() for array in make()]


@contextmanager
def _instead(runtime: Runtime, **methods: object) -> Iterator[None]:
    vars(runtime.executor).update(methods)
    try:
        yield
    finally:
        for name in methods:
            del vars(runtime.executor)[name]
