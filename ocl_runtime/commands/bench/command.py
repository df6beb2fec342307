"""ocl-bench: what this library reaches on a device, beside what the device can do and what others reach.

Exit codes: 0 all measured, 1 a result is wrong, a case became slower than in an earlier run, or an error, 2 a wrong
command line, 130 interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import faulthandler
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

from ocl_runtime.commands import output
from ocl_runtime.commands.bench import building, compare, peers, pictures, record, report
from ocl_runtime.commands.bench.case import DTYPES, Case
from ocl_runtime.commands.bench.cases import GROUPS
from ocl_runtime.commands.bench.ceilings import Ceilings
from ocl_runtime.commands.bench.data import Data
from ocl_runtime.commands.bench.measure import Result, Session
from ocl_runtime.commands.bench.opencl import OpenCL
from ocl_runtime.commands.bench.peers.ours import Ours
from ocl_runtime.errors import Error
from ocl_runtime.runtime import Runtime
from ocl_runtime.settings import Settings

_LEAST, _MOST = 2**10, 2**28
_SIZE = re.compile(r"(?P<base>\d{1,9})(\^(?P<power>\d{1,2}))?", re.ASCII)
_ROUNDS = {"cpu": 9, "gpu": 15}
_SECONDS = {"cpu": 1.2, "gpu": 0.6}
_QUICK = 4
"""By which --quick divides sizes."""
_EPILOG = """\
  ocl-bench                                       everything, on the device that ocl-devices says is chosen
  ocl-bench --cases softmax "*-odd" movement      softmax of all widths, what ends in -odd, a group
  ocl-bench matmul                                a group; names may stand alone
  ocl-bench --cases a*b+c --sizes 2^10,2^20,2^28 --dtypes f32,f64
  ocl-bench --json new.json --compare old.json    what became slower
A PATTERN is the name of a case or of a group, as --list has them; else it stands for the cases whose names match it,
where * is any characters and ? any one; else for those whose names begin so.
Each case is checked beside NumPy and then timed by turns with the peers that are there."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        try:
            options.cases = [*options.patterns, *(options.cases or ())] or None
            chosen = _chosen(options.cases)
        except ValueError as error:
            parser.error(str(error))
        if options.list:
            print("\n".join(_listed(chosen)))
            return 0
        return _run(options, chosen)
    except BrokenPipeError:
        output.drop()
        return 0
    except Error as error:
        print(f"ocl-bench: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ocl-bench",
        description="Measure what this library reaches on a device, beside its ceilings and other libraries.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="the same as --cases")
    parser.add_argument("--device", metavar="WORDS", help="words of the device: gpu, cpu, pocl, nvidia, …")
    parser.add_argument(
        "--cases", nargs="+", metavar="PATTERN", help="names of cases or groups, or parts of them: see below"
    )
    parser.add_argument("--sizes", type=_sizes, help="elements of the inputs: 2^20,2^24 (2^10 to 2^28)")
    parser.add_argument("--dtypes", type=_dtypes, help=f"of {', '.join(DTYPES)}; a case takes those that it has")
    parser.add_argument("--rounds", type=_rounds, metavar="N", help="most rounds of a case")
    parser.add_argument("--quick", action="store_true", help="a quarter of the sizes and the time")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything, with all samples")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the shares of the ceilings")
    parser.add_argument("--roofline", type=Path, metavar="FILE.svg", help="draw the cases under the roofline")
    parser.add_argument("--compare", type=Path, metavar="OLD.json", help="exit 1 where a case became slower")
    parser.add_argument(
        "--peers", type=_peers, help=f"of {', '.join(peers.NAMES)}; none; or --peers=-numpy for all others"
    )
    parser.add_argument("--list", action="store_true", help="list the cases, or those of the names that are given")
    return parser


def _sizes(text: str) -> list[int]:
    found = []
    for word in map(str.strip, text.split(",")):
        number = _SIZE.fullmatch(word)
        if number is None:
            raise argparse.ArgumentTypeError(f"expected numbers such as 2^20, not {word!r}")
        found.append(int(number["base"]) ** int(number["power"] or 1))
        if not _LEAST <= found[-1] <= _MOST:
            raise argparse.ArgumentTypeError(f"{word} is not between 2^10 and 2^28")
    return found


def _dtypes(text: str) -> list[str]:
    found = [word.strip() for word in text.split(",")]
    if unknown := [name for name in found if name not in DTYPES]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(DTYPES)}")
    return found


def _rounds(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("expected a whole number of rounds, one or more")
    return int(text)


def _peers(text: str) -> list[str]:
    found = [word.strip() for word in text.split(",")]
    if "none" in found:
        if found != ["none"]:
            raise argparse.ArgumentTypeError("'none' stands alone: --peers none")
        return []
    if unknown := [name for name in found if name.removeprefix("-") not in peers.NAMES]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(peers.NAMES)}")
    if all(name.startswith("-") for name in found):
        return [name for name in peers.NAMES if f"-{name}" not in found]
    return [name for name in found if not name.startswith("-")]


