"""The text of array expressions.

One statement a line, in the tone of the other languages: `y: f32[4] = add(mul(a, b), sin(c))`. The same expression
always gives the same text. Printing decides nothing by sizes that keep their formula, so it adds no guard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

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
from ocl_ir.guards import Given, example
from ocl_ir.indices import Item, Span

_LONGEST = 72
"""Characters that a nested expression may take before it gets a line of its own."""


def text(node: Node, names: Mapping[Node, str] | None = None) -> str:
    """The expression below `node`, which is called y.

    A node that is used twice, or whose text grows long, gets a line of its own and is called t0, t1, …; `names` gives
    names to leaves and to `node` itself. Other buffers are a, b, c, … by first appearance.
    """
    named = dict(names or {})
    result = named.pop(node, "y")
    users = Counter(arg for user in walk(node) for arg in user.args)
    inline: dict[Node, str] = {}
    lines: list[str] = []
    letters = 0
    for current in walk(node):
        if current in named:
            inline[current] = named[current]
        elif isinstance(current, Buffer):
            inline[current] = letter(letters)
            letters += 1
        else:
            inline[current] = _call(current, [inline[arg] for arg in current.args])
            shared = users[current] > 1 and not isinstance(current, Scalar)
            if current is not node and (shared or len(inline[current]) > _LONGEST):
                name = f"t{len(lines)}"
                lines.append(f"{name}: {current.typed} = {inline[current]}")
                inline[current] = name
    lines.append(f"{result}: {node.typed} = {inline[node]}")
    return "\n".join(lines) + "\n"


class Statements(NamedTuple):
    """An expression with a line for each operation: `names` say how each node is called where it is an operand."""

    names: Mapping[Node, str]
    lines: Mapping[Node, str]


def statements(
    roots: Sequence[Node], names: Mapping[Node, str], apart: Container[Node], scalars: Sequence[object] = ()
) -> Statements:
    """The nodes below `roots`, operands first. Operations are called %0, %1, …, roots y or y0, y1, …; leaves as in
    `text`. Movements and scalars stand where they are used, but for those that are `apart`. `scalars` are the values of
    those that are only given by number."""
    called, lines, taken = dict(names), dict[Node, str](), {*names.values()}
    result = "y"
    while any(name == result or name.removeprefix(result).isdecimal() for name in taken):
        result += "_"
    results = {root: f"{result}{number}" if len(roots) > 1 else result for number, root in enumerate(roots)}
    letters = filter(lambda name: name not in taken, map(letter, count()))
    for node in walk(*roots):
        if node in called:
            continue
        if isinstance(node, Buffer):
            called[node] = next(letters)
        else:
            call = _call(node, [called[arg] for arg in node.args])
            if isinstance(node, Scalar) and isinstance(node.value, Given) and scalars:
                call = _number(scalars[node.value.index])
            called[node] = call
            if node in results or node in apart or not isinstance(node, Movement | Scalar | Iota | Undefined):
                called[node] = results.get(node, f"%{len(lines)}")
                lines[node] = f"{called[node]}: {node.typed} = {call}"
    return Statements(called, lines)


def letter(number: int) -> str:
    """The name of the leaf with a number: a, b, c, …, a1, b1, …; never one that counts, sizes or results have."""
    letters = "abcdefghpqruvwxz"
    rounds, index = divmod(number, len(letters))
    return f"{letters[index]}{rounds or ''}"


def _call(node: Node, args: list[str]) -> str:
    match node:
        case Scalar():
            return _number(node.value)
        case Iota():
            return f"iota({example(node.layout.offset)}, strides [{_numbers(node.layout.strides)}])"
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
            of = "" if node.factor is node.arg.dtype else f", of {node.factor}"
            return f"{node.op}({args[0]}, axes [{_numbers(node.axes)}]{kept}{of})"
        case Contract():
            return f"contract({', '.join(args)}{'' if node.factor is node.left.dtype else f', in {node.factor}'})"
        case Scan():
            return f"cumulative_{node.op}({args[0]}, axis {node.axis})"
        case Sort():
            order = ", descending" if node.descending else ""
            return f"{'sort' if node.what == 'values' else 'argsort'}({args[0]}{order})"
        case CustomCall():
            return f"{node.algorithm}({', '.join(args)})"
        case Assign():
            region = node.region
            lies = f"[{_numbers(region.shape)}] strides [{_numbers(region.strides)}] offset {example(region.offset)}"
            return f"assign({args[0]}, {lies}, {args[1]})"
        case Elementwise():
            return f"{node.dtype if node.op == 'convert' else node.op}({', '.join(args)})"
    return ""


def _item(item: Item) -> str:
    if item is None:
        return "new"
    if isinstance(item, Span):
        return f"{example(item.start)} step {example(item.step)} length {example(item.length)}"
    return str(example(item))


def _number(value: object) -> str:
    return f"s{value.index}" if isinstance(value, Given) else repr(example(value))


def _numbers(numbers: Sequence[Any]) -> str:
    return ", ".join(str(example(number)) for number in numbers)
