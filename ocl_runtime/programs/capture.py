"""A host program from what a Python function does with arrays and kernels.

    @capture
    def step(x, y):
        return x + y * ocl.sin(x), x - y

The first call with arrays of some dtypes and numbers of axes runs the function once with arrays that have no memory
yet. What it would have computed is written down as a host program, in which the lengths and strides of the arguments
are sizes that each call binds. Later calls run no Python of the function: for new shapes the program's formulas are
filled in, and for shapes that were there it is replayed. No kernel is built twice.

Where the function, or the planning of its kernels, decides something by a size, that becomes a guard of the program
(`ocl_ir.guards`), and a call that does not pass it is captured again. Values it must not depend on: asking for one (in
an `if`, by `float(x)` or `x.numpy()`) is an error that names the line. What it does beside arrays happens when it is
captured. Arrays that it refers to, other than its arguments, are constants: the program keeps the memory that they
have then. Floats are numbers of the program (`ocl_ir.reals`); calls with other Python values are captured apart.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from ocl_ir.graph.build import Buffer
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.array import compute
from ocl_runtime.arrays.progress import progress
from ocl_runtime.arrays.reals import base_executor
from ocl_runtime.errors import DTypeError, NoRoomYetError
from ocl_runtime.executor import DeviceExecutor
from ocl_runtime.plan.tracing import tracer
from ocl_runtime.programs.arguments import Arguments
from ocl_runtime.programs.captured import Call, Captured, Prepared, captured_by, prepared, rebound, replay
from ocl_runtime.programs.own_memory import ATTEMPTS, is_lent_out, own, shared
from ocl_runtime.programs.trace import SharedArgumentsError
from ocl_runtime.programs.trees import Shape, flatten, positional

_MOST_PREPARED = 64
"""Programs with their sizes bound that one function keeps."""
_MOST_LAUNCHES = 2**15
"""Of these programs, unless it is one: they take about 64 MiB of the host's memory."""
_MOST_CALLS = 64
"""Arguments that are just so, for which it knows at once what to replay."""
_MOST_PROGRAMS = 16
"""Programs that it keeps for arguments of the same dtypes and numbers of axes."""
_MOST_FAMILIES = 64
"""Kinds of arguments, other Python values among them, that it keeps programs for, and so their constants."""


class _Programs:
    """What one function has become on one runtime."""

    def __init__(self) -> None:
        self.prepared: OrderedDict[tuple[Captured, tuple[int, ...]], Prepared] = OrderedDict()
        self.calls: dict[Hashable, Call] = {}
        """By what a look at the arguments shows: these are found at once."""
        self.captured: OrderedDict[Hashable, list[Captured]] = OrderedDict()
        self.floats: dict[Hashable, tuple[str, ...] | bool] = {}
        """By the shape of calls: the floats that all of them had so far, or whether they are numbers of programs."""
        self.writes_shared: set[Hashable] = set()
        """Kinds of calls for which it writes into an argument that shares memory with another one."""
        self._lock = threading.Lock()
        self._making: WeakValueDictionary[Hashable, threading.RLock] = WeakValueDictionary()

    def making(self, family: Hashable) -> threading.RLock:
        """Held by who makes a program for such calls: of threads that want the same, one makes it."""
        with self._lock:
            return self._making.setdefault(family, threading.RLock())

    def find(self, family: Hashable, sizes: tuple[int, ...], floats: Sequence[float]) -> Prepared | Captured | None:
        """What was prepared for a call just like this one, else a program whose guards the sizes and floats pass."""
        with self._lock:
            programs = self.captured.get(family)
            if programs is None:
                return None
            self.captured.move_to_end(family)
            programs = programs[::-1]
            for captured in programs:
                specialized = self.prepared.get((captured, sizes))
                if specialized is None or (floats and not captured.reals.hold(floats)):
                    continue
                self.prepared.move_to_end((captured, sizes))
                return specialized
        for captured in programs:
            named = dict(zip(captured.names, sizes, strict=True))
            if captured.guards.hold(named) and (not floats or captured.reals.hold(floats)):
                return captured
        return None

    def takes_floats(self, shape: Shape, floats: Sequence[float]) -> bool:
        """Whether the floats of a call are numbers of the program. They are a part of it until there is a call with
        others, and wherever the function cannot do without their values."""
        known = self.floats.get(shape)
        if type(known) is bool:
            return known
        told = tuple(map(repr, floats))
        self.note_floats(shape, told if known is None or known == told else True)
        return known is not None and known != told

    def note_floats(self, shape: Shape, told: tuple[str, ...] | bool) -> None:
        """What is known of the floats of a call; False where the function cannot do without their values."""
        with self._lock:
            self.floats[shape] = told
            for oldest in list(self.floats)[: len(self.floats) - _MOST_FAMILIES]:
                del self.floats[oldest]

    def note_shared(self, family: Hashable) -> None:
        """For such calls the function writes into an argument that shares memory with another one."""
        with self._lock:
            if len(self.writes_shared) >= _MOST_FAMILIES:
                self.writes_shared.clear()
            self.writes_shared.add(family)

    def keep(self, family: Hashable, captured: Captured) -> None:
        """Takes note of a new program."""
        with self._lock:
            programs = self.captured.setdefault(family, [])
            programs.append(captured)
            del programs[:-_MOST_PROGRAMS]
            for _ in range(len(self.captured) - _MOST_FAMILIES):
                self.captured.popitem(last=False)

    def note(self, sizes: tuple[int, ...], look: Hashable, call: Call) -> None:
        """Takes note of how a call was answered, and at once for others that look like it, if they can be known."""
        with self._lock:
            self.prepared[call.prepared.captured, sizes] = call.prepared
            self._forget_oldest()
            if look is not None:
                self.calls[look] = call
                for _ in range(len(self.calls) - _MOST_CALLS):
                    del self.calls[next(iter(self.calls))]

    def _forget_oldest(self) -> None:
        """Drops what was prepared first, with the calls that know it, until what is left is within its bounds. (In a
        loop amid the lock's block an interrupt could leave the lock taken.)"""
        launches = sum(len(known.bound.commands) for known in self.prepared.values())
        while len(self.prepared) > (_MOST_PREPARED if launches <= _MOST_LAUNCHES else 1):
            _, oldest = self.prepared.popitem(last=False)
            launches -= len(oldest.bound.commands)
            self.calls = {look: call for look, call in self.calls.items() if call.prepared is not oldest}


