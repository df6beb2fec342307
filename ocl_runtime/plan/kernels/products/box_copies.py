"""An operand of a product on its way to local memory in boxes, which one work-item has copied."""

from __future__ import annotations

from ocl_ir.kernel.asynchronous import ROW_BYTES
from ocl_ir.kernel.operands import Ref
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.products.stage import Operand, Part
from ocl_runtime.plan.kernels.products.tile import MatrixTile, WarpgroupTile


class BoxCopies:
    """The boxes of a step of an operand: rows of 128 bytes along the axis in which its elements lie next to each other.
    `maps` has their descriptions."""

    def __init__(
        self, body: Body, operand: Operand, local: Ref, part: Part, tile: MatrixTile | WarpgroupTile, maps: Ref
    ) -> None:
        self._k, self._operand, self._local, self._part, self._maps = body.k, operand, local, part, maps
        self._source = body.params[operand.access.name]
        self._row, self._row_words = ROW_BYTES // tile.dtype.size, ROW_BYTES // tile.word.size
        self._rows = box_rows(operand, part.length, part.inner)
        self.boxes = 1 if operand.turned else part.length // self._row
        """How many boxes a step has."""

    def begin(self, first: Ref, slot: Ref, begin: Ref, step: Ref, barrier: tuple[Ref, Ref]) -> None:
        """Begins to copy a step, given by where it is in local memory: a part from `first` on along the operand's own
        axis and from `begin` on along the inner one, of the matrix that is described from word `slot` on. One work-item
        comes here."""
        for number in range(self.boxes):
            own = first + number * self._row if number else first
            column, row = (begin, own) if self._operand.turned else (own, begin)
            at = step * self._part.step_length + (self._part.start + number * self._rows * self._row_words)
            memory = (self._local, at), self._source, (self._maps, slot)
            self._k.copy_box(*memory, column=column, row=row, rows=self._rows, barrier=barrier)


def box_rows(operand: Operand, length: int, inner: int) -> int:
    """Rows of a box of an operand's part."""
    return length if operand.turned else inner
