"""Which loops the compiler is told to keep in order, where a device's needs that."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import F32, U32, Vector
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.spelling import Dialect

PRAGMA = "#pragma clang loop vectorize(disable)\n"
Make = Callable[[KernelBuilder, Ref, Ref], None]


def source(make: Make, *, ordered_loops: bool) -> str:
    k = KernelBuilder("loops")
    make(k, k.pointer("x", F32), k.pointer("y", F32))
    return compile_kernel(k.build(), "hybrid", Dialect(ordered_loops=ordered_loops)).source.text


def of_a_variable(k: KernelBuilder, x: Ref, y: Ref) -> None:
    sum_ = k.variable(k.const(0.0, F32), hint="sum")
    with k.for_(0, 100, unroll=4) as i:
        k.assign(sum_, sum_ + k.load(x, i))
    k.store(y, 0, sum_)


def with_a_test_first(k: KernelBuilder, x: Ref, y: Ref) -> None:
    product = k.variable(k.const(1.0, F32), hint="product")
    with k.while_() as loop:
        loop.test(product < 100.0)
        k.assign(product, product * k.load(x, 0))
    k.store(y, 0, product)


def in_memory(k: KernelBuilder, x: Ref, y: Ref) -> None:
    with k.for_(0, 100) as i:
        k.store(y, 0, k.load(y, 0) + k.load(x, i))


def across_an_inner_loop(k: KernelBuilder, x: Ref, y: Ref) -> None:
    sum_ = k.variable(k.const(0.0, F32), hint="sum")
    with k.for_(0, 100) as i, k.for_(0, i) as j, k.if_(j != 3):
        k.assign(sum_, sum_ + k.load(x, j))
    k.store(y, 0, sum_)


def of_the_inner_loop_alone(k: KernelBuilder, x: Ref, y: Ref) -> None:
    with k.for_(0, 100) as i:
        sum_ = k.variable(k.const(0.0, F32), hint="sum")
        with k.for_(0, i) as j:
            k.assign(sum_, sum_ + k.load(x, j))
        k.store(y, i, sum_)


def of_vectors(k: KernelBuilder, x: Ref, y: Ref) -> None:
    sum_ = k.variable(k.const(0.0, Vector(F32, 4)), hint="sum")
    with k.for_(0, 100) as i:
        k.assign(sum_, sum_ + k.load(x, i * 4, count=4))
    k.store(y, 0, sum_)


def of_integers(k: KernelBuilder, x: Ref, y: Ref) -> None:
    count = k.variable(k.const(0, U32), hint="count")
    with k.for_(0, 100) as i, k.if_(k.load(x, i) > 0.0):
        k.assign(count, count + 1)
    k.store(y, 0, k.convert(count, F32))


def of_nothing(k: KernelBuilder, x: Ref, y: Ref) -> None:
    with k.for_(0, 100) as i:
        k.store(y, i, k.load(x, i) * 2.0)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (of_a_variable, 1),
        (with_a_test_first, 1),
        (in_memory, 1),
        (across_an_inner_loop, 2),
        (of_the_inner_loop_alone, 1),
        (of_vectors, 0),
        (of_integers, 0),
        (of_nothing, 0),
    ],
)
def test_loops_that_carry_single_floats_are(make: Make, told: int) -> None:
    plain, ordered = (source(make, ordered_loops=ordered) for ordered in (False, True))
    assert ordered.count(PRAGMA) == told
    assert "".join(line for line in ordered.splitlines(keepends=True) if line.strip() != PRAGMA.strip()) == plain
