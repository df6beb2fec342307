"""Linear algebra on a device: values, errors, capture, other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, Error, LinAlgError, ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.streams import program
from ocl_runtime.execute.streams.command import Command
from ocl_runtime.execute.streams.hazards import Touch, record
from ocl_runtime.runtime import Runtime
from tests.support.arrays import has
from tests.support.matrices import KINDS, adjoint, largest, matrix, symmetric, within

linalg = ocl.linalg
DTYPES = ["f4", "f8", "c8", "c16"]


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


def identity(host: np.ndarray, n: int) -> np.ndarray:
    return np.broadcast_to(np.eye(n, dtype=host.dtype), (*host.shape[:-2], n, n))


@pytest.mark.sample(12)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(200, 200), (300, 16, 16), (3, 70, 70)])
def test_factors_and_systems(runtime: Runtime, shape: tuple[int, ...], dtype: str) -> None:
    if not has(runtime, dtype):
        return
    n, host = shape[-1], matrix("random", shape, dtype)
    positive = host @ adjoint(host) + np.eye(n, dtype=dtype)
    right = matrix("random", (*shape[:-1], 3), dtype, 1)
    with ocl.use(runtime):
        a, b = ocl.asarray(host), ocl.asarray(right)
        lower = linalg.cholesky(ocl.asarray(positive)).numpy()
        within(lower @ adjoint(lower), positive, largest(positive))
        x = linalg.solve(a, b).numpy()
        within(host @ x, right, largest(host) * largest(x))
        inverse = linalg.inv(a).numpy()
        within(host @ inverse, identity(host, n), largest(host) * largest(inverse))
        y = linalg.solve_triangular(ocl.asarray(lower), b, lower=True).numpy()
        within(lower @ y, right, largest(lower) * largest(y))
        y = linalg.solve_triangular(ocl.conj(ocl.asarray(lower)), b, lower=True, transposed=True).numpy()
        within(adjoint(lower) @ y, right, largest(lower) * largest(y))
        q, r = (part.numpy() for part in linalg.qr(a))
        within(q @ r, host, largest(host))
        within(adjoint(q) @ q, identity(host, n), 1)


@pytest.mark.sample(60)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(40, 9, 9), (60, 45), (20, 50)])
def test_spectra(runtime: Runtime, shape: tuple[int, ...], kind: str, dtype: str) -> None:
    if not has(runtime, dtype):
        return
    host, square = matrix(kind, shape, dtype), symmetric(kind, (*shape[:-2], shape[-1], shape[-1]), dtype)
    n, k = shape[-1], min(shape[-2:])
    with ocl.use(runtime):
        values, vectors = (part.numpy() for part in linalg.eigh(ocl.asarray(square)))
        assert values.dtype == np.abs(square).dtype
        within(vectors * values[..., None, :] @ adjoint(vectors), square, largest(square))
        within(adjoint(vectors) @ vectors, identity(square, n), 1)
        u, s, vh = (part.numpy() for part in linalg.svd(ocl.asarray(host)))
        within(u[..., :k] * s[..., None, :] @ vh[..., :k, :], host, largest(host))
        within(adjoint(u) @ u, identity(host, shape[-2]), 1)
        within(adjoint(vh) @ vh, identity(host, n), 1)


RANKS = {
    "matrix_rank": (lambda la, x: la.matrix_rank(x), 0),
    "nuc": (lambda la, x: la.matrix_norm(x, ord="nuc"), 1e-4),
    "2": (lambda la, x: la.matrix_norm(x, ord=2, keepdims=True), 1e-4),
    "-2": (lambda la, x: la.matrix_norm(x[..., :2], ord=-2), 1e-3),
    "fro": (lambda la, x: la.matrix_norm(x), 1e-5),
    "1": (lambda la, x: la.matrix_norm(x, ord=1), 1e-5),
    "-1": (lambda la, x: la.matrix_norm(x, ord=-1), 1e-5),
    "inf": (lambda la, x: la.matrix_norm(x, ord=np.inf, keepdims=True), 1e-5),
    "pinv": (lambda la, x: la.pinv(x), 1e-3),
    "diagonal": (lambda la, x: la.diagonal(x, offset=-1), 0),
    "trace": (lambda la, x: la.trace(x, offset=1), 1e-5),
    "outer": (lambda la, x: la.outer(x[0, 0], x[1, 0]), 1e-6),
    "cross": (lambda la, x: la.cross(x[..., :3], x[..., 1:4]), 1e-5),
    "matrix_power": (lambda la, x: la.matrix_power(x[:, :5], np.int64(5)), 1e-3),
    "matrix_power of the inverse": (lambda la, x: la.matrix_power(x[:2, :5], -3), 1e-2),
    "vector_norm": (lambda la, x: la.vector_norm(x, axis=1), 1e-5),
    "vector_norm of all": (lambda la, x: la.vector_norm(x, ord=3, keepdims=True), 1e-5),
    "vector_norm 0": (lambda la, x: la.vector_norm(x, axis=-1, ord=0), 0),
    "vector_norm inf": (lambda la, x: la.vector_norm(x, axis=(0, 2), ord=-np.inf), 1e-6),
    "svdvals": (lambda la, x: la.svdvals(x), 1e-4),
    "cond": (lambda la, x: la.cond(x), 1e-2),
    "det": (lambda la, x: la.det(x[:, :5]), 1e-4),
    "sign of the determinant": (lambda la, x: la.slogdet(x[:, :5])[0], 1e-4),
    "logarithm of the determinant": (lambda la, x: la.slogdet(x[:, :5])[1], 1e-3),
    "vecdot": (lambda la, x: la.vecdot(x[0], x[1]), 1e-5),
    "tensordot": (lambda la, x: la.tensordot(x[0], x[1], axes=((0,), (0,))), 1e-5),
    "with real numbers": (lambda la, x: la.solve(abs(x[:, :5]), x[:, 3:]), 1e-2),
}


@pytest.mark.sample(8)
@pytest.mark.parametrize("dtype", ["f4", "c8"])
@pytest.mark.parametrize("name", RANKS)
def test_what_is_made_of_them(runtime: Runtime, name: str, dtype: str) -> None:
    function, close = RANKS[name]
    host = matrix("random", (4, 8, 5), dtype)
    host[2, :, 4] = host[2, :, 0]
    if name in {"cond", "sign of the determinant", "logarithm of the determinant", "with real numbers"}:
        host = host[:2]
    with ocl.use(runtime):
        found, wanted = function(linalg, ocl.asarray(host)).numpy(), function(np.linalg, host)
        assert found.dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(found, wanted, rtol=close or 1e-7, atol=close)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_least_squares(runtime: Runtime, dtype: str) -> None:
    host, right = matrix("random", (30, 6), dtype), matrix("random", (30, 2), dtype, 1)
    with ocl.use(runtime):
        found = linalg.lstsq(ocl.asarray(host), ocl.asarray(right))
        for one, other in zip(found, np.linalg.lstsq(host, right), strict=True):
            np.testing.assert_allclose(one.numpy(), other, rtol=1e-4, atol=1e-4)
        vector = np.linalg.lstsq(ocl.asarray(host), ocl.asarray(right[:, 0]))
        assert all(isinstance(part, ocl.Array) for part in vector)
        for one, other in zip(vector, np.linalg.lstsq(host, right[:, 0]), strict=True):
            np.testing.assert_allclose(one.numpy(), other, rtol=1e-4, atol=1e-4)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_numpys_functions_come_here(runtime: Runtime, dtype: str) -> None:
    host, integers = matrix("random", (6, 6), dtype), np.array([[2, 1], [1, 3]])
    with ocl.use(runtime):
        x, i = ocl.asarray(host), ocl.asarray(integers)
        for function in (np.linalg.inv, np.linalg.det, lambda a: np.linalg.eigh(a, "U").eigenvalues, np.linalg.norm,
                         lambda a: np.linalg.multi_dot([a, a[:, :2], a[:2]]), lambda a: np.linalg.qr(a, mode="r"),
                         lambda a: np.linalg.tensorsolve(a.reshape(2, 3, 6), a[:2, :3]), np.linalg.matrix_rank,
                         lambda a: np.linalg.norm(a, axis=(0, 1), ord="nuc"), lambda a: np.linalg.cond(a, 1),
                         lambda a: np.linalg.cholesky(a @ a.conj().T + 3 * np.eye(6, dtype="f4"), upper=True),
                         lambda a: np.linalg.tensorinv(a, ind=1), lambda a: np.linalg.matrix_power(a, 2),
                         lambda a: np.linalg.pinv(a[:, :4]), lambda a: np.linalg.matrix_rank(a, tol=1e-3)):  # fmt: skip
            found = function(x)
            assert isinstance(found, ocl.Array)
            assert found.dtype == function(host).dtype
            np.testing.assert_allclose(found.numpy(), function(host), rtol=1e-3, atol=1e-3)
        if has(runtime, "f8"):
            assert np.linalg.det(i).dtype == np.float64
            np.testing.assert_allclose(np.linalg.solve(i, i[0]).numpy(), np.linalg.solve(integers, integers[0]))


def test_what_is_refused(runtime: Runtime) -> None:
    with ocl.use(runtime):
        square, flat = ocl.eye(3), ocl.ones((2, 3))
        refused: list[tuple[Any, type[Exception]]] = [
            (lambda: linalg.cholesky(flat), ShapeError),
            (lambda: linalg.inv(ocl.ones(3)), ShapeError),
            (lambda: linalg.solve(square, ocl.ones(4)), ShapeError),
            (lambda: linalg.det(ocl.ones((2, 2), dtype=ocl.int32)), DTypeError),
            (lambda: linalg.eigh(ocl.ones((2, 2), dtype=ocl.float16)), DTypeError),
            (lambda: linalg.vector_norm(ocl.ones(2, dtype=ocl.int32)), DTypeError),
            (lambda: linalg.matrix_power(square, 1.5), DTypeError),
            (lambda: linalg.qr(square, mode="raw"), Error),
            (lambda: linalg.matrix_norm(square, ord=3), Error),
            (lambda: linalg.vector_norm(square, ord=None), Error),
            (lambda: linalg.lstsq(square, ocl.asarray(1.0)), ShapeError),
            (lambda: linalg.cross(ocl.ones(2), ocl.ones(2)), ShapeError),
            (lambda: linalg.outer(square, square), ShapeError),
            (lambda: linalg.cholesky(-square), LinAlgError),
            (lambda: np.linalg.inv(square * 0), np.linalg.LinAlgError),
        ]
        for function, error in refused:
            with pytest.raises(error):
                function()


def test_captured(runtime: Runtime) -> None:
    """Nothing is asked of values there: NaN says what is wrong."""
    with ocl.use(runtime):
        solved = ocl.capture(lambda a, b: linalg.solve(a + ocl.eye(6), b) * 2)
        for seed in range(3):
            host, right = matrix("random", (6, 6), "f4", seed), matrix("random", (6, 2), "f4", seed)
            found = solved(ocl.asarray(host), ocl.asarray(right)).numpy()
            np.testing.assert_allclose(found, 2 * np.linalg.solve(host + np.eye(6, dtype="f4"), right), rtol=1e-2)
        assert np.isnan(ocl.capture(linalg.cholesky)(ocl.asarray(-np.eye(3, dtype="f4"))).numpy()).any()


RESULTS = {
    "solve": lambda la, x: la.solve(x, x[:, :2]),
    "cholesky": lambda la, x: la.cholesky(x),
    "qr": lambda la, x: abs(la.qr(x)[1]),
    "eigvalsh": lambda la, x: la.eigvalsh(x),
    "svdvals": lambda la, x: la.svdvals(x),
    "lstsq": lambda la, x: la.lstsq(x, x[:, 0])[0],
    "cond": lambda la, x: la.cond(x),
}
"""Of positive definite matrices, and alike but for rounding."""


def positive(seed: int) -> np.ndarray:
    host = matrix("random", (5, 5), "f4", seed)
    return host @ host.T + np.eye(5, dtype="f4")


def close(found: ocl.Array, name: str, host: np.ndarray) -> None:
    np.testing.assert_allclose(found.numpy(), RESULTS[name](np.linalg, host), rtol=1e-3, atol=1e-3)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", RESULTS)
def test_captured_functions_read_what_they_are_given(runtime: Runtime, name: str) -> None:
    with ocl.use(runtime):
        captured = ocl.capture(lambda x: RESULTS[name](linalg, x))
        for seed in (1, 2):
            close(captured(ocl.asarray(positive(seed))), name, positive(seed))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", RESULTS)
def test_on_several_streams(runtime: Runtime, name: str) -> None:
    """Matrices that another stream writes, and factors of two streams at a time."""
    with ocl.use(runtime):
        found = []
        for number in range(3):
            with ocl.stream(number):
                x = (ocl.asarray(positive(number)) * 1).compute()
            with ocl.stream(number + 1):
                found.append(RESULTS[name](linalg, x).compute())
        for number, result in enumerate(found):
            close(result, name, positive(number))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", RESULTS)
def test_later_writes_change_no_results(runtime: Runtime, name: str) -> None:
    with ocl.use(runtime):
        x = ocl.asarray(positive(1))
        found = RESULTS[name](linalg, x)
        x[...] = 7
        close(found, name, positive(1))
        assert (x.numpy() == 7).all()


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", RESULTS)
def test_matrices_back_to_front(runtime: Runtime, name: str) -> None:
    host = positive(1)
    with ocl.use(runtime):
        close(RESULTS[name](linalg, ocl.asarray(host)[::-1, ::-1]), name, host[::-1, ::-1])
        close(RESULTS[name](linalg, ocl.asarray(host[::-1].copy())[::-1]), name, host)


def test_what_streams_know_of_a_system_does_not_grow(
    device: Device, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hundreds of launches on several streams touch other parts of the factors, which are kept until the flag has been
    read, and of the solutions."""
    known: list[Touch] = []

    def counted(touches: Sequence[Touch], command: Command) -> None:
        known.extend(touches)
        record(touches, command)

    monkeypatch.setattr(program, "record", counted)
    runtime = Runtime(device, replace(engine.settings, streams=4))
    with ocl.use(runtime):
        for n in (200, 400):
            a = ocl.asarray(matrix("random", (n, n), "f4"))
            for function in (lambda a: linalg.solve(a, a[:, :2]), linalg.inv):
                function(a).numpy()
                known.clear()
                before = runtime.statistics()["launch"]["launches"]
                function(a).numpy()
                assert runtime.statistics()["launch"]["launches"] - before > n / 4
                assert len(known) <= 24


