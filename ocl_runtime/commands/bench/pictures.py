"""Pictures of a run: how near each case is to its ceiling, and all cases under the device's roofline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ocl_runtime.commands.bench.measure import OURS, Result
from ocl_runtime.commands.bench.record import Run
from ocl_runtime.commands.bench.report import seconds, size
from ocl_runtime.observe.svg import Drawing, Legend, colour, fitting, headline, steps

_LEFT, _RIGHT, _TOP, _ROW = 300.0, 60.0, 44.0, 18.0
_WIDTH, _HEIGHT = 560.0, 420.0
"""Pixels of what the axes enclose; bars have a height of their own."""


def _label(result: Result) -> str:
    return f"{result.title}, {result.dtype}, {size(result.size)}"


def _told(result: Result) -> str:
    """What the mouse shows."""
    assert result.ours is not None
    assert result.ceiling is not None
    times = [f"{name}: {seconds(timing.summary.median)}" for name, timing in result.timings.items()]
    return "\n".join([_label(result), f"ceiling: {seconds(result.ceiling.seconds)}, {result.ceiling.kind}", *times])


def bars(run: Run) -> str:
    """An SVG with a bar for each case, its share of the ceiling, and a mark for each peer."""
    results = [result for result in run.results if result.ours is not None and result.ceiling is not None]
    names = [OURS, *(name for name in run.peers if any(name in result.timings for result in results))]
    shares = [share for result in results for share in _shares(result).values()]
    most = min(150, max(100, math.ceil(max(shares, default=1.0) * 10) * 10))
    title = f"share of the ceiling, {run.device['name']}, {run.date[:10]}"
    legend = Legend.of([(colour(index), name) for index, name in enumerate(names)], _LEFT + _WIDTH)
    bottom = _TOP + _ROW * len(results)
    drawing = Drawing(max(_LEFT + _WIDTH + _RIGHT, headline(title)), bottom + 24 + legend.height, title)
    drawing.text((10, 16), title, "head")
    scale = _WIDTH / most
    for mark in steps(most, 8):
        x = _LEFT + mark * scale
        drawing.line("bound" if mark == 100 else "grid", (x, _TOP - 6), (x, bottom))
        drawing.text((x, bottom + 12), f"{mark}%", anchor="middle")
    colours = {name: colour(number) for number, name in enumerate(names)}
    for index, result in enumerate(results):
        top = _TOP + _ROW * index
        with drawing.group("case", f"case-{index}", _told(result)):
            drawing.text((_LEFT - 8, top + _ROW / 2), fitting(_LEFT - 12, _label(result), result.title), anchor="end")
            _draw_shares(drawing, top, _shares(result), colours, most)
    drawing.legend((10, bottom + 24), legend)
    return str(drawing)


def _draw_shares(
    drawing: Drawing, top: float, shares: Mapping[str, float], colours: Mapping[str, str], most: float
) -> None:
    """The bar of this library, and a mark above it for each peer; `most` percent are as wide as the picture."""
    for name, share in sorted(shares.items(), key=lambda item: item[0] != OURS):
        x = min(share * 100, most) * _WIDTH / most
        if name == OURS:
            drawing.rect("box", (_LEFT, top + 3), (x, _ROW - 6), colours[name])
            drawing.text((_LEFT + _WIDTH + 8, top + _ROW / 2), f"{share:.0%}")
        else:
            drawing.rect("box", (_LEFT + x - 2, top + 1), (4, _ROW - 2), colours[name])


def _shares(result: Result) -> dict[str, float]:
    """The share of the ceiling that each reaches."""
    assert result.ceiling is not None
    return {name: result.ceiling.seconds / timing.summary.median for name, timing in result.timings.items()}


def roofline(run: Run, rates: dict[str, float]) -> str:
    """An SVG with operations a second over operations for each byte, both in powers of ten, under the measured ceilings
    (Williams, Waterman and Patterson, 2009): the fastest copy of all sizes, and `rates` of arithmetic by type. Where a
    point is too near to others for a number, the mouse shows its name.
    """
    results = [result for result in run.results if result.ours is not None and result.operations and result.moved]
    copies = [result.ceiling.rate for result in run.results if result.ceiling and result.ceiling.kind != "arithmetic"]
    title = f"roofline, {run.device['name']}, {run.date[:10]}"
    bandwidth = max(copies, default=0.0)
    points = [(one.operations / one.moved, one.operations / _taken(one)) for one in results]
    if not points or not bandwidth:
        drawing = Drawing(headline(title), 60, title)
        drawing.text((10, 40), "no case has operations that are counted")
        return str(drawing)
    knees = [rate / bandwidth for rate in rates.values()]
    across = _Axis([x for x, _ in points] + [knee * 2 for knee in knees], 70.0, 800.0)
    along = _Axis([y for _, y in points] + [rate * 1.5 for rate in rates.values()], _TOP + _HEIGHT, _TOP)
    places = [(across.at(x), along.at(y)) for x, y in points]
    named = _apart(places)
    legend = Legend.of([(colour(index), f"{index + 1} {_label(results[index])}") for index in named], 800)
    drawing = Drawing(max(860, headline(title)), _TOP + _HEIGHT + 50 + legend.height, title)
    drawing.text((10, 16), title, "head")
    for power in across.powers:
        x = across.at(10.0**power)
        drawing.line("grid", (x, _TOP), (x, _TOP + _HEIGHT))
        drawing.text((x, _TOP + _HEIGHT + 12), f"{10.0**power:g}", anchor="middle")
    for power in along.powers:
        y = along.at(10.0**power)
        drawing.line("grid", (70, y), (800, y))
        drawing.text((64, y), _operations(10.0**power), anchor="end")
    drawing.text((435, _TOP + _HEIGHT + 30), "operations for each byte", anchor="middle")
    drawing.text((70, _TOP - 12), "operations a second")
    top = max(rates.values(), default=bandwidth * across.most)
    start = max(across.least, along.least / bandwidth)
    drawing.line(
        "bound",
        (across.at(start), along.at(start * bandwidth)),
        (across.at(top / bandwidth), along.at(top)),
        f"memory: {bandwidth / 1e9:.0f} GB/s",
    )
    for name, rate in rates.items():
        y = along.at(rate)
        drawing.line("bound", (across.at(rate / bandwidth), y), (800, y), f"{name}: {_operations(rate)}/s")
        drawing.text((798, y - 8), f"{name} {_operations(rate)}/s", anchor="end")
    for index, (result, at, (x, y)) in enumerate(zip(results, places, points, strict=True)):
        with drawing.group("case", f"case-{index}", f"{_label(result)}\n{x:.3g} operations a byte, {_operations(y)}/s"):
            drawing.rect("box", (at[0] - 4, at[1] - 4), (8, 8), colour(index))
            if index in named:
                drawing.text((at[0] + 7, at[1]), str(index + 1))
    drawing.legend((10, _TOP + _HEIGHT + 44), legend)
    return str(drawing)


def _apart(places: Sequence[tuple[float, float]]) -> list[int]:
    """Which points have room for a number beside them; the mouse names the others."""
    found: list[int] = []
    for index, (x, y) in enumerate(places):
        if all(abs(x - places[other][0]) > 24 or abs(y - places[other][1]) > 11 for other in found):
            found.append(index)
    return found


def _taken(result: Result) -> float:
    assert result.ours is not None
    return result.ours.summary.median


def _operations(rate: float) -> str:
    for unit, per in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if rate >= per:
            return f"{rate / per:.3g} {unit}"
    return f"{rate:.3g}"


class _Axis:
    """Powers of ten between two positions, in pixels."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self._low, self._high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        self._high = max(self._high, self._low + 1)
        self._start, self._end = start, end
        self.powers = range(self._low, self._high + 1)
        self.least, self.most = 10.0**self._low, 10.0**self._high

    def at(self, value: float) -> float:
        """The position of a value."""
        return self._start + (math.log10(value) - self._low) / (self._high - self._low) * (self._end - self._start)
