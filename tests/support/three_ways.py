"""A kernel in Python three ways: as plain Python, in the interpreter, and on the device."""

from __future__ import annotations

import linecache
import math
from collections.abc import Mapping, Sequence
from itertools import count
from types import FunctionType
from typing import Any
from zlib import crc32

import numpy as np

import ocl_runtime as ocl
from ocl_ir.types import F32
from ocl_runtime import language
from ocl_runtime.programs.kernels import Kernel
from ocl_runtime.programs.kernels.plain import run_plain
from ocl_runtime.programs.kernels.sizes import launch_size
from tests.support.depth import NIGHTLY
from tests.support.ulp import ulps

Arguments = Mapping[str, Any]
_NUMBERS = count()


def function_from(text: str, name: str = "k", **names: Any) -> FunctionType:
    """A function of a text, whose source Python knows; it sees the kernel language and some names more."""
    file = f"<three ways {next(_NUMBERS)}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    namespace = {**vars(language), "np": np, "math": math, "__name__": "three_ways", **names}
    exec(compile(text, file, "exec"), namespace)
    function: FunctionType = namespace[name]
    return function


def in_plain_python(kernel: Kernel, sizes: Any, arguments: Arguments) -> dict[str, np.ndarray]:
    """The arrays afterwards, by parameter."""
    values = _on_device(arguments)
    size = launch_size(kernel.__name__, sizes, kernel._local, 64)
    run_plain(kernel.plain_function(), kernel.arguments(kernel.bound((), values)[0]), size, F32)
    return _arrays(arguments, values)


def launched(kernel: Kernel, mode: str, sizes: Any, arguments: Arguments) -> dict[str, np.ndarray]:
    """The same in one of the modes `interpret`, `checked` and `unchecked`."""
    values = _on_device(arguments)
    getattr(kernel, mode)[sizes](**values)
    return _arrays(arguments, values)


def agree(
    function: FunctionType | Kernel,
    sizes: Any,
    arguments: Arguments,
    *,
    local: Any = None,
    modes: Sequence[str] = (),
    most_ulps: float = 0.0,
) -> dict[str, np.ndarray]:
    """Runs a kernel in each way; gives what plain Python makes. Raises `AssertionError` where they differ.

    Checked mode, whose programs take long to build, is left to `make nightly` for three kernels of four.
    """
    kernel = function if isinstance(function, Kernel) else ocl.kernel(function, local=local)
    if not modes:
        is_checked = NIGHTLY or crc32(kernel.__name__.encode()) % 4 == 0
        modes = ("interpret", "unchecked", "checked") if is_checked else ("interpret", "unchecked")
    wanted = in_plain_python(kernel, sizes, arguments)
    for mode in modes:
        got = launched(kernel, mode, sizes, arguments)
        for name, expected in wanted.items():
            assert_same(f"{mode}: {name}", got[name], expected, most_ulps)
    return wanted


def assert_same(what: str, got: np.ndarray, wanted: np.ndarray, most_ulps: float = 0.0) -> None:
    """Raises `AssertionError` where elements differ in their bits, or by more than some ULPs; NaN equals NaN."""
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), what
    differ = got.view(f"u{got.itemsize}") != wanted.view(f"u{got.itemsize}") if got.ndim else got != wanted
    if got.dtype.kind == "f":
        differ &= ~(np.isnan(got) & np.isnan(wanted))
        if most_ulps:
            differ &= ulps(got, wanted) > most_ulps
    if differ.any():
        at = tuple(int(axis[0]) for axis in np.nonzero(differ))
        raise AssertionError(f"{what}{list(at)} is {got[at]!r} and should be {wanted[at]!r}; {differ.sum()} differ")


def _on_device(arguments: Arguments) -> dict[str, Any]:
    return {name: _copy(value) for name, value in arguments.items()}


def _copy(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim:
        return ocl.asarray(value.copy())
    return tuple(map(_copy, value)) if type(value) is tuple else value


def _arrays(arguments: Arguments, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {
        name: np.asarray(values[name].numpy())
        for name, value in arguments.items()
        if isinstance(value, np.ndarray) and value.ndim
    }
