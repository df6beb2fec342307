"""A launch of the interpreter: the index space, and the arguments that fit the kernel's parameters."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ocl_ir.errors import DTypeError, IRError, MemoryAccessError
from ocl_ir.interpret.memory import Memory
from ocl_ir.interpret.operation import Data, filled
from ocl_ir.kernel.accesses import written_pointers
from ocl_ir.kernel.grammar import Const, Kernel, Param
from ocl_ir.kernel.printer import lines
from ocl_ir.kernel.source_kernel import SourceKernel
from ocl_ir.types import DType, Pointer

Argument: TypeAlias = Data | tuple[Data, int] | bool | int | float | np.generic
"""A scalar, or a 1-D array, alone or with the offset in elements at which the pointer begins."""

Triple: TypeAlias = tuple[int, int, int]

_LARGEST_GROUP = 256


@dataclass(frozen=True)
class Launch:
    """An index space cut into groups."""

    global_size: Triple
    group_size: Triple

    @property
    def items(self) -> int:
        """Work-items of one group."""
        return math.prod(self.group_size)

    @property
    def num_groups(self) -> Triple:
        """Groups along each dimension."""
        x, y, z = (g // s for g, s in zip(self.global_size, self.group_size, strict=True))
        return x, y, z

    def groups(self) -> Iterator[Triple]:
        """Every group, dimension 0 fastest."""
        x, y, z = self.num_groups
        return ((i, j, k) for k in range(z) for j in range(y) for i in range(x))

    def group(self, number: int) -> Triple:
        """The group with a linear number."""
        return _unravel(number, self.num_groups)

    def item(self, number: int) -> Triple:
        """The local id of the work-item with a linear number."""
        return _unravel(number, self.group_size)

    def local_ids(self, dimension: int) -> Data:
        """The local ids along a dimension, by linear number."""
        x, y, _ = self.group_size
        before = (1, x, x * y)[dimension]
        ids: Data = np.arange(self.items) // before % self.group_size[dimension]
        return ids

    def answer(self, question: str, dimension: int, group: Triple) -> Data | int:
        """What a question about the index space gives in a group: one number, or one for each work-item."""
        size = self.group_size[dimension]
        match question:
            case "local_id":
                return self.local_ids(dimension)
            case "global_id":
                return group[dimension] * size + self.local_ids(dimension)
            case "group_id":
                return group[dimension]
            case "global_size":
                return self.global_size[dimension]
            case "local_size":
                return size
        return self.num_groups[dimension]


def _unravel(number: int, sizes: Triple) -> Triple:
    rest, x = divmod(number, sizes[0])
    z, y = divmod(rest, sizes[1])
    return x, y, z


def launch(kernel: Kernel, global_size: tuple[int, ...], group_size: tuple[int, ...] | None) -> Launch:
    """The index space of a launch; without a group size the kernel's own, else one that fits."""
    if isinstance(kernel, SourceKernel):
        raise IRError(
            f"kernel {kernel.name} is written in OpenCL C, which the interpreter does not read",
            remedy="run it on a device; the interpreter runs kernel IR",
        )
    whole = _triple("global_size", global_size)
    requested = None if group_size is None else _triple("group_size", group_size)
    if kernel.group_size is not None and requested not in {None, kernel.group_size}:
        raise IRError(
            f"kernel {kernel.name} needs groups of {kernel.group_size} work-items, not {requested}",
            remedy="leave group_size out",
        )
    group = kernel.group_size or requested or (_fitting(whole[0]), 1, 1)
    if any(w % g for w, g in zip(whole, group, strict=True)):
        raise IRError(
            f"groups of {group} work-items do not divide the global size {whole}",
            remedy="round the global size up and test the index against the size in the kernel",
        )
    return Launch(whole, group)


def _triple(name: str, sizes: tuple[int, ...]) -> Triple:
    if not 1 <= len(sizes) <= 3 or any(size < 1 for size in sizes):
        raise IRError(f"{name} {sizes} is no size of an index space", remedy="give one to three positive numbers")
    x, y, z = (*map(int, sizes), 1, 1)[:3]
    return x, y, z


def _fitting(size: int) -> int:
    return max(width for width in range(1, _LARGEST_GROUP + 1) if size % width == 0)


