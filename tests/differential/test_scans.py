"""Running sums and products against NumPy, by the interpreter of kernel IR."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ocl_runtime as ocl
import ocl_runtime.arrays as xp
from ocl_ir.types import F32
from ocl_runtime.plan.fusion.reduction_order import power_of_two
from ocl_runtime.plan.kernels.scan import tiling
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
    "one pass": Target(kind="gpu", compute_units=3, group_size=8, group_progress=True),
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
@settings(QUICK, max_examples=max(1, settings.default.max_examples // 12))
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


LENGTHS = (31, 32, 33, 63, 64, 65, 127, 128, 129, 160, 255, 256, 1023, 1024, 1025, 1040)
"""Around the ends of blocks, tiles and parts of both targets."""


@given(data=st.data())
@settings(QUICK, max_examples=max(1, settings.default.max_examples // 5))
def test_scans_of_tiles(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    """Whole tiles and the last one, rows that begin anywhere, elements with gaps, every dtype. Small whole numbers, so
    that no order changes a bit."""
    dtype = data.draw(st.sampled_from(["f4", "f8", "f2", "i1", "u2", "i4", "i8", "?"]))
    rows, length = data.draw(st.sampled_from([(), (3,), (2, 2)])), data.draw(st.sampled_from(LENGTHS))
    first, step = data.draw(st.integers(0, 5)), data.draw(st.sampled_from([1, 1, -1, 2]))
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    base = rng.integers(0, 2, (*rows, first + 2 * length)).astype(dtype)
    host = (
        base[..., first:][..., : length * abs(step) : step]
        if step > 0
        else base[..., first : first + length][..., ::-1]
    )
    joined = {"f": dtype, "u": "u8"}.get(np.dtype(dtype).kind, "i8")
    with xp.use(runtime):
        x = xp.asarray(base)[..., first:]
        x = x[..., : length * abs(step) : step] if step > 0 else x[..., :length][..., ::-1]
        found = xp.cumulative_sum(xp.where(x == 1, x, 0) if data.draw(st.booleans()) else x, axis=-1)
        assert found.shape == host.shape
        assert_same(found.numpy(), np.cumsum(host, -1, joined), zeros=False)


@pytest.mark.parametrize("group_size", [32, 256])
@pytest.mark.parametrize("shape", [(1, 20), (5, 20), (7, 8), (5, 2, 33), (64, 5), (17, 127), (100, 16), (6, 900)])
def test_short_rows_share_a_group(shape: tuple[int, ...], group_size: int) -> None:
    """Whole groups of them and what is left over, of whole blocks or not."""
    runtime = InterpretedRuntime(Target(kind="gpu", compute_units=1, group_size=group_size))
    host = np.random.default_rng(0).integers(-50, 50, shape).astype("f4")
    with xp.use(runtime):
        assert_same(xp.cumulative_sum(xp.asarray(host) * 2, axis=-1).numpy(), np.cumsum(host * 2, -1), zeros=False)
        assert_same(xp.cumulative_prod(xp.asarray(host % 3 - 1), axis=-1).numpy(), np.cumprod(host % 3 - 1, -1))


@pytest.mark.parametrize(
    ("rows", "length", "teams"), [(10**6, 8, 128), (10**6, 50, 16), (500, 50, 1), (10**6, 1000, 4), (10**6, 5000, 1)]
)
def test_as_many_rows_share_a_group_as_fit(rows: int, length: int, teams: int) -> None:
    way = tiling(rows, length, True, F32, Target(kind="gpu", compute_units=132, group_size=256))
    assert way.teams == teams
    assert way.team * way.stripes * way.each >= min(length, 4096)


@pytest.mark.parametrize("shape", [(300, 2), (2, 1000, 3), (129, 40), (257, 1, 5)])
def test_columns_have_parts_that_share_a_group(shape: tuple[int, ...]) -> None:
    runtime = InterpretedRuntime(Target(kind="gpu", compute_units=3, group_size=32))
    host, axis = np.random.default_rng(0).integers(-50, 50, shape).astype("f4"), len(shape) - 2
    if shape[axis] == 1:
        axis = 0
    with xp.use(runtime):
        assert_same(xp.cumulative_sum(xp.asarray(host), axis=axis).numpy(), np.cumsum(host, axis), zeros=False)
    beside = power_of_two(host.size // shape[axis], 32)
    group = beside, power_of_two(shape[axis] // 64, 32 // beside), 1
    assert [launch.group_size for launch in (runtime.launched[0], runtime.launched[-1])] == [group, group]


@pytest.mark.parametrize(
    ("columns", "length", "parts"),
    [(2, 2**25, 32768), (8, 2**23, 32768), (1024, 2**16, 264), (2**20, 64, 1), (2, 127, 1)],
)
def test_columns_have_as_many_parts_as_keep_a_gpu_busy(columns: int, length: int, parts: int) -> None:
    way = tiling(columns, length, False, F32, Target(kind="gpu", compute_units=132, group_size=256))
    assert (way.team, way.each, way.teams) == (1, 1, 1)
    assert way.parts == parts
    assert (way.parts - 1) * way.per < length <= way.parts * way.per


def test_nan_and_infinities_go_on(runtime: InterpretedRuntime) -> None:
    host = np.ones((3, 700), "f4")
    host[0, 300], host[1, [200, 600]], host[2, 699] = np.nan, [np.inf, -np.inf], -np.inf
    with xp.use(runtime), np.errstate(invalid="ignore"):
        assert_same(xp.cumulative_sum(xp.asarray(host), axis=1).numpy(), np.cumsum(host, 1))


@pytest.mark.sample(3)
@pytest.mark.parametrize("shape", [(3000,), (4, 700), (700, 4)])
def test_random_floats_are_near_those_of_float64(runtime: InterpretedRuntime, shape: tuple[int, ...]) -> None:
    """Within half a unit in the last place for each element before, whatever the order is in which they are joined."""
    rng = np.random.default_rng(0)
    host, axis = rng.standard_normal(shape).astype("f4"), int(np.argmax(shape))
    number = np.arange(shape[axis]).reshape(-1, *(1,) * (len(shape) - 1 - axis))
    with xp.use(runtime):
        sums = xp.cumulative_sum(xp.asarray(host), axis=axis).numpy()
        factors = (1 + host / 1000).astype("f4")
        products = xp.cumulative_prod(xp.asarray(factors), axis=axis).numpy()
    wide = host.astype("f8")
    assert (abs(sums - np.cumsum(wide, axis)) <= number * 2.0**-24 * 1.001 * np.cumsum(abs(wide), axis)).all()
    expected = np.cumprod(factors.astype("f8"), axis)
    assert (abs(products - expected) <= number * 2.0**-24 * 1.001 * expected).all()


def test_what_overflows_in_a_block_stays_infinite(runtime: InterpretedRuntime) -> None:
    """Blocks are joined in themselves before they are joined with what is in front of them, as NumPy's are not."""
    factors, addends = np.ones(300, "f4"), np.zeros(300, "f4")
    factors[[0, 1, 20, 21]] = 2.0**-100, 2.0**-20, 2.0**100, 2.0**100
    addends[[0, 20, 21]] = -3e38, 3e38, 3e38
    assert np.isfinite(np.cumprod(factors)).all()
    assert np.isfinite(np.cumsum(addends)).all()
    with xp.use(runtime):
        products, sums = xp.cumulative_prod(xp.asarray(factors)), xp.cumulative_sum(xp.asarray(addends))
        assert products.numpy()[-1] == sums.numpy()[-1] == np.inf


