#!/usr/bin/env python3
"""Run the device tests once on every usable OpenCL device. Exit code 1 if any test fails or no device is usable.

Arguments go to pytest: `tools/test_devices.py -n 2 -k kernels`. Simulators are left out: tests/device/test_oclgrind.py
has one of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from ocl_runtime.device import Device
from ocl_runtime.device.choose import survey

ROOT = Path(__file__).resolve().parent.parent
TESTS = ("tests/device", "tests/differential")


@dataclass(frozen=True)
class Outcome:
    """What the tests said of one device."""

    device: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    exit_code: int


def tested(device: Device, arguments: Sequence[str]) -> Outcome:
    """Runs the tests in a process of their own, which may die without harm."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *TESTS, "-q", f"--junit-xml={report}", *arguments],
            cwd=ROOT,
            env={**os.environ, "OCL_RUNTIME_DEVICE": device.key},
            check=False,
        )
        counts = _counts(report)
    return Outcome(str(device), *counts, time.monotonic() - started, done.returncode)


def _counts(report: Path) -> tuple[int, int, int]:
    if not report.exists():  # the process died
        return 0, 0, 0
    suites = list(ElementTree.parse(report).iter("testsuite"))
    tests, failures, errors, skipped = (
        sum(int(suite.get(name, 0)) for suite in suites) for name in ("tests", "failures", "errors", "skipped")
    )
    return tests - failures - errors - skipped, failures + errors, skipped


def table(outcomes: Sequence[Outcome]) -> str:
    """One line for each device."""
    width = max(len(outcome.device) for outcome in outcomes)
    head = f"{'device':{width}}  {'passed':>6}  {'failed':>6}  {'skipped':>7}  {'seconds':>7}"
    lines = [
        f"{outcome.device:{width}}  {outcome.passed:6}  {outcome.failed:6}  {outcome.skipped:7}  {outcome.seconds:7.1f}"
        f"{'' if outcome.exit_code in {0, 1} else f'  pytest ended with {outcome.exit_code}'}"
        for outcome in outcomes
    ]
    return "\n".join([head, *lines])


def main(arguments: Sequence[str]) -> int:
    """Tests every usable device and says how it went."""
    outcomes = []
    for finding in survey():
        if finding.device.quirks.simulator:
            continue
        if finding.fault is not None:
            print(f"passed over: {finding.device}: {finding.fault}", flush=True)
            continue
        print(f"\n{finding.device}", flush=True)
        outcomes.append(tested(finding.device, arguments))
    if not outcomes:
        print("no device is usable: ocl-devices says why")
        return 1
    print(f"\n{table(outcomes)}")
    return int(any(outcome.exit_code for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
