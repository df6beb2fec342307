"""A launch in the interpreter: races, uninitialised memory and divergent barriers are found, and nothing is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ocl_ir.graph.build import Buffer
from ocl_ir.interpret.arguments import written
from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.verify import verify
from ocl_ir.language.context import Pointer
from ocl_ir.language.translate import Translation
from ocl_ir.layout import Layout
from ocl_runtime.arrays import empty
from ocl_runtime.errors import Error
from ocl_runtime.programs.kernel_call import check_overlaps
from ocl_runtime.programs.kernels.arguments import Arguments, firsts
from ocl_runtime.programs.kernels.sizes import LaunchSize
from ocl_runtime.programs.kernels.variants import numbers_of
from ocl_runtime.programs.kernels.violations import STATUS_WORDS, violation


def interpret(variant: Callable[[Sequence[Buffer]], Translation], arguments: Arguments, size: LaunchSize) -> None:
    """Runs the variant for copies of the arrays, and writes back what it has written; the same elements as two
    arguments are one copy. Raises what the interpreter raises, the first violation, and `ShapeError` where what is
    written overlaps another argument."""
    arrays, index = arguments.arrays, arguments.array_index
    own = [x._computed() for x in arrays]
    first = firsts(own)
    dense = {number: empty(arrays[number].shape, dtype=arrays[number].dtype)._computed() for number in set(first)}
    translation = variant([dense[number] for number in first])
    kernel = translation.kernel
    verify(kernel)
    check_overlaps(
        kernel, [own[index(source.path)] if isinstance(source, Pointer) else None for source in translation.sources]
    )
    copies = {number: np.ascontiguousarray(arrays[number]._held()).copy() for number in set(first)}
    status = np.zeros(STATUS_WORDS, np.int32)
    passed = numbers_of(
        translation,
        arguments.numbers,
        lambda path: Layout.contiguous(arrays[index(path)].shape),
        size.items,
        lambda path: copies[first[index(path)]].reshape(-1).view(arrays[index(path)]._dtype.numpy),
        status,
    )
    names = [param.value.hint for param in kernel.params]
    try:
        run(kernel, dict(zip(names, passed, strict=True)), size.whole, size.group[: len(size.whole)])
    except Error as fault:  # which may come of what was recorded before
        raise violation(status, translation.sites, size.group) or fault from None
    changed = written(kernel)
    for source, param in zip(translation.sources, kernel.params, strict=True):
        if param.value.id in changed and isinstance(source, Pointer):
            arrays[index(source.path)][...] = copies[first[index(source.path)]]
    error = violation(status, translation.sites, size.group)
    if error is not None:
        raise error
