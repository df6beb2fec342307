"""Histories of byte ranges: what a command must come after, exactly; and how they stay small."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.layout import Layout
from ocl_runtime.errors import LaunchError
from ocl_runtime.execute.log import Log
from ocl_runtime.execute.streams import hazards
from ocl_runtime.execute.streams.command import Command, Stream
from ocl_runtime.execute.streams.footprints import footprint_of
from ocl_runtime.execute.streams.hazards import Ranges, Touch
from ocl_runtime.execute.streams.streams import Streams
from ocl_runtime.observe.commands import Recording
from ocl_runtime.observe.order import Order
from tests.support.simulated import Kernel, Simulated

NOTHING = Kernel(lambda *args: None, "nothing")


class Bytes:
    """One allocation of `size` bytes, and streams that touch it."""

    def __init__(self, size: int = 64, streams: int = 3, eager: float = 0.0) -> None:
        self.device = Simulated(eager=eager)
        self.recording = Recording(self.device)
        self.streams = Streams(self.recording, streams, Log())
        self.ranges = Ranges(self.recording.buffer(size), 0, size)
        self.size = size

    def stream(self, number: int) -> Stream:
        return self.streams._streams[number] or self.streams._stream(number)

    def touch(self, mode: int, low: int = 0, high: int | None = None) -> Touch:
        return Touch(self.ranges, low, self.size if high is None else high, mode)

    def strided(self, mode: int, offset: int, step: int, count: int) -> Touch:
        """Every `step`-th byte."""
        low, high, gaps = footprint_of(Layout((count,), (step,), offset), 1, 0)
        return Touch(self.ranges, low, high, mode, gaps)

    def give(self, number: int, *touches: Touch) -> Command:
        launch = self.recording.launch
        return self.streams.submit(self.stream(number), touches, "kernel k", "", launch, NOTHING, (), ((1,), (1,)))

    def waits(self) -> list[int]:
        """The numbers of the commands that the newest one waits for."""
        return [wait.number for wait in self.recording.commands[-1].waits]


# ---------------------------------------------------------------------- which commands


def test_a_read_follows_the_writes_of_its_bytes_and_a_write_the_reads_too() -> None:
    bytes_ = Bytes(streams=4)
    bytes_.give(0, bytes_.touch(WRITE, 0, 32))
    bytes_.give(1, bytes_.touch(WRITE, 32, 64))
    bytes_.give(2, bytes_.touch(READ, 16, 48))
    assert bytes_.waits() == [0, 1]
    bytes_.give(3, bytes_.touch(READ, 40, 64))
    assert bytes_.waits() == [1]
    bytes_.give(1, bytes_.touch(WRITE, 30, 50))
    assert bytes_.waits() == [2, 3]


def test_a_write_hides_what_was_before_only_where_it_wrote() -> None:
    bytes_ = Bytes()
    bytes_.give(0, bytes_.touch(WRITE))
    bytes_.give(1, bytes_.touch(WRITE, 16, 32))
    bytes_.give(2, bytes_.touch(READ, 16, 32))
    assert bytes_.waits() == [1]
    bytes_.give(2, bytes_.touch(READ))
    assert bytes_.waits() == [], "the write of the middle came after the first"


def test_strided_accesses_of_other_bytes_do_not_wait_for_each_other() -> None:
    bytes_ = Bytes()
    bytes_.give(0, bytes_.strided(WRITE, 0, 2, 32))
    bytes_.give(1, bytes_.strided(WRITE, 1, 2, 32))
    assert bytes_.waits() == []
    bytes_.give(2, bytes_.strided(READ, 3, 4, 10))
    assert bytes_.waits() == [1]
    bytes_.give(2, bytes_.touch(READ, 6, 8))
    assert bytes_.waits() == [0]


def test_a_strided_write_hides_only_the_same_footprint() -> None:
    bytes_ = Bytes(streams=4)
    bytes_.give(0, bytes_.strided(WRITE, 0, 2, 32))
    bytes_.give(1, bytes_.strided(WRITE, 0, 2, 32))
    assert bytes_.waits() == [0]
    bytes_.give(2, bytes_.strided(WRITE, 0, 4, 16))
    assert bytes_.waits() == [1]
    bytes_.give(3, bytes_.strided(READ, 2, 4, 15))
    assert bytes_.waits() == [1], "the third wrote none of these"
    assert len(bytes_.ranges.cells[0].writes) == 2


def test_a_strided_read_hides_only_its_streams_reads_of_the_same_footprint() -> None:
    bytes_ = Bytes()
    bytes_.give(0, bytes_.strided(READ, 8, 4, 4))
    bytes_.give(0, bytes_.strided(READ, 1, 4, 12))
    bytes_.give(0, bytes_.strided(READ, 1, 4, 12))
    assert sum(len(cell.reads) for cell in bytes_.ranges.within(9, 20)) == 2
    bytes_.give(1, bytes_.touch(WRITE, 12, 13))
    assert bytes_.waits() == [0]


def test_a_view_of_several_axes_and_negative_strides_has_its_exact_bytes() -> None:
    bytes_ = Bytes()

    def view(mode: int, layout: Layout) -> Touch:
        low, high, gaps = footprint_of(layout, 4, 0)
        return Touch(bytes_.ranges, low, high, mode, gaps)

    left, right = Layout((4, 2), (4, 1)), Layout((4, 2), (-4, 1), 14)  # halves of 4 rows of 4, the second from below
    bytes_.give(0, view(WRITE, left))
    bytes_.give(1, view(WRITE, right))
    assert bytes_.waits() == []
    bytes_.give(2, view(READ, Layout((4,), (4,), 1)))
    assert bytes_.waits() == [0]
    assert footprint_of(Layout((4, 4), (-4, 1), 12), 4, 0) == (0, 64, None), "no gaps: the range says it all"
    assert footprint_of(Layout((4, 4), (1, 4)), 4, 256) == (256, 320, None)


def test_a_command_that_reads_and_writes_the_same_bytes_does_not_wait_for_itself() -> None:
    bytes_ = Bytes()
    bytes_.give(0, bytes_.touch(READ), bytes_.touch(WRITE), bytes_.touch(READ, 8, 16))
    bytes_.give(1, bytes_.touch(READ), bytes_.strided(WRITE, 0, 2, 8))
    assert bytes_.waits() == [0]
    bytes_.give(0, bytes_.touch(READ), bytes_.touch(READ))
    assert bytes_.waits() == [1]


@st.composite
def accesses(draw: st.DrawFn) -> list[tuple[int, list[tuple[int, int, int, int]], int]]:
    """For each command its stream, its touches as (mode, offset, step, count), and what the host does then."""
    touch = st.tuples(st.sampled_from((1, 1, 2, 3)), st.integers(0, 20), st.integers(1, 4), st.integers(1, 11))
    command = st.tuples(st.integers(0, 3), st.lists(touch, min_size=1, max_size=2), st.integers(0, 9))
    count = draw(st.integers(2, 60))
    return draw(st.lists(command, min_size=count, max_size=count))


@pytest.mark.parametrize("apart", [0, 4, hazards._APART])
@given(commands=accesses())
def test_the_waits_are_the_fewest_that_a_byte_by_byte_model_allows(
    apart: int, commands: list[tuple[int, list[tuple[int, int, int, int]], int]]
) -> None:
    """Also where reads with gaps are noted beside few cells, or beside any."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hazards, "_APART", apart)
        _compare_with_model(commands)


