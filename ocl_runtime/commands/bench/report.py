"""The table of a run on the terminal, and how far the run is."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from ocl_runtime.commands.bench.measure import OURS, Result
from ocl_runtime.commands.bench.record import Run
from ocl_runtime.commands.bench.samples import Summary

_LEGEND = """\
time: the median of the rounds; ±: half the range between the quartiles; %: of the time taken, what the ceiling needs,
measured at the size of the case. Bytes are counted once. Under a peer: its time over ours; 2.0 takes twice as long;
best: that of the fastest one, as a share."""


def seconds(value: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}" if value < 100 * size else f"{value / size:.0f} {unit}"
    return f"{value * 1e6:.2f} µs"


def size(count: int) -> str:
    """A number of elements, as a power of two where it is one."""
    return f"2^{count.bit_length() - 1}" if count & (count - 1) == 0 else str(count)


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _rate(result: Result) -> str:
    """What is reached, in the unit of the ceiling."""
    assert result.ours is not None
    if result.ceiling is None and not result.operations:
        return ""
    if result.ceiling is None or result.ceiling.kind == "arithmetic":
        return f"{_number(result.operations / result.ours.summary.median / 1e9)} GFLOP/s"
    return f"{_number(result.moved / result.ours.summary.median / 1e9)} GB/s"


def _ceiling(result: Result) -> str:
    if result.ceiling is None:
        return ""
    unit = "GFLOP/s" if result.ceiling.kind == "arithmetic" else "GB/s"
    return f"{result.ceiling.kind} {_number(result.ceiling.rate / 1e9)} {unit}"


def _spread(summary: Summary) -> str:
    return f"{summary.spread / 2 / summary.median:.0%}"


def table(run: Run) -> list[list[str]]:
    """The head, and a line for each case that was measured."""
    peers = [name for name in run.peers if any(name in result.timings for result in run.results)]
    cells = [["case", "elements", "dtype", "time", "±", "reached", "ceiling", "%", *(f"× {name}" for name in peers)]]
    if peers:
        cells[0].append("best")
    for result in run.results:
        if result.ours is None:
            continue
        ours = result.ours.summary
        share = "" if result.of_ceiling is None else f"{result.of_ceiling:.0%}"
        ratios = [
            f"{result.timings[name].summary.median / ours.median:.2f}" if name in result.timings else ""
            for name in peers
        ]
        about = [result.title, size(result.size), result.dtype, seconds(ours.median), _spread(ours)]
        cells.append([*about, _rate(result), _ceiling(result), share, *ratios])
        if peers:
            cells[-1].append("" if result.of_best is None else f"{result.of_best:.0%}")
    return cells


def header(run: Run) -> Iterator[str]:
    """Where and with what it was measured."""
    device = run.device
    yield f"{device['name']} ({device['vendor']}; {device['platform']}; driver {device['driver']})"
    yield f"{device['compute units']} compute units, {device['memory'] / 1e9:.1f} GB; {device['host']}"
    yield f"{run.date}; {', '.join(f'{name} {version}' for name, version in run.versions.items())}"


def footer(run: Run) -> Iterator[str]:
    """How to read the table, the peers, and what was left out and why."""
    yield from _LEGEND.splitlines()
    for name, about in run.peers.items():
        yield f"{name}: {about['about']}; timed by {about['clock']}"
    for name, reason in run.left_out.items():
        yield f"{name}: left out, {reason}"
    for result in run.results:
        if OURS in result.left_out:
            yield f"{result.title}, {result.dtype}, {size(result.size)}: {result.left_out[OURS]}"
        for name, reason in result.left_out.items():
            if name != OURS and reason.startswith("wrong"):
                yield f"{result.title}, {result.dtype}, {size(result.size)}: {name} is not timed, {reason}"


def plain(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table as text: the first column begins at the left, the others end at the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = [
            f"{cell:{'<' if index == 0 else '>'}{width}}"
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        yield "  ".join(padded).rstrip()


def has_rich() -> bool:
    """Whether rich, which the extra `tools` has, is installed."""
    return importlib.util.find_spec("rich") is not None


def show(run: Run, stream: TextIO | None = None) -> None:
    """Prints the run: on a terminal with rich, if that is there, else as plain text."""
    stream = stream or sys.stdout
    cells = table(run)
    print("\n".join(header(run)), file=stream)
    if stream.isatty() and has_rich():
        from rich import box
        from rich.console import Console
        from rich.table import Table

        shown = Table(box=box.SIMPLE_HEAD)
        for index, name in enumerate(cells[0]):
            shown.add_column(name, justify="left" if index == 0 else "right", no_wrap=index > 0)
        for line in cells[1:]:
            shown.add_row(*line)
        Console(file=stream, markup=False, highlight=False).print(shown)
    else:
        print("\n".join(["", *plain(cells), ""]), file=stream)
    print("\n".join(footer(run)), file=stream, flush=True)


Step = Callable[[str], None]
"""Says what is measured next, or what came out."""


@contextmanager
def progress(total: int, stream: TextIO | None = None) -> Iterator[tuple[Step, Step]]:
    """How far the run is, on standard error: a bar on a terminal with rich, else a line for each case. Gives what to
    call before a case, and after it with what came out."""
    stream = stream or sys.stderr
    if stream.isatty() and has_rich():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(file=stream, markup=False, highlight=False)
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
        )
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("", total=total)
            yield (lambda text: bar.update(task, description=text)), (lambda _: bar.advance(task))
        return
    done = 0

    def after(text: str) -> None:
        nonlocal done
        done += 1
        print(f"[{done}/{total}] {text}", file=stream, flush=True)

    yield (lambda _: None), after


def outcome(result: Result) -> str:
    """A case in a line."""
    about = f"{result.title}, {result.dtype}, {size(result.size)}"
    if result.ours is None:
        return f"{about}: {result.left_out[OURS]}"
    share = "" if result.of_ceiling is None else f", {result.of_ceiling:.0%} of {_ceiling(result)}"
    share += "" if result.of_best is None else f", {result.of_best:.0%} of the fastest peer"
    return f"{about}: {seconds(result.ours.summary.median)}{share}"
