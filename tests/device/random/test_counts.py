"""Whether counts have their distributions, against SciPy's, on devices that have float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import DistributionError, DTypeError, ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.random import Generator, default_rng
from ocl_runtime.runtime import Runtime
from tests.support.arrays import counting

SIZE = 20_000


@pytest.fixture(scope="module", autouse=True)
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    made = Runtime(device, engine.settings)
    with ocl.use(made):
        if not made.executor.target.fp64:
            with pytest.raises(DTypeError):
                default_rng(1).poisson(1.0)
            pytest.skip("counts are made of float64")
        yield made


def every(value: float, dtype: str = "f8") -> ocl.Array:
    return ocl.asarray(np.full(SIZE, value, dtype))


CASES: dict[str, tuple[Callable[[Generator], ocl.Array], Any]] = {
    "poisson 0.3": (lambda rng: rng.poisson(0.3, SIZE), stats.poisson(0.3)),
    "poisson 9.5": (lambda rng: rng.poisson(9.5, SIZE), stats.poisson(9.5)),
    "poisson 10": (lambda rng: rng.poisson(10, SIZE), stats.poisson(10)),
    "poisson 70": (lambda rng: rng.poisson(70.0, SIZE), stats.poisson(70)),
    "poisson of an array": (lambda rng: rng.poisson(every(13.5, "f4")), stats.poisson(13.5)),
    "binomial": (lambda rng: rng.binomial(25, 0.2, SIZE), stats.binom(25, 0.2)),
    "binomial, likely": (lambda rng: rng.binomial(25, 0.8, SIZE), stats.binom(25, 0.8)),
    "binomial, large": (lambda rng: rng.binomial(90, 0.7, SIZE), stats.binom(90, 0.7)),
    "binomial of arrays": (lambda rng: rng.binomial(every(40, "i4"), every(0.9)), stats.binom(40, 0.9)),
    "negative_binomial": (lambda rng: rng.negative_binomial(3.5, 0.3, SIZE), stats.nbinom(3.5, 0.3)),
    "geometric": (lambda rng: rng.geometric(0.3, SIZE), stats.geom(0.3)),
    "geometric, rare": (lambda rng: rng.geometric(every(0.01)), stats.geom(0.01)),
    "logseries": (lambda rng: rng.logseries(0.7, SIZE), stats.logser(0.7)),
    "logseries of an array": (lambda rng: rng.logseries(every(0.95)), stats.logser(0.95)),
    "multinomial": (lambda rng: rng.multinomial(30, [0.2, 0.5, 0.3], SIZE)[:, 1], stats.binom(30, 0.5)),
    "multinomial, last": (lambda rng: rng.multinomial(30, [0.2, 0.5, 0.3], SIZE)[:, 2], stats.binom(30, 0.3)),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_the_distribution(name: str) -> None:
    draw, distribution = CASES[name]
    found = draw(default_rng(23))
    assert (found.dtype, found.shape) == (np.int64, (SIZE,))
    counts = np.bincount(found.numpy())
    wanted = distribution.pmf(np.arange(counts.size)) * SIZE
    many = wanted > 10
    cells = np.append(counts[many], SIZE - counts[many].sum())
    expected = np.append(wanted[many], SIZE - wanted[many].sum())
    assert stats.chisquare(cells, expected * (SIZE / expected.sum())).pvalue > 0.001


def test_the_ends_of_geometric_and_logarithmic_numbers() -> None:
    rng = default_rng(28)
    assert (rng.geometric(1.0, 100).numpy() == 1).all()
    assert (rng.geometric(ocl.asarray([1.0] * 100)).numpy() == 1).all()
    assert (rng.geometric(1e-300, 100).numpy() == 2**63 - 1024).all()
    assert (rng.logseries(0.0, 100).numpy() == 1).all()
    assert (rng.logseries(1 - 1e-16, 1000).numpy() >= 1).all()


def test_outcomes_are_all_trials() -> None:
    rng, p = default_rng(24), [0.1, 0.0, 0.9]
    found = rng.multinomial(1000, p, (30, 5)).numpy()
    assert found.shape == (30, 5, 3)
    assert (found.sum(axis=-1) == 1000).all()
    assert (found[..., 1] == 0).all()
    np.testing.assert_allclose(found.mean(axis=(0, 1)), np.multiply(p, 1000), atol=8)
    each = rng.multinomial(ocl.asarray([3, 0, 70]), [0.5, 0.5]).numpy()
    assert each.sum(axis=-1).tolist() == [3, 0, 70]
    few = rng.multinomial(9, [0.2, 0.3, 0.4, 0.1], 2000).numpy()
    assert (few.sum(axis=-1) == 9).all()
    np.testing.assert_allclose(few.mean(axis=0), [1.8, 2.7, 3.6, 0.9], atol=0.15)
    assert rng.multinomial(5, [1.0]).numpy().tolist() == [5]


def test_outcomes_together() -> None:
    """Each of all that two trials can give, of five outcomes, is as often as it should be."""
    p = np.array([0.1, 0.2, 0.0, 0.4, 0.3])
    found = default_rng(26).multinomial(2, p, SIZE).numpy()
    pairs, counts = np.unique(found, axis=0, return_counts=True)
    assert len(pairs) == 10
    assert stats.chisquare(counts, SIZE * stats.multinomial(2, p / p.sum()).pmf(pairs)).pvalue > 0.001


@pytest.mark.sample(2)
@pytest.mark.parametrize("trials", [3, 100_000])
def test_many_outcomes_take_few_draws(runtime: Runtime, trials: int) -> None:
    rng, p = default_rng(27), np.arange(1, 1001) / 500500
    with counting(runtime) as counted:
        found = rng.multinomial(trials, p, 50).numpy()
    assert counted["program", "built"] < 40
    assert rng.bit_generator.state["state"]["draw"] <= 10 * 21
    assert found.shape == (50, 1000)
    assert (found.sum(axis=-1) == trials).all()
    cells = found.sum(axis=0).reshape(50, 20).sum(axis=-1)
    assert stats.chisquare(cells, 50 * trials * p.reshape(50, 20).sum(axis=-1)).pvalue > 0.001


def test_ends_and_errors() -> None:
    rng = default_rng(25)
    for draw, value in ((rng.poisson(0, 9), 0), (rng.binomial(7, 0, 9), 0), (rng.binomial(7, 1.0, 9), 7)):
        assert (draw.numpy() == value).all()
    assert rng.poisson([1.0, 20.0], (3, 2)).shape == (3, 2)
    assert rng.poisson().shape == ()
    assert float(rng.poisson(1e12, 100).mean()) == pytest.approx(1e12, abs=6e5)
    for wrong in (
        lambda: rng.poisson(-1), lambda: rng.binomial(-1, 0.5), lambda: rng.binomial(3, 1.5),
        lambda: rng.binomial(3, -0.1), lambda: rng.binomial(2.5, 0.5), lambda: rng.multinomial(3, [0.7, 0.7, 0.1]),
        lambda: rng.negative_binomial(0, 0.5), lambda: rng.negative_binomial(1, 0), lambda: rng.negative_binomial(1, 2),
        lambda: rng.multinomial(3, [-0.1, 1.1]), lambda: rng.multinomial(-3, [1.0]),
    ):  # fmt: skip
        with pytest.raises(DistributionError):
            wrong()
    with pytest.raises(ShapeError, match="probabilities of shape"):
        rng.multinomial(3, [])
