"""Matrices on which algorithms of linear algebra go wrong first, and the error that they may make."""

from __future__ import annotations

from typing import Any

import numpy as np

KINDS = ("random", "graded", "singular", "defective", "hilbert", "zeros", "identity", "tiny", "huge", "rank one")


def matrix(kind: str, shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    """Matrices of a kind in the last two axes; complex ones are no real ones times a number."""
    rng = np.random.default_rng(seed)
    *_, m, n = shape
    host, is_complex = rng.standard_normal(shape), np.dtype(dtype).kind == "c"
    if is_complex:
        host = host + 1j * rng.standard_normal(shape)
    if kind == "graded":
        host *= 10.0 ** -np.linspace(0, 12, m)[:, None] if m else 1
    elif kind == "singular" and m and n:
        host[..., -1] = host[..., 0]
        host[..., m // 2, :] = 0
    elif kind == "rank one":  # where each column that is eliminated leaves a smaller one
        host = np.broadcast_to(np.outer(np.arange(m) % 7 + 1, np.arange(n) % 5 - 7), shape).copy()
    elif kind == "defective":  # a Jordan block: one eigenvalue, one eigenvector
        host = np.broadcast_to(np.eye(m, n) * 2 + np.eye(m, n, k=1), shape).copy()
    elif kind == "hilbert":
        host = np.broadcast_to(1 / (np.arange(m)[:, None] + np.arange(n) + 1), shape).copy()
    elif kind == "zeros":
        host = np.zeros(shape)
    elif kind == "identity":
        host = np.broadcast_to(np.eye(m, n), shape).copy()
    elif kind in {"tiny", "huge"}:
        host *= 1e-30 if kind == "tiny" else 1e30
    if is_complex and kind in {"defective", "hilbert", "rank one"}:
        host = host * np.exp(1j * np.arange(m))[:, None] * np.exp(2j * np.arange(n))
    return host.astype(dtype)


def symmetric(kind: str, shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    """Symmetric or Hermitian matrices made of them."""
    host = matrix(kind, shape, dtype, seed)
    return host + adjoint(host)


def adjoint(host: np.ndarray) -> np.ndarray:
    """The conjugate transposes."""
    return np.swapaxes(host, -1, -2).conj()


def within(found: np.ndarray, wanted: np.ndarray, scale: Any, times: float = 10) -> None:
    """That matrices differ by no more than 10 n eps of a norm, which LAPACK promises of backward errors: an `times` of
    n eps of the greatest magnitude `scale` of each."""
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    if not found.size:
        return
    n = max(found.shape[-2:])
    difference = np.abs(_exact(found) - _exact(wanted)).max(axis=(-2, -1))
    assert (difference <= times * n * np.finfo(found.dtype).eps * np.asarray(scale, np.float64)).all()


def largest(host: np.ndarray) -> np.ndarray:
    """The 2-norm of each matrix, by NumPy in twice the precision of float32."""
    if not host.size:
        return np.zeros(host.shape[:-2])
    norms: np.ndarray = np.linalg.norm(_exact(host), 2, axis=(-2, -1))
    return norms


def _exact(host: np.ndarray) -> np.ndarray:
    """As float64 or complex128."""
    return host.astype(np.result_type(host, np.float64))
