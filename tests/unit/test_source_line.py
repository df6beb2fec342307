"""Python lines are known by identity."""

from __future__ import annotations

from types import FunctionType

import pytest

from ocl_ir import source_line
from ocl_ir.source_line import Line, caller


def asked() -> Line:
    return caller()


def written(text: str) -> Line:
    space: dict[str, object] = {"caller": caller}
    exec(compile(f"def asked():\n    {text}", "written.py", "exec"), space)
    asked = space["asked"]
    assert isinstance(asked, FunctionType)
    line = asked()
    assert isinstance(line, Line)
    return line


def test_a_place_has_one_line_however_often_it_asks() -> None:
    first, second = [asked() for _ in range(2)]
    assert first is second
    here, there = caller(), caller()
    assert here is not there, "two places of one line of text"
    assert str(here) == str(there)


def test_code_that_is_gone_leaves_its_line_to_no_other() -> None:
    """New code likes to lie where old code lay."""
    lines = [written("return caller()") for _ in range(50)]
    assert len({*lines}) == 50
    assert len({id(line.code) for line in lines}) == 50
    assert str(written("value = 0\n    return caller()")) == "written.py:3"


def test_lines_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_line, "_MOST_LINES", 8)
    lines = [written("return caller()") for _ in range(100)]
    assert len({*lines}) == 100
    assert len(source_line._LINES) <= 8
    assert all(str(line) == "written.py:2" for line in lines)
