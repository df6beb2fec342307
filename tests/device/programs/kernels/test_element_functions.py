"""Functions of elements are operations of arrays: fused, broadcast, over any axes, and read anew when names change."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.errors import DTypeError, Error, ShapeError
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.language import clamp, float32, global_id, hypot, maximum
from ocl_runtime.runtime import Runtime
from tests.support.arrays import counting

FACTOR = 2


@ocl.elementwise
def smooth_step(x, low, high):
    t = clamp((x - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


@ocl.elementwise
def escape(real, imaginary, limit):
    x = y = float32(0)
    turns = 0
    while turns < limit and x * x + y * y < 4:
        x, y = x * x - y * y + real, 2 * x * y + imaginary
        turns += 1
    return turns


@ocl.elementwise
def polar(x, y):
    return hypot(x, y), x > y


@ocl.elementwise
def scaled(x):
    return x * FACTOR


@ocl.reduction(0)
def farthest(a, b):
    return a if a * a > b * b else b


@ocl.reduction(0, map=lambda x, y: x * y)
def inner(a, b):
    return a + b


@ocl.scan(-math.inf)
def running_max(a, b):
    return maximum(a, b)


def smooth(values: Any, low: float, high: float) -> Any:
    t = np.clip((values - np.float32(low)) / np.float32(high - low), 0, 1)
    return t * t * (3 - 2 * t)


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


@pytest.fixture(scope="module")
def values() -> Any:
    return np.random.default_rng(0).random((60, 41), dtype=np.float32) * 3 - 1


def test_a_map_is_fused_with_what_is_around_it(runtime: Runtime, values: Any) -> None:
    x = ocl.asarray(values)
    with counting(runtime) as counted:
        result = (smooth_step(x + 1, 0.0, 2.0) * 2 + x).numpy()
    assert counted.growth["launch", "launches"] == 1
    np.testing.assert_allclose(result, smooth(values + 1, 0, 2) * 2 + values, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int16])
def test_a_map_of_dtypes_and_shapes(dtype: Any) -> None:
    row = (np.arange(13) * 0.3).astype(dtype)
    column = np.linspace(0, 1, 5, dtype=np.float32)[:, None]
    result = smooth_step(ocl.asarray(row), ocl.asarray(column), 3)
    expected = smooth_step.function
    assert result.shape == (5, 13)
    wanted = [[expected(np.float32(x), c, 3) for x in row] for c in column[:, 0]]
    np.testing.assert_allclose(result.numpy(), wanted, rtol=2e-6, atol=1e-6)


def test_a_map_with_a_loop_and_one_with_two_results() -> None:
    real, imaginary = np.meshgrid(np.linspace(-2, 1, 40, dtype=np.float32), np.linspace(-1, 1, 30, dtype=np.float32))
    turns = escape(ocl.asarray(real), ocl.asarray(imaginary), 30)
    x, y, expected = np.zeros_like(real), np.zeros_like(real), np.zeros(real.shape, int)
    for _ in range(30):
        inside = x * x + y * y < 4
        expected += inside
        x, y = np.where(inside, x * x - y * y + real, x), np.where(inside, 2 * x * y + imaginary, y)
    np.testing.assert_array_equal(turns.numpy(), expected)
    length, above = polar(ocl.asarray(real), ocl.asarray(imaginary))
    np.testing.assert_allclose(length.numpy(), np.hypot(real, imaginary), rtol=1e-6)
    np.testing.assert_array_equal(above.numpy(), real > imaginary)


def test_numbers_alone_are_what_python_makes_of_them() -> None:
    assert smooth_step(0.5, 0, 1) == 0.5


def test_a_global_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    x = ocl.asarray(np.arange(4, dtype=np.float32))
    assert scaled(x).tolist() == [0, 2, 4, 6]
    monkeypatch.setitem(scaled.function.__globals__, "FACTOR", 5)
    assert scaled(x).tolist() == [0, 5, 10, 15]


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_a_reduction_over_axes(values: Any, axis: Any) -> None:
    result = farthest(ocl.asarray(values) - 0.4, axis=axis).numpy()
    shifted = values - np.float32(0.4)
    moved = shifted.reshape(-1) if axis in {None, (0, 1)} else np.moveaxis(shifted, axis, 0)
    indices = np.abs(moved).argmax(0)
    wanted = moved[indices] if moved.ndim == 1 else np.take_along_axis(moved, indices[None], 0)[0]
    np.testing.assert_array_equal(np.abs(result), np.abs(wanted))


def test_reductions_of_nothing_of_several_and_in_one_kernel(runtime: Runtime, values: Any) -> None:
    assert farthest(ocl.zeros((0,))).item() == 0
    x, y = values, values[::-1].copy()
    assert inner(ocl.asarray(x), ocl.asarray(y)).item() == pytest.approx(float((x * y).sum()), rel=1e-5)
    z = ocl.asarray(values)
    with counting(runtime) as counted:
        farthest(smooth_step(z, 0.0, 1.0), axis=1).numpy()
    assert counted.growth["launch", "launches"] == 1


@pytest.mark.parametrize("axis", [0, 1])
def test_a_scan(values: Any, axis: int) -> None:
    result = running_max(ocl.asarray(values), axis=axis)
    np.testing.assert_array_equal(result.numpy(), np.maximum.accumulate(values, axis=axis))


def test_maps_are_captured(values: Any) -> None:
    @ocl.capture
    def twice(x: Any, low: float) -> Any:
        return smooth_step(smooth_step(x, low, 1.0), 0.0, 1.0)

    for low in (0.0, 0.25):
        wanted = smooth(smooth(values, low, 1), 0, 1)
        np.testing.assert_allclose(twice(ocl.asarray(values), low).numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_what_is_no_function_of_elements_is_refused() -> None:
    @ocl.elementwise
    def placed(x):
        return x + global_id(0)

    @ocl.reduction(0)
    def widened(a, b):
        return (a + b) * 0.5

    x = ocl.asarray(np.arange(3))
    with pytest.raises(Error, match="asks for its place"):
        placed(x)
    with pytest.raises(DTypeError, match="joins two numbers of int64 to float32"):
        widened(x)
    with pytest.raises(ShapeError):
        smooth_step(ocl.zeros(3), ocl.zeros(4), 1.0)


@ocl.reduction((-math.inf, -1))
def largest_at(a, b):
    if a[0] > b[0] or (a[0] == b[0] and a[1] < b[1]):
        return a
    return b


@ocl.reduction((math.inf, -math.inf), map=lambda x: (x, x))
def extent(a, b):
    return min(a[0], b[0]), max(a[1], b[1])


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("keepdims", [False, True])
def test_a_reduction_of_tuples(values: Any, axis: Any, keepdims: bool) -> None:
    numbers = np.arange(values.size, dtype=np.int32).reshape(values.shape)
    largest, at = largest_at(ocl.asarray(values), ocl.asarray(numbers), axis=axis, keepdims=keepdims)
    np.testing.assert_array_equal(largest.numpy(), values.max(axis=axis, keepdims=keepdims))
    indices = values.argmax(axis=axis, keepdims=keepdims)
    wanted = np.take_along_axis(
        numbers.reshape(-1) if axis is None else numbers,
        np.asarray(indices).reshape(
            -1 if axis is None else indices.shape if keepdims else np.expand_dims(indices, axis).shape
        ),
        axis or 0,
    )
    np.testing.assert_array_equal(at.numpy().reshape(-1), wanted.reshape(-1))


@pytest.mark.parametrize("shape", [(100_003,), (3, 70_001), (1000, 3)])
def test_a_reduction_of_tuples_in_parts(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(3).random(shape, dtype=np.float32)
    low, high = extent(ocl.asarray(values), axis=-1)
    np.testing.assert_array_equal(low.numpy(), values.min(-1))
    np.testing.assert_array_equal(high.numpy(), values.max(-1))


def test_a_reduction_of_tuples_of_nothing_and_of_too_few() -> None:
    low, high = extent(ocl.zeros((4, 0)), axis=1)
    assert low.tolist() == [math.inf] * 4
    assert high.tolist() == [-math.inf] * 4
    with pytest.raises(DTypeError, match="joins tuples of 2 numbers, and starts from 1"):
        largest_at(ocl.zeros(3))


def test_joins_of_what_they_do_not_take() -> None:
    @ocl.reduction(0)
    def total(a, b):
        return a + b

    @ocl.scan(0)
    def running(a, b):
        return a + b

    x = ocl.ones(3, dtype=np.float32)
    for joined in (total, total.interpret):
        with pytest.raises(Error, match="joins the elements of one array, and got 2 operands"):
            joined(x, 0)
    for joined in (total, total.interpret, running, running.interpret):
        with pytest.raises(DTypeError, match=r"of array\(\[1\., 1\., 1\.\]"):
            joined(np.ones(3))
