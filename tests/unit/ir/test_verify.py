"""Each rule of the verifier: a program that breaks it, with the text of the error, and one that is accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from ocl_ir.errors import VerifyError
from ocl_ir.kernel.asynchronous import Swizzled
from ocl_ir.kernel.builder import KernelBuilder, Ref
from ocl_ir.kernel.grammar import (
    Array,
    Assign,
    Atomic,
    Await,
    AwaitBoxes,
    Barrier,
    Block,
    Break,
    Collective,
    Commit,
    Const,
    Continue,
    CopyAsync,
    CopyBox,
    CopyWindows,
    DescribeMatrix,
    DescribeWindows,
    For,
    If,
    InitBoxes,
    Kernel,
    Let,
    Load,
    Local,
    MatrixMultiply,
    Param,
    Print,
    ReleaseBoxes,
    Return,
    Shuffle,
    Store,
    Turn,
    Value,
    Variable,
    WarpgroupMultiply,
    While,
    walk,
)
from ocl_ir.kernel.intervals import Interval, Intervals
from ocl_ir.kernel.matrix_instructions import INSTRUCTIONS
from ocl_ir.kernel.verify import CHECKS, verify
from ocl_ir.types import BF16, BOOL, F16, F32, F64, I8, I32, I64, TF32, U8, U32, U64, DType, Pointer, Vector

N = Value(0, U32, "n")
X = Value(1, Pointer(F32), "x")
C = Value(2, Pointer(F32, "constant"), "c")
H = Value(3, Pointer(F16), "h")
B = Value(4, Pointer(BF16), "b")
K = Value(5, Pointer(U32), "k")
BYTES = Value(7, Pointer(U8), "bytes")
FLAGS = Value(8, Pointer(BOOL), "flags")
PARAMS = tuple(Param(value) for value in (N, X, C, H, B, K, BYTES, FLAGS))
A = Value(10, U32, "a")
F = Value(11, F32, "f")
V = Variable(12, U32, "v")
J = Value(13, U32, "j")
F4 = Vector(F32, 4)
W = Value(14, F4, "w")
TILE = Value(15, Pointer(F32, "local"), "tile")
MINE = Value(16, Pointer(F32, "private"), "mine")
ITEM = Value(17, U32, "item")
SIGNED = Value(19, I32, "signed")
LOW = Value(18, BOOL, "low")
TRUE = Const(True, BOOL)


def u(value: int) -> Const:
    return Const(value, U32)


def f(value: float) -> Const:
    return Const(value, F32)


def body(*stmts: object, **more: object) -> Kernel:
    """A kernel with the usual parameters over these statements, each said to come from a line of user.py."""
    placed = tuple(replace(stmt, where=f"user.py:{line}") for line, stmt in enumerate(stmts, 1))  # type: ignore[type-var]
    return Kernel("demo", PARAMS, placed, **more)  # type: ignore[arg-type]


LET_A = Let(A, "add", (N, u(1)))
ITEM_ = Let(ITEM, "local_id", (u(0),))
LOW_ = Let(LOW, "lt", (ITEM, u(2)))


def collective(op: str, value: object, lane: object = None, type_: object = F32) -> Collective:
    return Collective(Value(40, type_, "joined"), op, value, lane)  # type: ignore[arg-type]


def shuffle(value: object, lane: object, size: int = 8, type_: object = F32) -> Shuffle:
    return Shuffle(Value(43, type_, "shuffled"), value, lane, size)  # type: ignore[arg-type]


LOAD_F = Load(F, X, u(0))


def loop(*inner: object, start: object = u(0), stop: object = N, step: object = u(1), **more: object) -> For:
    return For(J, start, stop, step, inner, **more)  # type: ignore[arg-type]


@dataclass
class Case:
    rule: str
    said: str
    bad: Kernel
    good: Kernel


def parameters(*params: Param, stmts: Block = ()) -> Kernel:
    return Kernel("demo", params, stmts)


def scalar(type_: object, name: str = "s") -> Param:
    return Param(Value(90, type_, name))  # type: ignore[arg-type]


def let(type_: object, op: str, *args: object) -> Kernel:
    """The usual kernel with a vector `w` and a float `f` at hand, and one more operation."""
    prepared = (Load(F, X, u(0)), Load(W, X, u(0)), Let(Value(99, type_, "r"), op, args))  # type: ignore[arg-type]
    return body(*prepared)


def atomic(
    op: str, *args: object, pointer: Value = K, result: Value | None = None, before: tuple[object, ...] = ()
) -> Kernel:
    return body(*before, Atomic(result, op, pointer, u(0), args))  # type: ignore[arg-type]


ANY = Value(41, BOOL, "of_all")
ANY_LESS = Value(43, BOOL)
LATER = Let(Value(42, BOOL), "lt", (Value(40, U32, "joined"), u(3)))
SHARED = Value(30, Pointer(I32, "local"), "shared")
PRIVATE = Value(31, Pointer(I32, "private"), "own")

STAGE = Value(50, Pointer(U32, "local", 1024), "stage")
THERE = Value(51, Pointer(U64, "local"), "there")
SUMS = Value(52, Pointer(F32, "private"), "sums")
STAGED = (Array(STAGE, 4096), Array(THERE, 2), Array(SUMS, 32))
TURNED = Swizzled(turned=True, block=0)
ONE = Value(60, F64, "one")
FOUR, EIGHT = Value(61, Vector(F64, 4), "four"), Value(62, Vector(F64, 8), "eight")
REGISTERS = (
    Let(ONE, "convert", (u(1),)),
    Let(FOUR, "splat", (ONE,)),
    Let(EIGHT, "splat", (ONE,)),
)


def matrix(name: str = "mma_f64", left: object = EIGHT, right: object = FOUR, type_: object = FOUR.type) -> Kernel:
    stmt = MatrixMultiply(Value(63, type_, "products"), INSTRUCTIONS[name], left, right, FOUR)  # type: ignore[arg-type]
    return body(*REGISTERS, stmt)


def copy_async(**changes: object) -> Kernel:
    """A kernel that copies 4 words."""
    return body(*STAGED, replace(CopyAsync(STAGE, u(0), K, N, TRUE, 4), **changes))  # type: ignore[arg-type]


def warpgroup(**changes: object) -> Kernel:
    """A kernel that multiplies 64 rows by 64 columns over 64 places."""
    stmt = WarpgroupMultiply(SUMS, F16, 64, STAGE, u(0), TURNED, STAGE, u(2048), TURNED, 4)
    return body(*STAGED, ITEM_, LOAD_F, replace(stmt, **changes))  # type: ignore[arg-type]


OF_TF32 = replace(TURNED, size=4)
TF32_PRODUCT = warpgroup(dtype=TF32, left_lies=OF_TF32, right_lies=OF_TF32)


APART = If(TRUE, (Store(X, u(0), f(1.0)),), registers=(240, 24))


def sides(**changes: object) -> Kernel:
    """A kernel whose warps specialise."""
    return body(ITEM_, LOW_, replace(APART, condition=LOW, **changes))  # type: ignore[arg-type]


def turns(what: str, warpgroups: int = 2, size: tuple[int, int, int] = (256, 1, 1)) -> Kernel:
    return body(Turn(what, warpgroups), group_size=size)  # type: ignore[arg-type]


DOUBLES = Value(64, Pointer(F64), "doubles")


def described(**changes: object) -> Kernel:
    stmt = DescribeMatrix(K, u(0), N, Value(6, Pointer(U32), "m"), u(0), N, N, N, 64)
    params = (*PARAMS, Param(Value(6, Pointer(U32), "m")))
    return replace(body(LOAD_F, replace(stmt, **changes)), params=params)  # type: ignore[arg-type]


def boxes(*before: object, **changes: object) -> Kernel:
    """A kernel that copies a box."""
    stmt = CopyBox(STAGE, u(0), K, K, u(0), N, N, 64, THERE, u(0))
    params = (*PARAMS, Param(DOUBLES))
    return replace(body(*STAGED, LOAD_F, *before, replace(stmt, **changes)), params=params)  # type: ignore[arg-type]


def windows_described(**changes: object) -> Kernel:
    both, all_three = (N, N), (N, N, N)
    stmt = DescribeWindows(
        K, u(0), N, Value(6, Pointer(U32), "m"), u(0), N, all_three, all_three, both, both, both, 64
    )  # fmt: skip
    params = (*PARAMS, Param(DOUBLES), Param(Value(6, Pointer(U32), "m")))
    return replace(body(LOAD_F, replace(stmt, **changes)), params=params)  # type: ignore[arg-type]


def windows(*before: object, **changes: object) -> Kernel:
    """A kernel that copies windows."""
    stmt = CopyWindows(STAGE, u(0), K, K, u(0), N, (N, N, N), (N, N), 64, THERE, u(0))
    return body(*STAGED, LOAD_F, *before, replace(stmt, **changes))  # type: ignore[arg-type]


CASES = [
    # ------------------------------------------------------------------ names and definitions
    Case("names_are_valid", "'a b' cannot be a name", replace(body(), name="a b"), body()),
    Case("names_are_valid", "'2x' cannot be a name", parameters(scalar(U32, "2x")), parameters(scalar(U32, "x2"))),
    Case("names_are_valid", "'é' cannot be a name", parameters(scalar(U32, "é")), parameters(scalar(U32, "e"))),
    Case(
        "names_are_valid",
        "two parameters have the name n",
        parameters(Param(N), scalar(U32, "n")),
        parameters(Param(N), scalar(U32, "m")),
    ),
    Case("single_definition", "a_1 is defined twice, first by `let a_1", body(LET_A, LET_A), body(LET_A)),
    Case(
        "single_definition",
        "defined twice, first as a parameter",
        body(Let(Value(0, U32, "n"), "add", (u(1), u(1)))),
        body(LET_A),
    ),
    Case(
        "single_definition",
        "is defined twice",
        body(LET_A, Local(Variable(10, U32, "v"), u(1))),
        body(LET_A, Local(V, u(1))),
    ),
    Case(
        "single_definition",
        "is defined twice",
        body(loop(), loop()),
        body(loop(), replace(loop(), index=Value(40, U32, "m"))),
    ),
    Case(
        "uses_are_in_scope",
        "a is used before its definition `let a: u32 = add n, 1:u32`",
        body(Let(ITEM, "add", (A, u(1))), LET_A),
        body(LET_A, Let(ITEM, "add", (A, u(1)))),
    ),
    Case(
        "uses_are_in_scope",
        "a is used outside of the block of `if true:bool` that defines it",
        body(If(TRUE, (LET_A,)), Store(K, u(0), A)),
        body(If(TRUE, (LET_A, Store(K, u(0), A)))),
    ),
    Case(
        "uses_are_in_scope",
        "that defines it",
        body(If(TRUE, (LET_A,), (Store(K, u(0), A),))),
        body(LET_A, If(TRUE, (), (Store(K, u(0), A),))),
    ),
    Case(
        "uses_are_in_scope",
        "j is used outside of the block of `for j",
        body(loop(), Store(K, u(0), J)),
        body(loop(Store(K, u(0), J))),
    ),
    Case(
        "uses_are_in_scope",
        "j is used before its definition",
        body(loop(stop=J)),
        body(loop(stop=N)),
    ),
    Case(
        "uses_are_in_scope",
        "low is used before its definition",
        body(ITEM_, While((), LOW, (LOW_,))),
        body(ITEM_, While((LOW_,), LOW, (If(LOW, ()),))),
    ),
    Case(
        "uses_are_in_scope",
        "low is used outside of the block of `while`",
        body(ITEM_, While((LOW_,), LOW, ()), If(LOW, ())),
        body(ITEM_, LOW_, While((), LOW, ()), If(LOW, ())),
    ),
    Case("uses_are_in_scope", "a is used and never defined", body(Store(K, u(0), A)), body(LET_A, Store(K, u(0), A))),
    Case(
        "uses_are_in_scope",
        "v is used before its definition",
        body(Assign(V, N), Local(V, N)),
        body(Local(V, N), Assign(V, N)),
    ),
    Case(
        "uses_are_in_scope",
        "v is used outside of the block",
        body(loop(Local(V, N)), Assign(V, N)),
        body(Local(V, N), loop(Assign(V, N))),
    ),
    Case(
        "uses_are_in_scope",
        "a is assigned, and is a binding",
        body(LET_A, Assign(A, N)),  # type: ignore[arg-type]
        body(LET_A, Local(V, A), Assign(V, N)),
    ),
    Case(
        "uses_are_in_scope",
        "is used as a value of type i32, and is a value of type u32",
        body(LET_A, Let(ITEM, "convert", (Value(10, I32),))),
        body(LET_A, Let(ITEM, "copy", (A,))),
    ),
    Case(
        "uses_are_in_scope",
        "is used as a variable of type u32, and is a value",
        body(LET_A, Assign(Variable(10, U32), N)),
        body(Local(V, N), Assign(V, N)),
    ),
    Case(
        "uses_are_in_scope",
        "used and never defined",
        parameters(Param(X, length=N)),
        parameters(Param(N), Param(X, length=N)),
    ),
    # ------------------------------------------------------------------ parameters, literals, pointers
    Case("parameter_types", "s is f32x4", parameters(scalar(F4)), parameters(scalar(F32))),
    Case("parameter_types", "s is bf16", parameters(scalar(BF16)), parameters(scalar(F16))),
    Case(
        "parameter_types",
        "s points to local memory",
        parameters(scalar(Pointer(F32, "local"))),
        parameters(scalar(Pointer(F32, "constant"))),
    ),
    Case(
        "parameter_types",
        "the length of parameter x is 4.0:f32",
        parameters(Param(X, length=f(4.0))),
        parameters(Param(X, length=u(4))),
    ),
    Case(
        "parameter_types",
        "parameter s is f32 and promised not to be below 0",
        parameters(Param(Value(90, F32, "s"), low=0)),
        parameters(Param(Value(90, I32, "s"), low=0)),
    ),
    Case(
        "parameter_types",
        "parameter s is u8 and promised not to be below 256",
        parameters(Param(Value(90, U8, "s"), low=256)),
        parameters(Param(Value(90, U8, "s"), low=255)),
    ),
    Case("literals_fit", "256 is no u8", let(U8, "add", Const(256, U8), Const(1, U8)), let(U8, "neg", Const(255, U8))),
    Case("literals_fit", "-1 is no u32", body(Local(V, u(-1))), body(Local(V, u(1)))),
    Case("literals_fit", "1 is no f32", let(F32, "neg", Const(1, F32)), let(F32, "neg", f(1.0))),
    Case("literals_fit", "1 is no bool", body(If(Const(1, BOOL), ())), body(If(TRUE, ()))),
    Case("literals_fit", "True is no u32", body(Local(V, u(True))), body(Local(V, u(1)))),
    Case("literals_fit", "1.5 is no u32", body(Local(V, u(1.5))), body(Local(V, u(1)))),  # type: ignore[arg-type]
    Case("literals_fit", "1.0 is no bf16", body(Store(B, u(0), Const(1.0, BF16))), body(Store(B, u(0), f(1.0)))),
    Case(
        "pointers_only_where_memory_is_meant",
        "the pointer x is used as a value",
        body(Let(A, "add", (X, u(1)))),
        body(Load(F, X, u(1))),
    ),
    Case(
        "pointers_only_where_memory_is_meant",
        "the pointer x is used as a value",
        body(Store(K, u(0), X)),
        body(Store(K, u(0), N)),
    ),
    Case("pointers_only_where_memory_is_meant", "n is u32, no pointer", body(Load(F, N, u(1))), body(Load(F, X, u(1)))),
    # ------------------------------------------------------------------ operations
    Case("operation_types", "operands of add differ in type", let(F32, "add", F, N), let(F32, "add", F, F)),
    Case("operation_types", "operand 0 of udiv is f32", let(F32, "udiv", F, F), let(U32, "udiv", N, N)),
    Case("operation_types", "add takes 2 operands, not 1", let(F32, "add", F), let(F32, "add", F, F)),
    Case("operation_types", "there is no operation 'frobnicate'", let(F32, "frobnicate", F), let(F32, "neg", F)),
    Case("operation_types", "its result is declared f64", let(F64, "add", F, F), let(F32, "add", F, F)),
    Case("operation_types", "its result is declared u32", let(U32, "lt", F, F), let(BOOL, "lt", F, F)),
    Case("operation_types", "copy takes 1 operands, not 2", let(F32, "copy", F, F), let(F32, "copy", F)),
    Case("operation_types", "splat of (f32) cannot give u32x4", let(Vector(U32, 4), "splat", F), let(F4, "splat", F)),
    Case("operation_types", "convert of (f32) cannot give bf16", let(BF16, "convert", F), let(F16, "convert", F)),
    Case("operation_types", "bitcast of (f32) cannot give u64", let(U64, "bitcast", F), let(U32, "bitcast", F)),
    Case("operation_types", "a vector of 5 lanes", let(F4, "vector", F, F, F, F, F), let(F4, "vector", F, F, F, F)),
    Case("operation_types", "names no lane of f32x4", let(F32, "extract", W, u(4)), let(F32, "extract", W, u(3))),
    Case("operation_types", "names no lane of f32x4", let(F32, "extract", W, N), let(F32, "extract", W, u(0))),
    Case("operation_types", "extract takes 2 operands", let(F32, "extract", W), let(F32, "extract", W, u(1))),
    Case("operation_types", "a dimension that does not", let(U32, "global_id", u(3)), let(U32, "global_id", u(2))),
    Case("operation_types", "a dimension that does not", let(U32, "local_id", N), let(U64, "local_id", u(0))),
    Case(
        "operation_types",
        "global_id gives i32, u32, i64 or u64",
        let(F32, "global_id", u(0)),
        let(U64, "global_id", u(0)),
    ),
    # ------------------------------------------------------------------ memory
    Case("memory_types", "the index 1.0:f32 is f32", body(Load(F, X, f(1.0))), body(Load(F, X, u(1)))),
    Case("memory_types", "the index true:bool is bool", body(Load(F, X, TRUE)), body(Load(F, X, Const(1, I8)))),
    Case("memory_types", "the index w is f32x4", body(Load(W, X, u(0)), Load(F, X, W)), body(Load(W, X, N))),
    Case("memory_types", "f64 is moved through a pointer to f32", body(Load(Value(9, F64), X, N)), body(Load(F, X, N))),
    Case("memory_types", "u32 is moved through a pointer to f32", body(Store(X, N, N)), body(Store(K, N, N))),
    Case("memory_types", "bf16 is moved through", body(Load(Value(9, BF16), B, N)), body(Load(F, B, N))),
    Case(
        "memory_types", "f16 is moved through a pointer to bf16", body(Load(Value(9, F16), B, N)), body(Load(W, B, N))
    ),
    Case("memory_types", "f32 is moved through a pointer to u32", body(Store(K, N, f(1.0))), body(Store(H, N, f(1.0)))),
    Case("memory_types", "f64 is moved through", body(Store(H, N, Const(1.0, F64))), body(Load(Value(9, F16), H, N))),
    Case(
        "atomic_types",
        "there is no atomic xor of f32",
        atomic("xor", f(1.0), pointer=X),
        atomic("add", f(1.0), pointer=X),
    ),
    Case("atomic_types", "there is no atomic add of f16", atomic("add", f(1.0), pointer=H), atomic("xor", u(1))),
    Case("atomic_types", "there is no atomic max of u8", atomic("max", u(1), pointer=BYTES), atomic("max", u(1))),
    Case("atomic_types", "there is no atomic or of bool", atomic("or", TRUE, pointer=FLAGS), atomic("or", u(1))),
    Case(
        "atomic_types",
        "takes 1 operands, not 2",
        atomic("exchange", f(1.0), f(2.0), pointer=X),
        atomic("exchange", f(1.0), pointer=X),
    ),
    Case(
        "atomic_types",
        "compare_exchange takes 2 operands, not 1",
        atomic("compare_exchange", u(1)),
        atomic("compare_exchange", u(1), u(2)),
    ),
    Case("atomic_types", "atomic load takes 0 operands, not 1", atomic("load", u(1)), atomic("load")),
    Case("atomic_types", "an operand of an atomic on u32 is not u32", atomic("add", Const(1, I32)), atomic("add", N)),
    Case(
        "atomic_types",
        "cannot give i32",
        atomic("add", N, result=Value(9, I32)),
        atomic("add", N, result=Value(9, U32)),
    ),
    Case(
        "atomic_types",
        "an atomic in private memory",
        atomic("add", Const(1, I32), pointer=PRIVATE, before=(Array(PRIVATE, 1),)),
        atomic("add", Const(1, I32), pointer=SHARED, before=(Array(SHARED, 1),)),
    ),
    Case("array_types", "an array of 0 elements", body(Array(TILE, 0)), body(Array(TILE, 1))),
    Case("array_types", "an array of type global f32*", body(Array(Value(50, Pointer(F32)), 4)), body(Array(MINE, 4))),
    # ------------------------------------------------------------------ variables and control
    Case("prints_fit_their_formats", "takes 1 values, not 2", body(Print("{}", (N, N))), body(Print("{} {}", (N, N)))),
    Case("prints_fit_their_formats", "takes 0 values, not 1", body(Print("{{}}", (N,))), body(Print("{{}}", ()))),
    Case("prints_fit_their_formats", "a value has a name", body(Print("{0}", (N,))), body(Print("{}", (N,)))),
    Case(
        "prints_fit_their_formats",
        "'.3f' does not take uint32",
        body(Print("{:.3f}", (N,))),
        body(Print("{:3d}", (N,))),
    ),
    Case(
        "prints_fit_their_formats", "printf has no format '^3'", body(Print("{:^3}", (N,))), body(Print("{:<3}", (N,)))
    ),
    Case("prints_fit_their_formats", "a value has a name", body(Print("{!r}", (N,))), body(Print("%d:{}", (N,)))),
    Case("prints_fit_their_formats", "cannot be read: Single '}'", body(Print("}", ())), body(Print("}}", ()))),
    Case("prints_fit_their_formats", "surrogates not allowed", body(Print("\ud800", ())), body(Print("é", ()))),
    Case("prints_fit_their_formats", "a null character", body(Print("a\0b", ())), body(Print("a\x01b", ()))),
    Case(
        "prints_fit_their_formats",
        "w is f32x4 and is printed",
        body(Load(W, X, u(0)), Print("{}", (W,))),
        body(Load(F, X, u(0)), Print("{}", (F,))),
    ),
    Case(
        "collective_types",
        "no collective sum of bool",
        body(collective("sum", TRUE, type_=BOOL)),
        body(collective("any", TRUE, type_=BOOL)),
    ),
    Case(
        "collective_types", "no collective all of f32", body(collective("all", f(1.0))), body(collective("min", f(1.0)))
    ),
    Case(
        "collective_types",
        "no collective broadcast of f32x4",
        body(Load(W, X, u(0)), collective("broadcast", W, u(0), F4)),
        body(collective("broadcast", TRUE, u(0), BOOL)),
    ),
    Case(
        "collective_types", "no collective 'mean'", body(collective("mean", f(1.0))), body(collective("prod", f(1.0)))
    ),
    Case(
        "collective_types",
        "a collective of f32 cannot give u32",
        body(collective("sum", f(1.0), type_=U32)),
        body(collective("sum", f(1.0))),
    ),
    Case(
        "collective_types",
        "broadcast names no lane",
        body(collective("broadcast", f(1.0))),
        body(collective("broadcast", f(1.0), N)),
    ),
    Case(
        "collective_types",
        "sum names a lane",
        body(collective("sum", f(1.0), N)),
        body(collective("exclusive_scan", f(1.0))),
    ),
    Case(
        "collective_types",
        "of a broadcast is f32",
        body(collective("broadcast", f(1.0), f(1.0))),
        body(collective("broadcast", f(1.0), u(1))),
    ),
    Case("variable_types", "v is u32, and the value f32", body(Local(V, f(1.0))), body(Local(V, u(1)))),
    Case(
        "variable_types",
        "v is u32, and the value i32",
        body(Local(V, N), Assign(V, Const(1, I32))),
        body(Local(V, N), Assign(V, N)),
    ),
    Case("control_types", "the condition n is u32", body(If(N, ())), body(If(TRUE, ()))),
    Case("control_types", "is boolx2", body(If(Const(True, Vector(BOOL, 2)), ())), body(If(TRUE, ()))),
    Case("control_types", "the condition n is u32", body(While((), N, ())), body(While((), TRUE, ()))),
    Case("control_types", "index and bounds are i32, u32", body(loop(stop=Const(1, I32))), body(loop(stop=N))),
    Case(
        "control_types",
        "index and bounds are f32",
        body(For(Value(13, F32), f(0.0), f(1.0), f(1.0), ())),
        body(loop(start=N)),
    ),
    Case("control_types", "step is 0", body(loop(step=u(0))), body(loop(step=u(2)))),
    # ------------------------------------------------------------------ flow
    Case("group_size_is_positive", "(0, 1, 1)", body(group_size=(0, 1, 1)), body(group_size=(1, 1, 1))),
    Case("group_size_is_positive", "(4, 4)", body(group_size=(4, 4)), body(group_size=(4, 4, 1))),
    Case(
        "exits_are_in_loops", "a break outside of a loop", body(If(TRUE, (Break(),))), body(loop(If(TRUE, (Break(),))))
    ),
    Case("exits_are_in_loops", "a continue outside", body(Continue()), body(While((), TRUE, (Continue(),)))),
    Case("statements_are_reachable", "because `return` is before it", body(Return(), LET_A), body(LET_A, Return())),
    Case("statements_are_reachable", "`break` is before it", body(loop(Break(), LET_A)), body(loop(LET_A, Break()))),
    Case(
        "statements_are_reachable",
        "`continue` is before it",
        body(loop(If(TRUE, (), (Continue(), LET_A)))),
        body(loop(If(TRUE, (), (Continue(),)), LET_A)),
    ),
    Case("local_arrays_are_at_the_top", "inside of a block", body(If(TRUE, (Array(TILE, 4),))), body(Array(TILE, 4))),
    Case("local_arrays_are_at_the_top", "inside of a block", body(loop(Array(TILE, 4))), body(loop(Array(MINE, 4)))),
    Case(
        "vectorized_loops_are_independent",
        "has a return",
        body(loop(If(TRUE, (Return(),)), vectorize=True)),
        body(loop(If(TRUE, (Return(),)))),
    ),
    Case(
        "vectorized_loops_are_independent",
        "has a break",
        body(loop(If(TRUE, (Break(),)), vectorize=True)),
        body(loop(LET_A, vectorize=True)),
    ),
    Case(
        "vectorized_loops_are_independent",
        "has a barrier",
        body(loop(Barrier(), vectorize=True)),
        body(loop(Barrier())),
    ),
    Case(
        "vectorized_loops_are_independent",
        "has a collective",
        body(LOAD_F, loop(collective("sum", F), vectorize=True)),
        body(LOAD_F, loop(collective("sum", F))),
    ),
    Case(
        "vectorized_loops_are_independent",
        "assigns v, which is declared outside",
        body(Local(V, N), loop(Assign(V, J), vectorize=True)),
        body(loop(Local(V, N), Assign(V, J), vectorize=True)),
    ),
    # ------------------------------------------------------------------ barriers
    Case(
        "barriers_are_uniform",
        "because of `if low`",
        body(ITEM_, LOW_, If(LOW, (Barrier(),))),
        body(ITEM_, LOW_, If(LOW, ()), Barrier()),
    ),
    Case("barriers_are_uniform", "because of `for j", body(ITEM_, loop(Barrier(), stop=ITEM)), body(loop(Barrier()))),
    Case(
        "barriers_are_uniform",
        "because of `if low`",
        body(ITEM_, LOW_, If(LOW, (Return(),)), Barrier()),
        body(ITEM_, LOW_, Barrier(), If(LOW, (Return(),))),
    ),
    Case(
        "barriers_are_uniform",
        "because of `if low`",
        body(ITEM_, LOW_, loop(Barrier(), If(LOW, (Break(),)))),
        body(ITEM_, LOW_, loop(If(LOW, (Break(),))), Barrier()),
    ),
    Case(
        "barriers_are_uniform",
        "in the header of a while",
        body(While((Barrier(),), TRUE, ())),
        body(While((), TRUE, (Barrier(),))),
    ),
    Case(
        "barriers_are_uniform",
        "because of `if is_less`",
        body(Load(F, X, u(0)), Let(ANY_LESS, "lt", (F, f(1.0))), If(ANY_LESS, (Barrier(),)), Store(K, N, N)),
        body(Load(F, C, u(0)), Let(ANY_LESS, "lt", (F, f(1.0))), If(ANY_LESS, (Barrier(),)), Store(K, N, N)),
    ),
    Case(
        "barriers_are_uniform",
        "divergent collective: only a part of the group may come here, because of `if low`",
        body(ITEM_, LOW_, LOAD_F, If(LOW, (collective("sum", F),))),
        body(ITEM_, LOW_, LOAD_F, If(LOW, ()), collective("sum", F)),
    ),
    Case(
        "barriers_are_uniform",
        "a collective in the header of a while",
        body(LOAD_F, While((collective("sum", F),), TRUE, ())),
        body(LOAD_F, While((), TRUE, (collective("sum", F),))),
    ),
    Case(
        "barriers_are_uniform",
        "because of `if of_all`",
        body(ITEM_, Let(ANY, "lt", (ITEM, u(2))), If(ANY, (Barrier(),))),
        body(ITEM_, LOW_, Collective(ANY, "any", LOW), If(ANY, (Barrier(),))),
    ),
    Case(
        "barriers_are_uniform",
        "because of `if of_all`",
        body(ITEM_, LOW_, Let(ANY, "copy", (LOW,)), If(ANY, (Barrier(),))),
        body(ITEM_, LOW_, Let(ANY, "uniform", (LOW,)), If(ANY, (Barrier(),))),
    ),
    Case(
        "barriers_are_uniform",
        "because of `if is_less`",
        body(ITEM_, collective("scan", ITEM, type_=U32), LATER, If(Value(42, BOOL), (Barrier(),))),
        body(ITEM_, collective("sum", ITEM, type_=U32), LATER, If(Value(42, BOOL), (Barrier(),))),
    ),
    Case(
        "barriers_are_uniform",
        "divergent shuffle: only a part of the group may come here, because of `if low`",
        body(ITEM_, LOW_, LOAD_F, If(LOW, (shuffle(F, ITEM),))),
        body(ITEM_, LOW_, LOAD_F, If(LOW, ()), shuffle(F, ITEM)),
    ),
    Case(
        "shuffle_types",
        "a shuffle of f32 cannot give u32",
        body(LOAD_F, shuffle(F, N, type_=U32)),
        body(LOAD_F, shuffle(F, N)),
    ),
    Case(
        "shuffle_types",
        "there is no shuffle of f32x4",
        body(LOAD_F, Let(Value(44, Vector(F32, 4)), "splat", (F,)), shuffle(Value(44, Vector(F32, 4)), N)),
        body(LOAD_F, Let(Value(44, Vector(F32, 4)), "splat", (F,)), shuffle(F, N)),
    ),
    Case(
        "shuffle_types", "the lane f of a shuffle is f32", body(LOAD_F, shuffle(F, F)), body(LOAD_F, shuffle(F, u(3)))
    ),
    Case(
        "collective_types",
        "a broadcast in sub-groups",
        body(LOAD_F, replace(collective("broadcast", F, N), size=8)),
        body(LOAD_F, replace(collective("sum", F), size=8)),
    ),
    Case(
        "groups_are_whole_subgroups",
        "a group of 12 work-items is not made of sub-groups of 8",
        body(LOAD_F, replace(collective("sum", F), size=8), group_size=(12, 1, 1)),
        body(LOAD_F, replace(collective("sum", F), size=4), group_size=(12, 1, 1)),
    ),
    Case(
        "groups_are_whole_subgroups",
        "a sub-group of 6 work-items",
        body(LOAD_F, shuffle(F, N, 6)),
        body(LOAD_F, shuffle(F, N, 4)),
    ),
    Case(
        "groups_are_whole_subgroups",
        "a group of 12 work-items is not made of sub-groups of 8",
        body(LOAD_F, shuffle(F, N, 8), group_size=(6, 2, 1)),
        body(LOAD_F, shuffle(F, N, 4), group_size=(6, 2, 1)),
    ),
    Case(
        "broadcasts_are_of_one_lane",
        "the lane item of a broadcast differs",
        body(ITEM_, LOAD_F, collective("broadcast", F, ITEM)),
        body(ITEM_, LOAD_F, collective("broadcast", F, N)),
    ),
    Case(
        "barriers_are_uniform", "orders no memory", body(Barrier(local=False)), body(Barrier(local=False, global_=True))
    ),
    Case(
        "barriers_are_uniform",
        "divergent matrixmultiply",
        body(ITEM_, LOW_, *REGISTERS, If(LOW, matrix().body[-1:])),
        matrix(),
    ),
    Case(
        "barriers_are_uniform",
        "divergent warpgroupmultiply",
        body(*STAGED, ITEM_, LOW_, If(LOW, (WarpgroupMultiply(SUMS, F16, 8, STAGE, N, TURNED, STAGE, N, TURNED, 1),))),
        warpgroup(),
    ),
    Case(
        "barriers_are_uniform",
        "divergent await",
        body(ITEM_, LOW_, If(LOW, (Await("copies", 0),))),
        body(ITEM_, LOW_, If(LOW, ()), Await("copies", 0)),
    ),
    Case(
        "barriers_are_uniform",
        "divergent commit",
        body(ITEM_, LOW_, If(LOW, (Commit(),))),
        body(ITEM_, LOW_, If(LOW, ()), Commit()),
    ),
    Case(
        "groups_are_whole_subgroups",
        "a group of 48 work-items is not made of sub-groups of 32",
        replace(matrix(), group_size=(48, 1, 1)),
        replace(matrix(), group_size=(64, 1, 1)),
    ),
    Case(
        "groups_are_whole_subgroups",
        "a group of 192 work-items is not made of sub-groups of 128",
        replace(warpgroup(), group_size=(192, 1, 1)),
        replace(warpgroup(), group_size=(128, 2, 1)),
    ),
    # ------------------------------------------------------------------ matrices, and what goes on
    Case("matrix_types", "a matrix instruction mma_f16 with f64x8", matrix("mma_f16"), matrix()),
    Case("matrix_types", "mma_f64 with f64x4, f64x4, f64x4, f64x4", matrix(left=FOUR), matrix()),
    Case("matrix_types", "mma_f64 with f64x8, f64x8, f64x4, f64x4", matrix(right=EIGHT), matrix()),
    Case("matrix_types", "mma_f64 with f64x8, f64x4, f64x4, f32x4", matrix(type_=F4), matrix()),
    Case("waits_are_counted", "a wait for 'boxes'", body(Await("boxes", 0)), body(Await("products", 0))),  # type: ignore[arg-type]
    Case("waits_are_counted", "leaves -1 pending", body(Await("copies", -1)), body(Await("copies", 1))),
    Case("turns_are_of_warpgroups", "a step 'take' of turns", turns("take"), turns("await")),
    Case("turns_are_of_warpgroups", "turns of 1 warpgroups", turns("await", 1), turns("await", 2)),
    Case(
        "turns_are_of_warpgroups",
        "turns of 9 warpgroups",
        turns("open", 9, (1280, 1, 1)),
        turns("open", 8, (1280, 1, 1)),
    ),
    Case("turns_are_of_warpgroups", "of 3 warpgroups in a group of (256, 1, 1)", turns("open", 3), turns("open", 2)),
    Case("turns_are_of_warpgroups", "in a group of (256, 2, 1)", turns("open", 2, (256, 2, 1)), turns("open", 2)),
    Case("sides_are_apart", "warps specialise inside of a block", body(LOAD_F, loop(APART)), body(LOAD_F, APART)),
    Case("sides_are_apart", "28 registers for a work-item", sides(registers=(240, 28)), sides(registers=(240, 32))),
    Case("sides_are_apart", "264 registers for a work-item", sides(registers=(264, 24)), sides(registers=(256, 24))),
    Case(
        "sides_are_apart",
        "240 and 176 registers where work-items have 168",
        replace(sides(registers=(240, 176)), group_size=(384, 1, 1)),
        replace(sides(registers=(240, 24)), group_size=(384, 1, 1)),
    ),
    Case(
        "sides_are_apart",
        "160 and 24 registers where work-items have 168",
        replace(sides(registers=(160, 24)), group_size=(384, 1, 1)),
        replace(sides(registers=(160, 32)), group_size=(512, 1, 1)),
    ),
    Case(
        "sides_are_apart",
        "a barrier where warps specialise",
        sides(then=(Barrier(),)),
        sides(then=(Await("copies", 0),)),
    ),
    Case("sides_are_apart", "a return where warps specialise", sides(orelse=(Return(),)), sides()),
    Case(
        "sides_are_apart",
        "a collective where warps specialise",
        sides(then=(collective("sum", N, type_=U32),)),
        sides(then=(replace(collective("sum", N, type_=U32), size=32),)),
    ),
    Case("copy_types", "a copy from global f32* to local u32*", copy_async(source=X), copy_async()),
    Case("copy_types", "a copy of 2 u32 from global to local", copy_async(count=2), copy_async()),
    Case("copy_types", "from global to global memory", copy_async(pointer=K), copy_async()),
    Case("copy_types", "from local to local memory", copy_async(source=STAGE), copy_async()),
    Case("copy_types", "the condition n of a copy is u32", copy_async(inside=N), copy_async()),
    Case("copy_types", "the number true:bool is bool", copy_async(index=TRUE), copy_async()),
    Case("copy_types", "the number 1.0:f32 is f32", copy_async(source_index=f(1.0)), copy_async()),
    Case("warpgroup_types", "no product of a warpgroup is of f64", warpgroup(dtype=F64), warpgroup(dtype=BF16)),
    Case("warpgroup_types", "with local u32* align 1024 and", warpgroup(sums=STAGE), warpgroup()),
    Case("warpgroup_types", "and global u32*", warpgroup(right=K), warpgroup()),
    Case("warpgroup_types", "whose left operand is global u32*", warpgroup(left=K), warpgroup()),
    Case("warpgroup_types", "whose left operand is local u32*", warpgroup(left_lies=None), warpgroup()),
    Case("warpgroup_types", "of 60 columns", warpgroup(columns=60), warpgroup()),
    Case("warpgroup_types", "of 264 columns", warpgroup(columns=264), warpgroup()),
    Case("warpgroup_types", "and 0 steps", warpgroup(steps=0), warpgroup()),
    Case("warpgroup_types", "and 4 steps", warpgroup(first=-1), warpgroup()),
    Case("warpgroup_types", "5 steps of 16 places in rows of 64", warpgroup(first=1), warpgroup(first=1, steps=3)),
    Case("warpgroup_types", "an operand of tf32 that lies as elements of 2 bytes", warpgroup(dtype=TF32), TF32_PRODUCT),
    Case(
        "warpgroup_types",
        "an operand of tf32 in rows along its own axis",
        warpgroup(dtype=TF32, left_lies=replace(OF_TF32, turned=False), right_lies=OF_TF32),
        TF32_PRODUCT,
    ),
    Case("warpgroup_types", "sums has 32 elements, and a work-item 64 sums", warpgroup(columns=128), warpgroup()),
    Case("warpgroup_types", "the number f is f32", warpgroup(left_index=F), warpgroup()),
    Case("warpgroup_types", "the number f is f32", warpgroup(right_index=F), warpgroup()),
    Case("warpgroup_types", "5 steps of 16 places in rows of 64", warpgroup(steps=5), warpgroup()),
    Case(
        "warpgroup_types",
        "128 elements of an operand in rows of 64, in blocks 0 bytes apart",
        body(
            Array(STAGE, 4096),
            Array(SUMS, 64),
            WIDE := WarpgroupMultiply(
                SUMS, F16, 128, STAGE, u(0), TURNED, STAGE, u(0), Swizzled(turned=False, block=0), 1
            ),
        ),
        body(Array(STAGE, 4096), Array(SUMS, 64), replace(WIDE, right_lies=Swizzled(turned=False, block=1024))),
    ),
    Case("box_types", "k is global u32* where boxes need u64 in local", boxes(barriers=K), boxes()),
    Case("box_types", "k is global u32* where boxes need u32 in local", boxes(pointer=K), boxes()),
    Case("box_types", "x is global f32* where boxes need u32 in global", boxes(source=X), boxes()),
    Case("box_types", "stage is local u32* align 1024 where boxes need u32 in global", boxes(table=STAGE), boxes()),
    Case("box_types", "the number f is f32", boxes(column=F), boxes()),
    Case("box_types", "the number f is f32", boxes(row=F), boxes()),
    Case("box_types", "the number f is f32", boxes(slot=F), boxes()),
    Case("box_types", "the number f is f32", boxes(number=F), boxes()),
    Case("box_types", "the number f is f32", boxes(index=F), boxes()),
    Case("box_types", "a box of 0 rows", boxes(rows=0), boxes()),
    Case("box_types", "a box of 257 rows", boxes(rows=257), boxes(rows=256)),
    Case("box_types", "x is global f32* where", described(table=X), described()),
    Case("box_types", "no box is copied of f32", described(dtype=F32), described(dtype=TF32)),
    Case("box_types", "x is global f32* where", described(source=X), described()),
    Case("box_types", "k is global u32* where boxes need f64", described(dtype=F64, source=K), described(dtype=F16)),
    Case(
        "box_types",
        "stage is local u32* align 1024 where boxes need f64",
        boxes(source=DOUBLES),
        boxes(),
    ),
    Case("box_types", "the number f is f32", described(columns=F), described()),
    Case("box_types", "the number f is f32", described(rows=F), described()),
    Case("box_types", "the number f is f32", described(row_words=F), described()),
    Case("box_types", "the number f is f32", described(source_index=F), described()),
    Case("box_types", "the number f is f32", described(slot=F), described()),
    Case("box_types", "the number f is f32", described(word=F), described()),
    Case("box_types", "a box of 300 rows", described(box_rows=300), described()),
    Case("box_types", "where boxes need u64 in local", boxes(InitBoxes(STAGE, 2, 1)), boxes(InitBoxes(THERE, 2, 1))),
    Case("box_types", "0 barriers for 1 boxes", boxes(InitBoxes(THERE, 0, 1)), boxes(InitBoxes(THERE, 2, 1))),
    Case("box_types", "2 barriers for 0 boxes", boxes(InitBoxes(THERE, 2, 0)), boxes(InitBoxes(THERE, 2, 1))),
    Case("box_types", "where boxes need u64", boxes(AwaitBoxes(STAGE, N, N)), boxes(AwaitBoxes(THERE, N, N))),
    Case("box_types", "the number f is f32", boxes(AwaitBoxes(THERE, F, N)), boxes(AwaitBoxes(THERE, N, N))),
    Case("box_types", "the number f is f32", boxes(AwaitBoxes(THERE, N, F)), boxes(AwaitBoxes(THERE, N, N))),
    Case("box_types", "where boxes need u64", boxes(ReleaseBoxes(STAGE, N)), boxes(ReleaseBoxes(THERE, N))),
    Case("box_types", "the number f is f32", boxes(ReleaseBoxes(THERE, F)), boxes(ReleaseBoxes(THERE, N))),
    Case("box_types", "the number f is f32", windows_described(counts=(N, F)), windows_described()),
    Case(
        "box_types",
        "no box is copied of i32",
        windows_described(dtype=I32),
        windows_described(dtype=F64, source=DOUBLES),
    ),
    Case("box_types", "a box of 257 rows", windows_described(box_rows=257), windows_described(box_rows=256)),
    Case("box_types", "the number f is f32", windows(place=(N, N, F)), windows()),
    Case("box_types", "the number f is f32", windows(taps=(F, N)), windows()),
    Case("box_types", "a box of 0 rows", windows(rows=0), windows(rows=1)),
    Case("box_types", "where boxes need u32 in global memory", windows(table=STAGE), windows()),
    Case(
        "matrices_are_described_before",
        "a box by a description in k, which the same kernel writes",
        windows(DescribeWindows(K, u(0), N, K, u(0), N, (N, N, N), (N, N, N), (N, N), (N, N), (N, N), 64)),
        windows(),
    ),
    Case(
        "matrices_are_described_before",
        "a box by a description in k, which the same kernel writes",
        boxes(DescribeMatrix(K, u(0), N, K, u(0), N, N, N, 64)),
        boxes(),
    ),
    # ------------------------------------------------------------------ memory facts
    Case(
        "constant_memory_is_not_written", "c points to constant memory", body(Store(C, N, f(1.0))), body(Load(F, C, N))
    ),
    Case("alignment_can_hold", "an alignment of 3 bytes", body(Load(F, X, N, 3)), body(Load(F, X, N, 4))),
    Case("alignment_can_hold", "an alignment of 2 bytes", body(Load(F, X, N, 2)), body(Load(F, X, N, 0))),
    Case(
        "alignment_can_hold", "an alignment of 12 bytes", body(Store(X, N, f(0.0), 12)), body(Store(X, N, f(0.0), 16))
    ),
    Case(
        "alignment_can_hold",
        "element 2 of wide is not at an address that 16 divides",
        parameters(
            Param(Value(20, Pointer(F32, align=16), "wide")),
            stmts=(Load(W, Value(20, Pointer(F32, align=16)), u(2), 16),),
        ),
        parameters(
            Param(Value(20, Pointer(F32, align=8), "wide")),
            stmts=(Load(W, Value(20, Pointer(F32, align=8)), u(2), 16),),
        ),
    ),
    Case(
        "accesses_can_be_inside",
        "index 4 of tile is outside of its 4 elements",
        body(Array(TILE, 4), Load(F, TILE, u(4))),
        body(Array(TILE, 4), Load(F, TILE, u(3))),
    ),
    Case(
        "accesses_can_be_inside",
        "4 elements from index 1 on of tile",
        body(Array(TILE, 4), Load(W, TILE, u(1))),
        body(Array(TILE, 4), Load(W, TILE, u(0))),
    ),
    Case(
        "accesses_can_be_inside",
        "index -1 of mine",
        body(Array(MINE, 4), Store(MINE, Const(-1, I32), f(0.0))),
        body(Array(MINE, 4), Store(MINE, Const(1, I32), f(0.0))),
    ),
    Case(
        "accesses_can_be_inside",
        "index 8 of x is outside of its 8 elements",
        parameters(Param(X, length=u(8)), stmts=(Load(F, X, u(8)),)),
        parameters(Param(N), Param(X, length=N), stmts=(Load(F, X, u(8)),)),
    ),
    Case(
        "accesses_can_be_inside",
        "index 4 to 9 of tile",
        body(Array(TILE, 4), loop(Load(F, TILE, J), start=u(4), stop=u(10))),
        body(Array(TILE, 4), loop(Load(F, TILE, J), start=u(3), stop=u(10))),
    ),
    Case(
        "accesses_can_be_inside",
        "index 1 of shared",
        atomic(
            "add",
            Const(1, I32),
            pointer=SHARED,
            before=(Array(SHARED, 1), Atomic(None, "add", SHARED, u(1), (Const(1, I32),))),
        ),
        atomic("add", Const(1, I32), pointer=SHARED, before=(Array(SHARED, 1),)),
    ),
    Case(
        "accesses_can_be_inside",
        "4 elements from index -2147483648 to 2147483647 on of tile is outside of its 3",
        body(Array(TILE, 3), Let(SIGNED, "convert", (N,)), Load(W, TILE, SIGNED)),
        body(Array(TILE, 4), Let(SIGNED, "convert", (N,)), Load(W, TILE, SIGNED)),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}-{case.said}")
def test_a_broken_rule_is_named_with_fact_place_and_remedy(case: Case) -> None:
    with pytest.raises(VerifyError) as caught:
        verify(case.bad)
    error = caught.value
    assert error.rule == case.rule
    assert case.said in error.fact
    assert f"[{case.rule}]" in error.fact
    assert "kernel " in error.place
    assert error.remedy
    assert error.remedy in str(error)
    at_head = case.rule in {"names_are_valid", "parameter_types", "group_size_is_positive"} or not case.bad.body
    assert ("--> " in error.place) is not at_head


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}-{case.said}")
def test_the_repaired_program_is_accepted(case: Case) -> None:
    verify(case.good)


@pytest.mark.parametrize(("pointer", "remedy"), [(BYTES, "int32"), (FLAGS, "int32"), (H, "float32"), (B, "float32")])
def test_narrow_atomics_are_refused_with_the_type_to_use(pointer: Value, remedy: str) -> None:
    with pytest.raises(VerifyError, match=f"use {remedy}, or another type of 32 or 64 bits"):
        verify(atomic("add", u(1), pointer=pointer))


def test_every_check_has_a_case() -> None:
    assert {check.__name__ for check in CHECKS} == {case.rule for case in CASES}


def test_the_place_is_ten_lines_around_the_arrow_and_the_python_line() -> None:
    stmts = [Let(Value(100 + n, U32, f"v{n}"), "add", (N, u(n))) for n in range(40)]
    stmts[20] = Let(Value(120, F32, "wrong"), "add", (N, u(1)))
    with pytest.raises(VerifyError) as caught:
        verify(body(*stmts))
    shown = caught.value.place.splitlines()
    assert len(shown) == 22
    assert shown[10] == "-->   let wrong: f32 = add n, 1:u32"
    assert shown[0].endswith("let v10: u32 = add n, 10:u32")
    assert shown[20].endswith("let v30: u32 = add n, 30:u32")
    assert shown[21] == "asked for at user.py:21"


def test_the_remedy_for_a_value_that_left_its_block_is_a_variable() -> None:
    with pytest.raises(VerifyError) as caught:
        verify(body(If(TRUE, (LET_A,)), Store(K, u(0), A)))
    assert "make it a variable declared before `if true:bool` (k.variable)" in caught.value.remedy


def test_the_first_broken_rule_is_raised() -> None:
    both = replace(body(Break(), Store(C, u(0), f(1.0))), name="a b")
    with pytest.raises(VerifyError) as caught:
        verify(both)
    assert caught.value.rule == next(iter(CHECKS)).__name__


# ---------------------------------------------------------------------- intervals


def interval(make: Callable[[KernelBuilder], Ref], group: tuple[int, int, int] | None = (64, 2, 1)) -> Interval:
    k = KernelBuilder("intervals", group_size=group)
    value = make(k)
    verify(k.build())
    return Intervals(k.build()).of(value.operand)


FULL = Interval(0, 2**32 - 1)


@pytest.mark.parametrize(
    ("make", "want"),
    [
        (lambda k: k.item("local_id"), Interval(0, 63)),
        (lambda k: k.item("local_id", 1), Interval(0, 1)),
        (lambda k: k.item("local_size"), Interval(64, 64)),
        (lambda k: k.item("group_id"), Interval(0, 2**32 - 2)),
        (lambda k: k.scalar("n", U32), FULL),
        (lambda k: k.item("local_id") + 10, Interval(10, 73)),
        (lambda k: k.item("local_id") * 4 + 3, Interval(3, 255)),
        (lambda k: 100 - k.item("local_id"), Interval(37, 100)),
        (lambda k: k.item("local_id") - 1, FULL),
        (lambda k: k.item("local_id") * 2**27, FULL),
        (lambda k: k.op("minimum", k.scalar("n", U32), 7), Interval(0, 7)),
        (lambda k: k.op("maximum", k.item("local_id"), 7), Interval(7, 63)),
        (lambda k: k.op("udiv", k.item("local_id"), 16), Interval(0, 3)),
        (lambda k: k.op("udiv", k.const(60, U32), k.item("local_id") + 1), Interval(0, 60)),
        (lambda k: k.op("urem", k.scalar("n", U32), 16), Interval(0, 15)),
        (lambda k: k.op("urem", k.item("local_id", 1) + 3, 16), Interval(3, 4)),
        (lambda k: k.uniform(k.item("local_id")), Interval(0, 63)),
        (lambda k: k.scalar("n", U32) & 31, Interval(0, 31)),
        (lambda k: k.scalar("n", I32) & 31, Interval(0, 31)),
        (lambda k: k.scalar("n", I32) & -2, Interval(-(2**31), 2**31 - 1)),
        (lambda k: k.convert(k.item("local_id"), I32) - 4, Interval(-4, 59)),
        (lambda k: k.convert(k.scalar("n", U32), U8), Interval(0, 255)),
        (lambda k: (k.convert(k.item("local_id"), I32) - 4) * -2, Interval(-118, 8)),
        (lambda k: (k.convert(k.item("local_id"), I32) - 4) % 8, Interval(0, 7)),
        (lambda k: k.convert(k.scalar("x", F32), U32), FULL),
    ],
)
def test_intervals_of_operations(make: Callable[[KernelBuilder], Ref], want: Interval) -> None:
    assert interval(make) == want


@pytest.mark.parametrize(("dtype", "most"), [(I32, 2**31 - 1), (U32, 2**32 - 1), (I64, 2**63 - 1), (U64, 2**64 - 1)])
def test_intervals_of_the_index_space(dtype: DType, most: int) -> None:
    """Without a group size; with one, what depends on it is known better."""
    for question in ("global_id", "local_id", "group_id"):
        want = Interval(0, most - 1)
        assert interval(lambda k, q=question: k.item(q, 0, "", dtype), group=None) == want  # type: ignore[misc]
    for question in ("global_size", "local_size", "num_groups"):
        want = Interval(1, most)
        assert interval(lambda k, q=question: k.item(q, 0, "", dtype), group=None) == want  # type: ignore[misc]
    assert interval(lambda k: k.item("local_id", 0, "", dtype)) == Interval(0, 63)
    assert interval(lambda k: k.item("local_size", 0, "", dtype)) == Interval(64, 64)


def test_intervals_of_parameters_with_a_promise() -> None:
    assert interval(lambda k: k.let(k.scalar("n", I32, low=0)) - 1) == Interval(-1, 2**31 - 2)
    assert interval(lambda k: k.let(k.scalar("n", I64, low=-3)) + 0) == Interval(-3, 2**63 - 1)
    assert interval(lambda k: k.let(k.scalar("n", I32)) + 0) == Interval(-(2**31), 2**31 - 1)


def test_intervals_of_plain_divisions() -> None:
    assert interval(lambda k: k.op("sdiv", k.scalar("n", I32, low=6), 3)) == Interval(2, (2**31 - 1) // 3)
    assert interval(lambda k: k.op("srem", k.scalar("n", I32, low=6), 3)) == Interval(0, 2)
    assert interval(lambda k: k.op("srem", k.scalar("n", I32), 3)) == Interval(-(2**31), 2**31 - 1)


@pytest.mark.parametrize(
    ("start", "stop", "step", "want"),
    [(2, 10, 1, (2, 9)), (2, 10, 3, (2, 9)), (10, 2, -1, (3, 10)), (5, 5, 1, (-(2**31), 2**31 - 1))],
)
def test_intervals_of_loop_indices(start: int, stop: int, step: int, want: tuple[int, int]) -> None:
    def make(k: KernelBuilder) -> Ref:
        with k.for_(start, stop, step, dtype=I32) as j:
            pass
        return j

    assert interval(make) == Interval(*want)


def test_a_loop_whose_step_is_no_constant_counts_up() -> None:
    """Whatever its type could hold."""

    def make(k: KernelBuilder) -> Ref:
        i, step = k.global_id(0, "i", I32), k.scalar("step", I32)
        with k.for_(i, k.scalar("n", I32, low=0), step, dtype=I32) as j:
            pass
        return j

    assert interval(make) == Interval(0, 2**31 - 2)


def test_a_variable_may_be_anything() -> None:
    assert interval(lambda k: k.variable(3, U32)) == FULL


def test_every_kind_of_statement_is_in_some_accepted_program() -> None:
    seen = {type(stmt) for case in CASES for stmt in walk(case.good.body)}
    assert seen == {
        Let, Load, Store, Local, Assign, Array, Atomic, If, For, While, Barrier, Collective, Shuffle, MatrixMultiply,
        CopyAsync, Commit, Await, WarpgroupMultiply, DescribeMatrix, DescribeWindows, InitBoxes, CopyBox, CopyWindows,
        AwaitBoxes, ReleaseBoxes, Turn, Print, Break, Continue, Return,
    }  # fmt: skip
