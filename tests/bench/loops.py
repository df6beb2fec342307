#!/usr/bin/env python3
"""Twenty programs of NumPy, most of them with a Python loop, as they stand: in NumPy, here, and in CuPy where it is.

    python tests/bench/loops.py [--device WORDS] [--check] [--only NAME]

Each program takes the module that computes. Of `ocl_runtime.numpy` the first run, the second one and the best of some
warm ones are measured; each ends with a wait for its results, and all begin with arrays on the device. A program's
first run finds what earlier programs have made, and binaries that an earlier process has stored, unless
OCL_RUNTIME_CACHE=off: `plans/kernels/built` says how many plans and kernels were not there yet, and how many sources
the driver had to compile. With --check the exit code is 1 where a program raises, gives other values than NumPy, or
misses a target; a program to which none applies is `right`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from dataclasses import dataclass
from typing import Any

import numpy
from figures import Figure, seconds
from numpy_programs import PROGRAMS, Program, Results

import ocl_runtime as ocl
from tests.support.arrays import counting

LIMIT = 20.0
"""Seconds of a program's runs here; repetitions that would begin after them are left out."""
WARM = 5
MILLI = 1e3
WITH_LOOP, WITHOUT_LOOP, FIRST = 1.0, 1.2, 3.0
"""Targets: warm time against CuPy's, of programs with and without a Python loop; the first run against the second."""


def several(result: Any) -> Results:
    return result if isinstance(result, tuple) else (result,)


def difference(found: Results, expected: Results, program: Program) -> str:
    """Of shapes, dtypes and values, or nothing; small elements may be off by as much as the largest one's tolerance."""
    for one, other in zip(found, expected, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"{one.dtype} of shape {one.shape}, not {other.dtype} of {other.shape}"
        room = program.rtol * numpy.max(numpy.abs(other), initial=0)
        far = numpy.count_nonzero(~numpy.isclose(one, other, rtol=program.rtol, atol=room))
        if far > program.strays * one.size:
            return f"{far} of {one.size} elements differ"
    return ""


@dataclass
class Row:
    """What a program's runs gave, in seconds; `trouble` says what is wrong with them."""

    program: Program
    reference: float
    runs: list[float]
    made: str = ""
    cupy: float | None = None
    trouble: str = ""
    note: str = ""

    @property
    def warm(self) -> float | None:
        return min(self.runs[2:], default=None)

    def figures(self) -> list[Figure]:
        """What --check looks at."""
        found = [Figure("right", self.trouble, "yes", not self.trouble)]
        if self.runs and self.cupy is not None:
            most = WITH_LOOP if self.program.loop else WITHOUT_LOOP
            ratio = (self.warm or min(self.runs)) / self.cupy
            found.append(Figure("/ CuPy", f"{ratio:.2f}", f"{most:g}", ratio <= most))
        if self.runs and not self.trouble:
            ratio = self.runs[0] / self.runs[1] if len(self.runs) > 1 else float("inf")
            found.append(Figure("first / second", f"{ratio:.1f}", f"{FIRST:g}", ratio <= FIRST))
        return found

    def cells(self) -> list[str]:
        def time(value: float | None) -> str:
            return "-" if value is None else f"{value * MILLI:.1f}"

        first, second = [*self.runs[:2], None, None][:2]
        against = f"{self.warm / self.cupy:.2f}" if self.warm is not None and self.cupy is not None else "-"
        again = f"{first / second:.1f}" if first is not None and second is not None else "-"
        missed = [f"{figure.name} MISSED" for figure in self.figures()[1:] if not figure.met]
        fine = "met" if len(self.figures()) > 1 else "right"
        verdict = "; ".join(text for text in (self.trouble, *missed, self.note) if text) or fine
        times = [time(value) for value in (self.reference, first, second, self.warm)]
        return [self.program.name, *times, self.made or "-", time(self.cupy), against, again, verdict]


HEAD = ["program", "NumPy ms", "first", "second", "warm ms", "plans/kernels/built", "CuPy ms"]
HEAD += ["/ CuPy", "first/second", ""]
WIDTHS = [20, 9, 9, 9, 9, 19, 8, 7, 12, 0]


def line(cells: list[str]) -> str:
    first, *numbers, verdict = cells
    middle = " ".join(f"{cell:>{width}}" for cell, width in zip(numbers, WIDTHS[1:], strict=False))
    return f"{first:{WIDTHS[0]}} {middle}  {verdict}".rstrip()


def first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"


def on_device(module: Any, inputs: Results) -> list[Any]:
    return [module.asarray(one) if isinstance(one, numpy.ndarray) else one for one in inputs]


def here(row: Row, runtime: ocl.Runtime, inputs: Results, expected: Results) -> None:
    """Runs a program over this library's arrays; the first values and the last are compared."""
    module = importlib.import_module("ocl_runtime.numpy")
    given = on_device(module, inputs)
    runtime.finish()
    results: Results = ()

    def once() -> None:
        nonlocal results
        results = several(row.program.run(module, *given))
        ocl.compute(*results)
        runtime.finish()

    def check(which: str) -> None:
        found = difference(tuple(one.numpy() for one in results), expected, row.program)
        if found and not row.trouble:
            row.trouble = f"wrong in the {which} run: {found}"

    try:
        with counting(runtime) as counted:
            row.runs.append(seconds(once))
        row.made = "/".join(str(counted[of]) for of in (("plan", "misses"), ("kernel", "misses"), ("program", "built")))
        check("first")
        while len(row.runs) < 2 + WARM and sum(row.runs) < LIMIT:
            row.runs.append(seconds(once))
        check("last")
        if len(row.runs) < 2 + WARM:
            row.note = f"cut short after {LIMIT:g} s"
    except Exception as error:  # a program that fails must not end the others
        row.trouble = first_line(error)


def in_cupy(row: Row, cupy: Any, inputs: Results, expected: Results) -> None:
    device = cupy.cuda.Device()
    given = on_device(cupy, inputs)
    results: Results = ()

    def once() -> None:
        nonlocal results
        results = several(row.program.run(cupy, *given))
        device.synchronize()

    try:
        once(), once()
        row.cupy = min(seconds(once) for _ in range(WARM))
        found = difference(tuple(cupy.asnumpy(one) for one in results), expected, row.program)
        if found:
            row.note = f"CuPy: {found}"
    except Exception as error:
        row.note = f"CuPy: {first_line(error)}"


def measured(program: Program, runtime: ocl.Runtime, cupy: Any) -> Row:
    inputs = program.inputs(numpy.random.default_rng(0), program.size)
    expected = tuple(numpy.asarray(one) for one in several(program.run(numpy, *inputs)))
    reference = min(seconds(lambda: program.run(numpy, *inputs)) for _ in range(3))
    row = Row(program, reference, [])
    with ocl.use(runtime):
        here(row, runtime, inputs, expected)
    if cupy is not None:
        in_cupy(row, cupy, inputs, expected)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="words of the device")
    parser.add_argument("--check", action="store_true", help="exit 1 where a target is missed")
    parser.add_argument("--only", choices=[program.name for program in PROGRAMS], metavar="NAME", help="one program")
    options = parser.parse_args()
    try:
        cupy = importlib.import_module("cupy")
    except ImportError:
        cupy = None
    runtime = ocl.Runtime(options.device)
    print(runtime.device)
    print(line(HEAD))
    met = True
    for program in PROGRAMS:
        if options.only in {None, program.name}:
            row = measured(program, runtime, cupy)
            print(line(row.cells()), flush=True)
            met &= all(figure.met for figure in row.figures())
    return int(options.check and not met)


if __name__ == "__main__":
    sys.exit(main())
