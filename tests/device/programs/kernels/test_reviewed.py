"""Programs that a review found to be wrong: each was refused, crashed, or said something untrue."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.language.context import Options
from ocl_runtime.errors import DTypeError, Error
from ocl_runtime.language import float16, global_id, int32, uint8


@ocl.kernel
def counted(x):
    i = global_id(0)
    if i < x.size:
        x[i] = i + 1


@ocl.elementwise
def line(x, slope=2, offset=1):
    return x * slope + offset


@ocl.reduction(0)
def added(a, b):
    return a + b


def test_strides_that_reach_far_are_counted_in_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    wide: list[bool] = []

    def options(*_: Any, **given: Any) -> Options:
        wide.append(given["wide"])
        return Options()

    monkeypatch.setattr("ocl_runtime.programs.kernels.launcher._MOST_SHORT", 1000)
    monkeypatch.setattr(counted, "options", options)
    x = ocl.zeros((10, 150))
    x.compute()
    for view in (x[:, 0], x[::-1, 0], x[:6, 0], x[9, :]):
        counted.ir(view, sizes=10)
    assert wide == [True, True, False, False]  # element 1350 from the first one, then 750


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions_of_bools(axis: int | None) -> None:
    host = np.random.default_rng(0).random((40, 300)) < 0.5
    x = ocl.asarray(host)
    some, all_, odd = (
        ocl.reduction(neutral)(join)
        for neutral, join in ((False, lambda a, b: a or b), (True, lambda a, b: a and b), (False, lambda a, b: a != b))
    )
    for reduction, ufunc in ((some, np.logical_or), (all_, np.logical_and), (odd, np.logical_xor)):
        assert np.array_equal(reduction(x, axis=axis).numpy(), ufunc.reduce(host, axis=axis))


def test_operands_by_keyword() -> None:
    x = ocl.asarray(np.array([1, 2], np.float32))
    assert line(x, offset=5, slope=3).numpy().tolist() == [8, 11]
    assert line(slope=3, x=x).numpy().tolist() == [4, 7]
    assert line(1, slope=3) == 4
    assert line(x, offset=5).numpy().tolist() == [7, 9]
    with pytest.raises(Error, match="unexpected keyword argument 'z'"):
        line(x, z=5)


def test_more_operands_than_parameters() -> None:
    x = ocl.ones(3)
    with pytest.raises(Error, match="line: too many positional arguments"):
        line(x, 1, 2, 3)
    with pytest.raises(Error, match="takes 1 of the two numbers that it joins"):
        ocl.reduction(0)(lambda a: a)(x)


@pytest.mark.parametrize("length", [0, 3])
@pytest.mark.parametrize("neutral", [-1, 0.5, 300, math.inf])
def test_a_neutral_number_fits_also_where_there_is_nothing_to_join(neutral: float, length: int) -> None:
    with pytest.raises(DTypeError, match="is no u8"):
        ocl.reduction(neutral)(added.function)(ocl.zeros(length, dtype="u1"))


def test_what_was_defined_for_other_captured_values_is_forgotten_or_used_again() -> None:
    captured = 0

    @ocl.elementwise
    def shifted(x):
        return x + captured

    for captured in (1, 2, 1, 2, 1):
        assert shifted(ocl.ones(1)).numpy()[0] == 1 + captured
    assert len(shifted._translated.all()) <= 2


def test_kernels_and_element_functions_are_pickled_by_name() -> None:
    for made in (counted, line, added):
        assert pickle.loads(pickle.dumps(made)) is made
        assert copy.deepcopy(made) is made


def test_numbers_that_have_no_place() -> None:
    @ocl.kernel
    def huge(x):
        x[0] = 10**400

    @ocl.kernel
    def endless(x):
        x[0] = int32(math.inf)

    @ocl.kernel
    def none(x):
        x[0] = uint8(math.nan)

    @ocl.kernel
    def half(x):
        x[0] = float16(10**400)

    for kernel, fact in (
        (huge, "401 digits"),
        (endless, "inf has no place"),
        (none, "nan has no"),
        (half, "401 digits"),
    ):
        with pytest.raises(DTypeError, match=fact):
            kernel[1](ocl.zeros(1))


def test_integers_that_meet_are_converted_to_what_they_are() -> None:
    @ocl.kernel
    def meeting(x):
        v = global_id(0)
        if v > 1:
            v = int32(v)
        x[0] = v

    with pytest.raises(DTypeError, match=r"v = int32\(…\)"):
        meeting[1](ocl.zeros(1))


TEXT = """
LIMIT = 3

