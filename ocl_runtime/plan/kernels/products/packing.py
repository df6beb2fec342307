"""The launch that packs the operands of a product into chunks (`products.panel`), as its accumulator's dtype.

An operand that is the same along an axis in front is packed once for all places of that axis. One that is computed of
others is computed on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ocl_ir.graph.build import Storage
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout
from ocl_ir.types import DType
from ocl_runtime.plan.fusion.values import Value, leaf_layouts, table_layouts
from ocl_runtime.plan.kernels.accesses import reached
from ocl_runtime.plan.kernels.form import Parameters, index_dtype
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.naming import leaf_names
from ocl_runtime.plan.kernels.products.contraction import Contraction
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


class Source(NamedTuple):
    """An operand to be packed: the last of its values, with their names, and the layouts of the leaves among them that
    are no scalars, over the operand's axes."""

    values: tuple[Value, ...]
    names: tuple[str, ...]
    layouts: tuple[Layout, ...]

    @property
    def shape(self) -> Shape:
        """The axes in front, and the operand's own two."""
        return self.layouts[0].shape

    def lanes(self, axis: int, lanes: int) -> int:
        """How many neighbours along an axis are read together: those that lie next to each other, or are the same."""
        return lanes if is_in_vectors(self.layouts, axis) else 1


def is_in_vectors(layouts: Sequence[Layout], axis: int = -1) -> bool:
    """Whether neighbours along an axis are read together: they lie next to each other, or are the same."""
    strides = {layout.strides[axis] for layout in layouts}
    return 1 in strides and all(stride in (0, 1) for stride in strides)


def sources_of(contraction: Contraction, layouts: Sequence[Layout], lowering: Lowering) -> list[Source]:
    """Both operands, whose leaves have such layouts, in order."""
    values = [side.values for side in contraction.sides]
    names = leaf_names([*values[0], *values[1]], lowering.names)
    first, count = len(values[0]), len(leaf_layouts(values[0]))
    return [
        Source(values[0], tuple(names[:first]), tuple(layouts[:count])),
        Source(values[1], tuple(names[first:]), tuple(layouts[count:])),
    ]


class _Operand(NamedTuple):
    """An operand to be packed, as it lies and as chunks; `varied` are the axes in front, 1 where it is the same along
    one. A work-item has `per` of the `chunks` of a slice."""

    source: Source
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
    def moved(self) -> int:
        """Elements that are read, those at the end several times."""
        return math.prod(self.varied) * self.source.shape[self.inner] * self.chunks * self.width

    @property
    def groups(self) -> int:
        """All work-items."""
        return math.prod(self.packed.layout.shape[: len(self.varied) + 1]) * self.runs


def pack(
    sources: Sequence[Source],
    panel: Panel,
    accumulator: DType,
    allocate: Callable[[int], Storage],
    lowering: Lowering,
) -> tuple[Launch, list[Packed]]:
    """Packs the left matrix (…, m, k), and the right one (…, k, n) if it is given, into new memory."""
    target = lowering.target
    operands = [_operand(source, number, panel, accumulator, allocate, target) for number, source in enumerate(sources)]
    left = operands[0]
    rank, k = len(left.source.shape) - 2, left.source.shape[-1]
    groups = sum(operand.groups for operand in operands)
    dense = [operand.packed.layout for operand in operands]
    counts = (groups, k + panel.depth, *(operand.width * (operand.chunks + operand.per) for operand in operands))
    layouts = [layout for source in sources for layout in (*source.layouts, *table_layouts(source.values))]
    moved = max(operand.moved for operand in operands)
    parameters = Parameters(index_dtype((*layouts, *dense), *counts), moved)
    sizes = {"k": k, "slices": -(-k // panel.depth)} | ({"left_groups": left.groups} if len(operands) > 1 else {})
    for side, operand in zip(_SIDES, operands, strict=False):
        sizes |= {
            f"{side}_own": operand.source.shape[operand.axis],
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
    source: Source, number: int, panel: Panel, accumulator: DType, allocate: Callable[[int], Storage], target: Target
) -> _Operand:
    shape, rank = source.shape, len(source.shape) - 2
    axis, inner = rank + number, rank + 1 - number
    width, chunk = (panel.columns, panel.right_chunk) if number else (panel.rows, panel.left_chunk)
    slices, chunks = -(-shape[inner] // panel.depth), -(-shape[axis] // width)
    varied = tuple(
        length if any(layout.strides[front] for layout in source.layouts) else 1
        for front, length in enumerate(shape[:rank])
    )
    dense = Layout.contiguous((*varied, slices, chunks, chunk))
    storage = allocate(math.prod(dense.shape) * accumulator.size)
    rows = math.prod(varied) * slices
    wanted = chunks * rows // (_ITEMS_PER_UNIT * target.compute_units)
    per = min(chunks, max(-(-_LEAST_BYTES // (chunk * accumulator.size)), wanted))
    return _Operand(source, axis, inner, width, varied, chunks, per, Packed(storage, dense))


def _form(parameters: Parameters, operand: _Operand, side: str, to: str, accumulator: DType, lanes: int) -> OperandForm:
    (storage, dense), lane = operand.packed, operand.inner if side == "left" else operand.axis
    source = operand.source
    values = reached(source.values, source.names, source.layouts, parameters, 1, lane, general=True)
    packed = parameters.memory(to, accumulator, storage, dense, dense.ndim - 1, lanes, general=True)
    return OperandForm(side, values, packed, operand.axis, operand.inner, operand.width, source.lanes(lane, lanes))


def _repeated(operand: _Operand) -> Packed:
    """The chunks for all places of the axes in front."""
    storage, dense = operand.packed
    rank = len(operand.varied)
    shape = operand.source.shape[:rank]
    lengths = zip(dense.strides[:rank], operand.varied, shape, strict=True)
    fronts = tuple(stride if varied == length else 0 for stride, varied, length in lengths)
    return Packed(storage, Layout(shape + dense.shape[rank:], fronts + dense.strides[rank:]))
