"""A host program from what a Python function does with arrays and kernels.

    @capture
    def step(x, y):
        return x + y * ocl.sin(x), x - y

The first call with arrays of some dtypes and numbers of axes runs the function once with arrays that have no memory
yet. What it would have computed is written down as a host program, in which the lengths and strides of the arguments
are sizes that each call binds. Later calls run no Python of the function: for new shapes the program is planned and
prepared again, and for shapes that were there it is replayed. No kernel is built twice.

Where the function, or the planning of its kernels, decides something by a size, that becomes a guard of the program
(`ocl_ir.guards`), and a call that does not pass it is captured again. Values it must not depend on: asking for one (in
an `if`, by `float(x)` or `x.numpy()`) is an error that names the line. What it does beside arrays happens when it is
captured. Arrays that it refers to, other than its arguments, are constants: the program keeps the memory that they
have then. Calls with other Python values are captured apart.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, TypeVar, cast
from weakref import WeakKeyDictionary

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer
from ocl_ir.guards import Guards
from ocl_ir.host.grammar import Program
from ocl_ir.host.unbound import Unbound, branches, is_straight, unbound
from ocl_ir.host.verify_order import verify_order
from ocl_ir.layout import Layout
from ocl_ir.sizes import value
from ocl_ir.source_line import calling_line
from ocl_ir.types import DType
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.array import compute
from ocl_runtime.arrays.reals import runtime_of, with_real
from ocl_runtime.errors import DTypeError
from ocl_runtime.execute.replay.bound import Bound
from ocl_runtime.execute.replay.run import Memory, run
from ocl_runtime.execute.streams.chosen import unchosen
from ocl_runtime.plan.host.in_place import reuse_in_place
from ocl_runtime.plan.host.prepare import prepare
from ocl_runtime.plan.host.streams import is_worth_streams
from ocl_runtime.plan.planner import plan
from ocl_runtime.plan.registry import Cell, alone
from ocl_runtime.plan.tracing import tracer
from ocl_runtime.programs.arguments import Arguments
from ocl_runtime.programs.trace import Result, Trace
from ocl_runtime.programs.trees import Shape, flatten, unflatten
from ocl_runtime.runtime import Runtime

_MOST_PREPARED = 64
"""Programs with their sizes bound that one function keeps."""
_MOST_PROGRAMS = 16
"""Programs that it keeps for arguments of the same dtypes and numbers of axes."""
_MOST_FAMILIES = 64
"""Kinds of arguments, other Python values among them, that it keeps programs for, and so their constants."""


@dataclass(frozen=True)
class Captured:
    """A function's program, for arguments whose sizes pass the guards.

    `unbound` is the program as formulas, None where it names streams, and `branches` says whether streams are of any
    use to it. `constants` are memory that it refers to, by parameter; `assigned` the arrays that it writes into, by
    number; `results` what it computes, with the default real of each, and `shape` how that is returned.
    """

    program: Program
    unbound: Unbound | None
    branches: bool
    guards: Guards
    constants: Mapping[str, Cell]
    assigned: Sequence[int]
    results: Sequence[Result]
    reals: Sequence[DType]
    shape: Shape


@dataclass(frozen=True)
class _Prepared:
    """A program for some sizes: `layouts` are those of its results."""

    captured: Captured
    bound: Bound
    layouts: list[Layout]


class _Programs:
    """What one function has become on one runtime."""

    def __init__(self) -> None:
        self.prepared: OrderedDict[Hashable, _Prepared] = OrderedDict()
        self.captured: OrderedDict[Hashable, list[Captured]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> _Prepared | None:
        """What was prepared for a call just like this one."""
        with self._lock:
            found = self.prepared.get(key)
            if found is not None:
                self.prepared.move_to_end(key)
            return found

    def fitting(self, family: Hashable, sizes: dict[str, int]) -> Captured | None:
        """A program whose guards the sizes pass."""
        with self._lock:
            programs = list(self.captured.get(family, ()))
            if programs:
                self.captured.move_to_end(family)
        return next((one for one in reversed(programs) if one.guards.hold(sizes)), None)

    def keep(self, family: Hashable, captured: Captured) -> None:
        """Takes note of a new program."""
        with self._lock:
            programs = self.captured.setdefault(family, [])
            programs.append(captured)
            del programs[:-_MOST_PROGRAMS]
            for _ in range(len(self.captured) - _MOST_FAMILIES):
                self.captured.popitem(last=False)

    def keep_prepared(self, key: Hashable, prepared: _Prepared) -> None:
        """Takes note of one with its sizes bound."""
        with self._lock:
            self.prepared[key] = prepared
            for _ in range(len(self.prepared) - _MOST_PREPARED):
                self.prepared.popitem(last=False)


_Args = ParamSpec("_Args")
_Returned = TypeVar("_Returned")


def capture(function: Callable[_Args, _Returned]) -> Callable[_Args, _Returned]:
    """A function that replays what `function` does with arrays.

    Arrays may stand in tuples, lists and dictionaries, in arguments as in what is returned; other arguments are told
    apart by their values. With `OCL_RUNTIME_CHECK=on` the function is called as it is. Raises `DTypeError` for
    arguments without an array or that cannot be told apart.
    """
    known: WeakKeyDictionary[Runtime, _Programs] = WeakKeyDictionary()
    lock = threading.Lock()
    name = getattr(function, "__name__", type(function).__name__)

    @functools.wraps(function)
    def replayed(*args: _Args.args, **kwargs: _Args.kwargs) -> _Returned:
        arrays, shape = flatten((args, kwargs), f"{name} is captured and got")
        if not arrays:
            raise DTypeError(f"{name} is captured and got no array", place=calling_line(), remedy="give it arrays")
        runtime = runtime_of(arrays[0]._executor)
        if not isinstance(runtime, Runtime) or tracer.get() is not None or runtime.checks is not None:
            return function(*args, **kwargs)
        for x in arrays:
            if x._value:
                x._detach()  # from the array that it was read from, which may be another argument
        arguments = _arguments(arrays, runtime)
        with lock:
            programs = known.setdefault(runtime, _Programs())
        key = (shape, arguments.exactly())
        found = programs.find(key)
        if found is None:
            family, sizes = (shape, arguments.family()), arguments.sizes()
            captured = programs.fitting(family, sizes)
            if captured is None:
                captured = _captured(function, name, arguments, shape, runtime)
                programs.keep(family, captured)
            found = _prepared(captured, sizes, runtime)
            programs.keep_prepared(key, found)
        if not found.captured.assigned:
            return cast("_Returned", _replayed(found, arguments, runtime))
        with runtime.registry.lock:
            del arguments  # who refers to memory needs it
            _own([arrays[number] for number in found.captured.assigned])
            arguments = _arguments(arrays, runtime)
            if (shape, arguments.exactly()) != key:  # copied, or another thread has written
                return replayed(*args, **kwargs)
            return cast("_Returned", _replayed(found, arguments, runtime))

    return replayed


def _arguments(arrays: Sequence[Array], runtime: Runtime) -> Arguments:
    with runtime.registry.lock:  # nobody writes in between
        compute(*arrays)
        return Arguments(arrays)


def _captured(
    function: Callable[..., Any], name: str, arguments: Arguments, shape: Shape, runtime: Runtime
) -> Captured:
    """Runs the function once with arrays that have no memory."""
    guards = Guards()
    trace = Trace(name, runtime, guards)
    args, kwargs = unflatten(shape, trace.parameters(arguments))
    try:
        tracer.set(trace)
        with unchosen():  # streams of a program are counted from the caller's
            returned, returned_shape = flatten(function(*args, **kwargs), f"{name} is captured and returned")
            with runtime.registry.lock:  # nobody computes what the function has used of the outside
                program, results = trace.end([one._node for one in returned])
    finally:
        tracer.set(None)  # of a captured function inside of a captured one, the Python runs
        guards.close()
    reals = [one._executor.default_real for one in returned]
    symbolic = reuse_in_place(unbound(program), runtime.kernels)[0] if is_straight(program) else None
    branching = symbolic is not None and branches(symbolic)
    formulas = None if symbolic is None else Unbound(symbolic)
    return Captured(
        program, formulas, branching, guards, trace.constants, trace.assigned, results, reals, returned_shape
    )


def _prepared(captured: Captured, sizes: dict[str, int], runtime: Runtime) -> _Prepared:
    program, engine = captured.program, runtime.engine
    schedule = None if captured.unbound is None else captured.unbound.at(sizes)
    if schedule is None or runtime.is_watched or (captured.branches and is_worth_streams(schedule)):
        own = {symbol.name: sizes[symbol.name] for symbol in program.symbols}
        schedule, memory = prepare(
            program,
            own,
            runtime.kernels,
            streams=engine.streams.count,
            group_size=runtime.target.group_size,
            limit=runtime.settings.memory_limit,
        )
        runtime.prepared(schedule, memory)
        verify_order(schedule)
    layouts = [
        Layout(
            tuple(value(one, sizes) for one in layout.shape),
            tuple(value(one, sizes) for one in layout.strides),
            value(layout.offset, sizes),
        )
        for _, _, layout in captured.results
    ]
    return _Prepared(captured, Bound(schedule, engine.executables_of(schedule)), layouts)


def _replayed(prepared: _Prepared, arguments: Arguments, runtime: Runtime) -> Any:
    captured, bound = prepared.captured, prepared.bound
    memory: Memory = [None] * (len(bound.schedule.buffers) + 1)
    for number, param in enumerate(captured.program.params):
        cell = captured.constants.get(param.value.hint)
        if cell is not None:
            memory[number] = _buffer(cell).storage, 0
        else:
            range_ = arguments.ranges[int(param.value.hint[1:])]
            memory[number] = range_.storage, range_.low
    run(runtime.engine, bound, memory, f"program {captured.program.name}", bound.lines(calling_line()))
    found = [memory[place.buffer] for place in bound.schedule.results]
    results = []
    for (place, dtype, _), real, layout in zip(captured.results, captured.reals, prepared.layouts, strict=True):
        executor = with_real(runtime, real)
        if place is None:  # it has no elements
            results.append(Array(graph.buffer(None, dtype, layout), executor))
            continue
        part = found[place]
        assert isinstance(part, tuple)
        lies = replace(layout, offset=layout.offset + part[1] // dtype.size)
        results.append(Array(graph.buffer(part[0], dtype, lies), executor))
    return unflatten(captured.shape, results)


def _buffer(cell: Cell) -> Buffer:
    assert isinstance(cell.node, Buffer)
    return cell.node


def _own(arrays: Sequence[Array]) -> None:
    """Makes arrays the only ones in their memory, which is to be overwritten."""
    shared = [one for one in arrays if not alone(one._cell)]
    for one in shared:
        copied = plan([one._cell.node], one._executor, dense=True)
        one._executor.run(copied)
        one._cell.become(copied.results[0])
