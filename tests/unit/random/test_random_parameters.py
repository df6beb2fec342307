"""Parameters of draws, on simulated devices with float64 and without: what they may be, and dtypes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.random_functions import philox_block
from ocl_runtime.errors import DistributionError, DTypeError, Error, NumberRangeError, ShapeError
from ocl_runtime.plan.target import Target
from ocl_runtime.random import Generator, default_rng
from tests.support.arrays import assert_same
from tests.support.interpreted import InterpretedRuntime

INF, NAN = float("inf"), float("nan")
Draw = Callable[[Generator], Any]


@pytest.fixture(params=[True, False], ids=["float64", "no float64"], autouse=True)
def fp64(request: pytest.FixtureRequest) -> Iterator[bool]:
    with ocl.use(InterpretedRuntime(Target(group_size=8, fp64=request.param))):
        yield request.param


def refused(draw: Draw, *words: str, kind: type[Error] = DistributionError) -> None:
    with pytest.raises(kind) as caught:
        draw(default_rng(1))
    for word in (*words, "test_random_", "remedy: "):
        assert word in str(caught.value)


# ---------------------------------------------------------------------- bytes


@pytest.mark.parametrize("skipped", [0, 2])
def test_bytes_are_words_of_one_draw(skipped: int) -> None:
    key = np.random.SeedSequence(7).generate_state(2, np.uint32)
    blocks = np.arange(3, dtype=np.uint32)
    zero = np.zeros_like(blocks)
    words = philox_block((blocks, zero, zero + np.uint32(skipped), zero), (zero + key[0], zero + key[1]))
    wanted = np.stack(words, axis=1).astype("<u4").tobytes()
    for length in (0, 1, 3, 4, 5, 16, 17, 48):
        rng = default_rng(7)
        for _ in range(skipped):
            rng.bytes(5)
        assert rng.bytes(length) == wanted[:length]
        assert rng.bit_generator.state["state"]["draw"] == skipped + 1


@pytest.mark.parametrize("length", [-1, 2.5, 4.0, None, "4"])
def test_lengths_of_bytes_that_are_none(length: Any) -> None:
    refused(lambda rng: rng.bytes(length), f"bytes has the length {length!r}", kind=ShapeError)
    assert len(default_rng(1).bytes(np.int32(7))) == 7


# ---------------------------------------------------------------------- ranges


@pytest.mark.parametrize(
    ("draw", "word"),
    [
        (lambda rng: rng.uniform(1, 0, 3), "from 1.0 to 0.0, which is below it"),
        (lambda rng: rng.uniform(0, [1.0, -1.0]), "which is below it"),
        (lambda rng: rng.uniform(0, INF), "high = inf, which is infinite"),
        (lambda rng: rng.uniform(NAN, 1), "low = nan, which is NaN"),
        (lambda rng: rng.uniform(ocl.zeros(3), [1, INF, 2]), "which is infinite"),
        (lambda rng: rng.uniform(-1e308, 1e308), "not finite in float32"),
        (lambda rng: rng.uniform(-3e38, 3e38), "or dtype=float64"),
        (lambda rng: rng.normal(0, NAN), "scale = nan, which is NaN"),
        (lambda rng: rng.normal(0, -1), "scale = -1, which is below 0"),
        (lambda rng: rng.beta(1, 0), "b = 0, which is not above 0"),
        (lambda rng: rng.dirichlet([1.0, -1.0]), "dirichlet with alpha = [1.0, -1.0]"),
        (lambda rng: rng.triangular(0, [0.5, 2.0], 1), "triangular from"),
        (lambda rng: rng.power(0), "power with a = 0, which is not above 0"),
        (lambda rng: rng.wald(1, [1.0, 0.0]), "which is not above 0"),
        (lambda rng: rng.wald(-1, 1), "wald with mean = -1"),
        (lambda rng: rng.noncentral_chisquare(0, 1), "df = 0, which is not above 0"),
        (lambda rng: rng.noncentral_chisquare(2, -1), "nonc = -1, which is below 0"),
        (lambda rng: rng.noncentral_f(1, 0, 1), "dfden = 0"),
        (lambda rng: rng.noncentral_chisquare(1, 1e19), "which int64 cannot count"),
        (lambda rng: rng.noncentral_f([3, 3], 5, 1e19), "which int64 cannot count"),
        (lambda rng: rng.geometric(0), "geometric with p = 0, which is not above 0"),
        (lambda rng: rng.geometric(1.5), "which is above 1"),
        (lambda rng: rng.logseries(1.0), "logseries with p = 1.0, which is not below 1"),
        (lambda rng: rng.logseries(-0.5), "which is below 0"),
    ],
)
def test_what_is_out_of_range(draw: Draw, word: str) -> None:
    refused(draw, word)


def test_few_degrees_that_are_not_central_take_float64(fp64: bool) -> None:
    rng = default_rng(1)
    assert rng.noncentral_chisquare(2, 1.0, 3).dtype == np.float32
    if fp64:
        assert (rng.noncentral_chisquare(0.5, [1.0, 2.0], 2).numpy() >= 0).all()
    else:
        refused(lambda rng: rng.noncentral_chisquare(0.5, 1.0), "no float64", kind=DTypeError)


def test_parameters_near_the_ends_of_floats() -> None:
    rng = default_rng(1)
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        assert (rng.noncentral_chisquare(5.0, 1e19, 9).numpy() > 9e18).all()
        assert (rng.standard_gamma(1e38, 9, "f4").numpy() > 9e37).all()
        x = rng.beta(1e-50, 1e-50, 99, dtype="f4").numpy()
        assert set(x.tolist()) == {0.0, 1.0}
        x = rng.dirichlet([1e-50, 1e-50, 1e-50], 9, dtype="f4").numpy()
        np.testing.assert_array_equal(x.sum(axis=-1), 1)
        assert (rng.standard_gamma(0, 9, "f4").numpy() == 0).all()
        flat = rng.wald(1e25, 1.0, 999, dtype="f4").numpy()
        assert 1.5 < np.median(flat) < 3.0


def test_ranges_of_float64(fp64: bool) -> None:
    if fp64:
        refused(lambda rng: rng.uniform(-1e308, 1e308, dtype="f8"), "not finite in float64")
        x = default_rng(1).uniform(-3e38, 3e38, 9, dtype="f8").numpy()
        assert np.isfinite(x).all()
    else:
        refused(lambda rng: rng.uniform(-3e38, 3e38, dtype="f8"), "no float64", kind=DTypeError)
    assert (default_rng(1).uniform(2, 2, 3).numpy() == 2).all()


@pytest.mark.parametrize(
    ("draw", "word"),
    [
        (lambda rng: rng.binomial(2**63 - 1, 1.0), "binomial with n = 9223372036854775807, which is above 2**53"),
        (lambda rng: rng.binomial(2**53 + 1, 1.0), "above 2**53"),
        (lambda rng: rng.binomial(2**64, 1.0), "above 2**53"),
        (lambda rng: rng.binomial([1, 2**53 + 1], 1.0), "above 2**53"),
        (lambda rng: rng.binomial(INF, 1.0), "above 2**53"),
        (lambda rng: rng.binomial(2.5, 1.0), "whole number"),
        (lambda rng: rng.multinomial(2**53 + 1, [0, 1.0]), "multinomial with n = 9007199254740993"),
        (lambda rng: rng.poisson(1e19), "poisson with lam = 1e+19, which is above 9.22337e+18"),
        (lambda rng: rng.poisson(INF), "lam = inf"),
        (lambda rng: rng.poisson([1.0, NAN]), "is NaN"),
        (lambda rng: rng.negative_binomial(1e18, 1e-18), "negative_binomial with n = 1e+18 and p = 1e-18"),
        (lambda rng: rng.negative_binomial([1, 1e18], [0.5, 1e-18]), "int64 cannot count"),
        (lambda rng: rng.negative_binomial(INF, 0.5), "int64 cannot count"),
    ],
)
def test_counts_that_int64_or_float64_do_not_hold(fp64: bool, draw: Draw, word: str) -> None:
    if fp64 or ("negative" not in word and "count" not in word):
        refused(draw, word)
    else:  # the dtype comes before the mean
        refused(draw, "no float64", kind=DTypeError)


def test_the_greatest_counts(fp64: bool) -> None:
    if not fp64:
        refused(lambda rng: rng.binomial(2**53, 1.0), "no float64", kind=DTypeError)
        return
    rng = default_rng(1)
    assert int(rng.binomial(2**53, 1.0)) == 2**53
    assert rng.multinomial(2**53, [0, 1.0]).numpy().tolist() == [0, 2**53]
    assert rng.poisson(9.22e18, 20).numpy().min() > 9.21e18


# ---------------------------------------------------------------------- lists


LISTS: dict[str, tuple[Draw, Draw]] = {
    "normal": (lambda rng: rng.normal([0.1, 0.1]), lambda rng: rng.normal(0.1, 1.0, 2)),
    "exponential": (lambda rng: rng.exponential((0.1, 0.1)), lambda rng: rng.exponential(0.1, 2)),
    "triangular": (lambda rng: rng.triangular(0, [0.3, 0.3], 1), lambda rng: rng.triangular(0, 0.3, 1, 2)),
    "uniform": (lambda rng: rng.uniform([0, 0], [3, 3]), lambda rng: rng.uniform(0, 3, 2)),
    "gamma": (lambda rng: rng.gamma([2.3, 2.3]), lambda rng: rng.gamma(2.3, 1.0, 2)),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_are_as_numbers(name: str) -> None:
    """On a device without float64, too: Python's floats have no dtype."""
    many, one = (draw(default_rng(3)) for draw in LISTS[name])
    assert many.dtype == np.float32
    assert_same(many.numpy(), one.numpy())
    assert default_rng(3).dirichlet([1, 2.0]).dtype == np.float32


