"""Numbers held in registers and functions that are called, as NVIDIA's compiler wants them, change no bit anywhere."""

from __future__ import annotations

import numpy as np
import pytest

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.types import F32
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.spelling import Dialect
from tests.device.codegen.test_helpers import _devices
from tests.support.helper_rendering import Bench

SIZE = 4096


@pytest.fixture(scope="module", params=_devices())
def bench(request: pytest.FixtureRequest) -> Bench:
    if request.param is None:
        pytest.fail("no usable OpenCL device")
    return Bench(request.param)


def turns(lanes: int) -> Kernel:
    """Sines, cosines and powers; a number that comes from memory is used in each turn."""
    k = KernelBuilder("turns")
    x, y, i = k.pointer("x", F32), k.pointer("y", F32), k.global_id(0, "i")
    s = k.scalar("s", F32)
    value = k.load(x, i * lanes, count=lanes)
    for turn in range(24):
        value = k.op(("sin", "cos", "tan")[turn % 3], value) * s + k.op("pow", k.op("abs", value), 0.3)
    k.store(y, i * lanes, value)
    return k.build()


def _run(bench: Bench, lanes: int, dialect: Dialect, x: np.ndarray) -> np.ndarray:
    program = bench.build(compile_kernel(turns(lanes), "hybrid", dialect).source.text)
    return bench.run_kernel(program, SIZE // lanes, [x], SIZE, np.float32(-1.7))


def test_bits_are_the_same(bench: Bench) -> None:
    x = np.random.default_rng(0).uniform(-20, 20, SIZE).astype("f4")
    for lanes in (1, 4):
        plain = _run(bench, lanes, Dialect(), x)
        hinted = _run(bench, lanes, Dialect(rereads_arguments=True, slow_inlining=True), x)
        assert np.array_equal(plain.view("u4"), hinted.view("u4"))
        assert np.isfinite(plain).all()
