"""Which loops are put behind a condition, where a device's compiler needs that."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import U32
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.spelling import Dialect

GUARD = "if (get_local_id(0) != UINT_MAX) {"
Make = Callable[[KernelBuilder, Ref, Ref, Ref], None]


def source(make: Make, *, guarded_loops: bool) -> str:
    k = KernelBuilder("loops", group_size=(8, 1, 1))
    n, y, item = k.scalar("n", U32), k.pointer("y", U32), k.item("local_id", hint="item")
    make(k, n, y, item)
    return compile_kernel(k.build(), "hybrid", Dialect(guarded_loops=guarded_loops)).source.text


def of_other_starts(k: KernelBuilder, n: Ref, y: Ref, item: Ref) -> None:
    k.barrier()
    with k.for_(item & 1, 4) as a, k.for_(0, n) as b:
        k.store(y, item, a + b)


def left_by_some(k: KernelBuilder, n: Ref, y: Ref, item: Ref) -> None:
    with k.for_(0, n) as a:
        with k.for_(0, n) as b:
            k.store(y, item, a + b)
        with k.if_(a == item):
            k.break_()
    k.barrier()


def with_other_conditions(k: KernelBuilder, n: Ref, y: Ref, item: Ref) -> None:
    k.barrier()
    turn = k.variable(item & 1, hint="turn")
    with k.while_() as loop:
        loop.test(turn < 4)
        with k.for_(0, n) as b:
            k.store(y, item, turn + b)
        k.assign(turn, turn + 1)


def three_deep(k: KernelBuilder, n: Ref, y: Ref, item: Ref) -> None:
    """The outermost that differs, which is not the outermost."""
    with k.for_(0, n):
        k.barrier()
        with k.for_(item & 1, 4) as a, k.for_(item & 1, 4) as b, k.for_(0, n) as c:
            k.store(y, item, a + b + c)


def of_the_same_turns(k: KernelBuilder, n: Ref, y: Ref, item: Ref) -> None:
    with k.for_(0, n) as a, k.for_(0, n) as b:
        k.store(y, item, a + b)
        k.barrier()


def with_no_loop_inside(k: KernelBuilder, n: Ref, y: Ref, item: Ref) -> None:
    k.barrier()
    with k.for_(item & 1, n) as a:
        k.store(y, item, a)


def without_barriers(k: KernelBuilder, n: Ref, y: Ref, item: Ref) -> None:
    with k.for_(item & 1, 4) as a, k.for_(0, n) as b:
        k.store(y, item, a + b)


@pytest.mark.parametrize(
    ("make", "guards"),
    [
        (of_other_starts, 1),
        (left_by_some, 1),
        (with_other_conditions, 1),
        (three_deep, 1),
        (of_the_same_turns, 0),
        (with_no_loop_inside, 0),
        (without_barriers, 0),
    ],
)
def test_loops_around_loops_that_work_items_leave_at_different_turns_are(make: Make, guards: int) -> None:
    assert GUARD not in source(make, guarded_loops=False)
    assert source(make, guarded_loops=True).count(GUARD) == guards
