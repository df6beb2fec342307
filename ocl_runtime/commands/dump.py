"""ocl-dump: every step from an expression, or from a program that uses the library, to what runs on the device.

Exit codes: 0 all shown, 1 an error with its message on standard error, 2 a wrong command line.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import runpy
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ocl_ir.graph.printer import text
from ocl_ir.kernel.locals import STRATEGIES
from ocl_ir.types import DTYPES
from ocl_runtime.commands import output
from ocl_runtime.commands.expression import Planner, parse
from ocl_runtime.commands.kernel import dump_kernel, split
from ocl_runtime.errors import Error, InputFileError
from ocl_runtime.observe.dump import FolderDump
from ocl_runtime.observe.stages import NAMES, PLAN_NAMES, PROGRAM_NAMES
from ocl_runtime.plan.cache.evaluation import Evaluation
from ocl_runtime.plan.cache.template import Template
from ocl_runtime.plan.cache.unplanned import Unplanned
from ocl_runtime.plan.donation import DonationIndices
from ocl_runtime.plan.host.prepare import described
from ocl_runtime.plan.planner import Fusion
from ocl_runtime.plan.structure import Structure
from ocl_runtime.runtime import Runtime
from ocl_runtime.settings import Settings

_STAGES = (NAMES[0], *PLAN_NAMES, *NAMES[1:], *PROGRAM_NAMES)
_UNNUMBERED = (*PLAN_NAMES, *PROGRAM_NAMES)
_PICTURES = {".svg", ".dot"}
_EPILOG = """\
  ocl-dump "a*b + sin(c)" "a:f32[n]" "b:f32[n]" "c:f32[n]"
  ocl-dump "sum(x*x, axis=1)" "x:f32[h,w]" --stage source --device gpu
  ocl-dump program.py --out kernels -- its own arguments
  ocl-dump program.py:saxpy a:float "x:f32[n]" "y:f32[n]"
Host programs (prepared or captured ones, evaluations of several kernels) are shown too; --out has their pictures:
streams.svg, memory.svg.
A running program writes the same with OCL_RUNTIME_DUMP=folder in its environment."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command."""
    options, rest = _parser().parse_known_args(arguments)
    rest = [arg for arg in rest if arg != "--"]
    if rest and not _is_program(options.what):
        _parser().error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        with _folder(options.out) as folder:
            earlier = _dumped(folder)
            status, message = 0, ""
            if (kernel := split(options.what)) is not None:
                _kernel(*kernel, options, folder)
            elif _is_program(options.what):
                status, message = _program(options, rest, folder)
            else:
                _expression(options, folder)
            _show(_dumped(folder) - earlier, options.stage or (), options.out)
        sys.stdout.flush()
        if message:
            print(message, file=sys.stderr)
        return status
    except Error as error:
        print(f"ocl-dump: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        output.drop()
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ocl-dump",
        description="Show every step from an array expression, or from a program, to what runs on the device.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", help="an expression, a Python file (ending in .py) to run, or a kernel: file.py:name")
    parser.add_argument("declarations", nargs="*", metavar="NAME:DTYPE[SIZE,…]", help="the names in the expression")
    parser.add_argument("--stage", action="append", choices=_STAGES, help="only this stage (may be given again)")
    parser.add_argument("--strategy", choices=list(STRATEGIES), help="how locals become declarations")
    parser.add_argument("--dimensions", type=int, choices=(1, 2, 3), default=1, help="of the index space of a kernel")
    parser.add_argument("--device", help="words of the device: gpu, cpu, pocl, nvidia, …")
    parser.add_argument("--out", type=Path, help="write the stages into this folder instead of showing them")
    return parser


def _is_program(what: str) -> bool:
    return what.endswith(".py")


@contextlib.contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="ocl-dump-") as folder:
        yield Path(folder)


def _settings(options: argparse.Namespace, folder: Path) -> Settings:
    settings = Settings.from_environment()
    strategy = options.strategy or settings.locals_strategy
    device = options.device or settings.device
    # Without a cache the kernels are compiled now, and the compiler's log is there to be seen.
    return dataclasses.replace(settings, locals_strategy=strategy, device=device, dump_folder=folder, cache_folder=None)


