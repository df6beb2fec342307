"""Every stage knows matrix instructions and what goes on while work-items do: texts, names, facts and passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import get_args

import pytest

from ocl_ir.kernel.accesses import READ, WRITE, accesses, modes, written_pointers
from ocl_ir.kernel.asynchronous import Swizzled
from ocl_ir.kernel.builder import KernelBuilder, Ref
from ocl_ir.kernel.grammar import (
    AsyncStmt,
    Const,
    GroupStmt,
    Kernel,
    Load,
    MatrixMultiply,
    Operand,
    Stmt,
    Value,
    Variable,
    defined,
    map_operands,
    operands,
    walk,
)
from ocl_ir.kernel.inline import inlined
from ocl_ir.kernel.matrix_instructions import INSTRUCTIONS
from ocl_ir.kernel.names import names
from ocl_ir.kernel.printer import text
from ocl_ir.kernel.uniformity import uniformity
from ocl_ir.kernel.verify import verify
from ocl_ir.kernel.work import operations
from ocl_ir.passes.cse import cse
from ocl_ir.passes.dce import dce
from ocl_ir.passes.rewrite import Rewriter
from ocl_ir.types import BF16, F32, F64, TF32, U32, U64, Vector

TURNED, PLAIN = Swizzled(turned=True, block=0), Swizzled(turned=False, block=8192)


class World:
    """A kernel with everything that statements need: `x` is read, `y` and `table` may be written."""

    def __init__(self) -> None:
        self.k = k = KernelBuilder("world", group_size=(256, 1, 1))
        self.n = k.scalar("n", U32)
        self.x, self.y = k.pointer("x", U32, align=16, restrict=True), k.pointer("y", U32, restrict=True)
        self.table = k.pointer("table", U32, align=128, restrict=True)
        self.stage, self.there = k.array(U32, 8192, align=1024, hint="stage"), k.array(U64, 2, hint="there")
        self.sums = k.array(F32, 64, space="private", hint="sums")

    def build(self) -> Kernel:
        verify(self.k.build())
        return self.k.build()


@dataclass(frozen=True)
class Case:
    name: str
    emit: Callable[[World], None]
    line: str
    accesses: dict[str, int]
    """What it does to the memory of each name."""
    work: float

    def __str__(self) -> str:
        return self.name


def multiply(w: World) -> None:
    w.k.warpgroup_multiply(w.sums, BF16, 128, (w.stage, 0, TURNED), (w.stage, 4096, PLAIN), 4)


def describe(w: World) -> None:
    w.k.describe_matrix((w.table, 32, w.n), (w.x, 4), columns=w.n, rows=8, row_words=16, box_rows=64)


def copy_box(w: World) -> None:
    w.k.copy_box((w.stage, 1024), w.x, (w.table, 32), column=w.n, row=8, rows=64, barrier=(w.there, 1))


def describe_windows(w: World) -> None:
    sizes = {"lengths": (9, w.n, 2), "strides": (32, 288, 2592), "steps": (1, 2), "before": (1, 0), "counts": (9, 4)}
    w.k.describe_windows((w.table, 32, w.n), (w.x, 4), columns=64, **sizes, box_rows=128)


def copy_windows(w: World) -> None:
    place = {"column": 0, "place": (w.n, 4, 1), "taps": (2, 0), "rows": 64}
    w.k.copy_windows((w.stage, 1024), w.x, (w.table, 32), **place, barrier=(w.there, 1))


CASES = [
    Case(
        "CopyAsync",
        lambda w: w.k.copy_async(w.stage, 4, w.x, w.n, True),
        "copy4 async stage[4:u32] = x[n] where true:bool",
        {"stage": WRITE, "x": READ},
        4,
    ),
    Case("Commit", lambda w: w.k.commit(), "commit copies", {}, 0),
    Case("Await", lambda w: w.k.await_("products", 1), "await products, 1 pending", {}, 0),
    Case(
        "WarpgroupMultiply",
        multiply,
        "warpgroup sums += stage[0:u32] turned @ stage[4096:u32] in blocks of 8192 of bf16, 128 columns, 4 steps",
        {"sums": READ | WRITE, "stage": READ},
        64 * 128 * 64 / 128,
    ),
    Case(
        "DescribeMatrix",
        describe,
        "describe table[32:u32] word n = x[4:u32], 8:u32 x n by 16:u32 words, boxes of 64 rows",
        {"table": WRITE, "x": READ},
        0,
    ),
    Case(
        "DescribeWindows",
        describe_windows,
        "describe table[32:u32] word n = x[4:u32], 2:u32 x n x 9:u32 x 64:u32 by 2592:u32, 288:u32, 32:u32 words, "
        "4:u32 x 9:u32 windows by 2:u32, 1:u32 from 0:u32, 1:u32 before, boxes of 128 rows",
        {"table": WRITE, "x": READ},
        0,
    ),
    Case(
        "InitBoxes",
        lambda w: w.k.init_boxes(w.there, 2, 3),
        "init there[0..2], 3 boxes each",
        {"there": WRITE},
        0,
    ),
    Case(
        "CopyBox",
        copy_box,
        "copy box stage[1024:u32] = x by table[32:u32] at row 8:u32, column n, 64 rows, for there[1:u32]",
        {"stage": WRITE, "x": READ, "table": READ, "there": READ | WRITE},
        64 * 64 / 2,
    ),
    Case(
        "CopyWindows",
        copy_windows,
        "copy windows stage[1024:u32] = x by table[32:u32] at window 1:u32, 4:u32, n, tap 0:u32, 2:u32, column 0:u32, "
        "64 rows, for there[1:u32]",
        {"stage": WRITE, "x": READ, "table": READ, "there": READ | WRITE},
        64 * 64 / 2,
    ),
    Case(
        "AwaitBoxes",
        lambda w: w.k.await_boxes(w.there, w.n, 1),
        "await there[n], parity 1:u32",
        {"there": READ | WRITE},
        0,
    ),
    Case(
        "ReleaseBoxes",
        lambda w: w.k.release_boxes(w.there, w.n),
        "release there[n]",
        {"there": READ | WRITE},
        0,
    ),
    Case("Turn", lambda w: w.k.turn("await", 2), "await turn of 2 warpgroups", {}, 0),
]


def stmt_of(case: Case, w: World | None = None) -> tuple[Kernel, Stmt]:
    w = w or World()
    case.emit(w)
    kernel = w.build()
    return kernel, next(stmt for stmt in walk(kernel.body) if type(stmt).__name__ == case.name)


def test_the_text_says_what_is_tf32() -> None:
    w, lies = World(), Swizzled(turned=True, block=0, size=4)
    w.k.warpgroup_multiply(w.sums, TF32, 128, (w.stage, 0, lies), (w.stage, 4096, lies), 2, first=2)
    w.k.describe_matrix((w.table, 32, w.n), (w.x, 4), columns=w.n, rows=8, row_words=16, box_rows=64, dtype=TF32)
    said = text(w.build())
    assert "stage[0:u32] turned @ stage[4096:u32] turned of tf32, 128 columns, 2 steps from 2 on\n" in said
    assert "describe table[32:u32] word n = x[4:u32] of tf32, 8:u32 x n by 16:u32 words, boxes of 64 rows\n" in said


def test_every_statement_has_a_case() -> None:
    assert {case.name for case in CASES} == {kind.__name__ for kind in get_args(AsyncStmt)}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_text_has_everything(case: Case) -> None:
    kernel, _ = stmt_of(case)
    assert text(kernel).splitlines()[-1].strip() == case.line


def values_of(stmt: Stmt) -> list[object]:
    """What a statement's fields have, one by one."""
    found = [getattr(stmt, each.name) for each in fields(stmt)]
    return [value for each in found for value in (each if isinstance(each, tuple) else (each,))]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_operands_are_all_values_of_the_statement_and_can_be_replaced(case: Case) -> None:
    _, stmt = stmt_of(case)
    held = [value for value in values_of(stmt) if isinstance(value, Value | Const | Variable)]
    assert list(operands(stmt)) == held
    changed: dict[Operand, Operand] = {}
    for number, operand in enumerate(held, start=100):
        changed[operand] = Value(number, operand.type)
    after = map_operands(stmt, changed.__getitem__)
    assert values_of(after) == [
        changed.get(value, value) if isinstance(value, Value | Const | Variable) else value for value in values_of(stmt)
    ]
    assert map_operands(stmt, lambda operand: operand) is stmt


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_a_statement_does_to_memory(case: Case) -> None:
    kernel, stmt = stmt_of(case)
    named = names(kernel)
    assert {named[pointer.id]: mode for pointer, mode in accesses(stmt)} == case.accesses
    parameters = [param.value.hint for param in kernel.params]
    assert modes(kernel) == tuple(case.accesses.get(name, 0) for name in parameters)
    wanted = {name for name, mode in case.accesses.items() if mode & WRITE}
    assert {named[id_] for id_ in written_pointers(kernel)} == wanted
    assert Rewriter(kernel).written == written_pointers(kernel)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_work(case: Case) -> None:
    kernel, _ = stmt_of(case)
    assert operations(kernel, [0] * len(kernel.params)) == pytest.approx(case.work)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_is_never_dead(case: Case) -> None:
    kernel, _ = stmt_of(case)
    assert [type(stmt).__name__ for stmt in walk(dce(kernel).body)][-1] == case.name


