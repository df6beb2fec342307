"""What the Python lines of a program evaluate again and again, each with a function that was written for it."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

from ocl_ir.graph.build import Buffer, Node
from ocl_ir.source_line import Line
from ocl_runtime.plan.cache.evaluation import Evaluation
from ocl_runtime.plan.cache.template import Template
from ocl_runtime.plan.cache.written import Giving, Written, written
from ocl_runtime.plan.donation import Holders
from ocl_runtime.plan.structure import Structure

_MOST_LINES = 1024
_MOST_OF_A_LINE = 4
"""Evaluations of one line that are known, as in a function that is called for several arrays."""
_MOST_NODES = 256
"""Of an expression that a function is written for: its text gets long."""
WORTH = 8
"""Evaluations of one plan and sizes at a line after which a function is written, which takes about a millisecond."""

_MOST_MISSES = 200
"""Evaluations in a row that a function was not written for, before it is given up."""

_Key: TypeAlias = tuple[int, int, bool]


class _Known:
    """What a line evaluates: how often so far, and the function for it, once there is one."""

    __slots__ = ("count", "evaluate", "kept", "misses", "sizes", "template")

    def __init__(self, kept: object, template: Template, sizes: tuple[int, ...]) -> None:
        self.kept, self.template, self.sizes = kept, template, sizes
        self.count = self.misses = 0
        self.evaluate: Written | None = None


class KnownLines:
    """The lines of one executor: for each evaluation that of its first node."""

    def __init__(self) -> None:
        self._known: dict[_Key, tuple[_Known, ...]] = {}
        self._lock = threading.Lock()
        """Held to change these; whoever looks finds one tuple or another."""

    def evaluated(
        self, roots: list[Node], cells: Sequence[Any], executor: Giving, *, into: bool
    ) -> tuple[list[Buffer], object] | None:
        """Evaluates nodes, if there is a function for them; and what is kept for their structure."""
        for known in self._known.get(_key(roots, into=into), ()):
            evaluate = known.evaluate
            if evaluate is not None:
                results = evaluate(roots, cells, executor)
                if results is not None:
                    known.misses = 0
                    return results, known.kept
                known.misses += 1
                if known.misses > _MOST_MISSES:
                    known.evaluate = None
        return None

    def note(self, structure: Structure, planned: Evaluation, holders: Holders) -> None:
        """An evaluation is about to run that no function was written for."""
        if structure.copied or not 0 < len(structure.nodes) <= _MOST_NODES:
            return
        key, template = _key([structure.nodes[structure.roots[0]]], into=structure.into), planned.template
        with self._lock:
            of_line = self._known.pop(key, ())
            known = next((one for one in of_line if one.template is template and one.sizes == structure.sizes), None)
            if known is None:
                known = _Known(structure.kept, template, structure.sizes)
                of_line = (known, *of_line)[:_MOST_OF_A_LINE]
            self._known[key] = of_line  # as the one that was used last
            while len(self._known) > _MOST_LINES:
                del self._known[next(iter(self._known))]
        known.count += 1
        if known.count == WORTH:
            known.evaluate = written(structure, planned, holders)

    def forget(self, templates: Collection[Template]) -> None:
        """These plans are kept no more."""
        with self._lock:
            for key, of_line in list(self._known.items()):
                if any(known.template in templates for known in of_line):
                    self._known[key] = tuple([known for known in of_line if known.template not in templates])


def _key(roots: Sequence[Node], *, into: bool) -> _Key:
    line = roots[0].line if roots else None
    return (id(line.code), line.at, into) if type(line) is Line else (0, 0, into)