def _expression(options: argparse.Namespace, folder: Path) -> None:
    settings = _settings(options, folder)
    recorder = FolderDump(folder)
    runtime = Runtime(settings=settings, recorder=recorder)
    planner = Planner(runtime.executor.target, DTYPES[settings.default_real])
    parsed = parse(options.what, options.declarations, planner)
    fusions: list[Fusion] = []
    structure = Structure([parsed.node])
    unplanned = Unplanned(structure, DonationIndices((), ()), fusions.append, parsed.names)
    evaluation = Evaluation(template := Template(unplanned, planner), template.first(), structure, planner.allocate)
    foreign = [stage for stage in options.stage or () if stage in PROGRAM_NAMES]
    if foreign and len(template.kernels) < 2:
        raise Error(
            f"an expression of {len(template.kernels) or 'no'} kernel has no stage {foreign[0]!r}: host programs have",
            place=options.what,
            remedy=f"name one of {', '.join(_STAGES[: -len(PROGRAM_NAMES)])}, or dump a program",
        )
    for fusion in fusions:
        recorder.fused(fusion)
    recorder.planned(text(parsed.node, parsed.names))
    runtime.executor.engine.executables(template.kernels)
    if len(template.kernels) > 1:
        schedule, lines = evaluation.sized.schedule, evaluation.lines()
        recorder.prepared(described(schedule, lines), template.passes(evaluation.sized, lines))
    if not template.kernels:
        if not options.stage or "graph" in options.stage:
            print(text(parsed.node, parsed.names))
        why = "only looks at memory that is there" if parsed.node.size else "has no elements"
        print(f"nothing to compute: the expression {why}")


def _kernel(path: Path, name: str, options: argparse.Namespace, folder: Path) -> None:
    runtime = Runtime(settings=_settings(options, folder), recorder=FolderDump(folder))
    dump_kernel(path, name, options.declarations, runtime.executor, options.dimensions)


def _program(options: argparse.Namespace, rest: Sequence[str], folder: Path) -> tuple[int, str]:
    """Runs a program: its exit code, and what Python would say at its end."""
    path = Path(options.what)
    if not path.is_file():
        raise InputFileError(f"there is no file {path}", place=str(path.absolute()), remedy="name a Python file")
    changes = {
        "OCL_RUNTIME_DUMP": str(folder.absolute()),
        "OCL_RUNTIME_CACHE": "off",
        "OCL_RUNTIME_LOCALS": options.strategy,
        "OCL_RUNTIME_DEVICE": options.device,
    }
    os.environ.update({name: value for name, value in changes.items() if value})
    sys.argv = [str(path), *options.declarations, *rest]
    sys.path.insert(0, str(path.absolute().parent))
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as leave:
        if leave.code is None or isinstance(leave.code, int):
            return leave.code or 0, ""
        return 1, str(leave.code)
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001
        return 1, _traceback(error, str(path))
    return 0, ""


def _traceback(error: Exception, program: str) -> str:
    """What Python says of an error, from the program's own frame on."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename != program:
        frame = frame.tb_next
    return "".join(traceback.format_exception(type(error), error, frame)).rstrip()


def _dumped(folder: Path) -> set[Path]:
    """The folders of plans, kernels and programs, which are called NUMBER_NAME."""
    return {path for path in folder.glob("*_*") if path.name.partition("_")[0].isdecimal() and path.is_dir()}


def _show(folders: Iterable[Path], named: Sequence[str], out: Path | None) -> None:
    """Prints the stages that were named, or all but pictures; in a folder to keep, drops those that are not wanted.

    Of a picture that was named, prints its text if a person can read that, else how to have it.
    """
    wanted = named or _STAGES
    folders = sorted(folders, key=lambda path: int(path.name.partition("_")[0]))
    programs = plans = 0
    for folder in folders:
        name, files = folder.name.partition("_")[2], sorted(folder.iterdir(), key=_stage_order)
        programs += any(file.stem in PROGRAM_NAMES for file in files)
        plans += any(file.stem in PLAN_NAMES for file in files)
        for file in files:
            stage = file.stem if file.stem in _UNNUMBERED else file.stem.partition("_")[2]
            if stage not in wanted:
                if out is not None:
                    file.unlink()
            elif out is None and (named or file.suffix not in _PICTURES):
                picture = f"a picture: --out FOLDER writes {file.name}"
                content = picture if file.suffix == ".svg" else file.read_text(encoding="utf-8")
                _print(f"── {name}: {stage} ", content, file.suffix)
        if not any(folder.iterdir()):
            folder.rmdir()
    if out is not None:
        and_programs = f" and {programs} programs" if programs else ""
        print(f"{len(folders) - programs - plans} kernels{and_programs} in {out}")


def _stage_order(file: Path) -> tuple[int, str]:
    """In the order of the stages, which files of kernels have in their names."""
    return _UNNUMBERED.index(file.stem) if file.stem in _UNNUMBERED else 0, file.name


def _print(title: str, content: str, ending: str) -> None:
    """The stage with a rule above it; in colours only on a terminal, where rich is installed."""
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.syntax import Syntax
        except ModuleNotFoundError:
            pass
        else:
            console = Console()
            console.rule(title.strip("─ "), align="left")
            console.print(Syntax(content, "c" if ending == ".cl" else "text", background_color="default"))
            return
    print(title.ljust(100, "─"))
    print(content)
