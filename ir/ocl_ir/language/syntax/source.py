"""The source of a function: its syntax tree, found by what Python itself knows of the function's code.

The whole file is read through `linecache`, which also has the cells of notebooks, the examples of doctests, and what
`exec` ran if somebody registered it. The node is the innermost one that holds all positions of the code: names and
line numbers do not tell two lambdas of a line apart. The text is compiled again and compared, instructions and
constants: a file that was changed since its import is not what runs.
"""

from __future__ import annotations

import ast
import hashlib
import linecache
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE
from types import CodeType, FunctionType
from typing import Any, TypeAlias

from ocl_ir.errors import Error
from ocl_ir.language.errors import Frame, KernelError
from ocl_ir.source_line import calling_line

FunctionNode: TypeAlias = ast.FunctionDef | ast.Lambda

_FUTURE = 0x1FF0000
"""The flags of code that `from __future__ import` set."""
_FILES = 8
"""Of which the functions are kept: a file may have many kernels, which are asked for one after the other."""


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A function's syntax tree, and the frame that errors name."""

    node: FunctionNode
    frame: Frame


def source_of(function: FunctionType) -> FunctionSource:
    """The source of a Python function. Raises `KernelError` where it is not at hand, or is not what runs."""
    code = function.__code__
    if code.co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR):
        raise KernelError(
            f"{function.__name__} is a coroutine, and kernels do not wait",
            place=f"{code.co_filename}:{code.co_firstlineno}",
            remedy="write def",
        )
    return _source_of(code, code.co_filename, function.__name__)


def function_from(text: str, names: Mapping[str, Any], name: str = "") -> FunctionType:
    """The function of a text, or the one with a name, which sees some names besides the text's own. Raises
    `KernelError` where there is none, or several without a name, and what running the text raises."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise KernelError(
            f"line {error.lineno} of the source is no Python: {error.msg}",
            place=calling_line(),
            remedy="give the text of a function",
        ) from error
    name = _kernel_name([node.name for node in tree.body if isinstance(node, ast.FunctionDef)], name)
    file = f"<kernel {name} {hashlib.sha256(text.encode()).hexdigest()[:12]}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    namespace = {**names, "__name__": "__kernel__"}
    exec(compile(text, file, "exec", dont_inherit=True), namespace)  # the program's own text
    function: FunctionType = namespace[name]
    return function


def _kernel_name(functions: Sequence[str], name: str) -> str:
    """Which of the functions of a text is the kernel; the others are its helpers."""
    if name in functions or (not name and len(functions) == 1):
        return name or functions[0]
    if not functions:
        fact, remedy = "the source has no function at its top level", "give the text of a function"
    else:
        listed = ", ".join(functions)
        fact = f"the source has {len(functions)} functions at its top level: {listed}"
        if name:
            fact = f"the source has no function {name} at its top level, but {listed}"
        remedy = f"say which one is the kernel: ocl.kernel(source=text, name={functions[0]!r})"
    raise KernelError(fact, place=calling_line(), remedy=remedy)


@lru_cache(maxsize=1024)
def _source_of(code: CodeType, file: str, name: str) -> FunctionSource:  # codes of two files may be equal
    lines = linecache.getlines(file)
    if not lines:
        raise _without_source(name, file)
    text = "".join(lines)
    try:
        functions = _functions(text)
    except SyntaxError as error:
        raise KernelError(
            f"the source of {name} is no Python any more: {error.msg}",
            place=f"{file}:{error.lineno}",
            remedy="reload the module",
        ) from error
    node = _innermost(functions, code)
    frame = Frame(name, file, lines)
    if node is None or not _is_what_runs(text, code):
        if file == "<string>":  # which is what `exec` calls every text; newer Pythons know that of `python -c`
            raise _without_source(name, file)
        raise KernelError(
            f"{file} was changed since {name} was defined, so its text is not what runs",
            place=f"{file}:{code.co_firstlineno}",
            remedy="reload the module, or run the cell again",
        )
    return FunctionSource(node, frame)


def _without_source(name: str, file: str) -> Error:
    return KernelError(
        f"the source of {name} is not at hand: {file} cannot be read",
        place=calling_line(),
        remedy="define the kernel in a file or a notebook cell, or give its text: ocl.kernel(source=text)",
    )


def _positions(code: CodeType) -> tuple[tuple[int, int], tuple[int, int]]:
    """The first and the last place of the code's instructions."""
    starts = list[tuple[int, int]]()
    ends = list[tuple[int, int]]()
    for line, end_line, column, end_column in code.co_positions():
        if line is not None and column is not None and end_line is not None and end_column is not None and line > 0:
            starts.append((line, column))
            ends.append((end_line, end_column))
    # The instruction that starts a function has the position of its first line, column 0.
    starts = [start for start in starts if start != (code.co_firstlineno, 0)] or starts
    return min(starts), max(ends)


@lru_cache(maxsize=_FILES)
def _functions(text: str) -> list[FunctionNode]:
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.Lambda)]


def _innermost(functions: Sequence[FunctionNode], code: CodeType) -> FunctionNode | None:
    first, last = _positions(code)
    best: FunctionNode | None = None
    for node in functions:
        if isinstance(node, ast.FunctionDef) != (code.co_name != "<lambda>"):
            continue
        if isinstance(node, ast.FunctionDef) and node.name != code.co_name:
            continue
        start, end = _span(node)
        holds = start <= first and last <= end
        if holds and (best is None or _span(best)[0] <= start):
            best = node
    return best


def _span(node: FunctionNode) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where the body stands: the instructions of a function that holds another one begin at that one's head."""
    first: ast.stmt | ast.expr = node.body[0] if isinstance(node, ast.FunctionDef) else node.body
    decorators = first.decorator_list if isinstance(first, ast.FunctionDef | ast.ClassDef) else []
    line, column = min([(first.lineno, first.col_offset), *((d.lineno, d.col_offset - 1) for d in decorators)])
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return (line, column), (node.end_lineno, node.end_col_offset)


def _is_what_runs(text: str, code: CodeType) -> bool:
    """Whether compiling the text gives the same code; not asked where pytest has rewritten its assertions."""
    if "@pytest_ar" in code.co_names:
        return True
    return any(_same(other, code) for other in _compiled(text, code.co_filename, code.co_flags & _FUTURE))


@lru_cache(maxsize=_FILES)
def _compiled(text: str, file: str, flags: int) -> list[CodeType]:
    return [*_codes(compile(text, file, "exec", flags=flags, dont_inherit=True))]


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _same(one: CodeType, other: CodeType) -> bool:
    if one.co_firstlineno != other.co_firstlineno or one.co_code != other.co_code or one.co_names != other.co_names:
        return False
    if [*one.co_positions()] != [*other.co_positions()] or len(one.co_consts) != len(other.co_consts):
        return False
    return all(
        _same(a, b) if isinstance(a, CodeType) and isinstance(b, CodeType) else repr(a) == repr(b)
        for a, b in zip(one.co_consts, other.co_consts, strict=True)
    )
