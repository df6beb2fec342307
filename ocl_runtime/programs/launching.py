"""Kernels launched over arrays, once or again and again.

    launch_over((x, y), lambda buffers: Call(kernel, (n, *buffers), (n,), None))

What the kernel reads is computed. Copies, elements and expressions that were made before keep what they had; views of
the same array see what is written, and so does PyOpenCL where the memory was lent to it.

    add = prepare_over((x, y), call)
    add()
    add()

That is a host program of one launch, bound once and replayed: kernel objects keep their arguments, and nothing is
checked but that the arrays still lie where they did and that nobody else needs what is written. Where that has changed,
it is launched as the first time, and bound anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple
from weakref import ref

from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.grammar import Value
from ocl_ir.host.schedule import bind
from ocl_ir.kernel.accesses import WRITE
from ocl_ir.source_line import Where, calling_line
from ocl_ir.types import U8
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.core import until_planned
from ocl_runtime.execute.replay.bound import Bound
from ocl_runtime.execute.replay.handles import Memory, handles_for, kernels_of
from ocl_runtime.execute.replay.run import start
from ocl_runtime.plan.donation import held_once, is_lent
from ocl_runtime.plan.evaluate import Missing
from ocl_runtime.plan.host.lower import Lowering
from ocl_runtime.plan.launch import Address
from ocl_runtime.plan.registry import Cell
from ocl_runtime.plan.tracing import tracer
from ocl_runtime.programs.kernel_call import (
    Call,
    Launch,
    arguments,
    executor_behind,
    give,
    launch_traced,
    ready,
)
from ocl_runtime.programs.own_memory import own

__all__ = ["Call", "PreparedLaunch", "launch_over", "prepare_over"]

_NO_NUMBERS: Mapping[str, Any] = MappingProxyType({})


def launch_over(arrays: Sequence[Array], call: Callable[[Sequence[Buffer]], Call], where: Where = "") -> None:
    """Launches a kernel over arrays of any shapes and dtypes, without waiting for it.

    `call` gets the memory of the arrays in their order and says what to launch; it may be asked several times, and must
    keep none of the buffers. Of what is launched over no work-items, nothing is launched. Raises `MixedDevicesError`
    for arrays of several runtimes, `DTypeError` for an element and `ShapeError` for a broadcast view that is written,
    `ShapeError` where what is written overlaps another argument, `Error` where a captured function writes an array that
    is not its own, and what `DeviceExecutor.launch` raises.

        launch_over((x, y), lambda buffers: Call(saxpy, (x.size, 2.0, *buffers), (x.size,), None))
    """
    where = where or calling_line()
    executor = executor_behind(arrays)
    trace = tracer.get()
    if trace is not None:
        launch_traced(arrays, call, executor, trace, where)
        return

    def attempt(make: bool) -> Missing | None:
        with executor.registry.lock:  # nobody computes or writes meanwhile
            while True:
                launch = ready(arrays, call, executor, make=make)
                if not isinstance(launch, Missing):
                    give(launch, arrays, executor, where)
                    return None
                if not make:
                    return launch
                launch.make()

    until_planned(attempt)


def prepare_over(
    arrays: Sequence[Array], call: Callable[[Sequence[Buffer]], Call], where: Where = ""
) -> PreparedLaunch:
    """The launch of a kernel over arrays, built and bound, to be made by calling it. Raises as `launch_over` does.

    add = prepare_over((x, y), lambda buffers: Call(kernel, (n, *buffers), (n,), None))
    add()
    """
    prepared = PreparedLaunch(arrays, call, where or calling_line())
    if tracer.get() is None:
        prepared.prepare()
    return prepared


class _Used(NamedTuple):
    """Memory that a launch is bound to: of a cell that was this very node, which is not held, since who holds it needs
    it."""

    cell: Cell
    node: ref[Any]
    is_written: bool


class PreparedLaunch:
    """A launch over the same arrays, to be called. Any thread may call it."""

    def __init__(self, arrays: Sequence[Array], call: Callable[[Sequence[Buffer]], Call], where: Where) -> None:
        self._arrays = tuple(arrays)
        self._call = call
        self._where = where
        self._executor = executor_behind(arrays)
        self._lock = self._executor.registry.lock
        self._lines: Sequence[Where] = (where,)
        self._used: Sequence[_Used] = ()
        self._bound: Any = None
        """The host program, once it is bound: a `Bound`."""

    def __call__(self) -> None:
        """Launches the kernel over what the arrays are now. Raises as `launch_over` does."""
        is_traced = tracer.get() is not None
        if not is_traced:
            with self._lock:
                memory = self._memory()
                if memory is not None:
                    engine = self._executor.engine
                    if engine.inherited:
                        engine.check_process()
                    stream = engine.streams.current()
                    start(engine, self._bound, memory, "a launch", self._lines, _NO_NUMBERS, stream, apart=False)
                    return
        launch_over(self._arrays, self._call, self._where)
        if not is_traced:
            self.prepare()

    def prepare(self) -> None:
        """Binds the launch to the memory that the arrays have now, once nobody else needs what is written."""
        until_planned(self._prepare)

    def _memory(self) -> Memory | None:
        """The memory that the launch was bound to, unless an array lies elsewhere by now, or others need what is
        written."""
        if self._bound is None:
            return None
        memory: Memory = []
        for cell, node, is_written in self._used:
            if cell._node is not node():
                return None
            if is_written and (cell.reads or not (held_once([cell._node]) or _is_lent(cell))):
                return None
            memory.append((cell._node.storage, 0))
        memory.append(None)  # for an arena, which it has not
        return memory

    def _prepare(self, make: bool) -> Missing | None:
        with self._lock:
            while True:
                launch = ready(self._arrays, self._call, self._executor, make=make)
                if not isinstance(launch, Missing):
                    whole = [x for x in self._arrays if not isinstance(x._cell.node, Buffer)]
                    if not whole:
                        self._bind(launch)
                        return None
                    launch = Missing(partial(own, whole), is_plan=False)  # of which only a view was computed
                if not make:
                    return launch
                launch.make()

    def _bind(self, launch: Launch) -> None:
        """Makes a host program of the launch, with a parameter for each piece of memory."""
        self._bound = None
        if launch.is_empty:
            return
        written = {id(self._arrays[index]._cell) for index in launch.written}
        builder = HostBuilder("launch")
        values: dict[int, Value] = {}
        used: list[_Used] = []

        def value(storage: Storage, mode: int) -> Value:
            if mode & WRITE:
                builder.writes(values[id(storage)])
            return values[id(storage)]

        for cell in {id(x._cell): x._cell for x in self._arrays}.values():
            node = cell.node
            cell.become(node)
            if isinstance(node, Buffer) and node.storage is not None and id(node.storage) not in values:
                used.append(_Used(cell, ref(node), id(cell) in written))
                values[id(node.storage)] = builder.input(f"x{len(used)}", U8, (node.storage.nbytes,))
        args = arguments(launch, [x._node_at("") for x in self._arrays], self._executor)
        if len(used) < len({id(x._cell) for x in self._arrays}):
            return  # copies that share memory may be set apart by whoever writes: `launch_over` looks each time
        addresses = [Address(*arg) if isinstance(arg, tuple) else arg for arg in args]
        Lowering(builder).launch(launch.kernel, addresses, (launch.global_size, launch.group_size), value, self._where)
        schedule = bind(builder.build(), {})
        self._bound = Bound(schedule, handles_for(self._executor.engine, kernels_of(schedule)))
        self._used = used


def _is_lent(cell: Cell) -> bool:
    node = cell.node
    return isinstance(node, Buffer) and is_lent(node.storage)
