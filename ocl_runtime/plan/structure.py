"""Expressions without what differs from one evaluation to the next: the key of a plan, and what binds it.

Memory becomes a number, by first appearance; so do sizes (0 and 1, which change what code looks like, stay), and the
values of scalars. Where in its memory a leaf begins says nothing at all: each such offset is a size of its own, also if
it happens to be that of another leaf. What is left is the same for every turn of a loop, and for arrays of other
shapes. `again` builds the expression anew from memory, sizes and scalars that stand for those of any such evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, compress, islice, repeat
from operator import attrgetter, is_, is_not
from typing import Any, TypeAlias

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import (
    Assign,
    Buffer,
    Contract,
    CustomCall,
    Elementwise,
    Gather,
    Iota,
    Movement,
    Node,
    Reduce,
    Scalar,
    Scan,
    Scatter,
    Sort,
    Step,
    Storage,
    Undefined,
    walk,
)
from ocl_ir.graph.forward import operands
from ocl_ir.graph.substitute import form, rebuilt
from ocl_ir.guards import Given, Number, plain
from ocl_ir.indices import Shape, Span
from ocl_ir.layout import Layout
from ocl_ir.source_line import Line
from ocl_ir.types import DType

_FEW_SCALARS = 16
"""So many are told apart at no cost."""
_MANY_OF_A_LINE = 8
"""So many numbers of a line may be one: those of the turns of a loop, not of a function that is called twice."""
_MOST_DIFFERING = 1024
_PLAIN = frozenset({int, float})

# Nodes are many, so what can be asked of all of them at once is.
_ARGS, _OPERATION = attrgetter("args"), attrgetter("op", "dtype")

_Numbers: TypeAlias = int | tuple[Any, ...]
"""A size, or a tuple of some, perhaps of tuples."""


class Structure:
    """Some nodes, taken apart. `nodes` are the roots and all below them, by first use; `roots` are the numbers of the
    roots among them. `key` is equal for expressions that differ in `storages`, `sizes` and `scalars` only, each of
    which is listed once; `sizes` end with the offsets of leaves. With `into`, the first root is computed into the
    memory of the second; roots that are `copied`, by number, get memory of their own, even where they only look at
    memory that exists. `alike`, if anything, says for each scalar, by number, which one it is: in a long expression the
    numbers of one Python line are one, where all of them are equal. `writes` are the numbers of nodes that write a part
    of another one: who else holds a node is found out by counting references. `kept` is what a cache has for the key,
    once it has been looked up."""

    __slots__ = (
        "_memory", "_numbers", "_of_scalars", "_offsets", "_parts", "_uses", "alike", "copied", "into", "kept", "key",
        "nodes", "roots", "scalars", "sizes", "storages", "writes",
    )  # fmt: skip

    def __init__(self, roots: Sequence[Node], *, into: bool = False) -> None:
        self.into = into
        self.writes: list[int] = []
        self.nodes: list[Node] = []
        self.storages: list[Storage] = []
        self._of_scalars: list[Scalar] = []
        self._parts: list[Hashable] = []
        # By `id`: whoever counts references to a storage finds none of these.
        self._memory: dict[int, int] = {}
        self._numbers: dict[_Numbers, int] = {}
        self._uses: list[int] = []
        self._offsets: list[int] = []
        self.roots: tuple[int, ...] = ()
        self.add(roots)

    def add(self, roots: Sequence[Node], copied: Sequence[Node] = ()) -> None:
        """Takes more nodes apart, of which some are copied."""
        nodes, storages, scalars, numbers = self.nodes, self.storages, self._of_scalars, self._numbers
        first = len(nodes)
        args = self._reach(roots)
        kinds = tuple(map(type, nodes))
        index_of = dict(zip(map(id, nodes), range(len(nodes)), strict=True))
        number, memory, parts = numbers.setdefault, self._memory, self._parts
        others = map(is_not, islice(kinds, first, None), repeat(Elementwise))
        for node in compress(islice(nodes, first, None), others):
            if type(node) is Movement:
                step = node.step  # the axes of a permutation are no sizes
                parts += (step.kind, step.value if step.kind == "permute" else number(step.value, len(numbers)))
            elif type(node) is Buffer:
                storage, layout = node.storage, node.layout
                known = memory.setdefault(id(storage), len(storages))
                if known == len(storages):
                    storages.append(storage)
                lies = number((layout.shape, layout.strides), len(numbers))
                parts += (None if storage is None else known, node.dtype, lies)
                self._offsets.append(layout.offset)
            elif type(node) is Scalar:
                scalars.append(node)
                parts += (node.dtype, number(node.shape, len(numbers)))
            elif type(node) is Assign:
                self.writes.append(index_of[id(node)])
                region = node.region
                parts.append(number((region.shape, region.strides, region.offset), len(numbers)))
            else:
                if type(node) is Scatter:
                    self.writes.append(index_of[id(node)])
                parts += _parts(node, numbers)
        pattern, sizes = _pattern(tuple(numbers))
        self.sizes = (*sizes, *map(plain, self._offsets))
        self.roots += tuple([index_of[id(root)] for root in roots])
        self.copied = tuple([index_of[id(root)] for root in copied])
        self.scalars: list[Number | Given] = [node.value for node in scalars]
        self.alike = _alike(scalars) if len(scalars) > _FEW_SCALARS else ()
        operations = tuple(map(_OPERATION, compress(nodes, map(is_, kinds, repeat(Elementwise)))))
        self._uses += map(index_of.__getitem__, map(id, chain.from_iterable(args)))
        self.key: Hashable = (
            kinds, operations, tuple(parts), tuple(self._uses), pattern, self.roots, self.into, self.copied, self.alike
        )  # fmt: skip
        self.kept: Any = None

    def _reach(self, roots: Sequence[Node]) -> Iterable[tuple[Node, ...]]:
        """Lists the nodes below the roots that are not listed yet, and gives the operands of each. Those that are made
        of what is in memory by now, or of what moves that, refer to the memory from then on."""
        nodes = self.nodes
        first, known = len(nodes), {*nodes}
        note, listed = known.add, nodes.append
        for root in roots:
            if root not in known:
                note(root)
                listed(root)
        for node in islice(nodes, first, None):  # those that are listed meanwhile, too
            for arg in node.args:
                if arg not in known:
                    if arg.result is not None:
                        break
                    if type(arg) is Movement:
                        below = arg.args
                        if (
                            not below
                            or below[0].result is not None
                            or (type(below[0]) is Movement and _moves_memory(arg))
                        ):
                            break
                    note(arg)
                    listed(arg)
            else:
                continue
            for arg in operands(node):
                if arg not in known:
                    note(arg)
                    listed(arg)
        return map(_ARGS, islice(nodes, first, None))

    @property
    def first_offset(self) -> int:
        """The number of the first size that is an offset of a leaf."""
        return len(self.sizes) - len(self._offsets)

    # ------------------------------------------------------------------ building it again

    def again(
        self,
        storages: Sequence[Storage],
        sizes: Sequence[int],
        scalars: Sequence[Number | Given],
    ) -> list[Node]:
        """The nodes over other memory, sizes and scalars, in the same order; each says its number for the line that
        asked for it. The same operation of the same operands is one node, but each root is one of its own, unless it
        is only copied before it is written over."""
        first = self.first_offset
        number = {0: 0, 1: 1} | dict(zip(self.sizes[:first], sizes[:first], strict=True))

        @cache  # what has the same shape shares it
        def numbers(lengths: tuple[int, ...]) -> tuple[int, ...]:
            return tuple([number[length] for length in lengths])

        offset: dict[Node, int] = dict(
            zip([node for node in self.nodes if isinstance(node, Buffer)], sizes[first:], strict=True)
        )
        memory = {id(storage): other for storage, other in zip(self.storages, storages, strict=True)}
        of_scalars = self._of_scalars
        scalar: dict[Node, Number | Given] = dict(zip(of_scalars, scalars, strict=True))
        first_of: dict[Node, Node] = dict(zip(of_scalars, [of_scalars[first] for first in self.alike], strict=False))
        label = {node: str(index) for index, node in enumerate(self.nodes)}
        made: dict[Node, Node] = {}
        numbered: dict[Hashable, Node] = {}
        for node in walk(*[self.nodes[root] for root in self.roots]):
            origin = first_of.get(node, node)
            args = tuple([made[arg] for arg in origin.args])
            value = (form(origin), args)
            known = numbered.get(value)
            if known is None:
                known = numbered[value] = _again(origin, args, memory, numbers, offset, scalar, label[origin])
            made[node] = known
        nodes = [made[node] for node in self.nodes]
        apart: set[Node] = set()
        for result in dict.fromkeys(self.roots):
            if result not in self.copied:
                while nodes[result] in apart:  # they are equal; but two results are not one, which may be written over
                    nodes[result] = graph.elementwise("copy", nodes[result], where=str(result))
                apart.add(nodes[result])
        return nodes


def _moves_memory(node: Node) -> bool:
    """Whether what a movement moves is in memory by now."""
    args = node.args
    while args and args[0].result is None and type(args[0]) is Movement:
        args = args[0].args
    return not args or args[0].result is not None  # without operands, another thread has just forwarded it


def _alike(scalars: Sequence[Scalar]) -> tuple[int, ...]:
    """For each scalar of an expression, by number, the first one of its line, where all of that line are equal and not
    0; nothing if that is itself for each. A loop asks for the same numbers in each turn, and a kernel takes so many."""
    of_line: dict[tuple[Line, DType, Shape], list[int]] = {}
    for number, node in enumerate(scalars):
        line = node.line
        if type(line) is Line:
            of_line.setdefault((line, node.dtype, node.shape), []).append(number)
    first_of = [*range(len(scalars))]
    for (line, _, _), numbers in of_line.items():
        if len(numbers) < _MANY_OF_A_LINE or line in _DIFFERING:
            continue
        values = [scalars[number].value for number in numbers]
        if not _PLAIN.issuperset(map(type, values)):
            continue
        if values[0] and values.count(values[0]) == len(values):
            for number in numbers:
                first_of[number] = numbers[0]
        else:
            _note_differing(line)
    return tuple(first_of) if len({*first_of}) < len(first_of) else ()


_DIFFERING: set[Line] = set()
"""Lines whose numbers have differed in an expression, and are not taken for one again: else there were a plan for each
choice of lines whose numbers happen to be equal."""


def _note_differing(line: Line) -> None:
    if len(_DIFFERING) >= _MOST_DIFFERING:
        _DIFFERING.clear()
    _DIFFERING.add(line)


def _parts(node: Node, numbers: dict[_Numbers, int]) -> tuple[Hashable, ...]:
    """What a node of one of the rarer kinds is, but for its operands; tuples of sizes by number."""
    match node:
        case Reduce():
            return node.op, node.axes, node.keepdims, node.dtype, node.factor
        case Gather():
            return (len(node.args),)
        case Scatter():
            return node.op, len(node.args)
        case Undefined():
            return node.dtype, numbers.setdefault(node.shape, len(numbers))
        case Contract():
            return node.dtype, node.factor
        case Iota():
            layout = node.layout
            lies = layout.shape, layout.strides, layout.offset
            return node.dtype, numbers.setdefault(lies, len(numbers))
        case Scan():
            return node.op, node.axis, node.dtype
        case Sort():
            return node.what, node.descending
        case CustomCall():
            # What moves its result has sizes that no operand may have.
            return node.algorithm, len(node.args), numbers.setdefault(node.shape, len(numbers))
    raise AssertionError(node)


@lru_cache(maxsize=1024)  # asked for every evaluation
def _pattern(numbers: tuple[_Numbers, ...]) -> tuple[Hashable, tuple[int, ...]]:
    """Numbers with 0 and 1 as they are and a size as a negative one, by first appearance; and the sizes."""
    known = _Patterns()
    return tuple(map(known.__getitem__, numbers)), tuple(map(plain, known.sizes))


class _Patterns(dict[Any, Any]):
    """What stands for each size, or for each tuple of some; for a size that it does not have, the next negative
    number."""

    def __init__(self) -> None:
        super().__init__({0: 0, 1: 1, None: None})
        self.sizes: list[int] = []

    def __missing__(self, size: Any) -> Hashable:
        pattern: Hashable
        if isinstance(size, tuple):
            pattern = tuple(map(self.__getitem__, size))
        else:
            self.sizes.append(size)
            pattern = -len(self.sizes)
        self[size] = pattern
        return pattern


def _again(
    node: Node,
    args: Sequence[Node],
    memory: Mapping[int, Storage],
    numbers: Callable[[tuple[int, ...]], tuple[int, ...]],
    offset: Mapping[Node, int],
    scalar: Mapping[Node, Number | Given],
    where: str,
) -> Node:
    """A node over other operands, memory by the identity of its own, sizes and scalars."""

    def number(size: int) -> int:
        return numbers((size,))[0]

    def layout(value: Layout) -> Layout:
        return Layout(numbers(value.shape), numbers(value.strides), number(value.offset))

    def item(value: Any) -> Any:
        if isinstance(value, Span):
            return Span(*numbers((value.start, value.step, value.length)))
        return None if value is None else number(value)

    match node:
        case Elementwise() | Gather() | Scatter() | Reduce() | Contract() | Scan() | Sort() | CustomCall():
            return rebuilt(node, args, where)  # no sizes of their own
        case Scalar():
            return graph.scalar(scalar[node], node.dtype, numbers(node.shape), where)
        case Buffer():
            storage = None if node.storage is None else memory[id(node.storage)]
            lies = Layout(numbers(node.layout.shape), numbers(node.layout.strides), offset[node])
            return graph.buffer(storage, node.dtype, lies, where)
        case Movement():
            step = node.step
            if step.kind != "permute":
                step = Step(step.kind, tuple(map(item, step.value)))
            return graph.move(args[0], step, numbers(node.shape), where)
        case Undefined():
            return graph.undefined(node.dtype, numbers(node.shape), where)
        case Iota():
            return graph.iota(node.dtype, layout(node.layout), where)
        case Assign():
            return graph.assign(args[0], layout(node.region), args[1], where)
