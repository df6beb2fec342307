"""The memory of a plan: where its values are, which of them may be written over, and when.

A result is written over an operand where nothing can tell the difference: the operand is read there for the last time,
by nobody else, in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable, Mapping, Sequence
from typing import Protocol

from ocl_ir.graph.build import Buffer, Node, Storage, buffer
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where
from ocl_ir.types import DType
from ocl_runtime.plan.donation import Donation
from ocl_runtime.plan.fusion.bundles import Bundle
from ocl_runtime.plan.fusion.values import Computed, Leaf, Lookup, Matrices, Value
from ocl_runtime.plan.handles import HandleContainer, Status
from ocl_runtime.plan.launch import InPlace


class Allocating(Protocol):
    """Who has memory."""

    def allocate(self, nbytes: int, where: Where = "") -> Storage:
        """Memory of `nbytes` bytes."""


class PlanMemory:
    """Goes through the bundles of a plan: `begin` one, ask for what it reads and writes, `end` it."""

    def __init__(
        self, bundles: Sequence[Bundle], roots: Sequence[Node], donation: Donation, executor: Allocating
    ) -> None:
        self.taken: list[Storage] = []
        """Memory from outside of the plan that is overwritten."""
        self.in_place: list[InPlace] = []
        self._executor = executor
        self._handles: HandleContainer[Node, Buffer] = HandleContainer()
        self._donated = {id(storage) for storage in donation.storages}
        self._needed = donation.needed
        self._own: dict[int, Storage] = {}
        """Memory that was allocated or taken for this plan; held, so that ids stay theirs."""
        self._nodes: Counter[Node] = Counter(roots)
        self._storages: Counter[int] = Counter()
        """How often results, and memory from outside, are still read."""
        self._sources: dict[int, Leaf] = {}
        """The leaves of the bundle, by the identity of each, where they are by now."""
        self._operands: Sequence[tuple[Leaf, Leaf, Buffer]] = ()
        """What operations of the bundle read in memory: the leaf, where that is by now, and its buffer."""
        self._leaves_of: Counter[int] = Counter()
        """How many leaves of the bundle are in some memory, by its id."""
        self._alike: dict[tuple[int, int, int, DType], bool] = {}
        """Whether what the bundle reads lies as a result does that has a layout and shape, by the identity of each."""
        self._nbytes: dict[tuple[int, DType], tuple[Layout, int]] = {}
        """By the identity of a layout, which is held: the bytes that it spans in elements of a dtype."""
        self._reads: Counter[Hashable] = Counter()
        """How often the bundle reads what another one computes, and memory from outside, by its id."""
        for bundle in bundles:
            for result in bundle.results:
                self._handles.declare(result.group.root)
            self._count(bundle, 1)

    def _count(self, bundle: Bundle, more: int) -> None:
        for leaf in bundle.leaves:
            if leaf.computed:
                self._nodes[leaf.source] += more
            elif isinstance(leaf.source, Buffer):
                self._storages[id(leaf.source.storage)] += more

    # ------------------------------------------------------------------ one bundle after the other

    def begin(self, bundle: Bundle) -> None:
        """What it reads has been planned."""
        self._alike.clear()
        sources = self._sources = {id(leaf): self._merged(leaf) for leaf in bundle.leaves}
        self._operands = [
            (value, made, made.source)
            for value in bundle.values
            if isinstance(value, Leaf) and isinstance((made := sources[id(value)]).source, Buffer)
        ]
        self._leaves_of = Counter([id(storage_of(sources[id(leaf)])) for leaf in bundle.leaves])
        self._reads = Counter([leaf.source if leaf.computed else id(storage_of(leaf)) for leaf in bundle.leaves])

    def _merged(self, leaf: Leaf) -> Leaf:
        if not leaf.computed:
            return leaf
        return leaf._replace(source=self._handles.get(leaf.source, Status.READ_ONLY), computed=False)

    def end(self, bundle: Bundle) -> None:
        """It has been planned; what it only looks at stays in use."""
        if bundle.groups[0].view is None:
            self._count(bundle, -1)

    def source(self, leaf: Leaf) -> Leaf:
        """A leaf of the bundle; of one that another bundle computes, its result."""
        return self._sources[id(leaf)]

    def values(self, bundle: Bundle) -> tuple[Value, ...]:
        """The values of the bundle with such leaves."""
        return tuple(map(self._bound, bundle.values))

    def _bound(self, value: Value) -> Value:
        if isinstance(value, Lookup | Matrices):
            return value._replace(leaf=self.source(value.leaf))
        if isinstance(value, Computed):
            return value._replace(values=tuple(map(self._bound, value.values)))
        return self.source(value) if isinstance(value, Leaf) else value

    # ------------------------------------------------------------------ results

    def put(self, node: Node, result: Buffer) -> None:
        """A node has a result."""
        self._handles.register(node, result)

    def result(self, node: Node) -> Buffer:
        """The result of a node. Raises `Error` where it has none, or was written over."""
        return self._handles.get(node, Status.READ_ONLY)

    def results(self) -> Mapping[Node, Buffer]:
        """All results that are there in the end."""
        return {node: self.result(node) for node in self._handles}

    def fresh(self, node: Node, layout: Layout) -> Buffer:
        """Memory for a node's elements, which lie there as a layout says, without gaps."""
        known = self._nbytes.get((id(layout), node.dtype))
        if known is None:
            known = self._nbytes[id(layout), node.dtype] = layout, layout.span * node.dtype.size
        storage = self._executor.allocate(known[1], node.where)
        self._own[id(storage)] = storage
        return buffer(storage, node.dtype, layout, node.line)

    def over(self, node: Node, layout: Layout, busy: Container[int], late: Sequence[Value]) -> Storage | None:
        """The memory of an operand that a result of the bundle is written over, if there is one: none of those that are
        `busy` with other results, and none that is read `late`, after the result has been stored."""
        reason = "no operand is in memory"
        for leaf, made, source in self._operands:
            storage = source.storage
            key = id(made), id(layout), id(node.shape), node.dtype
            alike = self._alike.get(key)
            if alike is None:
                dense = source.layout.is_dense and source.layout.offset == 0 and source.size == node.size
                alike = source.dtype.size == node.dtype.size and made.layout == layout and dense
                self._alike[key] = alike
            if not alike:
                reason = "the operands have other dtypes, shapes or orders"
            elif self._leaves_of[id(storage)] > 1:
                reason = "an operand is read in several ways"
            elif leaf in late:
                reason = "an operand is read once more after that"
            elif id(storage) in busy:
                reason = "another result is written over the operand"
            elif not self._last(leaf):
                reason = "an operand is needed elsewhere"
            else:
                return self._take(node, leaf)
        self.in_place.append(InPlace(node, reason))
        return None

    def writable(self, node: Node, base: Leaf) -> Buffer | None:
        """The memory of what a write writes into, if nobody else needs that."""
        made = self.source(base)
        first = isinstance(made.source, Buffer) and made.layout.is_dense and made.layout.offset == 0
        if not first or not self._last(base):  # who reads a computed node expects it where its memory begins
            return None
        return buffer(self._take(node, base), node.dtype, made.layout)

    def _last(self, leaf: Leaf) -> bool:
        """Whether this bundle reads the memory of a leaf last, and nobody needs it afterwards."""
        if leaf.computed:
            own = id(storage_of(self.source(leaf))) in self._own
            mine = self._nodes[leaf.source] == self._reads[leaf.source]
            return own and mine and leaf.source not in self._needed
        storage = id(storage_of(leaf))
        return self._storages[storage] == self._reads[storage] and storage in self._donated

    def _take(self, node: Node, leaf: Leaf) -> Storage:
        storage = storage_of(self.source(leaf))
        self.in_place.append(InPlace(node, ""))
        if leaf.computed:
            self._handles.get(leaf.source, Status.READ_WRITE)
        else:
            self.taken.append(storage)
            self._own[id(storage)] = storage
        return storage


def storage_of(leaf: Leaf) -> Storage | None:
    """The memory that a leaf is in."""
    return leaf.source.storage if isinstance(leaf.source, Buffer) else None
