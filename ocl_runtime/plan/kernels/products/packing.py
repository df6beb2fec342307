"""The launch that packs the operands of a product into chunks (`products.panel`), as its accumulator's dtype.

An operand that is the same along an axis in front is packed once for all places of that axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ocl_ir.graph.build import Buffer, Storage
from ocl_ir.layout import Layout
from ocl_ir.types import DType
from ocl_runtime.plan.fusion.values import Leaf
from ocl_runtime.plan.kernels.form import Parameters, index_dtype
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.products.packing_kernel import OperandForm, PackingForm, build
from ocl_runtime.plan.kernels.products.panel import Panel
from ocl_runtime.plan.launch import Launch
from ocl_runtime.plan.target import Target

_LEAST_BYTES = 16 << 10
"""What a work-item packs at least, where there is so much."""
_ITEMS_PER_UNIT = 8
_SIDES = ("left", "right")


class Packed(NamedTuple):
    """A packed operand. The axes of the layout are those in front, slices, tiles or panels, and a chunk's elements."""

    storage: Storage
    layout: Layout


class _Operand(NamedTuple):
    """An operand to be packed, as it lies and as chunks; `varied` are the axes in front, 1 where it is the same along
    one. A work-item has `per` of the `chunks` of a slice."""

    name: str
    leaf: Leaf
    layout: Layout
    axis: int
    inner: int
    width: int
    varied: tuple[int, ...]
    chunks: int
    per: int
    packed: Packed

    @property
    def runs(self) -> int:
        """Work-items of a slice."""
        return -(-self.chunks // self.per)

    @property
    def groups(self) -> int:
        """All work-items."""
        return math.prod(self.packed.layout.shape[: len(self.varied) + 1]) * self.runs


def pack(
    leaves: Sequence[Leaf],
    names: Sequence[str],
    layouts: Sequence[Layout],
    panel: Panel,
    accumulator: DType,
    allocate: Callable[[int], Storage],
    lowering: Lowering,
) -> tuple[Launch, list[Packed]]:
    """Packs the left matrix (…, m, k), and the right one (…, k, n) if it is given, into new memory. `layouts` say how
    they lie."""
    target = lowering.target
    operands = [
        _operand(name, leaf, layout, number, panel, accumulator, allocate, target)
        for number, (name, leaf, layout) in enumerate(zip(names, leaves, layouts, strict=True))
    ]
    left = operands[0]
    rank, k = left.layout.ndim - 2, left.layout.shape[-1]
    groups = sum(operand.groups for operand in operands)
    dense = [operand.packed.layout for operand in operands]
    counts = (groups, k + panel.depth, *(operand.width * (operand.chunks + operand.per) for operand in operands))
    parameters = Parameters(index_dtype((*layouts, *dense), *counts), groups)
    sizes = {"k": k, "slices": -(-k // panel.depth)} | ({"left_groups": left.groups} if len(operands) > 1 else {})
    for side, operand in zip(_SIDES, operands, strict=False):
        sizes |= {
            f"{side}_own": operand.layout.shape[operand.axis],
            f"{side}_chunks": operand.chunks,
            f"{side}_per": operand.per,
            f"{side}_runs": operand.runs,
        }
        sizes |= {f"{side}_n{axis}": length for axis, length in enumerate(operand.varied)}
    for size_name, size in sizes.items():
        parameters.size(size_name, size)
    form = PackingForm(
        operands=tuple(
            _form(parameters, operand, side, f"y{number}", accumulator, panel.lanes)
            for number, (side, operand) in enumerate(zip(_SIDES, operands, strict=False))
        ),
        specs=tuple(parameters.specs),
        batch=rank,
        depth=panel.depth,
        unit=panel.lanes,
        accumulator=accumulator,
        index=parameters.index,
        fp16=target.fp16,
    )
    kernel = lowering.kernels.get(form, build)
    launch = Launch(kernel, tuple(parameters.args), (groups, 1, 1), (1, 1, 1), lowering.where)
    return launch, [_repeated(operand) for operand in operands]


def _operand(
    name: str,
    leaf: Leaf,
    layout: Layout,
    number: int,
    panel: Panel,
    accumulator: DType,
    allocate: Callable[[int], Storage],
    target: Target,
) -> _Operand:
    rank = layout.ndim - 2
    axis, inner = rank + number, rank + 1 - number
    width, chunk = (panel.columns, panel.right_chunk) if number else (panel.rows, panel.left_chunk)
    slices, chunks = -(-layout.shape[inner] // panel.depth), -(-layout.shape[axis] // width)
    fronts = zip(layout.shape[:rank], layout.strides[:rank], strict=True)
    varied = tuple(length if stride else 1 for length, stride in fronts)
    dense = Layout.contiguous((*varied, slices, chunks, chunk))
    storage = allocate(math.prod(dense.shape) * accumulator.size)
    rows = math.prod(varied) * slices
    wanted = chunks * rows // (_ITEMS_PER_UNIT * target.compute_units)
    per = min(chunks, max(-(-_LEAST_BYTES // (chunk * accumulator.size)), wanted))
    return _Operand(name, leaf, layout, axis, inner, width, varied, chunks, per, Packed(storage, dense))


def _form(parameters: Parameters, operand: _Operand, side: str, to: str, accumulator: DType, lanes: int) -> OperandForm:
    source, (storage, dense) = operand.leaf.source, operand.packed
    assert isinstance(source, Buffer)
    lane = operand.inner if side == "left" else operand.axis
    access = parameters.memory(operand.name, source.dtype, source.storage, operand.layout, lane, 1, general=True)
    packed = parameters.memory(to, accumulator, storage, dense, dense.ndim - 1, lanes, general=True)
    wide = lanes if operand.layout.strides[lane] == 1 else 1
    return OperandForm(side, access, packed, operand.axis, operand.inner, operand.width, wide)


def _repeated(operand: _Operand) -> Packed:
    """The chunks for all places of the axes in front."""
    storage, dense = operand.packed
    rank = len(operand.varied)
    strides = zip(dense.strides[:rank], operand.layout.strides[:rank], strict=True)
    fronts = tuple(stride if varies else 0 for stride, varies in strides)
    return Packed(storage, Layout(operand.layout.shape[:rank] + dense.shape[rank:], fronts + dense.strides[rank:]))
