"""What lies along another axis than the results: how many kernels it takes, and how memory is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.kernel.grammar import Array, Barrier, Kernel, Load, Store, walk
from ocl_ir.types import Pointer, lanes
from ocl_runtime.plan.launch import Launch
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime

GPU = Target(kind="gpu", compute_units=2, group_size=16)
CPU = Target(kind="cpu", compute_units=2, group_size=4, vector_bytes=32)
BOTH = pytest.mark.parametrize("target", [GPU, CPU], ids=["gpu", "cpu"])


def launches(target: Target, make: Callable[..., Any], *hosts: np.ndarray) -> list[Launch]:
    """What computes an expression, whose result is NumPy's."""
    runtime = InterpretedRuntime(target)
    with xp.use(runtime):
        found = make(*map(xp.asarray, hosts), xp)
        np.testing.assert_array_equal(found.numpy(), make(*hosts, np))
    return runtime.launched


def random(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


def local_bytes(kernel: Kernel) -> int:
    arrays = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Array)]
    return sum(stmt.length * stmt.pointer.type.dtype.size for stmt in arrays if isinstance(stmt.pointer.type, Pointer))


def widths(kernel: Kernel, kind: type[Load] | type[Store], space: str = "global") -> set[int]:
    """How many elements are moved at a time."""
    found = set()
    for stmt in walk(kernel.body):
        if isinstance(stmt, kind) and isinstance(stmt.pointer.type, Pointer) and stmt.pointer.type.space == space:
            moved = stmt.result.type if isinstance(stmt, Load) else stmt.value.type
            assert not isinstance(moved, Pointer)
            found.add(lanes(moved))
    return found


@BOTH
@pytest.mark.parametrize(
    "make",
    [
        lambda x, y, np: np.reshape(x.T, (-1,)),
        lambda x, y, np: np.reshape(x.T, (-1,)) * 2,
        lambda x, y, np: np.reshape(x.T + y, (-1,)) * np.reshape(y, (-1,)) + 1,
        lambda x, y, np: np.reshape(x.T, (-1,)) + np.reshape(y, (-1,))[::-1],
        lambda x, y, np: np.reshape(np.reshape(x.T, (16, 64)) - np.reshape(y.T * 2, (16, 64)), (-1,)),
    ],
    ids=["copied", "multiplied", "on both sides", "beside what is turned", "twice"],
)
def test_a_reshape_that_copies_takes_no_kernel_of_its_own(target: Target, make: Callable[..., Any]) -> None:
    assert len(launches(target, make, random(32, 32), random(32, 32))) == 1


@BOTH
def test_reshapes_from_several_shapes_are_copied(target: Target) -> None:
    def make(x: Any, y: Any, np: Any) -> Any:
        return np.reshape(x.T, (-1,)) + np.reshape(y.T, (-1,))

    assert len(launches(target, make, random(32, 16), random(8, 64))) == 3
    assert len(launches(target, make, random(32, 16), random(32, 16))) == 1


@BOTH
def test_what_has_not_the_shape_from_before_is_copied(target: Target) -> None:
    def make(x: Any, y: Any, np: Any) -> Any:
        return np.reshape(x.T, (-1,)) + y[::2]

    def halved(x: Any, y: Any, np: Any) -> Any:
        return np.reshape(np.reshape(x.T, (-1,)) * 2, (2, -1)) + y[:2, :256]

    assert len(launches(target, make, random(32, 16), random(1024))) == 1
    assert len(launches(target, halved, random(32, 16), random(3, 300))) == 2


def test_a_gpu_turns_tiles_with_wide_accesses() -> None:
    (launch,) = launches(GPU, lambda x, y, np: x.T + y, random(64, 32), random(32, 64))
    assert any(isinstance(stmt, Barrier) for stmt in walk(launch.kernel.body))
    assert widths(launch.kernel, Load) == widths(launch.kernel, Store) == {4}
    assert widths(launch.kernel, Load, "local") == widths(launch.kernel, Store, "local") == {4}
    assert local_bytes(launch.kernel) == 16 * 16 * 4
    assert launch.group_size == (16, 1, 1)
    assert launch.global_size == (16 * 4, 2, 1)


def test_rows_that_are_not_aligned_are_read_one_by_one_and_turned_all_the_same() -> None:
    (launch,) = launches(GPU, lambda x, y, np: x.T + y, random(64, 33), random(33, 64))
    assert widths(launch.kernel, Load) == {1, 4}
    assert widths(launch.kernel, Store) == {4}
    (launch,) = launches(GPU, lambda x, y, np: x.T + y, random(63, 33), random(33, 63))
    assert widths(launch.kernel, Load) == widths(launch.kernel, Store) == {1}
    assert widths(launch.kernel, Store, "local") == {4}


