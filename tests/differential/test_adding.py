"""Adding at computed places against NumPy, and of floats against exact sums, by the interpreter of kernel IR."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ocl_runtime.arrays as xp
from ocl_ir.kernel.grammar import Array, walk
from ocl_runtime.arrays.meaning import reproducible_sums
from ocl_runtime.plan.target import Target
from tests.support.arrays import assert_same
from tests.support.interpreted import InterpretedRuntime

QUICK = settings(
    max_examples=max(1, settings.default.max_examples // 8),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
TARGETS = {
    "gpu": Target(kind="gpu", compute_units=3, group_size=16),
    "cpu": Target(kind="cpu", compute_units=2, group_size=8, vector_bytes=64),
}
INTEGERS = st.sampled_from([np.dtype(code) for code in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")])
FLOATS = st.sampled_from([np.dtype(code) for code in ("f4", "f8")])


@pytest.fixture(params=TARGETS)
def runtime(request: pytest.FixtureRequest) -> InterpretedRuntime:
    return InterpretedRuntime(TARGETS[request.param])


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """An index with at least one array of places, most of which come several times, or a mask."""
    if draw(st.integers(0, 7)) == 0:
        return (draw(hnp.arrays(bool, shape)),)
    count = draw(st.sampled_from([(0,), (1,), (30,), (5, 40), (4, 1), ()]))
    used = draw(st.integers(1, len(shape)))
    arrays = draw(st.lists(st.booleans(), min_size=used, max_size=used).filter(any))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    parts: list[Any] = []
    for length, is_array in zip(shape, arrays, strict=False):
        parts.append(rng.integers(-length, length, count) if is_array else draw(st.slices(length)))
    return tuple(parts)


def ours(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(xp.asarray(part) if isinstance(part, np.ndarray) and part.ndim else part for part in key)


@given(data=st.data())
@QUICK
def test_integers_are_numpys(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    dtype = data.draw(INTEGERS)
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6))
    host = data.draw(hnp.arrays(dtype, shape))
    key = data.draw(keys(shape))
    whole = host[key].shape
    value = data.draw(hnp.arrays(dtype, data.draw(st.sampled_from([whole, whole[-1:], ()]))))
    with xp.use(runtime):
        x = xp.asarray(host)
        view = x[::-1] if data.draw(st.booleans()) else x
        xp.add_at(view, ours(key), xp.asarray(value) if value.ndim else value)
        expected = host.copy()
        # NumPy 2.4 reads behind the end of a value with fewer axes than the index.
        addends = np.broadcast_to(value, whole).copy()
        np.add.at(expected[::-1] if view is not x else expected, key, addends)
        assert_same(x.numpy(), expected)


def summed(start: np.ndarray, places: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Each element with the exact sum of its addends, rounded, added to it."""
    sums = np.array([math.fsum(value[places == place].tolist()) for place in range(len(start))])
    return start + sums.astype(start.dtype)


HEADROOMS = {None: {"f4": 52, "f8": 63}, 24: {"f4": 38, "f8": 63}, 31: {"f4": 31, "f8": 63}, 36: {"f4": 26, "f8": 53}}
"""The bits of the greatest addend, by the bits that the number of addends takes: those of few, and of so many."""


