"""The builder: what it makes of Python's operators, and what it says when it cannot."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ocl_ir.errors import DTypeError, Error, IRError
from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Assign, Const, For, If, Let, Load, Local, Store, Variable, While, walk
from ocl_ir.kernel.operands import Ref
from ocl_ir.kernel.verify import verify
from ocl_ir.ops import OPS, STRUCTURAL, WORK_ITEM
from ocl_ir.source_line import calling_line
from ocl_ir.types import BF16, BOOL, F16, F32, F64, I8, I32, I64, U8, U16, U32, U64, DType, Vector

HERE = Path(__file__).name


def here(offset: int = 0) -> str:
    """`file:line` of the caller, some lines further."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return f"{__file__}:{frame.f_back.f_lineno + offset}"


@pytest.fixture
def k() -> KernelBuilder:
    return KernelBuilder("demo")


# ---------------------------------------------------------------------- errors


def assign_binding(k: KernelBuilder) -> None:
    k.assign(k.let(k.global_id(0), "row"), 3)


def assign_unnamed(k: KernelBuilder) -> None:
    k.assign(k.global_id(0, "") + 1, 3)


def assign_parameter(k: KernelBuilder) -> None:
    k.assign(k.scalar("n", U32), 3)


def other_builder(k: KernelBuilder) -> None:
    k.global_id(0) + KernelBuilder("other").global_id(0)


def alone(k: KernelBuilder) -> None:
    k.variable(5)


def alone_in_an_operation(k: KernelBuilder) -> None:
    k.op("add", 1, 2)


def too_large(k: KernelBuilder) -> None:
    k.scalar("a", U8) + 256


def negative(k: KernelBuilder) -> None:
    k.scalar("a", U32) + -1


def fraction(k: KernelBuilder) -> None:
    k.scalar("a", I32) * 0.5


def bool_for_int(k: KernelBuilder) -> None:
    k.scalar("a", I32) + True


def int_for_bool(k: KernelBuilder) -> None:
    k.op("and", k.scalar("a", U32) > 1, 1)


def truth(k: KernelBuilder) -> None:
    if k.global_id(0) < 5:
        k.return_()


def python_and(k: KernelBuilder) -> None:
    i = k.global_id(0)
    k.if_(i > 2 and i < 5)  # noqa: PLR1716


def chained(k: KernelBuilder) -> None:
    i = k.global_id(0)
    k.if_(2 < i < 5)  # type: ignore[arg-type]


def mixed_types(k: KernelBuilder) -> None:
    k.scalar("a", I32) + k.scalar("b", F32)


def mixed_lanes(k: KernelBuilder) -> None:
    k.splat(k.scalar("a", F32), 4) + k.splat(k.scalar("b", F32), 2)


def wrong_kind(k: KernelBuilder) -> None:
    k.op("sin", k.scalar("a", I32))


def bfloat16_value(k: KernelBuilder) -> None:
    k.load(k.pointer("p", BF16), 0) + 1.0


def unknown(k: KernelBuilder) -> None:
    k.op("cosecant", k.scalar("a", F32))


def arity(k: KernelBuilder) -> None:
    k.op("add", k.scalar("a", F32))


def no_pointer(k: KernelBuilder) -> None:
    k.load(k.scalar("a", U32), 0)


def pointer_as_value(k: KernelBuilder) -> None:
    k.variable(k.pointer("p", F32))


def pointer_arithmetic(k: KernelBuilder) -> None:
    k.pointer("p", F32) + 1


def five_lanes(k: KernelBuilder) -> None:
    k.splat(k.scalar("a", F32), 5)


def wrong_bitcast(k: KernelBuilder) -> None:
    k.bitcast(k.scalar("a", F32), U64)


def else_alone(k: KernelBuilder) -> None:
    with k.else_():
        pass


def else_too_late(k: KernelBuilder) -> None:
    i = k.global_id(0)
    with k.if_(i < 3):
        k.return_()
    k.store(k.pointer("y", U32), i, 1)
    with k.else_():
        pass


def else_twice(k: KernelBuilder) -> None:
    i, y = k.global_id(0), k.pointer("y", U32)
    with k.if_(i < 3):
        k.store(y, i, 1)
    with k.else_():
        k.store(y, i, 2)
    with k.else_():
        k.store(y, i, 3)


def while_without_test(k: KernelBuilder) -> None:
    with k.while_():
        k.break_()


ERRORS: list[tuple[Callable[[KernelBuilder], None], type[Error], str, str]] = [
    (assign_binding, IRError, "row is a binding, and a binding is written once", "v = k.variable(row)"),
    (assign_unnamed, IRError, "this value is a binding", "k.variable(this value)"),
    (assign_parameter, IRError, "n is a binding", "k.variable(n)"),
    (other_builder, IRError, "a value of another kernel", "one builder"),
    (alone, DTypeError, "the number 5 stands alone and has no type", "k.const(value, dtype)"),
    (alone_in_an_operation, DTypeError, "the number 1 stands alone", "k.const"),
    (too_large, DTypeError, "256 is no u8", "in the range of the type"),
    (negative, DTypeError, "-1 is no u32", "in the range"),
    (fraction, DTypeError, "0.5 is no i32", "convert the value"),
    (bool_for_int, DTypeError, "True is no i32", "convert the value"),
    (int_for_bool, DTypeError, "1 is no bool", "convert the value"),
    (truth, IRError, "no truth value while the kernel is built", "k.if_"),
    (python_and, IRError, "no truth value", "k.op('select'"),
    (chained, IRError, "no truth value", "k.if_"),
    (mixed_types, DTypeError, "operands of add differ in type: i32, f32", "convert or splat one"),
    (mixed_lanes, DTypeError, "operands of add differ in type: f32x4, f32x2", "convert or splat one"),
    (wrong_kind, DTypeError, "operand 0 of sin is i32, not floating point", "convert the operand"),
    (bfloat16_value, DTypeError, "operand 0 of add is bf16", "convert the operand"),
    (unknown, DTypeError, "there is no operation 'cosecant'", "atan2"),
    (arity, DTypeError, "add takes 2 operands, not 1", ""),
    (no_pointer, DTypeError, "u32 is no pointer", "k.array"),
    (pointer_as_value, DTypeError, "a pointer is no value", "load from it"),
    (pointer_arithmetic, DTypeError, "add does not take a pointer", "load from the pointer"),
    (five_lanes, DTypeError, "a vector of 5 lanes does not exist", "2, 3, 4, 8, 16"),
    (wrong_bitcast, DTypeError, "bitcast of (f32) cannot give u64", ""),
    (else_alone, IRError, "else_ follows no if_", "right after the if_"),
    (else_too_late, IRError, "else_ follows no if_", "right after the if_"),
    (else_twice, IRError, "else_ follows no if_", "right after the if_"),
    (while_without_test, IRError, "the while loop has no condition", "loop.test"),
]


@pytest.mark.parametrize(("make", "kind", "fact", "remedy"), ERRORS, ids=lambda one: getattr(one, "__name__", None))
def test_an_error_says_what_is_wrong_where_and_what_to_do(
    make: Callable[[KernelBuilder], None], kind: type[Error], fact: str, remedy: str, k: KernelBuilder
) -> None:
    with pytest.raises(kind) as caught:
        make(k)
    error = caught.value
    assert fact in error.fact
    assert remedy in error.remedy
    if make is not five_lanes:  # a type, which knows of no place
        place = error.place + "".join(getattr(error, "__notes__", []))
        first = make.__code__.co_firstlineno
        lines = range(first, first + len(inspect.getsource(make).splitlines()))
        assert any(f"{HERE}:{line}" in place for line in lines), place


@pytest.mark.parametrize("name", ["", "two words", "1st", "größe", "a-b", "x;}"])
def test_a_kernel_s_name_is_an_identifier(name: str) -> None:
    with pytest.raises(IRError, match="cannot be the name of a kernel") as caught:
        KernelBuilder(name)
    assert "letters, digits and underscores" in caught.value.remedy


