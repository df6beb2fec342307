"""Running sums and products against NumPy, by the interpreter of kernel IR."""

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
TARGETS = {
    "gpu": Target(kind="gpu", compute_units=3, group_size=8),
    "cpu": Target(kind="cpu", compute_units=2, group_size=4, vector_bytes=64),
}


@pytest.fixture(params=TARGETS)
def runtime(request: pytest.FixtureRequest) -> InterpretedRuntime:
    return InterpretedRuntime(TARGETS[request.param])


@given(data=st.data())
@QUICK
def test_scans_are_numpys(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=9))
    host = ordinary(data.draw(st.sampled_from(DTYPES)), *shape, seed=data.draw(st.integers(0, 9)))
    axis = data.draw(st.integers(-host.ndim, host.ndim - 1))
    more = {"axis": axis, "include_initial": data.draw(st.booleans())}
    key = data.draw(st.sampled_from([np.s_[...], np.s_[::-1], np.s_[..., ::2], np.s_[..., None]]))
    host = host[key]
    kind = host.dtype if host.dtype.kind == "f" else np.uint64 if host.dtype.kind == "u" else np.int64
    with xp.use(runtime), np.errstate(all="ignore"):
        x = xp.asarray(host)
        assert_same(xp.cumulative_sum(x, **more).numpy(), np.cumulative_sum(host, **more, dtype=kind), zeros=False)
        assert_same(
            xp.cumulative_sum(x == 1, **more).numpy(), np.cumulative_sum(host == 1, **more, dtype="i8"), zeros=False
        )
        if host.dtype.kind in "iub":
            assert_same(xp.cumulative_prod(x, **more).numpy(), np.cumulative_prod(host, **more, dtype=kind))
        assert_same(
            xp.cumulative_sum(x, **more, dtype="i4").numpy(), np.cumulative_sum(host.astype("i4"), **more, dtype="i4")
        )


@given(data=st.data())
@settings(QUICK, max_examples=8)
def test_long_scans(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    """Of parts, and of rounds of a team; whole numbers, so that no order changes a bit."""
    shape = data.draw(st.sampled_from([(500,), (2, 300), (150, 3), (1, 200, 2), (130, 5), (9, 100)]))
    more = data.draw(st.integers(0, 40))
    host = np.random.default_rng(more).integers(-50, 50, (shape[0] + more, *shape[1:])).astype("f4")
    axis = data.draw(st.integers(0, len(shape) - 1))
    with xp.use(runtime):
        x = xp.asarray(host)
        assert_same(xp.cumulative_sum(x * 2 + 1, axis=axis).numpy(), np.cumsum(host * 2 + 1, axis), zeros=False)
        found = xp.cumulative_sum(xp.flip(x, axis=0), axis=axis) + 1
        assert_same(found.numpy(), np.cumsum(host[::-1], axis) + 1, zeros=False)


def test_the_order_follows_from_the_shape_alone(runtime: InterpretedRuntime) -> None:
    """Views and computed arrays of one shape give the same bits."""
    host = np.random.default_rng(0).random((4, 300), "f4")
    with xp.use(runtime):
        x, y = xp.asarray(host), xp.asarray(np.ascontiguousarray(host.T))
        for axis in (0, 1):
            of_view = xp.cumulative_sum(y.T, axis=axis).numpy()
            assert xp.cumulative_sum(x, axis=axis).numpy().tobytes() == of_view.tobytes()
            np.testing.assert_allclose(of_view, np.cumsum(host.astype("f8"), axis), rtol=1e-5)
