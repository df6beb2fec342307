"""What every array is: a node of the expression graph, the executor that will compute it, and views that share memory.

`Array` (`array.py`) is put together from parts that all build on `ArrayCore`: operators, subscripts, what others get of
its values, how it is shown, and methods. Any thread may use any array.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ocl_ir.graph import build as graph
from ocl_ir.graph import forward
from ocl_ir.graph.build import Buffer, Movement, Node, Step
from ocl_ir.source_line import Where, caller, calling_line
from ocl_ir.types import DType
from ocl_runtime.arrays.current_runtime import current_executor
from ocl_runtime.arrays.meaning.basic_index import followed
from ocl_runtime.arrays.meaning.writing import written
from ocl_runtime.arrays.pending import BOUND, relieve
from ocl_runtime.arrays.progress import progress
from ocl_runtime.arrays.reals import WithReal, base_executor
from ocl_runtime.arrays.values import copied, is_spread
from ocl_runtime.errors import DTypeError, MixedDevicesError, ShapeError
from ocl_runtime.plan.donation import is_lent
from ocl_runtime.plan.evaluate import Missing, evaluate_if_planned
from ocl_runtime.plan.registry import Cell
from ocl_runtime.plan.tracing import tracer

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor

_ATTEMPTS = 6
"""To find a plan for what is to be computed: who else holds nodes may change while it is made, and the plan with it.
After that it is made under the lock, so that there is an end; a plan that is not on disk takes two."""


class ArrayCore:
    """A node, or a view of what a cell holds; see `Array`."""

    __slots__ = ("__weakref__", "_cell", "_executor", "_known", "_shape", "_steps", "_value")

    _executor: Executor
    """What computes the array: its runtime's, perhaps with another default real."""
    _cell: Cell
    """What the array is, or is a view of."""
    _steps: tuple[Step, ...]
    """The movements from there to this array."""
    _shape: tuple[int, ...]
    _known: tuple[weakref.ref[Node], weakref.ref[Node], Cell | None] | None
    """What a view looked at, and what it was then, unless that is memory, which knows its views; weak, so that it keeps
    no memory that has been replaced since. Then what it was computed to by itself; a cell, so that nobody writes over
    it. One tuple, which changes at once."""
    _value: bool
    """Whether it is an element that was read with integers: a value, which nobody writes into, as NumPy's scalars."""

    def __init__(self, node: Node, executor: Executor) -> None:
        self._executor = executor
        self._cell = Cell(node, executor.registry)
        self._steps = ()
        self._shape = node.shape
        self._known = None
        self._value = False
        if node.depth >= BOUND:
            relieve(node, self._cell, executor, compute_node)

    def _new(self, node: Node) -> Self:
        """An array of the same runtime."""
        return type(self)(node, self._executor)

    def _by(self, executor: Executor) -> Self:
        """The same array, whose results belong to another executor of its runtime."""
        other = type(self).__new__(type(self))
        other._executor = executor
        other._cell, other._steps, other._shape = self._cell, self._steps, self._shape
        other._known, other._value = self._known, self._value
        return other

    def _stepped(self, step: Step) -> Self:
        """The view that a movement gives, which fits the array; of a value, an array of its own."""
        if self._value:
            return self._new(graph.stepped(self._node, step))
        kind = type(self)
        view = kind.__new__(kind)
        view._executor = self._executor
        view._cell = self._cell
        steps = self._steps
        view._steps = followed(steps, step) if steps else (step,)
        region = step.region
        view._shape = step.shape(self._shape) if region is None else region.shape
        view._known = None
        view._value = False
        return view

    @property
    def _node(self) -> Node:
        """What the array is: an expression, or a buffer once it is computed."""
        return self._node_at("")

    def _node_at(self, where: Where) -> Node:
        """The same for a Python line that asks for it, which is otherwise looked for."""
        base = self._cell._node
        while base.result is not None:
            base = base.result
        steps = self._steps
        if not steps:
            return base
        known = self._known
        if known is not None and known[0]() is base:
            node = known[1]() if known[2] is None else known[2].node
            if node is not None:
                return node
        node, where = base, where or caller()
        for step in steps:
            node = graph.stepped(node, step, where)
        if known is not None or type(node) is not Buffer:
            looked = None if type(node) is Buffer else (weakref.ref(base), weakref.ref(node), None)
            if self._known is known:  # else another thread has computed the view meanwhile, which must not be forgotten
                self._known = looked
        return node

    def _become(self, result: Buffer) -> None:
        """The array has been computed: what it is a view of may still not be, or lies so that the view has to copy."""
        if not self._steps:
            self._cell.become(result)
        elif type(self._node_at("")) is not Buffer:
            own = Cell(result, self._executor.registry)
            self._known = weakref.ref(self._cell.node), weakref.ref(result), own

    def _write(self, value: Node, where: Where, steps: tuple[Step, ...] | None = None) -> None:
        """Makes the elements, or those of a view by its steps from the cell on, those of a node of the same shape and
        dtype. Raises `DTypeError` for a value."""
        self._relieve(self._replace(value, where, steps))

    def _replace(self, value: Node, where: Where = "", steps: tuple[Step, ...] | None = None) -> Node:
        """The same, but starts nothing: for who holds the lock. What the cell is from then on."""
        if self._value:
            raise self._not_writable()
        cell = self._cell
        with self._executor.registry.lock:
            trace = tracer.get()
            if trace is not None:
                trace.writes(cell)
            cell.reads = None  # a program puts them in front of what it writes
            node = written(cell.node, self._steps if steps is None else steps, value, where)
            if type(node) is Buffer and is_lent(node.storage):
                node = graph.elementwise("copy", node, where=where)  # what PyOpenCL writes there is another array's
            cell.become(node)
        return node

    @property
    def _is_broadcast(self) -> bool:
        """Whether it is a view that repeats elements, into which nobody writes."""
        return any(step.is_repeating for step in self._steps)

    def _relieve(self, node: Node) -> None:
        """Starts long pending work that a write has made longer."""
        if node.depth >= BOUND:
            relieve(node, self._cell, self._executor, compute_node)

    def _not_writable(self) -> DTypeError:
        """The error for a write into a value."""
        return DTypeError(
            "writing into an element that was read with integers: that is a value, as in NumPy",
            place=calling_line(),
            remedy="write into the array: x[0] = 3; or read a view: x[0, ...]",
        )

    def _repeating(self, what: str) -> ShapeError:
        """The error for a write into a view that repeats elements."""
        return ShapeError(
            f"{what} shape {self.shape} of an array that was broadcast, where elements are repeated",
            place=calling_line(),
            remedy="give the array that was broadcast, or a copy",
        )

    def _note_indices(self, index: Node, axis: int, length: int) -> None:
        """An array on the device is an index of this one."""
        checks = self._executor.checks
        if checks is not None:
            record = checks.note(index, axis, length)
            if record is not None:
                compute_together((self._new(record),))

    def _report_indices(self) -> None:
        """Raises `IndexingError` for the first place since the last value was read that an axis did not have."""
        checks = self._executor.checks
        if checks is not None:
            checks.report(lambda record: self._copied(self._new(record)._computed()))

    def _detach(self) -> None:
        """Gives an element memory of its own, for who would write into that or compare it with others'."""

        def attempt(make: bool) -> Missing | None:
            with self._executor.registry.lock:
                node = self._node
                if isinstance(node, Buffer) and node.storage.nbytes > self.nbytes:
                    results = evaluate_if_planned([graph.elementwise("copy", node)], [None], self._executor, make=make)
                    if isinstance(results, Missing):
                        return results
                    self._become(results[0])
                return None

        until_planned(attempt)

    def _own(self, *, even_lent: bool = False) -> None:
        """Computes, or copies, the whole array that it may be a view of, so that nobody else needs its memory; unless
        another thread writes it meanwhile, or lends it, if that matters."""
        cell, node = self._cell, self._cell.node
        if type(node) is not Buffer:
            compute_node(self._executor, weakref.ref(node), weakref.ref(cell))
            return
        if is_lent(node.storage) and not even_lent:
            return
        copied = self._new(graph.elementwise("copy", node))
        copied._computed()
        with self._executor.registry.lock:
            if cell.node is node and (even_lent or not is_lent(node.storage)):
                cell.become(copied._cell.node)

    def _computed(self) -> Buffer:
        while True:
            if type(self._node_at("")) is not Buffer:
                compute_together((self,))  # which plans, builds and waits for memory without the lock
            with self._executor.registry.lock:  # nobody writes in between
                node = self._node_at("")
                if type(node) is Buffer:
                    size, storage = node.size, node.storage
                    if storage is None or (node.shape and size != 1 and size * node.dtype.size == storage.nbytes):
                        return node
                    return forward.apart(node)  # a part moves when somebody writes the array
            del node  # as an operand of nobody else its memory can be written over

    def _copied(self, node: Buffer) -> NDArray[Any]:
        """The values of what an array of the same runtime has been computed to, as a new NumPy array."""
        if not node.layout.is_dense and is_spread(node):
            node = self._new(graph.elementwise("copy", node))._computed()
        return copied(node, self._executor)

    # ------------------------------------------------------------------ what it is

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements, as NumPy's; or `bfloat16`, which stands for what NumPy lacks."""
        return self._dtype.public

    @property
    def _dtype(self) -> DType:
        return self._cell.node.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self._shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self._dtype.size

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, in memory or once they are computed."""
        return self.size * self.itemsize

    @property
    def device(self) -> object:
        """The device that computes the array."""
        return self._executor.device


def executor_of(what: str, operands: Sequence[object]) -> Executor:
    """The runtime that the arrays among some operands belong to, else the one in use. Raises `MixedDevicesError` for
    several. Where their default reals differ, it is the one that is not the runtime's own."""
    executor: Executor | None = None
    for operand in operands:
        if isinstance(operand, ArrayCore) and operand._executor is not executor:
            executor = operand._executor if executor is None else _common(what, executor, operand._executor)
    return executor or current_executor()


