"""NumPy's products of vectors and matrices, and what is made of them: covariances, convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from operator import matmul as matmul_operator
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_ir.types import BOOL
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.axes import axis_of
from ocl_runtime.arrays.functions.manipulation import windows
from ocl_runtime.arrays.meaning.dtypes import common_of
from ocl_runtime.errors import DTypeError, Error, ShapeError, ZeroDivisorError
from ocl_runtime.numpy.folds import as_common
from ocl_runtime.numpy.operands import NOT_GIVEN, array_of, arrays, arrays_in, into, only
from ocl_runtime.numpy.places import diagonal
from ocl_runtime.numpy.promotion import DTypeLike, dtype_of, on_device
from ocl_runtime.numpy.reductions import average
from ocl_runtime.numpy.shapes import broadcast_shapes
from ocl_runtime.numpy.ufuncs import ufunc

__all__ = [
    "convolve", "corrcoef", "correlate", "cov", "cross", "dot", "inner", "kron", "matmul", "matvec", "outer",
    "tensordot", "vdot", "vecdot", "vecmat",
]  # fmt: skip


def _both(what: str, a: Any, b: Any) -> list[Array]:
    """Two arrays in the dtype to which NumPy promotes them."""
    if type(a) is type(b) is Array and a._executor is b._executor and a._dtype is b._dtype:
        return [a, b]
    return as_common(*arrays(what, (a, b)))


def _summed(a: Array, b: Array, product: Callable[[Array, Array], Array]) -> Array:
    """A sum of products; of bools, whether any is true, as NumPy has it."""
    if a._dtype is not BOOL:
        return product(a, b)
    return xp.not_equal(product(xp.astype(a, np.int64), xp.astype(b, np.int64)), 0)


# ---------------------------------------------------------------------- as ufuncs


class _Product(ufunc):
    """A product along given axes, which NumPy has as a ufunc."""

    def __call__(  # type: ignore[override]  # with axes instead of where=
        self,
        *inputs: Any,
        out: Any = None,
        axes: Any = NOT_GIVEN,
        axis: Any = NOT_GIVEN,
        keepdims: bool = False,
        casting: str = "same_kind",
        order: str = "K",
        dtype: DTypeLike = None,
        subok: bool = True,
        signature: Any = None,
    ) -> Any:
        """The product of two operands; axes other than NumPy's own choice cannot be asked for, but for `vecdot`."""
        if len(inputs) == 3 and out is None:
            *inputs, out = inputs  # type: ignore[assignment]
        only(self.__name__, order=order, subok=subok, signature=signature, axes=None if axes is NOT_GIVEN else axes)
        first, second = _both(self.__name__, *inputs)
        if dtype is not None:
            wanted = on_device(dtype_of(dtype), first._executor)
            first, second = xp.astype(first, wanted), xp.astype(second, wanted)
        if axis is not NOT_GIVEN and axis != -1:
            if self.__name__ != "vecdot":
                raise Error(f"{self.__name__} along axis {axis}", place=calling_line(), remedy="use moveaxis first")
            first, second = xp.moveaxis(first, axis, -1), xp.moveaxis(second, axis, -1)
        result = _summed(first, second, self._compute)
        if keepdims:
            result = xp.expand_dims(result, axis=-1 if axis is NOT_GIVEN else axis)
        return into(self.__name__, result, out, True, casting)


def _matvec(x1: Array, x2: Array) -> Array:
    """Matrices, in the last two axes, times vectors, in the last one."""
    return xp.squeeze(xp.matmul(x1, xp.expand_dims(x2, axis=-1)), -1)


def _vecmat(x1: Array, x2: Array) -> Array:
    """Vectors, in the last axis, times matrices, in the last two; complex ones are conjugated."""
    return xp.squeeze(xp.matmul(xp.expand_dims(xp.conj(x1), axis=-2), x2), -2)


