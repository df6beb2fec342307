"""Kernels under Oclgrind, a simulator that sees data races, accesses out of bounds and divergent barriers.

This file is also a program (`tests.support.oclgrind`): run by the tests, it launches a kernel after the other. Kernels
with a planted race and a planted overflow prove that reports do come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.locals import STRATEGIES
from ocl_ir.types import F32, I32, U32, Pointer
from ocl_runtime.device import choose
from ocl_runtime.execute.engine import Engine
from ocl_runtime.settings import Settings
from tests.support import oclgrind
from tests.support.cases import CASES
from tests.support.oclgrind import UNDER_OCLGRIND, ends, reports

PLANTED = {"a race": "data race", "a race in local memory": "data race", "an overflow": "Invalid write",
           "an overflow in local memory": "Invalid write", "a read behind the end": "Invalid read",
           "a divergent barrier": "divergence"}  # fmt: skip
NEEDS = {"half_arithmetic": "f16", "doubles": "f64", "double_atomics": "f64"}


# ---------------------------------------------------------------------- the program


def planted() -> dict[str, tuple[Kernel, dict[str, Any]]]:
    """Kernels with one fault each."""
    y = {"y": np.zeros(8, np.uint32)}

    def race(k: KernelBuilder) -> None:
        k.store(k.pointer("y", U32), 0, k.global_id(0))

    def local_race(k: KernelBuilder) -> None:
        item, tile = k.item("local_id"), k.array(U32, 8, hint="tile")
        k.store(tile, item, item)
        k.store(k.pointer("y", U32), k.global_id(0), k.load(tile, 7 - item))

    def overflow(k: KernelBuilder) -> None:
        k.store(k.pointer("y", U32), k.global_id(0) + 1, 7)

    def local_overflow(k: KernelBuilder) -> None:
        item, tile = k.item("local_id"), k.array(U32, 4, hint="tile")
        k.store(tile, item, item)
        k.barrier()
        k.store(k.pointer("y", U32), k.global_id(0), k.load(tile, item & 3))

    def read_behind(k: KernelBuilder) -> None:
        i, pointer = k.global_id(0), k.pointer("y", U32)
        k.store(pointer, i, k.load(k.pointer("x", U32), i + 8))

    def made(fill: Callable[[KernelBuilder], None]) -> Kernel:
        k = KernelBuilder(fill.__name__)
        fill(k)
        return k.build()

    return {
        "a race": (made(race), y),
        "a race in local memory": (made(local_race), y),
        "an overflow": (made(overflow), y),
        "an overflow in local memory": (made(local_overflow), y),
        "a read behind the end": (made(read_behind), {"x": np.zeros(8, np.uint32), **y}),
    }


DIVERGENT = """
__kernel void divergent(__global uint *y)
{
    if (get_local_id(0) < 3)
        barrier(CLK_LOCAL_MEM_FENCE);
    y[get_global_id(0)] = 1;
}
"""


def compare_and_swap() -> Kernel:
    """Every item adds one by compare and exchange, carrying on the value that the exchange gave back."""
    k = KernelBuilder("compare_and_swap")
    y = k.pointer("y", I32)
    expected, done = k.variable(0, I32, "expected"), k.variable(0, U32, "done")
    with k.while_() as loop:
        loop.test(done == 0)
        before = k.atomic("compare_exchange", y, 0, expected, expected + 1, hint="before")
        assert before is not None
        with k.if_(before == expected):
            k.assign(done, 1)
        k.assign(expected, before)
    return k.build()


def running_sums() -> Kernel:
    """A scan of a group in local memory: two barriers in every turn."""
    k = KernelBuilder("running_sums", group_size=(16, 1, 1))
    x, y = k.pointer("x", F32), k.pointer("y", F32)
    i, item = k.global_id(0, "i"), k.item("local_id", hint="item")
    parts = k.array(F32, 16, hint="parts")
    k.store(parts, item, k.load(x, i))
    distance = k.variable(1, U32, "reach")
    with k.while_() as loop:
        loop.test(distance < 16)
        k.barrier()
        carried = k.variable(0.0, F32, "carried")
        with k.if_(item >= distance):
            k.assign(carried, k.load(parts, item - distance))
        k.barrier()
        k.store(parts, item, k.load(parts, item) + carried)
        k.assign(distance, distance << 1)
    k.barrier()
    k.store(y, i, k.load(parts, item))
    return k.build()


def main() -> None:
    """Launches everything on the simulator."""
    engine = Engine(choose("oclgrind"), Settings(cache_folder=None))

    def begins(name: str) -> None:
        engine.finish()
        oclgrind.begins(name)

    def launch(
        kernel: Kernel, given: dict[str, Any], strategy: str, items: tuple[int, ...], group: tuple[int, ...]
    ) -> dict[str, Any]:
        args: dict[str, Any] = {}
        for param in kernel.params:
            value = given[param.value.hint]
            is_memory = isinstance(param.value.type, Pointer)
            args[param.value.hint] = (engine.upload(value), 0) if is_memory else value
        engine.submit(engine.executable(kernel, strategy).prepare(args, items, group))
        return {
            name: engine.download(args[name][0], one.dtype, one.size).result()
            for name, one in given.items()
            if isinstance(one, np.ndarray)
        }

    for name, (kernel, given) in planted().items():
        begins(name)
        launch(kernel, given, "hybrid", (8,), (8,))
    begins("a divergent barrier")
    program = engine.programs.program(DIVERGENT)
    import pyopencl as cl

    handle = program.kernel("divergent")
    memory = engine.upload(np.zeros(8, np.uint32))
    handle.set_arg(0, memory.buffer)
    cl.enqueue_nd_range_kernel(engine.streams.current().queue, handle, (8,), (8,))

    for case in CASES:
        if not engine.device.capabilities.computes(NEEDS.get(case.name, "f32")):
            continue
        for strategy in STRATEGIES:
            begins(f"{case.name} {strategy}")
            given = case.arguments(np.random.default_rng(7))
            got = launch(case.kernel, given, strategy, case.global_size, case.group_size)
            with np.errstate(all="ignore"):
                right = case.expected(case.arguments(np.random.default_rng(7)))
            for array, wanted in right.items():
                np.testing.assert_allclose(got[array], wanted, rtol=case.tolerance, atol=case.tolerance)

    begins("compare_and_swap hybrid")
    assert launch(compare_and_swap(), {"y": np.zeros(1, np.int32)}, "hybrid", (24,), (8,))["y"][0] == 24
    begins("running_sums hybrid")
    x = np.arange(32, dtype=np.float32)
    sums = launch(running_sums(), {"x": x, "y": np.zeros(32, np.float32)}, "hybrid", (32,), (16,))["y"]
    np.testing.assert_array_equal(sums, x.reshape(2, 16).cumsum(1).ravel())
    arrays(begins)
    places(begins)
    engine.finish()
    ends()


def arrays(begins: Callable[[str], None]) -> None:
    """The kernels that array expressions become, of sizes that are no multiple of anything."""
    import ocl_runtime as ocl

    rng = np.random.default_rng(3)
    with ocl.use(ocl.Runtime("oclgrind", Settings(cache_folder=None))):
        for size in (1, 7, 67, 300):
            a, b = (rng.standard_normal(size).astype(np.float32) for _ in range(2))
            x, y = ocl.asarray(a), ocl.asarray(b)
            begins(f"elementwise {size}")
            np.testing.assert_allclose((x * y + ocl.sin(y)).numpy(), a * b + np.sin(b), rtol=1e-5, atol=1e-6)
            begins(f"a view {size}")
            np.testing.assert_array_equal((x[::-2] + 1).numpy(), a[::-2] + 1)
            begins(f"a sum {size}")
            np.testing.assert_allclose(float(ocl.sum(x)), a.sum(), rtol=1e-4, atol=1e-5)
        m = rng.integers(-9, 9, (13, 21)).astype(np.int32)
        z = ocl.asarray(m)
        for axis in (0, 1):
            begins(f"a sum of axis {axis}")
            np.testing.assert_array_equal(ocl.sum(z, axis=axis).numpy(), m.sum(axis))
            begins(f"a maximum of axis {axis}")
            np.testing.assert_array_equal(ocl.max(z, axis=axis).numpy(), m.max(axis))
        pair = ocl.tools.get_or_register_dtype("pair", [("value", "i4"), ("index", "i4")])
        least = ocl.ReductionKernel(
            "T x, int32 k",
            "pair y",
            "(pair){x, k}",
            "a.value < b.value ? a : b",
            "y = a",
            "(pair){9, 0}",
            structs=[pair],
        )
        begins("the least of each row")
        np.testing.assert_array_equal(least(z, ocl.arange(21, dtype=np.int32), axis=1).numpy()["value"], m.min(1))
        begins("broadcasting")
        np.testing.assert_array_equal((z * z[0] - z[:, :1]).numpy(), m * m[0] - m[:, :1])
        begins("the middle of an array")
        np.testing.assert_array_equal((z[2:9, 3:20:2] // 4).numpy(), m[2:9, 3:20:2] // 4)


def places(begins: Callable[[str], None]) -> None:
    """Scans, masks and what is written at computed places, by work-items together and by single ones."""
    import ocl_runtime as ocl
    from ocl_runtime.arrays.meaning import masks

    rng = np.random.default_rng(4)
    a, mask = rng.integers(-9, 9, (2, 300)).astype(np.float32), rng.random((2, 300)) < 0.4
    index, many = rng.integers(0, 7, 400), rng.integers(0, 5000, 400)
    for kind in ("cpu", "gpu"):
        runtime = ocl.Runtime("oclgrind", Settings(cache_folder=None))
        target = replace(runtime.executor.target, kind=kind, compute_units=2, group_size=16)
        runtime.executor.target = target  # type: ignore[misc]
        with ocl.use(runtime):
            x, m = ocl.asarray(a), ocl.asarray(mask)
            begins(f"scans {kind}")
            for axis in (0, 1):
                np.testing.assert_array_equal(ocl.cumulative_sum(x, axis=axis).numpy(), a.cumsum(axis))
            np.testing.assert_array_equal(ocl.cumulative_sum(ocl.tile(x[0], (8,))).numpy(), np.tile(a[0], 8).cumsum())
            begins(f"sorts {kind}")
            for row in (a, np.tile(a[:1], (1, 4))):
                np.testing.assert_array_equal(ocl.sort(ocl.asarray(row)).numpy(), np.sort(row))
                found = ocl.argsort(ocl.asarray(row), descending=True).numpy()
                np.testing.assert_array_equal(found, np.argsort(-row, kind="stable"))
            begins(f"masks {kind}")
            count = int(mask.sum())  # the simulator counts vectors of bools as -1 each
            packed = masks.rows(m._node).packed(ocl.reshape(x, (-1,))._node, count)
            np.testing.assert_array_equal(ocl.Array(packed, x._executor).numpy(), a[mask])
            begins(f"counts {kind}")
            for given in (index, many):
                np.testing.assert_array_equal(ocl.bincount(ocl.asarray(given)).numpy(), np.bincount(given))
            begins(f"sums at places {kind}")
            for deterministic in (True, False):
                y, wanted = ocl.zeros(7), np.zeros(7, np.float32)
                ocl.add_at(y, ocl.asarray(index), ocl.asarray(a.reshape(-1)[:400]), deterministic=deterministic)
                np.add.at(wanted, index, a.reshape(-1)[:400])
                np.testing.assert_array_equal(y.numpy(), wanted)
            begins(f"the last at each place {kind}")
            y, wanted = ocl.zeros(7), np.zeros(7, np.float32)
            y[ocl.asarray(index)] = ocl.asarray(a.reshape(-1)[:400])
            wanted[index] = a.reshape(-1)[:400]
            np.testing.assert_array_equal(y.numpy(), wanted)
            begins(f"linear algebra {kind}")
            table = a[0, :81].reshape(9, 9)
            with_inverse = ocl.asarray(table + 30 * np.eye(9, dtype=np.float32))
            found = [
                ocl.linalg.cholesky(with_inverse @ with_inverse.T), ocl.linalg.inv(with_inverse),
                *ocl.linalg.qr(with_inverse), *ocl.linalg.eigh(with_inverse + with_inverse.T),
                *ocl.linalg.svd(ocl.tile(with_inverse, (1, 4))),
            ]  # fmt: skip
            assert all(np.isfinite(part.numpy()).all() for part in found)


# ---------------------------------------------------------------------- the tests


pytestmark = UNDER_OCLGRIND


@pytest.mark.sample(6)
@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_reported(fault: str) -> None:
    assert PLANTED[fault].lower() in reports(__file__)[fault].lower(), reports(__file__)[fault]


def test_no_kernel_has_a_report() -> None:
    found = {name: said for name, said in reports(__file__).items() if said and name not in PLANTED}
    assert not found, "\n".join(f"{name}:\n{said}" for name, said in found.items())


def test_all_kernels_ran() -> None:
    ran = reports(__file__).keys()
    cases = {f"{case.name} {strategy}" for case in CASES for strategy in STRATEGIES if NEEDS.get(case.name) != "f16"}
    assert cases <= ran
    assert PLANTED.keys() <= ran
    assert {"compare_and_swap hybrid", "running_sums hybrid", "a sum 300", "broadcasting"} <= ran
    assert {
        "scans gpu",
        "sorts gpu",
        "sorts cpu",
        "masks gpu",
        "counts gpu",
        "sums at places gpu",
        "the last at each place gpu",
        "linear algebra gpu",
        "linear algebra cpu",
    } <= ran


if __name__ == "__main__":
    main()
