"""Joins products of matrices with what computes their operands, element by element.

A bundle of elementwise operations that a product alone reads becomes part of the kernel that reads the operand, where
that has to move each element anyway, and which computes it of what it is made of on the way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from ocl_ir.graph.build import Contract, Node, Scalar
from ocl_runtime.plan.fusion.bundles import Bundle
from ocl_runtime.plan.fusion.decisions import Attempt, Decisions
from ocl_runtime.plan.fusion.operands import along_places, places_of
from ocl_runtime.plan.fusion.values import Computed, Leaf, Lookup, Operation, Value, dtype_of, laid_out
from ocl_runtime.plan.fusion.write_order import memory_of

_MOST_LEAVES, _MOST_OPERATIONS = 3, 8
"""Of an operand; what is more is computed again for too many tiles, or in a kernel that has too many arguments."""


def with_prologues(
    bundles: Sequence[Bundle],
    needed: Collection[Node],
    takes: Callable[[Contract, Sequence[Value]], bool],
    decisions: Decisions | None = None,
) -> list[Bundle]:
    """The bundles, in which products compute operands themselves. `takes` says whether the kernels of a product do, by
    its operands."""
    if not any(isinstance(bundle.groups[0].root, Contract) for bundle in bundles):
        return list(bundles)
    made_by = {bundle.results[0].group.root: bundle for bundle in bundles if _is_prologue(bundle, needed)}
    readers = Counter(leaf.source for bundle in bundles for leaf in bundle.leaves if leaf.computed)
    # What is written over in place is read before; a product may come later.
    written = {memory_of(base) for bundle in bundles if (base := bundle.groups[0].base) is not None}
    joined: set[Node] = set()
    made = []
    for bundle in bundles:
        root, operands = bundle.groups[0].root, list(bundle.values[:2])
        for number, side in enumerate(operands if isinstance(root, Contract) else ()):
            producer = made_by.get(side.source) if isinstance(side, Leaf) and side.computed else None
            if producer is None or not isinstance(side, Leaf) or readers[side.source] != 1:
                continue
            if not written.isdisjoint(map(memory_of, producer.leaves)):
                continue
            computed = _computed(side, producer)
            if computed is None:
                continue
            assert isinstance(root, Contract)
            changed: list[Value] = [*operands[:number], computed, *operands[number + 1 :]]
            if takes(root, changed):
                operands = changed
                joined.add(side.source)
                if decisions is not None:
                    first, second = frozenset((side.source,)), frozenset(group.root for group in bundle.groups)
                    decisions.attempts.append(Attempt("operand", first, second, ""))
        made.append(replace(bundle, values=(*operands, *bundle.values[2:])))
    return [bundle for bundle in made if bundle.results[0].group.root not in joined]


def _is_prologue(bundle: Bundle, needed: Collection[Node]) -> bool:
    """Whether a bundle computes one result of few operations and leaves, which nobody needs but who reads it."""
    if len(bundle.results) != 1 or bundle.order is not None or not all(group.pointwise for group in bundle.groups):
        return False
    (result,), last = bundle.results, len(bundle.values) - 1
    operations = sum(not isinstance(value, Leaf) for value in bundle.values)
    known = all(isinstance(value, Leaf | Lookup | Operation) for value in bundle.values) and result.value == last
    known = known and not any(dtype_of(value).is_complex for value in bundle.values)  # of which vectors are shorter
    fits = 0 < len(laid_out(bundle.values)) <= _MOST_LEAVES and 0 < operations <= _MOST_OPERATIONS
    return known and fits and result.group.root not in needed


def _computed(side: Leaf, producer: Bundle) -> Computed | None:
    """An operand with what it is computed of, over its own axes; None where steps along these run over ends of the axes
    over which it is computed."""
    places = places_of(side.layout, producer.shape)
    if places is None:
        return None
    values = [
        value._replace(layout=along_places(places, value.layout))
        if isinstance(value, Leaf) and not isinstance(value.source, Scalar)
        else value
        for value in producer.values
    ]
    return Computed(side, tuple(values))