def bind(kernel: Kernel, args: Mapping[str, Argument]) -> tuple[dict[int, Data], dict[int, Memory]]:
    """The scalar parameters' values (arrays of one element) and the pointer parameters' memory, by parameter id."""
    by_name = {param.value.hint: param for param in kernel.params}
    for wrong in sorted(by_name.keys() ^ args.keys()):
        problem = "has no argument" if wrong in by_name else "is no parameter"
        listed = ", ".join(by_name) or "nothing"
        raise IRError(f"{wrong} {problem} of kernel {kernel.name}", place=_head(kernel), remedy=f"pass {listed}")
    scalars = {
        param.value.id: _scalar(kernel, name, param, param.value.type, args[name])
        for name, param in by_name.items()
        if isinstance(param.value.type, DType)
    }
    memories = {
        param.value.id: _memory(kernel, name, param, param.value.type, args[name], scalars)
        for name, param in by_name.items()
        if isinstance(param.value.type, Pointer)
    }
    return scalars, memories


def written(kernel: Kernel) -> frozenset[int]:
    """The ids of the pointers whose memory a run changes."""
    return written_pointers(kernel)


_PYTHON = {
    "bool": bool | np.bool_,
    "int": int | np.integer,
    "uint": int | np.integer,
    "float": int | float | np.floating,
}


def _scalar(kernel: Kernel, name: str, param: Param, dtype: DType, argument: Argument) -> Data:
    wrong_numpy = isinstance(argument, np.generic) and argument.dtype != dtype.numpy
    wrong_bool = isinstance(argument, bool) and dtype.kind != "bool"
    if not isinstance(argument, _PYTHON[dtype.kind]) or wrong_numpy or wrong_bool:
        remedy = f"pass a {dtype.numpy}"
        raise DTypeError(f"{name} is {dtype}, and {argument!r} is not", place=_head(kernel), remedy=remedy)
    if dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        if not limits.min <= argument <= limits.max:
            raise DTypeError(
                f"{argument} does not fit in {name}, which is {dtype}",
                place=_head(kernel),
                remedy=f"pass a number from {limits.min} to {limits.max}",
            )
        if param.low is not None and argument < param.low:
            fact = f"{name} is promised never to be below {param.low}, and is {argument}"
            remedy = "pass what was promised, or build the kernel without `low`"
            raise DTypeError(fact, place=_head(kernel), remedy=remedy)
    return filled(argument, dtype, 1)


def _memory(
    kernel: Kernel, name: str, param: Param, pointer: Pointer, argument: Argument, scalars: Mapping[int, Data]
) -> Memory:
    array, offset = argument if isinstance(argument, tuple) else (argument, 0)
    if not isinstance(array, np.ndarray) or array.ndim != 1 or not array.flags.c_contiguous:
        fact = f"{name} takes a contiguous 1-D array, not {type(array).__name__}"
        raise DTypeError(fact, place=_head(kernel), remedy="pass x.ravel(), or (x.ravel(), offset)")
    if array.dtype != pointer.dtype.numpy:
        raise DTypeError(
            f"{name} points to {pointer.dtype}, and the array holds {array.dtype}",
            place=_head(kernel),
            remedy=f"pass an array of {pointer.dtype.numpy}",
        )
    if param.value.id in written(kernel) and not array.flags.writeable:
        fact = f"the kernel writes {name}, and the array is read-only"
        raise IRError(fact, place=_head(kernel), remedy="pass a copy")
    offset = operator.index(offset)
    if not 0 <= offset <= array.size:
        fact = f"{name} begins at element {offset} of an array of {array.size}"
        raise MemoryAccessError(fact, place=_head(kernel), remedy="use an offset inside of the array")
    if offset * pointer.dtype.size % pointer.align:
        begin = offset * pointer.dtype.size
        raise MemoryAccessError(
            f"{name} promises an address that {pointer.align} divides, and begins at byte {begin}",
            place=_head(kernel),
            remedy=f"use an offset that {pointer.align // pointer.dtype.size} divides, or a pointer with less `align`",
        )
    length = array.size - offset
    promised = _length(param, scalars)
    if promised is not None:
        if promised > length:
            raise MemoryAccessError(
                f"{name} promises {promised} elements, and only {length} follow its offset",
                place=_head(kernel),
                remedy="pass a longer array",
            )
        length = promised
    return Memory(name, pointer, array, length, origin=offset)


def _length(param: Param, scalars: Mapping[int, Data]) -> int | None:
    if param.length is None:
        return None
    return int(param.length.value if isinstance(param.length, Const) else scalars[param.length.id][0])


def _head(kernel: Kernel) -> str:
    return lines(kernel)[0].text