_Args = ParamSpec("_Args")
_Returned = TypeVar("_Returned")


def capture(function: Callable[_Args, _Returned]) -> Callable[_Args, _Returned]:
    """A function that replays what `function` does with arrays.

    Arrays may stand in tuples, lists and dictionaries, in arguments as in what is returned. Floats are numbers of the
    program from the second call on that has others, and what the function decides by one becomes a guard: by comparing
    it, by `isinstance`, by `float(x)`, but not by `type(x) is float`, which is False for such a number. Other arguments
    are told apart by their values. With `OCL_RUNTIME_CHECK=on` the function is called as it is. Raises `DTypeError` for
    arguments without an array or that cannot be told apart.
    """
    captured = _Function(function)

    @functools.wraps(function)
    def replayed(*args: _Args.args, **kwargs: _Args.kwargs) -> _Returned:
        returned: _Returned = captured.call(args, kwargs)
        return returned

    return replayed


_ARRAYS_AND_FLOATS = frozenset({Array, float})


class _Function:
    """A captured function, on all runtimes that it is called for."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._name = getattr(function, "__name__", type(function).__name__)
        self._known: WeakKeyDictionary[DeviceExecutor, _Programs] = WeakKeyDictionary()
        self._last: tuple[ref[DeviceExecutor], ref[_Programs]] | None = None
        """Of the runtime that it was called for last, which a table takes longer to tell."""
        self._lock = threading.Lock()

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function returns for some arguments."""
        floats: list[float] = []
        what = f"{self._name} is captured and got"
        arrays: Sequence[Array]
        kinds = tuple(map(type, args))
        if not kwargs and _ARRAYS_AND_FLOATS.issuperset(kinds):
            shape = positional(kinds)
            arrays = [arg for arg in args if type(arg) is Array]
            if len(arrays) < len(args):
                floats = [arg for arg in args if type(arg) is float]
        else:
            arrays, shape = flatten((args, kwargs), what, floats)
        if not arrays:
            raise DTypeError(f"{what} no array", place=calling_line(), remedy="give it arrays")
        executor = base_executor(arrays[0]._executor)
        if not isinstance(executor, DeviceExecutor) or tracer.get() is not None or executor.checks is not None:
            return self._function(*args, **kwargs)
        last = self._last
        programs = last[1]() if last is not None and last[0]() is executor else None
        if programs is None:
            programs = self._programs(executor)
        if floats and not programs.takes_floats(shape, floats):
            (_, shape), floats = flatten((args, kwargs), what), []
        look, nodes = _look(shape, arrays)
        call = programs.calls.get(look)
        if call is not None and (not floats or call.prepared.captured.reals.hold(floats)):
            if not (call.prepared.captured.assigned or call.prepared.captured.into):
                return replay(call.prepared, nodes, call.starts, floats, executor)
            del nodes  # who refers to memory needs it
            with suppress(NoRoomYetError), executor.registry.lock:
                if not _shared(call.prepared.captured, arrays):
                    again, nodes = _look(shape, arrays)
                    if again == look:
                        return replay(call.prepared, nodes, call.starts, floats, executor, wait=False)
            look, nodes = None, []
        try:
            return self._first(arrays, shape, floats, programs, executor, look, nodes)
        except _UnopenError:
            programs.note_floats(shape, False)
        except SharedArgumentsError:
            if not _set_apart(arrays):
                raise
        return self.call(args, kwargs)

    def _first(
        self,
        arrays: Sequence[Array],
        shape: Shape,
        floats: list[float],
        programs: _Programs,
        executor: DeviceExecutor,
        look: Hashable,
        nodes: list[Buffer],
    ) -> Any:
        """The same for arguments that are like none before, or (without a `look`) are not computed, or share memory.
        With a `look`, of one executor, the list of nodes is emptied."""
        executors = [x._executor for x in arrays]
        if look is not None and executors.count(executors[0]) == len(executors):
            arguments = Arguments(nodes.copy(), executors)
            nodes.clear()
        else:
            for x in arrays:
                if x._value:
                    x._detach()  # from the array that it was read from, which may be another argument
            arguments = _arguments(arrays, executor)
            look = _look(shape, arrays)[0]
        family, sizes = (shape, arguments.family), arguments.sizes
        if family in programs.writes_shared and _set_apart(arrays):
            del arguments  # who refers to memory needs it
            return self._first(arrays, shape, floats, programs, executor, None, [])
        starts = [span.low for span in arguments.ranges]
        specialized = programs.find(family, sizes, floats)
        if not isinstance(specialized, Prepared):
            with programs.making(family):
                specialized = programs.find(family, sizes, floats)  # another thread may have made it meanwhile
                if not isinstance(specialized, Prepared):
                    specialized = self._prepared(specialized, arguments, shape, floats, programs, executor)
                programs.note(sizes, None, Call(specialized, starts))
        programs.note(sizes, look, Call(specialized, starts))
        if not (specialized.captured.assigned or specialized.captured.into):
            return replay(specialized, arguments.ranges, starts, floats, executor)
        del arguments  # who refers to memory needs it
        for attempt in count():
            try:
                with executor.registry.lock:
                    needed = _shared(specialized.captured, arrays)
                    if not needed:
                        settled = _in_memory(arrays)
                        if settled is None or ((shape, settled.family), settled.sizes) != (family, sizes):
                            break  # a copy lies in another way, or another thread has written
                        starts = [span.low for span in settled.ranges]
                        return replay(specialized, settled.ranges, starts, floats, executor, wait=attempt >= ATTEMPTS)
                own(needed)
            except NoRoomYetError as error:
                error.wait()
            settled = None
        return self._first(arrays, shape, floats, programs, executor, None, [])

    def _prepared(
        self,
        captured: Captured | None,
        arguments: Arguments,
        shape: Shape,
        floats: list[float],
        programs: _Programs,
        executor: DeviceExecutor,
    ) -> Prepared:
        """A program for arguments: one whose guards they pass, or a new one."""
        if captured is not None:
            specialized = rebound(captured, arguments.sizes, executor)
            if specialized is not None:
                return specialized
        with progress():
            if captured is None:
                try:
                    captured = captured_by(self._function, self._name, arguments, shape, floats, executor)
                except SharedArgumentsError:
                    programs.note_shared((shape, arguments.family))
                    raise
                except Exception as error:
                    raise (_UnopenError if floats else error) from error
                programs.keep((shape, arguments.family), captured)
            return prepared(captured, arguments.sizes, executor)

    def _programs(self, executor: DeviceExecutor) -> _Programs:
        with self._lock:
            programs = self._known.setdefault(executor, _Programs())
            self._last = ref(executor), ref(programs)  # which a runtime that is gone takes along
            return programs


