"""Compares an expression with one that is known, in Python written out for that one.

A statement in a loop makes the same expression in each turn, over other memory and numbers. To compare it with the last
one, node by node, takes a fraction of what it takes to find its structure and to look that up; a loop over a table
would take three times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, Final

from ocl_ir.graph.build import (
    Assign,
    Buffer,
    Contract,
    CustomCall,
    Elementwise,
    Gather,
    Iota,
    Movement,
    Node,
    Reduce,
    Scalar,
    Scan,
    Scatter,
    Sort,
    Undefined,
    walk,
)
from ocl_ir.graph.forward import operands
from ocl_ir.ops import OPS
from ocl_runtime.plan.structure import Structure

_OWN: Final[dict[type, tuple[str, ...]]] = {
    Assign: ("region",),
    Buffer: ("layout",),
    Contract: ("factor",),
    CustomCall: ("algorithm",),
    Elementwise: ("op",),
    Iota: ("layout",),
    Movement: ("step",),
    Reduce: ("op", "axes", "keepdims", "factor"),
    Scalar: ("shape",),
    Scan: ("op", "axis"),
    Scatter: ("op",),
    Sort: ("what", "descending"),
    Undefined: ("shape",),
}
"""What nodes are, but for their dtype, operands, memory and numbers, with the sizes that are their own."""


_FILE: Final = str(Path(__file__).with_name("<written>"))
"""What is written is of this library: who looks for the line of the user's program passes it by."""


class Text:
    """That of a function, with what it names. It holds no nodes, and no memory."""

    def __init__(self, lines: str, names: dict[str, Any]) -> None:
        self._lines = lines
        self._names = names

    def function(self) -> Callable[..., Any]:
        """The function. To compile it takes by far the longest: some milliseconds."""
        exec(compile(self._lines, _FILE, "exec"), self._names)
        made: Callable[..., Any] = self._names["function"]
        return made


