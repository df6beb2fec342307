"""Which kernel multiplies matrices.

The order in which products are added depends on the shapes, the dtype and the target, and where this very product was
measured (`ocl_runtime.tuning`), on what was the fastest there; on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

from ocl_ir.graph.build import Storage
from ocl_runtime.plan.kernels.lowering import PRODUCTS, Lowering
from ocl_runtime.plan.kernels.products.blocks import Block, block_launches
from ocl_runtime.plan.kernels.products.contraction import Contraction
from ocl_runtime.plan.kernels.products.tiles import tile_launches, uses_tiles
from ocl_runtime.plan.kernels.products.variant import Problem, Variant, plain, tile_of, variants
from ocl_runtime.plan.launch import Launch
from ocl_runtime.plan.target import Target


def contract_launches(
    contraction: Contraction, storage: Storage, allocate: Callable[[int], Storage], lowering: Lowering
) -> list[Launch]:
    """One to four launches that multiply into a dense storage; `allocate` gives memory for what lies between."""
    choices = lowering.choices
    if choices is not None:
        choices.asked(PRODUCTS, contraction)
        for problem, text in choices.records(PRODUCTS):
            known = Problem.parse(problem)
            variant = _possible(text, contraction, lowering.target) if known and known.holds(contraction) else None
            if variant is not None:
                launches = variant_launches(variant, contraction, storage, allocate, lowering)
                choices.used(PRODUCTS, problem, [launch.kernel for launch in launches])
                return launches
    launches_of = tile_launches if uses_tiles(contraction, lowering.target) else block_launches
    return launches_of(contraction, storage, allocate, lowering)


def variant_launches(
    variant: Variant,
    contraction: Contraction,
    storage: Storage,
    allocate: Callable[[int], Storage],
    lowering: Lowering,
) -> list[Launch]:
    """The same by one of the `variants` of the product."""
    if variant.kind == "blocks":
        rows, vectors = variant.shape
        return block_launches(contraction, storage, allocate, lowering, Block(rows, vectors, variant.parts))
    tile = tile_of(variant, contraction, lowering.target)
    assert tile is not None, "it is one of the variants"
    return tile_launches(contraction, storage, allocate, lowering, (tile, variant.parts))


def _possible(text: str, contraction: Contraction, target: Target) -> Variant | None:
    """The variant that a record says, if it is one of those of the product: a record is what some file says."""
    variant = Variant.parse(text)
    return variant if variant in variants(plain(contraction), target) else None


def is_read_in_place(contraction: Contraction, target: Target) -> bool:
    """Whether the right matrix is read as it lies; otherwise its columns have to lie next to each other."""
    return contraction.right.layout.strides[-1] in (0, 1) or uses_tiles(contraction, target)