def _compare_with_model(commands: list[tuple[int, list[tuple[int, int, int, int]], int]]) -> None:
    bytes_ = Bytes(size=64, streams=4, eager=0.4)
    model = Model()
    for number, touches, then in commands:
        waited = [bytes_.strided(*touch) for touch in touches]
        needed = model.needed(number, waited)
        command = bytes_.give(number, *waited)
        logged = bytes_.recording.commands[-1]
        assert {model.commands[wait.number] for wait in logged.waits} == needed
        model.give(command, waited, needed)
        if then == 0:
            bytes_.streams.look()
        elif then == 1:
            bytes_.streams.wait(command)
    order = Order(bytes_.recording.log)
    assert not list(order.violations())
    assert not order.redundant()


class Model:
    """For every byte all that ever happened to it; for every command all that happens before it."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self._before: dict[Command, set[Command]] = {}
        self._newest: dict[int, Command] = {}
        self._accesses: dict[int, list[tuple[Command, int]]] = {}

    def needed(self, stream: int, touches: list[Touch]) -> set[Command]:
        """Those to wait for: all conflicting ones that the stream does not come after, without what others imply."""
        known = set(self._known(stream))
        conflicting = {
            command
            for touch in touches
            for byte in touched(touch)
            for command, mode in self._accesses.get(byte, ())
            if (mode | touch.mode) & WRITE and command not in known and command.event is not None
        }
        return {
            one for one in conflicting if not any(one in self._before[other] for other in conflicting if other != one)
        }

    def give(self, command: Command, touches: list[Touch], waits: set[Command]) -> None:
        known = self._known(command.stream.index)
        self._before[command] = known | waits | {one for wait in waits for one in self._before[wait]}
        self._newest[command.stream.index] = command
        self.commands.append(command)
        for touch in touches:
            for byte in touched(touch):
                self._accesses.setdefault(byte, []).append((command, touch.mode))

    def _known(self, stream: int) -> set[Command]:
        newest = self._newest.get(stream)
        return set() if newest is None else {newest} | self._before[newest]


def touched(touch: Touch) -> set[int]:
    if touch.footprint is None:
        return set(range(touch.low, touch.high))
    return {touch.footprint.offset + at * touch.footprint.strides[0] for at in range(touch.footprint.shape[0])}


# ---------------------------------------------------------------------- few cells


def test_accesses_to_all_of_it_keep_one_cell() -> None:
    bytes_ = Bytes()
    for number in range(6):
        bytes_.give(number % 3, bytes_.touch(WRITE if number % 2 else READ))
    assert len(bytes_.ranges.cells) == 1


def test_parts_are_cut_where_they_end_and_a_write_of_all_makes_them_one_again() -> None:
    bytes_ = Bytes()
    bytes_.give(0, bytes_.touch(WRITE, 16, 32))
    bytes_.give(1, bytes_.touch(READ, 24, 40))
    assert [(cell.low, cell.high) for cell in bytes_.ranges.cells] == [(0, 16), (16, 24), (24, 32), (32, 40), (40, 64)]
    bytes_.give(2, bytes_.touch(WRITE, 16, 40))
    assert [(cell.low, cell.high) for cell in bytes_.ranges.cells] == [(0, 16), (16, 40), (40, 64)]
    bytes_.give(0, bytes_.touch(WRITE))
    assert len(bytes_.ranges.cells) == 1
    assert bytes_.waits() == [2]


@pytest.mark.parametrize("mode", [WRITE, READ | WRITE, READ], ids=["writes", "writes with a halo read", "reads"])
def test_a_sliding_window_keeps_few_cells(mode: int) -> None:
    size, most = 2**20, 0
    device = Simulated(eager=0.9)
    streams = Streams(device, 4, Log())
    ranges = Ranges(device.buffer(1), 0, size)
    lanes = [streams._stream(number) for number in range(4)]
    for number in range(20_000):
        low = number * 10
        touches = [Touch(ranges, max(0, low - 2), low + 12, READ)] if mode & READ else []
        touches += [Touch(ranges, low, low + 10, WRITE)] if mode & WRITE else []
        streams.submit(lanes[number % 4], touches, "k", "", device.launch, NOTHING, (), ((1,), (1,)))
        most = max(most, len(ranges.cells))
        if number % 100 == 0:
            streams.finish()
    assert most <= 256 + 4, "what one command cuts comes on top"
    assert len(ranges.cells) <= 256
    streams.submit(lanes[0], [Touch(ranges, 0, size, WRITE)], "k", "", device.launch, NOTHING, (), ((1,), (1,)))
    assert len(ranges.cells) == 1


def test_what_has_completed_is_forgotten_and_its_neighbours_become_one() -> None:
    bytes_ = Bytes()
    for number in range(12):
        bytes_.give(number % 3, bytes_.touch(WRITE, 5 * number, 5 * number + 5))
    bytes_.streams.finish()
    bytes_.ranges.tidy()
    assert [(cell.low, cell.high, cell.writes) for cell in bytes_.ranges.cells] == [(0, 64, ())]


@pytest.mark.parametrize("apart", [0, hazards._APART])
@given(commands=accesses())
def test_where_cells_and_uses_are_many_the_order_is_stricter_and_never_less(
    apart: int, commands: list[tuple[int, list[tuple[int, int, int, int]], int]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hazards, "_APART", apart)
        patch.setattr(hazards, "_MOST_USES", 2)
        patch.setattr(hazards, "_MOST_CELLS", 4)
        bytes_ = Bytes(size=64, streams=4)
        for number, touches, _ in commands:
            bytes_.give(number, *[bytes_.strided(*touch) for touch in touches])
            assert all(len(cell.writes) <= 2 + 4 and len(cell.reads) <= 2 + 4 for cell in bytes_.ranges.cells)
        assert len(bytes_.ranges.cells) <= 4 + 6
        assert not list(Order(bytes_.recording.log).violations())


def test_more_strided_accesses_than_a_cell_holds_count_as_one_of_all_of_it() -> None:
    bytes_ = Bytes(size=4096)
    for offset in range(100):
        bytes_.give(0, bytes_.strided(WRITE, offset, 256, 2))
    assert all(len(cell.writes) <= 64 for cell in bytes_.ranges.cells)
    bytes_.give(1, bytes_.touch(READ, 120, 121))
    assert len(bytes_.waits()) <= 1, "more than needed, but by the newest command of the stream"


@pytest.mark.parametrize("streams", [1, 2])
def test_an_allocation_has_few_cells(streams: int) -> None:
    most = hazards._MOST_CELLS
    bytes_ = Bytes(size=4096)
    for place in range(1000):
        bytes_.give(place % streams, bytes_.touch(WRITE, 4 * place, 4 * place + 4))
    assert most // 2 <= len(bytes_.ranges.cells) <= most + 2
    bytes_.give(2, bytes_.touch(READ, 0, 4096))
    assert len(bytes_.waits()) == streams, "the newest command of each"


def test_a_part_that_fails_spoils_none_that_was_written_before() -> None:
    """Of all rows that are written one by one without waiting, those before the one that fails are right."""
    bytes_ = Bytes(size=400, streams=2)
    for row in range(100):
        command = bytes_.give(0, bytes_.touch(WRITE, 4 * row, 4 * row + 4))
        command.event.fails = row == 40
    with pytest.raises(LaunchError):
        bytes_.streams.finish()
    for row in range(40):
        bytes_.give(1, bytes_.touch(READ, 4 * row, 4 * row + 4))
    with pytest.raises(LaunchError):
        bytes_.give(1, bytes_.touch(READ, 160, 164))


def view(bytes_: Bytes, mode: int, layout: Layout) -> Touch:
    low, high, gaps = footprint_of(layout, 1, 0)
    return Touch(bytes_.ranges, low, high, mode, gaps)


def test_columns_share_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut at the ends of each, a write on the fourth of four streams was compared with 1,200 others, in 9 ms."""
    compared, overlaps = [0], Layout.overlaps

    def counted(one: Layout, other: Layout) -> bool:
        compared[0] += 1
        return overlaps(one, other)

    monkeypatch.setattr(Layout, "overlaps", counted)
    bytes_ = Bytes(64 * 256, streams=4)
    for column in range(hazards._MOST_USES):
        bytes_.give(column % 4, view(bytes_, WRITE, Layout((64,), (256,), column)))
        assert bytes_.waits() == []
    assert len(bytes_.ranges.cells) <= 4
    assert compared[0] <= hazards._MOST_USES**2
    for column in range(hazards._MOST_USES):
        bytes_.give((column + 1) % 4, view(bytes_, READ, Layout((2,), (256,), column + 256)))
    assert len(bytes_.ranges.cells) <= 16


