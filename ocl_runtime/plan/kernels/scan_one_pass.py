"""Scans one row in one pass over memory: work-groups wait for the totals of the tiles before theirs (Merrill and
Garland, Single-pass parallel prefix scan with decoupled look-back, 2016).

A work-group claims its tile from a counter. So each tile that it waits for was claimed by a work-group that has begun,
and that one comes to its end if work-groups that have begun go on (`Target.group_progress`).

A total is published in words of 64 bits, a flag above 32 bits of the total. What is seen of it is whole without a
fence. Atomic exchanges write the words and volatile loads read them: plain stores are seen too late, and reading by
atomic operations takes a sixth more time (H100, 2^27 float32).

The totals before a tile are joined in one order, so that floats have the same bits in every run. A span is as many
tiles as a team has work-items, and the last tile of each span publishes the total of everything up to its end. A tile
waits for that of the span before, and for the totals of the tiles before it in its own span.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.types import DType
from ocl_runtime.plan.kernels.scan_tile import (
    Steps,
    joined_in_a_tree,
    read_tile,
    scan_blocks,
    scanned_by_team,
    write_tile,
)

barrier, bitcast, hint, local_id, local_array, private_array = (
    BUILTINS[name] for name in ("barrier", "bitcast", "hint", "local_id", "local_array", "private_array")
)

_LOWER = 0xFFFFFFFF


def word_count(tiles: int, team: int, accumulator: DType) -> int:
    """How many words there are: a counter of claimed tiles, and those of a total for each tile and each span."""
    return 1 + (tiles + -(-tiles // team)) * (accumulator.size // 4)


def scan_in_one_pass(length: Any, tiles: Any, steps: Steps) -> None:
    """Scans the next tile that no other team has claimed."""
    lane = local_id(0)
    claimed = local_array(1, steps.index_dtype)
    if lane == 0:
        claimed[0] = steps.claim()
    barrier()
    tile = claimed[0]
    first_block = tile * (steps.team * steps.stripes)
    own = private_array(steps.stripes * steps.each, steps.dtype)
    read_tile(own, first_block, lane, length, steps)
    scan_blocks(own, steps)
    before, tile_total = scanned_by_team(own, steps.neutral, lane, steps)
    if lane == 0:
        publish_total(tile, tile_total, steps)
    # While other teams come to their totals.
    for stripe in hint(range(steps.stripes), unroll=steps.stripes):
        for step in hint(range(stripe * steps.each, stripe * steps.each + steps.each), unroll=steps.each):
            own[step] = steps.join(before[stripe * steps.team + lane], own[step])
    prefix = prefix_of_tile(tile, tiles, lane, steps)
    if lane == 0 and (tile + 1) % steps.team == 0:
        publish_total(tiles + tile // steps.team, steps.join(prefix, tile_total), steps)
    write_tile(own, None, prefix, first_block, lane, length, steps)


def prefix_of_tile(tile: Any, tiles: Any, lane: Any, steps: Steps) -> Any:
    """The total of everything before a tile: the first work-item waits for that of everything before the span, and each
    of the others for that of a tile of the span."""
    span = tile // steps.team
    end = span * steps.team + lane
    number = tiles + span - 1 if lane == 0 else end - 1
    total = steps.neutral
    if end != 0 and end <= tile:
        total = published_total(number, steps)
    return joined_in_a_tree(total, lane, steps)


def publish_total(number: Any, total: Any, steps: Steps) -> None:
    """Publishes the total of a tile, or of a span; these have the numbers behind the tiles."""
    if steps.dtype.size == 4:
        steps.publish(1 + number, flagged(bitcast(total, np.uint32)))
    else:
        bits = bitcast(total, np.uint64)
        steps.publish(1 + 2 * number, flagged(bits & _LOWER))
        steps.publish(2 + 2 * number, flagged(bits >> 32))


def published_total(number: Any, steps: Steps) -> Any:
    """Waits for a total."""
    if steps.dtype.size == 4:
        word = steps.published(1 + number)
        while word >> 32 == 0:
            word = steps.published(1 + number)
        return bitcast(np.uint32(word & _LOWER), steps.dtype)
    lower, upper = steps.published(1 + 2 * number), steps.published(2 + 2 * number)
    while (lower & upper) >> 32 == 0:
        lower, upper = steps.published(1 + 2 * number), steps.published(2 + 2 * number)
    return bitcast(upper << 32 | lower & _LOWER, steps.dtype)


def flagged(bits: Any) -> Any:
    """A word that says that these 32 bits are there."""
    return np.uint64(1) << 32 | np.uint64(bits)
