"""The device as the planner sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

GPU_OPERATIONS_PER_BYTE = 8
"""Of an H200: 32e12 multiply-adds a second in a kernel of nothing else, 4.1e12 bytes in copies. GPUs with slower memory
do more, 10 to 40 by their data sheets."""
CPU_OPERATIONS_PER_BYTE = 4
"""Of a server's processor, all cores at work: its memory has about 5e9 bytes a second for each, and a core with AVX-512
does 22e9 multiplications that need each other under PoCL, and 15e9 under Intel's driver. Two cores that had 14e9 and
8e9 bytes each did 1.5 and 1.8."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """What decides how a kernel is written. Two runtimes with equal targets could share kernels.

    `kind` "cpu" asks for few fat work-items, "gpu" for many light ones that share local memory.
    """

    kind: Literal["gpu", "cpu"] = "gpu"
    compute_units: int = 16
    vector_bytes: int = 16
    """Bytes of one wide memory access."""
    group_size: int = 256
    """Work-items of a group; a power of two."""
    large_group_size: int = 0
    """The same, where all of a group together hold something in their registers; 0: no more than otherwise."""
    largest_group_size: int = 0
    """The same, where one group keeps a unit busy; 0: none is known to."""
    local_bytes: int = 32 << 10
    """Local memory of a group of a GPU."""
    max_argument_bytes: int = 1024
    """All arguments of a kernel together."""
    operations_per_byte: float = GPU_OPERATIONS_PER_BYTE
    """Additions of float32 that the device does while it moves a byte to or from its memory."""
    streams: int = 1
    """Queues that run side by side."""
    fp16: bool = False
    """Whether there is arithmetic in half precision; storage there always is."""
    fp64: bool = True
    group_progress: bool = False
    """Whether work-groups that have begun go on while others wait for them."""
    matrix_instructions: tuple[str, ...] = ()
    """The names of the matrix instructions that there are, in an order that every process has: plans on disk are found
    by it."""
    warpgroups: bool = False
    """Whether there are matrix instructions of warpgroups, which take halves, bfloat16 and tf32, and copies in boxes,
    which bring float64, too."""
    tile_bytes: int = 0
    """Local memory that a group can have for its tile, where these instructions are."""
    atomics64: bool = True
    """Whether there are atomic operations on 64-bit integers."""
