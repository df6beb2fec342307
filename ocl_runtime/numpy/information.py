"""NumPy's questions about arrays and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.layout import Layout
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.core import executor_of
from ocl_runtime.arrays.meaning.dtypes import common_of
from ocl_runtime.errors import Error
from ocl_runtime.numpy import promotion
from ocl_runtime.numpy.creation import asarray
from ocl_runtime.numpy.operands import array_of, arrays_in, host
from ocl_runtime.numpy.promotion import DTypeLike, on_device

__all__ = [
    "__array_namespace_info__", "apply_over_axes", "can_cast", "common_type", "iscomplexobj", "isfortran", "isrealobj",
    "isscalar", "may_share_memory", "min_scalar_type", "require", "result_type", "shares_memory",
]  # fmt: skip

__array_namespace_info__ = xp.__array_namespace_info__


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype to which NumPy promotes arrays, dtypes and Python's numbers."""
    dtype = common_of(*(x.dtype if isinstance(x, Array | np.ndarray | np.generic) else x for x in arrays_and_dtypes))
    return on_device(dtype, executor_of("result_type", arrays_in(arrays_and_dtypes)))


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether NumPy's rule `casting` lets a dtype, or an array's, be converted."""
    return promotion.can_cast(from_.dtype if isinstance(from_, Array) else from_, to, casting)


def common_type(*arrays: Any) -> type:
    """The scalar type of floats that holds the elements of all arrays; float64 for integers."""
    dtypes = [array_of(x).dtype for x in arrays]
    return common_of(*[dtype if dtype.kind in "fc" else np.float64 for dtype in dtypes]).type  # type: ignore[no-any-return]


def min_scalar_type(a: Any, /) -> np.dtype[Any]:
    """The dtype of an array, or the smallest one that holds a number (which in an array is waited for)."""
    if isinstance(a, Array) and a.ndim:
        return a.dtype
    return np.min_scalar_type(host(a))


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype of something is complex."""
    return x.dtype.kind == "c" if isinstance(x, Array) else bool(np.iscomplexobj(host(x)))


def isrealobj(x: Any) -> bool:
    """Whether the dtype of something is not complex."""
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Whether something is a Python or NumPy scalar; an array is none, also with shape ()."""
    return not isinstance(element, Array) and bool(np.isscalar(element))


def isfortran(a: Any) -> bool:
    """Whether elements lie in column-major order: arrays are in row-major order."""
    return False if isinstance(a, Array) else bool(np.isfortran(a))


def may_share_memory(a: Any, b: Any, /, max_work: int = 0) -> bool:
    """Whether a write to one may be seen in the other: whether both are views of one array."""
    del max_work
    return isinstance(a, Array) and isinstance(b, Array) and a._cell is b._cell


def shares_memory(a: Any, b: Any, /, max_work: int = -1) -> bool:
    """Whether a write to one may be seen in the other: whether both are views of the same elements of one array."""
    if not may_share_memory(a, b, max_work):
        return False
    first, second = (_region(x) for x in (a, b))
    return first is None or second is None or first.overlaps(second)


def _region(x: Array) -> Layout | None:
    """Where the elements are among those of what the array is a view of."""
    region: Layout | None = Layout.contiguous(x._cell.node.shape)
    for step in x._steps:
        region = step.apply(region) if region is not None else None
    return region


def require(a: Any, dtype: DTypeLike = None, requirements: Any = None, *, like: Any = None) -> Array:
    """As `asarray`. Raises `Error` for column-major order; everything else that NumPy requires holds."""
    if "F" in {str(requirement)[:1].upper() for requirement in requirements or ()}:
        raise Error("require of column-major order", place=calling_line(), remedy="leave it out")
    return asarray(a, dtype, like=like)


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Array:
    """A reduction along one axis after the other, which stay with length 1."""
    x = array_of(a)
    for axis in axes if isinstance(axes, tuple | list) else (axes,):
        number = axis % x.ndim
        reduced = func(x, number)
        x = reduced if reduced.ndim == x.ndim else xp.expand_dims(reduced, axis=number)
    return x
