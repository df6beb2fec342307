"""Arguments of a captured function: the memory that they lie in, and what a program for them depends on.

Arguments that overlap are one parameter of the program, the range of memory that they span. An argument with memory of
its own has sizes for its shape and strides, which each call binds; where several share memory, their layouts are a part
of the program, as is how an argument lies to the widest access of a kernel.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from ocl_ir.graph.build import Buffer
from ocl_ir.guards import Guards
from ocl_ir.layout import Layout
from ocl_ir.types import DType
from ocl_runtime.arrays import Array
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.execute.replay.replay import ALIGNED


@dataclass(frozen=True, slots=True)
class Range:
    """The memory of arguments that overlap: bytes `low … high` of a storage, `low` a multiple of `ALIGNED`."""

    storage: Storage
    low: int
    high: int


class Arguments:
    """Computed arrays that a function was called with.

    `nodes` and `executors` are theirs; `places` says for each in which of the `ranges` it lies (-1: it has no
    elements), `layouts` how it lies there.
    """

    def __init__(self, arrays: Sequence[Array]) -> None:
        self.nodes = [_buffer(one) for one in arrays]
        self.executors = [one._executor for one in arrays]
        self.ranges, self.places = _ranges(self.nodes)
        self.layouts = [
            node.layout if place < 0 else moved(node, self.ranges[place].low)
            for node, place in zip(self.nodes, self.places, strict=True)
        ]

    def exactly(self) -> Hashable:
        """All that a call depends on."""
        dtypes = tuple(node.dtype for node in self.nodes)
        return dtypes, self._reals(), tuple(self.layouts), tuple(self.places)

    def family(self) -> Hashable:
        """What a program depends on that serves many sizes: dtypes, numbers of axes, and who shares memory."""
        return self._reals(), tuple(
            (node.dtype, place, (layout.ndim, layout.is_dense, layout.range()[0]) if self._alone(place) else layout)
            for node, layout, place in zip(self.nodes, self.layouts, self.places, strict=True)
        )

    def _reals(self) -> tuple[DType, ...]:
        return tuple([one.default_real for one in self.executors])

    def sizes(self) -> dict[str, int]:
        """The sizes that this call binds, by name: lengths n0_0, n0_1, … of argument 0, strides s0_0, …, and so on."""
        found: dict[str, int] = {}
        for number, (layout, place) in enumerate(zip(self.layouts, self.places, strict=True)):
            if self._alone(place):
                found |= {f"n{number}_{axis}": length for axis, length in enumerate(layout.shape)}
                if not layout.is_dense:
                    found |= {f"s{number}_{axis}": stride for axis, stride in enumerate(layout.strides)}
        return found

    def backed(self, guards: Guards) -> list[Layout]:
        """The layouts in their ranges, made of sizes where they may be others."""
        sizes = {name: guards.size(name, number) for name, number in self.sizes().items()}
        found = []
        for number, (layout, place) in enumerate(zip(self.layouts, self.places, strict=True)):
            if not self._alone(place):
                found.append(layout)
                continue
            axes, low = range(layout.ndim), layout.range()[0]
            made = Layout.contiguous(tuple(sizes[f"n{number}_{axis}"] for axis in axes), low)
            if not layout.is_dense:
                made = replace(made, strides=tuple(sizes[f"s{number}_{axis}"] for axis in axes))
                made = replace(made, offset=low + (low - made.range()[0]))
            found.append(made)
        return found

    def nbytes(self, layouts: Sequence[Layout]) -> list[int]:
        """The size of each range, made of the sizes in the layouts of who lies in it."""
        found = [one.high - one.low for one in self.ranges]
        for node, layout, place in zip(self.nodes, layouts, self.places, strict=True):
            if self._alone(place):
                found[place] = layout.range()[1] * node.dtype.size
        return found

    def _alone(self, place: int) -> bool:
        return place >= 0 and self.places.count(place) == 1


def moved(node: Buffer, low: int) -> Layout:
    """The layout of a buffer in memory that begins at a byte of its storage."""
    return replace(node.layout, offset=node.layout.offset - low // node.dtype.size)


def _buffer(array: Array) -> Buffer:
    node = array._node
    assert isinstance(node, Buffer)
    return node


def _ranges(nodes: Sequence[Buffer]) -> tuple[list[Range], list[int]]:
    """The memory of arguments, in ranges that do not overlap, and for each argument which it lies in (-1: in none)."""
    spans: list[tuple[Storage, int, int]] = []
    places: list[int] = []
    for node in nodes:
        if node.storage is None:
            places.append(-1)
            continue
        low, high = (end * node.dtype.size for end in node.layout.range())
        low, number = low // ALIGNED * ALIGNED, len(spans)
        for other, (storage, begin, end) in enumerate(spans):
            if storage is node.storage and low < end and begin < high:
                low, high, number = min(low, begin), max(high, end), min(number, other)
                places = [number if place == other else place for place in places]
        span = (node.storage, low, high)
        if number == len(spans):
            spans.append(span)
        else:
            spans[number] = span
        places.append(number)
    used = sorted(set(places) - {-1})
    return [Range(*spans[number]) for number in used], [-1 if place < 0 else used.index(place) for place in places]
