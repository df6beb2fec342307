"""Which kernel multiplies matrices.

The order in which products are added depends on the shapes, the dtype and the target, and where this very product was
measured (`ocl_runtime.tuning`), on what was the fastest there; on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ocl_ir.graph.build import Buffer, Contract, Storage, buffer
from ocl_ir.layout import Layout
from ocl_ir.types import TF32
from ocl_runtime.plan.fusion.groups import Group
from ocl_runtime.plan.fusion.values import Computed, Leaf, Matrices, Split, Value, leaf_layouts
from ocl_runtime.plan.kernels.elementwise import elementwise_launch
from ocl_runtime.plan.kernels.lowering import PRODUCTS, Lowering
from ocl_runtime.plan.kernels.products import panels
from ocl_runtime.plan.kernels.products.blocks import Block, block_launches
from ocl_runtime.plan.kernels.products.candidates import is_worth_copying
from ocl_runtime.plan.kernels.products.contraction import Contraction, Elements, Side
from ocl_runtime.plan.kernels.products.copies import copied
from ocl_runtime.plan.kernels.products.packing import is_in_vectors
from ocl_runtime.plan.kernels.products.panels import panel_launches, uses_panels
from ocl_runtime.plan.kernels.products.tiles import tile_launches, uses_tiles
from ocl_runtime.plan.kernels.products.variant import Problem, Variant, plain, tile_of, variants
from ocl_runtime.plan.launch import Launch
from ocl_runtime.plan.target import Target


def product_launches(
    contraction: Contraction, elements: Elements, allocate: Callable[[int], Storage], lowering: Lowering
) -> list[Launch]:
    """Launches that multiply, and compute what there is of each element; `allocate` gives memory for what lies between.
    More than the product itself is computed only where `joins` says so."""
    contraction, copies = copied(contraction, allocate, lowering)
    return [*copies, *_product_launches(contraction, elements, allocate, lowering)]


def _product_launches(
    contraction: Contraction, elements: Elements, allocate: Callable[[int], Storage], lowering: Lowering
) -> list[Launch]:
    choices = lowering.choices
    if choices is not None and contraction.is_plain:  # of others nothing is measured
        choices.asked(PRODUCTS, contraction)
        for problem, text in choices.records(PRODUCTS):
            known = Problem.parse(problem)
            variant = _possible(text, contraction, lowering.target) if known and known.holds(contraction) else None
            if variant is not None:
                launches = variant_launches(variant, contraction, elements, allocate, lowering)
                choices.used(PRODUCTS, problem, [launch.kernel for launch in launches])
                return launches
    if uses_tiles(contraction, lowering.target):
        return tile_launches(contraction, elements, allocate, lowering)
    if uses_panels(contraction, lowering.target):
        return panel_launches(contraction, elements, allocate, lowering)
    assert not any(contraction.computed), "only where operands are packed are they computed"
    return block_launches(contraction, elements, allocate, lowering)


def variant_launches(
    variant: Variant,
    contraction: Contraction,
    elements: Elements,
    allocate: Callable[[int], Storage],
    lowering: Lowering,
) -> list[Launch]:
    """The same by one of the `variants` of the product."""
    if variant.kind in {"tiles", "boxes"}:
        tile = tile_of(variant, contraction, lowering.target)
        assert tile is not None, "it is one of the variants"
        return tile_launches(contraction, elements, allocate, lowering, (tile, variant.parts))
    rows, vectors = variant.shape
    if variant.kind == "panels":
        return panel_launches(contraction, elements, allocate, lowering, (rows, vectors))
    block = Block(rows, vectors, variant.parts)
    if elements.is_bare:
        return block_launches(contraction, elements, allocate, lowering, block)
    # Kernels of blocks store the product itself: what else there is of its elements is computed of that.
    layout = Layout.contiguous(elements.shape)
    between = allocate(layout.size * contraction.dtype.size)
    launches = block_launches(contraction, Elements.bare(contraction, between), allocate, lowering, block)
    product = Leaf(buffer(between, contraction.dtype, layout), layout, False)
    values = (product, *elements.values[1:])
    return [*launches, elementwise_launch(values, elements.shape, elements.outputs, lowering, apart=True)]


def contract_launches(
    contraction: Contraction, storage: Storage, allocate: Callable[[int], Storage], lowering: Lowering
) -> list[Launch]:
    """Launches that multiply into a dense storage."""
    return product_launches(contraction, Elements.bare(contraction, storage), allocate, lowering)


def contraction_of(root: Contract, sides: Sequence[Value]) -> Contraction:
    """The product that a node is of two operands."""
    left, right = (_operand(side) for side in sides)
    return Contraction(
        left=left.leaf,
        right=right.leaf,
        accumulator=root.accumulator,
        dtype=root.dtype,
        splits=(left.split, right.split),
        tf32=root.factor is TF32,
        computed=(left.computed, right.computed),
    )


class _Operand(NamedTuple):
    leaf: Leaf
    split: Split = Split()
    computed: tuple[Value, ...] = ()


def _operand(side: Value) -> _Operand:
    match side:
        case Leaf():
            return _Operand(side)
        case Matrices(leaf, split):
            return _Operand(leaf, split)
        case Computed(leaf, values):
            return _Operand(leaf, computed=values)
    raise AssertionError(side)


def computes(root: Contract, sides: Sequence[Value], target: Target) -> bool:
    """Whether the kernels of a product compute its operands, as they are packed: in vectors, since one by one takes
    longer than another kernel."""
    contraction = contraction_of(root, sides)
    in_vectors = all(is_in_vectors(leaf_layouts(values)) for values in contraction.computed if values)
    return in_vectors and panels.uses_panels(contraction, target)


def joins(group: Group, target: Target) -> bool:
    """Whether the kernel of a product computes more of each element."""
    root = group.root
    assert isinstance(root, Contract)
    contraction = contraction_of(root, group.values)
    return uses_tiles(contraction, target) or uses_panels(contraction, target)


def reads_in_place(group: Group, copied: Group, target: Target) -> bool:
    """Whether the kernel of a product reads operands where they lie, not copies of them."""
    root = group.root
    assert isinstance(root, Contract)
    in_place, of_copies = (contraction_of(root, each.values) for each in (group, copied))
    if target.kind == "cpu":
        return panels.reads_in_place(in_place, target) and uses_panels(in_place, target)
    return uses_tiles(in_place, target) and not is_worth_copying(in_place, of_copies, target)


def readable(contraction: Contraction, dense: Callable[[Leaf], Leaf], target: Target) -> Contraction:
    """The product of operands that its kernels read: in memory, to where `dense` copies them if they are not there, or
    do not lie as they have to."""
    left, right = (_stored(side, dense) for side in contraction.sides)
    contraction = replace(contraction, left=left, right=right)
    return contraction if is_read_in_place(contraction, target) else replace(contraction, right=dense(right))


def _stored(side: Side, dense: Callable[[Leaf], Leaf]) -> Leaf:
    """An operand in memory: what is the same along an axis in front is there once."""
    leaf, layout = side.leaf, side.leaf.layout
    if side.computed or isinstance(leaf.source, Buffer):
        return leaf
    repeated = [axis < side.front and stride == 0 for axis, stride in enumerate(layout.strides)]
    shape = tuple(1 if once else length for once, length in zip(repeated, layout.shape, strict=True))
    stored = dense(leaf._replace(layout=replace(layout, shape=shape)))
    strides = zip(repeated, stored.layout.strides, strict=True)
    return stored._replace(layout=Layout(layout.shape, tuple(0 if once else stride for once, stride in strides)))


def is_read_in_place(contraction: Contraction, target: Target) -> bool:
    """Whether the right matrix is read as it lies; otherwise its columns have to lie next to each other."""
    right = contraction.right.layout
    if right.strides[-1] in (0, 1) or contraction.computed[1] or uses_tiles(contraction, target):
        return True
    is_repeated = 0 in right.strides[: contraction.sides[1].front]  # a copy would not be the same along an axis
    return uses_panels(contraction, target) and (is_repeated or not panels.is_flat(contraction))


def _possible(text: str, contraction: Contraction, target: Target) -> Variant | None:
    """The variant that a record says, if it is one of those of the product: a record is what some file says."""
    variant = Variant.parse(text)
    return variant if variant in variants(plain(contraction), target) else None
