"""Kernels and small host programs that several tests use."""

from __future__ import annotations

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.types import F32, U32


def scale(*, restrict: bool = False) -> Kernel:
    """b = a / 2 + 1, for n elements."""
    k = KernelBuilder("scale", pointwise=True)
    n = k.scalar("n", U32)
    a, b = (k.pointer(name, F32, length=n, restrict=restrict) for name in "ab")
    i = k.global_id(0)
    with k.if_(i < n):
        k.store(b, i, k.load(a, i) * 0.5 + 1)
    return k.build()


def reversed_() -> Kernel:
    """b = a from the end to the start: not in place."""
    k = KernelBuilder("reversed")
    n = k.scalar("n", U32)
    a, b = (k.pointer(name, F32, length=n) for name in "ab")
    i = k.global_id(0)
    with k.if_(i < n):
        k.store(b, i, k.load(a, n - 1 - i))
    return k.build()


def both() -> Kernel:
    """b = 2a and c = 3a."""
    k = KernelBuilder("both", pointwise=True)
    n = k.scalar("n", U32)
    a, b, c = (k.pointer(name, F32, length=n) for name in "abc")
    i = k.global_id(0)
    with k.if_(i < n):
        value = k.load(a, i)
        k.store(b, i, value * 2)
        k.store(c, i, value * 3)
    return k.build()


def add() -> Kernel:
    """c = a + b, for n elements."""
    k = KernelBuilder("add", pointwise=True)
    n = k.scalar("n", U32)
    a, b, c = (k.pointer(name, F32, length=n) for name in "abc")
    i = k.global_id(0)
    with k.if_(i < n):
        k.store(c, i, k.load(a, i) + k.load(b, i))
    return k.build()


def accumulate() -> Kernel:
    """total += the sum of n elements, by one work-item."""
    k = KernelBuilder("accumulate")
    n = k.scalar("n", U32)
    x, total = k.pointer("x", F32, length=n), k.pointer("total", F32, length=1)
    accumulator = k.variable(k.load(total, 0), hint="found")
    with k.for_(0, n) as i:
        k.assign(accumulator, accumulator + k.load(x, i))
    k.store(total, 0, accumulator)
    return k.build()


def wide() -> Kernel:
    """b = a, four elements at a time, aligned to 16 bytes."""
    k = KernelBuilder("wide")
    a, b = (k.pointer(name, F32, align=16) for name in "ab")
    i = k.global_id(0) * 4
    k.store(b, i, k.load(a, i, count=4, align=16), align=16)
    return k.build()


def loop() -> Kernel:
    """y = x / 2 + 1, over and over: as long as one likes, with few bytes."""
    k = KernelBuilder("loop")
    turns, x, y = k.scalar("turns", U32), k.pointer("x", F32), k.pointer("y", F32)
    i = k.global_id(0)
    value = k.variable(k.load(x, i), hint="value")
    with k.for_(0, turns):
        k.assign(value, value * 0.5 + 1)
    k.store(y, i, value)
    return k.build()


SCALE, ADD, ACCUMULATE, WIDE, LOOP = scale(), add(), accumulate(), wide(), loop()
RESTRICTED, REVERSED, BOTH = scale(restrict=True), reversed_(), both()
