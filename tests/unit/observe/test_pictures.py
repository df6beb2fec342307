"""Pictures of host programs: all there, in its place, readable, and well-formed whatever names are in it."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest

from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.schedule import MemoryPlan, Schedule, bind
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.types import F32, U32
from ocl_runtime.observe.memory_picture import memory_svg
from ocl_runtime.observe.pictures import columns, lanes, streams_dot, streams_svg
from ocl_runtime.observe.stages import PROGRAM_NAMES, program_stages
from ocl_runtime.observe.svg import Drawing, Legend, colour, fitting, steps
from ocl_runtime.plan.host.memory import plan_memory
from ocl_runtime.plan.host.waits import place_waits
from tests.support.pictures import NASTY, SVG, groups, parsed, rect, title


def scale() -> Kernel:
    k = KernelBuilder("scale")
    n = k.scalar("n", U32)
    x, y, i = k.pointer("x", F32, length=n), k.pointer("y", F32, length=n), k.global_id(0)
    with k.if_(i < n):
        k.store(y, i, k.load(x, i) * 0.5)
    return k.build()


def small(hint: str = "t") -> tuple[Schedule, MemoryPlan]:
    """Two chains: x through scratch to y, and a fill whose scratch memory lies where the other one's was."""
    p = HostBuilder("smooth")
    n = p.size("n")
    x, y, z = p.input("x", F32, (n,)), p.output("y", F32, (n,)), p.output("z", F32, (n,))
    t = p.alloc(F32, (n,), hint)
    with p.stream(0):
        p.launch(scale(), (n, x, t), (n,))
    with p.stream(1):
        p.copy(y, t)
    u = p.alloc(F32, (n,), "u")
    with p.stream(2):
        p.fill(u, 2.5)
        p.copy(z, u)
    schedule = bind(p.build(y, z), {"n": 64})
    waits = ((), (0,), (1,), ())
    nodes = tuple(replace(node, waits=after) for node, after in zip(schedule.nodes, waits, strict=True))
    scratch = {one.id: 0 for one in schedule.buffers if one.kind == "scratch"}
    memory = MemoryPlan(256, 256, 256, 512, False)
    return replace(schedule, nodes=nodes, offsets=scratch, arena=256, memory=memory), memory


def large(nodes: int, streams: int, seed: int = 0) -> tuple[Schedule, MemoryPlan]:
    """A random program, planned."""
    rng = random.Random(seed)
    p = HostBuilder("random")
    x = p.input("x", F32, (256,))
    values = [x]
    for _ in range(nodes):
        with p.stream(rng.randrange(streams)):
            source, length = rng.choice(values[-6:]), rng.randrange(16, 257)
            target = p.alloc(F32, (256,), rng.choice(["a", "b", "a_name_that_is_rather_long"]))
            p.fill(target, 1)
            p.copy(p.slice(target, 0, 0, length), p.slice(source, 0, 0, length))
            values.append(target)
    schedule, memory = plan_memory(bind(p.build(values[-1]), {}))
    return replace(place_waits(schedule), memory=memory), memory


def waits(svg: str) -> dict[str, ElementTree.Element]:
    return {str(one.get("id")): one for one in parsed(svg).iter(f"{SVG}path") if "wait" in str(one.get("class"))}


# ---------------------------------------------------------------------- streams


def test_every_node_is_on_its_stream_with_all_that_is_to_know_about_it() -> None:
    schedule, _ = small()
    svg = streams_svg(schedule)
    nodes, streams = groups(svg, "node"), groups(svg, "stream")
    assert list(nodes) == ["node-0", "node-1", "node-2", "node-3"]
    assert list(streams) == ["stream-0", "stream-1", "stream-2"]
    for number, node in enumerate(schedule.nodes):
        _, top, _, bottom = rect(nodes[f"node-{number}"])
        _, lane_top, _, lane_bottom = rect(streams[f"stream-{node.stream}"])
        assert lane_top <= top < bottom <= lane_bottom
    assert streams["stream-1"].findtext(f"{SVG}text") == "stream 1"
    lines = title(nodes["node-1"]).splitlines()
    assert lines[:4] == ["1 copy on stream 1", "writes y[0…256]", "reads t[0…256]", "waits for 0"]
    assert re.fullmatch(r".*test_pictures\.py:\d+", lines[4])
    assert nodes["node-0"].findtext(f"{SVG}text") == "0 scale"
    assert svg.count("smooth with n = 64: 4 nodes on 3 streams, 2 waits") == 1