def test_lists_in_float64(fp64: bool) -> None:
    if not fp64:
        for draw in (lambda rng: rng.normal(np.zeros(2)), lambda rng: rng.normal([0.1], dtype="f8")):
            refused(draw, "no float64", kind=DTypeError)
        return
    wide, number = (default_rng(3).exponential(scale, 2, dtype="f8") for scale in ([0.1, 0.1], 0.1))
    assert_same(wide.numpy(), number.numpy())
    assert default_rng(3).normal(np.zeros(2)).dtype == np.float64
    means = [1e15 + 0.125, 9e15 - 1]  # as float32 they are others
    assert_same(default_rng(3).poisson(means).numpy(), default_rng(3).poisson(np.array(means)).numpy())


def test_arrays_of_the_host_as_asked_for() -> None:
    assert default_rng(3).normal(np.zeros(2), dtype="f4").dtype == np.float32
    assert default_rng(3).normal(np.zeros(2, np.float32)).dtype == np.float32
    assert float(default_rng(3).normal(2**70, 0.0)) == 2.0**70
    refused(lambda rng: rng.normal([[1.0], [1.0, 2.0]]), kind=ShapeError)
    refused(lambda rng: rng.normal(10**400), kind=NumberRangeError)
    refused(lambda rng: rng.uniform([0, 0], [1, 1, 1]), kind=ShapeError)


