"""What planning ends in: kernels with the arguments and sizes to launch them with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ir.graph import Buffer, Node, Storage
from ir.guards import Backed
from ir.kernel import Kernel
from ir.layout import Layout

Sizes: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Address:
    """The argument of a pointer parameter: a place in a storage, `offset` in elements of the parameter's dtype.

    `touched` are the elements of the storage that the kernel reads or writes there, where they are known.
    """

    storage: Storage
    offset: int = 0
    touched: Layout | None = None


Argument: TypeAlias = Address | np.generic | Backed


@dataclass(frozen=True, slots=True)
class InPlace:
    """The result of `root` is written over an operand, or has memory of its own for this `reason`."""

    root: Node
    reason: str


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel over an index space; `args` stand in the order of the kernel's parameters.

    The last pointer is written and no other; `global_size` is a multiple of `group_size`. `where` is the Python line
    that asked for the result.
    """

    kernel: Kernel
    args: tuple[Argument, ...]
    global_size: Sizes
    group_size: Sizes
    where: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """`launches` in an order in which they may run; after them `results` hold the values of the nodes `roots`.

    `computed` has these and what else is in memory by then. `taken` is memory that was offered and is overwritten;
    `in_place` says for every result of a group what became of it.
    """

    roots: tuple[Node, ...]
    launches: tuple[Launch, ...]
    results: tuple[Buffer, ...]
    computed: Mapping[Node, Buffer]
    taken: tuple[Storage, ...] = ()
    in_place: tuple[InPlace, ...] = ()
