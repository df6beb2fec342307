"""Which names are read behind branches and loops."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from ocl_ir.language.syntax.liveness import assigned, liveness, read


def function_of(text: str) -> ast.FunctionDef:
    body = "\n".join(f"    {line}" for line in dedent(text).strip().splitlines())
    (function,) = ast.parse(f"def f(x, y, n):\n{body}\n").body
    assert isinstance(function, ast.FunctionDef)
    return function


def after(text: str) -> set[str]:
    """What is live behind the first branch or loop of a function, whose line begins with it."""
    function = function_of(text)
    stmt = next(node for node in ast.walk(function) if isinstance(node, ast.If | ast.For | ast.While))
    return set(liveness(function).after[id(stmt)])


def head(text: str) -> set[str]:
    function = function_of(text)
    stmt = next(node for node in ast.walk(function) if isinstance(node, ast.For | ast.While))
    return set(liveness(function).head[id(stmt)]) - {"range"}


@pytest.mark.parametrize(
    ("text", "live"),
    [
        ("if n:\n    a = 1\ny[0] = a", {"y", "a"}),
        ("if n:\n    a = 1\na = 2\ny[0] = a", {"y"}),
        ("if n:\n    a = 1\na += 2", {"a"}),
        ("if n:\n    a = b = 1\na, c = b, a", {"a", "b"}),
        ("if n:\n    a = 1\ny[a] = 3", {"y", "a"}),
        ("if n:\n    a = 1\nreturn\ny[0] = a", set()),
        ("if n:\n    a = 1\ndef g():\n    return a\ny[0] = g()", {"y", "a"}),
        ("if n:\n    a = 1\ng = lambda: a\ny[0] = g()", {"y", "a"}),
        ("if n:\n    a = 1\na: int = 3\ny[0] = a", {"y"}),
    ],
)
def test_behind_a_branch(text: str, live: set[str]) -> None:
    assert after(text) == live


@pytest.mark.parametrize(
    ("text", "live"),
    [
        ("for j in range(n):\n    a = a + j\n", {"a"}),
        ("for j in range(n):\n    a = j\n", set()),
        ("for j in range(n):\n    a = j\ny[0] = a", {"y", "a"}),
        ("while a < n:\n    a = 3\n", {"a", "n"}),
        ("for j in range(n):\n    b = a\n    a = c\n    c = b", {"a", "c"}),
        ("for j in range(n):\n    if x:\n        continue\n    a = 1\n    y[0] = a", {"x", "y"}),
        ("for j in range(n):\n    if x:\n        break\n    a = 1\ny[0] = a", {"x", "y", "a"}),
        ("for j in range(n):\n    for k in range(a):\n        a = k", {"a"}),
    ],
)
def test_at_the_head_of_a_loop(text: str, live: set[str]) -> None:
    assert head(text) == live


def test_assigned_and_read() -> None:
    stmts = function_of("a, (b, c) = x\nfor d in y:\n    e += f\ndef g():\n    h = i\nk[l] = m").body
    assert assigned(stmts) == {"a", "b", "c", "d", "e", "g"}
    assert read(*stmts) == {"x", "y", "f", "i", "k", "l", "m"}
