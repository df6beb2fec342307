"""Grids: every element of a tile is one work-item's, in vectors where sizes allow."""

from __future__ import annotations

from collections import Counter

import pytest

from ocl_ir.kernel.matrix_instructions import INSTRUCTIONS
from ocl_ir.language.values.grids import Grid

SHAPES = [(128, 128), (64, 64), (16, 24), (17, 9), (1, 1), (8, 1024), (96, 3)]


def elements(grid: Grid, items: int) -> Counter[tuple[int, int]]:
    """How many items have each element."""
    held = Counter[tuple[int, int]]()
    for item in range(items):
        down, across = grid.place(item)
        rows, columns = (
            [place * lanes + step for step in grid.steps(axis)]
            for axis, (place, lanes) in enumerate(zip((down, across), grid.lanes, strict=True))
        )
        held.update((rows[row], columns[column]) for row, column in grid.own_elements())
    return held


@pytest.mark.parametrize("items", [1, 6, 32, 128, 256])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_element_is_one_items(shape: tuple[int, int], items: int) -> None:
    across = next(width for width in (16, 6, 1) if items % width == 0)
    fragments = [Grid.of_fragments(shape, items, each) for each in INSTRUCTIONS.values()]
    grids = [Grid.of(shape, items), Grid.in_rows(shape, items // across, across), *fragments]
    for grid in filter(None, grids):
        held = elements(grid, items)
        assert set(held.values()) == {1}
        assert {(row, column) for row in range(shape[0]) for column in range(shape[1])} <= held.keys()
        exact = all(grid.covers(axis, length) for axis, length in enumerate(shape))
        assert exact == (len(held) == shape[0] * shape[1])


def test_large_tiles_have_vectors_and_few_to_read() -> None:
    grid = Grid.of((128, 128), 128)
    assert (grid.rows, grid.columns, grid.lanes, grid.order) == (16, 8, (4, 4), "turns")


def test_items_that_a_gpu_serves_at_once_read_few_vectors() -> None:
    grid = Grid.of((128, 128), 128)
    for first in range(0, 128, 8):
        places = [grid.place(item) for item in range(first, first + 8)]
        assert len({down for down, _ in places}) + len({across for _, across in places}) == 6


def test_fragments_are_those_of_the_instruction() -> None:
    made = INSTRUCTIONS["mma_f16"]
    grid = Grid.of_fragments((64, 32), 64, made)
    assert grid is not None
    assert [grid.place(4 * group + thread) for group, thread in ((0, 0), (3, 2), (7, 3))] == [(0, 0), (3, 2), (7, 3)]
    assert Grid.of_fragments((24, 32), 64, made) is None
    assert Grid.of_fragments((64, 32), 48, made) is None
    assert Grid.of_fragments((64, 32), 32, INSTRUCTIONS["mfma_f16"]) is None


@pytest.mark.parametrize("name", sorted(INSTRUCTIONS))
def test_items_have_whole_fragments(name: str) -> None:
    """Each sub-group has as many elements of each instruction's sums as its layout says."""
    made = INSTRUCTIONS[name]
    grid = Grid.of_fragments((64, 64), 2 * made.size, made)
    assert grid is not None
    assert grid.rows * grid.columns % made.sums.count == 0
    assert grid.rows * grid.columns * 2 * made.size == 64 * 64
