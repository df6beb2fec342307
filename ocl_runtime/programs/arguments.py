"""Arguments of a captured function: the memory that they lie in, and what a program for them depends on.

Arguments that overlap are one parameter of the program, the range of memory that they span. An argument with memory of
its own has sizes for its shape and strides, which each call binds; where several share memory, their layouts are a part
of the program, as is how an argument lies to the widest access of a kernel.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from ocl_ir.graph.build import Buffer
from ocl_ir.guards import Guards
from ocl_ir.layout import Layout
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.execute.replay.replay import ALIGNED
from ocl_runtime.plan.executor import Executor


class Range(NamedTuple):
    """The memory of arguments that overlap: bytes `low … high` of a storage, `low` a multiple of `ALIGNED`."""

    storage: Storage
    low: int
    high: int


class Arguments:
    """Computed arrays that a function was called with.

    `nodes` and `executors` are theirs; `range_indices` says for each in which of the `ranges` it lies (-1: it has no
    elements). A program depends on their `family`: dtypes, numbers of axes, and who shares memory. A call with one
    binds `sizes`: the lengths of each axis of an argument, and where it has gaps the strides, in order.
    """

    def __init__(self, nodes: Sequence[Buffer], executors: Sequence[Executor]) -> None:
        self.nodes, self.executors = nodes, executors
        self.ranges, self.range_indices = ranges, range_indices = _ranges(nodes)
        self._all_alone = len(ranges) == len(nodes)
        sizes: list[int] = []
        family: list[Hashable] = []
        for number, (node, executor) in enumerate(zip(nodes, executors, strict=True)):
            layout, dtype, range_index = node.layout, node.dtype, range_indices[number]
            if self._all_alone or self._alone(number):
                dense, low = layout.is_dense, layout.range()[0]
                if ranges[range_index].low:
                    low -= ranges[range_index].low // dtype.size
                family.append((executor.default_real, dtype, range_index, len(layout.shape), dense, low))
                sizes += layout.shape
                if not dense:
                    sizes += layout.strides
            else:
                family.append((executor.default_real, dtype, range_index, self.layouts[number]))
        self.sizes = tuple(sizes)
        self.family: Hashable = tuple(family)

    @cached_property
    def layouts(self) -> list[Layout]:
        """How each lies in its range."""
        return [
            node.layout if range_index < 0 else moved(node, self.ranges[range_index].low)
            for node, range_index in zip(self.nodes, self.range_indices, strict=True)
        ]

    def names(self) -> list[str]:
        """Those of the sizes: lengths n0_0, n0_1, … of argument 0, strides s0_0, …, and so on."""
        names: list[str] = []
        for number, node in enumerate(self.nodes):
            if self._alone(number):
                axes = range(node.layout.ndim)
                names += [f"n{number}_{axis}" for axis in axes]
                if not node.layout.is_dense:
                    names += [f"s{number}_{axis}" for axis in axes]
        return names

    def backed(self, guards: Guards) -> list[Layout]:
        """The layouts in their ranges, made of sizes where they may be others."""
        sizes = {name: guards.size(name, number) for name, number in zip(self.names(), self.sizes, strict=True)}
        layouts = []
        for number, layout in enumerate(self.layouts):
            if not self._alone(number):
                layouts.append(layout)
                continue
            axes, low = range(layout.ndim), layout.range()[0]
            made = Layout.contiguous(tuple(sizes[f"n{number}_{axis}"] for axis in axes), low)
            if not layout.is_dense:
                made = replace(made, strides=tuple(sizes[f"s{number}_{axis}"] for axis in axes))
                made = replace(made, offset=low + (low - made.range()[0]))
            layouts.append(made)
        return layouts

    def nbytes(self, layouts: Sequence[Layout]) -> list[int]:
        """The size of each range, made of the sizes in the layouts of who lies in it."""
        sizes = [span.high - span.low for span in self.ranges]
        for number, (node, layout) in enumerate(zip(self.nodes, layouts, strict=True)):
            if self._alone(number):
                sizes[self.range_indices[number]] = layout.range()[1] * node.dtype.size
        return sizes

    def _alone(self, number: int) -> bool:
        """Whether an argument has memory of its own."""
        range_index = self.range_indices[number]
        return self._all_alone or (range_index >= 0 and self.range_indices.count(range_index) == 1)


def moved(node: Buffer, low: int) -> Layout:
    """The layout of a buffer in memory that begins at a byte of its storage."""
    return replace(node.layout, offset=node.layout.offset - low // node.dtype.size)


def _ranges(nodes: Sequence[Buffer]) -> tuple[list[Range], list[int]]:
    """The memory of arguments, in ranges that do not overlap, and for each argument which it lies in (-1: in none)."""
    storages = [node.storage for node in nodes]
    if None not in storages and len({*map(id, storages)}) == len(nodes):
        return [*map(_range, nodes)], [*range(len(nodes))]
    spans: list[Range] = []
    range_indices: list[int] = []
    for node in nodes:
        if node.storage is None:
            range_indices.append(-1)
            continue
        (storage, low, high), number = _range(node), len(spans)
        for other, (known, begin, last) in enumerate(spans):
            if known is storage and low < last and begin < high:
                low, high, number = min(low, begin), max(high, last), min(number, other)
                range_indices = [number if index == other else index for index in range_indices]
        spans[number : number + 1] = [Range(storage, low, high)]
        range_indices.append(number)
    used = sorted(set(range_indices) - {-1})
    return [spans[number] for number in used], [-1 if index < 0 else used.index(index) for index in range_indices]


def _range(node: Buffer) -> Range:
    """The memory of an argument."""
    itemsize, (first, end) = node.dtype.size, node.layout.range()
    return Range(node.storage, first * itemsize // ALIGNED * ALIGNED, end * itemsize)
