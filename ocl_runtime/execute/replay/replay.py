"""A schedule made ready to run again and again.

Preparing compiles the kernels and makes the steps (`steps.py`). Replaying binds memory to the parameters, takes new
memory for the results, and enqueues the steps.

To the rest of the runtime a replay is one command, on the stream of the thread that asks for it. A marker on that
stream's queue comes after everything that the replay's memory depends on, and the other queues wait for it; another one
waits for them, and its event is the command's. What is between has its waits from the schedule, where they were proven.
What each node touches is known from the schedule too, and is found out only for a driver that listens.

A replay needs its own arena and kernel objects until it has been enqueued; a second thread takes or makes another set.
The arena is memory like any other, so a replay that takes a set over comes after the one before, on the device.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ocl_ir.errors import ShapeError
from ocl_ir.host.grammar import Launch
from ocl_ir.host.schedule import Access, Buffer, Node, Place, Schedule
from ocl_ir.host.verify_order import verify_order
from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.source_line import calling_line
from ocl_runtime.errors import MixedDevicesError
from ocl_runtime.execute.driver import Bytes, Error, Event, Queue
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.launch import Executable
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.execute.replay.steps import Memory, Part, Step, enqueue_steps, prepare_steps
from ocl_runtime.execute.streams.command import Command, Stream
from ocl_runtime.execute.streams.hazards import Touch

ALIGNED = 64
"""Bytes that divide the place of a parameter's memory: the widest access of a kernel."""
_MODES = {"input": READ, "written": READ | WRITE, "donated": READ | WRITE, "output": WRITE, "result": WRITE}
_HOST_MODES = {"host input": READ, "host output": WRITE}


@dataclass
class _Running:
    """What a replay uses until it has ended, and the events of its nodes; `failed` says why it is not whole.

    Memory of the device is not held: whoever gets it next comes after the replay, by its history.
    """

    host: Sequence[Bytes]
    nodes: Sequence[Node]
    where: str
    streams: Mapping[int, Stream]
    events: list[Event]
    failed: str = ""

    def parts(self) -> Iterator[tuple[str, str, int, Event, Node]]:
        """Each node as (name, line, stream, event, itself)."""
        for node, event in zip(self.nodes, self.events, strict=False):
            yield node.what, node.command.where or self.where, self.streams[node.stream or 0].index, event, node


@dataclass
class _Set:
    """What one replay at a time uses."""

    arena: Storage | None
    steps: list[Step]


