"""Draws of random numbers on a device: streams, their state, plans and memory, errors."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import DistributionError, DTypeError, ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.random import Generator, Philox, default_rng
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same, counting

SIZE = 100_000


@pytest.fixture(scope="module", autouse=True)
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    made = Runtime(device, engine.settings)
    with ocl.use(made):
        yield made


# ---------------------------------------------------------------------- plans and memory


@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential"])
def test_another_draw_builds_and_plans_nothing(runtime: Runtime, name: str) -> None:
    rng = default_rng(1)
    first = (getattr(rng, name)((300, 5)) * 2).compute().numpy()
    with counting(runtime) as counted:
        second = (getattr(rng, name)((300, 5)) * 2).compute().numpy()
        third = (getattr(default_rng(9), name)((300, 5)) * 2).compute().numpy()
    assert counted["plan", "misses"] == 0
    assert counted["program", "built"] == 0
    assert len({array.tobytes() for array in (first, second, third)}) == 3


def test_a_draw_that_is_summed_is_not_in_memory(runtime: Runtime) -> None:
    size = 1 << 26  # 256 MiB
    with counting(runtime) as counted:
        total = float(default_rng(2).random(size).sum())
    assert total == pytest.approx(size / 2, abs=5 * (size / 12) ** 0.5)
    assert counted["memory", "peak_in_use"] < 1 << 24


def test_a_slice_of_a_draw_draws_no_more(runtime: Runtime) -> None:
    with counting(runtime) as counted:
        part = default_rng(3).random((1 << 15, 1 << 11))[5:7, 100:110].numpy()  # of 256 MiB
    assert counted["memory", "peak_in_use"] < 1 << 24
    assert_same(part, default_rng(3).random((8, 1 << 11)).numpy()[5:7, 100:110])


def test_a_draw_of_more_places_than_32_bits_have() -> None:
    words = default_rng(4).integers(0, 2**32, (1 << 17, 1 << 17), "u4")
    reals = default_rng(4).random((1 << 17, 1 << 17))
    assert len(np.unique(words[:: 1 << 15, :4].numpy())) == 16
    assert len(np.unique(reals[:: 1 << 15, :4].numpy())) == 16
    assert_same(reals[0, :5].numpy(), default_rng(4).random(5).numpy())


# ---------------------------------------------------------------------- streams


def test_a_seed_gives_the_same_numbers_and_another_gives_others() -> None:
    assert_same(default_rng(5).random(10).numpy(), default_rng(5).random(10).numpy())
    assert_same(default_rng([5, 6]).random(10).numpy(), default_rng(np.random.SeedSequence([5, 6])).random(10).numpy())
    seeds = [5, 6, [5, 6], 2**100, None, None]
    assert len({default_rng(seed).random(10).numpy().tobytes() for seed in seeds}) == len(seeds)
    rng = default_rng(5)
    assert default_rng(rng) is rng
    assert default_rng(rng.bit_generator).bit_generator is rng.bit_generator


def test_a_state_is_read_set_and_pickled() -> None:
    rng = default_rng(6)
    rng.random(3)
    state, other = rng.bit_generator.state, pickle.loads(pickle.dumps(rng))
    first = rng.standard_normal(9).numpy()
    assert_same(other.standard_normal(9).numpy(), first)
    rng.bit_generator.state = state
    assert_same(rng.standard_normal(9).numpy(), first)
    assert pickle.loads(pickle.dumps(rng)).spawn(1)[0].random().numpy() == rng.spawn(1)[0].random().numpy()
    assert "Philox(key=0x" in repr(rng)


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"bit_generator": "PCG64", "state": {"key": 1, "draw": 1}},
        {"bit_generator": "Philox4x32-10", "state": {"key": 1 << 64, "draw": 1}},
        {"bit_generator": "Philox4x32-10", "state": {"key": 1.5, "draw": 1}},
    ],
)
def test_what_is_no_state(state: dict[str, object]) -> None:
    with pytest.raises(DistributionError, match="is no state"):
        Philox(1).state = state


def test_draws_have_no_counter_in_common() -> None:
    """Of a stream, of those that are spawned, and of one that has jumped."""
    stream = Philox(7)
    streams = [stream, stream.jumped(), stream.jumped(2), stream.jumped().jumped().jumped()]
    children = [*stream.spawn(50), *stream.spawn(50), *stream.spawn(1)[0].spawn(50)]
    taken = [one.take() for one in [*streams, *children] for _ in range(20)]
    assert len(set(taken)) == len(taken)
    assert len({one[2:] for one in taken}) == 1 + len(children)  # keys
    assert {one.state["state"]["draw"] - 20 for one in streams} == {0, 1 << 32, 2 << 32, 3 << 32}


def test_streams_are_not_correlated() -> None:
    rng = default_rng(8)
    streams = [rng, rng.jumped(), *rng.spawn(6)]
    draws = np.array([one.standard_normal(SIZE).numpy() for one in [*streams, rng]], np.float64)
    correlations = np.corrcoef(draws)[np.triu_indices(len(draws), 1)]
    assert np.abs(correlations).max() < 4.5 / SIZE**0.5
    for lag in (1, 2, 3, 4, 5, 64, 1000):
        assert abs(np.corrcoef(draws[0][:-lag], draws[0][lag:])[0, 1]) < 4.5 / SIZE**0.5


def test_bits_are_as_often_set_as_not() -> None:
    words = default_rng(9).integers(0, 2**32, SIZE, "u4").numpy()
    bits = (words[:, None] >> np.arange(32, dtype=np.uint32) & 1).astype(np.float64)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 4.5 / (2 * SIZE**0.5)
    assert np.abs(np.corrcoef(bits.T)[np.triu_indices(32, 1)]).max() < 5 / SIZE**0.5


def test_a_captured_function_draws_nothing() -> None:
    rng = default_rng(10)
    drawing = ocl.capture(lambda x: x + rng.random(x.shape))
    with pytest.raises(DistributionError, match="captured function"):
        drawing(ocl.zeros(5))
    adding = ocl.capture(lambda x, noise: x + noise)
    assert_same(adding(ocl.zeros(5), default_rng(1).random(5)).numpy(), default_rng(1).random(5).numpy())


# ---------------------------------------------------------------------- shapes and dtypes


def test_shapes() -> None:
    rng = default_rng(11)
    assert rng.random().shape == ()
    assert rng.normal(ocl.zeros((3, 1)), [1.0, 2.0]).shape == (3, 2)
    assert rng.normal(0.0, np.ones(4), (2, 4)).shape == (2, 4)
    assert rng.random(7).shape == (7,)
    assert rng.standard_normal((3, 0, 2)).numpy().shape == (3, 0, 2)
    assert rng.integers(0, 5, (0,)).numpy().shape == (0,)
    assert rng.choice(5, (2, 3)).shape == (2, 3)
    assert rng.choice(np.zeros((4, 5, 6)), (2, 3), axis=1).shape == (4, 2, 3, 6)
    assert len(rng.bytes(7)) == 7
    with pytest.raises(ShapeError):
        rng.normal(np.zeros(3), 1.0, (2, 4))
    with pytest.raises(ShapeError):
        rng.normal(np.zeros(3), 1.0, 1)
    with pytest.raises(ShapeError):
        rng.random(-1)


def test_dtypes(runtime: Runtime) -> None:
    rng = default_rng(12)
    assert rng.random(2).dtype == np.float32
    assert rng.integers(5).dtype == np.int64
    assert rng.choice(5, 2, p=[0.2] * 5).dtype == np.int64
    for wrong in ("f2", "i4", "?"):
        with pytest.raises(DTypeError):
            rng.random(2, wrong)
    with pytest.raises(DTypeError):
        rng.integers(5, dtype="f4")
    if runtime.executor.target.fp64:
        assert rng.standard_normal(2, dtype=np.float64).dtype == np.float64
        assert rng.normal(ocl.zeros(2, dtype="f8")).dtype == np.float64
        assert rng.normal(ocl.zeros(2, dtype="f8"), dtype="f4").dtype == np.float32
    else:
        with pytest.raises(DTypeError, match="no float64"):
            rng.standard_normal(2, dtype=np.float64)


def test_parameters_that_are_out_of_range() -> None:
    rng = default_rng(13)
    for draw in (
        lambda: rng.normal(0, -1), lambda: rng.normal(0, [1.0, -1.0]), lambda: rng.normal(0, float("nan")),
        lambda: rng.exponential(-1), lambda: rng.weibull(0), lambda: rng.pareto(-1), lambda: rng.laplace(0, -1),
        lambda: rng.gumbel(0, -1), lambda: rng.logistic(0, -1), lambda: rng.rayleigh(-1), lambda: rng.lognormal(0, -1),
        lambda: rng.triangular(0, 2, 1), lambda: rng.triangular(1, 1, 1),
        lambda: rng.integers(5, 5), lambda: rng.integers(0), lambda: rng.integers(0, [3, 0]),
        lambda: rng.integers(0, 257, dtype="u1"), lambda: rng.integers(-1, 5, dtype="u1"),
        lambda: rng.choice(0, 3), lambda: rng.choice(2, p=[0.5, 0.6]), lambda: rng.choice(2, p=[-0.5, 1.5]),
        lambda: rng.choice(5, 6, replace=False),
        lambda: default_rng(-1), lambda: default_rng(1.5),
    ):  # fmt: skip
        with pytest.raises(DistributionError) as caught:
            draw()
        assert isinstance(caught.value, ValueError)
        assert "test_draws.py" in str(caught.value)
    with pytest.raises(DTypeError):
        rng.normal("a")
    with pytest.raises(DTypeError):
        rng.integers(0.5, 3)
    with pytest.raises(ShapeError):
        rng.choice(3, 2, p=[0.5, 0.5])


def test_a_generator_of_a_stream() -> None:
    assert_same(Generator(Philox(3)).random(5).numpy(), default_rng(3).random(5).numpy())
