"""What a work-group makes of its values on the device: the bits of the interpreter, in groups of any size."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import CollectiveOp, Kernel
from ocl_ir.kernel.locals import STRATEGIES
from ocl_ir.types import BOOL, F32, F64, I32, U64, DType
from ocl_runtime.execute.engine import Engine
from tests.support.depth import NIGHTLY

GROUPS = 3


def of_every_kind(dtype: DType, group_size: tuple[int, int, int]) -> Kernel:
    """Each collective twice: with what a work-item has, and with what the collective before gave it."""
    k = KernelBuilder(f"joined_{dtype}", group_size=group_size)
    x, y = k.pointer("x", dtype, restrict=True), k.pointer("y", dtype, restrict=True)
    items = int(np.prod(group_size))
    item = k.item("local_id", 0) + k.item("local_id", 1) * group_size[0]
    at = k.let(k.item("group_id", 1) * items + item, "at")
    ops = [op for op in get_args(CollectiveOp) if (op in {"any", "all"}) == (dtype == BOOL) or op == "broadcast"]
    with k.for_(0, 2) as turn:
        value = k.variable(k.load(x, at), hint="value")
        for number, op in enumerate(ops):
            lane = k.convert(turn, I32) + (items - 2) if op == "broadcast" else None
            joined = k.collective(op, value, lane)
            k.store(y, (turn * len(ops) + number) * (items * GROUPS) + at, joined)
            with k.if_(k.collective("any", joined == k.load(x, at))):
                k.assign(value, joined)
    return k.build()


def values_of(dtype: DType, count: int) -> np.ndarray:
    rng = np.random.default_rng(count)
    if dtype == BOOL:
        return rng.random(count) < 0.5
    if dtype.is_float:
        return np.where(rng.random(count) < 0.02, np.nan, rng.normal(0, 9, count)).astype(dtype.numpy)
    limits = np.iinfo(dtype.numpy)
    return rng.integers(limits.min, limits.max, count, dtype.numpy, endpoint=True)


DTYPES = [BOOL, I32, U64, F32, F64]
GROUPS_OF_ALL = [(dtype, size) for dtype in DTYPES for size in [(7, 1, 1), (8, 4, 1), (25, 3, 1)]]
FEW = [*((dtype, (7, 1, 1)) for dtype in DTYPES), (BOOL, (25, 3, 1)), (F32, (8, 4, 1))]
"""In large groups PoCL takes ten seconds to build all collectives."""


@pytest.mark.sample(3)
@pytest.mark.parametrize(("dtype", "group_size"), GROUPS_OF_ALL if NIGHTLY else FEW, ids=str)
def test_the_device_joins_as_the_interpreter(dtype: DType, group_size: tuple[int, int, int], engine: Engine) -> None:
    if not engine.device.capabilities.computes(dtype.name):
        pytest.skip(f"the device does not compute with {dtype}")
    kernel = of_every_kind(dtype, group_size)
    global_size = (group_size[0], group_size[1] * GROUPS, 1)
    count = int(np.prod(global_size))
    x = values_of(dtype, count)
    wanted = np.zeros(2 * len(get_args(CollectiveOp)) * count, dtype.numpy)
    run(kernel, {"x": x, "y": wanted}, global_size, group_size)
    for strategy in STRATEGIES:
        y = engine.upload(np.zeros_like(wanted))
        executable = engine.executable(kernel, strategy)
        engine.submit(executable.prepare({"x": (engine.upload(x), 0), "y": (y, 0)}, global_size, group_size))
        np.testing.assert_array_equal(engine.download(y, wanted.dtype, wanted.size).result(), wanted)
