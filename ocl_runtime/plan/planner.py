"""From array expressions to launches, with the memory they need.

A result is written over an operand where nothing can tell the difference: the operand is read there for the last time,
by nobody else, in the same order. A part of an array is written in its own memory under the same condition, else in a
copy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
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
from ocl_runtime.plan.fuse import Group, Leaf, Lookup, Value, groups
from ocl_runtime.plan.launch import InPlace, Launch, Plan
from ocl_runtime.plan.merge import RULES, Bundle, Rule, bundles, passes
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
    rules: Sequence[Rule] = RULES,
) -> Plan:
    """Plans to compute nodes.

    What only looks at memory that exists, or is computed anyway, becomes a view of it, unless results must be `dense`.
    `names` gives names to buffers for the generated code. `into` is memory for some of the results, of their dtype and
    shape, of which nothing that they are made of uses an element. `spare` says what may be overwritten: memory that
    nobody needs but these nodes, and what is computed on the way. `rules` say which groups become one kernel.
    """
    found = groups(roots, executor.target, dense=roots if dense else tuple(into))
    merged, why = bundles(found, {*roots, *spare.needed}, executor.target, rules)
    planner = _Planner(executor, names, into, spare, _Readers(merged, roots))
    for bundle in merged:
        planner.add(bundle)
    return Plan(
        roots=tuple(roots),
        launches=tuple(planner.launches),
        results=tuple(planner.results[root] for root in roots),
        computed={node: result for node, result in planner.results.items() if node not in planner.gone},
        taken=tuple(planner.taken),
        in_place=tuple(planner.in_place),
        why=why,
    )


class _Readers:
    """Who still reads what, as bundles are planned one after the other."""

    def __init__(self, bundles: Sequence[Bundle], roots: Sequence[Node]) -> None:
        self._nodes: Counter[Node] = Counter(roots)
        self._storages: Counter[int] = Counter()
        for bundle in bundles:
            for leaf in bundle.leaves:
                if leaf.computed:
                    self._nodes[leaf.source] += 1
                elif isinstance(leaf.source, Buffer):
                    self._storages[id(leaf.source.storage)] += 1

    def done(self, bundle: Bundle) -> None:
        """A bundle has been planned; what it only looks at stays in use."""
        for leaf in bundle.leaves if bundle.groups[0].view is None else ():
            if leaf.computed:
                self._nodes[leaf.source] -= 1
            elif isinstance(leaf.source, Buffer):
                self._storages[id(leaf.source.storage)] -= 1

    def sole(self, bundle: Bundle, leaf: Leaf) -> bool:
        """Whether from now on only this bundle reads the memory of a leaf."""
        if leaf.computed:
            return self._nodes[leaf.source] == sum(other.source is leaf.source for other in bundle.leaves)
        assert isinstance(leaf.source, Buffer)
        storage = leaf.source.storage
        mine = sum(not other.computed and _storage(other) is storage for other in bundle.leaves)
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

    def add(self, bundle: Bundle) -> None:
        """Plans a bundle after those that it reads."""
        group = bundle.groups[0]
        root = group.root
        if group.view is not None:
            seen = self._source(group.view)
            assert isinstance(seen.source, Buffer)
            self.results[root] = buffer(seen.source.storage, root.dtype, seen.layout)
        elif not root.size:
            self.results[root] = buffer(None, root.dtype, Layout.contiguous(root.shape))
        elif group.base is not None:
            write = self._scattered if isinstance(root, Scatter) else self._written
            self.results[root] = write(bundle, group, group.base)
        elif isinstance(root, Contract):
            self.results[root] = self._contracted(bundle, root)
        elif isinstance(root, Scan):
            self.results[root] = self._scanned(bundle, group, root)
        else:
            self._computed(bundle)
        for one in bundle.groups:
            target = self._into.get(one.root)
            if target is not None and self.results[one.root] != target and one.root.size:
                self._copy(self.results[one.root], target, one.root.where)
            if target is not None and one.root.size:
                self.results[one.root] = target
        self._readers.done(bundle)

    # ------------------------------------------------------------------ kinds of bundles

    def _computed(self, bundle: Bundle) -> None:
        """What has no kernel of its own kind: one kernel, or a reduction in parts."""
        executor, values = self._executor, self._bound(bundle)
        outputs: list[Output] = []
        over = False
        turns, last = passes(bundle)
        for result in bundle.results:
            root = result.group.root
            layout = row_layout(bundle.shape, bundle.axes if result.row else ())
            target = self._into.get(root)
            if target is not None and len(bundle.groups) == 1 and bundle.order is None and bundle.shape == root.shape:
                self.results[root] = target
                layout, storage = target.layout, target.storage
            else:
                busy = {id(output.storage) for output in outputs}
                late = [place for place, turn in enumerate(last) if turn > turns[result.value]]
                taken = (
                    None if bundle.order is not None and result.row else self._operand(bundle, root, layout, busy, late)
                )
                over = over or taken is not None
                storage = taken or self._fresh(root, result.group.layout)
                self.results[root] = buffer(storage, root.dtype, result.group.layout)
            outputs.append(Output(result.value, layout, storage, root.dtype, result.row))
        where = bundle.results[-1].group.root.where
        if bundle.order is None:
            self._elementwise(values, bundle.shape, outputs, where, apart=not over)
            return
        self.launches += reduce_launches(
            Reduction(
                values=values,
                shape=bundle.shape,
                axes=bundle.axes,
                order=bundle.order,
                outputs=tuple(outputs),
                apart=not over,
            ),
            executor.allocate,
            target=executor.target,
            kernels=executor.kernels,
            names=self._names,
            where=where,
        )

    def _contracted(self, bundle: Bundle, root: Contract) -> Buffer:
        executor = self._executor
        leaves = (value for value in self._bound(bundle) if isinstance(value, Leaf))
        left, right = (leaf if isinstance(leaf.source, Buffer) else self._dense(leaf) for leaf in leaves)
        layout = Layout.contiguous(root.shape)
        target = buffer(self._fresh(root, layout), root.dtype, layout)
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

    def _dense(self, leaf: Leaf) -> Leaf:
        """A copy with its elements in order."""
        layout = Layout.contiguous(leaf.layout.shape)
        copied = buffer(self._fresh(leaf.source, layout), leaf.source.dtype, layout)
        self._store((leaf,), copied, leaf.source.where)
        return Leaf(copied, layout, False)

    def _scanned(self, bundle: Bundle, group: Group, root: Scan) -> Buffer:
        executor, target = self._executor, buffer(self._fresh(root, group.layout), root.dtype, group.layout)
        scanning = Scanning(
            values=self._bound(bundle),
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

    def _written(self, bundle: Bundle, group: Group, base: Leaf) -> Buffer:
        """A part of the base written."""
        root = group.root
        assert isinstance(root, Assign)
        target = self._writable(bundle, group, base)
        region = replace(root.region, offset=root.region.offset + target.layout.offset)
        part, values = buffer(target.storage, root.dtype, region), self._bound(bundle)
        leaves = [value for value in values if isinstance(value, Leaf)]
        tables = [value.leaf for value in values if isinstance(value, Lookup)]
        shared = [leaf.layout for leaf in (*leaves, *tables) if _storage(leaf) is target.storage]
        anywhere = any(_storage(leaf) is target.storage for leaf in tables)
        if anywhere or any(layout != region and layout.overlaps(region) for layout in shared):
            dense = Layout.contiguous(group.shape)
            between = buffer(self._fresh(root.value, dense), root.dtype, dense)
            self._store(values, between, root.where)
            self._copy(between, part, root.where)
        else:
            self._store(values, part, root.where, apart=not shared)
        return target

    def _scattered(self, bundle: Bundle, group: Group, base: Leaf) -> Buffer:
        """Elements of the base written at computed places."""
        executor, root = self._executor, group.root
        assert isinstance(root, Scatter)
        target = self._writable(bundle, group, base)

        def compute(values: tuple[Value, ...]) -> Leaf:
            dtype, layout = dtype_of(values[-1]), Layout.contiguous(group.shape)
            between = buffer(executor.allocate(root.value.size * dtype.size, root.where), dtype, layout)
            self._store(values, between, root.where)
            return Leaf(between, layout, False)

        launch = scatter_launch(
            apart(self._bound(bundle), target.storage, compute),
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

    def _writable(self, bundle: Bundle, group: Group, base: Leaf) -> Buffer:
        """What a write writes into: the memory of the base where nobody else needs that, else a copy of it."""
        root, made = group.root, self._source(base)
        first = isinstance(made.source, Buffer) and made.layout.is_dense and made.layout.offset == 0
        if first and self._may_take(bundle, base):  # who reads a computed node expects it where its memory begins
            assert isinstance(made.source, Buffer)
            self._take(root, made.source.storage, base)
            return buffer(made.source.storage, root.dtype, made.layout)
        layout = Layout.contiguous(root.shape)
        target = buffer(self._fresh(root, layout), root.dtype, layout)
        if not isinstance(made.source, Undefined):
            self._store((made,), target, root.where)
        return target

    def _copy(self, source: Buffer, target: Buffer, where: str) -> None:
        self._store((Leaf(source, source.layout, False),), target, where)

    def _store(self, values: tuple[Value, ...], target: Buffer, where: str, *, apart: bool = True) -> None:
        output = Output(len(values) - 1, target.layout, target.storage, target.dtype)
        self._elementwise(values, target.shape, [output], where, apart=apart)

    def _elementwise(
        self, values: tuple[Value, ...], shape: Shape, outputs: Sequence[Output], where: str, *, apart: bool
    ) -> None:
        executor = self._executor
        launch = elementwise_launch(
            values,
            shape,
            outputs,
            target=executor.target,
            kernels=executor.kernels,
            names=self._names,
            where=where,
            apart=apart,
        )
        self.launches.append(launch)

    # ------------------------------------------------------------------ memory

    def _fresh(self, root: Node, layout: Layout) -> Storage:
        """Memory for a result that lies there as a layout says, without gaps."""
        low, high = layout.range()
        storage = self._executor.allocate((high - low) * root.dtype.size, root.where)
        self._own[id(storage)] = storage
        return storage

    def _operand(
        self, bundle: Bundle, root: Node, layout: Layout, busy: Container[int], late: Sequence[int]
    ) -> Storage | None:
        """The memory of an operand that a result of a bundle is written over, if there is one: none of those that are
        `busy` with other results, and none that is read after the result has been stored."""
        reason = "no operand is in memory"
        read_late = [bundle.values[place] for place in late]
        for leaf in bundle.values:
            if not isinstance(leaf, Leaf):
                continue
            made = self._source(leaf)
            if not isinstance(made.source, Buffer):
                continue
            storage = made.source.storage
            others = [self._source(one) for one in bundle.leaves if one is not leaf]
            dense = made.source.layout.is_dense and made.source.layout.offset == 0 and made.source.size == root.size
            if made.source.dtype.size != root.dtype.size or made.layout != layout or not dense:
                reason = "the operands have other dtypes, shapes or orders"
            elif any(_storage(one) is storage for one in others):
                reason = "an operand is read in several ways"
            elif leaf in read_late:
                reason = "an operand is read once more after that"
            elif id(storage) in busy:
                reason = "another result is written over the operand"
            elif not self._may_take(bundle, leaf):
                reason = "an operand is needed elsewhere"
            else:
                self._take(root, storage, leaf)
                return storage
        self.in_place.append(InPlace(root, reason))
        return None

    def _may_take(self, bundle: Bundle, leaf: Leaf) -> bool:
        """Whether nobody but this bundle needs what is in the memory of a leaf."""
        if not self._readers.sole(bundle, leaf):
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

    def _bound(self, bundle: Bundle) -> tuple[Value, ...]:
        return tuple(map(self._bind, bundle.values))

    def _bind(self, value: Value) -> Value:
        if isinstance(value, Lookup):
            return replace(value, leaf=self._source(value.leaf))
        return self._source(value) if isinstance(value, Leaf) else value


def _storage(leaf: Leaf) -> Storage | None:
    return leaf.source.storage if isinstance(leaf.source, Buffer) else None
