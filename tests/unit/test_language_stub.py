"""The stub of the kernel language has the names and parameters that the language has."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.language.values.table import Builtin, Namespace
from ocl_runtime import language

STUB = ast.parse(Path(language.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))


def parameters(function: ast.FunctionDef) -> list[tuple[str, bool]]:
    """The names of a function's parameters but `self`, and whether each may be left out."""
    arguments = function.args
    positional = [argument.arg for argument in arguments.args]
    required = len(positional) - len(arguments.defaults)
    found = [(name, number >= required) for number, name in enumerate(positional) if name != "self"]
    found += [(arguments.vararg.arg, False)] if arguments.vararg else []
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return found + [(argument.arg, default is not None) for argument, default in keywords]


def expected(builtin: Builtin) -> list[tuple[str, bool]]:
    signature = builtin.signature.parameters.values()
    return [(parameter.name, parameter.default is not inspect.Parameter.empty) for parameter in signature]


def test_every_builtin_is_in_the_stub_with_its_parameters() -> None:
    stubs = {node.name: parameters(node) for node in STUB.body if isinstance(node, ast.FunctionDef)}
    builtins = {name: value for name, value in BUILTINS.items() if isinstance(value, Builtin)}
    assert stubs == {name: expected(builtin) for name, builtin in builtins.items()}


def test_namespaces_are_in_the_stub() -> None:
    classes = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
    for name, namespace in BUILTINS.items():
        if isinstance(namespace, Namespace):
            members = {member: value for member, value in vars(namespace).items() if isinstance(value, Builtin)}
            methods = [node for node in classes[f"_{name.title()}"].body if isinstance(node, ast.FunctionDef)]
            stubs = {method.name: parameters(method) for method in methods}
            assert stubs == {member: expected(value) for member, value in members.items()}


def test_the_stub_has_no_other_names() -> None:
    assigned = [node.targets[0] for node in STUB.body if isinstance(node, ast.Assign)]
    annotated = [node.target for node in STUB.body if isinstance(node, ast.AnnAssign)]
    names = {target.id for target in [*assigned, *annotated] if isinstance(target, ast.Name)}
    names |= {node.name for node in STUB.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert {name for name in names if not name.startswith("_")} == set(language.__all__)
