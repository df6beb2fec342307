"""A plan that is made once for expressions that are alike: a host program over numbered memory.

The planner runs over memory that is only numbered, sizes that keep their formula (`ocl_ir.guards`), and scalars that
are not known. What it decides by sizes are guards; other sizes that pass them use the same plan. For these the
program's formulas are filled in: no group is formed, no kernel looked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol, cast

from ocl_ir.graph.build import Buffer
from ocl_ir.guards import Guards, formula
from ocl_ir.host.arena import in_pieces
from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.grammar import Launch as Command
from ocl_ir.host.grammar import Program, Value
from ocl_ir.host.schedule import Schedule
from ocl_ir.host.unbound import Unbound, branches, filled, layout_rows, unbound
from ocl_ir.kernel.accesses import WRITE, modes
from ocl_ir.late import Late
from ocl_ir.layout import Layout
from ocl_ir.sizes import Size, value
from ocl_ir.source_line import Where
from ocl_ir.types import U8, DType
from ocl_runtime.plan.cache.pickled import loaded, pickled
from ocl_runtime.plan.cache.slots import Asker, Slot, Slots, asker, named
from ocl_runtime.plan.cache.unplanned import Unplanned
from ocl_runtime.plan.donation import Donation
from ocl_runtime.plan.host.in_place import share_memory
from ocl_runtime.plan.host.lower import Lowering, number_name
from ocl_runtime.plan.host.prepare import HostTarget, Outcome, Watch, arranged, unwatched, with_lines
from ocl_runtime.plan.launch import Address, Later, Launch
from ocl_runtime.plan.planning import Planning
from ocl_runtime.plan.structure import Structure

_MOST_SIZES = 256
"""Sizes for which a plan stays bound: a loop over all of them finds them again in its next run."""
_ARRANGED_AT_ONCE = 32
"""Launches for which streams are chosen under the registry's lock: that takes about a millisecond."""
_LAUNCH_BYTES, _SIZED_BYTES = 10_000, 2_000
"""About what a launch takes of the host's memory, and again for each sizes: measured in plans of 60 small launches."""


class First(NamedTuple):
    """A plan for the sizes that it was made for, as another process has bound it: bytes of scratch memory, who asked
    for each step, and what the executor made of the schedule."""

    arena: int
    askers: tuple[Asker, ...]
    bound: Any


class Sized:
    """A plan for some sizes: bytes of the scratch memory that all steps share, or (buffer, bytes) of its `pieces`; who
    asked for each step, bytes of memory for each result, and for each node that is computed its slot, if it has memory,
    and how it lies there. `ready` is what the executor made of the schedule, which is made `again` for who asks for it
    afterwards, or wants to `Watch` its passes."""

    __slots__ = (
        "_in_pieces", "_schedule", "again", "arena", "askers", "bound", "computed", "line", "memory", "pieces", "ready",
    )  # fmt: skip

    def __init__(
        self,
        again: Callable[..., Schedule],
        memory: Sequence[tuple[int, Asker]],
        computed: Sequence[tuple[int, int | None, DType, Layout]],
        like: Sized | None = None,
        ready: Any = None,
        first: First | None = None,
    ) -> None:
        self.again = again
        self.memory, self.computed = memory, computed
        self.ready = ready
        self.bound: Any = None
        """What the executor of another process made of the schedule."""
        self._schedule: Schedule | None = None
        if first is not None:
            self.arena, self.askers, self.bound = first
            self.pieces: Sequence[tuple[int, int]] = ()
        elif ready is None or like is None:
            self._schedule = schedule = again()
            self.arena = schedule.arena
            self.pieces = [(buffer.id, buffer.nbytes) for buffer in schedule.buffers if buffer.kind == "piece"]
            self.askers = tuple([asker(node.command.where) for node in schedule.nodes])
        else:
            self.arena, self.pieces, self.askers = ready.arena, like.pieces, like.askers
        self._in_pieces: Sized | None = None
        self.line: Hashable = None
        """The line that was the first to evaluate it (`known_lines.py`)."""

    @property
    def schedule(self) -> Schedule:
        """The steps, where each has its arguments."""
        return self._schedule or self.again()

    def make_ready(self, ready: Any) -> None:
        """The executor has what it needs of the schedule."""
        self.ready, self._schedule, self.bound = ready, None, None

    def in_pieces(self) -> Sized:
        """The same for where there is no room for all scratch memory in one."""
        if self._in_pieces is None:
            self._in_pieces = Sized(partial(_in_pieces, self.again), self.memory, self.computed)
        return self._in_pieces


