"""In which order a work-group joins its values: the same one everywhere, so that floats have the same bits.

A reduction is a tree: with p the largest power of two below the number of items, item l joins what item l + p has to
its own, where there is one; p items are left, of which p / 2 go on. A scan is Hillis and Steele's (Data parallel
algorithms, 1986): for d = 1, 2, 4, … each item l >= d adds its own to what item l - d has. An exclusive scan gives what
the scan gives to the item before, and 0 to the first one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

JOINS: Mapping[str, str] = {
    "sum": "add",
    "prod": "mul",
    "min": "minimum",
    "max": "maximum",
    "any": "or",
    "all": "and",
}
"""The operation that joins two values, by the reduction's name."""

SCANS = frozenset({"scan", "exclusive_scan"})
"""Collectives whose result differs between work-items."""


class Step(NamedTuple):
    """The first `items` work-items join what the items at a `distance` have."""

    distance: int
    items: int


def tree(items: int) -> Iterator[Step]:
    """The steps of a reduction; item 0 has the result."""
    while items > 1:
        distance = 1 << (items - 1).bit_length() - 1
        yield Step(distance, items - distance)
        items = distance


def distances(items: int) -> Iterator[int]:
    """How far back a scan looks, step by step."""
    distance = 1
    while distance < items:
        yield distance
        distance *= 2
