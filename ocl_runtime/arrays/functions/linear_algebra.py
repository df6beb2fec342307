"""Linear algebra of the array API standard."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ocl_ir.source_line import caller
from ocl_runtime.arrays.array import Array, arrays_of
from ocl_runtime.arrays.axes import axes_of, axis_of, length_of
from ocl_runtime.arrays.functions.elementwise import conj
from ocl_runtime.arrays.functions.manipulation import permute_dims, reshape
from ocl_runtime.arrays.meaning import products
from ocl_runtime.arrays.operands import ArrayLike


def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The products of matrices in the last two axes, also written `x1 @ x2`; the axes in front broadcast.

    An array with one axis is a row on the left and a column on the right, and its axis is not in the result. The dtype
    is that to which both are promoted; half adds up in float32. The order of the additions depends on the shapes, the
    dtype and the device only.

    Raises `ShapeError` for shapes that do not fit, `DTypeError` for bools.
    """
    left, right = arrays_of("matmul", x1, x2)
    return left @ right


def vecdot(x1: ArrayLike, x2: ArrayLike, /, axis: int = -1) -> Array:
    """The sums of products along an axis of both, counted from the end, which broadcast against each other; of complex
    numbers those of `x1` are conjugated.

    The dtype is that to which both are promoted. Raises `ShapeError` for shapes that do not fit, `DTypeError` for
    bools.
    """
    x1, x2 = arrays_of("vecdot", x1, x2)
    x1 = conj(x1) if x1._dtype.is_complex else x1
    shared = min(x1.ndim, x2.ndim)
    dim = axis_of("vecdot", axis, shared) - shared
    if x1.shape[dim] != x2.shape[dim]:
        raise products.unfit("vecdot", x1._node, x2._node, "the axis has to be as long in both")
    return Array(products.dot(x1._node, x2._node, dim, x1._executor, caller()), x1._executor)


def tensordot(x1: ArrayLike, x2: ArrayLike, /, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """The sums of products over some axes of both: the last and the first `axes`, or those that two sequences pair.

    The axes of the result are the others of `x1`, then the others of `x2`. Dtypes as of `matmul`. Raises `ShapeError`
    for axes that do not exist or are of different lengths, `DTypeError` for bools.
    """
    x1, x2 = arrays_of("tensordot", x1, x2)
    if isinstance(axes, tuple | list):
        first, second = axes_of("tensordot", axes[0], x1.ndim), axes_of("tensordot", axes[1], x2.ndim)
    else:
        count = length_of("tensordot", axes)
        if count > min(x1.ndim, x2.ndim):
            raise products.unfit("tensordot", x1._node, x2._node, f"both need at least {count} axes")
        first, second = tuple(range(x1.ndim - count, x1.ndim)), tuple(range(count))
    lengths = [x1.shape[axis] for axis in first]
    if lengths != [x2.shape[axis] for axis in second]:
        raise products.unfit("tensordot", x1._node, x2._node, f"axes {first} and {second} have to be equally long")
    rest = [axis for axis in range(x1.ndim) if axis not in first]
    others = [axis for axis in range(x2.ndim) if axis not in second]
    rows, columns = [x1.shape[axis] for axis in rest], [x2.shape[axis] for axis in others]
    left = reshape(permute_dims(x1, (*rest, *first)), (math.prod(rows), math.prod(lengths)))
    right = reshape(permute_dims(x2, (*second, *others)), (math.prod(lengths), math.prod(columns)))
    return reshape(Array(products.matrices(left._node, right._node, left._executor), left._executor), (*rows, *columns))
