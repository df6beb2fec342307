"""Counts of values against NumPy, by the interpreter of kernel IR."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ocl_runtime.arrays as xp
from ocl_ir.types import F32, F64
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
        signed = host.astype("i8") - 1  # NumPy 2.1 counts no uint64
        assert_same(xp.bincount(x, minlength=minlength).numpy(), np.bincount(signed + 1, minlength=minlength))
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


RANDOM = np.random.default_rng(0)
ODD_RANGES = {
    "small halves": ((RANDOM.random(500) * 4e-4).astype("f2"), 50),
    "subnormal halves": ((RANDOM.random(500) * 5e-6).astype("f2"), 8),
    "halves in more bins than they have bits for": ((RANDOM.random(500) * 4e-4).astype("f2"), 100),
    "wide halves": (np.linspace(-10000, 10000, 501).astype("f2"), 8),
    "subnormal": ((RANDOM.random(500) * 1e-38).astype("f4"), 50),
    "of subnormal width": (np.array([0, 1e-44], "f4"), 3),
    "next to it": ((RANDOM.random(500) * 1e-36).astype("f4"), 100),
    "wide": (np.linspace(-1.5e38, 1.5e38, 501).astype("f4"), 8),
    "wide doubles": (np.linspace(-8e307, 8e307, 501), 8),
    "far from 0": ((RANDOM.random(500) + 1000).astype("f4"), 500),
    "one bin for each number": (np.arange(1, 1.00001, 2**-23).astype("f4"), 10),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ODD_RANGES)
def test_histograms_of_odd_ranges(runtime: InterpretedRuntime, name: str) -> None:
    """The edges are NumPy's; the counts are those between the edges, which NumPy's own of halves are not always."""
    host, bins = ODD_RANGES[name]
    with xp.use(runtime):
        counts, edges = xp.histogram(xp.asarray(host), bins)
    expected, numpys = np.histogram(host, bins)
    assert_same(edges.numpy(), numpys)
    index = np.minimum(np.searchsorted(numpys, host, side="right") - 1, bins - 1)
    assert_same(counts.numpy(), np.bincount(index, minlength=bins))
    if host.dtype != "f2":
        assert_same(counts.numpy(), expected)


@pytest.mark.parametrize(
    ("values", "bins"),
    [
        (np.linspace(-40000, 40000, 101).astype("f2"), 8),
        (np.array([-2e38, 2e38], "f4"), 8),
        (np.array([-1e308, 0, 1e308]), 10),
        (np.array([1e30, 1e30], "f4"), 10),
        (np.array([2**62, 2**62 + 1]), 10),
        (np.array([1, 1.0001], "f4"), 100_000),
        (np.array([0, 1e-44], "f4"), 30),
    ],
)
def test_edges_are_finite_and_distinct(runtime: InterpretedRuntime, values: np.ndarray, bins: int) -> None:
    with np.errstate(all="ignore"), contextlib.suppress(ValueError):  # which NumPy 2.1 does not raise
        edges = np.histogram_bin_edges(values, bins)
        assert not (np.isfinite(edges).all() and np.all(edges[1:] > edges[:-1]))
    with xp.use(runtime), pytest.raises(ValueError, match=f"histogram with {bins} bins .* not finite and distinct"):
        xp.histogram(xp.asarray(values), bins)


def test_densities_are_of_the_default_real() -> None:
    """Or of float64 where edges or weights are, with and without weights; and on devices that have no float64."""
    for dtype, weight, default, real in (
        ("f4", "f4", F32, "f4"), ("f2", "f2", F32, "f4"), ("i4", "i4", F32, "f4"), ("f8", "f8", F32, "f8"),
        ("f4", "f4", F64, "f8"),
    ):  # fmt: skip
        host = np.arange(5).astype(dtype)
        for fp64 in (True, False):
            if not fp64 and "f8" in {dtype, real}:
                continue
            with xp.use(InterpretedRuntime(Target(fp64=fp64), default)):
                for weights in (None, np.arange(5).astype(weight)):
                    found = xp.histogram(host, 3, density=True, weights=weights)[0]
                    assert found.dtype == np.dtype(real)
                    expected = np.histogram(host, 3, density=True, weights=weights)[0]
                    np.testing.assert_allclose(found.numpy(), expected, rtol=2e-3 if dtype == "f2" else 1e-6)


def test_lengths_and_edges_of_any_kind(runtime: InterpretedRuntime) -> None:
    with xp.use(runtime):
        x = xp.asarray(np.array([1, 3]))
        for length in (5, np.int8(5), xp.asarray(5)):
            assert_same(xp.bincount(x, length=length).numpy(), np.bincount([1, 3], minlength=5))
            assert_same(xp.bincount(x, minlength=length).numpy(), np.bincount([1, 3], minlength=5))
            assert_same(xp.histogram(x, length, (0, 5))[0].numpy(), np.histogram([1, 3], 5, (0, 5))[0])
        for edges in ([0, 1, 1, 3], (0.0, 2.5, 4.0), range(4), np.array([0, 3, 3], "u1")):
            counts, found = xp.histogram(x, edges)
            expected, numpys = np.histogram([1, 3], edges)
            assert_same(counts.numpy(), expected)
            np.testing.assert_array_equal(found.numpy(), numpys)


def test_errors(runtime: InterpretedRuntime) -> None:
    with xp.use(runtime):
        x = xp.asarray(np.array([1, -3]))
        nan = xp.asarray(np.array([1, np.nan], "f4"))
        for call, error, text in (
            (lambda: xp.bincount(x), ValueError, "bincount of -3"),
            (lambda: xp.bincount(x + 3, minlength=-1), ValueError, "minlength=-1"),
            (lambda: xp.bincount(x + 3, minlength=2.5), TypeError, "minlength=2.5"),
            (lambda: xp.bincount(x + 3, minlength=None), TypeError, "minlength=None"),
            (lambda: xp.bincount(x, length=-1), ValueError, "length=-1"),
            (lambda: xp.bincount(x, length=2.5), TypeError, "length=2.5"),
            (lambda: xp.bincount(xp.zeros((2, 2), dtype="i4")), ValueError, r"bincount of shape \(2, 2\)"),
            (lambda: xp.bincount(x, [1.0]), ValueError, r"weights of shape \(1,\)"),
            (lambda: xp.bincount(xp.zeros(2)), TypeError, "bincount of float32"),
            (lambda: xp.histogram(x, 0), ValueError, "histogram with 0 bins"),
            (lambda: xp.histogram(x, 2.5), TypeError, "histogram with bins=2.5"),
            (lambda: xp.histogram(x, "auto"), TypeError, "histogram with bins='auto'"),
            (lambda: xp.histogram(x, 3, (2, 1)), ValueError, "histogram from 2.0 to 1.0"),
            (lambda: xp.histogram(x, 3, (1, 2, 3)), ValueError, r"histogram with range=\(1, 2, 3\)"),
            (lambda: xp.histogram(x, 3, 5), ValueError, "histogram with range=5"),
            (lambda: xp.histogram(nan), ValueError, "from nan to nan: some are NaN or infinite"),
            (lambda: xp.histogram(nan / 0), ValueError, "some are NaN or infinite"),
            (lambda: xp.histogram(x, [1.0]), ValueError, r"edges of shape \(1,\)"),
            (lambda: xp.histogram(x, [[1.0, 2]]), ValueError, r"edges of shape \(1, 2\)"),
            (lambda: xp.histogram(x, [0, 3, 1]), ValueError, "edges that do not ascend"),
            (lambda: xp.histogram(x, np.array([0, np.nan, 1])), ValueError, "edges that do not ascend"),
            (lambda: xp.histogram(x, 3, weights=[1]), ValueError, r"weights of shape \(1,\)"),
        ):
            with pytest.raises(error, match=text):
                call()
    with xp.use(InterpretedRuntime(Target(atomics64=False))):
        x = xp.asarray(np.array([1, 3]))
        assert_same(xp.bincount(x).numpy(), np.array([0, 1, 0, 1]))
        for call, text in (
            (lambda: xp.bincount(x, [1.0, 2.0]), "bincount in float32 on a device without 64-bit atomics"),
            (lambda: xp.histogram(x, weights=[1.0, 2.0]), "histogram in float32 on a device without 64-bit atomics"),
        ):
            with pytest.raises(TypeError, match=text):
                call()
