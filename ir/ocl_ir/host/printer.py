"""Host programs as text: deterministic, one line a statement."""

from __future__ import annotations

from collections.abc import Iterator

from ocl_ir.host.grammar import (
    Alloc,
    Argument,
    Block,
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
    Value,
    View,
    walk,
)
from ocl_ir.sizes import Size, Symbol, Term

_INDENT = "  "
_AROUND = 10


def text(program: Program) -> str:
    """The whole program."""
    return "\n".join(line for line, _ in _lines(program))


def neighbourhood(program: Program, stmt: Stmt | None) -> str:
    """The lines around a statement, which is marked; of the head where it is None."""
    lines = list(_lines(program))
    at = next((index for index, (_, owner) in enumerate(lines) if owner is stmt), 0)
    first = max(0, at - _AROUND)
    shown = lines[first : at + _AROUND + 1]
    return "\n".join(f"{'>' if index == at else ' '} {line}" for index, (line, _) in enumerate(shown, first))


def names(program: Program) -> dict[int, str]:
    """A name of its own for each value: its hint, with a number where another one has it."""
    named: dict[int, str] = {}
    taken: set[str] = set()
    defined = [param.value for param in program.params]
    defined += [stmt.value for stmt in walk(program.body) if isinstance(stmt, Alloc | View)]
    numbers: dict[str, int] = {}
    for value in defined:
        base = name = value.hint.encode("unicode_escape").decode() or "t"  # a statement stays one line
        while name in taken:
            numbers[base] = numbers.get(base, 0) + 1
            name = f"{base}_{numbers[base]}"
        taken.add(name)
        named.setdefault(value.id, name)
    return named


def statement(program: Program, stmt: Stmt) -> str:
    """One statement's own line."""
    return _statement(stmt, names(program))


def _lines(program: Program) -> Iterator[tuple[str, Stmt | None]]:
    known = names(program)
    sizes = ", ".join(map(str, program.symbols))
    params = ", ".join(_parameter(param, known) for param in program.params)
    numbers = ", ".join(f"{number}: {number.dtype}" for number in program.numbers)
    yield f"program {program.name}({'; '.join(part for part in (sizes, numbers, params) if part)})", None
    yield from _block(program.body, known, 1)
    yield f"{_INDENT}return {', '.join(_name(value, known) for value in program.results)}".rstrip(), None


def _parameter(param: Parameter, known: dict[int, str]) -> str:
    how = "output" if param.output else "donated" if param.donated else "written" if param.written else "input"
    how = f"host {how}" if param.host else how
    return f"{_name(param.value, known)}: {_type(param.value)} {how}"


def _block(block: Block, known: dict[int, str], depth: int) -> Iterator[tuple[str, Stmt | None]]:
    for stmt in block:
        yield _INDENT * depth + _statement(stmt, known), stmt
        match stmt:
            case For():
                yield from _block(stmt.body, known, depth + 1)
            case If():
                yield from _block(stmt.then, known, depth + 1)
                if stmt.orelse:
                    yield _INDENT * depth + "else:", None
                    yield from _block(stmt.orelse, known, depth + 1)


def _statement(stmt: Stmt, known: dict[int, str]) -> str:
    match stmt:
        case Alloc():
            return f"{_name(stmt.value, known)} = alloc {_type(stmt.value)}"
        case View():
            layout = stmt.value.layout
            where = f"strides {_tuple(layout.strides)} offset {layout.offset}"
            return f"{_name(stmt.value, known)} = view {_name(stmt.base, known)} as {_type(stmt.value)} {where}"
        case Launch():
            args = ", ".join(_argument(arg, known) for arg in stmt.args)
            groups = f" groups {_tuple(stmt.group_size)}" if stmt.group_size else ""
            return f"launch {stmt.kernel.name}({args}) over {_tuple(stmt.global_size)}{groups}{_stream(stmt.stream)}"
        case Copy():
            return f"copy {_name(stmt.target, known)} <- {_name(stmt.source, known)}{_stream(stmt.stream)}"
        case Fill():
            return f"fill {_name(stmt.target, known)} with {stmt.number!r}{_stream(stmt.stream)}"
        case For():
            step = f" step {stmt.step}" if stmt.step != 1 else ""
            return f"for {stmt.index} in {stmt.start}..{stmt.stop}{step}:"
        case If():
            return f"if {stmt.condition}:"
        case Free():
            return f"free {_name(stmt.value, known)}"


def _stream(stream: Size | None) -> str:
    return "" if stream is None else f" on stream {stream}"


def _argument(arg: Argument, known: dict[int, str]) -> str:
    if isinstance(arg, Value):
        return _name(arg, known)
    return str(arg) if isinstance(arg, Symbol | Term | Number) else repr(arg)


def _name(value: Value, known: dict[int, str]) -> str:
    return known.get(value.id, f"?{value.hint or value.id}")


def _type(value: Value) -> str:
    return f"{value.dtype}{_tuple(value.shape, '[]')}"


def _tuple(sizes: tuple[Size, ...], brackets: str = "()") -> str:
    return f"{brackets[0]}{', '.join(map(str, sizes))}{brackets[1]}"
