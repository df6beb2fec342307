"""The checker finds planted races, all of them, and nothing else."""

from __future__ import annotations

import re
import threading
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.layout import Layout
from ocl_runtime.execute.driver import Driver
from ocl_runtime.execute.streams.hazards import Ranges, Touch
from ocl_runtime.observe.commands import Access, Ended, Entry, Logged, Recording
from ocl_runtime.observe.order import Order, violations
from tests.support.simulated import Kernel, Simulated

BOTH = READ | WRITE


class Log(list[Entry]):
    """A log made by hand."""

    def give(self, queue: int, *accesses: Access, waits: tuple[Logged, ...] = (), gate: bool = False) -> Logged:
        made = Logged(len(self), "kernel", queue, gate, waits, accesses)
        self.append(made)
        return made

    def ended(self, *commands: Logged, well: bool = True) -> None:
        self.append(Ended(commands, well))

    def races(self) -> list[tuple[Logged, Logged]]:
        return [(one.first, one.second) for one in violations(self)]


def reads(low: int = 0, high: int = 64, buffer: int = 0, footprint: Layout | None = None) -> Access:
    return Access(buffer, low, high, READ, footprint)


def writes(low: int = 0, high: int = 64, buffer: int = 0, footprint: Layout | None = None) -> Access:
    return Access(buffer, low, high, WRITE, footprint)


def every(step: int, offset: int, count: int = 8) -> Layout:
    """Single bytes, `step` apart."""
    return Layout((count,), (step,), offset)


# ---------------------------------------------------------------------- what a race is


@pytest.mark.parametrize(
    ("before", "after"),
    [(writes(), reads()), (reads(), writes()), (writes(), writes()), (reads(), Access(0, 0, 64, BOTH, None))],
    ids=["read after write", "write after read", "write after write", "both after read"],
)
def test_conflicting_accesses_of_two_queues_without_a_wait_are_a_race(before: Access, after: Access) -> None:
    log = Log()
    one, other = log.give(0, before), log.give(1, after)
    assert log.races() == [(one, other)]
    assert not violations([one, Logged(1, "kernel", 1, False, (one,), (after,))])
    assert not violations([one, Logged(1, "kernel", 0, False, (), (after,))])


def test_two_reads_are_no_race() -> None:
    log = Log()
    log.give(0, reads())
    log.give(1, reads())
    assert not log.races()


def test_accesses_to_other_bytes_or_buffers_are_no_race() -> None:
    log = Log()
    log.give(0, writes(0, 64))
    log.give(1, writes(64, 128))
    log.give(2, writes(0, 64, buffer=1))
    assert not log.races()
    log.give(3, writes(63, 65))
    assert len(log.races()) == 2


def test_footprints_are_compared_exactly() -> None:
    log = Log()
    even = log.give(0, writes(0, 15, footprint=every(2, 0)))
    log.give(1, writes(1, 16, footprint=every(2, 1)))
    assert not log.races()
    third = log.give(2, reads(0, 13, footprint=every(3, 0, 5)), waits=())
    assert {first for first, second in log.races()} == {even, log[1]}
    assert {second for first, second in log.races()} == {third}


def test_a_footprint_and_a_range_share_the_bytes_that_both_have() -> None:
    log = Log()
    log.give(0, writes(0, 57, footprint=every(8, 0)))
    log.give(1, writes(1, 8))
    assert not log.races()
    log.give(2, reads(8, 9))
    assert len(log.races()) == 1


def test_an_older_command_counts_where_the_newest_of_its_queue_shares_no_byte() -> None:
    log = Log()
    older = log.give(0, writes(0, 15, footprint=every(2, 0)))
    log.give(0, writes(1, 16, footprint=every(2, 1)))
    reader = log.give(1, reads(0, 1))
    assert log.races() == [(older, reader)]


# ---------------------------------------------------------------------- what orders


def test_a_wait_for_a_later_command_of_the_queue_orders_and_one_for_an_earlier_does_not() -> None:
    log = Log()
    early, writer, late = log.give(0, reads(buffer=1)), log.give(0, writes()), log.give(0, reads(buffer=1))
    log.give(1, reads(), waits=(late,))
    assert not log.races()
    reader = log.give(2, reads(), waits=(early,))
    assert log.races() == [(writer, reader)]


def test_order_goes_through_a_third_queue() -> None:
    log = Log()
    writer = log.give(0, writes())
    middle = log.give(1, reads(buffer=1), waits=(writer,))
    log.give(1, reads(buffer=2))
    log.give(2, writes(), waits=(log[-1],))  # type: ignore[arg-type]
    assert not log.races()
    assert [wait for _, wait in Order(log).waits()] == [writer, log[2]]
    assert not Order(log).redundant()
    found = Order(log).first_without(middle, writer)
    assert found is not None
    assert (found.first, found.second) == (writer, log[3])


