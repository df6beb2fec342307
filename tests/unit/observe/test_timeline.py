"""Timelines: what they say of overlap, and that every command is in them, where and when it was."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocl_runtime.execute.streams.completion import Timed
from ocl_runtime.observe.timeline import (
    Overlap,
    at_work,
    lane_name,
    overlap,
    timeline_html,
    timeline_svg,
    trace_json,
)
from tests.support.pictures import NASTY, SVG, groups, rect, title

MS = 1_000_000
SOME = [
    Timed("blur", "photo.py:3", 0, 5 * MS, 7 * MS),
    Timed("blur", "photo.py:3", 1, 6 * MS, 9 * MS),
    Timed("sum", "photo.py:4", 0, 8 * MS, 10 * MS),
    Timed("write", "photo.py:1", 4, 12 * MS, 13 * MS),
]

timed = st.builds(
    lambda what, stream, start, length: Timed(what, "", stream, start, start + length),
    st.sampled_from("ab"), st.integers(0, 4), st.integers(0, 30), st.integers(0, 12),
)  # fmt: skip


# ---------------------------------------------------------------------- overlap


def test_what_streams_do_at_once() -> None:
    assert at_work(SOME) == [
        (5 * MS, 6 * MS, 1), (6 * MS, 7 * MS, 2), (7 * MS, 8 * MS, 1), (8 * MS, 9 * MS, 2), (9 * MS, 10 * MS, 1),
        (12 * MS, 13 * MS, 1),
    ]  # fmt: skip
    assert overlap(SOME) == Overlap(span=8 * MS, together=2 * MS, most=2)
    said = "two or more streams were at work at once for 2 ms of 8 ms (25%), at most 2 of them"
    assert str(overlap(SOME)) == said


def test_commands_of_one_stream_are_not_at_once() -> None:
    on_one = [one._replace(stream=3) for one in SOME]
    assert overlap(on_one) == Overlap(span=8 * MS, together=0, most=1)
    assert at_work(on_one) == [(5 * MS, 10 * MS, 1), (12 * MS, 13 * MS, 1)]


@given(st.lists(timed, max_size=12))
def test_overlap_is_what_counting_every_nanosecond_gives(commands: list[Timed]) -> None:
    counts = [len({one.stream for one in commands if one.start <= now < one.end}) for now in range(50)]
    parts = at_work(commands)
    spread = [sum(count for start, end, count in parts if start <= now < end) for now in range(50)]
    assert spread == counts
    assert all(start < end and count > 0 for start, end, count in parts)
    found = overlap(commands)
    assert (found.together, found.most) == (sum(count > 1 for count in counts), max(counts))


def test_nothing_at_all() -> None:
    assert overlap([]) == Overlap(0, 0, 0)
    assert str(overlap([])) == "two or more streams were at work at once for 0 ms of 0 ms (0%), at most 0 of them"
    assert groups(timeline_svg([], "nothing"), "command") == {}
    assert ElementTree.fromstring(timeline_html([], "nothing")).tag == "html"
    assert [event["ph"] for event in json.loads(trace_json([]))["traceEvents"]] == ["M"]


# ---------------------------------------------------------------------- the picture


def test_every_command_is_in_its_lane_and_as_long_as_it_took() -> None:
    svg = timeline_svg(SOME, "a run", streams=4)
    lanes, commands = groups(svg, "stream"), groups(svg, "command")
    assert [lane.findtext(f"{SVG}text") for lane in lanes.values()] == ["stream 0", "stream 1", "uploads"]
    tops = [rect(lane)[1] for lane in lanes.values()]
    assert tops == sorted(set(tops))
    assert len(commands) == len(SOME)
    at = [rect(group) for group in commands.values()]
    pixels = (at[0][2] - at[0][0]) / 2  # of a millisecond
    for one, (left, top, right, bottom) in zip(SOME, at, strict=True):
        assert (left - at[0][0]) / pixels == pytest.approx((one.start - SOME[0].start) / MS, abs=0.01)
        assert (right - left) / pixels == pytest.approx((one.end - one.start) / MS, abs=0.01)
        _, above, _, below = rect(lanes[f"stream-{one.stream}"])
        assert above <= top < bottom <= below
    assert title(commands["command-1"]).splitlines() == ["blur", "3 ms, from 1 ms on", "photo.py:3"]
    texts = [text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert {"a run", "at work", "0 ms", "8 ms"} < set(texts)


def test_the_streams_at_work_are_drawn() -> None:
    busy = [
        one for one in ElementTree.fromstring(timeline_svg(SOME, "")).iter(f"{SVG}rect") if one.get("class") == "busy"
    ]
    heights = [float(one.get("height", "nan")) for one in busy]
    assert [title(one) for one in busy] == [
        "1 stream", "2 streams", "1 stream", "2 streams", "1 stream", "1 stream"
    ]  # fmt: skip
    assert heights[1] == heights[3] == 2 * heights[0]


def test_the_page_needs_nothing_else() -> None:
    page = timeline_html(SOME, "a run", 4)
    root = ElementTree.fromstring(page)
    assert root.findtext("body/p") == f"4 commands on 3 streams: {overlap(SOME)}."
    assert root.findtext("head/title") == root.findtext("body/h1") == "a run"
    assert len(list(root.iter(f"{SVG}svg"))) == 1
    assert re.findall(r"https?://[^\s\"<]*", page) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<script|<link|src=|href=|@import|url\(", page)


@pytest.mark.parametrize("count", [1, 10, 5000])
def test_few_and_many_commands_make_a_picture_of_ordinary_size(count: int) -> None:
    many = [Timed("k", "", number % 8, number * 1000, number * 1000 + 1 + number % 3000) for number in range(count)]
    svg = timeline_svg(many, "many")
    root = ElementTree.fromstring(svg)
    assert 1000 < float(root.get("width", "nan")) < 7000
    right = float(root.get("width", "nan"))
    at = [rect(group) for group in groups(svg, "command").values()]
    assert len(at) == count
    assert all(0 < one[0] < one[2] <= right for one in at)


# ---------------------------------------------------------------------- the trace


def test_a_trace_in_the_format_that_perfetto_reads() -> None:
    trace = json.loads(trace_json(SOME, "photograph", streams=4))
    assert set(trace) == {"traceEvents", "displayTimeUnit"}
    events = trace["traceEvents"]
    complete = [event for event in events if event["ph"] == "X"]
    assert [(one["name"], one["tid"], one["ts"], one["dur"]) for one in complete] == [
        ("blur", 1, 0.0, 2000.0), ("blur", 2, 1000.0, 3000.0), ("sum", 1, 3000.0, 2000.0), ("write", 5, 7000.0, 1000.0)
    ]  # fmt: skip
    assert [one["args"]["where"] for one in complete] == [one.where for one in SOME]
    named = [(one["name"], one["tid"], one["args"]) for one in events if one["ph"] == "M"]
    assert named == [
        ("process_name", 1, {"name": "photograph"}),
        ("thread_name", 1, {"name": "stream 0"}), ("thread_sort_index", 1, {"sort_index": 0}),
        ("thread_name", 2, {"name": "stream 1"}), ("thread_sort_index", 2, {"sort_index": 1}),
        ("thread_name", 5, {"name": "uploads"}), ("thread_sort_index", 5, {"sort_index": 4}),
    ]  # fmt: skip
    assert len(complete) + len(named) == len(events)
    assert {event["pid"] for event in events} == {1}


@given(st.lists(timed, max_size=12))
def test_a_trace_has_what_its_format_wants(commands: list[Timed]) -> None:
    """Of the Trace Event Format: its fields, their types and units.

    No thread is 0, which Perfetto takes for Linux's idle one.
    """
    trace = json.loads(trace_json(commands))
    assert trace["displayTimeUnit"] in {"ms", "ns"}
    named = set()
    for event in trace["traceEvents"]:
        assert event["ph"] in {"X", "M"}
        assert isinstance(event["name"], str)
        assert isinstance(event["args"], dict)
        assert all(isinstance(event[key], int) and event[key] > 0 for key in ("pid", "tid"))
        if event["ph"] == "M":
            assert event["name"] in {"process_name", "thread_name", "thread_sort_index"}
            (kind,) = event["args"]
            assert kind == event["name"].partition("_")[2]
            named.add((event["name"], event["tid"]))
        else:
            assert isinstance(event["cat"], str)
            assert all(isinstance(event[key], int | float) and event[key] >= 0 for key in ("ts", "dur"))
            assert ("thread_name", event["tid"]) in named, "a thread has its name before its first slice"
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert sum(event["dur"] for event in slices) * 1e3 == pytest.approx(sum(one.end - one.start for one in commands))


@given(st.lists(timed, max_size=12))
def test_the_order_of_what_is_given_changes_nothing(commands: list[Timed]) -> None:
    assert trace_json(commands) == trace_json(commands[::-1])
    assert timeline_html(commands, "t") == timeline_html(commands[::-1], "t")
    times = [event["ts"] for event in json.loads(trace_json(commands))["traceEvents"] if event["ph"] == "X"]
    assert times == sorted(times)
    assert min(times, default=0) == 0


def test_names_cannot_break_a_timeline() -> None:
    nasty = [Timed(NASTY, f"{NASTY}:1", 0, 0, 5), *SOME]
    svg = timeline_svg(nasty, NASTY)
    first = title(groups(svg, "command")["command-0"])
    assert first.startswith("a<b>&\"'\\\n\ufffd\ufffd\ufffdé]]>--\ufffd\n")
    page = timeline_html(nasty, NASTY)
    page.encode()
    assert (ElementTree.fromstring(page).findtext("body/h1") or "").startswith("a<b>&")
    trace = trace_json(nasty, NASTY)
    trace.encode()
    assert next(one["name"] for one in json.loads(trace)["traceEvents"] if one["ph"] == "X") == NASTY


def test_names_of_lanes() -> None:
    assert [lane_name(number, 4) for number in (0, 3, 4, 5, 6, 7)] == [
        "stream 0", "stream 3", "uploads", "downloads", "transfers", "stream 7"
    ]  # fmt: skip
    assert lane_name(5) == "stream 5"