@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_without_elements(runtime: Runtime, dtype: str) -> None:
    with ocl.use(runtime):
        for shape in ((0, 0), (2, 0, 3), (2, 3, 0), (0, 3, 3)):
            x = ocl.zeros(shape, dtype=dtype)
            for ord in ("fro", "nuc", 1, 2, np.inf):
                norms = linalg.matrix_norm(x, ord=ord).numpy()
                assert (norms.dtype, norms.tolist()) == (np.float32, np.zeros(shape[:-2]).tolist())
            assert linalg.vector_norm(x, ord=np.inf).numpy() == 0
            assert linalg.vector_norm(x, ord=np.inf).dtype == linalg.svdvals(x).dtype == np.float32
            assert linalg.matrix_rank(x).numpy().tolist() == np.zeros(shape[:-2]).tolist()
            assert linalg.pinv(x).shape == (*shape[:-2], shape[-1], shape[-2])
            for mode in ("reduced", "complete"):
                found, wanted = linalg.qr(x, mode=mode), np.linalg.qr(np.zeros(shape), mode=mode)
                assert [part.shape for part in found] == [part.shape for part in wanted]
        assert linalg.det(ocl.zeros((2, 0, 0))).numpy().tolist() == [1, 1]
        assert linalg.inv(ocl.zeros((2, 0, 0))).shape == (2, 0, 0)
        with pytest.raises(ShapeError):
            linalg.vector_norm(ocl.zeros(0), ord=-np.inf)