class Comparison:
    """The lines of a function that returns None unless the list `roots` has a structure, with its sizes: the first
    roots of that, as many as are `asked` for. Made before any node of it is computed.

    After them node number `k` is called `nk`, and each refers to as many others as the structure says. `names` are the
    values that the lines name.
    """

    def __init__(self, structure: Structure, asked: int) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"operands": operands}
        self.structure: Final = structure
        self._by_id: dict[int, str] = {}
        self._number = {node: number for number, node in enumerate(structure.nodes)}
        self._seen: set[Node] = set()
        roots = [structure.nodes[root] for root in structure.roots[:asked]]
        self.refuse([f"len(roots) != {len(roots)}"])
        self._take("roots", "", roots)
        for number, node in enumerate(structure.nodes):
            if node.args:
                self._take(f"n{number}.args", f"operands(n{number})", node.args)
        self._compare_numbers()
        self.storages = self._compare_storages()
        """The name of each storage."""
        self.refuse([_distinct([f"n{number}" for number in alike]) for alike in _alike(structure.nodes)])

    def nodes(self, kind: type[object] = object) -> list[str]:
        """The names of the nodes of a kind."""
        return [f"n{number}" for number, node in enumerate(self.structure.nodes) if isinstance(node, kind)]

    def add(self, line: str) -> None:
        """One more line."""
        self.lines.append(f"    {line}")

    def refuse(self, checks: Sequence[str]) -> None:
        """Lines that return None where any check is true."""
        if checks:
            self.add(f"if {' or '.join(checks)}:")
            self.add("    return None")

    def named(self, value: object) -> str:
        """The name of a value."""
        known = self._by_id.get(id(value))
        if known is None:
            known = self._by_id[id(value)] = f"v{len(self._by_id)}"
            self.names[known] = value
        return known

    def text(self) -> Text:
        """The text of all lines, without the expression."""
        return Text("\n".join(["def function(roots, cells, executor):", *self.lines]), self.names)

    def _take(self, operands: str, now: str, args: Sequence[Node]) -> None:
        """Names the operands of a node, and compares them: as they are `now`, where one has been computed since."""
        targets, differ, checks, again = [], [], [], []
        for index, node in enumerate(args):
            name = f"n{self._number[node]}"
            if node in self._seen:
                again.append(f"again{index}")
                targets.append(again[-1])
                differ.append(f"{again[-1]} is not {name}")
                continue
            self._seen.add(node)
            targets.append(name)
            differ.append(f"type({name}) is not {self.named(type(node))}")
            checks += self._own(name, node)
        names = f"{', '.join(targets)},"
        if not now:
            self.add(f"{names} = {operands}")
            self.refuse(differ)
        elif any(isinstance(node, Movement) and isinstance(node.args[0], Movement) for node in args):
            self.add(f"{names} = {now}")
            self.refuse(differ)
        else:
            self.add(f"{names} = {operands}")
            new = [(name, node) for name, node in zip(targets, args, strict=True) if name not in again]
            computed = [f"{name}.result is not None" for name, _ in new]
            # What moves memory may be a view of it by now; another thread may be making it one.
            moved = [name for name, node in new if isinstance(node, Movement)]
            computed += [f"not (moved := {name}.args) or moved[0].result is not None" for name in moved]
            self.add(f"if {' or '.join([*differ, *computed])}:")
            self.add(f"    {names} = {now}")
            self.add(f"    if {' or '.join(differ)}:")
            self.add("        return None")
        if again:
            self.add(f"del {', '.join(again)}")
        self.refuse(checks)

    def _own(self, name: str, node: Node) -> list[str]:
        """What to compare of a node itself, whose type is right."""
        # The operands, which are compared too, say what most operations give.
        checks = [f"{name}.dtype is not {self.named(node.dtype)}"] if not _is_operation(node) else []
        for what in _OWN.get(type(node), ()):
            value = self.named(getattr(node, what))
            checks.append(f"{name}.{what} is not {value} and {name}.{what} != {value}")
        if isinstance(node, Gather | Scatter | CustomCall):
            checks.append(f"len({name}.args) != {len(node.args)}")
        return checks

    def _compare_numbers(self) -> None:
        """Which numbers are equal, and not 0: it has a sign."""
        values = [f"{name}.value" for name in self.nodes(Scalar)]
        alike = self.structure.alike
        pairs = [(value, values[first]) for value, first in zip(values, alike, strict=False) if value != values[first]]
        self.refuse([f"not {first}" for first in dict.fromkeys([first for _, first in pairs])])
        self.refuse([f"{value} != {first}" for value, first in pairs])

    def _compare_storages(self) -> list[str]:
        """Which nodes have the same memory; all other memory differs."""
        storages: dict[int, str] = {}
        differ = []
        for name, node in zip(self.nodes(), self.structure.nodes, strict=True):
            if isinstance(node, Buffer):
                known = storages.get(id(node.storage))
                if known is None:
                    known = storages[id(node.storage)] = f"s{len(storages)}"
                    self.add(f"{known} = {name}.storage")
                else:
                    differ.append(f"{name}.storage is not {known}")
        if len(storages) > 1:
            differ.append(f"len({{{', '.join(storages.values())}}}) != {len(storages)}")
        self.refuse(differ)
        return [storages[id(storage)] for storage in self.structure.storages]


def _is_operation(node: Node) -> bool:
    return isinstance(node, Elementwise) and node.op in OPS


def _distinct(names: Sequence[str]) -> str:
    """What is true unless all of these differ."""
    if len(names) == 2:
        return f"{names[0]} is {names[1]}"
    return f"len({{{', '.join(names)}}}) != {len(names)}"


def _alike(nodes: Sequence[Node]) -> list[list[int]]:
    """By number, the nodes that might be one and the same in an expression of which all else has been compared: they
    are of one kind, and so are their operands, all the way down to memory, which differs."""
    number = {node: index for index, node in enumerate(nodes)}
    kinds: dict[Hashable, list[int]] = {}
    kind_of: dict[Node, int] = {}
    for node in walk(*nodes):
        own = tuple([getattr(node, what) for what in _OWN.get(type(node), ())])
        memory = id(node.storage) if isinstance(node, Buffer) else None
        kind = type(node), node.dtype, own, memory, tuple([kind_of[arg] for arg in node.args])
        alike = kinds.setdefault(kind, [])
        alike.append(number[node])
        kind_of[node] = alike[0]
    return [alike for alike in kinds.values() if len(alike) > 1]
