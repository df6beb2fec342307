"""Launching kernels in Python: sizes, modes, outputs, shared memory, and arrays that are not computed yet."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.errors import DTypeError, Error, IndexingError, KernelAssertionError, KernelError, ShapeError
from ocl_runtime.language import (
    Array1,
    Array2,
    Constant,
    barrier,
    float32,
    global_id,
    global_size,
    group_id,
    local_array,
    local_id,
    local_size,
    num_groups,
    position,
)
from tests.support.three_ways import function_from

MODES = ["interpret", "checked", "unchecked"]


def array(*values: float, dtype: Any = np.float32) -> ocl.Array:
    return ocl.asarray(np.array(values, dtype))


def numbers(count: int) -> ocl.Array:
    return ocl.asarray(np.arange(count, dtype=np.float32))


@ocl.kernel
def scale(x, y, a):
    i = global_id(0)
    y[i] = x[i] * a


@ocl.kernel
def places(y):
    i, j = position()
    y[i, j] = i * 100 + j


@ocl.kernel(local=4)
def shape_of_the_launch(y):
    y[0] = global_size(0)
    y[1] = local_size(0)
    y[2] = num_groups(0)


# ---------------------------------------------------------------------- sizes


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 63, 64, 65, 1000])
def test_just_the_work_items_that_were_asked_for_run(mode: str, count: int) -> None:
    y = ocl.asarray(np.full(1100, -1, np.float32))
    getattr(scale, mode)[count](numbers(1100), y, 2.0)
    expected = np.where(np.arange(1100) < count, np.arange(1100) * 2.0, -1)
    np.testing.assert_array_equal(y.numpy(), expected)


@pytest.mark.parametrize("mode", MODES)
def test_dimension_0_is_the_last_axis_of_positions(mode: str) -> None:
    y = ocl.asarray(np.zeros((3, 5), np.int32))
    getattr(places, mode)[5, 3](y)
    np.testing.assert_array_equal(y.numpy(), np.arange(3)[:, None] * 100 + np.arange(5))


def test_group_sizes() -> None:
    for launch, expected in {
        shape_of_the_launch[12]: (12, 4, 3),
        shape_of_the_launch[12, (6,)]: (12, 6, 2),
        shape_of_the_launch.groups[5]: (20, 4, 5),
        shape_of_the_launch.groups[5, (2,)]: (10, 2, 5),
        shape_of_the_launch[10]: (10, 4, 3),
    }.items():
        y = ocl.asarray(np.zeros(3, np.int32))
        launch(y)
        assert tuple(y.numpy()) == expected


def test_over_an_array() -> None:
    @ocl.kernel(over="y")
    def kernel(x, y):
        i, j = position()
        y[i, j] = x[j, i]

    x, y = ocl.asarray(np.arange(12, dtype=np.float32).reshape(3, 4)), ocl.asarray(np.zeros((4, 3), np.float32))
    kernel(x, y)
    np.testing.assert_array_equal(y.numpy(), x.numpy().T)
    kernel.checked(x[:2], y[:, :2])
    with pytest.raises(ShapeError, match="runs over y, which has 0 axes"):
        kernel(x, y.sum())


def test_a_dimension_that_nobody_asks_for() -> None:
    with pytest.raises(ShapeError, match=r"launched over \(8, 4\), and asks only for dimension 0"):
        scale[8, 4](numbers(8), numbers(8), 1.0)
    scale[8, 1](numbers(8), numbers(8), 1.0)


@pytest.mark.parametrize("mode", MODES)
def test_groups_that_wait_are_whole(mode: str) -> None:
    @ocl.kernel(local=8)
    def kernel(y):
        part = local_array(8, float32)
        part[local_id(0)] = group_id(0)
        barrier()
        y[global_id(0)] = part[7 - local_id(0)]

    y = ocl.asarray(np.zeros(16, np.float32))
    getattr(kernel, mode)[16](y)
    assert list(y.numpy()) == [0] * 8 + [1] * 8
    with pytest.raises(ShapeError, match=r"12 is not a multiple of the group size 8(.|\n)*launch 16"):
        getattr(kernel, mode)[12](y)


# ---------------------------------------------------------------------- modes


def test_checked_mode_reports_and_stores_nothing_more() -> None:
    @ocl.kernel
    def kernel(x, y):
        i = global_id(0)
        y[i] = 1
        y[i] = x[i + 5] + 2

    y = ocl.asarray(np.zeros(8, np.float32))
    with pytest.raises(IndexingError, match="index 8 on axis 0 of x, whose length there is 8"):
        kernel.checked[8](numbers(8), y)
    assert list(y.numpy()) == [7, 8, 9, 1, 1, 1, 1, 1]


def test_assertions_hold_in_checked_and_interpret_modes_only() -> None:
    @ocl.kernel
    def kernel(x, y):
        i = global_id(0)
        assert x[i] < 3, "large"
        y[i] = x[i]

    for mode in ("checked", "interpret"):
        with pytest.raises(KernelAssertionError, match=r"x\[i\] < 3: large"):
            getattr(kernel, mode)[8](numbers(8), numbers(8))
    y = ocl.asarray(np.zeros(8, np.float32))
    kernel.unchecked[8](numbers(8), y)
    np.testing.assert_array_equal(y.numpy(), np.arange(8))


def test_breakpoint_runs_in_plain_python_and_stops_in_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    @ocl.kernel(local=2)
    def kernel(x, y):
        i = global_id(0)
        part = local_array(2, float32)
        part[local_id(0)] = x[i]
        barrier()
        breakpoint()
        y[i] = part[1 - local_id(0)]

    stops: list[tuple[str, int, float]] = []

    def stop() -> None:
        frame = _caller()
        stops.append((frame.f_code.co_name, int(frame.f_locals["i"]), float(frame.f_locals["part"][0])))

    monkeypatch.setattr("sys.breakpointhook", stop)
    y = ocl.asarray(np.zeros(4, np.float32))
    kernel.interpret[4](numbers(4), y)
    assert stops == [("kernel", 0, 0.0), ("kernel", 1, 0.0), ("kernel", 2, 2.0), ("kernel", 3, 2.0)]
    assert list(y.numpy()) == [1, 0, 3, 2]
    with pytest.raises(KernelError, match="breakpoint"):
        kernel[4](numbers(4), y)


def _caller() -> Any:
    import sys

    return sys._getframe(2)


@pytest.mark.parametrize("expression", ["max(x[i])", "min(1)", "max(i)"])
def test_plain_python_refuses_the_least_of_one_number(expression: str) -> None:
    text = f"def k(x, y):\n    i = global_id(0)\n    if i < 0:\n        breakpoint()\n    y[i] = {expression}\n"
    with pytest.raises(DTypeError, match="give it two numbers, or a tuple of them"):
        ocl.kernel(function_from(text)).interpret[2](numbers(2), numbers(2))


def test_plain_python_finds_divergent_barriers_and_indices_outside() -> None:
    @ocl.kernel(local=2)
    def divergent(y):
        if local_id(0) == 0:
            barrier()
        elif local_id(0) == 5:
            breakpoint()

    @ocl.kernel
    def outside(y):
        if global_id(0) == 100:
            breakpoint()
        y[global_id(0) - 1] = 0

    with pytest.raises(KernelError, match="come to barrier and its end"):
        divergent.interpret[2](numbers(2))
    with pytest.raises(IndexingError, match="index -1 on axis 0"):
        outside.interpret[2](numbers(2))


# ---------------------------------------------------------------------- arguments


class Pair(NamedTuple):
    first: Any
    second: Any


def test_arguments_of_all_kinds() -> None:
    @ocl.kernel
    def kernel(x: Array1, y: Array1[np.float32], a: float32, n: Constant[int], flag: bool, pair, f=None, *, last=1.5):
        i = global_id(0)
        v = x[i] * a + n + pair.first[i] * pair.second
        if flag:
            v = -v
        if f is not None:
            v = f(v)
        y[i] = v + last

    x, y = numbers(5), ocl.asarray(np.zeros(5, np.float32))
    pair = Pair(numbers(5), 10)
    kernel[5](x, y, 2, 3, False, pair)
    np.testing.assert_array_equal(y.numpy(), np.arange(5) * 12 + 3 + 1.5)
    kernel[5](x, y, np.float64(2), 3, True, pair, lambda v: v * 2, last=np.float32(0))
    np.testing.assert_array_equal(y.numpy(), (np.arange(5) * 12 + 3) * -2)


def test_numpy_scalars_are_typed_and_python_numbers_are_not() -> None:
    @ocl.kernel
    def kernel(x, y, a):
        y[global_id(0)] = x[global_id(0)] + a

    for a in (1, 1.0, np.float32(1), np.int8(1), np.array(1, np.int16)):
        y = ocl.asarray(np.zeros(1, np.float16))
        kernel[1](array(1.0, dtype=np.float16), y, np.float16(1) if isinstance(a, np.float32) else a)
        assert y.numpy()[0] == 2
    with pytest.raises(DTypeError, match="would be float64"):
        kernel[1](array(1.0), array(0.0), np.int32(1))


def test_large_ints_make_the_kernel_wide() -> None:
    @ocl.kernel
    def kernel(y, n):
        y[0] = n + 1
        y[1] = (n * 3) // 7

    y = ocl.asarray(np.zeros(2, np.int64))
    for n in (5, 2**31, 2**40, -(2**40)):
        for mode in MODES:
            getattr(kernel, mode)[1](y, n)
            assert list(y.numpy()) == [n + 1, n * 3 // 7]
    # Only the numbers of a call make a variant wide, not what is computed of them.
    with pytest.raises(Error, match=r"add of \d+ and \d+ leaves the range of int32"):
        kernel.interpret[1](y, 2**31 - 1)


def test_wrong_arguments() -> None:
    for args, error in [
        ((numbers(3),), "missing a required argument: 'y'"),
        ((numbers(3), np.zeros(3), 1.0), "got"),
        ((numbers(3), numbers(3), 1.0, 2), "too many positional arguments"),
    ]:
        with pytest.raises(Error, match=error):
            scale[3](*args)


def test_outputs_that_are_left_out_are_made() -> None:
    @ocl.kernel(over="x")
    def kernel(x, y=ocl.new_like("x"), z=ocl.new_like("x")):  # noqa: B008
        i = position()
        y[i] = x[i] * 2
        z[i] = x[i] + 1

    y, z = kernel(numbers(4))
    assert (list(y.numpy()), list(z.numpy())) == ([0, 2, 4, 6], [1, 2, 3, 4])
    own = ocl.asarray(np.zeros(4, np.float32))
    z = kernel(numbers(4), own)
    assert (list(own.numpy()), list(z.numpy())) == ([0, 2, 4, 6], [1, 2, 3, 4])
    assert kernel(numbers(0))[0].shape == (0,)


# ---------------------------------------------------------------------- memory


@pytest.mark.parametrize("mode", MODES)
def test_views_with_offsets_and_strides(mode: str) -> None:
    @ocl.kernel
    def kernel(x: Array2, y):
        i, j = global_id(1), global_id(0)
        y[i, j] = x[i, j] + x[-1, j]

    base = np.arange(60, dtype=np.float32).reshape(6, 10)
    for view in (np.s_[:, :], np.s_[1:4, 2:7], np.s_[::2, ::3], np.s_[::-1, :], np.s_[2:3, :]):
        x = ocl.asarray(base)[view]
        big = ocl.asarray(np.zeros((12, 20), np.float32))
        y = big[1 : 1 + x.shape[0], 2 : 2 + x.shape[1]]
        getattr(kernel, mode)[x.shape[1], x.shape[0]](x, y)
        np.testing.assert_array_equal(y.numpy(), base[view] + base[view][-1])
        assert np.count_nonzero(big.numpy()) == np.count_nonzero(y.numpy())


@pytest.mark.parametrize("mode", MODES)
def test_broadcast_and_transposed_arguments(mode: str) -> None:
    @ocl.kernel
    def kernel(x, y):
        i, j = position()
        y[i, j] = x[i, j]

    x = ocl.asarray(np.arange(6, dtype=np.float32))
    for view in (x.reshape(2, 3).T, ocl.broadcast_to(x[:2], (3, 2)), ocl.broadcast_to(x[0], (3, 2))):
        y = ocl.asarray(np.zeros((3, 2), np.float32))
        getattr(kernel, mode)[2, 3](view, y)
        np.testing.assert_array_equal(y.numpy(), view.numpy())


@pytest.mark.parametrize("mode", MODES)
def test_the_same_array_twice(mode: str) -> None:
    x = numbers(10)
    getattr(scale, mode)[10](x, x, 3.0)
    np.testing.assert_array_equal(x.numpy(), np.arange(10) * 3)
    getattr(scale, mode)[5](x[::2], x[::2], 2.0)
    np.testing.assert_array_equal(x.numpy(), np.arange(10) * np.where(np.arange(10) % 2, 3, 6))


def test_the_same_array_twice_in_plain_python() -> None:
    @ocl.kernel
    def kernel(x, y):
        i = global_id(0)
        y[i] = x[i] + 1
        x[i] = y[i] * 2
        if i < 0:
            breakpoint()

    x = numbers(10)
    kernel.interpret[5](x[1:6], x[1:6])
    assert list(x.numpy()) == [0, 4, 6, 8, 10, 12, 6, 7, 8, 9]


@pytest.mark.parametrize("mode", MODES)
def test_what_is_written_must_not_overlap(mode: str) -> None:
    x = numbers(10)
    with pytest.raises(ShapeError, match="y shares memory with x"):
        getattr(scale, mode)[5](x[:5], x[2:7], 1.0)
    np.testing.assert_array_equal(x.numpy(), np.arange(10))
    getattr(scale, mode)[5](x[:5], x[5:], 2.0)
    np.testing.assert_array_equal(x.numpy()[5:], np.arange(5) * 2)


@pytest.mark.parametrize("mode", MODES)
def test_views_see_what_is_written_and_expressions_keep_what_they_had(mode: str) -> None:
    y = numbers(6)
    view, before, copy = y[2:4], y + 1, y.copy()
    getattr(scale, mode)[6](numbers(6), y, 10.0)
    assert list(view.numpy()) == [20, 30]
    assert list(before.numpy()) == [1, 2, 3, 4, 5, 6]
    assert list(copy.numpy()) == [0, 1, 2, 3, 4, 5]
    assert list((y + 1).numpy()) == [1, 11, 21, 31, 41, 51]


@pytest.mark.parametrize("mode", MODES)
def test_arguments_that_are_not_computed_yet(mode: str) -> None:
    x = numbers(6) * 2 + 1
    y = ocl.zeros(6, dtype=np.float32)
    getattr(scale, mode)[6](x, y, 2.0)
    assert list((y * 1).numpy()) == [2, 6, 10, 14, 18, 22]


@pytest.mark.parametrize("mode", MODES)
def test_elements_that_the_kernel_leaves_stay(mode: str) -> None:
    @ocl.kernel
    def kernel(y):
        if global_id(0) % 2:
            y[global_id(0)] = -1

    y = numbers(5)
    getattr(kernel, mode)[5](y)
    assert list(y.numpy()) == [0, -1, 2, -1, 4]


def test_captured() -> None:
    @ocl.capture
    def step(x):
        y = ocl.zeros(x.shape, dtype=x.dtype)
        scale[x.size](x + 1, y, 2.0)
        return y * 3

    for start in (0.0, 5.0):
        np.testing.assert_array_equal(step(numbers(8) + start).numpy(), (np.arange(8) + start + 1) * 6)


def test_prepared() -> None:
    x, y = numbers(8), ocl.asarray(np.zeros(8, np.float32))
    launch = scale.prepare(x, y, 2.0, sizes=8)
    launch()
    np.testing.assert_array_equal(y.numpy(), np.arange(8) * 2)


def test_many_variants_say_what_varies(caplog: pytest.LogCaptureFixture) -> None:
    @ocl.kernel
    def kernel(y, n: Constant[int]):
        y[global_id(0)] = n

    y = numbers(1)
    with caplog.at_level(logging.WARNING, "ocl_runtime"):
        for n in range(35):
            kernel.interpret[1](y, n)
    (record,) = caplog.records
    assert "n varies" in record.getMessage()


def test_captured_values_that_vary_are_named(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    @ocl.kernel
    def put(y):
        y[global_id(0)] = STEP

    y = ocl.zeros(1)
    with caplog.at_level(logging.WARNING, "ocl_runtime"):
        for number in range(12):
            monkeypatch.setitem(globals(), "STEP", number)
            put.ir(y, sizes=1)
    (record,) = caplog.records
    assert record.getMessage() == (
        "kernel put is translated again and again, since STEP varies: pass it as an argument"
    )


def test_functions_that_are_made_for_each_call_do_not_pile_up() -> None:
    @ocl.kernel
    def apply(y, function):
        y[global_id(0)] = function(global_id(0))

    y = ocl.zeros(4)
    for number in range(300):

        def plus(i: Any, number: int = number) -> Any:
            return i + number

        apply[0](y, plus)  # over nothing
        apply.ir(y, plus, sizes=4)
    assert 200 < len(apply.variants) < 300


STEP = 0


def test_values_that_change_with_each_call_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    @ocl.kernel
    def put(y):
        y[global_id(0)] = STEP

    @ocl.elementwise
    def plus(x):
        return x + STEP

    y, x = ocl.zeros(4), ocl.ones(3)
    for number in range(30):
        monkeypatch.setitem(globals(), "STEP", number)
        put.ir(y, sizes=4)
        plus(x)
    assert len(put.variants) == 16
    assert len(plus._translated.all()) == 16
