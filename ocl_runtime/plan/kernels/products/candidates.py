"""Which tile work-groups multiply, and in how many parts the inner axis is split.

Candidates are declared with what a unit of the device was seen to do with them, those of warpgroups with what their
instruction does; a model of the time chooses. It knows shapes, dtypes and the target, and whether operands can be
copied to local memory in whole units. All have room for bands of results, whether those of a kernel go through them or
not: which tile there is does not depend on what is computed behind the product.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ocl_ir.kernel.asynchronous import MOST_STRIDE, UNIT_REGISTERS
from ocl_ir.kernel.matrix_instruction import MatrixInstruction
from ocl_ir.kernel.matrix_instructions import instruction_for
from ocl_ir.types import BF16, F16, TF32, U32
from ocl_runtime.plan.kernels.form import aligned
from ocl_runtime.plan.kernels.products.contraction import Contraction, Side, parts_of
from ocl_runtime.plan.kernels.products.tile import UNIT_BYTES, AnyTile, MatrixTile, Tile, WarpgroupTile
from ocl_runtime.plan.kernels.products.windows import windows_of
from ocl_runtime.plan.target import Target

LEAST_PART = 256
"""Products below which a part is not worth the reduction that joins it."""
_PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_ALONE = 0.7
"""What of its speed a unit reaches with one small group."""
_FIXED = 4000
"""Clocks for a group to begin and end."""
_STORED = 16
"""Results that a unit stores in a clock."""
_DESCRIBED = 2200
"""Clocks until boxes begin to come, since their descriptions are read first. To write them takes a launch, but for the
first runs over some memory only."""
_COPIED = 0.88
"""How fast warpgroups are whose work-items copy the operands, beside those with boxes."""
_LATENCY = 1700
"""Clocks until what is copied for warpgroups is there."""
_COPIED_BYTES = 50
"""Of operands that a unit copies to local memory in a clock."""
_LAUNCH, _TILE = 6900, 1200
"""Clocks for the launch of warpgroups, and for a group to go to a tile; of several groups of a unit one does so while
others multiply."""
_FILLED = 600
"""The same until the first steps are there that work-items copy; boxes come while results of the tile before are
stored."""
_STORED_BY_WARPGROUPS = 8
"""Results that these store in a clock, while none of their group multiplies."""
_LAST = 0.4
"""Of the time that a large group takes, how much longer a unit takes that has several at once and is left with one."""
_SINGLE = 0.11
"""Clocks for an element of an operand that is loaded for itself, not with its neighbours."""
_REDUCTION = 7000
"""Clocks for the launch that joins parts, besides its bytes: of warpgroups, which store fast, those that it reads."""
_TRAFFIC = 2000
"""Bytes that the device moves in a clock."""
_COPY = 7000
"""Clocks for a launch that copies."""
_MORE_REGISTERS = 56
"""What a work-item needs beside its sums, at least."""
_RESERVED = 1024
"""Bytes of local memory that each group takes besides its own; barriers in front of what is aligned take as many."""
_ROW = 16
"""Neighbours that are worth being read together."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Warps and fragments of a tile and places of a step, of 4-byte elements; `rate`: multiply-adds that a unit of the
    device does with it in a clock. `room`: as of a tile whose operands are copied."""

    warps: tuple[int, int]
    fragments: tuple[int, int]
    inner: int
    rate: float
    room: int = 0


FMA = (
    Candidate((2, 2), (4, 2), 8, 120),
    Candidate((2, 4), (4, 2), 8, 113.5),
    Candidate((2, 2), (2, 2), 8, 114),
    Candidate((2, 1), (2, 2), 16, 100),
    Candidate((2, 2), (2, 1), 16, 100),
    Candidate((2, 2), (1, 1), 32, 75),
    Candidate((1, 2), (2, 1), 16, 75),
    Candidate((4, 1), (2, 1), 16, 75),
    Candidate((1, 4), (1, 2), 16, 75),
)
HALVES = (
    Candidate((2, 4), (4, 8), 32, 720),
    Candidate((2, 2), (4, 8), 32, 660),
    Candidate((2, 4), (2, 4), 64, 550),
    Candidate((2, 2), (2, 4), 64, 500),
    Candidate((2, 1), (2, 4), 64, 400),
)
DOUBLES = (
    Candidate((4, 2), (2, 8), 16, 114),
    Candidate((2, 4), (4, 4), 16, 111),
    Candidate((2, 4), (2, 4), 16, 101),
    Candidate((2, 2), (2, 4), 16, 98),
    Candidate((2, 1), (2, 4), 16, 80),
)
BOXED_DOUBLES = (
    Candidate((2, 4), (4, 4), 16, 124, 5),
    Candidate((2, 4), (2, 4), 16, 101, 5),
)
TF32_MATRICES = tuple(replace(each, inner=each.inner // 2, rate=each.rate * 0.38) for each in HALVES)
WARPGROUPS = (
    Candidate((2, 1), (1, 32), 64, 1950, 4),
    Candidate((2, 2), (1, 16), 64, 1950, 4),
    *(Candidate((2, 1), (1, 16), 64, 1950, room) for room in (6, 4, 3)),
    *(Candidate((2, 1), (1, 8), 64, 1950, room) for room in (7, 4, 3)),
    *(Candidate((1, 1), (1, 16), 64, 1950, room) for room in (8, 4, 3)),
    *(Candidate((1, 1), (1, 8), 64, 1950, room) for room in (8, 4, 3)),
)
"""Of halves. The rate is the instruction's; what else takes time is in `_time_of_warpgroups`: of more steps that local
memory has room for more may be on their way, with fewer of them a unit has room for several groups."""
TF32_WARPGROUPS = tuple(replace(each, inner=each.inner // 2, rate=each.rate * 0.45) for each in WARPGROUPS)
MFMA_HALVES = (
    Candidate((2, 2), (4, 4), 32, 512),
    Candidate((2, 2), (2, 4), 32, 400),
    Candidate((2, 2), (2, 2), 64, 330),
    Candidate((2, 1), (2, 2), 64, 250),
    Candidate((1, 1), (2, 2), 64, 150),
)
MFMA_WORDS = (
    Candidate((2, 2), (4, 4), 16, 128),
    Candidate((2, 2), (2, 4), 16, 110),
    Candidate((2, 2), (2, 2), 32, 95),
    Candidate((2, 1), (2, 2), 32, 75),
    Candidate((1, 1), (2, 2), 32, 50),
)
WMMA = (
    Candidate((2, 4), (4, 2), 32, 256),
    Candidate((2, 2), (4, 2), 32, 230),
    Candidate((2, 2), (2, 2), 64, 190),
    Candidate((2, 1), (2, 2), 64, 140),
)
XMX = (
    Candidate((4, 4), (4, 2), 32, 64),
    Candidate((4, 2), (4, 2), 32, 55),
    Candidate((2, 2), (4, 2), 32, 40),
    Candidate((2, 1), (4, 2), 64, 25),
)
"""AMD's and Intel's: the first rates are peaks that the vendors publish, per clock and unit, and none is measured. What
smaller tiles lose is guessed by what they do on NVIDIA's devices. MFMA of CDNA 2: 1024 operations on halves, 256 on
float32 and float64 a clock in a compute unit. WMMA of RDNA 3: 512, and twice that on RDNA 4. Intel's XMX: 128 in each
vector engine of Xe-HPG, which is a unit of OpenCL there."""


def _scaled(candidates: Sequence[Candidate], rate: float = 1, inner: float = 1) -> tuple[Candidate, ...]:
    """The same tiles on instructions that multiply faster, or whose elements are larger."""
    return tuple(replace(each, inner=int(each.inner * inner), rate=each.rate * rate) for each in candidates)


MATRICES = {
    **dict.fromkeys(("mma_f16", "mma_bf16"), HALVES),
    "mma_tf32": TF32_MATRICES,
    "mma_f64": DOUBLES,
    **dict.fromkeys(("mfma_f16", "mfma_bf16"), MFMA_HALVES),
    "mfma_f32": MFMA_WORDS,
    "mfma_f64": _scaled(MFMA_WORDS, inner=0.5),
    **dict.fromkeys(("wmma_f16", "wmma_bf16"), WMMA),
    **dict.fromkeys(("wmma_gfx12_f16", "wmma_gfx12_bf16"), _scaled(WMMA, rate=2)),
    **dict.fromkeys(("xmx8_f16", "xmx8_bf16"), XMX),
    **dict.fromkeys(("xmx16_f16", "xmx16_bf16"), _scaled(XMX, rate=4)),
}
"""Candidates by the name of the instruction."""
_BOXED = {"mma_f64": BOXED_DOUBLES}
_WARPGROUPS = {F16: WARPGROUPS, BF16: WARPGROUPS, TF32: TF32_WARPGROUPS}


def tiles(contraction: Contraction, target: Target) -> Iterator[tuple[AnyTile, float]]:
    """The tiles that the target has room for, with what a unit does in a clock."""
    accumulator, instruction = contraction.accumulator, instruction_of(contraction, target)
    if instruction is not None:
        dtype, local_bytes = instruction.dtype, max(target.local_bytes, target.tile_bytes)
        left, right = (is_turned(side) for side in contraction.sides)
        ways = _ways(contraction, target)
        for each in _WARPGROUPS[dtype] if ways else MATRICES[instruction.name]:
            fields = each.warps, each.fragments, each.inner, each.room
            made: list[AnyTile] = [WarpgroupTile(*fields, dtype, (left, right), boxes=way) for way in ways] or [
                MatrixTile(*fields, instruction, (left, right))
            ]
            for matrices in made:
                if isinstance(matrices, WarpgroupTile):
                    if matrices.local_bytes + 2 * _RESERVED <= local_bytes:
                        yield matrices, each.rate
                elif matrices.items <= target.group_size and matrices.local_bytes <= local_bytes:
                    yield matrices, each.rate
        for each in _BOXED.get(instruction.name, ()) if _has_boxes(contraction, target) else ():
            boxed = MatrixTile(
                each.warps, each.fragments, each.inner, each.room, instruction, (left, right), boxes=True
            )
            if boxed.items <= target.group_size and boxed.local_bytes + 2 * _RESERVED <= local_bytes:
                yield boxed, each.rate
        return
    pad = max(1, UNIT_BYTES // min(contraction.factor.size, accumulator.size))
    for each in FMA:
        inner = max(4, each.inner * 4 // max(4, accumulator.size))
        tile = Tile(each.warps, each.fragments, inner, each.room, accumulator, pad)
        if tile.items <= target.group_size and tile.local_bytes <= target.local_bytes:
            yield tile, each.rate * 4 / max(4, accumulator.size)


def instruction_of(contraction: Contraction, target: Target) -> MatrixInstruction | None:
    """The matrix instruction that multiplies the operands, if the target has one. Where they may be rounded, and there
    is none for that, they need not be."""
    for dtype in (contraction.factor, contraction.left.source.dtype):
        instruction = instruction_for(dtype, target.matrix_instructions)
        if instruction is not None and instruction.accumulator is contraction.accumulator:
            return instruction
    return None


def _ways(contraction: Contraction, target: Target) -> list[bool]:
    """How warpgroups can read operands: in boxes, and in units that work-items copy; in no way where others multiply.
    Of tf32, which only boxes round, one operand at least has to be turned."""
    dtype, sides = contraction.factor, contraction.sides
    if not target.warpgroups or dtype not in _WARPGROUPS:
        return []
    boxes = _has_boxes(contraction, target)
    if dtype is TF32:
        return [True] if boxes and any(is_turned(side) for side in sides) else []
    return [way for way, is_possible in ((True, boxes), (False, all(width(side) > 1 for side in sides))) if is_possible]


def _has_boxes(contraction: Contraction, target: Target) -> bool:
    """Whether boxes can bring both operands, on devices whose warpgroups multiply."""
    return target.warpgroups and all(map(_is_boxed, contraction.sides))


def _is_boxed(side: Side) -> bool:
    """Whether boxes can bring an operand: a matrix, or windows of a tensor."""
    return box_width(side) > 1 if side.is_matrix else windows_of(side) is not None


def is_of_warpgroups(contraction: Contraction, target: Target) -> bool:
    """Whether warpgroups can read both operands as they lie."""
    return bool(_ways(contraction, target))


def tile_parts(k: int, wanted: int, tile: AnyTile) -> tuple[int, int]:
    """How many parts of k there are where about `wanted` are, and how long each is: whole steps of a tile."""
    _, per = parts_of(k, wanted, LEAST_PART)
    per = -(-per // tile.inner) * tile.inner
    return -(-k // per), per


def chosen(contraction: Contraction, target: Target) -> tuple[AnyTile, int]:
    """The tile, and how many parts of k are wanted: those that take the least time."""
    return _fastest(contraction, target)[1:]


def is_worth_copying(contraction: Contraction, copied: Contraction, target: Target) -> bool:
    """Whether operands that can be read where they lie are better copied, since the product of copies is faster by more
    than these take."""
    nbytes = sum(
        2 * side.size * side.leaf.source.dtype.size
        for side, other in zip(copied.sides, contraction.sides, strict=True)
        if side.leaf is not other.leaf
    )
    copies = _COPY + nbytes / _TRAFFIC
    return _fastest(copied, target)[0] + copies < _fastest(contraction, target)[0]


def _fastest(contraction: Contraction, target: Target) -> tuple[float, AnyTile, int]:
    """The same, with the clocks that it takes."""
    batch, (m, n, k) = math.prod(contraction.batch), contraction.sizes
    best: tuple[float, int, AnyTile, int] | None = None
    for tile, rate in tiles(contraction, target):
        for parts in _PARTS:
            if parts > 1 and k // parts < LEAST_PART:
                break
            groups, places = parts * batch * -(-m // tile.rows) * -(-n // tile.columns), -(-k // parts)
            if isinstance(tile, WarpgroupTile):
                time = _time_of_warpgroups(tile, rate, groups, places, target)
            else:
                time = _time_of_groups(tile, rate, groups, places, contraction, target)
            if parts > 1:
                passes = 1 if isinstance(tile, WarpgroupTile) else 3
                time += _REDUCTION + passes * parts * batch * m * n * contraction.accumulator.size / _TRAFFIC
            if best is None or (time, groups) < best[:2]:  # of two alike, the one with fewer groups reads less
                best = time, groups, tile, parts
    assert best is not None
    time, _, tile, parts = best
    return time, tile, parts


def _time_of_groups(
    tile: AnyTile, rate: float, groups: int, places: int, contraction: Contraction, target: Target
) -> float:
    """Clocks that groups take, each for so many places of the inner axis."""
    units, lengths = _units(tile), (tile.rows, tile.columns)
    results, turns = tile.rows * tile.columns / units, groups * units / target.compute_units
    fast = rate if turns > 1 or tile.items > 128 else rate * _ALONE
    single = sum(length for length, side in zip(lengths, contraction.sides, strict=True) if _is_single(side))
    time = places * (results / fast + _SINGLE * single / units) + _FIXED + results / _STORED
    if tile.boxes:
        return _LAUNCH + _DESCRIBED + _whole(groups, target) * time
    is_left = turns > 2 and tile.items <= 128 and results >= 128 * 128
    return (math.ceil(turns) + (_LAST if is_left else 0)) * time


def _time_of_warpgroups(tile: WarpgroupTile, rate: float, groups: int, places: int, target: Target) -> float:
    """The same of warpgroups. A step takes as long as its products, or as its bytes take to come; or until they are
    there, if too few are on their way: of some steps ahead, in each of the groups of a unit."""
    resident = min(_most_resident(tile, target.tile_bytes), max(1, groups / target.compute_units))
    results, step_bytes = tile.rows * tile.columns, (tile.rows + tile.columns) * tile.inner * tile.dtype.size
    at_work = max(results * tile.inner / rate, step_bytes / _COPIED_BYTES) / (1 if tile.boxes else _COPIED)
    step = max(at_work, _LATENCY / ((tile.room - 2) * resident))
    begun = (_TILE if tile.boxes else _TILE + _FILLED) / resident
    time = -(-places // tile.inner) * step + results / _STORED_BY_WARPGROUPS + begun
    return _LAUNCH + _whole(groups, target) * time + (_DESCRIBED if tile.boxes else 0)


@lru_cache(maxsize=256)
def _most_resident(tile: WarpgroupTile, tile_bytes: int) -> int:
    """The same as `resident_groups` where results go through no bands, if they may: for every tile of every product."""
    length = tile.local_length if tile.holds else tile.steps_length
    return resident_groups(tile, length * tile.word.size, tile_bytes)


def _whole(groups: int, target: Target) -> float:
    """How often a unit of the device begins a group: of many, the last ones leave some idle."""
    turns = groups / target.compute_units
    return -(-groups // target.compute_units) if turns < 4 else turns + 0.5


def resident_groups(tile: AnyTile, local_bytes: int, tile_bytes: int) -> int:
    """How many groups that go from tile to tile, with so many bytes of local memory each, a unit of the device has room
    for: in local memory, of which the driver takes some for itself, and in registers."""
    sums = tile.rows * tile.columns // tile.items * tile.accumulator.size // U32.size
    registers = tile.items * (sums + _MORE_REGISTERS)
    return max(1, min(tile_bytes // (local_bytes + _RESERVED), UNIT_REGISTERS // registers))


def _units(tile: AnyTile) -> int:
    """The units of the device that a group keeps busy: on Intel's GPUs these are vector engines, each of which has some
    of a group's sub-groups; elsewhere one."""
    return math.prod(tile.warps) if isinstance(tile, MatrixTile) and tile.instruction.asks_size else 1