def test_every_wait_is_an_arrow_that_says_what_it_is_for() -> None:
    schedule, _ = small()
    found = waits(streams_svg(schedule))
    assert list(found) == ["wait-1-0", "wait-2-1"]
    assert (found["wait-1-0"].get("class"), title(found["wait-1-0"])) == ("wait", "1 waits for 0: t")
    assert found["wait-2-1"].get("class") == "wait memory"
    assert title(found["wait-2-1"]) == "2 waits for 1: for scratch memory, which it takes over"


@pytest.mark.parametrize(("count", "streams"), [(5, 1), (5, 8), (60, 4), (500, 8), (500, 1)])
def test_nodes_stand_to_the_right_of_what_comes_before_them(count: int, streams: int) -> None:
    schedule, _ = large(count, streams)
    assert len(schedule.nodes) == 2 * count
    svg = streams_svg(schedule)
    at = {name: rect(group) for name, group in groups(svg, "node").items()}
    assert len(at) == len(schedule.nodes)
    lane = {stream: [n for n, one in enumerate(schedule.nodes) if one.stream == stream] for stream in lanes(schedule)}
    before = [pair for numbers in lane.values() for pair in pairwise(numbers)]
    before += [(wait, number) for number, node in enumerate(schedule.nodes) for wait in node.waits]
    assert all(at[f"node-{one}"][2] < at[f"node-{other}"][0] for one, other in before)
    assert set(waits(svg)) == {f"wait-{n}-{wait}" for n, node in enumerate(schedule.nodes) for wait in node.waits}


def test_long_waits_go_around_the_boxes_between() -> None:
    schedule, _ = large(60, 4)
    svg, at = streams_svg(schedule), columns(schedule)
    boxes = [rect(group) for group in groups(svg, "node").values()]
    long = 0
    for name, path in waits(svg).items():
        number, wait = map(int, name.split("-")[1:])
        curve, _ = str(path.get("d")).split(" M ")  # and the tip of the arrow
        ends = [tuple(map(float, point.split())) for point in re.findall(r"([\d.]+ [\d.]+)(?: C|$)", curve)]
        assert len(ends) == (4 if at[number] - at[wait] > 1 else 2)
        if len(ends) == 4:
            long += 1
            (left, y), (right, again) = ends[1:3]
            assert y == again
            assert not any(box[0] < right and left < box[2] and box[1] <= y <= box[3] for box in boxes)
    assert long > 5


def test_lanes_are_in_the_order_of_streams() -> None:
    schedule, _ = small()
    nodes = tuple(replace(node, stream=stream) for node, stream in zip(schedule.nodes, (8, 1, 16, 0), strict=True))
    tops = {
        name: rect(group)[1] for name, group in groups(streams_svg(replace(schedule, nodes=nodes)), "stream").items()
    }
    assert sorted(tops, key=lambda name: tops[name]) == ["stream-0", "stream-1", "stream-8", "stream-16"]


def test_what_waits_for_nothing_stands_at_the_left() -> None:
    schedule, _ = small()
    assert columns(schedule) == [0, 1, 2, 3]
    nodes = tuple(replace(node, waits=()) for node in schedule.nodes)
    assert columns(replace(schedule, nodes=nodes)) == [0, 0, 0, 1]


@pytest.mark.parametrize(("count", "shown"), [(4, 1.0), (500, 0.0)])
def test_labels_fit_their_boxes_and_everything_fits_the_picture(count: int, shown: float) -> None:
    schedule, memory = large(count, 4)
    labelled = {"node": 0, "buffer": 0}
    for svg, kind in ((streams_svg(schedule), "node"), (memory_svg(schedule, memory), "buffer")):
        width, height = (float(parsed(svg).get(name, "nan")) for name in ("width", "height"))
        assert 300 < width < 13_000
        for group in groups(svg, kind).values():
            left, top, right, bottom = rect(group)
            assert 0 <= left < right <= width
            assert 0 <= top < bottom <= height
            label = group.findtext(f"{SVG}text") or ""
            assert len(label) * 6.5 <= right - left
            labelled[kind] += bool(label)
    assert labelled["node"] == shown * len(schedule.nodes)
    assert labelled["buffer"] > 0


# ---------------------------------------------------------------------- memory


def plot(svg: str) -> tuple[float, float]:
    """The y of address 0 and of the arena's end."""
    lines = list(parsed(svg).iter(f"{SVG}line"))
    grid = [
        float(one.get("y1", "nan")) for one in lines if one.get("class") == "grid" and one.get("y1") == one.get("y2")
    ]
    (peak,) = [float(one.get("y1", "nan")) for one in lines if one.get("class") == "peak"]
    return max(grid), peak


