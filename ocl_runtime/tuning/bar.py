"""How far tuning is, on standard error: a bar on a terminal with rich, else a line for each problem."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO, TypeAlias

Show: TypeAlias = Callable[[float, str], None]
"""Shows which part of the time has gone, and what is being done."""


def silent(part: float, text: str) -> None:
    """Shows nothing."""


@contextmanager
def bar(stream: TextIO | None = None) -> Iterator[Show]:
    """Gives what to call again and again: on a terminal the bar moves, elsewhere a text is printed once."""
    stream = stream or sys.stderr
    if stream.isatty() and importlib.util.find_spec("rich") is not None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(file=stream, markup=False, highlight=False)
        columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
        with Progress(*columns, console=console, transient=True) as shown:
            task = shown.add_task("", total=1.0)
            yield lambda part, text: shown.update(task, completed=min(part, 1.0), description=text)
        return
    said: list[str] = []

    def show(part: float, text: str) -> None:
        about = text.partition(":")[0]
        if about not in said:
            said.append(about)
            print(f"tuning {about}", file=stream, flush=True)

    yield show
