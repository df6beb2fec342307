"""How much work it is to make source of a kernel: as much as the kernel is long."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.types import F32
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.spelling import Dialect
from tests.support.lines import executed_lines


def chain(count: int) -> Kernel:
    k = KernelBuilder("chain")
    y = k.pointer("y", F32)
    value = k.load(y, 0)
    for number in range(count):
        value = k.op("sin", value) * float(number)
    k.store(y, 0, value)
    return k.build()


def sums(count: int) -> Kernel:
    """Each value is used by many later ones."""
    k = KernelBuilder("sums")
    y = k.pointer("y", F32)
    values = [k.load(y, 0), k.load(y, 1)]
    for _ in range(count):
        values.append(values[-1] + values[len(values) // 2])
    k.store(y, 0, values[-1])
    return k.build()


def turns(count: int) -> Kernel:
    """A variable that is assigned, and memory that is written, again and again."""
    k = KernelBuilder("turns")
    x, y = k.pointer("x", F32), k.pointer("y", F32)
    total = k.variable(k.load(x, 0))
    for number in range(count // 2):
        k.assign(total, total + k.load(x, number))
        k.store(y, number, total * 2.0)
    return k.build()


@pytest.mark.parametrize("make", [chain, sums, turns])
def test_four_times_the_operations_are_four_times_the_work(make: Callable[[int], Kernel]) -> None:
    def work(count: int) -> float:
        kernel = make(count)
        return executed_lines(lambda: compile_kernel(kernel, "hybrid", Dialect())) / count

    work(100)  # the first one loads templates
    assert work(800) <= 1.2 * work(200)
