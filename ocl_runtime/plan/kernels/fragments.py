"""What work-items hold of the rows of a warpgroup's product, exchanged so that each has elements that are neighbours.

Of each fragment, 8 columns of a row, four work-items next to each other hold a pair each. Of four fragments a, b, c, d,
work-item t has pairs at, bt, ct, dt; they exchange until 0 has a0 a1 a2 a3, 1 has b0 b1 b2 b3, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.operands import Ref


def exchanged(k: KernelBuilder, item: Ref, held: Sequence[Sequence[Ref]]) -> list[Ref]:
    """What a work-item has afterwards, of one, two or four fragments of which it `held` some values each. Of two, t has
    the pairs of t and its neighbour in fragment t % 2; of one, what it had."""
    parts = [[*values] for values in held]
    for distance in (1, 2):
        if distance >= len(parts):
            continue
        is_upper = k.op("ne", item & distance, 0, hint="is_upper")
        for number in range(len(parts)):
            if not number & distance:
                _exchange(k, (item & 31) ^ distance, is_upper, parts[number], parts[number + distance])
    return [value for values in parts for value in values]


def _exchange(k: KernelBuilder, lane: Ref, is_upper: Ref, lower: list[Ref], upper: list[Ref]) -> None:
    """A step of a transposition by butterflies: of what a work-item has of two fragments, neighbours exchange one, so
    that the lower of them has both their parts of the lower fragment, the upper one those of the upper."""
    for step, (low, high) in enumerate(zip(lower, upper, strict=True)):
        theirs = k.shuffle(k.op("select", is_upper, low, high), lane, 32, hint="theirs")
        lower[step] = k.op("select", is_upper, theirs, low)
        upper[step] = k.op("select", is_upper, high, theirs)