def test_several_leaves_are_turned_as_far_as_local_memory_goes() -> None:
    target = Target(kind="gpu", compute_units=2, group_size=256)
    hosts = [random(128, 128) for _ in range(4)]
    (launch,) = launches(target, lambda x, y, z, w, np: x.T * y.T + z.T + w, *hosts)
    assert local_bytes(launch.kernel) == 2**15


def test_few_elements_are_turned_in_small_tiles() -> None:
    """So that no compute unit is idle."""
    target = Target(kind="gpu", compute_units=8, group_size=256)
    for shape, items in (((64, 64), 64), ((512, 64), 256)):
        (launch,) = launches(target, lambda x, y, np: x.T + y, random(*shape), random(*shape[::-1]))
        assert launch.group_size == (items, 1, 1)


@pytest.mark.parametrize(
    ("shape", "tile", "items"),
    [((2, 16, 1024), "256 x 16", 256), ((2, 1024, 16), "16 x 256", 256), ((32, 16, 64), "64 x 16", 64)],
)
def test_tiles_are_no_longer_than_short_axes(shape: tuple[int, ...], tile: str, items: int) -> None:
    """So that no work-item is idle."""
    target = Target(kind="gpu", compute_units=8, group_size=256)

    def make(x: Any, np: Any) -> Any:
        return np.reshape(np.matrix_transpose(x), (-1,))

    (launch,) = launches(target, make, random(*shape))
    assert launch.kernel.note.endswith(f"in tiles of {tile}")
    assert launch.group_size == (items, 1, 1)


def test_a_cpu_turns_blocks_in_registers() -> None:
    (launch,) = launches(CPU, lambda x, y, np: x.T + y, random(32, 64), random(64, 32))
    assert not local_bytes(launch.kernel)
    assert widths(launch.kernel, Load) == widths(launch.kernel, Store) == {8, 1}  # one by one where a block is cut off
    launches(CPU, lambda x, y, np: x.T + y, random(31, 67), random(67, 31))


@BOTH
def test_short_axes_are_read_as_they_lie(target: Target) -> None:
    (launch,) = launches(target, lambda x, y, np: x.T + y, random(500, 3), random(3, 500))
    assert not local_bytes(launch.kernel)


@BOTH
@pytest.mark.parametrize("dtype", ["f4", "f2", "u1"])
def test_what_lies_back_to_front_is_read_in_vectors(target: Target, dtype: str) -> None:
    for make in (lambda x, np: x[::-1, ::-1] + x, lambda x, np: x[:, ::-1] + x[0], lambda x, np: x[::-1] + x):
        (launch,) = launches(target, make, random(32, 64, dtype=dtype))
        vector = min(16, target.vector_bytes // (4 if dtype == "f2" and target is CPU else np.dtype(dtype).itemsize))
        (launch,) = launches(target, make, random(32, 64, dtype=dtype))
        assert max(widths(launch.kernel, Store)) in {vector, 1}


def test_vectors_of_a_gpu_go_over_the_ends_of_rows() -> None:
    (launch,) = launches(GPU, lambda x, y, np: x[:, 1:] * 2 + y, random(5, 304), random(5, 303))
    assert launch.global_size[0] == -(-5 * 303 // 4 // 16) * 16
    (launch,) = launches(GPU, lambda x, np: x[:, 1:] * 2, random(300, 5))  # each has one
    assert launch.global_size[1] > 1


@BOTH
@pytest.mark.parametrize(
    "make",
    [
        lambda x, y: x.T + y,
        lambda x, y: xp.reshape(x.T, (-1,)) * xp.reshape(y, (-1,)),
        lambda x, y: x[::-1, ::-1] * 2,
        lambda x, y: x[:, 1:] * 2,
    ],
    ids=["turned", "reshaped", "back to front", "cut"],
)
def test_sizes_share_plans(target: Target, make: Callable[..., Any]) -> None:
    runtime, rng = InterpretedRuntime(target), np.random.default_rng(0)
    with xp.use(runtime):
        for _ in range(8):
            rows, columns = (int(length) for length in rng.integers(2, 6, 2) * 16)
            make(xp.asarray(random(rows, columns)), xp.asarray(random(columns, rows))).compute()
    assert runtime.plans.statistics.misses <= 5


@pytest.mark.parametrize(("columns", "groups"), [(31, 2), (37, 3)])
def test_tiles_fit_the_rows(columns: int, groups: int) -> None:
    """Rows that are not aligned are cut into long parts, unless much of the last one would lie beyond their end."""
    (launch,) = launches(GPU, lambda x, np: np.reshape(x.T, (-1,)), random(columns, 16))
    assert math.prod(launch.global_size) == groups * 16
