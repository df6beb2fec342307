"""Construction of host programs.

    p = HostBuilder("smooth")
    n = p.size("n")
    x, y = p.input("x", F32, (n,)), p.output("y", F32, (n,))
    t = p.alloc(F32, (n,), "t")
    p.launch(blur, (n, x, t), (n,))
    with p.for_(parts(n, 4096)) as i:
        start = i * 4096
        length = smaller(4096, n - start)
        with p.stream(i % 4):
            p.launch(blur, (length, p.slice(t, 0, start, length), p.slice(y, 0, start, length)), (length,))
    program = p.build(y)

`build` verifies the program (`ocl_ir.host.verify`). A view is a value like any other; nothing is declared beside the
program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache

from ocl_ir.errors import IRError, ShapeError
from ocl_ir.host.grammar import (
    Alloc,
    Argument,
    Copy,
    Fill,
    For,
    Free,
    If,
    Launch,
    Number,
    Parameter,
    Program,
    Stmt,
    SymbolicLayout,
    Value,
    View,
)
from ocl_ir.host.verify import verify
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.sizes import Size, Symbol, checked, product
from ocl_ir.source_line import Where, calling_line
from ocl_ir.types import DType

Shape = Sequence[Size]


class HostBuilder:
    """Makes one program, statement by statement; see the module's text."""

    def __init__(self, name: str) -> None:
        self._name = _identifier(name, "program")
        self._symbols: dict[Symbol, None] = {}
        self._params: list[Parameter] = []
        self._numbers: dict[Number, None] = {}
        self._stack: list[list[Stmt]] = [[]]
        self._streams: list[Size | None] = [None]
        self._values = 0
        self._loops = 0

    # ------------------------------------------------------------------ what a call binds

    def size(self, name: str) -> Symbol:
        """An integer that each call binds: by the shapes of its arguments, or by name."""
        symbol = Symbol(_identifier(name, "size"))
        if symbol in self._symbols:
            raise IRError(f"the size {name!r} is declared twice", place=calling_line(), remedy="give it another name")
        self._symbols[symbol] = None
        return symbol

    def input(self, name: str, dtype: DType, shape: Shape, *, written: bool = False, donated: bool = False) -> Value:
        """Memory that the caller gives, contiguous: to be read, to be changed, or (donated) for any use."""
        return self._param(name, dtype, shape, written=written, donated=donated)

    def output(self, name: str, dtype: DType, shape: Shape) -> Value:
        """Memory that the caller gives for a result, contiguous; its contents are undefined at first."""
        return self._param(name, dtype, shape, output=True)

    def host_input(self, name: str, dtype: DType, shape: Shape) -> Value:
        """An array of the host, to be copied from."""
        return self._param(name, dtype, shape, host=True)

    def host_output(self, name: str, dtype: DType, shape: Shape) -> Value:
        """An array of the host, to be copied to."""
        return self._param(name, dtype, shape, output=True, host=True)

    def number(self, name: str, dtype: DType) -> Number:
        """A scalar that each call gives; the same for the same name."""
        number = Number(_identifier(name, "number"), dtype)
        self._numbers[number] = None
        return number

    def writes(self, value: Value) -> None:
        """Says that an input is written after all."""
        self._params = [replace(param, written=True) if param.value == value else param for param in self._params]

    def _param(self, name: str, dtype: DType, shape: Shape, **how: bool) -> Value:
        value = self._value(dtype, contiguous(shape), _identifier(name, "parameter"))
        self._params.append(Parameter(value, **how))
        return value

    # ------------------------------------------------------------------ memory

    def alloc(self, dtype: DType, shape: Shape, hint: str = "", *, where: Where = "") -> Value:
        """New memory, contiguous, with undefined contents. `where` is the Python line that asks for the statement, here
        and below, by default the calling one."""
        value = self._value(dtype, contiguous(shape), hint)
        self._emit(Alloc(value, where=where or calling_line()))
        return value

    def view(
        self, base: Value, layout: SymbolicLayout, hint: str = "", dtype: DType | None = None, *, where: Where = ""
    ) -> Value:
        """A part of the memory that `base` is a part of; the layout counts elements of that memory from its start."""
        value = self._value(dtype or base.dtype, layout, hint or base.hint)
        self._emit(View(value, base, where=where or calling_line()))
        return value

    def slice(self, base: Value, axis: int, start: Size, length: Size, step: int = 1) -> Value:
        """Every `step`-th of `length` elements of an axis from `start` on, as a view."""
        _check_axis(base, axis)
        layout = base.layout
        stride = layout.strides[axis]
        shape = (*layout.shape[:axis], length, *layout.shape[axis + 1 :])
        strides = (*layout.strides[:axis], stride * step, *layout.strides[axis + 1 :])
        return self.view(base, SymbolicLayout(shape, strides, layout.offset + start * stride))

    def reshape(self, base: Value, shape: Shape) -> Value:
        """A contiguous value with another shape of the same size. Raises `ShapeError` for one that has gaps."""
        if base.layout != contiguous(base.shape, base.layout.offset):
            raise ShapeError(
                f"reshape of {base.hint or 'a value'}, which is not contiguous",
                place=calling_line(),
                remedy="copy it first: p.copy(p.alloc(…), value)",
            )
        return self.view(base, contiguous(shape, base.layout.offset))

    def free(self, value: Value) -> None:
        """Says that nothing uses a value of `alloc` any more. Where nobody says it, a pass finds it out."""
        self._emit(Free(value, where=calling_line()))

    # ------------------------------------------------------------------ commands

    def launch(
        self,
        kernel: Kernel,
        args: Sequence[Argument],
        global_size: Shape,
        group_size: Sequence[int] | None = None,
        *,
        where: Where = "",
    ) -> None:
        """Runs a kernel; its pointers take values, its scalars numbers and sizes."""
        groups = group_size or (kernel.group_size or ())[: len(global_size)]
        stream = self._streams[-1]
        self._emit(
            Launch(kernel, tuple(args), tuple(global_size), tuple(groups), stream, where=where or calling_line())
        )

    def copy(self, target: Value, source: Value) -> Value:
        """Copies elements, on the device or from or to the host; gives `target`."""
        self._emit(Copy(target, source, self._streams[-1], where=calling_line()))
        return target

    def fill(self, target: Value, number: bool | int | float) -> Value:
        """Writes a number everywhere; gives `target`."""
        self._emit(Fill(target, number, self._streams[-1], where=calling_line()))
        return target

    @contextmanager
    def stream(self, number: Size) -> Iterator[None]:
        """Commands of this block go to a stream."""
        self._streams.append(number)
        try:
            yield
        finally:
            self._streams.pop()

    # ------------------------------------------------------------------ control flow

    @contextmanager
    def for_(self, start: Size, stop: Size | None = None, step: Size = 1, hint: str = "i") -> Iterator[Symbol]:
        """Repeats the block; with one bound, from 0 to below it. Gives the index."""
        first, last = (0, start) if stop is None else (start, stop)
        index = Symbol(f"{hint}.{self._loops}")
        self._loops += 1
        with self._block() as body:
            yield index
        self._emit(For(index, first, last, step, tuple(body), where=calling_line()))

    @contextmanager
    def if_(self, condition: Size) -> Iterator[None]:
        """Runs the block where the condition, which a call decides, is not 0."""
        with self._block() as then:
            yield
        self._emit(If(condition, tuple(then), where=calling_line()))

    @contextmanager
    def else_(self) -> Iterator[None]:
        """Runs the block where the `if_` before it did not run its own."""
        block = self._stack[-1]
        if not block or not isinstance(block[-1], If) or block[-1].orelse:
            raise IRError("else_ without an if_ before it", place=calling_line(), remedy="put it right after an if_")
        with self._block() as orelse:
            yield
        before = block.pop()
        assert isinstance(before, If)
        block.append(replace(before, orelse=tuple(orelse)))

    @contextmanager
    def _block(self) -> Iterator[list[Stmt]]:
        """Statements go here until the block ends, however it does."""
        block: list[Stmt] = []
        self._stack.append(block)
        try:
            yield block
        finally:
            self._stack.pop()

    # ------------------------------------------------------------------ the end

    def build(self, *results: Value) -> Program:
        """The program, verified, with these results. Raises `VerifyError`."""
        body = tuple(self._stack[0])
        numbers = tuple(self._numbers)
        program = Program(self._name, tuple(self._symbols), tuple(self._params), body, results, numbers)
        verify(program)
        return program

    def _emit(self, stmt: Stmt) -> None:
        self._stack[-1].append(stmt)

    def _value(self, dtype: DType, layout: SymbolicLayout, hint: str) -> Value:
        value = Value(self._values, dtype, layout, hint)
        self._values += 1
        return value


def contiguous(shape: Shape, offset: Size = 0) -> SymbolicLayout:
    """Row-major, without gaps."""
    return _contiguous(tuple(map(checked, shape)), offset)


@lru_cache(maxsize=1024)  # who has many buffers of one size looks at their layout once
def _contiguous(shape: tuple[Size, ...], offset: Size) -> SymbolicLayout:
    return SymbolicLayout(shape, tuple([product(shape[axis + 1 :]) for axis in range(len(shape))]), offset)


def _check_axis(base: Value, axis: int) -> None:
    if not 0 <= axis < len(base.shape):
        raise ShapeError(
            f"axis {axis} of {base.hint or 'a value'}, which has {len(base.shape)} axes",
            place=calling_line(),
            remedy=f"use 0 to {len(base.shape) - 1}" if base.shape else "it has none",
        )


def _identifier(name: str, what: str) -> str:
    if not (name.isidentifier() and name.isascii()):
        raise IRError(f"{name!r} cannot be the name of a {what}", remedy="use letters, digits and underscores")
    return name
