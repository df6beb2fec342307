"""The lazy array.

An `Array` is a node of the expression graph and the runtime that will compute it. Operations only build nodes; values
are computed when they are asked for (`numpy()`, `float(x)`, …) or by `compute`. After that the array holds a buffer,
and what is built on it later reads that.

Basic indexing and other movements give views, which share their `Cell` with the array that they look at. A write makes
that cell another node, with a part of the elements replaced: whoever shares the cell sees it, and expressions that were
built before do not (`ocl_runtime.arrays.writing`). Any thread may use any array.
"""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ocl_ir import graph
from ocl_ir.graph import Buffer, Node, Step
from ocl_ir.guards import NUMBERS, Number
from ocl_ir.layout import Layout
from ocl_ir.reference import calling_line
from ocl_runtime.arrays.dtypes import require, to_dtype
from ocl_runtime.arrays.in_use import current
from ocl_runtime.arrays.operators import Operators
from ocl_runtime.arrays.products import matmul
from ocl_runtime.arrays.semantics import Operand, apply, cast
from ocl_runtime.arrays.subscripts import Subscripts
from ocl_runtime.arrays.table import TABLE
from ocl_runtime.arrays.values import CPU, EDGE, capsule, copied, lent, sample, uncopied
from ocl_runtime.arrays.writing import check_kind, written
from ocl_runtime.errors import DTypeError, Error, MixedDevicesError, ShapeError
from ocl_runtime.plan.evaluate import evaluate
from ocl_runtime.plan.executor import Executor
from ocl_runtime.plan.registry import Cell
from ocl_runtime.plan.tracing import tracer

_SHOWN = 64
"""Elements up to which `repr` shows the values of a computed array."""