class _UnopenError(Exception):
    """The function cannot be captured without the values of its floats."""


def _look(shape: Shape, arrays: Sequence[Array]) -> tuple[Hashable, list[Buffer]]:
    """What a call depends on, where all arrays are computed and have memory of their own, and what they are; None, with
    nothing, for other calls."""
    nodes: list[Buffer] = []
    parts: list[Any] = [shape]
    for x in arrays:
        node = x._node_at("")
        if type(node) is not Buffer or node.storage is None or x._value:
            return None, []
        nodes.append(node)
        parts += (x._executor.default_real, node.dtype, node.layout.formulas)
    if len({id(node.storage) for node in nodes}) < len(nodes):
        return None, []
    return tuple(parts), nodes


def _set_apart(arrays: Sequence[Array]) -> bool:
    """Gives copies memory of their own that still share that of another argument; whether there are any. Views of one
    array stay together, and so do arrays over memory that PyOpenCL has, too."""
    cells = [x for x in {id(x._cell): x for x in arrays}.values() if x.size and not is_lent_out(x)]
    storages = [x._computed().storage for x in cells]
    copies = [x for number, x in enumerate(cells) if storages[number] in storages[:number]]
    del storages  # who refers to memory needs it
    own(copies)
    return bool(copies)


def _arguments(arrays: Sequence[Array], executor: DeviceExecutor) -> Arguments:
    while True:
        compute(*arrays)  # which plans and builds without the lock
        with executor.registry.lock:  # nobody writes in between
            arguments = _in_memory(arrays)
        if arguments is not None:
            return arguments


def _in_memory(arrays: Sequence[Array]) -> Arguments | None:
    """Arrays as arguments, unless another thread has made one an expression. Under the registry's lock."""
    nodes = [x._node for x in arrays]
    computed = [node for node in nodes if isinstance(node, Buffer)]
    return Arguments(computed, [x._executor for x in arrays]) if len(computed) == len(nodes) else None


def _shared(captured: Captured, arrays: Sequence[Array]) -> list[Array]:
    """The arrays whose memory a program overwrites, and others need; and views of what has no memory yet."""
    return shared([arrays[number] for number in captured.assigned], [arrays[number] for number in captured.into])