def test_numpy_scalars_leave_the_operators_to_the_reference(k: KernelBuilder) -> None:
    """A NumPy scalar is not silently taken for an array of objects."""
    with pytest.raises(Error):
        np.float32(2) * k.scalar("a", F32)  # type: ignore[operator]


# ---------------------------------------------------------------------- operators and literals


@pytest.mark.parametrize(
    ("make", "op"),
    [
        (lambda a, b: a + b, "add"), (lambda a, b: a - b, "sub"), (lambda a, b: a * b, "mul"),
        (lambda a, b: a // b, "floordiv"), (lambda a, b: a % b, "rem"), (lambda a, b: a & b, "and"),
        (lambda a, b: a | b, "or"), (lambda a, b: a ^ b, "xor"), (lambda a, b: a << b, "shl"),
        (lambda a, b: a >> b, "shr"), (lambda a, b: a < b, "lt"), (lambda a, b: a <= b, "le"),
        (lambda a, b: a > b, "gt"), (lambda a, b: a >= b, "ge"), (lambda a, b: a == b, "eq"),
        (lambda a, b: a != b, "ne"),
    ],
)  # fmt: skip
def test_operators(make: Callable[[Ref, Ref], Ref], op: str, k: KernelBuilder) -> None:
    a, b = k.scalar("a", I32), k.scalar("b", I32)
    make(a, b)
    made = k.build().body[-1]
    assert isinstance(made, Let)
    assert (made.op, made.args) == (op, (a.operand, b.operand))


def test_unary_operators_and_division(k: KernelBuilder) -> None:
    a, b = k.scalar("a", F32), k.scalar("b", U32)
    for made in (-a, a / 2.0, ~b):
        assert isinstance(made, Ref)
    assert [stmt.op for stmt in walk(k.build().body) if isinstance(stmt, Let)] == ["neg", "div", "not"]


@pytest.mark.parametrize(
    ("make", "args"),
    [
        (lambda a: 2 + a, (2, "a")), (lambda a: 2 - a, (2, "a")), (lambda a: 2 * a, (2, "a")),
        (lambda a: 2 / a, (2, "a")), (lambda a: a - 2, ("a", 2)),
    ],
)  # fmt: skip
def test_a_number_keeps_its_side_and_takes_the_type_beside_it(
    make: Callable[[Ref], Ref], args: tuple[Any, Any], k: KernelBuilder
) -> None:
    a = k.scalar("a", F32)
    made = make(a)
    let = k.build().body[-1]
    assert isinstance(let, Let)
    assert tuple("a" if arg == a.operand else int(arg.value) for arg in let.args) == args  # type: ignore[union-attr]
    assert all(arg.type == F32 for arg in let.args)
    assert made.type == F32


@pytest.mark.parametrize(
    ("dtype", "fits", "does_not"),
    [
        (I8, (-128, 127), (-129, 128)),
        (U8, (0, 255), (-1, 256)),
        (U16, (0, 65535), (65536,)),
        (I64, (-(2**63), 2**63 - 1), (2**63,)),
        (U64, (0, 2**64 - 1), (2**64, -1)),
        (BOOL, (True, False), (0, 1, 2.0)),
        (F32, (0.1, 3, -1e30, float("inf")), ("1", None)),
    ],
    ids=str,
)
def test_ranges_of_literals(dtype: DType, fits: tuple[Any, ...], does_not: tuple[Any, ...], k: KernelBuilder) -> None:
    for value in fits:
        literal = k.const(value, dtype).operand
        assert isinstance(literal, Const)
        assert literal.value == dtype.numpy.type(value)
    for value in does_not:
        with pytest.raises(DTypeError, match="is no"):
            k.const(value, dtype)


def test_float_literals_round_to_their_type(k: KernelBuilder) -> None:
    literals = [k.const(0.1, dtype).operand for dtype in (F16, F32, F64)]
    assert [one.value for one in literals] == [float(np.float16(0.1)), float(np.float32(0.1)), 0.1]  # type: ignore[union-attr]


def test_a_scalar_beside_a_vector_is_splatted(k: KernelBuilder) -> None:
    vector, scalar = k.splat(k.scalar("a", F32), 4), k.scalar("b", F32)
    assert (vector + scalar).type == Vector(F32, 4)
    assert (scalar - vector).type == Vector(F32, 4)
    assert (vector * 2.0).type == Vector(F32, 4)
    assert (vector < 2.0).type == Vector(BOOL, 4)
    chosen = k.op("select", vector > 0.0, vector, 0.0)
    assert chosen.type == Vector(F32, 4)
    splats = [stmt for stmt in k.build().body if isinstance(stmt, Let) and stmt.op == "splat"]
    assert len(splats) == 3  # the vector itself, and b twice; a number is a literal of the vector's type
    assert any(isinstance(arg, Const) and arg.type == Vector(F32, 4) for arg in k.build().body[-1].args)  # type: ignore[union-attr]


def test_select_with_one_condition_for_all_lanes(k: KernelBuilder) -> None:
    vector = k.splat(k.scalar("a", F32), 4)
    assert k.op("select", k.scalar("n", U32) > 1, vector, vector * 2.0).type == Vector(F32, 4)
    verify(k.build())


def test_extract_takes_a_python_number(k: KernelBuilder) -> None:
    vector = k.splat(k.scalar("a", F64), 4)
    assert k.op("extract", vector, 2).type == F64
    verify(k.build())


def test_convert_and_bitcast(k: KernelBuilder) -> None:
    a = k.scalar("a", F32)
    assert k.convert(a, F32).operand is a.operand  # it has that dtype already
    assert k.convert(k.splat(a, 4), I32).type == Vector(I32, 4)
    assert k.bitcast(k.splat(a, 4), U32).type == Vector(U32, 4)


def test_an_assigned_number_takes_the_variable_s_type(k: KernelBuilder) -> None:
    v = k.variable(0.0, F32)
    k.assign(v, 3)
    last = k.build().body[-1]
    assert isinstance(last, Assign)
    assert last.value == Const(3.0, F32)


def test_a_variable_of_a_vector_literal(k: KernelBuilder) -> None:
    v = k.variable(0.0, Vector(F32, 4), "v")
    assert v.type == Vector(F32, 4)
    k.assign(v, 1.0)
    verify(k.build())


# ---------------------------------------------------------------------- statements


def test_the_names_of_operations_and_questions_are_known(k: KernelBuilder) -> None:
    for question in WORK_ITEM:
        assert k.item(question, 2, dtype=U64).type == U64
    assert not set(OPS) & (set(STRUCTURAL) | set(WORK_ITEM))


def test_if_and_else_make_one_statement(k: KernelBuilder) -> None:
    i, y = k.global_id(0), k.pointer("y", U32)
    with k.if_(i < 3):
        k.store(y, i, 1)
    with k.else_():
        k.store(y, i, 2)
    branch = k.build().body[-1]
    assert isinstance(branch, If)
    assert len(branch.then) == len(branch.orelse) == 1


def test_the_bounds_of_a_loop_are_snapshots(k: KernelBuilder) -> None:
    stop = k.variable(3, U32, "stop")
    with k.for_(0, stop):
        k.assign(stop, stop + 1)
    loop = k.build().body[-1]
    assert isinstance(loop, For)
    assert not isinstance(loop.stop, Variable)


def test_the_header_of_a_while_loop_is_what_stands_before_its_test(k: KernelBuilder) -> None:
    v = k.variable(0, U32, "v")
    with k.while_() as loop:
        limit = k.let(v * 2, "limit")
        loop.test(limit < 10)
        k.assign(v, v + 1)
    made = k.build().body[-1]
    assert isinstance(made, While)
    assert [stmt.op for stmt in made.header if isinstance(stmt, Let)] == ["mul", "copy", "lt"]
    assert [type(stmt) for stmt in made.body] == [Let, Assign]


def test_an_error_in_a_block_leaves_the_builder_where_it_was(k: KernelBuilder) -> None:
    """The block's statements are dropped, and what comes next goes where the block stood."""
    i, y = k.global_id(0), k.pointer("y", U32)

    def fails() -> None:
        k.store(y, i, 1)
        raise ZeroDivisionError

    for block in (k.if_(i < 3), k.for_(0, 3), k.while_()):
        with pytest.raises(ZeroDivisionError), block:
            fails()
    k.store(y, i, 2)
    (store,) = (stmt for stmt in walk(k.build().body) if isinstance(stmt, Store))
    assert store.value == Const(2, U32)
    verify(k.build())


def test_blocks_may_be_changed_before_their_statement_is_emitted(k: KernelBuilder) -> None:
    y, i = k.pointer("y", I32), k.global_id(0, "i", I32)
    v = Variable(k.take_id(), I32, "v")
    k.emit(Local(v, Const(0, I32)))
    with k.block() as then:
        doubled = k.let(i * 2, "doubled")
    with k.block() as orelse:
        pass
    then.append(Assign(v, doubled.operand))
    orelse.append(Assign(v, i.operand))
    k.emit(If((i < 3).operand, tuple(then), tuple(orelse)))
    k.store(y, i, v)
    kernel = k.build()
    verify(kernel)
    values = np.zeros(5, np.int32)
    run(kernel, {"y": values}, (5,))
    assert values.tolist() == [0, 2, 4, 3, 4]


def test_an_id_that_was_taken_is_never_given_again(k: KernelBuilder) -> None:
    taken = k.take_id()
    assert k.let(k.const(1, U32)).operand.id != taken != k.take_id()


@pytest.mark.parametrize("dtype", [I32, U32, I64, U64])
@pytest.mark.parametrize("question", WORK_ITEM)
def test_questions_of_the_index_space_may_be_signed(question: str, dtype: DType, k: KernelBuilder) -> None:
    assert k.item(question, 1, "", dtype).type == dtype
    assert k.global_id(0, "i", dtype).type == dtype
    verify(k.build())


def test_building_inside_of_a_block_is_an_error(k: KernelBuilder) -> None:
    with pytest.raises(IRError, match="block"), k.if_(k.global_id(0) < 3):
        k.build()


def test_an_atomic_gives_what_was_before_or_nothing(k: KernelBuilder) -> None:
    counts = k.pointer("counts", U32)
    before = k.atomic("add", counts, 0, 1)
    assert before is not None
    assert before.type == U32
    assert k.atomic("add", counts, 0, 1, used=False) is None


# ---------------------------------------------------------------------- the user's line


def test_every_statement_remembers_the_user_s_line(k: KernelBuilder) -> None:
    i = k.global_id(0)
    first = here(1)
    value = k.load(k.pointer("x", F32), i)
    with k.if_(i < 3):
        second = here(1)
        k.store(k.pointer("y", F32), i, value * 2.0)
    branch_line = here(-3)
    kernel = k.build()
    by_kind = {type(stmt): stmt.where for stmt in walk(kernel.body)}
    assert by_kind[Load] == first
    assert by_kind[Store] == second
    assert by_kind[If] == branch_line


def test_loops_and_variables_remember_theirs(k: KernelBuilder) -> None:
    line = here(1)
    with k.for_(0, 3) as j:
        v = k.variable(j, hint="v")
    with k.while_() as loop:
        loop.test(k.global_id(0) < 1)
    by_kind = {type(stmt): stmt.where for stmt in walk(k.build().body)}
    assert by_kind[For] == line
    assert by_kind[Local].endswith(str(int(line.rpartition(":")[2]) + 1))
    assert by_kind[While].endswith(str(int(line.rpartition(":")[2]) + 2))
    assert v.type == U32


def test_calling_line_is_the_innermost_line_outside_of_the_library() -> None:
    assert calling_line() == here()

    def helper() -> str:
        return calling_line()

    assert helper() == f"{__file__}:{helper.__code__.co_firstlineno + 1}"
