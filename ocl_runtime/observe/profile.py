"""Where the device's time went: a table of commands with calls, time, GB/s and the Python line that asked for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ocl_runtime.execute.streams.completion import Timed

NOT_MEASURED = "nothing was measured: set OCL_RUNTIME_PROFILE=on, or make the runtime with Settings(profile=True)"
_HEAD = ("command", "calls", "ms", "share", "µs each", "GB/s", "line")


@dataclass(slots=True)
class Row:
    """All commands of one name from one line: how many, their time in nanoseconds, and the bytes that they moved."""

    what: str
    where: str
    calls: int = 0
    time: int = 0
    nbytes: int = 0

    @property
    def bandwidth(self) -> float:
        """Bytes for each nanosecond, which is GB/s; 0 where nothing is known of the bytes or the time."""
        return self.nbytes / self.time if self.time else 0.0


class Profile(list[Timed]):
    """Commands that have ended, with their times on the device's clock. It prints itself as a table, the most time
    first; `rows` are the table's."""

    def __init__(self, timed: Iterable[Timed] = (), *, measured: bool = True) -> None:
        super().__init__(timed)
        self.measured = measured

    @property
    def rows(self) -> list[Row]:
        """The commands by name and line."""
        rows: dict[tuple[str, str], Row] = {}
        for command in self:
            row = rows.setdefault((command.what, command.where), Row(command.what, command.where))
            row.calls += 1
            row.time += command.end - command.start
            row.nbytes += command.nbytes
        return sorted(rows.values(), key=lambda row: (-row.time, row.what, row.where))

    def __str__(self) -> str:
        if not self.measured:
            return NOT_MEASURED
        rows = self.rows
        total = sum(row.time for row in rows)
        cells = [_HEAD, *(_cells(row, total) for row in rows), ("all", str(len(self)), f"{total / 1e6:.3f}", *[""] * 4)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(_line(line, widths) for line in cells)

    __repr__ = __str__

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def _cells(row: Row, total: int) -> tuple[str, ...]:
    share = f"{row.time / total:.0%}" if total else ""
    each = f"{row.time / row.calls / 1e3:.1f}"
    bandwidth = f"{row.bandwidth:.1f}" if row.bandwidth else ""
    return row.what, str(row.calls), f"{row.time / 1e6:.3f}", share, each, bandwidth, row.where


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    """The name and the line begin at the left, numbers end at the right."""
    last = len(cells) - 1
    padded = [
        f"{cell:{width}}" if index in {0, last} else f"{cell:>{width}}"
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()
