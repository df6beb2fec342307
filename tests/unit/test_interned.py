"""One object for each key, whatever threads do in between."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar

from ocl_ir.graph.interned import Interned


class Thing:
    """Something to be referred to weakly."""

    key: Any = None


def test_an_entry_that_others_removed_and_entered_again_is_not_replaced() -> None:
    """Between finding a dead entry and taking the lock, others remove it and enter an object of their own."""
    table: Interned[Thing] = Interned()
    first = Thing()
    table.enter("key", first)
    del first
    others: list[Thing] = []

    threads: list[threading.Thread] = []

    def elsewhere(do: Callable[[], object]) -> None:
        threads.append(threading.Thread(target=do))
        threads[-1].start()
        threads[-1].join(0.5)  # it may have to wait for a lock

    class Entries(dict[Any, Any]):
        """Others come between two operations, first to sweep and then to enter."""

        turns: ClassVar = [table._sweep, lambda: others.append(table.enter("key", Thing()))]

        def setdefault(self, key: Any, default: Any = None) -> Any:
            found = super().setdefault(key, default)
            self.next()
            return found

        def get(self, key: Any, default: Any = None) -> Any:
            found = super().get(key, default)
            if threading.current_thread() is threading.main_thread():
                self.next()
            return found

        def next(self) -> None:
            if self.turns:
                elsewhere(self.turns.pop(0))

    table.entries = Entries(table.entries)
    mine = table.enter("key", Thing())
    for thread in threads:
        thread.join()
    others.append(table.enter("key", Thing()))
    assert all(other is mine for other in others)
    assert table.known("key") is mine


def test_what_has_left_is_not_known_and_takes_nobody_with_it() -> None:
    table: Interned[Thing] = Interned()
    first, never = Thing(), Thing()
    table.enter("key", first)
    table.leave(first)
    assert table.known("key") is None
    second = Thing()
    assert table.enter("key", second) is second
    table.leave(first)
    table.leave(never)
    assert table.known("key") is second


def test_a_dead_entry_makes_room() -> None:
    table: Interned[Thing] = Interned()
    first = Thing()
    table.enter("key", first)
    del first
    second = Thing()
    assert table.enter("key", second) is second
    assert table.enter("key", Thing()) is second
    assert len(table) == 1


def test_what_two_threads_find_is_entered_once() -> None:
    """The object knows its key, or it could not leave."""
    table: Interned[Thing] = Interned()
    for _ in range(300):
        thing, start = Thing(), threading.Barrier(3)

        def look(thing: Thing = thing, start: threading.Barrier = start) -> None:
            start.wait()
            table.enter_once("key", thing)

        threads = [threading.Thread(target=look) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert thing.key == "key"
        assert table.entries["key"]() is thing
        table.leave(thing)
        assert table.known("key") is None
