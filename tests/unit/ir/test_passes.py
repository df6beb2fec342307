"""What each pass does and, just as important, what it leaves alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ocl_ir.errors import VerifyError
from ocl_ir.interpret.kernel import run as interpret
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Block, Const, For, If, Kernel, Let, Load, Local, Stmt, Store, Value, While, walk
from ocl_ir.kernel.operands import Ref
from ocl_ir.kernel.printer import text
from ocl_ir.kernel.verify import verify
from ocl_ir.ops import PARTIAL
from ocl_ir.passes import PIPELINE, Pass, run
from ocl_ir.passes.cse import cse
from ocl_ir.passes.dce import dce
from ocl_ir.passes.division import division
from ocl_ir.passes.fold import fold
from ocl_ir.passes.hoist import hoist
from ocl_ir.passes.vectorize import vectorize
from ocl_ir.types import BF16, BOOL, F16, F32, F64, I8, I32, U8, U16, U32, U64, DType, Vector
from tests.support.cases import CASES, Case

Make = Callable[[KernelBuilder], None]


def built(make: Make) -> Kernel:
    k = KernelBuilder("demo")
    make(k)
    kernel = k.build()
    verify(kernel)
    return kernel


def after(pass_: Pass, make: Make) -> Kernel:
    """The kernel after one pass; it must be well formed and mean the same."""
    before = built(make)
    kernel = pass_(before)
    verify(kernel)
    wanted, got = (arguments(before), arguments(before))
    interpret(before, wanted, (4,), (4,))
    interpret(kernel, got, (4,), (4,))
    for name, array in wanted.items():
        if isinstance(array, np.ndarray):
            np.testing.assert_array_equal(got[name], array, name)
    return kernel


def arguments(kernel: Kernel) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    made: dict[str, Any] = {}
    for param in kernel.params:
        type_ = param.value.type
        if isinstance(type_, DType):
            made[param.value.hint] = type_.numpy.type(3)
        else:
            dtype = getattr(type_, "dtype").numpy  # noqa: B009
            made[param.value.hint] = rng.integers(0, 100, 256).astype(dtype)
    return made


def lines(kernel: Kernel) -> list[str]:
    """The body's lines, without indentation."""
    return [line.strip() for line in text(kernel).splitlines()[1:]]


def ops(kernel: Kernel) -> list[str]:
    return [stmt.op for stmt in walk(kernel.body) if isinstance(stmt, Let)]


def count(kernel: Kernel, kind: type[Stmt]) -> int:
    return sum(isinstance(stmt, kind) for stmt in walk(kernel.body))


def body_of_loop(kernel: Kernel) -> Block:
    loop = next(stmt for stmt in walk(kernel.body) if isinstance(stmt, For | While))
    return loop.body


def expression(make: Callable[[KernelBuilder, Ref], Ref], dtype: DType) -> Make:
    """A kernel that stores one expression of `x`, a loaded value."""

    def kernel(k: KernelBuilder) -> None:
        i = k.global_id(0, "i")
        x = k.load(k.pointer("p", dtype), i, hint="x")
        value = make(k, x)
        k.store(k.pointer("y", value.type), i, value)  # type: ignore[arg-type]

    return kernel


def stored(kernel: Kernel) -> str:
    """What the last store of the text stores."""
    return next(line for line in reversed(lines(kernel)) if line.startswith("store")).partition(" = ")[2]


# ---------------------------------------------------------------------- fold


