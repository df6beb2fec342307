"""Checks of what goes on while work-items do: which memory it takes, and what instructions can be asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from ocl_ir.kernel.asynchronous import (
    ALIGNMENT,
    ASYNC_OPERANDS,
    COPY_BYTES,
    MOST_BOX_ROWS,
    ROWS,
    STEP_BYTES,
    WARPGROUP,
    AwaitWhat,
    Swizzled,
    TurnWhat,
)
from ocl_ir.kernel.fault import Fault, name_of
from ocl_ir.kernel.grammar import (
    Array,
    AsyncStmt,
    Await,
    AwaitBoxes,
    CopyAsync,
    CopyBox,
    CopyWindows,
    DescribeMatrix,
    DescribeWindows,
    InitBoxes,
    Kernel,
    Operand,
    ReleaseBoxes,
    Stmt,
    Turn,
    Value,
    WarpgroupMultiply,
    walk,
)
from ocl_ir.types import BF16, BOOL, F16, F32, F64, TF32, U32, U64, DType, Pointer, Space

_DTYPES = frozenset({F16, BF16, TF32})
"""Of operands of products."""
_WORDS = {F16: U32, BF16: U32, TF32: U32, F64: F64}
"""Of what boxes are copied, the words of global memory, by what their elements are."""
_COLUMNS = range(8, 257, 8)
"""Of the products that there are instructions for."""
_MOST_TURNS = 8
"""Warpgroups of the largest group."""


def waits_are_counted(kernel: Kernel) -> Iterator[Fault]:
    """A wait is for copies or for products, and leaves none of them or some."""
    for stmt in walk(kernel.body):
        if not isinstance(stmt, Await):
            continue
        if stmt.what not in get_args(AwaitWhat):
            yield Fault(f"a wait for {stmt.what!r}", stmt, f"await one of {', '.join(get_args(AwaitWhat))}")
        elif stmt.pending < 0:
            yield Fault(f"a wait that leaves {stmt.pending} pending", stmt, "leave 0 or more")


def turns_are_of_warpgroups(kernel: Kernel) -> Iterator[Fault]:
    """The first warpgroups of a group of one dimension take turns, two at least."""
    size = kernel.group_size
    for stmt in walk(kernel.body):
        if not isinstance(stmt, Turn):
            continue
        if stmt.what not in get_args(TurnWhat):
            yield Fault(f"a step {stmt.what!r} of turns", stmt, f"use one of {', '.join(get_args(TurnWhat))}")
        elif not 2 <= stmt.warpgroups <= _MOST_TURNS:
            fact = f"turns of {stmt.warpgroups} warpgroups"
            yield Fault(fact, stmt, f"let 2 to {_MOST_TURNS} take turns")
        elif size is not None and (size[0] < stmt.warpgroups * WARPGROUP or size[1:] != (1, 1)):
            fact = f"turns of {stmt.warpgroups} warpgroups in a group of {size}"
            yield Fault(
                fact, stmt, f"make the group of one dimension, {stmt.warpgroups * WARPGROUP} work-items at least"
            )


def copy_types(kernel: Kernel) -> Iterator[Fault]:
    """A copy moves 16 bytes from global to local memory of one dtype, where a bool scalar says so."""
    for stmt in walk(kernel.body):
        if not isinstance(stmt, CopyAsync):
            continue
        local, source = stmt.pointer.type, stmt.source.type
        if not isinstance(local, Pointer) or not isinstance(source, Pointer) or local.dtype != source.dtype:
            yield Fault(f"a copy from {source} to {local}", stmt, "give pointers to one dtype")
        elif (local.space, source.space) != ("local", "global") or local.dtype.size * stmt.count != COPY_BYTES:
            fact = f"a copy of {stmt.count} {local.dtype} from {source.space} to {local.space} memory"
            yield Fault(fact, stmt, f"copy {COPY_BYTES} bytes from global to local memory")
        elif stmt.inside.type != BOOL:
            fact = f"the condition {name_of(kernel, stmt.inside)} of a copy is {stmt.inside.type}"
            yield Fault(fact, stmt, "compare it: conditions are bool scalars")
        else:
            yield from _indices(kernel, stmt, (stmt.index, stmt.source_index))


def warpgroup_types(kernel: Kernel) -> Iterator[Fault]:
    """A product of a warpgroup is of halves or tf32 in words of local memory that lie as it can read them, and has its
    sums in private memory."""
    lengths = {stmt.pointer.id: stmt.length for stmt in walk(kernel.body) if isinstance(stmt, Array)}
    for stmt in walk(kernel.body):
        if not isinstance(stmt, WarpgroupMultiply):
            continue
        if stmt.dtype not in _DTYPES:
            yield Fault(f"no product of a warpgroup is of {stmt.dtype}", stmt, "use f16, bf16 or tf32")
        elif not (_leads_to(stmt.sums, F32, "private") and _leads_to(stmt.right, U32, "local")):
            fact = f"a product of a warpgroup with {stmt.sums.type} and {stmt.right.type}"
            yield Fault(fact, stmt, "give it sums in private f32 and operands in local u32")
        elif not _leads_to(stmt.left, U32, "private" if stmt.left_lies is None else "local"):
            fact = f"a product of a warpgroup whose left operand is {stmt.left.type}"
            yield Fault(fact, stmt, "give it a left operand in local u32, or in private u32 that lies in no order")
        elif stmt.columns not in _COLUMNS or stmt.steps < 1 or stmt.first < 0:
            fact = f"a product of a warpgroup of {stmt.columns} columns and {stmt.steps} steps"
            yield Fault(fact, stmt, f"use a multiple of 8 columns, {_COLUMNS[-1]} at most, and one step or more")
        elif lengths.get(stmt.sums.id, 0) < stmt.columns // 2:
            fact = f"{name_of(kernel, stmt.sums)} has {lengths.get(stmt.sums.id, 0)} elements"
            yield Fault(f"{fact}, and a work-item {stmt.columns // 2} sums", stmt, "declare a longer array")
        else:
            yield from _indices(kernel, stmt, (stmt.left_index, stmt.right_index))
            for lies, own in ((stmt.left_lies, ROWS), (stmt.right_lies, stmt.columns)):
                if lies is not None:
                    yield from _layout(stmt, lies, own)


def _layout(stmt: WarpgroupMultiply, lies: Swizzled, own: int) -> Iterator[Fault]:
    row, step = lies.row, STEP_BYTES // lies.size
    if lies.size != stmt.dtype.size:
        fact = f"an operand of {stmt.dtype} that lies as elements of {lies.size} bytes"
        yield Fault(fact, stmt, f"say that elements have {stmt.dtype.size} bytes")
    elif stmt.dtype is TF32 and not lies.turned:
        fact = f"an operand of {TF32} in rows along its own axis"
        yield Fault(fact, stmt, "lay rows along the inner axis, or let work-items hold the left operand")
    elif lies.turned and (stmt.first + stmt.steps) * step > row:
        fact = f"{stmt.first + stmt.steps} steps of {step} places in rows of {row} elements along the inner axis"
        yield Fault(fact, stmt, "multiply again for the next rows")
    elif not lies.turned and own > row and (lies.block < 1 or lies.block % ALIGNMENT):
        fact = f"{own} elements of an operand in rows of {row}, in blocks {lies.block} bytes apart"
        yield Fault(fact, stmt, f"lay blocks a multiple of {ALIGNMENT} bytes apart")


def box_types(kernel: Kernel) -> Iterator[Fault]:
    """Boxes are words, or float64, that go from global to local memory, by descriptions in words of global memory;
    barriers of 64 bits in local memory count them."""
    for stmt in walk(kernel.body):
        match stmt:
            case DescribeMatrix() | DescribeWindows():
                yield from _memory(kernel, stmt, stmt.table, U32, "global")
                yield from _memory(kernel, stmt, stmt.source, _WORDS.get(stmt.dtype, U32), "global")
                yield from _indices(kernel, stmt, _numbers(stmt))
                yield from _box_rows(stmt, stmt.box_rows)
                if stmt.dtype not in _WORDS:
                    remedy = f"describe what is of one of {', '.join(map(str, _WORDS))}"
                    yield Fault(f"no box is copied of {stmt.dtype}", stmt, remedy)
            case InitBoxes():
                yield from _memory(kernel, stmt, stmt.barriers, U64, "local")
                if stmt.count < 1 or stmt.boxes < 1:
                    fact = f"{stmt.count} barriers for {stmt.boxes} boxes"
                    yield Fault(fact, stmt, "make one barrier or more, for one box or more")
            case CopyBox() | CopyWindows():
                word = F64 if _leads_to(stmt.source, F64, "global") else U32
                yield from _memory(kernel, stmt, stmt.pointer, word, "local")
                yield from _memory(kernel, stmt, stmt.source, word, "global")
                yield from _memory(kernel, stmt, stmt.table, U32, "global")
                yield from _memory(kernel, stmt, stmt.barriers, U64, "local")
                yield from _indices(kernel, stmt, _numbers(stmt))
                yield from _box_rows(stmt, stmt.rows)
            case AwaitBoxes():
                yield from _memory(kernel, stmt, stmt.barriers, U64, "local")
                yield from _indices(kernel, stmt, (stmt.number, stmt.parity))
            case ReleaseBoxes():
                yield from _memory(kernel, stmt, stmt.barriers, U64, "local")
                yield from _indices(kernel, stmt, (stmt.number,))


def matrices_are_described_before(kernel: Kernel) -> Iterator[Fault]:
    """No kernel copies boxes by a description that it writes itself: units that copy see it from the next launch on."""
    described = {stmt.table.id for stmt in walk(kernel.body) if isinstance(stmt, DescribeMatrix | DescribeWindows)}
    for stmt in walk(kernel.body):
        if isinstance(stmt, CopyBox | CopyWindows) and stmt.table.id in described:
            fact = f"a box by a description in {name_of(kernel, stmt.table)}, which the same kernel writes"
            yield Fault(fact, stmt, "describe the matrix in a launch before")


def _numbers(stmt: AsyncStmt) -> list[Operand]:
    """What a statement reads that is no memory."""
    return [operand for operand in ASYNC_OPERANDS[type(stmt)](stmt) if not isinstance(operand.type, Pointer)]


def _box_rows(stmt: Stmt, rows: int) -> Iterator[Fault]:
    if not 1 <= rows <= MOST_BOX_ROWS:
        yield Fault(f"a box of {rows} rows", stmt, f"copy 1 to {MOST_BOX_ROWS} rows at once")


def _memory(kernel: Kernel, stmt: Stmt, pointer: Value, dtype: DType, space: Space) -> Iterator[Fault]:
    if not _leads_to(pointer, dtype, space):
        fact = f"{name_of(kernel, pointer)} is {pointer.type} where boxes need {dtype} in {space} memory"
        yield Fault(fact, stmt, "give another pointer")


def _leads_to(pointer: Value, dtype: DType, space: Space) -> bool:
    return isinstance(pointer.type, Pointer) and (pointer.type.dtype, pointer.type.space) == (dtype, space)


def _indices(kernel: Kernel, stmt: Stmt, numbers: Sequence[Operand]) -> Iterator[Fault]:
    for number in numbers:
        if not isinstance(number.type, DType) or not number.type.is_integer:
            fact = f"the number {name_of(kernel, number)} is {number.type}"
            yield Fault(fact, stmt, "count with integer scalars")
