"""Eigenvalues and eigenvectors of general matrices on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
import ocl_runtime.numpy as onp
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, LinAlgError, ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import has
from tests.support.depth import NIGHTLY
from tests.support.general_matrices import MADE, check_eigenvectors, distance, general_matrix

DTYPES = ["f4", "f8", "c8", "c16"] if NIGHTLY else ["f4", "c16"]
SIZES = (1, 2, 3, 5, 8, 16, 35, 70) if NIGHTLY else (3, 8, 35)


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_of_all_kinds(runtime: Runtime, dtype: str) -> None:
    """In local memory, and larger ones by many launches."""
    if not has(runtime, dtype):
        return
    with ocl.use(runtime):
        for n in SIZES:
            host = np.stack([general_matrix(kind, n, dtype, n) for kind in MADE])
            values, vectors = (part.numpy() for part in ocl.linalg.eig(ocl.asarray(host)))
            for number, kind in enumerate(MADE):
                check_eigenvectors(host[number], values[number], vectors[number], f"{kind} of {n}")
            condition = np.linalg.cond(np.linalg.eig(host[0]).eigenvectors)
            close = 10 * n * np.finfo(dtype).eps * condition * np.linalg.norm(host[0], 2)  # Bauer and Fike
            assert distance(values[0], np.linalg.eigvals(host[0])) <= close
            if n in {8, 35}:
                assert distance(ocl.linalg.eigvals(ocl.asarray(host)).numpy()[0], values[0]) <= close


def test_triangular_matrices_have_their_diagonals(runtime: Runtime) -> None:
    with ocl.use(runtime):
        host = general_matrix("upper triangular", 7, "f4")
        np.testing.assert_array_equal(ocl.linalg.eigvals(ocl.asarray(host)).numpy(), np.diag(host))


@pytest.mark.parametrize("n", [3, 40])
def test_what_is_not_finite_is_nan_and_the_rest_of_a_batch_is_not(runtime: Runtime, n: int) -> None:
    host = np.stack([general_matrix("random", n, "f4", seed) for seed in range(3)])
    host[0, 1, 2], host[2, 0, 0] = np.nan, -np.inf
    with ocl.use(runtime):
        values, vectors = (part.numpy() for part in ocl.linalg.eig(ocl.asarray(host)))
        for number in (0, 2):
            assert np.isnan(values[number]).all()
            assert np.isnan(vectors[number]).all()
        check_eigenvectors(host[1], values[1], vectors[1])
        for function in (np.linalg.eig, np.linalg.eigvals):
            with pytest.raises(np.linalg.LinAlgError, match="NaN"):
                function(ocl.asarray(host))


def test_numpys_functions_are_real_where_numpys_are(runtime: Runtime) -> None:
    hosts: list[Any] = [general_matrix(kind, 4, "f4") for kind in ("symmetric", "cyclic", "upper triangular")]
    if has(runtime, "f8"):
        hosts += [general_matrix("symmetric", 4, "c16"), np.array([[2, 1], [1, 2]])]
    with ocl.use(runtime):
        for host in hosts:
            values, vectors = np.linalg.eig(ocl.asarray(host))
            wanted = np.linalg.eig(host)
            assert isinstance(values, ocl.Array)
            assert (values.dtype, vectors.dtype) == (wanted.eigenvalues.dtype, wanted.eigenvectors.dtype)
            alone = np.linalg.eigvals(ocl.asarray(host))
            assert alone.dtype == wanted.eigenvalues.dtype
            assert max(distance(x.numpy(), wanted.eigenvalues) for x in (values, alone)) < 1e-5
            np.testing.assert_allclose(
                host @ vectors.numpy(), vectors.numpy() * values.numpy(), atol=1e-5 * np.linalg.norm(host)
            )


ROOTS = [[1, -3, 2], [0, 0, 1, 0, 1, 0, 0], [2.5], [], [0, 0], [3, 0, 0], [1, -6, 11, -6], [1j, 2, 1 - 1j]]


@pytest.mark.parametrize("coefficients", ROOTS, ids=str)
def test_roots(runtime: Runtime, coefficients: list[Any]) -> None:
    if not has(runtime, "f8"):
        return
    host = np.asarray(coefficients)
    wanted = np.roots(host)
    with ocl.use(runtime):
        found = onp.roots(ocl.asarray(host))  # numpy.roots does not ask an array without elements
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        assert distance(found.numpy(), wanted) < 1e-12


def test_roots_in_float32(runtime: Runtime) -> None:
    host = np.array([0, 1, -6, 11, -6, 0], "f4")
    with ocl.use(runtime):
        found = np.roots(ocl.asarray(host))
        assert isinstance(found, ocl.Array)
        assert found.dtype == np.float32
        np.testing.assert_allclose(np.sort(found.numpy()), [0, 1, 2, 3], atol=1e-4)


def test_poly_of_a_matrix_has_its_eigenvalues(runtime: Runtime) -> None:
    host = general_matrix("random", 4, "f4")
    with ocl.use(runtime):
        found = np.poly(ocl.asarray(host))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found.numpy(), np.poly(host), rtol=1e-4, atol=1e-4)


def test_captured(runtime: Runtime) -> None:
    """Nothing is asked of values there: NumPy's functions stay complex."""
    host = general_matrix("symmetric", 5, "f4")
    with ocl.use(runtime):
        values, vectors = ocl.capture(np.linalg.eig)(ocl.asarray(host))
        check_eigenvectors(host, values.numpy(), vectors.numpy())
        zeros = ocl.capture(np.roots)(ocl.asarray(np.array([1, -3, 2], "f4"))).numpy()
    assert zeros.dtype == np.complex64
    assert distance(zeros, np.array([1, 2])) < 1e-5


def test_what_is_refused_and_what_has_no_elements(runtime: Runtime) -> None:
    with ocl.use(runtime):
        refused: list[tuple[Any, type[Exception]]] = [
            (lambda: ocl.linalg.eig(ocl.ones((2, 3))), ShapeError),
            (lambda: ocl.linalg.eigvals(ocl.ones(3)), ShapeError),
            (lambda: ocl.linalg.eig(ocl.ones((2, 2), dtype=ocl.int32)), DTypeError),
            (lambda: np.linalg.eigvals(ocl.asarray([[np.inf]])), LinAlgError),
            (lambda: np.roots(ocl.ones((2, 2))), ShapeError),
            (lambda: np.poly(ocl.ones((2, 3))), ShapeError),
        ]
        for function, error in refused:
            with pytest.raises(error):
                function()
        for shape in ((0, 0), (0, 3, 3), (2, 0, 0)):
            values, vectors = ocl.linalg.eig(ocl.zeros(shape))
            assert (values.shape, vectors.shape) == (shape[:-1], shape)
            assert values.dtype == vectors.dtype == ocl.linalg.eigvals(ocl.zeros(shape)).dtype == np.complex64