_NOT_RUN = (
    ("launches", "an evaluation is nothing but launches"),
    ("in_place", "the planner has placed results over operands, as it says of each bundle"),
)
"""Passes over other host programs."""
_NOT_WRITTEN = frozenset({"distinct", "guards", "used", "handles", "_target", "_sized"})


@dataclass(frozen=True, slots=True)
class Details(Late):
    """What a plan needs for sizes that it was not made for, and for who asks how it came about: its formulas, and which
    of the sizes and of the bytes of leaves behind them each name of their table is."""

    formulas: Unbound
    order: list[int]
    most: dict[int, list[Size | None]]
    """Of launches, by number, what their arguments touch at most, where that depends on values."""
    in_place: list[tuple[int, str]]
    why: list[tuple[int, str]]
    LATE: ClassVar = ("formulas", "order", "most", "in_place", "why")


class Agreement(Protocol):
    """What sizes have to agree in."""

    def hold(self, bound: Mapping[str, int]) -> bool:
        """Whether sizes, by name, do."""


class Template:
    """A plan over slots, as a host program: memory of results is allocated by who runs it, what is computed on the way
    is scratch memory.

    `donated` are the slots of memory that it may write over, `taken` those that it does; `slots` those of the
    program's buffers, None for scratch; `numbers` are its scalars, as (name, number of the scalar, dtype). `in_place`
    and `why` name nodes by number.
    """

    def __init__(self, unplanned: Unplanned, executor: Planning) -> None:
        from ocl_runtime.plan.planner import plan, planned_into  # which processes do without that find plans on disk

        nodes, leaves, donation = unplanned.nodes, unplanned.leaves, unplanned.donation
        self.donated, self.made_for = donation.storages, unplanned.sizes
        watch, choices = unplanned.watch_fusion, executor.choices
        memory = Slots(executor.target, executor.kernels, len(leaves), watch_fusion=watch, choices=choices)
        needed = {nodes[index] for index in donation.needed}
        offered = Donation([leaves[index] for index in donation.storages], needed)
        made = (
            planned_into(unplanned.roots, memory)
            if unplanned.into
            else plan(unplanned.roots, memory, unplanned.names, dense=unplanned.copied, donation=offered)
        )
        index_of = {node: index for index, node in reversed([*enumerate(nodes)])}
        wanted = set() if unplanned.into else needed.union(unplanned.roots)  # what was written twice is one node here
        wanted = wanted & made.computed.keys()
        computed = [(index, made.computed[node]) for index, node in enumerate(nodes) if node in wanted]
        kept = {result.storage.index for _, result in computed if result.storage is not None}
        results = [slot for slot in memory.slots if slot.index in kept]
        on_the_way = [slot for slot in memory.slots if slot.index not in kept]
        for index, slot in enumerate((*results, *on_the_way), len(leaves)):
            slot.index = index
        self.taken = [slot.index for slot in made.taken]
        # Built again, a reduction of what lies in another order by now is a view of a node that has no number.
        in_place = [(index_of[reuse.root], reuse.reason) for reuse in made.in_place if reuse.root in index_of]
        why = [(index_of[node], reason) for node, reason in made.why.items() if node in index_of]
        given_later = [arg for launch in made.launches for arg in launch.args if type(arg) is Later]
        self.numbers = [(number_name(value, dtype), value.index, dtype) for value, dtype in dict.fromkeys(given_later)]
        self.kernels = [launch.kernel for launch in made.launches]
        most = {
            number: [None if size is None else formula(size) for size in sizes]
            for number, launch in enumerate(made.launches)
            for sizes in [[arg.most if type(arg) is Address else None for arg in launch.args]]
            if any(size is not None for size in sizes)
        }
        program, slots, lowering = _program(made.launches, leaves, memory.slots, results, unplanned.guards)
        schedule = unbound(program)
        self._streams = executor.target.streams if branches(schedule) else 1
        homes: dict[int, int] = {}
        self._over_formulas = [("bound", schedule)]
        """What came of the passes over formulas."""
        if self._streams == 1:
            # `kept` holds the leaves that a result is a view of.
            donated = _donated_buffers(unplanned, slots, {*self.donated} - {*self.taken} - kept)
            schedule, over = share_memory(schedule, donated)
            homes = {slots[buffer]: slots[under] for buffer, under in over.items()}
            self.taken += sorted({*homes.values()})
            self._over_formulas.append(("share_memory", schedule))
        if unplanned.watch_fusion is None:
            self._over_formulas = []
        formulas = Unbound(schedule)
        allocated = [slot for slot in results if slot.index not in homes]
        table = formulas.table
        names = [*named(unplanned.sizes), *(f"m{index}" for index in range(len(leaves)))]
        order = [names.index(name) for name in table.names]
        self._results = [(table.add(formula(slot.nbytes)), asker(slot.where)) for slot in allocated]
        number = {leaf: leaf for leaf in range(len(leaves))} | homes
        number |= {slot.index: index for index, slot in enumerate(allocated, len(leaves))}
        self.slots = [None if slot in homes else number.get(slot) for slot in slots]
        layouts = {id(result.layout): result.layout for _, result in computed}
        rows = {known: layout_rows(table, lowering.layout(layout)) for known, layout in layouts.items()}
        self._computed = [
            (
                index,
                None if result.storage is None else number[result.storage.index],
                result.dtype,
                rows[id(result.layout)],
            )
            for index, result in computed
        ]
        self.serve(executor, unplanned.guards)
        self.bound: First | None = None
        """What another process has bound, until that is used."""
        self._details = Details(formulas, order, most, in_place, why)
        self._filled = self._rows(self.made_for, leaves)
        """The table for the sizes that it was made for."""

    def serve(self, executor: Planning, guards: Agreement) -> None:
        """Is for an executor whose target is the one that it was made for, and has not run yet. Other sizes than those
        that it was made for have to agree in what its guards say."""
        self.guards = guards
        self.used = False
        self.distinct = [*{id(kernel): kernel for kernel in self.kernels}.values()]
        """What it launches, each once."""
        self.handles: Any = None
        """What the executor keeps of the launches for all sizes."""
        self._target = HostTarget(executor.kernels, executor.target.group_size, self._streams)
        self._sized: OrderedDict[tuple[int, ...], Sized] = OrderedDict()

    def let_go(self) -> None:
        """Forgets what only those need who look at the program's statements."""
        self._details.formulas.let_go()

    def __getstate__(self) -> dict[str, Any]:
        """What does not depend on an executor, less the guards: who brings it back calls `serve`. The details are
        bytes, with numbers for kernels."""
        number = {id(kernel): index for index, kernel in enumerate(self.kernels)}
        details = [getattr(self._details, name) for name in Details.LATE]
        state = {name: value for name, value in vars(self).items() if name not in _NOT_WRITTEN}
        return state | {"_details": pickled(details, lambda kernel: number[id(kernel)])}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._details = object.__new__(Details)
        self._details.read_later(partial(loaded, state["_details"], self.kernels.__getitem__))

    @property
    def in_place(self) -> list[tuple[int, str]]:
        """What became of the result of every group."""
        return self._details.in_place

    @property
    def why(self) -> list[tuple[int, str]]:
        """For nodes that are computed on their own, why they are."""
        return self._details.why

    @property
    def nbytes(self) -> int:
        """About how many bytes of the host's memory the plan takes."""
        return max(len(self.kernels), 1) * (_LAUNCH_BYTES + _SIZED_BYTES * len(self._sized))

    def most(self, command: Command, sizes: Sequence[int]) -> list[int | None]:
        """For each argument of a launch how many elements it touches at most, where which ones depends on values."""
        index = next(index for index, other in enumerate(self._details.formulas.commands) if other is command)
        bound, unknown = named(sizes), [None] * len(command.kernel.params)
        return [None if count is None else value(count, bound) for count in self._details.most.get(index, unknown)]

    def knows(self, sizes: tuple[int, ...]) -> bool:
        """Whether it was made for just these sizes, or has run for them."""
        return sizes == self.made_for or sizes in self._sized

    def fits(self, bound: Mapping[str, int]) -> bool:
        """Whether the plan serves sizes, by name."""
        return self.guards.hold(bound)

    def is_arranged(self, sizes: tuple[int, ...]) -> bool:
        """Whether `sized` takes little time. Else it chooses streams for many launches, and plans their memory."""
        return self._streams == 1 or len(self.kernels) <= _ARRANGED_AT_ONCE or sizes in self._sized

    def arrange(self, sizes: tuple[int, ...], storages: Sequence[object]) -> None:
        """Makes the plan ready for sizes that pass the guards, and leaves in such memory. Any thread may; only `sized`
        takes sizes out."""
        if sizes == self.made_for:
            self.first()
        else:
            self._sized[sizes] = self._size(self._rows(sizes, storages))

    def sized(self, structure: Structure) -> Sized:
        """The plan for sizes that pass the guards. The registry's lock is held."""
        sizes = structure.sizes
        if sizes in self._sized:
            self._sized.move_to_end(sizes)
        else:
            self.arrange(sizes, structure.storages)
        while len(self._sized) > _MOST_SIZES:
            self._sized.popitem(last=False)
        return self._sized[sizes]

    def first(self) -> Sized:
        """The plan for the sizes that it was made for."""
        bound, self.bound = self.bound, None  # from now on it is in what this gives
        sized = self._sized[self.made_for] = self._size(self._filled, bound)
        return sized

    def passes(self, sized: Sized, lines: Sequence[Where]) -> list[tuple[str, Outcome]]:
        """For who looks on: what came of each pass over the program, for some sizes; `lines` are those of the nodes."""
        bound = sized.schedule.bound
        (name, schedule), *shared = self._over_formulas
        outcomes: list[tuple[str, Outcome]] = [(name, filled(schedule, bound)), *_NOT_RUN]
        outcomes += [(name, filled(schedule, bound)) for name, schedule in shared]
        if not shared:
            outcomes.append(("share_memory", "on several streams, a buffer would wait for who uses its memory"))
        sized.again(lambda *stage: outcomes.append(stage))
        return [(name, made if isinstance(made, str) else with_lines(made, lines)) for name, made in outcomes]

    def _rows(self, sizes: Sequence[int], storages: Sequence[object]) -> list[int]:
        """The table, filled in for some sizes and the bytes of leaves."""
        known = [*sizes, *[getattr(storage, "nbytes", 0) for storage in storages]]
        return self._details.formulas.table.values([*map(known.__getitem__, self._details.order)])

    def _size(self, rows: Sequence[int], first: First | None = None) -> Sized:
        memory = [(rows[nbytes], by) for nbytes, by in self._results]
        computed = [(index, slot, dtype, layout.at(rows)) for index, slot, dtype, layout in self._computed]
        # Nothing in it refers to the plan, which then goes as soon as it is dropped.
        again = partial(_schedule, self._details, self._target, rows)
        last = next(reversed(self._sized.values()), None) if self._streams == 1 else None
        ready = last and last.ready and last.ready.at(self._details.formulas, rows, again)
        return Sized(again, memory, computed, last, ready, first)


