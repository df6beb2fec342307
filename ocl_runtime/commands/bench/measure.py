"""Measures a case: makes inputs, checks every result beside NumPy's, and times all of them by turns."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ocl_ir.kernel.matrix_instructions import INSTRUCTIONS
from ocl_runtime.commands.bench.case import DTYPES, Arrays, Case
from ocl_runtime.commands.bench.ceilings import Ceiling, Ceilings
from ocl_runtime.commands.bench.data import Data
from ocl_runtime.commands.bench.peers.base import LeftOut, Peer, Timed, first_line
from ocl_runtime.commands.bench.peers.ours import Ours
from ocl_runtime.commands.bench.samples import Clock, Sample, Summary
from ocl_runtime.commands.bench.verify import Reference, WrongResult

_LEAST_ROUNDS = 3
OURS = Ours.name
_CEILING = ""
"""What stands beside the peers in the rounds."""
_AWAKE = 0.04
"""Seconds of the same work on a CPU before what counts, until its threads, which have slept, have cores of their own:
of PoCL's two, both were often on one for the first 10 to 30 ms."""
_SETTLING = 0.25
"""Seconds until threads of other libraries on a CPU sleep, which wait for their next work by spinning: OpenBLAS's took
half of the cores from whoever came after NumPy."""


@dataclass(frozen=True)
class Timing:
    """The samples of one peer, or of this library, and the clock that counts."""

    clock: Clock
    samples: tuple[Sample, ...]

    @property
    def summary(self) -> Summary:
        """On the clock that counts."""
        return Summary.of([sample.on(self.clock) for sample in self.samples])


@dataclass
class Result:
    """What was measured of a case."""

    key: str
    title: str
    dtype: str
    size: int
    shapes: list[list[int]]
    moved: int = 0
    operations: float = 0.0
    sets: int = 1
    verified: str = ""
    ceiling: Ceiling | None = None
    ceiling_samples: tuple[Sample, ...] = ()
    """Of a copy or of reading, by turns with the case."""
    timings: dict[str, Timing] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    """Why a peer has no timing; under the library's own name, why the case has none."""
    wrong: bool = False
    """Whether the library's own result was not NumPy's."""

    @property
    def ours(self) -> Timing | None:
        """The library's own timing."""
        return self.timings.get(OURS)

    @property
    def of_ceiling(self) -> float | None:
        """The least time over the time taken."""
        if self.ours is None or self.ceiling is None:
            return None
        return self.ceiling.seconds / self.ours.summary.median

    @property
    def of_best(self) -> float | None:
        """The time of the fastest peer over the time taken."""
        peers = [timing.summary.median for name, timing in self.timings.items() if name != OURS]
        return min(peers) / self.ours.summary.median if self.ours is not None and peers else None


