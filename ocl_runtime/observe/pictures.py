"""Pictures of a schedule: its streams as lanes, with the waits between them.

`streams_svg` is for a browser: streams from top to bottom, and nodes from left to right so that each stands to the
right of the node before it in its stream and of all that it waits for. Nodes in one column are free to run at once;
those of one colour run the same kernel. `streams_dot` is the same for Graphviz. A dashed wait has nothing to do with
values: it is for scratch memory that two nodes share, one after the other. For the arena itself see
`memory_picture.py`.
"""

from __future__ import annotations

from ocl_ir.host.schedule import Access, Node, Schedule
from ocl_ir.host.verify_order import touches
from ocl_ir.kernel.accesses import WRITE
from ocl_runtime.observe.svg import Drawing, Legend, clean, colour, fitting, headline

_LEFT, _TOP, _LANE, _BOX, _EDGE = 80.0, 40.0, 56.0, 26.0, 10.0
_WIDTH = 1600.0
"""Pixels that columns share, as long as each has between the least and the most."""
_LEAST, _MOST = 10.0, 170.0
_CUT = 60.0
"""Pixels of a box below which a name is not cut but left out."""


def summary(schedule: Schedule) -> str:
    """One line: what it is, and how large."""
    sizes = ", ".join(f"{name} = {value}" for name, value in sorted(schedule.bound.items()))
    waits = sum(len(node.waits) for node in schedule.nodes)
    name = schedule.program.name + (f" with {sizes}" if sizes else "")
    return f"{name}: {len(schedule.nodes)} nodes on {len(lanes(schedule))} streams, {waits} waits"


def lanes(schedule: Schedule) -> list[int]:
    """The streams that the schedule uses, in order."""
    return sorted({stream_of(node) for node in schedule.nodes})


def stream_of(node: Node) -> int:
    """The stream of a node, which has one by now."""
    assert node.stream is not None, "streams are chosen before a picture is made"
    return node.stream


def columns(schedule: Schedule) -> list[int]:
    """For each node how many others at least come before it, one after the other."""
    by_node: list[int] = []
    newest: dict[int, int] = {}
    for node in schedule.nodes:
        stream = stream_of(node)
        before = [by_node[wait] for wait in node.waits]
        column = max([newest.get(stream, -1), *before]) + 1
        newest[stream] = column
        by_node.append(column)
    return by_node


def streams_svg(schedule: Schedule) -> str:
    """The schedule as an SVG."""
    at, streams = columns(schedule), lanes(schedule)
    count = max(at, default=0) + 1
    pitch = min(_MOST, max(_LEAST, _WIDTH / count))
    box = pitch * 0.72
    lane = {stream: _TOP + index * _LANE for index, stream in enumerate(streams)}
    head = summary(schedule)
    width = max(_LEFT + count * pitch + _EDGE, headline(head))
    kinds = {what: index for index, what in enumerate(dict.fromkeys(node.what for node in schedule.nodes))}
    legend = Legend.of([(colour(index), what) for what, index in kinds.items()], width - 2 * _EDGE)
    below = _TOP + len(streams) * _LANE
    drawing = Drawing(width, below + legend.height + _EDGE, f"streams of {schedule.program.name}")
    drawing.text((_EDGE, 18), head, "head")
    for stream in streams:
        with drawing.group("stream", f"stream-{stream}"):
            drawing.rect("lane", (0, lane[stream] + 2), (width, _LANE - 4))
            drawing.text((_EDGE, lane[stream] + _LANE / 2), f"stream {stream}")
    left = [_LEFT + column * pitch for column in at]
    middle = [lane[stream_of(node)] + _LANE / 2 for node in schedule.nodes]
    for number, node in enumerate(schedule.nodes):
        for wait in node.waits:
            kind, title = _wait(schedule, wait, number)
            points = [(left[wait] + box, middle[wait]), (left[number], middle[number])]
            if at[number] - at[wait] > 1:  # around the boxes between them, at the edge of the later one's lane
                edge = middle[number] + (_LANE / 2 - 6) * (1 if middle[wait] > middle[number] else -1)
                points[1:1] = [(left[wait] + pitch, edge), (left[number] - pitch + box, edge)]
            drawing.arrow(kind, f"wait-{number}-{wait}", points, title)
    for number, node in enumerate(schedule.nodes):
        with drawing.group("node", f"node-{number}", title_of(schedule, number)):
            corner = left[number], middle[number] - _BOX / 2
            drawing.rect("box", corner, (box, _BOX), colour(kinds[node.what]))
            shorter = [str(number)] if box < _CUT else []
            label = fitting(box - 2, f"{number} {node.what}", *shorter)
            drawing.text((left[number] + box / 2, middle[number]), label, anchor="middle")
    drawing.legend((_EDGE, below), legend)
    return str(drawing)


def title_of(schedule: Schedule, number: int) -> str:
    """A node in some lines: its name, what it touches, what it waits for, and the Python line that asked for it."""
    node = schedule.nodes[number]
    waits = [f"waits for {', '.join(map(str, node.waits))}"] if node.waits else []
    where = [str(node.command.where)] if node.command.where else []
    head = f"{number} {node.what} on stream {node.stream}"
    return "\n".join([head, *touches(schedule, node), *waits, *where])


def streams_dot(schedule: Schedule) -> str:
    """The schedule as a Graphviz graph: `dot -Tsvg`."""
    lines = [
        f"digraph {_quoted(schedule.program.name)} {{",
        f"  label={_quoted(summary(schedule))} labelloc=t rankdir=LR fontname=monospace",
        "  node [shape=box style=filled fillcolor=white fontname=monospace]",
    ]
    for stream in lanes(schedule):
        lines.append(f"  subgraph cluster_{stream} {{")
        lines.append(f"    label={_quoted(f'stream {stream}')} style=filled color={_quoted('#f4f4f6')}")
        numbers = [number for number, node in enumerate(schedule.nodes) if node.stream == stream]
        for number in numbers:
            label, tooltip = f"{number} {schedule.nodes[number].what}", title_of(schedule, number)
            lines.append(f"    n{number} [label={_quoted(label)} tooltip={_quoted(tooltip)}]")
        if len(numbers) > 1:
            lines.append(f"    {' -> '.join(f'n{number}' for number in numbers)} [weight=10]")
        lines.append("  }")
    for number, node in enumerate(schedule.nodes):
        for wait in node.waits:
            kind, title = _wait(schedule, wait, number)
            style = "dashed" if kind.endswith("memory") else "solid"
            lines.append(f"  n{wait} -> n{number} [style={style} color={_quoted('#a04000')} tooltip={_quoted(title)}]")
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    text = clean(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


def _wait(schedule: Schedule, earlier: int, later: int) -> tuple[str, str]:
    """What kind of wait it is, and for what."""
    pairs = [(first, second) for first in schedule.nodes[earlier].accesses for second in schedule.nodes[later].accesses]
    names = [schedule.buffers[first.buffer].name for first, second in pairs if _conflict(first, second)]
    about = ", ".join(dict.fromkeys(names))
    if about:
        return "wait", f"{later} waits for {earlier}: {about}"
    return "wait memory", f"{later} waits for {earlier}: for scratch memory, which it takes over"


def _conflict(first: Access, second: Access) -> bool:
    return (
        first.buffer == second.buffer
        and bool((first.mode | second.mode) & WRITE)
        and first.in_bytes().overlaps(second.in_bytes())
    )
