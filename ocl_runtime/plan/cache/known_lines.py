"""What the Python lines of a program evaluate again and again, each with a function that was written for it."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Protocol, TypeAlias

from ocl_ir.source_line import Where
from ocl_runtime.plan.cache.comparison import Text
from ocl_runtime.plan.cache.evaluation import Evaluation
from ocl_runtime.plan.cache.template import Template
from ocl_runtime.plan.cache.written import Allocator, Written, written
from ocl_runtime.plan.history import History
from ocl_runtime.plan.structure import Structure

_MOST_LINES = 1024
_MOST_OF_A_LINE = 4
"""Evaluations of one line that are known, as in a function that is called for several arrays."""
_MOST_NODES = 512
"""Of an expression that a function is written for: its text gets long."""
WORTH = 8
"""Evaluations of one plan and sizes at a line after which a function is written, which takes some milliseconds."""
_FEW_NODES = 32
"""For more, it takes longer, and is written after as many times more evaluations."""

_Key: TypeAlias = tuple[Where, bool]


class Used(Protocol):
    """What is kept for a structure; `used` says when it was used last."""

    used: int


class KnownLine:
    """What a line evaluates: how often so far, and the function for it, once there is one."""

    __slots__ = ("count", "evaluate", "kept", "misses", "sizes", "template")

    def __init__(self, kept: Used, template: Template, sizes: tuple[int, ...]) -> None:
        self.kept, self.template, self.sizes = kept, template, sizes
        self.count = self.misses = 0
        self.evaluate: Written | None = None


class KnownLines:
    """The lines of one executor: for each evaluation that of its first node. `known` has what was evaluated there, by
    line and whether into given memory; `clock` numbers the uses of plans, and `hits` counts evaluations by a function
    (`ocl_runtime.plan.evaluate`)."""

    def __init__(self, clock: Iterator[int]) -> None:
        self.hits = 0
        self.clock = clock
        self.unwritten: list[tuple[KnownLine, Text]] = []
        """Lines that are worth a function, with its text."""
        self.known: dict[_Key, tuple[KnownLine, ...]] = {}
        self._lock = threading.Lock()
        """Held to change these; whoever looks finds one tuple or another."""

    def note(self, structure: Structure, planned: Evaluation, memory: Allocator, past: History) -> None:
        """An evaluation is about to run that no function was written for; what its history keeps are its last roots."""
        if structure.copied or not 0 < len(structure.nodes) <= _MOST_NODES:
            return
        line, template, sized = structure.nodes[structure.roots[0]].line, planned.template, planned.sized
        key = line, structure.into
        if sized.line is None:
            sized.line = key
            if WORTH > 1:
                return  # sizes that never come again are not to take the place of others
        with self._lock:
            of_line = self.known.pop(key, ())
            known = next((own for own in of_line if own.template is template and own.sizes == structure.sizes), None)
            if known is None:
                known = KnownLine(structure.kept, template, structure.sizes)
                known.count = int(WORTH > 1 and sized.line == key)
                of_line = (known, *of_line)[:_MOST_OF_A_LINE]
            self.known[key] = of_line  # as the one that was used last
            for _ in range(len(self.known) - _MOST_LINES):
                del self.known[next(iter(self.known))]
        known.count += 1
        if known.count == WORTH * max(len(structure.nodes) // _FEW_NODES, 1):
            text = written(structure, planned, structure.kept.holders, memory, past)
            if text is not None:
                self.unwritten.append((known, text))

    def write(self) -> None:
        """Makes functions of what was noted: without the registry's lock, since that takes some milliseconds."""
        while self.unwritten:  # another thread may do the same
            with suppress(IndexError, ValueError):
                known, text = entry = self.unwritten[-1]
                try:
                    known.evaluate = text.function()
                except (MemoryError, RecursionError):
                    known.count = 0
                self.unwritten.remove(entry)  # and not before: an interrupt leaves it to the next

    def forget(self, templates: Collection[Template]) -> None:
        """These plans are kept no more."""
        with self._lock:
            for key, of_line in list(self.known.items()):
                self.known[key] = tuple(filter(lambda known: known.template not in templates, of_line))
