"""Other orders of pictures with channels as algorithms of the library."""

from __future__ import annotations

from dataclasses import dataclass

from ocl_ir.graph.library_algorithm import LibraryAlgorithm, Typed


@dataclass(frozen=True, slots=True)
class ChannelsLast(LibraryAlgorithm):
    """The same elements of (batch, channels, …) as (batch, …, channels) in memory: matrix instructions take those of
    many channels of a place together. As a view nobody would write it down."""

    def result(self, *operands: Typed) -> Typed:
        """The channels behind all other axes."""
        dtype, (batch, channels, *space) = operands[0]
        return Typed(dtype, (batch, *space, channels))
