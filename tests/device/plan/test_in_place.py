"""Results written over operands: that it happens is shown by allocations, that it may not by values and reasons."""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import ocl_runtime as ocl
from ocl_ir.graph import build as graph
from ocl_runtime.arrays import Array
from ocl_runtime.device import Device
from ocl_runtime.errors import BuildError, LaunchError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.observe.commands import Recording
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same, counting, python

HOST = np.arange(1000, dtype="f4")
BITS = HOST % 2
"""Sums of sums of these are exact."""


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


def test_a_loop_over_an_array_allocates_nothing(runtime: Runtime) -> None:
    x, n = ocl.asarray(HOST), HOST.copy()
    with counting(runtime) as counted:
        for _ in range(10):
            x = x * 0.5 + 1
            x.compute()
            n = n * np.float32(0.5) + np.float32(1)
    assert counted["memory", "allocations"] == 0
    assert_same(x.numpy(), n)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.__iadd__(1),
        lambda x: x.__setitem__(slice(2, -2), 5),
        lambda x: x.__setitem__(slice(None, None, 3), x[::3] * 2),
        lambda x: x.__setitem__(x > 500, 0),
        lambda x: x[100:].__imul__(2),
        lambda x: x[::-1].__setitem__(slice(0, 5), 7),
    ],
)
def test_writes_allocate_nothing(runtime: Runtime, write: Callable[[Any], Any]) -> None:
    x, n = ocl.asarray(HOST), HOST.copy()
    view = x[10:20]
    x.compute()
    with counting(runtime) as counted:
        for _ in range(3):
            write(x)
            write(n)
            x.compute()
    assert counted["memory", "allocations"] == 0
    assert_same(x.numpy(), n)
    assert_same(view.numpy(), n[10:20])
    assert view._node.storage is x._node.storage


def test_many_writes_in_one_plan(runtime: Runtime) -> None:
    x, n = ocl.zeros((50, 20)), np.zeros((50, 20), "f4")
    with counting(runtime) as counted:
        for row in range(50):
            x[row] = row
            n[row] = row
        x.compute()
    assert counted["memory", "allocations"] == 1
    assert_same(x.numpy(), n)


class Kept:
    """What stands in the way of writing over an array: each way gives what must be right afterwards."""

    @staticmethod
    def the_array(x: Any) -> Any:
        return x

    @staticmethod
    def a_view(x: Any) -> Any:
        return x[3:]

    @staticmethod
    def an_expression(x: Any) -> Any:
        return x - 1

    @staticmethod
    def an_expression_of_a_view(x: Any) -> Any:
        return x[::2] - 1

    @staticmethod
    def a_copy_that_shares(x: Any) -> Any:
        return +x

    @staticmethod
    def a_captured_function(x: Any) -> Any:
        captured = ocl.capture(lambda y: y + x)
        captured(ocl.asarray(HOST))
        return lambda: captured(ocl.asarray(HOST * 0))

    @staticmethod
    def its_memory(x: Any) -> Any:
        storage = x._node.storage
        return lambda: ocl.Array(graph.buffer(storage, x._node.dtype, x._node.layout), x._executor)


@pytest.mark.parametrize("way", [name for name in vars(Kept) if not name.startswith("_")])
def test_what_somebody_else_needs_is_left_alone(runtime: Runtime, way: str) -> None:
    x = ocl.asarray(HOST)
    kept = getattr(Kept, way)(x)
    before = (kept() if callable(kept) else kept).numpy() if way != "an_expression" else HOST - 1
    if way == "an_expression":
        kept = x - 1  # not computed yet
    if way == "an_expression_of_a_view":
        kept = x[::2] - 1
    y = x * 2
    if way != "the_array":
        del x
    with counting(runtime) as counted:
        y.compute()
    assert counted["memory", "allocations"] == 1
    assert_same(y.numpy(), HOST * 2)
    assert_same((kept() if callable(kept) else kept).numpy(), before)


def test_regression_a_view_that_was_computed_by_itself(runtime: Runtime) -> None:
    """Its array was not: then the view has memory of its own, which looked like nobody's."""
    x = ocl.asarray(HOST) + 1
    view = x[10:20]
    view.compute()
    y = view * 2
    y.compute()
    assert_same(y.numpy(), (HOST[10:20] + 1) * 2)
    assert_same(view.numpy(), HOST[10:20] + 1)
    assert_same(x.numpy(), HOST + 1)


