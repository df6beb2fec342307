"""What of an expression nobody else needs, by the number of references to it: nothing is asked of other arrays.

References from inside of an expression follow from its structure, so they are counted once for all expressions that are
alike. What has more of them is held by others. Whatever follows from that is remembered too, since most evaluations of
an expression find the same nodes held.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import chain, compress
from operator import gt
from typing import Any, NamedTuple

from ocl_ir.graph.build import (
    Assign,
    Buffer,
    Contract,
    CustomCall,
    Elementwise,
    Gather,
    Iota,
    Node,
    Reduce,
    Scalar,
    Scan,
    Scatter,
    Sort,
    Storage,
)
from ocl_runtime.plan.structure import Structure

_ENDS = (Reduce, Contract, CustomCall, Scan, Sort, Assign, Scatter)
"""What always ends a kernel."""
_MOST_KNOWN = 64
"""Ways in which others hold nodes, of one structure, that are remembered."""


class Donation(NamedTuple):
    """Memory that may be overwritten, and nodes whose results must not be, since others need them."""

    storages: Collection[Storage]
    needed: Collection[Node]


class DonationIndices(NamedTuple):
    """The same by number, as a structure lists them; `computes`, whether any of the needed ones is an operation."""

    storages: tuple[int, ...]
    needed: tuple[int, ...]
    computes: bool = False


class _Needs(NamedTuple):
    """What is needed where others hold some nodes, with nothing donated; and for each storage that others may not need,
    the buffers that it has in this expression."""

    least: DonationIndices
    storages: tuple[tuple[int, tuple[int, ...]], ...]


class Held(NamedTuple):
    """Of each node whose holders matter, its number, how often the expression refers to it, and whether others hold it;
    as of `_Needs`, the memory that others may not need; and the nodes that others need, themselves or for what they
    hold."""

    nodes: list[tuple[int, int, bool]]
    storages: tuple[tuple[int, tuple[int, ...]], ...]
    needed: tuple[int, ...]


class Holders:
    """Finds out who else holds what is in expressions of one structure."""

    def __init__(self, structure: Structure) -> None:
        nodes = structure.nodes
        index_of = {node: index for index, node in enumerate(nodes)}
        args = [tuple([index_of[arg] for arg in node.args]) if node.args else () for node in nodes]
        uses = Counter(chain.from_iterable(args))
        self._roots = set(structure.roots)
        self._numbers = {number for number, node in enumerate(nodes) if type(node) is Scalar or type(node) is Iota}
        # Whoever has a root gets its result, and nobody needs that of a number.
        never = self._roots | self._numbers
        self._own = [sys.maxsize if index in never else uses[index] + _COUNTING for index in range(len(nodes))]
        """The most references that a node has where nobody else holds it."""
        self._args: dict[int, tuple[int, ...]] = {}
        """Of each node, users before their operands. The collector of garbage forgets tuples of numbers."""
        ready = [index for index in self._roots if not uses[index]]
        while ready:
            index = ready.pop()
            self._args[index] = args[index]
            for arg in args[index]:
                uses[arg] -= 1
                if not uses[arg]:
                    ready.append(arg)
        self._known: dict[tuple[bool, ...], _Needs] = {}
        own = Counter(id(node.storage) for node in nodes if isinstance(node, Buffer))
        self._buffers = [own[id(storage)] for storage in structure.storages]
        """How many buffers each storage has."""

    def donation(self, structure: Structure) -> DonationIndices:
        """What only this expression needs, of those with the structure."""
        if _counted is None:
            return DonationIndices((), tuple(range(len(structure.nodes))))
        held = tuple(map(gt, map(_counted, structure.nodes), self._own))
        needs = self._known.get(held)
        if needs is None:
            while len(self._known) >= _MOST_KNOWN:
                del self._known[next(iter(self._known))]
            needs = self._known[held] = self._needs(held, structure)
        if not needs.storages:
            return needs.least
        references = list(map(_counted, structure.storages))
        free = []
        for index, buffers in needs.storages:
            storage = structure.storages[index]
            if references[index] == len(buffers) + _COUNTING and not (
                storage.nbytes > most_donated([structure.nodes[buffer] for buffer in buffers]) or used_outside(storage)
            ):
                free.append(index)
        return DonationIndices(tuple(free), needs.least.needed, needs.least.computes)

    def look(self, structure: Structure) -> Held:
        """What `donation` finds at nodes, for who counts references in another way."""
        assert _counted is not None
        held = tuple(map(gt, map(_counted, structure.nodes), self._own))
        counted = zip(self._own, held, strict=True)
        nodes = [
            (index, own - _COUNTING, is_held) for index, (own, is_held) in enumerate(counted) if own != sys.maxsize
        ]
        needs = self._needs(held, structure)
        return Held(nodes, needs.storages, needs.least.needed)

    def direct(self, structure: Structure) -> list[Node]:
        """The nodes that others hold themselves, and not only by what is made of them; none where nobody can tell."""
        if _counted is None:
            return []
        held = tuple(map(gt, map(_counted, structure.nodes), self._own))  # before anything here holds a node, too
        return list(compress(structure.nodes, held))

    def shared(self, structure: Structure) -> set[int]:
        """Of the memory in an expression, by `id`, what others hold too."""
        storages = structure.storages
        if _counted is None:
            return set(map(id, storages))
        references = list(map(_counted, storages))  # before anything here holds a storage, too
        counted = zip(storages, references, self._buffers, strict=True)
        return {id(storage) for storage, count, own in counted if count > own + _COUNTING}

    def _needs(self, held: Sequence[bool], structure: Structure) -> _Needs:
        """Who holds a node needs its operands, too, but those of a root, and of what always ends a kernel: these get
        their results."""
        wanted = list(held)
        index_of = {id(storage): index for index, storage in enumerate(structure.storages) if storage is not None}
        buffers: dict[int, list[int]] = {}
        for index, args in self._args.items():
            node = structure.nodes[index]
            computed = index in self._roots or isinstance(node, _ENDS)
            if wanted[index] and index not in self._numbers and not computed:
                for arg in args:
                    wanted[arg] = True
            elif isinstance(node, Buffer) and node.storage is not None:
                buffers.setdefault(index_of[id(node.storage)], []).append(index)
        needed = tuple([index for index, is_wanted in enumerate(wanted) if is_wanted and index not in self._numbers])
        computes = any(isinstance(structure.nodes[index], Elementwise | Gather) for index in needed)
        return _Needs(
            DonationIndices((), needed, computes),
            tuple([(index, tuple(own)) for index, own in sorted(buffers.items())]),
        )


def held_once(buffer: list[Any]) -> bool:
    """Whether one beside this list of a single buffer holds it, and nobody else its memory."""
    storage = [buffer[0].storage]
    if _counted is None:
        return False
    return [*map(_counted, buffer), *map(_counted, storage)] == _ONCE and not used_outside(storage[0])


def references(objects: list[Any]) -> list[int] | None:
    """How many references there are to each object, beside this list; None where nobody can tell."""
    return None if _counted is None else [count - _COUNTING for count in map(_counted, objects)]


def most_donated(buffers: Sequence[Node]) -> int:
    """The bytes of a storage beyond which most of it would be kept for nothing by a result of the size of its
    buffers."""
    return 2 * max([buffer.size * buffer.dtype.size for buffer in buffers])


def used_outside(storage: Storage) -> bool:
    """Whether another library uses memory too, which would see what is written there."""
    return is_lent(storage) or bool(getattr(storage, "views", ()))


def is_lent(storage: Storage | None) -> bool:
    """Whether another library may write to memory, and is to see what is written there: PyOpenCL."""
    return bool(getattr(storage, "guests", 0))


_counted: Callable[[object], int] | None = getattr(sys, "getrefcount", None)
_COUNTING = 0
if _counted is not None:
    _COUNTING = next(map(_counted, [object()]))  # what a list and counting itself add
_ONCE = [1 + _COUNTING, 1 + _COUNTING]
