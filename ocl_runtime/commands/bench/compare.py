"""A run beside an earlier one: which cases take longer now, by more than times spread anyway."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ocl_runtime.commands.bench.record import Earlier, Run
from ocl_runtime.commands.bench.samples import Summary

_LEAST = 0.01
"""What no clock tells apart, as a share of a time."""


@dataclass(frozen=True)
class Change:
    """A case in two runs."""

    title: str
    old: Summary
    new: Summary

    @property
    def ratio(self) -> float:
        """The new time over the old one."""
        return self.new.median / self.old.median

    @property
    def spread(self) -> float:
        """By how much times differ anyway, as a share of the old one: the wider of the two ranges of quartiles."""
        return max(self.old.spread, self.new.spread, _LEAST * self.old.median) / self.old.median

    @property
    def verdict(self) -> str:
        """`slower`, `faster`, or nothing where the difference is within the spread."""
        if abs(self.ratio - 1) <= self.spread:
            return ""
        return "slower" if self.ratio > 1 else "faster"


def changes(new: Run, old: Earlier) -> list[Change]:
    """Of the cases that both runs have."""
    found = []
    for result in new.results:
        before = old.times.get((result.key, result.dtype, result.size))
        if before is not None and result.ours is not None:
            found.append(Change(f"{result.title}, {result.dtype}, {result.size}", before, result.ours.summary))
    return found


def lines(found: list[Change], new: Run, old: Earlier) -> Iterator[str]:
    """The comparison, for a person to read."""
    yield f"new / old, against {old.date} on {old.device}"
    if old.device != new.device["name"]:
        yield f"  the devices differ: {new.device['name']} now"
    width = max((len(change.title) for change in found), default=0)
    for change in found:
        yield f"  {change.title:{width}}  {change.ratio:5.2f}  ±{change.spread:4.0%}  {change.verdict}".rstrip()
    if not found:
        yield "  no case is in both"
    slower = sum(change.verdict == "slower" for change in found)
    yield f"{slower} of {len(found)} cases are slower by more than their spread"
