"""NumPy's own functions around a transfer that is meant: what writes values downloads, what reads them uploads."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_runtime.numpy.operands import array_of, host

_WRITES = (
    "array2string", "array_repr", "array_str", "format_float_positional", "format_float_scientific", "save", "savetxt",
    "savez", "savez_compressed",
)  # fmt: skip
_READS = ("fromfile", "fromregex", "fromstring", "genfromtxt", "load", "loadtxt")


def _downloading(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    @functools.wraps(function)
    def downloads(*args: Any, **how: Any) -> Any:
        return function(*host(args), **host(how))

    return downloads


def _uploading(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    @functools.wraps(function)
    def uploads(*args: Any, **how: Any) -> Any:
        result = function(*args, **how)
        if isinstance(result, list):  # columns
            return [array_of(column) for column in result]
        return array_of(result) if isinstance(result, np.ndarray) else result

    return uploads


WRITERS = {name: _downloading(name) for name in _WRITES}
READERS = {name: _uploading(name) for name in _READS}
