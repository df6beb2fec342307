"""The grammar of array expressions: what to compute, not how.

    Node = Buffer storage, Layout             elements that exist in memory
         | Iota Layout                        a Buffer that holds 0, 1, 2, … and takes no memory
         | Scalar value                       one value at every place of a shape
         | Elementwise op, Node*              a row of `ocl_ir.ops`, or `convert`, place by place; all of one shape
         | Movement step, Node                the same elements elsewhere: index, permute, expand, reshape
         | Gather Node, Node*                 elements of a node at computed places: an index for each of its axes
         | Reduce op, Node, axes              sum, prod, min or max over axes
         | Contract Node, Node                products of the matrices in the last two axes
         | Scan op, Node, axis                running sums or products along an axis
         | Sort what, Node                    elements in order along the last axis, or the places they had
         | Scatter op, Node*                  a node written at computed places: value, whether, an index each axis
         | Undefined                          elements that nobody has written yet
         | CustomCall algorithm, Node*        what an algorithm of the library makes of operands in memory
         | Assign Node, Layout, Node          a node of which a part is written: the elements of a layout

A node of two consumers is computed once. Building the same expression twice gives two nodes, which are one once they
are planned together (`ocl_ir.graph.substitute`): looking for the first one would cost each operation more than it took
to make. The value of a scalar says nothing about the structure, it becomes a kernel parameter.
`ocl_ir.graph.build` builds nodes.

What a node is never changes, but it may be in memory by now: then it has a `result`, and no `args` any more. Who walks
an expression reads `args` first and follows the `result` if there is one; `ocl_ir.graph.forward` does both.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast
from weakref import ref

from ocl_ir.graph.library_algorithm import LibraryAlgorithm
from ocl_ir.guards import Given, Number, example, identity
from ocl_ir.indices import Item, Shape, Span, indexed_shape
from ocl_ir.layout import Layout
from ocl_ir.program_ops import DefinedOp
from ocl_ir.source_line import Where
from ocl_ir.types import F32, I64, U8, U64, DType

Storage: TypeAlias = Any
"""Memory of a runtime, of `nbytes` bytes. The graph never looks into it; None is the storage of an array without
elements."""


@dataclass(eq=False, slots=True)  # frozen, making one takes twice as long
class Step:
    """One movement; `value` is the index items, the order of axes, the number and the length of windows along the last
    one, or the new shape."""

    kind: Final[Literal["index", "permute", "expand", "windows", "reshape"]]
    value: Final[tuple[Item, ...]]
    whole: Shape = field(default=(), repr=False, compare=False)
    region: Layout | None = field(default=None, repr=False, compare=False)
    """Of an index that comes again, the shape that it picks of, and what it gives of a dense layout of that shape."""
    _key: Hashable = field(default=None, init=False, repr=False, compare=False)
    _shape: Shape | None = field(default=None, init=False, repr=False, compare=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Step) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def key(self) -> Hashable:
        """The step with formulas in place of sizes: to be told apart by, also from those of other calls."""
        key = self._key
        if key is None:
            value = self.value if self.kind != "index" else tuple(map(_without_sizes, self.value))
            key = self._key = self.kind, identity(value)
        return key

    @property
    def is_repeating(self) -> bool:
        """Whether the view may have an element several times, so that nobody writes into it."""
        return self.kind in {"expand", "windows"}

    def shape(self, shape: Shape) -> Shape:
        """The shape that the view of one of a shape has."""
        if self.kind == "index":
            known = self._shape
            if known is None:
                known = self._shape = indexed_shape(self.value)
            return known
        numbers = cast("Shape", self.value)
        if self.kind == "windows":
            return (*shape[:-1], *numbers)
        return tuple([shape[axis] for axis in numbers]) if self.kind == "permute" else numbers

    def apply(self, layout: Layout) -> Layout | None:
        """The layout that the view of a layout has; None for a reshape that would have to copy."""
        if self.kind == "index":
            if self.region is None:
                return layout.index(self.value)
            assert len(layout.shape) == len(self.whole)
            return self.region if layout.is_dense and not layout.offset else layout.index_again(self.value)
        numbers = cast("Shape", self.value)
        if self.kind == "permute":
            return layout.permute(numbers)
        if self.kind == "windows":
            return layout.windows(*numbers)
        return layout.expand(numbers) if self.kind == "expand" else layout.reshape(numbers)


def _without_sizes(item: Item) -> Any:
    return identity(item) if isinstance(item, Span) else item


@dataclass(eq=False, repr=False, slots=True, weakref_slot=True)  # frozen, making one takes twice as long
class AnyNode:
    """What all nodes have."""

    shape: Final[Shape]
    dtype: Final[DType]
    line: Final[Where]
    """Which Python line asked for it first."""
    flat: Final[bool]
    """Whether all leaves are dense or the same everywhere, so that a reshape moves no element."""
    args: tuple[Node, ...]
    """The nodes that this one is computed from, each of which it refers to once for each time that it is here: who may
    write over memory finds out by counting who else does. Changed by `ocl_ir.graph.forward` only."""
    result: Buffer | None = field(default=None, init=False)
    """The memory that its elements are in, once they have been computed or moved. Set once, by `forward`."""
    cell: ref[Any] | None = field(default=None, init=False)
    """Of an array that is just this node, the newest one's."""
    depth: int = field(default=0, init=False)
    """What stands above each other below it costs, with itself (`cost`); 0: it is in memory. It may be too high once
    something below has been computed."""
    left_out: bool = field(default=False, init=False)
    """Whether an evaluation has computed it on its way and not kept the values."""

    @property
    def where(self) -> str:
        """The Python line that asked for it first, as text."""
        return str(self.line)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.typed}>"

    @property
    def typed(self) -> str:
        """The dtype and shape as text: `f32[4, 8]`. Who reads it decides nothing by the sizes."""
        return f"{self.dtype}[{', '.join(map(str, map(example, self.shape)))}]"


