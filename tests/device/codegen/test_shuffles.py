"""What sub-groups exchange on the device, in registers and through local memory: the bits of the interpreter."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.builder import KernelBuilder, Ref
from ocl_ir.kernel.collectives import JOINS, SCANS, tree
from ocl_ir.kernel.grammar import Barrier, Kernel, Shuffle, walk
from ocl_ir.types import BOOL, F16, F32, F64, I8, I32, I64, U16, U64, DType
from ocl_runtime.errors import ShapeError
from ocl_runtime.execute.engine import Engine
from tests.support.roads import ROADS, device_on

DTYPES = [BOOL, I8, U16, I32, I64, U64, F16, F32, F64]
GROUPS = 3
EXCHANGES = [(4, (12, 1, 1)), (8, (8, 4, 1)), (16, (48, 1, 1)), (16, (8, 4, 1)), (32, (64, 1, 1)), (32, (16, 4, 1))]
JOINED = [(16, (16, 1, 1)), (32, (64, 1, 1)), (16, (48, 2, 1)), (8, (24, 1, 1))]
"""Sizes of sub-groups, and of groups."""


@pytest.fixture(scope="module", params=ROADS)
def road(request: pytest.FixtureRequest, engine: Engine) -> Engine:
    """An engine for each of the two roads."""
    return Engine(device_on(request.param, engine.device), engine.settings)


def exchanging(dtype: DType, size: int, group_size: tuple[int, int, int]) -> Kernel:
    """Values go from lane to lane in loops and branches, also behind a loop that only some work-items leave early."""
    k = KernelBuilder(f"exchanging_{dtype}_{size}", group_size=group_size)
    x, y = k.pointer("x", dtype, restrict=True), k.pointer("y", dtype, restrict=True)
    items, lane = int(np.prod(group_size)), k.let(_item(k, group_size) & size - 1, "lane")
    at = k.let(k.item("group_id", 1) * items + _item(k, group_size), "at")
    value = k.variable(k.load(x, at), hint="value")
    with k.for_(0, 3) as turn:
        k.assign(value, k.shuffle(value, lane * 3 + turn & size - 1, size))
        with k.if_(turn == 1):
            k.assign(value, k.shuffle(value, size - 1, size))
            k.assign(value, k.op("select", lane < size // 2, k.load(x, at), value))
        k.store(y, turn * (items * GROUPS) + at, value)
    with k.for_(0, lane):
        with k.if_(lane == size - 1):
            k.break_()
        k.assign(value, k.load(x, at))
    k.store(y, 3 * (items * GROUPS) + at, k.shuffle(value, lane ^ 1, size))
    return k.build()


def joining(dtype: DType, size: int, group_size: tuple[int, int, int]) -> Kernel:
    """All that sub-groups make of their values, one after the other, of what the one before may have changed."""
    k = KernelBuilder(f"joining_{dtype}_{size}", group_size=group_size)
    x, y = k.pointer("x", dtype, restrict=True), k.pointer("y", dtype, restrict=True)
    items, ops = int(np.prod(group_size)), joins_of(dtype)
    at = k.let(k.item("group_id", 1) * items + _item(k, group_size), "at")
    value = k.variable(k.load(x, at), hint="value")
    with k.for_(0, 2) as turn:
        for number, op in enumerate(ops):
            joined = k.collective(op, value, size=size)  # type: ignore[arg-type]
            k.store(y, (turn * len(ops) + number) * (items * GROUPS) + at, joined)
            with k.if_(joined == k.load(x, at)):
                k.assign(value, joined)
    return k.build()


def joins_of(dtype: DType) -> list[str]:
    return [op for op in (*JOINS, *sorted(SCANS)) if (op in {"any", "all"}) == (dtype == BOOL)]


@cache
def kernels_of(make: str, dtype: DType) -> dict[tuple[int, tuple[int, int, int]], Kernel]:
    if make == "joining":
        return {case: joining(dtype, *case) for case in JOINED}
    return {case: exchanging(dtype, *case) for case in EXCHANGES}


def together(road: Engine, make: str, dtype: DType) -> dict[tuple[int, tuple[int, int, int]], Kernel]:
    """The kernels of a dtype, built as one program: a driver takes about as long for one."""
    kernels = kernels_of(make, dtype)
    road.executables([*kernels.values()])
    return kernels


def _item(k: KernelBuilder, group_size: tuple[int, int, int]) -> Ref:
    return k.item("local_id", 0) + k.item("local_id", 1) * group_size[0]


def values_of(dtype: DType, count: int) -> np.ndarray:
    rng = np.random.default_rng(count)
    if dtype == BOOL:
        return rng.random(count) < 0.5
    if dtype.is_float:
        return np.where(rng.random(count) < 0.02, np.nan, rng.normal(0, 9, count)).astype(dtype.numpy)
    limits = np.iinfo(dtype.numpy)
    return rng.integers(limits.min, limits.max, count, dtype.numpy, endpoint=True)


def ran(road: Engine, kernel: Kernel, x: np.ndarray, wanted: np.ndarray, *, computes: bool = True) -> None:
    """Compares the device's bits with the interpreter's, which `wanted` takes. What is computed of a NaN is some NaN:
    NVIDIA's has other bits than NumPy's."""
    assert kernel.group_size is not None
    group_size = kernel.group_size
    global_size = (group_size[0], group_size[1] * GROUPS, 1)
    run(kernel, {"x": x, "y": wanted}, global_size, group_size)
    y = road.upload(np.zeros_like(wanted))
    executable = road.executable(kernel)
    road.submit(executable.prepare({"x": (road.upload(x), 0), "y": (y, 0)}, global_size, group_size))
    got = road.download(y, wanted.dtype, wanted.size).result()
    if computes and wanted.dtype.kind == "f":
        assert (np.isnan(got) == np.isnan(wanted)).all()
        got, wanted = (np.where(np.isnan(values), np.nan, values).astype(values.dtype) for values in (got, wanted))
    np.testing.assert_array_equal(got.view(f"u{got.itemsize}"), wanted.view(f"u{got.itemsize}"))


def stays(road: Engine, kernel: Kernel, size: int) -> bool:
    """Whether the device exchanges in such sub-groups; and its kernel is as that says."""
    subgroups, lowered = road.device.quirks.subgroups, road.executable(kernel).compilation.kernel
    assert kernel.group_size is not None
    kinds = {type(stmt) for stmt in walk(lowered.body)}
    in_registers = subgroups is not None and subgroups.exchange(size, kernel.group_size)
    assert (Shuffle in kinds) == in_registers
    return in_registers


@pytest.mark.sample(20)
@pytest.mark.parametrize(("size", "group_size"), EXCHANGES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_device_exchanges_as_the_interpreter(
    dtype: DType, size: int, group_size: tuple[int, int, int], road: Engine
) -> None:
    if not road.device.capabilities.computes(dtype.name):
        pytest.skip(f"the device does not compute with {dtype}")
    kernel = together(road, "exchanging", dtype)[size, group_size]
    count = int(np.prod(group_size)) * GROUPS
    ran(road, kernel, values_of(dtype, count), np.zeros(4 * count, dtype.numpy), computes=False)
    source = road.executable(kernel).compilation.source
    if stays(road, kernel, size):
        assert source.local_bytes == 0
        assert not any(isinstance(stmt, Barrier) for stmt in walk(source.locals.kernel.body))
    else:
        assert source.local_bytes == 2 * int(np.prod(group_size)) * dtype.size
    assert source.waits


@pytest.mark.sample(12)
@pytest.mark.parametrize(("size", "group_size"), JOINED, ids=str)
@pytest.mark.parametrize("dtype", [BOOL, I8, I32, F32, F64], ids=str)
def test_the_device_joins_as_the_interpreter(
    dtype: DType, size: int, group_size: tuple[int, int, int], road: Engine
) -> None:
    if not road.device.capabilities.computes(dtype.name):
        pytest.skip(f"the device does not compute with {dtype}")
    kernel, items = together(road, "joining", dtype)[size, group_size], int(np.prod(group_size))
    count = 2 * len(joins_of(dtype)) * items * GROUPS
    ran(road, kernel, values_of(dtype, items * GROUPS), np.zeros(count, dtype.numpy))
    assert stays(road, kernel, size) == (road.executable(kernel).compilation.source.local_bytes == 0)


def test_subgroups_and_vectors(road: Engine) -> None:
    """A kernel that works on vectors has no hint beside the size of its sub-groups."""
    k = KernelBuilder("of_vectors", group_size=(16, 1, 1))
    x, y, i = k.pointer("x", F32, restrict=True), k.pointer("y", F32, restrict=True), k.item("group_id", 1) * 16
    at = k.let((i + k.item("local_id")) * 4, "at")
    four = k.load(x, at, count=4) * 2.0
    lane = k.item("local_id")
    for number, (distance, _) in enumerate(tree(16)):
        four = four + k.splat(k.shuffle(k.op("extract", four, number % 4), lane ^ distance, 16), 4)
    k.store(y, at, four)
    x_ = values_of(F32, 64 * GROUPS)
    ran(road, k.build(), x_, np.zeros_like(x_))


def test_a_launch_of_broken_groups_is_refused(road: Engine) -> None:
    kernel = exchanging(F32, 16, (48, 1, 1))
    x = road.upload(np.zeros(144, np.float32))
    with pytest.raises(ShapeError, match="40 is not a multiple of the group size 48"):
        road.executable(kernel).prepare({"x": (x, 0), "y": (x, 0)}, (40,), (48,))
