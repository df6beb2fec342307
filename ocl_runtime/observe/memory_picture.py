"""A picture of the arena: time from left to right, counted in nodes, and addresses from the bottom to the top.

Each scratch buffer is a rectangle, as wide as it lives and as high as it is large; two that overlap nowhere in the
picture may share bytes. Lines show the arena's size, and a lower bound for it.
"""

from __future__ import annotations

from ocl_ir.host.schedule import MemoryPlan, Schedule
from ocl_runtime.observe.pictures import stream_of
from ocl_runtime.observe.svg import Drawing, Legend, colour, fitting, headline, steps

_LEFT, _TOP, _RIGHT, _BELOW = 90.0, 50.0, 100.0, 40.0
_HEIGHT = 460.0
_LEAST, _MOST = 900.0, 3000.0
"""Pixels of the time axis; in between, each node has some."""
_NODE = 7.0
_LINE = 14.0
"""The least height of a rectangle with a label."""


def memory_summary(schedule: Schedule, memory: MemoryPlan) -> str:
    """One line: how large the arena is, and what it is compared with."""
    how = ", shared by the order of the program" if memory.by_program_order else ""
    return (
        f"{len(schedule.offsets)} scratch buffers in an arena of {size(memory.arena)}{how}; "
        f"lower bound {size(memory.bound)}, most alive at once {size(memory.live)}, unshared {size(memory.unshared)}"
    )


def memory_svg(schedule: Schedule, memory: MemoryPlan) -> str:
    """The planned memory of a schedule as an SVG."""
    count = max(len(schedule.nodes), 1)
    wide = min(_MOST, max(_LEAST, count * _NODE))
    high = max(schedule.arena, 1)

    def x(node: float) -> float:
        return _LEFT + wide * node / count

    def y(address: float) -> float:
        return _TOP + _HEIGHT * (1 - address / high)

    head = f"{schedule.program.name}: {memory_summary(schedule, memory)}"
    width = max(_LEFT + wide + _RIGHT, headline(head))
    streams = sorted({stream_of(schedule.nodes[first]) for first, _ in schedule.lives.values()})
    legend = Legend.of([(colour(stream), f"first used on stream {stream}") for stream in streams], wide)
    drawing = Drawing(width, _TOP + _HEIGHT + _BELOW + legend.height, f"memory of {schedule.program.name}")
    drawing.text((10, 18), head, "head")
    between = 1
    while high > 8 * between:
        between *= 2
    for address in range(0, high + 1, between):
        drawing.line("grid", (_LEFT, y(address)), (_LEFT + wide, y(address)))
        drawing.text((_LEFT - 6, y(address)), size(address), anchor="end")
    for node in steps(count, 12):
        drawing.line("grid", (x(node), _TOP), (x(node), _TOP + _HEIGHT))
        drawing.text((x(node), _TOP + _HEIGHT + 14), str(node), anchor="middle")
    drawing.text((_LEFT + wide / 2, _TOP + _HEIGHT + 30), "nodes, in the order of the program", anchor="middle")
    drawing.legend((_LEFT, _TOP + _HEIGHT + _BELOW - 6), legend)
    for buffer, (first, last) in sorted(schedule.lives.items()):
        low, nbytes = schedule.offsets[buffer], schedule.buffers[buffer].nbytes
        label, stream = schedule.buffers[buffer].name, stream_of(schedule.nodes[first])
        title = (
            f"{label}: {nbytes:,} bytes at {low:,}…{low + nbytes:,}\nnodes {first} to {last}, first on stream {stream}"
        )
        across, height = x(last + 1) - x(first), y(low) - y(low + nbytes)
        with drawing.group("buffer", f"buffer-{buffer}", title):
            drawing.rect("box", (x(first), y(low + nbytes)), (across, height), colour(stream))
            shown = fitting(across - 4, f"{label} {size(nbytes)}", label) if height >= _LINE else ""
            drawing.text((x(first) + across / 2, y(low + nbytes / 2)), shown, anchor="middle")
    if schedule.arena:
        for kind, address, what in (("bound", memory.bound, "lower bound"), ("peak", high, "arena")):
            drawing.line(kind, (_LEFT, y(address)), (_LEFT + wide, y(address)), f"{what}: {address:,} bytes")
        drawing.text((_LEFT + wide + 4, y(high)), "arena")
        if y(memory.bound) - y(high) > _LINE:
            drawing.text((_LEFT + wide + 4, y(memory.bound)), "lower bound")
    return str(drawing)


def size(nbytes: int) -> str:
    """Bytes as people say them."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if nbytes >= unit:
            return f"{nbytes / unit:.4g} {name}"
    return f"{nbytes} B"
