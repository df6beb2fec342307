"""One call of a bound program: memory for what it makes, and all of its steps to their streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import monotonic
from types import MappingProxyType
from typing import Any

from ocl_ir.source_line import Where
from ocl_runtime.errors import OutOfMemoryError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.memory.storage import Storage, without_memory
from ocl_runtime.execute.replay.bound import Bound
from ocl_runtime.execute.replay.descriptions import described
from ocl_runtime.execute.replay.execution import Execution, Number
from ocl_runtime.execute.replay.handles import Memory, Own
from ocl_runtime.execute.replay.steps import ARENA
from ocl_runtime.execute.streams.chosen import chosen
from ocl_runtime.execute.streams.command import Stream
from ocl_runtime.execute.streams.program import submit

_NONE: Memory = []


def _allocate(made: Sequence[tuple[int, int]], memory: Memory, allocate: Callable[[int], Storage]) -> None:
    for buffer, nbytes in made:
        if memory[buffer] is None:
            memory[buffer] = allocate(nbytes or 1), 0


def run(
    engine: Engine,
    bound: Bound,
    memory: Memory,
    what: str,
    lines: Sequence[Where],
    numbers: Mapping[str, Number] = MappingProxyType({}),
    *,
    wait: bool = True,
) -> None:
    """Starts a program on its streams; memory of results and the arena is added where it is missing. Else as `start`.

    Raises as that and `Memory.allocate` do.
    """
    engine.check_process()
    where, home = lines[-1] if lines else "", engine.streams.current()
    allocate = partial(engine.memory.allocate, where=where, stream=home, wait=wait)
    _allocate(bound.made, memory, allocate)
    if bound.arena and memory[ARENA] is None:  # last, since it goes back first: then all find their memory again
        try:
            memory[ARENA] = allocate(bound.arena), 0
        except OutOfMemoryError:  # or more than one allocation may have
            bound = bound.in_pieces()
            _allocate(bound.made, memory, allocate)
    start(engine, bound, memory, what, lines, numbers, home, apart=bound.spreads)


def give(
    engine: Engine,
    bound: Bound,
    memory: Memory,
    lines: Sequence[Where],
    numbers: Mapping[str, Number],
    stream: Stream,
) -> None:
    """Starts the program of an evaluation, from a stream on: on several, if it is for them and the thread has chosen
    none. Else as `start`; raises `Error`, too, for memory that only a captured program has."""
    if engine.inherited:
        engine.check_process()
    try:
        apart = bound.spreads and chosen() is None
        start(engine, bound, memory, "an evaluation", lines, numbers, stream, apart=apart)
    except AttributeError:
        if all(isinstance(part[0], Storage) for part in memory if isinstance(part, tuple)):
            raise
        raise without_memory() from None


def start(
    engine: Engine,
    bound: Bound,
    memory: Memory,
    what: str,
    lines: Sequence[Where],
    numbers: Mapping[str, Number],
    home: Stream,
    *,
    apart: bool,
) -> None:
    """Starts a program over memory for all its buffers. `lines` are the Python lines that asked for the steps, and
    `apart` says whether they go to several streams, from `home` on.

    Raises as `streams.program.submit` does.
    """
    if bound.handles.describing:
        bound, lines = described(start, engine, bound, memory, what, lines, home)
    own: Own | None = getattr(bound.handles.of_thread, "own", None)
    if own is None or own.busy or not own.sets:
        own = bound.handles.own()
    if own is None:
        program = Execution(engine, bound, what)
        program.over(memory, numbers, lines, home, apart=apart)
        program.set_up(None)
        submit(engine.streams, program)
    else:
        try:
            own.busy = True
            known: Execution | None = None
            parts: list[Any] = memory
            for arguments in own.sets:
                if arguments.of is not bound or arguments.program is None:
                    continue  # else it can be given once more as it is
                for number, ranges, first in arguments.expected:
                    storage, offset = parts[number]
                    if storage.block.ranges is ranges and offset == first:
                        continue
                    break
                else:
                    known = arguments.program
                    break
            if known is not None:
                arguments.program = None  # until all has gone well: who finds out what went wrong looks into it
                arguments.used = monotonic()
                known.over(memory, numbers, lines, home, apart=apart)
                if numbers and not arguments.has(numbers):
                    arguments.of = None  # until all are set
                    known.set_numbers(numbers)
                    arguments.numbers, arguments.of = numbers, bound
                submit(engine.streams, known)
                known.memory = _NONE
                arguments.program = known
            else:
                program = Execution(engine, bound, what)
                program.over(memory, numbers, lines, home, apart=apart)
                objects = program.set_up(own)
                submit(engine.streams, program)
                if objects is not None:
                    program.note(objects)
                program.memory = _NONE
        finally:
            own.busy = False
    engine.counters.launches += len(bound.commands)
