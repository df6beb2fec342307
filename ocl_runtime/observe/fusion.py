"""How an expression became kernels, as text: its operations in groups, and the groups in bundles.

All of it is what the planner has decided, in its own words. Sizes are those of the call that was planned for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ocl_ir.graph.build import Assign, Contract, CustomCall, Node, Scalar, Scan, Scatter, Sort
from ocl_ir.graph.printer import Statements, statements
from ocl_ir.guards import example
from ocl_ir.layout import Layout
from ocl_runtime.plan.fusion.groups import Group
from ocl_runtime.plan.fusion.merge import RULES
from ocl_runtime.plan.fusion.values import Leaf, Lookup, Operation

if TYPE_CHECKING:
    from ocl_runtime.plan.planner import Fusion

_RULES = {rule.__name__: " ".join((rule.__doc__ or "").split()).rstrip(".") for rule in RULES} | {
    "product": "Elementwise operations over the results of a product of matrices, which nothing else reads",
    "operand": "Elementwise operations whose result a product of matrices alone reads, and packs",
}


def groups_text(fusion: Fusion) -> str:
    """The operations of each group with their Python lines, what the group reads, and why it ends where it does."""
    written, cuts = _written(fusion), fusion.decisions.cuts
    why = {group.root: group.why for group in fusion.groups}
    users: dict[Node, list[str]] = {}
    for root, cut in cuts.items():
        for node in cut.operations - {root}:
            users.setdefault(node, []).append(written.names[root])
    lines = [_count(len(fusion.groups), "group")]
    for group in fusion.groups:
        cut, name = cuts[group.root], written.names[group.root]
        lines += ["", f"group {name}: {_kind(group)}, over {_numbers(group.shape)}"]
        for node, statement in written.lines.items():
            if node is group.root or node in cut.operations:
                others = [user for user in users.get(node, ()) if user != name]
                again = f"    (computed for {', '.join(others)}, too)" if others and node is not group.root else ""
                lines.append(f"  {statement}{again}    {_line(fusion, node)}".rstrip())
        reads = {}
        for leaf in group.leaves:
            reason = cut.edge.get(leaf.source, "") if leaf.computed else ""
            because = f": {reason}" if reason and reason != why.get(leaf.source) else ""
            if not isinstance(leaf.source, Scalar):
                reads[f"  reads {_leaf(written, leaf)}{because}"] = leaf
        lines += [*reads, f"  ends at {name}: {group.why}"]
    return "\n".join([*lines, ""])


def bundles_text(fusion: Fusion) -> str:
    """The groups of each bundle, by which rules they share a kernel, what it stores, and what stayed apart and why."""
    names, attempts = _written(fusion).names, fusion.decisions.attempts
    lines = [f"{_count(len(fusion.bundles), 'bundle')} of {_count(len(fusion.groups), 'group')}"]
    bundle_of: dict[Node, int] = {}
    rules: dict[str, None] = {}
    for number, (bundle, kernels) in enumerate(zip(fusion.bundles, fusion.kernels, strict=True), 1):
        roots = [group.root for group in bundle.groups]
        bundle_of |= dict.fromkeys(roots, number)
        reduced = f", reduced axes {_numbers(bundle.axes)}" if bundle.order is not None else ""
        becomes = f"kernel{'s' * (len(kernels) > 1)} {', '.join(kernels)}" if kernels else "no kernel"
        over = f"over {_numbers(bundle.shape)}{reduced}"
        lines += ["", f"bundle {number}: {becomes}, {over}", f"  computes {_all(names, roots)}"]
        for rule, first, second, reason in attempts:
            if not reason and second <= {*roots} and (rule == "operand" or first <= {*roots}):
                lines.append(f"  joins {_all(names, first)} and {_all(names, second)}: {rule}")
                rules[rule] = None
        stored = [result.group.root for result in bundle.results]
        lines += [f"  stores {names[root]}: {_stored(fusion, root)}" for root in stored if kernels]
        kept = [root for root in roots if root not in stored]
        lines += [f"  keeps {_all(names, kept)} in registers"] if kept else []
    apart: dict[tuple[int, int], str] = {}
    for rule, first, second, reason in attempts:  # those of larger drafts come later, and say what holds in the end
        pair = bundle_of.get(next(iter(first)), 0), bundle_of.get(next(iter(second)), 0)
        if reason and pair[0] != pair[1]:
            rules[rule] = None
            sides = f"{_all(names, first)} (bundle {pair[0]}) and {_all(names, second)} (bundle {pair[1]})"
            apart[pair] = f"  {sides}: {rule}, but {reason}"
    lines += ["", "left apart, though a rule would join them:", *apart.values()] if apart else []
    lines += ["", "rules:", *(f"  {rule}: {_RULES.get(rule, '')}" for rule in rules)] if rules else []
    return "\n".join([*lines, ""])


def _written(fusion: Fusion) -> Statements:
    roots = [group.root for group in fusion.groups]
    return statements(list(dict.fromkeys(fusion.plan.roots)), fusion.names, {*roots}, fusion.scalars)


def _kind(group: Group) -> str:
    """What a group does at its end."""
    root = group.root
    if group.looks:
        return "a view, no kernel"
    if group.reduce is not None:
        return f"a reduction along {_numbers(group.reduce.axes)}"
    match root:
        case Contract():
            return "a product of matrices" + ("" if root.factor is root.left.dtype else f" in {root.factor}")
        case Scan():
            return f"a scan along axis {example(root.axis)}"
        case Sort():
            return "a sort along the last axis"
        case CustomCall():
            return f"a call of {root.algorithm.name}"
        case Assign():
            return "a write of a part"
        case Scatter():
            return "a write at computed places"
    return "elementwise" if any(isinstance(value, Operation | Lookup) for value in group.values) else "a copy"


def _leaf(written: Statements, leaf: Leaf) -> str:
    """What is read, and how it lies if that is not in row-major order from the beginning."""
    shape, strides = (tuple(map(example, numbers)) for numbers in (leaf.layout.shape, leaf.layout.strides))
    layout, offset = Layout(shape, strides), example(leaf.layout.offset)
    text = f"{written.names[leaf.source]}: {leaf.source.dtype}{_numbers(layout.shape)}"
    if not layout.is_dense:
        text += f" strides {_numbers(layout.strides)}"
    return f"{text} offset {offset}" if offset else text


def _stored(fusion: Fusion, root: Node) -> str:
    """Why a result is stored, and where."""
    over = [result.reason for result in fusion.plan.in_place if result.root is root]
    where = [f"memory of its own, since {reason}" if reason else "written over an operand" for reason in over]
    return "; ".join([fusion.plan.why.get(root, "it is wanted"), *where])


def _line(fusion: Fusion, node: Node) -> str:
    line = node.where
    return str(fusion.lines[int(line)]) if fusion.lines and line.isdigit() else line


def _all(names: Mapping[Node, str], nodes: Iterable[Node]) -> str:
    return ", ".join(
        sorted((names[node] for node in nodes), key=lambda name: (not name.startswith("%"), len(name), name))
    )


def _numbers(numbers: Sequence[int]) -> str:
    return f"[{', '.join(str(example(number)) for number in numbers)}]"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
