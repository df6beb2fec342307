"""What of a value was computed: exactly, for values that are not too large, and the words for what was not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from ocl_ir.errors import IRError
from ocl_ir.host import written
from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.grammar import Program, SymbolicLayout, Value
from ocl_ir.host.schedule import bind
from ocl_ir.host.written import EXACT, Written
from ocl_ir.layout import Layout
from ocl_ir.types import F32, F64, U8

NBYTES = 96


@st.composite
def accesses(draw: st.DrawFn) -> tuple[Layout, int]:
    """Elements that lie inside, of one of four sizes, with strides of either sign or none."""
    itemsize = draw(st.sampled_from([1, 2, 4, 8]))
    room = NBYTES // itemsize
    shape, strides, span = [], [], 1
    for _ in range(draw(st.integers(0, 3))):
        length, stride = draw(st.integers(0, 5)), draw(st.integers(-4, 4))
        if span + abs(stride) * max(length - 1, 0) <= room:
            shape.append(length)
            strides.append(stride)
            span += abs(stride) * max(length - 1, 0)
    back = sum(-stride * max(length - 1, 0) for length, stride in zip(shape, strides, strict=True) if stride < 0)
    return Layout(tuple(shape), tuple(strides), back + draw(st.integers(0, room - span))), itemsize


def elements(memory: np.ndarray, layout: Layout, itemsize: int) -> np.ndarray:
    """A row of bytes for each element."""
    if not layout.size:
        return np.ones((0, itemsize), np.uint8)
    strides = (*(stride * itemsize for stride in layout.strides), 1)
    return as_strided(memory[layout.offset * itemsize :], (*layout.shape, itemsize), strides)


@given(st.lists(st.tuples(st.booleans(), accesses()), max_size=40))
def test_it_is_what_a_mask_of_bytes_says(steps: list[tuple[bool, tuple[Layout, int]]]) -> None:
    known, memory = Written(NBYTES), np.zeros(NBYTES, np.uint8)
    for writes, access in steps:
        if writes:
            known.add(*access)
            elements(memory, *access)[...] = 1
        else:
            assert bool(known.missing(*access)) == (not elements(memory, *access).all())


def matrix(rows: int = 8, width: int = 6) -> tuple[HostBuilder, Value, Value]:
    p = HostBuilder("p")
    return p, p.input("x", F32, (rows, width)), p.alloc(F32, (rows, width), "t")


def copied(p: HostBuilder, source: Value) -> Program:
    y = p.alloc(source.dtype, source.shape, "y")
    p.copy(y, source)
    return p.build(y)


def test_a_column_that_nobody_wrote_between_two_that_were() -> None:
    p, _, t = matrix()
    for column in (0, 1, 3, 4, 5):
        p.fill(p.slice(t, 1, column, 1), 1)
    with pytest.raises(IRError, match=r"t is read and was never computed \(8 of 48 elements: \[:, 2\]\)"):
        bind(copied(p, t), {})


def test_the_same_for_a_result() -> None:
    p, _, t = matrix()
    p.fill(p.slice(t, 1, 0, 3, 2), 1)
    with pytest.raises(IRError, match=r"t is a result and was never computed \(24 of 48 elements: \[:, 1:6:2\]\)"):
        bind(p.build(t), {})
    p.fill(p.slice(t, 1, 1, 3, 2), 1)
    assert len(bind(p.build(t), {}).nodes) == 2


def test_what_is_skipped_need_not_be_written() -> None:
    """Every other column is written, and read; so are two ranges with a hole that is jumped over."""
    p, x, t = matrix()
    p.copy(p.slice(t, 1, 0, 3, 2), p.slice(x, 1, 0, 3, 2))
    columns = p.slice(t, 1, 0, 3, 2)
    assert bind(copied(p, columns), {}).nodes
    with pytest.raises(IRError, match=r"\(24 of 48 elements: \[:, 1:6:2\]\)"):
        bind(copied(p, t), {})  # though its columns have been read before
    p, _, t = matrix()
    p.fill(p.slice(t, 0, 0, 2), 1)
    p.fill(p.slice(t, 0, 4, 2), 1)
    assert bind(copied(p, p.slice(t, 0, 0, 2, 4)), {}).nodes
    with pytest.raises(IRError, match=r"\(12 of 24 elements: \[1:4:2, :\]\)"):
        bind(copied(p, p.slice(t, 0, 0, 4, 2)), {})


def test_elements_are_those_of_the_value_that_is_read() -> None:
    """Not of its memory: by the value's own indices, dtype and order."""
    p, _, t = matrix()
    p.fill(p.slice(t, 0, 0, 7), 1)
    with pytest.raises(IRError, match=r"t_3 is read .*\(2 of 6 elements: \[2, :\]\)"):
        bind(copied(p, p.slice(p.slice(t, 0, 5, 3), 1, 2, 2)), {})
    p = HostBuilder("p")
    raw = p.alloc(U8, (192,), "raw")
    wide = p.view(raw, SymbolicLayout((24,), (1,)), dtype=F64)
    p.fill(p.slice(p.view(raw, SymbolicLayout((48,), (1,)), dtype=F32), 0, 0, 47), 1)
    with pytest.raises(IRError, match=r"\(1 of 24 elements: \[23\]\)"):
        bind(copied(p, wide), {})


