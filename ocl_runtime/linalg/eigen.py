"""Eigenvalues and eigenvectors of general matrices."""

from __future__ import annotations

from typing import NamedTuple

from ocl_ir.graph.linalg import Eigen
from ocl_ir.source_line import calling_line
from ocl_ir.types import F32, F64
from ocl_runtime.arrays import Array, any, isnan, real
from ocl_runtime.arrays.array import array_of
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import DTypeError
from ocl_runtime.linalg.operands import called, checked


class EigResult(NamedTuple):
    """What `eig` gives."""

    eigenvalues: Array
    eigenvectors: Array


def eig(x: ArrayLike, /) -> EigResult:
    packed = called(Eigen(), _matrices("eig", x))
    return EigResult(packed[..., 0, :], packed[..., 1:, :])


def eigvals(x: ArrayLike, /) -> Array:
    return called(Eigen(vectors=False), _matrices("eigvals", x))[..., 0, :]


def _matrices(what: str, x: ArrayLike) -> Array:
    x = array_of(what, x)
    return checked(what, x, square=True)
