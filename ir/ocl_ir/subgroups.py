"""What a target has of sub-groups: whether work-items exchange values in registers, or through local memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgroups:
    """The sub-groups of a target, as far as they are those of kernel IR: items with consecutive linear local ids."""

    sizes: tuple[int, ...]
    """How many work-items one can have."""
    spelling: Literal["opencl", "ptx"]
    """How source asks for an exchange: by OpenCL's functions in sub-groups of a required size, or by PTX in warps."""
    within_rows: bool = False
    """Each ends where dimension 0 does: they are those of kernel IR only where their size divides dimension 0."""

    def exchange(self, size: int, group_size: tuple[int, int, int]) -> bool:
        """Whether the items of such a group exchange values in sub-groups of a size."""
        items = group_size[0] if self.within_rows else math.prod(group_size)
        return size in self.sizes and items % size == 0
