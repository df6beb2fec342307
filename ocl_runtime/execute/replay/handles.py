"""Kernel objects for the launches of a program, whose arguments are set again only where they differ.

A program that runs again and again gets an object for each launch, for each thread that runs it. What the last run of
the thread has set stays: where the pool gives the same memory again, as it does in a loop, nothing is set at all.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import repeat
from math import copysign
from operator import is_
from typing import Any, TypeAlias

from ocl_ir.host.grammar import Launch
from ocl_ir.host.schedule import Schedule
from ocl_ir.kernel.grammar import Kernel
from ocl_runtime.execute.driver import Buffer, Bytes, KernelHandle
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.launch import Executable
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.execute.streams.hazards import Ranges

_MOST_OWN = 1024
"""Launches of a program that get objects of their own."""
_WORTH = 4
"""Runs of a program after which its launches get objects of their own: to make one takes about 15 µs, to set all
arguments of one that is shared some µs."""
_MOST_SETS = 4
"""Objects of a thread for one launch."""
_WORTH_ANOTHER = 4
"""Runs over memory of one of the last few, but not of the last one, after which there is one set of objects more."""
_MOST_SEVERAL = _MOST_OWN // _MOST_SETS
"""Launches of a program that get several."""

Binding: TypeAlias = tuple[Buffer, int]
"""A buffer of the driver's, and the byte of it at which a buffer of the program begins."""
Memory: TypeAlias = "list[tuple[Storage, int] | Bytes | None]"
"""What a call has bound, by buffer: a storage and the byte from which on it is the buffer's, or the bytes of a host
array. The arena comes last, since its number is -1."""


class Arguments:
    """Kernel objects of one thread, and what their arguments are: `of` says for which sizes, None while they are being
    set; `program` is what can be given once more as it is, where the buffers of the program are in the memory of
    `expected`: (buffer, history of that memory, byte of it where the buffer begins); `used` is when they were last
    launched."""

    __slots__ = ("bindings", "expected", "handles", "numbers", "of", "program", "used")

    def __init__(self, executables: Sequence[Executable | None]) -> None:
        self.handles: list[KernelHandle] = [
            None if executable is None else executable.new_handle() for executable in executables
        ]
        self.of: object = None
        self.bindings: Sequence[Binding] = ()
        self.program: Any = None
        self.expected: Sequence[tuple[int, Ranges, int]] = ()
        self.numbers: Mapping[str, Any] = {}
        self.used = 0.0

    def has(self, numbers: Mapping[str, Any]) -> bool:
        """Whether the last run had just these numbers: 0.0 is not -0.0."""
        own = self.numbers
        if numbers != own or 0 not in numbers.values():
            return numbers == own
        signs = repeat(1)
        return [*map(copysign, signs, numbers.values())] == [*map(copysign, signs, map(own.__getitem__, numbers))]

    def stale(self, of: object, bindings: Sequence[Binding]) -> set[int] | None:
        """The buffers of a program that are somewhere else than for the last run; None where all has to be set."""
        if of is not self.of:
            return None
        return {
            number
            for number, (binding, old) in enumerate(zip(bindings, self.bindings, strict=True))
            if binding[0] is not old[0] or binding[1] != old[1]
        }


class Own:
    """The kernel objects of one thread. There are several of each launch where the program runs over a few pieces of
    memory in turn, as a loop over two arrays does: then nothing is set either."""

    __slots__ = ("__weakref__", "_lately", "_returns", "busy", "sets")

    def __init__(self, executables: Sequence[Executable | None]) -> None:
        self.sets = [Arguments(executables)]
        """None of them once their programs are to be freed."""
        self.busy = False
        self._lately: deque[tuple[object, Sequence[Binding]]] = deque(maxlen=_MOST_SETS)
        self._returns = 0

    @property
    def used(self) -> float:
        """When any was last launched."""
        return max([arguments.used for arguments in self.sets], default=0.0)

    def let_go(self) -> None:
        """The programs of the objects are to be freed."""
        self.sets = []

    def arguments(
        self, of: object, bindings: Sequence[Binding], executables: Sequence[Executable | None]
    ) -> Arguments | None:
        """The objects for a run with sizes and memory: those that had the same, new ones where these come again and
        again, else the ones that were used longest ago. None where there are none any more."""
        sets = self.sets
        for arguments in sets:
            if arguments.of is of and arguments.bindings == bindings:
                return arguments
        if not sets:
            return None
        self._returns += (of, bindings) in self._lately
        self._lately.append((of, bindings))
        if self._returns < _WORTH_ANOTHER or len(sets) == _MOST_SETS or len(executables) > _MOST_SEVERAL:
            return min(sets, key=lambda arguments: arguments.used)
        self._returns = 0
        sets.append(Arguments(executables))
        return sets[-1]


class Handles:
    """The kernel objects of one program, for all sizes at which it launches the same kernels."""

    def __init__(
        self,
        kernels: Sequence[Kernel | None],
        executables: Sequence[Executable | None],
        *,
        watched: bool,
        listened: bool,
        poison: bool,
        shown: bool,
    ) -> None:
        self.kernels = kernels
        self.executables = executables
        self.poison = poison
        """Whether scratch memory is to be filled where it is used no more."""
        self.watched = watched
        """Whether somebody wants to know of each launch."""
        self.listened = listened
        """Whether the driver wants to know what each touches."""
        self.distinct = list(
            {id(executable): executable for executable in executables if executable is not None}.values()
        )
        self.describing = tuple(
            [number for number, kernel in enumerate(kernels) if kernel is not None and kernel.describes]
        )
        """The steps that write descriptions of matrices, and nothing else."""
        self.asks_for_schedules = watched or listened or poison or shown
        """Whether more is asked of a schedule than what each run needs: it may be `shown`, too."""
        self.pattern: Any = None
        """What the program has in common for all sizes, once that has been found out."""
        self._sets: dict[frozenset[int], frozenset[int]] = {}
        self.of_thread = threading.local()
        """The `Own` of each thread that has some, as `own`."""
        self._runs = 0

    def shared(self, buffers: frozenset[int]) -> frozenset[int]:
        """A set of buffers, which all sizes have in common."""
        return self._sets.setdefault(buffers, buffers)

    def own(self) -> Own | None:
        """This thread's, for one run at a time; None for the first runs, and where another is under way. Whoever gets
        them sets `busy` until it is done, and of those that it uses when they were."""
        own: Own | None = getattr(self.of_thread, "own", None)
        if own is None or not own.sets:
            if self._runs < _WORTH:
                self._runs += len(self.executables) <= _MOST_OWN
                return None
            own = Own(self.executables)
            for executable in self.distinct:
                executable.add_user(own)
            self.of_thread.own = own
        elif own.busy:
            return None
        return own


def kernels_of(schedule: Schedule) -> list[Kernel | None]:
    """What each node launches; None for a transfer."""
    return [node.command.kernel if isinstance(node.command, Launch) else None for node in schedule.nodes]


def handles_for(engine: Engine, kernels: Sequence[Kernel | None], known: Handles | None = None) -> Handles:
    """Those of a schedule's kernels: the known ones of its program, unless they are of other kernels, since a launch
    over nothing is left out."""
    if known is not None and len(known.kernels) == len(kernels) and all(map(is_, known.kernels, kernels)):
        return known
    watched = engine.settings.profile or engine.streams.tells
    executables, listened = engine.executables_of(kernels), engine.driver.listens()
    return Handles(
        kernels, executables, watched=watched, listened=listened, poison=engine.settings.poison, shown=engine.is_shown
    )
