"""What one warm evaluation goes through: few files, and hardly a call from a lower layer to a higher one."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.checkout import ROOT

MOST_FILES = 15
MOST_CLIMBS = 3
"""For memory, for what is not built yet, and to run."""


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


def layers() -> dict[str, int]:
    """The rank of each package, the highest last, as import-linter holds them; the languages are below all."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (ranked,) = (one["layers"] for one in contracts if one["name"] == "Each layer uses only those below it")
    ranks = {name: rank for rank, names in enumerate(reversed(ranked), 1) for name in names.split(" | ")}
    return {"ocl_ir": 0, **ranks}


def test_a_warm_evaluation_goes_straight(runtime: Runtime) -> None:
    ranks = layers()
    roots = {"ocl_runtime": Path(ocl.__file__).parent, "ocl_ir": Path(sys.modules["ocl_ir"].__file__ or "").parent}

    def rank(file: str) -> int | None:
        for package, folder in roots.items():
            if Path(file).is_relative_to(folder):
                name = ".".join([package, *Path(file).relative_to(folder).with_suffix("").parts])
                return next((ranks[known] for known in ranks if name == known or name.startswith(f"{known}.")), None)
        return None

    a, b, c = (ocl.asarray(np.ones(1000, "f4")) for _ in range(3))

    def evaluate() -> None:
        (a * b + ocl.sin(c)).compute()

    for _ in range(50):  # until its launch has a kernel object of its own
        evaluate()
    files: set[str] = set()
    climbs: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_back is not None:
            file, caller = frame.f_code.co_filename, frame.f_back.f_code.co_filename
            here, there = rank(file), rank(caller)
            if here is not None:
                files.add(file)
                if there is not None and here > there:
                    climbs.append(f"{caller} calls {frame.f_code.co_name} of {file}")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        evaluate()
    finally:
        sys.setprofile(before)
    assert 10 < len(files) <= MOST_FILES, sorted(files)
    assert len(climbs) <= MOST_CLIMBS, climbs
