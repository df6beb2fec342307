"""A program without loops and branches as a schedule of formulas, which is filled in for each binding of its sizes.

What such a program does, in which order, and what of it is used for how long does not depend on its sizes. So passes
that ask for no more than that are run once, over formulas: two sizes are the same if they are written the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from ocl_ir.formulas import Formulas
from ocl_ir.host.arena import pack, rounded
from ocl_ir.host.grammar import Alloc, Command, Free, Launch, Program, SymbolicLayout, Value, View
from ocl_ir.host.printer import names
from ocl_ir.host.schedule import Access, Argument, Buffer, BufferView, Kind, Node, Schedule, lives_of
from ocl_ir.kernel.accesses import WRITE, modes
from ocl_ir.layout import Layout
from ocl_ir.sizes import Symbol, Term, product
from ocl_ir.types import DType


def is_straight(program: Program) -> bool:
    """Whether a program is nothing but launches that name no stream, over memory of the device."""
    return not any(param.host for param in program.params) and all(
        (stmt.stream is None) if isinstance(stmt, Launch) else isinstance(stmt, Alloc | View | Free)
        for stmt in program.body
    )


def unbound(program: Program) -> Schedule:
    """The schedule of a straight program: as `schedule.bind` makes it, with formulas for all that sizes decide."""
    named = names(program)
    buffers: list[Buffer] = []
    views: dict[int, BufferView] = {}
    sizes: dict[tuple[int, int], int] = {}
    """Bytes, by the identity of a layout and the size of its elements."""

    def new(value: Value, kind: Kind) -> None:
        key = id(value.layout), value.dtype.size
        if key not in sizes:
            sizes[key] = cast("int", product(value.shape) * value.dtype.size)
        buffers.append(Buffer(len(buffers), sizes[key], kind, named.get(value.id, value.hint)))
        views[value.id] = BufferView(len(buffers) - 1, value.dtype, cast("Layout", value.layout))

    for param in program.params:
        kind: Kind = "output" if param.output else "donated" if param.donated else "input"
        new(param.value, "written" if param.written and kind == "input" else kind)
    nodes: list[Node] = []
    for stmt in program.body:
        if type(stmt) is Alloc:
            new(stmt.value, "scratch")
        elif type(stmt) is View:
            base = views[stmt.base.id]
            views[stmt.value.id] = BufferView(base.buffer, stmt.value.dtype, cast("Layout", stmt.value.layout))
        elif type(stmt) is Launch:
            args: list[Any] = [views[arg.id] if type(arg) is Value else arg for arg in stmt.args]
            accesses = [
                Access(arg.buffer, arg.layout, arg.dtype.size, mode)
                for arg, mode in zip(args, modes(stmt.kernel), strict=True)
                if type(arg) is BufferView and mode
            ]
            nodes.append(Node(stmt, tuple(args), cast("tuple[int, ...]", stmt.global_size), tuple(accesses)))
    for value in program.results:
        view = views[value.id]
        buffer = buffers[view.buffer]
        if buffer.kind == "scratch":
            buffers[view.buffer] = Buffer(buffer.id, buffer.nbytes, "result", buffer.name)
    results = tuple([views[value.id] for value in program.results])
    lives = lives_of(nodes, {buffer.id for buffer in buffers if buffer.kind == "scratch"})
    return Schedule(program, {}, tuple(buffers), tuple(nodes), results, lives, offsets={})


class LayoutRows(NamedTuple):
    """Where in the table the numbers of a layout are; `size` is the number of its elements; None where there may be
    gaps."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    size: int | None

    def at(self, rows: Sequence[int]) -> Layout:
        """The layout, of a table that was filled in."""
        shape, strides, offset, _ = self
        return Layout(tuple([rows[row] for row in shape]), tuple([rows[row] for row in strides]), rows[offset])


def layout_rows(table: Formulas, layout: SymbolicLayout) -> LayoutRows:
    """The numbers of a layout, in a table that they are added to."""
    shape, strides = ([table.add(size) for size in sizes] for sizes in (layout.shape, layout.strides))
    size = table.add(product(layout.shape)) if layout.is_dense else None
    return LayoutRows(tuple(shape), tuple(strides), table.add(layout.offset), size)


class UnboundNode(NamedTuple):
    """A node; `args` are `Memory`, a `Row` for sizes, and everything else as it is."""

    command: Command
    args: tuple[Any, ...]
    sizes: tuple[int, ...]
    accesses: tuple[tuple[int, int, int, int], ...]
    """(buffer, layout, bytes of an element, mode)"""


class Row(NamedTuple):
    """A size, by its row in the table."""

    number: int


class Memory(NamedTuple):
    """Elements of a buffer, where a layout says by its number."""

    buffer: int
    dtype: DType
    layout: int


