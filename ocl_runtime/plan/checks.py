"""Places of index arrays, checked on the device (`OCL_RUNTIME_CHECK=on`).

What lies in an `Array` cannot raise anything when an expression is built. So each runtime has a record on its
device: the number of the first check that failed and the value that it failed for. Checks are expressions over the
record, which are computed when the next value is read; that is when a violation is raised, once. What is noted from
then on has a record of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.graph.forward import current
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


class _Record:
    """Checks, and an expression for the number of the first that failed (0: none) and the value that it failed for."""

    def __init__(self) -> None:
        self.sites: list[_Site] = []
        self.node: Node = graph.scalar(0, I64, (2,))
        self.pending = 0

    def note(self, index: Node, site: _Site) -> None:
        """Every element of an index array must be a place of the axis."""
        self.sites.append(site)
        flat = graph.reshape(index, (index.size,))
        first = graph.reduce(
            "min", graph.elementwise("select", _outside(flat, site.length), *_positions(flat)), (0,), I64
        )
        fails = graph.elementwise("lt", first, graph.scalar(index.size, I64))
        within = graph.elementwise("minimum", first, graph.scalar(index.size - 1, I64))
        value = graph.convert(graph.gather(flat, [within]), I64)
        entry = graph.elementwise(
            "select",
            graph.elementwise("eq", graph.iota(I64, Layout((2,), (1,))), graph.scalar(0, I64, (2,))),
            graph.scalar(len(self.sites), I64, (2,)),
            graph.expand(value, (2,)),
        )
        node = current(self.node)
        before = graph.expand(graph.index(node, (0,)), (2,))
        none_before = graph.elementwise("eq", before, graph.scalar(0, I64, (2,)))
        is_first = graph.elementwise("and", none_before, graph.expand(fails, (2,)))
        self.node = graph.elementwise("select", is_first, entry, node)
        self.pending += 1


class Checks:
    """The checks of one runtime. Any thread uses it, and computes what they are without a lock."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        """Held to change what follows."""
        self._record = _Record()
        self._ended: list[_Record] = []
        """What is looked at, and gets no more checks."""

    def note(self, index: Node, axis: int, length: int) -> Node | None:
        """Every element of an index array for an axis of a length must be a place there. Gives an expression that is to
        be computed now, without waiting, if there is one."""
        if not index.size:
            return None
        site = _Site(calling_line(), axis, length)
        with self._lock:
            record = self._record
            record.note(index, site)
            if record.pending < _MOST_PENDING:
                return None
            record.pending = 0
            return record.node

    def report(self, read: Callable[[Node], NDArray[Any]]) -> None:
        """Raises `IndexingError` for the first violation of what was noted, and forgets what was noted with it; `read`
        computes an expression and waits for its values."""
        with self._lock:
            if self._record.sites:
                self._ended.append(self._record)
                self._record = _Record()
        for record in self._ended.copy():
            number, value = map(int, read(record.node))
            with self._lock:
                if record not in self._ended:  # another thread has looked, too, and says so
                    continue
                self._ended.remove(record)
            if not number:
                continue
            site = record.sites[number - 1]
            raise IndexingError(
                f"index {value} in an array was out of bounds for axis {site.axis} of length {site.length}; the "
                "nearest element was taken",
                place=site.line,
                remedy=f"use {-site.length} to {site.length - 1}" if site.length else "the axis has no elements",
            )


def _outside(flat: Node, length: int) -> Node:
    """Where places are before the first element or behind the last."""
    signed = flat.dtype.kind == "int"
    flat = graph.convert(flat, I64 if signed else U64)
    behind = graph.elementwise("ge", flat, graph.scalar(length, flat.dtype, flat.shape))
    if not signed:
        return behind
    return graph.elementwise("or", behind, graph.elementwise("lt", flat, graph.scalar(-length, I64, flat.shape)))


def _positions(flat: Node) -> tuple[Node, Node]:
    """The positions themselves, and the one behind all of them."""
    return graph.iota(I64, Layout(flat.shape, (1,))), graph.scalar(flat.size, I64, flat.shape)
