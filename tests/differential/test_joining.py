"""Arrays put together, repeated and padded, against NumPy, by the interpreter of kernel IR."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ocl_runtime.arrays as xp
from ocl_runtime.plan.target import Target
from tests.support.arrays import DTYPES, assert_same, ordinary
from tests.support.interpreted import InterpretedRuntime

QUICK = settings(
    max_examples=max(1, settings.default.max_examples // 4),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(params=["gpu", "cpu"])
def runtime(request: pytest.FixtureRequest) -> InterpretedRuntime:
    width = {"gpu": 16, "cpu": 64}[request.param]
    return InterpretedRuntime(Target(kind=request.param, compute_units=3, group_size=16, vector_bytes=width))


@st.composite
def hosts(draw: st.DrawFn, least: int = 0) -> np.ndarray:
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=least, max_side=5))
    return ordinary(draw(st.sampled_from(DTYPES)), *shape, seed=draw(st.integers(0, 9)))


@given(data=st.data())
@QUICK
def test_concat_and_stack_are_numpys(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    first = data.draw(hosts())
    axis = data.draw(st.integers(-first.ndim, first.ndim - 1))
    parts = [first]
    for seed in range(data.draw(st.integers(0, 3))):
        shape = list(first.shape)
        shape[axis] = data.draw(st.integers(0, 4))
        dtype = data.draw(st.sampled_from([first.dtype, np.dtype("f4"), np.dtype("i2")]))
        parts.append(ordinary(dtype.char, *shape, seed=seed))
    with xp.use(runtime):
        ours = [xp.asarray(part) for part in parts]
        assert_same(xp.concat(ours, axis=axis).numpy(), np.concatenate(parts, axis=axis))
        assert_same(xp.concat(ours, axis=None).numpy(), np.concatenate(parts, axis=None))
        flipped = [xp.flip(x, axis=axis) for x in ours]
        expected = np.concatenate([np.flip(part, axis) for part in parts], axis)
        assert_same((xp.concat(flipped, axis=axis) == 1)[::2].numpy(), (expected == 1)[::2])
        assert_same(xp.stack([ours[0], ours[0]], axis=axis).numpy(), np.stack([first, first], axis))


@given(data=st.data())
@QUICK
def test_repetitions_are_numpys(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    host = data.draw(hosts())
    axis = data.draw(st.none() | st.integers(-host.ndim, host.ndim - 1))
    shift, many = data.draw(st.integers(-9, 9)), data.draw(st.integers(0, 3))
    times = tuple(data.draw(st.lists(st.integers(0, 3), max_size=4)))
    each = data.draw(hnp.arrays("i8", host.size if axis is None else host.shape[axis], elements=st.integers(0, 3)))
    with xp.use(runtime):
        x = xp.asarray(host)
        assert_same(xp.roll(x, shift, axis=axis).numpy(), np.roll(host, shift, axis))
        both = (0, -1) if host.ndim > 1 else (0, 0)
        assert_same(xp.roll(x, (shift, many), axis=both).numpy(), np.roll(host, (shift, many), both))
        assert_same(xp.tile(x, times).numpy(), np.tile(host, times))
        assert_same(xp.repeat(x, many, axis=axis).numpy(), np.repeat(host, many, axis))
        assert_same(xp.repeat(x, xp.asarray(each), axis=axis).numpy(), np.repeat(host, each, axis))


@settings(QUICK, max_examples=max(1, settings.default.max_examples // 10))  # each is padded in six ways
@given(data=st.data())
def test_padding_is_numpys(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    host = data.draw(hosts(least=1))
    width = data.draw(
        st.integers(0, 7)
        | st.tuples(st.integers(0, 7), st.integers(0, 7))
        | st.tuples(*[st.tuples(st.integers(0, 7), st.integers(0, 7))] * host.ndim)
    )
    with xp.use(runtime):
        x = xp.asarray(host)
        for mode in ("constant", "edge", "reflect", "symmetric", "wrap"):
            assert_same(xp.pad(x, width, mode).numpy(), np.pad(host, width, mode))
        assert_same(xp.pad(x, width, constant_values=True).numpy(), np.pad(host, width, constant_values=True))


@given(data=st.data())
@QUICK
def test_differences_are_numpys(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    host = data.draw(hosts())
    axis, times = data.draw(st.integers(-host.ndim, host.ndim - 1)), data.draw(st.integers(0, 3))
    with xp.use(runtime):
        x = xp.asarray(host)
        assert_same(xp.diff(x, axis=axis, n=times).numpy(), np.diff(host, times, axis))
        found = xp.diff(x, axis=axis, prepend=x, append=x)
        assert_same(found.numpy(), np.diff(host, axis=axis, prepend=host, append=host))