def _vecdot(x1: Array, x2: Array) -> Array:
    """The sums of products along the last axis."""
    return xp.vecdot(x1, x2)


matmul = _Product("matmul", xp.matmul)
vecdot = _Product("vecdot", _vecdot)
matvec = _Product("matvec", _matvec, like="matmul")
vecmat = _Product("vecmat", _vecmat, like="matmul")


# ---------------------------------------------------------------------- sums of products


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """The sums of products over the last axis of `a` and the second last one of `b`, or its only one; a number
    multiplies."""
    first, second = _both("dot", a, b)
    if not first.ndim or not second.ndim:
        return into("dot", xp.multiply(first, second), out)
    axes = ((first.ndim - 1,), (max(second.ndim - 2, 0),))
    plain = first.ndim <= 2 and second.ndim <= 2
    product = matmul_operator if plain else lambda x, y: xp.tensordot(x, y, axes=axes)
    return into("dot", _summed(first, second, product), out)


def inner(a: Any, b: Any, /) -> Array:
    """The sums of products over the last axes of both; a number multiplies."""
    first, second = _both("inner", a, b)
    if not first.ndim or not second.ndim:
        return xp.multiply(first, second)
    return _summed(first, second, lambda x, y: xp.tensordot(x, y, axes=((x.ndim - 1,), (y.ndim - 1,))))


def vdot(a: Any, b: Any, /) -> Array:
    """The sum of products of the elements of both, flat; those of the first are conjugated."""
    first, second = _both("vdot", a, b)
    return _summed(xp.reshape(xp.conj(first), -1), xp.reshape(second, -1), xp.matmul)


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """The products of all pairs of elements of both, flat."""
    first, second = _both("outer", a, b)
    if first.ndim == second.ndim == 1:
        return into("outer", xp.multiply(first[:, None], second), out)
    return into("outer", xp.multiply(xp.reshape(first, (-1, 1)), xp.reshape(second, (1, -1))), out)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Array:
    """The sums of products over some axes of both: the last and the first ones, or pairs of them."""
    first, second = _both("tensordot", a, b)
    if isinstance(axes, Sequence | np.ndarray):
        left, right = (tuple(pair) if isinstance(pair, Sequence | np.ndarray) else (pair,) for pair in axes)
        pairs = (tuple(int(axis) for axis in left), tuple(int(axis) for axis in right))
        return _summed(first, second, lambda x, y: xp.tensordot(x, y, axes=pairs))
    return _summed(first, second, lambda x, y: xp.tensordot(x, y, axes=axes))


