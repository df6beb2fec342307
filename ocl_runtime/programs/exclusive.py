"""Whether a captured function may compute into memory, or others need what lies there.

    t = x * 2
    compute_into(x, t + 1)
    return t

`t` is computed after the write, from what `x` was before it. As for evaluations (`ocl_runtime.plan.donation`), others
are found by the references that neither the value nor the trace has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import le
from typing import NamedTuple

from ocl_ir.graph.build import Buffer, Node, walk
from ocl_runtime.plan.donation import references


class Use(NamedTuple):
    """Of memory that a value is computed into: whether nobody else needs what lies there, and whether the value reads
    it."""

    is_exclusive: bool
    is_read: bool


def use_of(wanted: list[Node], kept: list[Node], computed: Mapping[Node, Buffer], *, traced: int) -> Use:
    """The use that a single wanted value, or a kernel (where none is), makes of the memory of the first of the `kept`
    buffers.

    The trace has each of these as often as it stands there, what it has `computed` so far, and the memory itself
    `traced` times. Who has an expression that is wanted gets its result, and needs nothing else. Both lists are
    emptied.
    """
    memory = [buffer.storage for buffer in kept[:1] if isinstance(buffer, Buffer)]
    number = id(memory[0])
    nodes = [*walk(*wanted)]
    reading = _reading(nodes, number, computed)
    is_read = not reading.isdisjoint(wanted)
    results = [pair for pair in computed.items() if id(pair[1].storage) == number]
    own = Counter(map(id, chain(kept, *results, *[node.args for node in nodes])))
    asked = dict.fromkeys(
        [node for node in chain(reading, kept, *results) if isinstance(node, Buffer) or node not in wanted]
    )
    counted = [*asked]
    expected = [own[id(node)] for node in counted]
    buffers = sum(isinstance(node, Buffer) and id(node.storage) == number for node in counted)
    wanted.clear()
    kept.clear()
    del nodes, reading, results, asked
    counts = references(counted)
    is_exclusive = counts is not None and all(map(le, counts, expected)) and references(memory) == [buffers + traced]
    return Use(is_exclusive, is_read)


def forget_unneeded(computed: dict[Node, Buffer]) -> None:
    """Forgets what was computed and nobody can ask for any more: it would hold what it was made of."""
    while True:
        nodes = [*computed]
        unneeded = [number for number, count in enumerate(references(nodes) or ()) if count == 1]
        if not unneeded:
            return
        for number in unneeded:
            del computed[nodes[number]]


def _reading(nodes: Sequence[Node], number: int, computed: Mapping[Node, Buffer]) -> set[Node]:
    """Those of some nodes, operands before their users, that read memory with an `id`."""
    readers: set[Node] = set()
    for node in nodes:
        result = node if isinstance(node, Buffer) else computed.get(node)
        if not readers.isdisjoint(node.args) if result is None else id(result.storage) == number:
            readers.add(node)
    return readers
