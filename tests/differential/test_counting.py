"""Counts of values against NumPy, by the interpreter of kernel IR."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ocl_runtime.arrays as xp
from ocl_runtime.plan.target import Target
from tests.support.arrays import assert_same
from tests.support.interpreted import InterpretedRuntime

QUICK = settings(
    max_examples=max(1, settings.default.max_examples // 8),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
TARGETS = {
    "gpu": Target(kind="gpu", compute_units=1, group_size=8),
    "cpu": Target(kind="cpu", compute_units=1, group_size=8, vector_bytes=64),
}


@pytest.fixture(params=TARGETS)
def runtime(request: pytest.FixtureRequest) -> InterpretedRuntime:
    return InterpretedRuntime(TARGETS[request.param])


@given(data=st.data())
@QUICK
def test_bincounts_are_numpys(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    """Of few elements, which go to memory one by one, and of more, with a table or a cache."""
    dtype = data.draw(st.sampled_from(["?", "i1", "u1", "i2", "i4", "u4", "i8", "u8"]))
    count, most = (
        data.draw(st.sampled_from([0, 1, 50, 63, 64, 65, 200, 259])),
        data.draw(st.sampled_from([2, 100, 6000])),
    )
    if dtype in {"?", "i1", "u1"}:
        most = min(most, 2 if dtype == "?" else 100)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    host = rng.integers(0, most, count).astype(dtype)
    minlength = data.draw(st.sampled_from([0, 3, 70]))
    with xp.use(runtime):
        x = xp.asarray(np.repeat(host, 2))[::2] if data.draw(st.booleans()) else xp.asarray(host)
        assert_same(xp.bincount(x, minlength=minlength).numpy(), np.bincount(host, minlength=minlength))
        signed = host.astype("i8") - 1
        y = xp.astype(x, "i8") - 1
        inside = signed[(signed >= 0) & (signed < 50)]
        assert_same(xp.bincount(y, length=50).numpy(), np.bincount(inside, minlength=50))
        weights = rng.integers(-9, 9, count).astype("f8")
        found = xp.bincount(y, xp.asarray(weights), length=50)
        expected = np.bincount(inside, weights[(signed >= 0) & (signed < 50)], minlength=50)
        assert_same(found.numpy(), expected.astype("f8"), zeros=False)  # NumPy has integers for no elements


@given(data=st.data())
@QUICK
def test_histograms_are_numpys(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(["f4", "f8", "i4", "u1"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    shape = data.draw(st.sampled_from([(1,), (40,), (7, 30)]))
    host = (rng.standard_normal(shape) * 20).astype(dtype)
    if dtype[0] == "f":
        host = np.round(host * 4) / 4 if data.draw(st.booleans()) else host  # often at an edge
        host.flat[: data.draw(st.integers(0, 1))] = np.nan
    edges = np.unique(rng.integers(-30, 30, 9)).astype("f4")
    bins = data.draw(st.sampled_from([1, 7, 64, edges]))
    ends = data.draw(st.sampled_from([(-5, 5), (0.0, 0.7), (3, 3), None]))
    if ends is None and np.isnan(host).any():
        ends = (-20, 20)
    real = np.dtype(dtype if dtype[0] == "f" else "f4")
    with xp.use(runtime):
        counts, found = xp.histogram(xp.asarray(host), xp.asarray(bins) if isinstance(bins, np.ndarray) else bins, ends)
        assert counts.dtype == np.int64
        if isinstance(bins, int):
            assert found.dtype == real
            expected_edges = np.histogram_bin_edges(host.astype(real), bins, ends)
            np.testing.assert_allclose(found.numpy(), expected_edges, rtol=1e-6, atol=1e-6)
        # What an element next to an edge counts for is decided by the edges themselves.
        in_bins = host[(host >= found.numpy()[0]) & (host <= found.numpy()[-1])]
        assert_same(counts.numpy(), np.histogram(in_bins.astype("f8"), found.numpy().astype("f8"))[0])


def test_histograms_of_weights_and_densities(runtime: InterpretedRuntime) -> None:
    host = np.random.default_rng(0).standard_normal(300).astype("f4")
    weights = np.arange(300, dtype="f4")
    with xp.use(runtime):
        x = xp.asarray(host)
        found = xp.histogram(x, 5, (-1, 1), weights=xp.asarray(weights))[0]
        assert_same(found.numpy(), np.histogram(host, 5, (-1, 1), weights=weights)[0].astype("f4"))
        np.testing.assert_allclose(
            xp.histogram(x, 5, density=True)[0].numpy(), np.histogram(host, 5, density=True)[0], rtol=1e-5
        )


def test_errors(runtime: InterpretedRuntime) -> None:
    with xp.use(runtime):
        x = xp.asarray(np.array([1, -3]))
        for call, error, text in (
            (lambda: xp.bincount(x), ValueError, "bincount of -3"),
            (lambda: xp.bincount(x + 3, minlength=-1), ValueError, "minlength=-1"),
            (lambda: xp.bincount(xp.zeros((2, 2), dtype="i4")), ValueError, r"bincount of shape \(2, 2\)"),
            (lambda: xp.bincount(x, [1.0]), ValueError, r"weights of shape \(1,\)"),
            (lambda: xp.bincount(xp.zeros(2)), TypeError, "bincount of float32"),
            (lambda: xp.histogram(x, 0), ValueError, "histogram with 0 bins"),
            (lambda: xp.histogram(x, 3, (2, 1)), ValueError, "histogram from 2.0 to 1.0"),
            (lambda: xp.histogram(x, [1.0]), ValueError, r"edges of shape \(1,\)"),
            (lambda: xp.histogram(x, 3, weights=[1]), ValueError, r"weights of shape \(1,\)"),
        ):
            with pytest.raises(error, match=text):
                call()