def test_running_sums_of_minus_zeros_are_zeros(runtime: InterpretedRuntime) -> None:
    with xp.use(runtime):
        for shape in ((5,), (300,), (3, 40), (40, 3)):
            x = xp.asarray(np.full(shape, -0.0, "f4"))
            assert not np.signbit(xp.cumulative_sum(x, axis=0).numpy()).any()


@pytest.mark.sample(3)
@pytest.mark.parametrize("group_size", [1, 2, 4, 16, 64])
def test_groups_of_any_size(group_size: int) -> None:
    host = np.random.default_rng(1).integers(-9, 9, (2, 1234)).astype("f4")
    for kind in ("gpu", "cpu"):
        with xp.use(InterpretedRuntime(Target(kind=kind, compute_units=2, group_size=group_size))):
            assert_same(xp.cumulative_sum(xp.asarray(host), axis=1).numpy(), np.cumsum(host, 1), zeros=False)


def test_parts_give_the_bits_of_one_pass() -> None:
    """A tile has one total, whether it is scanned or only joined: a row of few tiles begins as one of many does."""
    runtime = InterpretedRuntime(TARGETS["gpu"])
    host = np.random.default_rng(0).random(8 * 128 + 5, "f4")
    with xp.use(runtime):
        of_parts = xp.cumulative_sum(xp.asarray(host)).numpy()
        assert len(runtime.launched) == 3
        in_one = xp.cumulative_sum(xp.asarray(host[: 2 * 128])).numpy()
        assert len(runtime.launched) == 4
    assert of_parts[: 2 * 128].tobytes() == in_one.tobytes()


