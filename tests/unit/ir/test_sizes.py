"""Sizes made of sizes: terms that share parts, and deep ones, take time by the parts that they truly have."""

from __future__ import annotations

from typing import Any

from ocl_ir.guards import Guards
from ocl_ir.sizes import Symbol, Term, smaller, symbols, value


def test_a_term_that_is_twice_in_another_is_computed_once() -> None:
    """Written out, this one has 2**60 names."""
    size: Any = smaller(Symbol("n"), Symbol("m"))
    for _ in range(60):
        size = size + size
    assert value(size, {"n": 3, "m": 5}) == 3 * 2**60
    assert symbols(size) == {"n", "m"}
    assert {size: 1}[Term("add", size.left, size.right)] == 1


def test_no_term_is_too_deep() -> None:
    guards = Guards()
    n = now = guards.size("n", 7)
    for _ in range(5000):
        now = now % 1000 + n
    assert now > 0
    assert guards.hold({"n": 8})
    assert not guards.hold({"n": 0})


def test_nothing_is_left_of_a_division_by_1() -> None:
    assert (Symbol("n") * 3 - 8) % 1 == 0
