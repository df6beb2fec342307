"""A host program with its sizes bound: buffers, and the commands that truly run, one after the other.

Loops are unrolled and branches taken, so every command has its arguments, its sizes and the bytes that it touches. What
could not be checked before sizes were known is checked here: that views lie inside of their memory and are aligned,
that shapes fit, that nothing is read, and no result or output given to the caller, that was never written. The passes
behind this one are `ocl_runtime.plan.host`'s: they say which results are written over operands, on which stream a node
runs, where scratch memory lies, and for what a node waits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from ocl_ir.errors import Error, IRError, ShapeError
from ocl_ir.host.aliases import Listing, Misfit, bound_layout, described, pointer_misfit, view_misfit
from ocl_ir.host.grammar import (
    Alloc,
    Block,
    Command,
    Copy,
    Fill,
    For,
    Free,
    If,
    Launch,
    Number,
    Program,
    Stmt,
    Value,
    View,
)
from ocl_ir.host.printer import names, neighbourhood
from ocl_ir.host.written import Written
from ocl_ir.kernel.accesses import READ, WRITE, modes
from ocl_ir.layout import Layout
from ocl_ir.sizes import Size, Symbol, Term
from ocl_ir.sizes import value as number_of
from ocl_ir.source_line import in_function
from ocl_ir.types import BOOL, DType, element

_MOST_NODES = 1_000_000

Kind: TypeAlias = Literal[
    "input", "written", "donated", "output", "host input", "host output", "result", "scratch", "piece"
]


@dataclass(slots=True, unsafe_hash=True)  # frozen, making one takes several times as long
class Buffer:
    """Memory: the caller's, on device or host, made for the caller ("result"), or the plan's own ("scratch" in
    an arena, "piece" by itself)."""

    id: int
    nbytes: int
    kind: Kind
    name: str


@dataclass(slots=True, unsafe_hash=True)  # frozen, making one takes several times as long
class Access:
    """The bytes of a buffer that a node touches: the elements of a layout."""

    buffer: int
    layout: Layout
    itemsize: int
    mode: int

    @property
    def range(self) -> tuple[int, int]:
        """The lowest byte and the one after the highest."""
        low, high = self.layout.range()
        return low * self.itemsize, high * self.itemsize

    @property
    def nbytes(self) -> int:
        """The size of what is touched; what repeats an element touches it once."""
        axes = zip(self.layout.shape, self.layout.strides, strict=True)
        return math.prod(length for length, stride in axes if stride) * self.itemsize

    def in_bytes(self, start: int = 0) -> Layout:
        """The elements' bytes, of memory in which the buffer begins at `start`."""
        return Layout(
            (*self.layout.shape, self.itemsize),
            (*(stride * self.itemsize for stride in self.layout.strides), 1),
            start + self.layout.offset * self.itemsize,
        )


@dataclass(slots=True, unsafe_hash=True)  # frozen, making one takes several times as long
class BufferView:
    """A value bound to memory: elements of a buffer."""

    buffer: int
    dtype: DType
    layout: Layout


Argument: TypeAlias = "BufferView | Number | int | float | bool"


@dataclass(slots=True, unsafe_hash=True)  # frozen, making one takes several times as long
class Node:
    """A command. `stream` is None until one is chosen; `waits` are the numbers of nodes that it waits for.

    `accesses` stand in the order of the arguments that are memory, without those of which no element is used.
    """

    command: Command
    args: tuple[Argument, ...]
    sizes: tuple[int, ...]
    accesses: tuple[Access, ...]
    stream: int | None = None
    waits: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        """The bytes that it reads and writes, each element once for every access."""
        return sum(access.nbytes * (2 if access.mode == READ | WRITE else 1) for access in self.accesses)

    @property
    def what(self) -> str:
        """Its name for people."""
        match self.command:
            case Launch():
                return in_function(self.command.kernel.name, self.command.where)
            case Copy():
                return "copy"
        return "fill"


@dataclass(frozen=True, slots=True)
class Schedule:
    """All of it. `lives` says for each scratch buffer the first and the last node that uses it.

    `arena` is the size of the memory that scratch buffers share, and `offsets` where each lies in it, once planned.
    """

    program: Program
    bound: Mapping[str, int]
    buffers: tuple[Buffer, ...]
    nodes: tuple[Node, ...]
    results: tuple[BufferView, ...]
    lives: Mapping[int, tuple[int, int]]
    offsets: Mapping[int, int]
    arena: int = 0
    memory: MemoryPlan | None = field(default=None, compare=False)
    """How well the arena came out, once planned."""
    turns: tuple[tuple[int, int, int], ...] = ()
    """Without an arena: (piece, bytes, last node that uses them) of each scratch buffer that had its turn there."""

    def is_transfer(self, node: Node) -> bool:
        """Whether a node copies between host and device."""
        return any(self.buffers[access.buffer].kind.startswith("host") for access in node.accesses)


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """How well the arena came out, in bytes: its size, a lower bound for it on these streams without more waits, the
    most that is alive at once in program order, and all scratch memory without sharing."""

    arena: int
    bound: int
    live: int
    unshared: int
    by_program_order: bool


