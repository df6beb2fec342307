"""When commands ran: a timeline for a browser, and a trace for Perfetto (ui.perfetto.dev) or chrome://tracing.

Both are made from `Runtime.profile()`, of a runtime with `Settings(profile=True)`, and show streams as lanes;
`Runtime.timeline(path)` writes the page. Times
are those of the device's clock, from the first begin on. On a device that is a CPU, commands of two streams share its
cores: they may overlap and be done no sooner.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ocl_ir.source_line import calling_line
from ocl_runtime.errors import InputFileError, SettingError
from ocl_runtime.execute.streams.completion import Timed
from ocl_runtime.observe.profile import NOT_MEASURED, Profile
from ocl_runtime.observe.svg import Drawing, Legend, colour, escape, fitting, headline, steps

_LEFT, _TOP, _RIGHT, _LANE, _BAR = 110.0, 40.0, 60.0, 40.0, 24.0
_LEAST, _MOST = 1100.0, 6000.0
"""Pixels of the time axis: so many that half of the commands are …"""
_WIDE = 3.0
"""… as wide as this, if that can be."""
_PAGE = """\
:root { color-scheme: light dark; }
body { font-family: sans-serif; margin: 1em; }
h1 { font-size: 1.2em; }
div { overflow-x: auto; }
@media (prefers-color-scheme: dark) { body { background: #1b1b1f; color: #ddd; } }
"""
_PROCESS = 1
"""Process and threads of a trace count from 1: thread 0 of process 0 is Linux's idle one, and Perfetto says so."""
_OWN = ("uploads", "downloads", "transfers")
"""The library's own streams, behind those of the user."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """How well streams ran at once, in nanoseconds: the time from first to last, and that with two or more at work."""

    span: int
    together: int
    most: int
    """The most streams that were at work at once."""

    def __str__(self) -> str:
        share = f"{self.together / self.span:.0%}" if self.span else "0%"
        return (
            f"two or more streams were at work at once for {_ms(self.together)} of {_ms(self.span)} ({share}), "
            f"at most {self.most} of them"
        )


def at_work(timed: Sequence[Timed]) -> list[tuple[int, int, int]]:
    """How many streams are at work when: (from, to, how many), without the times when none is."""
    changes: list[tuple[int, int, int]] = []
    for command in timed:
        if command.end > command.start:
            changes += [(command.start, 1, command.stream), (command.end, -1, command.stream)]
    changes.sort()
    running: dict[int, int] = {}
    intervals: list[tuple[int, int, int]] = []
    before = 0
    for now, change, stream in changes:
        count = len(running)
        if count and now > before:
            if intervals and intervals[-1][1:] == (before, count):
                intervals[-1] = (intervals[-1][0], now, count)
            else:
                intervals.append((before, now, count))
        before = now
        running[stream] = running.get(stream, 0) + change
        if not running[stream]:
            del running[stream]
    return intervals


def overlap(timed: Sequence[Timed]) -> Overlap:
    """How well the streams ran at once."""
    parts = at_work(timed)
    span = max((command.end for command in timed), default=0) - min((command.start for command in timed), default=0)
    together = sum(end - start for start, end, count in parts if count > 1)
    return Overlap(span, together, max((count for _, _, count in parts), default=0))


def timeline_html(timed: Sequence[Timed], title: str, streams: int | None = None) -> str:
    """A page with everything in it.

    `streams` is how many the user has: those behind them are the library's own.
    """
    head = f"{len(timed)} commands on {len(_lanes(timed))} streams: {overlap(timed)}"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            f'<head><meta charset="utf-8"/><title>{escape(title)}</title>',
            f"<style>{_PAGE}</style></head>",
            f"<body><h1>{escape(title)}</h1>",
            f"<p>{escape(head)}.</p>",
            f"<div>{timeline_svg(timed, title, streams)}</div>",
            "</body></html>",
            "",
        ]
    )


def write_timeline(profile: Profile, title: str, streams: int, path: Path) -> None:
    """Writes that page. Raises `SettingError` where nothing was measured, `InputFileError` for a file that cannot be
    written."""
    if not profile.measured:
        raise SettingError("there is no timeline", place=calling_line(), remedy=NOT_MEASURED)
    try:
        path.write_text(timeline_html(profile, title, streams), encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputFileError(
            f"the timeline cannot be written: {error}",
            place=str(path),
            remedy="name a file in a folder that is there and that you may write to",
        ) from error


def timeline_svg(timed: Sequence[Timed], title: str, streams: int | None = None) -> str:
    """The picture in that page: a lane for each stream, and below how many are at work."""
    timed = _in_order(timed)
    first, last = (
        min((command.start for command in timed), default=0),
        max((command.end for command in timed), default=0),
    )
    span, lanes = max(last - first, 1), _lanes(timed)
    usual = sorted(max(command.end - command.start, 1) for command in timed)[len(timed) // 2] if timed else span
    wide = min(_MOST, max(_LEAST, _WIDE * span / usual))
    lane = {stream: _TOP + index * _LANE for index, stream in enumerate(lanes)}
    below = _TOP + len(lanes) * _LANE

    def x(time: int) -> float:
        return _LEFT + wide * (time - first) / span

    kinds = {what: index for index, what in enumerate(dict.fromkeys(command.what for command in timed))}
    legend = Legend.of([(colour(index), what) for what, index in kinds.items()], min(wide, _LEAST))
    drawing = Drawing(max(_LEFT + wide + _RIGHT, headline(title)), below + _LANE + 30 + legend.height, title)
    drawing.text((10, 18), title, "head")
    for stream in lanes:
        with drawing.group("stream", f"stream-{stream}"):
            drawing.rect("lane", (0, lane[stream] + 2), (_LEFT + wide, _LANE - 4))
            drawing.text((10, lane[stream] + _LANE / 2), lane_name(stream, streams))
    for time in steps(span, 12):
        drawing.line("grid", (x(first + time), _TOP), (x(first + time), below + _LANE))
        drawing.text((x(first + time), below + _LANE + 14), _ms(time), anchor="middle")
    for number, command in enumerate(timed):
        with drawing.group("command", f"command-{number}", _title(command, first)):
            width = max(x(command.end) - x(command.start), 0.5)
            corner = x(command.start), lane[command.stream] + (_LANE - _BAR) / 2
            drawing.rect("box", corner, (width, _BAR), colour(kinds[command.what]))
            middle = x(command.start) + width / 2, lane[command.stream] + _LANE / 2
            drawing.text(middle, fitting(width - 4, command.what), anchor="middle")
    _draw_at_work(drawing, timed, x, below)
    drawing.legend((_LEFT, below + _LANE + 22), legend)
    return str(drawing)


def _draw_at_work(drawing: Drawing, timed: Sequence[Timed], x: Callable[[int], float], top: float) -> None:
    parts = at_work(timed)
    most = max((count for _, _, count in parts), default=1)
    drawing.text((10, top + _LANE / 2 - 7), "at work")
    drawing.text((10, top + _LANE / 2 + 7), f"1 to {most} streams" if most > 1 else "1 stream")
    for start, end, count in parts:
        height = (_LANE - 6) * count / most
        many = f"{count} streams" if count > 1 else "1 stream"
        drawing.rect("busy", (x(start), top + _LANE - height), (x(end) - x(start), height), title=many)


def trace_json(timed: Sequence[Timed], process: str = "ocl_runtime", streams: int | None = None) -> str:
    """The commands in the Trace Event Format: complete events ("X") in microseconds, streams as threads."""
    first = min((command.start for command in timed), default=0)
    events: list[dict[str, Any]] = [_named("process_name", _thread(0), name=process)]
    for stream in _lanes(timed):
        events.append(_named("thread_name", _thread(stream), name=lane_name(stream, streams)))
        events.append(_named("thread_sort_index", _thread(stream), sort_index=stream))
    for command in _in_order(timed):
        events.append(
            {
                "name": command.what,
                "cat": "command",
                "ph": "X",
                "pid": _PROCESS,
                "tid": _thread(command.stream),
                "ts": (command.start - first) / 1e3,
                "dur": (command.end - command.start) / 1e3,
                "args": {"where": command.where},
            }
        )
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, indent=1) + "\n"


def lane_name(stream: int, streams: int | None = None) -> str:
    """What a stream is called, of a runtime that has so many for the user."""
    own = stream - streams if streams is not None else -1
    return _OWN[own] if 0 <= own < len(_OWN) else f"stream {stream}"


def _in_order(timed: Sequence[Timed]) -> list[Timed]:
    return sorted(timed, key=lambda command: (command.start, command.stream, command.end, command.what, command.where))


def _named(what: str, thread: int, **args: object) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": _PROCESS, "tid": thread, "args": args}


def _thread(stream: int) -> int:
    return stream + 1


def _lanes(timed: Sequence[Timed]) -> list[int]:
    return sorted({command.stream for command in timed})


def _title(command: Timed, first: int) -> str:
    times = f"{_ms(command.end - command.start)}, from {_ms(command.start - first)} on"
    return "\n".join(filter(None, (command.what, times, command.where)))


def _ms(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:.4g} ms"
