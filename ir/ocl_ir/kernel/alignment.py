"""Whether an access of several elements may be one wide instruction."""

from __future__ import annotations

from ocl_ir.kernel.grammar import Load, Store
from ocl_ir.types import Pointer, element, size_of


def is_aligned(access: Load | Store) -> bool:
    """Whether a vector access is known to be aligned to its whole size, so that it may be one wide instruction."""
    moved = access.result.type if isinstance(access, Load) else access.value.type
    assert isinstance(access.pointer.type, Pointer)
    assert not isinstance(moved, Pointer)
    memory = element(access.pointer.type).size * (size_of(moved) // element(moved).size)
    return access.align > 0 and access.align % memory == 0
