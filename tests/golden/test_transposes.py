"""Generated OpenCL C of what is turned and of what is read back to front, compared with files that a person can read.

python -m pytest tests/golden --update-golden      writes them anew: look at the diff before you commit it
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.spelling import Dialect
from ocl_runtime.plan.planner import plan
from ocl_runtime.plan.target import Target
from tests.golden.test_sources import golden
from tests.support.interpreted import InterpretedRuntime

FOLDER = Path(__file__).parent / "transposes"
GPU = Target(kind="gpu", compute_units=16, fp16=False)
CPU = Target(kind="cpu", compute_units=2, vector_bytes=32, group_size=64)
CASES: dict[str, tuple[Target, str, Callable[..., Any]]] = {
    "transpose": (GPU, "f4", lambda x, y: xp.reshape(x.T, (-1,))),
    "transpose_of_halves": (GPU, "f2", lambda x, y: xp.reshape(x.T, (-1,))),
    "transpose_of_odd_rows": (GPU, "f4", lambda x, y: xp.reshape(x[1:, 1:].T, (-1,))),
    "transpose_and_add": (GPU, "f4", lambda x, y: x.T + y),
    "transpose_and_add.cpu": (CPU, "f4", lambda x, y: x.T + y),
    "back_to_front": (GPU, "f4", lambda x, y: x[::-1, ::-1] * 2),
    "over_the_ends_of_rows": (GPU, "f4", lambda x, y: x[:, 1:] * 2),
    "halves": (GPU, "f2", lambda x, y: x * x + 1),
}


@pytest.mark.parametrize("name", CASES)
def test_source(name: str, update_golden: bool) -> None:
    target, dtype, make = CASES[name]
    runtime = InterpretedRuntime(target)
    with xp.use(runtime):
        x, y = (xp.asarray(np.zeros(shape, dtype)) for shape in ((512, 256), (256, 512)))
        (launch,) = plan([make(x, y)._node], runtime).launches
    text = compile_kernel(launch.kernel, "hybrid", Dialect(scalar_halves=True)).source.text
    golden(FOLDER / f"{name}.cl", text, update_golden)


def test_no_orphans() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.cl" for name in CASES}
