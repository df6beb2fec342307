"""Kernels from a statement for each element, of CuPy's and of PyOpenCL's kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import BuildError, DTypeError, Error, NumberRangeError, ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import KINDS, counting, has, ordinary

SUM = ocl.ElementwiseKernel("T x, T y", "T z", "z = x + 2 * y", "sum")
HOST = ordinary("f4", 6, 5)


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x,
        lambda x: x.T,
        lambda x: x[1:, ::2],
        lambda x: x[::-1],
        lambda x: x[2],
        lambda x: x[2:3],
        lambda x: x[:, None, :],
        lambda x: x[:0],
        lambda x: x[3, 4, ...],
    ],
)
def test_arrays_are_read_as_they_lie(runtime: Runtime, view: Any) -> None:
    x, y = ocl.asarray(HOST), ocl.asarray(HOST[0] * 3)
    for first, second, host, other in (
        (view(x), 2, view(HOST), np.float32(2)),
        (view(x), view(x), view(HOST), view(HOST)),
        (x, y, HOST, HOST[0] * 3),
        (y[:, None], y, HOST[0][:, None] * 3, HOST[0] * 3),
    ):
        result = SUM(first, second)
        assert result.shape == (host + other).shape
        assert (result.numpy() == host + 2 * other).all()


@pytest.mark.parametrize("dtype", KINDS)
def test_all_dtypes(runtime: Runtime, dtype: str) -> None:
    if not has(runtime, dtype) or (dtype == "f2" and not runtime.executor.target.fp16):
        return
    host = ordinary(dtype, 37)
    k = ocl.ElementwiseKernel("T x", "T z, bool is_positive", "z = x; is_positive = x > 0", "copies")
    z, is_positive = k(ocl.asarray(host))
    assert z.dtype == host.dtype
    assert is_positive.dtype == np.bool_
    assert (z.numpy() == host).all()
    assert (is_positive.numpy() == (host > 0)).all()


def test_types_are_bound_by_arrays_then_numpys_then_pythons_numbers(runtime: Runtime) -> None:
    x = ocl.asarray(np.ones(3, "i2"))
    assert SUM(x, 2).dtype == np.int16
    assert SUM(np.int16(1), 2).dtype == np.int16
    assert SUM(1, 2).dtype == np.int64
    assert SUM(1.0, 2).dtype == np.float32
    with pytest.raises(DTypeError, match="float32 for y, where T is int16"):
        SUM(x, ocl.ones(3))
    with pytest.raises(DTypeError, match="takes a number of int16"):
        SUM(x, 1.5)
    with pytest.raises(NumberRangeError):
        SUM(x, 2**15)
    with pytest.raises(DTypeError, match="does not know the type U"):
        ocl.ElementwiseKernel("T x", "U y", "y = x")(x)


def test_an_out_is_written_in_place(runtime: Runtime) -> None:
    x, out = ocl.asarray(HOST), ocl.asarray(np.zeros((6, 10), "f4"))
    half = out[:, ::2]
    with counting(runtime) as counted:
        assert SUM(x, x, half) is half
    assert counted["memory", "allocations"] == 0
    assert (out.numpy()[:, ::2] == 3 * HOST).all()
    assert (out.numpy()[:, 1::2] == 0).all()
    SUM(x, 1, x)
    assert (x.numpy() == HOST + 2).all()
    positive = ocl.ElementwiseKernel("T x", "T z", "if (x > 3) z = x", "positive")
    positive(x, x)
    before = out.copy()
    positive(x, half)
    assert (before.numpy()[:, ::2] == 3 * HOST).all()
    assert (half.numpy() == np.where(HOST + 2 > 3, HOST + 2, 3 * HOST)).all()
    with pytest.raises(ShapeError, match=r"an out of shape \(5,\)"):
        SUM(x, x, x[0])


def test_raw_arrays_are_indexed(runtime: Runtime) -> None:
    x, y = ocl.asarray(np.arange(5.0)), ocl.asarray(np.arange(10.0))
    reverse = ocl.ElementwiseKernel("T x, raw T y", "T z", "z = x + y[_ind.size() - i - 1] * y.size()", "add_reverse")
    assert (reverse(x, y[:5]).numpy() == np.arange(5) + 5 * np.arange(5)[::-1]).all()
    assert (reverse(x, y[::2]).numpy() == np.arange(5) + 5 * np.arange(0, 10, 2)[::-1]).all()
    scatter = ocl.ElementwiseKernel("raw T x, raw int64 where", "raw T z", "z[where[i]] = x[i]", "scatter")
    z = ocl.zeros(5, dtype="f8")
    scatter(x, ocl.asarray([4, 3, 2, 1, 0]), z, size=5)
    assert (z.numpy() == np.arange(5)[::-1]).all()
    with pytest.raises(ShapeError, match="call it with size"):
        scatter(x, ocl.asarray([4, 3, 2, 1, 0]), z)
    with pytest.raises(ShapeError, match="view with gaps for z"):
        scatter(x, ocl.asarray([0, 1]), ocl.zeros(5, dtype="f8")[::2], size=2)


def test_one_source_serves_all_sizes_and_numbers(runtime: Runtime) -> None:
    k = ocl.ElementwiseKernel("T x, T a", "T z", "z = a * x", "scaled")
    k(ocl.ones(3), 2)
    with counting(runtime) as counted:
        for n in (1, 100, 1000):
            k(ocl.asarray(np.ones(n, "f4")), n)
    assert counted["launch", "compiled"] == 0


def test_captured_kernels_serve_other_sizes(runtime: Runtime) -> None:
    calls = []

    @ocl.capture
    def step(x: Any, a: float) -> Any:
        calls.append(1)
        return SUM(x[1:] * 2, a)

    for n, a in ((10, 1.0), (20, 2.0), (30, 3.0)):
        x = np.arange(n, dtype="f4")
        assert (step(ocl.asarray(x), a).numpy() == x[1:] * 2 + 2 * a).all()
    assert len(calls) <= 2


def test_pyopencls_kind(runtime: Runtime) -> None:
    combine = ocl.ElementwiseKernel(
        "float a, const float *x, float b, const float *y, float *z", "z[i] = a * x[i] + b * y[i]", "combine"
    )
    x, y, z = ocl.asarray(HOST), ocl.asarray(HOST * 2), ocl.zeros((6, 5))
    assert combine(5, x, 6.0, y, z) is None
    assert (z.numpy() == 17 * HOST).all()
    combine(1, x[:2], 1, y[:2], x[:2])
    assert (x.numpy()[:2] == 3 * HOST[:2]).all()
    assert (x.numpy()[2:] == HOST[2:]).all()
    with pytest.raises(ShapeError, match="does not ask for them"):
        combine(1, x.T, 1, y, z)
    with pytest.raises(DTypeError, match="got an array of float64 for x"):
        combine(1, ocl.asarray(HOST.astype("f8")), 1, y, z)


def test_declarations_that_cannot_be_read() -> None:
    for words in (("T x,, y", "T z", "z = x"), ("raw T", "T z", "z = 1"), ("T x", "T x", "x = 1"), ("T x", "", "")):
        with pytest.raises(Error, match="is declared with"):
            ocl.ElementwiseKernel(*words)
    with pytest.raises(Error, match="cannot be called"):
        ocl.ElementwiseKernel("T x", "T z", "z = x", "a b")
    with pytest.raises(DTypeError, match="complex64, which OpenCL C does not have"):
        ocl.ElementwiseKernel("complex64 x", "T z", "z = x")
    with pytest.raises(DTypeError, match="complex64, which OpenCL C does not have"):
        ocl.ElementwiseKernel("T x", "T z", "z = x")(ocl.asarray([1j]))
    with pytest.raises(DTypeError, match="got 3 arguments"):
        ocl.ElementwiseKernel("T x", "T z", "z = x")(1, 2, 3)


def test_build_errors_show_the_statement(runtime: Runtime) -> None:
    with pytest.raises(BuildError, match="z = nowhere"):
        ocl.ElementwiseKernel("T x", "T z", "z = nowhere(x) + y", "wrong")(ocl.ones(3))


def test_arrays_of_another_default_real(device: Device, engine: Engine) -> None:
    if not device.capabilities.fp64:
        return
    with ocl.use(Runtime(device, replace(engine.settings, default_real="f64"))):
        assert SUM(1.0, 2).dtype == np.float64
