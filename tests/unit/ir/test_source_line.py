"""Python lines are known by identity."""

from __future__ import annotations

import sys
from types import FunctionType
from weakref import ref

from ocl_ir import source_line
from ocl_ir.source_line import Line, caller, is_own
from ocl_runtime.commands.bench import measure
from ocl_runtime.commands.bench.cases import programs


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


def test_lines_that_nobody_refers_to_go_with_their_codes() -> None:
    before = len(source_line._LINES)  # other tests have lines that somebody refers to
    gone = [ref(written("return caller()")) for _ in range(3 * max(before, 1000))]
    assert sum(line() is not None for line in gone) <= 256
    assert len(source_line._LINES) <= 2 * max(before, 512)
    kept = [asked() for _ in range(3)]
    for _ in range(600):
        written("return caller()")
    assert asked() is kept[0], "somebody refers to it"


def test_a_code_is_as_large_as_its_instructions() -> None:
    """Else the address of one would be that of something else."""
    code = compile("\n".join(f"a{number} = b + {number}" for number in range(2000)), "long.py", "exec")
    assert sys.getsizeof(code) >= len(code.co_code)


def test_programs_that_the_bench_measures_are_not_of_the_library() -> None:
    """Else all their operations had one line, which tells numbers of a loop from others."""
    assert is_own(measure.__file__)
    assert not is_own(programs.__file__)
