"""All arrays of a runtime that are not computed yet, and what becomes of them when a part of them is computed.

Every array looks at a `Cell`, which holds the node that it is; views of an array share its cell. The registry knows the
cells through weak references, so being known keeps nothing alive. When nodes have been computed, `replace` puts the
results in their place in every cell: two consumers of one producer see the same result, nothing is computed twice, and
operands that nobody needs any more can go. Cells belong to one runtime, so no result comes into an array of another.

Arrays are computed and written one at a time (under `lock`); expressions are built at any time, by any thread. So one
may have been built on a node while that was being replaced: as long as anybody holds a replaced node its result is
remembered, and `current` looks there first.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from ocl_ir.graph import Buffer, Node, walk
from ocl_ir.substitute import substitute
from ocl_runtime.plan.spare import used_outside

_MOST_MOVES = 512


class Read(NamedTuple):
    """An element that was read: its node then, and the cell that it became."""

    node: weakref.ref[Node]
    cell: weakref.ref[Cell]


class Cell:
    """What an array is now. Whoever changes it holds the registry's lock."""

    __slots__ = ("__weakref__", "_registry", "born", "node", "reads")

    def __init__(self, node: Node, registry: Registry) -> None:
        self.node = node
        """Changed by `become` only."""
        self._registry: Final = registry
        self.reads: list[Read] = []
        """Elements that were read, until the next write."""
        self.born: Final = registry.captures
        """How many functions had been captured by then."""
        registry.enter(self)

    def __del__(self) -> None:
        self._registry.leave(self)

    def become(self, node: Node) -> None:
        """Makes it another node."""
        if node is not self.node:
            self._registry.leave(self)
            self.node = node
            self._registry.enter(self)


class Registry:
    """The cells of one runtime."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        """Held while arrays are computed or written."""
        self.captures = 0
        self.visited = 0
        """Nodes of other arrays that replacing has looked at since the registry was made."""
        self.evaluating = 0
        """The thread that computes arrays, by `threading.get_ident`; 0 while none does."""
        self._lazy: dict[int, weakref.ref[Cell]] = {}
        """By identity. Changed by single operations of the dictionary, which threads cannot break."""
        self._in_memory: dict[int, int] = {}
        """How many cells are in a storage, by its identity."""
        self._moves: deque[int] = deque()
        """What is still to be added to that, since cells may go while the count is being changed: the identity of a
        storage for a cell that has come, less than 0 for one that has gone."""
        self._counting = threading.RLock()
        self._amid = False
        """Whether it is being changed now: a signal handler or a finalizer may run in between."""
        self._replaced: WeakKeyDictionary[Node, Buffer] = WeakKeyDictionary()

    # ------------------------------------------------------------------ cells

    def enter(self, cell: Cell) -> None:
        """A cell has got a node."""
        node = cell.node
        if isinstance(node, Buffer):
            self._moves.append(id(node.storage))
            if len(self._moves) > _MOST_MOVES:
                self._count()
        else:
            self._lazy[id(cell)] = weakref.ref(cell)

    def leave(self, cell: Cell) -> None:
        """A cell gives up its node, or is gone."""
        node = cell.node
        if isinstance(node, Buffer):
            self._moves.append(-id(node.storage))
        else:
            self._lazy.pop(id(cell), None)

    def _count(self) -> bool:
        """Brings the count up to date; False where this thread is amid that."""
        with self._counting:
            if self._amid:
                return False
            self._amid = True
            try:
                counts, moves = self._in_memory, self._moves
                while moves:
                    move = moves.popleft()
                    storage = abs(move)
                    count = counts.get(storage, 0) + (1 if move > 0 else -1)
                    if count:
                        counts[storage] = count
                    else:
                        del counts[storage]
            finally:
                self._amid = False
        return True

    def lazy(self) -> list[Cell]:
        """The cells that are not computed."""
        return [cell for reference in list(self._lazy.values()) if (cell := reference()) is not None]

    # ------------------------------------------------------------------ replacing

    def current(self, nodes: Sequence[Node]) -> list[Node]:
        """The nodes with results in place of what was computed since somebody built on it."""
        replaced = dict(self._replaced.items()) if self._replaced else {}
        return substitute(nodes, replaced) if replaced else list(nodes)

    def replace(self, results: Sequence[tuple[weakref.ref[Node], Buffer]]) -> None:
        """Puts results in the place of nodes, wherever these still are. Each node is visited once."""
        replaced: dict[Node, Node] = {}
        for reference, result in results:
            node = reference()
            if node is not None:
                replaced[node] = self._replaced[node] = result
        if not replaced:
            return
        cells = self.lazy()
        before = [cell.node for cell in cells]
        self.visited += sum(1 for _ in walk(*before))
        for cell, old, new in zip(cells, before, substitute(before, replaced), strict=True):
            if new is not old:
                cell.become(new)

    # ------------------------------------------------------------------ memory that nobody else needs

    def alone(self, cell: Cell) -> bool:
        """Whether nothing but a cell and its views needs the memory that it is."""
        node = cell.node
        assert isinstance(node, Buffer)
        if node.storage is None:
            return True
        if not self._count():
            return False
        others = [*walk(*(one.node for one in self.lazy())), *self._replaced.values()]
        used = any(isinstance(one, Buffer) and one.storage is node.storage for one in others)
        return self._in_memory.get(id(node.storage)) == 1 and not used and not used_outside(node.storage)