def test_regression_a_computation_that_fails_after_it_wrote_over_an_operand(device: Device, engine: Engine) -> None:
    """What it read is lost, and whoever asks again is told so, not given wrong values."""

    class Fails(Recording):
        def launch(self, *args: Any) -> Any:
            if len([one for one in self.commands if "_" in one.what]) == 1:
                raise cl.RuntimeError("injected")
            return super().launch(*args)

    runtime = Runtime(device, engine.settings)
    runtime.executor.run_on(Engine(device, engine.settings, driver=Fails))
    with ocl.use(runtime):
        x = ocl.asarray(HOST)
        y = x * 2 + 1
        for _ in range(200):  # more than one kernel, the first of them in place
            y = y * 0.5 + 1
        del x
        with pytest.raises(LaunchError, match="could not be launched"):
            y.compute()
        with pytest.raises(LaunchError):
            y.numpy()


def test_regression_a_process_that_wrote_in_place_ends_in_silence(tmp_path: Path, cache_folder: Path) -> None:
    """Also where storages go as late as modules do."""
    code = """
import sys
import numpy as np
import ocl_runtime as ocl

x = ocl.asarray(np.ones(9, "f4"))
for _ in range(3):
    x += 1
    x.compute()
sys.kept = x, x._node, x._node.storage
"""
    done = python("-c", code, cwd=tmp_path, env={"OCL_RUNTIME_CACHE": str(cache_folder)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_computation_that_cannot_be_built_leaves_its_operands(runtime: Runtime) -> None:
    x = ocl.asarray(HOST)
    y = x * 2
    del x
    executables = runtime.executor.engine.executables

    def refuses(*args: Any) -> Any:
        raise BuildError("injected", source="", log="")

    runtime.executor.engine.executables = refuses  # type: ignore[method-assign]
    with pytest.raises(BuildError):
        y.compute()
    runtime.executor.engine.executables = executables  # type: ignore[method-assign]
    assert_same(y.numpy(), HOST * 2)


def test_expressions_that_were_built_before_a_write_are_computed_with_what_was_there(runtime: Runtime) -> None:
    x = ocl.asarray(HOST)
    before, total = x + 1, ocl.sum(x)
    x[:500] = -1
    x += 2
    after = x + 1
    assert_same(before.numpy(), HOST + 1)
    assert float(total) == HOST.sum()
    n = HOST.copy()
    n[:500] = -1
    n += 2
    assert_same(after.numpy(), n + 1)


def test_memory_that_is_much_larger_than_a_result_is_not_kept_for_it(runtime: Runtime) -> None:
    x = ocl.asarray(np.arange(100_000, dtype="f4"))[:100]
    y = x + 1
    del x
    y.compute()
    assert y._node.storage.nbytes == 400


def test_operands_of_other_sizes_and_orders_are_not_written_over(runtime: Runtime) -> None:
    for make, expression in [
        (lambda: ocl.asarray(np.ones((30, 30), "f4")), lambda x: x.T + ocl.ones((30, 1)) * ocl.arange(30.0)),
        (
            lambda: ocl.asarray(np.ones((30, 20), "f4")),
            lambda x: ocl.astype(x, "f8") if runtime.executor.target.fp64 else x[1:],
        ),
        (lambda: ocl.asarray(np.ones((30, 20), "f4")), lambda x: x + x[::-1]),
        (lambda: ocl.asarray(np.ones((20,), "f4")), lambda x: ocl.broadcast_to(x, (30, 20)) * 2),
    ]:
        x = make()
        y = expression(x)
        expected = expression(make()).numpy()
        del x
        with counting(runtime) as counted:
            y.compute()
        assert counted["memory", "allocations"] == 1
        assert_same(y.numpy(), expected)


def test_a_temporary_of_a_plan_is_written_over(runtime: Runtime) -> None:
    x = ocl.asarray(np.random.default_rng(0).random((200, 30), dtype="f4"))
    total = ocl.exp(x - ocl.max(x, axis=1, keepdims=True))
    y = ocl.sum(total, axis=0)
    y[3] = 0
    y *= 2
    with counting(runtime) as counted:
        y.compute()
    expected = 2 * np.exp(x.numpy() - x.numpy().max(1, keepdims=True)).sum(0)
    expected[3] = 0
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5)
    assert counted["memory", "allocations"] <= 4


@pytest.mark.parametrize("held", [False, True])
def test_an_intermediate_that_an_array_needs_is_not_written_over(runtime: Runtime, held: bool) -> None:
    """It would come out right even so, being computed again: launches and allocations tell."""
    x = ocl.asarray(BITS)
    sums = ocl.cumulative_sum(x)
    y = sums * 2 + 1
    if not held:
        del sums
    with counting(runtime) as counted:
        y.compute()
    assert (counted["launch", "launches"], counted["memory", "allocations"]) == (2, 2 if held else 1)
    assert_same(y.numpy(), np.cumsum(BITS) * 2 + 1)
    if held:
        with counting(runtime) as counted:
            assert_same(sums.numpy(), np.cumsum(BITS))
        assert counted["launch", "launches"] == 0


def test_an_intermediate_that_a_later_kernel_reads_is_not_written_over(runtime: Runtime) -> None:
    x = ocl.asarray(BITS)
    sums = ocl.cumulative_sum(x)
    first, second = sums * 2, ocl.cumulative_sum(sums[::-1])
    del sums
    with counting(runtime) as counted:
        ocl.compute(first, second)
    assert (counted["launch", "launches"], counted["memory", "allocations"]) == (3, 3)
    assert_same(first.numpy(), np.cumsum(BITS) * 2)
    assert_same(second.numpy(), np.cumsum(np.cumsum(BITS)[::-1]))


def test_memory_that_a_later_kernel_of_the_plan_reads_is_not_written_over(runtime: Runtime) -> None:
    """Nobody holds the array any more, and the first of two kernels could store its result there."""
    x = ocl.asarray(BITS)
    doubled, sums = x * 2, ocl.cumulative_sum(x[::-1])
    del x
    with counting(runtime) as counted:
        ocl.compute(doubled, sums)
    assert (counted["launch", "launches"], counted["memory", "allocations"]) == (2, 2)
    assert_same(doubled.numpy(), BITS * 2)
    assert_same(sums.numpy(), np.cumsum(BITS[::-1]))


def test_what_begins_inside_of_its_memory_is_read_where_it_lies(runtime: Runtime) -> None:
    for computed_too in (False, True):
        x = +ocl.asarray(HOST)[4:]
        x[0] = 100
        double, total = x * 2, ocl.sum(x[:5])
        if computed_too:
            ocl.compute(x, double)
        del x
        expected = HOST[4:].copy()
        expected[0] = 100
        assert_same(double.numpy(), expected * 2)
        assert float(total) == expected[:5].sum()


def test_what_another_thread_builds_on_is_not_written_over(runtime: Runtime) -> None:
    x = ocl.asarray(HOST)
    held = x._node  # as in a thread that is just making an expression of it
    x += 1
    x.compute()
    assert_same(Array(held, runtime.executor).numpy(), HOST)
    x += 1
    held = x._node
    x *= 2
    x.compute()
    assert_same((Array(held, runtime.executor) + 1).numpy(), HOST + 3)
    assert_same(x.numpy(), (HOST + 2) * 2)


def test_threads_read_an_array_while_it_is_written(runtime: Runtime) -> None:
    x = ocl.asarray(np.zeros(256, "f4"))
    over = threading.Event()

    def read() -> int:
        count = 0
        while not over.is_set():
            for found in ((x + 0).numpy(), x[3:].numpy(), x.numpy()):
                assert (found == found[0]).all()
            count += 1
        return count

    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(3) as pool:
            readers = [pool.submit(read) for _ in range(3)]
            try:
                for _ in range(200):
                    x += 1
                    x.compute()
            finally:
                over.set()
            assert all(reader.result() >= 0 for reader in readers)
    finally:
        sys.setswitchinterval(often)
    assert_same(x.numpy(), np.full(256, 200, "f4"))


def test_copies_share_nothing(runtime: Runtime) -> None:
    for copied in (copy.copy, copy.deepcopy):
        x = ocl.asarray(HOST)
        y = copied(x[::2])
        y[0] = 7
        assert_same(x.numpy(), HOST)
        assert float(y[0]) == 7
        x[2] = -1
        assert_same(y[1:].numpy(), HOST[2::2])


def _transposed(np_: Any, x: Any) -> Any:
    x[None] = x.T
    return x


def _by_an_index_that_changes(np_: Any, x: Any) -> Any:
    at = np.array(0)
    row = x[at]
    at += 1
    x[at] = row
    return x


def _of_another_axis(np_: Any, x: Any) -> Any:
    key = 1
    row = x[key]
    x.T[key] = row
    return x


def _of_a_view_of_a_view(np_: Any, x: Any) -> Any:
    key = slice(1, 3)
    inner = x[key][key]
    x[key] = inner
    return x


@pytest.mark.parametrize("write", [_transposed, _by_an_index_that_changes, _of_another_axis, _of_a_view_of_a_view])
def test_only_a_part_that_is_written_with_itself_is_left_alone(
    runtime: Runtime, write: Callable[[Any, Any], Any]
) -> None:
    host = np.arange(9, dtype="f4").reshape(3, 3)
    x = ocl.asarray(host.copy())
    assert_same(write(ocl, x).numpy(), write(np, host))


def test_a_part_that_was_written_in_place_is_not_written_again(runtime: Runtime) -> None:
    x, n = ocl.asarray(HOST), HOST.copy()
    with counting(runtime) as counted:
        for _ in range(10):
            part = x[1:5]
            part += 1
            x[1:5] = part
            x.compute()
            n[1:5] += 1
        x[2:7] = x[2:7]
        x.compute()
    assert counted["launch", "launches"] == 10
    assert_same(x.numpy(), n)
