"""What an array is now: a `Cell` holds the node, and views of an array share its cell.

Arrays are computed and written one at a time (under `lock`); expressions are built at any time, by any thread. Who has
built on a node that is computed meanwhile finds its result there (`ocl_ir.graph.forward`), so nobody knows all arrays.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from types import CodeType
from typing import Final, NamedTuple
from weakref import ref

from ocl_ir.graph.build import Buffer, Node
from ocl_ir.source_line import Line
from ocl_runtime.plan.donation import held_once


class Read(NamedTuple):
    """An element that was read: its node then, and the cell that it became."""

    node: ref[Node]
    cell: ref[Cell]


MOST_READS = 64
"""Reads of elements that are noted before those that are over are dropped."""


class Cell:
    """What an array is now. Whoever writes it holds the registry's lock."""

    __slots__ = ("__weakref__", "_node", "born", "most_reads", "reads")

    def __init__(self, node: Node, registry: Registry) -> None:
        self._node = node
        node.cell = ref(self)
        self.reads: list[Read] = []
        """Elements that were read since the last write."""
        self.most_reads = MOST_READS
        """How many are noted before those that are over are dropped."""
        self.born: Final = registry.captures
        """How many functions had been captured by then."""

    @property
    def node(self) -> Node:
        """The expression, or the memory that it has been computed to by now."""
        node = self._node
        while node.result is not None:  # and it stays there: another thread may be writing the cell
            node = node.result
        return node

    def become(self, node: Node) -> None:
        """Makes it another node."""
        self._node = node
        node.cell = ref(self)


def alone(cell: Cell) -> bool:
    """Whether nothing but a cell and its views needs the memory that it has been computed to, under the lock."""
    cell.become(cell.node)  # in the place of the node that was computed, which may hold the memory for others
    node = [cell.node]
    assert isinstance(node[0], Buffer)
    return node[0].storage is None or held_once(node)


class Evaluating:
    """The threads that compute arrays: the one that holds the registry's lock for that, and those that are in a `with`
    statement of it."""

    def __init__(self) -> None:
        self.holder: int | None = None
        self._depth: dict[int, int] = {}

    def __enter__(self) -> None:
        thread = threading.get_ident()
        self._depth[thread] = self._depth.get(thread, 0) + 1

    def __exit__(self, *error: object) -> None:
        thread = threading.get_ident()
        self._depth[thread] -= 1  # one operation that counts: a signal may come behind it
        if not self._depth[thread]:
            del self._depth[thread]

    def __contains__(self, thread: int) -> bool:
        """Whether a thread computes, by `threading.get_ident`."""
        return thread == self.holder or self._depth.get(thread, 0) > 0


_MOST_CUTS = 64
"""Lines where pending work was cut that are remembered."""


class _Cut(NamedTuple):
    """A place in a code, which keeps its id from being given again, where parts are cut, and what these cost."""

    code: CodeType
    threshold: int


class Registry:
    """What the arrays of one runtime have in common."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        """Held while arrays are computed or written."""
        self.captures = 0
        self._cuts: OrderedDict[tuple[int, int], _Cut] = OrderedDict()
        self.evaluating = Evaluating()
        self.scheduled = threading.local()
        """`part`: of long pending work, what a thread starts next (`ocl_runtime.arrays.pending`)."""

    def threshold(self, line: Line) -> int | None:
        """What pending work costs that is started by itself at a line of a program, if any is."""
        cut = self._cuts.get((id(line.code), line.at))
        return None if cut is None else cut.threshold

    def cut(self, line: Line, threshold: int) -> None:
        """Pending work is started at a line from now on."""
        with self.lock:
            self._cuts[id(line.code), line.at] = _Cut(line.code, threshold)
            self._cuts.move_to_end((id(line.code), line.at))
            while len(self._cuts) > _MOST_CUTS:
                self._cuts.popitem(last=False)