def test_bands_with_gaps_have_cells_of_their_own() -> None:
    """More of them than one cell tells apart do not wait for each other."""
    count = 3 * hazards._MOST_USES
    bytes_ = Bytes(256 * count)
    for band in range(count):
        bytes_.give(band % 3, view(bytes_, WRITE, Layout((4, 48), (64, 1), 256 * band + 8)))
        assert bytes_.waits() == []


def test_a_read_with_gaps_is_noted_once_beside_many_cells() -> None:
    """A column of a matrix whose rows were read one by one: in each cell, this took longer than all the rest."""
    rows = 4 * hazards._APART
    bytes_ = Bytes(8 * rows)
    for row in range(rows):
        bytes_.give(0, bytes_.touch(READ, 8 * row, 8 * row + 5))
    for column in range(3):
        bytes_.give(1, bytes_.strided(READ, column, 8, rows))
    assert len(bytes_.ranges.wide) == 3
    assert sum(len(cell.reads) for cell in bytes_.ranges.cells) == rows
    left, bytes_.ranges = bytes_.ranges.split(4 * rows)
    assert len(bytes_.ranges.commands()) == rows // 2 + 3
    bytes_.ranges = left.joined(bytes_.ranges)
    bytes_.give(2, bytes_.touch(WRITE, 8 * rows - 8, 8 * rows - 6))
    assert bytes_.waits() == [rows - 1, rows + 1], "the row, and the second column"
    bytes_.give(2, bytes_.touch(WRITE))
    assert not bytes_.ranges.wide


