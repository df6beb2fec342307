"""Whether views lie inside of their memory, and are as kernels want them, where the numbers are known already.

Known are sizes without names, and the indices of loops with known bounds: of such loops the first and the last turn are
looked at, where most faults are. Everything else is checked for each turn when sizes are bound
(`ocl_ir.host.schedule`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TypeVar

from ocl_ir.errors import ShapeError
from ocl_ir.host.aliases import Listing, bound_layout, described, pointer_misfit, view_misfit
from ocl_ir.host.fault import HostFault
from ocl_ir.host.grammar import Block, For, If, Launch, Value, View
from ocl_ir.host.printer import names
from ocl_ir.layout import Layout
from ocl_ir.sizes import Size, Symbol, Term, symbols
from ocl_ir.sizes import value as number_of
from ocl_ir.types import Pointer

Kind = TypeVar("Kind", Launch, View)
_Known = Mapping[str, int]
"""Indices of loops with their numbers in one turn."""


def views_lie_inside(listing: Listing) -> Iterator[HostFault]:
    """A view shows elements of its root's memory only."""
    for stmt, known in _turns(listing.program.body, View, [{}]):
        if (layout := _layout(stmt.value, known)) is not None:
            nbytes = _nbytes(listing.root(stmt.value), known)
            misfit = view_misfit(layout, stmt.value.dtype, nbytes)
            if misfit is not None:
                fact = described(stmt.value, misfit, listing.made, names(listing.program))
                yield HostFault(fact, stmt, misfit.remedy)


def pointers_fit(listing: Listing) -> Iterator[HostFault]:
    """What a kernel gets is aligned as it wants, and no shorter than what it may touch."""
    for stmt, known in _turns(listing.program.body, Launch, [{}]):
        pairs = list(zip(stmt.kernel.params, stmt.args, strict=True))
        scalars = {param.value.id: _number(arg, known) for param, arg in pairs if isinstance(arg, int | Symbol | Term)}
        numbers = {id_: number for id_, number in scalars.items() if number is not None}
        for param, arg in pairs:
            if not isinstance(arg, Value) or not isinstance(param.value.type, Pointer):
                continue
            if (layout := _layout(arg, known)) is not None:
                misfit = pointer_misfit(stmt, param, layout, _nbytes(listing.root(arg), known), numbers)
                if misfit is not None:
                    fact = described(arg, misfit, listing.made, names(listing.program))
                    yield HostFault(fact, stmt, misfit.remedy)


def _turns(block: Block, kind: type[Kind], turns: list[_Known]) -> Iterator[tuple[Kind, _Known]]:
    """Every statement of a kind that may run, once for each way in which the indices around it are looked at."""
    for stmt in block:
        if type(stmt) is kind:
            for known in turns:
                yield stmt, known
        elif type(stmt) is For:
            yield from _turns(stmt.body, kind, [turn for known in turns for turn in _ends(stmt, known)])
        elif type(stmt) is If:
            for inner, taken in ((stmt.then, True), (stmt.orelse, False)):
                yield from _turns(inner, kind, _taking(stmt, taken, turns))


def _ends(stmt: For, known: _Known) -> list[_Known]:
    """The first and the last turn; the loop's index stays unknown where its bounds are."""
    start, stop, step = (_number(size, known) for size in (stmt.start, stmt.stop, stmt.step))
    if start is None or stop is None or step is None or step < 1:
        return [known]
    turns = range(start, stop, step)
    return [{**known, stmt.index.name: turn} for turn in dict.fromkeys((*turns[:1], *turns[-1:]))]


def _taking(stmt: If, taken: bool, turns: list[_Known]) -> list[_Known]:
    """The turns in which a branch is taken. Where that is not known, no index is: not every turn may come there."""
    conditions = [_number(stmt.condition, known) for known in turns]
    if None in conditions:
        return [{}]
    return [known for known, condition in zip(turns, conditions, strict=True) if bool(condition) == taken]


def _layout(value: Value, known: _Known) -> Layout | None:
    layout = value.layout
    for size in (*layout.shape, *layout.strides, layout.offset):
        if type(size) is not int and _number(size, known) is None:
            return None
    return bound_layout(layout, known)


def _nbytes(value: Value, known: _Known) -> int | None:
    layout = _layout(value, known)
    return None if layout is None else math.prod(layout.shape) * value.dtype.size


def _number(size: Size, known: _Known) -> int | None:
    """The number of a size, or None where it is not known, or is none."""
    if isinstance(size, int):
        return size
    if symbols(size) - known.keys():
        return None
    try:
        return number_of(size, known)
    except ShapeError:  # a division by 0, which no call may come to
        return None
