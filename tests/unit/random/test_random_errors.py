"""What integers, choices, orders and streams refuse, on simulated devices with float64 and without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.errors import DistributionError, DTypeError, Error, IndexingError, ShapeError
from ocl_runtime.plan.target import Target
from ocl_runtime.random import Generator, default_rng
from tests.support.arrays import assert_same
from tests.support.interpreted import InterpretedRuntime

INF, NAN = float("inf"), float("nan")
Draw = Callable[[Generator], Any]


@pytest.fixture(params=[True, False], ids=["float64", "no float64"], autouse=True)
def runtime(request: pytest.FixtureRequest) -> Iterator[None]:
    with ocl.use(InterpretedRuntime(Target(group_size=8, fp64=request.param))):
        yield


def test_bounds_of_floats() -> None:
    """They are as the integers that they are, beyond int64, too."""
    for low, high in ((0, 2**63), ([0, 2**63], 2**64 - 2048), (2**63, [2**63 + 4096])):
        reals = [np.asarray(value, np.float64).tolist() for value in (low, high)]
        found = default_rng(2).integers(*reals, 2 if isinstance(low, list) else 1, "u8")
        assert_same(found.numpy(), default_rng(2).integers(low, high, found.shape, "u8").numpy())


@pytest.mark.parametrize(
    ("draw", "kind", "word"),
    [
        (lambda rng: rng.integers(0, 1e30), DistributionError, "1e+30, which int64 does not hold"),
        (lambda rng: rng.integers(0, INF), DTypeError, "inf, which is no integer"),
        (lambda rng: rng.integers(0, [1, NAN]), DTypeError, "which is no integer"),
        (lambda rng: rng.integers(0, 2.5), DTypeError, "2.5, which is no integer"),
        (lambda rng: rng.integers(0, "3"), DTypeError, "'3', which is no integer"),
        (lambda rng: rng.integers(0, [[1], [1, 2]]), DTypeError, "which is no integer"),
        (lambda rng: rng.choice(2.5), DistributionError, "choice of 2.5"),
        (lambda rng: rng.choice(2.0), DistributionError, "choice of 2.0"),
        (lambda rng: rng.choice(3.7, 3, replace=False), DistributionError, "choice of 3.7"),
        (lambda rng: rng.choice(None), DistributionError, "choice of None"),
        (lambda rng: rng.choice("abc"), DistributionError, "choice of 'abc'"),
        (lambda rng: rng.choice(2**63), DistributionError, "choice of 9223372036854775808"),
        (lambda rng: rng.choice(-1, 2), DistributionError, "choice of -1"),
        (lambda rng: rng.choice(0, 2), DistributionError, "choice of nothing"),
        (lambda rng: rng.choice([[1], [1, 2]]), ShapeError, ""),
        (lambda rng: rng.choice(ocl.asarray(np.array(5)), 3), IndexingError, "choice along axis 0"),
        (lambda rng: rng.choice(ocl.zeros((2, 2)), 2, axis=5), IndexingError, "choice along axis 5"),
        (lambda rng: rng.choice(3, p="abc"), DTypeError, "choice with p = 'abc'"),
        (lambda rng: rng.choice(3, p=[1, 0, 0j]), DTypeError, "choice with p = [1, 0, 0j]"),
        (lambda rng: rng.choice(3, 2, p=[0.1, 0.2, 0.3]), DistributionError, "choice with p of the sum 0.6"),
        (
            lambda rng: rng.choice(3, p=[0.6, 0.6, -0.2]),
            DistributionError,
            "choice with p = [0.6, 0.6, -0.2], which is",
        ),
        (lambda rng: rng.choice(3, p=[0.5, 0.5, NAN]), DistributionError, "which is NaN"),
        (lambda rng: rng.choice(3, p=[0.5, 0.5]), ShapeError, "shape (2,)"),
        (lambda rng: rng.multinomial(3, "abc"), DTypeError, "multinomial with pvals = 'abc'"),
        (lambda rng: rng.multinomial(3, [0.5j, 0.5]), DTypeError, "multinomial with pvals"),
        (lambda rng: rng.multinomial(3, [0.7, 0.7, 0.1]), DistributionError, "the sum 1.4"),
        (lambda rng: rng.multinomial(3, [0.5, NAN]), DistributionError, "is NaN"),
        (lambda rng: rng.spawn(-1), DistributionError, "spawn of -1"),
        (lambda rng: rng.spawn(1.5), DistributionError, "spawn of 1.5"),
        (lambda rng: rng.jumped(1.5), DistributionError, "jumped by 1.5"),
        (lambda rng: rng.shuffle(ocl.asarray(np.array(5))), IndexingError, "shuffle along axis 0"),
        (lambda rng: rng.permutation("abc"), DistributionError, "permutation of 'abc'"),
        (lambda rng: rng.permutation(1.5), DistributionError, "permutation of 1.5"),
        (lambda rng: rng.permuted("abc"), DTypeError, "permuted does not take"),
    ],
)
def test_errors_say_fact_place_and_remedy(draw: Draw, kind: type[Error], word: str) -> None:
    with pytest.raises(kind) as caught:
        draw(default_rng(1))
    for part in (word, "test_random_errors.py", "remedy: "):
        assert part in str(caught.value)


def test_integers_of_numpy_are_numbers_of_choices() -> None:
    for count in (5, np.int8(5), np.array(5), np.uint64(5)):
        assert_same(default_rng(1).choice(count, 9).numpy(), default_rng(1).choice(5, 9).numpy())
        assert_same(default_rng(1).permutation(count).numpy(), default_rng(1).permutation(5).numpy())
