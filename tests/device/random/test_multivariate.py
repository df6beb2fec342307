"""Whether normal vectors have their means and covariances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import DistributionError, DTypeError, Error, LinAlgError, ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.random import default_rng
from ocl_runtime.runtime import Runtime

SIZE = 20_000
MEAN = np.array([1.0, -2.0, 0.5])
COVARIANCES = np.array([[2.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 0.5]])


@pytest.fixture(scope="module", autouse=True)
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    made = Runtime(device, engine.settings)
    with ocl.use(made):
        yield made


def check(x: np.ndarray) -> None:
    """Components, without their correlation, are independent standard normal numbers."""
    white = np.linalg.solve(np.linalg.cholesky(COVARIANCES), (x.reshape(-1, 3) - MEAN).T)
    for component in white:
        assert stats.kstest(component, "norm").pvalue > 0.001
    count = white.shape[1]
    correlations = white @ white.T / count
    np.testing.assert_allclose(correlations, np.eye(3), atol=4.5 / count**0.5)


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
@pytest.mark.parametrize("place", ["host", "device"])
def test_means_and_covariances(method: Any, place: str) -> None:
    mean, covariances = (ocl.asarray(x.astype("f4")) if place == "device" else x for x in (MEAN, COVARIANCES))
    x = default_rng(31).multivariate_normal(mean, covariances, SIZE, method=method, dtype="f4")
    assert (x.shape, x.dtype) == ((SIZE, 3), np.float32)
    check(x.numpy().astype(np.float64))


def test_shapes_dtypes_and_draws() -> None:
    rng = default_rng(32)
    assert rng.multivariate_normal([0, 1], np.eye(2), dtype="f4").shape == (2,)
    assert rng.multivariate_normal([0, 1], np.eye(2), (), dtype="f4").shape == (2,)
    assert rng.multivariate_normal([0, 1], np.eye(2), (4, 5), dtype="f4").shape == (4, 5, 2)
    assert rng.multivariate_normal([0, 1], np.eye(2), (0, 5), dtype="f4").numpy().shape == (0, 5, 2)
    assert rng.bit_generator.state["state"]["draw"] == 4
    first, again = (default_rng(33).multivariate_normal(MEAN, COVARIANCES, 9).numpy() for _ in range(2))
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("method", ["svd", "eigh"])
@pytest.mark.parametrize("place", ["host", "device"])
def test_singular_covariances(method: Any, place: str) -> None:
    """Of rank 3, of which rounding makes some eigenvalues negative."""
    factor = np.random.default_rng(3).normal(size=(6, 3)).astype("f4")
    host = factor @ factor.T
    covariances = ocl.asarray(host) if place == "device" else host.astype("f8")
    x = default_rng(39).multivariate_normal(np.zeros(6), covariances, SIZE, method=method, tol=1e-5, dtype="f4").numpy()
    np.testing.assert_allclose(x.T @ x / SIZE, host, atol=0.06 * np.abs(host).max())
    lies_in = factor @ np.linalg.pinv(factor)
    np.testing.assert_allclose(x @ lies_in.T, x, atol=0.02)


SKEW: dict[str, Any] = {"mean": [0, 0], "cov": [[1, 0.5], [0, 1]]}


@pytest.mark.parametrize(
    ("how", "kind", "words"),
    [
        ({"mean": [[0.0]], "cov": [[1.0]]}, ShapeError, "a mean of shape (1, 1)"),
        ({"mean": [0.0, 1.0], "cov": [[1.0]]}, ShapeError, "covariances of shape (1, 1)"),
        ({"mean": ["a"], "cov": [[1.0]]}, DTypeError, "which is no number"),
        ({"mean": [0.0], "cov": [[1.0]], "method": "lu"}, Error, "method='lu'"),
        ({"mean": [0.0], "cov": [[1.0]], "check_valid": "no"}, Error, "check_valid='no'"),
        ({"mean": [0.0], "cov": [[-1.0]], "check_valid": "raise"}, DistributionError, "positive semidefinite"),
        ({"mean": [0.0, 0.0], "cov": [[1.0, 2.0], [0.0, 1.0]], "check_valid": "raise"}, DistributionError, "symmetric"),
        ({"mean": [0.0], "cov": [[-1.0]], "method": "cholesky"}, DistributionError, "positive semidefinite"),
        ({"mean": [0.0], "cov": [[-1.0]], "method": "eigh", "check_valid": "raise"}, DistributionError, "semidefinite"),
        *[
            ({**SKEW, "method": method, "check_valid": "raise"}, DistributionError, "symmetric")
            for method in ("svd", "eigh", "cholesky")
        ],
        ({"mean": [0.0, 0.0], "cov": [[1.0, np.nan], [np.nan, 1.0]]}, DistributionError, "which is NaN"),
        ({"mean": [np.inf], "cov": [[1.0]]}, DistributionError, "mean = [inf], which is infinite"),
        ({"mean": [0.0], "cov": [[1.0]], "tol": "a"}, DTypeError, "tol = 'a', which is no number"),
    ],
)
def test_what_is_refused(how: dict[str, Any], kind: type[Error], words: str) -> None:
    with pytest.raises(kind) as caught:
        default_rng(35).multivariate_normal(size=3, **how)
    assert words in str(caught.value)
    assert "test_multivariate.py" in str(caught.value)


def test_what_is_warned_of() -> None:
    for method in ("svd", "eigh"):
        with pytest.warns(RuntimeWarning, match="not symmetric positive semidefinite") as caught:
            default_rng(36).multivariate_normal([0.0], [[-1.0]], method=method)
        assert caught[0].filename == __file__
    default_rng(37).multivariate_normal([0.0], [[-1.0]], check_valid="ignore", dtype="f4").numpy()
    with pytest.raises(LinAlgError):
        default_rng(38).multivariate_normal([0.0], ocl.asarray([[-1.0]], dtype="f4"), method="cholesky").numpy()
