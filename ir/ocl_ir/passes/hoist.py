"""What does not change in a loop is computed before it.

Only bindings move, never loads (a loop that runs no iteration must not touch memory) and nothing that could trap.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ocl_ir.kernel.grammar import Block, For, Kernel, Let, Local, Stmt, Value, While, defined, walk
from ocl_ir.ops import PARTIAL
from ocl_ir.passes.rewrite import Rewriter, reads_variables


def hoist(kernel: Kernel) -> Kernel:
    """The kernel with loop-invariant bindings before their loops."""
    return _Hoist(kernel).run()


class _Hoist(Rewriter):
    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        if isinstance(stmt, For):
            before, body = self._split(stmt.body, _inside(stmt))
            return (*before, replace(stmt, body=body))
        if isinstance(stmt, While):
            inside = _inside(stmt)
            before, header = self._split(stmt.header, inside)
            more, body = self._split(stmt.body, inside)
            return (*before, *more, replace(stmt, header=header, body=body))
        return (stmt,)

    def _split(self, block: Block, inside: set[int]) -> tuple[list[Stmt], Block]:
        """The statements that may go before the loop, and those that stay; `inside` shrinks by what goes."""
        before: list[Stmt] = []
        stay: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Let) and _may_move(stmt, inside):
                before.append(stmt)
                inside.discard(stmt.result.id)
            else:
                stay.append(stmt)
        return before, tuple(stay)


def _may_move(stmt: Let, inside: set[int]) -> bool:
    fixed = not any(isinstance(arg, Value) and arg.id in inside for arg in stmt.args)
    # Before a loop, `uniform` would be a promise for those, too, who do not come into it.
    return fixed and not reads_variables(stmt) and stmt.op not in PARTIAL | {"uniform"}


def _inside(loop: For | While) -> set[int]:
    """Ids of everything that the loop defines."""
    ids = {loop.index.id} if isinstance(loop, For) else set()
    for stmt in walk((loop,)):
        value = stmt.index if isinstance(stmt, For) else defined(stmt)
        if value is not None:
            ids.add(value.id)
        if isinstance(stmt, Local):
            ids.add(stmt.variable.id)
    return ids
