"""What functions of Python, `math` and NumPy are in a kernel: the builtin of the same meaning."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from ocl_ir.language.values.table import Builtin

_KNOWN: dict[Any, Builtin] = {}


def register(elementary: dict[str, Builtin], python: dict[str, Builtin]) -> None:
    """Makes builtins the meaning of what has their name in `math` and NumPy, and of Python's own functions."""
    for name, function in elementary.items():
        for module in (np, math):
            own = getattr(module, _OTHER_NAMES.get((module.__name__, name), name), None)
            if own is not None:
                _KNOWN[own] = function
    for name, function in python.items():
        module_name, _, attribute = name.rpartition(".")
        _KNOWN[getattr(math if module_name else builtins, attribute)] = function
    _KNOWN[np.abs] = _KNOWN[math.fabs] = python["abs"]
    _KNOWN[np.power] = python["pow"]


_OTHER_NAMES = {
    ("numpy", "asin"): "arcsin", ("numpy", "acos"): "arccos", ("numpy", "atan"): "arctan",
    ("numpy", "asinh"): "arcsinh", ("numpy", "acosh"): "arccosh", ("numpy", "atanh"): "arctanh",
    ("numpy", "atan2"): "arctan2",
}  # fmt: skip


def builtin(function: Any) -> Builtin | None:
    """The builtin that a function of Python's is in a kernel, if it is one."""
    try:
        return _KNOWN.get(function)
    except TypeError:  # what has no hash is no function of theirs
        return None
