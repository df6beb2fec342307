"""Over how many work-items a kernel is launched: `k[n]`, `k[h, w, (16, 16)]`, `k.groups[gx, gy]`.

Numbers are sizes, dimension 0 first, a tuple at the end the size of a group. Unlike those of array expressions, these
launches are never padded: a kernel by hand need not guard its accesses.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ocl_ir.guards import Backed, integer
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays.hosts import is_pyopencl
from ocl_runtime.errors import ShapeError

Sizes = tuple[int, ...]


class IndexSpace(NamedTuple):
    """A global size, and the size of a group, if that is said."""

    global_size: Sizes
    group_size: Sizes | None


def index_space(kernel: str, key: Any, group_size: Sizes | None) -> IndexSpace:
    """The index space of work-items that a subscript names. Raises `ShapeError` for other keys, and for a global size
    that is no multiple of the group size."""
    sizes, group_size = _split(kernel, key, group_size)
    if group_size is not None and any(size % group for size, group in zip(sizes, group_size, strict=True)):
        wanted = tuple(-(-int(size) // group) * group for size, group in zip(sizes, group_size, strict=True))
        raise ShapeError(
            f"kernel {kernel} is launched over {_text(sizes)} in groups of {_text(group_size)}, which do not divide it",
            place=calling_line(),
            remedy=f"launch over {_text(wanted)} and test the index in the kernel",
        )
    return IndexSpace(sizes, group_size)


def groups_space(kernel: str, key: Any, group_size: Sizes | None) -> IndexSpace:
    """The same for a subscript that counts groups."""
    counts, group_size = _split(kernel, key, group_size)
    if group_size is None:
        raise ShapeError(
            f"kernel {kernel} is launched over {_text(counts)} groups of a size that nobody has said",
            place=calling_line(),
            remedy="say it: k.groups[8, (256,)], RawKernel(…, local=(256,)), or reqd_work_group_size in the source",
        )
    return IndexSpace(tuple(count * group for count, group in zip(counts, group_size, strict=True)), group_size)


def fitting_group(sizes: Sizes, most: int) -> Sizes:
    """A group that divides the global size, for who says none: a power of two along dimension 0."""
    group = 1 << (most.bit_length() - 1)
    while sizes[0] % group:
        group //= 2
    return (group, *[1] * (len(sizes) - 1))


def not_launched(kernel: str, first: Any, second: Any, third: Any) -> ShapeError:
    """The error for a call that is no launch. PyOpenCL's, `k(queue, global_size, local_size, …)`, is not taken: a
    launch here goes to a stream that its arrays choose, and would not come behind what the queue has."""
    remedy = f"write {kernel}[n](…), or {kernel}((groups,), (items,), (…))"
    fact = f"kernel {kernel} is called without saying over how many work-items"
    if (first is None or is_pyopencl(first)) and isinstance(second, tuple):
        fact = f"kernel {kernel} is called with a queue and a global size, as kernels of PyOpenCL are"
        key = ", ".join(map(str, second)) + (f", {third}" if isinstance(third, tuple) else "")
        remedy = f"write {kernel}[{key}](…) with the arguments: arrays of this library order what uses them"
    return ShapeError(fact, place=calling_line(), remedy=remedy)


def _split(kernel: str, key: Any, group_size: Sizes | None) -> tuple[Sizes, Sizes | None]:
    parts = key if isinstance(key, tuple) else (key,)
    if parts and isinstance(parts[-1], tuple):
        parts, group_size = parts[:-1], parts[-1]
    if len(parts) == 1 and isinstance(parts[0], tuple):  # a shape, and the group beside it
        parts = parts[0]
    sizes = tuple(_size(kernel, part, key, least=0) for part in parts)
    if not 1 <= len(sizes) <= 3:
        raise _unfit(kernel, key)
    if group_size is not None:
        group_size = tuple(_size(kernel, part, key, least=1) for part in group_size)
        if any(part != 1 for part in group_size[len(sizes) :]):
            raise _unfit(kernel, key)
        group_size = (*group_size, *[1] * len(sizes))[: len(sizes)]
    return sizes, group_size


def _size(kernel: str, part: Any, key: Any, least: int) -> Any:
    is_whole = isinstance(part, int | np.integer | Backed) and not isinstance(part, bool)
    if not is_whole or part < least:
        raise _unfit(kernel, key)
    return integer(part)


def _unfit(kernel: str, key: Any) -> ShapeError:
    return ShapeError(
        f"kernel {kernel} is launched over {key!r}",
        place=calling_line(),
        remedy="give one to three sizes in work-items, and a tuple for the size of a group: k[n, (256,)]",
    )


def _text(sizes: Sizes) -> str:
    return " × ".join(map(str, sizes))
