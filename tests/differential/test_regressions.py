"""Faults that random programs found, each with a kernel of its own; named after what went wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.locals import STRATEGIES
from ocl_ir.kernel.operands import Ref
from ocl_ir.ops import OPS
from ocl_ir.passes import run as run_passes
from ocl_ir.types import BOOL, F32, F64, I8, I16, I32, I64, U8, U32, U64, DType, Pointer
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.execute.engine import Engine

ITEMS = 8
TURNS = 1000


def arguments(kernel: Kernel) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for param in kernel.params:
        type_ = param.value.type
        assert isinstance(type_, Pointer)
        size = ITEMS * 16
        numbers = np.arange(size) - size // 2 if type_.dtype.kind in {"int", "float"} else np.arange(size)
        made[param.value.hint] = (np.zeros(size) if param.value.hint[0] == "y" else numbers).astype(type_.dtype.numpy)
    return made


def everywhere(kernel: Kernel, engine: Engine) -> None:
    """The interpreter, before and after the passes, and the device in every strategy say the same."""
    wanted = arguments(kernel)
    run(kernel, wanted, (ITEMS,), (4,))
    optimised = arguments(kernel)
    run(run_passes(kernel), optimised, (ITEMS,), (4,))
    results = [("after the passes", optimised)]
    compilations = [compile_kernel(kernel, strategy, engine._dialect) for strategy in STRATEGIES]
    engine.programs.build_together([one.source.part for one in compilations])
    for strategy in STRATEGIES:
        args = {name: (engine.upload(one), 0) for name, one in arguments(kernel).items()}
        engine.submit(engine.executable(kernel, strategy).prepare(args, (ITEMS,), (4,)))
        got = {name: engine.download(args[name][0], one.dtype, one.size).result() for name, one in wanted.items()}
        results.append((strategy, got))
    for (said, got), name in itertools.product(results, wanted):
        np.testing.assert_array_equal(got[name], wanted[name], f"{name}, {said}")


def of_one(make: Callable[[KernelBuilder, Ref], Ref], dtype: DType, count: int = 1) -> Kernel:
    k = KernelBuilder("regression")
    i = k.global_id(0, "i")
    value = make(k, k.load(k.pointer("x", dtype), i * count, count=count))
    k.store(k.pointer("y", value.type if isinstance(value.type, DType) else value.type.dtype), i * count, value)
    return k.build()


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("dtype", [I8, U8, I32, U32, I64, U64], ids=str)
def test_a_constant_shift_by_the_width_or_more(dtype: DType, count: int, engine: Engine) -> None:
    """`min(100, (uint)31)` had arguments of two types, and did not build."""
    k = KernelBuilder("regression")
    i, x = k.global_id(0, "i"), k.pointer("x", dtype)
    for amount in (31, 32, 33, 63, 64, 100):
        value = k.load(x, i * count, count=count)
        k.store(k.pointer(f"y{amount}", dtype), i * count, (value >> amount) + (value << amount) * 3)
    everywhere(k.build(), engine)


def test_a_constant_that_is_shifted_keeps_its_type(engine: Engine) -> None:
    """`1 >> 32` of a long was written as one of an int."""

    def make(k: KernelBuilder, x: Ref) -> Ref:
        v = k.variable(1, I64)  # which the strategy `ssa` turns into the constant
        return ((v ^ (v >> 32)) << 40) + x

    everywhere(of_one(make, I64), engine)


def test_two_literals_of_a_select_keep_their_type(engine: Engine) -> None:
    """`(c ? 1 : 2) - 3` of unsigned values was a negative int."""
    everywhere(of_one(lambda k, x: (k.op("select", x > 3, k.const(1, U32), 2) - 3) >> 1, U32), engine)
    everywhere(of_one(lambda k, x: (k.op("select", x > 3, k.const(1, U64), 2) - 3) >> 40, U64), engine)


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("dtype", [I8, I32, I64, F32], ids=str)
def test_the_negative_of_a_negative(dtype: DType, count: int, engine: Engine) -> None:
    """`--x` is a decrement in C."""
    everywhere(of_one(lambda k, x: k.op("neg", -(x + x)), dtype, count), engine)
    everywhere(of_one(lambda k, x: x - k.op("neg", k.op("neg", -x)), dtype, count), engine)


@pytest.mark.parametrize("leave", ["break_", "return_"])
def test_a_loop_s_header_that_everybody_leaves(leave: str, engine: Engine) -> None:
    """The interpreter asked for a condition that nobody had computed."""
    k = KernelBuilder("regression")
    x, y, i = k.pointer("x", U32), k.pointer("y", U32), k.global_id(0, "i")
    turn = k.variable(0, U32, "turn")
    with k.while_() as loop:
        k.store(y, i, turn)
        with k.if_(k.load(x, i) < 1000):
            getattr(k, leave)()
        limit = k.let(turn * 2, "limit")
        loop.test(limit < 9)
        k.assign(turn, turn + 1)
    k.store(y, i, turn + 5)
    everywhere(k.build(), engine)


def test_a_select_that_is_known_of_variables_that_change(engine: Engine) -> None:
    """The chosen variable was read where the result is used, and not where it was chosen."""
    k = KernelBuilder("regression")
    x, y, i = k.pointer("x", I32), k.pointer("y", I32), k.global_id(0, "i")
    v, w = k.variable(k.load(x, i), hint="v"), k.variable(5, I32, "w")
    for known in (True, False):
        chosen = k.op("select", k.const(known, BOOL), v, w)
        k.assign(v, v * 3)
        k.assign(w, w + 1)
        k.store(y, i * 2 + int(known), chosen)
    everywhere(k.build(), engine)


@pytest.mark.parametrize("dtype", [I32, U32, I64, U64, I16, U8], ids=str)
@pytest.mark.parametrize("op", ["minimum", "maximum"])
def test_the_complement_of_the_smaller_or_larger_number(op: str, dtype: DType, engine: Engine) -> None:
    """Intel's compiler lost it: `~min(x, y)` was `min(x, y)`."""
    k = KernelBuilder("regression")
    x, y, i = k.pointer("x", dtype), k.pointer("y", dtype), k.global_id(0, "i")
    a, b = k.load(x, i), k.load(x, i ^ 1)
    ones = -1 if dtype.kind == "int" else 2**dtype.bits - 1
    turned = [
        k.op("not", k.op(op, a, b)),
        k.op("xor", k.op(op, a, b), ones),
        k.op("sub", k.const(ones, dtype), k.op(op, a, b)),
        k.op(op, k.op("not", a), b),
        k.op(op, k.op("not", a), k.op("not", b)),
        k.op("not", k.op("select", k.op("lt", a, b), a, b)),
    ]
    for number, value in enumerate(turned):
        k.store(y, i * len(turned) + number, value)
    everywhere(k.build(), engine)


