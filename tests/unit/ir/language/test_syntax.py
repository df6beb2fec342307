"""Every class of Python's syntax is translated or refused by name (R25)."""

from __future__ import annotations

import ast

import pytest

from ocl_ir.language.expressions import conditions, expressions
from ocl_ir.language.statements import statements
from ocl_ir.language.translate import Tiles

OLD = {"Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice", "AugLoad", "AugStore", "Param", "Suite"}
"""Classes of earlier Pythons, which no parser makes any more."""
INSIDE = {"FormattedValue", "Interpolation", "TemplateStr"}
"""Parts of f-strings, which are refused as a whole."""


def subclasses(kind: type[ast.AST]) -> list[type[ast.AST]]:
    return [
        each for each in kind.__subclasses__() if each.__module__ == "ast" and each.__name__ not in OLD | INSIDE
    ] + [each for each in kind.__subclasses__() if each.__module__ == "_ast" and each.__name__ not in OLD | INSIDE]


@pytest.mark.parametrize("kind", subclasses(ast.stmt), ids=lambda kind: kind.__name__)
def test_statements(kind: type[ast.AST]) -> None:
    is_translated = hasattr(Tiles, f"_{kind.__name__}_stmt")
    assert is_translated != (kind in statements._UNSUPPORTED)


@pytest.mark.parametrize("kind", subclasses(ast.expr), ids=lambda kind: kind.__name__)
def test_expressions(kind: type[ast.AST]) -> None:
    is_translated = hasattr(Tiles, f"_{kind.__name__}")
    assert is_translated or kind in expressions._UNSUPPORTED


@pytest.mark.parametrize("kind", [*subclasses(ast.operator), *subclasses(ast.cmpop)], ids=lambda kind: kind.__name__)
def test_operators(kind: type[ast.AST]) -> None:
    others = {ast.Is, ast.IsNot, ast.In, ast.NotIn, ast.MatMult}
    assert kind in expressions.BINARY or kind in conditions._COMPARE or kind in others
