from __future__ import annotations

import gc

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.by_identity import by_identity
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.types import F32


def made() -> Kernel:
    k = KernelBuilder("fill")
    k.store(k.pointer("y", F32), k.global_id(0), 1.0)
    return k.build()


def test_each_kernel_is_asked_about_once() -> None:
    asked: list[int] = []
    length = by_identity(lambda kernel: asked.append(id(kernel)) or len(asked))
    first, equal = made(), made()
    assert first == equal
    assert [length(first), length(equal), length(first)] == [1, 2, 1]


def test_nothing_is_known_of_a_kernel_that_is_gone() -> None:
    """Another one may have its identity."""
    number = iter(range(1000))
    numbered = by_identity(lambda kernel: next(number))
    seen = set()
    for _ in range(50):
        kernel = made()
        seen.add(numbered(kernel))
        del kernel
        gc.collect(0)
    assert len(seen) == 50
