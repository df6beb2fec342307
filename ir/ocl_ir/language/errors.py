"""Errors that point at the Python source: file, line and column, the line with a caret, who called, and the remedy."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ocl_ir.errors import Error
from ocl_ir.source_line import is_own


class KernelError(Error):
    """A kernel in Python that is not well formed: syntax without a meaning, a name without a value, a wrong call."""


class ZeroDivisorError(Error, ZeroDivisionError):
    """A kernel that runs in checked mode, or is interpreted, divides an integer by 0."""


ZERO_DIVISOR_REMEDY = "test the divisor first, by `if` or `… if b != 0 else …`; where(…) divides in any case"


def work_item_text(local: Sequence[int], group: Sequence[int]) -> str:
    """A work-item in an error, by its local ids and the number of its group along each dimension."""
    shown = max([axis for axis in range(3) if local[axis] or group[axis]], default=0) + 1
    item, of = (str(ids[0]) if shown == 1 else f"({', '.join(map(str, ids[:shown]))})" for ids in (local, group))
    return f"work-item {item} of group {of}"


@dataclass(frozen=True, slots=True)
class Frame:
    """A function of the kernel: its name, its file, and the file's lines."""

    function: str
    file: str
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of source in a frame; `called` is the span that called the function, None for the kernel itself."""

    frame: Frame
    line: int
    column: int
    end_line: int
    end_column: int
    called: Span | None = None

    @classmethod
    def of(cls, node: ast.AST, frame: Frame, called: Span | None = None) -> Span:
        """The span of a syntax node that has a position."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line, end_column = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column + 1)
        return cls(frame, line, column, end_line or line, end_column or column + 1, called)

    def __str__(self) -> str:
        return f"{self.frame.file}:{self.line}"

    @property
    def text(self) -> str:
        """The piece itself, in one line."""
        lines = list(self.frame.lines[self.line - 1 : self.end_line])
        if not lines:
            return ""
        encoded = [line.encode() for line in lines]  # columns of `ast` count bytes
        encoded[-1] = encoded[-1][: self.end_column] if len(encoded) > 1 or self.end_line == self.line else encoded[-1]
        encoded[0] = encoded[0][self.column :]
        return " ".join(line.decode(errors="replace").strip() for line in encoded).strip()

    @property
    def excerpt(self) -> str:
        """Where it is, who called, and the first line with carets below."""
        place = f"{self}:{self.column + 1}, in {self.frame.function}"
        caller = self.called
        while caller is not None:
            if not is_own(caller.frame.file):  # kernels of the library call functions of elements
                place += f", called at {caller}"
            caller = caller.called
        if not 0 < self.line <= len(self.frame.lines):
            return place
        raw = self.frame.lines[self.line - 1].rstrip("\n")
        start = len(raw.encode()[: self.column].decode(errors="replace"))
        stop = len(raw.encode()[: self.end_column].decode(errors="replace")) if self.end_line == self.line else len(raw)
        number = f"{self.line:>6}"
        carets = " " * start + "^" * max(1, stop - start)
        return f"{place}\n{number} | {raw}\n{' ' * len(number)} | {carets}"