@dataclass(eq=False, repr=False, slots=True)
class Buffer(AnyNode):
    """Elements in memory."""

    storage: Storage
    layout: Final[Layout]
    views: dict[Hashable, ref[Buffer]] = field(default_factory=dict)
    """Those of the same memory, by layout, which all of them have in common; itself once there are others."""

    def is_as(self, other: Buffer) -> bool:
        """Whether it has the same elements in the same memory."""
        return self.storage is other.storage and self.dtype == other.dtype and self.layout == other.layout


@dataclass(eq=False, repr=False, slots=True)
class Iota(AnyNode):
    """The places themselves: the element at place `k` of `layout` has the value `k`."""

    layout: Final[Layout]


@dataclass(eq=False, repr=False, slots=True)
class Scalar(AnyNode):
    """One value everywhere."""

    value: Final[Number | Given]


@dataclass(eq=False, repr=False, slots=True)
class Elementwise(AnyNode):
    """An operation at every place."""

    op: Final[str]


@dataclass(eq=False, repr=False, slots=True)
class Gather(AnyNode):
    """Elements of the first operand: at each place the one whose coordinates the other operands have there."""

    @property
    def arg(self) -> Node:
        """What elements are taken of."""
        return self.args[0]

    @property
    def indices(self) -> tuple[Node, ...]:
        """The coordinates, an integer node for each axis."""
        return self.args[1:]


@dataclass(eq=False, repr=False, slots=True)
class Movement(AnyNode):
    """The elements of another node at other places."""

    step: Final[Step]

    @property
    def arg(self) -> Node:
        """The node that is moved."""
        return self.args[0]


ScatterOp: TypeAlias = Literal["set", "max", "add", "pack"]


@dataclass(eq=False, repr=False, slots=True)
class Scatter(AnyNode):
    """The first operand with elements of the second one at other places: `set` there, the greater of both, or the sum.

    The third operand says which elements are written at all, the others have their coordinates. No two that are set
    have the same. To `pack` writes those of each row of two axes one after the other, from the coordinate of the row's
    first element on."""

    op: Final[ScatterOp]
    readers: list[ref[Node]] = field(default_factory=list, init=False)
    """As of `Assign`."""

    @property
    def arg(self) -> Node:
        """What is written into."""
        return self.args[0]

    @property
    def value(self) -> Node:
        """The elements that are written; the other operands but the first have its shape."""
        return self.args[1]


@dataclass(eq=False, repr=False, slots=True)
class Undefined(AnyNode):
    """Elements of any value: what will be written, all of it or what anybody looks at."""


ReduceOp: TypeAlias = Literal["sum", "prod", "min", "max"] | DefinedOp


