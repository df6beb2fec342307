"""How much arithmetic a kernel does: an estimate, for who spreads kernels over streams; and an operation, for who cuts
kernels.

Operations of one work-item are counted where they stand. A loop counts as often as it turns where its ends are numbers,
or arguments whose numbers are known, and a few times where they are not; of two branches the larger one counts. Memory
is nobody's business here: a load or store is one operation like all others.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from ocl_ir.kernel.asynchronous import ROW_BYTES
from ocl_ir.kernel.grammar import (
    Atomic,
    Block,
    Collective,
    Const,
    CopyAsync,
    CopyBox,
    CopyWindows,
    For,
    If,
    Kernel,
    Let,
    Load,
    MatrixMultiply,
    Operand,
    Param,
    Shuffle,
    Stmt,
    Store,
    WarpgroupMultiply,
    While,
    walk,
)
from ocl_ir.ops import OPS, PARTIAL
from ocl_ir.program_ops import DefinedOp
from ocl_ir.types import Pointer, Type, Vector

TURNS = 4
"""How often a loop is taken to turn of which nothing is known. It is few: most of these do what is left of a vector."""
DIVISION = 8
"""Additions that a division, remainder or root is worth: GPUs have an eighth as many units for its first guess."""
FUNCTION = 20
"""Additions that a transcendental function is worth: a reduction of its argument, and a polynomial."""

LONG = 6
"""Additions that take as long to compile as a division or a function: drivers take long over kernels of many."""

_DIVISIONS = frozenset({"div", "floordiv", "rem", *PARTIAL, "fmod", "sqrt", "rsqrt", "ipow"})
# What is one instruction, or a few, is exact or nearly: so the bounds of the table tell the rest.
_FUNCTIONS = frozenset(name for name, op in OPS.items() if op.ulp.get("f64", 0) >= 2) - _DIVISIONS
# A word is a quarter of ten rounds of ten; a normal number is a logarithm, and a longer polynomial; gamma numbers and
# counts take a block and two logarithms a candidate; small counts are compared with a sum of many terms.
_FUNCTIONS |= {"philox", "normal_bits", "gamma_bits"}
_FUNCTIONS |= {"poisson_small", "poisson_large", "binomial_small", "binomial_large"}
_TURN = 2
"""A loop's own addition and comparison."""
_MATRIX = 64
"""Multiply-adds of a work-item for 8 columns of a warpgroup, in a step."""


def worth(op: str) -> int:
    """How many additions an operation on numbers takes."""
    if isinstance(op, DefinedOp):
        return _defined(op)
    return FUNCTION if op in _FUNCTIONS else DIVISION if op in _DIVISIONS else 1


def length(op: str) -> int:
    """How long the code of an operation is, in additions."""
    if isinstance(op, DefinedOp):
        return sum(length(stmt.op) if isinstance(stmt, Let) else 1 for stmt in walk(op.definition.body))
    return LONG if op in _FUNCTIONS or op in _DIVISIONS else 1


@lru_cache(maxsize=1024)
def _defined(op: DefinedOp) -> int:
    return max(1, round(_total(_Reader(()).block(op.definition.body), ())))


class _Argument(NamedTuple):
    """A number that the launch gives, by the position of its parameter."""

    position: int


_End: TypeAlias = "int | _Argument"


class _Work(NamedTuple):
    """Operations of a block: a number, and what depends on arguments."""

    fixed: float
    loops: tuple[tuple[tuple[_End, _End, _End], _Work], ...] = ()
    choices: tuple[tuple[_Work, _Work], ...] = ()


_counted: dict[int, tuple[weakref.ref[Kernel], _Work]] = {}
"""By identity: a kernel is equal to another one only if all of its statements are, which takes long to find out."""


def operations(kernel: Kernel, args: Sequence[object]) -> float:
    """About how many operations a work-item does, in additions.

    `args` stand in the order of the kernel's parameters; only the integers among them are looked at.
    """
    entry = _counted.get(id(kernel))
    if entry is None:
        number = id(kernel)
        gone = weakref.ref(kernel, lambda _: _counted.pop(number, None))
        entry = _counted[number] = gone, _Reader(kernel.params).block(kernel.body)
    return _total(entry[1], args)


def _total(work: _Work, args: Sequence[object]) -> float:
    total = work.fixed
    for ends, body in work.loops:
        total += _turns(*(_number(end, args) for end in ends)) * _total(body, args)
    for then, orelse in work.choices:
        total += max(_total(then, args), _total(orelse, args))
    return total


def _number(end: _End, args: Sequence[object]) -> int | None:
    known = args[end.position] if isinstance(end, _Argument) else end
    return known if isinstance(known, int) else None


def _turns(start: int | None, stop: int | None, step: int | None) -> int:
    if start is None or stop is None or not step:
        return TURNS
    return max(0, -((start - stop) // step))


class _Reader:
    """Reads a kernel once. What an argument's value is called in between does not matter to loops."""

    def __init__(self, params: Sequence[Param]) -> None:
        self._ends: dict[int, _End] = {
            param.value.id: _Argument(position)
            for position, param in enumerate(params)
            if not isinstance(param.value.type, Pointer)
        }

    def block(self, block: Block) -> _Work:
        """The work of statements that follow each other."""
        fixed = 0.0
        loops: list[tuple[tuple[_End, _End, _End], _Work]] = []
        choices: list[tuple[_Work, _Work]] = []
        for stmt in block:
            fixed += _own(stmt)
            match stmt:
                case Let(op="copy" | "convert"):
                    end = self._end(stmt.args[0])
                    if end is not None:
                        self._ends[stmt.result.id] = end
                case If():
                    choices.append((self.block(stmt.then), self.block(stmt.orelse)))
                case For():
                    loops.append((self._ends_of(stmt), self._turning(stmt.body)))
                case While():
                    loops.append(((0, TURNS, 1), self._turning((*stmt.header, *stmt.body))))
        return _Work(fixed, tuple(loops), tuple(choices))

    def _turning(self, body: Block) -> _Work:
        work = self.block(body)
        return work._replace(fixed=work.fixed + _TURN)

    def _ends_of(self, loop: For) -> tuple[_End, _End, _End]:
        start, stop, step = self._end(loop.start), self._end(loop.stop), self._end(loop.step)
        return (0, TURNS, 1) if start is None or stop is None or step is None else (start, stop, step)

    def _end(self, operand: Operand) -> _End | None:
        if isinstance(operand, Const):
            return operand.value if isinstance(operand.value, int) else None
        return self._ends.get(operand.id)


def _own(stmt: Stmt) -> float:
    """What a statement does itself, without the blocks in it."""
    match stmt:
        case Let():
            return worth(stmt.op) * _lanes(stmt.result.type)
        case Load():
            return _lanes(stmt.result.type)
        case Store():
            return _lanes(stmt.value.type)
        case Atomic() | Collective() | Shuffle():
            return 1
        case MatrixMultiply():
            return stmt.instruction.work
        case WarpgroupMultiply():
            return stmt.steps * stmt.columns // 8 * _MATRIX
        case CopyAsync():
            return stmt.count
        case CopyBox() | CopyWindows():
            return ROW_BYTES // 4 * stmt.rows
    return 0


def _lanes(type_: Type) -> int:
    return type_.lanes if isinstance(type_, Vector) else 1
