"""The stage behind the compiler: what it opens, what it leaves, and what is said where it cannot."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyopencl as cl
import pytest

from ocl_runtime.codegen import driver
from ocl_runtime.codegen.opened import MARK, NotOpenedError, opened
from ocl_runtime.errors import BuildError
from tests.support.fakes import NVIDIA, device

MARKED = (Path(__file__).parent / "binaries" / "marked.ptx").read_bytes()
TARGET = b".target sm_90, texmode_independent\n"


def test_marked_lines_count_for_the_other_target() -> None:
    got = opened(MARKED)
    assert MARK.encode() not in got
    changed = [(old, new) for old, new in zip(MARKED.splitlines(), got.splitlines(), strict=True) if old != new]
    assert changed == [
        (b".target sm_90, texmode_independent", b".target sm_90a, texmode_independent"),
        *((line, line.replace(b"//@", b"")) for line in MARKED.splitlines() if b"//@" in line),
    ]
    assert len(changed) == 4


@pytest.mark.parametrize(
    ("target", "becomes"),
    [
        (b".target sm_90\n", b".target sm_90a\n"),
        (b".target\tsm_90,debug\n", b".target\tsm_90a,debug\n"),
        (b".target sm_90, texmode_independent, debug\n", b".target sm_90a, texmode_independent, debug\n"),
        (b".target sm_90\r\n", b".target sm_90a\r\n"),
    ],
)
def test_the_target_may_have_options_behind_it(target: bytes, becomes: bytes) -> None:
    assert TARGET in MARKED
    assert becomes in opened(MARKED.replace(TARGET, target))


def test_lines_may_end_as_on_windows() -> None:
    assert opened(MARKED.replace(b"\n", b"\r\n")) == opened(MARKED).replace(b"\n", b"\r\n")


def test_what_is_behind_the_text_stays() -> None:
    assert opened(MARKED + b"\0") == opened(MARKED) + b"\0"


@pytest.mark.parametrize(
    "binary",
    [
        b"",
        MARKED.replace(b"//@", b"// "),
        *(MARKED.replace(TARGET, b".target " + name + b"\n") for name in (b"sm_90a", b"sm_80", b"sm_900", b"sm_100")),
        MARKED.replace(TARGET, b"// .target sm_90\n"),
        b"\x7fELF" + MARKED.replace(TARGET, b""),
        opened(MARKED),
    ],
    ids=["empty", "no mark", "sm_90a", "sm_80", "sm_900", "sm_100", "comment", "no text", "opened"],
)
def test_other_binaries_are_refused(binary: bytes) -> None:
    with pytest.raises(NotOpenedError, match="no PTX for sm_90 with marked instructions"):
        opened(binary)


# ---------------------------------------------------------------------- in a build


@dataclass
class Driver:
    """What a driver that does not exist makes of sources, and which binaries it takes."""

    binary: bytes
    refuses: bool = False
    built: list[bytes] = field(default_factory=list)


class Program:
    """A program of that driver; it stands for PyOpenCL's classes, too."""

    def __init__(self, context: Driver, *made_of: Any) -> None:
        self._context = context
        self._binary = made_of[1][0] if len(made_of) > 1 else None

    def _build(self, options: bytes, devices: list[object]) -> None:
        if self._binary is None:
            return
        if self._context.refuses:
            raise cl.Error("ptxas does not take it")
        self._context.built.append(self._binary)

    def get_info(self, question: object) -> object:
        return [self._binary or self._context.binary] if question == cl.program_info.BINARIES else 1

    def get_build_info(self, device: object, question: object) -> str:
        return "what the compiler said"


@pytest.fixture(autouse=True)
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cl._cl, "_Program", Program)
    monkeypatch.setattr(cl, "Program", lambda program: program)
    monkeypatch.setattr(driver, "can_ask", lambda library: False)


def build(context: Driver, source: str = f'asm("{MARK}wgmma");') -> driver.Program:
    return driver.build(context, device(**NVIDIA), source)  # type: ignore[arg-type]


def test_a_source_with_marks_is_built_in_two_steps() -> None:
    context = Driver(MARKED)
    program = build(context)
    assert context.built == [opened(MARKED)]
    assert program.built_from == "source"
    assert program.binary == opened(MARKED)


def test_a_source_without_marks_is_built_in_one_step() -> None:
    context = Driver(MARKED)
    assert build(context, "kernel").binary == MARKED
    assert context.built == []


@pytest.mark.parametrize(
    ("context", "said"),
    [
        (Driver(b"\x7fELF"), "the binary is no PTX for sm_90 with marked instructions"),
        (Driver(b""), "the binary is no PTX for sm_90 with marked instructions"),
        (Driver(MARKED, refuses=True), "ptxas does not take it"),
    ],
    ids=["other binary", "no binary", "refused"],
)
def test_a_build_says_what_to_do_where_instructions_are_not_opened(context: Driver, said: str) -> None:
    source = f'asm("{MARK}wgmma");'
    with pytest.raises(BuildError) as caught:
        build(context, source)
    assert said in caught.value.fact
    assert "instructions of the source were not built on" in caught.value.fact
    assert "ocl_runtime/codegen/opened.py" in (caught.value.remedy or "")
    assert (caught.value.source, caught.value.log) == (source, "what the compiler said")
    assert caught.value.__cause__ is not None
