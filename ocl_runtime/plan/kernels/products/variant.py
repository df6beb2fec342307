"""The ways to multiply matrices that are worth being measured, and products that are alike: both are data with a text
that stays what it is, by which measurements are kept (`ocl_runtime.tuning`).

Which variants there are follows from shapes, dtypes and the target. The first one is what is taken where nothing was
measured.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, TypeAlias, cast

from ocl_ir.graph.build import Buffer, buffer
from ocl_ir.guards import example
from ocl_ir.indices import Shape
from ocl_ir.kernel import matrix_words
from ocl_ir.layout import Layout
from ocl_runtime.plan.fusion.values import Leaf
from ocl_runtime.plan.kernels import instructions
from ocl_runtime.plan.kernels.products.blocks import SHAPES, Block, grid
from ocl_runtime.plan.kernels.products.candidates import chosen, tile_parts
from ocl_runtime.plan.kernels.products.candidates import tiles as possible_tiles
from ocl_runtime.plan.kernels.products.contraction import Contraction
from ocl_runtime.plan.kernels.products.panels import SHAPES as SHAPES_OF_PANELS
from ocl_runtime.plan.kernels.products.panels import chosen as chosen_panel
from ocl_runtime.plan.kernels.products.panels import shape_fits, uses_panels
from ocl_runtime.plan.kernels.products.tile import AnyTile
from ocl_runtime.plan.kernels.products.tiles import uses_tiles
from ocl_runtime.plan.target import Target

_PARTS = (1, 2, 3, 4, 6, 8, 16)
_MOST_TURNS = 16
"""Groups for each unit of the device above which more parts of k keep nobody busier."""
_VARIANT = re.compile(r"(tiles|boxes|panels|blocks) (\d+(?:x\d+)*) parts (\d+)", re.ASCII)
_PROBLEM = re.compile(r"(\w+) in (\w+) to (\w+), \(([\dx]*)\) (\d+)x(\d+)x(\d+), ([nts][nts])", re.ASCII)

Kind: TypeAlias = Literal["tiles", "boxes", "panels", "blocks"]


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to multiply. The `shape` of "tiles", and of those whose operands are copied in "boxes", is their warps and
    fragments, down and across, and how many steps they have room for (0: operands go through registers), that of
    "panels" and "blocks" the rows and vectors of a work-item; k is in `parts`, of panels in as many as it takes.

        str(Variant("tiles", (2, 2, 4, 2, 0), 1)) == "tiles 2x2x4x2x0 parts 1"
    """

    kind: Kind
    shape: tuple[int, ...]
    parts: int

    def __str__(self) -> str:
        return f"{self.kind} {'x'.join(map(str, self.shape))} parts {self.parts}"

    @classmethod
    def parse(cls, text: str) -> Variant | None:
        """The variant that a text says; None for another text."""
        match = _VARIANT.fullmatch(text)
        if match is None:
            return None
        return cls(cast("Kind", match[1]), tuple(map(int, match[2].split("x"))), int(match[3]))


@dataclass(frozen=True, slots=True)
class Problem:
    """What products have in common that are measured together: the dtypes, by name, of operands as they are
    multiplied, sums and results; the
    axes in front; rows, columns and the products of each sum; and of both operands whether their rows ("n") or columns
    ("t") lie next to each other in memory, or neither ("s")."""

    operands: str
    accumulator: str
    dtype: str
    batch: Shape
    sizes: tuple[int, int, int]
    lies: str

    def __str__(self) -> str:
        batch, sizes = ("x".join(map(str, lengths)) for lengths in (self.batch, self.sizes))
        return f"{self.operands} in {self.accumulator} to {self.dtype}, ({batch}) {sizes}, {self.lies}"

    @classmethod
    @lru_cache(maxsize=1024)  # for every product that is planned
    def parse(cls, text: str) -> Problem | None:
        """The problem that a text says; None for another text."""
        match = _PROBLEM.fullmatch(text)
        if match is None:
            return None
        batch = tuple(map(int, match[4].split("x"))) if match[4] else ()
        return cls(match[1], match[2], match[3], batch, (int(match[5]), int(match[6]), int(match[7])), match[8])

    @classmethod
    def of(cls, contraction: Contraction) -> Problem:
        """That of a product whose sizes are plain integers."""
        batch, sizes = contraction.batch, contraction.sizes
        return cls(*_dtypes(contraction), batch, sizes, _lies(contraction))

    def holds(self, contraction: Contraction) -> bool:
        """Whether a product is one of these. Its sizes are compared one after the other, so that a plan for sizes which
        keep their formula has no more guards than that takes."""
        return (
            (self.operands, self.accumulator, self.dtype) == _dtypes(contraction)
            and len(self.batch) == len(contraction.batch)
            and all(a == b for a, b in zip(contraction.sizes, self.sizes, strict=True))
            and all(a == b for a, b in zip(contraction.batch, self.batch, strict=True))
            and _lies(contraction) == self.lies
        )


