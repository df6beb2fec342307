"""Deterministic text of kernel IR.

Each statement is one line, so that an error can point at it. The same kernel always gives the same text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ocl_ir.kernel.alignment import is_aligned
from ocl_ir.kernel.asynchronous import Swizzled
from ocl_ir.kernel.grammar import (
    Array,
    Assign,
    AsyncStmt,
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
    Operand,
    Print,
    ReleaseBoxes,
    Return,
    Shuffle,
    Stmt,
    Store,
    Turn,
    WarpgroupMultiply,
    While,
)
from ocl_ir.kernel.names import names
from ocl_ir.kernel.source_kernel import SourceKernel
from ocl_ir.program_ops import InlineC
from ocl_ir.types import Pointer, Vector, lanes


@dataclass(frozen=True)
class Line:
    """One line of text, and the statement that it shows."""

    text: str
    stmt: Stmt | None


def lines(kernel: Kernel) -> list[Line]:
    """The text line by line, each with its statement."""
    return list(_Printer(kernel).kernel())


def text(kernel: Kernel) -> str:
    """The text of the whole kernel."""
    return "\n".join(line.text for line in lines(kernel)) + "\n"


def statement_text(kernel: Kernel, stmt: Stmt) -> str:
    """The line of one statement (told by identity), or an empty text."""
    return next((line.text.strip() for line in lines(kernel) if line.stmt is stmt), "")


def neighbourhood(kernel: Kernel, stmt: Stmt | None, radius: int = 10) -> str:
    """The lines around a statement, which an arrow marks, and the Python line that asked for it.

    Of a kernel that is written in Python, where the statement knows its piece of that source, the piece is shown.
    """
    excerpt: str | None = getattr(stmt.where, "excerpt", None) if stmt is not None else None
    if excerpt is not None:
        return excerpt
    all_lines = lines(kernel)
    at = next((number for number, line in enumerate(all_lines) if line.stmt is stmt and stmt is not None), 0)
    first, last = max(0, at - radius), min(len(all_lines), at + radius + 1)
    shown = [
        f"{'-->' if number == at and stmt is not None else '   '} {all_lines[number].text}"
        for number in range(first, last)
    ]
    if stmt is not None and stmt.where:
        shown.append(f"asked for at {stmt.where}")
    return "\n".join(shown)


class _Printer:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._names = names(kernel)

    def kernel(self) -> Iterator[Line]:
        params = []
        for param in self._kernel.params:
            length = f"[{self._of(param.length)}]" if param.length is not None else ""
            promise = " restrict" if param.restrict else "" if param.low is None else f" >= {param.low}"
            params.append(f"{self._of(param.value)}: {param.value.type}{length}{promise}")
        group = f" group {'x'.join(map(str, self._kernel.group_size))}" if self._kernel.group_size else ""
        group += " pointwise" if self._kernel.pointwise else ""
        group += " in OpenCL C" if isinstance(self._kernel, SourceKernel) else ""
        yield Line(f"kernel {self._kernel.name}({', '.join(params)}){group}", None)
        yield from self._block(self._kernel.body, 1)

    def _block(self, block: Block, depth: int) -> Iterator[Line]:
        for stmt in block:
            yield from self._stmt(stmt, depth)

    def _of(self, operand: Operand) -> str:
        if not isinstance(operand, Const):
            return self._names.get(operand.id, f"?{operand.id}")
        value = str(operand.value).lower() if isinstance(operand.value, bool) else repr(operand.value)
        return f"{value}:{operand.type}"

    def _stmt(self, stmt: Stmt, depth: int) -> Iterator[Line]:
        pad = "  " * depth
        match stmt:
            case If():
                apart = "" if stmt.registers is None else " at once with {} and {} registers".format(*stmt.registers)
                yield Line(f"{pad}if {self._of(stmt.condition)}{apart}:", stmt)
                yield from self._block(stmt.then, depth + 1)
                if stmt.orelse:
                    yield Line(f"{pad}else:", None)
                    yield from self._block(stmt.orelse, depth + 1)
            case For():
                hint = (f" unroll {stmt.unroll}" if stmt.unroll else "") + (" vectorize" if stmt.vectorize else "")
                head = f"for {self._of(stmt.index)}: {stmt.index.type} in {self._of(stmt.start)}..{self._of(stmt.stop)}"
                yield Line(f"{pad}{head} step {self._of(stmt.step)}{hint}:", stmt)
                yield from self._block(stmt.body, depth + 1)
            case While():
                yield Line(f"{pad}while:", stmt)
                yield from self._block(stmt.header, depth + 1)
                yield Line(f"{pad}holds {self._of(stmt.condition)}:", None)
                yield from self._block(stmt.body, depth + 1)
            case _:
                yield Line(pad + self._simple(stmt), stmt)

    def _simple(self, stmt: Stmt) -> str:
        match stmt:
            case Let():
                args = ", ".join(self._of(arg) for arg in stmt.args)
                op = f"opencl_c `{stmt.op}`" if isinstance(stmt.op, InlineC) else stmt.op
                return f"let {self._of(stmt.result)}: {stmt.result.type} = {op} {args}"
            case Load():
                what = f"load{_width(stmt)} {self._of(stmt.pointer)}[{self._of(stmt.index)}]"
                return f"let {self._of(stmt.result)}: {stmt.result.type} = {what}"
            case Store():
                return f"store{_width(stmt)} {self._of(stmt.pointer)}[{self._of(stmt.index)}] = {self._of(stmt.value)}"
            case Local():
                return f"var {self._of(stmt.variable)}: {stmt.variable.type} = {self._of(stmt.init)}"
            case Assign():
                return f"{self._of(stmt.variable)} = {self._of(stmt.value)}"
            case Array():
                return f"array {self._of(stmt.pointer)}: {stmt.pointer.type}[{stmt.length}]"
            case Atomic():
                args = "".join(f", {self._of(arg)}" for arg in stmt.args)
                result = f"let {self._of(stmt.result)}: {stmt.result.type} = " if stmt.result is not None else ""
                return f"{result}atomic {stmt.op} {self._of(stmt.pointer)}[{self._of(stmt.index)}]{args}"
            case Barrier():
                return "barrier" + (" local" if stmt.local else "") + (" global" if stmt.global_ else "")
            case Collective():
                lane = f" of item {self._of(stmt.lane)}" if stmt.lane is not None else ""
                lane += f" in {stmt.size}" if stmt.size else ""
                whose = "subgroup" if stmt.size else "group"
                return (
                    f"let {self._of(stmt.result)}: {stmt.result.type} = {whose} {stmt.op} {self._of(stmt.value)}{lane}"
                )
            case Shuffle():
                what = f"shuffle {self._of(stmt.value)} of lane {self._of(stmt.lane)} in {stmt.size}"
                return f"let {self._of(stmt.result)}: {stmt.result.type} = {what}"
            case MatrixMultiply():
                left, right, sums = map(self._of, (stmt.left, stmt.right, stmt.sum))
                what = f"matrix {left} @ {right} + {sums} by {stmt.instruction}"
                return f"let {self._of(stmt.result)}: {stmt.result.type} = {what}"
            case Print():
                return ", ".join([f"print {json.dumps(stmt.format)}", *map(self._of, stmt.args)])
            case Break():
                return "break"
            case Continue():
                return "continue"
            case Return():
                return "return"
            case If() | For() | While():
                raise AssertionError(stmt)
        return self._asynchronous(stmt)

    def _asynchronous(self, stmt: AsyncStmt) -> str:
        match stmt:
            case CopyAsync():
                local, source = self._at(stmt.pointer, stmt.index), self._at(stmt.source, stmt.source_index)
                return f"copy{stmt.count} async {local} = {source} where {self._of(stmt.inside)}"
            case Commit():
                return "commit copies"
            case Await():
                return f"await {stmt.what}, {stmt.pending} pending"
            case WarpgroupMultiply():
                left, right = self._at(stmt.left, stmt.left_index), self._at(stmt.right, stmt.right_index)
                left, right = f"{left}{_lies(stmt.left_lies)}", f"{right}{_lies(stmt.right_lies)}"
                shape = f"{stmt.dtype}, {stmt.columns} columns, {stmt.steps} steps"
                shape += f" from {stmt.first} on" if stmt.first else ""
                return f"warpgroup {self._of(stmt.sums)} {'=' if stmt.starts else '+='} {left} @ {right} of {shape}"
            case DescribeMatrix():
                table, source = self._at(stmt.table, stmt.slot), self._at(stmt.source, stmt.source_index)
                table += f" word {self._of(stmt.word)}"
                lengths = f"{self._of(stmt.rows)} x {self._of(stmt.columns)} by {self._of(stmt.row_words)} words"
                of = f" of {stmt.dtype}" if stmt.dtype.size > 2 else ""
                return f"describe {table} = {source}{of}, {lengths}, boxes of {stmt.box_rows} rows"
            case DescribeWindows():
                table, source = self._at(stmt.table, stmt.slot), self._at(stmt.source, stmt.source_index)
                table += f" word {self._of(stmt.word)}"
                shape = self._all([*reversed(stmt.lengths), stmt.columns], " x ")
                lies = f"{shape} by {self._all(reversed(stmt.strides))} words"
                windows = f"{self._all(reversed(stmt.counts), ' x ')} windows by {self._all(reversed(stmt.steps))}"
                windows += f" from {self._all(reversed(stmt.before))} before"
                of = f" of {stmt.dtype}" if stmt.dtype.size > 2 else ""
                return f"describe {table} = {source}{of}, {lies}, {windows}, boxes of {stmt.box_rows} rows"
            case InitBoxes():
                return f"init {self._of(stmt.barriers)}[0..{stmt.count}], {stmt.boxes} boxes each"
            case CopyBox():
                local, table = self._at(stmt.pointer, stmt.index), self._at(stmt.table, stmt.slot)
                place = f"row {self._of(stmt.row)}, column {self._of(stmt.column)}, {stmt.rows} rows"
                barrier = self._at(stmt.barriers, stmt.number)
                return f"copy box {local} = {self._of(stmt.source)} by {table} at {place}, for {barrier}"
            case CopyWindows():
                local, table = self._at(stmt.pointer, stmt.index), self._at(stmt.table, stmt.slot)
                place = f"window {self._all(reversed(stmt.place))}, tap {self._all(reversed(stmt.taps))}"
                place += f", column {self._of(stmt.column)}, {stmt.rows} rows"
                barrier = self._at(stmt.barriers, stmt.number)
                return f"copy windows {local} = {self._of(stmt.source)} by {table} at {place}, for {barrier}"
            case AwaitBoxes():
                return f"await {self._at(stmt.barriers, stmt.number)}, parity {self._of(stmt.parity)}"
            case ReleaseBoxes():
                return f"release {self._at(stmt.barriers, stmt.number)}"
            case Turn():
                return f"{stmt.what} turn of {stmt.warpgroups} warpgroups"

    def _all(self, operands: Iterable[Operand], between: str = ", ") -> str:
        return between.join(map(self._of, operands))

    def _at(self, pointer: Operand, index: Operand) -> str:
        return f"{self._of(pointer)}[{self._of(index)}]"


def _lies(lies: Swizzled | None) -> str:
    """How an operand of a warpgroup lies."""
    if lies is None:
        return " held"
    return " turned" if lies.turned else f" in blocks of {lies.block}"


def _width(stmt: Load | Store) -> str:
    """`4` for four lanes at an aligned address, `4u` for an unaligned one, nothing for a scalar."""
    moved = stmt.result.type if isinstance(stmt, Load) else stmt.value.type
    if not isinstance(stmt.pointer.type, Pointer) or not isinstance(moved, Vector):
        return ""
    return f"{lanes(moved)}{'' if is_aligned(stmt) else 'u'}"