def kron(a: Any, b: Any) -> Array:
    """All products, in blocks: each element of `a` times the whole of `b`."""
    first, second = _both("kron", a, b)
    rank = max(first.ndim, second.ndim)
    rows = (1,) * (rank - first.ndim) + first.shape
    columns = (1,) * (rank - second.ndim) + second.shape
    left = xp.reshape(first, tuple(part for length in rows for part in (length, 1)))
    right = xp.reshape(second, tuple(part for length in columns for part in (1, length)))
    return xp.reshape(xp.multiply(left, right), tuple(x * y for x, y in zip(rows, columns, strict=True)))


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Array:
    """The vector products along axes of length 3; of two vectors of length 2, the component that is not 0.

    Raises `ShapeError` for other lengths.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    first, second = _both("cross", a, b)
    first = xp.moveaxis(first, axis_of("cross", axisa, first.ndim), -1)
    second = xp.moveaxis(second, axis_of("cross", axisb, second.ndim), -1)
    if {first.shape[-1], second.shape[-1]} - {2, 3}:
        raise ShapeError(
            f"cross of vectors of lengths {first.shape[-1]} and {second.shape[-1]}",
            place=calling_line(),
            remedy="vectors have 3 components",
        )
    x, y = ([vector[..., part] for part in range(vector.shape[-1])] for vector in (first, second))
    last = xp.subtract(x[0] * y[1], x[1] * y[0])
    if len(x) == len(y) == 2:
        return last
    none = xp.zeros_like(last)
    x2, y2 = (vector[2] if len(vector) == 3 else none for vector in (x, y))
    parts = [xp.subtract(x[1] * y2, x2 * y[1]), xp.subtract(x2 * y[0], x[0] * y2), last]
    shape = broadcast_shapes(*(part.shape for part in parts))
    return xp.moveaxis(xp.stack([xp.broadcast_to(part, shape) for part in parts], axis=-1), -1, axisc)


# ---------------------------------------------------------------------- covariances


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: DTypeLike = None,
) -> Array:
    """The covariances of variables, which are rows (columns without `rowvar`); of those of `y` too.

    Raises `ShapeError` for more than two axes, another number of weights than of samples, and a `ddof` that is no
    integer. Of weights of the host, `ShapeError` where one is negative, `DTypeError` where one of `fweights` is no
    integer, and `ZeroDivisorError` where all are 0; those of the device are not waited for.
    """
    if ddof is not None and ddof != int(ddof):
        raise ShapeError(f"cov with ddof {ddof}", place=calling_line(), remedy="give an integer")
    tables = [_table(x, rowvar) for x in arrays("cov", (m,) if y is None else (m, y))]
    wide = common_of(*(x.dtype for x in tables), np.float64) if dtype is None else dtype_of(dtype)
    x = xp.concat([array_of(table, wide) for table in tables], axis=0)
    weights = None
    for name, part in (("fweights", fweights), ("aweights", aweights)):
        if part is not None:
            _check_weights(name, part, x.shape[1])
            weight = array_of(part, x.dtype, x._executor)
            weights = weight if weights is None else weights * weight
    mean, total = average(x, 1, weights, returned=True)
    centred = x - xp.expand_dims(mean, axis=1)
    less = (0 if bias else 1) if ddof is None else ddof
    if weights is None:
        left: Any = max(x.shape[1] - less, 0)
    elif aweights is None or not less:
        left = total[0] - less
    else:
        left = total[0] - less * xp.sum(weights * array_of(aweights, x.dtype, x._executor)) / total[0]
    if weights is not None:
        left = xp.maximum(xp.real(left), 0.0)
    other = centred if weights is None else centred * weights
    product = xp.matmul(centred, xp.conj(xp.matrix_transpose(other))) / left
    return xp.squeeze(product, tuple(number for number, length in enumerate(product.shape) if length == 1))


def _check_weights(name: str, weights: Any, count: int) -> None:
    """Raises what `cov` does; of what is on the device only the shape is known."""
    shape = np.shape(weights)
    if shape != (count,):
        raise ShapeError(
            f"cov with {name} of shape {shape} for {count} samples", place=calling_line(), remedy="give one for each"
        )
    if arrays_in(weights):
        return
    line = np.asarray(weights)
    if name == "fweights" and (line != np.around(line)).any():
        raise DTypeError("cov with fweights that are no integers", place=calling_line(), remedy="use aweights")
    if (line < 0).any():
        raise ShapeError(f"cov with {name} that are negative", place=calling_line(), remedy="give numbers from 0 on")
    if count and not line.any():
        raise ZeroDivisorError(f"cov with {name} that are all 0", place=calling_line(), remedy="give one that is not")


def _table(x: Array, rowvar: bool) -> Array:
    """Variables as rows."""
    if x.ndim > 2:
        raise ShapeError(f"cov of shape {x.shape}", place=calling_line(), remedy="use two axes at most")
    if x.ndim < 2:
        return xp.reshape(x, (1, x.size))
    return x if rowvar or x.shape[0] == 1 else xp.matrix_transpose(x)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: DTypeLike = None) -> Array:
    """The correlations of variables, which are rows (columns without `rowvar`); of those of `y` too."""
    product = cov(x, y, rowvar, dtype=dtype)
    if not product.ndim:
        return product / product
    deviation = xp.sqrt(xp.real(diagonal(product)))
    ratio = product / xp.expand_dims(deviation, axis=1) / xp.expand_dims(deviation, axis=0)
    if ratio.dtype.kind == "c":
        return xp.complex_of(*(xp.clip(part, -1.0, 1.0) for part in (ratio.real, ratio.imag)))
    return xp.clip(ratio, -1.0, 1.0)


# ---------------------------------------------------------------------- along a line


_FEW = 16
"""Elements with which products are written out: a stencil, and a kernel for each number of them."""
_TOGETHER = 4
"""Products that are written out in a sum of more: their neighbours share loads."""


def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    """The sums of products of two lines, the second one conjugated, at all distances: "full", those that overlap wholly
    ("valid"), or as many as the longer one has ("same"). The work is the product of the lengths."""
    first, second = (xp.reshape(x, -1) for x in _both("correlate", a, v))
    second = xp.conj(second)
    if first.size < second.size:
        return xp.flip(_correlated("correlate", second, first, mode))
    return _correlated("correlate", first, second, mode)


def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    """As `correlate` with one of the lines reversed."""
    first, second = (xp.reshape(x, -1) for x in _both("convolve", a, v))
    if first.size < second.size:
        first, second = second, first
    return _correlated("convolve", first, xp.flip(second), mode)


def _correlated(what: str, long: Array, short: Array, mode: str) -> Array:
    n, m = long.size, short.size
    cut = {"full": (0, n + m - 1), "same": (m - 1 - m // 2, n), "valid": (m - 1, n - m + 1)}
    if mode not in cut or not m:
        raise ShapeError(
            f"{what} of {n} and {m} elements, mode {mode!r}",
            place=calling_line(),
            remedy="give elements, and a mode: full, same or valid",
        )
    first, count = cut[mode]
    if long.dtype.kind not in "fc":
        return _summed(xp.pad(long, [(m - 1, m - 1)])[first : first + count + m - 1], short, _along)
    if long.dtype.itemsize == 2:  # halves add up in float32
        wide = _correlated(what, xp.astype(long, np.float32), xp.astype(short, np.float32), mode)
        return xp.astype(wide, long.dtype)
    inside = _along(long, short)
    if mode == "valid" or m == 1:
        return inside
    return xp.concat([_at_an_end(long, short, first=True), inside, _at_an_end(long, short, first=False)])[
        first : first + count
    ]


def _at_an_end(long: Array, short: Array, *, first: bool) -> Array:
    """The sums in front of the first or behind the last element from which the shorter line fits: of the products that
    there are. Zeros in place of others would make NaN of infinite elements."""
    beyond = short.size - 1
    part = long[:beyond] if first else long[long.size - beyond :]
    around = [(beyond, 0) if first else (0, beyond)]
    return _along(xp.pad(part, around), short, xp.pad(xp.ones_like(part, dtype=part.real.dtype), around))


def _along(line: Array, short: Array, there: Array | None = None) -> Array:
    """The sums of products of a line's elements, from each on, with those of a shorter one: written out where these are
    few; else some are, and a sum goes over the rest, in one kernel. Where `there` is 0, elements do not count."""
    m, count = short.size, line.size - short.size + 1
    rows = windows(line, count)  # row j begins at element j
    counts = None if there is None else windows(there, count) > 0

    def products(taps: int | slice) -> Array:
        found = rows[taps] * (short[taps] if isinstance(taps, int) else short[:, None][taps])
        return found if counts is None else xp.where(counts[taps], found, 0)

    behind = m - m % _TOGETHER if m > _FEW else 0
    terms = [products(tap) for tap in range(behind, m)]
    if behind:
        total = reduce(add, [products(slice(tap, behind, _TOGETHER)) for tap in range(_TOGETHER)])
        terms.append(xp.sum(total, axis=0, dtype=line.dtype))
    return reduce(add, terms)
