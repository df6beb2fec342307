"""Floats that keep their formula: the same as the floats that they are, for every call that passes the guards."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocl_ir.reals import Reals, Row, Slot, given_of

FLOATS = st.floats(width=64)
OPERATIONS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "neg", "abs", "lt", "le", "gt", "ge", "eq", "ne"]


def run(steps: list[tuple[str, int, int]], values: list[Any]) -> list[Any]:
    """Each step works on two of the values so far; what Python refuses ends it."""
    values = list(values)
    for op, left, right in steps:
        one, other = values[left % len(values)], values[right % len(values)]
        try:
            found = getattr(operator, op)(one) if op in ("neg", "abs") else getattr(operator, op)(one, other)
        except ArithmeticError:
            return [*values, "refused"]
        values.append(found)
    return values


def bits(value: Any) -> Any:
    """A value to compare: with its sign where it is 0, equal to itself where it is not a number."""
    return (type(value).__name__, repr(value)) if isinstance(value, float) else value


@given(
    st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 9), st.integers(0, 9)), max_size=8),
    st.tuples(FLOATS, FLOATS),
    st.tuples(FLOATS, FLOATS),
)
def test_what_passes_the_guards_is_computed_by_the_formulas(
    steps: list[tuple[str, int, int]], first: tuple[float, float], other: tuple[float, float]
) -> None:
    reals = Reals(2)
    traced = run(steps, [reals.real(0, first[0]), reals.real(1, first[1]), 2.5, 3])
    slots = [getattr(value, "slot", value) for value in traced]
    reals.closed = True
    assert [bits(float(value) if isinstance(value, float) else value) for value in traced] == [
        bits(value) for value in run(steps, [*first, 2.5, 3])
    ]
    values = reals.values(other)
    assert reals.hold(other) == (values is not None)
    if values is not None and "refused" not in traced:
        expected = run(steps, [*other, 2.5, 3])
        if "refused" not in expected:
            found = [values[one.number] if isinstance(one, Slot) else one for one in slots]
            assert list(map(bits, found)) == list(map(bits, expected))


USES: list[Callable[[Any], Any]] = [
    *(math.sin, math.floor, math.ceil, math.trunc, float, int, round, repr, str, hash, "{:.3f}".format),
    *(np.float32, np.sin, np.asarray, copy.copy, lambda s: np.float64(2) * s),
    *(lambda s: {s: 1}, lambda s: s.is_integer(), lambda s: [1, 2, 3][int(s)]),
    *(lambda s: divmod(s, 1), lambda s: divmod(3, s)),
]


@pytest.mark.parametrize("use", USES)
def test_who_needs_the_plain_float_gets_it_and_is_guarded(use: Callable[[Any], Any]) -> None:
    reals = Reals(1)
    assert repr(use(reals.real(0, 1.25))) == repr(use(1.25))
    assert reals.hold([1.25])
    assert not reals.hold([1.5])


def test_it_passes_for_a_float_and_is_none() -> None:
    reals = Reals(1)
    real = reals.real(0, 1.5)
    assert isinstance(real, float)
    assert type(real) is not float
    assert (real * 2 + 1).slot == Slot(2)
    assert reals.rows == [Row("mul", (Slot(0), 2)), Row("add", (Slot(1), 1))]


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1.0, math.nan), (-0.0, 0.0)])
def test_floats_that_are_equal_but_not_the_same_are_told_apart(one: float, other: float) -> None:
    reals = Reals(1)
    float(reals.real(0, one))
    assert reals.hold([one])
    assert not reals.hold([other])


def test_nan_is_itself() -> None:
    reals = Reals(1)
    float(reals.real(0, math.nan))
    assert reals.hold([math.nan])


def test_guards_that_divide_by_zero_do_not_hold() -> None:
    reals = Reals(1)
    assert 1 / reals.real(0, 2.0) < 1
    assert reals.hold([4.0])
    assert not reals.hold([0.0])


def test_numbers_that_kernels_take_are_listed_once_and_not_after_the_call() -> None:
    reals = Reals(2)
    s, t = reals.real(0, 1.5), reals.real(1, 2.5)
    assert [given_of(one) for one in (s, t, s * 2, t, s * 2)] == [
        reals.placeholder(Slot(index)) for index in (0, 1, 2, 1, 2)
    ]
    assert reals.taken == [Slot(0), Slot(1), Slot(2)]
    reals.closed = True
    assert given_of(s) is None
    assert s * 2 == 3.0
    assert reals.hold([7.0, 8.0])


def test_what_is_computed_from_itself_again_and_again_is_a_row_for_each_operation() -> None:
    def root(number: Any) -> Any:
        guess = number
        for _ in range(60):
            guess = 0.5 * (guess + number / guess)
        return guess

    reals = Reals(1)
    slot = root(reals.real(0, 2.0)).slot
    assert len(reals.rows) <= 180
    values = reals.values([9.0])
    assert values is not None
    assert values[slot.number] == root(9.0) == 3.0


def test_constants_that_are_equal_but_not_the_same_are_other_rows() -> None:
    reals = Reals(1)
    real = reals.real(0, 1.5)
    products = [real * 0.0, real * -0.0]
    values = reals.values([2.5])
    assert values is not None
    assert [math.copysign(1, values[one.slot.number]) for one in products] == [1, -1]


def test_one_that_outlives_its_call_is_a_plain_float() -> None:
    earlier = Reals(1)
    kept = earlier.real(0, 2.0) * 2
    earlier.closed = True
    reals = Reals(2)
    real = reals.real(0, 10.0)
    total = real + kept
    values = reals.values([100.0, 3.0])
    assert values is not None
    assert values[total.slot.number] == 104.0
    assert real > kept
    assert not reals.hold([3.0, 100.0]), "3 is not above 4"


def test_a_power_that_becomes_complex_is_computed_anew() -> None:
    reals = Reals(1)
    assert reals.real(0, 4.0) ** 0.5 == 2.0
    assert not reals.hold([-4.0])
