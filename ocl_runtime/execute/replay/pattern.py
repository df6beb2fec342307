"""What a straight program on one stream does for all sizes at which its accesses are alike: only numbers differ.

Which accesses streams look up and record follows from which accesses of a buffer are equal, which lie inside of others,
and which have gaps. So where all of this is as it was for earlier sizes, it need not be found out again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ocl_ir.host.schedule import Buffer
from ocl_ir.host.unbound import Memory, Row, Unbound, UnboundNode
from ocl_ir.layout import Layout
from ocl_runtime.execute.replay.steps import ARENA, Access, Dispatch, Transfer
from ocl_runtime.execute.streams.footprints import footprint_of

_MOST_ALIKE = 64
"""Ways in which the accesses of a program lie that are kept."""
_access: Callable[[tuple[Any, ...]], Access] = partial(tuple.__new__, Access)
_dispatch: Callable[[tuple[Any, ...]], Dispatch] = partial(tuple.__new__, Dispatch)
"""Made like this, a named tuple takes a third of the time."""


class Numbers(NamedTuple):
    """What sizes decide: as `Bound` has it, with all `accesses` of memory from outside; `key` says how these lie."""

    made: list[Buffer]
    offsets: Mapping[int, int]
    arena: int
    commands: list[Dispatch]
    accesses: list[Access]
    key: Hashable


_numbers: Callable[[tuple[Any, ...]], Numbers] = partial(tuple.__new__, Numbers)


class Alike(NamedTuple):
    """What sizes have in common whose accesses lie alike: those that streams look up and record, by number (`ARENA` is
    all of the arena), and `shared` attributes."""

    accesses: list[int]
    shared: Mapping[str, Any]


class _Launched(NamedTuple):
    """A launch: `rows` are the arguments that are sizes, as (place, row), and `pointers` those that are memory, as
    (place, buffer, bytes of an element, layout); None where sizes do not change them."""

    dispatch: Dispatch
    sizes: tuple[int, ...]
    rows: list[tuple[int, int]]
    pointers: list[tuple[int, int, int, int]] | None


class Pattern:
    """Of formulas, with the launches for some sizes at which nothing is left out. `alike` is what was learnt so far."""

    def __init__(self, formulas: Unbound, commands: Sequence[Dispatch | Transfer]) -> None:
        self.alike: dict[Hashable, Alike | None] = {}
        self._launches = [
            _launched(command, node, formulas)
            for command, node in zip(commands, formulas.nodes, strict=True)
            if isinstance(command, Dispatch)
        ]
        self._made = [(buffer, row) for buffer, row in formulas.buffers if buffer.kind == "result"]
        touched = dict.fromkeys(access for node in formulas.nodes for access in node.accesses)
        scratch = formulas.schedule.lives
        self._accesses = [access for access in touched if access[0] not in scratch]
        self._of_scratch = sorted({layout for buffer, layout, _, _ in touched if buffer in scratch})
        self._gaps = [
            number for number, (_, layout, *_) in enumerate(self._accesses) if formulas.layouts[layout].size is None
        ]
        of_buffer: dict[int, dict[tuple[int, int], int]] = {}
        for number, (buffer, layout, itemsize, _) in enumerate(self._accesses):
            of_buffer.setdefault(buffer, {}).setdefault((layout, itemsize), number)
        self._compared = [[*numbers.values()] for numbers in of_buffer.values() if len(numbers) > 1]

    def numbers(self, formulas: Unbound, rows: Sequence[int]) -> Numbers | None:
        """What the sizes decide that the table was filled in for; None where something is left out, since it has no
        elements."""
        spans: list[tuple[int, int, Layout | None]] = []
        for known in formulas.layouts:
            _, _, offset, size = known
            if size is None:
                parted = known.at(rows)
                spans.append((*parted.range(), parted))
            else:
                spans.append((rows[offset], rows[offset] + rows[size], None))
        accesses = []
        for buffer, layout, itemsize, mode in self._accesses:
            low, high, gaps = spans[layout]
            if low >= high:
                return None
            if gaps is None:
                accesses.append(_access((buffer, mode, low * itemsize, high * itemsize, None)))
            else:
                accesses.append(_access((buffer, mode, *footprint_of(gaps, itemsize, 0))))
        for layout in self._of_scratch:
            if spans[layout][0] >= spans[layout][1]:
                return None
        offsets, arena = formulas.packed(rows)
        commands = []
        for (executable, (_, groups), constant, pointers, numbers, buffers), over, filled, memory in self._launches:
            index_space = tuple([rows[row] for row in over])
            if 0 in index_space:
                return None
            args = constant.copy()
            for number, row in filled:
                args[number] = rows[row]
            moved = pointers
            if memory is not None:
                moved = tuple(
                    [
                        (number, ARENA, itemsize, offsets[buffer] // itemsize + spans[layout][0])
                        if buffer in offsets
                        else (number, buffer, itemsize, spans[layout][0])
                        for number, buffer, itemsize, layout in memory
                    ]
                )
            padded = executable.padded(index_space, groups)
            commands.append(_dispatch((executable, padded, args, moved, numbers, buffers)))
        made = [Buffer(buffer.id, rows[row], buffer.kind, buffer.name) for buffer, row in self._made]
        return _numbers((made, offsets, arena, commands, accesses, self._key(accesses)))

    def _key(self, accesses: Sequence[Access]) -> Hashable:
        """How accesses lie: which of them have the same gaps, and the order of the ends of those of each buffer."""
        if not (self._gaps or self._compared):
            return ()
        footprints = [accesses[number].footprint for number in self._gaps]
        key: list[Hashable] = [footprint is None for footprint in footprints]
        if len(footprints) > 1:
            gaps: dict[Any, int] = {}
            key += [gaps.setdefault(footprint and footprint.formulas, len(gaps)) for footprint in footprints]
        for numbers in self._compared:
            ends = [end for number in numbers for end in accesses[number][2:4]]
            ordered = sorted(ends)
            key.append(tuple([bisect_left(ordered, end) for end in ends]))
        return tuple(key)

    def learn(self, numbers: Numbers, known: Sequence[Access], shared: Mapping[str, Any]) -> None:
        """Takes note of what a schedule for these sizes has become: of the accesses that are known to streams, and of
        attributes that all sizes share whose accesses lie alike."""
        if len(self.alike) == _MOST_ALIKE:
            return
        of_access = {access: number for number, access in reversed([*enumerate(numbers.accesses)])}
        tracked = [ARENA if access.buffer == ARENA else of_access.get(access) for access in known]
        # What spans all accesses of a buffer is none of them.
        own = [number for number in tracked if number is not None]
        self.alike[numbers.key] = Alike(own, shared) if len(own) == len(tracked) else None


def _launched(dispatch: Dispatch, node: UnboundNode, formulas: Unbound) -> _Launched:
    rows: list[tuple[int, int]] = []
    pointers: list[tuple[int, int, int, int]] = []
    position, is_fixed = 0, True
    for arg in node.args:
        if type(arg) is Memory:
            layout = formulas.layouts[arg.layout]
            is_fixed &= layout.size is not None and formulas.table.is_known(layout.offset)
            is_fixed &= arg.buffer not in formulas.schedule.lives
            pointers.append((position, arg.buffer, arg.dtype.size, arg.layout))
            position += 1  # for where it begins
        elif type(arg) is Row:
            rows.append((position, arg.number))
        position += 1
    return _Launched(dispatch, node.sizes, rows, None if is_fixed else pointers)
