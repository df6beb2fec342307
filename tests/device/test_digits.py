"""examples/digits.py: the same training with our arrays and with NumPy ends with the same network."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime


def test_both_learn_the_same(repository: Path, device: Device, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(repository / "examples"))
    monkeypatch.delitem(sys.modules, "digits", raising=False)
    import digits  # noqa: PLC0415  # an example, which is found now

    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        ours = digits.with_arrays(ocl, 24, 3)
    theirs = digits.with_arrays(np, 24, 3)
    assert digits.agrees(ours, theirs)
    assert ours.losses[-1] < ours.losses[0] < 2.4
    assert ours.read > 0.5
    planned = runtime.statistics()["plan"]
    assert planned["hits"] > 5 * planned["misses"]  # a turn of the loop plans nothing
