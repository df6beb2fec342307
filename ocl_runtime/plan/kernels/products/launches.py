"""Which kernel multiplies matrices.

The order in which products are added depends on the shapes, the dtype and the target only.
"""

from __future__ import annotations

from collections.abc import Callable

from ocl_ir.graph.build import Storage
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.products.blocks import block_launches
from ocl_runtime.plan.kernels.products.contraction import Contraction
from ocl_runtime.plan.kernels.products.panels import panel_launches, uses_panels
from ocl_runtime.plan.kernels.products.tiles import tile_launches, uses_tiles
from ocl_runtime.plan.launch import Launch
from ocl_runtime.plan.target import Target


def contract_launches(
    contraction: Contraction, storage: Storage, allocate: Callable[[int], Storage], lowering: Lowering
) -> list[Launch]:
    """Launches that multiply into a dense storage; `allocate` gives memory for what lies between."""
    launches = block_launches
    if uses_tiles(contraction, lowering.target):
        launches = tile_launches
    elif uses_panels(contraction, lowering.target):
        launches = panel_launches
    return launches(contraction, storage, allocate, lowering)


def is_read_in_place(contraction: Contraction, target: Target) -> bool:
    """Whether the right matrix is read as it lies; otherwise its columns have to lie next to each other."""
    if contraction.right.layout.strides[-1] in (0, 1):
        return True
    return uses_tiles(contraction, target) or uses_panels(contraction, target)
