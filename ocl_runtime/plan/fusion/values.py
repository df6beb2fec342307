"""The values of a group of elementwise operations: what is read, and what is computed of it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from ocl_ir.graph.build import Node, ReduceOp, Scalar
from ocl_ir.layout import Layout
from ocl_ir.types import DType


class HasOperands(Protocol):
    """A value, or what stands for it in a kernel's form."""

    @property
    def operands(self) -> tuple[int, ...]:
        """The places of the values that it is computed from."""


class Leaf(NamedTuple):
    """What a group reads: `source` is a buffer, iota or scalar, or (`computed`) the result of another group, which has
    its canonical layout."""

    source: Node
    layout: Layout
    computed: bool

    @property
    def operands(self) -> tuple[int, ...]:
        """None."""
        return ()


class Operation(NamedTuple):
    """An operation on earlier values of the group, given by their places."""

    op: str
    dtype: DType
    args: tuple[int, ...]

    @property
    def operands(self) -> tuple[int, ...]:
        """The places of what it takes."""
        return self.args


class Fold(NamedTuple):
    """An earlier value joined along the reduced axes in `accumulator`, as `dtype`: one value for each result."""

    op: ReduceOp
    accumulator: DType
    dtype: DType
    arg: int

    @property
    def operands(self) -> tuple[int, ...]:
        """The place of what is joined."""
        return (self.arg,)


class Product(NamedTuple):
    """The product of matrices, as `dtype`, which are earlier values; a kernel has one at most. Where there are no such
    values, it reads the matrices itself."""

    dtype: DType
    args: tuple[int, ...] = ()
    op: str = "contract"

    @property
    def operands(self) -> tuple[int, ...]:
        """The places of the matrices."""
        return self.args


class Padding(NamedTuple):
    """Where elements of a layout do not exist, and are 0: where one of the places that the `bounds` give is beyond its
    length. All that exist are those of `inside`."""

    inside: Layout
    bounds: tuple[tuple[Layout, int], ...]


class Split(NamedTuple):
    """Of how many axes each the rows and the columns of matrices consist, which are the last ones of a layout."""

    rows: int = 1
    columns: int = 1
    padding: Padding | None = None


class Matrices(NamedTuple):
    """An operand of a product of matrices whose rows or columns are several axes of a leaf, or which is padded."""

    leaf: Leaf
    split: Split

    @property
    def operands(self) -> tuple[int, ...]:
        """None."""
        return ()


class Computed(NamedTuple):
    """An operand of a product that is computed where it is read: the last of the `values`, whose layouts are over its
    axes. `leaf` is what it would be in memory, on which it depends how the product is computed."""

    leaf: Leaf
    values: tuple[Value, ...]

    @property
    def operands(self) -> tuple[int, ...]:
        """None."""
        return ()


class Lookup(NamedTuple):
    """The element of a leaf at coordinates that are earlier values of the group, given by their places."""

    leaf: Leaf
    args: tuple[int, ...]

    @property
    def operands(self) -> tuple[int, ...]:
        """The places of the coordinates."""
        return self.args


Value: TypeAlias = "Leaf | Operation | Fold | Lookup | Matrices | Computed | Product"


def dtype_of(value: Value) -> DType:
    """The dtype of a value."""
    if isinstance(value, Operation | Fold | Product):
        return value.dtype
    return value.source.dtype if isinstance(value, Leaf) else value.leaf.source.dtype


def leaf_of(value: Leaf | Lookup) -> Leaf:
    """What is read."""
    return value.leaf if isinstance(value, Lookup) else value


def below(values: Sequence[HasOperands], indices: Iterable[int], stop: Container[int] = ()) -> list[int]:
    """The places of values and of all that they are computed from, in order; nothing below those in `stop`."""
    needed: set[int] = set()
    waiting = list(indices)
    while waiting:
        index = waiting.pop()
        if index not in needed:
            needed.add(index)
            value = values[index]
            if index not in stop:
                waiting += value.operands
    return sorted(needed)


def table_layouts(values: Sequence[Value]) -> list[Layout]:
    """The layouts of what elements are looked up in."""
    return [value.leaf.layout for value in values if isinstance(value, Lookup)]


def leaf_layouts(values: Sequence[Value]) -> list[Layout]:
    """The layouts of the leaves that are no scalars, in order."""
    return [leaf.layout for leaf in laid_out(values)]


def leaves_of(values: Iterable[Value], base: Leaf | None) -> tuple[Leaf, ...]:
    """All that is read where values are computed, and perhaps written over a base."""
    leaves: list[Leaf] = []
    for value in values:
        if isinstance(value, Leaf):
            leaves.append(value)
        elif isinstance(value, Lookup | Matrices):
            leaves.append(value.leaf)
        elif isinstance(value, Computed):
            leaves += leaves_of(value.values, None)
    if base is not None:
        leaves.append(base)
    return tuple(leaves)


def laid_out(values: Iterable[Value]) -> list[Leaf]:
    """The leaves that are no scalars, in order."""
    return [value for value in values if isinstance(value, Leaf) and not isinstance(value.source, Scalar)]
