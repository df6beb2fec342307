"""The nodes of a schedule, ready to be enqueued: kernel objects with their arguments set, and transfers.

Enqueuing is the road that counts: for each node one call of OpenCL, and one more where an argument changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ocl_ir.host.grammar import Launch
from ocl_ir.host.schedule import Node, Place, Schedule
from ocl_ir.kernel.accesses import WRITE
from ocl_runtime.execute.driver import Bytes, Driver, Event, KernelHandle, Queue, Sizes
from ocl_runtime.execute.launch import Executable
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.execute.streams.hazards import Touch


class Part(NamedTuple):
    """Memory for a parameter: of a storage, from a byte on."""

    storage: Storage
    offset: int = 0


Memory: TypeAlias = "Mapping[int, Part | Bytes]"
"""What a call has bound, by buffer: memory of the device, or the bytes of a host array."""


class Rebound(NamedTuple):
    """An argument that each call sets: its place, and the element of a buffer that it points to."""

    place: int
    buffer: int
    itemsize: int
    first: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """A copy between a host buffer and the device: `nbytes` from byte `at` of one and `host_at` of the other on.

    `buffer` is the device's where a call binds it, None where it lies in the arena, from whose start `at` counts then.
    """

    up: bool
    buffer: int | None
    at: int
    host: int
    host_at: int
    nbytes: int


class Step(NamedTuple):
    """One node: on which of the replay's streams, after which nodes, and the streams to flush before.

    `handle` is None for a transfer.
    """

    stream: int
    waits: tuple[int, ...]
    flushes: tuple[int, ...]
    handle: KernelHandle
    sizes: tuple[Sizes, Sizes]
    args: tuple[Any, ...]
    rebound: tuple[Rebound, ...]
    transfer: Transfer | None = None


def prepare_steps(schedule: Schedule, executables: Sequence[Executable | None], arena: Storage | None) -> list[Step]:
    """The steps of a schedule whose scratch memory lies in an arena."""
    streams = {node.stream or 0 for node in schedule.nodes}
    flushed, last = dict.fromkeys(streams, -1), dict.fromkeys(streams, -1)
    steps = []
    for number, (node, executable) in enumerate(zip(schedule.nodes, executables, strict=True)):
        flushes = []
        for wait in node.waits:
            producer = schedule.nodes[wait].stream or 0
            if flushed[producer] < wait:
                flushes.append(producer)
                flushed[producer] = last[producer]
        last[node.stream or 0] = number
        if executable is None:
            steps.append(_transfer(schedule, node, tuple(flushes)))
        else:
            steps.append(_launch(schedule, node, tuple(flushes), executable, arena))
    return steps


def _launch(
    schedule: Schedule, node: Node, flushes: tuple[int, ...], executable: Executable, arena: Storage | None
) -> Step:
    assert isinstance(node.command, Launch)
    handle, sizes = executable.fresh_handle(node.sizes, node.command.group_size)
    values: list[Any] = []
    rebound = []
    for arg in node.args:
        if not isinstance(arg, Place):
            values.append(arg)
            continue
        first, itemsize = arg.layout.range()[0], arg.dtype.size
        offset = schedule.offsets.get(arg.buffer)
        if offset is None:
            rebound.append(Rebound(len(values), arg.buffer, itemsize, first))
            values += [None, 0]
        else:
            assert arena is not None
            values += [arena.buffer, (arena.start + offset) // itemsize + first]
    if not rebound:
        handle.set_args(*values)
    return Step(node.stream or 0, node.waits, flushes, handle, sizes, tuple(values), tuple(rebound))


def _transfer(schedule: Schedule, node: Node, flushes: tuple[int, ...]) -> Step:
    on_host = next(one for one in node.accesses if schedule.buffers[one.buffer].kind.startswith("host"))
    on_device = next(one for one in node.accesses if one is not on_host)
    (low, high), (host_low, _) = on_device.range, on_host.range
    offset = schedule.offsets.get(on_device.buffer)
    buffer = on_device.buffer if offset is None else None
    up = bool(on_device.mode & WRITE)
    transfer = Transfer(up, buffer, low + (offset or 0), on_host.buffer, host_low, high - low)
    return Step(node.stream or 0, node.waits, flushes, None, ((), ()), (), (), transfer)


def enqueue_steps(
    driver: Driver,
    steps: Sequence[Step],
    queues: Mapping[int, Queue],
    memory: Memory,
    arena: Storage | None,
    first: dict[int, list[Event]],
    events: list[Event],
    touches: Sequence[Sequence[Touch]] | None = None,
) -> None:
    """Gives the steps to the queues of their streams, and appends the event of each to `events`.

    `first` are events that a stream waits for before its first step; `touches` is what each step touches, for a driver
    that listens.
    """
    enqueue = driver.enqueue if touches is None else _telling(driver, steps, memory, touches, events)
    for stream, after, flushes, handle, (global_size, group_size), args, rebound, transfer in steps:
        for one in flushes:
            driver.flush(queues[one])
        waits = [events[one] for one in after] if after else None
        if first and stream in first:
            waits = [*first.pop(stream), *(waits or ())]
        if transfer is not None:
            touched = touches[len(events)] if touches is not None else ()
            event = _enqueue_transfer(driver, transfer, queues[stream], memory, arena, waits, touched)
        else:
            if rebound:
                handle.set_args(*_rebound(args, rebound, memory))
            event = enqueue(queues[stream], handle, global_size, group_size, None, waits)
        events.append(event)


def _telling(
    driver: Driver, steps: Sequence[Step], memory: Memory, touches: Sequence[Sequence[Touch]], events: Sequence[Event]
) -> Callable[..., Event]:
    """What stands in for `Driver.enqueue` where the driver listens: it has no place for what a kernel touches."""

    def enqueue(
        queue: Queue, handle: KernelHandle, global_size: Sizes, group_size: Sizes, _: None, waits: list[Event] | None
    ) -> Event:
        step, touched = steps[len(events)], touches[len(events)]
        args = tuple(_rebound(step.args, step.rebound, memory))
        return driver.launch(queue, handle, args, (global_size, group_size), waits, touched)

    return enqueue


def _rebound(args: tuple[Any, ...], rebound: Sequence[Rebound], memory: Memory) -> list[Any]:
    values = list(args)
    for place, buffer, itemsize, first in rebound:
        storage, offset = memory[buffer]
        values[place : place + 2] = storage.buffer, (storage.start + offset) // itemsize + first
    return values


def _enqueue_transfer(
    driver: Driver,
    transfer: Transfer,
    queue: Queue,
    memory: Memory,
    arena: Storage | None,
    waits: list[Event] | None,
    touched: Sequence[Touch],
) -> Event:
    host = memory[transfer.host]
    assert not isinstance(host, Part)
    piece = host[transfer.host_at : transfer.host_at + transfer.nbytes]
    if transfer.buffer is None:
        assert arena is not None
        buffer, at = arena.buffer, arena.start + transfer.at
    else:
        part = memory[transfer.buffer]
        assert isinstance(part, Part)
        buffer, at = part.storage.buffer, part.storage.start + part.offset + transfer.at
    command = driver.write if transfer.up else driver.read
    return command(queue, buffer, at, piece, waits, touched)
