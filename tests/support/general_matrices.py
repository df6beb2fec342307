"""Matrices on which eigenvalue algorithms go wrong first, and what eigenvectors may be wrong by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Made = Callable[[int, Callable[[], np.ndarray], np.random.Generator], np.ndarray]


def _orthogonal(half: np.ndarray) -> np.ndarray:
    return np.linalg.qr(half).Q


def _normal(half: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    q = _orthogonal(half)
    return q @ np.diag(rng.standard_normal(len(half))) @ q.conj().T


def _badly_scaled(half: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    scale = 10.0 ** rng.uniform(-6, 6, len(half))
    return half * scale[:, None] / scale


MADE: dict[str, Made] = {
    "random": lambda n, drawn, rng: drawn(),
    "zeros": lambda n, drawn, rng: np.zeros((n, n)),
    "identity": lambda n, drawn, rng: np.eye(n),
    "ones": lambda n, drawn, rng: np.ones((n, n)),
    "Jordan block": lambda n, drawn, rng: 2 * np.eye(n) + np.eye(n, k=1),
    "lower Jordan block": lambda n, drawn, rng: 2 * np.eye(n) + np.eye(n, k=-1),
    "nilpotent": lambda n, drawn, rng: np.triu(drawn(), 1),
    "nilpotent block": lambda n, drawn, rng: np.eye(n, k=1),
    "cyclic": lambda n, drawn, rng: np.roll(np.eye(n), 1, 0),  # on which QR without a made-up shift stands still
    "cyclic the other way": lambda n, drawn, rng: np.roll(np.eye(n), -1, 0),
    "upper triangular": lambda n, drawn, rng: np.triu(drawn()),
    "lower triangular": lambda n, drawn, rng: np.tril(drawn()),
    "orthogonal": lambda n, drawn, rng: _orthogonal(drawn()),
    "orthogonal Hessenberg": lambda n, drawn, rng: _orthogonal(np.triu(drawn(), -1)),
    "symmetric": lambda n, drawn, rng: (half := drawn()) + half.conj().T,
    "skew": lambda n, drawn, rng: (half := drawn()) - half.conj().T,
    "normal": lambda n, drawn, rng: _normal(drawn(), rng),
    "badly scaled": lambda n, drawn, rng: _badly_scaled(drawn(), rng),
    "graded": lambda n, drawn, rng: drawn() * 10.0 ** -np.linspace(0, 12, n)[:, None],
    "tiny": lambda n, drawn, rng: drawn() * 1e-30,
    "huge": lambda n, drawn, rng: drawn() * 1e30,
    "companion": lambda n, drawn, rng: np.eye(n, k=-1) + np.eye(n)[:, :1] @ drawn()[:1],
    "Hilbert": lambda n, drawn, rng: 1 / (np.arange(n)[:, None] + np.arange(n) + 1),
    "Grcar": lambda n, drawn, rng: np.triu(np.tril(np.ones((n, n)), 3)) - np.eye(n, k=-1),
    "equal pairs": lambda n, drawn, rng: np.kron(np.eye(n), [[0, 1], [-1, 0]])[:n, :n],
    "small subdiagonals": lambda n, drawn, rng: np.triu(drawn()) + 1e-9 * np.diag(np.diag(drawn(), -1), -1),
}


def general_matrix(kind: str, n: int, dtype: Any, seed: int = 0) -> np.ndarray:
    """A square matrix of a kind; a random one of complex dtypes has complex elements."""
    rng = np.random.default_rng(seed)

    def drawn() -> np.ndarray:
        half = rng.standard_normal((n, n))
        return half + 1j * rng.standard_normal((n, n)) if np.dtype(dtype).kind == "c" else half

    return MADE[kind](n, drawn, rng).astype(dtype)


def check_eigenvectors(matrices: np.ndarray, values: np.ndarray, vectors: np.ndarray, what: str = "") -> None:
    """That A v = w v within 10 n eps of the norm of A, and what else there is to say of both: their dtypes, lengths,
    and how those of a real matrix are conjugate."""
    *_, n = matrices.shape
    dtype = np.result_type(matrices.dtype, np.complex64)
    assert (values.dtype, values.shape) == (dtype, matrices.shape[:-1])
    assert (vectors.dtype, vectors.shape) == (dtype, matrices.shape)
    eps = np.finfo(dtype).eps
    for place in np.ndindex(matrices.shape[:-2]) if n else ():
        a, w, v = matrices[place], values[place], vectors[place]
        exact, long = a.astype(np.complex128), v.astype(np.complex128)
        wrong = np.linalg.norm(exact @ long - long * w, axis=0).max()
        norm = np.linalg.norm(exact, 2)
        assert wrong <= 10 * n * eps * norm, (what, wrong / (n * eps * norm))
        np.testing.assert_allclose(np.linalg.norm(long, axis=0), 1, rtol=20 * eps)
        if a.dtype.kind == "f":
            upper, real = np.flatnonzero(w.imag > 0), w.imag == 0
            assert np.count_nonzero(real) + 2 * len(upper) == n, what
            np.testing.assert_array_equal(w[upper + 1], w[upper].conj())
            np.testing.assert_array_equal(v[:, upper + 1], v[:, upper].conj())
            assert not v[:, real].imag.any(), what


def distance(found: np.ndarray, wanted: np.ndarray) -> float:
    """The greatest distance of an eigenvalue to the nearest one of others that is not taken yet, from great to
    small."""
    left, worst = list(wanted), 0.0
    for value in found[np.argsort(-np.abs(found))]:
        nearest = int(np.argmin(np.abs(np.array(left) - value)))
        worst = max(worst, abs(left.pop(nearest) - value))
    return worst