def bind(program: Program, sizes: Mapping[str, int]) -> Schedule:
    """The schedule of a program for these sizes, without streams, waits and an arena.

    Raises `ShapeError` for sizes, ranges and shapes that do not fit, `IRError` for what is read and was never written.
    """
    return _Binder(program, sizes).schedule()


class _Binder:
    def __init__(self, program: Program, sizes: Mapping[str, int]) -> None:
        self._program = program
        self._sizes = dict(sizes)
        self._names = names(program)
        self._buffers: list[Buffer] = []
        self._nodes: list[Node] = []
        self._views: dict[int, BufferView] = {}
        self._written: list[Written] = []
        self._stmt: Stmt | None = None

    def schedule(self) -> Schedule:
        program = self._program
        for symbol in program.symbols:
            if not isinstance(self._sizes.get(symbol.name), int):
                raise IRError(
                    f"{program.name} is called without the size {symbol.name}",
                    remedy=f"give it: it takes {', '.join(map(str, program.symbols))}",
                )
        for param in program.params:
            kind: Kind = "output" if param.output else "donated" if param.donated else "input"
            kind = "written" if param.written and kind == "input" else kind
            if param.host:
                kind = "host output" if param.output else "host input"
            self._new(param.value, kind)
        self._block(program.body)
        self._stmt = None
        for param in program.params:
            if param.output:
                self._check_written(self._views[param.value.id], param.value, "is an output")
        results = []
        for value in program.results:
            view = self._view_of(value)
            self._check_written(view, value, "is a result")
            results.append(view)
            buffer = self._buffers[view.buffer]
            if buffer.kind == "scratch":
                self._buffers[view.buffer] = Buffer(buffer.id, buffer.nbytes, "result", buffer.name)
        lives = lives_of(self._nodes, {buffer.id for buffer in self._buffers if buffer.kind == "scratch"})
        return Schedule(
            program, self._sizes, tuple(self._buffers), tuple(self._nodes), tuple(results), lives, offsets={}
        )

    # ------------------------------------------------------------------ statements

    def _block(self, block: Block) -> None:
        for stmt in block:
            self._stmt = stmt
            match stmt:
                case Alloc():
                    self._new(stmt.value, "scratch")
                case View():
                    self._view(stmt)
                case For():
                    self._loop(stmt)
                case If():
                    self._block(stmt.then if self._number(stmt.condition) else stmt.orelse)
                case Free():
                    pass
                case Launch():
                    self._launch(stmt)
                case Copy():
                    self._copy(stmt)
                case Fill():
                    self._add(stmt, (self._view_of(stmt.target), stmt.number), (), [(stmt.target, WRITE)])

    def _loop(self, stmt: For) -> None:
        step = self._number(stmt.step)
        if step < 1:
            raise self._error(f"the step of {stmt.index} is {step}", "use a step of at least 1")
        for turn in range(self._number(stmt.start), self._number(stmt.stop), step):
            self._sizes[stmt.index.name] = turn
            self._block(stmt.body)
        self._sizes.pop(stmt.index.name, None)

    def _new(self, value: Value, kind: Kind) -> BufferView:
        layout = bound_layout(value.layout, self._sizes)
        if any(length < 0 for length in layout.shape):
            raise self._error(f"{self._name(value)} has the shape {layout.shape}", "use sizes that are not negative")
        buffer = Buffer(len(self._buffers), layout.size * value.dtype.size, kind, self._name(value))
        self._buffers.append(buffer)
        self._written.append(Written(buffer.nbytes, whole=kind in {"input", "written", "donated", "host input"}))
        view = self._views[value.id] = BufferView(buffer.id, value.dtype, layout)
        return view

    def _view(self, stmt: View) -> None:
        base, dtype = self._view_of(stmt.base), stmt.value.dtype
        layout = bound_layout(stmt.value.layout, self._sizes)
        misfit = view_misfit(layout, dtype, self._buffers[base.buffer].nbytes)
        if misfit is not None:
            raise self._misfit(stmt.value, misfit)
        self._views[stmt.value.id] = BufferView(base.buffer, dtype, layout)

    def _launch(self, stmt: Launch) -> None:
        args: list[Argument] = []
        touched: list[tuple[Value, int]] = []
        numbers: dict[int, int] = {}
        for param, arg in zip(stmt.kernel.params, stmt.args, strict=True):
            if isinstance(arg, Number):
                args.append(arg)
            elif not isinstance(arg, Value):
                known = self._number(arg) if isinstance(arg, Symbol | Term) else arg
                dtype = element(param.value.type)
                if not holds(dtype, known):
                    raise self._error(
                        f"{stmt.kernel.name} got {known!r} for {param.value.hint}, which is no {dtype}",
                        "use sizes with which the number fits",
                    )
                args.append(known)
                if isinstance(known, int):
                    numbers[param.value.id] = known
            else:
                args.append(self._view_of(arg))
        for param, arg, mode in zip(stmt.kernel.params, stmt.args, modes(stmt.kernel), strict=True):
            if isinstance(arg, Value):
                view = self._view_of(arg)
                misfit = pointer_misfit(stmt, param, view.layout, self._buffers[view.buffer].nbytes, numbers)
                if misfit is not None:
                    raise self._misfit(arg, misfit)
                if mode:
                    touched.append((arg, mode))
        sizes = tuple(self._number(size) for size in stmt.global_size)
        if any(size < 0 for size in sizes):
            raise self._error(f"{stmt.kernel.name} over {sizes}", "use sizes that are not negative")
        if all(sizes):
            self._add(stmt, tuple(args), sizes, touched)

    def _copy(self, stmt: Copy) -> None:
        target, source = self._view_of(stmt.target), self._view_of(stmt.source)
        if target.layout.shape != source.layout.shape:
            raise self._error(
                f"a copy of shape {source.layout.shape} to shape {target.layout.shape}", "copy between equal shapes"
            )
        if target.buffer == source.buffer and target.layout.overlaps(source.layout):
            raise self._error("a copy between parts that overlap", "copy to other memory first")
        at_host = [operand for operand in (target, source) if self._buffers[operand.buffer].kind.startswith("host")]
        if at_host and not (target.layout.is_dense and source.layout.is_dense):
            raise self._error(
                "a copy between host and device with gaps on one side", "copy whole rows, and cut columns on the device"
            )
        self._add(stmt, (target, source), (), [(stmt.target, WRITE), (stmt.source, READ)])

    def _add(
        self, stmt: Command, args: tuple[Argument, ...], sizes: tuple[int, ...], touched: Sequence[tuple[Value, int]]
    ) -> None:
        accesses = []
        for value, mode in touched:
            view = self._view_of(value)
            if not view.layout.size:
                continue
            if mode & READ:
                self._check_written(view, value, "is read")
            accesses.append(Access(view.buffer, view.layout, view.dtype.size, mode))
        for access in accesses:
            if access.mode & WRITE:
                self._written[access.buffer].add(access.layout, access.itemsize)
        if not accesses:
            return
        if len(self._nodes) >= _MOST_NODES:
            raise self._error(f"the program has more than {_MOST_NODES:,} commands", "call it for a part at a time")
        stream = None if stmt.stream is None else self._number(stmt.stream)
        self._nodes.append(Node(stmt, args, sizes, tuple(accesses), stream))

    # ------------------------------------------------------------------ values

    def _view_of(self, value: Value) -> BufferView:
        view = self._views.get(value.id)
        if view is None:
            raise self._error(
                f"{self._name(value)} was never computed: the branch that defines it was not taken",
                "define it on every way to its use",
                IRError,
            )
        return view

    def _check_written(self, view: BufferView, value: Value, use: str) -> None:
        missing = self._written[view.buffer].missing(view.layout, view.dtype.size)
        if missing:
            raise self._error(
                f"{self._name(value)} {use} and was never computed ({missing})",
                "write it first; a branch that was not taken, or a loop without turns, wrote nothing",
                IRError,
            )

    def _number(self, size: Size) -> int:
        return number_of(size, self._sizes)

    def _name(self, value: Value) -> str:
        return self._names.get(value.id, value.hint or f"value {value.id}")

    def _misfit(self, value: Value, misfit: Misfit) -> Error:
        return self._error(described(value, misfit, Listing(self._program).made, self._names), misfit.remedy)

    def _error(self, fact: str, remedy: str, kind: type[Error] = ShapeError) -> Error:
        excerpt = neighbourhood(self._program, self._stmt)
        bound = ", ".join(f"{name} = {value}" for name, value in sorted(self._sizes.items()))
        where = self._stmt.where if self._stmt is not None else ""
        notes = [excerpt, f"with {bound}" if bound else "", f"asked for at {where}" if where else ""]
        return kind(fact, place="\n".join(filter(None, notes)), remedy=remedy)


def holds(dtype: DType, number: object) -> bool:
    """Whether a Python number is a value of a dtype; floats are rounded to it."""
    if isinstance(number, bool):
        return dtype == BOOL or dtype.is_integer
    if isinstance(number, int) and dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        return bool(limits.min <= number <= limits.max)
    return dtype.is_float and isinstance(number, int | float)


def lives_of(nodes: Sequence[Node], scratch: set[int]) -> dict[int, tuple[int, int]]:
    """For each buffer that is scratch memory and used, the first and the last node that uses it."""
    lives: dict[int, tuple[int, int]] = {}
    for number, node in enumerate(nodes):
        for access in node.accesses:
            if access.buffer in scratch:
                first, _ = lives.get(access.buffer, (number, number))
                lives[access.buffer] = first, number
    return lives
