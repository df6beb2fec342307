"""Which kernel multiplies matrices.

The order in which products are added depends on the shapes, the dtype and the target only.
"""

from __future__ import annotations

from collections.abc import Callable

from ocl_ir.graph.build import Contract, Storage
from ocl_runtime.plan.fusion.groups import Group
from ocl_runtime.plan.fusion.values import Leaf
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.products.blocks import block_launches
from ocl_runtime.plan.kernels.products.contraction import Contraction, Elements
from ocl_runtime.plan.kernels.products.tiles import tile_launches, uses_tiles
from ocl_runtime.plan.launch import Launch
from ocl_runtime.plan.target import Target


def product_launches(
    contraction: Contraction, elements: Elements, allocate: Callable[[int], Storage], lowering: Lowering
) -> list[Launch]:
    """Launches that multiply, and compute what there is of each element; `allocate` gives memory for what lies between.
    More than the product itself is computed only where `joins` says so."""
    launches = tile_launches if uses_tiles(contraction, lowering.target) else block_launches
    return launches(contraction, elements, allocate, lowering)


def contract_launches(
    contraction: Contraction, storage: Storage, allocate: Callable[[int], Storage], lowering: Lowering
) -> list[Launch]:
    """Launches that multiply into a dense storage."""
    return product_launches(contraction, Elements.bare(contraction, storage), allocate, lowering)


def joins(group: Group, target: Target) -> bool:
    """Whether the kernel of a product computes more of each element."""
    root = group.root
    assert isinstance(root, Contract)
    left, right = (value for value in group.values if isinstance(value, Leaf))
    return uses_tiles(Contraction(left=left, right=right, accumulator=root.accumulator, dtype=root.dtype), target)


def is_read_in_place(contraction: Contraction, target: Target) -> bool:
    """Whether the right matrix is read as it lies; otherwise its columns have to lie next to each other."""
    return contraction.right.layout.strides[-1] in (0, 1) or uses_tiles(contraction, target)
