"""This library: expressions are built anew and computed in each round."""

from __future__ import annotations

import time
from typing import Any

import ocl_runtime as ocl
import ocl_runtime.numpy as numpy_names
from ocl_runtime.commands.bench.case import Arrays, Case, as_tuple
from ocl_runtime.commands.bench.opencl import OpenCL
from ocl_runtime.commands.bench.peers.base import LeftOut, Names, Value
from ocl_runtime.commands.bench.samples import Sample
from ocl_runtime.errors import Error

NAMES = Names(numpy_names, ocl)


class Ours:
    """Arrays of a runtime."""

    name = "ocl"

    def __init__(self, opencl: OpenCL) -> None:
        runtime = opencl.runtime
        self.about = str(runtime.device)
        self.clock = "the device's clock" if runtime.settings.profile else "the host's clock, to the end"
        self.runtime, self._opencl = runtime, opencl

    def prepare(self, case: Case, sets: list[Arrays]) -> Computed:
        """Uploads the inputs."""
        if case.needs and not hasattr(ocl, case.needs) and not hasattr(numpy_names, case.needs):
            raise LeftOut(f"there is no {case.needs} yet")
        with ocl.use(self.runtime):
            made = [tuple(ocl.asarray(x, copy=True) for x in inputs) for inputs in sets]
        return Computed(self._opencl, case, made)


class Computed:
    """A case over uploaded inputs."""

    def __init__(self, opencl: OpenCL, case: Case, sets: list[Arrays]) -> None:
        self._opencl, self._runtime, self._case, self._sets = opencl, opencl.runtime, case, sets

    def _run(self, turn: int) -> Arrays:
        inputs = self._sets[turn % len(self._sets)]
        found = as_tuple(self._case.expression(NAMES, *inputs))
        ocl.compute(*found)
        return found

    def time(self, turn: int) -> Sample:
        """Builds the expression, computes it, waits for the end: on the host's clock, and then once more on the
        device's, which has been busy before, unless the host has to wait for it in between. Raises `Error` if nothing
        was launched."""
        sample = self._timed(turn, occupied=False)
        if self._runtime.settings.profile and not self._case.asks:
            again = self._timed(turn + 1, occupied=True)
            sample = Sample(sample.wall, again.device, again.span)
        return sample

    def _timed(self, turn: int, *, occupied: bool) -> Sample:
        self._runtime.finish()
        streams = self._runtime.executor.engine.streams
        streams.look()
        if streams.profile is not None:
            streams.profile.clear()
        launched = self._launched()
        if occupied:
            self._opencl.occupy([stream.queue for stream in streams.all()])
        with ocl.use(self._runtime):
            start = time.perf_counter()
            found = self._run(turn)
            self._runtime.finish()
            wall = time.perf_counter() - start
        del found
        if self._launched() == launched:
            raise Error("nothing was computed: no kernel was launched", place=self._case.title)
        streams.look()
        return Sample.of([(timed.start, timed.end) for timed in streams.profile or ()], wall)

    def results(self, turn: int) -> tuple[Value, ...]:
        """The results, which are downloaded when they are looked at."""
        with ocl.use(self._runtime):
            return tuple(Value.of(x, ocl.Array.numpy) for x in self._run(turn))

    def _launched(self) -> Any:
        return self._runtime.executor.engine.counters.launches
