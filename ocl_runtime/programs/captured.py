"""What a captured function has become: its program, for sizes that pass its guards, and the same for some sizes.

A program without named streams is bound to new sizes by filling in a table of formulas. It runs on one stream, in
order, unless it has so much work in independent parts that streams and their proof are worth their time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from ocl_ir.graph.build import Buffer, buffer, computed
from ocl_ir.guards import Given, Guards
from ocl_ir.host.grammar import Program
from ocl_ir.host.schedule import Schedule
from ocl_ir.host.unbound import Unbound, branches, is_straight, unbound
from ocl_ir.host.verify_order import verify_order
from ocl_ir.layout import Layout
from ocl_ir.reals import Reals, plain_real
from ocl_ir.sizes import value
from ocl_ir.source_line import caller
from ocl_ir.types import DType
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.dtypes import rounded
from ocl_runtime.arrays.reals import with_real
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.execute.replay.bound import Bound
from ocl_runtime.execute.replay.handles import Handles, Memory, handles_for
from ocl_runtime.execute.replay.run import run
from ocl_runtime.execute.streams.chosen import unchosen
from ocl_runtime.executor import DeviceExecutor
from ocl_runtime.plan.host.in_place import reuse_in_place, share_memory
from ocl_runtime.plan.host.lower import number_name
from ocl_runtime.plan.host.prepare import ARRANGE, prepare
from ocl_runtime.plan.host.prepare import run as arrange
from ocl_runtime.plan.host.streams import is_worth_streams
from ocl_runtime.plan.registry import Cell
from ocl_runtime.plan.tracing import tracer
from ocl_runtime.programs.arguments import Arguments, Range
from ocl_runtime.programs.trace import Result, Trace
from ocl_runtime.programs.trees import Shape, flatten, unflatten, with_leaves

_NO_NUMBERS: Mapping[str, float] = MappingProxyType({})


@dataclass(eq=False)
class Captured:
    """A function's program, for arguments whose sizes pass the guards.

    `reals` has the guards of floats that calls give, and which of them kernels take. `unbound` is the program as
    formulas, None where it names streams, and `branches` says whether streams are of any use to it. `constants` are
    memory that it refers to, by parameter; `assigned` the arrays that it writes into, by number; `results` what it
    computes, with the default real of each that has another than the runtime's, and `shape` how that is returned.
    """

    program: Program
    reals: Reals
    unbound: Unbound | None
    branches: bool
    guards: Guards
    constants: Mapping[str, Cell]
    assigned: Sequence[int]
    results: Sequence[Result]
    default_reals: Sequence[DType | None]
    shape: Shape
    handles: Handles | None = None
    """The kernel objects for the sizes that were prepared last."""

    def __post_init__(self) -> None:
        self._numbers = [
            (number.name, slot.number, number.dtype)
            for place, slot in enumerate(self.reals.taken)
            for number in self.program.numbers
            if number.name == number_name(Given(place), number.dtype)
        ]

    def numbers(self, floats: Sequence[float]) -> dict[str, float]:
        """The program's scalars for floats that pass the guards."""
        values = self.reals.values(floats)
        assert values is not None
        return {name: float(rounded(values[slot], dtype)) for name, slot, dtype in self._numbers}

    @property
    def what(self) -> str:
        """Its name in errors."""
        return f"program {self.program.name}"


class _Result(NamedTuple):
    """A result of a program for some sizes: its buffer (None: it has no elements), how it lies there, and the default
    real of its executor where that is not the runtime's."""

    buffer: int | None
    dtype: DType
    layout: Layout
    real: DType | None


