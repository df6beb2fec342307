"""The lazy array.

An `Array` is a node of the expression graph and the runtime that will compute it. Operations only build nodes; values
are computed when they are asked for (`numpy()`, `float(x)`, …) or by `compute`. After that the array holds a buffer,
and what is built on it later reads that. Arrays are immutable values, so any thread may use any array.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ir import graph
from ir.graph import Buffer, Node
from ir.guards import Number
from ir.layout import Layout, parse_index
from ir.reference import calling_line
from ocl_runtime.arrays.dtypes import require, to_dtype
from ocl_runtime.arrays.in_use import current
from ocl_runtime.arrays.semantics import Operand, apply
from ocl_runtime.arrays.table import TABLE
from ocl_runtime.errors import DTypeError, Error, MixedDevicesError, ShapeError
from ocl_runtime.plan.executor import Executor
from ocl_runtime.plan.planner import plan
from ocl_runtime.plan.tracing import tracer

_SHOWN = 64
"""Elements up to which `repr` shows the values of a computed array."""
_WASTE = 4
"""How many times its size a view may spread over and still be downloaded with the gaps."""


class Array:
    """A lazy n-dimensional array; make one with `asarray`, `zeros`, `arange`, …"""

    __slots__ = ("__weakref__", "_executor", "_node")
    __array_ufunc__ = None  # NumPy's arrays leave the operators to us
    __hash__ = None  # type: ignore[assignment]  # == compares the elements

    def __init__(self, node: Node, executor: Executor) -> None:
        self._node = node
        self._executor = executor

    # ------------------------------------------------------------------ attributes

    @property
    def node(self) -> Node:
        """What the array is: an expression, or a buffer once it is computed."""
        return self._node

    @property
    def executor(self) -> Executor:
        """The runtime that the array belongs to."""
        return self._executor

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements, as NumPy's."""
        return self._node.dtype.numpy

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self._node.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._node.size

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
        return Array(graph.permute(self._node, axes), self._executor)

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
        compute(self)
        node = self._node
        assert isinstance(node, Buffer)
        if not node.size:
            return np.empty(self.shape, self.dtype)
        low, high = node.layout.range()
        if high - low > _WASTE * node.size:
            dense = plan([node], self._executor, dense=True)
            self._executor.run(dense)
            (node,) = dense.results
            low, high = node.layout.range()
        found = self._executor.download(node.storage, node.dtype, low, high - low, calling_line()).result()
        if node.layout.is_dense:
            return found.reshape(self.shape)
        strides = [stride * node.dtype.size for stride in node.layout.strides]
        return as_strided(found[node.layout.offset - low :], self.shape, strides).copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            return self._in_place(dtype)
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def _in_place(self, dtype: Any) -> NDArray[Any]:
        """The values where they are, read-only. Raises `Error` where the host cannot reach them, or not as asked."""
        compute(self)
        node = self._node
        assert isinstance(node, Buffer)
        low, high = node.layout.range()
        found = None
        if node.size and dtype in {None, self.dtype}:
            found = self._executor.view(node.storage, node.dtype, low, high - low, calling_line())
        if found is None:
            raise Error(
                "the values cannot be had without a copy: they are on a device with memory of its own, or not as asked",
                place=calling_line(),
                remedy="use copy=None or x.numpy()",
            )
        strides = [stride * node.dtype.size for stride in node.layout.strides]
        return as_strided(found[node.layout.offset - low :], self.shape, strides, writeable=False)

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
        if not self._node.dtype.is_integer:
            raise DTypeError(
                f"an array of {self.dtype} is no index", place=calling_line(), remedy="convert it: astype(x, int64)"
            )
        return int(self._item("an index"))

    def __repr__(self) -> str:
        about = f"shape={self.shape}, dtype={self.dtype}"
        if not isinstance(self._node, Buffer):
            return f"Array({about}, not computed yet)"
        if self.size > _SHOWN:
            return f"Array({about})"
        return f"Array({np.array2string(self.numpy(), separator=', ', prefix='Array(')}, {about})"

    # ------------------------------------------------------------------ elements

    def __len__(self) -> int:
        if not self.ndim:
            raise ShapeError("len of an array with shape ()", place=calling_line(), remedy="use x.size")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, key: object, /) -> Array:
        """A view: integers, slices, `...` and None, as in NumPy. Raises `ShapeError` for an index that does not fit."""
        return Array(graph.index(self._node, parse_index(self.shape, key)), self._executor)

    def __setitem__(self, key: object, value: object, /) -> NoReturn:
        raise DTypeError(
            "arrays cannot be written yet",
            place=calling_line(),
            remedy="make a new array with where(condition, value, x)",
        )

    # ------------------------------------------------------------------ operators

    def __pos__(self) -> Array:
        return self

    def __neg__(self) -> Array:
        return elementwise("negative", self)

    def __abs__(self) -> Array:
        return elementwise("abs", self)

    def __invert__(self) -> Array:
        return elementwise("bitwise_invert", self)

    def __add__(self, other: ArrayLike, /) -> Array:
        return elementwise("add", self, other)

    def __radd__(self, other: ArrayLike, /) -> Array:
        return elementwise("add", other, self)

    def __sub__(self, other: ArrayLike, /) -> Array:
        return elementwise("subtract", self, other)

    def __rsub__(self, other: ArrayLike, /) -> Array:
        return elementwise("subtract", other, self)

    def __mul__(self, other: ArrayLike, /) -> Array:
        return elementwise("multiply", self, other)

    def __rmul__(self, other: ArrayLike, /) -> Array:
        return elementwise("multiply", other, self)

    def __truediv__(self, other: ArrayLike, /) -> Array:
        return elementwise("divide", self, other)

    def __rtruediv__(self, other: ArrayLike, /) -> Array:
        return elementwise("divide", other, self)

    def __floordiv__(self, other: ArrayLike, /) -> Array:
        return elementwise("floor_divide", self, other)

    def __rfloordiv__(self, other: ArrayLike, /) -> Array:
        return elementwise("floor_divide", other, self)

    def __mod__(self, other: ArrayLike, /) -> Array:
        return elementwise("remainder", self, other)

    def __rmod__(self, other: ArrayLike, /) -> Array:
        return elementwise("remainder", other, self)

    def __pow__(self, other: ArrayLike, /) -> Array:
        return elementwise("pow", self, other)

    def __rpow__(self, other: ArrayLike, /) -> Array:
        return elementwise("pow", other, self)

    def __and__(self, other: ArrayLike, /) -> Array:
        return elementwise("bitwise_and", self, other)

    def __rand__(self, other: ArrayLike, /) -> Array:
        return elementwise("bitwise_and", other, self)

    def __or__(self, other: ArrayLike, /) -> Array:
        return elementwise("bitwise_or", self, other)

    def __ror__(self, other: ArrayLike, /) -> Array:
        return elementwise("bitwise_or", other, self)

    def __xor__(self, other: ArrayLike, /) -> Array:
        return elementwise("bitwise_xor", self, other)

    def __rxor__(self, other: ArrayLike, /) -> Array:
        return elementwise("bitwise_xor", other, self)

    def __lshift__(self, other: ArrayLike, /) -> Array:
        return elementwise("bitwise_left_shift", self, other)

    def __rlshift__(self, other: ArrayLike, /) -> Array:
        return elementwise("bitwise_left_shift", other, self)

    def __rshift__(self, other: ArrayLike, /) -> Array:
        return elementwise("bitwise_right_shift", self, other)

    def __rrshift__(self, other: ArrayLike, /) -> Array:
        return elementwise("bitwise_right_shift", other, self)

    def __lt__(self, other: ArrayLike, /) -> Array:
        return elementwise("less", self, other)

    def __le__(self, other: ArrayLike, /) -> Array:
        return elementwise("less_equal", self, other)

    def __gt__(self, other: ArrayLike, /) -> Array:
        return elementwise("greater", self, other)

    def __ge__(self, other: ArrayLike, /) -> Array:
        return elementwise("greater_equal", self, other)

    def __eq__(self, other: ArrayLike, /) -> Array:  # type: ignore[override]
        return elementwise("equal", self, other)

    def __ne__(self, other: ArrayLike, /) -> Array:  # type: ignore[override]
        return elementwise("not_equal", self, other)


