"""Sizes with an example: what they compute, what becomes a guard, and that nothing is decided without one."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocl_ir.formulas import WORTH
from ocl_ir.guards import Backed, Guards, formula, formulas, integer, plain
from ocl_ir.indices import parse_index
from ocl_ir.layout import Layout, broadcast_shapes, collapse
from ocl_ir.sizes import Symbol, value

N = 24


def backed(number: int = N, name: str = "n") -> tuple[Any, Guards]:
    guards = Guards()
    return guards.size(name, number), guards


def found(guards: Guards) -> dict[str, bool]:
    return {str(condition): truth for condition, truth in guards.conditions.items()}


def test_arithmetic_keeps_the_formula_and_finds_nothing() -> None:
    n, guards = backed()
    whole = ((n + 1) * 3 - 2) // 4 % 5 + (7 - n) + -(-n // 16)
    assert formula(whole).__str__() == "((n + 1)*3 - 2)//4%5 + (7 - n) + (n + 15)//16"
    assert guards.conditions == {}
    assert plain(whole) == ((N + 1) * 3 - 2) // 4 % 5 + (7 - N) + 2


def test_what_is_known_without_the_size_is_a_plain_integer() -> None:
    n, guards = backed()
    assert type(n * 0) is int
    assert (n == n + 0, n <= n, n < n, n + 1 == 1 + n) == (True, True, False, True)
    assert guards.conditions == {}


@pytest.mark.parametrize(
    ("decide", "guard"),
    [
        (lambda n: n < 30, {"n < 30": True}),
        (lambda n: n >= 30, {"30 <= n": False}),
        (lambda n: n > 3, {"3 < n": True}),
        (lambda n: n != 24, {"n == 24": True}),
        (bool, {"n == 0": False}),
        (lambda n: n in (1, 24), {"n == 1": False, "n == 24": True}),
        (lambda n: max(n, 5), {"n < 5": False}),
        (abs, {"n < 0": False}),
        (lambda n: n % 8 == 0, {"n%8 == 0": True}),
    ],
)
def test_decisions_are_guards(decide: Callable[[Any], Any], guard: dict[str, bool]) -> None:
    n, guards = backed()
    assert plain_or_same(decide(n)) == decide(N)
    assert {text: truth for text, truth in found(guards).items() if text in guard} == guard


def plain_or_same(one: Any) -> Any:
    return one.number if isinstance(one, Backed) else one


@pytest.mark.parametrize(
    "use",
    [
        lambda n: len(range(n)),
        lambda n: {24: "x"}[n],
        lambda n: n in {1, 24},
        lambda n: n / 2,
        lambda n: n * 0.5,
        lambda n: 2**n,
        lambda n: 1 << n,
        lambda n: f"{n}",
        str,
        repr,
        float,
        lambda n: "abc" * n,
        lambda n: np.zeros(n).size,
        np.float32,
        lambda n: n < 24.5,
        math.sqrt,
        lambda n: divmod(n, 5),
        lambda n: n & 7,
        operator.index,
    ],
)
def test_where_a_plain_integer_is_needed_the_size_is_guarded(use: Callable[[Any], Any]) -> None:
    n, guards = backed()
    assert use(n) == use(N)
    assert found(guards)["n == 24"]
    assert guards.hold({"n": 24})
    assert not guards.hold({"n": 25})


@pytest.mark.parametrize(
    "use",
    [
        lambda n: np.int64(3) * n,
        lambda n: np.float32(2) - n,
        lambda n: n // np.int16(5),
        lambda n: np.int64(30) > n,
        lambda n: np.arange(3) * n,
        lambda n: n + np.arange(3),
        lambda n: np.array([n, n + 1]),
        lambda n: np.prod((n, n)),
        lambda n: np.maximum(n, 3),
        np.sqrt,
        lambda n: divmod(np.int64(100), n),
        lambda n: 100 >> n,
        lambda n: 7 & n,
        lambda n: divmod(100, n),
        lambda n: (round(n), round(n, -1), math.ceil(n), math.floor(n), math.trunc(n), ~n),
        lambda n: (n.bit_length(), n.real, n.numerator),
    ],
)
def test_numpy_and_python_take_a_size_for_an_integer(use: Callable[[Any], Any]) -> None:
    """With the dtype that they give an integer, too: a NumPy number times a size is a NumPy number."""
    n, _ = backed()
    for one, other in zip(np.atleast_1d(use(n)), np.atleast_1d(use(N)), strict=True):
        assert plain_or_same(one) == other
    assert getattr(use(n), "dtype", None) == getattr(use(N), "dtype", None)


def test_sizes_that_are_equal_are_one_and_0_and_1_are_known() -> None:
    guards = Guards()
    a, b, one, none = (guards.size(name, number) for name, number in (("a", 5), ("b", 5), ("c", 1), ("d", 0)))
    assert formula(b) == Symbol("a") == formula(a)
    assert (type(one), one, none) == (int, 1, 0)
    assert guards.names() == ["a"]
    assert guards.hold({"a": 7, "b": 7, "c": 1, "d": 0})
    assert not guards.hold({"a": 7, "b": 8, "c": 1, "d": 0})
    assert not guards.hold({"a": 7, "b": 7, "c": 2, "d": 0})


def test_guards_that_cannot_be_computed_do_not_hold() -> None:
    guards = Guards()
    n, m = guards.size("n", 12), guards.size("m", 5)
    assert n % m == 2
    assert guards.hold({"n": 7, "m": 5})
    assert not guards.hold({"n": 7, "m": 0})


def test_sizes_that_were_kept_are_integers_afterwards() -> None:
    """For a later program that has a size of the same name, too."""
    first, second = Guards(), Guards()
    kept, now = first.size("n", 24), second.size("n", 7)
    first.close()
    for one, other in [(kept + now, 24 + Symbol("n")), (now * kept, Symbol("n") * 24), (kept, 24), (integer(kept), 24)]:
        assert formula(one) == other
    assert formulas((kept, now)) == (24, Symbol("n"))
    assert type(kept + 1) is int
    assert type(integer(kept)) is int
    assert kept == 24
    assert kept > now
    assert hash(kept) == hash(24)
    assert found(first) == {}
    assert found(second) == {"n < 24": True}


def test_what_is_no_number_is_for_the_other_side() -> None:
    n, guards = backed()
    for do in (operator.add, operator.sub, operator.mod, operator.lt):
        with pytest.raises(TypeError):
            do(n, "text")
    assert (n == "text", n is None, n != "text") == (False, False, True)
    assert guards.conditions == {}


def test_layouts_of_sizes_are_told_apart_without_guards() -> None:
    n, guards = backed()
    one, same, other = (Layout.contiguous((size, 4)) for size in (n, n, n + 1))
    guards.conditions.clear()
    table = {one: 1, other: 2}
    assert (table[same], table[Layout.contiguous((n + 1, 4))]) == (1, 2)
    assert formulas((n, 3)) == (Symbol("n"), 3)
    assert integer(n) is n
    assert {text for text in found(guards) if "==" in text} <= {"n == 0", "n + 1 == 0"}


LENGTHS = st.integers(0, 40)


@st.composite
def _programs(draw: st.DrawFn) -> Callable[[Any, Any], list[Any]]:
    """Arithmetic and decisions on two sizes, as planning does them."""
    steps = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))

    def run(n: Any, m: Any) -> list[Any]:
        known: list[Any] = [n, m, 1, 3, 8, n + m]
        for kind, left, right in steps:
            a, b = known[left % len(known)], known[(right * 7 + left) % len(known)]
            if kind == 0:
                known.append(a + b)
            elif kind == 1:
                known.append(a * 2 - b)
            elif kind == 2:
                known.append(-(-a // 4))
            elif kind == 3:
                known.append(min(a, b))
            elif kind == 4:
                known.append(a if a < b else b + 1)
            elif kind == 5:
                known.append(a % 8 == 0)
            elif kind == 6:
                known.append(parse_index((abs(a), 9), slice(b - 5, None, 2 if right % 2 else -1))[0].length)
            elif kind == 7:
                known.append(Layout.contiguous((abs(a), abs(b))).range()[1])
            elif kind == 8:
                known.append(len(collapse((abs(a), 4), [Layout.contiguous((abs(a), 4))])[0]))
            else:
                known.append(int(a) if right == 3 else b)
        return known

    return run


@given(_programs(), LENGTHS, LENGTHS, st.lists(st.tuples(LENGTHS, LENGTHS), max_size=10))
def test_sizes_that_pass_the_guards_give_what_integers_give(
    run: Callable[[Any, Any], list[Any]], n: int, m: int, others: list[tuple[int, int]]
) -> None:
    guards = Guards()
    made = [formula(one) for one in run(guards.size("n", n), guards.size("m", m))]
    assert guards.hold({"n": n, "m": m})
    for one, other in [(n, m), *others]:
        bound = {"n": one, "m": other}
        if guards.hold(bound):
            assert [value(int(size) if isinstance(size, bool) else size, bound) for size in made] == run(one, other)


@given(LENGTHS, st.one_of(st.none(), st.integers(-50, 50)), st.one_of(st.none(), st.integers(-50, 50)),
       st.integers(-4, 4).filter(bool))  # fmt: skip
def test_slices_are_pythons(length: int, start: int | None, stop: int | None, step: int) -> None:
    (span,) = parse_index((length,), slice(start, stop, step))
    picked = range(length)[slice(start, stop, step)]
    assert [span.start + place * span.step for place in range(span.length)] == list(picked)


def test_shapes_broadcast_with_sizes() -> None:
    n, guards = backed()
    assert formulas(broadcast_shapes((n, 1), (1, 3), (n, 3))) == (Symbol("n"), 3)
    assert set(found(guards)) <= {"n == 1"}


def test_a_size_apart_is_not_found_to_be_another_one_until_somebody_asks() -> None:
    guards = Guards()
    n, first, second = guards.size("n", 8), guards.apart("first", 8), guards.apart("second", 0)
    assert not guards.conditions
    assert guards.names() == ["n", "first", "second"]
    assert (first + second) % 4 == 0
    assert guards.hold({"n": 5, "first": 3, "second": 1})
    assert not guards.hold({"n": 5, "first": 3, "second": 2})
    assert first == n
    assert not guards.hold({"n": 5, "first": 3, "second": 1})


def test_what_told_most_sizes_apart_is_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once conditions are written out, which gives the same answers."""
    guards = Guards()
    n = guards.size("n", 1000)
    assert n > 10
    assert n % 8 == 0
    assert n < 10**6
    _, formulas, conditions = guards._as_table()
    written, ordered = formulas.written, []
    monkeypatch.setattr(formulas, "written", lambda given: ordered.extend(given) or written(given))
    told = {size: guards.hold({"n": size}) for size in range(11, 11 + WORTH)}
    assert ordered[0] == [*conditions.items()][1]
    assert sorted(ordered) == sorted(conditions.items())
    assert {size: guards.hold({"n": size}) for size in told} == told
    assert [size for size, holds in told.items() if holds] == [16, 24]
