"""A launch in the interpreter: races, uninitialised memory and divergent barriers are found, and nothing is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ocl_ir.interpret.arguments import written
from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.verify import verify
from ocl_ir.language.translate import Translation
from ocl_ir.layout import Layout
from ocl_ir.types import Pointer
from ocl_runtime.arrays import Array
from ocl_runtime.programs.kernels.sizes import LaunchSize
from ocl_runtime.programs.kernels.variants import numbers_of
from ocl_runtime.programs.kernels.violations import STATUS_WORDS, violation


def interpret(
    translation: Translation,
    arrays: Sequence[Array],
    numbers: dict[tuple[object, ...], Any],
    array_index: Callable[[tuple[object, ...]], int],
    size: LaunchSize,
) -> None:
    """Runs a variant on copies of the arrays, and writes back what it has written. The same array as two arguments is
    one memory. Raises what the interpreter raises, and the first violation."""
    verify(translation.kernel)
    copies: list[Any] = []
    for number, x in enumerate(arrays):
        same = next((k for k in range(number) if arrays[k] is x), None)
        copies.append(np.ascontiguousarray(x.numpy()).copy() if same is None else copies[same])
    status = np.zeros(STATUS_WORDS, np.int32)
    passed = numbers_of(
        translation,
        numbers,
        lambda path: Layout.contiguous(arrays[array_index(path)].shape),
        size.items,
        lambda path: copies[array_index(path)].reshape(-1),
        status,
    )
    names = [param.value.hint for param in translation.kernel.params]
    run(translation.kernel, dict(zip(names, passed, strict=True)), size.whole, size.group[: len(size.whole)])
    error = violation(status, translation.sites, size.group)
    changed = written(translation.kernel)
    for source, param in zip(translation.sources, translation.kernel.params, strict=True):
        if param.value.id in changed and isinstance(param.value.type, Pointer) and hasattr(source, "path"):
            number = array_index(source.path)
            arrays[number][...] = copies[number]
    if error is not None:
        raise error
