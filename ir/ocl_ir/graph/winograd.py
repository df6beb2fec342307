"""Convolutions by Winograd's method as an algorithm of the library."""

from __future__ import annotations

from dataclasses import dataclass

from ocl_ir.graph.library_algorithm import LibraryAlgorithm, Typed

TAPS = 3
"""Of the kernel, along both axes."""
MADE = 2
"""Elements of the result that a tile gives along each axis."""
TAKEN = MADE + TAPS - 1
"""Elements of the operand that it takes there."""
MOST_TILES = 2**22
"""Of some images and all channels, of the operand or of the result, that are in memory at once: 256 MiB of float32."""


@dataclass(frozen=True, slots=True)
class WinogradConvolution(LibraryAlgorithm):
    """A convolution of (batch, channels, height, width) with weights (channels of the result, channels, 3, 3), which
    move by one; `before` and `behind` there are so many zeros along each axis."""

    before: tuple[int, int]
    behind: tuple[int, int]

    def result(self, *operands: Typed) -> Typed:
        """(batch, channels of the result, height, width)."""
        (dtype, (batch, _, *lengths)), (_, (made, *_)) = operands
        around = zip(lengths, self.before, self.behind, strict=True)
        return Typed(dtype, (batch, made, *(length + low + high - TAPS + 1 for length, low, high in around)))