def test_more_reads_with_gaps_than_are_noted_beside_are_told_apart() -> None:
    count = 3 * hazards._MOST_USES
    bytes_ = Bytes(256 * count)
    for band in range(hazards._APART):
        bytes_.give(1, bytes_.touch(READ, 256 * band, 256 * band + 4))
    for band in range(count):
        bytes_.give(1, view(bytes_, READ, Layout((4, 48), (64, 1), 256 * band + 8)))
    assert len(bytes_.ranges.wide) == hazards._MOST_USES, "the others are in their cells"
    for band in (0, 70, 100):
        bytes_.give(2, view(bytes_, WRITE, Layout((4, 48), (64, 1), 256 * band + 8)))
        assert bytes_.waits() == [hazards._APART + band]


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 3), st.integers(1, 5), st.integers(0, 9), st.integers(1, 20)),
        min_size=1,
        max_size=40,
    )
)
def test_an_access_is_in_every_cell_that_it_touches(accesses: list[tuple[int, int, int, int, int]]) -> None:
    bytes_ = Bytes(256, eager=0.0)
    for offset, number, rows, gap, width in accesses:
        layout = Layout((rows, width), (width + gap, 1), offset)
        command = bytes_.give(number % 3, view(bytes_, WRITE, layout))
        touched = {offset + row * (width + gap) + byte for row in range(rows) for byte in range(width)}
        cells = bytes_.ranges.cells
        assert [cell.high for cell in cells[:-1]] == [cell.low for cell in cells[1:]]
        assert (cells[0].low, cells[-1].high) == (0, 256)
        with_it = [cell for cell in cells if command in dict(cell.writes)]
        assert all(any(cell.low <= byte < cell.high for cell in with_it) for byte in touched)