def test_a_buffer_is_as_wide_as_it_lives_and_as_high_as_it_is_large() -> None:
    schedule, _ = small()
    memory = MemoryPlan(512, 384, 256, 512, False)
    t, u = schedule.offsets
    svg = memory_svg(replace(schedule, offsets={t: 0, u: 256}, arena=512), memory)
    bottom, top = plot(svg)
    found = {name: rect(group) for name, group in groups(svg, "buffer").items()}
    assert list(found) == [f"buffer-{t}", f"buffer-{u}"]
    one, other = found.values()
    assert one[3] == pytest.approx(bottom)
    assert one[1] == pytest.approx((top + bottom) / 2) == other[3]
    assert other[1] == pytest.approx(top)
    assert one[2] == other[0]  # nodes 0 and 1, then 2 and 3
    assert one[2] - one[0] == pytest.approx(other[2] - other[0])
    assert title(groups(svg, "buffer")[f"buffer-{u}"]).splitlines() == [
        "u: 256 bytes at 256…512",
        "nodes 2 to 3, first on stream 2",
    ]
    assert [one.findtext(f"{SVG}text") for one in groups(svg, "buffer").values()] == ["t 256 B", "u 256 B"]
    flat = memory_svg(replace(schedule, arena=65536), memory)
    assert [one.findtext(f"{SVG}text") for one in groups(flat, "buffer").values()] == [None, None]
    (bound,) = [line for line in parsed(svg).iter(f"{SVG}line") if line.get("class") == "bound"]
    assert float(bound.get("y1", "nan")) == pytest.approx(bottom + (top - bottom) * 0.75)
    assert title(bound) == "lower bound: 384 bytes"
    head = "smooth: 2 scratch buffers in an arena of 512 B; lower bound 384 B, most alive at once 256 B, unshared 512 B"
    assert svg.count(f">{head}<") == 1
    assert "shared by the order of the program" in memory_svg(schedule, replace(memory, by_program_order=True))


@pytest.mark.parametrize("seed", range(3))
def test_rectangles_of_a_plan_do_not_overlap(seed: int) -> None:
    schedule, memory = large(40, 3, seed)
    found = [rect(group) for group in groups(memory_svg(schedule, memory), "buffer").values()]
    assert len(found) == len(schedule.lives) > 30
    for one, other in combinations(found, 2):
        across = min(one[2], other[2]) - max(one[0], other[0])
        along = min(one[3], other[3]) - max(one[1], other[1])
        assert min(across, along) < 0.05  # pixels are rounded


# ---------------------------------------------------------------------- Graphviz

DOT = """\
digraph "smooth" {
  label="smooth with n = 64: 4 nodes on 3 streams, 2 waits" labelloc=t rankdir=LR fontname=monospace
  node [shape=box style=filled fillcolor=white fontname=monospace]
  subgraph cluster_0 {
    label="stream 0" style=filled color="#f4f4f6"
    n0 [label="0 scale" tooltip="0 scale on stream 0\\nreads x[0…256]\\nwrites t[0…256]\\nHERE"]
  }
  subgraph cluster_1 {
    label="stream 1" style=filled color="#f4f4f6"
    n1 [label="1 copy" tooltip="1 copy on stream 1\\nwrites y[0…256]\\nreads t[0…256]\\nwaits for 0\\nHERE"]
  }
  subgraph cluster_2 {
    label="stream 2" style=filled color="#f4f4f6"
    n2 [label="2 fill" tooltip="2 fill on stream 2\\nwrites u[0…256]\\nwaits for 1\\nHERE"]
    n3 [label="3 copy" tooltip="3 copy on stream 2\\nwrites z[0…256]\\nreads u[0…256]\\nHERE"]
    n2 -> n3 [weight=10]
  }
  n0 -> n1 [style=solid color="#a04000" tooltip="1 waits for 0: t"]
  n1 -> n2 [style=dashed color="#a04000" tooltip="2 waits for 1: for scratch memory, which it takes over"]
}
"""


def test_the_graph_of_a_small_program() -> None:
    schedule, _ = small()
    assert (
        re.sub(r"[^\"]*?test_pictures\.py:\d+", lambda m: m[0].rpartition("\\n")[0] + "\\nHERE", streams_dot(schedule))
        == DOT
    )


