"""What a captured function has become: its program, for sizes that pass its guards, and the same for some sizes.

A program without named streams is bound to new sizes by filling in a table of formulas. It runs on one stream, in
order, unless it has so much work in independent parts that streams and their proof are worth their time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, cast

from ocl_ir.formulas import Formulas
from ocl_ir.graph.build import Buffer, Node, buffer
from ocl_ir.guards import Given, Guards
from ocl_ir.host.grammar import Program
from ocl_ir.host.schedule import BufferView, Schedule
from ocl_ir.host.unbound import Unbound, branches, filled, is_straight, layout_rows, unbound
from ocl_ir.host.verify_order import verify_order
from ocl_ir.layout import Layout
from ocl_ir.reals import Reals, plain_real
from ocl_ir.source_line import caller
from ocl_ir.types import DType
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.meaning.dtypes import rounded
from ocl_runtime.arrays.reals import with_real
from ocl_runtime.errors import Error
from ocl_runtime.execute.replay.bound import Bound
from ocl_runtime.execute.replay.handles import handles_for, kernels_of
from ocl_runtime.execute.replay.run import run
from ocl_runtime.execute.streams.chosen import unchosen
from ocl_runtime.executor import DeviceExecutor
from ocl_runtime.plan.host.in_place import reuse_in_place, share_memory
from ocl_runtime.plan.host.lower import number_name
from ocl_runtime.plan.host.prepare import ARRANGE, Outcome, prepare
from ocl_runtime.plan.host.prepare import run as arrange
from ocl_runtime.plan.host.streams import is_worth_streams
from ocl_runtime.plan.kernels.cache import KernelCache
from ocl_runtime.plan.registry import Cell
from ocl_runtime.plan.tracing import tracer
from ocl_runtime.programs.arguments import Arguments, Range
from ocl_runtime.programs.trace import Result, Trace
from ocl_runtime.programs.trees import Shape, flatten, unflatten, with_leaves

_Result: TypeAlias = tuple[int | None, DType, Layout, DType | None]
"""A result of a program for some sizes: its buffer (None: it has no elements), how it lies there, and the default real
of its executor where that is not the runtime's."""
_NO_NUMBERS: Mapping[str, float] = MappingProxyType({})


@dataclass(eq=False)
class Captured:
    """A function's program, for arguments whose sizes pass the guards.

    `names` are those of the sizes of a call, in order. `reals` has the guards of floats that calls give, and which of
    them kernels take. `unbound` is the program as formulas, None where it names streams, and `branches` says whether
    streams are of any use to it. `constants` are memory that it refers to, by parameter; `assigned` the arrays that it
    writes into, by number; `into` those whose memory it computes into; `results` what it computes, with the default
    real of each that has another than the runtime's; `repeated` are those that are an array again that stands before,
    and `shape` is how they are returned.
    """

    program: Program
    names: Sequence[str]
    reals: Reals
    unbound: Unbound | None
    branches: bool
    guards: Guards
    constants: Mapping[str, Cell]
    assigned: Sequence[int]
    into: Sequence[int]
    results: Sequence[Result]
    default_reals: Sequence[DType | None]
    repeated: Sequence[tuple[int, int]]
    shape: Shape
    bound: Bound | None = None
    """The program for the sizes that were prepared last."""

    def __post_init__(self) -> None:
        self.what = f"program {self.program.name}"
        """Its name in errors."""
        hints = [param.value.hint for param in self.program.params]
        self.origins = [self.constants[hint] if hint in self.constants else int(hint[1:]) for hint in hints]
        """For each parameter which range of the arguments it is, or the constant."""
        symbols = [symbol.name for symbol in self.program.symbols]
        self._table = Formulas(symbols) if self.unbound is None else self.unbound.table
        self._order = [self.names.index(name) for name in self._table.names]
        self._results = [
            (index, dtype, layout_rows(self._table, layout), real)
            for (index, dtype, layout), real in zip(self.results, self.default_reals, strict=True)
        ]
        self._numbers = [
            (number.name, slot.number, number.dtype)
            for index, slot in enumerate(self.reals.taken)
            for number in self.program.numbers
            if number.name == number_name(Given(index), number.dtype)
        ]

    def numbers(self, floats: Sequence[float]) -> dict[str, float]:
        """The program's scalars for floats that pass the guards."""
        values = self.reals.values(floats)
        assert values is not None
        return {name: float(rounded(values[slot], dtype)) for name, slot, dtype in self._numbers}

    def rows(self, sizes: Sequence[int]) -> list[int]:
        """What formulas say of the sizes of a call."""
        return self._table.values([sizes[index] for index in self._order])

    def results_at(self, rows: Sequence[int], results: Sequence[BufferView]) -> list[_Result]:
        """What comes out, where the program's results are these."""
        return [
            (None if index is None else results[index].buffer, dtype, layout.at(rows), real)
            for index, dtype, layout, real in self._results
        ]


class Prepared(NamedTuple):
    """A program for some sizes."""

    captured: Captured
    bound: Bound
    results: Sequence[_Result]


class Call(NamedTuple):
    """A program for arguments that are just so, each in memory of its own: where in that its parameter begins."""

    prepared: Prepared
    starts: Sequence[int]


