"""A launch in plain Python, a thread for each work-item: what a debugger steps through."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocl_ir.language.plain.arrays import PlainArray
from ocl_ir.language.plain.names import in_plain
from ocl_ir.language.plain.numbers import Index, Typed
from ocl_ir.language.plain.run import run
from ocl_ir.language.plain.work_item import Launch
from ocl_ir.types import DType
from ocl_runtime.arrays import Array
from ocl_runtime.programs.kernels.arguments import Arguments, Path, firsts
from ocl_runtime.programs.kernels.sizes import LaunchSize


def run_plain(
    function: Any, arguments: Arguments, size: LaunchSize, default_real: DType, *, checks_divisors: bool = False
) -> None:
    """Runs a kernel's function on copies of the arrays, and writes back those that it has changed. Raises what the
    function raises, and `ZeroDivisorError` where it `checks_divisors`: else integers by 0 are 0, as on a device."""
    memory = _Memory(arguments.arrays)
    values = {name: _in_plain(arguments, (name,), value, memory) for name, value in arguments.values.items()}
    run(function, values, Launch(size.items, size.group, default_real, checks_divisors))
    memory.write_back()


class _Memory:
    """Copies of arrays; the same elements as two arguments are one copy."""

    def __init__(self, arrays: Sequence[Array]) -> None:
        self._arrays = arrays
        self._first = firsts([x._computed() for x in arrays])
        self._before = {number: np.ascontiguousarray(arrays[number]._held()) for number in set(self._first)}
        self._after = {number: before.copy() for number, before in self._before.items()}

    def copy_of(self, number: int) -> NDArray[Any]:
        """What the kernel has for an array."""
        return self._after[self._first[number]].view(self._arrays[number]._dtype.numpy)

    def write_back(self) -> None:
        """Gives arrays what has changed in their copies."""
        for number, after in self._after.items():
            if self._before[number].tobytes() != after.tobytes():
                self._arrays[number][...] = after


def _in_plain(arguments: Arguments, path: Path, value: Any, memory: _Memory) -> Any:
    if path in arguments.numbers:
        return _number(arguments.numbers[path])
    if isinstance(value, Array):
        return PlainArray(memory.copy_of(arguments.array_index(path)), value._dtype, "_".join(map(str, path)))
    if isinstance(value, tuple):
        names = getattr(value, "_fields", range(len(value)))
        parts = [_in_plain(arguments, (*path, name), part, memory) for name, part in zip(names, value, strict=True)]
        return tuple(parts) if type(value) is tuple else type(value)(*parts)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: _in_plain(arguments, (*path, field.name), getattr(value, field.name), memory)
            for field in dataclasses.fields(value)
        }
        return in_plain(dataclasses.replace(value, **fields))
    return in_plain(value)


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        return Typed(np.bool_(value))
    if isinstance(value, np.generic):
        return Typed(value)
    return Index(value) if isinstance(value, int) else value
