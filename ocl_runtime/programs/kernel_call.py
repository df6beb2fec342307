"""A call of a kernel over arrays, from what it asks for to arguments: whose memory is written, and who else needs it.

A written array is treated as by `compute_into`. Where nobody else needs its memory, the kernel writes there. Else the
whole array that it is or is a view of gets memory of its own first, with the contents that it has: a kernel that writes
may leave elements as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from ocl_ir.graph.build import Buffer
from ocl_ir.guards import plain
from ocl_ir.kernel.accesses import WRITE, modes
from ocl_ir.kernel.grammar import Kernel, Param
from ocl_ir.kernel.source_kernel import SourceKernel
from ocl_ir.source_line import Where, calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.core import compute_together, executor_of
from ocl_runtime.arrays.elements import settled_if_planned
from ocl_runtime.arrays.reals import base_executor
from ocl_runtime.errors import ShapeError
from ocl_runtime.execute.launch import Argument
from ocl_runtime.execute.replay.replay import ALIGNED
from ocl_runtime.executor import DeviceExecutor
from ocl_runtime.plan.evaluate import Missing
from ocl_runtime.plan.tracing import Tracer, tracer
from ocl_runtime.programs.own_memory import check_writable, own, shared
from ocl_runtime.programs.trace import OverlappingArgumentsError

Number: TypeAlias = "np.generic | bool | int | float"


class Call(NamedTuple):
    """A kernel with its arguments, in the order of its parameters, and over how many work-items it runs: for a pointer
    one of the buffers that `launch_over` gave, for a scalar a number. `open_numbers` are the parameters whose numbers
    may be others when it is called again."""

    kernel: Kernel
    args: Sequence[Buffer | Number]
    global_size: tuple[int, ...]
    group_size: tuple[int, ...] | None
    open_numbers: Sequence[int] = ()


class Launch(NamedTuple):
    """A call that refers to arrays by their index, and so holds no memory."""

    kernel: Kernel
    indices: Sequence[int | None]
    """For each parameter, the index of the array that it points to; None for a number."""
    numbers: Sequence[Number | None]
    global_size: tuple[int, ...]
    group_size: tuple[int, ...] | None
    open_numbers: Sequence[int]

    @property
    def written(self) -> list[int]:
        """The arrays that the kernel may write, each once."""
        pairs = zip(self.indices, modes(self.kernel), strict=True)
        return list(dict.fromkeys(index for index, mode in pairs if index is not None and mode & WRITE))

    @property
    def is_empty(self) -> bool:
        """Whether it runs over no work-items."""
        return 0 in self.global_size


def executor_behind(arrays: Sequence[Array]) -> DeviceExecutor:
    """What launches over arrays: their runtime's. Raises `MixedDevicesError` for several runtimes."""
    executor = base_executor(executor_of("a launch", arrays))
    assert isinstance(executor, DeviceExecutor)
    return executor


def ready(
    arrays: Sequence[Array], call: Callable[[Sequence[Buffer]], Call], executor: DeviceExecutor, *, make: bool
) -> Launch | Missing:
    """A launch, once nobody else needs the memory that it writes; else what is to be done before, without the lock,
    which is held."""
    while True:
        buffers = _buffers(arrays)
        if len(buffers) < len(arrays):
            return Missing(partial(compute_together, arrays), is_plan=False)
        launch = _launch(call(buffers), buffers)
        del buffers  # who refers to memory needs it
        if launch.is_empty:
            return launch
        written = [arrays[index] for index in launch.written]
        check_writable(written, "a kernel")
        read = [x for x in written if x._cell.reads]
        for x in read:
            settled = settled_if_planned(x._cell, x._cell.node, executor, make=make)
            if isinstance(settled, Missing):
                return settled
            del settled
        if read:
            continue  # elements that were arguments lie elsewhere by now
        needed = shared((), written)
        if needed:
            return Missing(partial(own, needed), is_plan=False)
        for x in written:
            if _buffer(x._node_at("")).layout.repeats:  # in memory that PyOpenCL has, too, which is not copied
                raise x._repeating("a kernel writes into")
        if executor.compiled(launch.kernel) is None:
            return Missing(partial(executor.build, [launch.kernel]))
        return launch


def give(launch: Launch, arrays: Sequence[Array], executor: DeviceExecutor, where: Where) -> None:
    """Gives a launch to the device. Raises `ShapeError` where what is written overlaps another argument."""
    if not launch.is_empty:
        args = arguments(launch, [x._node_at("") for x in arrays], executor)
        executor.launch(launch.kernel, args, launch.global_size, launch.group_size, where)


def launch_traced(
    arrays: Sequence[Array],
    call: Callable[[Sequence[Buffer]], Call],
    executor: DeviceExecutor,
    trace: Tracer,
    where: Where,
) -> None:
    """Writes a launch down in a captured function, over memory that nobody else needs."""
    compute_together(arrays)
    buffers = _traced_buffers(arrays, trace)
    launch = _launch(call(buffers), buffers)
    del buffers  # who refers to memory needs it
    if launch.is_empty:
        return
    written = [arrays[index] for index in launch.written]
    check_writable(written, "a kernel")
    for cell in {id(x._cell): x._cell for x in written}.values():
        trace.takes(cell)
    args = arguments(launch, _traced_buffers(arrays, trace), executor)
    executor.launch(launch.kernel, args, launch.global_size, launch.group_size, where)