@dataclass
class Session:
    """One run of the command on one device."""

    ours: Ours
    peers: Sequence[Peer]
    ceilings: Ceilings
    data: Data
    rounds: int
    seconds: float
    """About how long the rounds of one case may take together."""
    explicit: bool = False
    """Whether torch's compiler and the cases were named, so that it is measured for each of them."""

    @property
    def _capabilities(self) -> Any:
        return self.ours.runtime.device.capabilities

    def measure(self, case: Case, size: int, dtype: str) -> Result:
        """All of a case."""
        result = Result(case.key, case.title, dtype, size, [])
        try:
            self._measure(case, result)
        except LeftOut as reason:
            result.left_out[OURS] = str(reason)
        except MemoryError:
            result.left_out[OURS] = "the memory is too small"
        except WrongResult as wrong:
            result.left_out[OURS] = f"wrong: {wrong}"
            result.wrong = True
        except Exception as error:  # noqa: BLE001  # what fails is reported, and the others are measured all the same
            result.left_out[OURS] = f"failed: {first_line(error)}"
            result.wrong = True
        return result

    def _measure(self, case: Case, result: Result) -> None:
        if not self._capabilities.computes(result.dtype) and result.dtype not in {"f16", "bf16"}:
            raise LeftOut(f"the device does not compute {result.dtype}")
        sets = self._sets(case, result.size, DTYPES[result.dtype])
        result.sets, result.shapes = len(sets), [list(x.shape) for x in sets[0]]
        if case.sized is not None:
            result.title = case.sized(sets[0])
        self._check_memory(sets)
        reference = Reference(case, sets[0])
        ours = self.ours.prepare(case, sets)
        results = ours.results(0)
        reference.check(results)
        result.verified = "all" if reference.whole else "in three parts"
        result.moved, result.operations = case.moved(sets[0], results), case.work(sets[0])
        runs: dict[str, Timed] = {OURS: ours}
        for peer in self.peers:
            if peer.name == "inductor" and not (self.explicit or case.compiled):
                result.left_out[peer.name] = "takes long to compile: measured where it and the cases are named"
                continue
            try:
                prepared = peer.prepare(case, sets)
                # NumPy is the reference, which would be computed once more.
                if peer.name != "numpy":
                    reference.check(prepared.results(0), ordered=peer.name == "opencl")
                    prepared.time(1)  # what is first is slow
                runs[peer.name] = prepared
            except LeftOut as reason:
                result.left_out[peer.name] = str(reason)
            except WrongResult as wrong:
                result.left_out[peer.name] = f"wrong: {wrong}"
            except Exception as error:  # noqa: BLE001  # a peer that fails must not end the benchmark
                result.left_out[peer.name] = first_line(error)
        del results
        ours.time(1)
        bandwidth = self.ceilings.bandwidth(case.ceiling, result.moved)
        on_cpu = self._capabilities.kind == "cpu"
        samples = self._rounds({_CEILING: bandwidth, **runs}, result, again=case.asks or on_cpu)
        result.ceiling_samples = tuple(samples.pop(_CEILING))
        if not (case.products and self._has_instructions(case.factor or result.dtype)):
            work = result.operations
            result.ceiling = self.ceilings.of(bandwidth, result.ceiling_samples, result.moved, work, result.dtype)
        clock: Clock = "wall" if on_cpu else "span" if case.asks else "device"
        for name, times in samples.items():
            result.timings[name] = Timing(clock if times[0].has(clock) else "wall", tuple(times))

    def _has_instructions(self, factor: str) -> bool:
        """Whether the device multiplies operands of a dtype by matrix instructions."""
        names = self.ours.runtime.executor.target.matrix_instructions
        return any(INSTRUCTIONS[name].dtype.name == factor for name in names)

    def _sets(self, case: Case, size: int, dtype: np.dtype[Any]) -> list[Arrays]:
        first = case.inputs(self.data, size, dtype)
        count = self.ceilings.sets(sum(x.nbytes for x in first))
        return [first, *(case.inputs(self.data, size, dtype) for _ in range(count - 1))]

    def _check_memory(self, sets: list[Arrays]) -> None:
        nbytes = sum(x.nbytes for inputs in sets for x in inputs)
        needed = nbytes * (1 + len(self.peers)) + 4 * nbytes // len(sets)
        there, largest = self._capabilities.global_memory, max(x.nbytes for x in sets[0])
        if needed > 0.8 * there:
            raise LeftOut(f"needs {needed / 1e9:.1f} GB, the device has {there / 1e9:.1f}")
        if largest > self._capabilities.max_allocation:
            raise LeftOut(f"an array has {largest / 1e9:.1f} GB, more than the device allows")

    def _rounds(self, runs: dict[str, Timed], result: Result, again: bool) -> dict[str, list[Sample]]:
        """Samples of each, by turns. Where each is measured `again` in its turn, the last time counts: where the device
        waits for the host, what others have done meanwhile must not have emptied its caches, and on a CPU threads have
        to be awake. Who is much slower gets fewer turns. On a CPU there is a pause behind other libraries."""
        spent = dict.fromkeys(runs, 0.0)
        samples: dict[str, list[Sample]] = {name: [] for name in runs}
        self._settle()  # NumPy has computed the reference
        began = time.perf_counter()
        share = self.seconds / len(runs)
        for turn in range(self.rounds):
            if turn >= _LEAST_ROUNDS and time.perf_counter() - began > self.seconds:
                break
            for name, run in list(runs.items()):
                if samples[name] and spent[name] > share and (name != OURS or len(samples[name]) >= _LEAST_ROUNDS):
                    continue
                start = time.perf_counter()
                try:
                    samples[name].append(self._last(run, turn) if again else run.time(turn))
                except Exception as error:  # noqa: BLE001
                    if name in {OURS, _CEILING}:
                        raise
                    result.left_out[name] = first_line(error)
                    del runs[name], samples[name]
                    continue
                spent[name] += time.perf_counter() - start
                if name not in {OURS, _CEILING}:
                    began += self._settle()
        return samples

    def _last(self, run: Timed, turn: int) -> Sample:
        """Of two times in a row the second one; on a CPU of as many as wake its threads."""
        began, number = time.perf_counter(), 1
        run.time(turn)
        while self._capabilities.kind == "cpu" and time.perf_counter() - began < _AWAKE:
            run.time(turn + number)
            number += 1
        return run.time(turn + number)

    def _settle(self) -> float:
        """Waits on a CPU until nobody else has its cores; says for how many seconds."""
        if self._capabilities.kind != "cpu":
            return 0.0
        time.sleep(_SETTLING)
        return _SETTLING
