"""What an array is now: a `Cell` holds the node, and views of an array share its cell.

Arrays are computed and written one at a time (under `lock`); expressions are built at any time, by any thread. Who has
built on a node that is computed meanwhile finds its result there (`ocl_ir.graph.forward`), so nobody knows all arrays.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from typing import Any, Final, NamedTuple
from weakref import ref

from ocl_ir.graph.build import Buffer, Node
from ocl_ir.source_line import Where
from ocl_runtime.plan.donation import held_once


class Read(NamedTuple):
    """An element that was read: its node then, and the cell that it became."""

    node: ref[Node]
    cell: ref[Cell]


class Reads(list[Read]):
    """Reads of elements; at `most` of them those that are over are dropped."""

    most = 64


class Cell:
    """What an array is now. Whoever writes it holds the registry's lock."""

    __slots__ = ("__weakref__", "_node", "born", "reads")

    def __init__(self, node: Node, registry: Registry) -> None:
        self._node = node
        node.cell = ref(self)
        self.reads: Reads | None = None
        """Elements that were read since the last write, if any."""
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
    """Whether nothing but a cell and its views needs the memory that it has been computed to, and each element has its
    own there, under the lock."""
    cell.become(cell.node)  # in the place of the node that was computed, which may hold the memory for others
    node = [cell.node]
    assert isinstance(node[0], Buffer)
    return node[0].storage is None or (not node[0].layout.repeats and held_once(node))


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


_MOST_LINES = 64
"""Lines of programs of which something is remembered."""


class _ByLine(OrderedDict[Where, int]):
    """Numbers for lines of programs, of those that were noted last. Any thread may look one up."""

    def note(self, line: Where, number: int) -> None:
        """From now on that of a line; under the registry's lock."""
        self[line] = number
        self.move_to_end(line)
        while len(self) > _MOST_LINES:
            self.popitem(last=False)


_MOST_NEWEST = 64
"""Arrays of the last statements that are looked at again when a part of pending work starts."""


class _Pending(threading.local):
    """Of long pending work, what a thread starts next, and the arrays that it has put on top of such work lately
    (`ocl_runtime.arrays.pending`)."""

    def __init__(self) -> None:
        self.part: Any = None
        self.measured = -1
        """How many evaluations there had been when the depths of arrays were last known to be right."""
        self.newest: deque[ref[Node]] = deque(maxlen=_MOST_NEWEST)


class Registry:
    """What the arrays of one runtime have in common."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        """Held while arrays are computed or written."""
        self.captures = 0
        self.evaluations = 0
        self._cuts, self._passed = _ByLine(), _ByLine()
        self.threshold = self._cuts.get
        """What pending work costs that is started by itself at a line of a program, if any is."""
        self.evaluating = Evaluating()
        self.pending = _Pending()

    def cut(self, line: Where, threshold: int) -> None:
        """Pending work is started at a line from now on."""
        with self.lock:
            self._cuts.note(line, threshold)

    def passes(self, line: Where, cost: int) -> bool:
        """Whether work of a cost may be left pending at a line, since its loop is cut at another one."""
        until = self._passed.get(line)
        return until is not None and cost < until

    def passed(self, line: Where, until: int) -> None:
        """Work up to a cost is left pending at a line."""
        with self.lock:
            self._passed.note(line, until)
