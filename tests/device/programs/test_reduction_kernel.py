"""Reductions and scans from expressions, of CuPy's and of PyOpenCL's kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, Error, ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import counting

NORM = ocl.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
SUM = ocl.ReductionKernel("T x, T w", "T y", "x * w", "a + b", "y = a", "0", "weighted")
HOST = np.random.default_rng(0).integers(-4, 5, (6, 5, 7)).astype("f4")
SIZES = (1, 2, 63, 64, 65, 1000, 4097, 65536, 65537, 300_001)


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (2, 1), (0, 1, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_along_axes(runtime: Runtime, axis: Any, keepdims: bool) -> None:
    x = ocl.asarray(HOST)
    for view, host in ((x, HOST), (x[::2, :, 1:], HOST[::2, :, 1:]), (x.T, HOST.T)):
        result = NORM(view, axis=axis, keepdims=keepdims)
        expected = np.sqrt((host * host).sum(axis=axis, keepdims=keepdims))
        assert result.shape == expected.shape
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)


def test_arguments_are_broadcast(runtime: Runtime) -> None:
    x, w = ocl.asarray(HOST), ocl.asarray(HOST[0, 0])
    assert (SUM(x, w, axis=1).numpy() == (HOST * HOST[0, 0]).sum(1)).all()
    assert (SUM(x, 2, axis=2).numpy() == (HOST * 2).sum(2)).all()
    out = ocl.zeros((6, 7))
    half = out[:, ::1]
    assert SUM(x, w, axis=1, out=half) is half
    assert (out.numpy() == (HOST * HOST[0, 0]).sum(1)).all()
    with pytest.raises(ShapeError, match="an out of shape"):
        SUM(x, w, axis=0, out=half)


@pytest.mark.parametrize("size", SIZES)
def test_all_lengths(runtime: Runtime, size: int) -> None:
    host = np.random.default_rng(size).integers(0, 9, size).astype("i4")
    x = ocl.asarray(host)
    dot = ocl.ReductionKernel(np.int64, "0", "a + b", "(long)x[i] * y[i]", "const int *x, const int *y")
    assert int(dot(x, x)) == (host.astype("i8") ** 2).sum()
    largest = ocl.ReductionKernel("T x", "T y, int64 twice", "x", "max(a, b)", "y = a; twice = 2 * a", "-1")
    y, twice = largest(x)
    assert (int(y), int(twice)) == (host.max(), 2 * host.max())


def test_nothing_gives_the_neutral_element(runtime: Runtime) -> None:
    assert float(NORM(ocl.zeros(0))) == 0
    assert NORM(ocl.zeros((0, 3)), axis=0).numpy().tolist() == [0, 0, 0]
    assert NORM(ocl.zeros((3, 0)), axis=0).shape == (0,)
    least = ocl.ReductionKernel(np.float32, "INFINITY", "min(a, b)", arguments="const float *x")
    assert float(least(ocl.zeros(0))) == np.inf
    assert float(least(ocl.asarray(HOST[0, 0]))) == HOST[0, 0].min()


def test_a_total_of_another_type(runtime: Runtime) -> None:
    count = ocl.ReductionKernel("T x", "int32 n", "x > 0", "a + b", "n = a", "0", "count", reduce_type="int64")
    assert int(count(ocl.asarray(HOST))) == (HOST > 0).sum()
    assert count(ocl.asarray(HOST)).dtype == np.int32


def test_the_same_bits_each_time_and_one_source(runtime: Runtime) -> None:
    x = ocl.asarray(np.random.default_rng(1).random(100_000, dtype="f4"))
    first = NORM(x).numpy().tobytes()
    with counting(runtime) as counted:
        assert all(NORM(x).numpy().tobytes() == first for _ in range(5))
        NORM(x[:50_000])
    assert counted["launch", "compiled"] == 0


def test_captured_reductions(runtime: Runtime) -> None:
    @ocl.capture
    def step(x: Any, a: float) -> Any:
        return SUM(x * 2, a, axis=1), NORM(x)

    for n in (10, 20, 30):
        host = np.arange(3 * n, dtype="f4").reshape(3, n)
        total, norm = step(ocl.asarray(host), float(n))
        assert (total.numpy() == (host * 2 * n).sum(1)).all()
        np.testing.assert_allclose(float(norm), np.sqrt((host * host).sum()), rtol=1e-6)


def test_reductions_that_are_refused(runtime: Runtime) -> None:
    with pytest.raises(DTypeError, match="without an array to reduce"):
        ocl.ReductionKernel(np.float32, "0", "a + b", "i", "int n")
    with pytest.raises(DTypeError, match="takes float4 for x"):
        ocl.ReductionKernel(np.float32, "0", "a + b", "x[i].x", "float4 *x")
    with pytest.raises(DTypeError, match="asarray"):
        NORM(HOST)
    with pytest.raises(ShapeError, match="axis 3"):
        NORM(ocl.asarray(HOST), axis=3)


# ---------------------------------------------------------------------- scans


@pytest.mark.parametrize("size", SIZES)
def test_scans_of_all_lengths(runtime: Runtime, size: int) -> None:
    host = np.random.default_rng(size).integers(-5, 9, size).astype("i4")
    x, y, count = ocl.asarray(host), ocl.zeros(size, dtype="i4"), ocl.zeros(1, dtype="i4")
    assert ocl.ScanKernel(np.int32, "max(a, b)", exclusive=True, neutral="-100")(x, y) is y
    assert (y.numpy() == np.concatenate([[-100], np.maximum.accumulate(host)[:-1]])).all()
    compact = ocl.ScanKernel(
        np.int32,
        "a + b",
        "0",
        arguments="const int *x, int *y, int *count, int most",
        input_expr="x[i] > 0 && x[i] < most",
        output_statement="if (item > prev_item) y[item - 1] = x[i]; if (i == N - 1) *count = last_item;",
        name="compact",
    )
    compact(x, y, count, 7)
    assert (y.numpy()[: int(count[0])] == host[(host > 0) & (host < 7)]).all()
    before = x.copy()
    assert ocl.ScanKernel(np.int32, "a + b")(x) is x
    assert (x.numpy() == np.cumsum(host)).all()
    assert (before.numpy() == host).all()


def test_a_scan_keeps_the_order_of_what_it_joins(runtime: Runtime) -> None:
    host = np.random.default_rng(3).integers(0, 2, 10_000).astype("u4")
    shift = ocl.ScanKernel(np.uint32, "(a & 0xffff0000) == 0 ? (b << 16 | (a & 0xffff)) : a", neutral="0")
    x = ocl.asarray(host)
    last = ocl.ScanKernel(np.uint32, "b", neutral="0")(ocl.asarray(host), ocl.zeros(10_000, dtype="u4"))
    first = ocl.ScanKernel(np.uint32, "a", neutral="0")(x, ocl.zeros(10_000, dtype="u4"))
    assert shift.name == "scan"
    assert (last.numpy() == host).all()
    assert (first.numpy() == host[0]).all()


def test_scans_over_nothing_and_over_views(runtime: Runtime) -> None:
    running = ocl.ScanKernel(np.int64, "a + b")
    assert running(ocl.zeros(0, dtype="i8")).shape == (0,)
    x = ocl.asarray(np.arange(20))
    running(x[5:15])
    host = np.arange(20)
    host[5:15] = host[5:15].cumsum()
    assert (x.numpy() == host).all()
    with pytest.raises(ShapeError, match="view with gaps"):
        running(x[::2])
    assert (running(x[::2], ocl.zeros(10, dtype="i8")).numpy() == host[::2].cumsum()).all()


def test_captured_scans(runtime: Runtime) -> None:
    running = ocl.ScanKernel(np.int64, "a + b")
    step = ocl.capture(lambda x: running(x * 2))
    for n in (10, 1000):
        assert (step(ocl.asarray(np.arange(n))).numpy() == np.cumsum(np.arange(n) * 2)).all()


def test_scans_that_are_refused(runtime: Runtime) -> None:
    with pytest.raises(Error, match="the item before the first one"):
        ocl.ScanKernel(np.int32, "a + b", exclusive=True)
    with pytest.raises(Error, match="give a dtype and the expression"):
        ocl.ScanKernel(np.int32)
    with pytest.raises(Error, match="without an array"):
        ocl.ScanKernel(np.int32, "a + b", arguments="int n", input_expr="n", output_statement="")
    with pytest.raises(DTypeError, match="array of float32"):
        ocl.ScanKernel(np.int32, "a + b")(ocl.ones(3))
