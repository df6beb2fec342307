"""What streams are to know of a bound program: which accesses are looked up and recorded, and with which step.

Of what the steps touch outside of the program only a part has to be looked up, and only a part recorded: what an
earlier step has written is the program's own by then, and a later access stands for an earlier one of the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from ocl_ir.host.conflicts import Order
from ocl_ir.host.schedule import Node
from ocl_ir.kernel.accesses import READ, WRITE
from ocl_runtime.execute.replay.steps import ARENA, Access
from ocl_runtime.execute.streams.program import Batch

_MOST_TRACKED = 16
"""Different accesses of a program to a buffer of which the streams know each by itself."""


class Tracking:
    """Of steps that touch this: `accesses` are what streams look up and record, by number, and `batches` the commands
    that they know. `arena` is the bytes of all scratch memory; who is `watched` has each step as a command."""

    def __init__(
        self, nodes: Sequence[Node], touched: Sequence[Sequence[Access]], arena: int, *, watched: bool
    ) -> None:
        self._nodes = nodes
        self._arena = arena
        self._together = len({node.stream or 0 for node in nodes}) == 1
        self._numbers: dict[Access, int] = {}
        self.accesses: list[Access] = []
        self._spans = spans = _spans(nodes, touched)
        tracked = _merged(touched, spans)
        self.batches = self._batches(self._lookups(tracked), self._records(tracked), watched=watched)

    def _batches(
        self, lookups: Sequence[Sequence[int]], records: Sequence[Sequence[int]], *, watched: bool
    ) -> list[Batch]:
        """The steps as commands: one that leaves nothing to be known, and that no other one waits for, is none by
        itself, but a part of the one that comes next on its stream."""
        nodes = self._nodes
        awaited = {wait for node in nodes for wait in node.waits}
        batches: list[Batch] = []
        of_step: dict[int, int] = {}
        first = 0
        for number, node in enumerate(nodes):
            of_step[number] = len(batches)
            ends = watched or records[number] or number in awaited or number + 1 == len(nodes)
            after = None if ends else nodes[number + 1]
            if after is None or after.stream != node.stream or after.waits or lookups[number + 1]:
                waits = tuple(dict.fromkeys([of_step[wait] for wait in nodes[first].waits]))
                looked, recorded = tuple(lookups[first]), tuple(records[number])
                batches.append(Batch(node.stream or 0, waits, looked, recorded, first, number))
                first = number + 1
        return batches

    def _lookups(self, tracked: Sequence[Sequence[Access]]) -> list[list[int]]:
        """For each step the accesses to what was there before the program; on one stream, the first step has all."""
        own: dict[int, list[tuple[int, int]]] = {}
        lookups: list[list[int]] = [[] for _ in tracked]
        known: set[tuple[int, Access]] = set()
        for number, accesses in enumerate(tracked):
            stream = self._nodes[number].stream or 0
            for touched in accesses:
                access = touched
                if touched.buffer == ARENA:  # what it held before is nothing to the program
                    access = Access(ARENA, WRITE, 0, self._arena, None)
                elif _inside(touched, own.get(touched.buffer, ())):
                    continue
                if (stream, access) not in known:
                    known.add((stream, access))
                    lookups[0 if self._together else number].append(self._number(access))
            for access in accesses:
                buffer = access.buffer
                if access.mode != WRITE or access.footprint is not None or _inside(access, own.get(buffer, ())):
                    continue
                if self._together or buffer not in self._spans or access != self._spans[buffer].access:
                    own.setdefault(buffer, []).append((access.low, access.high))
        return lookups

    def _records(self, tracked: Sequence[Sequence[Access]]) -> list[list[int]]:
        """For each step the accesses that no later step stands for."""
        records: list[list[int]] = [[] for _ in tracked]
        written: dict[int, list[tuple[int, int]]] = {}
        read: dict[tuple[int, int], list[tuple[int, int]]] = {}
        same: set[tuple[int, Access]] = set()
        ended: set[int] = set()
        for number in range(len(tracked) - 1, -1, -1):
            stream = self._nodes[number].stream or 0
            for access in tracked[number]:
                buffer = access.buffer
                if buffer == ARENA:
                    if stream not in ended:
                        ended.add(stream)
                        # Each stream's last use counts; who has these bytes next writes them first.
                        mode = WRITE if self._together else READ
                        records[number].append(self._number(Access(ARENA, mode, 0, self._arena, None)))
                    continue
                if _inside(access, written.get(buffer, ())) or (stream, access) in same:
                    continue
                if access.mode == READ and _inside(access, read.get((stream, buffer), ())):
                    continue
                same.add((stream, access))
                records[number].append(self._number(access))
                if access.footprint is None:
                    ranges = (
                        read.setdefault((stream, buffer), []) if access.mode == READ else written.setdefault(buffer, [])
                    )
                    ranges.append((access.low, access.high))
        return records

    def _number(self, access: Access) -> int:
        number = self._numbers.get(access)
        if number is None:
            number = self._numbers[access] = len(self.accesses)
            self.accesses.append(access)
        return number


class _Span(NamedTuple):
    """The access that stands for those of steps up to one to a buffer."""

    access: Access
    last: int


def _spans(nodes: Sequence[Node], touched: Sequence[Sequence[Access]]) -> dict[int, _Span]:
    """By buffer, where there are very many accesses: one of all that they span, up to the last step that stands for
    all before it. On one stream, that is the last of all."""
    of_buffer: dict[int, set[Access]] = {}
    for access in chain.from_iterable(touched):
        of_buffer.setdefault(access.buffer, set()).add(access)
    many = {buffer for buffer, accesses in of_buffer.items() if len(accesses) > _MOST_TRACKED and buffer != ARENA}
    if not many:
        return {}
    spans: dict[int, _Span] = {}
    for buffer, last in _joints(nodes, touched, many).items():
        accesses = {access for access in chain.from_iterable(touched[: last + 1]) if access.buffer == buffer}
        if len(accesses) > _MOST_TRACKED:
            spans[buffer] = _Span(_span(buffer, accesses), last)
    return spans


def _joints(nodes: Sequence[Node], touched: Sequence[Sequence[Access]], buffers: Iterable[int]) -> dict[int, int]:
    """For each buffer the last step that comes after all steps before it that touch the buffer, or before which nobody
    has written it: reads hide nothing."""
    order, joints, written = Order(), dict[int, int](), set[int]()
    newest: dict[int, dict[int, int]] = {buffer: {} for buffer in buffers}
    """The last step of each stream, by buffer."""
    for number, (node, accesses) in enumerate(zip(nodes, touched, strict=True)):
        stream = node.stream or 0
        order.add(stream, node.waits)
        written.update([access.buffer for access in accesses if access.mode & WRITE])
        for buffer in {access.buffer for access in accesses} & newest.keys():
            others = [before for other, before in newest[buffer].items() if other != stream]
            if buffer not in written or all(order.before(before, number) for before in others):
                joints[buffer] = number
            newest[buffer][stream] = number
    return joints


def _merged(touched: Sequence[Sequence[Access]], spans: Mapping[int, _Span]) -> Sequence[Sequence[Access]]:
    """What steps touch, with spans in place of what they stand for."""
    if not spans:
        return touched
    return [
        [
            span.access if (span := spans.get(access.buffer)) is not None and number <= span.last else access
            for access in accesses
        ]
        for number, accesses in enumerate(touched)
    ]


def _span(buffer: int, accesses: Iterable[Access]) -> Access:
    """One access to all bytes from the first to the last that some touch. It writes only if each of the bytes is
    written: of others, who reads them next has to hear who wrote them before."""
    ordered = sorted(accesses, key=attrgetter("low"))
    modes, low, high = {access.mode for access in ordered}, ordered[0].low, ordered[0].low
    written = modes == {WRITE}
    for access in ordered:
        written = written and access.footprint is None and access.low <= high
        high = max(high, access.high)
    return Access(buffer, READ if modes == {READ} else WRITE if written else READ | WRITE, low, high, None)


def _inside(access: Access, ranges: Iterable[tuple[int, int]]) -> bool:
    """Whether all that an access touches lies in one of some ranges."""
    return any(low <= access.low and access.high <= high for low, high in ranges)
