"""Which names of a function are read behind a branch or a loop, and which a block assigns.

Only what is read later becomes a variable where versions of a name meet; what is not stays a binding of its branch.
The usual backward analysis, over syntax: a loop's head is the fixed point of what is read in it and behind it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

Names: TypeAlias = frozenset[str]
NOTHING: Names = frozenset()


class Liveness(NamedTuple):
    """By `id` of a branch or a loop: names that are read behind it, and of a loop those that its head needs."""

    after: dict[int, Names]
    head: dict[int, Names]


@lru_cache(maxsize=1024)
def liveness(function: ast.FunctionDef | ast.Lambda) -> Liveness:
    """The liveness of a function's names."""
    if isinstance(function, ast.Lambda):
        return Liveness({}, {})
    analysis = _Analysis(_read_inside(function) & own_names(function))
    analysis.block(function.body, NOTHING, None)
    return Liveness(analysis.after, analysis.head)


@lru_cache(maxsize=1024)
def own_names(function: ast.FunctionDef | ast.Lambda) -> Names:
    """Names that a function assigns, which Python looks up nowhere else."""
    return assigned(function.body) if isinstance(function, ast.FunctionDef) else NOTHING


def _read_inside(function: ast.FunctionDef) -> Names:
    """Names that functions inside of a function read: they see what the names are when they are called."""
    nodes = (node for stmt in function.body for node in ast.walk(stmt))
    return read(*(node for node in nodes if isinstance(node, ast.FunctionDef | ast.Lambda)))


def assigned(stmts: Iterable[ast.stmt]) -> Names:
    """Names that statements assign, nested blocks included and nested functions left out."""
    names: set[str] = set()
    waiting: list[ast.AST] = list(stmts)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        waiting += ast.iter_child_nodes(node)
    return frozenset(names)


def read(*nodes: ast.AST | None) -> Names:
    """Names that expressions read; what a nested function reads counts."""
    return frozenset(
        inner.id
        for node in nodes
        if node is not None
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
    )


class _Loop(NamedTuple):
    leaves: Names
    continues: Names


class _Analysis:
    def __init__(self, always: Names) -> None:
        self._always = always
        self.after: dict[int, Names] = {}
        self.head: dict[int, Names] = {}

    def block(self, stmts: Sequence[ast.stmt], live: Names, loop: _Loop | None) -> Names:
        """What is live before some statements, of what is live behind them."""
        for stmt in reversed(stmts):
            live = self._statement(stmt, live, loop)
        return live

    def _statement(self, stmt: ast.stmt, live: Names, loop: _Loop | None) -> Names:
        match stmt:
            case ast.Assign(targets=targets, value=value):
                return self._kill(targets, live) | read(value, *targets)
            case ast.AnnAssign(target=target, value=value):
                return self._kill([target], live) | read(value, target)
            case ast.AugAssign(target=target, value=value):
                return live | assigned([stmt]) | read(value, target)
            case ast.FunctionDef(name=name):
                return (live - {name}) | read(*stmt.body, *stmt.args.defaults, *stmt.args.kw_defaults)
            case ast.If(test=test):
                self._note(self.after, stmt, live)
                return self.block(stmt.body, live, loop) | self.block(stmt.orelse, live, loop) | read(test)
            case ast.For(target=target, iter=iterated):
                return self._loop(stmt, live, assigned([ast.Expr(target)])) | read(iterated)
            case ast.While(test=test):
                return self._loop(stmt, live, NOTHING, read(test))
            case ast.Break():
                return loop.leaves if loop else NOTHING
            case ast.Continue():
                return loop.continues if loop else NOTHING
            case ast.Return(value=value):
                return read(value)
        return live | read(stmt)

    def _loop(self, stmt: ast.For | ast.While, live: Names, bound: Names, tested: Names = NOTHING) -> Names:
        self._note(self.after, stmt, live)
        head = live | tested
        while True:
            wider = head | (self.block(stmt.body, head, _Loop(live, head)) - bound)
            if wider == head:
                break
            head = wider
        self._note(self.head, stmt, head)
        return head

    @staticmethod
    def _kill(targets: Sequence[ast.expr], live: Names) -> Names:
        whole = [name for target in targets for name in _whole_names(target)]
        return live - frozenset(whole)

    def _note(self, table: dict[int, Names], stmt: ast.stmt, live: Names) -> None:
        table[id(stmt)] = table.get(id(stmt), NOTHING) | live | self._always


def _whole_names(target: ast.expr) -> list[str]:
    """Names that a target gives a new value."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Tuple | ast.List):
        return [name for element in target.elts for name in _whole_names(element)]
    return _whole_names(target.value) if isinstance(target, ast.Starred) else []
