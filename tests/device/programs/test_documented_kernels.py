"""Kernels as the documentation of PyOpenCL and CuPy shows them run with another import.

What CuPy's documentation writes in CUDA C is in OpenCL C here. A context stays where PyOpenCL has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyopencl
import pytest

import ocl_runtime as cp
import ocl_runtime as ocl
import ocl_runtime.tools
from ocl_runtime import ElementwiseKernel, RawModule, ReductionKernel
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


@pytest.fixture(scope="module")
def context(device: Device) -> Any:
    return pyopencl.Context([device.cl])


RNG = np.random.default_rng(0)
A, B = (RNG.random(50_000, dtype="f4") for _ in range(2))
ROWS = np.arange(10, dtype=np.float32).reshape(2, 5)
FIVE = np.arange(5, dtype=np.float32)


def close(x: Any, expected: Any) -> None:
    np.testing.assert_allclose(x.numpy() if hasattr(x, "numpy") else x, expected, rtol=2e-5, atol=1e-6)


# ---------------------------------------------------------------------- CuPy: elementwise


def test_squared_difference(runtime: Runtime) -> None:
    squared_diff = cp.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared_diff")
    x = cp.arange(10, dtype=np.float32).reshape(2, 5)
    y = cp.arange(5, dtype=np.float32)
    close(squared_diff(x, y), (ROWS - FIVE) ** 2)
    close(squared_diff(x, 5), (ROWS - 5) ** 2)
    z = cp.empty((2, 5), dtype=np.float32)
    squared_diff(x, y, z)
    close(z, (ROWS - FIVE) ** 2)


def test_squared_difference_of_any_type(runtime: Runtime) -> None:
    squared_diff_generic = cp.ElementwiseKernel(
        "T x, T y",
        "T z",
        """
            T diff = x - y;
            z = diff * diff;
        """,
        "squared_diff_generic",
    )
    close(squared_diff_generic(cp.asarray(ROWS), cp.asarray(FIVE)), (ROWS - FIVE) ** 2)
    integers = squared_diff_generic(cp.arange(5), 2)
    assert integers.dtype == np.int64
    assert integers.numpy().tolist() == [4, 1, 0, 1, 4]


def test_squared_difference_of_two_types(runtime: Runtime) -> None:
    squared_diff_super_generic = cp.ElementwiseKernel(
        "X x, Y y", "Z z", "z = (x - y) * (x - y)", "squared_diff_super_generic"
    )
    z = cp.empty((2, 5), dtype=np.float32)
    squared_diff_super_generic(cp.asarray(ROWS), cp.arange(5, dtype=np.int32), z)
    close(z, (ROWS - FIVE) ** 2)


def test_add_reverse(runtime: Runtime) -> None:
    add_reverse = cp.ElementwiseKernel("T x, raw T y", "T z", "z = x + y[_ind.size() - i - 1]", "add_reverse")
    close(add_reverse(cp.asarray(A), cp.asarray(B)), A + B[::-1])


def test_saxpy(runtime: Runtime) -> None:
    saxpy = cp.ElementwiseKernel("T a, T x, T y", "T z", "z = a * x + y", "saxpy")
    close(saxpy(2.5, cp.asarray(A), cp.asarray(B)), np.float32(2.5) * A + B)


def test_several_results_and_a_preamble(runtime: Runtime) -> None:
    polar = cp.ElementwiseKernel(
        "T x, T y",
        "T r, T phi",
        "r = length_of(x, y); phi = atan2(y, x)",
        "polar",
        preamble="static float length_of(float x, float y) { return sqrt(x * x + y * y); }",
    )
    r, phi = polar(cp.asarray(A), cp.asarray(B))
    close(r, np.hypot(A, B))
    close(phi, np.arctan2(B, A))


# ---------------------------------------------------------------------- CuPy: reductions


def test_l2norm(runtime: Runtime) -> None:
    l2norm_kernel = cp.ReductionKernel(
        "T x",  # input params
        "T y",  # output params
        "x * x",  # map
        "a + b",  # reduce
        "y = sqrt(a)",  # post-reduction map
        "0",  # identity value
        "l2norm",  # kernel name
    )
    x = cp.arange(10, dtype=np.float32).reshape(2, 5)
    close(l2norm_kernel(x, axis=1), np.sqrt((ROWS**2).sum(1)))
    close(l2norm_kernel(x), np.sqrt((ROWS**2).sum()))


def test_mean_squared_error(runtime: Runtime) -> None:
    mse = cp.ReductionKernel("T x, T y, float32 n", "T z", "(x - y) * (x - y)", "a + b", "z = a", "0", "mse")
    close(float(mse(cp.asarray(A), cp.asarray(B), 1.0)) / A.size, ((A - B).astype("f8") ** 2).mean())


# ---------------------------------------------------------------------- CuPy: raw kernels, in OpenCL C


def test_raw_add(runtime: Runtime) -> None:
    add_kernel = cp.RawKernel(
        r"""
        __kernel void my_add(__global const float* x1, __global const float* x2, __global float* y) {
            int tid = get_local_size(0) * get_group_id(0) + get_local_id(0);
            y[tid] = x1[tid] + x2[tid];
        }
        """,
        "my_add",
    )
    x1 = cp.arange(25, dtype=np.float32).reshape(5, 5)
    x2 = cp.arange(25, dtype=np.float32).reshape(5, 5)
    y = cp.zeros((5, 5), dtype=np.float32)
    add_kernel((5,), (5,), (x1, x2, y))  # grid, block and arguments
    close(y, 2 * np.arange(25).reshape(5, 5))


def test_raw_module(runtime: Runtime) -> None:
    loaded_from_source = r"""
    __kernel void test_sum(__global const float* x1, __global const float* x2, __global float* y, unsigned int N)
    {
        unsigned int tid = get_global_id(0);
        if (tid < N)
            y[tid] = x1[tid] + x2[tid];
    }

    __kernel void test_multiply(__global const float* x1, __global const float* x2, __global float* y, unsigned int N)
    {
        unsigned int tid = get_global_id(0);
        if (tid < N)
            y[tid] = x1[tid] * x2[tid];
    }
    """
    module = cp.RawModule(loaded_from_source)
    ker_sum = module.get_function("test_sum")
    ker_times = module.get_function("test_multiply")
    N = 10
    x1 = cp.arange(N**2, dtype=np.float32).reshape(N, N)
    x2 = cp.ones((N, N), dtype=np.float32)
    y = cp.zeros((N, N), dtype=np.float32)
    ker_sum((N,), (N,), (x1, x2, y, N**2))
    close(y, np.arange(N**2).reshape(N, N) + 1)
    ker_times((N,), (N,), (x1, x2, y, N**2))
    close(y, np.arange(N**2).reshape(N, N))


# ---------------------------------------------------------------------- PyOpenCL: elementwise, reductions, scans


def test_linear_combination(runtime: Runtime, context: Any) -> None:
    lin_comb = ElementwiseKernel(
        context,
        "float k1, float *a_g, float k2, float *b_g, float *res_g",
        "res_g[i] = k1 * a_g[i] + k2 * b_g[i]",
        "lin_comb",
    )
    a_g, b_g = ocl.asarray(A), ocl.asarray(B)
    res_g = ocl.empty_like(a_g)
    lin_comb(2, a_g, 3, b_g, res_g)
    close(res_g, 2 * A + 3 * B)


def test_elementwise_with_a_function(runtime: Runtime, context: Any) -> None:
    clipped = ElementwiseKernel(
        context, "float *x, float *out", "out[i] = limit(x[i])", "clipped",
        preamble="float limit(float x) { return fmin(x, 0.5f); }",
    )  # fmt: skip
    x = ocl.asarray(A)
    clipped(x, x)
    close(x, np.minimum(A, 0.5))


def test_dot_product(runtime: Runtime, context: Any) -> None:
    krnl = ReductionKernel(
        context,
        np.float32,
        neutral="0",
        reduce_expr="a+b",
        map_expr="x[i]*y[i]",
        arguments="__global float *x, __global float *y",
    )
    my_dot_prod = krnl(ocl.asarray(A), ocl.asarray(B))
    close(my_dot_prod, np.dot(A.astype("f8"), B))


def test_sum_of_counts(runtime: Runtime, context: Any) -> None:
    sum_krnl = ReductionKernel(context, np.int32, neutral="0", reduce_expr="a+b", map_expr="x[i]", arguments="int *x")
    assert int(sum_krnl(ocl.arange(1000, dtype=np.int32))) == 499_500


def test_minimum_and_maximum_at_once(runtime: Runtime, context: Any) -> None:
    mmc_dtype = np.dtype([("cur_min", np.int32), ("cur_max", np.int32), ("pad", np.int32)])
    name = "minmax_collector"
    mmc_dtype, mmc_c_decl = ocl_runtime.tools.match_dtype_to_c_struct(context.devices[0], name, mmc_dtype)
    mmc_dtype = ocl_runtime.tools.get_or_register_dtype(name, mmc_dtype)
    preamble = (
        mmc_c_decl
        + r"""//CL//

    minmax_collector mmc_neutral()
    {
        // FIXME: needs infinity literal in real use, ok here
        minmax_collector result;
        result.cur_min = 1<<30;
        result.cur_max = -(1<<30);
        return result;
    }

    minmax_collector mmc_from_scalar(float x)
    {
        minmax_collector result;
        result.cur_min = x;
        result.cur_max = x;
        return result;
    }

    minmax_collector agg_mmc(minmax_collector a, minmax_collector b)
    {
        minmax_collector result = a;
        if (b.cur_min < result.cur_min)
            result.cur_min = b.cur_min;
        if (b.cur_max > result.cur_max)
            result.cur_max = b.cur_max;
        return result;
    }

    """
    )
    a = RNG.integers(0, 10**6, 20_000).astype(np.int32)
    a_gpu = ocl.asarray(a)
    red = ReductionKernel(
        context,
        mmc_dtype,
        neutral="mmc_neutral()",
        reduce_expr="agg_mmc(a, b)",
        map_expr="mmc_from_scalar(x[i])",
        arguments="__global int *x",
        preamble=preamble,
    )
    minmax = red(a_gpu).get()
    assert abs(minmax["cur_min"] - np.min(a)) < 1e-5
    assert abs(minmax["cur_max"] - np.max(a)) < 1e-5


def test_inclusive_scan(runtime: Runtime, context: Any) -> None:
    knl = ocl.ScanKernel(context, np.int32, "a+b")
    host_data = RNG.integers(0, 10, 2**16 - 5).astype(np.int32)
    dev_data = ocl.asarray(host_data)
    knl(dev_data)
    assert (dev_data.numpy() == np.cumsum(host_data, axis=0)).all()


def test_generic_scan(runtime: Runtime, context: Any) -> None:
    knl = ocl.ScanKernel(
        context,
        np.int32,
        arguments="__global int *ary",
        input_expr="ary[i]",
        scan_expr="a+b",
        neutral="0",
        output_statement="ary[i] = item;",
    )
    a = ocl.arange(10000, dtype=np.int32)
    knl(a)
    assert (a.numpy() == np.arange(10000).cumsum()).all()


def test_copy_if(runtime: Runtime, context: Any) -> None:
    knl = ocl.ScanKernel(
        context,
        np.int32,
        arguments="const int *ary, int *out, int *count",
        input_expr="(ary[i] > 300) ? 1 : 0",
        scan_expr="a+b",
        neutral="0",
        output_statement="if (prev_item != item) out[item-1] = ary[i]; if (i+1 == N) *count = item;",
    )
    host = RNG.integers(0, 1000, 5000).astype(np.int32)
    out, count = ocl.zeros(5000, dtype=np.int32), ocl.zeros(1, dtype=np.int32)
    knl(ocl.asarray(host), out, count)
    assert (out.numpy()[: int(count[0])] == host[host > 300]).all()


# ---------------------------------------------------------------------- PyOpenCL: programs


def test_demo(runtime: Runtime) -> None:
    prg = RawModule("""
    __kernel void sum(
        __global const float *a_g, __global const float *b_g, __global float *res_g)
    {
      int gid = get_global_id(0);
      res_g[gid] = a_g[gid] + b_g[gid];
    }
    """)
    a_g, b_g = ocl.asarray(A), ocl.asarray(B)
    res_g = ocl.empty_like(a_g)
    knl = prg.kernel("sum")
    knl[A.shape](a_g, b_g, res_g)
    close(res_g, A + B)


def test_transposition(runtime: Runtime) -> None:
    source = """
    __kernel __attribute__((reqd_work_group_size(16, 16, 1)))
    void transpose(__global float *out, __global const float *x, unsigned width, unsigned height, __local float *tile)
    {
        const int i = get_local_id(0), j = get_local_id(1);
        const int left = 16 * get_group_id(0), top = 16 * get_group_id(1);
        tile[j * 17 + i] = x[(top + j) * width + left + i];
        barrier(CLK_LOCAL_MEM_FENCE);
        out[(left + j) * height + top + i] = tile[i * 17 + j];
    }
    """
    host = RNG.random((48, 80), dtype="f4")
    tgt, src = ocl.empty((80, 48), dtype=np.float32), ocl.asarray(host)
    h, w = host.shape
    ocl.RawKernel(source, "transpose")[w, h](tgt, src, w, h, pyopencl.LocalMemory(4 * 16 * 17))
    assert (tgt.numpy() == host.T).all()


def test_matrix_multiplication(runtime: Runtime) -> None:
    kernel_code = """
    __kernel __attribute__((reqd_work_group_size(${block}, ${block}, 1)))
    void multiply(__global float *c, __global const float *a, __global const float *b, int inner, int columns)
    {
        __local float rows[${block}][${block}], cols[${block}][${block}];
        const int x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
        float total = 0;
        for (int first = 0; first < inner; first += ${block}) {
            rows[y][x] = a[row * inner + first + x];
            cols[y][x] = b[(first + y) * columns + column];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int k = 0; k < ${block}; ++k)
                total += rows[y][k] * cols[k][x];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        c[row * columns + column] = total;
    }
    """
    a, b = RNG.random((32, 48), dtype="f4"), RNG.random((48, 16), dtype="f4")
    c = ocl.empty((32, 16), dtype=np.float32)
    matrix_mul = ocl.RawKernel(kernel_code, "multiply", values={"block": 16})
    matrix_mul[16, 32](c, ocl.asarray(a), ocl.asarray(b), 48, 16)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-5)


def test_mandelbrot(runtime: Runtime) -> None:
    prg = RawModule("""
    __kernel void mandelbrot(__global const float2 *q, __global ushort *output, ushort const maxiter)
    {
        const int place = get_global_id(0);
        float2 z = 0;
        output[place] = 0;
        for (int turn = 0; turn < maxiter; ++turn) {
            z = (float2)(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + q[place];
            if (dot(z, z) > 4) {
                output[place] = turn;
                break;
            }
        }
    }
    """)
    re, im = np.meshgrid(np.linspace(-2, 1, 30, dtype="f4"), np.linspace(-1, 1, 20, dtype="f4"))
    q = np.stack([re.ravel(), im.ravel()], axis=1)
    output = ocl.empty(len(q), dtype=np.uint16)
    prg.kernel("mandelbrot")[len(q)](ocl.asarray(q), output, 20)
    inside = output.numpy().reshape(20, 30)[10] == 0
    assert inside[20]
    assert not inside[29]


def test_a_template(runtime: Runtime) -> None:
    template = """
    __kernel void add(__global ${type_name} *out, __global const ${type_name} *x, __global const ${type_name} *y)
    {
        const int first = get_group_id(0) * ${local_size * strides} + get_local_id(0);
    % for stride in range(strides):
        out[first + ${stride * local_size}] = x[first + ${stride * local_size}] + y[first + ${stride * local_size}];
    % endfor
    }"""
    values = {"type_name": "float", "local_size": 16, "strides": 4}
    a, b = ocl.asarray(A[:6400]), ocl.asarray(B[:6400])
    c = ocl.empty_like(a)
    ocl.RawKernel(template, "add", values=values).groups[100, (16,)](c, a, b)
    close(c, A[:6400] + B[:6400])


def test_histogram_with_atomics(runtime: Runtime) -> None:
    histogram = ocl.RawKernel(
        """
        __kernel void histogram(__global const uchar *data, __global int *bins, const int n) {
            for (int i = get_global_id(0); i < n; i += get_global_size(0))
                atomic_inc(&bins[data[i]]);
        }
        """,
        "histogram",
        "in data, inout bins",
    )
    host = RNG.integers(0, 256, 10_000).astype(np.uint8)
    bins = ocl.zeros(256, dtype=np.int32)
    histogram[1024](ocl.asarray(host), bins, host.size)
    assert (bins.numpy() == np.bincount(host, minlength=256)).all()