def captured_by(
    function: Callable[..., Any],
    name: str,
    arguments: Arguments,
    shape: Shape,
    floats: Sequence[float],
    executor: DeviceExecutor,
) -> Captured:
    """Runs a function once with arrays that have no memory, and floats that keep their formula."""
    guards, reals = Guards(), Reals(len(floats))
    trace = Trace(name, executor, guards)
    numbers = [reals.real(index, number) for index, number in enumerate(floats)]
    args, kwargs = unflatten(shape, trace.parameters(arguments), cast("list[float]", numbers))
    try:
        tracer.set(trace)
        with unchosen():  # streams of a program are counted from the caller's
            returned, returned_shape = flatten(function(*args, **kwargs), f"{name} is captured and returned")
            program, results = trace.end([array._node for array in returned])
    finally:
        tracer.set(None)  # of a captured function inside of a captured one, the Python runs
        guards.close()
        reals.closed = True
    returned_shape = with_leaves(returned_shape, plain_real)
    numbers_of: dict[int, list[int]] = {}
    for number, array in enumerate(returned):
        numbers_of.setdefault(id(array), []).append(number)
    repeated = [(number, first) for first, *again in numbers_of.values() for number in again]
    default_reals = [None if array._executor is executor else array._executor.default_real for array in returned]
    formulas, branching = None, False
    if is_straight(program):
        name, symbolic = _over_formulas(program, executor.kernels)[-1]
        branching = name != "share_memory"
        formulas = Unbound(symbolic)
    names, constants, assigned, into = arguments.names(), trace.constants, trace.assigned, trace.into
    return Captured(
        program, names, reals, formulas, branching, guards, constants, assigned, into, results, default_reals,
        repeated, returned_shape,
    )  # fmt: skip


def _over_formulas(program: Program, kernels: KernelCache) -> list[tuple[str, Schedule]]:
    """What comes of the passes over the formulas of a straight program, by name. Memory is shared where several streams
    are of no use."""
    bound = unbound(program)
    in_place, _ = reuse_in_place(bound, kernels)
    stages = [("bound", bound), ("in_place", in_place)]
    return stages if branches(in_place) else [*stages, ("share_memory", share_memory(in_place)[0])]


def rebound(captured: Captured, sizes: Sequence[int], executor: DeviceExecutor) -> Prepared | None:
    """The program for sizes that pass its guards, where these change nothing but numbers of what was prepared last."""
    formulas, last = captured.unbound, captured.bound
    if formulas is None or last is None or captured.branches or executor.is_watched:
        return None
    rows = captured.rows(sizes)
    bound = last.at(formulas, rows, partial(formulas.at, rows))
    if bound is None:
        return None
    return Prepared(captured, bound, captured.results_at(rows, formulas.schedule.results))


def prepared(captured: Captured, sizes: Sequence[int], executor: DeviceExecutor) -> Prepared:
    """The program for sizes that pass its guards."""
    rows, last = captured.rows(sizes), captured.bound
    schedule, again = _schedule(captured, rows, executor)
    kernels = kernels_of(schedule)
    try:
        handles = handles_for(executor.engine, kernels, None if last is None else last.handles)
    except Error as error:  # perhaps a measured variant's, which is forgotten then: who captures again gets another one
        executor.choices.failed([kernel for kernel in kernels if kernel is not None], error)
        raise
    captured.bound = bound = Bound(schedule, handles, None if handles.asks_for_schedules else again)
    return Prepared(captured, bound, captured.results_at(rows, schedule.results))


def _schedule(
    captured: Captured, rows: Sequence[int], executor: DeviceExecutor
) -> tuple[Schedule, Callable[[], Schedule] | None]:
    """What is to be bound for some sizes, and what makes it again where that is no more than to fill in formulas."""
    program, formulas, target = captured.program, captured.unbound, executor.host_target
    stages: list[tuple[str, Outcome]] = []

    def watch(name: str, outcome: Outcome) -> None:
        stages.append((name, outcome))

    if formulas is None:
        sizes = {symbol.name: row for symbol, row in zip(program.symbols, rows, strict=False)}  # which come first
        schedule = prepare(program, sizes, target, watch)
    else:
        schedule = formulas.at(rows)
        if not (executor.is_watched or (captured.branches and is_worth_streams(schedule))):
            return schedule, partial(formulas.at, rows)
        if executor.is_watched:
            over_formulas = _over_formulas(program, executor.kernels)
            stages += [(name, filled(changed, schedule.bound)) for name, changed in over_formulas]
            watch("packed", schedule)
        schedule = arrange(schedule, target, watch, ARRANGE)
    verify_order(schedule)
    executor.prepared(schedule, stages)
    return schedule, None


def replay(
    prepared: Prepared,
    arguments: Sequence[Buffer] | Sequence[Range],
    starts: Sequence[int],
    floats: Sequence[float],
    executor: DeviceExecutor,
    *,
    wait: bool = True,
) -> Any:
    """Replays a program over the memory of arguments, of which each begins at a byte, with the floats of a call. Raises
    as `run` does."""
    captured, bound, wanted = prepared
    memory: list[Any] = [
        (arguments[origin].storage, starts[origin]) if isinstance(origin, int) else (in_memory(origin.node).storage, 0)
        for origin in captured.origins
    ]
    param_count = len(memory)
    memory += [None] * (bound.buffers + 1 - param_count)
    numbers = captured.numbers(floats) if floats else _NO_NUMBERS
    run(executor.engine, bound, memory, captured.what, bound.lines, numbers, wait=wait)
    line = caller()
    results = []
    for of, dtype, layout, real in wanted:
        owner = executor if real is None else with_real(executor, real)
        if of is None:
            node = buffer(None, dtype, layout, line)
        elif of >= param_count:
            node = buffer(memory[of][0], dtype, layout, line)
        else:  # an argument's memory, which others may look at
            storage, start = memory[of]
            lies = Layout(layout.shape, layout.strides, layout.offset + start // dtype.size)
            node = buffer(storage, dtype, lies, line)
        results.append(Array(node, owner))
    for number, first in captured.repeated:
        results[number] = results[first]
    return unflatten(captured.shape, results)


def in_memory(node: Node) -> Buffer:
    """A node that has been computed."""
    assert isinstance(node, Buffer)
    return node
