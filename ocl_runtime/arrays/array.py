"""The lazy array.

An `Array` is a node of the expression graph and the runtime that will compute it. Operations only build nodes; values
are computed when they are asked for (`numpy()`, `float(x)`, …) or by `compute`. After that the array holds a buffer,
and what is built on it later reads that.

Basic indexing and other movements give views, which share their `Cell` with the array that they look at. A write makes
that cell another node, with a part of the elements replaced: whoever shares the cell sees it, and expressions that were
built before do not (`ocl_runtime.arrays.meaning.writing`). An integer for each axis gives an element as a value
(`elements`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray

from ocl_ir.source_line import calling_line
from ocl_ir.types import DTYPES
from ocl_runtime.arrays.core import compute_together
from ocl_runtime.arrays.current_runtime import current_executor
from ocl_runtime.arrays.hosts import refused
from ocl_runtime.arrays.methods import Methods
from ocl_runtime.arrays.numpy_calls import NumpyCalls
from ocl_runtime.arrays.operands import ArrayLike, node_of, operands_of, uploaded
from ocl_runtime.arrays.operations import binary, operation, unary
from ocl_runtime.arrays.reals import base_executor, with_real
from ocl_runtime.errors import DTypeError
from ocl_runtime.plan.tracing import tracer

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor


class Array(Methods, NumpyCalls):
    """A lazy n-dimensional array; make one with `asarray`, `zeros`, `arange`, …"""

    __slots__ = ()

    def compute(self) -> Self:
        """Computes the array now, and gives it back; nothing happens if it is computed already."""
        compute_together((self,))
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        executor = self._executor
        own = base_executor(executor) is not executor
        return unpickled, (self._held(), executor.default_real.name) if own else (self._held(),)


def array_of(what: str, x: object) -> Array:
    """What a function takes as an array: an array itself, or what `asarray` makes one of, for the runtime in use.

    Raises `DTypeError` for anything else, with the name of the function.
    """
    if isinstance(x, Array):
        return x
    executor = current_executor()
    return Array(node_of(what, x, executor), executor)


def ordered_array_of(what: str, value: ArrayLike) -> Array:
    """The operand of a function that compares elements. Raises `DTypeError` for complex numbers."""
    x = array_of(what, value)
    if x._dtype.is_complex:
        raise DTypeError(
            f"{what} of {x.dtype}, which has no order",
            place=calling_line(),
            remedy="take what is to be compared: real(x) or abs(x)",
        )
    return x


def shows_values(x: Array) -> bool:
    """Whether values can be asked for: not where somebody writes down what would be computed."""
    return tracer.get() is None and x._executor.shows_values


def arrays_of(what: str, *values: object) -> list[Array]:
    """The same for several, of one runtime. Raises `MixedDevicesError` for arrays of two."""
    executor = getattr(values[0], "_executor", None) if values else None
    if executor is not None and all(isinstance(x, Array) and x._executor is executor for x in values):
        return list(values)  # type: ignore[arg-type]
    operands, executor = operands_of(what, values)
    return [
        x if isinstance(x, Array) else Array(node_of(what, operand, executor), executor)
        for x, operand in zip(values, operands, strict=True)
    ]


def unary_function(name: str) -> Callable[[ArrayLike], Array]:
    """The function of this name in `ocl_runtime.arrays.meaning.table`, of one operand; its errors are those of
    `operands_of` and of `apply`."""

    def function(x: ArrayLike, /) -> Array:
        return Array(unary(name, x), x._executor) if isinstance(x, Array) else Array(*operation(name, (x,)))

    return function


def binary_function(name: str) -> Callable[[ArrayLike, ArrayLike], Array]:
    """The same of two operands."""

    def function(x1: ArrayLike, x2: ArrayLike, /) -> Array:
        return Array(*(binary(name, x1, x2) if isinstance(x1, Array) else operation(name, (x1, x2))))

    return function


def ternary_function(name: str) -> Callable[[ArrayLike, ArrayLike, ArrayLike], Array]:
    """The same of three operands."""

    def function(x1: ArrayLike, x2: ArrayLike, x3: ArrayLike, /) -> Array:
        return Array(*operation(name, (x1, x2, x3)))

    return function


def compute(*arrays: Array) -> None:
    """Computes arrays of one runtime together, so that what they share is computed once.

    Raises `MixedDevicesError` for arrays of several runtimes, `DTypeError` for what is no `Array`.
    """
    for x in arrays:
        if not isinstance(x, Array):
            raise refused("compute", x)
    compute_together(arrays)


def from_host(host: NDArray[Any], executor: Executor) -> Array:
    """A copy of a NumPy array, computed already. Raises `DTypeError` for a dtype that the device does not have."""
    return Array(uploaded(host, executor), executor)


def unpickled(host: NDArray[Any], default_real: str | None = None) -> Array:
    """A pickled array, of the runtime in use now. Raises `DTypeError` for a dtype that its device does not have."""
    executor = current_executor()
    if default_real is not None and executor.target.fp64:
        executor = with_real(executor, DTYPES[default_real])
    return from_host(host, executor)
