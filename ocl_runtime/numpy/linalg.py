"""NumPy's `linalg`: its names and signatures over arrays of the device.

Integers become float64, as in NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_ir.types import BF16, F16
from ocl_runtime import linalg
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.array import shows_values
from ocl_runtime.arrays.axes import axes_of
from ocl_runtime.arrays.functions.counting import as_integer
from ocl_runtime.errors import DTypeError, Error, LinAlgError, MatrixShapeError, ShapeError
from ocl_runtime.linalg.eigen import EigResult
from ocl_runtime.linalg.factors import QRResult
from ocl_runtime.linalg.operands import adjoint, checked, from_lower, raise_if
from ocl_runtime.linalg.ranks import LstsqResult
from ocl_runtime.linalg.spectra import EighResult, SVDResult
from ocl_runtime.linalg.systems import SlogdetResult, multiplied
from ocl_runtime.numpy.folds import as_common
from ocl_runtime.numpy.operands import NOT_GIVEN, array_of, arrays, floats
from ocl_runtime.numpy.products import dot
from ocl_runtime.numpy.products import matmul as _matmul
from ocl_runtime.numpy.products import outer as _outer
from ocl_runtime.numpy.products import tensordot as _tensordot
from ocl_runtime.numpy.products import vecdot as _vecdot

__all__ = [
    "LinAlgError", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq",
    "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv",
    "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot",
    "vector_norm",
]  # fmt: skip

_REAL_IF_ALL = np.lib.NumpyVersion(np.__version__) < "2.5.0"
"""Whether NumPy's eigenvalues are real where all are."""


def cholesky(a: Any, /, *, upper: bool = False) -> Array:
    """The lower triangular factors of positive definite matrices, or the upper ones."""
    return linalg.cholesky(*floats(a), upper=upper)


def qr(a: Any, mode: str = "reduced") -> QRResult | Array:
    """Factors with orthonormal columns and upper triangular ones, or these alone for "r"."""
    if mode == "r":
        return linalg.qr(*floats(a)).R
    return linalg.qr(*floats(a), mode=mode)  # type: ignore[arg-type]


def solve(a: Any, b: Any) -> Array:
    """The x with a @ x = b."""
    return linalg.solve(*floats(a, b))


def inv(a: Any) -> Array:
    """The inverses of matrices."""
    return linalg.inv(*floats(a))


def det(a: Any) -> Array:
    """The determinants of matrices."""
    return linalg.det(*floats(a))


def slogdet(a: Any) -> SlogdetResult:
    """The signs of determinants, and the logarithms of their magnitudes."""
    return linalg.slogdet(*floats(a))


def matrix_power(a: Any, n: int) -> Array:
    """Powers of matrices; of integers they are integers, unless the exponent is negative."""
    x, exponent = checked("matrix_power", array_of(a), square=True), as_integer(f"matrix_power by {n!r}", n)
    return linalg.matrix_power(floats(x)[0], exponent) if exponent < 0 else multiplied(x, exponent, matmul)


def eig(a: Any) -> EigResult:
    """The eigenvalues and eigenvectors of general matrices: complex, or, beside a NumPy before 2.5, real arrays if all
    eigenvalues are real.

    One flag tells that, and where NumPy raises `LinAlgError`; the device is waited for. What is captured is complex."""
    (x,) = floats(a)
    values, vectors = linalg.eig(x)
    is_real = _all_real(x, values) and _REAL_IF_ALL
    return EigResult(xp.real(values), xp.real(vectors)) if is_real else EigResult(values, vectors)


def eigvals(a: Any) -> Array:
    """The eigenvalues of general matrices: real or complex as those of `eig`."""
    (x,) = floats(a)
    values = linalg.eigvals(x)
    return xp.real(values) if _all_real(x, values) and _REAL_IF_ALL else values


def eigvals_real_if_all(x: Array) -> Array:
    """The eigenvalues of general matrices: real if all are."""
    values = linalg.eigvals(x)
    return xp.real(values) if _all_real(x, values) else values