def test_a_graph_has_every_node_and_wait_of_a_large_program() -> None:
    schedule, _ = large(500, 8)
    dot = streams_dot(schedule)
    assert sorted(map(int, re.findall(r"^    n(\d+) \[label", dot, re.M))) == list(range(1000))
    edges = re.findall(r"^  n(\d+) -> n(\d+) \[", dot, re.M)
    assert [(int(to), int(wait)) for wait, to in edges] == [
        (number, wait) for number, node in enumerate(schedule.nodes) for wait in node.waits
    ]


# ---------------------------------------------------------------------- names, and nothing at all


def test_names_cannot_break_a_picture() -> None:
    schedule, memory = small(NASTY)
    nodes = tuple(replace(node, command=replace(node.command, where=f"{NASTY}:1")) for node in schedule.nodes)
    schedule = replace(schedule, nodes=nodes)
    shown = NASTY.replace("\x00", "\ufffd").replace("\x1b", "\ufffd").replace("\udc80", "\ufffd")
    shown = shown.replace("\N{RIGHT-TO-LEFT OVERRIDE}", "\ufffd")
    named = NASTY.encode("unicode_escape").decode()
    streams, memory_ = streams_svg(schedule), memory_svg(schedule, memory)
    assert f"writes {named}[0…256]" in title(groups(streams, "node")["node-0"])
    assert title(groups(streams, "node")["node-0"]).endswith(f"{shown}:1")
    assert title(waits(streams)["wait-1-0"]) == f"1 waits for 0: {named}"
    assert title(next(iter(groups(memory_, "buffer").values()))).startswith(f"{named}: 256 bytes")
    dot = streams_dot(schedule)
    dot.encode()
    strings = re.findall(r'"(?:[^"\\]|\\.)*"', dot, re.S)
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", dot, flags=re.S)
    assert "<" not in outside
    assert '"' not in outside
    unquoted = [re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], one[1:-1]) for one in strings]
    assert f"1 waits for 0: {named}" in unquoted


def test_the_same_program_gives_the_same_pictures() -> None:
    for make in (small, lambda: large(50, 4)):
        one, other = ([re.sub(r"\.py:\d+", "", stage.text) for stage in program_stages(make()[0])] for _ in range(2))
        assert one == other


def test_a_program_without_nodes_has_pictures_too() -> None:
    p = HostBuilder("nothing")
    p.input("x", F32, (4,))
    schedule, memory = plan_memory(bind(p.build(), {}))
    assert "nothing: 0 nodes on 0 streams, 0 waits" in streams_svg(schedule)
    assert "0 scratch buffers in an arena of 0 B" in memory_svg(schedule, memory)
    for svg in (streams_svg(schedule), memory_svg(schedule, memory)):
        assert groups(svg, "node") == groups(svg, "buffer") == {}
    assert streams_dot(schedule).endswith("}\n")


def test_stages_of_a_program() -> None:
    schedule, _ = small()
    passes = [("bound", replace(schedule, offsets={}, arena=0)), ("memory", schedule), ("waits", schedule)]
    found = program_stages(schedule, passes)
    assert [one.name for one in program_stages(schedule)] == [one.name for one in found if one.name != "passes"]
    text = found.pop(1).text.splitlines()
    assert [line for line in text if line.endswith(":") or line.startswith(("  scratch t", "  no change"))] == [
        "bound:", "  scratch t: 256 bytes", "memory:", "  scratch t: 256 bytes at 0", "waits:", "  no change"
    ]  # fmt: skip
    assert [(one.name, one.ending) for one in found] == [
        ("program", "txt"), ("schedule", "txt"), ("streams", "dot"), ("streams", "svg"), ("memory", "svg")
    ]  # fmt: skip
    assert ["program", "passes", *dict.fromkeys(one.name for one in found[1:])] == list(PROGRAM_NAMES)
    assert found[0].text.startswith("program smooth(n; x: f32[n] input,")
    assert found[1].text.splitlines()[:4] == [
        "smooth with n = 64: 4 nodes on 3 streams, 2 waits",
        "2 scratch buffers in an arena of 256 B; lower bound 256 B, most alive at once 256 B, unshared 512 B",
        "  input x: 256 bytes",
        "  output y: 256 bytes",
    ]
    assert "  scratch u: 256 bytes at 0" in found[1].text.splitlines()
    assert "     2 stream 2 after 1: fill: writes u[0…256]" in found[1].text.splitlines()


