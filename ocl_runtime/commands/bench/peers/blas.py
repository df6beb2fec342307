"""CLBlast through pyclblast, for what a BLAS has of the cases: products of matrices and transposes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_runtime.commands.bench.case import Arrays, Case
from ocl_runtime.commands.bench.opencl import OpenCL
from ocl_runtime.commands.bench.peers.base import LeftOut, Value, library
from ocl_runtime.commands.bench.samples import Sample


class CLBlast:
    """Calls through the queue with a clock."""

    name = "clblast"

    def __init__(self, opencl: OpenCL) -> None:
        self._blas = library("pyclblast")
        self.about = "CLBlast through pyclblast"
        self.clock = "the host's clock, to the end" if opencl.kind == "cpu" else "the device's clock"
        self._opencl = opencl

    def prepare(self, case: Case, sets: list[Arrays]) -> Called:
        """Uploads the inputs. Raises `LeftOut` for what is no routine of BLAS."""
        if case.key not in {"product", "transpose"} or sets[0][0].dtype.itemsize < 4:
            raise LeftOut("no routine of BLAS")
        opencl, queue = self._opencl, self._opencl.queue
        made = [tuple(opencl.array(x) for x in inputs) for inputs in sets]
        height, width = sets[0][0].shape
        shape = (width, height) if case.key == "transpose" else (height, sets[0][1].shape[1])
        result = opencl.array(np.zeros(shape, sets[0][0].dtype))

        def call(turn: int) -> Any:
            inputs = made[turn % len(made)]
            if case.key == "transpose":
                return self._blas.omatcopy(queue, height, width, inputs[0], result, width, height, a_transp=True)
            columns = shape[1]
            return self._blas.gemm(queue, height, columns, width, *inputs, result, width, columns, columns)

        return Called(opencl, call, result, flat=case.key == "transpose")


class Called:
    """A routine over uploaded inputs."""

    def __init__(self, opencl: OpenCL, call: Callable[[int], Any], result: Any, *, flat: bool) -> None:
        self._opencl, self._call, self._result, self._flat = opencl, call, result, flat

    def time(self, turn: int) -> Sample:
        """By the event that the routine gives."""
        return self._opencl.time(lambda: [self._call(turn)])

    def results(self, turn: int) -> tuple[Value, ...]:
        """Downloads the result."""
        self._call(turn)
        found = np.asarray(self._result.get())
        return (Value.of(found.reshape(-1) if self._flat else found),)