@given(data=st.data())
@QUICK
def test_floats_are_added_with_the_same_bits_in_any_order(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    """Far apart in magnitude, subnormal ones too, as few and as many addends are: within the bound that the
    documentation gives."""
    dtype = data.draw(FLOATS)
    limits = np.finfo(dtype)
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    count, size = data.draw(st.sampled_from([1, 2, 60, 300])), data.draw(st.sampled_from([1, 3, 40]))
    places = rng.integers(0, size, count)
    low, high = data.draw(st.sampled_from([(-3, 3), (limits.minexp - limits.nmant, limits.minexp + 4), (-60, 60)]))
    value = np.ldexp(rng.standard_normal(count), rng.integers(low, high, count)).astype(dtype)
    if data.draw(st.booleans()):
        value = np.concatenate([value, -value[: count // 2]])  # which cancel
        places = np.concatenate([places, places[: count // 2]])
    start = rng.standard_normal(size).astype(dtype) * data.draw(st.sampled_from([0, 1]))
    headroom = data.draw(st.sampled_from(list(HEADROOMS)))
    found = []
    with xp.use(runtime), pytest.MonkeyPatch.context() as patch:
        if headroom is not None:
            patch.setattr(reproducible_sums, "_HEADROOM", (headroom,))
        for order in (np.arange(len(places)), rng.permutation(len(places))):
            x = xp.asarray(start)
            xp.add_at(x, xp.asarray(places[order]), xp.asarray(value[order]))
            found.append(x.numpy())
    assert found[0].tobytes() == found[1].tobytes()
    greatest = np.zeros(size, dtype)
    np.maximum.at(greatest, places, abs(value))
    expected = summed(start, places, value)
    number = np.bincount(places, minlength=size)
    bound = number * greatest.astype("f8") * 2.0 ** -HEADROOMS[headroom][dtype.str[1:]]
    roundings = np.spacing(np.maximum(abs(expected), abs(expected - start))).astype("f8")
    assert (abs(found[0].astype("f8") - expected) <= bound + roundings).all()
    assert_same(found[0][number == 0], start[number == 0])


@pytest.mark.parametrize(("dtype", "headroom"), [("f4", 31), ("f4", 36), ("f8", 31), ("f8", 36)])
def test_sums_of_as_many_floats_as_there_may_be(
    runtime: InterpretedRuntime, dtype: str, headroom: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers that a total is in have room for them: the largest that a scatter may add, in one step."""
    monkeypatch.setattr(reproducible_sums, "_HEADROOM", (headroom,))
    width = reproducible_sums._width("add_at", 2**headroom, has_one=dtype == "f4")
    assert width > np.finfo(dtype).nmant
    parts = (width,) if dtype == "f4" else (width // 2, (width + 1) // 2)
    assert all(2 ** (bits + headroom) < 2**63 or (2**bits - 1) << headroom < 2**63 for bits in parts)
    with xp.use(runtime):
        x = xp.zeros(2, dtype=dtype)
        xp.add_at(x, [0, 0, 1, 1, 1], np.array([1.5, 2**-10, 3, -3, 1], dtype))
        assert_same(x.numpy(), np.array([1.5 + 2**-10, 1], dtype))


def test_more_floats_than_there_may_be(runtime: InterpretedRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproducible_sums, "_HEADROOM", (2,))
    with xp.use(runtime), pytest.raises(ValueError, match="add_at of 5 floats, whose sum may overflow"):
        xp.add_at(xp.zeros(2), [0, 0, 1, 1, 1], 1.0)


def test_minus_zeros_change_nothing(runtime: InterpretedRuntime) -> None:
    start = np.array([-0.0, 0.0, -0.0, -0.0, 1.0], "f4")
    places, value = np.array([0, 0, 1, 2, 3, 3, 4]), np.array([-0.0, -0.0, -0.0, 0.0, 1, -1, -0.0], "f4")
    for dtype in ("f2", "f4", "f8"):
        expected = start.astype(dtype)
        np.add.at(expected, places, value.astype(dtype))
        with xp.use(runtime):
            x = xp.asarray(start.astype(dtype))
            xp.add_at(x, places, value.astype(dtype))
            assert x.numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("deterministic", [True, False])
def test_nan_and_infinities(runtime: InterpretedRuntime, dtype: str, deterministic: bool) -> None:
    inf, nan = np.inf, np.nan
    cases = [
        [inf, 1],
        [-inf, 1, -inf],
        [inf, -inf],
        [nan, 1],
        [nan, inf],
        [inf, inf, inf],
        [-inf, 2, inf],
        [0.0],
        [1e3, -1e3],
    ]
    for start in (0, 1, inf, -inf, nan):
        value = np.array([one for case in cases for one in case], dtype)
        places = np.array([place for place, case in enumerate(cases) for _ in case])
        host = np.full(len(cases) + 1, start, dtype)
        with xp.use(runtime), np.errstate(invalid="ignore"):
            x = xp.asarray(host)
            xp.add_at(x, places, value, deterministic=deterministic)
            np.add.at(host, places, value)
            assert_same(x.numpy(), host, zeros=False)


def test_an_overflow_is_infinite_and_halves_are_rounded_once(runtime: InterpretedRuntime) -> None:
    with xp.use(runtime):
        x = xp.zeros(2, dtype="f4")
        xp.add_at(x, np.array([0, 0, 1, 1]), np.array([3e38, 3e38, -3e38, -3e38], "f4"))
        assert_same(x.numpy(), np.array([np.inf, -np.inf], "f4"))
        x = xp.zeros(1, dtype="f2")
        xp.add_at(x, np.zeros(4096, "i4"), xp.ones(4096, dtype="f2"))
        assert_same(x.numpy(), np.array([4096], "f2"))  # one by one, 2048 + 1 is 2048


def test_any_order_is_by_atomic_operations_of_floats(runtime: InterpretedRuntime) -> None:
    host = np.random.default_rng(0).integers(-9, 9, 300).astype("f4")
    places = np.random.default_rng(1).integers(0, 5, 300)
    with xp.use(runtime):
        x = xp.zeros(5, dtype="f4").compute()
        before = len(runtime.launched)
        xp.add_at(x, xp.asarray(places), xp.asarray(host), deterministic=False)
        expected = np.zeros(5, "f4")
        np.add.at(expected, places, host)
        assert_same(x.numpy(), expected, zeros=False)
        assert len(runtime.launched) - before == 1


def test_errors(runtime: InterpretedRuntime) -> None:
    with xp.use(runtime):
        x = xp.zeros(3, dtype="i4")
        with pytest.raises(TypeError, match=r"add_at of float32 to int32[^$]*remedy: convert what is added"):
            xp.add_at(x, [0], xp.ones(1, dtype="f4"))
        with pytest.raises(TypeError, match="add_at of float to int32"):
            xp.add_at(x, 0, 0.5)
        with pytest.raises(TypeError, match="add_at to ndarray"):
            xp.add_at(np.zeros(3), [0], 1)  # type: ignore[arg-type]
        with pytest.raises(IndexError, match="index 3 is out of bounds"):
            xp.add_at(x, [3], 1)
        with pytest.raises(ValueError, match="writing shape"):
            xp.add_at(x, [0, 1], [1, 2, 3])


def test_devices_without_64_bit_atomics() -> None:
    with xp.use(InterpretedRuntime(Target(atomics64=False))):
        for dtype, deterministic, remedy in (
            ("f4", True, r"remedy: say add_at\(…, deterministic=False\)"),
            ("f2", True, r"remedy: say add_at\(…, deterministic=False\)"),
            ("f8", True, r"remedy: convert to float32, and say add_at\(…, deterministic=False\)"),
            ("f8", False, "remedy: convert to float32"),
            ("i8", True, "remedy: use 32-bit integers"),
        ):
            x = xp.zeros(3, dtype=dtype)
            with pytest.raises(TypeError, match=f"without 64-bit atomics[^$]*{remedy}"):
                xp.add_at(x, [0], 1, deterministic=deterministic)
            xp.add_at(x, 0, 1)  # as x[0] += 1
            xp.add_at(x, slice(1, 3), 2)
            assert_same(x.numpy(), np.array([1, 2, 2], dtype))
        for dtype in ("f4", "f2", "i4", "u1", "?"):
            x = xp.zeros(3, dtype=dtype)
            xp.add_at(x, [0, 2], xp.ones(2, dtype=dtype), deterministic=False)
            assert_same(x.numpy(), np.array([1, 0, 1], dtype))


@given(data=st.data())
@settings(QUICK, max_examples=8)  # thousands of elements each
def test_tables_of_groups(runtime: InterpretedRuntime, data: st.DataObject) -> None:
    """Many addends, at few places (a table has all) or at many (it is a cache): random, sorted, constant, skewed."""
    dtype = data.draw(st.sampled_from(["i4", "u4", "i8", "?", "i1"]))
    size = data.draw(st.sampled_from([1, 7, 300, 5000]))
    shape = data.draw(st.sampled_from([(1100,), (1600,), (3001,), (37, 40)]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    places = rng.integers(-size, size, shape)
    match data.draw(st.sampled_from(["random", "sorted", "constant", "half", "same slot"])):
        case "sorted":
            places = np.sort(places, axis=None).reshape(shape)
        case "constant":
            places[...] = size - 1
        case "half":
            places[rng.random(shape) < 0.5] = 0
        case "same slot":  # far more places of one slot than the cache has for it
            places = places // 1000 * 1000 % size
    ones = data.draw(st.booleans()) and dtype != "?"
    value = np.ones(shape, dtype) if ones else rng.integers(0, 100, shape).astype(dtype)
    host = rng.integers(0, 100, size).astype(dtype)
    key = data.draw(st.sampled_from([np.s_[:], np.s_[::-1]]))
    runtime.launched.clear()
    with xp.use(runtime):
        x = xp.asarray(host)
        xp.add_at(x, xp.asarray(places)[key], 1 if ones else xp.asarray(value)[key])
        expected = host.copy()
        np.add.at(expected, places, value)
        assert_same(x.numpy(), expected)
    scatter = next(launch.kernel for launch in runtime.launched if "scatter" in launch.kernel.name)
    tables = [stmt for stmt in walk(scatter.body) if isinstance(stmt, Array) and stmt.pointer.type.space == "local"]
    assert len(tables) == (1 if size <= 4096 else 2 if runtime.target.kind == "gpu" else 0)
