"""Where in the user's program something was asked for."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import TypeAlias

# Frames of this library, and of the `with` statements of its builder, are not the user's.
_HERE = Path(__file__).resolve().parent
_OWN_FILES = (
    str(_HERE),
    str(_HERE.parent / "ocl_runtime"),  # installed
    str(_HERE.parent.parent / "ocl_runtime"),  # in a checkout
    contextlib.__file__,
)


class Line:
    """A line of somebody's program; `str` says which. Only then it is looked up, which takes long in a long function.

    Holds the code, and nothing of what ran there. `caller` gives one for each, so they are compared by identity; of
    very many lines it may forget one, and then gives another.
    """

    __slots__ = ("at", "code")

    def __init__(self, code: CodeType, at: int) -> None:
        self.code = code
        self.at = at

    def __str__(self) -> str:
        found = next((line for low, high, line in self.code.co_lines() if low <= self.at < high), None)
        return f"{self.code.co_filename}:{self.code.co_firstlineno if found is None else found}"

    @property
    def function(self) -> str:
        """The function that the line is in; empty for the top level of a file, and for functions without a name."""
        name = self.code.co_name
        return "" if name.startswith("<") else name


Where: TypeAlias = Line | str
"""A Python line that asked for something; the empty text where it is not known."""


def in_function(what: str, where: Where) -> str:
    """What was asked for at a line, with the function that it is in: `denoise: kernel mul_add`."""
    function = where.function if isinstance(where, Line) else ""
    return f"{function}: {what}" if function else what


def caller(depth: int = 1) -> Line:
    """Where the innermost Python frame outside of this library is; the frames below `depth` are known to be inside."""
    frame = sys._getframe(depth)
    while _OWN[frame.f_code.co_filename]:
        outer = frame.f_back
        if outer is None:
            break
        frame = outer
    code, at = frame.f_code, frame.f_lasti
    # That is where the instruction lies: the bytes of a code are a part of its object.
    line = _LINES.get(id(code) + at)
    return line if line is not None else _noted(code, at)


def _noted(code: CodeType, at: int) -> Line:
    if len(_LINES) >= _MOST_LINES:
        _LINES.clear()
    return _LINES.setdefault(id(code) + at, Line(code, at))


def calling_line() -> str:
    """The same as `file:line`."""
    frame = _outside(sys._getframe(1))
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def calling_frame() -> FrameType:
    """The frame itself, for warnings; whoever asks must not keep it."""
    return _outside(sys._getframe(1))


def _outside(frame: FrameType) -> FrameType:
    while _OWN[frame.f_code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
    return frame


class _Own(dict[str, bool]):
    """Whether a file is of this library; asked for several frames of every operation."""

    def __missing__(self, file: str) -> bool:
        self[file] = file.startswith(_OWN_FILES)
        return self[file]


_OWN = _Own()

_MOST_LINES = 4096
_LINES: dict[int, Line] = {}
"""Lines that have asked for something, by address. They keep their codes, whose addresses are not used again."""