def _dtypes(contraction: Contraction) -> tuple[str, str, str]:
    return contraction.factor.name, contraction.accumulator.name, contraction.dtype.name


def _lies(contraction: Contraction) -> str:
    letters = ""
    for leaf in (contraction.left, contraction.right):
        strides = leaf.layout.strides
        letters += "n" if strides[-1] == 1 else "t" if strides[-2] == 1 else "s"
    return letters


def plain(contraction: Contraction) -> Contraction:
    """The same product with the integers that its sizes are in this call, of which no guard tells."""

    def leaf(value: Leaf) -> Leaf:
        source = value.source
        assert isinstance(source, Buffer)
        layout = value.layout
        lies = Layout(tuple(map(example, layout.shape)), tuple(map(example, layout.strides)), example(layout.offset))
        return Leaf(buffer(source.storage, source.dtype, lies, source.where), lies, value.computed)

    return replace(contraction, left=leaf(contraction.left), right=leaf(contraction.right))


def variants(contraction: Contraction, target: Target) -> list[Variant]:
    """What a product may be computed by, whose sizes are plain integers: first what is chosen without measuring."""
    tiles = _tiles(contraction, target) if uses_tiles(contraction, target) else []
    panels = _panels(contraction, target) if uses_panels(contraction, target) else []
    blocks = _blocks(contraction, target) if contraction.right.layout.strides[-1] in (0, 1) else []
    return list(dict.fromkeys([*tiles, *panels, *blocks]))


def _tiles(contraction: Contraction, target: Target) -> list[Variant]:
    """Tiles, with so many parts of k as the formula wants first."""
    _, _, k = contraction.sizes
    first, wanted = chosen(contraction, target)
    made = []
    for parts in (wanted, *_PARTS):
        for tile in (first, *(tile for tile, _ in possible_tiles(contraction, target))):
            actual, _ = tile_parts(k, parts, tile)
            if parts in (1, wanted) or _groups(contraction, tile) * actual <= _MOST_TURNS * target.compute_units:
                made.append(Variant(_kind(tile), _shape(tile), actual))
    return made


def _shape(tile: AnyTile) -> tuple[int, ...]:
    return (*tile.warps, *tile.fragments, tile.room)


def _kind(tile: AnyTile) -> Kind:
    return "boxes" if tile.boxes else "tiles"


def _panels(contraction: Contraction, target: Target) -> list[Variant]:
    """Panels, with the formula's register block first."""
    first = chosen_panel(contraction, target)
    fitting = (shape for shape in SHAPES_OF_PANELS if shape_fits(shape.vectors, contraction, target))
    shapes = [(first.rows, first.vectors), *((shape.rows, shape.vectors) for shape in fitting)]
    return [Variant("panels", shape, 1) for shape in shapes]


def _groups(contraction: Contraction, tile: AnyTile) -> int:
    m, n, _ = contraction.sizes
    groups = -(-m // tile.rows) * -(-n // tile.columns)
    for length in contraction.batch:
        groups *= length
    return groups


def _blocks(contraction: Contraction, target: Target) -> list[Variant]:
    """Blocks, with so many parts of k as the formula wants first."""
    wanted = grid(contraction, target).parts
    made = []
    for parts in (wanted, *_PARTS):
        for rows, vectors in SHAPES[target.kind]:
            lies = grid(contraction, target, Block(rows, vectors, parts))
            groups = lies.parts * lies.tiles[0] * lies.tiles[1]
            if parts in (1, wanted) or groups <= _MOST_TURNS * target.compute_units:
                made.append(Variant("blocks", (lies.rows, lies.vectors), lies.parts))
    return made


def tile_of(variant: Variant, contraction: Contraction, target: Target) -> AnyTile | None:
    """The tile of a variant, if the target has room for it."""
    for tile, _ in possible_tiles(contraction, target):
        if _kind(tile) == variant.kind and _shape(tile) == variant.shape:
            return tile
    return None


@cache
def version() -> str:
    """A digest of the sources of these kernels: what was measured with others says nothing of them."""
    digest = hashlib.sha256()
    others = Path(matrix_words.__file__), Path(instructions.__file__)
    for file in (*sorted(Path(__file__).parent.glob("*.py")), *others):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
