"""Helpers have several returns, and kernel IR has none that gives a value: so each becomes an assignment.

What follows a branch that returns goes into the other branch. A return inside of a loop sets a flag and leaves the
loop; behind it, the flag is tested. What comes out has one value, the name `RESULT`, at the end of the body:

    if c: return a          if c: RESULT = a
    rest; return b          else: rest; RESULT = b
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache

from ocl_ir.language.values.values import POISON

RESULT = "return"
"""The name that has the result; no name of a program is a keyword."""
_FLAG = "return flag"
"""Whether a return inside of a loop has been taken."""


@lru_cache(maxsize=1024)
def with_one_result(function: ast.FunctionDef) -> ast.FunctionDef:
    """A helper whose result is the name `RESULT` at its end; without a return that is None."""
    body = _tail([*function.body])
    if any(isinstance(node, ast.Name) and node.id == _FLAG for stmt in body for node in ast.walk(stmt)):
        nothing: ast.expr = ast.Constant(value=POISON)  # type: ignore[arg-type]  # which any result joins
        body = [_assign(_FLAG, ast.Constant(value=False), function), _assign(RESULT, nothing, function), *body]
    made = ast.FunctionDef(name=function.name, args=function.args, body=body, decorator_list=[])
    return ast.copy_location(made, function)


def _returns(stmt: ast.AST) -> bool:
    """Whether a statement may return, itself or in its blocks."""
    if isinstance(stmt, ast.FunctionDef | ast.Lambda):
        return False
    return isinstance(stmt, ast.Return) or any(map(_returns, ast.iter_child_nodes(stmt)))


def _ends(stmts: Sequence[ast.stmt]) -> bool:
    """Whether what follows statements is never reached."""
    last = stmts[-1] if stmts else None
    if isinstance(last, ast.If):
        return bool(last.orelse) and _ends(last.body) and _ends(last.orelse)
    return isinstance(last, ast.Return | ast.Break | ast.Continue | ast.Raise)


def _tail(stmts: list[ast.stmt]) -> list[ast.stmt]:
    """Statements at the end of a function."""
    for index, stmt in enumerate(stmts):
        before, rest = stmts[:index], stmts[index + 1 :]
        if isinstance(stmt, ast.Return):
            return [*before, _result(stmt)]
        if isinstance(stmt, ast.If) and _returns(stmt):
            then = stmt.body if _ends(stmt.body) else [*stmt.body, *rest]
            orelse = stmt.orelse if _ends(stmt.orelse) else [*stmt.orelse, *rest]
            branch = ast.If(test=stmt.test, body=_tail(then), orelse=_tail(orelse))
            return [*before, ast.copy_location(branch, stmt)]
        if isinstance(stmt, ast.For | ast.While) and _returns(stmt):
            loop = _leaving(stmt)
            if _is_endless(stmt):
                return [*before, loop]
            test = ast.Name(id=_FLAG, ctx=ast.Load())
            behind = ast.If(test=ast.UnaryOp(op=ast.Not(), operand=test), body=_tail(rest), orelse=[])
            behind.body = behind.body or [ast.Pass()]
            return [*before, loop, _located(behind, stmt)]
    none = ast.Constant(value=None)
    last = stmts[-1] if stmts else none
    return [*stmts, _assign(RESULT, none, last)]


def _is_endless(loop: ast.For | ast.While) -> bool:
    """Whether only a return ends a loop."""
    is_forever = isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    return is_forever and not any(map(_breaks, loop.body))


def _breaks(stmt: ast.AST) -> bool:
    """Whether a statement may leave the loop that it stands in."""
    if isinstance(stmt, ast.FunctionDef | ast.Lambda | ast.For | ast.While):
        return False
    return isinstance(stmt, ast.Break) or any(map(_breaks, ast.iter_child_nodes(stmt)))


def _leaving(loop: ast.For | ast.While) -> ast.For | ast.While:
    """A loop whose returns set the flag and leave it."""
    body = _with_breaks(loop.body)
    if isinstance(loop, ast.For):
        made: ast.For | ast.While = ast.For(target=loop.target, iter=loop.iter, body=body, orelse=loop.orelse)
    else:
        made = ast.While(test=loop.test, body=body, orelse=loop.orelse)
    return ast.copy_location(made, loop)


def _with_breaks(stmts: Sequence[ast.stmt]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for stmt in stmts:
        if isinstance(stmt, ast.Return):
            made += [_result(stmt), _assign(_FLAG, ast.Constant(value=True), stmt)]
            return [*made, _leave(stmt)]
        if isinstance(stmt, ast.If) and _returns(stmt):
            branch = ast.If(test=stmt.test, body=_with_breaks(stmt.body), orelse=_with_breaks(stmt.orelse))
            made.append(ast.copy_location(branch, stmt))
        elif isinstance(stmt, ast.For | ast.While) and _returns(stmt):
            made.append(_leaving(stmt))
            leave = ast.If(test=ast.Name(id=_FLAG, ctx=ast.Load()), body=[_leave(stmt)], orelse=[])
            made.append(_located(leave, stmt))
        else:
            made.append(stmt)
    return made


def _leave(at: ast.stmt) -> ast.Break:
    """The `break` that a return is in a loop."""
    made = ast.copy_location(ast.Break(), at)
    made.is_return = True  # type: ignore[attr-defined]  # for errors
    return made


def _result(stmt: ast.Return) -> ast.stmt:
    return _assign(RESULT, stmt.value or ast.Constant(value=None), stmt)


def _assign(name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
    return _located(ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value), at)


def _located(made: ast.stmt, at: ast.AST) -> ast.stmt:
    """The statement, all of whose new nodes stand where another one does."""
    for node in ast.walk(made):
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            ast.copy_location(node, at)
    return made
