"""A run beside an earlier one: which cases take longer now, by more than times spread anyway.

Other programs slow a machine down, and cards change their clock rates. So a case counts as slower only if it also takes
longer beside the copy, or the reading, that was timed by turns with it in each of the runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ocl_runtime.commands.bench.record import Compared, Earlier, Run

_LEAST = 0.01
"""What no clock tells apart, as a share of a time."""


@dataclass(frozen=True)
class Change:
    """A case in two runs."""

    title: str
    old: Compared
    new: Compared

    @property
    def ratio(self) -> float:
        """The new time over the old one."""
        return self.new.time.median / self.old.time.median

    @property
    def beside(self) -> float:
        """The same, each time taken in copies of its own run; the ratio itself where there was no copy."""
        if self.old.beside is None or self.new.beside is None:
            return self.ratio
        return self.ratio * self.old.beside.median / self.new.beside.median

    @property
    def spread(self) -> float:
        """By how much times differ anyway, as a share: the widest range between quartiles, of the case or the copy."""
        summaries = (self.old.time, self.new.time, self.old.beside, self.new.beside)
        return max(_LEAST, *(one.spread / one.median for one in summaries if one is not None))

    @property
    def verdict(self) -> str:
        """`slower`, `faster`, or nothing where the difference is within the spread."""
        if min(self.ratio, self.beside) > 1 + self.spread:
            return "slower"
        return "faster" if max(self.ratio, self.beside) < 1 / (1 + self.spread) else ""


def changes(new: Run, old: Earlier) -> list[Change]:
    """Of the cases that both runs have."""
    found = []
    for result in new.results:
        before = old.cases.get((result.key, result.dtype, result.size))
        now = Compared.of(result)
        if before is not None and now is not None:
            found.append(Change(f"{result.title}, {result.dtype}, {result.size}", before, now))
    return found


def lines(found: list[Change], new: Run, old: Earlier) -> Iterator[str]:
    """The comparison, for a person to read."""
    yield f"new / old, against {old.date} on {old.device}: times, and times in copies of each run"
    if old.device != new.device["name"]:
        yield f"  the devices differ: {new.device['name']} now"
    width = max((len(change.title) for change in found), default=0)
    for change in found:
        ratios = f"{change.ratio:5.2f}  {change.beside:5.2f}  ±{change.spread:4.0%}"
        yield f"  {change.title:{width}}  {ratios}  {change.verdict}".rstrip()
    if not found:
        yield "  no case is in both"
    slower = sum(change.verdict == "slower" for change in found)
    yield f"{slower} of {len(found)} cases are slower by more than their spread"
