"""Which parts of something were looked at, for who writes over it."""

from __future__ import annotations

import weakref

from ocl_ir.graph.nodes import Node

_MOST_READERS = 64
"""Views of one memory that are noted, before those that are gone are dropped, and then the older half."""


def note_reader(readers: list[weakref.ref[Node]] | None, view: Node) -> None:
    """A part of what may be written over was looked at. Any thread may note one: a list takes it in one step."""
    if readers is None:
        return
    if len(readers) >= _MOST_READERS:
        alive = {node: reader for reader in readers if (node := reader()) is not None}
        readers[:] = [*alive.values()][-_MOST_READERS // 2 :]
    readers.append(weakref.ref(view))
