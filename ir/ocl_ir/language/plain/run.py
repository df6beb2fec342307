"""Runs a kernel in plain Python: groups one after the other, their work-items from one barrier to the next."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from ocl_ir.language.errors import KernelError
from ocl_ir.language.plain.names import in_plain
from ocl_ir.language.plain.work_item import Group, Ids, Launch, WorkItem


def run(function: FunctionType, arguments: Mapping[str, Any], launch: Launch) -> None:
    """Runs a function for each work-item of a launch. Arrays are `PlainArray`, ints that the call gives are `Index`,
    NumPy's scalars `Typed`.

    Raises what the first work-item raises, and `KernelError` where only a part of a group comes to a barrier.
    """
    body = in_plain(function)
    counts = [-(-items // extent) for items, extent in zip(launch.items, launch.group, strict=False)]
    for number in _indices((*counts, 1, 1)[:3]):
        _run_group(lambda: body(**arguments), launch, Group(number))


def _indices(counts: tuple[int, ...]) -> list[Ids]:
    """All indices, the first dimension fastest."""
    return [(x, y, z) for z, y, x in itertools.product(*(range(count) for count in reversed(counts)))]


def _run_group(body: Callable[[], object], launch: Launch, group: Group) -> None:
    items = [WorkItem(launch, group, local) for local in _indices(launch.group)]
    items = [item for item in items if _is_asked_for(item)]
    try:
        _run_items(body, items)
    finally:
        for item in items:
            item.abandon()


def _run_items(body: Callable[[], object], items: Sequence[WorkItem]) -> None:
    for item in items:
        item.start(body)
        _raise(item)
    while not all(item.is_done for item in items):
        _check_all_wait(items)
        posted = [item.posted for item in items]
        for item in items:
            item.resume(posted)
            _raise(item)


def _is_asked_for(item: WorkItem) -> bool:
    return all(index < extent for index, extent in zip(item.position, item.launch.items, strict=False))


def _raise(item: WorkItem) -> None:
    if item.error is not None:
        raise item.error


def _check_all_wait(items: Sequence[WorkItem]) -> None:
    ends = {"its end" if item.is_done else item.waits_at for item in items}
    if len(ends) > 1:
        listed = " and ".join(sorted(ends))
        raise KernelError(
            f"work-items of group {items[0].group.number} come to {listed}, and a group comes to one together",
            remedy="move the barrier to where the whole group passes",
        )
