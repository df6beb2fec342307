"""Reads and writes at computed places on a device: values, kernels and memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.graph.printer import text
from ocl_runtime.device import Device
from ocl_runtime.errors import ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import KINDS, assert_same, counting, has, ordinary
from tests.support.rehearsal import one_by_one

RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", KINDS)
def test_elements_of_all_dtypes(runtime: Runtime, dtype: str) -> None:
    if not has(runtime, dtype):
        return
    host, wanted = ordinary(dtype, 300, 70), RANDOM.integers(-300, 300, 1001)
    with ocl.use(runtime):
        x, index = ocl.asarray(host), ocl.asarray(wanted)
        reads = one_by_one(runtime, lambda: [
            x[index], x[:, index % 70], x.T[::2, index], ocl.reshape(x, -1)[index * 3],
            ocl.count_nonzero(x[index], axis=1),
        ])  # fmt: skip
    expected = [
        host[wanted], host[:, wanted % 70], host.T[::2, wanted], host.reshape(-1)[wanted * 3],
        np.count_nonzero(host[wanted], axis=1),
    ]  # fmt: skip
    for found, values in zip(reads, expected, strict=True):
        assert_same(found.numpy(), values)


def test_the_index_and_both_sides_are_one_kernel(runtime: Runtime) -> None:
    """An embedding: rows by token, scaled, with positions added; nothing lies in memory in between."""
    table, tokens = RANDOM.random((1000, 64), "f4"), RANDOM.integers(0, 500, (8, 100))
    with ocl.use(runtime):
        x, index = ocl.asarray(table), ocl.asarray(tokens)
        with counting(runtime) as counted:
            y = (x[index * 2 - 1] * 8 + ocl.arange(64, dtype="f4")).compute()
        assert counted["launch", "launches"] == 1
        assert counted["memory", "allocations"] == 1
        assert_same(y.numpy(), table[tokens * 2 - 1] * np.float32(8) + np.arange(64, dtype="f4"))
        assert "1 kernel, " in ocl.explain(x[index] + 1)


def test_a_sum_over_looked_up_rows_stores_no_rows(runtime: Runtime) -> None:
    """Bags of words: as many bytes are read as there are elements in the rows, and the sums are all that is written."""
    table, bags = RANDOM.integers(0, 9, (5000, 32)).astype("f4"), RANDOM.integers(0, 5000, (200, 12))
    with ocl.use(runtime):
        x, index = ocl.asarray(table), ocl.asarray(bags)
        bag = ocl.sum(x[index], axis=1)
        assert f"reads {200 * 12 * 32 * 4 + 200 * 12 * 8:,} bytes, writes {200 * 32 * 4:,}" in ocl.explain(bag)
        with counting(runtime) as counted:
            bag.compute()
        assert counted["launch", "launches"] == 1
        assert counted["memory", "allocations"] == 1
        assert_same(bag.numpy(), table[bags].sum(axis=1))


def test_a_new_shape_is_no_new_kernel(runtime: Runtime) -> None:
    with ocl.use(runtime):
        for rows, columns, count in ((30, 40, 100), (80, 56, 300), (72, 64, 52)):
            host, wanted = RANDOM.random((rows, columns), "f4"), RANDOM.integers(-rows, rows, count)
            x, index = ocl.asarray(host), ocl.asarray(wanted)
            with counting(runtime) as counted:
                assert_same((x[index] * 2).numpy(), host[wanted] * 2)
            if rows != 30:
                assert counted["kernel", "misses"] == 0
                assert counted["plan", "misses"] == 0


def test_what_is_looked_up_is_not_written_over(runtime: Runtime) -> None:
    host, wanted = RANDOM.random(1000, "f4"), RANDOM.integers(0, 1000, 1000)
    with ocl.use(runtime):
        x, index = ocl.asarray(host), ocl.asarray(wanted)
        for _ in range(3):
            x = x[index] + x
            host = host[wanted] + host
        assert_same(x.numpy(), host)
        x[:500] = x[index[:500]]
        host[:500] = host[wanted[:500]]
        assert_same(x.numpy(), host)


def test_a_captured_function_takes_other_shapes(runtime: Runtime) -> None:
    with ocl.use(runtime):
        rows = ocl.capture(lambda x, index: ocl.sum(x[index] * 2, axis=1) + x[index[0], 0])
        for size, columns, count in ((50, 20, 70), (90, 20, 30), (60, 44, 90)):
            host, wanted = ordinary("f4", size, columns), RANDOM.integers(-size, size, count)
            found = rows(ocl.asarray(host), ocl.asarray(wanted))
            assert_same(found.numpy(), (host[wanted] * 2).sum(axis=1) + host[wanted[0], 0])


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", KINDS)
def test_writes_of_all_dtypes(runtime: Runtime, dtype: str) -> None:
    if not has(runtime, dtype):
        return
    host, wanted = ordinary(dtype, 300, 70), RANDOM.integers(-300, 300, 1001)
    value = ordinary(dtype, 1001, 70, seed=1)
    with ocl.use(runtime):
        x = ocl.asarray(host)
        x[ocl.asarray(wanted)] = ocl.asarray(value)
        host[wanted] = value
        assert_same(x.numpy(), host)
        x[:, wanted % 70] = True
        host[:, wanted % 70] = True
        assert_same(x.numpy(), host)


def test_the_last_of_many_values_for_one_place_stays(runtime: Runtime) -> None:
    """Every run gives the same, though a thousand work-items write at each place."""
    wanted, value = RANDOM.integers(0, 100, 100_000), RANDOM.random(100_000, "f4")
    host = np.zeros(100, "f4")
    host[wanted] = value
    with ocl.use(runtime):
        index, given = ocl.asarray(wanted), ocl.asarray(value)
        for _ in range(5):
            x = ocl.zeros(100)
            x[index] = given
            assert_same(x.numpy(), host)


def test_writes_are_in_place_where_nobody_needs_the_old_contents(runtime: Runtime) -> None:
    host, wanted = RANDOM.random((500, 40), "f4"), RANDOM.integers(0, 500, 64)
    with ocl.use(runtime):
        x, five = ocl.asarray(host), ocl.asarray(5)
        with counting(runtime) as counted:
            x[3, five] = 1
            x[wanted] = 2
            x.compute()
        # The table of who was last is 0 at first, then written, then read; it has a number for each row.
        assert counted["launch", "launches"] == 4
        assert counted["memory", "allocations"] == 2  # the table, and the index that was uploaded
        host[3, 5] = 1
        host[wanted] = 2
        assert_same(x.numpy(), host)
        old = x + 1
        with counting(runtime) as counted:
            x[0, five] = 9
            x.compute()
        assert counted["memory", "allocations"] == 1  # a copy, since old is still to be computed
        assert_same(old.numpy(), host + 1)


def test_what_reads_the_target_is_computed_first(runtime: Runtime) -> None:
    host, wanted = RANDOM.integers(0, 1000, 1000).astype("i4"), RANDOM.integers(0, 1000, 300)
    with ocl.use(runtime):
        x, index = ocl.asarray(host), ocl.asarray(wanted)
        x[index] += 1
        host[wanted] += 1
        assert_same(x.numpy(), host)
        x[x[:200] % 1000] = x[index[:200]] * 2
        host[host[:200] % 1000] = host[wanted[:200]] * 2
        assert_same(x.numpy(), host)


def test_a_captured_function_writes_at_computed_places(runtime: Runtime) -> None:
    def histogram(places: ocl.Array, size: ocl.Array) -> ocl.Array:
        found = ocl.zeros_like(size)
        found[places] = ocl.arange(places.shape[0], dtype="i4") + 1
        return found * 2

    with ocl.use(runtime):
        captured = ocl.capture(histogram)
        for size, count in ((50, 200), (70, 33), (90, 500)):
            wanted, expected = RANDOM.integers(0, size, count), np.zeros(size, "i4")
            expected[wanted] = np.arange(count) + 1
            assert_same(captured(ocl.asarray(wanted), ocl.zeros(size, dtype="i4")).numpy(), expected * 2)


def test_masks(runtime: Runtime) -> None:
    host = RANDOM.standard_normal((300, 70)).astype("f4")
    with ocl.use(runtime):
        x = ocl.asarray(host)
        assert_same(x[x > 1].numpy(), host[host > 1])
        assert_same(ocl.sum(x[x[:, 0] > 0] > 0, axis=1).numpy(), (host[host[:, 0] > 0] > 0).sum(axis=1))
        assert_same(x[x > 100].numpy(), host[host > 100])
        rows, columns = ocl.nonzero(x > 2)
        assert_same(x[rows, columns].numpy(), host[(host > 2).nonzero()])
        x[x > 1] *= 2
        host[host > 1] *= 2
        assert_same(x.numpy(), host)


def test_values_for_a_mask_wait_for_nothing(runtime: Runtime) -> None:
    """So a captured function may write them."""
    host, values = RANDOM.standard_normal(5000).astype("f4"), RANDOM.random(5000, "f4")

    def replaced(x: ocl.Array, values: ocl.Array) -> ocl.Array:
        found = x + 0
        found[found < 0] = values
        return found

    with ocl.use(runtime):
        captured = ocl.capture(replaced)
        for count in (5000, 1100):
            expected = host[:count].copy()
            negative = expected < 0
            expected[negative] = values[: negative.sum()]
            given = ocl.asarray(values[: negative.sum()])
            assert_same(captured(ocl.asarray(host[:count]), given).numpy(), expected)


def test_too_few_values_for_a_mask_end_in_the_last(runtime: Runtime) -> None:
    with ocl.use(runtime):
        x = ocl.zeros(6)
        x[ocl.asarray([True, False, True, True, True, False])] = np.array([1, 2], "f4")
        assert_same(x.numpy(), np.array([1, 0, 2, 2, 2, 0], "f4"))


def test_a_captured_function_does_not_read_by_a_mask(runtime: Runtime) -> None:
    with ocl.use(runtime):
        captured = ocl.capture(lambda x: x[x > 0])
        with pytest.raises(ocl.Error, match="asks for the number of elements that a mask picks") as caught:
            captured(ocl.arange(10))
        assert "where(mask, x, 0)" in caught.value.remedy


def test_masks_of_the_host_take_as_many_values_as_places(runtime: Runtime) -> None:
    with ocl.use(runtime):
        x = ocl.asarray(np.arange(5))
        mask = np.array([True, True, True, False, False])
        for values in (np.array([7, 8]), np.zeros(99, "i8"), np.zeros(0, "i8")):
            with pytest.raises(ShapeError, match="a mask that holds at 3 places"):
                x[mask] = values
        x[mask] = np.array([7, 8, 9])
        x[np.zeros(5, bool)] = np.zeros(0, "i8")
        assert x.numpy().tolist() == [7, 8, 9, 3, 4]


@pytest.mark.parametrize("count", [67, 130, 1001])
def test_products_and_sums_with_elements_far_apart(runtime: Runtime, count: int) -> None:
    host, far = np.arange(count, dtype="i4"), np.arange(3 * count, dtype="i4")
    square = np.arange(count * 3, dtype="i4").reshape(count, 3)
    with ocl.use(runtime):
        x, y, z = map(ocl.asarray, (host, far, square))
        assert int(ocl.sum(x + y[::3])) == (host + far[::3]).sum()
        assert int(ocl.sum(x[::-1] * x)) == (host[::-1] * host).sum()
        assert int(x @ y[::3]) == host @ far[::3]
        assert int(ocl.vecdot(y[::-3], x)) == far[::-3] @ host
        assert int(ocl.sum(z[:, 1] * z[:, 0])) == (square[:, 1] * square[:, 0]).sum()
        np.testing.assert_allclose(float(ocl.std(z[:, 2])), square[:, 2].std(), rtol=1e-6)


@pytest.mark.parametrize("shape", [(7,), (7, 3), (7, 1, 2), (1, 4)])
@pytest.mark.parametrize("places", [[0], [3, -1, 0], [[1, 2], [0, -2]], 2])
def test_rows_are_the_same_nodes_as_by_the_general_way(runtime: Runtime, shape: tuple[int, ...], places: Any) -> None:
    """`x[idx]`, which is short, and `x[idx, ...]`, which says the same."""
    host = np.arange(math.prod(shape), dtype="f4").reshape(shape)
    index = np.clip(np.array(places), -shape[0], shape[0] - 1)
    with ocl.use(runtime):
        x, idx = ocl.asarray(host), ocl.asarray(index)
        found, other = x[idx], x[idx, ...]
        assert text(found._node) == text(other._node)
        np.testing.assert_array_equal(found.numpy(), host[index])
        x[idx] = 5.0
        host[index] = 5
        np.testing.assert_array_equal(x.numpy(), host)


def test_a_permutation_is_written_by_one_kernel(runtime: Runtime) -> None:
    order = RANDOM.permutation(5000)
    host = RANDOM.random(5000, "f4")
    with ocl.use(runtime):
        x, value, index = ocl.zeros(5000).compute(), ocl.asarray(host), ocl.asarray(order)
        with counting(runtime) as counted:
            ocl.set_at(x, index, value, unique=True)
            x.compute()
        assert counted["launch", "launches"] == 1
        wanted = np.empty(5000, "f4")
        wanted[order] = host
        np.testing.assert_array_equal(x.numpy(), wanted)