def test_what_the_host_knew_to_have_ended_comes_before_what_it_gave_later_and_no_sooner() -> None:
    log = Log()
    first = log.give(0, writes(buffer=1))
    writer = log.give(1, writes(), waits=(first,))
    too_soon = log.give(2, reads())
    log.ended(writer)
    log.give(3, reads(), reads(buffer=1))
    log.give(0, reads())
    assert log.races() == [(writer, too_soon)]


def test_a_failed_command_has_ended_but_says_nothing_of_others() -> None:
    log = Log()
    slow = log.give(0, writes(buffer=1))
    failed = log.give(1, writes(), reads(buffer=1), waits=(slow,))
    log.ended(failed, well=False)
    after = log.give(2, writes(), writes(buffer=1))
    assert log.races() == [(slow, after)]


def test_a_command_that_touches_nothing_hands_order_on() -> None:
    log = Log()
    writer = log.give(0, writes())
    log.give(1, waits=(writer,))
    log.give(1, reads())
    log.give(2, reads(), waits=(log[1],))  # type: ignore[arg-type]
    assert not log.races()


def test_gates_follow_each_other_and_nothing_else() -> None:
    log = Log()
    one = log.give(0, writes(), gate=True)
    log.give(0)  # a piece
    log.give(0, writes(), gate=True)
    assert not log.races()
    plain = log.give(0, reads())
    assert [second for _, second in log.races()] == [plain]
    log.ended(log[1])  # type: ignore[arg-type]
    log.give(1, reads(), waits=(one,))
    assert len(log.races()) == 2, "that a piece has ended says nothing of gates, and the second gate was not waited for"


# ---------------------------------------------------------------------- deletion


def test_every_needed_wait_is_missed_and_a_redundant_one_is_told() -> None:
    log = Log()
    a, b = log.give(0, writes(0, 8)), log.give(1, writes(8, 16))
    c = log.give(2, reads(0, 16), waits=(a, b))
    d = log.give(0, writes(8, 16), waits=(c, b))
    order = Order(log)
    assert not list(order.violations())
    assert order.redundant() == [(d, b)]
    assert [(one.first, one.second) for one in violations(log, (c, a))] == [(a, c)]
    assert [(one.first, one.second) for one in violations(log, (d, c))] == [(c, d)]
    assert not violations(log, (d, b))


def test_a_wait_that_only_the_host_made_needless_is_redundant() -> None:
    log = Log()
    writer = log.give(0, writes())
    log.ended(writer)
    reader = log.give(1, reads(), waits=(writer,))
    assert Order(log).redundant() == [(reader, writer)]


def test_without_a_wait_the_host_learns_less() -> None:
    log = Log()
    writer = log.give(0, writes())
    between = log.give(1, reads(buffer=1), waits=(writer,))
    log.ended(between)
    reader = log.give(2, reads())
    assert not log.races()
    assert [(one.first, one.second) for one in violations(log, (between, writer))] == [(writer, reader)]


def test_a_violation_names_both_commands_the_bytes_and_what_is_missing() -> None:
    log = Log()
    log.give(0, writes(0, 64, buffer=3))
    log.give(1, reads(32, 96, buffer=3))
    assert str(violations(log)[0]) == (
        "nothing orders two commands that share bytes 32…64 of buffer 3:\n"
        "  0 on queue 0: kernel writes bytes 0…64 of buffer 3\n"
        "  1 on queue 1: kernel reads bytes 32…96 of buffer 3\n"
        "  the second comes after 0 commands of queue 0, the first is its command 1: missing is a wait for that or a "
        "later one"
    )