# ---------------------------------------------------------------------- without float64


DRAWS: dict[str, Draw] = {
    "random": lambda rng: rng.random(50),
    "uniform": lambda rng: rng.uniform(-1, 3, 50),
    "standard_normal": lambda rng: rng.standard_normal(50),
    "normal": lambda rng: rng.normal(5, 2, 50),
    "lognormal": lambda rng: rng.lognormal(0, 0.5, 50),
    "standard_exponential": lambda rng: rng.standard_exponential(50),
    "exponential": lambda rng: rng.exponential(3, 50),
    "laplace": lambda rng: rng.laplace(1, 2, 50),
    "logistic": lambda rng: rng.logistic(1, 2, 50),
    "gumbel": lambda rng: rng.gumbel(1, 2, 50),
    "rayleigh": lambda rng: rng.rayleigh(2, 50),
    "weibull": lambda rng: rng.weibull(1.5, 50),
    "pareto": lambda rng: rng.pareto(3, 50),
    "triangular": lambda rng: rng.triangular(-1, 0, 3, 50),
    "standard_gamma": lambda rng: rng.standard_gamma(0.5, 50),
    "gamma": lambda rng: rng.gamma(2.5, 2.0, 50),
    "chisquare": lambda rng: rng.chisquare(3, 50),
    "beta": lambda rng: rng.beta(2, 5, 50),
    "f": lambda rng: rng.f(4, 7, 50),
    "standard_t": lambda rng: rng.standard_t(3, 50),
    "dirichlet": lambda rng: rng.dirichlet([1, 2.0], 25),
    "integers": lambda rng: rng.integers(0, 2**40, 50),
    "choice": lambda rng: rng.choice(2**40, 50),
    "permutation": lambda rng: rng.permutation(50),
    "permuted": lambda rng: rng.permuted(ocl.arange(50)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_device_without_float64_draws_the_same(name: str) -> None:
    found = DRAWS[name](default_rng(5)).numpy()
    with ocl.use(InterpretedRuntime(Target(group_size=8))):
        assert_same(found, DRAWS[name](default_rng(5)).numpy())