ArrayLike: TypeAlias = Array | Number | np.generic
"""An array or a scalar. Python's scalars take the dtype of the array beside them, NumPy's have their own."""


def operands_of(what: str, given: Sequence[object]) -> tuple[list[Operand], Executor]:
    """The operands of an operation as nodes and Python numbers, and the runtime that they belong to.

    Raises `DTypeError` for an operand that is neither an array nor a real number, and `MixedDevicesError` for arrays of
    two runtimes.
    """
    executors = list(dict.fromkeys(one.executor for one in given if isinstance(one, Array)))
    if len(executors) > 1:
        devices = " and ".join(str(executor.device) for executor in executors)
        raise MixedDevicesError(
            f"{what} of arrays of different runtimes, on {devices}",
            place=calling_line(),
            remedy="move the values first: with use(runtime): x = asarray(x.numpy())",
        )
    executor = executors[0] if executors else current()
    return [_operand(what, one, executor) for one in given], executor


def _operand(what: str, given: object, executor: Executor) -> Operand:
    if isinstance(given, Array):
        return given.node
    if isinstance(given, np.generic):
        return graph.scalar(given.item(), require(to_dtype(given.dtype), executor.target))
    if isinstance(given, Number):
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
    nodes, executor = operands_of("compute", arrays)
    wanted = [node for node in nodes if not isinstance(node, Number | Buffer)]
    if not wanted:
        return
    planned = plan(wanted, executor)
    executor.run(planned)
    trace = tracer.get()
    results: dict[Node, Buffer] = dict(zip(wanted, planned.results, strict=True))
    for array, node in zip(arrays, nodes, strict=True):
        if not isinstance(node, Number | Buffer):
            if trace is not None:
                trace.rebound(array, node)
            array._node = results[node]


def from_host(host: NDArray[Any], executor: Executor) -> Array:
    """A copy of a NumPy array, computed already. Raises `DTypeError` for a dtype that the device does not have."""
    dtype = require(to_dtype(host.dtype), executor.target)
    storage = executor.upload(np.ascontiguousarray(host), calling_line()) if host.size else None
    return Array(graph.buffer(storage, dtype, Layout.contiguous(host.shape)), executor)
