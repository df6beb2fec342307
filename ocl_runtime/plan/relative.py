"""Expressions without what differs from one evaluation to the next: the key of a plan, and what binds it.

Memory becomes a number, by first appearance; so do sizes (0 and 1, which change what code looks like, stay), and the
values of scalars. What is left is the same for every turn of a loop, and for arrays of other shapes. `again` builds the
expression anew from memory, sizes and scalars that stand for those of any such evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from ir import graph
from ir.graph import (
    Assign,
    Buffer,
    Contract,
    Elementwise,
    Gather,
    Iota,
    Movement,
    Node,
    Reduce,
    Scalar,
    Scan,
    Scatter,
    Step,
    Storage,
    Undefined,
)
from ir.guards import Given, Number
from ir.layout import Layout, Span
from ir.substitute import rebuilt


class Relative:
    """Some nodes, taken apart. `nodes` are all below the roots, operands first, `args` the places of the operands of
    each; `key` is equal for expressions that differ in `storages`, `sizes` and `scalars` only, each of which is listed
    once."""

    def __init__(self, roots: Sequence[Node]) -> None:
        self.storages: list[Storage] = []
        self.sizes: list[int] = []
        self.scalars: list[Number | Given] = []
        self.nodes: list[Node] = []
        self.args: list[tuple[int, ...]] = []
        self._storages: dict[int, int] = {}
        self._sizes: dict[int, int] = {}
        self._known: dict[tuple[int, ...], tuple[int, ...]] = {}
        parts: list[Hashable] = []
        places: dict[Node, int] = {}
        stack = list(reversed(roots))
        while stack:  # as `walk` does, which takes as long as all the rest
            node = stack[-1]
            given = node.args
            waiting = () if node in places else [arg for arg in given if arg not in places]
            if waiting:
                stack += reversed(waiting)
                continue
            stack.pop()
            if node not in places:
                args = tuple([places[arg] for arg in given]) if given else ()
                places[node] = len(parts)
                self.nodes.append(node)
                self.args.append(args)
                parts.append(self._part(node, args))
        self.roots = tuple([places[root] for root in roots])
        self.key: Hashable = (tuple(parts), self.roots)

    def _part(self, node: Node, args: tuple[int, ...]) -> Hashable:
        match node:
            case Elementwise():
                return node.op, node.dtype, args
            case Scalar():
                self.scalars.append(node.value)
                return "scalar", node.dtype, self._numbers(node.shape)
            case Buffer():
                known = self._storages.setdefault(id(node.storage), len(self._storages))
                if known == len(self.storages):
                    self.storages.append(node.storage)
                return "buffer", node.dtype, known, node.storage is None, self._layout(node.layout)
            case Movement():
                step = node.step  # the axes of a permutation are no sizes
                value = step.value if step.kind == "permute" else tuple(map(self._item, step.value))
                return step.kind, args, value, self._numbers(node.shape)
            case Reduce():
                return "reduce", node.op, node.axes, node.keepdims, node.dtype, args
            case Gather():
                return "gather", args
            case Scatter():
                return "scatter", node.op, args
            case Undefined():
                return "undefined", node.dtype, self._numbers(node.shape)
            case Contract():
                return "contract", args
            case Iota():
                return "iota", node.dtype, self._layout(node.layout)
            case Scan():
                return "scan", node.op, node.axis, node.dtype, args
            case Assign():
                return "assign", args, self._layout(node.region)

    def _number(self, number: int) -> int:
        """A small number is itself; a size is a negative one, by first appearance."""
        if number in (0, 1):
            return number
        place = self._sizes.setdefault(number, len(self._sizes))
        if place == len(self.sizes):
            self.sizes.append(number)
        return -1 - place

    def _numbers(self, numbers: tuple[int, ...]) -> tuple[int, ...]:
        found = self._known.get(numbers)
        if found is None:
            found = self._known[numbers] = tuple([self._number(number) for number in numbers])
        return found

    def _layout(self, layout: Layout) -> Hashable:
        return self._numbers(layout.shape), self._numbers(layout.strides), self._number(layout.offset)

    def _item(self, item: Any) -> Hashable:
        if isinstance(item, Span):
            return self._numbers((item.start, item.step, item.length))
        return None if item is None else self._number(item)

    # ------------------------------------------------------------------ building it again

    def again(self, storages: Sequence[Storage], sizes: Sequence[int], scalars: Sequence[Number | Given]) -> list[Node]:
        """The nodes over other memory, sizes and scalars, in the same order; each says its number for the line that
        asked for it."""
        number = {0: 0, 1: 1} | dict(zip(self.sizes, sizes, strict=True))
        scalar = iter(scalars)
        made: dict[Node, Node] = {}
        for place, node in enumerate(self.nodes):
            args = [made[arg] for arg in node.args]
            made[node] = self._again(node, args, storages, number.__getitem__, scalar, str(place))
        return [made[node] for node in self.nodes]

    def _again(
        self,
        node: Node,
        args: Sequence[Node],
        storages: Sequence[Storage],
        number: Callable[[int], int],
        scalar: Iterator[Number | Given],
        where: str,
    ) -> Node:
        def numbers(given: Sequence[int]) -> tuple[int, ...]:
            return tuple(map(number, given))

        def layout(given: Layout) -> Layout:
            return Layout(numbers(given.shape), numbers(given.strides), number(given.offset))

        def item(given: Any) -> Any:
            if isinstance(given, Span):
                return Span(*numbers((given.start, given.step, given.length)))
            return None if given is None else number(given)

        match node:
            case (
                Elementwise() | Gather() | Scatter() | Reduce() | Contract() | Scan()
            ):  # which have no sizes of their own
                return rebuilt(node, args, where)
            case Scalar():
                return graph.scalar(next(scalar), node.dtype, numbers(node.shape))
            case Buffer():
                storage = None if node.storage is None else storages[self._storages[id(node.storage)]]
                return graph.buffer(storage, node.dtype, layout(node.layout))
            case Movement():
                step = node.step
                if step.kind != "permute":
                    step = Step(step.kind, tuple(map(item, step.value)))
                return graph.move(args[0], step, numbers(node.shape), where)
            case Undefined():
                return graph.undefined(node.dtype, numbers(node.shape))
            case Iota():
                return graph.iota(node.dtype, layout(node.layout))
            case Assign():
                return graph.assign(args[0], layout(node.region), args[1], where)
