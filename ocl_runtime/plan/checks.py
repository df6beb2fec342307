"""Places of index arrays, checked on the device (`OCL_RUNTIME_CHECK=on`).

What lies in an `Array` cannot raise anything when an expression is built. So each runtime has one record on its
device: the number of the first check that failed and the value that it failed for. Checks are expressions over the
record, which are computed when the next value is read; that is when a violation is raised, once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer, Node
from ocl_ir.layout import Layout
from ocl_ir.source_line import calling_line
from ocl_ir.types import I64, U64
from ocl_runtime.errors import IndexingError

_MOST_PENDING = 64
"""Checks that wait for the next value; more are computed at once, without waiting."""


class _Site(NamedTuple):
    """What a check is of."""

    line: str
    axis: int
    length: int


Compute: TypeAlias = Callable[[list[Node]], Sequence[Buffer]]
"""What nodes are computed to."""
Read: TypeAlias = Callable[[Buffer], NDArray[Any]]
"""The values of a record, waited for."""


class Checks:
    """The record of one runtime. Used under the registry's lock."""

    def __init__(self) -> None:
        self._record: Node = graph.scalar(0, I64, (2,))
        self._sites: list[_Site] = []
        self._pending = 0

    def note(self, index: Node, axis: int, length: int, compute: Compute) -> None:
        """Every element of an index array for an axis of a length must be a place there."""
        if not index.size:
            return
        self._sites.append(_Site(calling_line(), axis, length))
        flat = graph.reshape(index, (index.size,))
        first = graph.reduce("min", graph.elementwise("select", _outside(flat, length), *_places(flat)), (0,), I64)
        found = graph.elementwise("lt", first, graph.scalar(index.size, I64))
        within = graph.elementwise("minimum", first, graph.scalar(index.size - 1, I64))
        value = graph.convert(graph.gather(flat, [within]), I64)
        number = graph.iota(I64, Layout((2,), (1,)))
        entry = graph.elementwise(
            "select",
            graph.elementwise("eq", number, graph.scalar(0, I64, (2,))),
            graph.scalar(len(self._sites), I64, (2,)),
            graph.expand(value, (2,)),
        )
        before = graph.expand(graph.index(self._record, (0,)), (2,))
        none_before = graph.elementwise("eq", before, graph.scalar(0, I64, (2,)))
        fresh = graph.elementwise("and", none_before, graph.expand(found, (2,)))
        self._record = graph.elementwise("select", fresh, entry, self._record)
        self._pending += 1
        if self._pending >= _MOST_PENDING:
            self._compute(compute)

    def report(self, compute: Compute, read: Read) -> None:
        """Raises `IndexingError` for the first violation of what was noted, and forgets all of it."""
        if not self._sites:
            return
        number, value = map(int, read(self._compute(compute)))
        sites, self._sites = self._sites, []
        if not number:
            return
        self._record = graph.scalar(0, I64, (2,))
        site = sites[number - 1]
        raise IndexingError(
            f"index {value} in an array was out of bounds for axis {site.axis} of length {site.length}; the nearest "
            "element was taken",
            place=site.line,
            remedy=f"use {-site.length} to {site.length - 1}" if site.length else "the axis has no elements",
        )

    def _compute(self, compute: Compute) -> Buffer:
        (record,) = compute([self._record])
        self._record, self._pending = record, 0
        return record


def _outside(flat: Node, length: int) -> Node:
    """Where places are before the first element or behind the last."""
    signed = flat.dtype.kind == "int"
    flat = graph.convert(flat, I64 if signed else U64)
    behind = graph.elementwise("ge", flat, graph.scalar(length, flat.dtype, flat.shape))
    if not signed:
        return behind
    return graph.elementwise("or", behind, graph.elementwise("lt", flat, graph.scalar(-length, I64, flat.shape)))


def _places(flat: Node) -> tuple[Node, Node]:
    """The places themselves, and the one behind all of them."""
    return graph.iota(I64, Layout(flat.shape, (1,))), graph.scalar(flat.size, I64, flat.shape)