# ---------------------------------------------------------------------- against the definition


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Up to fourteen commands on three queues, with waits and footprints at random."""
    log = Log()
    for _ in range(draw(st.integers(2, 14))):
        commands = [entry for entry in log if isinstance(entry, Logged)]
        if commands and draw(st.integers(0, 5)) == 0:
            log.ended(draw(st.sampled_from(commands)))
            continue
        layout = draw(st.builds(every, st.integers(1, 3), st.integers(0, 8), st.integers(1, 4)))
        low, high = layout.range()
        gaps = layout if draw(st.booleans()) else None
        access = Access(draw(st.integers(0, 1)), low, high, draw(st.integers(1, 3)), gaps)
        waits = draw(st.lists(st.sampled_from(commands), max_size=2, unique=True)) if commands else []
        log.give(draw(st.integers(0, 2)), access, waits=tuple(waits))
    return log


def naive(log: Log, without: tuple[Logged, Logged] | None = None) -> set[Logged]:
    """The commands with an earlier one that they conflict with and do not come after, by the definitions."""
    before: dict[Logged, set[Logged]] = {}
    known: set[Logged] = set()
    newest: dict[int, Logged] = {}
    wrong: set[Logged] = set()
    for entry in log:
        if isinstance(entry, Ended):
            known |= {*entry.commands, *(one for command in entry.commands for one in before[command])}
            continue
        direct = {wait for wait in entry.waits if (entry, wait) != without}
        direct |= {newest[entry.queue]} if entry.queue in newest else set()
        before[entry] = known | direct | {one for command in direct for one in before[command]}
        newest[entry.queue] = entry
    for one, other in combinations(before, 2):
        (a,), (b,) = one.accesses, other.accesses
        if a.buffer == b.buffer and (a.mode | b.mode) & WRITE and touched(a) & touched(b) and one not in before[other]:
            wrong.add(other)
    return wrong


def touched(access: Access) -> set[int]:
    if access.footprint is None:
        return set(range(access.low, access.high))
    layout = access.footprint
    return {layout.offset + at * layout.strides[0] for at in range(layout.shape[0])}


@given(logs())
def test_the_checker_agrees_with_the_definition_also_without_any_one_wait(log: Log) -> None:
    assert {one.second for one in violations(log)} == naive(log)
    for wait in Order(log).waits():
        found = violations(log, wait)
        later = {one for one in naive(log, wait) if one.number >= wait[0].number}
        assert {one.second for one in found} <= later
        assert bool(found) == bool(later)


# ---------------------------------------------------------------------- the recording


def test_a_recording_has_the_queue_the_waits_and_the_bytes_of_every_command() -> None:
    recording = Recording(Simulated(eager=1.0))
    queues, buffer = [recording.queue(), recording.queue()], recording.buffer(64)
    ranges, data = Ranges(buffer, 0, 64), np.zeros(8, np.uint8)
    gaps = every(2, 0, 4)
    one = recording.write(queues[0], buffer, 8, data, None, [Touch(ranges, 8, 16, WRITE)])
    other = recording.launch(
        queues[1], Kernel(lambda data: None, "k"), (buffer,), ((1,), (1,)), [one], [Touch(ranges, 0, 7, READ, gaps)]
    )
    recording.fill(queues[0], buffer, 0, 8, np.uint32(1), [other], [Touch(ranges, 0, 8, WRITE)])
    gate = recording.gate(queues[0], [one], [Touch(ranges, 0, 64, READ)])
    recording.flush(queues[0])
    recording.open(gate, ok=True)
    recording.wait(gate)
    recording.finish(queues[1])
    assert [str(entry) for entry in recording.log] == [
        "0 on queue 0: write writes bytes 8…16 of buffer 0",
        "1 on queue 1 after 0: k reads bytes 0…7 with gaps of buffer 0",
        "2 on queue 0 after 1: fill writes bytes 0…8 of buffer 0",
        "3 on queue 0 after 0: gate reads bytes 0…64 of buffer 0",
        "the host knows that 3 have completed",
        "the host knows that 1 have completed",
    ]


def test_a_transfer_that_tells_too_few_bytes_is_recorded_with_what_it_moves() -> None:
    recording = Recording(Simulated())
    queue, buffer = recording.queue(), recording.buffer(64)
    data = np.zeros(32, np.uint8)
    recording.read(queue, buffer, 16, data, None, [Touch(Ranges(buffer, 0, 64), 16, 40, READ)])
    recording.write(queue, buffer, 0, data, None, [Touch(Ranges(buffer, 0, 64), 0, 32, READ)])
    told, moved = recording.commands[0].accesses
    assert (told.high, moved) == (40, Access(0, 16, 48, READ, None))
    assert recording.commands[1].accesses[1] == Access(0, 0, 32, WRITE, None)


def test_a_status_counts_once_and_only_when_the_command_has_ended() -> None:
    device = Simulated()
    recording = Recording(device)
    queue, buffer = recording.queue(), recording.buffer(64)
    event = recording.fill(queue, buffer, 0, 64, np.uint8(1), None, [])
    assert recording.status(event) > 0
    assert len(recording.log) == 1
    recording.wait(event)
    recording.status(event)
    assert [type(entry) for entry in recording.log] == [Logged, Ended]


def test_a_recording_keeps_events_so_that_none_is_taken_for_another() -> None:
    device = Simulated(eager=1.0)
    recording = Recording(device)
    queue, buffer = recording.queue(), recording.buffer(64)
    for _ in range(100):
        recording.flush(queue)
        recording.fill(queue, buffer, 0, 64, np.uint8(1), None, [])
    assert device.live_events == 100
    assert [command.number for command in recording.commands] == list(range(100))


def test_threads_are_recorded_in_the_order_in_which_the_driver_was_given_their_commands() -> None:
    device = Simulated()
    recording = Recording(device)
    queue, buffer = recording.queue(), recording.buffer(64)

    def give() -> None:
        for _ in range(50):
            recording.fill(queue, buffer, 0, 64, np.uint8(1), None, [])

    threads = [threading.Thread(target=give) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [recording.logged(command).number for command in queue.pending] == list(range(400))


def test_a_recording_is_a_driver_with_every_method() -> None:
    methods = {name for name, value in vars(Driver).items() if callable(value) and not name.startswith("_")}
    assert methods <= set(vars(Recording))


def test_the_checker_does_not_look_at_how_the_waits_were_found(repository) -> None:
    text = (repository / "ocl_runtime/observe/order.py").read_text()
    text += (repository / "ocl_runtime/observe/commands.py").read_text()
    assert set(re.findall(r"from ocl_runtime\.execute\.([\w.]+) import", text)) == {"driver"}
