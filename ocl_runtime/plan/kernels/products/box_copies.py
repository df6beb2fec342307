"""An operand of a product on its way to local memory in boxes, which one work-item has copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ocl_ir.kernel.asynchronous import ROW_BYTES
from ocl_ir.kernel.operands import Ref
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.products.stage import Operand, Part
from ocl_runtime.plan.kernels.products.tile import MatrixTile, WarpgroupTile
from ocl_runtime.plan.kernels.products.windows import MOVING, WindowAxes

Place: TypeAlias = tuple[Ref, ...]
"""Where boxes begin: a row or a column of a matrix; of windows, where the first one begins along width, height and
images."""


class BoxCopies:
    """The boxes of a step of an operand: rows of 128 bytes along the axis in which its elements lie next to each other.
    `maps` has their descriptions."""

    def __init__(
        self, body: Body, operand: Operand, local: Ref, part: Part, tile: MatrixTile | WarpgroupTile, maps: Ref
    ) -> None:
        self._body, self._k, self._maps = body, body.k, maps
        self._operand, self._local, self._part = operand, local, part
        self._source = body.params[operand.access.name]
        self._row, self._row_words = ROW_BYTES // tile.dtype.size, ROW_BYTES // tile.word.size
        self._rows = box_rows(operand, part.length, part.inner)
        self.boxes = 1 if operand.turned else part.length // self._row
        """How many boxes a step has."""
        self.rank = 3 if operand.windows is not None else 1
        """How many numbers say where boxes begin."""

    def locate(self, first: Ref) -> Place:
        """Where the boxes of a tile begin, `first` elements along the operand's own axis."""
        windows = self._operand.windows
        if windows is None:
            return (first,)
        digits, zero = self._operand.own.split(first, self._body), self._body.const(0)
        width, height, image = (zero if axis is None else digits[axis] for axis in windows.places)
        places = (
            place * self._size(space, "step") - self._size(space, "before")
            for space, place in zip(MOVING, (width, height), strict=True)
        )
        return (*[self._k.let(place, f"{self._operand.access.name}_place") for place in places], image)

    def begin(self, place: Sequence[Ref], slot: Ref, begin: Ref, step: Ref, barrier: tuple[Ref, Ref]) -> None:
        """Begins to copy a step, given by where it is in local memory: a part from a place on along the operand's own
        axis and from `begin` on along the inner one, of what is described from word `slot` on. One work-item comes
        here."""
        at = step * self._part.step_length + self._part.start
        table, rows = (self._maps, slot), self._rows
        if self._operand.windows is not None:
            column, taps = self._column(begin, self._operand.windows)
            memory = (self._local, at), self._source, table
            self._k.copy_windows(*memory, column=column, place=place, taps=taps, rows=rows, barrier=barrier)
            return
        (first,) = place
        for number in range(self.boxes):
            own = first + number * self._row if number else first
            column, row = (begin, own) if self._operand.turned else (own, begin)
            to = at + number * rows * self._row_words if number else at
            memory = (self._local, to), self._source, table
            self._k.copy_box(*memory, column=column, row=row, rows=rows, barrier=barrier)

    def _column(self, begin: Ref, windows: WindowAxes) -> tuple[Ref, list[Ref]]:
        """The column where a step begins, and its tap along width and height."""
        digits, zero = self._operand.inner.split(begin, self._body), self._body.const(0)
        taps = [
            zero if axis is None else digits[axis] * self._size(space, "dilation")
            for space, axis in zip(MOVING, windows.taps, strict=True)
        ]
        return digits[self._operand.lane], taps

    def _size(self, space: str, what: str) -> Ref:
        return self._body.params[f"{self._operand.access.name}_{space}_{what}"]


def box_rows(operand: Operand, length: int, inner: int) -> int:
    """Rows of a box of an operand's part."""
    return length if operand.turned else inner