def test_what_groups_come_to_together() -> None:
    together = {kind.__name__ for kind in get_args(GroupStmt)} & {case.name for case in CASES}
    assert together == {"Commit", "Await", "WarpgroupMultiply", "Turn"}


# ---------------------------------------------------------------------- what memory may be otherwise behind


def load_then(case: Case, pick: Callable[[World], Ref]) -> tuple[Kernel, set[int]]:
    """A load whose only use comes behind the statement, and what is inlined."""
    w = World()
    loaded = w.k.load(pick(w), 7)
    case.emit(w)
    w.k.store(w.y, 0, loaded)
    kernel = w.build()
    return kernel, set(inlined(kernel))


DESCRIBES = {"DescribeMatrix", "DescribeWindows"}
MOVES = {"Commit", "Turn"}
"""Behind these, memory is as it was."""


@pytest.mark.parametrize("space", ["stage", "x"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_load_moves_to_behind_it(case: Case, space: str) -> None:
    kernel, moved = load_then(case, lambda w: getattr(w, space))
    load = next(stmt for stmt in walk(kernel.body) if isinstance(stmt, Load))
    assert (load.result.id in moved) is (case.name in MOVES)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_loads_on_both_sides_stay_where_memory_changes(case: Case) -> None:
    """Of parameters; arrays of the kernel are loaded again anyway."""
    w = World()
    before = w.k.load(w.table, 5)
    case.emit(w)
    w.k.store(w.y, 0, before + w.k.load(w.table, 5))
    loads = sum(isinstance(stmt, Load) for stmt in walk(cse(w.build()).body))
    assert loads == (2 if case.name in DESCRIBES else 1)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_memory_that_is_described_differs_between_work_items(case: Case) -> None:
    w = World()
    loaded = w.k.load(w.table, 5)
    case.emit(w)
    assert uniformity(w.build()).is_uniform(loaded.operand) is (case.name not in DESCRIBES)


# ---------------------------------------------------------------------- matrix instructions


def matrix(use: bool = True) -> tuple[Kernel, MatrixMultiply]:
    k = KernelBuilder("matrix", group_size=(32, 1, 1))
    out = k.pointer("out", F64)
    left, right, sums = (k.const(value, Vector(F64, count)) for value, count in ((1.0, 8), (2.0, 4), (3.0, 4)))
    products = k.matrix_multiply(INSTRUCTIONS["mma_f64"], left, right, sums)
    if use:
        k.store(out, 0, k.op("extract", products, 0))
    verify(k.build())
    return k.build(), next(stmt for stmt in walk(k.build().body) if isinstance(stmt, MatrixMultiply))


def test_matrix_instruction_in_text_and_name() -> None:
    kernel, stmt = matrix()
    assert names(kernel)[stmt.result.id] == "sums"
    line = "let sums: f64x4 = matrix 1.0:f64x8 @ 2.0:f64x4 + 3.0:f64x4 by mma_f64"
    assert line in [each.strip() for each in text(kernel).splitlines()]
    assert defined(stmt) == stmt.result


def test_work_items_hold_different_sums() -> None:
    """Also where the operands are the same."""
    kernel, stmt = matrix()
    assert not uniformity(kernel).is_uniform(stmt.result)


@pytest.mark.parametrize("used", [True, False])
def test_matrix_instruction_without_use_is_dead(used: bool) -> None:
    kernel, _ = matrix(used)
    assert any(isinstance(stmt, MatrixMultiply) for stmt in walk(dce(kernel).body)) is used


def test_work_of_a_matrix_instruction() -> None:
    kernel, _ = matrix(use=False)
    assert operations(kernel, [0]) == 16 * 16 * 8 / 32


def test_operands_of_a_matrix_instruction_can_be_replaced() -> None:
    _, stmt = matrix()
    left, right, sums = (Value(100 + number, operand.type) for number, operand in enumerate(operands(stmt)))
    after = map_operands(stmt, {stmt.left: left, stmt.right: right, stmt.sum: sums}.__getitem__)
    assert isinstance(after, MatrixMultiply)
    assert (after.left, after.right, after.sum) == operands(after) == (left, right, sums)
