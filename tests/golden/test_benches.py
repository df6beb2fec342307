"""Benches run by hand, or by `make bench`; here only that they are made of what there is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.checkout import ROOT

BENCHES = sorted(path.stem for path in (ROOT / "tests" / "bench").glob("*.py"))


def test_there_are_some() -> None:
    assert {"arrays", "host_path", "host_programs", "loops", "spine", "streams"} <= set(BENCHES)


@pytest.mark.parametrize("bench", BENCHES)
def test_a_bench_is_imported(bench: str) -> None:
    code = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'ir')!r}]; import {bench}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "tests" / "bench", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
