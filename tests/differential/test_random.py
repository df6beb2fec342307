"""A draw is the same numbers whatever is made of it: sliced, moved, fused, computed by itself; on simulated targets, by
the interpreter, and on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ocl_runtime as ocl
import ocl_runtime.arrays as xp
from ocl_ir import random_counts
from ocl_ir.random_functions import gamma_candidate, normal_bits, philox_block
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.plan.target import Target
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same
from tests.support.interpreted import InterpretedRuntime

QUICK = settings(
    max_examples=max(1, settings.default.max_examples // 2),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
TARGETS = {
    "gpu": Target(kind="gpu", compute_units=3, group_size=8),
    "wide gpu": Target(kind="gpu", compute_units=3, group_size=8, vector_bytes=32),
    "cpu": Target(kind="cpu", compute_units=2, group_size=4, vector_bytes=64),
    "gpu without float64": Target(kind="gpu", compute_units=3, group_size=8, fp64=False),
}
DRAWS = ["random", "standard_normal", "words", "integers", "random64", "standard_normal64"]


@pytest.fixture(params=[*TARGETS, "device"])
def runtime(request: pytest.FixtureRequest, device: Device, engine: Engine) -> Any:
    name = request.param
    return Runtime(device, engine.settings) if name == "device" else InterpretedRuntime(TARGETS[name])


def has_float64(runtime: Any) -> bool:
    return bool(getattr(runtime, "executor", runtime).target.fp64)


def draws(runtime: Any) -> st.SearchStrategy[str]:
    is_real64 = {"random64", "standard_normal64"}
    return st.sampled_from([name for name in DRAWS if has_float64(runtime) or name not in is_real64])


def draw(rng: Any, name: str, shape: tuple[int, ...]) -> xp.Array:
    if name == "words":
        return rng.integers(0, 2**32, shape, "u4")
    if name == "integers":
        return rng.integers(-5, 100, shape, "i8")
    return getattr(rng, name.removesuffix("64"))(shape, "f8" if name.endswith("64") else "f4")


def words_of(seed: int, number: int, bits: int, count: int) -> np.ndarray:
    """The words of draw `number`, from the blocks of Philox themselves."""
    key = np.random.SeedSequence(seed).generate_state(2, np.uint32)
    blocks = np.arange(-(-count * bits // 128), dtype=np.uint32)
    zero = np.zeros_like(blocks)
    words = philox_block((blocks, zero, zero + np.uint32(number), zero), (zero + key[0], zero + key[1]))
    return np.ascontiguousarray(np.stack(words, axis=1)).ravel().view(f"<u{bits // 8}")[:count]


def expected(seed: int, number: int, name: str, shape: tuple[int, ...]) -> np.ndarray:
    bits = 32 if name in {"random", "standard_normal"} else 64
    words = words_of(seed, number, bits, int(np.prod(shape))).reshape(shape)
    if name == "random":
        return (words >> np.uint32(8)).astype("f4") * np.float32(2**-24)
    if name == "random64":
        return (words >> np.uint64(11)).astype("f8") * 2.0**-53
    if name.startswith("standard_normal"):
        return normal_bits(words).view(f"f{bits // 8}")
    low, count, dtype = (0, 2**32, "u4") if name == "words" else (-5, 105, "i8")
    numbers = [(int(word) * count >> 64) + low for word in words.ravel()]
    return np.array(numbers, dtype).reshape(shape)


@given(data=st.data())
@QUICK
def test_a_draw_is_the_blocks_of_philox(runtime: Any, data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9))
    seed, name = data.draw(st.integers(0, 2**70)), data.draw(draws(runtime))
    with xp.use(runtime):
        rng = ocl.random.default_rng(seed)
        skipped = data.draw(st.integers(0, 3))
        for _ in range(skipped):
            rng.random(3)
        assert_same(draw(rng, name, shape).numpy(), expected(seed, skipped, name, shape))


def moved(data: st.DataObject, x: Any, host: np.ndarray) -> tuple[Any, np.ndarray]:
    """Some movements of both."""
    for _ in range(data.draw(st.integers(0, 3))):
        kind = data.draw(st.sampled_from(["slice", "permute", "reshape", "flip"]))
        if kind == "slice":
            key = data.draw(hnp.basic_indices(host.shape, allow_ellipsis=False))
            x, host = x[key], np.asarray(host[key])
        elif kind == "permute" and host.ndim > 1:
            axes = tuple(data.draw(st.permutations(range(host.ndim))))
            x, host = xp.permute_dims(x, axes), host.transpose(axes)
        elif kind == "reshape":
            x, host = xp.reshape(x, (-1,)) if host.size else x, host.reshape(-1) if host.size else host
        elif kind == "flip" and host.ndim:
            x, host = xp.flip(x), np.flip(host)
    return x, host


@given(data=st.data())
@QUICK
def test_a_draw_is_the_same_however_it_is_used(runtime: Any, data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=40))
    name = data.draw(draws(runtime))
    with xp.use(runtime):
        host = expected(7, 0, name, shape)
        x = draw(ocl.random.default_rng(7), name, shape)
        if data.draw(st.booleans()):
            x.compute()
        way = data.draw(st.sampled_from(["alone", "fused", "summed", "rows", "taken"]))
        view, part = moved(data, x, host)
        if way == "alone":
            assert_same(view.numpy(), part)
        elif way == "fused":  # every operation is exact, or rounded as NumPy's
            assert_same((view + view * view).numpy(), part + part * part)
        elif way == "taken" and part.ndim and part.shape[0]:
            index = np.random.default_rng(1).integers(0, part.shape[0], 11)
            assert_same(xp.take(view, xp.asarray(index), axis=0).numpy(), part[index])
        elif way == "rows" and part.ndim > 1:
            assert_same(xp.max(x, axis=0).numpy(), host.max(axis=0))
        else:
            mask = view > part.dtype.type(0)
            assert int(xp.sum(mask)) == int((part > 0).sum())
        assert_same(x.numpy(), host)


@pytest.mark.parametrize("count", [1, 7, 60])
def test_an_order_is_that_of_words(runtime: Any, count: int) -> None:
    with xp.use(runtime):
        rng = ocl.random.default_rng(7)
        orders = rng.permutation(count), rng.permuted(xp.broadcast_to(xp.arange(count), (2, count)), axis=1)
        chosen = rng.choice(count, count // 2, replace=False)
        assert_same(orders[0].numpy(), np.argsort(words_of(7, 0, 64, count), kind="stable"))
        words = words_of(7, 1, 64, 2 * count).reshape(2, count)
        assert_same(orders[1].numpy(), np.argsort(words, axis=1, kind="stable"))
        assert_same(chosen.numpy(), np.argsort(words_of(7, 2, 64, count), kind="stable")[: count // 2])


@pytest.mark.sample(3)
@pytest.mark.parametrize("real", ["f4", "f8"])
@pytest.mark.parametrize("shape", [1.0, 4.5, [1.0, 2.5, 300.0]])
def test_a_gamma_number_is_its_first_candidate(runtime: Any, real: str, shape: Any) -> None:
    """The same bits everywhere, whether shapes are a number or an array."""
    if real == "f8" and not has_float64(runtime):
        with xp.use(runtime), pytest.raises(DTypeError, match="no float64"):
            ocl.random.default_rng(5).standard_gamma(shape, (13, 3), real)
        return
    kind, count = np.dtype(real), 3 * 13
    bits, unsigned = 8 * kind.itemsize, np.dtype(f"u{kind.itemsize}")
    d = (np.asarray(shape, kind) - kind.type(1 / 3)) + np.zeros((13, 3), kind)
    c = kind.type(1) / np.sqrt(d * kind.type(9))
    wanted = d.view(unsigned)
    for draw in reversed(range(8)):
        normals, words = np.moveaxis(words_of(5, draw, bits, 2 * count).reshape(13, 3, 2), -1, 0)
        candidate = gamma_candidate(normal_bits(normals), words, c.view(unsigned), d.view(unsigned))
        wanted = np.where(candidate != 0, candidate, wanted)
    with xp.use(runtime):
        x = ocl.random.default_rng(5).standard_gamma(shape, (13, 3), real)
        assert_same(x[2:11:3, ::-1].numpy(), wanted.view(kind)[2:11:3, ::-1])
        assert_same(x.numpy(), wanted.view(kind))


@pytest.mark.parametrize("name", ["poisson", "binomial"])
@pytest.mark.parametrize("is_large", [False, True])
def test_a_count_is_its_first_candidate(runtime: Any, name: str, is_large: bool) -> None:
    """The same everywhere, however it is used."""
    parameters = {"poisson": (12.5 if is_large else 3.25,), "binomial": (40, 0.375 if is_large else 0.125)}[name]
    if not has_float64(runtime):
        with xp.use(runtime), pytest.raises(DTypeError, match="no float64"):
            getattr(ocl.random.default_rng(5), name)(*parameters, (13, 3))
        return
    bits = [np.full((13, 3), float(value)).view(np.uint64) for value in parameters]
    if is_large:
        candidate = getattr(random_counts, f"{name}_candidate")
        wanted = np.floor(np.full((13, 3), parameters[0] if name == "poisson" else np.prod(parameters)))
        for draw in reversed(range(20)):
            first, second = np.moveaxis(words_of(5, draw, 64, 2 * 3 * 13).reshape(13, 3, 2), -1, 0)
            found = candidate(first, second, *bits).view(np.float64)
            wanted = np.where(found >= 0, found, wanted)
    else:
        words = words_of(5, 0, 64, 3 * 13).reshape(13, 3)
        wanted = getattr(random_counts, f"{name}_small")(words, *bits).view(np.float64)
    with xp.use(runtime):
        x = getattr(ocl.random.default_rng(5), name)(*parameters, (13, 3))
        assert_same(x[2:11:3, ::-1].numpy(), wanted.astype(np.int64)[2:11:3, ::-1])
        assert_same(x.numpy(), wanted.astype(np.int64))
