"""One node for each key, whatever threads do in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.graph.interned import entered, known
from ocl_ir.layout import Layout
from ocl_ir.types import F32


class Users(dict[Any, Any]):
    """Those of an operand, of which another thread enters one between two operations."""

    def __init__(self, between: Callable[[], object]) -> None:
        super().__init__()
        self._between: Callable[[], object] | None = between

    def setdefault(self, key: Any, default: Any = None) -> Any:
        found = super().setdefault(key, default)
        between, self._between = self._between, None
        if between is not None:
            between()
        return found


def leaf() -> Node:
    return graph.buffer(object(), F32, Layout.contiguous((4,)))


def sine(of: Node) -> Node:
    return graph.Elementwise(of.shape, F32, "here", True, (of,), "sin")


def test_what_another_thread_enters_first_stays() -> None:
    a, others = leaf(), []
    others.append(entered(a.users, "sin", sine(a)))
    assert entered(a.users, "sin", sine(a)) is others[0]
    assert known("sin", (a,)) is others[0]


def test_an_entry_that_others_replaced_meanwhile_is_not_replaced_again() -> None:
    """Between finding an entry of a node that is gone and taking the lock, another thread enters a node of its own."""
    a, others = leaf(), []
    users = Users(lambda: others.append(entered(users, "sin", sine(a))))
    gone = sine(a)
    dict.setdefault(users, "sin", ref(gone))
    del gone
    mine = sine(a)
    assert entered(users, "sin", mine) is others[0]
    assert others[0] is not mine
    assert users["sin"]() is others[0]


def test_a_user_that_has_been_computed_makes_room() -> None:
    a = leaf()
    before = entered(a.users, "sin", sine(a))
    before.result, before.args = leaf(), ()
    assert known("sin", (a,)) is None
    after = sine(a)
    assert entered(a.users, "sin", after) is after
    assert known("sin", (a,)) is after