class Unbound:
    """A schedule of formulas as a `table` of them: `buffers` with the rows of their bytes, `layouts`, and `nodes`. `at`
    gives it for some sizes."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.table = Formulas([symbol.name for symbol in schedule.program.symbols])
        self.layouts: list[LayoutRows] = []
        self._known: dict[SymbolicLayout | int, int] = {}
        """Their numbers, also by their identity."""
        self.buffers = [(buffer, self.table.add(buffer.nbytes)) for buffer in schedule.buffers]
        self.nodes = [self._node(node) for node in schedule.nodes]
        self._results = [self._memory(result) for result in schedule.results]

    def let_go(self) -> None:
        """Forgets what `at` does not need: the program's statements, and the formulas that the table was made of. They
        are half of all objects that a plan has, which Python's collector looks at again and again."""
        program = replace(self.schedule.program, symbols=(), params=(), body=(), results=())
        self.schedule = replace(self.schedule, program=program, nodes=(), buffers=(), results=())
        self._known = {}
        self.table.let_go()

    def _node(self, node: Node) -> UnboundNode:
        args: list[Any] = []
        for arg in node.args:
            if type(arg) is BufferView:
                args.append(self._memory(arg))
            elif isinstance(size := cast("object", arg), Symbol | Term):
                args.append(Row(self.table.add(size)))
            else:
                args.append(arg)
        accesses = tuple(
            [(access.buffer, self._layout(access.layout), access.itemsize, access.mode) for access in node.accesses]
        )
        command = node.command
        if isinstance(command, Launch):  # whose arguments and sizes the node has
            command = replace(command, args=(), global_size=())
        return UnboundNode(command, tuple(args), tuple([self.table.add(size) for size in node.sizes]), accesses)

    @property
    def commands(self) -> list[Command]:
        """Those of all nodes, in order; their arguments and sizes are the nodes'."""
        return [node.command for node in self.nodes]

    def _memory(self, view: BufferView) -> Memory:
        return Memory(view.buffer, view.dtype, self._layout(view.layout))

    def _layout(self, layout: Layout) -> int:
        number = self._known.get(id(layout))  # to tell it by its formulas takes longer
        if number is None:
            symbolic = cast("SymbolicLayout", layout)
            number = self._known[id(layout)] = self._known.setdefault(symbolic, len(self.layouts))
            if number == len(self.layouts):
                self.layouts.append(layout_rows(self.table, symbolic))
        return number

    def packed(self, rows: Sequence[int]) -> tuple[Mapping[int, int], int]:
        """Where each scratch buffer lies in an arena, for one stream, and the bytes of that."""
        lives = self.schedule.lives
        if len(lives) < 2:
            return dict.fromkeys(lives, 0), sum([rounded(rows[self.buffers[buffer][1]]) for buffer in lives])
        return pack(lives, {buffer: rows[self.buffers[buffer][1]] for buffer in lives})

    def at(self, rows: Sequence[int]) -> Schedule:
        """The schedule for the sizes that the table was filled in for: for one stream, with scratch memory in an
        arena."""
        row = rows.__getitem__
        layouts = [layout.at(rows) for layout in self.layouts]
        nodes = []
        for command, args, over, accesses in self.nodes:
            index_space = tuple(map(row, over))
            if not all(index_space):
                continue
            touched = [
                Access(buffer, layouts[layout], itemsize, mode)
                for buffer, layout, itemsize, mode in accesses
                if layouts[layout].size
            ]
            if touched:
                bound = tuple([self._argument(arg, rows, layouts) for arg in args])
                nodes.append(Node(command, bound, index_space, tuple(touched)))
        schedule = self.schedule
        buffers = tuple([Buffer(buffer.id, rows[at], buffer.kind, buffer.name) for buffer, at in self.buffers])
        lives = schedule.lives
        if len(nodes) < len(self.nodes):
            lives = lives_of(nodes, set(lives))
        results = tuple([BufferView(buffer, dtype, layouts[layout]) for buffer, dtype, layout in self._results])
        offsets, arena = pack(lives, {buffer: buffers[buffer].nbytes for buffer in lives})
        sizes = dict(zip(self.table.names, rows, strict=False))  # which come first
        return Schedule(schedule.program, sizes, buffers, tuple(nodes), results, lives, offsets, arena)

    @staticmethod
    def _argument(arg: Any, rows: Sequence[int], layouts: list[Layout]) -> Argument:
        if type(arg) is Memory:
            return BufferView(arg.buffer, arg.dtype, layouts[arg.layout])
        return rows[arg.number] if type(arg) is Row else arg


def filled(schedule: Schedule, sizes: Mapping[str, int]) -> Schedule:
    """A schedule of formulas for some sizes, with no place for scratch memory yet."""
    formulas = Unbound(schedule)
    rows = formulas.table.values([sizes[name] for name in formulas.table.names])
    return replace(formulas.at(rows), offsets={}, arena=0)


def branches(schedule: Schedule) -> bool:
    """Whether some node need not come after the one before it: else a second stream would have nothing to do."""
    writer: dict[int, int] = {}
    reader: dict[int, int] = {}
    for number, node in enumerate(schedule.nodes):
        before = {writer.get(access.buffer) for access in node.accesses}
        before |= {reader.get(access.buffer) for access in node.accesses if access.mode & WRITE}
        if number and number - 1 not in before:
            return True
        for access in node.accesses:
            (writer if access.mode & WRITE else reader)[access.buffer] = number
    return False
