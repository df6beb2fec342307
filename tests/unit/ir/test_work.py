"""The estimate of a kernel's operations: what counts, how often, and how long it is remembered."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from ocl_ir.kernel import work
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.work import DIVISION, FUNCTION, TURNS, operations
from ocl_ir.types import F32, U32


def made(body: Callable[[KernelBuilder], object], *scalars: str) -> Kernel:
    """A kernel with a pointer `x` and then scalars; `body` gets the builder."""
    k = KernelBuilder("made")
    x = k.pointer("x", F32)
    numbers = [k.scalar(name, U32) for name in scalars]
    k.store(x, 0, 0.0)
    body(k, x, *numbers)  # type: ignore[call-arg]
    return k.build()


def counted(body: Callable[..., object], *given: int) -> float:
    """The operations of a body, over those of a kernel without one."""
    names = [f"n{place}" for place in range(len(given))]
    empty = operations(made(lambda k, x, *numbers: None, *names), (None, *given))
    return operations(made(body, *names), (None, *given)) - empty


def test_operations_are_worth_what_they_cost() -> None:
    load = counted(lambda k, x: k.load(x, 1))
    assert counted(lambda k, x: k.load(x, 1) + 1) - load == 1
    assert counted(lambda k, x: k.load(x, 1) / 3) - load == DIVISION
    for name in ("sin", "exp", "erf", "tanh", "log1p"):
        assert counted(lambda k, x, name=name: k.op(name, k.load(x, 1))) - load == FUNCTION
    for name in ("sqrt", "rsqrt"):
        assert counted(lambda k, x, name=name: k.op(name, k.load(x, 1))) - load == DIVISION
    assert counted(lambda k, x: k.op("floor", k.load(x, 1))) - load == 1


def test_each_lane_counts() -> None:
    wide = counted(lambda k, x: k.op("sin", k.load(x, 0, count=4)))
    assert wide == 4 * counted(lambda k, x: k.op("sin", k.load(x, 0)))


def loop(k: KernelBuilder, x: object, *ends: object) -> None:
    with k.for_(*ends) as j:  # type: ignore[arg-type]
        k.store(x, j, 1.0)  # type: ignore[arg-type]


def test_a_loop_counts_as_often_as_it_turns() -> None:
    once = counted(lambda k, x: loop(k, x, 0, 1))
    assert once > 0
    assert counted(lambda k, x: loop(k, x, 0, 100)) == 100 * once
    assert counted(lambda k, x: loop(k, x, 3, 10, 4)) == 2 * once
    assert counted(lambda k, x: loop(k, x, 10, 3)) == 0
    for n in (0, 7, 1000):
        assert counted(lambda k, x, n: loop(k, x, 0, n), n) == n * once
    assert counted(loop, 5, 25) == 20 * once
    assert counted(lambda k, x, n: loop(k, x, 0, k.let(n, "same")), 9) == 9 * once + 1  # the copy


def test_loops_nest() -> None:
    def nested(k: KernelBuilder, x: object, n: object) -> None:
        with k.for_(0, n):  # type: ignore[arg-type]
            loop(k, x, 0, 10)

    once = counted(lambda k, x: loop(k, x, 0, 1))
    per_turn = counted(nested, 1)
    assert per_turn > 10 * once
    assert counted(nested, 50) == 50 * per_turn


def test_an_unknown_loop_counts_a_few_times() -> None:
    once = counted(lambda k, x: loop(k, x, 0, 1))
    base = counted(lambda k, x: k.global_id(0))
    assert counted(lambda k, x, n: loop(k, x, k.global_id(0), n), 10**6) == base + TURNS * once
    kernel = made(lambda k, x, n: loop(k, x, 0, n), "n")
    assert operations(kernel, (None, None)) == operations(kernel, (None, TURNS))


def test_a_while_loop_counts_a_few_times() -> None:
    def turning(k: KernelBuilder, x: object) -> None:
        value = k.variable(1.0, F32, hint="value")
        with k.while_() as again:
            again.test(value < 9)
            k.assign(value, k.op("sin", value))

    assert TURNS * FUNCTION < counted(turning) < TURNS * (FUNCTION + 10)


def test_of_two_branches_the_larger_counts() -> None:
    def branch(k: KernelBuilder, x: object, n: object) -> None:
        with k.if_(n < 3):  # type: ignore[operator]
            loop(k, x, 0, 100)
        with k.else_():
            loop(k, x, 0, n)

    large = counted(lambda k, x: loop(k, x, 0, 100))
    test = counted(branch, 0) - large
    assert 0 < test <= 2
    assert counted(branch, 50) == large + test
    assert counted(branch, 200) == 2 * large + test


def test_a_kernel_is_read_once_and_forgotten_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = made(lambda k, x: loop(k, x, 0, 3))
    before = set(work._counted)
    found = operations(kernel, (None,))
    monkeypatch.setattr(work, "_Reader", None)
    assert operations(kernel, (None,)) == found
    assert set(work._counted) - before == {id(kernel)}
    del kernel
    gc.collect()
    assert set(work._counted) <= before
