"""What tuning found out, as a table for a person to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ocl_runtime.tuning.contest import Outcome

_HEAD = ("variant", "median", "GFLOP/s", "runs", "error", "verdict")


@dataclass(frozen=True)
class Tuned:
    """What was found out of one problem: what came of each variant, of which the first is taken without tuning;
    `operations` are the multiplications and additions, `kept` says whether the winner is on disk."""

    problem: str
    operations: float
    outcomes: Sequence[Outcome]
    kept: bool

    @property
    def winner(self) -> Outcome | None:
        """The fastest variant; None where none was right."""
        return next((outcome for outcome in self.outcomes if outcome.is_winner), None)

    @property
    def gain(self) -> float:
        """The time without tuning over the time of the winner, 1 where that is not known."""
        before, winner = self.outcomes[0].seconds, self.winner
        return before / winner.seconds if before and winner is not None and winner.seconds else 1.0

    def __str__(self) -> str:
        ordered = sorted(self.outcomes, key=_order)
        rows = [_HEAD, *(_cells(outcome, self.operations) for outcome in ordered)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [_line(row, widths) for row in rows]
        kept = "" if self.kept or self.winner is None else "; kept for this process only"
        said = "no variant is right" if self.winner is None else f"{self.gain:.2f} times as fast as without tuning"
        return "\n".join([f"{self.problem}: {said}{kept}", *lines])


class Report(list[Tuned]):
    """What was found out of each problem, in the order in which they were measured. It prints itself as tables.

    `device` is where, `left_out` how many problems there was no time for.
    """

    def __init__(self, device: str, tuned: Sequence[Tuned] = (), left_out: int = 0) -> None:
        super().__init__(tuned)
        self.device = device
        self.left_out = left_out

    def __str__(self) -> str:
        return "\n\n".join(self._parts())

    __repr__ = __str__

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _parts(self) -> Iterator[str]:
        if not self and not self.left_out:
            yield f"{self.device}: there is nothing to tune, since no product of matrices is computed"
            return
        yield self.device
        yield from map(str, self)
        if self.left_out:
            yield f"no time was left for {self.left_out} more"


def _order(outcome: Outcome) -> tuple[bool, float, str]:
    """The winner first, then by time; what never ran last."""
    seconds = outcome.seconds
    return (not outcome.is_winner, float("inf") if seconds is None else seconds, outcome.name)


def _cells(outcome: Outcome, operations: float) -> tuple[str, ...]:
    seconds = outcome.seconds
    time = rate = error = ""
    if seconds:
        time, rate = duration(seconds), f"{operations / seconds / 1e9:.1f}"
    if outcome.error is not None:
        error = f"{outcome.error:.2f}"
    return outcome.name, time, rate, str(len(outcome.samples) or ""), error, outcome.verdict


def duration(seconds: float) -> str:
    """A time with a fitting unit."""
    if seconds >= 1:
        return f"{seconds:.3f} s"
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Numbers end at the right, the first and the last cell begin at the left."""
    last = len(cells) - 1
    padded = [
        f"{cell:{width}}" if number in {0, last} else f"{cell:>{width}}"
        for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()