def _buffers(arrays: Sequence[Array]) -> list[Buffer]:
    """The memory of those arrays that have been computed."""
    return [node for x in arrays if isinstance(node := x._node_at(""), Buffer)]


def _traced_buffers(arrays: Sequence[Array], trace: Tracer) -> list[Buffer]:
    """The memory that arrays will have; expressions from outside of the function stay expressions there."""
    nodes = [x._node_at("") for x in arrays]
    return [node if isinstance(node, Buffer) else trace.compute([node])[0] for node in nodes]


def _launch(call: Call, buffers: Sequence[Buffer]) -> Launch:
    index_of = {id(buffer): index for index, buffer in enumerate(buffers)}
    indices = [index_of[id(arg)] if isinstance(arg, Buffer) else None for arg in call.args]
    numbers = [None if isinstance(arg, Buffer) else arg for arg in call.args]
    group_size = None if call.group_size is None else tuple(map(plain, call.group_size))  # a program is made for it
    return Launch(call.kernel, indices, numbers, call.global_size, group_size, call.open_numbers)


def arguments(launch: Launch, buffers: Sequence[object], executor: DeviceExecutor) -> list[Argument]:
    """The arguments of a launch over memory, with what it touches there. Raises `ShapeError` for what is written and
    overlaps another argument."""
    pointers = [None if index is None else _buffer(buffers[index]) for index in launch.indices]
    check_overlaps(launch.kernel, pointers)
    args: list[Argument] = []
    kernel = launch.kernel
    exact = kernel.exact if isinstance(kernel, SourceKernel) else [True] * len(pointers)
    for buffer, number, is_exact in zip(pointers, launch.numbers, exact, strict=True):
        if buffer is None:
            assert number is not None
            args.append(number)
        elif buffer.storage is None:
            args.append((executor.allocate(ALIGNED, "an empty array"), 0))
        elif is_exact:
            args.append((buffer.storage, buffer.layout))
        else:
            args.append((buffer.storage, buffer.layout.offset))
    return args


def _buffer(node: object) -> Buffer:
    assert isinstance(node, Buffer)
    return node


def check_overlaps(kernel: Kernel, pointers: Sequence[Buffer | None]) -> None:
    """Raises `ShapeError` where memory that is written overlaps that of another parameter, unless both are the same
    view, and neither promises to be alone there."""
    for position, (buffer, mode) in enumerate(zip(pointers, modes(kernel), strict=True)):
        if buffer is None or buffer.storage is None or not mode & WRITE:
            continue
        for other_position, other in enumerate(pointers):
            if other_position == position or other is None or other.storage is not buffer.storage:
                continue
            params = kernel.params[position], kernel.params[other_position]
            if other.is_as(buffer):
                if params[0].restrict or params[1].restrict:
                    raise _restricted(*params)
            elif _overlap(buffer, other):
                raise _overlapping(params[0].value.hint, params[1].value.hint, buffer, other)


def _overlap(buffer: Buffer, other: Buffer) -> bool:
    if buffer.dtype.size == other.dtype.size:
        return buffer.layout.overlaps(other.layout)
    (low, high), (other_low, other_high) = _bytes(buffer), _bytes(other)
    return low < other_high and other_low < high


def _bytes(buffer: Buffer) -> tuple[int, int]:
    """The lowest byte that a view has, and the one after the highest."""
    low, high = buffer.layout.range()
    return low * buffer.dtype.size, high * buffer.dtype.size


def _restricted(written: Param, other: Param) -> ShapeError:
    name, other_name = written.value.hint, other.value.hint
    promised = " and ".join(param.value.hint for param in (written, other) if param.restrict)
    kind = "is" if " " not in promised else "are"
    return _shared(
        f"{name} is written and is the same memory as {other_name}, and {promised} {kind} declared restrict",
        f"pass {other_name}.copy(), or declare neither as restrict",
    )


def _shared(fact: str, remedy: str) -> ShapeError:
    # Copies share memory until somebody writes: who captures a function sets its arguments apart, and tries again.
    kind = ShapeError if tracer.get() is None else OverlappingArgumentsError
    return kind(fact, place=calling_line(), remedy=remedy)


def _overlapping(name: str, other_name: str, buffer: Buffer, other: Buffer) -> ShapeError:
    (low, high), (other_low, other_high) = _bytes(buffer), _bytes(other)
    first, last = ((byte - other_low) // other.dtype.size for byte in (max(low, other_low), min(high, other_high) - 1))
    return _shared(
        f"{name} shares memory with {other_name} (elements {first} to {last}) and is written",
        f"pass {other_name}.copy(), or a {name} of its own",
    )
