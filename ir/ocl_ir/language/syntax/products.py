"""`acc += a @ b`, which is `acc = dot(acc, a, b)`: the one statement that the language reads otherwise than Python.

Only what is written out directly is: a product with a name of its own is joined from zeros, and added after that.
"""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache
from types import CodeType, FrameType

from ocl_ir.language.errors import KernelError


def product_added(stmt: ast.AugAssign) -> ast.BinOp | None:
    """The product that a statement adds directly, if it is of that form."""
    value = stmt.value
    is_product = isinstance(value, ast.BinOp) and isinstance(value.op, ast.MatMult)
    return value if isinstance(stmt.op, ast.Add) and is_product else None  # type: ignore[return-value]


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
