"""What checked and interpret modes report of numbers: divisions of integers by 0, steps of 0, and what has no place in
an index or an array. Without a check they have values, and what a condition keeps away is not reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.errors import Error, KernelError, NumberRangeError, ZeroDivisorError
from ocl_runtime.language import (
    Constant,
    atomic_add,
    atomic_compare_exchange,
    c_div,
    c_mod,
    cdiv,
    global_id,
    group_id,
    int4,
    load_tile,
    store_tile,
    uint32,
    vload,
    vstore,
    where,
)
from tests.support.three_ways import agree, function_from

REPORTING = ["checked", "interpret"]
NUMBERS = np.arange(-3, 5, dtype=np.int32)
"""The divisor 0 is that of work-item 3."""


def reported(kernel: Any, mode: str, *arguments: Any) -> str:
    """What a launch over as many work-items as there are numbers raises."""
    with pytest.raises(Error) as caught:
        getattr(kernel, mode)[NUMBERS.size](*arguments)
    return f"{type(caught.value).__name__}: {caught.value}"


def results(dtype: Any = np.int32) -> ocl.Array:
    return ocl.asarray(np.full(NUMBERS.size, 77, dtype))


@ocl.kernel
def floor_quotient(a, y):
    y[global_id(0)] = 100 // a[global_id(0)]


@ocl.kernel
def remainder(a, y):
    i = global_id(0)
    v = a[i] + 100
    v %= a[i]
    y[i] = v


@ocl.kernel
def remainder_of_indices(a, y):
    i = global_id(0)
    y[i] = i % int(a[i])


@ocl.kernel
def both_at_once(a, y):
    i = global_id(0)
    quotient, rest = divmod(100, a[i])
    y[i] = 10 * quotient + rest


@ocl.kernel
def ceiling_quotient(a, y):
    y[global_id(0)] = cdiv(100, a[global_id(0)])


@ocl.kernel
def truncated_quotient(a, y):
    y[global_id(0)] = c_div(100, a[global_id(0)])


@ocl.kernel
def truncated_remainder(a, y):
    y[global_id(0)] = c_mod(100, a[global_id(0)])


@ocl.kernel
def unsigned_quotient(a, y):
    y[global_id(0)] = int(uint32(7) // uint32(a[global_id(0)]))


@ocl.kernel
def in_a_choice_of_two_values(a, y):
    i = global_id(0)
    y[i] = where(a[i] != 0, 100 // a[i], 0)


DIVISIONS = {
    floor_quotient: "//", remainder: "%", remainder_of_indices: "%", both_at_once: "divmod", ceiling_quotient: "cdiv",
    truncated_quotient: "c_div", truncated_remainder: "c_mod", unsigned_quotient: "//", in_a_choice_of_two_values: "//",
}  # fmt: skip


@pytest.mark.parametrize("kernel", DIVISIONS, ids=lambda kernel: kernel.__name__)
def test_divisions_of_integers_by_zero(kernel: Any) -> None:
    for mode in REPORTING:
        y = results()
        text = reported(kernel, mode, ocl.asarray(NUMBERS), y)
        assert text.startswith(f"ZeroDivisorError: work-item 3 of group 0: {DIVISIONS[kernel]} of integers by 0\n")
        assert "test_reported_numbers.py:" in text
        assert "remedy: test the divisor first" in text
        assert y.tolist()[3] == 77, "who divides by 0 stores nothing more"
    agree(kernel, NUMBERS.size, {"a": NUMBERS, "y": np.zeros(NUMBERS.size, np.int32)}, modes=("unchecked",))


PLAIN_DIVISIONS = {
    "100 // a[i]": "//", "a[i] % (i - 3)": "%", "i // (i - 3)": "//", "divmod(100, a[i])[1]": "divmod",
    "cdiv(i, i - 3)": "cdiv", "c_div(100, a[i])": "c_div", "c_mod(100, a[i])": "c_mod",
}  # fmt: skip


@pytest.mark.parametrize("expression", PLAIN_DIVISIONS)
def test_divisions_by_zero_in_plain_python(expression: str) -> None:
    """Where `breakpoint` is in the kernel, and a debugger shows what divides."""
    head = "def k(a, y):\n    i = global_id(0)\n    if i < 0:\n        breakpoint()\n"
    kernel = ocl.kernel(function_from(f"{head}    y[i] = {expression}\n"))
    text = reported(kernel, "interpret", ocl.asarray(NUMBERS), results())
    fact, place, remedy = text.splitlines()
    assert fact == f"ZeroDivisorError: work-item 3 of group 0: {PLAIN_DIVISIONS[expression]} of integers by 0"
    assert place.endswith(">:5")
    assert remedy.startswith("  remedy: test the divisor first")
    y = results()
    tested = ocl.kernel(function_from(f"{head}    y[i] = {expression} if i != 3 else 5\n"))
    tested.interpret[NUMBERS.size](ocl.asarray(NUMBERS), y)
    assert y.tolist()[3] == 5


@pytest.mark.parametrize("mode", REPORTING)
def test_divisions_that_do_not_run_are_not_reported(mode: str) -> None:
    @ocl.kernel
    def kernel(a, f, y):
        i = global_id(0)
        y[i] = 100 // a[i] if a[i] != 0 else 0
        if a[i] != 0 and 100 % a[i] == 0:
            y[i] += 1000
        if a[i] == 0:
            y[i] = 5 if i // 4 == 0 or c_div(i, a[i]) > 0 else 6
        f[i] = f[i] // 0.0 + f[i] % 0.0

    y, f = results(), ocl.asarray(np.ones(NUMBERS.size, np.float32))
    getattr(kernel, mode)[NUMBERS.size](ocl.asarray(NUMBERS), f, y)
    wanted = [5 if a == 0 else 100 // a + (1000 if 100 % a == 0 else 0) for a in NUMBERS.tolist()]
    assert y.tolist() == wanted
    assert np.isnan(f.numpy()).all()


@pytest.mark.parametrize("mode", REPORTING)
def test_a_lane_of_a_vector_is_divided_by_zero(mode: str) -> None:
    @ocl.kernel
    def kernel(a, y):
        i = global_id(0) // 4
        if global_id(0) % 4 == 0:
            vstore(y, 4 * i, int4(100) // vload(a, 4 * i, 4))

    assert "// of integers by 0" in reported(kernel, mode, ocl.asarray(NUMBERS), results())
    ones, y = ocl.asarray(np.ones_like(NUMBERS)), results()
    getattr(kernel, mode)[NUMBERS.size](ones, y)
    assert y.tolist() == [100] * NUMBERS.size


@pytest.mark.parametrize("mode", REPORTING)
def test_a_tile_is_divided_by_what_fills_it(mode: str) -> None:
    @ocl.kernel(local=8)
    def kernel(a, y, fill: Constant[int]):
        at = (group_id(0) * 16,)
        store_tile(y, at, load_tile(y, at, (16,)) % load_tile(a, at, (16,), fill=fill))

    a, y = ocl.asarray(np.full(20, 3, np.int32)), ocl.asarray(np.arange(20, dtype=np.int32))
    with pytest.raises(ZeroDivisorError, match="of group 1: % of integers by 0"):
        getattr(kernel, mode).groups[2](a, y.copy(), 0)
    getattr(kernel, mode).groups[2](a, y, 1)
    assert y.tolist() == [i % 3 for i in range(20)]


@ocl.kernel
def counted(a, y):
    i = global_id(0)
    v = 0
    for j in range(0, 12, int(a[i])):
        v += j + 1
    y[i] = v


def test_a_step_of_zero() -> None:
    for mode in REPORTING:
        text = reported(counted, mode, ocl.asarray(NUMBERS), results())
        assert text.startswith("KernelError: work-item 3 of group 0: range with a step of 0\n")
        assert "range(0, 12, int(a[i]))" in text
    y = results()
    counted.unchecked[NUMBERS.size](ocl.asarray(NUMBERS), y)
    assert y.tolist() == [sum(j + 1 for j in range(0, 12, a)) if a else 0 for a in NUMBERS.tolist()]


def test_a_typed_range_with_a_literal_step_of_zero() -> None:
    @ocl.kernel
    def kernel(y):
        for _ in range(y[0], y[1], 0):
            y[0] += 1

    with pytest.raises(KernelError, match="range with a step of 0"):
        kernel[1](results())


# ---------------------------------------------------------------------- numbers that become indices


@ocl.kernel
def truncated(f, y):
    y[global_id(0)] = int(f[global_id(0)])


OUTSIDE = [
    *[(dtype, value) for dtype in ("f2", "f4", "f8") for value in (np.nan, np.inf, -np.inf)],
    ("f4", 2.0**31), ("f4", -(2.0**31) - 256), ("f8", 2.0**31), ("f8", -(2.0**31) - 1),
    ("i8", 2**31), ("i8", -(2**31) - 1), ("u4", 2**31), ("u8", 2**64 - 1),
]  # fmt: skip
INSIDE = [
    ("f2", 65504), ("f4", 2.0**31 - 128), ("f4", -(2.0**31)), ("f8", 2.0**31 - 2**-20), ("f8", -(2.0**31) - 1 + 2**-20),
    ("i8", 2**31 - 1), ("i8", -(2**31)), ("u4", 2**31 - 1), ("u8", 2**31 - 1), ("i2", -(2**15)),
]  # fmt: skip


def among_ones(dtype: str, value: Any) -> ocl.Array:
    """A number for work-item 5, and 1 for all others."""
    numbers = np.ones(NUMBERS.size, dtype)
    numbers[5] = value
    return ocl.asarray(numbers)


@pytest.mark.parametrize("mode", REPORTING)
def test_numbers_without_a_place_in_an_index(mode: str) -> None:
    for dtype, value in OUTSIDE:
        text = reported(truncated, mode, among_ones(dtype, value), results())
        wanted = f"NumberRangeError: work-item 5 of group 0: {value} has no place in an index, which has 32 bits\n"
        assert text.startswith(wanted), f"{dtype} {value}: {text}"
    for dtype, value in INSIDE:
        y = results()
        getattr(truncated, mode)[NUMBERS.size](among_ones(dtype, value), y)
        assert y.tolist()[5] == int(value), f"{dtype} {value}"


@pytest.mark.parametrize("mode", REPORTING)
def test_a_number_of_the_call_that_has_no_place_in_an_index(mode: str) -> None:
    @ocl.kernel
    def kernel(y, scale):
        i = global_id(0)
        y[i] = int(scale * 2) if scale < 1e9 else 3

    y = results()
    getattr(kernel, mode)[NUMBERS.size](y, 1e30)
    assert y.tolist() == [3] * NUMBERS.size
    getattr(kernel, mode)[NUMBERS.size](y, 2.75)
    assert y.tolist() == [5] * NUMBERS.size
    assert "-6e+30 has no place in an index" in reported(kernel, mode, y, -3e30)


@pytest.mark.parametrize("mode", REPORTING)
@pytest.mark.parametrize(("dtype", "value"), [("i8", 2**32), ("u4", 2**32 - 1), ("u8", 2**63)])
def test_typed_indices_that_are_longer_than_an_index(mode: str, dtype: str, value: int) -> None:
    """As an index they would be 0 or -1."""

    @ocl.kernel
    def gathered(places, x, y):
        y[global_id(0)] = x[places[global_id(0)]]

    x, y = ocl.arange(8, dtype="f4"), ocl.zeros(8)
    text = reported(gathered, mode, among_ones(dtype, value), x, y)
    assert text.startswith(f"NumberRangeError: work-item 5 of group 0: {value} has no place in an index")
    assert "x[places[global_id(0)]]" in text
    getattr(gathered, mode)[NUMBERS.size](among_ones(dtype, 7), x, y)
    assert y.tolist() == [1, 1, 1, 1, 1, 7, 1, 1]


def test_what_comes_of_a_number_without_a_place_is_not_what_is_reported() -> None:
    @ocl.kernel
    def kernel(f, y):
        i = global_id(0)
        y[int(f[i]) * 3 - 2**30] = 1

    text = reported(kernel, "interpret", among_ones("f4", -np.inf), results())
    assert "-inf has no place in an index" in text or "index -1073741821 on axis 0" in text


def test_checked_mode_lets_indices_overflow_and_finds_the_access() -> None:
    @ocl.kernel
    def kernel(y, n):
        y[n + 1 + global_id(0)] = 1

    with pytest.raises(IndexError, match="index -2147483648 on axis 0 of y"):
        kernel.checked[2](ocl.zeros(2**10), 2**31 - 1)


# ---------------------------------------------------------------------- indices that are stored


@ocl.kernel
def stored(y, offset):
    y[global_id(0)] = global_id(0) + offset


@pytest.mark.parametrize("mode", REPORTING)
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_stored_indices_have_a_place(mode: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    y = results(dtype)
    if limits.max < 2**31 - 1:
        getattr(stored, mode)[NUMBERS.size](y, int(limits.max) - 7)
        assert y.tolist()[-1] == limits.max
        text = reported(stored, mode, y, int(limits.max) - 6)
        name = np.dtype(dtype).name
        assert text.startswith(
            f"NumberRangeError: work-item 7 of group 0: the index {limits.max + 1} has no place in y"
        )
        assert f"an array of {name}, which holds {limits.min} to {limits.max}" in text
    least = max(int(limits.min), -(2**31))
    getattr(stored, mode)[NUMBERS.size](y, least)
    assert y.tolist()[0] == least
    if limits.min > -(2**31):
        text = reported(stored, mode, y, least - 1)
        assert text.startswith(f"NumberRangeError: work-item 0 of group 0: the index {least - 1} has no place in y")


@pytest.mark.parametrize("mode", REPORTING)
def test_wide_indices_have_a_place_in_int32(mode: str) -> None:
    text = reported(stored, mode, results("i4"), 2**31)
    assert "the index 2147483648 has no place in y, an array of int32" in text
    y = results("i8")
    getattr(stored, mode)[NUMBERS.size](y, 2**31)
    assert y.tolist()[-1] == 2**31 + 7


def _added(u, i):
    atomic_add(u, 0, i - 3)


def _exchanged(u, i):
    atomic_compare_exchange(u, 0, 5, i - 3)


@pytest.mark.parametrize("mode", REPORTING)
@pytest.mark.parametrize("change", [_added, _exchanged])
def test_indices_in_atomics_have_a_place(mode: str, change: Callable[..., None]) -> None:
    @ocl.kernel
    def kernel(u, first, how):
        how(u, global_id(0) + first)

    text = reported(kernel, mode, results("u4"), -4, change)
    assert "has no place in u, an array of uint32, which holds 0 to 4294967295" in text
    getattr(kernel, mode)[NUMBERS.size](results("u4"), 3, change)


@pytest.mark.parametrize("mode", REPORTING)
def test_typed_numbers_and_floats_are_stored_as_ever(mode: str) -> None:
    @ocl.kernel
    def kernel(a, y, z):
        i = global_id(0)
        y[i] = a[i] * 100
        z[i] = i * 2**25 - 1

    y, z = results("i1"), results("f4")
    getattr(kernel, mode)[NUMBERS.size](ocl.asarray(NUMBERS), y, z)
    assert y.numpy().tolist() == (NUMBERS * 100).astype(np.int8).tolist()


def test_error_classes() -> None:
    assert issubclass(ZeroDivisorError, ZeroDivisionError)
    assert issubclass(NumberRangeError, OverflowError)
