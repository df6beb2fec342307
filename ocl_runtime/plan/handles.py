"""Where the values of a plan are: a handle for each, which is given up at its last use.

Whoever goes through the steps of a plan asks for each operand with what it is to become of it: `READ_ONLY` where others
still need it, `READ_WRITE` at the last use. Then the container forgets it, so that its memory can be written over by
the very step that reads it last. What is to be written is `declared` first, and has a handle once it is registered.

A fork is a sandbox: it begins with the same handles and shares the memory, but what is registered or given up there is
not in the original. `merge` takes over the outputs of one fork, once; a fork that is dropped leaves nothing behind.
That is how variants are tried on the same values.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from enum import Enum
from typing import Generic, TypeVar

from ocl_runtime.errors import Error

Id = TypeVar("Id", bound=Hashable)
Handle = TypeVar("Handle")


class Status(Enum):
    """What a use of a value does to it."""

    NOT_INIT = "written"
    """It has no value yet, and gets one."""
    READ_ONLY = "read"
    """Others still need it."""
    READ_WRITE = "read for the last time"
    """Nobody needs it afterwards."""


class HandleContainer(Generic[Id, Handle]):
    """Handles by the id of their value. An operation that raises changes nothing."""

    def __init__(self) -> None:
        self._handles: dict[Id, Handle] = {}
        self._declared: set[Id] = set()

    def __contains__(self, id_: Id) -> bool:
        """Whether a value has a handle."""
        return id_ in self._handles

    def __iter__(self) -> Iterator[Id]:
        """The values that have handles, the oldest first."""
        return iter(self._handles)

    def __len__(self) -> int:
        """How many values have handles."""
        return len(self._handles)

    def declare(self, id_: Id) -> None:
        """A value will be written: until then, reading it is an error. Raises `Error` if it has a handle."""
        if id_ in self._handles:
            raise Error(f"{id_!r} has a value already", remedy="free it before it is written anew")
        self._declared.add(id_)

    def register(self, id_: Id, handle: Handle) -> None:
        """A value has been written, or will have been by the time somebody reads the handle."""
        self._handles[id_] = handle
        self._declared.discard(id_)

    def get(self, id_: Id, status: Status) -> Handle:
        """The handle of a value. For `READ_WRITE` the container gives it up.

        Raises `Error`, which names the id, for a value that is missing or not written yet.
        """
        if id_ not in self._handles or status is Status.NOT_INIT:
            fact = "is not written yet" if id_ in self._declared else "is not there"
            raise Error(f"the value {id_!r} {fact}", remedy="register it before it is read, and read it last once")
        return self._handles.pop(id_) if status is Status.READ_WRITE else self._handles[id_]

    def free(self, id_: Id, status: Status) -> None:
        """A value is done with, as far as the one who says so is concerned: it goes if nobody else needs it."""
        if status is Status.READ_WRITE:
            self._handles.pop(id_, None)

    def fork(self) -> HandleContainer[Id, Handle]:
        """Another container with the same handles."""
        other: HandleContainer[Id, Handle] = HandleContainer()
        other._handles = dict(self._handles)
        other._declared = set(self._declared)
        return other

    def merge(self, winner: HandleContainer[Id, Handle], outputs: Iterable[Id]) -> None:
        """Takes over what a fork has made, and empties it, so that nothing is taken twice.

        Raises `Error` for an output that the fork does not have.
        """
        made = {id_: winner.get(id_, Status.READ_ONLY) for id_ in outputs}
        for id_, handle in made.items():
            self.register(id_, handle)
        winner._handles.clear()
