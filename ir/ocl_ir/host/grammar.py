"""The grammar of host IR: what a host asks of a device.

    Program   = name, Symbol*, Parameter*, Number*, Stmt*, result*
    Parameter = input value, written or donated? | output value    output: memory that the caller gives for a result
              | host input value | host output value            memory of the host: only copied from, or to
    Number    = name, dtype                                 a scalar that each call gives
    Stmt      = Alloc value                                     new memory, with undefined contents
              | View value = base at layout                     another way to look at memory: an alias
              | Launch kernel argument*, sizes, stream?         argument = value | size | Number | constant
              | Copy target <- source, stream?                  of equal shapes; one side may be on the host
              | Fill target <- number, stream?
              | For symbol in start..stop step: Stmt*           bounds are sizes: a call binds them
              | If size: Stmt* else: Stmt*                      so is the condition; 0 is false
              | Free value                                      nothing uses it after this
    Layout    = shape, strides, offset                          in elements of the root's memory

A value is a part of the memory of its *root*: a parameter, or what an `Alloc` made. It has a dtype, a shape, strides
and an offset, all of them sizes (see `ocl_ir.sizes`), so one program serves many shapes. Values are told apart by `id`,
which counts from zero in each program; `hint` is only the wish for a name. Statements are immutable; a pass builds new
ones.

`Stream` numbers are sizes, too, taken modulo the streams that there are; None leaves the choice to a pass. What a
program means does not depend on them: it is what its statements do one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ocl_ir.kernel.accesses import READ, WRITE, modes
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.sizes import Size, Symbol
from ocl_ir.source_line import Where
from ocl_ir.types import DType


@dataclass(frozen=True, slots=True)
class SymbolicLayout:
    """Element `(i, j, …)` lies at `offset + i * strides[0] + j * strides[1] + …` of the root's memory."""

    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size = 0

    @property
    def is_dense(self) -> bool:
        """Whether the elements follow each other in row-major order, whatever the sizes."""
        dense: Size = 1
        for length, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if length != 1:
                if stride != dense:
                    return False
                dense = dense * length
        return True


@dataclass(frozen=True, slots=True)
class Value:
    """Memory on the device, or a part of it."""

    id: int
    dtype: DType
    layout: SymbolicLayout
    hint: str = field(default="", compare=False)

    @property
    def shape(self) -> tuple[Size, ...]:
        """The length of each axis."""
        return self.layout.shape


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a call binds: an input, or an `output`, which has no values yet.

    A `written` input is changed by the program, and the caller sees what its commands left there. A `donated` one is
    given up: it may also be used as memory for something else. The memory of a `host` one is an array of the host,
    which must stay as it is until the call has ended.
    """

    value: Value
    output: bool = False
    donated: bool = False
    host: bool = False
    written: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    """A scalar of a dtype that each call gives: an argument of kernels."""

    name: str
    dtype: DType

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class _Statement:
    where: Where = field(default="", compare=False, kw_only=True)
    """The Python line that asked for the statement."""


@dataclass(frozen=True, slots=True)
class Alloc(_Statement):
    """`value` is new memory, contiguous."""

    value: Value


@dataclass(frozen=True, slots=True)
class View(_Statement):
    """`value` is a part of what `base` is."""

    value: Value
    base: Value


Argument: TypeAlias = "Value | Size | Number | float | bool"


@dataclass(frozen=True, slots=True)
class Launch(_Statement):
    """Runs a kernel over an index space; arguments stand in the order of its parameters."""

    kernel: Kernel
    args: tuple[Argument, ...]
    global_size: tuple[Size, ...]
    group_size: tuple[int, ...]
    stream: Size | None = None


@dataclass(frozen=True, slots=True)
class Copy(_Statement):
    """Copies elements; both have the same dtype and shape."""

    target: Value
    source: Value
    stream: Size | None = None


@dataclass(frozen=True, slots=True)
class Fill(_Statement):
    """Writes a number everywhere."""

    target: Value
    number: bool | int | float
    stream: Size | None = None


@dataclass(frozen=True, slots=True)
class For(_Statement):
    """Repeats its body, with `index` counting from `start` while it is below `stop`.

    What the body defines ends with the turn.
    """

    index: Symbol
    start: Size
    stop: Size
    step: Size
    body: Block


@dataclass(frozen=True, slots=True)
class If(_Statement):
    """Runs `then` where the condition is not 0, else `orelse`."""

    condition: Size
    then: Block
    orelse: Block = ()


@dataclass(frozen=True, slots=True)
class Free(_Statement):
    """A value made by an `Alloc`, and all views of it, are used no more."""

    value: Value


Command: TypeAlias = Launch | Copy | Fill
Stmt: TypeAlias = Alloc | View | Launch | Copy | Fill | For | If | Free
Block: TypeAlias = tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A host program. `results` are what the caller gets: outputs, memory that it allocates, or views of those."""

    name: str
    symbols: tuple[Symbol, ...]
    params: tuple[Parameter, ...]
    body: Block
    results: tuple[Value, ...] = ()
    numbers: tuple[Number, ...] = ()


def blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks nested in a statement, in order."""
    match stmt:
        case For():
            return (stmt.body,)
        case If():
            return (stmt.then, stmt.orelse)
    return ()


def map_blocks(stmt: Stmt, change: Callable[[Block], Block]) -> Stmt:
    """The statement with `change` applied to each nested block."""
    match stmt:
        case For():
            return replace(stmt, body=change(stmt.body))
        case If():
            return replace(stmt, then=change(stmt.then), orelse=change(stmt.orelse))
    return stmt


def walk(block: Block) -> Iterator[Stmt]:
    """Every statement, outer before inner, in textual order."""
    for stmt in block:
        yield stmt
        if type(stmt) is For or type(stmt) is If:  # most programs have none
            for inner in blocks(stmt):
                yield from walk(inner)


def used(stmt: Stmt) -> tuple[Value, ...]:
    """The values that a statement itself refers to, what it defines not counted."""
    match stmt:
        case View():
            return (stmt.base,)
        case Launch():
            return tuple(arg for arg in stmt.args if isinstance(arg, Value))
        case Copy():
            return (stmt.target, stmt.source)
        case Fill():
            return (stmt.target,)
        case Free():
            return (stmt.value,)
    return ()


def accessed(stmt: Stmt) -> list[tuple[Value, int]]:
    """The values whose memory a statement touches, and how."""
    match stmt:
        case Launch():
            pairs = zip(stmt.args, modes(stmt.kernel), strict=True)
            return [(arg, mode) for arg, mode in pairs if isinstance(arg, Value) and mode]
        case Copy():
            return [(stmt.source, READ), (stmt.target, WRITE)]
        case Fill():
            return [(stmt.target, WRITE)]
    return []


def defined(stmt: Stmt) -> Value | None:
    """The value that a statement introduces in the block where it stands."""
    return stmt.value if isinstance(stmt, Alloc | View) else None
