"""Other nodes in place of some nodes of an expression.

Whatever is made of a replaced node is made again of what replaces it; the rest stays the very same. A replacement is
taken as it is and not walked into, so it may contain what it replaces (a write makes `x` into `x` with a part written).
Each node is visited once, however many expressions share it, and nothing recurses. Of nodes that are the same operation
of the same operands the first one stands for all (value numbering: Cocke and Schwartz, Programming Languages and Their
Compilers, 1970).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import (
    Assign,
    Buffer,
    Contract,
    CustomCall,
    Elementwise,
    Gather,
    Movement,
    Node,
    Reduce,
    Scan,
    Scatter,
    Sort,
)
from ocl_ir.graph.forward import apart
from ocl_ir.source_line import Where
from ocl_ir.types import TF32


def substitute(roots: Sequence[Node], replaced: Mapping[Node, Node], *, copy: bool = False) -> list[Node]:
    """The roots with nodes replaced; what has none of them, and is unlike what stands before it, is itself, or is made
    again for a `copy` that nobody else has. Nobody computes any of it meanwhile."""
    made: dict[Node, Node] = dict(replaced)
    numbered: dict[Hashable, Node] = {}
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        if node in made:
            stack.pop()
            continue
        waiting = [arg for arg in node.args if arg not in made]
        if waiting:
            stack += reversed(waiting)
            continue
        stack.pop()
        args = tuple(made[arg] for arg in node.args)
        value = (form(node), args)
        known = numbered.get(value)
        if known is None:
            known = numbered[value] = rebuilt(node, args) if copy or args != node.args else node
        made[node] = known
    return [made[root] for root in roots]


def form(node: Node) -> Hashable:
    """What a node is, but for its operands. Leaves are equal to none."""
    match node:
        case Elementwise():
            return "elementwise", node.op, node.dtype
        case Movement():
            return "movement", node.step
        case Gather():
            return "gather"
        case Contract():
            return "contract", node.dtype, node.factor
        case Scatter():
            return "scatter", node.op
        case Reduce():
            return "reduce", node.op, node.axes, node.keepdims, node.dtype, node.factor
        case Scan():
            return "scan", node.op, node.axis, node.dtype
        case Sort():
            return "sort", node.what, node.descending
        case CustomCall():
            return "custom_call", node.algorithm
        case Assign():
            return "assign", node.region.identity
    return node


def rebuilt(node: Node, args: Sequence[Node], where: Where = "") -> Node:
    """The node made of others, of the same shapes and dtypes where it has any of its own; `where` is the Python line
    that asked for it, by default the same."""
    where = where or node.line
    match node:
        case Elementwise():
            if node.op == "convert":
                return graph.convert(args[0], node.dtype, where)
            return graph.typed(node.op, node.dtype, tuple(args), where)
        case Movement():
            return graph.move(args[0], node.step, node.shape, where)
        case Gather():
            return graph.gather(args[0], args[1:], where)
        case Scatter():
            return graph.scatter(node.op, args[0], args[1], args[2], args[3:], where)
        case Reduce():
            keepdims, factor = node.keepdims, node.factor
            return graph.reduce(node.op, args[0], node.axes, node.dtype, keepdims=keepdims, factor=factor, where=where)
        case Contract():
            wide, tf32 = node.dtype is not node.left.dtype, node.factor is TF32
            return graph.contract(args[0], args[1], where, wide=wide, tf32=tf32)
        case Scan():
            return graph.scan(node.op, args[0], node.axis, node.dtype, where)
        case Sort():
            return graph.sort(node.what, args[0], descending=node.descending, where=where)
        case CustomCall():
            return graph.custom_call(node.algorithm, *args, where=where)
        case Assign():
            return graph.assign(args[0], node.region, args[1], where)
        case Buffer():
            return apart(node)
    return node
