"""Normal vectors whose components vary together."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ocl_ir.source_line import calling_line
from ocl_ir.types import DType
from ocl_runtime import linalg
from ocl_runtime.arrays import Array, asarray, astype, matmul, matrix_transpose, maximum, sqrt
from ocl_runtime.arrays.axes import shape_of
from ocl_runtime.errors import DistributionError, Error, ShapeError
from ocl_runtime.plan.executor import Executor
from ocl_runtime.random.parameters import Size, checked, real_dtype
from ocl_runtime.random.philox import Philox
from ocl_runtime.random.words import normal, words_for

Check = Literal["warn", "raise", "ignore"]
Method = Literal["svd", "eigh", "cholesky"]


def multivariate_normal(
    stream: Philox,
    executor: Executor,
    mean: Any,
    cov: Any,
    size: Size,
    check_valid: Check,
    tol: float,
    method: Method,
    dtype: Any,
) -> Array:
    """A factor of the covariances times standard normal vectors."""
    for name, value, known in (("check_valid", check_valid, Check), ("method", method, Method)):
        if value not in known.__args__:  # type: ignore[attr-defined]
            raise Error(
                f"multivariate_normal with {name}={value!r}",
                place=calling_line(),
                remedy=f"use one of {', '.join(known.__args__)}",  # type: ignore[attr-defined]
            )
    parameters = checked("multivariate_normal", {"mean": mean, "cov": cov, "tol": tol})
    middle, covariances = parameters["mean"], parameters["cov"]
    if middle.ndim != 1 or covariances.shape != (middle.size, middle.size):
        raise ShapeError(
            f"multivariate_normal of a mean of shape {middle.shape} and covariances of shape {covariances.shape}",
            place=calling_line(),
            remedy="give a line of n means and a matrix of n rows and n columns",
        )
    real = real_dtype("multivariate_normal", dtype, executor, [mean, cov])
    if isinstance(covariances, Array):
        factor = _factor(astype(covariances, real.public), method)
    else:
        factor = _on_device(_checked_factor(covariances.astype(np.float64), check_valid, tol, method), real)
    shape = (*(() if size is None else shape_of(size)), middle.size)
    deviates = normal(words_for(stream, shape, real, executor), real)
    return matmul(deviates, matrix_transpose(factor)) + _on_device(middle, real)


def _on_device(values: Any, real: DType) -> Array:
    if isinstance(values, Array):
        return astype(values, real.public)
    return asarray(values.astype(real.numpy))


def _factor(covariances: Array, method: Method) -> Array:
    """A matrix whose product with its own transpose has the covariances."""
    if method == "cholesky":
        return linalg.cholesky(covariances)
    if method == "eigh":
        values, vectors = linalg.eigh(covariances)
        return vectors * sqrt(maximum(values, 0.0))
    u, values, _ = linalg.svd(covariances)
    return u * sqrt(values)


def _checked_factor(covariances: NDArray[Any], check_valid: Check, tol: float, method: Method) -> NDArray[Any]:
    """The same on the host. Raises `DistributionError` for what has no such factor, or warns of it."""
    is_valid = bool(np.allclose(covariances, covariances.T, rtol=tol, atol=tol))
    factor: NDArray[Any]
    if method == "cholesky":
        try:
            factor = np.linalg.cholesky(covariances)
        except np.linalg.LinAlgError:
            raise _not_valid() from None
    elif method == "eigh":
        values, vectors = np.linalg.eigh(covariances)
        is_valid = is_valid and bool((values >= -tol).all())
        factor = vectors * np.sqrt(np.maximum(values, 0.0))
    else:
        u, values, vh = np.linalg.svd(covariances)
        is_valid = is_valid and bool(np.allclose((vh.T * values) @ vh, covariances, rtol=tol, atol=tol))
        factor = u * np.sqrt(values)
    if not is_valid and check_valid == "raise":
        raise _not_valid()
    if not is_valid and check_valid == "warn":
        warnings.warn("the covariances are not symmetric positive semidefinite", RuntimeWarning, stacklevel=4)
    return factor


def _not_valid() -> DistributionError:
    return DistributionError(
        "multivariate_normal of covariances that are not symmetric positive semidefinite",
        place=calling_line(),
        remedy='give such ones, or check_valid="ignore" and a method other than "cholesky"',
    )
