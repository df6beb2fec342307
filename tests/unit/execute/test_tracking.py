"""What streams know of programs: very many accesses to a buffer are one, where that orders enough."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.layout import Layout
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.execute.replay import tracking
from ocl_runtime.execute.replay.steps import Access
from ocl_runtime.execute.replay.tracking import Tracking
from ocl_runtime.execute.streams.footprints import footprint_of
from ocl_runtime.execute.streams.hazards import Touch
from ocl_runtime.execute.streams.program import submit
from tests.support.steps import Steps
from tests.support.world import World

Strided = tuple[int, int, int, int]
"""The mode of an access, its first byte, the step from one byte to the next, and how many there are."""
Step = tuple[int, Sequence[Strided]]
"""A stream, and what is touched."""


def access(strided: Strided) -> Access:
    mode, offset, step, count = strided
    return Access(0, mode, *footprint_of(Layout((count,), (step,), offset), 1, 0))


def conflict(one: Strided, other: Strided) -> bool:
    (mode, *first), (other_mode, *second) = one, other
    bytes_, others = (set(range(low, low + step * count, step)) for low, step, count in (first, second))
    return bool((mode | other_mode) & WRITE and bytes_ & others)


def nodes(steps: Sequence[Step]) -> list[Any]:
    """With the waits for all conflicting ones on other streams."""
    return [
        SimpleNamespace(
            stream=stream,
            waits=tuple(
                number
                for number, (other, before) in enumerate(steps[:index])
                if other != stream and any(conflict(one, two) for one in touches for two in before)
            ),
        )
        for index, (stream, touches) in enumerate(steps)
    ]


def tracked(steps: Sequence[Step], *, watched: bool = False) -> Tracking:
    return Tracking(nodes(steps), [[*map(access, touches)] for _, touches in steps], 0, watched=watched)


def columns(steps: int, streams: int) -> list[Step]:
    return [(number % streams, [(WRITE, number, steps, 8)]) for number in range(steps)]


# ---------------------------------------------------------------------- few accesses


@pytest.mark.parametrize("count", [40, 80])
def test_what_a_last_step_comes_after_is_one_access(count: int) -> None:
    """On several streams, as on one; then what comes behind it is known by itself."""
    every, behind = (READ | WRITE, 0, 1, 8 * count), (WRITE, 8 * count + 5, 7, 3)
    steps = [*columns(count, 3), (1, [every]), (2, [behind])]
    found = tracked(steps)
    assert found.accesses == [Access(0, READ | WRITE, 0, 8 * count, None), access(behind)]
    records = [record for batch in found.batches for record in batch.records]
    assert records == [0, 1]
    assert sum(len(batch.lookups) for batch in found.batches) == 3 + 1, "one for each stream"


def test_reads_are_one_access_of_each_stream() -> None:
    steps: list[Step] = [(stream, [(READ, low, 40, 8)]) for stream, [(_, low, _, _)] in columns(40, 3)]
    found = tracked(steps)
    assert len(found.accesses) == 1
    assert [batch.records for batch in found.batches if batch.records] == [(0,)] * 3


def test_writes_that_no_step_comes_after_are_known_by_themselves() -> None:
    found = tracked(columns(40, 2))
    assert len(found.accesses) == 40
    assert all(known[-1] is not None for known in found.accesses)


# ---------------------------------------------------------------------- enough order

STRIDED = st.tuples(st.sampled_from((READ, READ, WRITE, READ | WRITE)), st.integers(0, 20), st.integers(1, 4),
                    st.integers(1, 11))  # fmt: skip
STEPS = st.lists(st.tuples(st.integers(0, 2), st.lists(STRIDED, min_size=1, max_size=2)), min_size=2, max_size=16)
COMMANDS = st.lists(st.tuples(st.integers(0, 3), STRIDED), max_size=6)


PARTS: list[Step] = [
    (0, [(WRITE, 0, 1, 4)]),
    (1, [(WRITE, 4, 1, 4)]),
    (0, [(WRITE, 8, 1, 4)]),
    (0, [(WRITE, 0, 1, 12)]),
]
"""Together they write every byte, and each of them not."""


LATE_WRITE: list[Step] = [
    (0, [(READ, 0, 1, 4)]),
    (1, [(READ, 8, 1, 4)]),
    (0, [(WRITE, 0, 1, 4)]),
    (0, [(WRITE, 2, 1, 1)]),
]
"""Another stream reads what the first write does not come after."""
AT_THE_END: list[Step] = [(0, [(WRITE, low, 1, count)]) for low, count in ((0, 4), (4, 4), (2, 4), (20, 8))]
"""The last step touches what no other one does."""
LONG_FIRST: list[Step] = [(0, [(WRITE, low, 1, count)]) for low, count in ((0, 30), (2, 4), (8, 4), (4, 2))]
"""The first range goes further than the last one."""


@example(before=[(3, (READ, 4, 1, 4))], steps=PARTS, between=[], after=[], watched=False)
@example(before=[], steps=LATE_WRITE, between=[], after=[(2, (WRITE, 8, 1, 4))], watched=False)
@example(before=[], steps=AT_THE_END, between=[], after=[(2, (WRITE, 24, 1, 4))], watched=False)
@example(before=[], steps=LONG_FIRST, between=[], after=[(2, (WRITE, 24, 1, 4))], watched=False)
@given(before=COMMANDS, steps=STEPS, between=COMMANDS, after=COMMANDS, watched=st.booleans())
def test_everything_is_ordered(
    before: list[tuple[int, Strided]],
    steps: list[Step],
    between: list[tuple[int, Strided]],
    after: list[tuple[int, Strided]],
    watched: bool,
) -> None:
    """A program that is given twice, among commands of others, where three accesses are very many already."""
    world = World(4)
    x = world.allocate(64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracking, "_MOST_TRACKED", 2)
        known = tracked(steps, watched=watched)

    def program() -> None:
        touched = [[touch(x, access(strided)) for strided in touches] for _, touches in steps]
        submit(world.streams, Steps(world, touched, [touch(x, Access(*one)) for one in known.accesses], known.batches))

    for number, commands in enumerate((before, between, after)):
        for stream, strided in commands:
            world.give(stream, touch(x, access(strided)))
        if number < 2:
            program()
    assert not world.violations()


@pytest.mark.parametrize("last", [(WRITE, 12, 1, 4), (WRITE, 4, 3, 8)], ids=["a hole", "gaps"])
def test_what_a_program_does_not_write_whole_stays_spoiled(last: Strided) -> None:
    """A span is a write only of bytes that are all written: of others, who wrote them before has to be heard of."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracking, "_MOST_TRACKED", 2)
        found = tracked([(0, [(WRITE, 0, 1, 4)]), (0, [(WRITE, 4, 1, 4)]), (0, [last])])
    (span,) = found.accesses
    assert span.mode == READ | WRITE


def touch(storage: Storage, one: Access) -> Touch:
    block, gaps = storage.block, one.footprint
    if gaps is not None:
        gaps = Layout(gaps.shape, gaps.strides, gaps.offset + block.low)
    return Touch(block.ranges, block.low + one.low, block.low + one.high, one.mode, gaps)
