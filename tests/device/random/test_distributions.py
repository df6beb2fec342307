"""Whether draws have their distributions, with fixed seeds: Kolmogorov and Smirnov's distance, chi square, moments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.random import Generator, default_rng
from ocl_runtime.runtime import Runtime

SIZE = 20_000
Function = Callable[[np.ndarray], np.ndarray]


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


def normal(x: np.ndarray) -> np.ndarray:
    return np.array([0.5 * math.erfc(-number / math.sqrt(2)) for number in x])


def triangular(x: np.ndarray) -> np.ndarray:  # from -1 by 0 to 3
    return np.where(x < 0, (x + 1) ** 2 / 4, 1 - (3 - x) ** 2 / 12)


CASES: dict[str, tuple[Callable[[Generator, str], ocl.Array], Function]] = {
    "random": (lambda rng, real: rng.random(SIZE, real), lambda x: x),
    "uniform": (lambda rng, real: rng.uniform(-2, 6, SIZE, dtype=real), lambda x: (x + 2) / 8),
    "standard_normal": (lambda rng, real: rng.standard_normal(SIZE, real), normal),
    "normal": (lambda rng, real: rng.normal(3, 2, SIZE, dtype=real), lambda x: normal((x - 3) / 2)),
    "lognormal": (lambda rng, real: rng.lognormal(1, 0.5, SIZE, dtype=real), lambda x: normal((np.log(x) - 1) / 0.5)),
    "standard_exponential": (lambda rng, real: rng.standard_exponential(SIZE, real), lambda x: -np.expm1(-x)),
    "exponential": (lambda rng, real: rng.exponential(3, SIZE, dtype=real), lambda x: -np.expm1(-x / 3)),
    "laplace": (
        lambda rng, real: rng.laplace(1, 2, SIZE, dtype=real),
        lambda x: np.where(x < 1, np.exp(-np.abs(x - 1) / 2) / 2, 1 - np.exp(-np.abs(x - 1) / 2) / 2),
    ),
    "logistic": (lambda rng, real: rng.logistic(1, 2, SIZE, dtype=real), lambda x: 1 / (1 + np.exp(-(x - 1) / 2))),
    "gumbel": (lambda rng, real: rng.gumbel(1, 2, SIZE, dtype=real), lambda x: np.exp(-np.exp(-(x - 1) / 2))),
    "rayleigh": (lambda rng, real: rng.rayleigh(2, SIZE, dtype=real), lambda x: -np.expm1(-(x**2) / 8)),
    "weibull": (lambda rng, real: rng.weibull(1.5, SIZE, dtype=real), lambda x: -np.expm1(-(x**1.5))),
    "pareto": (lambda rng, real: rng.pareto(3, SIZE, dtype=real), lambda x: 1 - (1 + x) ** -3),
    "power": (lambda rng, real: rng.power(2.5, SIZE, dtype=real), lambda x: x**2.5),
    "standard_cauchy": (lambda rng, real: rng.standard_cauchy(SIZE, dtype=real), lambda x: 0.5 + np.arctan(x) / np.pi),
    "triangular": (lambda rng, real: rng.triangular(-1, 0, 3, SIZE, dtype=real), triangular),
}


def test_all_distributions_are_here() -> None:
    others = {  # tested in test_gammas.py, test_counts.py, test_orders.py, and below
        "binomial", "geometric", "logseries", "multinomial", "negative_binomial", "poisson",
        "beta", "chisquare", "dirichlet", "f", "gamma", "multivariate_normal", "noncentral_chisquare", "noncentral_f",
        "standard_gamma", "standard_t", "wald",
        "bit_generator", "bytes", "choice", "integers", "jumped", "permutation", "permuted", "shuffle", "spawn"
    }  # fmt: skip
    assert {name for name in vars(Generator) if not name.startswith("_")} == {*CASES, *others}


@pytest.mark.sample(4)
@pytest.mark.parametrize("real", ["f4", "f8"], indirect=True)
@pytest.mark.parametrize("name", CASES)
def test_the_distribution(name: str, real: str) -> None:
    draw, function = CASES[name]
    x = np.sort(draw(default_rng(17), real).numpy())
    assert x.dtype == real
    assert np.isfinite(x).all()
    below = function(x.astype(np.float64))
    steps = np.arange(SIZE + 1) / SIZE
    distance = max(np.abs(below - steps[1:]).max(), np.abs(below - steps[:-1]).max())
    assert distance < 1.95 / SIZE**0.5  # what one of a thousand right samples exceeds
    cells = np.bincount(np.minimum((below * 100).astype(int), 99), minlength=100)
    assert chi_square(cells, np.full(100, SIZE / 100)) < 3.3


def chi_square(counts: np.ndarray, wanted: np.ndarray) -> float:
    """How far the sum is off, as a normal number (Wilson and Hilferty)."""
    freedom = counts.size - 1
    total = ((counts - wanted) ** 2 / wanted).sum()
    return float(((total / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / (2 / (9 * freedom)) ** 0.5)


@pytest.mark.parametrize("real", ["f4", "f8"], indirect=True)
def test_moments_of_normal_numbers(real: str) -> None:
    count = 1 << 20
    x = default_rng(18).standard_normal(count, real)
    moments = [float(ocl.mean(x**power)) for power in (1, 2, 3, 4, 6)]
    for moment, wanted, variance in zip(moments, (0, 1, 0, 3, 15), (1, 2, 15, 96, 10170), strict=True):
        assert abs(moment - wanted) < 4.5 * (variance / count) ** 0.5
    most = float(ocl.max(ocl.abs(x)))
    assert 4.5 < most < 6.4


def test_tails_of_normal_numbers() -> None:
    count = 1 << 22
    x = default_rng(19).standard_normal(count)
    for bound in (2.0, 3.0, 4.0):
        for tail in (x > bound, x < -bound):
            wanted = count * math.erfc(bound / math.sqrt(2)) / 2
            assert abs(int(ocl.count_nonzero(tail)) - wanted) < 4.5 * wanted**0.5


@pytest.mark.parametrize(
    ("low", "count", "dtype"), [(0, 7, "i8"), (-3, 10, "i1"), (5, 100, "u2"), (2**40, 6, "i8"), (0, 2, "?")]
)
def test_integers_are_as_likely(low: int, count: int, dtype: str) -> None:
    numbers = default_rng(20).integers(low, low + count, SIZE, dtype)
    assert numbers.dtype == np.dtype(dtype)
    counts = np.bincount((numbers.numpy().astype(np.int64) - low), minlength=count)
    assert counts.size == count
    assert chi_square(counts, np.full(count, SIZE / count)) < 3.3


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (-(2**63), 2**63 - 1, "i8"), (0, 2**64 - 1, "u8"), (0, 3 * 2**62 - 1, "u8"), (-128, 127, "i1"), (0, 255, "u1"),
        (-(2**31), 2**31 - 1, "i4"), (-(2**62), 2**61, "i8"), (0, 1, "?"), (4, 4, "i4"),
    ],
)  # fmt: skip
def test_integers_of_long_intervals(low: int, high: int, dtype: str) -> None:
    numbers = default_rng(21).integers(low, high, SIZE, dtype, endpoint=True).numpy()
    cells = [(int(number) - low) * 16 // (high - low + 1) for number in numbers]
    assert 0 <= min(cells) <= max(cells) < 16
    counts = np.bincount(cells)
    if high - low >= 15:
        assert chi_square(counts, np.full(16, SIZE / 16)) < 3.3
    if high > low:
        assert_same_as_arrays(low, high, dtype)


def assert_same_as_arrays(low: int, high: int, dtype: str) -> None:
    """Bounds that are arrays take words of 128 bits: the numbers are in the interval, which may have all 2**64."""
    kind = np.uint64 if dtype == "u8" else np.int64
    numbers = default_rng(22).integers(np.array([low], kind), np.array([high], kind), 500, dtype, endpoint=True)
    found = [int(number) for number in numbers.numpy()]
    assert low <= min(found) <= max(found) <= high
    assert max(found) - min(found) > (high - low) // 2


def test_integers_below_bounds_of_arrays() -> None:
    high = ocl.asarray(np.array([1, 10, 1000]))
    numbers = default_rng(23).integers(0, high, (SIZE, 3)).numpy()
    assert (numbers.min(axis=0) == 0).all()
    assert (numbers.max(axis=0) == [0, 9, 999]).all()
    assert chi_square(np.bincount(numbers[:, 1]), np.full(10, SIZE / 10)) < 3.3


def test_choices() -> None:
    rng, values = default_rng(24), np.array([2.0, 3.0, 5.0, 7.0], np.float32)
    p = np.array([0.1, 0.0, 0.6, 0.3])
    chosen = rng.choice(values, SIZE, p=p).numpy()
    counts = np.array([(chosen == value).sum() for value in values])
    assert counts[1] == 0
    assert chi_square(counts[[0, 2, 3]], p[[0, 2, 3]] * SIZE) < 3.3
    plain = np.bincount(rng.choice(6, SIZE).numpy())
    assert chi_square(plain, np.full(6, SIZE / 6)) < 3.3
    weighted = np.bincount(rng.choice(4, SIZE, p=ocl.asarray(p.astype("f4"))).numpy(), minlength=4)
    assert chi_square(weighted[[0, 2, 3]], p[[0, 2, 3]] * SIZE) < 3.3


def test_parameters_that_are_arrays() -> None:
    scale = ocl.asarray(np.array([0.5, 1.0, 4.0], np.float32))
    x = default_rng(25).normal(ocl.asarray(np.float32(10)), scale, (SIZE, 3)).numpy()
    assert np.abs(x.mean(axis=0) - 10).max() < 4.5 * 4 / SIZE**0.5
    assert np.abs(x.std(axis=0) / scale.numpy() - 1).max() < 4.5 / (2 * SIZE) ** 0.5