@dataclass(eq=False, repr=False, slots=True)
class Reduce(AnyNode):
    """Elements joined along axes, in `accumulator`, then converted to `dtype`. Of products of vectors, `factor` is the
    dtype of these, which may be narrower than the elements, else that of the elements."""

    op: Final[ReduceOp]
    axes: Final[tuple[int, ...]]
    keepdims: Final[bool]
    accumulator: Final[DType]
    factor: Final[DType]

    @property
    def arg(self) -> Node:
        """The node that is reduced."""
        return self.args[0]


@dataclass(eq=False, repr=False, slots=True)
class Contract(AnyNode):
    """Matrices multiplied: element (…, i, j) is the sum of left (…, i, k) times right (…, k, j) over k, in
    `accumulator`. Where `factor` is another dtype than that of the operands, they may be rounded to it before."""

    accumulator: Final[DType]
    factor: Final[DType]

    @property
    def left(self) -> Node:
        """The first matrices."""
        return self.args[0]

    @property
    def right(self) -> Node:
        """The second matrices."""
        return self.args[1]


ScanOp: TypeAlias = Literal["sum", "prod"] | DefinedOp


@dataclass(eq=False, repr=False, slots=True)
class Scan(AnyNode):
    """All elements up to each along an axis joined, in `accumulator`, then converted to `dtype`."""

    op: Final[ScanOp]
    axis: Final[int]
    accumulator: Final[DType]

    @property
    def arg(self) -> Node:
        """The node that is scanned."""
        return self.args[0]


@dataclass(eq=False, repr=False, slots=True)
class Sort(AnyNode):
    """The elements along the last axis in ascending or `descending` order, equal ones as they were before each other;
    or, in int64, the `places` that these had. NaN counts as greatest, -0.0 equals 0.0."""

    what: Final[Literal["values", "places"]]
    descending: Final[bool]

    @property
    def arg(self) -> Node:
        """The node that is sorted."""
        return self.args[0]


@dataclass(eq=False, repr=False, slots=True)
class CustomCall(AnyNode):
    """What an algorithm of the library computes of whole operands, which lie in memory in row-major order."""

    algorithm: Final[LibraryAlgorithm]


@dataclass(eq=False, repr=False, slots=True)
class Assign(AnyNode):
    """A node with other elements in a part of it: `region` lies in its elements in row-major order."""

    region: Final[Layout]
    readers: list[ref[Node]] = field(default_factory=list, init=False)
    """Views of a part of it that somebody may still need when it is written over; of memory, its storage has them."""

    @property
    def arg(self) -> Node:
        """The node that is written."""
        return self.args[0]

    @property
    def value(self) -> Node:
        """The new elements."""
        return self.args[1]


Node: TypeAlias = (Buffer | Iota | Scalar | Elementwise | Movement | Gather | Scatter | Undefined | Reduce | Contract
                   | Scan | Sort | CustomCall | Assign)  # fmt: skip

KERNEL = 8
"""The cost of an operation that needs a kernel of its own: those of an expression are one kernel."""
_COSTS = dict.fromkeys((Assign, Contract, CustomCall, Reduce, Scan, Scatter, Sort), KERNEL) | {Movement: 0}


def cost(node: Node) -> int:
    """That of a node by itself, in operations."""
    return _COSTS.get(type(node), 1)


def deepen(node: Node) -> None:
    """Notes how deep a node stands, by its operands."""
    node.depth = max([arg.depth for arg in node.args], default=0) + cost(node)


def accumulator(op: ReduceOp, dtype: DType) -> DType:
    """The dtype that a reduction of `dtype` adds up in: half in f32, sums and products of integers in 64 bits."""
    if dtype.is_inexact:
        return F32 if dtype.bits == 16 else dtype
    if isinstance(op, DefinedOp):
        return dtype
    if op in {"sum", "prod"}:
        return U64 if dtype.kind == "uint" else I64
    return U8 if dtype.kind == "bool" else dtype


def accumulating(op: ReduceOp, operand_dtype: DType, dtype: DType) -> DType:
    """What a sum asked for in another dtype is added up in: that one, since integers wrap the same, and floats are not
    rounded early."""
    if isinstance(op, DefinedOp):
        return accumulator(op, op.result)  # the state's
    return dtype if dtype.is_integer or dtype.bits > 16 else accumulator(op, operand_dtype)


def walk(*roots: Node) -> Iterator[Node]:
    """Every node below the roots once, operands before their users."""
    done: set[Node] = set()
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        waiting = () if node in done else [arg for arg in node.args if arg not in done]
        if waiting:
            stack += reversed(waiting)
            continue
        stack.pop()
        if node not in done:
            done.add(node)
            yield node
