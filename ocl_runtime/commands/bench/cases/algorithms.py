"""Sorts and searches, Fourier transforms, and linear algebra. Of complex numbers the dtype is that of their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_runtime.commands.bench.case import Arrays, Case, rows, square
from ocl_runtime.commands.bench.data import Data

_MOST = 100
"""Elements that are looked for among the greatest."""
_PRIME = 65_537
_SMALL = 16
"""Rows of many small matrices."""

Inputs = Callable[[Data, int, np.dtype[Any]], Arrays]


def _numbers(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
    return (data.real(dtype, n, high=1.0 if dtype.kind == "f" else 2.0**31 - 1),)


def _few(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
    """Numbers of which each comes several times."""
    return (data.real(np.dtype(np.int32), n, high=max(2, n // 8)).astype(dtype),)


def _sorted_and_keys(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
    return np.sort(data.real(dtype, n)), data.real(dtype, n)


def _complex(data: Data, dtype: np.dtype[Any], *shape: int) -> np.ndarray:
    return data.real(dtype, *shape[:-1], 2 * shape[-1], low=-1.0).view(np.result_type(dtype, np.complex64))


def _lines(width: int) -> Inputs:
    return lambda data, n, dtype: (_complex(data, dtype, *rows(n, min(n, width))),)


def _cube(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
    side = 1 << (n.bit_length() - 1) // 3
    return (_complex(data, dtype, side, side, side),)


def _matrix(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
    return (data.real(dtype, square(n), square(n), low=-1.0),)


def _symmetric(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
    (matrix,) = _matrix(data, n, dtype)
    return (matrix + matrix.T,)


def _positive(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
    """Symmetric matrices whose diagonals are greater than the rest of their rows."""
    (matrix,) = _symmetric(data, n, dtype)
    return (matrix + np.eye(len(matrix), dtype=dtype) * (2 * len(matrix)),)


def _system(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
    (matrix,) = _positive(data, n, dtype)
    return matrix, data.real(dtype, len(matrix), 16)


def _small(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
    matrices = data.real(dtype, max(1, n // _SMALL**2), _SMALL, _SMALL, low=-1.0)
    return (matrices + np.swapaxes(matrices, 1, 2),)


def _in_dtype(key: str, title: str, expression: Any, inputs: Inputs, **more: Any) -> Case:
    return Case(key, title, expression, inputs, ("f32", "f64"), **more)


_FIRST_OF_TWO = {name: lambda xp, x: xp.sort(x)[0] for name in ("torch", "inductor")}
_TORCHS_TOP = {name: lambda xp, x: xp.topk(x, _MOST)[0] for name in ("torch", "inductor")}
_TOP = lambda xp, x: xp.sort(xp.partition(x, x.size - _MOST)[x.size - _MOST :])[::-1]  # noqa: E731

CASES = (
    Case("sort", "sort", lambda xp, x: xp.sort(x), _numbers, ("f32", "u32", "f64"), exact=True, own=_FIRST_OF_TWO),
    Case("argsort", "stable argsort", lambda xp, x: xp.argsort(x, kind="stable"), _numbers, ("f32",), exact=True,
         own={"torch": lambda xp, x: xp.argsort(x, stable=True)}),
    Case("sort-rows", "sort of rows of 1000", lambda xp, x: xp.sort(x, axis=-1),
         lambda data, n, dtype: (data.real(dtype, *rows(n, 1000)),), ("f32",), exact=True, slabs=True,
         own=_FIRST_OF_TWO),
    Case("top", f"greatest {_MOST}", lambda xp, x: xp.top_k(x, _MOST)[0], _numbers, ("f32",), gpu=24, exact=True,
         own={"numpy": _TOP, "cupy": _TOP, **_TORCHS_TOP}),
    Case("unique", "distinct elements", lambda xp, x: xp.unique(x), _few, ("i32", "f32"), gpu=24, asks=True),
    Case("searchsorted", "places in a sorted array", lambda xp, x, keys: xp.searchsorted(x, keys), _sorted_and_keys,
         ("f32",), gpu=24, exact=True),
    _in_dtype("complex-a*b+c", "a*b + c, complex", lambda _, a, b, c: a * b + c,
              lambda data, n, dtype: tuple(_complex(data, dtype, n) for _ in range(3)), operations=8, slabs=True),
    _in_dtype("fft-1024", "Fourier transforms of 1024", lambda xp, x: xp.fft.fft(x), _lines(1024), slabs=True),
    _in_dtype("fft-1000", "Fourier transforms of 1000", lambda xp, x: xp.fft.fft(x), _lines(1000), slabs=True),
    _in_dtype("fft-prime", f"Fourier transforms of {_PRIME}", lambda xp, x: xp.fft.fft(x), _lines(_PRIME), cpu=20),
    _in_dtype("fft-line", "Fourier transform of one line", lambda xp, x: xp.fft.fft(x), _lines(2**30), gpu=24, cpu=20),
    _in_dtype("fft-cube", "Fourier transform of a cube", lambda xp, x: xp.fft.fftn(x), _cube, gpu=24, cpu=21),
    _in_dtype("rfft-1024", "real Fourier transforms of 1024", lambda xp, x: xp.fft.rfft(x),
              lambda data, n, dtype: (data.real(dtype, *rows(n, 1024)),), slabs=True),
    _in_dtype("cholesky", "Cholesky factor", lambda xp, x: xp.linalg.cholesky(x), _positive, gpu=24, cpu=20),
    _in_dtype("solve", "system of equations", lambda xp, x, b: xp.linalg.solve(x, b), _system, gpu=24, cpu=20),
    _in_dtype("qr", "QR factors", lambda xp, x: abs(xp.linalg.qr(x)[1]), _matrix, gpu=24, cpu=20),
    _in_dtype("eigh", "symmetric eigenproblem", lambda xp, x: xp.linalg.eigh(x)[0], _symmetric, gpu=20, cpu=16),
    _in_dtype("svd", "singular values and vectors", lambda xp, x: xp.linalg.svd(x)[1], _matrix, gpu=20, cpu=16),
    _in_dtype("eigh-small", f"symmetric eigenproblems of {_SMALL}", lambda xp, x: xp.linalg.eigh(x)[0], _small,
              gpu=21, cpu=19, slabs=True),
    _in_dtype("svd-small", f"singular values and vectors of {_SMALL}", lambda xp, x: xp.linalg.svd(x)[1], _small,
              gpu=21, cpu=19, slabs=True),
)  # fmt: skip
