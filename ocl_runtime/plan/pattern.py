"""Recognises an expression that is evaluated again and again, without taking it apart.

A statement in a loop makes the same expression in each turn, over other memory and numbers. To compare it with the last
one, node by node, takes a fraction of what it takes to find its structure and to look that up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from ocl_ir.graph.build import (
    Assign,
    Buffer,
    Elementwise,
    Gather,
    Iota,
    Movement,
    Node,
    Reduce,
    Scalar,
    Scan,
    Scatter,
    Undefined,
)
from ocl_ir.graph.forward import operands
from ocl_ir.source_line import Line
from ocl_runtime.plan.structure import Structure

_OWN: Final[dict[type, tuple[str, ...]]] = {
    Assign: ("region",),
    Buffer: ("layout",),
    Elementwise: ("op",),
    Iota: ("layout",),
    Movement: ("step",),
    Reduce: ("op", "axes", "keepdims"),
    Scalar: ("shape",),
    Scan: ("op", "axis"),
    Scatter: ("op",),
    Undefined: ("shape",),
}
"""What nodes are, but for their dtype, operands, memory and numbers, with the sizes that they have of their own."""


class Pattern:
    """Expressions of one structure and one set of sizes. Made before any of its nodes is computed.

    The comparison is written out as Python, in `source`, since a loop over a table takes three times as long.
    """

    def __init__(self, structure: Structure) -> None:
        assert not structure.copied
        self.known: Final = Structure.like(structure, [], [], [])
        """What those have in common."""
        writer = _Writer(structure)
        self.source: Final = writer.source
        names = {**writer.names, "operands": operands, "like": Structure.like, "known": self.known}
        exec(self.source, names)
        self.recognised: Final[Callable[[Sequence[Node]], Structure | None]] = names["recognised"]
        """The structure of some nodes, if it is this one."""


class _Writer:
    """The text of a function that recognises a structure, and the values that it names."""

    def __init__(self, structure: Structure) -> None:
        self.names: dict[str, Any] = {}
        self._by_id: dict[int, str] = {}
        self._number = {node: number for number, node in enumerate(structure.nodes)}
        self._seen: set[Node] = set()
        self._lines: list[str] = []
        roots = [structure.nodes[root] for root in structure.roots]
        self._refuse([f"len(roots) != {len(roots)}"])
        self._take("roots", "", roots)
        for number, node in enumerate(structure.nodes):
            if node.args:
                self._take(f"n{number}.args", f"operands(n{number})", node.args)
        self._end(structure)
        self.source = "def recognised(roots):\n" + "\n".join(self._lines)

    def _take(self, given: str, now: str, args: Sequence[Node]) -> None:
        """Names the operands of a node, and compares them: as they are now, where one has been computed since."""
        targets, differ, checks = [], [], []
        for place, node in enumerate(args):
            number = self._number[node]
            if node in self._seen:
                targets.append(f"again{place}")
                differ.append(f"again{place} is not n{number}")
                continue
            self._seen.add(node)
            targets.append(f"n{number}")
            differ.append(f"type(n{number}) is not {self._named(type(node))}")
            checks += self._own(f"n{number}", node)
        names = f"{', '.join(targets)},"
        if any(isinstance(node, Movement) for node in args) and now:  # which may be a view of memory by now
            self._lines.append(f"    {names} = {now}")
            self._refuse(differ)
        elif now:
            self._lines.append(f"    {names} = {given}")
            computed = [f"{name}.result is not None" for name in targets if name.startswith("n")]
            self._lines.append(f"    if {' or '.join([*differ, *computed])}:")
            self._lines.append(f"        {names} = {now}")
            self._refuse(differ, "        ")
        else:
            self._lines.append(f"    {names} = {given}")
            self._refuse(differ)
        self._refuse(checks)

    def _own(self, name: str, node: Node) -> list[str]:
        """What to compare of a node itself, whose type is right."""
        checks = [f"{name}.dtype is not {self._named(node.dtype)}"]
        for what in _OWN.get(type(node), ()):
            value = self._named(getattr(node, what))
            checks.append(f"({name}.{what} is not {value} and {name}.{what} != {value})")
        if isinstance(node, Gather | Scatter):
            checks.append(f"len({name}.args) != {len(node.args)}")
        return checks

    def _end(self, structure: Structure) -> None:
        """Which nodes have the same memory, and that all else differs."""
        storages: dict[int, str] = {}
        differ = []
        for number, node in enumerate(structure.nodes):
            if isinstance(node, Buffer):
                name = f"n{number}.storage"
                known = storages.setdefault(id(node.storage), name)
                if known != name:
                    differ.append(f"{name} is not {known}")
        self._refuse(differ)
        scalars = [f"n{number}.value" for number, node in enumerate(structure.nodes) if isinstance(node, Scalar)]
        for name, listed in (
            ("nodes", [f"n{number}" for number in range(len(structure.nodes))]),
            ("storages", [storages[id(storage)] for storage in structure.storages]),
            ("scalars", scalars),
        ):
            self._lines.append(f"    {name} = [{', '.join(listed)}]")
        self._refuse([f"len({{*nodes}}) != {len(structure.nodes)}"])
        if len(storages) > 1:
            self._refuse([f"len(set(map(id, storages))) != {len(storages)}"])
        self._lines.append("    return like(known, nodes, storages, scalars)")

    def _refuse(self, checks: Sequence[str], indent: str = "    ") -> None:
        if checks:
            self._lines += [f"{indent}if {' or '.join(checks)}:", f"{indent}    return None"]

    def _named(self, value: object) -> str:
        known = self._by_id.get(id(value))
        if known is None:
            known = self._by_id[id(value)] = f"v{len(self.names)}"
            self.names[known] = value
        return known


_MOST_NODES = 256
"""Of an expression that is recognised: the text for it gets long."""
_MOST_LINES = 1024
_MOST_OF_A_LINE = 4
"""Patterns of expressions that one line makes, as in a function that is called for several arrays."""


class Patterns:
    """The patterns of one executor, by the Python line that asked for the first node. An expression has one once it is
    evaluated for the third time."""

    def __init__(self) -> None:
        self._of_line: dict[Hashable, list[Pattern]] = {}
        self._seen: dict[Hashable, list[tuple[object, object]]] = {}
        """Structure, as the cache of plans has it, and sizes of what was taken apart."""

    def recognised(self, roots: Sequence[Node], *, into: bool = False) -> Structure | None:
        """The structure of some nodes, if it is known."""
        line = roots[0].line
        if type(line) is Line:
            for pattern in self._of_line.get((id(line.code), line.at, into), ()):
                structure = pattern.recognised(roots)
                if structure is not None:
                    return structure
        return None

    def note(self, structure: Structure) -> None:
        """An expression was taken apart and is about to be evaluated."""
        line = structure.nodes[structure.roots[0]].line
        if type(line) is not Line or structure.copied or len(structure.nodes) > _MOST_NODES:
            return
        key, one = (id(line.code), line.at, structure.into), (structure.kept, structure.sizes)
        seen = self._seen.setdefault(key, [])
        if seen.count(one) > 1:
            self._of_line[key] = [Pattern(structure), *self._of_line.get(key, ())][:_MOST_OF_A_LINE]
        else:
            self._seen[key] = [one, *seen][: 2 * _MOST_OF_A_LINE]
        for table in (self._of_line, self._seen):
            while len(table) > _MOST_LINES:
                del table[next(iter(table))]

    def forget(self, kept: object) -> None:
        """There are no plans for a structure any more."""
        for line, patterns in list(self._of_line.items()):
            self._of_line[line] = [pattern for pattern in patterns if pattern.known.kept is not kept]
        for line, seen in list(self._seen.items()):
            self._seen[line] = [one for one in seen if one[0] is not kept]