class Array(Subscripts, Operators):
    """A lazy n-dimensional array; make one with `asarray`, `zeros`, `arange`, …"""

    __slots__ = ("__weakref__", "_executor", "_known", "cell", "steps")
    __array_ufunc__ = None  # NumPy's arrays leave the operators to us

    cell: Cell
    """What the array is, or is a view of."""
    steps: tuple[Step, ...]
    """The movements from there to this array."""
    _known: tuple[weakref.ref[Node], weakref.ref[Node], Cell | None] | None
    """What a view looked at, and what it was then; weak, so that it keeps no memory that has been replaced since. Then
    what it was computed to by itself; a cell, so that nobody writes over it. One tuple, which changes at once."""

    def __init__(self, node: Node, executor: Executor) -> None:
        self._executor = executor
        self.cell = Cell(node, executor.registry)
        self.steps = ()
        self._known = None

    def stepped(self, step: Step) -> Array:
        """The view that a movement gives, which fits the array."""
        view = Array.__new__(Array)
        view._executor = self._executor
        view.cell = self.cell
        view.steps = (*self.steps, step)
        view._known = None
        return view

    @property
    def node(self) -> Node:
        """What the array is: an expression, or a buffer once it is computed."""
        base = self.cell.node
        if not self.steps:
            return base
        known = self._known
        if known is not None and known[0]() is base:
            found = known[1]() if known[2] is None else known[2].node
            if found is not None:
                return found
        node = base
        for step in self.steps:
            node = graph.stepped(node, step)
        self._known = weakref.ref(base), weakref.ref(node), None
        return node

    def become(self, result: Buffer) -> None:
        """The array has been computed: what it is a view of may still not be."""
        if not self.steps:
            self.cell.become(result)
        elif not isinstance(self.cell.node, Buffer):
            own = Cell(result, self._executor.registry)
            self._known = weakref.ref(self.cell.node), weakref.ref(result), own

    @property
    def executor(self) -> Executor:
        """The runtime that the array belongs to."""
        return self._executor

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements, as NumPy's."""
        return self.node.dtype.numpy

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self.node.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.node.size

    @property
    def device(self) -> object:
        """The device that computes the array."""
        return self._executor.device

    @property
    def T(self) -> Array:  # noqa: N802
        """A matrix transposed. Raises `ShapeError` unless there are two axes."""
        if self.ndim != 2:
            raise ShapeError(
                f"T of an array with {self.ndim} axes", place=calling_line(), remedy="use x.mT or permute_dims(x, axes)"
            )
        return self.mT

    @property
    def mT(self) -> Array:  # noqa: N802
        """The last two axes exchanged. Raises `ShapeError` for fewer."""
        if self.ndim < 2:
            raise ShapeError(
                f"mT of an array with {self.ndim} axes", place=calling_line(), remedy="add axes first: x[:, None]"
            )
        axes = (*range(self.ndim - 2), self.ndim - 1, self.ndim - 2)
        return self.stepped(Step("permute", axes))

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """The module with the functions of the array API standard, version 2024.12."""
        if api_version not in {None, "2021.12", "2022.12", "2023.12", "2024.12"}:
            raise Error(
                f"version {api_version} of the array API standard is not known here",
                place=calling_line(),
                remedy="ask for 2024.12 or an earlier one",
            )
        return importlib.import_module(__package__)

    # ------------------------------------------------------------------ values

    def compute(self) -> Array:
        """Computes the array now, and gives it back; nothing happens if it is computed already."""
        compute(self)
        return self

    def numpy(self) -> NDArray[Any]:
        """The values as a new NumPy array of the same shape and dtype."""
        return copied(self._computed(), self._executor)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The values, by NumPy's protocol: a copy, or for `copy=False` a view in place that is to be read only. Raises
        `SharingError` (a ValueError) for that on a device with memory of its own, for another dtype, and while PyOpenCL
        may write there."""
        if copy is False:
            return uncopied(self._computed(), self._executor, dtype)
        return self.numpy() if dtype is None else self.numpy().astype(dtype, copy=False)

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of the values on the host, by the array API standard: `numpy.from_dlpack(x)` and the like.

        Where the device shares the host's memory and the taker knows of DLPack 1, that is the device's memory, to be
        read only, unless `copy` is True; else a copy. Raises `SharingError` (a BufferError) for a stream, for another
        device than the host, and where `copy` is False but one is needed.
        """
        return capsule(self._computed(), self._executor, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The host, as DLPack names it: that is where `__dlpack__` gives the values."""
        return CPU

    def to_pyopencl(self, queue: Any = None) -> Any:
        """A `pyopencl.array.Array` over the memory of this array, which is computed first, without a copy.

        It may be written to, and whatever looks at that memory sees the new values. It keeps the memory, which is
        shared with `queue` (by default `Runtime.queue`) until the last PyOpenCL array over it is gone: on the device,
        each command of ours on it comes after all that the queue was given before, and before all that it is given
        later. Other queues are ordered with it by events. Kernels of the user's take `base_data` and `offset`.

        Raises `DeviceError` for an out-of-order queue, `MixedDevicesError` for one of another context (see
        `Runtime.over`), `LaunchError` where the values were spoilt.
        """
        return lent(self._computed(), self._executor, queue)

    def _computed(self) -> Buffer:
        with self._executor.registry.lock:  # nobody writes in between
            compute(self)
            node = self.node
        assert isinstance(node, Buffer)
        return node

    def _item(self, as_what: str) -> Any:
        if self.ndim:
            raise ShapeError(
                f"{as_what} of an array of shape {self.shape}",
                place=calling_line(),
                remedy="only an array with shape () is a single number: index it, or reduce it with any, all, sum, …",
            )
        return self.numpy()[()]

    def __bool__(self) -> bool:
        return bool(self._item("bool"))

    def __int__(self) -> int:
        return int(self._item("int"))

    def __float__(self) -> float:
        return float(self._item("float"))

    def __complex__(self) -> complex:
        return complex(self._item("complex"))

    def __index__(self) -> int:
        if not self.node.dtype.is_integer:
            raise DTypeError(
                f"an array of {self.dtype} is no index", place=calling_line(), remedy="convert it: astype(x, int64)"
            )
        return int(self._item("an index"))

    def __repr__(self) -> str:
        about = f"shape={self.shape}, dtype={self.dtype}"
        if not isinstance(self.node, Buffer):
            return f"Array({about}, not computed yet)"
        shown = self.numpy() if self.size <= _SHOWN else sample(self)
        most = _SHOWN if self.size <= _SHOWN else 0
        values = np.array2string(shown, separator=", ", prefix="Array(", threshold=most, edgeitems=EDGE)
        return f"Array({values}, {about})"

    # ------------------------------------------------------------------ elements

    def __len__(self) -> int:
        if not self.ndim:
            raise ShapeError("len of an array with shape ()", place=calling_line(), remedy="use x.size")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        return (self[place] for place in range(len(self)))

    def write(self, value: Node) -> None:
        """Makes the elements those of a node of the same shape and dtype."""
        with self._executor.registry.lock:
            node = written(self.cell.node, self.steps, value)
            trace = tracer.get()
            if trace is not None:
                trace.writes(self.cell)
            self.cell.become(node)

    def _new(self, node: Node) -> Array:
        return Array(node, self._executor)

    def _uploaded(self, host: NDArray[Any]) -> Node:
        return from_host(host, self._executor).node

    def _given(self, what: str, value: object) -> Operand:
        """Something beside this array as an operand; NumPy's arrays and lists too."""
        if isinstance(value, np.ndarray | list | tuple):
            value = from_host(np.asarray(value), self._executor)
        return operands_of(what, (self, value))[0][1]

    # ------------------------------------------------------------------ operators

    def _apply(self, name: str, *operands: Any) -> Array:
        return elementwise(name, *operands)

    def __matmul__(self, other: object, /) -> Array:
        (left, right), executor = operands_of("matmul", (self, other))
        if isinstance(right, Number) or isinstance(left, Number):
            raise DTypeError("matmul with a number", place=calling_line(), remedy="use multiply, or x * 2")
        return Array(matmul(left, right, executor), executor)

    def __imatmul__(self, other: object, /) -> Array:
        product = self @ other
        return self._replaced("matmul", product.node)

    def __pos__(self) -> Array:
        return Array(self.node, self._executor)

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickled, (self.numpy(),)

    def _over(self, name: str, other: Any) -> Array:
        return self._replaced(name, apply(TABLE[name], (self.node, self._given(name, other)), self._executor))

    def _replaced(self, name: str, result: Node) -> Array:
        check_kind(name, result.dtype, self.node.dtype)
        if result.shape != self.shape:
            raise ShapeError(
                f"{name} of shape {self.shape} in place gives shape {result.shape}",
                place=calling_line(),
                remedy="write x = x … for a new array",
            )
        self.write(cast(result, self.node.dtype))
        return self


ArrayLike: TypeAlias = Array | Number | np.generic
"""An array or a scalar. Python's scalars take the dtype of the array beside them, NumPy's have their own."""


def operands_of(what: str, given: Sequence[object]) -> tuple[list[Operand], Executor]:
    """The operands of an operation as nodes and Python numbers, and the runtime that they belong to.

    Raises `DTypeError` for an operand that is neither an array nor a real number, and `MixedDevicesError` for arrays of
    two runtimes.
    """
    executor = executor_of(what, given)
    return [one.node if isinstance(one, Array) else _operand(what, one, executor) for one in given], executor


def executor_of(what: str, given: Sequence[object]) -> Executor:
    """The runtime that the arrays among some operands belong to. Raises `MixedDevicesError` for several."""
    found: Executor | None = None
    for one in given:
        if isinstance(one, Array) and one._executor is not found:
            if found is not None:
                raise MixedDevicesError(
                    f"{what} of arrays of different runtimes, on {found.device} and {one.device}",
                    place=calling_line(),
                    remedy="move the values first: with use(runtime): x = asarray(x.numpy())",
                )
            found = one._executor
    return found or current()


def _operand(what: str, given: object, executor: Executor) -> Operand:
    if isinstance(given, np.generic):
        return graph.scalar(given.item(), require(to_dtype(given.dtype), executor.target))
    if isinstance(given, NUMBERS):
        return given
    raise DTypeError(
        f"{what} does not take an operand of type {type(given).__name__}",
        place=calling_line(),
        remedy="use arrays and real numbers; asarray(x) makes an array of lists and NumPy arrays",
    )


def elementwise(name: str, *given: object) -> Array:
    """The function of this name in `ocl_runtime.arrays.table`; errors are those of `operands_of` and of `apply`."""
    operands, executor = operands_of(name, given)
    return Array(apply(TABLE[name], operands, executor), executor)


def compute(*arrays: Array) -> None:
    """Computes arrays of one runtime together, so that what they share is computed once.

    Raises `MixedDevicesError` for arrays of several runtimes.
    """
    executor = executor_of("compute", arrays)  # and no nodes: `evaluate` asks who holds them
    with executor.registry.lock:
        lazy = [array for array in arrays if not isinstance(array.node, Buffer)]
        if not lazy:
            return
        nodes = [array.node for array in lazy]
        trace = tracer.get()
        if trace is None:
            results = evaluate(nodes, [None if array.steps else array.cell for array in lazy], executor)
        else:
            results = trace.compute(nodes)
        for array, result in zip(lazy, results, strict=True):
            if trace is None or trace.owns(array.cell):  # to others, nothing has been computed
                array.become(result)


def from_host(host: NDArray[Any], executor: Executor) -> Array:
    """A copy of a NumPy array, computed already. Raises `DTypeError` for a dtype that the device does not have."""
    dtype = require(to_dtype(host.dtype), executor.target)
    storage = executor.upload(np.ascontiguousarray(host), calling_line()) if host.size else None
    return Array(graph.buffer(storage, dtype, Layout.contiguous(host.shape)), executor)


def unpickled(host: NDArray[Any]) -> Array:
    """A pickled array, of the runtime in use now. Raises `DTypeError` for a dtype that its device does not have."""
    return from_host(host, current())