def _common(what: str, executor: Executor, other: Executor) -> Executor:
    if base_executor(executor) is not base_executor(other):
        raise MixedDevicesError(
            f"{what} of arrays of different runtimes, on {executor.device} and {other.device}",
            place=calling_line(),
            remedy="move the values first: with use(runtime): x = asarray(x)",
        )
    return other if base_executor(executor) is executor else executor


def compute_together(arrays: Sequence[ArrayCore]) -> None:
    """Computes arrays of one runtime together, so that what they share is computed once. Raises `MixedDevicesError` for
    arrays of several."""
    first = arrays[0]._executor if len(arrays) == 1 else executor_of("compute", arrays)
    executor = first.base if type(first) is WithReal else first  # as `base_executor` says, without a call
    missing = compute_if_planned(arrays, executor, make=False)
    if missing is not None:
        until_planned(lambda make: compute_if_planned(arrays, executor, make=make), missing)
    if executor.plans.lines.unwritten:
        executor.plans.lines.write()


def compute_node(executor: Executor, node: weakref.ref[Node], cell: weakref.ref[Cell]) -> None:
    """Computes a node, which becomes the result of a cell that is just this node; nothing where it is gone, or has been
    computed."""
    executor = base_executor(executor)

    def attempt(make: bool) -> Missing | None:
        with executor.registry.lock:
            pending, holder = node(), cell()
            if pending is None or pending.result is not None:
                return None
            is_whole = holder is not None and holder.node is pending
            nodes = [forward.current(pending)]
            del pending  # `evaluate` asks who holds it
            results = evaluate_if_planned(nodes, [holder if is_whole else None], executor, make=make)
        return results if isinstance(results, Missing) else None

    until_planned(attempt)
    if executor.plans.lines.unwritten:
        executor.plans.lines.write()


