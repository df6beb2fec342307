"""NumPy's own functions called with arrays of the device: `numpy.sum(x)`, `numpy.add(x, y)`.

What the table has computes on the device. What it has not, and what is called with dates, strings, complex numbers or
other things that no array is made of, runs in NumPy on a copy that is downloaded, with one `TransferWarning` for each
line that calls it, or not at all: see `OCL_RUNTIME_NUMPY`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from ocl_ir.guards import Backed
from ocl_ir.source_line import calling_frame, calling_line
from ocl_runtime.arrays import Array
from ocl_runtime.errors import TransferError, TransferWarning
from ocl_runtime.numpy import fft, linalg
from ocl_runtime.numpy.operands import NoArrayError, arrays_in, host
from ocl_runtime.numpy.results import as_operators_give
from ocl_runtime.numpy.table import TABLE

_NUMPYS = str(Path(np.__file__).parent)
"""Lines in here are not the user's."""
_KNOWN = (Array, np.ndarray, np.generic, int, float, list, tuple, range, Backed)

_UFUNCS = {
    getattr(np, name): entry.value
    for name, entry in TABLE.items()
    if entry.kind == "ours" and isinstance(getattr(np, name, None), np.ufunc)
}
_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    getattr(np, name): entry.value
    for name, entry in TABLE.items()
    if entry.kind in {"ours", "writes"} and hasattr(np, name) and callable(getattr(np, name))
}
_FUNCTIONS |= {getattr(np.fft, name): getattr(fft, name) for name in fft.__all__}
"""Ours for NumPy's."""
_FUNCTIONS |= {
    getattr(np.linalg, name): getattr(linalg, name)
    for name in linalg.__all__
    if hasattr(np.linalg, name) and not isinstance(getattr(np.linalg, name), type)
}


def array_function(
    asked: Array, function: Callable[..., Any], types: Iterable[type], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """What `Array.__array_function__` of the array that was asked answers."""
    if not all(issubclass(type_, Array | np.ndarray) for type_ in types):
        return NotImplemented
    ours = _FUNCTIONS.get(function)
    if ours is not None and not any(map(_is_special, types)):
        with suppress(NoArrayError):
            return as_operators_give(ours(*args, **kwargs), [asked, *arrays_in([*args, *kwargs.values()])])
    out = _out(function, args, kwargs)
    if not isinstance(out, np.ndarray):
        _say(function.__name__, arrays_in([*args, *kwargs.values()]))
    result = function(*host(list(args)), **host(dict(kwargs)))
    if isinstance(out, Array):
        out[...] = result
        return out
    return result


def _out(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a call is to write its result to."""
    try:
        return inspect.signature(function).bind(*args, **kwargs).arguments.get("out")
    except (TypeError, ValueError):  # hidden, or wrongly called, which NumPy says better
        return kwargs.get("out")


def array_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], how: Mapping[str, Any]) -> Any:
    """What `Array.__array_ufunc__` answers."""
    outs = how.get("out", ())
    values = (*inputs, *outs)
    if not all(isinstance(x, _KNOWN) or not hasattr(x, "__array_ufunc__") for x in values):
        return NotImplemented  # the other one may know arrays
    ours = _UFUNCS.get(ufunc)
    if ours is not None and method in ours.methods and not any(_is_special(type(x)) for x in values):
        with suppress(NoArrayError):
            return as_operators_give(getattr(ours, method)(*inputs, **how), arrays_in([*values, *how.values()]))
    return _in_numpy(ufunc, method, inputs, how)


def _is_special(type_: type) -> bool:
    """Whether a type is one of NumPy's with a meaning of its own: of masked arrays, matrices, …"""
    return issubclass(type_, np.ndarray) and type_ is not np.ndarray and type_ is not np.memmap


def _in_numpy(ufunc: np.ufunc, method: str, inputs: Sequence[Any], how: Mapping[str, Any]) -> Any:
    """NumPy's ufunc on copies; what it writes to arrays of ours is written back."""
    outs = how.get("out", ())
    targets = inputs[:1] if method == "at" else outs
    if not targets or not all(isinstance(x, np.ndarray) for x in targets):
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        _say(name, arrays_in([*inputs, *outs]))
    copies = host(list(inputs))
    written = host(tuple(outs))
    result = getattr(ufunc, method)(*copies, **{**host(dict(how)), **({"out": written} if outs else {})})
    if method == "at":
        written, outs = (copies[0],), (inputs[0],)
    for target, values in zip(outs, written, strict=True):
        if isinstance(target, Array):
            target[...] = values
    if not outs or method == "at":
        return result
    return outs[0] if len(outs) == 1 else tuple(outs)


def _say(name: str, arrays: Sequence[Array]) -> None:
    """Warns of the transfer, or refuses it, as the runtime of the arrays is told to."""
    mode = arrays[0]._executor.numpy_calls if arrays else "quiet"
    if mode == "quiet":
        return
    if mode == "error":
        raise TransferError(
            f"numpy.{name} is not computed on the device, and OCL_RUNTIME_NUMPY=error",
            place=calling_line(),
            remedy=f"download the array yourself, numpy.{name}(x.numpy()), or use what ocl_runtime.numpy has",
        )
    frame: FrameType | None = calling_frame()
    while frame is not None and frame.f_back is not None and frame.f_code.co_filename.startswith(_NUMPYS):
        frame = frame.f_back
    assert frame is not None
    warnings.warn_explicit(
        f"numpy.{name} is not computed on the device: the array is downloaded, and NumPy computes",
        TransferWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__", "<unknown>"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )
