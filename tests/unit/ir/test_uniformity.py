"""Uniformity of values and of control flow."""

from __future__ import annotations

import pytest

from ocl_ir.kernel.builder import KernelBuilder, Ref
from ocl_ir.kernel.grammar import Barrier, For, If, Kernel, Stmt, While, walk
from ocl_ir.kernel.uniformity import uniformity
from ocl_ir.types import I32, U32


def is_uniform(k: KernelBuilder, value: Ref) -> bool:
    return uniformity(k.build()).is_uniform(value.operand)


def test_what_the_whole_group_shares() -> None:
    k = KernelBuilder("values")
    n, x = k.scalar("n", U32), k.pointer("x", U32)
    shared = [n, k.const(1, U32), *(k.item(q) for q in ("group_id", "local_size", "global_size", "num_groups"))]
    shared += [n + 1, k.load(x, n), k.load(x, k.item("group_id") * 4), k.op("select", n < 3, n, n + 2)]
    own = [k.item("local_id"), k.global_id()]
    own += [own[0] + n, k.load(x, own[1]), k.op("select", own[0] < 3, n, n)]
    found = uniformity(k.build())
    assert [found.is_uniform(value.operand) for value in shared] == [True] * len(shared)
    assert [found.is_uniform(value.operand) for value in own] == [False] * len(own)


@pytest.mark.parametrize("space", ["global", "constant"])
def test_loads_are_uniform_from_memory_that_the_kernel_only_reads(space: str) -> None:
    k = KernelBuilder("loads")
    x, y = k.pointer("x", I32, space=space), k.pointer("y", I32, restrict=True)  # type: ignore[arg-type]
    a, b, c = k.load(x, 0), k.load(y, 0), k.load(k.array(I32, 4), 0)
    k.store(y, 0, 1)
    assert is_uniform(k, a)
    assert not is_uniform(k, b)
    assert not is_uniform(k, c)


@pytest.mark.parametrize("space", ["global", "constant"])
@pytest.mark.parametrize("promised", [(), ("x",), ("y",), ("x", "y")], ids=str)
@pytest.mark.parametrize("change", ["store", "atomic", "none", "local"])
def test_a_written_parameter_may_overlap_one_that_is_read(space: str, promised: tuple[str, ...], change: str) -> None:
    k = KernelBuilder("overlap")
    x = k.pointer("x", I32, space=space, restrict="x" in promised)  # type: ignore[arg-type]
    y = k.pointer("y", I32, restrict="y" in promised)
    loaded = k.load(x, 0)
    if change == "store":
        k.store(y, k.global_id(), 1)
    elif change == "atomic":
        k.atomic("add", y, 0, 1)
    elif change == "local":
        k.store(k.array(I32, 4), 0, 1)
    overlaps = change in {"store", "atomic"} and not promised and space == "global"
    assert is_uniform(k, loaded) != overlaps


def test_atomics_give_each_work_item_its_own() -> None:
    k = KernelBuilder("atomic")
    before = k.atomic("add", k.pointer("x", U32), 0, 1)
    assert before is not None
    assert not is_uniform(k, before)


def test_indices_of_loops() -> None:
    k = KernelBuilder("indices")
    n, item = k.scalar("n", U32), k.item("local_id")
    found = []
    for start, stop, step in ((0, n, 1), (item, n, 1), (0, item, 1), (0, n, item + 1)):
        with k.for_(start, stop, step) as j:
            found.append(j)
    assert [is_uniform(k, j) for j in found] == [True, False, False, False]


def test_variables_are_uniform_if_every_assignment_is() -> None:
    k = KernelBuilder("variables")
    n, item = k.scalar("n", U32), k.item("local_id")
    always, started, given, divergent = k.variable(n), k.variable(item), k.variable(n), k.variable(n)
    with k.if_(n > 3):
        k.assign(always, n + 1)
        k.assign(given, item)
    with k.if_(item > 3):
        k.assign(divergent, n + 1)
    assert [is_uniform(k, v) for v in (always, started, given, divergent)] == [True, False, False, False]


