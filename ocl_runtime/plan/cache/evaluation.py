"""A plan that is kept, over the memory, sizes and scalars of one evaluation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, cast

from ocl_ir.graph.build import Buffer, Node, Storage, buffer
from ocl_ir.guards import plain
from ocl_ir.host.grammar import Launch as Command
from ocl_ir.host.grammar import Number
from ocl_ir.host.schedule import BufferView
from ocl_ir.host.schedule import Node as Scheduled
from ocl_ir.source_line import Where
from ocl_ir.types import F32, DType, element
from ocl_runtime.errors import OutOfMemoryError
from ocl_runtime.plan.cache.slots import Asker, asker
from ocl_runtime.plan.cache.template import Sized, Template
from ocl_runtime.plan.launch import Address, Argument, InPlace, Launch, Plan, Sizes, passed
from ocl_runtime.plan.structure import Structure


class Evaluation:
    """A plan for memory, sizes and scalars: a `Plan` whose parts are made when they are asked for.

    `storages` are by slot: of leaves, then of results; `arena` is the memory of what is neither, or `pieces` by buffer.
    """

    __slots__ = ("_structure", "arena", "pieces", "sized", "storages", "template")

    def __init__(
        self, template: Template, sized: Sized, structure: Structure, allocate: Callable[[int, Where], Storage]
    ) -> None:
        self.template = template
        self._structure = structure
        self.sized = sized
        self.storages: list[Storage] = [*structure.storages]
        for nbytes, by in sized.memory:
            self.storages.append(allocate(nbytes, self.line(by)))
        self.arena: Storage | None = None
        self.pieces: dict[int, Storage] = {}
        if sized.arena:
            where = self.line(sized.askers[-1])
            try:
                self.arena = allocate(sized.arena, where)
            except OutOfMemoryError:  # or more than one allocation may have
                self.sized = sized.in_pieces()
                self.pieces = {buffer: allocate(max(nbytes, 1), where) for buffer, nbytes in self.sized.pieces}

    def line(self, asker: Asker) -> Where:
        """The Python line of this evaluation."""
        return self._structure.nodes[asker].line if isinstance(asker, int) else asker

    def lines(self) -> list[Where]:
        """Those of the steps."""
        nodes = self._structure.nodes
        return [nodes[asker].line if isinstance(asker, int) else asker for asker in self.sized.askers]

    def numbers(self) -> dict[str, bool | int | float]:
        """Scalar arguments, by name."""
        scalars = self._structure.scalars
        return {name: passed_number(scalars[index], dtype) for name, index, dtype in self.template.numbers}

    def hand_over(self, anew: Callable[[Storage], Storage]) -> None:
        """Gives memory that was written over another identity: nodes that still name the old one must not be
        computed."""
        for index in self.template.taken:
            self.storages[index] = anew(self.storages[index])

    @property
    def roots(self) -> tuple[Node, ...]:
        """The nodes that were asked for."""
        return tuple([self._structure.nodes[index] for index in self._structure.roots])

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches over the memory of this evaluation."""
        numbers, schedule = self.numbers(), self.sized.schedule
        return tuple([self._launch(node, numbers, schedule.offsets) for node in schedule.nodes])

    def _launch(self, node: Scheduled, numbers: Mapping[str, bool | int | float], offsets: Mapping[int, int]) -> Launch:
        command = node.command
        assert isinstance(command, Command)
        args: list[Argument] = []
        most = self.template.most(command, self._structure.sizes)
        for param, arg, elements in zip(command.kernel.params, node.args, most, strict=True):
            if isinstance(arg, BufferView):
                args.append(self._address(arg, offsets)._replace(most=elements))
            else:
                args.append(passed(numbers[arg.name] if isinstance(arg, Number) else arg, element(param.value.type)))
        over, groups = cast("tuple[Sizes, Sizes]", (node.sizes, command.group_size))
        return Launch(command.kernel, tuple(args), over, groups, self.line(asker(command.where)), node.stream or 0)

    def _address(self, view: BufferView, offsets: Mapping[int, int]) -> Address:
        itemsize, start = view.dtype.size, offsets.get(view.buffer)
        if start is None:
            slot = self.template.slots[view.buffer]
            storage = self.pieces[view.buffer] if slot is None else self.storages[slot]
            return Address(storage, view.layout)
        return Address(self.arena, replace(view.layout, offset=view.layout.offset + start // itemsize))

    @property
    def computed(self) -> dict[Node, Buffer]:
        """What is in memory once they have run, by node."""
        nodes, storages = self._structure.nodes, self.storages
        made: dict[Node, Buffer] = {}
        for index, slot, dtype, layout in self.sized.computed:
            node = nodes[index]
            made[node] = buffer(None if slot is None else storages[slot], dtype, layout, node.line)
        return made

    @property
    def own(self) -> Collection[int]:
        """The storages that nobody else knows yet: not those of leaves, unless they have been written over."""
        return {*self.template.taken, *range(len(self._structure.storages), len(self.storages))}

    @property
    def results(self) -> tuple[Buffer, ...]:
        """That of the roots."""
        computed = self.computed
        return tuple(computed[root] for root in self.roots)

    @property
    def taken(self) -> tuple[Storage, ...]:
        """Memory that was offered and is overwritten."""
        return tuple(self.storages[index] for index in self.template.taken)

    @property
    def in_place(self) -> tuple[InPlace, ...]:
        """What became of the result of every group."""
        return tuple(InPlace(self._structure.nodes[index], reason) for index, reason in self.template.in_place)

    @property
    def why(self) -> dict[Node, str]:
        """For what is computed on its own, why it is."""
        return {self._structure.nodes[index]: reason for index, reason in self.template.why}


def passed_number(value: Any, dtype: DType) -> bool | int | float:
    """A scalar as a kernel gets it."""
    if (type(value) is float and dtype is F32) or (type(value) is int and 0 <= value < 128 and dtype.is_integer):
        return value  # rounded already, as every number in an expression is; or small enough for all integers
    number: bool | int | float = passed(plain(value), dtype).item()
    return number


AnyPlan: TypeAlias = Plan | Evaluation
