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

import sys
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from ir.graph import Buffer, Iota, Node, Scalar, Storage, walk
from ir.substitute import substitute
from ocl_runtime.plan.relative import Relative

_MOST_MOVES = 512


class Spare(NamedTuple):
    """Memory that may be overwritten, and nodes whose results must not be, since others need them."""

    storages: Collection[Storage]
    needed: Collection[Node]


class Cell:
    """What an array is now. Whoever changes it holds the registry's lock."""

    __slots__ = ("__weakref__", "_node", "_registry", "born")

    def __init__(self, node: Node, registry: Registry) -> None:
        self._node = node
        self._registry: Final = registry
        self.born: Final = registry.captures
        """How many functions had been captured by then."""
        registry.enter(self)

    def __del__(self) -> None:
        self._registry.leave(self)

    @property
    def node(self) -> Node:
        """The node."""
        return self._node

    @node.setter
    def node(self, node: Node) -> None:
        self._registry.leave(self)
        self._node = node
        self._registry.enter(self)


class Registry:
    """The cells of one runtime."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        """Held while arrays are computed or written."""
        self.captures = 0
        self.visited = 0
        """Nodes of other arrays that replacing has looked at since the registry was made."""
        self._lazy: dict[int, weakref.ref[Cell]] = {}
        """By identity. Changed by single operations of the dictionary, which threads cannot break."""
        self._in_memory: Counter[int] = Counter()
        """How many cells are in a storage, by its identity."""
        self._moves: deque[tuple[int, int]] = deque()
        """What is still to be added to that: cells may go while the count is being changed."""
        self._counting = threading.Lock()
        self._replaced: WeakKeyDictionary[Node, Buffer] = WeakKeyDictionary()

    # ------------------------------------------------------------------ cells

    def enter(self, cell: Cell) -> None:
        """A cell has got a node."""
        node = cell._node
        if isinstance(node, Buffer):
            self._moves.append((id(node.storage), 1))
            if len(self._moves) > _MOST_MOVES:
                self._count()
        else:
            self._lazy[id(cell)] = weakref.ref(cell)

    def leave(self, cell: Cell) -> None:
        """A cell gives up its node, or is gone."""
        node = cell._node
        if isinstance(node, Buffer):
            self._moves.append((id(node.storage), -1))
        else:
            self._lazy.pop(id(cell), None)

    def _count(self) -> None:
        with self._counting:
            while self._moves:
                storage, more = self._moves.popleft()
                self._in_memory[storage] += more
                if not self._in_memory[storage]:
                    del self._in_memory[storage]

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
                cell.node = new

    # ------------------------------------------------------------------ memory that nobody else needs

    def spare(self, relative: Relative) -> Spare:
        """What only these expressions need, by the number of references to it: nothing is asked of other arrays. Roots
        are needed by nobody else, since whoever has one gets its result."""
        nodes, args = relative.nodes, relative.args
        if _counted is None:
            return Spare([], frozenset(nodes))
        references = _references(nodes)
        for places in args:
            for place in places:
                references[place] -= 1
        for place in relative.roots:
            references[place] = 0
        buffers: dict[int, list[Buffer]] = {}
        needed: set[Node] = set()
        for place in range(len(nodes) - 1, -1, -1):  # users before their operands
            node = nodes[place]
            if references[place] and not isinstance(node, Scalar | Iota):
                needed.add(node)
                for arg in args[place]:
                    references[arg] = 1
            elif isinstance(node, Buffer):
                buffers.setdefault(id(node.storage), []).append(node)
        storages = [
            storage
            for storage, count in zip(relative.storages, _references(relative.storages), strict=True)
            if storage is not None
            and count == len(own := buffers.get(id(storage), ()))
            and not _wasted(own)
            and not _used_outside(storage)
        ]
        return Spare(storages, needed)

    def alone(self, cell: Cell) -> bool:
        """Whether nothing but a cell and its views needs the memory that it is."""
        node = cell.node
        assert isinstance(node, Buffer)
        if node.storage is None:
            return True
        self._count()
        others = [*walk(*(one.node for one in self.lazy())), *self._replaced.values()]
        used = any(isinstance(one, Buffer) and one.storage is node.storage for one in others)
        return self._in_memory[id(node.storage)] == 1 and not used and not _used_outside(node.storage)


def _wasted(buffers: Sequence[Buffer]) -> bool:
    """Whether most of a storage would be kept for nothing by a result of the size of these buffers."""
    most = max(one.size * one.dtype.size for one in buffers)
    return bool(buffers[0].storage.nbytes > 2 * most)


def _used_outside(storage: Storage) -> bool:
    """Whether another library uses the memory too, which would see what is written there."""
    return bool(getattr(storage, "guests", 0) or getattr(storage, "views", ()))


_counted: Callable[[object], int] | None = getattr(sys, "getrefcount", None)


def _references(objects: Sequence[object]) -> list[int]:
    """How often each of some objects, once in this list, is referred to elsewhere."""
    assert _counted is not None
    return [_counted(one) - _COUNTING for one in objects]


_COUNTING = 0
if _counted is not None:
    _COUNTING = _references([object()])[0]  # versions of Python differ in what counting itself adds
