"""A host program from what a Python function does with arrays and kernels.

    @capture
    def step(x, y):
        return x + y * ocl.sin(x), x - y

The first call with arrays of some dtypes, shapes and strides runs the function once with arrays that have no memory
yet. What it would have computed is written down as a host program, which is then planned, prepared and replayed; later
calls run no Python of the function. A new shape is captured again, and builds no kernel that is there.

What the function does beside arrays happens once, when it is captured: it must not depend on values. Asking for one (in
an `if`, by `float(x)` or `x.numpy()`) is an error that names the line. Arrays that the function refers to, other than
its arguments, are constants: the program keeps the memory that they have then. Calls with other Python values are
captured apart.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ir import graph
from ir.accesses import WRITE, modes
from ir.graph import Buffer, Node
from ir.host import Program, SymbolicLayout, Value
from ir.host_builder import HostBuilder
from ir.kernel import Kernel
from ir.layout import Layout
from ir.reference import calling_line
from ir.types import U8, Pointer
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.array import compute
from ocl_runtime.errors import DTypeError, Error
from ocl_runtime.execute.driver import Bytes
from ocl_runtime.execute.replay import ALIGNED, Replay
from ocl_runtime.execute.steps import Part
from ocl_runtime.execute.storage import Storage
from ocl_runtime.execute.streams import chosen, unchosen
from ocl_runtime.plan.host.prepare import prepare
from ocl_runtime.plan.launch import Address, Argument, Plan
from ocl_runtime.plan.planner import plan
from ocl_runtime.plan.tracing import tracer
from ocl_runtime.programs.trees import Shape, flatten, unflatten
from ocl_runtime.runtime import Runtime

_MOST_CAPTURED = 64
"""Programs that one function keeps."""


class Planned:
    """A storage that will have memory when the program runs."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes

    def __repr__(self) -> str:
        return "<memory of a captured program: it has no values>"


@dataclass
class Captured:
    """A function's program for one kind of arguments. `constants` are memory that it refers to, by parameter.

    `results` says for each result its place among the program's (-1: it has no elements), and the node that knows its
    dtype and layout; `shape` how they were returned.
    """

    program: Program
    replay: Replay
    constants: dict[str, Storage]
    results: list[tuple[int, Buffer]]
    shape: Shape