# ---------------------------------------------------------------------- memory that changes hands


def test_a_split_keeps_the_history_of_both_parts_and_a_join_too() -> None:
    bytes_ = Bytes()
    bytes_.give(0, bytes_.touch(READ, 0, 40))
    bytes_.give(1, bytes_.touch(READ, 20, 64))
    bytes_.ranges, right = bytes_.ranges.split(32)
    assert (bytes_.ranges.low, bytes_.ranges.high, right.low, right.high) == (0, 32, 32, 64)
    bytes_.give(2, Touch(right, 48, 64, WRITE))
    assert bytes_.waits() == [1]
    bytes_.give(2, Touch(bytes_.ranges, 0, 8, WRITE))
    assert bytes_.waits() == [0]
    bytes_.ranges = bytes_.ranges.joined(right)
    bytes_.give(0, bytes_.touch(WRITE))
    assert bytes_.waits() == [3], "which comes after the write on the right"


def test_a_join_of_parts_that_two_streams_made_is_no_streams_own() -> None:
    bytes_ = Bytes()
    bytes_.ranges, right = bytes_.ranges.split(32)
    bytes_.give(0, Touch(bytes_.ranges, 0, 32, WRITE))
    bytes_.give(1, Touch(right, 32, 64, WRITE))
    bytes_.ranges = bytes_.ranges.joined(right)
    bytes_.give(0, bytes_.touch(WRITE))
    assert bytes_.waits() == [1]


