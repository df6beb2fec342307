"""A launch that is bound to memory: a host program of one launch, which is given again and again.

Kernel objects keep their arguments, and nothing is checked but that the arrays still lie where they did and that nobody
else needs what is written. Numbers may be left open: each run gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.guards import Given
from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.grammar import Value
from ocl_ir.host.schedule import bind
from ocl_ir.kernel.accesses import WRITE
from ocl_ir.source_line import Where
from ocl_ir.types import BOOL, U8, DType, element
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.core import until_planned
from ocl_runtime.execute.replay.bound import Bound
from ocl_runtime.execute.replay.handles import Memory, handles_for, kernels_of
from ocl_runtime.execute.replay.run import start
from ocl_runtime.executor import DeviceExecutor
from ocl_runtime.plan.donation import held_once, is_lent
from ocl_runtime.plan.evaluate import Missing
from ocl_runtime.plan.host.lower import Lowering, number_name
from ocl_runtime.plan.launch import Later, with_addresses
from ocl_runtime.plan.registry import Cell
from ocl_runtime.programs.kernel_call import Call, Launch, arguments, ready
from ocl_runtime.programs.own_memory import own

_NO_NUMBERS: Mapping[str, Any] = MappingProxyType({})


class _Used(NamedTuple):
    """Memory that a launch is bound to: of a cell that was this very node. Neither is held: who holds a node needs it,
    and nobody may need the array any more."""

    cell: ref[Cell]
    node: ref[Any]
    is_written: bool


class BoundLaunch:
    """A launch over the memory that some arrays had. Any thread may start it."""

    def __init__(self, executor: DeviceExecutor, used: Sequence[_Used], bound: Bound) -> None:
        self._executor = executor
        self._lock = executor.registry.lock
        self._used = used
        self._bound = bound

    def start(self, lines: Sequence[Where], numbers: Mapping[str, Any] = _NO_NUMBERS) -> bool:
        """Gives it to the calling thread's stream, with the numbers that were left open; or says that it may not be:
        an array lies elsewhere by now, or others need what is written. Raises as `execute.replay.run.start` does."""
        with self._lock:
            memory = self._memory()
            if memory is None:
                return False
            engine = self._executor.engine
            if engine.inherited:
                engine.check_process()
            start(engine, self._bound, memory, "a launch", lines, numbers, engine.streams.current(), apart=False)
            return True

    def _memory(self) -> Memory | None:
        memory: Memory = []
        for cell_of, node, is_written in self._used:
            cell = cell_of()
            if cell is None or cell._node is not node():
                return None
            if is_written and (cell.reads or not (held_once([cell._node]) or _is_lent(cell))):
                return None
            memory.append((cell._node.storage, 0))
        memory.append(None)  # for an arena, which it has not
        return memory


def bind_over(
    arrays: Sequence[Array],
    call: Callable[[Sequence[Buffer]], Call],
    executor: DeviceExecutor,
    where: Where,
    *,
    leaves_open: bool = False,
) -> BoundLaunch | None:
    """The launch bound to the memory that arrays have, once nobody else needs what is written. `leaves_open`: each run
    gives the open numbers of the call, under the names of `open_number`. None where there is nothing to launch, or
    where arrays share memory that each write may set apart. Raises as `launch_over` does."""
    made: list[BoundLaunch | None] = []

    def attempt(make: bool) -> Missing | None:
        with executor.registry.lock:
            while True:
                launch = ready(arrays, call, executor, make=make)
                if not isinstance(launch, Missing):
                    whole = _only_viewed(arrays)
                    if not whole:
                        made.append(_bound(launch, arrays, executor, where, launch.open_numbers if leaves_open else ()))
                        return None
                    launch = Missing(partial(own, whole), is_plan=False)
                if not make:
                    return launch
                launch.make()

    until_planned(attempt)
    return made[-1]


def _only_viewed(arrays: Sequence[Array]) -> list[Array]:
    """Those of which only a view was computed."""
    return [x for x in arrays if not isinstance(x._cell.node, Buffer)]


def open_number(index: int, dtype: DType, value: Any) -> tuple[str, Any]:
    """The name of the number of a dtype that a launch leaves open for a parameter, and a value as the kernel takes
    it."""
    passed = np.dtype(np.uint8) if dtype is BOOL else dtype.numpy
    return number_name(Given(index), dtype), passed.type(value).item()


def _bound(
    launch: Launch, arrays: Sequence[Array], executor: DeviceExecutor, where: Where, open_numbers: Sequence[int]
) -> BoundLaunch | None:
    """A host program of the launch, with a parameter for each piece of memory."""
    if launch.is_empty:
        return None
    written = {id(arrays[index]._cell) for index in launch.written}
    builder = HostBuilder("launch")
    values: dict[int, Value] = {}
    used: list[_Used] = []

    def value(storage: Storage, mode: int) -> Value:
        if mode & WRITE:
            builder.writes(values[id(storage)])
        return values[id(storage)]

    cells = {id(x._cell): x._cell for x in arrays}.values()
    for cell in cells:
        node = cell.node
        cell.become(node)
        if isinstance(node, Buffer) and node.storage is not None and id(node.storage) not in values:
            used.append(_Used(ref(cell), ref(node), id(cell) in written))
            values[id(node.storage)] = builder.input(f"x{len(used)}", U8, (node.storage.nbytes,))
    args: list[Any] = [*arguments(launch, [x._node_at("") for x in arrays], executor)]
    if len(used) < len(cells):
        return None  # copies that share memory may be set apart by whoever writes
    planned = with_addresses(launch.kernel, args)
    for index in open_numbers:
        planned[index] = Later(Given(index), element(launch.kernel.params[index].value.type))
    Lowering(builder).launch(launch.kernel, planned, (launch.global_size, launch.group_size), value, where)
    schedule = bind(builder.build(), {})
    return BoundLaunch(executor, used, Bound(schedule, handles_for(executor.engine, kernels_of(schedule))))


def _is_lent(cell: Cell) -> bool:
    node = cell.node
    return isinstance(node, Buffer) and is_lent(node.storage)