def test_one_pass_over_many_tiles() -> None:
    """More than a team has work-items, so that prefixes go on from span to span. Totals of four and of eight bytes, and
    the same bits of floats in every run."""
    runtime = InterpretedRuntime(TARGETS["one pass"])
    host = np.random.default_rng(0).integers(-50, 50, 20 * 128 + 77).astype("f4")
    with xp.use(runtime):
        for dtype in ("f4", "u4", "i8", "f8"):
            runtime.launched.clear()
            sums = xp.cumulative_sum(xp.asarray(host), dtype=dtype)
            assert_same(sums.numpy(), np.cumsum(host.astype(dtype), dtype=dtype), zeros=False)
            assert [launch.kernel.name for launch in runtime.launched] == ["fill", "cumulative_sum"]
        random = np.random.default_rng(1).random(20 * 128 + 77, "f4")
        first, again = (xp.cumulative_sum(xp.asarray(random)).numpy() for _ in range(2))
        assert first.tobytes() == again.tobytes()
        np.testing.assert_allclose(first, np.cumsum(random.astype("f8")), rtol=1e-5)


def test_one_pass_keeps_the_order() -> None:
    """Of what does not commute: the last element that is not zero."""
    runtime = InterpretedRuntime(TARGETS["one pass"])
    last = ocl.scan(0)(lambda a, b: b if b != 0 else a)
    size = 20 * 128 + 5
    host = np.where(np.random.default_rng(2).random(size) < 0.1, np.arange(1, size + 1), 0).astype("i4")
    positions = np.maximum.accumulate(np.where(host != 0, np.arange(host.size), 0))
    with xp.use(runtime):
        assert_same(last(xp.asarray(host)).numpy(), host[positions])
    assert len(runtime.launched) == 2


def test_fused_scans_have_the_bits_of_separate_ones(runtime: InterpretedRuntime) -> None:
    """Also where a leaf forbids vectors."""
    host = np.random.default_rng(2).standard_normal((3, 1300)).astype("f4")
    with xp.use(runtime):
        x = xp.asarray(host)
        separate = (x[:, ::2] * x[:, 1::2]).compute()
        fused = xp.cumulative_sum(x[:, ::2] * x[:, 1::2], axis=1).numpy()
        assert fused.tobytes() == xp.cumulative_sum(separate, axis=1).numpy().tobytes()


def test_the_order_follows_from_the_shape_alone(runtime: InterpretedRuntime) -> None:
    """Views and computed arrays of one shape give the same bits."""
    host = np.random.default_rng(0).random((4, 300), "f4")
    with xp.use(runtime):
        x, y = xp.asarray(host), xp.asarray(np.ascontiguousarray(host.T))
        for axis in (0, 1):
            of_view = xp.cumulative_sum(y.T, axis=axis).numpy()
            assert xp.cumulative_sum(x, axis=axis).numpy().tobytes() == of_view.tobytes()
            np.testing.assert_allclose(of_view, np.cumsum(host.astype("f8"), axis), rtol=1e-5)
