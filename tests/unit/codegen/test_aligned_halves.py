"""How vectors of halves reach memory, where a compiler takes that memory for aligned to the whole vector."""

from __future__ import annotations

import pytest

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.types import F16, F32, U32
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.spelling import Dialect


def source(count: int, align: int, *, aligned_halves: bool) -> str:
    """A kernel that copies `count` halves a work-item, through memory aligned to `align` bytes."""
    k = KernelBuilder("halves", group_size=(8, 1, 1))
    offset = k.scalar("n", U32)
    x, y, i = k.pointer("x", F16), k.pointer("y", F16), k.global_id(0, "i")
    value = k.let(k.load_as(x, i * count + offset, F32, count=count, align=align))
    k.store(y, i * count + offset, value + value, align=align)
    return compile_kernel(k.build(), "hybrid", Dialect(aligned_halves=aligned_halves)).source.text


@pytest.mark.parametrize("count", [2, 4, 8, 16])
def test_vectors_at_any_half_are_moved_as_integers(count: int) -> None:
    text = source(count, 2, aligned_halves=True)
    assert f"half_values_{count}(*(__global const any_half_{count} *)(x + " in text
    assert f"*(__global any_half_{count} *)(y + " in text
    assert text.count(f"vload_half{count}(") == text.count(f"vstore_half{count}_rte(") == 1  # in the helper functions


@pytest.mark.parametrize(
    ("count", "align", "aligned_halves"), [(1, 2, True), (3, 2, True), (4, 8, True), (16, 32, True), (16, 2, False)]
)
def test_all_others_are_not(count: int, align: int, *, aligned_halves: bool) -> None:
    text = source(count, align, aligned_halves=aligned_halves)
    lanes = "" if count == 1 else str(count)
    assert f"vload_half{lanes}(" in text
    assert f"vstore_half{lanes}_rte(" in text
    assert "ushort" not in text
