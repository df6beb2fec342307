"""A host program with arrays for its parameters.

The first call with some sizes plans and prepares (compiles, sets arguments, takes an arena); every later one replays.
Sizes are found from the shapes of the arrays, and those that no shape has are given by name. Results are new arrays
each time, except where the caller gave memory for them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer
from ocl_ir.host.grammar import Parameter, Program
from ocl_ir.host.printer import text
from ocl_ir.host.schedule import BufferView, MemoryPlan
from ocl_ir.layout import Layout
from ocl_ir.sizes import Size, Symbol, value
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array, current
from ocl_runtime.arrays.current_runtime import AnyRuntime
from ocl_runtime.arrays.functions.transfers import contiguous
from ocl_runtime.arrays.reals import base_executor
from ocl_runtime.errors import DTypeError, Error, LaunchError, MixedDevicesError, NoRoomYetError, ShapeError
from ocl_runtime.execute.driver import Bytes
from ocl_runtime.execute.replay.execution import Part
from ocl_runtime.execute.replay.replay import ALIGNED, Replay
from ocl_runtime.executor import DeviceExecutor
from ocl_runtime.plan.host.prepare import Outcome
from ocl_runtime.plan.host.prepare import prepare as prepare_schedule
from ocl_runtime.plan.tracing import tracer
from ocl_runtime.programs.own_memory import ATTEMPTS, shared

_MOST_PREPARED = 64
"""Sizes for which a program stays prepared."""


def prepare(program: Program, runtime: AnyRuntime | None = None) -> Prepared:
    """The program, to be called with arrays; on the runtime in use unless another is given."""
    executor = (current() if runtime is None else runtime).executor
    assert isinstance(executor, DeviceExecutor)
    return Prepared(program, executor)


class Prepared:
    """A program to be called. Any thread may call it."""

    def __init__(self, program: Program, executor: DeviceExecutor) -> None:
        self.program = program
        self.executor = executor
        self._params: dict[str, Parameter] = {param.value.hint: param for param in program.params}
        self._prepared: OrderedDict[tuple[int, ...], tuple[Replay, MemoryPlan]] = OrderedDict()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return text(self.program)

    def __call__(
        self, *positional: Array | NDArray[Any], **named: Array | NDArray[Any] | int
    ) -> Array | tuple[Array, ...] | None:
        """Starts the program: inputs and outputs in their order or by name, other sizes by name.

        Arrays of the host, for its host parameters, must stay as they are until `Runtime.finish` has returned.

        Gives the result, a tuple of several, or None. Raises `ShapeError` for arrays and sizes that do not fit,
        `DTypeError` for another dtype, `MixedDevicesError` for another runtime's, `Error` in a captured function.
        """
        if tracer.get() is not None:
            raise Error(
                f"a captured function calls program {self.program.name}, which has memory of its own",
                place=calling_line(),
                remedy="call it outside of the captured function",
            )
        arrays = self._arguments(positional, named)
        sizes = self._sizes(
            arrays, {name: int(number) for name, number in named.items() if isinstance(number, int | np.integer)}
        )
        replay, _ = self.prepared(sizes)
        results = tuple(
            Array(
                graph.buffer(part.storage, result.dtype, _moved(result.layout, part, result.dtype.size)), self.executor
            )
            for part, result in self._replayed(replay, arrays)
        )
        return None if not results else results[0] if len(results) == 1 else results

    def _replayed(self, replay: Replay, arrays: dict[str, Array | NDArray[Any]]) -> list[tuple[Part, BufferView]]:
        """Replays over the memory of arrays; those that it writes, and whose memory others need, get other memory."""
        written: dict[str, Array] = {}
        for name, param in self._params.items():
            array = arrays[name]
            if isinstance(array, Array) and (param.output or param.written or param.donated):
                written[name] = array
        if not written:
            return replay(self._parts(arrays))
        for name, array in arrays.items():  # which plans and builds without the lock
            if isinstance(array, Array):
                node = array._computed()
                if name not in written and not _lies_well(node):
                    arrays[name] = Array(contiguous(array), self.executor)
                del node  # whoever has it needs it
        attempts = count()
        while written:
            try:
                results = self._replayed_over_own(replay, arrays, written, wait=next(attempts) >= ATTEMPTS)
            except NoRoomYetError as error:
                error.wait()
            else:
                if results is not None:
                    return results
        return replay(self._parts(arrays))

    def _replayed_over_own(
        self, replay: Replay, arrays: Mapping[str, Array | NDArray[Any]], written: dict[str, Array], *, wait: bool
    ) -> list[tuple[Part, BufferView]] | None:
        """Replays where nobody else needs the memory that is written. Else gives arrays memory of their own; of those
        that are `written`, outputs go whose memory is spoilt: nobody needs what lies there."""
        with self.executor.registry.lock:
            needed = shared((), [*written.values()])
            if not needed:
                return replay(self._parts(arrays), wait=wait)
        for name, array in [*written.items()]:
            if any(array is other for other in needed):
                if not array._computed().layout.repeats:  # else it will lie in another way
                    self._check_placed(self._params[name], array._computed())
                try:
                    array._own()
                except LaunchError:
                    if not self._params[name].output:
                        raise
                    del written[name]
        return None

    def _parts(self, arrays: Mapping[str, Array | NDArray[Any]]) -> dict[str, Part | Bytes]:
        return {name: self._part(param, arrays[name]) for name, param in self._params.items()}

    def prepared(self, sizes: Mapping[str, int]) -> tuple[Replay, MemoryPlan]:
        """What a call with these sizes replays, and how well its memory was planned."""
        key = tuple(sizes[symbol.name] for symbol in self.program.symbols)
        with self._lock:
            cached = self._prepared.get(key)
            if cached is not None:
                self._prepared.move_to_end(key)
                return cached
        executor = self.executor
        stages: list[tuple[str, Outcome]] = []
        schedule = prepare_schedule(self.program, sizes, executor.host_target, lambda *stage: stages.append(stage))
        executor.prepared(schedule, stages)
        assert schedule.memory is not None
        made = Replay(executor.engine, schedule), schedule.memory
        with self._lock:
            self._prepared[key] = made
            for _ in range(len(self._prepared) - _MOST_PREPARED):
                self._prepared.popitem(last=False)
        return made

    # ------------------------------------------------------------------ arguments

    def _arguments(
        self, positional: tuple[Array | NDArray[Any], ...], named: Mapping[str, Array | NDArray[Any] | int]
    ) -> dict[str, Array | NDArray[Any]]:
        names = list(self._params)
        arguments: dict[str, Any] = dict(zip(names, positional, strict=False))
        symbols = {symbol.name for symbol in self.program.symbols}
        twice = [name for name in named if name in arguments]
        arguments |= {name: argument for name, argument in named.items() if name not in symbols}
        wrong = sorted(set(arguments) ^ set(names))
        if len(positional) > len(names) or twice or wrong:
            raise self._unfit(f"got {len(positional)} arrays in order and {', '.join(named) or 'none'} by name")
        for name, argument in arguments.items():
            self._check(name, argument)
        return arguments

    def _check(self, name: str, argument: object) -> None:
        """That an argument is an array of the right side, dtype and runtime."""
        param = self._params[name]
        wanted = np.ndarray if param.host else Array
        if not isinstance(argument, wanted):
            raise DTypeError(
                f"program {self.program.name} got a {type(argument).__name__} for {name}",
                place=calling_line(),
                remedy="give a NumPy array: it is memory of the host" if param.host else "give an array: asarray(x)",
            )
        if isinstance(argument, Array) and base_executor(argument._executor) is not self.executor:
            raise MixedDevicesError(
                f"program {self.program.name} got an array of another runtime for {name}",
                place=calling_line(),
                remedy="move it first: with use(runtime): asarray(x.numpy())",
            )
        dtype = param.value.dtype
        known = dtype.numpy if param.host else dtype.public
        if argument.dtype != known:
            raise DTypeError(
                f"program {self.program.name} got {argument.dtype} for {name}",
                place=calling_line(),
                remedy=f"it takes {known}: astype(x, …)",
            )
        if isinstance(argument, np.ndarray) and not (
            argument.flags.c_contiguous and (argument.flags.writeable or not param.output)
        ):
            raise ShapeError(
                f"program {self.program.name} got an array for {name} that is not contiguous or cannot be written",
                place=calling_line(),
                remedy="give a contiguous array, best one of pinned_empty",
            )

    def _sizes(self, arrays: Mapping[str, Array | NDArray[Any]], named: Mapping[str, int]) -> dict[str, int]:
        bound: dict[str, tuple[int, str]] = {name: (number, "by name") for name, number in named.items()}
        for name, param in self._params.items():
            shape = arrays[name].shape
            if len(shape) != len(param.value.shape):
                raise self._misfit(name, param.value.shape, shape)
            for axis, (size, length) in enumerate(zip(param.value.shape, shape, strict=True)):
                if isinstance(size, Symbol):
                    known, where = bound.setdefault(size.name, (length, f"by axis {axis} of {name}"))
                    if known != length:
                        raise self._unfit(
                            f"got {size} = {known} {where}, and {size} = {length} by axis {axis} of {name}", ShapeError
                        )
        sizes = {name: number for name, (number, _) in bound.items()}
        missing = [symbol.name for symbol in self.program.symbols if symbol.name not in sizes]
        if missing or len(sizes) > len(self.program.symbols):
            raise self._unfit(
                f"does not get the size {', '.join(missing)}" if missing else "got sizes it does not have"
            )
        for name, param in self._params.items():
            wanted = tuple(value(size, sizes) for size in param.value.shape)
            if wanted != arrays[name].shape:
                raise self._misfit(name, param.value.shape, arrays[name].shape)
        return sizes

    def _part(self, param: Parameter, array: Array | NDArray[Any]) -> Part | Bytes:
        """The memory of an array: its own where that is dense, else a copy, which only an input may be."""
        if isinstance(array, np.ndarray):
            return array.reshape(-1).view(np.uint8)
        node = array._computed()
        if not node.size:
            return Part(self.executor.allocate(ALIGNED, "an empty array"))
        if _lies_well(node):
            return Part(node.storage, node.layout.offset * node.dtype.size)
        if param.output or param.donated or param.written:
            self._check_placed(param, node)
        return Part(contiguous(array).storage)

    def _check_placed(self, param: Parameter, node: Buffer) -> None:
        """That a program can write where an argument lies."""
        if not _lies_well(node):
            raise ShapeError(
                f"program {self.program.name} would write {param.value.hint}, which is a view with gaps or not aligned",
                place=calling_line(),
                remedy="give an array of its own",
            )

    def _misfit(self, name: str, wanted: tuple[Size, ...], got: tuple[int, ...]) -> ShapeError:
        return ShapeError(
            f"program {self.program.name} got shape {got} for {name}",
            place=calling_line(),
            remedy=f"it takes the shape ({', '.join(map(str, wanted))})",
        )

    def _unfit(self, fact: str, kind: type[ShapeError] | type[DTypeError] = ShapeError) -> ShapeError | DTypeError:
        takes = text(self.program).splitlines()[0]
        return kind(f"program {self.program.name} {fact}", place=calling_line(), remedy=f"call it as it is: {takes}")


def _lies_well(node: Buffer) -> bool:
    """Whether a program takes memory as it is."""
    return node.layout.is_dense and node.layout.offset * node.dtype.size % ALIGNED == 0


def _moved(layout: Layout, part: Part, itemsize: int) -> Layout:
    """A place in a parameter's memory, in the storage that this lies in."""
    return replace(layout, offset=layout.offset + part.offset // itemsize)
