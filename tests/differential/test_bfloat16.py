"""Arrays of bfloat16 against float32 of NumPy, rounded after each operation, by the interpreter of kernel IR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ocl_runtime.arrays as xp
from ocl_runtime.arrays import Array
from ocl_runtime.plan.target import Target
from tests.support.bfloat16 import assert_rounded, bits, bits_in, rounded, values
from tests.support.depth import NIGHTLY
from tests.support.interpreted import InterpretedRuntime

TARGETS = {
    "gpu": Target(kind="gpu", compute_units=3, group_size=8),
    "gpu, groups of 1": Target(kind="gpu", compute_units=1, group_size=1),
    "gpu with halves": Target(kind="gpu", compute_units=1, group_size=64, fp16=True, atomics64=True),
    "cpu": Target(kind="cpu", compute_units=2, group_size=8, vector_bytes=64),
}
QUICK = settings(
    max_examples=max(1, settings.default.max_examples // 8),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
SEEDS = st.integers(0, 1000)
MOST = 20 if NIGHTLY else 12
"""Elements along an axis."""


@pytest.fixture(params=TARGETS)
def runtime(request: pytest.FixtureRequest) -> InterpretedRuntime:
    return InterpretedRuntime(TARGETS[request.param])


def anything(shape: Any, seed: int) -> np.ndarray:
    """All kinds of values, with NaN, infinities, -0.0 and subnormals among them, as float32."""
    return values(bits(values(np.random.default_rng(seed).integers(0, 2**16, shape).astype(np.uint16))))


def whole(shape: Any, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype("f4")


def of(x: Any) -> Array:
    return xp.asarray(x, dtype="bfloat16")


def shapes(most: int = 9) -> st.SearchStrategy[tuple[int, ...]]:
    return hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=most)


OPERATIONS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "product": lambda ns, x, y, to: to(x * y),
    "sum": lambda ns, x, y, to: to(x + y),
    "difference": lambda ns, x, y, to: to(x - y),
    "quotient": lambda ns, x, y, to: to(x / y),
    "scaled": lambda ns, x, y, to: to(to(x * 0.5) + y),
    "choice": lambda ns, x, y, to: ns.where(x < y, x, to(-y)),
    "floor": lambda ns, x, y, to: ns.floor(x),
    "maximum": lambda ns, x, y, to: to(ns.abs(ns.maximum(x, y))),
}


@given(data=st.data())
@QUICK
def test_chains_of_operations_round_each(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    shape, seed = data.draw(shapes(MOST)), data.draw(SEEDS)
    hosts = [anything(shape, seed), anything(shape, seed + 1), anything(shape[-1:], seed + 2)]
    key = data.draw(st.sampled_from([np.s_[...], np.s_[::-1], np.s_[..., ::2], np.s_[..., None, :]]))
    with xp.use(runtime), np.errstate(all="ignore"):
        arrays, apart = [of(host)[key] for host in hosts], [of(host)[key].copy().compute() for host in hosts]
        hosts = [host[key] for host in hosts]
        for name in data.draw(st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=1, max_size=5)):
            operation, other = OPERATIONS[name], data.draw(st.sampled_from([1, 2]))
            hosts[0] = operation(np, hosts[0], hosts[other], rounded)
            arrays[0] = operation(xp, arrays[0], arrays[other], lambda x: x)
            apart[0] = operation(xp, apart[0], apart[other], lambda x: x.compute()).compute()
        launched = len(runtime.launched)
        assert_rounded(arrays[0], hosts[0])
        assert len(runtime.launched) - launched <= 1
        assert np.array_equal(bits_in(arrays[0]), bits_in(apart[0]))


@given(data=st.data())
@QUICK
def test_permutations_move_bits(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    shape, seed = data.draw(shapes(MOST)), data.draw(SEEDS)
    host, order = bits(anything(shape, seed)), data.draw(st.permutations(range(len(shape))))
    with xp.use(runtime):
        x = xp.permute_dims(of(values(host)), order)
        turned = host.transpose(order)
        assert np.array_equal(bits_in(x.copy()), turned)
        assert np.array_equal(bits_in(xp.reshape(x, (-1,))), turned.reshape(-1))
        assert np.array_equal(bits_in(xp.concat([x, xp.flip(x, axis=0)])), np.concatenate([turned, turned[::-1]]))
        with np.errstate(all="ignore"):
            assert_rounded(x + of(values(turned)), values(turned) + values(turned))


@given(data=st.data())
@QUICK
def test_reductions_and_scans(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    shape = data.draw(shapes() | st.sampled_from([(700,), (3, 300), (150, 3), (5, 70, 2)]))
    host, axis = whole(shape, data.draw(SEEDS)), data.draw(st.integers(0, len(shape) - 1))
    with xp.use(runtime):
        x = of(host)
        assert_rounded(xp.sum(x, axis=axis), host.sum(axis=axis))
        assert_rounded(xp.sum(x * 2 + 1), (host * 2 + 1).sum())
        assert_rounded(xp.cumulative_sum(x, axis=axis), np.cumsum(host, axis=axis), zeros=False)
        if host.size:
            assert_rounded(xp.mean(x, axis=axis), np.float32(host.sum(axis=axis)) / np.float32(shape[axis]))
            odd = anything(shape, data.draw(SEEDS))
            assert_rounded(xp.max(of(odd), axis=axis), odd.max(axis=axis), zeros=False)
            found = xp.argmin(of(odd), axis=axis).numpy()
            assert np.array_equal(found, np.argmin(odd, axis=axis))


@given(data=st.data())
@QUICK
def test_products_of_matrices(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    rows, common, columns = (data.draw(st.integers(0, 20)) for _ in range(3))
    a, b = whole((rows, common), data.draw(SEEDS)), whole((common, columns), data.draw(SEEDS))
    with xp.use(runtime):
        assert_rounded(of(a) @ of(b), a @ b)
        assert_rounded(of(a) @ of(b) * 0.5 + 1, rounded(rounded(a @ b) * 0.5) + 1)


@given(data=st.data())
@QUICK
def test_writes(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=2, min_side=1, max_side=12))
    host, other = bits(anything(shape, data.draw(SEEDS))), bits(anything(shape, data.draw(SEEDS)))
    places = data.draw(hnp.arrays(np.int64, st.integers(0, 9), elements=st.integers(0, shape[0] - 1)))
    with xp.use(runtime):
        x, y = of(values(host)), of(values(other))
        host = host.copy()
        for target, value, at in ((x, y, xp.asarray(places)), (host, other, places)):
            target[::2] = value[::2]
            target[at] = value[at]
            target[value < 0 if target is x else values(other) < 0] = 1.5 if target is x else 0x3FC0
        assert np.array_equal(bits_in(x), host)
        assert np.array_equal(bits_in(x[xp.asarray(places)]), host[places])
