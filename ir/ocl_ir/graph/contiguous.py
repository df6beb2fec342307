"""What is to be in memory, as an algorithm of the library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ocl_ir.graph.library_algorithm import LibraryAlgorithm, Typed


@dataclass(frozen=True, slots=True)
class Contiguous(LibraryAlgorithm):
    """Its operand, computed and in row-major order: who reads the result looks through to nothing else. As a mere view
    or a write into zeros nobody would write it down."""

    alignment: ClassVar[int] = 16
    overwrites: ClassVar[int | None] = 0

    def result(self, *operands: Typed) -> Typed:
        """The operand."""
        return operands[0]
