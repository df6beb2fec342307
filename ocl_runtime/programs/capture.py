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
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, ParamSpec, Protocol, TypeVar, cast
from weakref import WeakKeyDictionary, ref

from ocl_ir.graph.build import Buffer, buffer
from ocl_ir.layout import Layout
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.array import compute
from ocl_runtime.arrays.meaning.precision import Precision, chosen_precision
from ocl_runtime.arrays.progress import progress
from ocl_runtime.arrays.reals import base_executor
from ocl_runtime.errors import DTypeError, Error, NoRoomYetError
from ocl_runtime.executor import DeviceExecutor
from ocl_runtime.plan.tracing import tracer
from ocl_runtime.programs.arguments import Arguments
from ocl_runtime.programs.captured import Call, Captured, Prepared, captured_by, prepared, rebound, replay
from ocl_runtime.programs.known_programs import KnownPrograms
from ocl_runtime.programs.own_memory import ATTEMPTS, is_lent_out, own, shared
from ocl_runtime.programs.trace import Planned, SharedArgumentsError
from ocl_runtime.programs.trees import Shape, flatten, positional

_Args = ParamSpec("_Args")
_Returned = TypeVar("_Returned")
_Returned_co = TypeVar("_Returned_co", covariant=True)


class CapturedFunction(Protocol[_Args, _Returned_co]):
    """What `capture` makes of a function."""

    def __call__(self, *args: _Args.args, **kwargs: _Args.kwargs) -> _Returned_co:
        """What the function returns."""

    def compile(self, *args: _Args.args, **kwargs: _Args.kwargs) -> None:
        """Makes the program for such arguments and builds its kernels, which the cache on disk keeps; computes nothing
        and takes no memory of the device.

            step.compile(ocl.empty((4096, 4096)), 0.1)

        Arguments are given as calls will give them. Of arrays only dtype, shape and layout count: `empty` makes some
        that take no memory. One that is not computed is taken for contiguous, and each for one with memory of its own.
        Floats are numbers of the program at once. Another process captures and plans anew, and builds nothing.

        Raises as a call does.
        """


def capture(function: Callable[_Args, _Returned]) -> CapturedFunction[_Args, _Returned]:
    """A function that replays what `function` does with arrays.

    Arrays may stand in tuples, lists and dictionaries, in arguments as in what is returned. Floats are numbers of the
    program from the second call on that has others, and what the function decides by one becomes a guard: by comparing
    it, by `isinstance`, by `float(x)`, but not by `type(x) is float`, which is False for such a number. Other arguments
    are told apart by their values. With `OCL_RUNTIME_CHECK=on` the function is called as it is. Its method `compile`
    builds ahead of calls what they take. Raises `DTypeError` for arguments without an array or that cannot be told
    apart.
    """
    captured = _Function(function)

    @functools.wraps(function)
    def replayed(*args: _Args.args, **kwargs: _Args.kwargs) -> _Returned:
        returned: _Returned = captured.call(args, kwargs)
        return returned

    def compile_only(*args: _Args.args, **kwargs: _Args.kwargs) -> None:
        captured.compile(args, kwargs)

    compile_only.__doc__ = CapturedFunction.compile.__doc__
    replayed.compile = compile_only  # type: ignore[attr-defined]
    return cast("CapturedFunction[_Args, _Returned]", replayed)


_ARRAYS_AND_FLOATS = frozenset({Array, float})


class _Function:
    """A captured function, on all runtimes that it is called for."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._name = getattr(function, "__name__", type(function).__name__)
        self._what = f"{self._name} is captured and got"
        self._known: WeakKeyDictionary[DeviceExecutor, dict[Precision, KnownPrograms]] = WeakKeyDictionary()
        self._last: tuple[ref[DeviceExecutor], Precision, ref[KnownPrograms]] | None = None
        """Of the runtime that it was called for last, which a table takes longer to tell."""
        self._lock = threading.Lock()

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function returns for some arguments."""
        floats: list[float] = []
        arrays: Sequence[Array]
        kinds = tuple(map(type, args))
        if not kwargs and _ARRAYS_AND_FLOATS.issuperset(kinds):
            shape = positional(kinds)
            arrays = [arg for arg in args if type(arg) is Array]
            if len(arrays) < len(args):
                floats = [arg for arg in args if type(arg) is float]
        else:
            arrays, shape = flatten((args, kwargs), self._what, floats)
        executor = self._executor_of(arrays)
        if executor is None:
            return self._function(*args, **kwargs)
        last = self._last
        is_last = last is not None and last[0]() is executor and last[1] == chosen_precision()
        programs = last[2]() if last is not None and is_last else None
        if programs is None or programs.generation != executor.choices.generation:
            programs = self._programs(executor)
        if floats and not programs.takes_floats(shape, floats):
            (_, shape), floats = flatten((args, kwargs), self._what), []
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
            with programs.without_numbers(shape):
                return self.call(args, kwargs)
        except SharedArgumentsError:
            if not _set_apart(arrays):
                raise
        except Error:
            if programs.generation == executor.choices.generation:
                raise
        return self.call(args, kwargs)

    def compile(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Makes and builds what calls with such arguments take, whatever their floats."""
        floats: list[float] = []
        arrays, shape = flatten((args, kwargs), self._what, floats)
        executor = self._executor_of(arrays)
        if executor is None:
            return
        programs = self._programs(executor)
        if floats and programs.floats.get(shape) is False:
            (_, shape), floats = flatten((args, kwargs), self._what), []
        elif floats:
            programs.note_floats(shape, True)
        arguments = Arguments([_without_memory(x) for x in arrays], [x._executor for x in arrays])
        family, sizes = (shape, arguments.family), arguments.sizes
        try:
            with programs.making(family):
                specialized = programs.find(family, sizes, floats)
                if not isinstance(specialized, Prepared):
                    specialized = self._prepared(specialized, arguments, shape, floats, programs, executor)
                programs.note(sizes, None, Call(specialized, [span.low for span in arguments.ranges]))
        except _UnopenError:
            with programs.without_numbers(shape):
                self.compile(args, kwargs)
        except Error:
            if programs.generation == executor.choices.generation:
                raise
            self.compile(args, kwargs)

    def _executor_of(self, arrays: Sequence[Array]) -> DeviceExecutor | None:
        """Where a call with these arrays is replayed; None where the function itself is called."""
        if not arrays:
            raise DTypeError(f"{self._what} no array", place=calling_line(), remedy="give it arrays")
        executor = base_executor(arrays[0]._executor)
        replays = isinstance(executor, DeviceExecutor) and tracer.get() is None and executor.checks is None
        return executor if replays else None  # type: ignore[return-value]

    def _first(
        self,
        arrays: Sequence[Array],
        shape: Shape,
        floats: list[float],
        programs: KnownPrograms,
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
        programs: KnownPrograms,
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

    def _programs(self, executor: DeviceExecutor) -> KnownPrograms:
        with self._lock:
            known, precision = self._known.setdefault(executor, {}), chosen_precision()
            programs, generation = known.get(precision), executor.choices.generation
            if programs is None or programs.generation != generation:  # by what was measured, plans may be others now
                programs = known[precision] = KnownPrograms(generation)
            self._last = ref(executor), precision, ref(programs)  # which a runtime that is gone takes along
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


def _without_memory(x: Array) -> Buffer:
    """What an array is once it is computed, in memory of its own that is not there."""
    node = x._node
    layout = node.layout if isinstance(node, Buffer) else Layout.contiguous(node.shape)
    return buffer(Planned(layout.range()[1] * node.dtype.size) if node.size else None, node.dtype, layout)


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
