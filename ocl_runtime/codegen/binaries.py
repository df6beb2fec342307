"""The binaries of built programs, asked for while other threads run.

Some drivers compile before they answer (PoCL takes a tenth of a second and more), and PyOpenCL lets no other thread of
Python run meanwhile. So the driver is asked directly, through the library that PyOpenCL has loaded: a call through
`ctypes` lets others run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

# OpenCL 1.2, table 5.13
_NUM_DEVICES, _BINARY_SIZES, _BINARIES = 0x1162, 0x1165, 0x1166


class RefusedError(Exception):
    """The driver does not answer."""


def can_ask(library: str) -> bool:
    """Whether a library, or one that it was linked with, has the function of OpenCL: not where the system looks for
    functions in the library alone, as Windows does."""
    return _function(library) is not None


def binary_of(library: str, program: int) -> bytes:
    """The binary of a program, by its address, for the first of its devices; empty if there is none. Raises
    `RefusedError` where the driver says no."""
    function = _function(library)
    assert function is not None

    def ask(what: int, answer: Any) -> None:
        status = function(program, what, ctypes.sizeof(answer), ctypes.byref(answer), None)
        if status:
            raise RefusedError(f"status {status}")

    count = ctypes.c_uint()
    ask(_NUM_DEVICES, count)
    sizes = (ctypes.c_size_t * count.value)()
    ask(_BINARY_SIZES, sizes)
    contents = [ctypes.create_string_buffer(max(size, 1)) for size in sizes]
    ask(_BINARIES, (ctypes.c_void_p * count.value)(*map(ctypes.addressof, contents)))
    return contents[0].raw[: sizes[0]]


@cache
def _function(library: str) -> Callable[..., int] | None:
    try:
        function: Any = ctypes.CDLL(library).clGetProgramInfo
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_int
    function.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    return function  # type: ignore[no-any-return]