def _all_real(x: Array, values: Array) -> bool:
    """Whether real matrices have real eigenvalues only. Raises `LinAlgError` for eigenvalues that are NaN."""
    if not shows_values(values):
        return False
    kinds = xp.where(xp.isnan(values), 2, xp.where(xp.equal(xp.imag(values), 0), 0, 1))
    kind = int(xp.max(kinds)) if values.size else 0
    if kind == 2:  # noqa: PLR2004
        raise LinAlgError(
            "eigenvalues of a matrix with NaN or infinities, or whose iterations do not end",
            place=calling_line(),
            remedy="look at its elements; ocl_runtime.linalg gives NaN instead",
        )
    return kind == 0 and x.dtype.kind != "c"


def eigh(a: Any, UPLO: str = "L") -> EighResult:  # noqa: N803  # NumPy's name
    """The eigenvalues and eigenvectors of symmetric or Hermitian matrices, of which one triangle is read."""
    return linalg.eigh(_lower(a, UPLO))


def eigvalsh(a: Any, UPLO: str = "L") -> Array:  # noqa: N803  # NumPy's name
    """The eigenvalues of symmetric or Hermitian matrices, of which one triangle is read."""
    return linalg.eigvalsh(_lower(a, UPLO))


def _lower(a: Any, triangle: str) -> Array:
    """Matrices whose lower triangle is the one that is asked for."""
    x = floats(a)[0]
    if triangle not in ("L", "U", "l", "u"):
        raise Error(f"UPLO={triangle!r}", place=calling_line(), remedy="use 'L' or 'U'")
    return adjoint(x) if triangle in ("U", "u") and x.ndim > 1 else x


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> SVDResult | Array:
    """The singular value decomposition, or the singular values alone. Of `hermitian` matrices the lower triangle is
    read."""
    x = _whole("svd", a, hermitian)
    return linalg.svd(x, full_matrices=full_matrices) if compute_uv else linalg.svdvals(x)


def _whole(what: str, a: Any, hermitian: bool) -> Array:
    """Matrices as they are, or with the lower triangle in place of both."""
    x = floats(a)[0]
    return from_lower(checked(what, x, square=True)) if hermitian else x


def svdvals(x: Any, /) -> Array:
    """The singular values in descending order."""
    return linalg.svdvals(*floats(x))


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Array:  # noqa: N803
    """How many singular values are above `tol`, or `rtol` times the greatest; of vectors, whether any is not 0."""
    if tol is not None and rtol is not None:
        raise Error("matrix_rank with tol= and rtol=", place=calling_line(), remedy="give one of them")
    x = floats(A)[0]
    if x.ndim < 2:
        return xp.astype(xp.any(xp.not_equal(x, 0)), "int64")
    x = _whole("matrix_rank", x, hermitian)
    if tol is None:
        return linalg.matrix_rank(x, rtol=_limits(rtol, x))
    limits = xp.expand_dims(_limits(tol, x), axis=-1)
    return xp.sum(xp.astype(linalg.svdvals(x) > limits, "int64"), axis=-1)


def _limits(limit: Any, x: Array) -> Any:
    """What singular values of matrices are compared with, in their dtype; None stands for a default."""
    return None if limit is None else array_of(limit, x._dtype.component.numpy, x._executor)


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = NOT_GIVEN) -> Array:
    """The Moore-Penrose inverses."""
    if rcond is not None and rtol is not NOT_GIVEN:
        raise Error("pinv with rcond= and rtol=", place=calling_line(), remedy="give one of them")
    x = _whole("pinv", a, hermitian)
    relative = rtol if rtol is not NOT_GIVEN else 1e-15 if rcond is None else rcond
    return linalg.pinv(x, rtol=_limits(relative, x))


