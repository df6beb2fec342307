"""From array expressions to launches: each bundle of groups becomes one, or a few. Where their results lie is the
business of `ocl_runtime.plan.memory`: over an operand where that can be, or in memory of their own. A part of an array
is written in its own memory under the same condition, else in a copy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from types import MappingProxyType

from ocl_ir.graph.build import Assign, Buffer, Contract, CustomCall, Node, Scan, Scatter, Sort, Undefined, buffer, walk
from ocl_ir.guards import example
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where
from ocl_runtime.plan.donation import Donation
from ocl_runtime.plan.fusion.bundles import Bundle
from ocl_runtime.plan.fusion.decisions import Decisions
from ocl_runtime.plan.fusion.groups import Group, groups
from ocl_runtime.plan.fusion.layouts import Layouts
from ocl_runtime.plan.fusion.merge import RULES, Rule, bundles
from ocl_runtime.plan.fusion.operands import read_in_place
from ocl_runtime.plan.fusion.products import with_products
from ocl_runtime.plan.fusion.prologues import with_prologues
from ocl_runtime.plan.fusion.values import Leaf, Lookup, Value, dtype_of
from ocl_runtime.plan.fusion.write_order import readers_first
from ocl_runtime.plan.kernels.custom_call import Call, call_launches
from ocl_runtime.plan.kernels.elementwise import elementwise_launch
from ocl_runtime.plan.kernels.form import Output
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.products import launches as products
from ocl_runtime.plan.kernels.products.contraction import Elements
from ocl_runtime.plan.kernels.reduce import Reduction, reduce_launches, row_layout
from ocl_runtime.plan.kernels.scan import Scanning, scan_launches
from ocl_runtime.plan.kernels.scatter import apart, scatter_launch
from ocl_runtime.plan.kernels.sort import Sorting, sort_launches
from ocl_runtime.plan.kernels.sort_elements import bits_of
from ocl_runtime.plan.launch import Launch, Plan
from ocl_runtime.plan.memory import PlanMemory, storage_of
from ocl_runtime.plan.planning import Planning

NOTHING_DONATED = Donation((), ())


@dataclass(frozen=True, slots=True)
class Fusion:
    """How the nodes of a plan were put into groups, and these into bundles; `kernels` are the names of those that came
    of each bundle. `lines` are the Python lines of nodes that only give the number of theirs, `scalars` the same for
    values."""

    plan: Plan
    names: Mapping[Node, str]
    groups: Sequence[Group]
    bundles: Sequence[Bundle]
    kernels: Sequence[Sequence[str]]
    decisions: Decisions
    lines: Sequence[Where] = ()
    scalars: Sequence[object] = ()


def plan(
    roots: Sequence[Node],
    executor: Planning,
    names: Mapping[Node, str] = MappingProxyType({}),
    *,
    dense: bool | Collection[Node] = False,
    into: Mapping[Node, Buffer] = MappingProxyType({}),
    donation: Donation = NOTHING_DONATED,
    rules: Sequence[Rule] = RULES,
) -> Plan:
    """Plans to compute nodes.

    What only looks at memory that exists, or is computed anyway, becomes a view of it, unless all results must be
    `dense`, or those of some roots.
    `names` gives names to buffers for the generated code. `into` is memory for some of the results, of their dtype and
    shape, of which nothing that they are made of uses an element. `donation` says what may be overwritten: memory that
    nobody needs but these nodes, and what is computed on the way. `rules` say which groups become one kernel.
    """
    planned, fusion = _planned(roots, executor, names, dense, into, donation, rules)
    _tell(executor, fusion)
    return planned


def _planned(
    roots: Sequence[Node],
    executor: Planning,
    names: Mapping[Node, str] = MappingProxyType({}),
    dense: bool | Collection[Node] = False,
    into: Mapping[Node, Buffer] = MappingProxyType({}),
    donation: Donation = NOTHING_DONATED,
    rules: Sequence[Rule] = RULES,
) -> tuple[Plan, Fusion | None]:
    """The plan, and for who looks on how its nodes were fused."""
    decisions = None if executor.watch_fusion is None else Decisions()
    rows = roots if dense is True else (*(dense or ()), *into)
    layouts = Layouts()
    needed, takes_more = {*roots, *donation.needed}, partial(products.joins, target=executor.target)
    cut = groups(roots, executor.target, layouts, dense=rows, decisions=decisions)
    if rules:
        cut = read_in_place(cut, needed, partial(products.reads_in_place, target=executor.target))
    cut = readers_first(cut)
    merged, why = bundles(cut, needed, executor.target, layouts, rules, decisions)
    if rules:
        merged = with_products(merged, needed, executor.target, takes_more, decisions)
        merged = with_prologues(merged, needed, partial(products.computes, target=executor.target), decisions)
        why = {root: why[root] for bundle in merged for each in bundle.results if (root := each.group.root) in why}
    memory = PlanMemory(merged, roots, donation, executor)
    planner = _Planner(executor, names, into, memory)
    ends = [0]
    for bundle in merged:
        planner.add(bundle)
        ends.append(len(planner.launches))
    planned = Plan(
        roots=tuple(roots),
        launches=tuple(planner.launches),
        results=tuple(map(memory.result, roots)),
        computed=memory.results(),
        taken=tuple(memory.taken),
        in_place=tuple(memory.in_place),
        why=why,
    )
    if decisions is None:
        return planned, None
    kernels = [[launch.kernel.name for launch in planned.launches[slice(*ends)]] for ends in pairwise(ends)]
    return planned, Fusion(planned, names, cut, merged, kernels, decisions)


def _tell(executor: Planning, fusion: Fusion | None) -> None:
    if fusion is not None and executor.watch_fusion is not None:
        executor.watch_fusion(fusion)


def planned_into(roots: Sequence[Node], executor: Planning) -> Plan:
    """A plan for a node in the memory of a buffer; over other memory where the node reads that too, and needs what is
    written over."""
    node, target = roots
    assert isinstance(target, Buffer)
    read = [leaf for leaf in walk(node) if isinstance(leaf, Buffer) and leaf.storage is target.storage]
    if not any(leaf.layout.overlaps(target.layout) for leaf in read):
        return plan([node], executor, into={node: target})
    if all(leaf.is_as(target) for leaf in read) and target.size * target.dtype.size == target.storage.nbytes:
        over, fusion = _planned([node], executor, donation=Donation((target.storage,), ()))
        if over.results[0].is_as(target):  # each element is read before it is written
            _tell(executor, fusion)
            return replace(over, taken=())  # whoever has the memory has what is written
    between = buffer(
        executor.allocate(node.size * node.dtype.size, node.where), node.dtype, Layout.contiguous(node.shape)
    )
    first, last = plan([node], executor, into={node: between}), plan([between], executor, into={between: target})
    return replace(first, launches=(*first.launches, *last.launches))


def _clash(read: Layout, written: Layout) -> bool:
    """Whether an element that is read is written as another one. Where they begin at the same place, they are compared
    first: of sizes, that asks less than whether they overlap."""
    return (example(read.offset) != example(written.offset) or read != written) and read.overlaps(written)


class _Planner:
    def __init__(
        self, executor: Planning, names: Mapping[Node, str], into: Mapping[Node, Buffer], memory: PlanMemory
    ) -> None:
        self.launches: list[Launch] = []
        self._executor = executor
        self._how = Lowering(executor.target, executor.kernels, names, choices=executor.choices)
        self._into = into
        self._memory = memory

    def add(self, bundle: Bundle) -> None:
        """Plans a bundle after those that it reads."""
        memory, group = self._memory, bundle.groups[0]
        root = group.root
        memory.begin(bundle)
        if group.view is not None:
            seen = memory.source(group.view)
            assert isinstance(seen.source, Buffer)
            memory.put(root, buffer(seen.source.storage, root.dtype, seen.layout))
        elif not root.size:
            memory.put(root, buffer(None, root.dtype, Layout.contiguous(root.shape)))
        elif group.base is not None:
            write = self._scattered if isinstance(root, Scatter) else self._written
            memory.put(root, write(bundle, group, group.base))
        elif isinstance(root, Contract):
            self._multiplied(bundle, root)
        elif isinstance(root, CustomCall):
            memory.put(root, self._called(bundle, root))
        elif isinstance(root, Scan):
            memory.put(root, self._scanned(bundle, group, root))
        elif isinstance(root, Sort):
            memory.put(root, self._sorted(bundle, group, root))
        else:
            self._computed(bundle)
        for node in (group.root for group in bundle.groups if self._into):
            target = self._into.get(node)
            if target is not None and node.size:
                if not memory.result(node).is_as(target):
                    self._copy(memory.result(node), target, node.where)
                memory.put(node, target)
        memory.end(bundle)

    # ------------------------------------------------------------------ kinds of bundles

    def _computed(self, bundle: Bundle) -> None:
        """What has no kernel of its own kind: one kernel, or a reduction in parts."""
        memory, values = self._memory, self._memory.values(bundle)
        outputs: list[Output] = []
        apart = True
        turns, last = bundle.passes
        row, whole = row_layout(bundle.shape, bundle.axes), row_layout(bundle.shape, ())
        later = [(value, turn) for value, turn in zip(bundle.values, last, strict=True) if turn]
        busy: set[int] = set()
        for result in bundle.results:
            root = result.group.root
            layout = row if result.row else whole
            target = self._into.get(root)
            if target is not None and len(bundle.groups) == 1 and bundle.order is None and bundle.shape == root.shape:
                memory.put(root, target)
                layout = target.layout
            else:
                taken = None
                if bundle.order is None or not result.row:
                    late = [value for value, turn in later if turn > turns[result.value]]
                    taken = memory.over(root, layout, busy, late)
                apart = apart and taken is None
                lies = result.group.layout
                memory.put(root, memory.fresh(root, lies) if taken is None else buffer(taken, root.dtype, lies))
            storage = memory.result(root).storage
            busy.add(id(storage))
            outputs.append(Output(result.value, layout, storage, root.dtype, result.row))
        where = bundle.results[-1].group.root.where
        if bundle.order is None:
            self._elementwise(values, bundle.shape, outputs, where, apart=apart)
            return
        reduction = Reduction(
            values=values,
            shape=bundle.shape,
            axes=bundle.axes,
            order=bundle.order,
            outputs=tuple(outputs),
            apart=apart,
        )
        self.launches += reduce_launches(reduction, self._executor.allocate, self._lowering(where))

    def _multiplied(self, bundle: Bundle, root: Contract) -> None:
        """A product of matrices, and what its kernel computes of that."""
        memory, values = self._memory, self._memory.values(bundle)
        contraction = products.contraction_of(root, values[:2])
        contraction = products.readable(contraction, self._dense, self._executor.target)
        outputs = []
        for result in bundle.results:
            node, layout = result.group.root, Layout.contiguous(bundle.shape)
            memory.put(node, memory.fresh(node, result.group.layout))
            outputs.append(Output(result.value, layout, memory.result(node).storage, node.dtype))
        elements = Elements.behind_operands(root.dtype, values, outputs, bundle.shape)
        where = bundle.results[-1].group.root.where
        allocate = self._executor.allocate
        self.launches += products.product_launches(contraction, elements, allocate, self._lowering(where))

    def _called(self, bundle: Bundle, root: CustomCall) -> Buffer:
        """What an algorithm computes of its operands, over one of them where that can be."""
        memory, algorithm, layout = self._memory, root.algorithm, Layout.contiguous(root.shape)
        leaves = [value for value in bundle.values if isinstance(value, Leaf)]
        operands = [self._in_rows(memory.source(leaf), algorithm.alignment) for leaf in leaves]
        storage = None
        if algorithm.overwrites is not None:
            number = algorithm.overwrites
            if storage_of(memory.source(leaves[number])) is not operands[number].storage:
                storage = operands[number].storage  # a copy of its own
            else:
                storage = memory.over(root, layout, (), [*leaves[:number], *leaves[number + 1 :]])
        target = memory.fresh(root, layout) if storage is None else buffer(storage, root.dtype, layout)
        call = Call(algorithm, tuple(operands), target)
        self.launches += call_launches(call, self._executor.allocate, self._lowering(root.where))
        return target

    def _in_rows(self, leaf: Leaf, alignment: int = 1) -> Buffer:
        """What is read, as elements in row-major order that begin at a multiple of so many bytes."""
        source, start = leaf.source, leaf.layout.offset * leaf.source.dtype.size
        if isinstance(source, Buffer) and leaf.layout.is_dense and start % alignment == 0:
            return buffer(source.storage, source.dtype, leaf.layout)
        dense = self._dense(leaf).source
        assert isinstance(dense, Buffer)
        return dense

    def _dense(self, leaf: Leaf) -> Leaf:
        """A copy with its elements in order."""
        layout = Layout.contiguous(leaf.layout.shape)
        copied = self._memory.fresh(leaf.source, layout)
        self._store((leaf,), copied, leaf.source.where)
        return Leaf(copied, layout, False)

    def _scanned(self, bundle: Bundle, group: Group, root: Scan) -> Buffer:
        target, allocate = self._memory.fresh(root, group.layout), self._executor.allocate
        scanning = Scanning(
            values=self._memory.values(bundle),
            shape=group.shape,
            axis=root.axis,
            op=root.op,
            accumulator=root.accumulator,
            dtype=root.dtype,
        )
        self.launches += scan_launches(scanning, target.storage, allocate, self._lowering(root.where))
        return target

    def _sorted(self, bundle: Bundle, group: Group, root: Sort) -> Buffer:
        target, allocate = self._memory.fresh(root, group.layout), self._executor.allocate
        values, of = self._memory.values(bundle), root.arg.dtype
        if of.is_float and of.bits == 16:  # noqa: PLR2004  # whose bits are not at hand where they are computed as f32
            values = (self._as_bits(values, root.arg),)
        sorting = Sorting(
            values=values,
            shape=group.shape,
            of=of,
            descending=root.descending,
            places=root.what == "places",
        )
        self.launches += sort_launches(sorting, target.storage, allocate, self._lowering(root.where))
        return target

    def _as_bits(self, values: tuple[Value, ...], node: Node) -> Leaf:
        """The bits of some values in memory."""
        value = values[-1]
        if len(values) > 1 or not (isinstance(value, Leaf) and isinstance(value.source, Buffer)):
            layout = Layout.contiguous(node.shape)
            made = self._memory.fresh(node, layout)
            self._store(values, made, node.where)
            value = Leaf(made, layout, False)
        assert isinstance(value.source, Buffer)
        return Leaf(buffer(value.source.storage, bits_of(node.dtype), value.layout), value.layout, False)

    def _written(self, bundle: Bundle, group: Group, base: Leaf) -> Buffer:
        """A part of the base written."""
        root = group.root
        assert isinstance(root, Assign)
        target = self._writable(root, base)
        region = replace(root.region, offset=root.region.offset + target.layout.offset)
        part, values = buffer(target.storage, root.dtype, region), self._memory.values(bundle)
        leaves = [value for value in values if isinstance(value, Leaf)]
        tables = [value.leaf for value in values if isinstance(value, Lookup)]
        shared = [leaf.layout for leaf in (*leaves, *tables) if storage_of(leaf) is target.storage]
        anywhere = any(storage_of(leaf) is target.storage for leaf in tables)
        if anywhere or any(_clash(layout, region) for layout in shared):
            dense = Layout.contiguous(group.shape)
            between = self._memory.fresh(root.value, dense)
            self._store(values, between, root.where)
            self._copy(between, part, root.where)
        else:
            self._store(values, part, root.where, apart=not shared)
        return target

    def _scattered(self, bundle: Bundle, group: Group, base: Leaf) -> Buffer:
        """Elements of the base written at computed places."""
        root = group.root
        assert isinstance(root, Scatter)
        target = self._writable(root, base)

        def compute(values: tuple[Value, ...]) -> Leaf:
            dtype, layout = dtype_of(values[-1]), Layout.contiguous(group.shape)
            between = buffer(self._executor.allocate(root.value.size * dtype.size, root.where), dtype, layout)
            self._store(values, between, root.where)
            return Leaf(between, layout, False)

        values = apart(self._memory.values(bundle), target.storage, compute)
        self.launches.append(scatter_launch(values, root.op, group.shape, target, self._lowering(root.where)))
        return target

    def _writable(self, root: Node, base: Leaf) -> Buffer:
        """What a write writes into: the memory of the base where nobody else needs that, else a copy of it."""
        taken = self._memory.writable(root, base)
        if taken is not None:
            return taken
        target, made = self._memory.fresh(root, Layout.contiguous(root.shape)), self._memory.source(base)
        if not isinstance(made.source, Undefined):
            self._store((made,), target, root.where)
        return target

    def _lowering(self, where: str) -> Lowering:
        """For what a Python line asks."""
        return self._how._replace(where=where)

    def _copy(self, source: Buffer, target: Buffer, where: str) -> None:
        self._store((Leaf(source, source.layout, False),), target, where)

    def _store(self, values: tuple[Value, ...], target: Buffer, where: str, *, apart: bool = True) -> None:
        output = Output(len(values) - 1, target.layout, target.storage, target.dtype)
        self._elementwise(values, target.shape, [output], where, apart=apart)

    def _elementwise(
        self, values: tuple[Value, ...], shape: Shape, outputs: Sequence[Output], where: str, *, apart: bool
    ) -> None:
        self.launches.append(elementwise_launch(values, shape, outputs, self._lowering(where), apart=apart))
