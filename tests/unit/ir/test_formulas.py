"""Tables of sizes: the same numbers as each size by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocl_ir.errors import IRError, ShapeError
from ocl_ir.formulas import Formulas
from ocl_ir.sizes import Size, Symbol, Term, term, value

NAMES = ("n", "m", "k")
OPERATIONS = ("add", "sub", "mul", "floordiv", "mod", "min", "max", "lt", "le", "eq")


@given(
    st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 30), st.integers(0, 30)), max_size=30),
    st.tuples(*(st.integers(-5, 300) for _ in NAMES)),
)
def test_rows_are_what_the_sizes_are_by_themselves(
    steps: list[tuple[str, int, int]], numbers: tuple[int, int, int]
) -> None:
    sizes: list[Size] = [*map(Symbol, NAMES), 0, 1, 7]
    for op, left, right in steps:
        try:
            sizes.append(term(op, sizes[left % len(sizes)], sizes[right % len(sizes)]))
        except ShapeError:
            sizes.append(3)
    bound = dict(zip(NAMES, numbers, strict=True))
    try:
        expected = [value(size, bound) for size in sizes]
    except ShapeError:
        expected = []
    table = Formulas(NAMES)
    rows = [table.add(size) for size in sizes]
    assert rows == [table.add(size) for size in sizes], "each is a row once"
    if not expected:
        with pytest.raises(ShapeError, match="division"):
            table.values(numbers)
        return
    for found in (table.values(numbers), table.values(numbers), table.written()(*numbers)):
        assert [int(found[row]) for row in rows] == expected
    conditions = [(row, bool(number)) for row, number in zip(rows, expected, strict=True)]
    assert table.written(conditions)(*numbers)
    for row, truth in conditions:
        assert not table.written([*conditions, (row, not truth)])(*numbers)
        assert not table.written([(row, not truth), *conditions])(*numbers)
    computed = {row: truth for row, truth in conditions if row >= len(NAMES) and table.known[row] is None}
    assert table.wrong(numbers, computed) is None
    for row, truth in computed.items():
        assert table.wrong(numbers, computed | {row: not truth}) == row


def test_no_depth_is_too_much_and_what_is_shared_is_one_row() -> None:
    size: Size = Symbol("n")
    for _ in range(5000):
        size = Term("add", size, Term("mul", size, 0)) if size == Symbol("n") else Term("add", size, 1)
    table = Formulas(["n"])
    row = table.add(size)
    assert len(table.values([3])) < 5010
    assert table.values([3])[row] == 3 + 4999


def test_a_condition_that_is_not_met_is_the_end_of_it() -> None:
    n, m = Symbol("n"), Symbol("m")
    table = Formulas(["n", "m"])
    asked = [(table.add(term("lt", n, 8)), True), (table.add(term("eq", n // m, 2)), True)]
    assert table.written(asked)(6, 3)
    assert not table.written(asked)(9, 0), "nothing is divided"
    with pytest.raises(ZeroDivisionError):
        table.written(asked)(6, 0)


def test_a_name_that_the_table_does_not_have_is_an_error() -> None:
    with pytest.raises(IRError, match="'m' is not bound"):
        Formulas(["n"]).add(Symbol("n") + Symbol("m"))
