"""Nodes that are made once: each is known to its first operand, by what it is besides.

An operand refers to its users weakly, and a key names the other operands by `id`: so who counts references to a node
finds none of these. There is no table of all nodes; what an operand knows goes with it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable
from typing import TypeVar
from weakref import ref

from ocl_ir.graph.nodes import Buffer, Node

_Made = TypeVar("_Made", Node, Buffer)

_FEW = 64
"""Users that are never looked through for those that are gone."""

# Held to replace an entry. Re-entrant: freeing a node meanwhile may run somebody's finalizer.
_lock = threading.RLock()

if hasattr(os, "register_at_fork"):  # of whose holder nothing is left in a child, as Python does with its own locks
    os.register_at_fork(after_in_child=_lock._at_fork_reinit)  # type: ignore[attr-defined]


def known(key: Hashable, operands: tuple[Node, ...]) -> Node | None:
    """The user of some operands that is still made of just these: a node that has been computed is made of none, and
    the `id` in a key may be that of a newer node."""
    entry = operands[0].users.get(key)
    node = None if entry is None else entry()
    return node if node is not None and node.args == operands else None


def entered(users: dict[Hashable, ref[_Made]], key: Hashable, made: _Made) -> _Made:
    """A new node, as its first operand's user, or that of another thread which was faster."""
    entry = ref(made)
    if users.setdefault(key, entry) is not entry:  # one operation of the dictionary: no thread comes between
        return _entered_again(users, key, made, entry)
    if len(users) > _FEW:
        _forget_gone(users)
    return made


def _entered_again(users: dict[Hashable, ref[_Made]], key: Hashable, made: _Made, entry: ref[_Made]) -> _Made:
    """The same where the key has an entry, whose node may be gone or made of something else by now."""
    with _lock:
        before = users.setdefault(key, entry)
        node = None if before is entry else before()
        if node is not None and node.result is None and node.args == made.args:
            return node
        users[key] = entry
        return made


def _forget_gone(users: dict[Hashable, ref[_Made]]) -> None:
    """Removes the users that are gone once their number has doubled, if there are many: so it takes no longer than
    entering them."""
    count = len(users)
    if count & (count - 1):
        return
    with _lock:
        gone = [(key, entry) for key, entry in users.copy().items() if entry() is None]
        if len(gone) * 4 >= count:
            for key, entry in gone:
                if users.get(key) is entry:
                    del users[key]
