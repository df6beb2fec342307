"""A schedule run command by command, each through the streams, which order it by what it touches.

Nothing is prepared: scratch memory comes from the pool, and waits from the history of the bytes. It is what a program
that runs once wants, and what replays are compared with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ocl_ir.host.grammar import Launch
from ocl_ir.host.schedule import Access, BufferView, Node, Schedule
from ocl_ir.kernel.accesses import WRITE, modes
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where
from ocl_runtime.execute.driver import Bytes
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.replay.execution import Part
from ocl_runtime.execute.streams.command import Stream


def run(
    engine: Engine, schedule: Schedule, arguments: Mapping[str, Part | Bytes], where: str = ""
) -> list[tuple[Part, BufferView]]:
    """Runs the program over memory for each of its parameters; gives each result as memory and the place in it.

    Nodes go to their streams, counted from the calling thread's on. Raises as `Engine.launch` does.
    """
    memory = {buffer.id: arguments[buffer.name] for buffer in schedule.buffers if buffer.name in arguments}
    last = {buffer: ends for buffer, (_, ends) in schedule.lives.items()}
    home = engine.streams.current()
    for number, node in enumerate(schedule.nodes):
        line = node.command.where or where
        for access in node.accesses:
            if access.buffer not in memory:
                memory[access.buffer] = Part(engine.allocate(max(schedule.buffers[access.buffer].nbytes, 1), line))
        stream = engine.streams.neighbour(home, node.stream or 0)
        if isinstance(node.command, Launch):
            args, groups = _arguments(node, memory), node.command.group_size or None
            engine.submit(engine.prepare(node.command.kernel, args, node.sizes, groups, line), stream)
        else:
            _transfer(engine, schedule, node, memory, stream, line)
        for access in node.accesses:
            if last.get(access.buffer) == number:
                memory.pop(access.buffer, None)
    results = []
    for result in schedule.results:
        part = memory.get(result.buffer)
        if not isinstance(part, Part):  # a result without elements
            part = Part(engine.allocate(1, where))
        results.append((part, result))
    return results


def _arguments(node: Node, memory: Mapping[int, Part | Bytes]) -> list[Any]:
    """Each pointer with the elements of its storage that the node touches."""
    assert isinstance(node.command, Launch)
    accesses = iter(node.accesses)
    args: list[Any] = []
    for arg, mode in zip(node.args, modes(node.command.kernel), strict=True):
        if not isinstance(arg, BufferView):
            args.append(arg)
            continue
        part = memory[arg.buffer]
        assert isinstance(part, Part)
        first = part.offset // arg.dtype.size
        touched = next(accesses).layout if mode and arg.layout.size else arg.layout
        if touched.offset != arg.layout.offset:  # a kernel that computes places from the lowest one on
            touched = touched.ascending
        assert touched.offset == arg.layout.offset
        args.append((part.storage, Layout(touched.shape, touched.strides, touched.offset + first)))
    return args


def _transfer(
    engine: Engine,
    schedule: Schedule,
    node: Node,
    memory: Mapping[int, Part | Bytes],
    stream: Stream,
    where: Where,
) -> None:
    """Copies between an array of the host and the device."""
    at_host: Access = next(
        access for access in node.accesses if schedule.buffers[access.buffer].kind.startswith("host")
    )
    on_device = next(access for access in node.accesses if access is not at_host)
    part, host = memory[on_device.buffer], memory[at_host.buffer]
    assert isinstance(part, Part)
    assert not isinstance(host, Part)
    (low, high), (host_low, host_high) = on_device.range, at_host.range
    piece = host[host_low:host_high]
    touches = [
        part.storage.touch(on_device.mode, part.offset + low, part.offset + high),
        engine.memory.host.touch(at_host.mode, piece),
    ]
    up = bool(on_device.mode & WRITE)
    if up:
        engine.memory.host.settle(piece)
    command = engine.driver.write if up else engine.driver.read
    what = f"the {'upload' if up else 'download'} of {high - low:,} bytes"
    at = part.storage.start + part.offset + low
    engine.streams.submit(stream, touches, what, where, command, part.storage.buffer, at, piece, keep=(host, part))