def _schedule(details: Details, target: HostTarget, rows: Sequence[int], watch: Watch = unwatched) -> Schedule:
    """That of a plan for some sizes, arranged on the streams of a target if it is worth several."""
    schedule = details.formulas.at(rows)
    watch("packed", schedule)
    return arranged(schedule, target, watch)


def _in_pieces(again: Callable[..., Schedule], watch: Watch = unwatched) -> Schedule:
    schedule = in_pieces(again(watch))
    watch("in_pieces", schedule)
    return schedule


def _donated_buffers(unplanned: Unplanned, slots: Sequence[int], donated: Collection[int]) -> dict[int, Size]:
    """Of a program's buffers, whose memory has these slots, the donated ones that a leaf fills from their beginning on,
    with the bytes of that."""
    nbytes: dict[int, Size] = {}
    number = {slot: buffer for buffer, slot in enumerate(slots)}
    for node in unplanned.nodes:
        storage = node.storage if isinstance(node, Buffer) else None
        if storage is not None and storage.index in donated and storage.index in number:
            layout = cast("Buffer", node).layout
            if layout.is_dense and layout.offset == 0:
                nbytes[number[storage.index]] = formula(Layout.contiguous(node.shape).span * node.dtype.size)
    return nbytes


def _program(
    launches: Sequence[Launch],
    leaves: Sequence[Slot],
    made: Sequence[Slot],
    results: Sequence[Slot],
    guards: Guards,
) -> tuple[Program, list[int], Lowering]:
    """A plan over slots as a host program, the slot of each of its buffers, and what layouts are in it."""
    builder = HostBuilder("evaluation")
    for name in guards.names():
        builder.size(name)
    used: dict[int, int] = {}
    """How each slot is."""
    for launch in launches:
        for arg, mode in zip(launch.args, modes(launch.kernel), strict=True):
            if type(arg) is Address:
                index = arg.storage.index
                used[index] = used.get(index, 0) | mode
    values: dict[int, Value] = {}
    for slot in leaves:
        if slot.index in used:
            nbytes = builder.size(f"m{slot.index}")
            values[slot.index] = builder.input(f"x{slot.index}", U8, (nbytes,), written=bool(used[slot.index] & WRITE))
    for slot in made:
        if slot.index in used:
            values[slot.index] = builder.alloc(U8, (formula(slot.nbytes),), "t", where=slot.where)
    lowering = Lowering(builder)
    for launch in launches:
        sizes = launch.global_size, launch.group_size
        lowering.launch(launch.kernel, launch.args, sizes, lambda slot, _: values[slot.index], launch.where)
    program = builder.build(*(values[slot.index] for slot in results if slot.index in values))
    return program, list(values), lowering
