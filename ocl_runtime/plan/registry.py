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
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from ir.graph import Buffer, Iota, Node, Scalar, Storage, walk
from ir.nodes import Compound
from ir.substitute import substitute

_MOST_MOVES = 4096
_MOST_OTHERS = 8
"""Nodes of other arrays that are looked at for each node that is computed, to find memory to write over."""


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
        node = cell.node
        if isinstance(node, Buffer):
            self._moves.append((id(node.storage), 1))
            if len(self._moves) > _MOST_MOVES:
                self._count()
        else:
            self._lazy[id(cell)] = weakref.ref(cell)

    def leave(self, cell: Cell) -> None:
        """A cell gives up its node, or is gone."""
        node = cell.node
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

    def spare(self, roots: Sequence[Node], cells: Collection[Cell]) -> Spare:
        """What only these nodes need, if they are computed and `cells`, which are some of them, then are memory of
        their own.

        Looks at no more nodes of other arrays than a few times as many as the roots have; where there are more,
        nothing is spare.
        """
        self._count()
        below = list(walk(*roots))
        computed = {id(cell) for cell in cells}
        others: set[Node] = set()
        for number, reference in list(self._lazy.items()):
            cell = None if number in computed else reference()
            stack = [] if cell is None else [cell.node]
            while stack:
                node = stack.pop()
                if node not in others:
                    others.add(node)
                    stack += node.args
                    if len(others) > _MOST_OTHERS * len(below):
                        return Spare([], frozenset(below))
        others.update(walk(*_held_nodes(below, roots)))
        kept = {id(node.storage) for node in (*others, *self._replaced.values()) if isinstance(node, Buffer)}
        storages = [
            nodes[0].storage
            for storage, nodes in _memory(below).items()
            if storage not in kept
            and storage not in self._in_memory
            and not _held(nodes)
            and not _wasted(nodes)
            and not _used_outside(nodes[0].storage)
        ]
        return Spare(storages, others)

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


def _memory(nodes: Iterable[Node]) -> dict[int, list[Buffer]]:
    """The buffers among nodes, by storage."""
    found: dict[int, list[Buffer]] = {}
    for node in nodes:
        if isinstance(node, Buffer) and node.storage is not None:
            found.setdefault(id(node.storage), []).append(node)
    return found


def _wasted(buffers: list[Buffer]) -> bool:
    """Whether most of a storage would be kept for nothing by a result of the size of these buffers."""
    most = max(one.size * one.dtype.size for one in buffers)
    return bool(buffers[0].storage.nbytes > 2 * most)


def _used_outside(storage: Storage) -> bool:
    """Whether another library uses the memory too, which would see what is written there."""
    return bool(getattr(storage, "guests", 0) or getattr(storage, "views", ()))


def _held(buffers: list[Buffer]) -> bool:
    """Whether anything but these buffers refers to their storage, such as a captured program. A count that is too high
    costs a copy; where Python has none, the answer is yes."""
    return _counted is None or _references([buffers[0].storage])[0] > len(buffers)


def _held_nodes(below: list[Node], roots: Sequence[Node]) -> list[Node]:
    """Nodes that somebody refers to who is not below the roots: another thread may just be building on them, or reading
    them. Roots are left out, since whoever has one gets its result."""
    if _counted is None:
        return []  # then all memory is held
    known: Counter[int] = Counter()
    for node in below:
        # A compound node shares its operands with its key in the intern table, others have them twice.
        times = 1 if isinstance(node, Compound) else 2
        for place in map(id, node.args):
            known[place] += times
    own = {id(root) for root in roots}
    references = _references(below)
    return [
        node
        for node, count in zip(below, references, strict=True)
        if count > known[id(node)] and id(node) not in own and not isinstance(node, Scalar | Iota)
    ]


_counted: Callable[[object], int] | None = getattr(sys, "getrefcount", None)


def _references(objects: Sequence[object]) -> list[int]:
    """How often each of some objects, once in this list, is referred to elsewhere."""
    assert _counted is not None
    return [_counted(one) - _COUNTING for one in objects]


_COUNTING = 0
if _counted is not None:
    _COUNTING = _references([object()])[0]  # versions of Python differ in what counting itself adds
