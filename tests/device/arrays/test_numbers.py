"""Numbers in long expressions: those of one line, as of a loop, are one argument of a kernel if all are equal."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.kernel.printer import text
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.plan.cache import known_lines
from ocl_runtime.plan.planner import plan
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same, counting

HOST = np.linspace(0.5, 1.5, 60, dtype="f4").reshape(3, 20)


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


def mandelbrot(xp: Any, re: Any, im: Any, turns: int) -> Any:
    x, y, count = re * 0, re * 0, re * 0
    re, im = re * 3 - 2, im * 2 - 1
    for _ in range(turns):
        inside = x * x + y * y < 4
        count = count + inside
        x, y = xp.where(inside, x * x - y * y + re, x), xp.where(inside, 2 * x * y + im, y)
    return count


def test_fifty_turns_are_a_few_kernels(runtime: Runtime) -> None:
    re, im = np.meshgrid(np.linspace(0, 1, 64, dtype="f4"), np.linspace(0, 1, 48, dtype="f4"))
    arrays = ocl.asarray(re), ocl.asarray(im)
    runtime.finish()
    counters = runtime.executor.engine.memory.device_pool.counters
    before = counters.peak_in_use = counters.in_use
    with counting(runtime) as counted:
        found = mandelbrot(ocl, *arrays, 50).numpy()
    assert counted["launch", "launches"] <= 3
    handed_on = counters.peak_in_use - before
    assert handed_on <= 3.1 * re.nbytes, "the first kernel hands on what a turn does, and nothing that is made of it"
    near = np.abs(found - mandelbrot(np, re, im, 50)) > 0
    assert near.mean() < 0.005, "products may be rounded otherwise where a point is at the edge"


def scaled(x: Any, numbers: Sequence[float]) -> Any:
    for number in numbers:
        x = x * number + 1
    return x


def test_numbers_of_one_line_that_are_not_equal(runtime: Runtime) -> None:
    """All equal or not: two plans at most, and the values are right for each."""
    x, rng = ocl.asarray(HOST), np.random.default_rng(0)
    with counting(runtime) as counted:
        for turn in range(20):
            numbers = [0.5] * 30 if turn % 3 == 0 else rng.choice([0.5, 0.25, 1.0], 30).tolist()
            np.testing.assert_allclose(scaled(x, numbers).numpy(), scaled(HOST, numbers), rtol=1e-5)
    assert counted["plan", "misses"] == 2


def test_results_that_are_equal_by_their_numbers_have_memory_of_their_own(runtime: Runtime) -> None:
    x = ocl.asarray(HOST)
    states = [x * 2.0 + 1.0 for _ in range(12)]
    ocl.compute(*states)
    for number, state in enumerate(states):
        ocl.compute_into(state, x * float(number))
    for number, state in enumerate(states):
        assert_same(state.numpy(), HOST * np.float32(number))


def test_numbers_of_many_lines_that_differ_at_times(runtime: Runtime) -> None:
    """A line whose numbers have differed is looked at no more: else there were a plan for each choice of lines."""

    def layer(x: Any, p: Sequence[float]) -> Any:
        for turn in range(0, 40, 5):
            x = x * p[turn]
            x = x + p[turn + 1]
            x = x * p[turn + 2]
            x = x + p[turn + 3]
            x = x * p[turn + 4]
        return x

    x, rng = ocl.asarray(HOST), np.random.default_rng(0)
    with counting(runtime) as counted:
        for _ in range(30):
            same = rng.integers(0, 2, 5)  # of these lines the numbers are equal
            rows = [[0.5] * 5 if turn else rng.choice([0.5, 0.25], 5).tolist() for turn in range(8)]
            p = [0.5 if same[place] else row[place] for row in rows for place in range(5)]
            np.testing.assert_allclose(layer(x, p).numpy(), layer(HOST, np.float32(p)), rtol=1e-4)
    assert counted["plan", "misses"] <= 6


@pytest.mark.parametrize("worth", [1, 10**9], ids=["by function", "the general way"])
def test_signs_of_zero_and_nan(runtime: Runtime, monkeypatch: pytest.MonkeyPatch, worth: int) -> None:
    monkeypatch.setattr(known_lines, "WORTH", worth)
    x = ocl.asarray(HOST)

    def divided(numbers: Sequence[float]) -> np.ndarray:
        total: Any = x * 0
        for number in numbers:
            total = ocl.maximum(total, ocl.copysign(x, number))
        return total.numpy()

    for numbers in [[2.0] * 20, [0.0] * 20, [-0.0] * 20, [0.0] * 19 + [-0.0], [-0.0] * 19 + [0.0], [math.nan] * 20] * 3:
        expected = np.zeros_like(HOST)
        for number in numbers:
            expected = np.maximum(expected, np.copysign(HOST, np.float32(number)))
        assert_same(divided(numbers), expected)


def test_of_two_dtypes_and_shapes(runtime: Runtime) -> None:
    x, k = ocl.asarray(HOST), ocl.asarray(np.arange(20, dtype="i4"))

    def both(xp: Any, x: Any, k: Any) -> Any:
        for _ in range(12):
            x, k = [value * 3 - 2 * value for value in (x, k)]
        return x + k

    np.testing.assert_array_equal(both(ocl, x, k).numpy(), both(np, HOST, np.arange(20, dtype="i4")))


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_short_powers_are_numpys(dtype: str, runtime: Runtime) -> None:
    if dtype == "f8" and not runtime.device.capabilities.fp64:
        pytest.skip("the device has no float64")
    host = np.array([0.0, -0.0, 1, -3, 1e-4, 77, np.inf, -np.inf, np.nan, *np.linspace(0.1, 9, 100)], dtype)
    x = ocl.asarray(host)
    with np.errstate(all="ignore"):
        for exponent in (2, 2.0, 0.5, -1):
            # NumPy's function makes roots and reciprocals too, if it is new, but for the roots of halves.
            for power in (x**exponent, ocl.pow(x, exponent)):
                assert_same(power.numpy(), host**exponent)
        for exponent in (3, 4):
            exact = host.astype(np.longdouble) ** exponent
            found, near = (x**exponent).numpy(), exact.astype(dtype)
            ordinary = np.isfinite(near)
            np.testing.assert_array_equal(found[~ordinary], near[~ordinary])
            error = np.abs(found[ordinary] - exact[ordinary]) / np.spacing(np.abs(near[ordinary]))
            assert error.max() < 2, "16 is what pow may have"


@pytest.mark.parametrize("dtype", ["u1", "i4", "i8"])
def test_short_powers_of_integers_wrap(dtype: str, runtime: Runtime) -> None:
    host = np.arange(-50, 50).astype(dtype)
    x = ocl.asarray(host)
    for exponent in (2, 3, 4):
        assert_same((x**exponent).numpy(), host**exponent)
    with pytest.raises(DTypeError, match="negative power -1"):
        x**-1


def test_short_powers_do_without_pow(runtime: Runtime) -> None:
    x = ocl.asarray(HOST)

    def kernel(y: ocl.Array) -> str:
        (launch,) = plan([y._node], runtime.executor).launches
        return text(launch.kernel)

    assert re.findall(r"= (\w+) ", kernel(x**2 + x**3 + x**4 + x**0.5 + x**-1)).count("pow") == 0
    assert re.findall(r"= (\w+) ", kernel(x**2.5)).count("pow") == 2, "in lanes, and at the end"


@pytest.mark.parametrize("dtype", ["u1", "u4", "u8"])
def test_magnitudes_of_unsigned_integers_are_themselves(runtime: Runtime, dtype: str) -> None:
    """Intel's compiler takes what is negated under OpenCL's `abs` for what it was before."""
    host = np.array([5, 3, 0, 77], dtype)
    with ocl.use(runtime):
        np.testing.assert_array_equal(ocl.abs(-ocl.asarray(host)).numpy(), np.abs(-host))
