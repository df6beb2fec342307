"""What planning ends in: kernels with the arguments and sizes to launch them with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ocl_ir.graph.build import Buffer, Node, Storage
from ocl_ir.guards import Backed, Given
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where
from ocl_ir.types import DType, element

Sizes: TypeAlias = tuple[int, int, int]


class Address(NamedTuple):
    """The argument of a pointer parameter: the elements of a storage that the kernel may read or write, of the
    parameter's dtype; the pointer is to the first one. `most` of them at most, where which ones depends on values.
    """

    storage: Storage
    touched: Layout
    most: int | None = None


class Later(NamedTuple):
    """A scalar argument that is only known when the plan runs."""

    value: Given
    dtype: DType


Argument: TypeAlias = Address | np.generic | Backed | Later


def with_addresses(kernel: Kernel, args: Sequence[Any]) -> list[Any]:
    """The arguments of a launch as a plan has them. A pointer at an offset may touch all elements of the storage, those
    in front of it too."""
    planned = list(args)
    for index, (param, arg) in enumerate(zip(kernel.params, args, strict=True)):
        if isinstance(arg, tuple):
            storage, touched = arg
            if not isinstance(touched, Layout):
                behind = storage.nbytes // element(param.value.type).size - touched
                touched = Layout((touched + 1, behind), (-1, 1), touched) if touched else Layout.contiguous((behind,))
            planned[index] = Address(storage, touched)
    return planned


def passed(value: bool | int | float | Backed, dtype: DType) -> np.generic | Backed:
    """A number as a kernel gets it; integers wrap around."""
    if dtype.kind == "uint" and not 0 <= value < 1 << dtype.bits:
        value = value % (1 << dtype.bits) if isinstance(value, Backed) else int(value) % (1 << dtype.bits)
    return value if isinstance(value, Backed) else dtype.numpy.type(value)


@dataclass(frozen=True, slots=True)
class InPlace:
    """The result of `root` is written over an operand, or has memory of its own for this `reason`."""

    root: Node
    reason: str


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel over an index space; `args` stand in the order of the kernel's parameters.

    `ocl_ir.kernel.accesses.modes` says which pointers are written; `global_size` is a multiple of `group_size`. `where`
    is the Python line that asked for the result. `stream` counts from the one of who runs it.
    """

    kernel: Kernel
    args: tuple[Argument, ...]
    global_size: Sizes
    group_size: Sizes
    where: Where = ""
    stream: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """`launches` in an order in which they may run; after them `results` hold the values of the nodes `roots`.

    `computed` has these and what else is in memory by then. `taken` is memory that was offered and is overwritten;
    `in_place` says for every result of a group what became of it, `why` for what is computed on its own why it is.
    """

    roots: tuple[Node, ...]
    launches: tuple[Launch, ...]
    results: tuple[Buffer, ...]
    computed: Mapping[Node, Buffer]
    taken: tuple[Storage, ...] = ()
    in_place: tuple[InPlace, ...] = ()
    why: Mapping[Node, str] = field(default_factory=dict)
