"""All arrays of a runtime that are not computed yet, and what becomes of them when a part of them is computed.

Every array looks at a `Cell`, which holds the node that it is; views of an array share its cell. The registry knows the
cells through weak references, so being known keeps nothing alive. When nodes have been computed, `replace` puts the
results in their place in every cell: two consumers of one producer see the same result, nothing is computed twice, and
operands that nobody needs any more can go. Cells belong to one runtime, so no result comes into an array of another.

Arrays are computed and written one at a time (under `lock`); expressions are built at any time, by any thread. So one
may have been built on a node while that was being replaced: as long as anybody holds a replaced node its result is
remembered, and `current` looks there first.

That a cell or a node is gone is told by weak references whose callbacks are functions of C: no signal's exception can
come there. Every other change is one such operation, or can be done twice, so that one that is interrupted leaves at
worst a cell counted in memory that it has left: that memory is then not written over as long as the cell lives.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple
from weakref import ref

from ocl_ir.graph.build import Buffer, Node, walk
from ocl_ir.graph.substitute import substitute
from ocl_runtime.plan.donation import used_outside

_MOST_MOVES = 512
_NOWHERE = 0
"""The place of a node that is not computed."""


class Entry(ref["Cell"]):
    """What the registry knows of a cell: its identity, and that of the memory that it is counted in."""

    __slots__ = ("cell", "storages")
    cell: int
    storages: tuple[int, ...]


class Read(NamedTuple):
    """An element that was read: its node then, and the cell that it became."""

    node: ref[Node]
    cell: ref[Cell]


class Cell:
    """What an array is now. Whoever changes it holds the registry's lock."""

    __slots__ = ("__weakref__", "_entry", "_registry", "born", "node", "reads")

    def __init__(self, node: Node, registry: Registry) -> None:
        self.node = node
        """Changed by `become` only."""
        self._registry: Final = registry
        self.reads: list[Read] = []
        """Elements that were read, until the next write."""
        self.born: Final = registry.captures
        """How many functions had been captured by then."""
        self._entry: Final = registry.enter(self, _place(node))

    def become(self, node: Node) -> None:
        """Makes it another node."""
        before, after = _place(self.node), _place(node)
        if before == after:
            self.node = node
        else:
            self._registry.moves_to(self._entry, after)
            self.node = node
            self._registry.has_left(self._entry, before)


def _place(node: Node) -> int:
    """The storage that a node lies in, by identity."""
    return id(node.storage) if isinstance(node, Buffer) else _NOWHERE


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
        self._lazy: dict[int, Entry] = {}
        """By the identity of the cell. Changed by single operations of the dictionary, which threads cannot break."""
        self._in_memory: dict[int, int] = {}
        """How many cells are in a storage, by its identity."""
        self._moves: deque[Entry | tuple[Entry, int]] = deque()
        """What is still to be done to these, since cells may go while they are being changed: an entry whose cell is
        gone; or an entry with the identity of a storage that its cell comes to, less than 0 for one it has left."""
        self._is_gone = self._moves.append  # one object for all entries
        self._counting = threading.RLock()
        self._amid = False
        """Whether they are being changed now: a signal handler or a finalizer may run in between."""
        self._replaced: dict[ref[Node], Buffer] = {}

    # ------------------------------------------------------------------ cells

    def enter(self, cell: Cell, place: int) -> Entry:
        """A cell has been made."""
        entry = Entry(cell, self._is_gone)
        entry.cell, entry.storages = id(cell), ()
        self.moves_to(entry, place)
        if len(self._moves) > _MOST_MOVES:
            self._count()
        return entry

    def moves_to(self, entry: Entry, place: int) -> None:
        """A cell is about to be somewhere."""
        if place == _NOWHERE:
            self._lazy[entry.cell] = entry
        else:
            self._moves.append((entry, place))

    def has_left(self, entry: Entry, place: int) -> None:
        """A cell is somewhere else now."""
        if place == _NOWHERE:
            del self._lazy[entry.cell]
        else:
            self._moves.append((entry, -place))

    def _count(self) -> bool:
        """Brings up to date which cells are where; False where this thread is amid that."""
        with self._counting:
            if self._amid:
                return False
            try:
                self._amid = True
                self._do_moves()
            finally:
                self._amid = False
        return True

    def _do_moves(self) -> None:
        moves = self._moves
        while moves:
            self._move(moves[0])
            moves.popleft()  # and not before: what is interrupted is done again

    def _move(self, move: Entry | tuple[Entry, int]) -> None:
        """Does what is not done yet of a move. An entry and a count change together, with no call in between."""
        if isinstance(move, Entry):
            if self._lazy.get(move.cell) is move:
                del self._lazy[move.cell]
            for storage in move.storages:
                self._leave(move, storage)
            return
        entry, storage = move
        if storage < 0:
            self._leave(entry, -storage)
        elif storage not in entry.storages:
            count = self._in_memory.get(storage, 0) + 1
            entry.storages = (*entry.storages, storage)
            self._in_memory[storage] = count

    def _leave(self, entry: Entry, storage: int) -> None:
        others = tuple(one for one in entry.storages if one != storage)
        if len(others) == len(entry.storages):
            return
        counts = self._in_memory
        if counts[storage] == 1:
            entry.storages = others
            del counts[storage]
        else:
            entry.storages = others
            counts[storage] -= 1

    def lazy(self) -> list[Cell]:
        """The cells that are not computed."""
        return [cell for entry in list(self._lazy.values()) if (cell := entry()) is not None]

    # ------------------------------------------------------------------ replacing

    def current(self, nodes: Sequence[Node]) -> list[Node]:
        """The nodes with results in place of what was computed since somebody built on it."""
        known = [(reference(), result) for reference, result in list(self._replaced.items())]
        replaced: dict[Node, Node] = {node: result for node, result in known if node is not None}
        return substitute(nodes, replaced) if replaced else list(nodes)

    def replace(self, results: Sequence[tuple[ref[Node], Buffer]]) -> None:
        """Puts results in the place of nodes, wherever these still are. Each node is visited once."""
        replaced: dict[Node, Node] = {}
        for reference, result in results:
            node = reference()
            if node is not None:
                replaced[node] = self._replaced[ref(node, self._replaced.pop)] = result
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
        others = [*walk(*(one.node for one in self.lazy())), *list(self._replaced.values())]
        used = any(isinstance(one, Buffer) and one.storage is node.storage for one in others)
        return self._in_memory.get(id(node.storage)) == 1 and not used and not used_outside(node.storage)
