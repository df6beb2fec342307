"""What a product of matrices asks for, whichever kernel computes it."""

from __future__ import annotations

from dataclasses import dataclass

from ocl_ir.graph.build import Storage, buffer
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout, collapse
from ocl_ir.types import DType
from ocl_runtime.plan.fusion.reduction_order import order
from ocl_runtime.plan.fusion.values import Fold, Leaf
from ocl_runtime.plan.kernels.form import Output
from ocl_runtime.plan.kernels.reduce import Reduction, row_layout
from ocl_runtime.plan.target import Target

_SEQUENTIAL = 16384
"""Products that are added to one number one after the other, for accuracy."""
_MOST_PARTS = 256


@dataclass(frozen=True, kw_only=True)
class Contraction:
    """What to multiply: `left` (…, m, k) and `right` (…, k, n), buffers of one dtype, none of them empty."""

    left: Leaf
    right: Leaf
    accumulator: DType
    dtype: DType

    @property
    def leaves(self) -> tuple[Leaf, Leaf]:
        """Both operands."""
        return self.left, self.right

    @property
    def batch(self) -> Shape:
        """The axes in front."""
        return self.left.layout.shape[:-2]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Rows, columns, and how many products are added up for each result."""
        *_, m, k = self.left.layout.shape
        return m, self.right.layout.shape[-1], k


def parts_of(k: int, wanted: int, least: int) -> tuple[int, int]:
    """How many parts of k there are, and how long each is, so that about `wanted` are at work, none is shorter than
    `least` and none too long to be accurate."""
    parts = max(1, min(wanted, k // least, _MOST_PARTS), -(-k // _SEQUENTIAL))
    per = -(-k // parts)
    return -(-k // per), per


def collapsed(left: Layout, right: Layout, whole: Shape, parts: int) -> tuple[Shape, tuple[Layout, ...]]:
    """The axes in front, as few as can be, and the layouts of both matrices and the result over these and their own
    two; in front of all, the result has the parts."""
    rank = len(whole) - 2
    result = Layout.contiguous((parts, *whole))
    own = Layout(result.shape[1:], result.strides[1:])
    fronts = [Layout(layout.shape[:rank], layout.strides[:rank], layout.offset) for layout in (left, right, own)]
    shape, layouts = collapse(whole[:rank], fronts)
    joined = [
        Layout(shape + layout.shape[rank:], front.strides + layout.strides[rank:], front.offset)
        for front, layout in zip(layouts, (left, right, own), strict=True)
    ]
    joined[2] = Layout((parts, *joined[2].shape), (result.strides[0], *joined[2].strides))
    return shape, tuple(joined)


def sum_of_parts(parts: Storage, storage: Storage, shape: Shape, contraction: Contraction, target: Target) -> Reduction:
    """The reduction along the first axis of what parts of k gave."""
    layout, accumulator = Layout.contiguous(shape), contraction.accumulator
    return Reduction(
        values=(
            Leaf(buffer(parts, accumulator, layout), layout, False),
            Fold("sum", accumulator, contraction.dtype, 0),
        ),
        shape=shape,
        axes=(0,),
        order=order(layout, (0,), accumulator, accumulator, target),
        outputs=(Output(1, row_layout(shape, (0,)), storage, contraction.dtype, row=True),),
    )
