"""The grammar of kernel IR: what one work-item does.

    Kernel  = name, Param*, Stmt*, group size?
    Stmt    = Let value = op operand*                    a binding: immutable, assigned once
            | Load value = pointer[index]                a binding whose value comes from memory
            | Local variable = operand                   a variable: mutable; starting one always copies
            | Assign variable = operand
            | Store pointer[index] = operand
            | Array pointer : dtype[length]              local (shared by the work-group) or private memory
            | Atomic value? = op pointer[index], operand*
            | If operand: Stmt* else: Stmt*
            | For value in start..stop step: Stmt*       bounds are evaluated once, before the loop
            | While (Stmt*; operand): Stmt*              the condition's statements run before every test
            | Barrier | Collective | Shuffle | MatrixMultiply      see `ocl_ir.kernel.cooperative`
            | CopyAsync | Commit | WarpgroupMultiply | Await | DescribeMatrix | DescribeWindows | InitBoxes | CopyBox
            | CopyWindows | AwaitBoxes | ReleaseBoxes | Turn
                                                     see `ocl_ir.kernel.asynchronous`
            | Print format, operand*                     a line of text from each work-item that comes here
            | Break | Continue | Return
    Operand = Value | Variable | Const

Statements are immutable; a pass builds new ones. Values and variables are told apart by `id`, which counts from zero
in each kernel; `hint` is only the wish for a name. One that begins with `~` does not keep a value from being written
inside of the only statement that uses it. An index counts elements of the pointer's dtype, also where several lanes are
loaded or stored at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter, is_
from typing import Any, ClassVar, Literal, TypeAlias

from ocl_ir.kernel.asynchronous import (
    ASYNC_OPERANDS,
    AsyncStmt,
    Await,
    AwaitBoxes,
    Commit,
    CopyAsync,
    CopyBox,
    CopyWindows,
    DescribeMatrix,
    DescribeWindows,
    InitBoxes,
    ReleaseBoxes,
    Turn,
    WarpgroupMultiply,
    asynchronous_with,
)
from ocl_ir.kernel.cooperative import Barrier, Collective, CollectiveOp, MatrixMultiply, Shuffle
from ocl_ir.kernel.values import Const, Operand, Statement, Value, Variable, as_pointer
from ocl_ir.late import Late

__all__ = [
    "Array", "Assign", "AsyncStmt", "Atomic", "AtomicOp", "Await", "AwaitBoxes", "Barrier", "Block", "Break",
    "Collective", "CollectiveOp", "Commit", "Const", "Continue", "CopyAsync", "CopyBox", "CopyWindows",
    "DescribeMatrix", "DescribeWindows", "For", "GroupStmt", "If", "InitBoxes", "Kernel", "Let", "Load", "Local",
    "MatrixMultiply", "Operand", "Param", "Print", "ReleaseBoxes", "Return", "Shuffle", "Statement", "Stmt", "Store",
    "SubgroupStmt", "Turn", "Value", "Variable", "WarpgroupMultiply", "While", "blocks", "defined", "map_blocks",
    "map_operands", "operands", "walk",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Param:
    """A kernel parameter. A global pointer is passed as a buffer and an offset in elements.

    `restrict`: no other parameter's memory overlaps it. `length`: how many elements may be touched, if known. `low`: an
    integer is never below.
    """

    value: Value
    restrict: bool = False
    length: Operand | None = None
    low: int | None = None


@dataclass(frozen=True, slots=True)
class Let(Statement):
    """`result` is the value of the operation `op` of the table in `ocl_ir.ops`."""

    result: Value
    op: str
    args: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Load(Statement):
    """`result` is read at `pointer[index]`; a vector reads that many elements, at an address that `align` divides."""

    result: Value
    pointer: Value
    index: Operand
    align: int = 0


@dataclass(frozen=True, slots=True)
class Store(Statement):
    """Writes `value` at `pointer[index]`; a vector writes that many elements, at an address that `align` divides."""

    pointer: Value
    index: Operand
    value: Operand
    align: int = 0


@dataclass(frozen=True, slots=True)
class Local(Statement):
    """Declares a variable and copies `init` into it."""

    variable: Variable
    init: Operand


@dataclass(frozen=True, slots=True)
class Assign(Statement):
    """Gives a variable a new value."""

    variable: Variable
    value: Operand


@dataclass(frozen=True, slots=True)
class Array(Statement):
    """Declares an array in local or private memory; its contents are undefined."""

    pointer: Value
    length: int


AtomicOp = Literal["add", "sub", "min", "max", "and", "or", "xor", "exchange", "compare_exchange", "load"]


@dataclass(frozen=True, slots=True)
class Atomic(Statement):
    """Reads, changes and writes `pointer[index]` in one step; `result` is the value that was there before. A `load`
    changes nothing; it sees what atomics of other work-groups have written, each time anew."""

    result: Value | None
    op: AtomicOp
    pointer: Value
    index: Operand
    args: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class If(Statement):
    """Runs `then` where `condition` holds and `orelse` where it does not.

    With `registers`, warps specialise: whole warpgroups come to each side, of which both go on at once and wait for
    each other at barriers of boxes. A work-item then has so many registers in `then`, and so many in `orelse`.
    """

    condition: Operand
    then: Block
    orelse: Block = ()
    registers: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class For(Statement):
    """Counts `index` from `start` while it is below `stop` (above, for a negative constant `step`).

    `unroll` is a hint to the compiler (0: none). `vectorize` says that the iterations are independent and may run as
    lanes.
    """

    index: Value
    start: Operand
    stop: Operand
    step: Operand
    body: Block
    unroll: int = 0
    vectorize: bool = False


@dataclass(frozen=True, slots=True)
class While(Statement):
    """Runs `header`, ends if `condition` does not hold, runs `body`, and starts again."""

    header: Block
    condition: Operand
    body: Block


@dataclass(frozen=True, slots=True)
class Print(Statement):
    """Prints a line: the text with a value for each `{}`; see `ocl_ir.kernel.formats`."""

    format: str
    args: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Break(Statement):
    """Leaves the innermost loop."""


@dataclass(frozen=True, slots=True)
class Continue(Statement):
    """Goes on with the innermost loop's next iteration."""


