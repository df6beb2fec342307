"""From array expressions to launches, with the memory they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ir.graph import Buffer, Node, buffer
from ir.layout import Layout
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
) -> Plan:
    """Plans to compute nodes.

    What only looks at memory that exists, or is computed anyway, becomes a view of it, unless results must be `dense`.
    `names` gives names to buffers for the generated code.
    """
    planner = _Planner(executor, names)
    for group in groups(roots, executor.target, dense=dense):
        planner.add(group)
    return Plan(tuple(roots), tuple(planner.launches), tuple(planner.results[root] for root in roots))


class _Planner:
    def __init__(self, executor: Executor, names: Mapping[Node, str]) -> None:
        self.launches: list[Launch] = []
        self.results: dict[Node, Buffer] = {}
        self._executor = executor
        self._names = names

    def add(self, group: Group) -> None:
        root = group.root
        if group.view is not None:
            seen = self._bound(group.view)
            assert isinstance(seen.source, Buffer)
            self.results[root] = buffer(seen.source.storage, root.dtype, seen.layout)
            return
        values = tuple(self._bound(value) if isinstance(value, Leaf) else value for value in group.values)
        storage = None
        if root.size:
            storage = self._executor.allocate(root.size * root.dtype.size)
            self.launches += self._launches(group, values, storage)
        self.results[root] = buffer(storage, root.dtype, Layout.contiguous(root.shape))

    def _bound(self, leaf: Leaf) -> Leaf:
        """The leaf; of one that another group computes, its result."""
        return replace(leaf, source=self.results[leaf.source], computed=False) if leaf.computed else leaf

    def _launches(self, group: Group, values: tuple[Value, ...], storage: object) -> list[Launch]:
        executor, root = self._executor, group.root
        if group.reduce is None:
            launch = elementwise_launch(
                values,
                group.shape,
                root.dtype,
                storage,
                target=executor.target,
                kernels=executor.kernels,
                names=self._names,
                where=root.where,
            )
            return [launch]
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
