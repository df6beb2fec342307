"""Which nodes conflict: exactly those that share a byte, found without comparing every pair of views."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ocl_ir.host.conflicts import conflicts
from ocl_ir.host.schedule import Access, Node, Schedule
from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.layout import Layout

NOTHING = cast("Any", None)


def schedule_of(*nodes: list[Access], offsets: dict[int, int] | None = None) -> Schedule:
    made = tuple(Node(NOTHING, (), (), tuple(accesses)) for accesses in nodes)
    return Schedule(NOTHING, {}, (), made, (), {}, offsets or {})


def touched(access: Access, start: int) -> set[int]:
    """The bytes of an access, one by one."""
    places = {start + access.layout.offset * access.itemsize}
    for length, stride in zip(access.layout.shape, access.layout.strides, strict=True):
        places = {place + turn * stride * access.itemsize for place in places for turn in range(length)}
    return {place + byte for place in places for byte in range(access.itemsize)}


@st.composite
def accesses(draw: st.DrawFn) -> Access:
    """Views with few elements of up to four axes, whose strides are often multiples of each other."""
    shape = draw(st.lists(st.integers(1, 5), max_size=4))
    stride = st.one_of(st.sampled_from([0, 1, 2, 4, 8, 16, 24, 32]), st.integers(-40, 40))
    strides = [draw(stride) * draw(st.sampled_from([1, 1, -1])) for _ in shape]
    back = sum(-one * (length - 1) for length, one in zip(shape, strides, strict=True) if one < 0)
    layout = Layout(tuple(shape), tuple(strides), back + draw(st.integers(0, 40)))
    return Access(draw(st.integers(0, 2)), layout, draw(st.sampled_from([1, 2, 4])), draw(st.integers(1, 3)))


COLUMN = Layout((4,), (8,), 3)


@given(st.lists(st.lists(accesses(), min_size=1, max_size=3), max_size=12))
@example([[Access(0, COLUMN, 4, WRITE)], [Access(0, Layout((4,), (8,), 4), 4, WRITE)]])
@example([[Access(0, COLUMN, 4, WRITE)], [Access(2, Layout((2, 4), (16, 2), 6), 4, READ)]])
@example([[Access(0, Layout((4, 5), (8, 1), 0), 1, WRITE)], [Access(0, Layout((4, 4), (8, 1), 4), 1, WRITE)]])
def test_they_are_those_that_share_a_byte(nodes: list[list[Access]]) -> None:
    """Every pair of nodes that does has a way from the one to the other, and every pair that is named does."""
    starts = {1: 64, 2: 96}  # 1 and 2 share an arena
    found = conflicts(schedule_of(*nodes, offsets=starts))

    def memory(access: Access) -> bool:
        return access.buffer in starts

    before: list[set[int]] = []
    for number, later in enumerate(nodes):
        expected = {
            place
            for place, earlier in enumerate(nodes[:number])
            for one in earlier
            for two in later
            if memory(one) == memory(two) and (one.mode | two.mode) & WRITE
            if touched(one, starts.get(one.buffer, 0)) & touched(two, starts.get(two.buffer, 0))
        }
        assert set(found[number]) <= expected
        before.append(set(found[number]).union(*(before[one] for one in found[number])))
        assert expected <= before[number]


COLUMNS = [Layout((50, 1), (60, 1), column) for column in range(60)]
BANDS = [Layout((50, 4), (60, 1), first) for first in range(0, 60, 4)]
BACKWARDS = [Layout((50, 4), (-60, -1), 49 * 60 + 3 + first) for first in range(0, 60, 4)]
TILES = [Layout((3, 10, 4), (3000, 60, 1), 600 * row + 4 * column) for row in range(5) for column in range(15)]
TURNS = [Layout((25,), (2,), first) for first in range(2)]


@pytest.mark.parametrize("views", [COLUMNS, BANDS, BACKWARDS, TILES, TURNS])
def test_parts_of_one_memory_are_told_apart_all_at_once(views: list[Layout], monkeypatch: pytest.MonkeyPatch) -> None:
    """A program over 1,000 columns has half a million pairs, which took 23 s to compare one by one."""

    def compared(*_: Layout) -> bool:
        raise AssertionError("a pair was compared by itself")

    monkeypatch.setattr(Layout, "overlaps", compared)
    found = conflicts(schedule_of(*([Access(0, view, 4, READ | WRITE)] for view in views)))
    assert not any(found)
    twice = [Access(0, view, 4, READ) for view in views]
    monkeypatch.setattr(Layout, "overlaps", lambda *_: True)
    assert all(found == [] for found in conflicts(schedule_of(*([one] for one in twice))))


@pytest.mark.parametrize("written", [Layout((32, 2), (64, 1), 3), Layout((32,), (1,), 4)])
def test_what_was_written_again_is_not_compared_any_more(written: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns, or a range, of what is read between: where all turns before were looked at, 2,000 nodes took 80 s."""
    compared, overlaps = [0], Layout.overlaps

    def counted(one: Layout, other: Layout) -> bool:
        compared[0] += 1
        return overlaps(one, other)

    monkeypatch.setattr(Layout, "overlaps", counted)
    read, turns = Layout((32, 16), (64, 2), 0), 50
    found = conflicts(schedule_of(*([[Access(0, written, 4, WRITE)], [Access(0, read, 4, READ)]] * turns)))
    assert found[:4] == [[], [0], [0, 1], [2]]
    assert found[-2:] == [[2 * turns - 4, 2 * turns - 3], [2 * turns - 2]]
    assert compared[0] <= 3 * turns