@pytest.mark.parametrize("op", ["minimum", "maximum"])
def test_minimum_and_maximum_of_zeros_take_the_second(op: str, engine: Engine) -> None:
    """NumPy leaves the sign to the processor, and common subexpressions took one order for the other."""

    def make(k: KernelBuilder, x: Ref) -> Ref:
        zero, minus = k.let(x * 0.0 + 0.0, "zero"), k.let(-(x * 0.0 + 0.0), "minus")
        return k.op("copysign", x * x, k.op(op, zero, minus)) + k.op(
            "copysign", k.const(3.0, F32), k.op(op, minus, zero)
        )

    everywhere(of_one(make, F32), engine)


def _joined(k: KernelBuilder, sum_: Ref, x: Ref) -> None:
    k.assign(sum_, sum_ + x)


def _taken_away(k: KernelBuilder, sum_: Ref, x: Ref) -> None:
    k.assign(sum_, sum_ - x)


def _multiplied(k: KernelBuilder, sum_: Ref, x: Ref) -> None:
    k.assign(sum_, sum_ * (x * 0.01 + 1.0))


def _joined_if_positive(k: KernelBuilder, sum_: Ref, x: Ref) -> None:
    with k.if_(x > 0.0):
        k.assign(sum_, sum_ + x)


_Change = Callable[[KernelBuilder, Ref, Ref], None]
_CHANGES: list[_Change] = [_joined, _taken_away, _multiplied, _joined_if_positive]
_PLACES = ["variable", "while", "memory"]


@cache
def _carrying(dtype: DType, where: str, turn: _Change) -> Kernel:
    k = KernelBuilder("regression")
    x, y = k.pointer("x", dtype), k.pointer("y", dtype, restrict=True)
    sum_ = k.variable(k.const(1.0, dtype), hint="sum")
    if where == "while":
        number = k.variable(k.const(0, U32), hint="number")
        with k.while_() as loop:
            loop.test(number < TURNS)
            turn(k, sum_, k.load(x, number))
            k.assign(number, number + 1)
    else:
        k.store(y, 0, sum_)
        with k.for_(0, TURNS, unroll=4) as i:
            carried = sum_ if where == "variable" else k.variable(k.load(y, 0))
            turn(k, carried, k.load(x, i))
            if where == "memory":
                k.store(y, 0, carried)
    if where != "memory":
        k.store(y, 0, sum_)
    return k.build()


