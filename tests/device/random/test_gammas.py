"""Whether gamma numbers, and what is made of them, have their distributions, against SciPy's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import DistributionError, ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.random import Generator, default_rng
from ocl_runtime.runtime import Runtime

SIZE = 20_000


@pytest.fixture(scope="module", autouse=True)
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    made = Runtime(device, engine.settings)
    with ocl.use(made):
        yield made


@pytest.fixture
def real(request: pytest.FixtureRequest, runtime: Runtime) -> str:
    """The dtype of a draw."""
    if request.param == "f8" and not runtime.executor.target.fp64:
        pytest.skip("the device has no float64")
    return str(request.param)


CASES: dict[str, tuple[Callable[[Generator, str], ocl.Array], Any]] = {
    "shape 1": (lambda rng, real: rng.standard_gamma(1.0, SIZE, real), stats.gamma(1)),
    "shape 2.5": (lambda rng, real: rng.gamma(2.5, 3.0, SIZE, dtype=real), stats.gamma(2.5, scale=3)),
    "shape 0.3": (lambda rng, real: rng.standard_gamma(0.3, SIZE, real), stats.gamma(0.3)),
    "shape 4000": (lambda rng, real: rng.standard_gamma(4000, SIZE, real), stats.gamma(4000)),
    "shapes of an array": (
        lambda rng, real: rng.gamma(ocl.asarray(np.full(SIZE, 0.7, real)), 1.0), stats.gamma(0.7)
    ),
    "chisquare": (lambda rng, real: rng.chisquare(3, SIZE, dtype=real), stats.chi2(3)),
    "beta": (lambda rng, real: rng.beta(2, 5, SIZE, dtype=real), stats.beta(2, 5)),
    "beta, small": (lambda rng, real: rng.beta(0.5, 0.2, SIZE, dtype=real), stats.beta(0.5, 0.2)),
    "f": (lambda rng, real: rng.f(4, 7, SIZE, dtype=real), stats.f(4, 7)),
    "wald": (lambda rng, real: rng.wald(2.0, 3.0, SIZE, dtype=real), stats.invgauss(2 / 3, scale=3)),
    "wald, flat": (lambda rng, real: rng.wald(50.0, 0.5, SIZE, dtype=real), stats.invgauss(100, scale=0.5)),
    "noncentral_chisquare": (lambda rng, real: rng.noncentral_chisquare(3, 4.5, SIZE, dtype=real), stats.ncx2(3, 4.5)),
    "noncentral_chisquare, few degrees": (
        lambda rng, real: rng.noncentral_chisquare(0.8, 30, SIZE, dtype=real), stats.ncx2(0.8, 30)
    ),
    "noncentral_chisquare of an array": (
        lambda rng, real: rng.noncentral_chisquare(ocl.asarray(np.full(SIZE, 5, real)), 2.0), stats.ncx2(5, 2)
    ),
    "noncentral_f": (lambda rng, real: rng.noncentral_f(4, 7, 3.0, SIZE, dtype=real), stats.ncf(4, 7, 3)),
    "standard_t": (lambda rng, real: rng.standard_t(3, SIZE, dtype=real), stats.t(3)),
    "dirichlet": (lambda rng, real: rng.dirichlet([1.0, 0.5, 3.0], SIZE, dtype=real)[:, 2], stats.beta(3, 1.5)),
}  # fmt: skip


ONLY_FLOAT64 = {
    "beta, small",  # as float32, one in 35 is 1
    "noncentral_chisquare, few degrees",  # Poisson numbers are made of float64
    "noncentral_chisquare of an array",
}


@pytest.mark.sample(10)
@pytest.mark.parametrize(
    ("name", "real"),
    [(name, real) for name in CASES for real in ("f4", "f8") if real == "f8" or name not in ONLY_FLOAT64],
    indirect=["real"],
)
def test_the_distribution(name: str, real: str) -> None:
    draw, distribution = CASES[name]
    x = draw(default_rng(17), real).numpy()
    assert (x.shape, np.isfinite(x).all()) == ((SIZE,), True)
    below = np.sort(distribution.cdf(x.astype(np.float64)))
    steps = np.arange(SIZE + 1) / SIZE
    distance = max(np.abs(below - steps[1:]).max(), np.abs(below - steps[:-1]).max())
    assert distance < 1.95 / SIZE**0.5  # what one of a thousand right samples exceeds
    cells = np.bincount(np.minimum((below * 50).astype(int), 49), minlength=50)
    assert stats.chisquare(cells).pvalue > 0.001


def test_vectors_add_up_to_1() -> None:
    x = default_rng(18).dirichlet([0.01, 0.02, 5.0], (30, 40)).numpy()
    assert x.shape == (30, 40, 3)
    np.testing.assert_allclose(x.sum(axis=-1), 1, rtol=1e-5)
    assert default_rng(18).dirichlet(ocl.asarray([1.0, 2.0])).shape == (2,)
    tiny = default_rng(19).beta(1e-3, 1e-3, 1000).numpy()  # both gamma numbers are mostly too small for a float
    assert ((tiny >= 0) & (tiny <= 1)).all()
    assert 0.4 < tiny.mean() < 0.6


def test_edges_and_errors() -> None:
    rng = default_rng(20)
    assert (rng.standard_gamma(0.0, 5).numpy() == 0).all()
    assert rng.gamma([1.0, 2.0], size=(3, 2)).shape == (3, 2)
    assert rng.standard_gamma(1.0, 0).shape == (0,)
    for draw in (
        lambda: rng.standard_gamma(-1), lambda: rng.gamma(1, -1), lambda: rng.chisquare(0), lambda: rng.beta(0, 1),
        lambda: rng.beta(1, -1), lambda: rng.f(0, 1), lambda: rng.standard_t(0), lambda: rng.dirichlet([1.0, 0.0]),
    ):  # fmt: skip
        with pytest.raises(DistributionError):
            draw()
    with pytest.raises(ShapeError, match="dirichlet"):
        rng.dirichlet(1.0)