def _is_single(side: Side) -> bool:
    """Whether elements are loaded one by one that could be loaded together if they lay otherwise."""
    return width(side) == 1 and side.leaf.source.dtype.size < UNIT_BYTES


def is_turned(side: Side) -> bool:
    """Whether an operand is read along the inner axis, since its elements lie next to each other there: of several
    axes, if the last one is long enough for neighbours to read together, or has whole units."""
    layout, last = side.leaf.layout, side.inner[-1]
    neighbours = layout.strides[last] in (0, 1) and layout.strides[side.own[-1]] != 1
    if not neighbours or len(side.inner) == 1:
        return neighbours
    unit = UNIT_BYTES // side.leaf.source.dtype.size
    return layout.shape[last] >= _ROW or (unit > 1 and layout.shape[last] % unit == 0)


def box_width(side: Side) -> int:
    """Elements of 16 bytes of an operand that boxes can copy: rows begin at multiples of these, and are whole words;
    1 of any other."""
    layout, size = side.leaf.layout, side.leaf.source.dtype.size
    along, wide = (side.inner if is_turned(side) else side.own)[-1], UNIT_BYTES // size
    words = layout.shape[along] % max(1, U32.size // size) == 0
    near = all(stride * size <= MOST_STRIDE * U32.size for stride in layout.strides)
    return wide if layout.strides[along] == 1 and words and near and aligned(layout, along, wide) else 1


def width(side: Side) -> int:
    """Elements of an access to an operand: as many as 16 bytes have where its layout allows that, and all or none of
    them exist."""
    layout, padding = side.leaf.layout, side.split.padding
    along, wide = (side.inner if is_turned(side) else side.own)[-1], UNIT_BYTES // side.leaf.source.dtype.size
    whole = layout.strides[along] == 1 and layout.shape[along] % wide == 0 and aligned(layout, along, wide)
    if whole and padding is not None:
        whole = padding.inside.range()[0] % wide == 0 and padding.inside.span % wide == 0
        whole = whole and not any(bound.strides[along] for bound, _ in padding.bounds)
    return wide if whole else 1
