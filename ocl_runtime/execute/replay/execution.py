"""A bound program on its way to the streams: its steps over some memory, with their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from ocl_ir.kernel.accesses import WRITE
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where
from ocl_runtime.errors import LaunchError, MixedDevicesError, ShapeError
from ocl_runtime.execute.driver import Error, Event, Queue
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.memory.storage import POISON, Storage
from ocl_runtime.execute.replay.bound import Bound
from ocl_runtime.execute.replay.handles import Arguments, Binding, Memory, Own
from ocl_runtime.execute.replay.steps import AccessNumbers, Dispatch, Ended, Transfer
from ocl_runtime.execute.streams.command import Stream
from ocl_runtime.execute.streams.failures import Failure
from ocl_runtime.execute.streams.footprints import windows_of
from ocl_runtime.execute.streams.hazards import Touch
from ocl_runtime.execute.streams.program import Batch, Program, Repeat


class Part(NamedTuple):
    """Memory for a buffer: of a storage, from a byte on."""

    storage: Storage
    offset: int = 0


Number: TypeAlias = bool | int | float


class Kept(NamedTuple):
    """What a command keeps until it has ended: the bytes that it moves, to be measured, and memory of the host."""

    nbytes: int
    host: object


class Execution(Program):
    """A program that is being given to the streams, as `streams.program` asks for it. A program that was given need not
    know the `memory` any more."""

    __slots__ = ("_apart", "_bindings", "_bound", "_engine", "_handles", "_numbers", "_renumbered", "_stale", "memory")

    def __init__(self, engine: Engine, bound: Bound, what: str) -> None:
        self.what = what
        self.names = bound.names
        self.batches = bound.batches
        self.keeps = None
        self.repeats = None
        self._engine = engine
        self._bound = bound
        self._apart: bool | None = None

    def over(
        self, memory: Memory, numbers: Mapping[str, Number], lines: Sequence[Where], home: Stream, *, apart: bool
    ) -> None:
        """Is to be given over this memory, from a stream on."""
        self.memory, self._numbers, self.lines = memory, numbers, lines
        if self._apart is apart and home is self.home:
            return
        self.home, self._apart = home, apart
        used = self._bound.used
        if apart:
            self.streams = {number: self._engine.streams.neighbour(home, number) for number in used}
        else:
            self.streams = dict.fromkeys(used, home)

    def set_up(self, own: Own | None) -> Arguments | None:
        """Makes it ready: what it touches, and kernel objects with the buffers whose arguments have to be set. Returns
        those of this thread, if there are any."""
        bound = self._bound
        self._bindings = _bindings(self.memory, self._engine, self.what)
        touches = [self._touch(access) for access in bound.accesses]
        touch = touches.__getitem__
        self.looked = [[*map(touch, batch.lookups)] for batch in bound.batches]
        self.recorded = [[*map(touch, batch.records)] for batch in bound.batches]
        executables = bound.handles.executables
        arguments = None if own is None else own.arguments(bound, self._bindings, executables)
        if arguments is not None:
            self._handles = arguments.handles
            self._stale = arguments.stale(bound, self._bindings)
            self._renumbered = not arguments.has(self._numbers)
            arguments.of = None  # until all are set
            arguments.used = monotonic()
        else:
            self._handles = [executable and executable.handle() for executable in executables]
            self._stale, self._renumbered = None, True
        if bound.transfers or bound.handles.watched:
            self.keeps = self._kept()
        return arguments

    # ------------------------------------------------------------------ what it touches

    def _touch(self, access: AccessNumbers) -> Touch:
        buffer, mode, low, high, footprint = access
        part = self.memory[buffer]
        if not isinstance(part, tuple):
            assert part is not None
            return self._engine.memory.host.touch(mode, part[low:high])
        storage, offset = part
        if storage.guests and type(storage) is not Storage:
            storage.touch(mode, 0, 0)  # it may refuse to be written
        block = storage.block
        start = block.low + offset
        if footprint is not None:
            gaps = Layout(footprint.shape, footprint.strides, footprint.offset + start)
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
        return [touch for number in range(len(self.names)) for touch in self.of_step(number)]

    def _kept(self) -> Sequence[object]:
        """The host memory of transfers, and how much steps move where that is measured."""
        nodes, commands = self._bound.schedule.nodes, self._bound.commands
        return [
            Kept(node.nbytes, self.memory[command.host] if isinstance(command, Transfer) else None)
            for node, command in zip(nodes, commands, strict=True)
        ]

    # ------------------------------------------------------------------ giving it

    def enqueue(self, batch: Batch, queue: Queue, waits: list[Event] | None, events: list[Event]) -> None:
        """Gives the steps of a batch to a queue, and appends the event of each."""
        bound, driver, handles, stale = self._bound, self._engine.driver, self._handles, self._stale
        commands, ended, listened, enqueue = bound.commands, bound.ended, bound.handles.listened, driver.enqueue
        for number in range(batch.first, batch.last + 1):
            command = commands[number]
            if isinstance(command, Transfer):
                event = self._transfer(command, number, queue, waits)
            elif listened:
                touched = self.of_step(number)
                event = driver.launch(queue, handles[number], self._args(command), command.sizes, waits, touched)
            else:
                _, (global_size, group_size), _, _, numbers, buffers = command
                handle = handles[number]
                if stale is None or not stale.isdisjoint(buffers) or (numbers and self._renumbered):
                    handle.set_args(*self._args(command))
                event = enqueue(queue, handle, global_size, group_size, None, waits)
            events.append(event)
            waits = None
            if ended:
                for region in ended.get(number, ()):
                    self._poison(queue, region, events)

    def _args(self, command: Dispatch) -> list[Any]:
        """Those of a launch over this memory."""
        args, bindings = [*command.args], self._bindings
        for index, buffer in command.pointers:
            args[index], start = bindings[buffer]
            args[index + 1] += start
        for index, name in command.numbers:
            args[index] = self._numbers[name]
        return args

    def set_numbers(self, numbers: Mapping[str, Number]) -> None:
        """Gives kernel objects that have all other arguments these numbers. Raises `LaunchError`."""
        self._numbers = numbers
        for number, command in enumerate(self._bound.commands):
            if isinstance(command, Dispatch) and command.numbers:
                try:
                    self._handles[number].set_args(*self._args(command))
                except Error as error:
                    raise self.refused(number, error) from error

    def _poison(self, queue: Queue, ended: Ended, events: list[Event]) -> None:
        """Fills scratch memory behind its last use, so that whoever still reads it can see that.

        On several streams the event of the step becomes that of the fill: who uses these bytes next comes after the
        step already, by its stream or its event. (Measured times of such steps are those of the fills, then.)
        """
        number, low, high, others = ended
        buffer, start = self._bindings[number]
        part = self.memory[number]
        if high > low and isinstance(part, tuple):
            driver, apart = self._engine.driver, self._bound.spreads
            waits = [events[-1], *[events[step] for _, step in others]] if apart else None
            for stream, _ in others:
                driver.flush(self.streams[stream].queue)  # before another queue waits for it
            touch = part[0].touch(WRITE, part[1] + low, part[1] + high)
            fill = driver.fill(queue, buffer, start + low, high - low, POISON, waits, (touch,))
            if apart:
                events[-1] = fill

    def note(self, arguments: Arguments) -> None:
        """Kernel objects have the arguments of this run from now on. If they had them before, the next run may need no
        others either: then it is this program again."""
        bound, memory = self._bound, self.memory
        arguments.bindings, arguments.numbers, arguments.program = self._bindings, self._numbers, None
        asked = bound.handles.listened or bound.handles.watched or bound.transfers or bound.ended
        is_new = self._stale is None or self._stale
        # Who lends memory is asked each time.
        if not (is_new or asked or any(isinstance(part, tuple) and part[0].guests for part in memory)):
            arguments.expected = [
                (number, part[0].block.ranges, part[1]) for number, part in enumerate(memory) if isinstance(part, tuple)
            ]
            if not bound.spreads:
                self.repeats = list(map(self._repeat, bound.batches, self.recorded))
                self.outside = list({id(touch.ranges): touch.ranges for touch in self.looked[0]}.values())
            arguments.program = self
        arguments.of = bound  # and not before: the next run believes it

    def _repeat(self, batch: Batch, recorded: Sequence[Touch]) -> Repeat:
        steps = range(batch.first, batch.last + 1)
        launches = [(self._handles[step], *cast("Dispatch", self._bound.commands[step]).sizes) for step in steps]
        parts = [touch for touch in recorded if not touch.is_whole]
        reads = [touch.ranges for touch in recorded if touch.is_whole and not touch.mode & WRITE]
        windows = windows_of(parts)
        reads += [touches[0].ranges for touches in windows]
        noted = {id(touch) for touches in windows for touch in touches}
        parts = [touch for touch in parts if id(touch) not in noted]
        writes = [touch.ranges for touch in recorded if touch.is_whole and touch.mode & WRITE]
        return Repeat(batch.first, batch.last, launches, reads, writes, parts)

    def _transfer(self, transfer: Transfer, number: int, queue: Queue, waits: list[Event] | None) -> Event:
        host = self.memory[transfer.host]
        assert isinstance(host, np.ndarray)
        piece = host[transfer.host_at : transfer.host_at + transfer.nbytes]
        buffer, start = self._bindings[transfer.buffer]
        driver = self._engine.driver
        command = driver.write if transfer.up else driver.read
        touched = self.of_step(number) if self._bound.handles.listened else ()
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
        command = self._bound.commands[number]
        if isinstance(command, Dispatch):
            return command.executable.refused(command.sizes, self.lines[number], error)
        return Failure(self.names[number], self.lines[number], str(error)).error()


def _bindings(memory: Memory, engine: Engine, what: str) -> list[Binding]:
    """Where each buffer of a program begins. Raises `MixedDevicesError` for memory of another runtime."""
    bindings: list[Binding] = []
    own = engine.memory
    for part in memory:
        if isinstance(part, tuple):
            storage, offset = part
            if storage.memory is not own:
                raise _of_another_runtime(what, engine)
            block = storage.block
            bindings.append((block.page.buffer, block.low + offset))
        else:
            bindings.append((None, 0))
    return bindings


def _of_another_runtime(what: str, engine: Engine) -> MixedDevicesError:
    return MixedDevicesError(
        f"{what} got memory of another runtime",
        place=f"it runs on {engine.device}",
        remedy="allocate it on the runtime that launches the kernels",
    )
