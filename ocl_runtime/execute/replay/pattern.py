"""What a straight program on one stream does for all sizes at which its accesses are alike: only numbers differ.

Which accesses streams look up and record follows from which accesses of a buffer are equal, which lie inside of others,
and which have gaps. So where all of this is as it was for earlier sizes, it need not be found out again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from ocl_ir.host.unbound import Memory, Row, Unbound, UnboundNode
from ocl_ir.kernel.accesses import WRITE
from ocl_runtime.execute.launch import MOST_ITEMS
from ocl_runtime.execute.replay.steps import ARENA, Access, Dispatch, Transfer
from ocl_runtime.execute.streams.footprints import footprint_of

_MOST_ALIKE = 64
"""Ways in which the accesses of a program lie that are kept."""
_access: Callable[[tuple[Any, ...]], Access] = partial(tuple.__new__, Access)
_dispatch: Callable[[tuple[Any, ...]], Dispatch] = partial(tuple.__new__, Dispatch)
"""Made like this, a named tuple takes a third of the time."""


class Numbers(NamedTuple):
    """What sizes decide: as `Bound` has it, with all `accesses` of memory from outside; `key` says how these lie."""

    made: list[tuple[int, int]]
    offsets: Mapping[int, int]
    arena: int
    commands: list[Dispatch]
    accesses: list[Access]
    key: Hashable


class Joined(NamedTuple):
    """Accesses to a buffer, by number, that streams know as one of all that they span."""

    buffer: int
    mode: int
    numbers: list[int]


class Alike(NamedTuple):
    """What sizes have in common whose accesses lie alike: those that streams look up and record, by number (`ARENA` is
    all of the arena), whether these are no more than numbers of accesses, and `shared` attributes."""

    tracked: list[int | Joined]
    is_plain: bool
    shared: Mapping[str, Any]

    def accesses(self, numbers: Numbers) -> list[Access]:
        """What streams look up and record for the sizes of some numbers."""
        own = numbers.accesses
        if self.is_plain:
            return [*map(own.__getitem__, cast("list[int]", self.tracked))]
        found = []
        for number in self.tracked:
            if isinstance(number, Joined):
                joined = [own[one] for one in number.numbers]
                low, high = min([one.low for one in joined]), max([one.high for one in joined])
                found.append(Access(number.buffer, number.mode, low, high, None))
            elif number == ARENA:
                found.append(Access(ARENA, WRITE, 0, numbers.arena, None))
            else:
                found.append(own[number])
        return found


class _Span(NamedTuple):
    """Elements of memory: as many as the row `size` says from `offset` on; or those of a layout with gaps, by its
    number."""

    offset: int
    size: int
    parted: int | None


class _Launched(NamedTuple):
    """A launch: `sizes` are the rows of its index space, each with that of a group, `rows` the arguments that are
    sizes, as (place, row), and `pointers` those that are memory, as (place, buffer, bytes of an element, elements);
    None where sizes do not change them."""

    dispatch: Dispatch
    sizes: tuple[tuple[int, int], ...]
    rows: list[tuple[int, int]]
    pointers: list[tuple[int, int, int, _Span]] | None


class Pattern:
    """Of formulas, with the launches for some sizes at which nothing is left out. `alike` is what was learnt so far."""

    def __init__(self, formulas: Unbound, commands: Sequence[Dispatch | Transfer]) -> None:
        self.alike: dict[Hashable, Alike] = {}
        parted = [number for number, layout in enumerate(formulas.layouts) if layout.size is None]
        self._parted = [formulas.layouts[number] for number in parted]
        spans = [
            _Span(layout.offset, layout.size or 0, parted.index(number) if layout.size is None else None)
            for number, layout in enumerate(formulas.layouts)
        ]
        self._launches = [
            _launched(command, node, formulas, spans)
            for command, node in zip(commands, formulas.nodes, strict=True)
            if isinstance(command, Dispatch)
        ]
        self._made = [(buffer.id, row) for buffer, row in formulas.buffers if buffer.kind == "result"]
        touched = dict.fromkeys(access for node in formulas.nodes for access in node.accesses)
        scratch = formulas.schedule.lives
        self._accesses = [
            (buffer, mode, itemsize, *spans[layout])
            for buffer, layout, itemsize, mode in touched
            if buffer not in scratch
        ]
        of_scratch = {layout for buffer, layout, _, _ in touched if buffer in scratch}
        self._of_scratch = sorted({row for layout in of_scratch for row in formulas.layouts[layout].shape})
        self._gaps = [number for number, access in enumerate(self._accesses) if access[-1] is not None]
        of_buffer: dict[int, dict[tuple[int | None, ...], int]] = {}
        for number, (buffer, _, *elements) in enumerate(self._accesses):
            of_buffer.setdefault(buffer, {}).setdefault(tuple(elements), number)
        self._compared = [[*numbers.values()] for numbers in of_buffer.values() if len(numbers) > 1]

    def numbers(self, formulas: Unbound, rows: Sequence[int]) -> Numbers | None:
        """What the sizes decide that the table was filled in for; None where something is left out, since it has no
        elements, or cannot be launched."""
        laid = [layout.at(rows) for layout in self._parted]
        accesses = []
        for buffer, mode, itemsize, offset, size, parted in self._accesses:
            gaps = None
            if parted is None:
                low = rows[offset] * itemsize
                high = low + rows[size] * itemsize
            else:
                low, high, gaps = footprint_of(laid[parted], itemsize, 0)
            if low >= high:
                return None
            accesses.append(_access((buffer, mode, low, high, gaps)))
        if not all(map(rows.__getitem__, self._of_scratch)):
            return None
        offsets, arena = formulas.packed(rows)
        commands = []
        for (executable, (_, groups), constant, pointers, numbers, buffers), over, filled, memory in self._launches:
            index_space = []
            for row, group in over:
                size = rows[row]
                if not 0 < size < MOST_ITEMS:
                    return None
                index_space.append(-(-size // group) * group)
            args = constant.copy()
            for place, row in filled:
                args[place] = rows[row]
            moved = pointers
            if memory is not None:
                places = []
                for place, buffer, itemsize, (offset, _, parted) in memory:
                    first = rows[offset] if parted is None else laid[parted].range()[0]
                    if buffer in offsets:
                        places.append((place, ARENA, itemsize, offsets[buffer] // itemsize + first))
                    else:
                        places.append((place, buffer, itemsize, first))
                moved = tuple(places)
            commands.append(_dispatch((executable, (tuple(index_space), groups), args, moved, numbers, buffers)))
        made = [(buffer, rows[row]) for buffer, row in self._made]
        return Numbers(made, offsets, arena, commands, accesses, self._key(accesses))

    def _key(self, accesses: Sequence[Access]) -> Hashable:
        """How accesses lie: which of them have the same gaps, and the order of the ends of those of each buffer."""
        if not (self._gaps or self._compared):
            return ()
        footprints = [accesses[number].footprint for number in self._gaps]
        key: list[Hashable] = [footprint is None for footprint in footprints]
        if len(footprints) > 1:
            gaps: dict[Any, int] = {}
            told = [footprint and (footprint.shape, footprint.strides, footprint.offset) for footprint in footprints]
            key += [gaps.setdefault(one, len(gaps)) for one in told]
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
        tracked: list[int | Joined] = []
        for access in known:
            number = ARENA if access.buffer == ARENA else of_access.get(access)
            if number is None:
                joined = [other for other, one in enumerate(numbers.accesses) if one.buffer == access.buffer]
                tracked.append(Joined(access.buffer, access.mode, joined))
            else:
                tracked.append(number)
        is_plain = not any(isinstance(number, Joined) or number == ARENA for number in tracked)
        self.alike[numbers.key] = Alike(tracked, is_plain, shared)


def _launched(dispatch: Dispatch, node: UnboundNode, formulas: Unbound, spans: Sequence[_Span]) -> _Launched:
    rows: list[tuple[int, int]] = []
    pointers: list[tuple[int, int, int, _Span]] = []
    position, is_fixed = 0, True
    for arg in node.args:
        if type(arg) is Memory:
            span = spans[arg.layout]
            is_fixed &= span.parted is None and formulas.table.is_known(span.offset)
            is_fixed &= arg.buffer not in formulas.schedule.lives
            pointers.append((position, arg.buffer, arg.dtype.size, span))
            position += 1  # for where it begins
        elif type(arg) is Row:
            rows.append((position, arg.number))
        position += 1
    sizes = tuple(zip(node.sizes, dispatch.sizes[1], strict=True))
    return _Launched(dispatch, sizes, rows, None if is_fixed else pointers)
