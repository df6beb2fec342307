"""A helper with one result does what the helper does: run as Python, for all arguments of a range."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from itertools import product
from textwrap import dedent
from typing import Any

import pytest

from ocl_ir.language.syntax.returns import RESULT, with_one_result


def straight(a: int, b: int) -> int:
    return a + b


def branches(a: int, b: int) -> int:
    if a > b:
        return a
    if a == b:
        b += 10
    elif b > 2:
        return b * 2
    else:
        a += 5
    return a - b


def nothing(a: int, b: int) -> None:
    a += b


def sometimes(a: int, b: int) -> int | None:
    if a:
        return b
    return None


def loop(a: int, b: int) -> int:
    for j in range(a):
        if j == b:
            return j * 100
        b += 1
    return b


def loops_in_loops(a: int, b: int) -> int:
    total = 0
    for j in range(a):
        for k in range(b):
            if j * k == 6:
                return total
            if k > j:
                break
            total += k
        else:
            total += 100
        if total > 3:
            return -total
    return total * 2


def endless(a: int, b: int) -> int:
    while True:
        a += 1
        if a > b:
            return a
        if a == 3:
            return -1


def left_by_break(a: int, b: int) -> int:
    while True:
        a += 1
        if a > b:
            break
        if a == 3:
            return -1
    return a * 10


def continues(a: int, b: int) -> int:
    for j in range(a + 3):
        if j == b:
            continue
        if j > 3:
            return j
    return -1


def both_ends(a: int, b: int) -> int:
    if a > b:
        for j in range(a):
            if j > b:
                return j
        return 1
    return 2


def nested_function(a: int, b: int) -> int:
    def inner(c: int) -> int:
        return c + 1

    if a:
        return inner(b)
    return inner(a)


FUNCTIONS = [
    straight,
    branches,
    nothing,
    sometimes,
    loop,
    loops_in_loops,
    endless,
    left_by_break,
    continues,
    both_ends,
    nested_function,
]


def rewritten(function: Callable[..., Any]) -> Callable[..., Any]:
    (node,) = ast.parse(dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef)
    made = with_one_result(node)
    for inner in ast.walk(made):
        if (isinstance(inner, ast.Name) and " " in inner.id) or (isinstance(inner, ast.Name) and inner.id == RESULT):
            inner.id = "result_" + inner.id.replace(" ", "_")  # which Python compiles
        if isinstance(inner, ast.Constant) and not isinstance(inner.value, int | str | None):
            inner.value = "no value"
    made.returns = None
    for arg in made.args.args:
        arg.annotation = None
    made.body = [*made.body, ast.Return(ast.Name(f"result_{RESULT}", ast.Load()))]
    namespace: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(ast.Module([made], [])), "<made>", "exec"), namespace)
    result: Callable[..., Any] = namespace[function.__name__]
    return result


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_the_result_is_the_functions(function: Callable[..., Any]) -> None:
    made = rewritten(function)
    for a, b in product(range(6), repeat=2):
        assert made(a, b) == function(a, b), (a, b)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_no_return_is_left(function: Callable[..., Any]) -> None:
    (node,) = ast.parse(dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef)
    made = with_one_result(node)
    own = [stmt for stmt in made.body if not isinstance(stmt, ast.FunctionDef)]
    assert not any(isinstance(inner, ast.Return) for stmt in own for inner in ast.walk(stmt))
