"""From array expressions to launches, with the memory they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ir.graph import Buffer, Node, buffer
from ir.layout import Layout, Shape
from ocl_runtime.plan.elementwise import elementwise_launch
from ocl_runtime.plan.executor import Executor
from ocl_runtime.plan.fuse import Group, Leaf, Value, groups
from ocl_runtime.plan.launch import Launch, Plan
from ocl_runtime.plan.reduce import Reduction, reduce_launches


def plan(
    roots: Sequence[Node],
    executor: Executor,
    names: Mapping[Node, str] = MappingProxyType({}),
    *,
    dense: bool = False,
    into: Mapping[Node, Buffer] = MappingProxyType({}),
) -> Plan:
    """Plans to compute nodes.

    What only looks at memory that exists, or is computed anyway, becomes a view of it, unless results must be `dense`.
    `names` gives names to buffers for the generated code. `into` is memory for some of the results, of their dtype and
    shape, of which nothing that they are made of uses an element.
    """
    planner = _Planner(executor, names, into)
    for group in groups(roots, executor.target, dense=dense):
        planner.add(group)
    return Plan(tuple(roots), tuple(planner.launches), tuple(planner.results[root] for root in roots))


class _Planner:
    def __init__(self, executor: Executor, names: Mapping[Node, str], into: Mapping[Node, Buffer]) -> None:
        self.launches: list[Launch] = []
        self.results: dict[Node, Buffer] = {}
        self._executor = executor
        self._names = names
        self._into = into

    def add(self, group: Group) -> None:
        root, target = group.root, self._into.get(group.root)
        if target is not None and root.size:
            if group.view is None and group.reduce is None:
                values = tuple(self._bound(value) if isinstance(value, Leaf) else value for value in group.values)
                self.launches.append(self._elementwise(values, group.shape, target, root.where))
                self.results[root] = target
                return
            self._compute(group)
            made = self.results[root]
            self.launches.append(self._elementwise((Leaf(made, made.layout, False),), root.shape, target, root.where))
            self.results[root] = target
            return
        self._compute(group)

    def _elementwise(self, values: tuple[Value, ...], shape: Shape, target: Buffer, where: str = "") -> Launch:
        return elementwise_launch(
            values,
            shape,
            target.dtype,
            target.storage,
            target=self._executor.target,
            kernels=self._executor.kernels,
            names=self._names,
            where=where,
            to=target.layout,
        )

    def _compute(self, group: Group) -> None:
        root = group.root
        if group.view is not None:
            seen = self._bound(group.view)
            assert isinstance(seen.source, Buffer)
            self.results[root] = buffer(seen.source.storage, root.dtype, seen.layout)
            return
        values = tuple(self._bound(value) if isinstance(value, Leaf) else value for value in group.values)
        storage = None
        if root.size:
            storage = self._executor.allocate(root.size * root.dtype.size, root.where)
            self.launches += self._launches(group, values, storage)
        self.results[root] = buffer(storage, root.dtype, Layout.contiguous(root.shape))

    def _bound(self, leaf: Leaf) -> Leaf:
        """The leaf; of one that another group computes, its result."""
        return replace(leaf, source=self.results[leaf.source], computed=False) if leaf.computed else leaf

    def _launches(self, group: Group, values: tuple[Value, ...], storage: object) -> list[Launch]:
        executor, root = self._executor, group.root
        if group.reduce is None:
            dense = buffer(storage, root.dtype, Layout.contiguous(group.shape))
            return [self._elementwise(values, group.shape, dense, root.where)]
        reduction = Reduction(
            values=values,
            shape=group.shape,
            axes=group.reduce.axes,
            op=group.reduce.op,
            accumulator=group.reduce.accumulator,
            dtype=root.dtype,
        )
        return reduce_launches(
            reduction,
            storage,
            executor.allocate,
            target=executor.target,
            kernels=executor.kernels,
            names=self._names,
            where=root.where,
        )
