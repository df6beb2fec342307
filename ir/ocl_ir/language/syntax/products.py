"""`acc += a @ b`, which is `acc = dot(acc, a, b)`: the one statement that the language reads otherwise than Python.

Only what is written out directly is: a product with a name of its own is joined from zeros, and added after that.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Sequence
from functools import lru_cache
from types import CodeType, FrameType
from typing import NamedTuple

from ocl_ir.language.errors import KernelError


def product_added(stmt: ast.AugAssign) -> ast.BinOp | None:
    """The product that a statement adds directly, if it is of that form."""
    value = stmt.value
    is_product = isinstance(value, ast.BinOp) and isinstance(value.op, ast.MatMult)
    return value if isinstance(stmt.op, ast.Add) and is_product else None  # type: ignore[return-value]


class LoopOfProducts(NamedTuple):
    """A loop that adds a product of matrices to `acc`, and before that only gives names to what it needs for that."""

    before: Sequence[tuple[str, ast.expr]]
    acc: ast.Name
    left: ast.expr
    right: ast.expr
    function: ast.expr | None = None
    """What is called, which should be `dot`; None where it is an operator."""
    keywords: Sequence[ast.keyword] = ()

    @property
    def names(self) -> frozenset[str]:
        """What it gives names to before."""
        return frozenset(name for name, _ in self.before)


def loop_of_products(loop: ast.For) -> LoopOfProducts | None:
    """The parts of a loop of the form

    for k in range(…):
        a = …
        acc = dot(acc, a, …)        # or acc += a @ …
    """
    *first, last = loop.body
    before = list[tuple[str, ast.expr]]()
    for stmt in first:
        if not isinstance(stmt, ast.Assign) or len(stmt.targets) > 1 or not isinstance(stmt.targets[0], ast.Name):
            return None
        before.append((stmt.targets[0].id, stmt.value))
    match last:
        case ast.AugAssign(target=ast.Name() as acc):
            product = product_added(last)
            return None if product is None else LoopOfProducts(before, acc, product.left, product.right)
        case ast.Assign(
            targets=[ast.Name() as acc],
            value=ast.Call(func=function, args=[ast.Name() as added, left, right], keywords=keywords),
        ) if acc.id == added.id:
            return LoopOfProducts(before, acc, left, right, function, keywords)
    return None


def adds_a_product(frame: FrameType) -> bool:
    """Whether a frame of plain Python is at a statement of that form. Raises `KernelError` where its file cannot be
    read."""
    return _adds_a_product(frame.f_code, frame.f_lasti)


def _positions(node: ast.stmt) -> tuple[int | None, ...]:
    """Where a statement stands, as the instructions of a code have it."""
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


@lru_cache(maxsize=1024)
def _adds_a_product(code: CodeType, instruction: int) -> bool:
    at = list(code.co_positions())[instruction // 2]
    lines = linecache.getlines(code.co_filename)
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, ast.AugAssign) and _positions(node) == at:
            return product_added(node) is not None
    raise KernelError(
        f"line {at[0]} of {code.co_filename} is not at hand, which adds a tile",
        remedy="define the kernel in a file or a notebook cell",
    )