class Replay:
    """A schedule that is ready. Any thread may call it."""

    def __init__(self, engine: Engine, schedule: Schedule) -> None:
        """Verifies the order of the schedule, and prepares it.

        Raises `VerifyError`, whatever compiling raises, and `OutOfMemoryError` for the arena.
        """
        verify_order(schedule)
        self.schedule = schedule
        self._engine = engine
        self._used = sorted({node.stream or 0 for node in schedule.nodes})
        self._sets: list[_Set] = []
        self._lock = threading.Lock()
        self._wanted = {one.name: one for one in schedule.buffers if one.kind not in {"result", "scratch"}}
        self._results = [one for one in schedule.buffers if one.kind == "result"]
        self._inputs_of_the_host = [one for one in schedule.buffers if one.kind == "host input"]
        self._listened = engine.driver.listens()
        self._executables = self._built(schedule.nodes)
        used = self._new_set()
        self._waits = sum(len(step.waits) for step in used.steps)
        self._flushes = sum(len(step.flushes) for step in used.steps)
        self._put_back(used)
        engine.memory.idle.add(self)

    def _built(self, nodes: Sequence[Node]) -> list[Executable | None]:
        """The executable of each node that launches a kernel."""
        launched = [node.command.kernel for node in nodes if isinstance(node.command, Launch)]
        executables = iter(self._engine.executables(launched))
        return [next(executables) if isinstance(node.command, Launch) else None for node in nodes]

    def __call__(self, given: Mapping[str, Part | Bytes]) -> list[tuple[Part, Place]]:
        """Starts the program on this thread's stream, over memory for each of its parameters by name.

        Gives each result as memory and the place in it. Raises `ShapeError` for memory that is missing, too small, or
        written and also another parameter's; `MixedDevicesError` for another runtime's; `LaunchError` as
        `Engine.submit` does.
        """
        self._engine.check_process()
        where = calling_line()
        memory = self._bound(given)
        made = {one.id: Part(self._engine.allocate(max(one.nbytes, 1), where)) for one in self._results}
        memory |= made
        for one in self._inputs_of_the_host:
            self._engine.memory.host.settle(memory[one.id])  # type: ignore[arg-type]  # as `_bound` made sure
        used = self._take()
        try:
            self._submit(used, memory, where)
        finally:
            self._put_back(used)
        return [(self._part(memory[place.buffer]), place) for place in self.schedule.results]

    def _submit(self, used: _Set, memory: Memory, where: str) -> Command:
        streams = self._engine.streams
        home = streams.current()
        on = {one: streams.neighbour(home, one) for one in self._used}
        queues = {one: stream.queue for one, stream in on.items()}
        host = [bound for bound in memory.values() if not isinstance(bound, Part)]
        running = _Running(host, self.schedule.nodes, where, on, [])

        def enqueue(queue: Queue, waits: list[Event] | None, _: Sequence[Touch]) -> Event:
            try:
                return self._enqueue(used, memory, queue, queues, waits, running.events)
            except Error as error:
                running.failed = str(error) or type(error).__name__
                # What was begun still uses the memory: the command stands for that, and has failed.
                return self._engine.driver.marker(queue, list(running.events) or waits)

        def ended(queue: Queue) -> Event:
            others = [other for other in queues.values() if other is not queue]
            ends = [self._engine.driver.marker(other, None) for other in others]
            for other in others:
                self._engine.driver.flush(other)
            return self._engine.driver.marker(queue, ends or None)

        touches = self._touches(used, memory)
        command = streams.submit(home, touches, self._name, where, enqueue, keep=running, ended=ended)
        if running.failed:
            raise streams.spoil(command, running.failed)
        self._engine.counters.launches += len(used.steps)
        return command

    def _enqueue(
        self,
        used: _Set,
        memory: Memory,
        home: Queue,
        queues: Mapping[int, Queue],
        waits: list[Event] | None,
        events: list[Event],
    ) -> Event:
        """Fills in the events of the nodes, and gives that of the whole."""
        driver = self._engine.driver
        others = {one: queue for one, queue in queues.items() if queue is not home}
        first: dict[int, list[Event]] = {}
        begin: Event | None = None
        if others or not used.steps:
            begin = driver.marker(home, waits)
            driver.flush(home)
            first = {one: [begin] for one in others}
        elif waits is not None:
            first = dict.fromkeys(queues, waits)
        touches = self._touches_of_nodes(used, memory) if self._listened else None
        enqueue_steps(driver, used.steps, queues, memory, used.arena, first, events, touches)
        counters = self._engine.streams.counters
        # Each of the others waits for the first marker, and the last marker for each of them.
        counters.waits += self._waits + 2 * len(others)
        counters.flushes += self._flushes + (begin is not None) + len(others)
        if not others:
            return events[-1] if events else begin
        last = {step.stream: event for step, event in zip(used.steps, events, strict=True)}
        for queue in others.values():
            driver.flush(queue)
        return driver.marker(home, [last[one] for one in queues])

    def _touches(self, used: _Set, memory: Memory) -> list[Touch]:
        found = []
        for one in (*self._wanted.values(), *self._results):
            bound = memory[one.id]
            if not one.nbytes:
                continue
            if isinstance(bound, Part):
                found.append(bound.storage.touch(_MODES[one.kind], bound.offset, bound.offset + one.nbytes))
            else:
                found.append(self._engine.memory.host.touch(_HOST_MODES[one.kind], bound))
        if used.arena is not None:
            found.append(used.arena.touch(WRITE))  # what it held before is nothing to the program
        return found

    def _touches_of_nodes(self, used: _Set, memory: Memory) -> list[list[Touch]]:
        """What each node touches."""
        return [[self._touch(access, used, memory) for access in node.accesses] for node in self.schedule.nodes]

    def _touch(self, access: Access, used: _Set, memory: Memory) -> Touch:
        in_arena = self.schedule.offsets.get(access.buffer)
        bound = Part(used.arena, in_arena) if used.arena is not None and in_arena is not None else memory[access.buffer]
        if isinstance(bound, Part):
            layout = replace(access.layout, offset=access.layout.offset + bound.offset // access.itemsize)
            return bound.storage.touch_layout(access.mode, layout, access.itemsize)
        return self._engine.memory.host.touch(access.mode, bound[slice(*access.range)])

    # ------------------------------------------------------------------ memory

    def _bound(self, given: Mapping[str, Part | Bytes]) -> dict[int, Part | Bytes]:
        wrong = sorted(set(self._wanted) ^ set(given))
        if wrong:
            raise ShapeError(
                f"{self._name} is called with other parameters than it has: {', '.join(wrong)}",
                place=calling_line(),
                remedy=f"it takes {', '.join(self._wanted) or 'none'}",
            )
        for name, one in self._wanted.items():
            bound = given[name]
            if isinstance(bound, Part):
                self._check(one, bound)
            elif bound.nbytes != one.nbytes:
                raise ShapeError(
                    f"{self._name} got {bound.nbytes:,} bytes of the host for {name}, which has {one.nbytes:,}",
                    place=calling_line(),
                    remedy="give an array of the parameter's shape and dtype",
                )
            twice = [other for other in self._wanted if other != name and self._share(given, name, other)]
            if one.kind not in {"input", "host input"} and twice:
                raise ShapeError(
                    f"{self._name} got memory for {name}, which it writes, that is also {', '.join(twice)}",
                    place=calling_line(),
                    remedy="give memory of its own",
                )
        return {one.id: given[name] for name, one in self._wanted.items()}

    @property
    def _name(self) -> str:
        return f"program {self.schedule.program.name}"

    def _check(self, wanted: Buffer, part: Part) -> None:
        storage, offset = part
        if storage.memory is not self._engine.memory:
            raise MixedDevicesError(
                f"{self._name} got memory of another runtime for {wanted.name}",
                place=calling_line(),
                remedy="allocate it on the runtime that runs the program",
            )
        if offset < 0 or offset + wanted.nbytes > storage.nbytes:
            raise ShapeError(
                f"{self._name} got {storage.nbytes - offset:,} bytes for {wanted.name}, which has {wanted.nbytes:,}",
                place=calling_line(),
                remedy="give memory for the whole of it",
            )
        if offset % ALIGNED:
            raise ShapeError(
                f"{self._name} got {wanted.name} from byte {offset} of its memory on",
                place=calling_line(),
                remedy=f"give memory that begins at a multiple of {ALIGNED} bytes",
            )

    def _share(self, given: Mapping[str, Part | Bytes], name: str, other: str) -> bool:
        one, two = given[name], given[other]
        if not isinstance(one, Part) or not isinstance(two, Part):
            return not isinstance(one, Part) and not isinstance(two, Part) and np.may_share_memory(one, two)
        nbytes, second = self._wanted[name].nbytes, self._wanted[other].nbytes
        return one.storage is two.storage and one.offset < two.offset + second and two.offset < one.offset + nbytes

    @staticmethod
    def _part(bound: Part | Bytes) -> Part:
        assert isinstance(bound, Part)
        return bound

    # ------------------------------------------------------------------ sets

    def _take(self) -> _Set:
        with self._lock:
            if self._sets:
                return self._sets.pop()
        return self._new_set()

    def _put_back(self, used: _Set) -> None:
        with self._lock:
            self._sets.append(used)

    def give_up(self) -> None:
        """Gives up what no replay uses now; the next one makes it again. For when memory is short."""
        with self._lock:
            self._sets.clear()

    def _new_set(self) -> _Set:
        schedule = self.schedule
        arena = self._engine.allocate(schedule.arena, f"scratch of {schedule.program.name}") if schedule.arena else None
        return _Set(arena, prepare_steps(schedule, self._executables, arena))
