"""Descriptions of matrices and of windows of tensors, by which boxes are copied: in the interpreter's own form, 16
numbers of 64 bits, of which the last two say what boxes have."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from ocl_ir.interpret.operation import Data
from ocl_ir.kernel.asynchronous import LEAST_CORNER, MAP_WORDS, MOST_CORNER, MOST_STEP

NUMBERS = MAP_WORDS // 2
"""Of a description."""


class Described(NamedTuple):
    """What boxes of a description have: so many rows, of elements of so many bytes: halves, float32, which are rounded
    to tf32, or float64; of windows or of a matrix."""

    box_rows: int
    size: int
    windows: bool


class Matrix(NamedTuple):
    """Rows of so many columns, from a word on, by so many words."""

    begin: int
    columns: int
    rows: int
    row_words: int

    def elements(self, row: Data, column: Data, pack: int) -> tuple[Data, Data]:
        """Which elements of some rows there are, and where they lie, in elements of which a word has `pack`."""
        inside = (row < self.rows) & (column < self.columns)
        return inside, pack * (self.begin + row * self.row_words) + column


class Windows(NamedTuple):
    """A tensor, from a word on, and its windows; lengths and strides are those of width, height and images."""

    begin: int
    columns: int
    width: int
    height: int
    images: int
    width_words: int
    height_words: int
    image_words: int
    step: int
    step_down: int
    before: int
    above: int
    across: int
    down: int

    @property
    def is_possible(self) -> bool:
        """Whether the hardware's description has room for how windows lie."""
        ends = (
            (self.across - 1) * self.step + 1 - self.before - self.width,
            (self.down - 1) * self.step_down + 1 - self.above - self.height,
        )
        steps = 1 <= self.step <= MOST_STEP and 1 <= self.step_down <= MOST_STEP
        return steps and all(LEAST_CORNER <= corner <= MOST_CORNER for corner in (-self.before, -self.above, *ends))

    def number(self, x: int, y: int, image: int) -> int | None:
        """The number of the window that begins at a place; None if there is none."""
        (across, x_rest), (down, y_rest) = divmod(x + self.before, self.step), divmod(y + self.above, self.step_down)
        if x_rest or y_rest or not (0 <= across < self.across and 0 <= down < self.down):
            return None
        return across + self.across * (down + self.down * image)

    def elements(self, number: Data, column: Data, taps: tuple[int, int], pack: int) -> tuple[Data, Data]:
        """Which elements there are at a place of windows, and where they lie."""
        x = number % self.across * self.step - self.before + taps[0]
        y = number // self.across % self.down * self.step_down - self.above + taps[1]
        image = number // self.across // self.down
        inside = (x >= 0) & (x < self.width) & (y >= 0) & (y < self.height) & (image < self.images)
        word = self.begin + x * self.width_words + y * self.height_words + image * self.image_words
        return inside & (column < self.columns), pack * word + column


Description: TypeAlias = Matrix | Windows


def packed(numbers: Data, described: Described) -> Data:
    """The words of descriptions, of which each row of numbers is one."""
    made = np.zeros((len(numbers), NUMBERS), np.uint64)
    made[:, : numbers.shape[1]] = numbers
    made[:, -2], made[:, -1] = described.box_rows, described.size | described.windows << 8
    return made.view(np.uint32)


def unpacked(words: Data) -> tuple[Described, Description]:
    """What the words of a description say."""
    *numbers, box_rows, kind = map(int, np.ascontiguousarray(words).view(np.uint64))
    described = Described(box_rows, kind & 0xFF, bool(kind >> 8))
    made: type[Description] = Windows if described.windows else Matrix
    return described, made._make(numbers[: len(made._fields)])
