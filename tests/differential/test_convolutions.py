"""Windows of lines, and NumPy's convolutions and correlations that are made of them, by the interpreter."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ocl_runtime.arrays as xp
import ocl_runtime.numpy as ours
from ocl_runtime.arrays.functions.manipulation import windows
from ocl_runtime.plan.target import Target
from tests.support.arrays import DTYPES
from tests.support.interpreted import InterpretedRuntime

QUICK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
TARGETS = {
    "gpu": Target(kind="gpu", compute_units=3, group_size=8, fp16=False),
    "cpu": Target(kind="cpu", compute_units=2, group_size=4, vector_bytes=64),
}
sliding = np.lib.stride_tricks.sliding_window_view


@pytest.fixture(autouse=True, params=TARGETS)
def runtime(request: pytest.FixtureRequest) -> Iterator[InterpretedRuntime]:
    with xp.use(InterpretedRuntime(TARGETS[request.param])) as made:
        yield made


@given(
    dtype=st.sampled_from([*DTYPES, "c8", "c16"]),
    sizes=st.tuples(st.integers(1, 45), st.integers(1, 45)),
    mode=st.sampled_from(["full", "same", "valid"]),
    name=st.sampled_from(["convolve", "correlate"]),
    special=st.booleans(),
    seed=st.integers(0, 2**16),
)
@QUICK
def test_lines(dtype: str, sizes: tuple[int, int], mode: str, name: str, special: bool, seed: int) -> None:
    rng, kind = np.random.default_rng(seed), np.dtype(dtype)
    a, v = (rng.integers(0 if kind.kind in "ub" else -3, 4, size).astype(kind) for size in sizes)
    if special and kind.kind == "f":  # which reach as far as the other line is long, and no further
        either = a if seed % 2 else v
        either[rng.integers(0, either.size)] = rng.choice([np.nan, np.inf, -np.inf])
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(a, v, mode)
    found = getattr(ours, name)(ours.asarray(a), ours.asarray(v), mode)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)


@given(
    shape=st.lists(st.integers(0, 5), max_size=2).flatmap(lambda front: st.integers(1, 9).map(lambda n: (*front, n))),
    data=st.data(),
)
@QUICK
def test_windows_of_views_and_expressions(shape: tuple[int, ...], data: st.DataObject) -> None:
    host = np.random.default_rng(0).integers(0, 99, shape).astype("i4")
    length = data.draw(st.integers(1, shape[-1]))
    x = xp.asarray(host)
    np.testing.assert_array_equal(windows(x, length).numpy(), sliding(host, length, axis=-1))
    reverse = (..., slice(None, None, -1))
    np.testing.assert_array_equal(windows(x[reverse], length).numpy(), sliding(host[reverse], length, axis=-1))
    np.testing.assert_array_equal(windows(x * 2 + 1, length).numpy(), sliding(host * 2 + 1, length, axis=-1))
    found = xp.sum(windows(x, length)[..., ::2, :] * 3, axis=-1)
    np.testing.assert_array_equal(found.numpy(), (sliding(host, length, axis=-1)[..., ::2, :] * 3).sum(-1))
    line = xp.arange(7)
    np.testing.assert_array_equal(windows(line, 3).numpy(), sliding(np.arange(7), 3))


def test_windows_are_views_that_nobody_writes_into() -> None:
    x = xp.asarray(np.arange(6.0))
    view = windows(x, 3)
    x[2] = 10
    assert view.numpy()[:, 0].tolist() == [0, 1, 10, 3]
    with pytest.raises(ValueError, match="repeated"):
        view[0, 0] = 1
    for length in (0, 7):
        with pytest.raises(ValueError, match=f"windows of length {length}"):
            windows(x, length)


def test_a_sum_of_windows_is_one_kernel(runtime: InterpretedRuntime) -> None:
    x, short = ours.asarray(np.arange(200, dtype="f4")), ours.asarray(np.ones(32, "f4"))
    x.compute()
    runtime.launched.clear()
    xp.sum(windows(x, 32) * short, axis=1).numpy()
    ours.convolve(x, short[:5], "valid").numpy()
    assert len(runtime.launched) == 2
    xp.sum(windows(xp.sin(x), 32) * short, axis=1).numpy()  # of which no sine is computed 32 times
    assert len(runtime.launched) == 4
