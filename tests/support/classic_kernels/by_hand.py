"""The kernels in OpenCL C through PyOpenCL, with nothing of the library."""

from __future__ import annotations

import warnings

import numpy as np
import pyopencl as cl

from tests.support.classic_kernels.classic import Arrays, Classic, Launch, Problem, named


class ByHand:
    """A problem in memory of its own, solved by the kernels in OpenCL C."""

    def __init__(self, context: cl.Context, queue: cl.CommandQueue, classic: Classic, problem: Problem) -> None:
        self._queue, self._problem = queue, problem
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            self._program = cl.Program(context, classic.source).build("-cl-std=CL1.2")
        flags = cl.mem_flags.READ_WRITE
        self.buffers = {name: cl.Buffer(context, flags, x.nbytes) for name, x in problem.arrays.items()}
        """The memory of each array."""
        self._kernels = [self._bound(launch) for launch in problem.launches if 0 not in launch.groups]

    def _bound(self, launch: Launch) -> tuple[cl.Kernel, tuple[int, ...], tuple[int, ...]]:
        kernel = cl.Kernel(self._program, launch.kernel.__name__)
        numbers = [np.int32(value) if isinstance(value, int) else value for value in launch.by_hand]
        kernel.set_args(*named(numbers, self.buffers))
        return kernel, launch.items, launch.group

    def restore(self) -> None:
        """Gives all arrays what they had at first."""
        for name, x in self._problem.arrays.items():
            cl.enqueue_copy(self._queue, self.buffers[name], np.ascontiguousarray(x))

    def enqueue(self) -> list[cl.Event]:
        """Launches all kernels."""
        return [cl.enqueue_nd_range_kernel(self._queue, *kernel) for kernel in self._kernels]

    def arrays(self) -> Arrays:
        """What the arrays have now."""
        found = {name: np.empty_like(x, order="C") for name, x in self._problem.arrays.items()}
        for name, x in found.items():
            cl.enqueue_copy(self._queue, x, self.buffers[name])
        return found
