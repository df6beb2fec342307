"""Matrices at the ends of what floats can hold, of one element, of rank 1, and large ones whose norm misleads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime import linalg
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import has
from tests.support.matrices import adjoint, largest, within


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


def identity(host: np.ndarray, n: int) -> np.ndarray:
    return np.broadcast_to(np.eye(n, dtype=host.dtype), (*host.shape[:-2], n, n))


@pytest.mark.sample(6)
@pytest.mark.parametrize("dtype", ["f4", "c8", "f8"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (1, 5), (3, 1, 1)])
def test_one_singular_value(runtime: Runtime, shape: tuple[int, ...], dtype: str) -> None:
    if not has(runtime, dtype):
        return
    host = (np.arange(1, 1 + np.prod(shape)).reshape(shape) * (1 + 2j if dtype == "c8" else 1)).astype(dtype)
    with ocl.use(runtime):
        x = ocl.asarray(host)
        np.testing.assert_allclose(linalg.svdvals(x).numpy(), np.linalg.svd(host, compute_uv=False), rtol=1e-5)
        np.testing.assert_array_equal(linalg.matrix_rank(x).numpy(), np.linalg.matrix_rank(host))
        np.testing.assert_allclose(np.linalg.cond(x).numpy(), np.linalg.cond(host), rtol=1e-5)


RANK_1: dict[str, Any] = {
    "ones": np.ones((64, 64)),
    "a tenth": np.full((100, 8), 0.1),
    "columns that repeat": np.repeat(np.random.default_rng(0).standard_normal((30, 1)), 30, axis=1),
    "integers": np.outer(np.arange(64) % 11 - 5, np.arange(64) % 7 - 3),
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("dtype", ["f4", "c8", "f8"])
@pytest.mark.parametrize("name", RANK_1)
def test_matrices_of_rank_1_have_orthonormal_factors(runtime: Runtime, name: str, dtype: str) -> None:
    """Each column that is eliminated leaves one that is smaller by eps, down to the least floats."""
    if not has(runtime, dtype):
        return
    host = (RANK_1[name] * (0.6 + 0.8j if dtype == "c8" else 1)).astype(dtype)
    with ocl.use(runtime):
        q, r = (part.numpy() for part in linalg.qr(ocl.asarray(host)))
        u, s, vh = (part.numpy() for part in linalg.svd(ocl.asarray(host), full_matrices=False))
    within(q @ r, host, largest(host))
    within(u * s @ vh, host, largest(host))
    for factor in (q, u, adjoint(vh)):
        within(adjoint(factor) @ factor, identity(factor, factor.shape[-1]), 1)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_columns_of_the_least_floats(runtime: Runtime, dtype: str) -> None:
    if not has(runtime, dtype):
        return
    least = np.finfo(dtype).smallest_subnormal
    host = np.random.default_rng(1).standard_normal((12, 5)).astype(dtype)
    host[:, 1] = np.arange(12) * 20 * least
    with ocl.use(runtime):
        x = ocl.asarray(host)
        if (x[:, 1] == 0).numpy().all():
            pytest.skip("the device has no denormal numbers")
        q = linalg.qr(x).Q.numpy()
    within(q.T @ q, np.eye(5, dtype=dtype), 1)


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("kind", ["arrow", "graded", "random"])
def test_large_symmetric_matrices(runtime: Runtime, kind: str, dtype: str) -> None:
    """The greatest sum of a row is far above the 2-norm of an arrow."""
    if not has(runtime, dtype):
        return
    n, rng = 200, np.random.default_rng(2)
    if kind == "arrow":
        host = np.diag(np.arange(n) / n)
        host[0] = host[:, 0] = 1
    else:
        host = rng.standard_normal((n, n)) * (10.0 ** -np.linspace(0, 12, n) if kind == "graded" else 1)
        host += host.T
    host = host.astype(dtype)
    with ocl.use(runtime):
        values, vectors = (part.numpy() for part in linalg.eigh(ocl.asarray(host)))
    wide = vectors.astype(np.float64)
    limit = 10 * n * np.finfo(dtype).eps
    norm = np.linalg.norm(host.astype(np.float64), 2)
    assert np.linalg.norm(wide * values @ wide.T - host, 2) <= limit * norm
    assert np.linalg.norm(wide.T @ wide - np.eye(n), 2) <= limit


DIAGONALS = {
    "too great and too small": [1e200, 1e200, 1e-200, 1e-200],
    "too small and too great": [1e-160, 1e-155, 1e200, 1e100],
    "complex": [1e200j] * 4 + [1e-200] * 4,
    "exact": [3.0, -7.0, 2.0],
    "singular": [1e200, 1e200, 0.0],
}


@pytest.mark.parametrize("name", DIAGONALS)
def test_determinants_whose_products_pass_the_ends_of_floats(runtime: Runtime, name: str) -> None:
    if not has(runtime, "f8"):
        pytest.skip("no float64")
    host = np.diag(DIAGONALS[name])
    with ocl.use(runtime):
        found = linalg.det(ocl.asarray(host)).numpy()
    if name == "exact":
        assert found == -42
    np.testing.assert_allclose(found, np.linalg.det(host), rtol=1e-12)


def test_complex_numbers_whose_magnitudes_are_infinite(runtime: Runtime) -> None:
    host = np.array([[3e38 + 3e38j]], "c8")
    with ocl.use(runtime):
        x = ocl.asarray(host)
        np.testing.assert_allclose(linalg.eigvals(x).numpy(), [3e38 + 3e38j], rtol=1e-6)
        found, wanted = linalg.slogdet(x), np.linalg.slogdet(host)
        np.testing.assert_allclose(found.sign.numpy(), wanted.sign, rtol=1e-6)
        np.testing.assert_allclose(found.logabsdet.numpy(), wanted.logabsdet, rtol=1e-6)
        values = linalg.svdvals(ocl.asarray(np.diag([2e38 + 2e38j, 1e38]).astype("c8"))).numpy()
        np.testing.assert_allclose(values, [2e38 * 2**0.5, 1e38], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_eigenvalues_beside_one_of_the_least_floats(runtime: Runtime, dtype: str) -> None:
    if not has(runtime, dtype):
        return
    host = np.array([[1, 2, 3], [1e-40 if dtype == "c8" else 1e-310, 1, 1], [1, 1, 1]], dtype)
    with ocl.use(runtime):
        found = linalg.eigvals(ocl.asarray(host)).numpy()
    np.testing.assert_allclose(np.sort(found), np.sort(np.linalg.eigvals(host)), rtol=1e-5)