def limited(x: Array1[np.float32], y, factor: Constant[int] = 2):
    i = global_id(0)
    if i < x.size:
        y[i] = min(x[i], float32(LIMIT)) * factor + math.pi * 0
"""


@pytest.mark.parametrize("mode", ["interpret", "checked", "unchecked"])
def test_a_text(mode: str) -> None:
    kernel = ocl.kernel(source=TEXT, over="y")
    for made in (kernel, pickle.loads(pickle.dumps(kernel))):
        y = ocl.zeros(5)
        getattr(made, mode)(ocl.arange(5, dtype="f4"), y)
        assert y.numpy().tolist() == [0, 2, 4, 6, 6]
    with pytest.raises(DTypeError, match="an array of float32"):
        kernel(ocl.arange(5, dtype="i4"), y)


TEXT_OF_SEVERAL = """
def added(v, by):
    return v + by

def one_more(x):
    x[global_id(0)] = added(x[global_id(0)], 1)

def two_more(x):
    x[global_id(0)] = added(x[global_id(0)], 2)
"""


@pytest.mark.parametrize("mode", ["interpret", "checked", "unchecked"])
def test_a_text_of_several_functions(mode: str) -> None:
    kernel = ocl.kernel(source=TEXT_OF_SEVERAL, name="two_more")
    other = ocl.kernel(source=TEXT_OF_SEVERAL, name="one_more", local=4)
    x = ocl.zeros(4)
    for made in (kernel, pickle.loads(pickle.dumps(kernel)), other):
        getattr(made, mode)[4](x)
    assert x.numpy().tolist() == [5] * 4
    with pytest.raises(Error, match=r"a kernel with the name 'f' and without a source"):
        ocl.kernel(name="f")(lambda x: x)


def test_an_error_in_a_text_shows_its_line() -> None:
    kernel = ocl.kernel(source="def k(x):\n    x[0] = nobody\n")
    with pytest.raises(Error, match=r"<kernel k [0-9a-f]+>:2:12, in k(.|\n)*x\[0\] = nobody"):
        kernel[1](ocl.zeros(1))


def test_what_runs_before_it_is_known_to_run_wraps() -> None:
    @ocl.kernel
    def guarded(y):
        n = global_id(0) * 20000
        square = lambda v: v * v + v  # noqa: E731
        y[global_id(0)] = 1 if n < 100 and square(n * n) < 5 else 2

    assert "(uint)n * (uint)n" in guarded.source(ocl.zeros(8), sizes=8)


def test_a_reduction_of_tuples_that_chooses_one() -> None:
    @ocl.reduction((-math.inf, -1), map=lambda x, i: (x, i))
    def largest(a, b):
        return a if a[0] > b[0] or (a[0] == b[0] and a[1] < b[1]) else b

    host = np.random.default_rng(0).integers(0, 50, (7, 3000)).astype(np.float32)
    value, at = largest(ocl.asarray(host), ocl.arange(3000, dtype="i4"), axis=1)
    assert np.array_equal(value.numpy(), host.max(axis=1))
    assert np.array_equal(at.numpy(), host.argmax(axis=1))


def test_the_interpreter_reports_indices_that_overflow() -> None:
    @ocl.kernel
    def far(y, step):
        y[0] = global_id(0) * step

    with pytest.raises(Error, match=r"leaves the range of int32(.|\n)*in far"):
        far.interpret[4](ocl.zeros(1), 2**31 - 1)
    y = ocl.zeros(1)
    far.interpret[1](y, 2**31 - 1)
    assert y[0] == 0
