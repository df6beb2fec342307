"""Reductions against NumPy, by the interpreter of kernel IR, which reports races: rows in registers and in loops, teams
that share a group, columns of teams, results in parts, and results that are written over what they are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import ocl_runtime.arrays as xp
from ocl_runtime.arrays.array import Array
from ocl_runtime.plan.fusion.values import Fold
from ocl_runtime.plan.kernels import reduce
from ocl_runtime.plan.kernels.reduce_kernel import ReduceForm
from ocl_runtime.plan.target import Target
from ocl_runtime.programs.kernels.element_functions import reduction
from tests.support.arrays import DTYPES, ordinary
from tests.support.interpreted import InterpretedRuntime

QUICK = settings(
    max_examples=max(1, settings.default.max_examples // 6),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
TARGETS = {
    "gpu": Target(kind="gpu", compute_units=1, group_size=4, large_group_size=8),
    "teams": Target(kind="gpu", compute_units=2, group_size=32),
    "half": Target(kind="gpu", compute_units=1, group_size=16, fp16=True),
    "cpu": Target(kind="cpu", compute_units=2, group_size=4, vector_bytes=64),
}


@pytest.fixture(params=TARGETS)
def runtime(request: pytest.FixtureRequest) -> InterpretedRuntime:
    return InterpretedRuntime(TARGETS[request.param])


SHAPES = st.one_of(
    st.tuples(st.integers(1, 9), st.sampled_from([1, 2, 3, 4, 5, 16, 31, 32, 33, 60, 64, 65, 127, 128, 200, 300])),
    st.tuples(st.sampled_from([1, 7, 33, 64, 100, 257]), st.sampled_from([1, 2, 3, 4, 8, 12, 33])),
    st.tuples(st.integers(1, 3), st.sampled_from([5, 40, 70]), st.sampled_from([1, 3, 4, 16])),
)


@st.composite
def operands(draw: st.DrawFn) -> tuple[np.ndarray, Any, int | None]:
    """An array, what of it is looked at, and an axis of that."""
    host = ordinary(draw(st.sampled_from(DTYPES)), *draw(SHAPES), seed=draw(st.integers(0, 9)))
    key = draw(st.sampled_from([np.s_[...], np.s_[::-1], np.s_[..., ::2], np.s_[..., 1:], np.s_[:, ::-1]]))
    view = host[key]
    return host, key, draw(st.sampled_from([None, *range(-view.ndim, view.ndim)]))


def special(host: np.ndarray, seed: int) -> np.ndarray:
    """The same with some of NaN, the infinities and -0.0."""
    rng = np.random.default_rng(seed)
    if host.dtype.kind == "f" and host.size:
        host.flat[rng.integers(host.size, size=1 + host.size // 8)] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
    return host


@given(operand=operands(), seed=st.integers(0, 99))
@QUICK
def test_reductions_are_numpys(runtime: InterpretedRuntime, operand: Any, seed: int) -> None:
    host, key, axis = operand
    host = special(host, seed)[key]
    if not host.size:
        return
    with xp.use(runtime), np.errstate(all="ignore"):
        x = xp.asarray(special(operand[0], seed))[key]
        for name in ("max", "min") if host.dtype.kind != "b" else ():
            found = getattr(xp, name)(x, axis=axis).numpy()
            np.testing.assert_array_equal(found, getattr(np, name)(host, axis))
        for name in ("argmax", "argmin"):
            found = getattr(xp, name)(x, axis=axis).numpy()
            np.testing.assert_array_equal(found, getattr(np, name)(host, axis))
        np.testing.assert_array_equal(xp.sum(x == 1, axis=axis).numpy(), np.sum(host == 1, axis))
        if host.dtype.kind in "iu":
            np.testing.assert_array_equal(xp.sum(x, axis=axis).numpy(), np.sum(host, axis))


def normalised(x: Any, np_: Any, axis: int) -> Any:
    """Three phases, the last of which stores elements."""
    centred = x - np_.mean(x, axis=axis, keepdims=True)
    return centred / (1 + np_.mean(centred**2, axis=axis, keepdims=True)) + np_.max(x, axis=axis, keepdims=True)


@given(operand=operands())
@QUICK
def test_rows_are_read_again(runtime: InterpretedRuntime, operand: Any) -> None:
    host, key, axis = operand[0].astype("f4"), operand[1], operand[2] or 0
    if not host[key].size:
        return
    with xp.use(runtime):
        x = xp.asarray(host)[key]
        found = normalised(x, xp, axis).numpy()
        np.testing.assert_allclose(found, normalised(host[key].astype("f8"), np, axis), rtol=1e-4, atol=1e-4)


@given(operand=operands())
@QUICK
def test_results_are_written_over_operands(runtime: InterpretedRuntime, operand: Any) -> None:
    """What nobody needs any more is written over, in teams and in registers; races are reported."""
    host, axis = operand[0].astype("f4"), operand[2] or 0
    axis = min(axis, host.ndim - 1) if axis >= 0 else max(axis, -host.ndim)
    with xp.use(runtime):
        x = xp.asarray(host) + 1
        x.compute()
        x = normalised(x, xp, axis)
        x.compute()
        np.testing.assert_allclose(x.numpy(), normalised(host.astype("f8") + 1, np, axis), rtol=1e-4, atol=1e-4)


@given(operand=operands())
@QUICK
def test_fused_and_unfused_are_the_same_bits(runtime: InterpretedRuntime, operand: Any) -> None:
    host, key, axis = operand[0].astype("f4") / 3, operand[1], operand[2]
    with xp.use(runtime):
        x = xp.asarray(host)[key]
        fused = xp.sum(x * 1.1 - 0.3, axis=axis).numpy()
        apart: Array = x * 1.1 - 0.3
        apart.compute()
        assert fused.tobytes() == xp.sum(apart, axis=axis).numpy().tobytes()
        if not x.size:
            return  # there is no greatest element
        both = xp.sum(apart, axis=axis) + xp.max(apart, axis=axis)  # another kernel, with two of them
        assert both.numpy().tobytes() == (fused + xp.max(apart, axis=axis).numpy()).tobytes()


@reduction(0)
def longest(a: Any, b: Any) -> Any:
    return a if a * a >= b * b else b


@given(operand=operands())
@QUICK
def test_reductions_of_programs_are_joined_by_teams(runtime: InterpretedRuntime, operand: Any) -> None:
    host, key, axis = operand[0].astype("f4"), operand[1], operand[2]
    if not host[key].size:
        return
    with xp.use(runtime):
        found = longest(xp.asarray(host)[key], axis=axis).numpy()
    np.testing.assert_array_equal(abs(found), np.max(abs(host[key]), axis))


@pytest.mark.parametrize("name", ["gpu", "teams"])  # of groups of 4 and 8 a work-item has up to 16 vectors
@given(length=st.integers(33, 512), dtype=st.sampled_from(["f2", "f4", "f8"]), seed=st.integers(0, 99))
@example(length=200, dtype="f4", seed=0)  # 4 vectors by turns in 4 accumulators, 3 in the first one
@example(length=240, dtype="f4", seed=0)  # an eighth that some do not have goes to the first one, too
@QUICK
def test_rows_of_all_lengths_are_held_and_looped_alike(name: str, length: int, dtype: str, seed: int) -> None:
    host = ordinary(dtype, 2, length, seed=seed) / 3
    found: list[list[bytes]] = []
    with pytest.MonkeyPatch.context() as patched, np.errstate(all="ignore"):
        for _ in range(2):
            runtime = InterpretedRuntime(TARGETS[name])
            with xp.use(runtime):
                x = xp.asarray(host)
                results = [normalised(x, xp, -1), xp.prod(x, axis=-1), xp.sum(x, axis=-1), xp.argmin(x, axis=-1)]
                xp.compute(*results)
                found.append([result.numpy().tobytes() for result in results])
            patched.setattr(reduce, "held", lambda form, elements: None)
    assert not any(form.held for form in forms(runtime))
    assert found[0] == found[1]


def forms(runtime: InterpretedRuntime) -> list[ReduceForm]:
    return [form for form in runtime.kernels._kernels if isinstance(form, ReduceForm)]


def test_rows_are_held_and_looped_alike() -> None:
    """The same sums, whether a row is in registers or, beside something that takes too many, gone through in a loop."""
    runtime = InterpretedRuntime(TARGETS["teams"])
    host = ordinary("f4", 3, 515, seed=1) / 3
    with xp.use(runtime):
        x = xp.asarray(host)
        in_registers = xp.sum(x, axis=1).numpy()
        many = x
        for number in range(70):
            many = xp.abs(many) + number
        looped = xp.sum(x, axis=1)
        xp.compute(looped, xp.max(many, axis=1))
        assert in_registers.tobytes() == looped.numpy().tobytes()
    assert [form.held is not None for form in forms(runtime)] == [True, False]


@pytest.mark.parametrize(
    ("shape", "team", "teams", "held"),
    [((40, 64), 8, 4, (2, True, 0)), ((40, 100), 8, 4, (4, False, 0)), ((3, 519), 32, 1, (5, False, 1))],
)
def test_how_rows_are_held(shape: tuple[int, int], team: int, teams: int, held: tuple[int, bool, int]) -> None:
    runtime = InterpretedRuntime(TARGETS["teams"])
    with xp.use(runtime):
        x = xp.asarray(ordinary("f4", *shape))
        normalised(x, xp, 1).compute()
    (form,) = forms(runtime)
    assert (form.team, form.teams, form.held) == (team, teams, held)
    assert len(runtime.launched) == 1


def test_teams_of_columns_store_once() -> None:
    runtime = InterpretedRuntime(TARGETS["teams"])
    host = ordinary("f4", 100, 12)
    with xp.use(runtime):
        found = xp.sum(xp.asarray(host), axis=0).numpy()
        np.testing.assert_allclose(found, host.sum(0), rtol=1e-5)
    form = forms(runtime)[0]
    assert (form.way, form.team, form.lanes) == ("columns", 16, 4)


def test_argmax_is_one_reduction() -> None:
    runtime = InterpretedRuntime(TARGETS["teams"])
    with xp.use(runtime):
        x = xp.asarray(ordinary("f4", 5, 64))
        xp.argmax(x, axis=1).compute()
    assert len(runtime.launched) == 1
    assert [sum(isinstance(value, Fold) for value in form.values) for form in forms(runtime)] == [1]


def test_a_row_of_a_normalisation_counts_once() -> None:
    """What is centred takes the place of what was read: 16 vectors of each row are held, the most that there may be."""
    runtime = InterpretedRuntime(TARGETS["gpu"])
    with xp.use(runtime):
        x = xp.asarray(ordinary("f4", 2, 512))
        centred = x - xp.mean(x, axis=1, keepdims=True)
        (centred / (1 + xp.mean(centred**2, axis=1, keepdims=True))).compute()
    (form,) = forms(runtime)
    assert (form.team, form.lanes, form.held) == (8, 4, (16, True, 0))


LARGE = Target(kind="gpu", compute_units=1, group_size=256, largest_group_size=1024)


@pytest.mark.parametrize("shape", [(1024, 32), (1303, 64), (2, 1040, 32)])
def test_columns_of_largest_groups_take_one_launch(shape: tuple[int, ...]) -> None:
    """And so do phases, which would be two kernels each with parts."""
    host, axis = ordinary("f4", *shape, seed=2) / 3, len(shape) - 2
    launches = []
    for target in (LARGE, replace(LARGE, largest_group_size=0)):
        runtime = InterpretedRuntime(target)
        with xp.use(runtime):
            x = xp.asarray(host)
            result, total = normalised(x, xp, axis), xp.sum(x, axis=axis)
            xp.compute(result, total)
            launches.append(len(runtime.launched))
            exact = host.astype("f8")
            np.testing.assert_allclose(result.numpy(), normalised(exact, np, axis), rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(total.numpy(), np.sum(exact, axis), rtol=1e-4, atol=1e-4)
            x = x + 1
            x.compute()
            x = normalised(x, xp, axis)
            x.compute()
            if target is LARGE:
                assert any(not form.restrict for form in forms(runtime)), "it was written over what it is made of"
            np.testing.assert_allclose(x.numpy(), normalised(exact + 1, np, axis), rtol=1e-4, atol=1e-4)
    assert launches[0] == 1 < launches[1]


def test_columns_of_largest_groups_have_the_same_bits_fused() -> None:
    host = ordinary("f4", 1100, 64, seed=3) / 3
    with xp.use(InterpretedRuntime(LARGE)):
        x = xp.asarray(host)
        scaled = (x * 1.1).compute()
        fused, apart = xp.sum(x * 1.1, axis=0), xp.sum(scaled, axis=0)
        assert fused.numpy().tobytes() == apart.numpy().tobytes()
        halves = xp.asarray(host.astype("f2"))
        converted = halves.astype(xp.float32).compute()
        fused, before = xp.sum(halves.astype(xp.float32), axis=0), xp.sum(converted, axis=0)
        assert fused.numpy().tobytes() == before.numpy().tobytes()
        crowded = [xp.sum(scaled * number, axis=0) for number in range(1, 8)]  # in smaller groups, of fewer lanes
        xp.compute(*crowded)
        assert crowded[0].numpy().tobytes() == apart.numpy().tobytes()
