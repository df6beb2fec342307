"""Classic kernels of the language, and products of tiles, under Oclgrind: no races, nothing out of bounds.

This file is also a program (`tests.support.oclgrind`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.device import choose
from ocl_runtime.language import (
    Array2,
    cdiv,
    dot,
    float32,
    global_id,
    group_id,
    load_tile,
    local_array,
    local_id,
    store_tile,
    tile,
)
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


@ocl.kernel(local=(8, 4))
def tiles(a: Array2, b: Array2, c: Array2):
    i, j = group_id(1) * 16, group_id(0) * 24
    acc = tile((16, 24), float32)
    for k in range(0, a.shape[1], 8):
        acc = dot(acc, load_tile(a, (i, k), (16, 8)), load_tile(b, (k, j), (8, 24)))
    store_tile(c, (i, j), acc)


def products_of_tiles() -> None:
    """As a GPU's groups share them: in whole units, with edges, and with the right operand transposed."""
    chosen, rng = choose("oclgrind"), np.random.default_rng(5)
    device = replace(chosen, capabilities=replace(chosen.capabilities, kind="gpu"))
    with ocl.use(ocl.Runtime(device, Settings(cache_folder=None))):
        for m, k, n in ((16, 16, 24), (17, 21, 25)):
            for transposed in (False, True):
                begins(f"tiles {m} x {k} x {n} {transposed}")
                a, b = (rng.integers(-3, 4, shape).astype("f4") for shape in ((m, k), (k, n)))
                right, c = ocl.asarray(b.T.copy()).T if transposed else ocl.asarray(b), ocl.empty((m, n))
                tiles.groups[cdiv(n, 24), cdiv(m, 16)](ocl.asarray(a), right, c)
                np.testing.assert_array_equal(c.numpy(), a @ b)


def main() -> None:
    """Launches everything on the simulator."""
    products_of_tiles()
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


def test_no_other_kernel_has_a_report() -> None:
    said = reports(__file__)
    assert {*(classic.name for classic in CLASSICS), "tiles 17 x 21 x 25 True"} <= said.keys()
    assert {name: text for name, text in said.items() if text and name != RACE} == {}


if __name__ == "__main__":
    main()