def _named(names: Mapping[str, str], pattern: str) -> list[str]:
    """The names, of those with their groups, that a pattern stands for: one that is equal, or a group, wins over those
    that match, and these over those that begin so. Raises `ValueError` for none."""
    found = (
        [name for name, group in names.items() if pattern == name]
        or [name for name, group in names.items() if pattern == group]
        or [name for name in names if fnmatch(name, pattern)]
        or [name for name in names if name.startswith(pattern)]
    )
    if not found:
        raise ValueError(f"no case is called {pattern}: --list shows their names")
    return found


def _chosen(patterns: Sequence[str] | None) -> list[Case | None]:
    """The cases of these names, in the order of the names; None for the one that measures building. Raises `ValueError`
    for a name that no case has."""
    groups = {case.key: group for group, cases in GROUPS.items() for case in cases} | {building.KEY: "programs"}
    cases = {case.key: case for cases in GROUPS.values() for case in cases}
    names = dict.fromkeys(name for pattern in patterns or ["*"] for name in _named(groups, pattern))
    return [cases.get(name) for name in names]


def _listed(chosen: Sequence[Case | None]) -> Iterator[str]:
    """A line for each case, in the order of the groups."""
    cells = [["name", "group", "dtypes", "on GPUs, CPUs", "what"]]
    for group, cases in GROUPS.items():
        for case in cases:
            if case in chosen:
                cells.append([case.key, group, " ".join(case.dtypes), f"2^{case.gpu}, 2^{case.cpu}", case.title])
    if None in chosen:
        cells.append([building.KEY, "programs", "f32", "", building.TITLE])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        yield "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()


def _plan(options: argparse.Namespace, chosen: Sequence[Case | None], kind: str) -> list[tuple[Case | None, int, str]]:
    """Cases with sizes and dtypes."""
    found: list[tuple[Case | None, int, str]] = []
    for case in chosen:
        if case is None:
            found.append((None, 0, "f32"))
            continue
        default = case.default_size(kind) // (_QUICK if options.quick else 1)
        for dtype in case.dtypes[:1] if options.dtypes is None else options.dtypes:
            if dtype in case.dtypes:
                found += [(case, size, dtype) for size in options.sizes or [default]]
    return found


def _run(options: argparse.Namespace, chosen: Sequence[Case | None]) -> int:
    with contextlib.suppress(OSError, AttributeError):  # standard error may be no file
        faulthandler.enable()  # a driver that crashes says at least where
    for path in (options.json, options.plot, options.roofline):
        _check_writable(path)
    settings = Settings.from_environment()
    earlier = record.read(options.compare) if options.compare else None
    first = Runtime(options.device, settings)
    kind = "cpu" if first.device.capabilities.kind == "cpu" else "gpu"
    # What a device without a clock of its own for commands does is timed from outside; a profile would only slow it.
    runtime = first if kind == "cpu" else Runtime(first.device, dataclasses.replace(settings, profile=True))
    opencl = OpenCL(runtime)
    made, left_out = peers.make(peers.NAMES if options.peers is None else options.peers, opencl)
    ceilings = Ceilings(opencl, "wall" if kind == "cpu" else "device")
    rounds = options.rounds or (5 if options.quick else _ROUNDS[kind])
    seconds = _SECONDS[kind] / (_QUICK if options.quick else 1)
    ours = Ours(opencl)
    session = Session(
        ours,
        made,
        ceilings,
        Data(),
        rounds,
        seconds,
        explicit="inductor" in (options.peers or ()) and options.cases is not None,
    )
    plan = _plan(options, chosen, kind)
    if not plan:
        raise Error("none of the cases has one of these dtypes", remedy="--list says which dtypes each case has")
    print(f"{len(plan)} cases on {runtime.device}", file=sys.stderr, flush=True)
    results: list[Result] = []
    interrupted = False
    try:
        with report.progress(len(plan)) as (before, after):
            for case, size, dtype in plan:
                before(case.title if case else building.TITLE)
                results.append(session.measure(case, size, dtype) if case else building.measure(runtime))
                # Now, not at the end: where a driver crashes, what was measured is there.
                _write(options.json, record.as_json(record.run(runtime.device, made, left_out, results), ceilings))
                after(report.outcome(results[-1]))
    except KeyboardInterrupt:
        interrupted = True
    found = record.run(runtime.device, made, left_out, results)
    report.show(found)
    slower = False
    if earlier is not None:
        changes = compare.changes(found, earlier)
        print("\n".join(["", *compare.lines(changes, found, earlier)]))
        slower = any(change.verdict == "slower" for change in changes)
    sys.stdout.flush()
    _write(options.plot, pictures.bars(found))
    _write(options.roofline, pictures.roofline(found, ceilings.rates))
    return 130 if interrupted else int(slower or any(result.wrong for result in results))


def _check_writable(path: Path | None) -> None:
    """Raises `Error` for a file that cannot be written; whatever there is stays as it is."""
    if path is None:
        return
    with _writing(path):
        is_new = not path.exists()
        path.open("a").close()
        if is_new:
            path.unlink()


def _write(path: Path | None, text: str) -> None:
    """Raises `Error` where that is not possible."""
    if path is not None:
        with _writing(path):
            path.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Error(f"{path} cannot be written: {error}", remedy="name a file in a folder that is there") from error
