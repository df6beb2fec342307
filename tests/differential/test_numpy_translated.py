"""NumPy's functions that are written in the kernel language, against NumPy, by the interpreter of kernel IR."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ocl_runtime.arrays as xp
import ocl_runtime.numpy as ours
from ocl_runtime.plan.target import Target
from tests.support.arrays import DTYPES
from tests.support.interpreted import InterpretedRuntime

QUICK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
TARGETS = {
    "gpu": Target(kind="gpu", compute_units=3, group_size=8, fp16=False),
    "cpu": Target(kind="cpu", compute_units=2, group_size=4, vector_bytes=64),
}
INTEGERS = [dtype for dtype in DTYPES if np.dtype(dtype).kind in "iu"]
FLOATS = [dtype for dtype in DTYPES if np.dtype(dtype).kind == "f"]


@pytest.fixture(autouse=True, params=TARGETS)
def runtime(request: pytest.FixtureRequest) -> Iterator[InterpretedRuntime]:
    with xp.use(InterpretedRuntime(TARGETS[request.param])) as made:
        yield made


def numbers(dtype: str) -> st.SearchStrategy[np.ndarray]:
    """Any numbers of a dtype, zeros and small ones often; the least integer has no magnitude."""
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        any_ = st.integers(max(limits.min + 1, -limits.max), limits.max)
        elements: st.SearchStrategy = st.integers(0 if kind.kind == "u" else -12, 12) | any_
    else:
        elements = st.floats(width=kind.itemsize * 8) | st.sampled_from([0.0, -0.0, np.inf, -np.inf, np.nan])
    return hnp.arrays(kind, st.integers(0, 12), elements=elements)


@given(data=st.data(), dtype=st.sampled_from(INTEGERS))
@QUICK
def test_divisors_and_multiples(data: st.DataObject, dtype: str) -> None:
    x, y = data.draw(numbers(dtype)), data.draw(numbers(dtype))
    x, y = x[:, None], y[None, :]
    for name in ("gcd", "lcm"):
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(x, y)
        found = getattr(ours, name)(ours.asarray(x), ours.asarray(y))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.numpy(), expected)


@given(data=st.data(), dtype=st.sampled_from(FLOATS), exponents=st.sampled_from(["i1", "i4", "i8"]))
@QUICK
def test_floats_taken_apart_and_put_together(data: st.DataObject, dtype: str, exponents: str) -> None:
    x, e = data.draw(numbers(dtype)), data.draw(numbers(exponents))
    for found, expected in zip(ours.frexp(ours.asarray(x)), np.frexp(x), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.numpy(), expected)
        if expected.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(found.numpy()), np.signbit(expected))
    count = min(x.size, e.size)
    x, e = x[:count], e[:count]
    with np.errstate(all="ignore"):
        expected = np.ldexp(x, e)
    found = ours.ldexp(ours.asarray(x), ours.asarray(e))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)


@given(
    host=st.sampled_from(DTYPES).flatmap(
        lambda dtype: hnp.arrays(np.dtype(dtype), hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=80))
    ),
    name=st.sampled_from(["maximum", "minimum"]),
    axis=st.integers(-1, 0),
)
@QUICK
def test_running_extremes(host: np.ndarray, name: str, axis: int) -> None:
    expected = getattr(np, name).accumulate(host, axis=axis)
    found = getattr(ours, name).accumulate(ours.asarray(host), axis=axis)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found.numpy(), expected)


def test_a_running_maximum_of_brain_floats() -> None:
    x = xp.asarray(np.array([1.0, -2, 3, 2], "f4"), dtype=xp.bfloat16)
    found = ours.maximum.accumulate(x)
    assert found.dtype == xp.bfloat16
    assert xp.astype(found, "f4").numpy().tolist() == [1, 1, 3, 3]
