"""The tile of a scan: it is read, scanned by a team of work-items, and written.

A tile is some stripes of a block of neighbours for each work-item, so that a team reads and writes whole stretches of
memory. A group has one team, or several of rows that are short. Each work-item scans its blocks. The team scans the
totals of all blocks, in local memory: they are put there in their order, each work-item joins some neighbours, and
these are scanned by Hillis and Steele's way (Data parallel algorithms, 1986). What comes before a block is joined with
each of its elements.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.types import DType

barrier, hint, local_array, private_array, unrolled = (
    BUILTINS[name] for name in ("barrier", "hint", "local_array", "private_array", "unrolled")
)


class TeamSteps(Protocol):
    """What the scan of a tile by a team is made of: a tile has `stripes` blocks of `each` elements for each work-item,
    the team is two to the power of `turns`, and a group has so many `teams`."""

    @property
    def join(self) -> Any:
        """Joins two values."""

    @property
    def dtype(self) -> DType:
        """The dtype of these."""

    @property
    def team(self) -> int:
        """Work-items."""

    @property
    def teams(self) -> int:
        """Teams of a group."""

    @property
    def stripes(self) -> int:
        """Blocks of each."""

    @property
    def each(self) -> int:
        """Elements of a block."""

    @property
    def turns(self) -> int:
        """Turns of the team's scan."""


class Steps(NamedTuple):
    """What a scan is made of: functions of elements, blocks and parts, None where there is nothing to do, and
    constants."""

    value: Any
    values: Any
    join: Any
    store: Any
    store_block: Any
    before: Any
    keep: Any
    claim: Any
    publish: Any
    published: Any
    neutral: Any
    dtype: DType
    index_dtype: DType
    team: int
    teams: int
    stripes: int
    each: int
    turns: int


def read_tile(own: Any, tile: Any, item: Any, length: Any, steps: Steps) -> None:
    """Reads the blocks of a tile that this work-item has; behind the end of the row, neutral elements."""
    lane = item if steps.teams == 1 else item % steps.team
    for stripe in hint(range(steps.stripes), unroll=steps.stripes):
        block = tile + (stripe * steps.team + lane)
        if (block + 1) * steps.each <= length:
            values = steps.values(block)
            for step in unrolled(range(steps.each)):
                own[stripe * steps.each + step] = values[step]
        else:
            for step in hint(range(steps.each), unroll=steps.each):
                r = block * steps.each + step
                own[stripe * steps.each + step] = steps.value(r) if r < length else steps.neutral


def scan_blocks(own: Any, steps: Steps) -> None:
    """Scans each block of this work-item."""
    for stripe in hint(range(steps.stripes), unroll=steps.stripes):
        for step in hint(range(stripe * steps.each + 1, stripe * steps.each + steps.each), unroll=steps.each):
            own[step] = steps.join(own[step - 1], own[step])


def write_tile(own: Any, before: Any, total: Any, tile: Any, item: Any, length: Any, steps: Steps) -> None:
    """Stores the elements of a tile, joined with what comes before each block: a `total`, or local memory."""
    lane = item if steps.teams == 1 else item % steps.team
    start = 0 if steps.teams == 1 else item // steps.team * (steps.team * steps.stripes)
    for stripe in hint(range(steps.stripes), unroll=steps.stripes):
        block = tile + (stripe * steps.team + lane)
        first = total if before is None else before[start + (stripe * steps.team + lane)]
        for step in hint(range(stripe * steps.each, stripe * steps.each + steps.each), unroll=steps.each):
            own[step] = steps.join(first, own[step])
        if (block + 1) * steps.each <= length:
            joined: Any = ()
            for step in unrolled(range(steps.each)):
                joined = (*joined, own[stripe * steps.each + step])
            steps.store_block(block, joined)
        else:
            for step in hint(range(steps.each), unroll=steps.each):
                if block * steps.each + step < length:
                    steps.store(block * steps.each + step, own[stripe * steps.each + step])


def totals_in_order(own: Any, item: Any, steps: TeamSteps) -> Any:
    """Local memory with the totals of all blocks of the tiles of a group in their order; and these of neighbouring
    blocks, as many as a work-item has, joined one after the other."""
    totals = local_array(steps.teams * steps.team * steps.stripes, steps.dtype)
    lane = item if steps.teams == 1 else item % steps.team
    start = 0 if steps.teams == 1 else item // steps.team * (steps.team * steps.stripes)
    for stripe in hint(range(steps.stripes), unroll=steps.stripes):
        totals[start + (stripe * steps.team + lane)] = own[stripe * steps.each + steps.each - 1]
    barrier()
    taken = private_array(steps.stripes, steps.dtype)
    taken[0] = totals[item * steps.stripes]
    for number in hint(range(1, steps.stripes), unroll=steps.stripes):
        taken[number] = steps.join(taken[number - 1], totals[item * steps.stripes + number])
    return totals, taken


def scanned_by_team(own: Any, total: Any, item: Any, steps: TeamSteps) -> Any:
    """Local memory with what comes before each block of the tiles of a group, and the total of the team's tile.

    Each turn of the team's scan reads a half of the shared memory and writes the other one.
    """
    totals, taken = totals_in_order(own, item, steps)
    lane = item if steps.teams == 1 else item % steps.team
    shared = local_array((2, steps.teams * steps.team), steps.dtype)
    scanned = taken[steps.stripes - 1]
    shared[0, item] = scanned
    barrier()
    distance = 1
    for turn in hint(range(steps.turns), unroll=steps.turns):
        if lane >= distance:
            scanned = steps.join(shared[turn & 1, item - distance], scanned)
        shared[turn + 1 & 1, item] = scanned
        barrier()
        distance = distance * 2
    before = steps.join(total, shared[steps.turns & 1, item - 1]) if lane != 0 else total
    last = steps.team - 1 if steps.teams == 1 else item // steps.team * steps.team + (steps.team - 1)
    tile_total = shared[steps.turns & 1, last]
    totals[item * steps.stripes] = before
    for number in hint(range(1, steps.stripes), unroll=steps.stripes):
        totals[item * steps.stripes + number] = steps.join(before, taken[number - 1])
    barrier()
    return totals, tile_total


def joined_by_team(own: Any, lane: Any, steps: TeamSteps) -> Any:
    """The total of a tile, joined in the order in which the scan does it."""
    _, taken = totals_in_order(own, lane, steps)
    return joined_in_a_tree(taken[steps.stripes - 1], lane, steps)


def joined_in_a_tree(value: Any, lane: Any, steps: TeamSteps) -> Any:
    """The values of all work-items of a team, which has a group of its own, joined two by two: what each of them
    gets."""
    shared = local_array(steps.team, steps.dtype)
    shared[lane] = value
    barrier()
    distance = 1
    for _ in hint(range(steps.turns), unroll=steps.turns):
        if (lane + 1 & 2 * distance - 1) == 0:
            shared[lane] = steps.join(shared[lane - distance], shared[lane])
        barrier()
        distance = distance * 2
    return shared[steps.team - 1]
