"""Random array programs against NumPy, by the interpreter of kernel IR."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ocl_runtime.arrays as xp
from ocl_runtime.arrays.array import Array
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime

TARGETS = {
    "gpu": Target(kind="gpu", compute_units=3, group_size=4),
    "cpu": Target(kind="cpu", compute_units=2, group_size=4, vector_bytes=64),
    "half": Target(kind="gpu", compute_units=1, group_size=16, fp16=True),
}
QUICK = settings(
    max_examples=max(1, settings.default.max_examples // 3),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
DTYPES = st.sampled_from([np.dtype(code) for code in ("?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8")])


@pytest.fixture(params=TARGETS)
def runtime(request: pytest.FixtureRequest) -> InterpretedRuntime:
    return InterpretedRuntime(TARGETS[request.param])


def shapes(rank: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    return hnp.array_shapes(min_dims=0, max_dims=rank, min_side=0, max_side=7)


@st.composite
def arrays(draw: st.DrawFn, shape: Any = None, dtype: Any = None) -> np.ndarray:
    """An array with small values, so that integers do not overflow half and sums of floats are exact."""
    type_ = draw(DTYPES if dtype is None else st.just(np.dtype(dtype)))
    whole = draw(hnp.arrays(np.int8, shapes() if shape is None else shape, elements=st.integers(-9, 9)))
    return np.abs(whole).astype(type_) if type_.kind == "u" else whole.astype(type_)


def same(found: Array, expected: Any) -> None:
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)


@given(data=st.data())
@QUICK
def test_indexing(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    host = data.draw(arrays())
    key = data.draw(hnp.basic_indices(host.shape, allow_newaxis=True))
    with xp.use(runtime):
        x = xp.asarray(host)
        same(x[key], host[key])
        same((x == 3)[key], (host == 3)[key])
        second = data.draw(hnp.basic_indices(host[key].shape, allow_newaxis=True))
        same((x == 3)[key][second] | (x[key] == 1)[second], (host == 3)[key][second] | (host[key] == 1)[second])


@given(data=st.data())
@QUICK
def test_broadcasting(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    found = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=4, max_side=5))
    a, b, c = (data.draw(arrays(shape)) for shape in found.input_shapes)
    with xp.use(runtime), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x, y, z = map(xp.asarray, (a, b, c))
        same(x * y + z, a * b + c)
        same(xp.where(x > y, y, z), np.where(a > b, b, c))


@given(data=st.data())
@QUICK
def test_movements(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    host = data.draw(arrays(shape=hnp.array_shapes(min_dims=1, max_dims=4, max_side=6), dtype="i4"))
    with xp.use(runtime):
        x = xp.asarray(host) + 1
        host = host + 1
        for _ in range(data.draw(st.integers(1, 4))):
            match data.draw(st.sampled_from(["permute", "flip", "reshape", "slice", "expand", "negate"])):
                case "permute":
                    order = data.draw(st.permutations(range(host.ndim)))
                    x, host = xp.permute_dims(x, order), host.transpose(order)
                case "flip":
                    axis = data.draw(st.integers(0, host.ndim - 1))
                    x, host = xp.flip(x, axis=axis), np.flip(host, axis)
                case "reshape":
                    shape = data.draw(st.sampled_from([(-1,), (1, -1), (-1, 1), (*host.shape[::-1],)]))
                    x, host = xp.reshape(x, shape), host.reshape(shape)
                case "slice":
                    x, host = x[::2], host[::2]
                case "expand":
                    x, host = xp.broadcast_to(x, (2, *host.shape)), np.broadcast_to(host, (2, *host.shape))
                case "negate":
                    x, host = -x, -host
        same(x, host)
        same(xp.sum(x, axis=0), host.sum(axis=0))


@given(data=st.data())
@QUICK
def test_reductions(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    host = data.draw(arrays(shape=hnp.array_shapes(min_dims=1, max_dims=4, max_side=12)))
    axes = data.draw(st.none() | st.lists(st.integers(0, host.ndim - 1), unique=True).map(tuple))
    more = {"axis": axes, "keepdims": data.draw(st.booleans())}
    key = data.draw(st.sampled_from([np.s_[...], np.s_[::-1], np.s_[..., ::2], np.s_[..., None]]))
    host = host[key]
    with xp.use(runtime):
        x = xp.asarray(host)
        for name in ("min", "max", "any", "all"):
            same(getattr(xp, name)(x, **more), getattr(np, name)(host, **more))
        same(xp.sum(x, **more), host.sum(**more) if host.dtype != "f2" else host.astype("f4").sum(**more).astype("f2"))
        if host.dtype.kind in "iub":
            same(xp.prod(x, **more), host.prod(**more))
        same(xp.sum(x * x != 4, **more), (host * host != 4).sum(**more))


@given(data=st.data())
@QUICK
def test_long_reductions(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    shape = data.draw(st.sampled_from([(700,), (1, 900), (300, 3), (3, 300), (40, 20), (2, 150, 2), (150, 17)]))
    offset = data.draw(st.integers(0, 3))
    host = np.random.default_rng(offset).integers(-50, 50, (shape[0] + offset, *shape[1:])).astype("f4")[offset:]
    axis = data.draw(st.none() | st.integers(0, len(shape) - 1))
    with xp.use(runtime):
        same(xp.sum(xp.asarray(host) + 1, axis=axis), (host + 1).sum(axis=axis))
        whole = xp.asarray(np.concatenate([np.zeros((offset, *shape[1:]), "f4"), host]))
        same(xp.max(whole[offset:], axis=axis), host.max(axis=axis))


@given(data=st.data())
@QUICK
def test_fused_equals_unfused_bit_for_bit(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(["f2", "f4", "f8"]))
    elements = hnp.from_dtype(np.dtype(dtype), allow_nan=False)
    a, b = (data.draw(hnp.arrays(dtype, st.just((5,)), elements=elements)) for _ in range(2))
    names = data.draw(
        st.lists(st.sampled_from(["add", "subtract", "multiply", "minimum", "hypot"]), min_size=1, max_size=6)
    )
    with xp.use(runtime):
        fused = stepwise = xp.asarray(a)
        for name in names:
            fused = getattr(xp, name)(fused, xp.asarray(b))
            stepwise = getattr(xp, name)(stepwise, xp.asarray(b)).compute()
        assert fused.numpy().tobytes() == stepwise.numpy().tobytes()


@pytest.mark.parametrize("vector_bytes", [16, 64])
@pytest.mark.parametrize("kind", ["gpu", "cpu"])
def test_numbers_that_are_in_no_memory_are_counted_backwards(kind: str, vector_bytes: int) -> None:
    """In lanes, they were counted upwards from the right start."""
    target = Target(kind=kind, compute_units=2, group_size=8, vector_bytes=vector_bytes)
    with xp.use(InterpretedRuntime(target)):
        for shape in ((40,), (3, 16), (5, 7)):
            host = np.arange(np.prod(shape)).reshape(shape)
            x = xp.reshape(xp.arange(host.size), shape)
            same(xp.flip(x * 2), np.flip(host * 2))
            same(x[..., ::-1], host[..., ::-1])
