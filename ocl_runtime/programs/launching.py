"""Kernels launched over arrays, once or again and again.

    launch_over((x, y), lambda buffers: Call(kernel, (n, *buffers), (n,), None))

What the kernel reads is computed. Copies, elements and expressions that were made before keep what they had; views of
the same array see what is written, and so does PyOpenCL where the memory was lent to it.

    add = prepare_over((x, y), call)
    add()
    add()

That is bound to the memory of the arrays (`bound_launch.py`). Where they lie elsewhere by now, or others need what is
written, it is launched as the first time, and bound anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ocl_ir.graph.build import Buffer
from ocl_ir.source_line import Where, calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.core import until_planned
from ocl_runtime.plan.evaluate import Missing
from ocl_runtime.plan.tracing import tracer
from ocl_runtime.programs.bound_launch import BoundLaunch, bind_over
from ocl_runtime.programs.kernel_call import Call, executor_behind, give, launch_traced, ready

__all__ = ["Call", "PreparedLaunch", "launch_over", "prepare_over"]


def launch_over(arrays: Sequence[Array], call: Callable[[Sequence[Buffer]], Call], where: Where = "") -> None:
    """Launches a kernel over arrays of any shapes and dtypes, without waiting for it.

    `call` gets the memory of the arrays in their order and says what to launch; it may be asked several times, and must
    keep none of the buffers. Of what is launched over no work-items, nothing is launched. Raises `MixedDevicesError`
    for arrays of several runtimes, `DTypeError` for an element and `ShapeError` for a broadcast view that is written,
    `ShapeError` where what is written overlaps another argument, `Error` where a captured function writes an array that
    is not its own, and what `DeviceExecutor.launch` raises.

        launch_over((x, y), lambda buffers: Call(saxpy, (x.size, 2.0, *buffers), (x.size,), None))
    """
    where = where or calling_line()
    executor = executor_behind(arrays)
    trace = tracer.get()
    if trace is not None:
        launch_traced(arrays, call, executor, trace, where)
        return

    def attempt(make: bool) -> Missing | None:
        with executor.registry.lock:  # nobody computes or writes meanwhile
            while True:
                launch = ready(arrays, call, executor, make=make)
                if not isinstance(launch, Missing):
                    give(launch, arrays, executor, where)
                    return None
                if not make:
                    return launch
                launch.make()

    until_planned(attempt)


def prepare_over(
    arrays: Sequence[Array], call: Callable[[Sequence[Buffer]], Call], where: Where = ""
) -> PreparedLaunch:
    """The launch of a kernel over arrays, built and bound, to be made by calling it. Raises as `launch_over` does.

    add = prepare_over((x, y), lambda buffers: Call(kernel, (n, *buffers), (n,), None))
    add()
    """
    prepared = PreparedLaunch(arrays, call, where or calling_line())
    if tracer.get() is None:
        prepared.prepare()
    return prepared


class PreparedLaunch:
    """A launch over the same arrays, to be called. Any thread may call it."""

    def __init__(self, arrays: Sequence[Array], call: Callable[[Sequence[Buffer]], Call], where: Where) -> None:
        self._arrays = tuple(arrays)
        self._call = call
        self._where = where
        self._executor = executor_behind(arrays)
        self._lines: Sequence[Where] = (where,)
        self._bound: BoundLaunch | None = None

    def __call__(self) -> None:
        """Launches the kernel over what the arrays are now. Raises as `launch_over` does."""
        is_traced = tracer.get() is not None
        if not is_traced and self._bound is not None and self._bound.start(self._lines):
            return
        launch_over(self._arrays, self._call, self._where)
        if not is_traced:
            self.prepare()

    def prepare(self) -> None:
        """Binds the launch to the memory that the arrays have now, once nobody else needs what is written."""
        self._bound = bind_over(self._arrays, self._call, self._executor, self._where)
