"""The text of array expressions.

One statement a line, in the tone of the other languages: `y: f32[4] = add(mul(a, b), sin(c))`. The same expression
always gives the same text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ocl_ir.graph.build import (
    Assign,
    Buffer,
    Contract,
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
    walk,
)
from ocl_ir.indices import Item

_LONGEST = 72
"""Characters that a nested expression may take before it gets a line of its own."""


def text(node: Node, names: Mapping[Node, str] | None = None) -> str:
    """The expression below `node`, which is called y.

    A node that is used twice, or whose text grows long, gets a line of its own and is called t0, t1, …; `names` gives
    names to leaves and to `node` itself. Other buffers are a, b, c, … by first appearance.
    """
    named = dict(names or {})
    result = named.pop(node, "y")
    users = Counter(arg for one in walk(node) for arg in one.args)
    inline: dict[Node, str] = {}
    lines: list[str] = []
    letters = 0
    for one in walk(node):
        if one in named:
            inline[one] = named[one]
        elif isinstance(one, Buffer):
            inline[one] = letter(letters)
            letters += 1
        else:
            inline[one] = _call(one, [inline[arg] for arg in one.args])
            shared = users[one] > 1 and not isinstance(one, Scalar)
            if one is not node and (shared or len(inline[one]) > _LONGEST):
                name = f"t{len(lines)}"
                lines.append(f"{name}: {one.typed} = {inline[one]}")
                inline[one] = name
    lines.append(f"{result}: {node.typed} = {inline[node]}")
    return "\n".join(lines) + "\n"


def letter(number: int) -> str:
    """The name of the leaf with a number: a, b, c, …, a1, b1, …; never one that counts, sizes or results have."""
    letters = "abcdefghpqruvwxz"
    rounds, place = divmod(number, len(letters))
    return f"{letters[place]}{rounds or ''}"


def _call(node: Node, args: list[str]) -> str:
    match node:
        case Scalar():
            return repr(node.value)
        case Iota():
            strides = ", ".join(map(str, node.layout.strides))
            return f"iota({node.layout.offset}, strides [{strides}])"
        case Movement():
            return f"{node.step.kind}({args[0]}, [{', '.join(map(_item, node.step.value))}])"
        case Gather():
            return f"gather({args[0]}, [{', '.join(args[1:])}])"
        case Scatter():
            return f"scatter_{node.op}({args[0]}, [{', '.join(args[3:])}], {args[1]}, where {args[2]})"
        case Undefined():
            return "undefined"
        case Reduce():
            kept = ", keepdims" if node.keepdims else ""
            return f"{node.op}({args[0]}, axes [{', '.join(map(str, node.axes))}]{kept})"
        case Contract():
            return f"contract({', '.join(args)})"
        case Scan():
            return f"cumulative_{node.op}({args[0]}, axis {node.axis})"
        case Assign():
            shape, strides = (", ".join(map(str, numbers)) for numbers in (node.region.shape, node.region.strides))
            return f"assign({args[0]}, [{shape}] strides [{strides}] offset {node.region.offset}, {args[1]})"
        case Elementwise():
            return f"{node.dtype if node.op == 'convert' else node.op}({', '.join(args)})"
    return ""


def _item(item: Item) -> str:
    if item is None:
        return "new"
    return str(item) if isinstance(item, int) else f"{item.start} step {item.step} length {item.length}"