def lstsq(a: Any, b: Any, rcond: Any = None) -> LstsqResult:
    """The solution of least squares, the squares of residuals, the rank and the singular values of one matrix.

    There are residuals for a matrix of full rank with more rows than columns only: its rank is waited for, but not
    within `ocl.capture`, where it is taken to be full. Raises `LinAlgError` for a matrix with NaN or infinities, which
    is waited for too."""
    x, right = floats(a, b)
    if x.ndim != 2 or right.ndim not in {1, 2}:
        raise MatrixShapeError(
            f"lstsq of shapes {x.shape} and {right.shape}",
            place=calling_line(),
            remedy="give one matrix, and right sides with one axis or two",
        )
    if isinstance(rcond, bool | str) or not isinstance(rcond, float | int | np.number | None):
        raise DTypeError(f"lstsq with rcond={rcond!r}", place=calling_line(), remedy="give a number")
    if rcond is not None and not rcond >= 0:
        rcond = float(np.finfo(x.dtype).eps)
    found = linalg.lstsq(x, right, rtol=rcond)
    raise_if(
        xp.any(xp.isnan(found.singular_values)),
        "lstsq of a matrix with NaN or infinities",
        "look at its elements; ocl_runtime.linalg gives NaN instead",
    )
    rows, columns = x.shape
    residuals = xp.reshape(found.residuals, (-1,))
    if rows <= columns or (shows_values(x) and int(found.rank) < columns):
        residuals = residuals[:0]
    return LstsqResult(found.solution, residuals, found.rank, found.singular_values)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """The norm of all elements, or those of vectors along an axis or of matrices in two."""
    return _norm_of(x, lambda array: _norm(array, ord, axis, keepdims))


def _norm_of(x: Any, norm: Callable[[Array], Array]) -> Array:
    """A norm; of 16-bit floats it is computed in float32."""
    array = floats(x)[0]
    if array._dtype not in {F16, BF16}:
        return norm(array)
    return xp.astype(norm(xp.astype(array, "float32")), array.dtype)