@dataclass(frozen=True, slots=True)
class Return(Statement):
    """Ends this work-item."""


SubgroupStmt: TypeAlias = Collective | Shuffle | MatrixMultiply | WarpgroupMultiply | Turn
"""What whole sub-groups of `size` items do; of a collective without size, the group."""
GroupStmt: TypeAlias = Barrier | SubgroupStmt | Commit | Await
"""To what the whole group comes, or nobody; but for barriers and what the group joins, it may be one side of a branch
whose warps specialise."""
Stmt: TypeAlias = (
    Let | Load | Store | Local | Assign | Array | Atomic | If | For | While | Barrier | Collective | Shuffle
    | MatrixMultiply | AsyncStmt | Print | Break | Continue | Return
)  # fmt: skip
Block: TypeAlias = tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Kernel(Late):
    """One kernel. `note` is a sentence for the reader of the generated code. One that is on disk with its source is
    launched without being read.

    `pointwise` is a promise: each element that a work-item writes at some place, it alone reads at the same place of
    what the kernel only reads, and before it writes. So a result may be written over an operand that lies alike.
    `describes`: it writes nothing but descriptions of matrices, by where these lie and by numbers, and reads nothing.
    """

    name: str
    describes: bool = field(default=False, kw_only=True)
    params: tuple[Param, ...]
    body: Block
    group_size: tuple[int, int, int] | None = None
    pointwise: bool = False
    note: str = field(default="", compare=False)
    LATE: ClassVar = ("params", "body", "group_size", "pointwise", "note")


_WITH_BLOCKS = frozenset({If, For, While})


def blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks nested in a statement, in the order in which they stand."""
    match stmt:
        case If():
            return (stmt.then, stmt.orelse)
        case For():
            return (stmt.body,)
        case While():
            return (stmt.header, stmt.body)
    return ()


def map_blocks(stmt: Stmt, change: Callable[[Block], Block]) -> Stmt:
    """The statement with `change` applied to each nested block."""
    match stmt:
        case If():
            return replace(stmt, then=change(stmt.then), orelse=change(stmt.orelse))
        case For():
            return replace(stmt, body=change(stmt.body))
        case While():
            return replace(stmt, header=change(stmt.header), body=change(stmt.body))
    return stmt


_walked: tuple[Block, tuple[Stmt, ...]] = ((), ())
"""The block that was walked last, whole, and its statements: the verifier walks one kernel some thirty times."""


def walk(block: Block) -> Iterator[Stmt]:
    """Every statement, outer before inner, in textual order."""
    global _walked  # noqa: PLW0603  # one assignment, so that threads see one pair or the other
    known, statements = _walked
    if known is not block:
        found: list[Stmt] = []
        _append_all(block, found)
        statements = tuple(found)
        if len(statements) > len(block):
            _walked = block, statements
    return iter(statements)


def _append_all(block: Block, found: list[Stmt]) -> None:
    for stmt in block:
        found.append(stmt)
        if type(stmt) in _WITH_BLOCKS:
            for inner in blocks(stmt):
                _append_all(inner, found)


_OPERANDS: Mapping[type, Callable[[Any], tuple[Operand, ...]]] = {
    Let: attrgetter("args"),
    Print: attrgetter("args"),
    Load: attrgetter("pointer", "index"),
    Store: attrgetter("pointer", "index", "value"),
    Local: lambda stmt: (stmt.init,),
    Assign: lambda stmt: (stmt.value,),
    Atomic: lambda stmt: (stmt.pointer, stmt.index, *stmt.args),
    Collective: lambda stmt: (stmt.value,) if stmt.lane is None else (stmt.value, stmt.lane),
    Shuffle: attrgetter("value", "lane"),
    MatrixMultiply: attrgetter("left", "right", "sum"),
    **ASYNC_OPERANDS,
    If: lambda stmt: (stmt.condition,),
    While: lambda stmt: (stmt.condition,),
    For: attrgetter("start", "stop", "step"),
}


def operands(stmt: Stmt) -> tuple[Operand, ...]:
    """What the statement itself reads; nested blocks and the variable an assignment writes are not counted.

    A `While` reads its condition at the end of its header, not where the statement begins.
    """
    read = _OPERANDS.get(type(stmt))
    return () if read is None else read(stmt)


def map_operands(stmt: Stmt, change: Callable[[Operand], Operand]) -> Stmt:
    """The statement with `change` applied to each operand it reads, the same object where all stay; pointers must stay
    values."""
    before = operands(stmt)
    after = tuple([change(operand) for operand in before])
    return stmt if all(map(is_, before, after)) else _with_operands(stmt, after)


def _with_operands(stmt: Stmt, new: tuple[Operand, ...]) -> Stmt:
    """The statement with others for what `operands` gives."""
    match stmt:
        case Let() | Print():
            return replace(stmt, args=new)
        case Load():
            return replace(stmt, pointer=as_pointer(new[0]), index=new[1])
        case Store():
            return replace(stmt, pointer=as_pointer(new[0]), index=new[1], value=new[2])
        case Local():
            return replace(stmt, init=new[0])
        case Assign():
            return replace(stmt, value=new[0])
        case Atomic():
            return replace(stmt, pointer=as_pointer(new[0]), index=new[1], args=new[2:])
        case Collective():
            return replace(stmt, value=new[0], lane=new[1] if len(new) > 1 else None)
        case Shuffle():
            return replace(stmt, value=new[0], lane=new[1])
        case MatrixMultiply():
            return replace(stmt, left=new[0], right=new[1], sum=new[2])
        case If() | While():
            return replace(stmt, condition=new[0])
        case For():
            return replace(stmt, start=new[0], stop=new[1], step=new[2])
    return asynchronous_with(stmt, new) if isinstance(stmt, AsyncStmt) else stmt


def defined(stmt: Stmt) -> Value | None:
    """The binding that a statement introduces in the block where it stands (a loop's index belongs to its body)."""
    match stmt:
        case Let() | Load() | Atomic() | Collective() | Shuffle() | MatrixMultiply():
            return stmt.result
        case Array():
            return stmt.pointer
    return None
