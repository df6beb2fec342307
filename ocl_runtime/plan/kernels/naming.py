"""Names and notes for the reader of generated code."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from itertools import count

from ocl_ir.graph.build import Node, Scalar
from ocl_ir.graph.printer import letter
from ocl_runtime.plan.fusion.values import Fold, Leaf, Lookup, Operation, Product, Value, leaf_of
from ocl_runtime.plan.kernels.form import Access, Fetch, Term

_RESERVED = re.compile(
    r"[imnsy]\d*|k|rows|columns|blocks|words|per|counts|places|shift|.*_(first|stride\d+)|"
    r"(tiles|panels|slices|blocks|left|right)(_.*)?"
)
"""Names of parameters that are no leaves."""

_NAME_LENGTH = 40
_PLUMBING = frozenset({"convert", "copy"})
_NOTE_LENGTH = 100
_TIGHTEST = 9


def output_names(count: int) -> list[str]:
    """The names of what a kernel stores: y, or y0, y1, …"""
    return ["y"] if count == 1 else [f"y{number}" for number in range(count)]


def leaf_names(values: Sequence[Value], wanted: Mapping[Node, str], unnamed: Container[int] = ()) -> list[str]:
    """A name for each value: leaves in memory are a, b, c, … or as wanted, scalars s0, s1, …; operations have none, nor
    have the values at the places `unnamed`."""
    names = [""] * len(values)
    for index, value in enumerate(values if wanted else ()):
        if not isinstance(value, Leaf | Lookup) or index in unnamed:
            continue
        name = wanted.get(leaf_of(value).source, "")
        if name.isidentifier() and name.isascii() and name not in names and not _RESERVED.fullmatch(name):
            names[index] = name
    letters = (name for name in map(letter, count()) if name not in names)
    scalars = map("s{}".format, count())
    for index, value in enumerate(values):
        if isinstance(value, Leaf | Lookup) and not names[index] and index not in unnamed:
            names[index] = next(scalars if isinstance(leaf_of(value).source, Scalar) else letters)
    return names


def kernel_name(values: Sequence[Term], *more: str) -> str:
    """What a kernel does: its operations by first appearance, conversions where there is nothing else: mul_sin_add."""
    ops = ["gather" if isinstance(value, Fetch) else value.op for value in values if not isinstance(value, Access)]
    kinds = dict.fromkeys([*ops, *more])
    named = [op for op in kinds if op not in _PLUMBING] or list(kinds)
    if not named:
        return "copy" if any(isinstance(value, Access) and value.kind == "memory" for value in values) else "fill"
    name = named[0]
    for op in named[1:]:
        if len(name) + len(op) >= _NAME_LENGTH:
            break
        name += f"_{op}"
    return name


_INFIX = {"or": 1, "xor": 2, "and": 3, "add": 4, "sub": 4, "mul": 5, "div": 5}
_SIGNS = {"or": " | ", "xor": " ^ ", "and": " & ", "add": " + ", "sub": " - ", "mul": "*", "div": "/"}


def formulas(values: Sequence[Term], outputs: Mapping[str, int]) -> str:
    """The expressions for the reader of the generated code: `y = a*b + sin(c)`, cut where they grow long."""
    texts: list[tuple[str, int]] = []
    for value in values:
        if isinstance(value, Access):
            steps = f"[{', '.join(map(str, value.shift))}]" if value.shift else ""
            texts.append((value.name + steps, _TIGHTEST))
            continue
        if isinstance(value, Fetch):
            text = f"{value.access.name}[{', '.join(texts[arg][0] for arg in value.args)}]"
            texts.append((text if len(text) <= _NOTE_LENGTH else f"{value.access.name}[…]", _TIGHTEST))
            continue
        if isinstance(value, Product):
            texts.append(("product", _TIGHTEST))
            continue
        if isinstance(value, Fold):
            text, binds = f"{value.op}({texts[value.arg][0]})", _TIGHTEST
        else:
            text, binds = _call(value, [texts[arg] for arg in value.args])
        texts.append((text, binds) if len(text) <= _NOTE_LENGTH else (f"{value.op}(…)", _TIGHTEST))
    return "; ".join(f"{name} = {texts[index][0]}" for name, index in outputs.items())


def _call(operation: Operation, args: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """An operation on texts, each with how tightly it binds, as Python writes it."""
    binds = _INFIX.get(operation.op)
    if binds is None:
        function = str(operation.dtype) if operation.op == "convert" else operation.op
        return f"{function}({', '.join(text for text, _ in args)})", _TIGHTEST
    (left, left_binds), (right, right_binds) = args
    left = left if left_binds >= binds else f"({left})"
    right = right if right_binds > binds else f"({right})"
    return f"{left}{_SIGNS[operation.op]}{right}", binds