def test_what_one_stream_made_is_not_searched_for_conflicts(monkeypatch: pytest.MonkeyPatch) -> None:
    bytes_ = Bytes()
    for low in range(0, 64, 8):
        bytes_.give(0, bytes_.touch(WRITE, low, low + 8))
    bytes_.give(0, bytes_.touch(WRITE))
    bytes_.give(0, bytes_.touch(READ, 8, 16))
    monkeypatch.setattr(Ranges, "within", None)
    touches = [bytes_.touch(READ, 4, 60), bytes_.touch(WRITE, 12, 20)]
    assert hazards.conflicts(touches, bytes_.stream(0)) == ([], {}, 0)


def spoil(bytes_: Bytes, touch: Touch) -> None:
    """The driver refuses a command."""
    bytes_.device.fail_call = bytes_.device.calls.total() + 1
    with pytest.raises(LaunchError, match="injected"):
        bytes_.give(0, touch)


def test_what_a_command_should_have_written_is_spoilt_and_no_byte_beside() -> None:
    bytes_ = Bytes()
    bytes_.stream(0), bytes_.stream(1)
    spoil(bytes_, bytes_.strided(WRITE, 0, 4, 16))
    bytes_.give(1, bytes_.strided(READ, 1, 2, 32))
    with pytest.raises(LaunchError, match="kernel k failed"):
        bytes_.give(1, bytes_.touch(READ, 4, 5))
    bytes_.give(1, bytes_.strided(WRITE, 0, 4, 16))
    bytes_.give(1, bytes_.touch(WRITE, 0, 32))
    bytes_.give(1, bytes_.touch(READ, 0, 32))


def test_writing_over_it_makes_memory_good_again() -> None:
    bytes_ = Bytes()
    bytes_.stream(0)
    spoil(bytes_, bytes_.touch(WRITE, 0, 32))
    bytes_.give(1, bytes_.touch(WRITE, 0, 16))
    bytes_.give(1, bytes_.touch(READ, 0, 16))
    with pytest.raises(LaunchError):
        bytes_.give(1, bytes_.touch(READ, 15, 17))


def test_failures_one_after_another_do_not_pile_up() -> None:
    bytes_ = Bytes()
    bytes_.stream(0)
    for _ in range(200):
        spoil(bytes_, bytes_.touch(WRITE))
    assert len(bytes_.ranges.cells[0].writes) == 1


def test_touches_say_what_they_are() -> None:
    bytes_ = Bytes()
    name = f"{id(bytes_.ranges.buffer):x}"
    assert str(bytes_.touch(READ, 3, 9)) == f"reads bytes 3…9 of buffer {name}"
    assert str(bytes_.strided(READ | WRITE, 0, 2, 4)) == f"reads and writes bytes 0…7 (with gaps) of buffer {name}"
