"""What the kernels of sorts need of a device."""

from __future__ import annotations

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.kernel.grammar import Array, Kernel, walk
from ocl_runtime.plan.planner import plan
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime


def local_bytes(kernel: Kernel) -> int:
    arrays = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Array) and stmt.pointer.type.space == "local"]
    return sum(stmt.length * stmt.pointer.type.dtype.size for stmt in arrays)


@pytest.mark.parametrize("function", [xp.sort, xp.argsort])
@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "i8"])
@pytest.mark.parametrize("shape", [(2**20,), (500, 100), (8, 1000), (3, 2048)])
def test_sorts_take_the_local_memory_that_every_gpu_has(function: object, dtype: str, shape: tuple[int, ...]) -> None:
    runtime = InterpretedRuntime(Target(kind="gpu", compute_units=132, group_size=256, vector_bytes=16))
    with xp.use(runtime):
        node = function(xp.asarray(np.zeros(shape, dtype)))._node  # type: ignore[operator]
    used = [local_bytes(launch.kernel) for launch in plan([node], runtime).launches]
    assert 0 < max(used) <= 2**15