def test_a_variable_that_varies_from_the_second_iteration_on() -> None:
    k = KernelBuilder("fixpoint")
    n = k.scalar("n", U32)
    a, b, c = k.variable(n), k.variable(n), k.variable(n)
    with k.for_(0, n):
        read = k.let(a)
        k.assign(a, b)
        k.assign(b, c)
        k.assign(c, k.item("local_id"))
    for value in (read, a, b, c):
        assert not is_uniform(k, value)


def divergent(k: KernelBuilder) -> list[bool]:
    """For each barrier, whether only a part of the group may come to it."""
    kernel = k.build()
    flow = uniformity(kernel)
    return [flow.cause(stmt) is not None for stmt in walk(kernel.body) if isinstance(stmt, Barrier)]


def cause_of_only_barrier(kernel: Kernel) -> Stmt | None:
    (barrier,) = (stmt for stmt in walk(kernel.body) if isinstance(stmt, Barrier))
    return uniformity(kernel).cause(barrier)


def test_branches() -> None:
    k = KernelBuilder("branches")
    n, item = k.scalar("n", U32), k.item("local_id")
    for condition in (n > 1, item > 1):
        with k.if_(condition):
            k.barrier()
            with k.if_(n > 2):
                k.barrier()
        with k.else_():
            k.barrier()
        k.barrier()
    assert divergent(k) == [False, False, False, False, True, True, True, False]


def test_loops() -> None:
    k = KernelBuilder("loops")
    n, item = k.scalar("n", U32), k.item("local_id")
    for stop in (n, item):
        with k.for_(0, stop):
            k.barrier()
        k.barrier()
    for start in (n, item):
        v = k.variable(start)
        with k.while_() as loop:
            loop.test(v > 0)
            k.barrier()
            k.assign(v, v - 1)
        k.barrier()
    assert divergent(k) == [False, False, True, False, False, False, True, False]


@pytest.mark.parametrize("exit_", ["break_", "continue_"])
def test_divergent_exits_of_a_loop(exit_: str) -> None:
    k = KernelBuilder("exits")
    n, item = k.scalar("n", U32), k.item("local_id")
    for condition in (n > 1, item > 1):
        with k.for_(0, n):
            with k.for_(0, n):
                k.barrier()
                with k.if_(condition):
                    getattr(k, exit_)()
                k.barrier()
            k.barrier()
        k.barrier()
    assert divergent(k) == [False] * 4 + [True, True, False, False]


def test_divergent_returns() -> None:
    k = KernelBuilder("returns")
    n, item = k.scalar("n", U32), k.item("local_id")
    k.barrier()
    with k.if_(n > 1):
        k.return_()
    k.barrier()
    with k.for_(0, n):
        k.barrier()
        with k.if_(item > 1):
            k.return_()
    k.barrier()
    assert divergent(k) == [False, False, True, True]


def test_a_variable_assigned_before_a_divergent_break_varies() -> None:
    k = KernelBuilder("ragged")
    n, item = k.scalar("n", U32), k.item("local_id")
    rounds, after = k.variable(0, U32), k.variable(0, U32)
    with k.for_(0, n):
        k.assign(rounds, rounds + 1)
        with k.if_(item == 0):
            k.break_()
    k.assign(after, n)
    assert not is_uniform(k, rounds)
    assert is_uniform(k, after)


def test_the_cause_is_the_statement_whose_condition_varies() -> None:
    k = KernelBuilder("cause")
    item = k.item("local_id")
    with k.if_(item < 2), k.for_(0, 4):
        k.barrier()
    assert isinstance(cause_of_only_barrier(k.build()), If)
    k = KernelBuilder("cause")
    with k.for_(0, k.item("local_id")):
        k.barrier()
    assert isinstance(cause_of_only_barrier(k.build()), For)
    k = KernelBuilder("cause")
    with k.while_() as loop:
        loop.test(k.item("local_id") > 1)
        k.barrier()
    assert isinstance(cause_of_only_barrier(k.build()), While)
    k = KernelBuilder("cause")
    with k.if_(k.item("local_id") < 2):
        k.return_()
    k.barrier()
    assert isinstance(cause_of_only_barrier(k.build()), If)
