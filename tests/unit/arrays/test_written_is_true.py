"""What is written of the code agrees with it: lists of files, paths, the error tree, names in the README."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import ocl_runtime as ocl
from ocl_runtime import errors
from ocl_runtime.arrays.meaning.table import TABLE
from tests.support.checkout import ROOT

PACKAGES = sorted(path for root in ("ir/ocl_ir", "ocl_runtime") for path in (ROOT / root).rglob("__init__.py"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LISTED = re.compile(r"^ {0,4}(\w+(?:\.py|/)) +\S", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
"""In which `k[n](x)` is no link."""
QUOTED = re.compile(r"`([\w./*-]+)`")
MODULE = re.compile(r"`((?:ocl_runtime|ocl_ir)(?:\.\w+)+)`")
FILE = re.compile(r"\.(py|md|mako|toml|yaml|gz)$")
"""Endings of files of the tree; others, as `timeline.html`, are what programs write."""


@pytest.mark.parametrize("init", PACKAGES, ids=lambda path: str(path.parent.relative_to(ROOT)))
def test_a_package_lists_its_files(init: Path) -> None:
    listed = LISTED.findall(ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or "")
    modules = {path.name for path in init.parent.glob("*.py")} - {"__init__.py", "__main__.py"}
    packages = {f"{path.name}/" for path in init.parent.iterdir() if (path / "__init__.py").exists()}
    assert sorted(listed) == sorted(modules | packages)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_in_documents_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for link in LINK.findall(CODE.sub("", text)):
        assert (document.parent / link).exists(), link
    for name in QUOTED.findall(text):
        first, slash, _ = name.partition("/")
        if first and slash and (FILE.search(name) or name.endswith("/") or (ROOT / first).is_dir()):
            assert found(name), name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_in_documents_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert not re.findall(r"`ir\.(?!py`)\w+", text), "the package is called ocl_ir"
    for name in re.findall(MODULE, text):
        assert module(name), name


def found(name: str) -> bool:
    """A path from the root of the tree, or from that of a package, as documents shorten it."""
    return any(list((ROOT / start).glob(name)) for start in ("", "ir/ocl_ir", "ocl_runtime"))


def test_paths_in_docstrings_exist() -> None:
    """Of modules: `plan/memory.py` names a file of the tree."""
    for path in (path for init in PACKAGES for path in init.parent.glob("*.py")):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        for name in QUOTED.findall(text):
            if "/" in name and FILE.search(name):
                assert found(name), f"{path.relative_to(ROOT)} names {name}"


def test_modules_in_docstrings_exist() -> None:
    for path in (path for init in PACKAGES for path in init.parent.glob("*.py")):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        for name in re.findall(MODULE, text):
            assert module(name), f"{path.relative_to(ROOT)} names {name}"


def module(name: str) -> bool:
    """Whether a name is that of a module, or of something that a module has: a class, and perhaps its method."""
    parts = name.split(".")
    root = ROOT / "ir" if parts[0] == "ocl_ir" else ROOT
    for count in range(len(parts), 1, -1):
        file = root.joinpath(*parts[:count])
        if file.with_suffix(".py").exists() or (file / "__init__.py").exists():
            return count == len(parts) or parts[count] in file_of(file).read_text(encoding="utf-8")
    return len(parts) == 2 and hasattr(importlib.import_module(parts[0]), parts[1])


def file_of(module: Path) -> Path:
    return module.with_suffix(".py") if module.with_suffix(".py").exists() else module / "__init__.py"


def test_the_error_tree_is_drawn_as_it_is() -> None:
    drawn: dict[str, list[str]] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^((?:[│ ] {3})*)(?:[├└]── )?(\w*Error)\b(?: +\(also ([^)]*)\))?", line)
        if not match or (line[0] not in "│├└" and line != "Error"):
            continue
        depth = 0 if line == "Error" else len(match[1]) // 4 + 1
        also = re.findall(r"\w+", (match[3] or "").replace(" and ", " "))
        drawn[match[2]] = [above[depth - 1] if depth else "Exception", *also]
        above[depth:] = [match[2]]
    bases = {name: [base.__name__ for base in getattr(errors, name).__bases__] for name in errors.__all__}
    warnings = re.findall(r"^(\w+Warning)\b", errors.__doc__ or "", re.MULTILINE)
    assert drawn | {name: ["UserWarning"] for name in warnings} == bases


def test_what_the_readme_names_beyond_the_standard_is_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+)`", text[text.index("Beyond it there are") :].partition(".")[0])
    assert "erf" in named
    assert [name for name in named if not hasattr(ocl, name)] == []


def test_docstrings_of_functions_begin_with_a_word() -> None:
    for name in TABLE:
        assert re.match(r"(The|Whether|What|[-0-9])\b", getattr(ocl, name).__doc__ or ""), name
