"""Classic kernels of the language under Oclgrind: no race, nothing out of bounds, no divergent barrier.

This file is also a program (`tests.support.oclgrind`).
"""

from __future__ import annotations

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.language import float32, global_id, local_array, local_id
from ocl_runtime.settings import Settings
from tests.support.classic_kernels import CLASSICS
from tests.support.classic_kernels.classic import check, solved
from tests.support.oclgrind import UNDER_OCLGRIND, begins, ends, reports

RACE = "a race that is there"


@ocl.kernel(local=8)
def without_barrier(x, y):
    part = local_array(8, float32)
    part[local_id(0)] = x[global_id(0)]
    y[global_id(0)] = part[(local_id(0) * 3) % 8]  # an index that the translator does not follow


def main() -> None:
    """Launches everything on the simulator."""
    with ocl.use(ocl.Runtime("oclgrind", Settings(cache_folder=None))):
        begins(RACE)
        y = ocl.zeros(8, dtype=np.float32)
        without_barrier[8](ocl.arange(8, dtype=np.float32), y)
        y.numpy()
        for classic in CLASSICS:
            begins(classic.name)
            problem = classic.problem(*classic.small)
            check(problem, solved(problem))
    ends()


pytestmark = UNDER_OCLGRIND


def test_a_race_is_reported() -> None:
    assert "data race" in reports(__file__)[RACE].lower()


def test_no_classic_kernel_has_a_report() -> None:
    said = reports(__file__)
    assert {classic.name for classic in CLASSICS} <= said.keys()
    assert {name: text for name, text in said.items() if text and name != RACE} == {}


if __name__ == "__main__":
    main()