@pytest.mark.parametrize(
    ("make", "dtype", "gives"),
    [
        (lambda k, x: x + 0, I32, "x"),
        (lambda k, x: 0 + x, I32, "x"),
        (lambda k, x: x - 0, U8, "x"),
        (lambda k, x: x * 1, I32, "x"),
        (lambda k, x: 1 * x, F32, "x"),
        (lambda k, x: x * 1.0, F32, "x"),
        (lambda k, x: x / 1.0, F32, "x"),
        (lambda k, x: x * 0, I32, "0:i32"),
        (lambda k, x: x // 1, I32, "x"),
        (lambda k, x: x % 1, I32, "0:i32"),
        (lambda k, x: k.op("udiv", x, 1), U32, "x"),
        (lambda k, x: k.op("urem", x, 1), U32, "0:u32"),
        (lambda k, x: x << 0, I32, "x"),
        (lambda k, x: x >> 0, I32, "x"),
        (lambda k, x: k.op("select", k.const(True, BOOL), x, 5), I32, "x"),
        (lambda k, x: k.op("select", k.const(False, BOOL), x, 5), I32, "5:i32"),
        (lambda k, x: k.op("select", x > 3, x, x), I32, "x"),
        (lambda k, x: k.let(x), I32, "x"),
        (lambda k, x: k.const(7, I32) + 5, I32, "12:i32"),
        (lambda k, x: k.const(127, I8) + 1, I32, "-128:i8"),  # wraps
        (lambda k, x: k.const(2**31, U32) * 2, I32, "0:u32"),
        (lambda k, x: -k.const(-128, I8), I32, "-128:i8"),
        (lambda k, x: k.const(0, U32) - 1, I32, "4294967295:u32"),
        (lambda k, x: k.const(-7, I32) // 2, I32, "-4:i32"),
        (lambda k, x: k.const(-7, I32) % 3, I32, "2:i32"),
        (lambda k, x: k.const(1, I32) // 0, I32, "0:i32"),  # NumPy's answer, and the device's
        (lambda k, x: k.const(1, U32) << 40, I32, "0:u32"),
        (lambda k, x: k.const(-1, I32) >> 99, I32, "-1:i32"),
        (lambda k, x: k.const(2, I32) < 3, I32, "true:bool"),
        (lambda k, x: k.const(0.1, F32) + 0.2, F32, repr(float(np.float32(0.1) + np.float32(0.2))) + ":f32"),
        (lambda k, x: -k.const(0.0, F32), F32, "-0.0:f32"),
        (lambda k, x: k.const(0.0, F32) * -1.0, F32, "-0.0:f32"),
        (lambda k, x: k.op("floor", k.const(-0.5, F32)), F32, "-1.0:f32"),
        (lambda k, x: k.const(1e30, F32) * 1e30, F32, "inf:f32"),
        (lambda k, x: k.op("isnan", k.const(float("nan"), F32)), F32, "true:bool"),
        (lambda k, x: k.op("eq", k.const(float("nan"), F32), float("nan")), F32, "false:bool"),
        (lambda k, x: k.const(-0.0, F32) == 0.0, F32, "true:bool"),
        (lambda k, x: k.convert(k.const(-1.9, F32), I32), F32, "-1:i32"),
        (lambda k, x: k.convert(k.const(300, I32), U8), I32, "44:u8"),
        (lambda k, x: k.convert(k.const(-1, I32), BOOL), I32, "true:bool"),
        (lambda k, x: k.convert(k.const(16777217, I32), F32), I32, "16777216.0:f32"),
        (lambda k, x: k.convert(k.const(1e-8, F64), F16), I32, "0.0:f16"),
        (lambda k, x: k.const(6.0, F64) / 3.0, F64, "2.0:f64"),  # exact in float64 only
    ],
)  # fmt: skip
def test_fold_makes(make: Callable[[KernelBuilder, Ref], Ref], dtype: DType, gives: str) -> None:
    assert stored(after(fold, expression(make, dtype))) == gives


@pytest.mark.parametrize(
    ("make", "dtype"),
    [
        (lambda k, x: x + 0.0, F32),  # -0.0 + 0.0 is 0.0
        (lambda k, x: 0.0 + x, F32),
        (lambda k, x: x - 0.0, F32),
        (lambda k, x: x * 0.0, F32),  # NaN, infinity, and the sign
        (lambda k, x: x - x, F32),
        (lambda k, x: x / x, F32),
        (lambda k, x: x == x, F32),  # noqa: PLR0124   false for NaN
        (lambda k, x: x // 1.0, F32),  # floor
        (lambda k, x: x % 1.0, F32),
        (lambda k, x: (x + 1.0) + 2.0, F32),  # rounds twice
        (lambda k, x: (x * 3.0) * 2.0, F32),
        (lambda k, x: (x - 1) - 2, I32),
        (lambda k, x: k.op("pow", x, 1.0), F32),
        (lambda k, x: k.op("sin", k.const(1.0, F32)), F32),  # the device's own sine
        (lambda k, x: k.op("exp", k.const(0.0, F32)), F32),
        (lambda k, x: k.const(1.0, F32) / 3.0, F32),  # 2.5 ULP
        (lambda k, x: k.op("fma", k.const(1.5, F32), 2.0, 3.0), F32),
        (lambda k, x: k.op("udiv", k.const(1, U32), 0), U32),  # undefined: stays for the interpreter to report
        (lambda k, x: k.op("urem", k.const(1, U32), 0), U32),
        (lambda k, x: k.convert(k.const(1e10, F32), I32), F32),  # out of range: the device's own answer
        (lambda k, x: k.convert(k.const(float("nan"), F32), I32), F32),
        (lambda k, x: k.convert(k.const(-1.0, F32), U8), F32),
    ],
)
def test_fold_leaves_alone(make: Callable[[KernelBuilder, Ref], Ref], dtype: DType) -> None:
    kernel = built(expression(make, dtype))
    assert text(fold(kernel)) == text(kernel)


def test_fold_adds_up_constants_of_wrapping_sums_and_products() -> None:
    kernel = after(fold, expression(lambda k, x: ((x + 100) + 100) * 1, I8))
    assert "let sum_1: i8 = add x, -56:i8" in lines(kernel)
    kernel = after(fold, expression(lambda k, x: 3 * (x * 5), U32))
    assert "let product_1: u32 = mul x, 15:u32" in lines(kernel)


def test_fold_works_on_vectors() -> None:
    def make(k: KernelBuilder) -> None:
        p, i = k.pointer("p", F32), k.global_id(0, "i")
        x = k.load(p, i * 4, count=4, hint="x")
        k.store(k.pointer("y", F32), i * 4, (x + k.splat(k.const(2.0, F32) * 3.0, 4)) * 1.0)

    kernel = after(fold, make)
    assert "let sum: f32x4 = add x, 6.0:f32x4" in lines(kernel)
    assert stored(kernel) == "sum"


@pytest.mark.parametrize(
    "make",
    [
        lambda k, v: v + 0,
        lambda k, v: v * 1,
        lambda k, v: v << 0,
        lambda k, v: k.let(v),
        lambda k, v: k.op("select", k.const(True, BOOL), v, 5),
        lambda k, v: k.op("select", k.const(False, BOOL), 5, v),
        lambda k, v: k.op("select", v > 3, v, v),
        lambda k, v: (v + 1) + 2,
    ],
)
@pytest.mark.parametrize("pass_", [fold, cse, hoist, dce, run], ids=lambda one: one.__name__)
def test_what_a_variable_held_is_not_what_it_holds(make: Callable[[KernelBuilder, Ref], Ref], pass_: Pass) -> None:
    """Any value made of a variable is a snapshot: the variable changes before the value is used."""

    def kernel(k: KernelBuilder) -> None:
        i = k.global_id(0, "i")
        v = k.variable(k.load(k.pointer("p", I32), i), hint="v")
        kept = make(k, v)
        k.assign(v, 77)
        again = make(k, v)
        k.store(k.pointer("y", I32), i, kept)
        k.store(k.pointer("z", I32), i, again)

    after(pass_, kernel)


def test_fold_takes_the_branch_that_is_known() -> None:
    def make(k: KernelBuilder) -> None:
        y, i = k.pointer("y", U32), k.global_id(0, "i")
        with k.if_(k.const(3, U32) > 2):
            k.store(y, i, 1)
        with k.else_():
            k.store(y, i, 2)
        with k.if_(k.const(3, U32) < 2):
            k.store(y, i, 3)

    kernel = after(fold, make)
    assert count(kernel, If) == 0
    assert count(kernel, Store) == 1


def loops_after_folding(start: int, stop: int, step: int, inner: Callable[[KernelBuilder], None]) -> tuple[int, str]:
    """How many loops are left, and what is stored."""
    k = KernelBuilder("loop")
    y = k.pointer("y", I32)
    with k.for_(start, stop, step, dtype=I32, hint="turn") as turn:
        k.store(y, turn, turn * 2 + 1)
        inner(k)
    folded = fold(k.build())
    verify(folded)
    stores = [str(stmt.value) for stmt in walk(folded.body) if isinstance(stmt, Store)]
    return sum(isinstance(stmt, For) for stmt in walk(folded.body)), " ".join(stores)


def test_fold_writes_out_loops_of_one_turn() -> None:
    nothing = lambda k: None  # noqa: E731
    assert loops_after_folding(3, 4, 1, nothing) == (0, str(Const(7, I32)))
    assert loops_after_folding(3, 9, 8, nothing) == (0, str(Const(7, I32)))
    assert loops_after_folding(3, 3, 1, nothing) == (0, "")
    assert loops_after_folding(3, 5, 1, nothing)[0] == 1


def test_fold_keeps_loops_of_one_turn_that_are_left_before_its_end() -> None:
    def left(k: KernelBuilder) -> None:
        with k.if_(k.global_id(0, "i") > 5):
            k.break_()

    def inner_is_left(k: KernelBuilder) -> None:
        with k.for_(0, k.global_id(0, "i"), hint="other"):
            k.break_()

    assert loops_after_folding(0, 1, 1, left)[0] == 1
    assert loops_after_folding(0, 1, 1, inner_is_left)[0] == 1, "the inner one"


@pytest.mark.parametrize("leave", ["return_", "break_", "continue_"])
def test_fold_leaves_nothing_behind_a_branch_that_always_leaves(leave: str) -> None:
    def make(k: KernelBuilder) -> None:
        y, i = k.pointer("y", U32), k.global_id(0, "i")
        with k.for_(0, 3) as j:
            k.store(y, i, j)
            with k.if_(k.const(True, BOOL)):
                getattr(k, leave)()
            k.store(y, i, 9)

    assert count(after(fold, make), Store) == 1


@pytest.mark.parametrize("leave", ["return_", "break_"])
def test_fold_of_a_branch_that_always_leaves_in_a_loop_s_header(leave: str) -> None:
    """What makes the condition is never reached, and the condition must not ask for it."""

    def make(k: KernelBuilder) -> None:
        y, i = k.pointer("y", U32), k.global_id(0, "i")
        turn = k.variable(0, U32, "turn")
        with k.while_() as loop:
            k.store(y, i, 4)
            with k.if_(k.const(True, BOOL)):
                getattr(k, leave)()
            loop.test(turn + 1 < 5)
            k.assign(turn, turn + 1)
        k.store(y, i + 4, turn)

    assert count(after(fold, make), Store) == 2


# ---------------------------------------------------------------------- common subexpressions


def two_of(make: Callable[[KernelBuilder, Ref, Ref], Ref], dtype: DType = I32) -> Make:
    def kernel(k: KernelBuilder) -> None:
        i = k.global_id(0, "i")
        a, b = (k.load(k.pointer(name, dtype, restrict=True), i, hint=name) for name in "ab")
        k.store(k.pointer("y", dtype), i, make(k, a, b) - make(k, a, b))

    return kernel


@pytest.mark.parametrize("op", ["add", "sub", "mul", "floordiv", "rem", "minimum"])
@pytest.mark.parametrize("dtype", [I32, F32], ids=str)
def test_cse_computes_once(op: str, dtype: DType) -> None:
    assert ops(after(cse, two_of(lambda k, a, b: k.op(op, a, b), dtype))).count(op) == (2 if op == "sub" else 1)


@pytest.mark.parametrize(("op", "once"), [("add", True), ("mul", True), ("sub", False), ("atan2", False)])
def test_cse_knows_which_operations_commute(op: str, once: bool) -> None:
    def kernel(k: KernelBuilder) -> None:
        i = k.global_id(0, "i")
        a, b = (k.load(k.pointer(name, F32), i, hint=name) for name in "ab")
        k.store(k.pointer("y", F32), i, k.op("copysign", k.op(op, a, b), k.op(op, b, a)))

    assert ops(after(cse, kernel)).count(op) == (1 if once else 2)


@pytest.mark.parametrize("op", ["minimum", "maximum"])
def test_cse_keeps_the_zero_that_minimum_and_maximum_take_from_the_second(op: str) -> None:
    """minimum(0.0, -0.0) is -0.0, and minimum(-0.0, 0.0) is 0.0."""
    k = KernelBuilder("zeros")
    a, b = (k.load(k.pointer(name, F32), 0, hint=name) for name in "ab")
    y = k.pointer("y", F32)
    k.store(y, 0, k.op(op, a, b))
    k.store(y, 1, k.op(op, b, a))
    for kernel in (k.build(), run(k.build())):
        y_ = np.full(2, 7, np.float32)
        interpret(kernel, {"a": np.zeros(1, np.float32), "b": -np.zeros(1, np.float32), "y": y_}, (1,))
        assert np.signbit(y_).tolist() == [True, False]


def test_cse_tells_types_apart() -> None:
    def kernel(k: KernelBuilder) -> None:
        i = k.global_id(0, "i")
        a = k.load(k.pointer("a", I32), i, hint="a")
        k.store(k.pointer("y", U64), i, k.convert(k.convert(a, U8), U64) + k.convert(k.convert(a, U16), U64))
        k.store(k.pointer("z", F32), i, k.bitcast(a, F32))
        k.store(k.pointer("w", U32), i, k.bitcast(a, U32))

    kernel_ = built(kernel)
    assert text(cse(kernel_)) == text(kernel_)


def test_cse_tells_zeros_apart_and_knows_nan() -> None:
    def kernel(k: KernelBuilder) -> None:
        i = k.global_id(0, "i")
        a = k.load(k.pointer("a", F32), i, hint="a")
        y = k.pointer("y", F32)
        for place, number in enumerate((0.0, -0.0, float("nan"), float("nan"))):
            k.store(y, place * 4 + i, k.op("copysign", a, number))

    assert ops(after(cse, kernel)).count("copysign") == 3


def test_cse_what_a_branch_computes_is_not_known_behind_it_or_in_the_other() -> None:
    def kernel(k: KernelBuilder) -> None:
        y, i = k.pointer("y", U32), k.global_id(0, "i")
        with k.if_(i < 2):
            k.store(y, i, i * 3)
        with k.else_():
            k.store(y, i, i * 3)
        k.store(y, i + 4, i * 3)

    assert ops(after(cse, kernel)).count("mul") == 3


def test_cse_what_is_computed_before_is_known_inside() -> None:
    def kernel(k: KernelBuilder) -> None:
        y, i = k.pointer("y", U32), k.global_id(0, "i")
        k.store(y, i, i * 3)
        with k.for_(0, 2), k.if_(i < 2):
            k.store(y, i, i * 3)

    assert ops(after(cse, kernel)).count("mul") == 1


def loads_twice(k: KernelBuilder, between: Callable[[Ref, Ref, Ref], None] | None, **pointer: Any) -> None:
    a, i = k.pointer("a", I32, **pointer), k.global_id(0, "i")
    y = k.pointer("y", I32)
    first = k.load(a, i, hint="first")
    if between is not None:
        between(a, y, i)
    second = k.load(a, i, hint="second")
    k.store(k.pointer("z", I32), i, first * 10 + second)


def test_cse_loads_of_memory_that_cannot_change() -> None:
    assert count(after(cse, lambda k: loads_twice(k, None, restrict=True)), Load) == 1
    assert count(after(cse, lambda k: loads_twice(k, None, space="constant")), Load) == 1


def test_cse_does_not_take_a_load_across_a_store_that_may_touch_it() -> None:
    """To the same pointer, or to another one whose memory may overlap."""

    def same(k: KernelBuilder) -> None:
        loads_twice(k, lambda a, y, i: k.store(a, i, 5), restrict=True)

    def other(k: KernelBuilder) -> None:
        loads_twice(k, lambda a, y, i: k.store(y, i, 5))

    def atomic(k: KernelBuilder) -> None:
        loads_twice(k, lambda a, y, i: k.atomic("add", a, i, 1, used=False), restrict=True)  # type: ignore[arg-type,return-value]

    assert count(after(cse, same), Load) == 2
    assert count(after(cse, other), Load) == 2
    assert count(cse(built(atomic)), Load) == 2
    kernel = cse(built(other))
    shared = np.arange(4, dtype=np.int32)
    interpret(kernel, {"a": shared, "y": shared, "z": np.zeros(4, np.int32)}, (4,), (1,))


def test_cse_does_not_take_loads_of_arrays_of_the_kernel() -> None:
    def kernel(k: KernelBuilder) -> None:
        i, item = k.global_id(0, "i"), k.item("local_id", hint="item")
        tile = k.array(U32, 4, hint="tile")
        k.store(tile, item, i)
        k.barrier()
        other = item ^ 3
        k.store(k.pointer("y", U32), i, k.load(tile, other) * 10 + k.load(tile, other))

    assert count(after(cse, kernel), Load) == 2


def test_cse_reads_of_a_variable_depend_on_when() -> None:
    def kernel(k: KernelBuilder) -> None:
        i = k.global_id(0, "i")
        v = k.variable(i, hint="v")
        first = v * 3
        k.assign(v, v + 1)
        k.store(k.pointer("y", U32), i, first * 100 + v * 3)

    assert ops(after(cse, kernel)).count("mul") == 3


# ---------------------------------------------------------------------- hoist


def in_a_loop(make: Callable[[KernelBuilder, Ref, Ref], Ref], kind: str = "for", turns: int = 3) -> Make:
    def kernel(k: KernelBuilder) -> None:
        n, i = k.scalar("n", U32), k.global_id(0, "i")
        total = k.variable(0, U32, "total")
        if kind == "for":
            with k.for_(0, turns) as j:
                k.assign(total, total + make(k, n, j))
        else:
            turn = k.variable(0, U32, "turn")
            with k.while_() as loop:
                loop.test(turn < turns)
                k.assign(turn, turn + 1)
                k.assign(total, total + make(k, n, i))
        k.store(k.pointer("y", U32), i, total)

    return kernel


@pytest.mark.parametrize("kind", ["for", "while"])
def test_hoist_takes_out_what_does_not_change(kind: str) -> None:
    kernel = after(hoist, in_a_loop(lambda k, n, j: k.let((n * 7) ^ 5, "fixed"), kind))
    inside = {stmt.op for stmt in body_of_loop(kernel) if isinstance(stmt, Let)}
    assert not inside & {"mul", "xor", "copy"}


def test_hoist_takes_out_of_all_loops_at_once() -> None:
    def kernel(k: KernelBuilder) -> None:
        n, i = k.scalar("n", U32), k.global_id(0, "i")
        total = k.variable(0, U32, "total")
        with k.for_(0, 2) as outer, k.for_(0, 2) as inner:
            k.assign(total, total + (n * 7) * (outer * 3) + inner)
        k.store(k.pointer("y", U32), i, total)

    hoisted = after(hoist, kernel)
    outer = next(stmt for stmt in hoisted.body if isinstance(stmt, For))
    assert sum(isinstance(stmt, Let) and stmt.op == "mul" for stmt in hoisted.body) == 1  # n * 7
    assert [stmt.op for stmt in outer.body if isinstance(stmt, Let)].count("mul") == 2


@pytest.mark.parametrize(
    ("make", "op"),
    [
        (lambda k, n, j: k.op("udiv", 100, n), "udiv"),  # n could be 0, and the loop run no turn
        (lambda k, n, j: k.op("urem", 100, n), "urem"),
        (lambda k, n, j: j * 7, "mul"),
    ],
)
def test_hoist_leaves_in_the_loop(make: Callable[[KernelBuilder, Ref, Ref], Ref], op: str) -> None:
    kernel = after(hoist, in_a_loop(make))
    assert op in {stmt.op for stmt in body_of_loop(kernel) if isinstance(stmt, Let)}


@pytest.mark.parametrize("op", sorted(PARTIAL))
def test_hoist_and_fold_never_make_a_zero_divisor_run(op: str) -> None:
    """The loop runs no turn, and so never divides."""
    kernel = built(in_a_loop(lambda k, n, j: _divided(k, op, n), turns=0))
    guarded = built(lambda k: _guarded_division(k, op))
    for one, args in ((kernel, {"n": np.uint32(0)}), (guarded, {"n": np.uint32(0)})):
        got = np.full(4, 9, np.uint32)
        interpret(run(one), {**args, "y": got}, (4,), (4,))


def _guarded_division(k: KernelBuilder, op: str) -> None:
    n, i, y = k.scalar("n", U32), k.global_id(0, "i"), k.pointer("y", U32)
    with k.if_(n > 0):
        k.store(y, i, _divided(k, op, n))


def _divided(k: KernelBuilder, op: str, n: Ref) -> Ref:
    dtype = I32 if op[0] == "s" else U32
    return k.convert(k.op(op, 100, k.convert(n, dtype)), U32)


def test_divisions_of_what_is_never_negative_are_plain() -> None:
    def kernel(k: KernelBuilder) -> None:
        i, n, m = k.global_id(0, "i", I32), k.scalar("n", I32, low=1), k.scalar("m", I32)
        y = k.pointer("y", I32)
        for dividend, divisor in ((i, n), (n - 1, 3), ((m & 7) * 2, n), (i, m), (m, 3), (i - 1, 3), (i, 0)):
            k.store(y, i, (dividend // divisor) + (dividend % divisor))

    plain = [stmt.op for stmt in walk(after(division, kernel).body) if isinstance(stmt, Let) and stmt.op[-3:] != "add"]
    divisions = [op for op in plain if op in {"floordiv", "rem", "sdiv", "srem"}]
    assert divisions == ["sdiv", "srem"] * 3 + ["floordiv", "rem"] * 4


def test_divisions_by_unsigned_numbers_are_plain() -> None:
    def kernel(k: KernelBuilder) -> None:
        i, y = k.global_id(0, "i"), k.pointer("y", U32)
        k.store(y, i, (i // 3) + (i % 4))

    assert ops(after(division, kernel)) == ["global_id", "udiv", "urem", "add"]


def test_divisions_by_unsigned_values_and_of_floats_stay() -> None:
    def kernel(k: KernelBuilder) -> None:
        i, n, y = k.global_id(0, "i"), k.scalar("n", U32), k.pointer("y", F32)
        k.store(y, i, k.convert(((i // n) % (n + 1)) // 0, F32) // 2.0)

    assert after(division, kernel) == built(kernel)


@pytest.mark.parametrize(("dtype", "stored", "kept"), [(F16, "f16", 0), (BF16, "bf16", 0), (F16, "bf16", 1)])
def test_fold_leaves_rounding_to_the_store(dtype: DType, stored: str, kept: int) -> None:
    def kernel(k: KernelBuilder) -> None:
        x, y, i = k.pointer("x", F32), k.pointer("y", dtype), k.global_id(0, "i")
        rounded = k.op(f"round_{stored}", k.load(x, i) * 3.0)
        k.store(y, i, rounded)

    assert ops(dce(after(fold, kernel))).count(f"round_{stored}") == kept


def test_hoist_never_moves_loads() -> None:
    """A loop that runs no turn must not touch memory."""

    def kernel(k: KernelBuilder) -> None:
        i = k.global_id(0, "i")
        p, total = k.pointer("p", U32, space="constant"), k.variable(0, U32, "total")
        with k.for_(0, 0):
            k.assign(total, total + k.load(p, 100000))
        k.store(k.pointer("y", U32), i, total)

    hoisted = after(hoist, kernel)
    assert any(isinstance(stmt, Load) for stmt in body_of_loop(hoisted))


def test_hoist_leaves_what_reads_variables() -> None:
    def kernel(k: KernelBuilder) -> None:
        i = k.global_id(0, "i")
        v, total = k.variable(i, hint="v"), k.variable(0, U32, "total")
        with k.for_(0, 3):
            k.assign(total, total + v * 7)
            k.assign(v, v + 1)
        k.store(k.pointer("y", U32), i, total)

    hoisted = after(hoist, kernel)
    assert "mul" in {stmt.op for stmt in body_of_loop(hoisted) if isinstance(stmt, Let)}


def test_hoist_leaves_what_stands_in_a_branch_and_what_is_read_in_the_header() -> None:
    def kernel(k: KernelBuilder) -> None:
        n, i = k.scalar("n", U32), k.global_id(0, "i")
        turn = k.variable(0, U32, "turn")
        with k.while_() as loop:
            limit = k.let(n + 2, "limit")
            loop.test(turn < limit)
            with k.if_(i < 2):
                k.store(k.pointer("y", U32), i, n * 9)
            k.assign(turn, turn + 1)

    hoisted = after(hoist, kernel)
    loop = next(stmt for stmt in hoisted.body if isinstance(stmt, While))
    assert [stmt.op for stmt in loop.header if isinstance(stmt, Let)] == ["lt"]
    assert "mul" in [stmt.op for stmt in walk(loop.body) if isinstance(stmt, Let)]


# ---------------------------------------------------------------------- dead code


def test_dce_removes_what_nobody_reads() -> None:
    def kernel(k: KernelBuilder) -> None:
        i = k.global_id(0, "i")
        p = k.pointer("p", U32)
        k.let(k.load(p, i) * 3, "unused")
        written = k.variable(0, U32, "written")
        with k.if_(i < 2):
            k.assign(written, 5)
        with k.for_(0, 100):
            k.let(i + 1)
        k.array(F32, 10, space="private")
        k.store(k.pointer("y", U32), i, i)

    assert lines(after(dce, kernel)) == ["let i: u32 = global_id 0:u32", "store y[i] = i"]


def test_dce_keeps_effects() -> None:
    def kernel(k: KernelBuilder) -> None:
        i, y, c = k.global_id(0, "i"), k.pointer("y", U32), k.pointer("c", U32)
        tile = k.array(U32, 4, hint="tile")
        k.atomic("add", c, 0, 1)
        k.store(tile, i & 3, i)
        k.barrier()
        turn = k.variable(0, U32, "turn")
        with k.while_() as loop:
            loop.test(turn < 3)
            k.assign(turn, turn + 1)
            with k.if_(i == turn):
                k.break_()
        with k.if_(i > 2):
            k.return_()
        k.store(y, i, 7)

    before = built(kernel)
    assert text(dce(before)) == text(before)


def test_dce_keeps_what_a_parameter_s_length_reads() -> None:
    k = KernelBuilder("demo")
    n = k.scalar("n", U32)
    p = k.pointer("p", U32, length=n)
    k.store(p, 0, 1)
    verify(dce(k.build()))


# ---------------------------------------------------------------------- vectorize


def lane_loop(
    body: Callable[[KernelBuilder, Ref, Ref, dict[str, Ref]], None],
    start: int = 0,
    stop: int = 4,
    step: int = 1,
    base: Callable[[Ref], Ref] = lambda i: i * 4,
    align: int = 16,
    dtype: DType = F32,
) -> Make:
    def kernel(k: KernelBuilder) -> None:
        pointers = {name: k.pointer(name, dtype, align=align) for name in "xy"}
        at = base(k.global_id(0, "i"))
        with k.for_(start, stop, step, hint="lane", vectorize=True) as lane:
            body(k, at, lane, pointers)

    return kernel


def doubled(k: KernelBuilder, at: Ref, lane: Ref, p: dict[str, Ref]) -> None:
    k.store(p["y"], at + lane, k.load(p["x"], at + lane) * 2.0)


@pytest.mark.parametrize("width", [2, 3, 4, 8, 16])
def test_vectorize_makes_lanes_of_iterations(width: int) -> None:
    kernel = after(vectorize, lane_loop(doubled, stop=width, base=lambda i: i * width, align=4 * (width & -width)))
    assert count(kernel, For) == 0
    (load,) = (stmt for stmt in walk(kernel.body) if isinstance(stmt, Load))
    assert load.result.type == Vector(F32, width)
    assert [stmt.op for stmt in walk(kernel.body) if isinstance(stmt, Let)].count("mul") == 2  # i * width, and x * 2


@pytest.mark.parametrize(
    ("base", "align", "known"),
    [
        (lambda i: i * 4, 16, 16),
        (lambda i: i * 8, 16, 16),
        (lambda i: i * 4 + 8, 16, 16),
        (lambda i: i * 4 + 2, 16, 8),
        (lambda i: i * 4 - 2, 16, 8),
        (lambda i: i * 2 * 2, 64, 16),
        (lambda i: i, 16, 4),
        (lambda i: i * 3, 16, 4),
        (lambda i: i * 4, 4, 4),
    ],
)
def test_vectorize_promises_the_alignment_that_it_can_prove(base: Callable[[Ref], Ref], align: int, known: int) -> None:
    kernel = vectorize(built(lane_loop(doubled, base=base, align=align)))
    accesses = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Load | Store)]
    assert [access.align for access in accesses] == [known, known]


@pytest.mark.parametrize(
    ("index", "loads"),
    [
        (lambda at, lane: at + lane * 2, 4),  # strided
        (lambda at, lane: at + 3 - lane, 1),  # backward: its lanes are turned
        (lambda at, lane: (at + lane) ^ 1, 4),  # anything
        (lambda at, lane: lane + at + 1, 1),
        (lambda at, lane: at + 5, 1),  # the same for all lanes
    ],
)
def test_vectorize_gathers_where_lanes_lie_apart(index: Callable[[Ref, Ref], Ref], loads: int) -> None:
    def body(k: KernelBuilder, at: Ref, lane: Ref, p: dict[str, Ref]) -> None:
        k.store(p["y"], at + lane, k.load(p["x"], index(at, lane)) + 1.0)

    kernel = after(vectorize, lane_loop(body))
    assert count(kernel, For) == 0
    assert count(kernel, Load) == loads


def test_vectorize_scatters() -> None:
    def body(k: KernelBuilder, at: Ref, lane: Ref, p: dict[str, Ref]) -> None:
        k.store(p["y"], at + 3 - lane, k.load(p["x"], at + lane))

    kernel = after(vectorize, lane_loop(body))
    assert count(kernel, Store) == 4
    assert ops(kernel).count("extract") == 4


def test_vectorize_computes_with_the_index_and_with_what_is_the_same() -> None:
    def kernel(k: KernelBuilder) -> None:
        i, n, y = k.global_id(0, "i"), k.scalar("n", U32), k.pointer("y", F32)
        flag = k.let(n > 2, "flag")
        with k.for_(1, 5, hint="lane", vectorize=True) as lane:
            odd = (lane & 1) == 1
            number = k.convert(lane * lane + n, F32)
            k.store(y, i * 8 + lane, k.op("select", odd & flag, number, k.op("abs", -number * 0.5)))

    assert count(after(vectorize, kernel), For) == 0


def test_vectorize_index_in_a_narrow_type() -> None:
    """It wraps, so its lanes are computed and not counted."""

    def kernel(k: KernelBuilder) -> None:
        i, y = k.global_id(0, "i"), k.pointer("y", U8)
        with k.for_(0, 4, hint="lane", vectorize=True) as lane:
            k.store(y, i * 4 + lane, k.convert(lane, U8) * 100 + 200)

    assert count(after(vectorize, kernel), For) == 0


def with_variable(k: KernelBuilder, at: Ref, lane: Ref, p: dict[str, Ref]) -> None:
    part = k.variable(k.load(p["x"], at + lane))
    k.store(p["y"], at + lane, part * 2.0)


def with_branch(k: KernelBuilder, at: Ref, lane: Ref, p: dict[str, Ref]) -> None:
    with k.if_(lane > 1):
        doubled(k, at, lane, p)


def with_vector(k: KernelBuilder, at: Ref, lane: Ref, p: dict[str, Ref]) -> None:
    k.store(p["y"], (at + lane) * 2, k.load(p["x"], (at + lane) * 2, count=2))


def with_atomic(k: KernelBuilder, at: Ref, lane: Ref, p: dict[str, Ref]) -> None:
    doubled(k, at, lane, p)
    k.atomic("add", k.pointer("c", U32), 0, 1, used=False)


@pytest.mark.parametrize(
    ("make", "unroll"),
    [
        (lane_loop(with_variable), 4),
        (lane_loop(with_branch), 4),
        (lane_loop(with_vector), 4),
        (lane_loop(with_atomic), 4),
        (lane_loop(doubled, stop=5, base=lambda i: i * 8), 5),
        (lane_loop(doubled, stop=4, step=2), 0),
        (lane_loop(doubled, stop=1), 1),
    ],
)
def test_vectorize_keeps_other_loops_as_loops(make: Make, unroll: int) -> None:
    kernel = after(vectorize, make)
    (loop,) = (stmt for stmt in walk(kernel.body) if isinstance(stmt, For))
    assert not loop.vectorize
    assert loop.unroll == unroll


def test_vectorize_keeps_loops_with_unknown_bounds_and_unmarked_ones() -> None:
    def unknown(k: KernelBuilder) -> None:
        n, x = k.scalar("n", U32), k.pointer("x", F32)
        i = k.global_id(0, "i")
        with k.for_(0, n, vectorize=True) as j:
            k.store(x, i * 4 + j, 1.0)

    def unmarked(k: KernelBuilder) -> None:
        x, i = k.pointer("x", F32), k.global_id(0, "i")
        with k.for_(0, 4) as j:
            k.store(x, i * 4 + j, k.load(x, i * 4) + 1.0)

    assert count(after(vectorize, unknown), For) == 1
    before = built(unmarked)
    assert vectorize(before) is before


# ---------------------------------------------------------------------- the pipeline


def test_the_pipeline_is_a_tuple_of_named_passes() -> None:
    names = ["collectives", "shuffles", "vectorize", "fold", "cse", "hoist", "division", "coalesce", "dce"]
    assert [name for name, _ in PIPELINE] == names


def test_every_stage_is_seen_and_verified() -> None:
    seen: list[tuple[str, Kernel]] = []
    outcome = run(CASES[0].kernel, lambda name, kernel: seen.append((name, kernel)))
    assert [name for name, _ in seen] == ["built", *(name for name, _ in PIPELINE)]
    assert seen[0][1] is CASES[0].kernel
    assert seen[-1][1] is outcome


def uses_too_early(kernel: Kernel) -> Kernel:
    return replace(kernel, body=(*kernel.body[1:], kernel.body[0]))


def forgets_a_definition(kernel: Kernel) -> Kernel:
    return replace(kernel, body=kernel.body[1:])


def changes_a_type(kernel: Kernel) -> Kernel:
    first = next(stmt for stmt in kernel.body if isinstance(stmt, Let))
    wrong = replace(first, result=Value(first.result.id, F32))
    return replace(kernel, body=tuple(wrong if stmt is first else stmt for stmt in kernel.body))


@pytest.mark.parametrize("broken", [uses_too_early, forgets_a_definition, changes_a_type])
@pytest.mark.parametrize("place", range(len(PIPELINE) + 1))
def test_a_broken_pass_is_caught_where_it_breaks(broken: Pass, place: int) -> None:
    seen: list[str] = []
    pipeline = (*PIPELINE[:place], ("broken", broken), *PIPELINE[place:])
    with pytest.raises(VerifyError):
        run(CASES[0].kernel, lambda name, kernel: seen.append(name), pipeline)
    assert seen == ["built", *(name for name, _ in PIPELINE[:place])]


def test_a_kernel_that_is_broken_to_begin_with_is_refused() -> None:
    with pytest.raises(VerifyError):
        run(forgets_a_definition(CASES[0].kernel))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_kernel_same_text_after_every_pass(case: Case) -> None:
    first: list[str] = []
    second: list[str] = []
    for stages in (first, second):
        run(case.kernel, lambda name, kernel, stages=stages: stages.append(text(kernel)))  # type: ignore[misc]
    assert first == second


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_pass_is_done_after_one_run(case: Case) -> None:
    kernel = case.kernel
    for name, change in PIPELINE:
        kernel = change(kernel)
        assert change(kernel) is kernel, name


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_pipeline_is_done_after_one_run(case: Case) -> None:
    once = run(case.kernel)
    assert text(run(once)) == text(once)


def test_literals_are_equal_by_their_bits() -> None:
    assert Const(0.0, F32) != Const(-0.0, F32)
    assert Const(float("nan"), F32) == Const(float("nan"), F32)
    assert Const(1, U32) != Const(1, I32)
    assert Const(1.0, F32) != Const(1, F32)
    assert Const(True, BOOL) != Const(1, BOOL)
    assert count(CASES[0].kernel, Local) == 0


def test_fold_takes_lanes_from_what_a_vector_was_made_of() -> None:
    def kernel(k: KernelBuilder) -> None:
        x, y, i = k.pointer("x", F32), k.pointer("y", F32), k.global_id(0, "i")
        made = k.op("vector", *(k.load(x, i + step) for step in range(4)))
        k.store(y, i, k.op("extract", made, 2) - k.op("extract", k.load(x, i, count=4), 3))

    assert ops(after(fold, kernel)).count("extract") == 1  # the other one is of a vector in memory