def capture(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that replays what `function` does with arrays.

    Arrays may stand in tuples, lists and dictionaries, in arguments as in what is returned; other arguments are told
    apart by their values. Raises `DTypeError` for arguments without an array or that cannot be told apart.
    """
    known: WeakKeyDictionary[Runtime, OrderedDict[Hashable, Captured]] = WeakKeyDictionary()
    lock = threading.Lock()
    name = getattr(function, "__name__", type(function).__name__)

    @functools.wraps(function)
    def replayed(*args: Any, **kwargs: Any) -> Any:
        arrays, shape = flatten((args, kwargs), f"{name} is captured and got")
        if not arrays:
            raise DTypeError(f"{name} is captured and got no array", place=calling_line(), remedy="give it arrays")
        runtime = arrays[0].executor
        if not isinstance(runtime, Runtime) or tracer.get() is not None:
            return function(*args, **kwargs)
        compute(*arrays)
        key = (shape, *_layouts(arrays))
        with lock:
            programs = known.setdefault(runtime, OrderedDict())
            found = programs.get(key)
            if found is not None:
                programs.move_to_end(key)
        if found is None:
            found = _captured(function, name, arrays, shape, runtime)
            with lock:
                programs[key] = found
                while len(programs) > _MOST_CAPTURED:
                    programs.popitem(last=False)
        return _replayed(found, arrays, runtime)

    return replayed


@dataclass(frozen=True, slots=True)
class _Range:
    """The memory of arguments that overlap: bytes `low … high` of a storage, `low` a multiple of `ALIGNED`."""

    storage: Storage
    low: int
    high: int


def _ranges(arrays: list[Array]) -> tuple[list[_Range], list[int]]:
    """The memory of arguments, in ranges that do not overlap, and for each argument which it lies in (-1: in none)."""
    spans: list[tuple[Storage, int, int]] = []
    places: list[int] = []
    for one in arrays:
        node = one.node
        assert isinstance(node, Buffer)
        if node.storage is None:
            places.append(-1)
            continue
        low, high = (end * node.dtype.size for end in node.layout.range())
        low, number = low // ALIGNED * ALIGNED, len(spans)
        for other, (storage, begin, end) in enumerate(spans):
            if storage is node.storage and low < end and begin < high:
                low, high, number = min(low, begin), max(high, end), min(number, other)
                places = [number if place == other else place for place in places]
        span = (node.storage, low, high)
        if number == len(spans):
            spans.append(span)
        else:
            spans[number] = span
        places.append(number)
    used = sorted(set(places) - {-1})
    ranges = [_Range(*spans[number]) for number in used]
    return ranges, [-1 if place < 0 else used.index(place) for place in places]


def _moved(node: Buffer, low: int) -> Layout:
    """The layout of an argument in its range."""
    return replace(node.layout, offset=node.layout.offset - low // node.dtype.size)


def _layouts(arrays: list[Array]) -> list[Hashable]:
    """What of the arrays a program depends on: dtypes, layouts, and which of them share memory."""
    ranges, places = _ranges(arrays)
    found: list[Hashable] = [one.high - one.low for one in ranges]
    for one, place in zip(arrays, places, strict=True):
        node = one.node
        assert isinstance(node, Buffer)
        layout = node.layout if place < 0 else _moved(node, ranges[place].low)
        found.append((node.dtype, layout, place))
    return found


def _captured(function: Callable[..., Any], name: str, arrays: list[Array], shape: Shape, runtime: Runtime) -> Captured:
    """Runs the function once with arrays that have no memory."""
    trace = Trace(name, runtime)
    args, kwargs = unflatten(shape, trace.parameters(arrays))
    token = tracer.set(trace)
    try:
        with unchosen():  # streams of a program are counted from the caller's
            returned, returned_shape = flatten(function(*args, **kwargs), f"{name} is captured and returned")
            results = trace.results([one.node for one in returned])
    finally:
        tracer.reset(token)
        trace.restore()
    return trace.end(results, returned_shape)


def _replayed(captured: Captured, arrays: list[Array], runtime: Runtime) -> Any:
    parts: dict[str, Part | Bytes] = {name: Part(storage) for name, storage in captured.constants.items()}
    ranges, _ = _ranges(arrays)
    parts |= {f"x{number}": Part(one.storage, one.low) for number, one in enumerate(ranges)}
    found = captured.replay(parts)
    results = []
    for place, node in captured.results:
        if place < 0:  # it has no elements
            results.append(Array(graph.buffer(None, node.dtype, node.layout), runtime))
            continue
        storage, offset = found[place][0]
        results.append(Array(graph.buffer(storage, node.dtype, _moved(node, -offset)), runtime))
    return unflatten(captured.shape, results)


class Trace:
    """Writes launches down as statements of a host program, in which memory is bytes that each launch views."""

    def __init__(self, name: str, runtime: Runtime) -> None:
        self._builder = HostBuilder(name if name.isidentifier() and name.isascii() else "captured")
        self._runtime = runtime
        self._values: dict[int, Value] = {}
        self._storages: dict[int, object] = {}
        self._constants: dict[str, Storage] = {}
        self._inputs: list[Value] = []
        self._written: list[Value] = []
        self._rebound: list[tuple[Any, Node]] = []

    def parameters(self, arrays: list[Array]) -> list[Array]:
        """Arrays like the given ones, whose memory are parameters of the program."""
        ranges, places = _ranges(arrays)
        stand_ins = [Planned(one.high - one.low) for one in ranges]
        for number, stand_in in enumerate(stand_ins):
            self._know(stand_in, self._input(f"x{number}", stand_in.nbytes))
        found = []
        for one, place in zip(arrays, places, strict=True):
            node = one.node
            assert isinstance(node, Buffer)
            if place < 0:  # it has no elements
                found.append(one)
                continue
            layout = _moved(node, ranges[place].low)
            found.append(Array(graph.buffer(stand_ins[place], node.dtype, layout), self._runtime))
        return found

    def rebound(self, array: Any, node: Node) -> None:
        """An array that was `node` holds memory of the program now; after the capture it is `node` again."""
        self._rebound.append((array, node))

    def restore(self) -> None:
        """Nothing that was made outside of the function has come to be a part of the program."""
        for array, node in reversed(self._rebound):
            array._node = node

    def allocate(self, nbytes: int, where: str) -> Planned:
        """Scratch memory of the program, or memory of a result."""
        planned = Planned(nbytes)
        self._know(planned, self._builder.alloc(U8, (nbytes,), "t"))
        return planned

    def has_no_values(self, storage: object) -> bool:
        """Whether it is a part of the program only, or is written by it."""
        value = self._values.get(id(storage))
        return isinstance(storage, Planned) or value in self._written

    def run(self, plan: Plan) -> None:
        """Writes down a plan's launches."""
        for launch in plan.launches:
            self.launch(launch.kernel, launch.args, launch.global_size, launch.group_size)

    def launch(
        self,
        kernel: Kernel,
        args: Sequence[Argument | int | float],
        global_size: tuple[int, ...],
        group_size: tuple[int, ...] | None,
    ) -> None:
        """Writes down one launch, on the stream that the function has chosen, if it has."""
        given = []
        for param, arg, mode in zip(kernel.params, args, modes(kernel), strict=True):
            if not isinstance(arg, Address):
                given.append(arg.item() if isinstance(arg, np.generic) else arg)
                continue
            pointer = param.value.type
            assert isinstance(pointer, Pointer)
            base = self._value(arg.storage)
            touched = arg.touched
            if touched is None:
                length = arg.storage.nbytes // pointer.dtype.size - arg.offset
                touched = Layout((length,), (1,), arg.offset)
            if mode & WRITE and base in self._inputs:
                self._builder.writes(base)
                self._written.append(base)
            layout = SymbolicLayout(touched.shape, touched.strides, touched.offset)
            given.append(self._builder.view(base, layout, dtype=pointer.dtype))
        number = chosen()
        if number is None:
            self._builder.launch(kernel, given, global_size, group_size)
        else:
            with self._builder.stream(number):
                self._builder.launch(kernel, given, global_size, group_size)

    def results(self, roots: list[Node]) -> list[Buffer]:
        """The results as memory; what would be memory that the caller keeps is copied."""
        planned = plan(roots, self._runtime)
        self.run(planned)
        found = list(planned.results)
        for place, node in enumerate(planned.results):
            if node.storage is not None and self._is_kept(node.storage):
                copied = plan([node], self._runtime, dense=True)
                self.run(copied)
                found[place] = copied.results[0]
        return found

    def _is_kept(self, storage: object) -> bool:
        value = self._values.get(id(storage))
        return value is None or (value in self._inputs and value not in self._written)

    def end(self, results: list[Buffer], shape: Shape) -> Captured:
        """The program, prepared."""
        outs: list[Value] = []
        places: list[tuple[int, Buffer]] = []
        for node in results:
            if node.storage is None:
                places.append((-1, node))
                continue
            value = self._value(node.storage)
            if value not in outs:
                outs.append(value)
            places.append((outs.index(value), node))
        program = self._builder.build(*outs)
        engine, target = self._runtime.engine, self._runtime.target
        schedule, memory = prepare(
            program,
            {},
            self._runtime.kernels,
            streams=engine.streams.count,
            group_size=target.group_size,
            limit=self._runtime.settings.memory_limit,
        )
        self._runtime.prepared(schedule, memory)
        return Captured(program, Replay(engine, schedule), self._constants, places, shape)

    def _input(self, name: str, nbytes: int) -> Value:
        value = self._builder.input(name, U8, (nbytes,))
        self._inputs.append(value)
        return value

    def _know(self, storage: object, value: Value) -> None:
        self._storages[id(storage)] = storage
        self._values[id(storage)] = value

    def _value(self, storage: Any) -> Value:
        """The value of a storage; one that has memory already is a constant of the program."""
        found = self._values.get(id(storage))
        if found is None:
            if not isinstance(storage, Storage):
                raise Error(
                    "a captured function uses an array that another captured function kept",
                    place=calling_line(),
                    remedy="return arrays from captured functions; do not keep them elsewhere",
                )
            name = f"constant{len(self._constants)}"
            self._constants[name] = storage
            found = self._input(name, storage.nbytes)
            self._know(storage, found)
        return found
