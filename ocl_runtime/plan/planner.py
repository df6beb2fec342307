"""From array expressions to launches, with the memory they need.

A result is written over an operand where nothing can tell the difference: the operand is read there for the last time,
by nobody else, in the same order. A part of an array is written in its own memory under the same condition, else in a
copy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol

from ir.graph import Assign, Buffer, Contract, Node, Scan, Scatter, Storage, Undefined, buffer
from ir.layout import Layout, Shape
from ir.reference import Where
from ocl_runtime.plan.cache import KernelCache
from ocl_runtime.plan.contract import Contraction, contract_launches, in_lanes
from ocl_runtime.plan.elementwise import elementwise_launch
from ocl_runtime.plan.form import Output, dtype_of
from ocl_runtime.plan.fuse import Fold, Group, Leaf, Lookup, Value, groups
from ocl_runtime.plan.launch import InPlace, Launch, Plan
from ocl_runtime.plan.natural import natural
from ocl_runtime.plan.order import order
from ocl_runtime.plan.reduce import Reduction, reduce_launches, row_layout
from ocl_runtime.plan.registry import Spare
from ocl_runtime.plan.scan import Scanning, scan_launches
from ocl_runtime.plan.scatter import apart, scatter_launch
from ocl_runtime.plan.target import Target

NOTHING_SPARE = Spare((), ())


class Planning(Protocol):
    """What planning needs of an executor."""

    @property
    def target(self) -> Target:
        """The device as the planner sees it."""

    @property
    def kernels(self) -> KernelCache:
        """The kernels made for it."""

    def allocate(self, nbytes: int, where: Where = "") -> Storage:
        """Memory of `nbytes` bytes."""


def plan(
    roots: Sequence[Node],
    executor: Planning,
    names: Mapping[Node, str] = MappingProxyType({}),
    *,
    dense: bool = False,
    into: Mapping[Node, Buffer] = MappingProxyType({}),
    spare: Spare = NOTHING_SPARE,
) -> Plan:
    """Plans to compute nodes.

    What only looks at memory that exists, or is computed anyway, becomes a view of it, unless results must be `dense`.
    `names` gives names to buffers for the generated code. `into` is memory for some of the results, of their dtype and
    shape, of which nothing that they are made of uses an element. `spare` says what may be overwritten: memory that
    nobody needs but these nodes, and what is computed on the way.
    """
    found = groups(roots, executor.target, dense=roots if dense else tuple(into))
    planner = _Planner(executor, names, into, spare, _Readers(found, roots))
    for group in found:
        planner.add(group)
    return Plan(
        roots=tuple(roots),
        launches=tuple(planner.launches),
        results=tuple(planner.results[root] for root in roots),
        computed={node: result for node, result in planner.results.items() if node not in planner.gone},
        taken=tuple(planner.taken),
        in_place=tuple(planner.in_place),
        why={group.root: group.why for group in found},
    )


class _Readers:
    """Who still reads what, as groups are planned one after the other."""

    def __init__(self, groups: Sequence[Group], roots: Sequence[Node]) -> None:
        self._nodes: Counter[Node] = Counter(roots)
        self._storages: Counter[int] = Counter()
        for group in groups:
            for leaf in group.leaves:
                if leaf.computed:
                    self._nodes[leaf.source] += 1
                elif isinstance(leaf.source, Buffer):
                    self._storages[id(leaf.source.storage)] += 1

    def done(self, group: Group) -> None:
        """A group has been planned; what it only looks at stays in use."""
        for leaf in group.leaves if group.view is None else ():
            if leaf.computed:
                self._nodes[leaf.source] -= 1
            elif isinstance(leaf.source, Buffer):
                self._storages[id(leaf.source.storage)] -= 1

    def sole(self, group: Group, leaf: Leaf) -> bool:
        """Whether from now on only this group reads the memory of a leaf."""
        if leaf.computed:
            return self._nodes[leaf.source] == sum(other.source is leaf.source for other in group.leaves)
        assert isinstance(leaf.source, Buffer)
        storage = leaf.source.storage
        mine = sum(not other.computed and _storage(other) is storage for other in group.leaves)
        return self._storages[id(storage)] == mine


class _Planner:
    def __init__(
        self,
        executor: Planning,
        names: Mapping[Node, str],
        into: Mapping[Node, Buffer],
        spare: Spare,
        readers: _Readers,
    ) -> None:
        self.launches: list[Launch] = []
        self.results: dict[Node, Buffer] = {}
        self.taken: list[Storage] = []
        self.in_place: list[InPlace] = []
        self.gone: set[Node] = set()
        """Nodes whose result has been written over."""
        self._executor = executor
        self._names = names
        self._into = into
        self._spare = {id(storage) for storage in spare.storages}
        self._needed = spare.needed
        self._own: dict[int, Storage] = {}
        """Memory that was allocated or taken for this plan; held, so that ids stay theirs."""
        self._readers = readers

    def add(self, group: Group) -> None:
        """Plans a group after those that it reads."""
        root, target = group.root, self._into.get(group.root)
        if target is None or not root.size:
            self._compute(group)
        elif group.pointwise and group.shape == root.shape:
            self._elementwise(self._bound(group), group.shape, target, root.where)
            self.results[root] = target
        else:
            self._compute(group)
            self._copy(self.results[root], target, root.where)
            self.results[root] = target
        self._readers.done(group)

    def _compute(self, group: Group) -> None:
        root = group.root
        if group.view is not None:
            seen = self._source(group.view)
            assert isinstance(seen.source, Buffer)
            self.results[root] = buffer(seen.source.storage, root.dtype, seen.layout)
            return
        if not root.size:
            self.results[root] = buffer(None, root.dtype, Layout.contiguous(root.shape))
            return
        if isinstance(root, Contract):
            self.results[root] = self._contracted(group, root)
        elif group.base is not None:
            scattered = isinstance(root, Scatter)
            self.results[root] = (self._scattered if scattered else self._written)(group, group.base)
        elif isinstance(root, Scan):
            self.results[root] = self._scanned(group, root)
        elif group.reduce is None:
            over = self._operand(group)
            target = over or self._fresh(root, group.shape)
            self._elementwise(self._bound(group), group.shape, target, root.where, apart=over is None)
            self.results[root] = buffer(target.storage, root.dtype, group.layout)
        else:
            self.results[root] = self._reduced(group)

    # ------------------------------------------------------------------ kinds of groups

    def _reduced(self, group: Group) -> Buffer:
        executor, root = self._executor, group.root
        assert group.reduce is not None
        reduce, target = group.reduce, self._fresh(root, root.shape)
        values = self._bound(group)
        fold = Fold(reduce.op, reduce.accumulator, root.dtype, len(values) - 1)
        layout = row_layout(group.shape, reduce.axes)
        reduction = Reduction(
            values=(*values, fold),
            shape=group.shape,
            axes=reduce.axes,
            order=order(natural(reduce.arg), reduce.axes, reduce.arg.dtype, reduce.accumulator, executor.target),
            outputs=(Output(len(values), layout, target.storage, root.dtype, row=True),),
        )
        self.launches += reduce_launches(
            reduction,
            executor.allocate,
            target=executor.target,
            kernels=executor.kernels,
            names=self._names,
            where=root.where,
        )
        return target

    def _contracted(self, group: Group, root: Contract) -> Buffer:
        executor = self._executor
        left, right = (leaf if isinstance(leaf.source, Buffer) else self._dense(leaf) for leaf in self._leaves(group))
        target = self._fresh(root, root.shape)
        self.launches += contract_launches(
            Contraction(
                left=left,
                right=right if in_lanes(right.layout) else self._dense(right),
                accumulator=root.accumulator,
                dtype=root.dtype,
            ),
            target.storage,
            executor.allocate,
            target=executor.target,
            kernels=executor.kernels,
            names=self._names,
            where=root.where,
        )
        return target

    def _leaves(self, group: Group) -> tuple[Leaf, ...]:
        return tuple(value for value in self._bound(group) if isinstance(value, Leaf))

    def _dense(self, leaf: Leaf) -> Leaf:
        """A copy with its elements in order."""
        shape = leaf.layout.shape
        copied = self._fresh(leaf.source, shape)
        self._elementwise((leaf,), shape, copied, leaf.source.where)
        return Leaf(copied, copied.layout, False)

    def _scanned(self, group: Group, root: Scan) -> Buffer:
        executor, target = self._executor, self._fresh(root, root.shape)
        scanning = Scanning(
            values=self._bound(group),
            shape=group.shape,
            axis=root.axis,
            op=root.op,
            accumulator=root.accumulator,
            dtype=root.dtype,
        )
        self.launches += scan_launches(
            scanning,
            target.storage,
            executor.allocate,
            target=executor.target,
            kernels=executor.kernels,
            names=self._names,
            where=root.where,
        )
        return target

    def _written(self, group: Group, base: Leaf) -> Buffer:
        """A part of the base written."""
        root = group.root
        assert isinstance(root, Assign)
        target = self._writable(group, base)
        region = replace(root.region, offset=root.region.offset + target.layout.offset)
        part, values = buffer(target.storage, root.dtype, region), self._bound(group)
        leaves = [value for value in values if isinstance(value, Leaf)]
        tables = [value.leaf for value in values if isinstance(value, Lookup)]
        shared = [leaf.layout for leaf in (*leaves, *tables) if _storage(leaf) is target.storage]
        anywhere = any(_storage(leaf) is target.storage for leaf in tables)
        if anywhere or any(layout != region and layout.overlaps(region) for layout in shared):
            between = self._fresh(root.value, group.shape)
            self._elementwise(values, group.shape, between, root.where)
            self._copy(between, part, root.where)
        else:
            self._elementwise(values, group.shape, part, root.where, apart=not shared)
        return target

    def _scattered(self, group: Group, base: Leaf) -> Buffer:
        """Elements of the base written at computed places."""
        executor, root = self._executor, group.root
        assert isinstance(root, Scatter)
        target = self._writable(group, base)

        def compute(values: tuple[Value, ...]) -> Leaf:
            dtype = dtype_of(values[-1])
            layout = Layout.contiguous(group.shape)
            between = buffer(executor.allocate(root.value.size * dtype.size, root.where), dtype, layout)
            self._elementwise(values, group.shape, between, root.where)
            return Leaf(between, layout, False)

        launch = scatter_launch(
            apart(self._bound(group), target.storage, compute),
            root.op,
            group.shape,
            target,
            target=executor.target,
            kernels=executor.kernels,
            names=self._names,
            where=root.where,
        )
        self.launches.append(launch)
        return target

    def _writable(self, group: Group, base: Leaf) -> Buffer:
        """What a write writes into: the memory of the base where nobody else needs that, else a copy of it."""
        root, made = group.root, self._source(base)
        first = isinstance(made.source, Buffer) and made.layout.is_dense and made.layout.offset == 0
        if first and self._may_take(group, base):  # who reads a computed node expects it at the beginning of its memory
            assert isinstance(made.source, Buffer)
            self._take(root, made.source.storage, base)
            return buffer(made.source.storage, root.dtype, made.layout)
        target = self._fresh(root, root.shape)
        if not isinstance(made.source, Undefined):
            self._elementwise((made,), root.shape, target, root.where)
        return target

    def _copy(self, source: Buffer, target: Buffer, where: str) -> None:
        self._elementwise((Leaf(source, source.layout, False),), source.shape, target, where)

    def _elementwise(
        self, values: tuple[Value, ...], shape: Shape, target: Buffer, where: str, *, apart: bool = True
    ) -> None:
        executor = self._executor
        launch = elementwise_launch(
            values,
            shape,
            [Output(len(values) - 1, target.layout, target.storage, target.dtype)],
            target=executor.target,
            kernels=executor.kernels,
            names=self._names,
            where=where,
            apart=apart,
        )
        self.launches.append(launch)

    # ------------------------------------------------------------------ memory

    def _fresh(self, root: Node, shape: Shape) -> Buffer:
        storage = self._executor.allocate(math.prod(shape) * root.dtype.size, root.where)
        self._own[id(storage)] = storage
        return buffer(storage, root.dtype, Layout.contiguous(shape))

    def _operand(self, group: Group) -> Buffer | None:
        """The memory of an operand that the result of an elementwise group is written over, if there is one."""
        root, dense = group.root, Layout.contiguous(group.shape)
        reason = "no operand is in memory"
        for leaf in group.values:
            if not isinstance(leaf, Leaf):
                continue
            made = self._source(leaf)
            if not isinstance(made.source, Buffer):
                continue
            storage = made.source.storage
            others = [self._source(one) for one in group.leaves if one is not leaf]
            if made.source.dtype.size != root.dtype.size or made.layout != dense or made.source.layout != dense:
                reason = "the operands have other dtypes, shapes or orders"
            elif any(_storage(one) is storage for one in others):
                reason = "an operand is read in several ways"
            elif not self._may_take(group, leaf):
                reason = "an operand is needed elsewhere"
            else:
                self._take(root, storage, leaf)
                return buffer(storage, root.dtype, dense)
        self.in_place.append(InPlace(root, reason))
        return None

    def _may_take(self, group: Group, leaf: Leaf) -> bool:
        """Whether nobody but this group needs what is in the memory of a leaf."""
        if not self._readers.sole(group, leaf):
            return False
        storage = id(_storage(self._source(leaf)))
        return storage in self._own and leaf.source not in self._needed if leaf.computed else storage in self._spare

    def _take(self, root: Node, storage: Storage, leaf: Leaf) -> None:
        self.in_place.append(InPlace(root, ""))
        if leaf.computed:
            self.gone.add(leaf.source)
        else:
            self.taken.append(storage)
            self._own[id(storage)] = storage

    def _source(self, leaf: Leaf) -> Leaf:
        """The leaf; of one that another group computes, its result."""
        return replace(leaf, source=self.results[leaf.source], computed=False) if leaf.computed else leaf

    def _bound(self, group: Group) -> tuple[Value, ...]:
        return tuple(map(self._bind, group.values))

    def _bind(self, value: Value) -> Value:
        if isinstance(value, Lookup):
            return replace(value, leaf=self._source(value.leaf))
        return self._source(value) if isinstance(value, Leaf) else value


def _storage(leaf: Leaf) -> Storage | None:
    return leaf.source.storage if isinstance(leaf.source, Buffer) else None
