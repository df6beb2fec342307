"""What a check of host programs found, before it becomes an error with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from ocl_ir.host.aliases import Listing
from ocl_ir.host.grammar import Stmt


class HostFault(NamedTuple):
    """One broken rule, the statement that breaks it (None: the program's head) and what to do."""

    fact: str
    stmt: Stmt | None
    remedy: str


HostCheck: TypeAlias = Callable[[Listing], Iterator[HostFault]]
