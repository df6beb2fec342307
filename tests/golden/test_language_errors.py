"""What wrong kernels in Python are told: each error has a fact, a place with carets where it has a line, and a remedy.

A file of the folder is a wrong program, and below a line of dashes what is raised for it. The program sees the kernel
language and the arrays of `arrays`.

python -m pytest tests/golden/test_language_errors.py --update-golden      writes the errors anew: read the diff
"""

from __future__ import annotations

import functools
import linecache
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime import language
from ocl_runtime.errors import Error

FOLDER = Path(__file__).parent / "language_errors"
PROGRAMS = sorted(FOLDER.glob("*.txt"))
LINE = "-" * 40 + "\n"


def arrays() -> dict[str, Any]:
    """What the programs launch kernels over."""
    return {
        "x": ocl.asarray(np.arange(100, dtype=np.float32)),
        "y": ocl.asarray(np.zeros(100, np.float32)),
        "k": ocl.asarray(np.arange(100, dtype=np.int32)),
        "u": ocl.asarray(np.arange(100, dtype=np.uint32)),
        "b": ocl.asarray(np.arange(100, dtype=np.uint8)),
        "h": ocl.asarray(np.arange(100, dtype=np.float16)),
        "d": ocl.asarray(np.arange(100, dtype=np.float64)),
        "mask": ocl.asarray(np.zeros(100, bool)),
        "z": ocl.asarray(np.zeros((10, 10), np.float32)),
        "TABLE": np.arange(4.0),
        "WEIGHTS": [1, 2, 3],
    }


def error_of(name: str, program: str) -> Error:
    """What a wrong program raises."""
    file = f"{name}.py"
    linecache.cache[file] = len(program), None, program.splitlines(keepends=True), file
    module = sys.modules["wrong"] = ModuleType("wrong")  # where dataclasses look for what annotations name
    vars(module).update(vars(language), ocl=ocl, np=np, math=math, functools=functools, **arrays())
    module.__name__ = "wrong"
    with pytest.raises(Error) as caught:
        exec(compile(program, file, "exec"), vars(module))
    return caught.value


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_error(path: Path, update_golden: bool) -> None:
    program, _, wanted = path.read_text().partition(LINE)
    error = error_of(path.stem, program)
    text = f"{type(error).__name__}: {error}\n"
    if update_golden:
        path.write_text(program + LINE + text)
    else:
        assert text == wanted, "if the change is wanted, run with --update-golden"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_error_has_a_place_in_the_program_and_a_remedy(path: Path) -> None:
    error = error_of(path.stem, path.read_text().partition(LINE)[0])
    assert f"{path.stem}.py:" in error.place
    assert error.remedy
    assert "\n" not in error.fact
    assert not error.fact.endswith(".")


def test_enough_programs() -> None:
    assert len(PROGRAMS) >= 80