def until_planned(attempt: Callable[[bool], Missing | None], missing: Missing | None = None) -> None:
    """Makes what an attempt lacks, without the lock, and tries again; in the end the attempt makes it itself. `missing`
    is what it lacks, where it has been tried."""
    for _ in range(_ATTEMPTS):
        if missing is None:
            missing = attempt(False)
            if missing is None:
                return
        with progress() if missing.is_plan else nullcontext():
            missing.make()
        missing = None
    with progress():
        attempt(True)


def compute_if_planned(arrays: Sequence[ArrayCore], executor: Executor, *, make: bool) -> Missing | None:
    """Computes arrays; unless their plan is to be made if there is none, says what is missing."""
    with executor.registry.lock:
        lazy: list[ArrayCore] = []
        nodes: list[Node] = []
        cells: list[Cell | None] = []
        for array in arrays:
            steps, cell = array._steps, array._cell
            node = array._node_at("") if steps else cell.node
            if type(node) is not Buffer:
                if node.result is not None or type(node) is Movement:  # another array may be it, and computed
                    node = forward.current(node)
                lazy.append(array)
                nodes.append(node)
                cells.append(None if steps else cell)
            del node  # `evaluate` asks who holds it
        if not lazy:
            return None
        trace = tracer.get()
        if trace is None:
            results = evaluate_if_planned(nodes, cells, executor, make=make)
            if isinstance(results, Missing):
                return results
            if None in cells:
                for array, result in zip(lazy, results, strict=True):
                    array._become(result)
            return None
    for array, result in zip(lazy, trace.compute(nodes), strict=True):
        if trace.owns(array._cell):  # to others, nothing has been computed
            array._become(result)
    return None


def not_computed(arrays: Sequence[ArrayCore]) -> list[ArrayCore]:
    """Those of several arrays that are expressions still."""
    return [array for array in arrays if not isinstance(array._node, Buffer)]
