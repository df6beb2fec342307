"""Where in the user's program something was asked for."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections import deque
from pathlib import Path
from types import CodeType, FrameType
from typing import TypeAlias
from weakref import ref

# Frames of this library, of the `with` statements of its builder and of its cached properties are not the user's.
_HERE = Path(__file__).resolve().parent
_RUNTIMES = tuple(str(folder / "ocl_runtime") for folder in (_HERE.parent, _HERE.parent.parent))
"""Where the arrays are: installed, and in a checkout."""
_OWN_FILES = (str(_HERE), *_RUNTIMES, contextlib.__file__, functools.__file__)
_USERS = tuple(str(Path(folder, "commands", "bench", "cases")) for folder in _RUNTIMES)
"""Programs beside the library, whose lines are a user's: what `ocl-bench` measures is planned as anybody's."""


class Line:
    """A place in somebody's program; `str` says which line. Only then it is looked up, which takes long in a long
    function.

    Holds the code, and nothing of what ran there. `caller` gives the same one for a place as long as anybody refers to
    it, so they are compared by identity. (One call may be two places: where CPython specialises it.)
    """

    __slots__ = ("__weakref__", "_text", "at", "code")

    def __init__(self, code: CodeType, at: int) -> None:
        self.code = code
        self.at = at
        self._text = ""

    def __str__(self) -> str:
        text = self._text
        if not text:  # whoever measures asks for it with every command
            line = next((line for low, high, line in self.code.co_lines() if low <= self.at < high), None)
            text = self._text = f"{self.code.co_filename}:{self.code.co_firstlineno if line is None else line}"
        return text

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


def is_own(file: str) -> bool:
    """Whether a file is of this library, and no line of it the user's."""
    return _OWN[file]


def caller(depth: int = 1) -> Line:
    """Where the innermost Python frame outside of this library is; the frames below `depth` are known to be inside."""
    frame = sys._getframe(depth)
    while _OWN[frame.f_code.co_filename]:
        outer = frame.f_back
        if outer is None:
            break
        frame = outer
    code, at = frame.f_code, frame.f_lasti
    entry = _LINES.get(id(code) + at)
    line = None if entry is None else entry()
    return _noted(code, at) if line is None else line


def _noted(code: CodeType, at: int) -> Line:
    line = Line(code, at)
    _LINES[id(code) + at] = ref(line)
    _NEWEST.append(line)
    count = len(_LINES)
    if count >= _MANY and not count & (count - 1):  # once they have doubled: it takes no longer than noting them
        for gone in [address for address, entry in _LINES.copy().items() if entry() is None]:
            _LINES.pop(gone, None)
    return line


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
        self[file] = file.startswith(_OWN_FILES) and not file.startswith(_USERS)
        return self[file]


_OWN = _Own()

_MANY = 256
_LINES: dict[int, ref[Line]] = {}
"""Lines that have asked for something, by where the instruction lies: the bytes of a code are a part of its object in
CPython, and a line keeps the code, so the address is no other's meanwhile."""
_NEWEST: deque[Line] = deque(maxlen=_MANY)
"""Those that were noted last, which a loop asks for again when nobody refers to them any more."""
