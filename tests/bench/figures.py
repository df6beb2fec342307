"""What the benchmarks share: figures beside their targets, and the clock."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "ir")]  # a checkout need not be installed
# What is installed has its bytecode; where Python is told to write none, each process would compile a checkout anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import ocl_runtime as ocl  # noqa: E402


@dataclass
class Figure:
    """Something measured; `target` and whether it was `met`, where this device has one."""

    name: str
    measured: str
    target: str = ""
    met: bool = True


def median_seconds(run: Callable[[], object], repeats: int = 15) -> float:
    """Of some runs after a first one."""
    run()
    return statistics.median(seconds(run) for _ in range(repeats))


def seconds(run: Callable[[], object]) -> float:
    """Of one run."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main(about: str, figures: Callable[[ocl.Runtime, str | None], Iterable[Figure]]) -> int:
    """Measures on the device that the command line names, prints each figure as soon as it is there, and says with
    --check whether a target was missed."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="words of the device")
    parser.add_argument("--check", action="store_true", help="exit 1 where a target is missed")
    options = parser.parse_args()
    runtime = ocl.Runtime(options.device)
    print(runtime.device, flush=True)
    all_met = True
    for figure in figures(runtime, options.device):
        verdict = "" if not figure.target else f"   target {figure.target}: {'met' if figure.met else 'MISSED'}"
        print(f"{figure.name:44} {figure.measured}{verdict}", flush=True)
        all_met &= figure.met
    return int(options.check and not all_met)