@pytest.mark.parametrize("turn", _CHANGES)
@pytest.mark.parametrize("where", _PLACES)
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_a_loop_that_carries_a_float_keeps_its_order(dtype: DType, where: str, turn: _Change, engine: Engine) -> None:
    """Intel's CPU compiler made vectors of such loops: of sums, 16 at once that it joined behind the loop."""
    if not engine.device.capabilities.computes(str(dtype)):
        pytest.skip(f"the device has no {dtype}")
    engine.executables([_carrying(dtype, *one) for one in itertools.product(_PLACES, _CHANGES)])  # as one program
    kernel = _carrying(dtype, where, turn)
    given = np.random.default_rng(1).standard_normal(TURNS).astype(dtype.numpy)
    wanted = np.zeros(1, dtype.numpy)
    run(kernel, {"x": given, "y": wanted}, (1,), (1,))
    args = {"x": (engine.upload(given), 0), "y": (engine.upload(np.zeros_like(wanted)), 0)}
    engine.submit(engine.executable(kernel).prepare(args, (1,), (1,)))
    assert engine.download(args["y"][0], wanted.dtype, 1).result().tobytes() == wanted.tobytes()


@pytest.mark.parametrize("unroll", [0, 4])
@pytest.mark.parametrize("how", ["start", "while", "break"])
def test_a_loop_in_a_loop_that_work_items_leave_at_different_turns(how: str, unroll: int, engine: Engine) -> None:
    """PoCL ran the inner loop for the whole group, as often as for one work-item, where the kernel has a barrier."""
    k = KernelBuilder("regression")
    x, y, i = k.pointer("x", U32), k.pointer("y", U32), k.global_id(0, "i")
    odd, turns, sum_ = k.let(i & 1, "odd"), k.let(k.load(x, 5), "turns"), k.variable(1, U32, "sum")
    k.barrier()

    def inner(a: Ref) -> None:
        with k.for_(0, turns, unroll=unroll) as b:
            k.assign(sum_, sum_ * 31 + a + b)

    if how == "start":
        with k.for_(odd, 4) as a:
            inner(a)
    elif how == "while":
        turn = k.variable(odd, hint="turn")
        with k.while_() as loop:
            loop.test(turn < 4)
            inner(turn)
            k.assign(turn, turn + 1)
    else:
        with k.for_(0, 4) as a:
            inner(a)
            with k.if_(a == odd):
                k.break_()
    k.store(y, i, sum_)
    everywhere(k.build(), engine)


_UNHELD = [np.inf, -np.inf, np.nan, 1e30, 3e9]


@cache
def _rounding(name: str, dtype: DType, value: float) -> Kernel:
    k = KernelBuilder("regression")
    n, y = k.scalar("n", U32), k.pointer("y", dtype)
    known = k.variable(k.const(value, dtype), hint="known")  # to the compiler, not to our passes
    result = k.variable(k.const(5.0, dtype), hint="result")
    with k.for_(n, 2):
        k.assign(result, k.op(name, known))
        k.assign(known, k.const(value, dtype))
    k.store(y, 0, result)
    return k.build()


@pytest.mark.parametrize("value", _UNHELD)
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", ["rint", "floor", "ceil", "trunc"])
def test_rounding_what_no_integer_holds(name: str, dtype: DType, value: float, engine: Engine) -> None:
    """PoCL took the code behind for unreachable where its compiler knew the operand: the result stayed 5, or a loop in
    front of it did not end."""
    if not engine.device.capabilities.computes(str(dtype)):
        pytest.skip(f"the device has no {dtype}")
    engine.executables([_rounding(name, dtype, one) for one in _UNHELD])  # as one program
    kernel = _rounding(name, dtype, value)
    args = {"n": np.uint32(1), "y": (engine.upload(np.zeros(1, dtype.numpy)), 0)}
    engine.submit(engine.executable(kernel).prepare(args, (1,), (1,)))
    expected = OPS[name].reference(np.array([value], dtype.numpy))
    np.testing.assert_array_equal(engine.download(args["y"][0], dtype.numpy, 1).result(), expected)


@pytest.mark.parametrize("value", _UNHELD)
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_floor_division_of_what_no_integer_holds(dtype: DType, value: float, engine: Engine) -> None:
    """It rounds down, which PoCL took for unreachable where it knew the quotient to be infinite or NaN."""
    if not engine.device.capabilities.computes(str(dtype)):
        pytest.skip(f"the device has no {dtype}")
    k = KernelBuilder("regression")
    i, y = k.global_id(0, "i"), k.pointer("y", dtype)
    divisor = k.variable(k.load(k.pointer("x", dtype), i), hint="divisor")
    k.assign(divisor, k.const(1.0, dtype))
    with k.for_(0, 2):
        k.store(y, i, k.op("floordiv", k.const(value, dtype), divisor))
    everywhere(k.build(), engine)


def test_rounding_of_two_dtypes_in_one_kernel(engine: Engine) -> None:
    """The helper functions of both had one name."""
    if not engine.device.capabilities.computes("f64"):
        pytest.skip("the device has no f64")
    k = KernelBuilder("regression")
    i = k.global_id(0, "i")
    for number, dtype in enumerate((F32, F64)):
        value = k.load(k.pointer(f"x{number}", dtype), i) * k.const(0.7, dtype)
        k.store(k.pointer(f"y{number}", dtype), i, k.op("floor", value) + k.op("rint", value))
    everywhere(k.build(), engine)