def _norm(array: Array, ord: Any, axis: Any, keepdims: bool) -> Array:
    if axis is None:
        if ord is None or (array.ndim == 1 and ord == 2) or (array.ndim == 2 and ord == "fro"):
            found = linalg.vector_norm(xp.reshape(array, -1))
            return xp.reshape(found, (1,) * array.ndim) if keepdims else found
        axis = tuple(range(array.ndim))
    axes = axes_of("norm", axis, array.ndim)
    if len(axes) == 1:
        return linalg.vector_norm(array, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ShapeError(f"norm over axes {axes}", place=calling_line(), remedy="give one axis, or two for matrices")
    found = linalg.matrix_norm(xp.moveaxis(array, axes, (-2, -1)), ord="fro" if ord is None else ord)
    for place in sorted(axes) if keepdims else ():
        found = xp.expand_dims(found, axis=place)
    return found


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """The norms of vectors."""
    order = 2 if ord is None else ord
    return _norm_of(x, lambda array: linalg.vector_norm(array, axis=axis, keepdims=keepdims, ord=order))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norms of matrices."""
    return _norm_of(x, lambda array: linalg.matrix_norm(array, keepdims=keepdims, ord=ord))


def cond(x: Any, p: Any = None) -> Array:
    """The condition of matrices: by singular values, or by a norm of theirs and that of their inverses."""
    return linalg.cond(*floats(x), ord=p)


def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Any:
    """The product of several matrices, in the order with the fewest multiplications; the first and the last may be
    vectors."""
    if out is not None:
        raise Error("multi_dot with out=", place=calling_line(), remedy="assign the result")
    matrices = [array_of(x) for x in arrays]
    if len(matrices) < 2:
        raise ShapeError("multi_dot of one matrix", place=calling_line(), remedy="give at least two")
    if len(matrices) == 2:
        return dot(*matrices)
    first, last = matrices[0].ndim == 1, matrices[-1].ndim == 1
    matrices[0] = matrices[0][None, :] if first else matrices[0]
    matrices[-1] = matrices[-1][:, None] if last else matrices[-1]
    if any(x.ndim != 2 for x in matrices):
        raise MatrixShapeError(
            f"multi_dot of shapes {', '.join(str(x.shape) for x in matrices)}",
            place=calling_line(),
            remedy="give matrices, or vectors at the ends",
        )
    lengths = [int(matrices[0].shape[0]), *(int(x.shape[1]) for x in matrices)]
    product = _cheapest(matrices, lengths)
    return xp.squeeze(product, tuple(number for number, gone in enumerate((first, last)) if gone))


def _cheapest(matrices: Sequence[Array], lengths: Sequence[int]) -> Array:
    """Matrix chain ordering by dynamic programming (Cormen et al., Introduction to Algorithms, 15.2)."""
    count = len(matrices)
    best: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(count)}
    for width in range(1, count):
        for i in range(count - width):
            j = i + width
            best[i, j] = min(
                (best[i, cut][0] + best[cut + 1, j][0] + lengths[i] * lengths[cut + 1] * lengths[j + 1], cut)
                for cut in range(i, j)
            )

    def product(i: int, j: int) -> Array:
        cut = best[i, j][1]
        return matrices[i] if i == j else dot(product(i, cut), product(cut + 1, j))

    return product(0, count - 1)


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Array:
    """The x with tensordot(a, x, x.ndim) = b."""
    x, right = floats(a, b)
    if axes is not None:
        x = xp.moveaxis(x, axes, tuple(range(x.ndim - len(axes), x.ndim)))
    shape = x.shape[right.ndim :]
    if not math.prod(x.shape[: right.ndim]) == math.prod(shape) == right.size:
        raise MatrixShapeError(
            f"tensorsolve of shapes {x.shape} and {right.shape}",
            place=calling_line(),
            remedy="the first axes are those of the right side, and the others have as many elements",
        )
    return xp.reshape(linalg.solve(xp.reshape(x, (right.size, -1)), xp.reshape(right, -1)), shape)


def tensorinv(a: Any, ind: int = 2) -> Array:
    """The inverse of the product with a tensor over its first `ind` axes."""
    x = floats(a)[0]
    ind = as_integer(f"tensorinv with ind={ind!r}", ind)
    if ind < 1:
        raise ShapeError(f"tensorinv with ind={ind}", place=calling_line(), remedy="give a positive number of axes")
    rows = 1
    for length in x.shape[:ind]:
        rows = rows * length
    return xp.reshape(linalg.inv(xp.reshape(x, (rows, -1))), (*x.shape[ind:], *x.shape[:ind]))


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """The diagonals of the matrices in the last two axes."""
    return linalg.diagonal(array_of(x), offset=offset)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sums of the diagonals of the matrices in the last two axes."""
    return linalg.trace(array_of(x), offset=offset, dtype=dtype)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """The vector products along an axis of length 3."""
    return linalg.cross(*as_common(*arrays("cross", (x1, x2))), axis=axis)


def matmul(x1: Any, x2: Any, /) -> Array:
    """The products of matrices in the last two axes."""
    product: Array = _matmul(x1, x2)
    return product


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """The sums of products along an axis of both."""
    product: Array = _vecdot(x1, x2, axis=axis)
    return product


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Array:
    """The sums of products over some axes of both."""
    return _tensordot(x1, x2, axes)


def outer(x1: Any, x2: Any, /) -> Array:
    """The products of all pairs of elements of two vectors."""
    first, second = arrays("outer", (x1, x2))
    if first.ndim != 1 or second.ndim != 1:
        raise ShapeError(
            f"outer of shapes {first.shape} and {second.shape}", place=calling_line(), remedy="give two vectors"
        )
    product: Array = _outer(first, second)
    return product


def matrix_transpose(x: Any, /) -> Array:
    """The matrices in the last two axes with rows as columns."""
    return xp.matrix_transpose(array_of(x))
