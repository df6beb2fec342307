"""A recorder that writes every stage of every plan, kernel and host program into a folder, for a person to read.

    FOLDER/001_plan/groups.txt bundles.txt
    FOLDER/002_mul_sin_add/00_graph.txt … 09_locals.txt 10_source.cl …
    FOLDER/003_smooth/program.txt passes.txt schedule.txt streams.dot streams.svg memory.svg

A folder that cannot be written is an error at once: who asks for a dump wants to see it.
"""

from __future__ import annotations

import itertools
import secrets
import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ocl_ir.host.schedule import Schedule
from ocl_runtime.codegen.compile import Compilation
from ocl_runtime.codegen.driver import Program
from ocl_runtime.errors import InputFileError
from ocl_runtime.observe.stages import NAMES, Stage, plan_stages, program_stages, stages
from ocl_runtime.plan.host.prepare import Outcome

if TYPE_CHECKING:
    from ocl_runtime.plan.planner import Fusion

_LONGEST_NAME = 120
"""Characters of a kernel's or program's name in that of its folder: file systems take 255 bytes, encrypted ones 143."""


class FolderDump:
    """Writes a folder for each plan, kernel and program; what an earlier run left stays, and numbers go on after it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._expression = threading.local()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            numbers = [path.name.partition("_")[0] for path in folder.iterdir()]
        except OSError as error:
            raise self._unwritable(error) from error
        self._numbers = itertools.count(max((int(number) for number in numbers if number.isdecimal()), default=0) + 1)

    def fused(self, fusion: Fusion) -> None:
        """Writes how the expression of a plan became kernels."""
        self._write("plan", {f"{stage.name}.{stage.ending}": stage.text for stage in plan_stages(fusion)})

    def planned(self, expression: str) -> None:
        """Notes the expression that this thread's next kernels are for."""
        self._expression.text = expression

    def compiled(self, compilation: Compilation, program: Program) -> None:
        """Writes the stages of a kernel."""
        expression = getattr(self._expression, "text", "")
        before = [Stage("graph", expression, "txt")] if expression else []
        all_stages = [*before, *stages(compilation, program)]
        files = {f"{NAMES.index(stage.name):02}_{stage.name}.{stage.ending}": stage.text for stage in all_stages}
        self._write(compilation.kernel.name, files)

    def prepared(self, schedule: Schedule, stages: Sequence[tuple[str, Outcome]]) -> None:
        """Writes a host program, what came of each pass, and its pictures; the kernels that this thread compiles next
        are its own."""
        name = schedule.program.name
        files = {f"{stage.name}.{stage.ending}": stage.text for stage in program_stages(schedule, stages)}
        folder = self._write(name, files)
        self._expression.text = f"program {name}, in {folder.name}\n"

    def _write(self, name: str, files: Mapping[str, str]) -> Path:
        name = name[:_LONGEST_NAME]
        unfinished = self.folder / f".{name}.{secrets.token_hex(4)}.part"
        try:
            unfinished.mkdir()
            for file, text in files.items():
                (unfinished / file).write_text(text, encoding="utf-8", errors="replace")
            return self._finish(unfinished, name)
        except OSError as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise self._unwritable(error) from error

    def _finish(self, unfinished: Path, name: str) -> Path:
        """Gives a folder its number: it is there whole or not at all."""
        while True:
            number = next(self._numbers)
            if any(self.folder.glob(f"{number:03}_*")):  # of another runtime or process that writes here
                continue
            into = self.folder / f"{number:03}_{name}"
            try:
                return unfinished.rename(into)
            except OSError:
                if not into.exists():  # else it has come meanwhile
                    raise

    def _unwritable(self, error: OSError) -> InputFileError:
        return InputFileError(
            f"the dump folder cannot be written: {error}",
            place=str(self.folder),
            remedy="name a folder that you may write to and that has room, in OCL_RUNTIME_DUMP or --out",
        )
