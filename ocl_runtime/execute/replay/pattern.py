"""What a straight program on one stream does for all sizes at which its accesses are alike: only numbers differ.

Which accesses streams look up and record follows from which accesses of a buffer are equal, which lie inside of others,
and which have gaps. So where all of this is as it was for earlier sizes, it need not be found out again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from functools import partial
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple, cast

from ocl_ir.formulas import Formulas
from ocl_ir.host.unbound import LayoutRows, Memory, Row, Unbound, UnboundNode
from ocl_ir.kernel.accesses import WRITE
from ocl_ir.layout import Layout
from ocl_ir.sizes import Size, Symbol, larger, parts, smaller
from ocl_runtime.execute.launch import MOST_ITEMS
from ocl_runtime.execute.replay.steps import ARENA, AccessNumbers, Dispatch, Transfer
from ocl_runtime.execute.streams.footprints import is_gapless

_MOST_ALIKE = 64
"""Ways in which the accesses of a program lie that are kept."""
_dispatch: Callable[[tuple[Any, ...]], Dispatch] = partial(tuple.__new__, Dispatch)
"""Made like this, it takes a third of the time."""


class Numbers(NamedTuple):
    """What sizes decide: as `Bound` has it, with all `accesses` of memory from outside, and at the end that of the
    arena; `key` says how these lie."""

    made: list[tuple[int, int]]
    offsets: Mapping[int, int]
    arena: int
    commands: list[Dispatch]
    accesses: list[AccessNumbers]
    key: Hashable


class Joined(NamedTuple):
    """Accesses to a buffer, by number, that streams know as one of all that they span."""

    buffer: int
    mode: int
    numbers: list[int]


class Alike(NamedTuple):
    """What sizes have in common whose accesses lie alike: those that streams look up and record, by number, whether
    these are no more than numbers of accesses, and `shared` attributes."""

    tracked: list[int | Joined]
    is_plain: bool
    shared: Mapping[str, Any]

    def accesses(self, numbers: Numbers) -> list[AccessNumbers]:
        """What streams look up and record for the sizes of some numbers."""
        own = numbers.accesses
        if self.is_plain:
            return [*map(own.__getitem__, cast("list[int]", self.tracked))]
        accesses: list[AccessNumbers] = []
        for number in self.tracked:
            if isinstance(number, Joined):
                _, _, lows, highs, _ = zip(*[own[index] for index in number.numbers], strict=True)
                accesses.append((number.buffer, number.mode, min(lows), max(highs), None))
            else:
                accesses.append(own[number])
        return accesses


class _Launched(NamedTuple):
    """A launch: `sizes` are the rows of its index space, `args` those of its arguments, and `scratch` those of these
    that begin in the arena, as (index, buffer)."""

    dispatch: Dispatch
    sizes: list[int]
    args: list[int]
    scratch: list[tuple[int, int]]


class _Gaps(NamedTuple):
    """An access, by number, to elements that may have gaps between them: rows of their layout in bytes."""

    number: int
    shape: itemgetter[tuple[int, ...]]
    strides: itemgetter[tuple[int, ...]]
    offset: int


class Pattern:
    """Of formulas, with the launches for some sizes at which nothing is left out. `alike` is what was learnt so far.

    What it needs beside the rows of the formulas is a table over these; arguments that sizes do not change are `fixed`,
    and counted from its end.
    """

    def __init__(self, formulas: Unbound, commands: Sequence[Dispatch | Transfer]) -> None:
        self.alike: dict[Hashable, Alike] = {}
        self._fixed: list[Any] = []
        known = formulas.table.known
        self._row: list[Size] = [Symbol(f"r{row}") if value is None else value for row, value in enumerate(known)]
        self._table = table = Formulas([f"r{row}" for row in range(len(known))])
        ends = [self._ends(layout) for layout in formulas.layouts]
        scratch = formulas.schedule.lives
        self._launches = [
            self._launched(command, node, ends, scratch)
            for command, node in zip(commands, formulas.nodes, strict=True)
            if isinstance(command, Dispatch)
        ]
        self._fixed.reverse()
        self._made = [(buffer.id, row) for buffer, row in formulas.buffers if buffer.kind == "result"]
        touched = dict.fromkeys(access for node in formulas.nodes for access in node.accesses)
        laid = [formulas.layouts[layout] for _, layout, _, _ in touched]
        sizes = {row for layout in laid for row in (layout.shape if layout.size is None else [layout.size])}
        sizes.update(*[node.sizes for node in formulas.nodes])
        self._sizes = sorted(sizes)
        """Numbers of elements and of work-items: where one of them is 0, something is left out."""
        outside = [access for access in touched if access[0] not in scratch]
        accesses = [
            (buffer, mode, *[table.add(end * itemsize) for end in ends[layout]])
            for buffer, layout, itemsize, mode in outside
        ]
        self._accesses: Sequence[Sequence[int]] = [*zip(*accesses, strict=True)] or [()] * 4
        self._gaps = [
            self._with_gaps(number, formulas.layouts[layout], itemsize)
            for number, (_, layout, itemsize, _) in enumerate(outside)
            if formulas.layouts[layout].size is None
        ]
        of_buffer: dict[int, dict[int, None]] = {}
        for buffer, _, low, high in accesses:
            of_buffer.setdefault(buffer, {}).update({low: None, high: None})
        self._compared = [itemgetter(*rows) for rows in of_buffer.values() if len(rows) > 2]
        """Where the accesses of a buffer begin and end."""

    def _ends(self, layout: LayoutRows) -> tuple[Size, Size]:
        """The first element, and the one after the last."""
        first, span = self._row[layout.offset], cast("Size", 1)
        if layout.size is not None:
            return first, first + self._row[layout.size]
        for length, stride in zip(layout.shape, layout.strides, strict=True):
            reach = (self._row[length] - 1) * self._row[stride]
            first, span = first + smaller(reach, 0), span + larger(reach, 0 - reach)
        return first, first + span

    def _launched(
        self, dispatch: Dispatch, node: UnboundNode, ends: Sequence[tuple[Size, Size]], scratch: Container[int]
    ) -> _Launched:
        add, args = self._table.add, list[int]()
        within: list[tuple[int, int]] = []
        for arg in node.args:
            if type(arg) is Memory:
                args.append(self._fix(None))
                if arg.buffer in scratch:
                    within.append((len(args), arg.buffer))
                args.append(add(ends[arg.layout][0] * arg.dtype.size))
            else:
                args.append(arg.number if type(arg) is Row else self._fix(dispatch.args[len(args)]))
        groups = zip(node.sizes, dispatch.sizes[1], strict=True)
        sizes = [add(parts(self._row[row], group) * group) for row, group in groups]
        return _Launched(dispatch, sizes, args, within)

    def _fix(self, arg: Any) -> int:
        self._fixed.append(arg)
        return -len(self._fixed)

    def _with_gaps(self, number: int, layout: LayoutRows, itemsize: int) -> _Gaps:
        add, row = self._table.add, self._row
        shape = [add(size) for size in (*[row[length] for length in layout.shape], itemsize)]
        strides = [add(size) for size in (*[row[stride] * itemsize for stride in layout.strides], 1)]
        return _Gaps(number, itemgetter(*shape), itemgetter(*strides), add(row[layout.offset] * itemsize))

    def numbers(self, formulas: Unbound, rows: Sequence[int]) -> Numbers | None:
        """What the sizes decide that the table was filled in for; None where something is left out, since it has no
        elements, or cannot be launched."""
        needed = [*map(rows.__getitem__, self._sizes)]
        if not needed or min(needed) == 0 or max(needed) >= MOST_ITEMS:
            return None
        offsets, arena = formulas.packed(rows)
        own = self._table.values(rows)
        of = [*own, *self._fixed].__getitem__
        buffers, modes, lows, highs = self._accesses
        accesses: list[AccessNumbers] = [*zip(buffers, modes, map(of, lows), map(of, highs), repeat(None))]
        for number, shape, strides, offset in self._gaps:
            buffer, mode, low, high, _ = accesses[number]
            gaps = Layout(shape(own), strides(own), own[offset])
            if not is_gapless(gaps, high - low):
                accesses[number] = buffer, mode, low, high, gaps
        key = self._key(own, accesses)
        accesses.append((ARENA, WRITE, 0, arena, None))
        commands = []
        for (executable, (_, groups), _, *rest), over, order, scratch in self._launches:
            args = [*map(of, order)]
            for index, buffer in scratch:
                args[index] += offsets[buffer]
            commands.append(_dispatch((executable, (tuple(map(of, over)), groups), tuple(args), *rest)))
        made = [(buffer, rows[row]) for buffer, row in self._made]
        return Numbers(made, offsets, arena, commands, accesses, key)

    def _key(self, own: Sequence[int], accesses: Sequence[AccessNumbers]) -> Hashable:
        """How accesses lie: which of them have the same gaps, and the order of the ends of those of each buffer."""
        key: list[Hashable] = []
        if self._gaps:
            seen: dict[Any, int] = {None: 0}
            footprints = [accesses[gaps.number][-1] for gaps in self._gaps]
            told = [footprint and (footprint.shape, footprint.strides, footprint.offset) for footprint in footprints]
            key += [seen.setdefault(layout, len(seen)) for layout in told]
        for ends_of in self._compared:
            ends = ends_of(own)
            key += map(bisect_left, repeat(sorted(ends)), ends)
        return tuple(key)

    def learn(self, numbers: Numbers, known: Sequence[AccessNumbers], shared: Mapping[str, Any]) -> None:
        """Takes note of what a schedule for these sizes has become: of the accesses that are known to streams, and of
        attributes that all sizes share whose accesses lie alike."""
        if len(self.alike) == _MOST_ALIKE:
            return
        of_access = {access: number for number, access in reversed([*enumerate(numbers.accesses)])}
        tracked: list[int | Joined] = []
        for access in known:
            number = of_access.get(access)
            if number is None:
                buffer, mode, _, _, _ = access
                joined = [other for other, candidate in enumerate(numbers.accesses) if candidate[0] == buffer]
                tracked.append(Joined(buffer, mode, joined))
            else:
                tracked.append(number)
        is_plain = not any(isinstance(number, Joined) for number in tracked)
        self.alike[numbers.key] = Alike(tracked, is_plain, shared)
