"""A recorder that writes every stage of every kernel into a folder, for a person to read.

    FOLDER/001_mul_sin_add/0_graph.txt … 7_locals.txt 8_source.cl …

A folder that cannot be written is an error at once: who asks for a dump wants to see it.
"""

from __future__ import annotations

import itertools
import secrets
import shutil
import threading
from pathlib import Path

from ocl_runtime.codegen.compile import Compilation
from ocl_runtime.codegen.driver import Program
from ocl_runtime.errors import InputFileError
from ocl_runtime.observe.stages import NAMES, Stage, stages


class FolderDump:
    """Writes a folder for each kernel; what an earlier run left stays, and numbers go on after it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._expression = threading.local()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            numbers = [path.name.partition("_")[0] for path in folder.iterdir()]
        except OSError as error:
            raise self._unwritable(error) from error
        self._numbers = itertools.count(max((int(number) for number in numbers if number.isdecimal()), default=0) + 1)

    def planned(self, expression: str) -> None:
        """Notes the expression that this thread's next kernels are for."""
        self._expression.text = expression

    def compiled(self, compilation: Compilation, program: Program) -> None:
        """Writes the stages of a kernel."""
        expression = getattr(self._expression, "text", "")
        before = [Stage("graph", expression, "txt")] if expression else []
        unfinished = self.folder / f".{compilation.kernel.name}.{secrets.token_hex(4)}.part"
        try:
            unfinished.mkdir()
            for stage in [*before, *stages(compilation, program)]:
                file = unfinished / f"{NAMES.index(stage.name):02}_{stage.name}.{stage.ending}"
                file.write_text(stage.text, encoding="utf-8")
            self._finish(unfinished, compilation.kernel.name)
        except OSError as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise self._unwritable(error) from error

    def _finish(self, unfinished: Path, name: str) -> None:
        """Gives a kernel's folder its number: it is there whole or not at all."""
        for number in self._numbers:
            into = self.folder / f"{number:03}_{name}"
            try:
                unfinished.rename(into)
            except OSError:
                if not into.exists():  # else another runtime or process that writes here has taken the number
                    raise
            else:
                return

    def _unwritable(self, error: OSError) -> InputFileError:
        return InputFileError(
            f"the dump folder cannot be written: {error}",
            place=str(self.folder),
            remedy="name a folder that you may write to and that has room, in OCL_RUNTIME_DUMP or --out",
        )
