"""Times of one thing measured again and again: medians, and how far they spread."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Clock = Literal["device", "span", "wall"]
"""`device`: how long the device was busy, on its own clock. `span`: on that clock, from the first command's start to
the last one's end, where the host has to know something in between. `wall`: the host's clock, to the end of the last
command."""


@dataclass(frozen=True)
class Sample:
    """Seconds of one run, on each clock; None where it has none."""

    wall: float
    device: float | None = None
    span: float | None = None

    @classmethod
    def of(cls, times: Iterable[tuple[int, int]], wall: float) -> Sample:
        """Of commands that began and ended at such nanoseconds of the device's clock. Time when several ran at once
        counts once."""
        ordered = sorted(times)
        if not ordered:
            return cls(wall)
        busy, until = 0, ordered[0][0]
        for start, end in ordered:
            busy += max(0, end - max(start, until))
            until = max(until, end)
        return cls(wall, busy * 1e-9, (until - ordered[0][0]) * 1e-9)

    def on(self, clock: Clock) -> float:
        """Seconds on a clock; on the host's where it was not measured on that one."""
        seconds = self._on(clock)
        return self.wall if seconds is None else seconds

    def has(self, clock: Clock) -> bool:
        """Whether it was measured on a clock."""
        return self._on(clock) is not None

    def _on(self, clock: Clock) -> float | None:
        return {"device": self.device, "span": self.span, "wall": self.wall}[clock]


@dataclass(frozen=True)
class Summary:
    """The median of some samples, and the quartiles beside it, in seconds."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Summary:
        """Of one sample or more. With fewer than four the quartiles are the least and the most."""
        if len(seconds) < 4:
            return cls(statistics.median(seconds), min(seconds), max(seconds), len(seconds))
        low, _, high = statistics.quantiles(seconds, n=4, method="inclusive")
        return cls(statistics.median(seconds), low, high, len(seconds))

    @property
    def spread(self) -> float:
        """The range between the quartiles, in seconds."""
        return self.high - self.low
