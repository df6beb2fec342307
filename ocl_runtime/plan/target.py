"""The device as the planner sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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
    max_argument_bytes: int = 1024
    """All arguments of a kernel together."""
    operations_per_byte: float = 8
    """Additions of float32 that the device does while it moves a byte to or from its memory."""
    streams: int = 1
    """Queues that run side by side."""
    fp16: bool = False
    """Whether there is arithmetic in half precision; storage there always is."""
    fp64: bool = True