class Prepared(NamedTuple):
    """A program for some sizes. `origins` says for each parameter which range of the arguments it is, or the
    constant."""

    captured: Captured
    bound: Bound
    origins: Sequence[int | Cell]
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
    runtime: DeviceExecutor,
) -> Captured:
    """Runs a function once with arrays that have no memory, and floats that keep their formula."""
    guards, reals = Guards(), Reals(len(floats))
    trace = Trace(name, runtime, guards)
    numbers = [reals.real(place, number) for place, number in enumerate(floats)]
    args, kwargs = unflatten(shape, trace.parameters(arguments), cast("list[float]", numbers))
    try:
        tracer.set(trace)
        with unchosen():  # streams of a program are counted from the caller's
            returned, returned_shape = flatten(function(*args, **kwargs), f"{name} is captured and returned")
            with runtime.registry.lock:  # nobody computes what the function has used of the outside
                program, results = trace.end([one._node for one in returned])
    finally:
        tracer.set(None)  # of a captured function inside of a captured one, the Python runs
        guards.close()
        reals.closed = True
    returned_shape = with_leaves(returned_shape, plain_real)
    default_reals = [None if one._executor is runtime else one._executor.default_real for one in returned]
    formulas, branching = None, False
    if is_straight(program):
        symbolic, _ = reuse_in_place(unbound(program), runtime.kernels)
        branching = branches(symbolic)
        formulas = Unbound(symbolic if branching else share_memory(symbolic)[0])
    constants, assigned = trace.constants, trace.assigned
    return Captured(
        program, reals, formulas, branching, guards, constants, assigned, results, default_reals, returned_shape
    )


def prepared(captured: Captured, sizes: dict[str, int], runtime: DeviceExecutor) -> Prepared:
    """The program for sizes that pass its guards."""
    program, engine, target = captured.program, runtime.engine, runtime.host_target
    schedule = None if captured.unbound is None else captured.unbound.at(sizes)
    stages: list[tuple[str, Schedule]] = []

    def watch(name: str, after: Schedule) -> None:
        stages.append((name, after))

    if schedule is None:
        own = {symbol.name: sizes[symbol.name] for symbol in program.symbols}
        schedule = prepare(program, own, target, watch)
    elif runtime.is_watched or (captured.branches and is_worth_streams(schedule)):
        schedule = arrange(schedule, target, watch, ARRANGE)
    if schedule.memory is not None:  # it was arranged
        verify_order(schedule)
        runtime.prepared(schedule, stages)
    constants = captured.constants
    names = [one.value.hint for one in program.params]
    origins = [constants[name] if name in constants else int(name[1:]) for name in names]
    captured.handles = handles = handles_for(engine, schedule, captured.handles)
    bound = Bound(schedule, handles)
    buffers = [place.buffer for place in schedule.results]
    results = []
    for (place, dtype, given), real in zip(captured.results, captured.default_reals, strict=True):
        shape, strides = (tuple(value(one, sizes) for one in part) for part in (given.shape, given.strides))
        layout = Layout(shape, strides, value(given.offset, sizes))
        results.append(_Result(None if place is None else buffers[place], dtype, layout, real))
    return Prepared(captured, bound, origins, results)


def replay(
    prepared: Prepared,
    arguments: Sequence[Buffer] | Sequence[Range],
    starts: Sequence[int],
    floats: Sequence[float],
    runtime: DeviceExecutor,
) -> Any:
    """Replays a program over the memory of arguments, of which each begins at a byte, with the floats of a call."""
    captured, bound, origins, wanted = prepared
    memory: Memory = [None] * (len(bound.schedule.buffers) + 1)
    for param, origin in enumerate(origins):
        if isinstance(origin, int):
            memory[param] = arguments[origin].storage, starts[origin]
        else:
            memory[param] = _buffer(origin).storage, 0
    run(runtime.engine, bound, memory, captured.what, bound.lines, captured.numbers(floats) if floats else _NO_NUMBERS)
    line = caller()
    results = []
    for of, dtype, layout, real in wanted:
        storage: Storage | None = None
        lies = layout
        if of is not None:
            part = memory[of]
            assert isinstance(part, tuple)
            storage, start = part
            if start:
                lies = Layout(layout.shape, layout.strides, layout.offset + start // dtype.size)
        executor = runtime if real is None else with_real(runtime, real)
        is_new = of is not None and of >= len(origins)  # else it is an argument's memory, which others may look at
        made = computed if is_new else buffer
        results.append(Array(made(storage, dtype, lies, line), executor))
    return unflatten(captured.shape, results)


def _buffer(cell: Cell) -> Buffer:
    assert isinstance(cell.node, Buffer)
    return cell.node
