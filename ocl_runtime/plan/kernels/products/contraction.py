"""What a product of matrices asks for, whichever kernel computes it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ocl_ir.graph.build import Storage, buffer
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout, collapse
from ocl_ir.types import TF32, DType
from ocl_runtime.plan.fusion.reduction_order import order
from ocl_runtime.plan.fusion.values import Fold, Leaf, Operation, Product, Split, Value
from ocl_runtime.plan.kernels.form import Output
from ocl_runtime.plan.kernels.reduce import Reduction
from ocl_runtime.plan.target import Target

_SEQUENTIAL = 16384
"""Products that are added to one number one after the other, for accuracy."""
_MOST_PARTS = 256


@dataclass(frozen=True, kw_only=True)
class Contraction:
    """What to multiply: `left` (…, m, k) and `right` (…, k, n), buffers of one dtype, none of them empty, which may be
    rounded to `tf32` where that is said. Products are added in `accumulator`, and results are of `dtype`. `splits` say
    of how many axes each consists. An operand may be `computed` of values where it is read; then its leaf says only how
    it would lie in memory."""

    left: Leaf
    right: Leaf
    accumulator: DType
    dtype: DType
    splits: tuple[Split, Split] = (Split(), Split())
    tf32: bool = False
    computed: tuple[tuple[Value, ...], tuple[Value, ...]] = ((), ())

    @property
    def factor(self) -> DType:
        """As what operands are multiplied, where a device has instructions for it."""
        return TF32 if self.tf32 else self.left.source.dtype

    @property
    def leaves(self) -> tuple[Leaf, Leaf]:
        """Both operands."""
        return self.left, self.right

    @property
    def sides(self) -> tuple[Side, Side]:
        """How both operands lie."""
        left, right = self.computed
        return Side(self.left, self.splits[0], 0, left), Side(self.right, self.splits[1], 1, right)

    @property
    def is_plain(self) -> bool:
        """Whether both operands are matrices in memory: their rows and columns are one axis each, nothing is padded,
        and nothing computed."""
        return all(side.is_matrix for side in self.sides) and not any(self.computed)

    @property
    def batch(self) -> Shape:
        """The axes in front."""
        return self.left.layout.shape[: self.sides[0].front]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Rows, columns, and how many products are added up for each result."""
        left, right = self.sides
        return left.length(left.own), right.length(right.own), left.length(left.inner)


@dataclass(frozen=True, slots=True)
class Side:
    """An operand, the left one (`number` 0) or the right one (1), and the values that it is `computed` of, if it is."""

    leaf: Leaf
    split: Split
    number: int
    computed: tuple[Value, ...] = ()

    @property
    def values(self) -> tuple[Value, ...]:
        """What is read and computed, the operand last."""
        return self.computed or (self.leaf,)

    @property
    def is_matrix(self) -> bool:
        """Whether its rows and columns are one axis each, and nothing is padded."""
        return self.split == Split()

    @property
    def front(self) -> int:
        """How many axes there are in front."""
        return self.leaf.layout.ndim - self.split.rows - self.split.columns

    @property
    def size(self) -> int:
        """How many elements its matrices have."""
        return self.leaf.layout.size

    @property
    def own(self) -> range:
        """The axes that the result has of it, its rows or columns."""
        return self._columns if self.number else self._rows

    @property
    def inner(self) -> range:
        """The axes of the products that are added up."""
        return self._rows if self.number else self._columns

    def length(self, axes: range) -> int:
        """How many elements some axes have together."""
        return math.prod(self.leaf.layout.shape[axes.start : axes.stop])

    @property
    def _rows(self) -> range:
        return range(self.front, self.front + self.split.rows)

    @property
    def _columns(self) -> range:
        return range(self.front + self.split.rows, self.leaf.layout.ndim)


def parts_of(k: int, wanted: int, least: int) -> tuple[int, int]:
    """How many parts of k there are, and how long each is, so that about `wanted` are at work, none is shorter than
    `least` and none too long to be accurate."""
    parts = max(1, min(wanted, k // least, _MOST_PARTS), -(-k // _SEQUENTIAL))
    per = -(-k // parts)
    return -(-k // per), per


@dataclass(frozen=True)
class Elements:
    """What is computed of each element of a product, which is the first of the `values`; `outputs` are stored. Layouts
    are over `shape`: the axes in front, rows and columns."""

    values: tuple[Value, ...]
    outputs: tuple[Output, ...]
    shape: Shape

    @property
    def is_bare(self) -> bool:
        """Whether the product itself is all that is stored."""
        return len(self.values) == 1

    @classmethod
    def behind_operands(
        cls, dtype: DType, values: Sequence[Value], outputs: Sequence[Output], shape: Shape
    ) -> Elements:
        """What a group computes, whose values begin with both operands, which are none of the kernel's, and with their
        product."""
        operands = 2
        computed = (_moved(value, -operands) for value in values[operands + 1 :])
        stored = (output._replace(value=max(0, output.value - operands)) for output in outputs)
        return cls((Product(dtype), *computed), tuple(stored), shape)

    @classmethod
    def bare(cls, contraction: Contraction, storage: Storage) -> Elements:
        """The product itself, in dense memory."""
        m, n, _ = contraction.sizes
        shape = (*contraction.batch, m, n)
        dtype = contraction.dtype
        return cls((Product(dtype),), (Output(0, Layout.contiguous(shape), storage, dtype),), shape)


def collapsed(
    rank: int, sides: Sequence[Layout], elements: Sequence[Layout], parts: int
) -> tuple[Shape, list[Layout], list[Layout]]:
    """The axes in front, of which there are `rank`, as few as can be, and the layouts of what there is of both matrices
    and for each element over these and their own; those of elements have the parts in front of all, along which they do
    not change."""
    layouts = [*sides, *elements]
    fronts = [Layout(layout.shape[:rank], layout.strides[:rank], layout.offset) for layout in layouts]
    shape, fewer = collapse(sides[0].shape[:rank], fronts)
    joined = [
        Layout(shape + layout.shape[rank:], front.strides + layout.strides[rank:], front.offset)
        for front, layout in zip(fewer, layouts, strict=True)
    ]
    return shape, joined[: len(sides)], [_behind(layout, parts) for layout in joined[len(sides) :]]


def sum_of_parts(parts: Storage, elements: Elements, count: int, contraction: Contraction, target: Target) -> Reduction:
    """The reduction along the first axis of what parts of k gave, and what is computed of each element of that."""
    shape, accumulator = (count, *elements.shape), contraction.accumulator
    layout = Layout.contiguous(shape)
    values: list[Value] = [
        Leaf(buffer(parts, accumulator, layout), layout, False),
        Fold("sum", accumulator, contraction.dtype, 0),
    ]
    for value in elements.values[1:]:
        if isinstance(value, Leaf):
            values.append(value._replace(layout=_behind(value.layout, count)))
        else:
            values.append(_moved(value, 1))
    outputs = [
        output._replace(value=output.value + 1, layout=_behind(output.layout, count), row=True)
        for output in elements.outputs
    ]
    return Reduction(
        values=tuple(values),
        shape=shape,
        axes=(0,),
        order=order(layout, (0,), accumulator, accumulator, target),
        outputs=tuple(outputs),
    )


def _moved(value: Value, by: int) -> Value:
    """A value whose arguments have other numbers."""
    return value._replace(args=tuple(arg + by for arg in value.args)) if isinstance(value, Operation) else value


def _behind(layout: Layout, count: int) -> Layout:
    """A layout of elements behind an axis along which it does not change."""
    return Layout((count, *layout.shape), (0, *layout.strides), layout.offset)
