"""How matrix instructions read operands that boxes have copied to local memory: as `Swizzled` says, in rows of 128
bytes along the inner axis (*turned*) or along the operand's own one, whose units of 16 bytes are exchanged.

A chunk is one row along the inner axis. Which rows or columns of an operand are which of an instruction does not
matter, so they lie where those that half of the lanes read together, of 64 bits, are in different banks: for an operand
that is not turned 0, 1, 8 and 9, whose pairs stay neighbours; for a left one that is turned every other row. Of a right
one that is turned, columns stay where they are, since results are stored in pairs, and two lanes share each bank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.matrix_instruction import Digit
from ocl_ir.kernel.matrix_words import WordLayout
from ocl_ir.kernel.operands import Ref

_BLOCK = 16
"""Words of a row, and places of an operand that lie in one block."""
_PAIRS = ((2, 1), (2, 8), (2, 2), (2, 4))
_EVERY_OTHER = ((4, 2), (2, 1), (2, 8))
_IN_ORDER = ((_BLOCK, 1),)
"""Digits of a place in a block, the fastest first: their lengths and steps."""


@dataclass(frozen=True, slots=True)
class BoxLayout(WordLayout):
    """How an operand of words of 64 bits lies in local memory, and how it is read."""

    @property
    def _digits(self) -> tuple[tuple[int, int], ...]:
        if not self.turned:
            return _PAIRS
        return _IN_ORDER if self.side else _EVERY_OTHER

    @property
    def chunk_length(self) -> int:
        """Words of local memory that a chunk takes."""
        return self.length * _BLOCK

    def start(self, fragment: int) -> int:
        """Where the rows or columns of an instruction begin, of several that lie one behind the other."""
        block, within = divmod(fragment * self.words.own * self.words.each, _BLOCK)
        return block * _BLOCK + self.moved(within)

    def moved(self, place: int) -> int:
        """Where a row or column of an instruction lies behind its start."""
        total = 0
        for length, step in self._digits:
            place, digit = divmod(place, length)
            total += digit * step
        return total

    def lane_moved(self, value: Ref, digit: Digit) -> Ref:
        """Where the row or column of an instruction lies that the value of a lane's digit says."""
        place = value * digit.step if digit.step > 1 else value
        parts, unit = [], 1
        for length, step in self._digits:
            if digit.step < unit * length and unit < digit.step * digit.length:
                above = place >> unit.bit_length() - 1 if unit > 1 else place
                parts.append((above & (length - 1)) * step)
            unit *= length
        return sum(parts[1:], parts[0])

    def own_place(self, own: Ref, lane: Ref) -> Ref:
        """A work-item's first place along the own axis, of a part that begins at `own`."""
        words = self.words
        value = words.own_lane(lane, self.chunks.instruction.size)
        assert isinstance(value, Ref)
        return own + self.lane_moved(value, Digit(words.own, "row"))

    def origins(self, own: Ref, lane: Ref) -> list[Ref]:
        """Where a work-item begins to read that has places from `own` on: of each word of a turned operand; of others,
        of even words and odd ones, for places of either half of a block."""
        inner = self.words.inner_lane(lane, self.chunks.instruction.size)
        assert isinstance(inner, Ref)
        if self.turned:
            row, exchanged = own * _BLOCK, (own & 7) * 2
            return [
                row + ((inner + word * self.words.inner if word else inner) ^ exchanged) for word in range(self.each)
            ]
        within = own & (_BLOCK - 1)
        row, along = (own - within) * _BLOCK + inner * _BLOCK, within ^ inner * 2
        exchanges = (half * 4 + odd * 8 for half in range(2) for odd in range(2))
        return [row + (along ^ exchange if exchange else along) for exchange in exchanges]

    def read(
        self, k: KernelBuilder, memory: Ref, origins: Sequence[Ref], chunk: Ref, first: int, hint: str = ""
    ) -> list[list[Ref]]:
        """The words of a chunk that a work-item has, `first` places further on."""
        base, each = chunk * self.chunk_length, range(self.each)
        if self.turned:
            return [[k.load(memory, origins[word] + (base + first * _BLOCK), hint=hint) for word in each]]
        block, within = divmod(first, _BLOCK)
        half, row = within // 4, self.words.inner * _BLOCK
        starts = [(origins[2 * half + word % 2], block * _BLOCK * _BLOCK + word * row) for word in each]
        return [[k.load(memory, origin + (base + at), hint=hint) for origin, at in starts]]
