"""One call of a bound program: memory for what it makes, and all of its steps to their streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ocl_ir.source_line import Where
from ocl_runtime.errors import LaunchError, MixedDevicesError, ShapeError
from ocl_runtime.execute.driver import Buffer, Bytes, Error, Event, Queue
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.execute.replay.bound import ARENA, Access, Bound, Dispatch, Transfer
from ocl_runtime.execute.streams.failures import Failure
from ocl_runtime.execute.streams.hazards import Touch
from ocl_runtime.execute.streams.program import Program, submit


class Part(NamedTuple):
    """Memory for a buffer: of a storage, from a byte on."""

    storage: Storage
    offset: int = 0


Memory: TypeAlias = "list[tuple[Storage, int] | Bytes | None]"
"""What a call has bound, by buffer: a storage and the byte from which on it is the buffer's, or the bytes of a host
array. The arena comes last, since its number is -1."""
Number: TypeAlias = bool | int | float


class Kept(NamedTuple):
    """What a command keeps until it has ended: the bytes that it moves, to be measured, and memory of the host."""

    nbytes: int
    host: object


class Run(Program):
    """A program that is being given to the streams, as `streams.program` asks for it."""

    __slots__ = ("_bound", "_engine", "_handles", "_listens", "_memory", "_numbers", "_places")

    def __init__(
        self,
        engine: Engine,
        bound: Bound,
        memory: Memory,
        numbers: Mapping[str, Number],
        what: str,
        lines: Sequence[Where],
        *,
        apart: bool,
    ) -> None:
        self.what = what
        self.lines = lines
        self.steps = bound.steps
        streams = engine.streams
        self.home = home = streams.current()
        if apart and bound.used != [0]:
            self.streams = {number: streams.neighbour(home, number) for number in bound.used}
        else:
            self.streams = dict.fromkeys(bound.used, home)
        self._engine = engine
        self._bound = bound
        self._memory = memory
        self._numbers = numbers
        self._places: list[tuple[Buffer, int]] = []
        own = engine.memory
        for one in memory:
            if isinstance(one, tuple):
                storage, offset = one
                if storage.memory is not own:
                    raise _of_another_runtime(what, engine)
                block = storage.block
                self._places.append((block.page.buffer, block.low + offset))
            else:
                self._places.append((None, 0))
        self.touches = list(map(self._touch, bound.accesses))
        self._listens = engine.driver.listens()
        self._handles = [one.executable.handle() if isinstance(one, Dispatch) else None for one in bound.commands]
        self.keeps = self._kept() if bound.transfers or engine.settings.profile else None

    # ------------------------------------------------------------------ what it touches

    def _touch(self, access: Access) -> Touch:
        buffer, mode, low, high, footprint = access
        one = self._memory[buffer]
        if not isinstance(one, tuple):
            assert one is not None
            return self._engine.memory.host.touch(mode, one[low:high])
        storage, offset = one
        if type(storage) is not Storage:
            storage.touch(mode, 0, 0)  # it may refuse to be written
        block = storage.block
        start = block.low + offset
        if footprint is not None:
            gaps = replace(footprint, offset=footprint.offset + start)
            return Touch(block.ranges, start + low, start + high, mode, gaps)
        end = start + high
        if high + offset >= storage.nbytes:
            end = block.high  # as `Storage.touch` has it
            if high + offset > storage.nbytes:
                raise ShapeError(
                    f"{self.what} touches {high + offset:,} bytes of a storage",
                    place=f"{storage!r} is smaller",
                    remedy="use a storage that holds all elements of the array",
                )
        return Touch(block.ranges, start + low, end, mode)

    def of_step(self, number: int) -> list[Touch]:
        """All that one step touches."""
        return list(map(self._touch, self._bound.touched[number]))

    def everything(self) -> list[Touch]:
        """All that any step touches."""
        return [touch for number in range(len(self.steps)) for touch in self.of_step(number)]

    def _kept(self) -> Sequence[object]:
        """The host memory of transfers, and how much steps move where that is measured."""
        nodes, commands = self._bound.schedule.nodes, self._bound.commands
        return [
            Kept(node.nbytes, self._memory[one.host] if isinstance(one, Transfer) else None)
            for node, one in zip(nodes, commands, strict=True)
        ]

    # ------------------------------------------------------------------ giving it

    def enqueue(self, number: int, queue: Queue, waits: list[Event] | None) -> Event:
        """Gives a step to a queue."""
        command, driver, places = self._bound.commands[number], self._engine.driver, self._places
        if isinstance(command, Transfer):
            return self._transfer(command, number, queue, waits)
        _, sizes, template, pointers, numbers = command
        args: list[Any] = template.copy()
        for place, buffer, itemsize, first in pointers:
            base, start = places[buffer]
            args[place] = base
            args[place + 1] = start // itemsize + first
        for place, name in numbers:
            args[place] = self._numbers[name]
        handle: Any = self._handles[number]
        if self._listens:
            return driver.launch(queue, handle, args, sizes, waits, self.of_step(number))
        handle.set_args(*args)
        return driver.enqueue(queue, handle, sizes[0], sizes[1], None, waits)

    def _transfer(self, transfer: Transfer, number: int, queue: Queue, waits: list[Event] | None) -> Event:
        host = self._memory[transfer.host]
        assert isinstance(host, np.ndarray)
        piece = host[transfer.host_at : transfer.host_at + transfer.nbytes]
        buffer, start = self._places[transfer.buffer]
        driver = self._engine.driver
        command = driver.write if transfer.up else driver.read
        touched = self.of_step(number) if self._listens else ()
        return command(queue, buffer, start + transfer.at, piece, waits, touched)

    def ended(self, queue: Queue) -> Event:
        """An event of the home queue that comes after whatever was given."""
        driver = self._engine.driver
        others = [stream.queue for stream in self.streams.values() if stream.queue is not queue]
        ends = [driver.marker(other, None) for other in others]
        for other in others:
            driver.flush(other)
        return driver.marker(queue, ends or None)

    def refused(self, number: int, error: Error) -> LaunchError:
        """What to say where the driver does not take a step."""
        step, command = self.steps[number], self._bound.commands[number]
        if isinstance(command, Dispatch):
            return command.executable.refused(command.sizes, self.lines[number], error)
        return Failure(step.what, self.lines[number], str(error)).error()


def _of_another_runtime(what: str, engine: Engine) -> MixedDevicesError:
    return MixedDevicesError(
        f"{what} got memory of another runtime",
        place=f"it runs on {engine.device}",
        remedy="allocate it on the runtime that launches the kernels",
    )


def run(
    engine: Engine,
    bound: Bound,
    memory: Memory,
    what: str,
    lines: Sequence[Where],
    numbers: Mapping[str, Number] = MappingProxyType({}),
    *,
    apart: bool = True,
) -> None:
    """Starts a program over memory for its parameters. `lines` are the Python lines that asked for the steps, and
    `apart` says whether they may go to several streams. Memory of results and the arena is added where it is missing.

    Raises as `streams.program.submit` does, and `OutOfMemoryError`.
    """
    for one in bound.results:
        if memory[one.id] is None:
            memory[one.id] = engine.allocate(max(one.nbytes, 1), lines[-1] if lines else ""), 0
    if bound.arena and memory[ARENA] is None:
        memory[ARENA] = engine.allocate(bound.arena, lines[-1] if lines else ""), 0
    submit(engine.streams, Run(engine, bound, memory, numbers, what, lines, apart=apart))
    engine.counters.launches += len(bound.steps)