@pytest.mark.parametrize(
    ("width", "labels", "shown"),
    [
        (100, ("12 copy", "12"), "12 copy"),
        (40, ("12 copy", "12"), "12"),
        (60, ("a long name",), "a long …"),
        (30, ("a long name",), ""),
        (0, ("a",), ""),
        (0, (), ""),
    ],
)
def test_labels_that_do_not_fit_are_cut_or_left_out(width: float, labels: tuple[str, ...], shown: str) -> None:
    assert fitting(width, *labels) == shown


@pytest.mark.parametrize("most", [0, 1, 7, 12, 99, 1000, 123_456_789])
def test_an_axis_has_a_few_round_numbers(most: int) -> None:
    marks = list(steps(most, 12))
    assert marks[0] == 0
    assert marks[-1] <= most
    assert min(most, 5) < len(marks) <= 13
    assert all(str(mark).rstrip("0") in {"1", "2", "5"} for mark in marks[1:2])


def keys(svg: str) -> list[tuple[float, float, float, str, str]]:
    """The legend: left, top and bottom of each square, its colour, and its name."""
    found = []
    shapes = list(parsed(svg))
    for shape, after in pairwise(shapes):
        if shape.get("class") == "box key":
            left, top, size = (float(shape.get(name, "nan")) for name in ("x", "y", "height"))
            found.append((left, top, top + size, str(shape.get("fill")), after.text or ""))
    return found


def fills(svg: str, kind: str) -> dict[str, str]:
    return {name: str(one.find(f"{SVG}rect").get("fill")) for name, one in groups(svg, kind).items()}  # type: ignore[union-attr]


def test_a_legend_says_what_colours_mean() -> None:
    schedule, memory = small()
    svg = streams_svg(schedule)
    meaning = {name: fill for _, _, _, fill, name in keys(svg)}
    assert list(meaning) == ["scale", "copy", "fill"]
    assert [fills(svg, "node")[f"node-{n}"] for n in range(4)] == [meaning[node.what] for node in schedule.nodes]
    svg = memory_svg(schedule, memory)
    meaning = {name: fill for _, _, _, fill, name in keys(svg)}
    assert list(meaning) == ["first used on stream 0", "first used on stream 2"]
    assert list(fills(svg, "buffer").values()) == list(meaning.values())


@pytest.mark.parametrize("count", [0, 1, 30, 61, 500])
def test_a_legend_of_many_names_fits(count: int) -> None:
    names = [("red", f"kernel {number} {'x' * (number % 70)}") for number in range(count)]
    legend = Legend.of(names, 900)
    assert len(legend.keys) == min(count, 61)
    assert (legend.height > 0) == (count > 0)
    for (x, row, _, name), (next_x, next_row, _, _) in pairwise(legend.keys):
        assert x + 18 + len(name) * 6.5 <= (next_x if row == next_row else 900)
        assert next_row == row or (next_row, next_x) == (row + 1, 0)
    assert count <= 61 or legend.keys[-1][3] == f"and {count - 60} more"
    drawing = Drawing(900, 40 + legend.height, "legend")
    drawing.legend((0, 40), legend)
    assert all(bottom <= 40 + legend.height for _, _, bottom, _, _ in keys(str(drawing)))


def test_pictures_are_readable_on_a_dark_page() -> None:
    """Where the browser asks for one: what is behind text is dark, but for boxes, on which text stays dark."""
    for svg in (streams_svg(small()[0]), memory_svg(*small())):
        style = parsed(svg).findtext(f"{SVG}style") or ""
        light, _, dark = style.partition("@media (prefers-color-scheme: dark)")
        assert "svg { background: #fff; }" in light
        assert "svg { background: #1b1b1f; }" in dark
        assert {"text { fill: #ddd; }", "g > .box + text { fill: #222; }"} < set(dark.splitlines())
        for kind in ("node", "buffer"):
            for group in groups(svg, kind).values():
                shapes = [one for one in group if one.tag != f"{SVG}title"]
                assert shapes[0].get("class") == "box"
                assert [one.tag for one in shapes[1:]] in ([], [f"{SVG}text"])


def test_colours_are_told_apart() -> None:
    """The first two dozen differ from each other in hue or lightness; beyond, from their neighbours."""
    found = [tuple(map(int, re.findall(r"\d+", colour(number)))) for number in range(100)]
    for one, other in [*combinations(found[:24], 2), *pairwise(found)]:
        apart = abs(one[0] - other[0])
        assert min(apart, 360 - apart) >= 15 or abs(one[2] - other[2]) >= 9
