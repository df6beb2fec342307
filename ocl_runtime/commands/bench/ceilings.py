"""What the device can do at most, measured: copying and reading so many bytes, and multiplying and adding.

Each is the best of some ways by hand, on the clock of the cases, at the size of the case. Small sizes go round among
several buffers, as the inputs of cases do, so that caches help neither. Which way is best is found once for a size; it
is then timed by turns with each case, so that both see the same neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ocl_runtime.commands.bench.opencl import Enqueue, OpenCL
from ocl_runtime.commands.bench.samples import Clock, Sample, Summary

_MOST_SETS = 8
_LEAST_CACHE = {"cpu": 2**25, "gpu": 2**26}
_ARITHMETIC = {"cpu": ((1, 1024, 64), (8, 64, 8), (16, 64, 8), (16, 64, 1)), "gpu": ((1, 2048, 256), (4, 2048, 256))}
"""Ways to multiply and add: lanes, work-items for each compute unit, and the size of groups."""
_TURNS = 4096
_FLOPS = 16
"""Operations of each lane in a turn of the kernel: eight multiplications and additions."""

Way = Sequence[Enqueue]
"""The same over one set of buffers after another."""


@dataclass(frozen=True)
class Ceiling:
    """The least time that a case can take, in seconds, and what sets it: `copy`, `read` (bytes a second) or
    `arithmetic` (operations a second)."""

    kind: str
    rate: float
    seconds: float


@dataclass(frozen=True)
class Bandwidth:
    """The best way to copy or to read so many bytes."""

    kind: str
    nbytes: int
    opencl: OpenCL
    way: Way

    def time(self, turn: int) -> Sample:
        """Of one of the sets."""
        return self.opencl.time(self.way[turn % len(self.way)])


@dataclass
class Ceilings:
    """Measures ceilings when they are asked for."""

    opencl: OpenCL
    clock: Clock
    rounds: int = 9
    bandwidths: dict[tuple[str, int], float] = field(default_factory=dict)
    """Bytes a second by kind and size in bytes, the most that was seen."""
    rates: dict[str, float] = field(default_factory=dict)
    """Multiplications and additions a second, by type."""
    _found: dict[tuple[str, int], Bandwidth] = field(default_factory=dict)
    _memory: list[Any] = field(default_factory=list)
    _length: int = 0

    @property
    def _kind(self) -> str:
        return "cpu" if self.opencl.kind == "cpu" else "gpu"

    @property
    def cache(self) -> int:
        """Bytes that caches may hold, at a guess rather too many: drivers do not tell of all."""
        return max(self.opencl.cache_bytes, _LEAST_CACHE[self._kind])

    def sets(self, nbytes: int) -> int:
        """How many sets of so many bytes are too much for the caches; at most 8."""
        return min(_MOST_SETS, max(1, math.ceil(2 * self.cache / max(1, nbytes))))

    def bandwidth(self, kind: str, nbytes: int) -> Bandwidth:
        """Copying or reading about so many bytes, each counted once."""
        size = round(2 ** (round(math.log2(max(1, nbytes)) * 2) / 2))
        size = min(max(2**12, size), self.opencl.max_allocation) // 4096 * 4096
        if (kind, size) not in self._found:
            ways = self._copies(size) if kind == "copy" else self._reads(size)
            self._found[kind, size] = Bandwidth(kind, size, self.opencl, min(ways, key=self._seconds))
        return self._found[kind, size]

    def of(self, bandwidth: Bandwidth, samples: Sequence[Sample], moved: int, work: float, dtype: str) -> Ceiling:
        """Of a case that moves so many bytes and does so many operations, from samples of a bandwidth at its size."""
        rate = bandwidth.nbytes / Summary.of([sample.on(self.clock) for sample in samples]).median
        key = bandwidth.kind, bandwidth.nbytes
        self.bandwidths[key] = max(rate, self.bandwidths.get(key, 0.0))
        found = [Ceiling(bandwidth.kind, rate, moved / rate)]
        if work and (most := self.rate(dtype)):
            found.append(Ceiling("arithmetic", most, work / most))
        return max(found, key=lambda one: one.seconds)

    def rate(self, dtype: str) -> float | None:
        """Operations a second, those of float32 for halves; None for integers."""
        if dtype not in {"f16", "bf16", "f32", "f64"}:
            return None
        real = "double" if dtype == "f64" else "float"
        if real not in self.rates:
            self.rates[real] = max(self._rate(real, *way) for way in _ARITHMETIC[self._kind])
        return self.rates[real]

    def _rate(self, real: str, lanes: int, items: int, group: int) -> float:
        """With vectors of so many lanes, so many work-items for each compute unit, and groups of a size."""
        one = np.float64 if real == "double" else np.float32
        items *= self.opencl.units
        turns = _TURNS // lanes
        y = self.opencl.empty(items * lanes * 8)
        args = [y, one(0.999), one(0.5), np.uint32(turns)]
        launch = self.opencl.launch("multiply_add", args, (items,), (group,), real=real, lanes=lanes)
        return items * turns * lanes * _FLOPS / self._seconds([_alone(self.opencl.enqueue, launch)])

    def _seconds(self, way: Way) -> float:
        """The median of some rounds."""
        samples = [self.opencl.time(way[turn % len(way)]) for turn in range(self.rounds + 2)]
        return Summary.of([sample.on(self.clock) for sample in samples[2:]]).median

    def _starts(self, nbytes: int) -> range:
        """Where so many bytes begin in both buffers, too often for the caches. NVIDIA's driver crashes at the end where
        buffers of OpenCL that are parts of another overlap: kernels are told the start."""
        length = nbytes * self.sets(nbytes)
        if length > self._length:
            self._found.clear()  # their launches keep the old buffers
            self._memory.clear()
            self._length = length
            self._memory = [self.opencl.random(length) for _ in range(2)]
        return range(0, length, nbytes)

    def _copies(self, nbytes: int) -> list[Way]:
        half, opencl = nbytes // 2, self.opencl
        starts = self._starts(half)
        x, y = self._memory

        def kernel(name: str, vector: int, size: int, group: tuple[int] | None) -> Way:
            args = ((x, y, start // vector, half // vector) for start in starts)
            return [_alone(opencl.enqueue, opencl.launch(name, each, (size,), group)) for each in args]

        ways: list[Way] = [[_alone(opencl.copy, x, y, start, half) for start in starts]]
        ways.append(kernel("copy", 16, half // 16, None))
        if opencl.kind == "cpu":
            ways.append(kernel("copy_stretch", 64, opencl.units * 8, (1,)))
        return ways

    def _reads(self, nbytes: int) -> list[Way]:
        opencl, n = self.opencl, nbytes // 16
        starts = self._starts(nbytes)
        if opencl.kind == "cpu":
            name, vector, group = "read_stretch", 64, 1
            sizes = {opencl.units, opencl.units * 8}
        else:
            name, vector, group = "read", 16, 256
            wanted = [min(n, opencl.units * 256 * each) for each in (4, 8, 16, 32)] + [n // 4, n // 16]
            sizes = {max(1, size // group) * group for size in wanted}
        x, y = self._memory[0], opencl.empty(max(sizes) * 64)

        def kernel(size: int) -> Way:
            args = ((x, y, start // vector, nbytes // vector) for start in starts)
            return [_alone(opencl.enqueue, opencl.launch(name, each, (size,), (group,))) for each in args]

        return [kernel(size) for size in sorted(sizes)]


def _alone(enqueue: Callable[..., Any], *args: Any) -> Enqueue:
    """One command."""
    return lambda: [enqueue(*args)]