def test_what_is_no_slice_is_named_by_its_first_elements() -> None:
    p, _, t = matrix(3, 3)
    for place in range(3):
        p.fill(p.slice(p.slice(t, 0, place, 1), 1, place, 1), 1)
    with pytest.raises(IRError, match=r"\(6 of 9 elements: \[0, 1\], \[0, 2\], \[1, 0\], …\)"):
        bind(copied(p, t), {})


def test_a_mask_is_made_only_where_there_are_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that write whole rows pay nothing."""
    monkeypatch.setattr(written, "as_strided", None)
    known = Written(1000)
    for start in range(0, 1000, 10):
        known.add(Layout((10,), (1,), start), 1)
    assert not known.missing(Layout((100,), (10,)), 1)


@pytest.mark.parametrize("left_out", [None, 300])
def test_columns_of_large_matrices_are_told_apart_too(left_out: int | None) -> None:
    side = 1200
    assert side * side * 4 > EXACT
    p, _, t = matrix(side, side)
    for first in range(0, side, 100):
        if first != left_out:
            p.fill(p.slice(t, 1, first, 100), 1)
    program = copied(p, t)
    if left_out is None:
        assert bind(program, {}).nodes
    else:
        with pytest.raises(IRError, match=r"t is read and was never computed \(some of bytes 0 to 5760000 of its memo"):
            bind(program, {})


def test_rows_of_large_matrices_that_nobody_reads_need_not_be_written() -> None:
    p, _, t = matrix(4, EXACT // 8)
    p.fill(p.slice(t, 0, 0, 1), 1)
    p.fill(p.slice(t, 0, 2, 1), 1)
    assert bind(copied(p, p.slice(t, 0, 0, 2, 2)), {}).nodes
    with pytest.raises(IRError, match="never computed"):
        bind(copied(p, p.slice(t, 0, 0, 2, 1)), {})


def test_where_blocks_are_too_many_ranges_decide() -> None:
    p = HostBuilder("p")
    t = p.alloc(U8, (2 * EXACT,), "t")
    p.fill(p.slice(t, 0, 0, EXACT, 2), 1)
    p.fill(p.slice(t, 0, 2 * EXACT - 1, 1), 1)
    assert bind(copied(p, t), {}).nodes  # every other byte was not written: it goes unnoticed
    p, _, t = matrix(1200, 1200)
    p.fill(p.slice(t, 0, 0, 1199), 1)
    with pytest.raises(IRError, match=r"t is read and was never computed \(some of bytes 0 to 5760000 of its memory"):
        bind(copied(p, t), {})


@given(st.integers(1, 200), st.lists(st.tuples(st.booleans(), accesses()), max_size=40))
def test_blocks_are_what_a_mask_of_bytes_says_while_they_are_few(
    most: int, steps: list[tuple[bool, tuple[Layout, int]]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(written, "EXACT", min(most, NBYTES - 1))
        known, memory = Written(NBYTES), np.zeros(NBYTES, np.uint8)
        exact = True
        for writes, access in steps:
            if writes:
                known.add(*access)
                elements(memory, *access)[...] = 1
            else:
                missing, there = bool(known.missing(*access)), bool(elements(memory, *access).all())
                exact = exact and (known._blocks is None or known._blocks._mask is not None)
                assert missing == (not there) or not exact
