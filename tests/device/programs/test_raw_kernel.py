"""Kernels written in OpenCL C, over arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.errors import IRError
from ocl_ir.interpret.kernel import run as interpret
from ocl_ir.kernel.printer import text
from ocl_runtime.device import Device
from ocl_runtime.errors import BuildError, DTypeError, Error, NumberRangeError, ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.observe.dump import FolderDump
from ocl_runtime.runtime import Runtime
from tests.support.arrays import counting
from tests.support.programs import SCALE

SAXPY = """
__kernel void saxpy(const float a,   /* a , number */
                    __global const float *restrict x,
                    __global float *y) {
    const int i = get_global_id(0);  // one element
    y[i] += a * x[i];
}
"""


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, replace(engine.settings, streams=4))
    with ocl.use(runtime):
        yield runtime


def xy(n: int = 1000) -> tuple[Any, Any]:
    """Two arrays."""
    return ocl.asarray(np.arange(n, dtype="f4")), ocl.asarray(np.ones(n, "f4"))


@pytest.mark.parametrize("arguments", ["", "in x, inout y", "in float32[] x, inout float[] y, float32 a"])
def test_a_kernel_runs_over_arrays(runtime: Runtime, arguments: str) -> None:
    saxpy = ocl.RawKernel(SAXPY, "saxpy", arguments)
    x, y = xy()
    saxpy[1000](2.0, x, y)
    saxpy[1000, (250,)](np.float64(1), x, y)
    saxpy.groups[4, (250,)](1, x, y)
    saxpy((10,), (100,), (np.float32(1), x, y))
    saxpy[1000](y=y, x=x, a=-5)
    assert (y.numpy() == 1).all()


def test_offsets_of_views_are_passed(runtime: Runtime) -> None:
    saxpy = ocl.RawKernel(SAXPY, "saxpy", "in x, inout y")
    x, y = xy()
    with counting(runtime) as counted:
        saxpy[10](1.0, x[5:15], y[100:110])
    assert counted["memory", "allocations"] == 0
    host = np.ones(1000, "f4")
    host[100:110] += np.arange(5, 15)
    assert (y.numpy() == host).all()


def test_views_with_gaps_are_refused_by_name_or_read_by_their_strides(runtime: Runtime) -> None:
    saxpy = ocl.RawKernel(SAXPY, "saxpy")
    x, y = xy()
    with pytest.raises(ShapeError) as error:
        saxpy[10](1.0, x[::2], y)
    assert "strides (2,) for x" in str(error.value)
    assert "x.copy()" in str(error.value)
    strided = ocl.RawKernel(
        """__kernel void transposed(__global const float *x, long2 x_strides, __global float *y) {
            const size_t j = get_global_id(0), i = get_global_id(1);
            y[i * get_global_size(0) + j] = x[i * x_strides.x + j * x_strides.y];
        }""",
        "transposed",
        "in x, out y",
    )
    host = np.arange(12, dtype="f4").reshape(3, 4)
    z = ocl.empty((4, 3), dtype="f4")
    strided[3, 4](ocl.asarray(host).T, z)
    assert (z.numpy() == host.T).all()


def test_vectors_are_numbers_and_pointees(runtime: Runtime) -> None:
    kernel = ocl.RawKernel(
        """kernel void shifted(global float4 *x, const float4 by, global int x_sums[]) {
            x[get_global_id(0)] += by;
            x_sums[get_global_id(0)] = (int)dot(x[get_global_id(0)], (float4)(1));
        }""",
        "shifted",
    )
    x, sums = ocl.asarray(np.zeros(12, "f4")), ocl.zeros(4, dtype="i4")
    kernel[2](x[4:], (1, 2, 3, 4.0), sums[2:])
    assert x.numpy().tolist() == [0] * 4 + [1, 2, 3, 4] * 2
    assert sums.numpy().tolist() == [0, 0, 10, 10]
    with pytest.raises(ShapeError, match="aligned to 16 bytes"):
        kernel[1](x[1:], (1, 2, 3, 4), sums)
    with pytest.raises(DTypeError, match="give 4 numbers"):
        kernel[1](x, 1.0, sums)


def test_options_macros_types_and_templates(runtime: Runtime) -> None:
    source = """
    #define REAL float
    typedef REAL real_t;
    __kernel __attribute__((reqd_work_group_size(8, 1, 1)))
    void fill(__global real_t *x, T n) { x[get_global_id(0)] = N + n; }
    """
    fill = ocl.RawKernel(source, "fill", options=("-DN=4", "-DT=int"))
    x, _ = xy(16)
    fill[16](x, 1)
    fill.groups[2](x, 2)
    assert (x.numpy() == 6).all()
    template = "__kernel void fill(__global ${real} *x) { x[get_global_id(0)] = ${' + '.join(['1'] * n)}; }"
    ocl.RawKernel(template, "fill", values={"real": "float", "n": 3})[16](x)
    assert (x.numpy() == 3).all()
    with pytest.raises(IRError, match="cannot be rendered"):
        ocl.RawKernel(template, "fill", values={"n": 3})


@pytest.mark.parametrize(
    "parameters",
    [
        "__global float *x, __local float *t",
        "__local float *t, __global float *x",
        "__local float *t,\n__local int *u, __global float *x",
    ],
)
def test_local_memory_is_given_by_its_size(runtime: Runtime, parameters: str) -> None:
    source = (
        f"__kernel void turned({parameters})"
        """ {
        t[get_local_id(0)] = x[get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        x[get_global_id(0)] = t[get_local_size(0) - 1 - get_local_id(0)] + nowhere;
    }"""
    )
    turned = ocl.RawKernel(source.replace(" + nowhere", ""), "turned")
    x, _ = xy(64)
    names = {"u": 1} if "u" in parameters else {}
    turned[64, (16,)](x=x, t=16, **names)
    turned[64, (32,)](x=x, t=np.int64(32), **names)
    host = np.arange(64, dtype="f4").reshape(4, 16)[:, ::-1].reshape(2, 32)[:, ::-1].ravel()
    assert (x.numpy() == host).all()
    with pytest.raises(DTypeError, match="which is local memory"):
        turned[64, (16,)](x=x, t=x, **names)
    with pytest.raises(BuildError, match=f"line {4 + parameters.count(chr(10))}: "):
        ocl.RawKernel(source, "turned")[64, (16,)](x=x, t=16, **names)


def test_a_module_has_several_kernels(runtime: Runtime) -> None:
    module = ocl.RawModule(
        """float twice(float x) { return 2 * x; }
        __kernel void one(__global float *x) { x[get_global_id(0)] = twice(x[get_global_id(0)]); }
        __kernel void local_(__global float *x, __local float *t) { t[0] = x[0]; }
        __kernel void two(__global float *x);
        __kernel void two(__global float *x) { x[get_global_id(0)] += 1; }"""
    )
    x, _ = xy(8)
    with counting(runtime) as counted:
        module.kernel("one")[8](x)
        module.get_function("two")((8,), (1,), (x,))
    assert counted["program", "built"] == 1
    assert (x.numpy() == np.arange(8) * 2 + 1).all()
    with pytest.raises(Error, match="no kernel three"):
        module.kernel("three")


def test_build_errors_name_the_line_of_the_source(runtime: Runtime) -> None:
    source = SAXPY.replace("a * x[i]", "a * nowhere[i]")
    line = 1 + source[: source.index("nowhere")].count("\n")
    x, y = xy()
    with pytest.raises(BuildError) as error:
        ocl.RawKernel(source, "saxpy")[1000](1.0, x, y)
    assert f"line {line}: " in str(error.value)
    assert f"> {line:4} |     y[i] += a * nowhere[i];" in str(error.value)
    assert "written as" not in str(error.value)
    assert "remedy: correct the source" in str(error.value)
    with pytest.raises(BuildError, match=r"written as: __kernel void f\(__global int \*x\) { x\[0\] = nowhere; }"):
        ocl.RawKernel("__kernel void f(__global int *x) { x[0] = nowhere; }", "f")[1](ocl.zeros(1, dtype="i4"))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((2.0, "x"), DTypeError, "got 2 arguments"),
        ((2.0, np.ones(1000, "f4"), "y"), DTypeError, "ocl.asarray"),
        ((1j, "x", "y"), DTypeError, "takes a number of float32"),
        ((1e300, "x", "y"), NumberRangeError, "out of range"),
        ((2.0, "x64", "y"), DTypeError, "float64 for x, which points to float"),
        (("x", "x", "y"), DTypeError, "float(x)"),
    ],
)
def test_arguments_that_do_not_fit(runtime: Runtime, arguments: Any, error: type[Error], words: str) -> None:
    x, y = xy()
    named = {"x": x, "y": y, "x64": ocl.asarray(np.ones(1000))}
    args = [named[arg] if isinstance(arg, str) else arg for arg in arguments]
    with pytest.raises(error) as raised:
        ocl.RawKernel(SAXPY, "saxpy")[1000](*args)
    assert words in str(raised.value)


def test_integers_are_range_checked(runtime: Runtime) -> None:
    kernel = ocl.RawKernel("__kernel void f(__global int *x, uchar n) { x[0] = n; }", "f")
    x = ocl.zeros(1, dtype="i4")
    kernel[1](x, np.int64(200))
    assert int(x[0]) == 200
    for wrong in (256, -1):
        with pytest.raises(NumberRangeError):
            kernel[1](x, wrong)
    with pytest.raises(DTypeError):
        kernel[1](x, 1.5)


@pytest.mark.parametrize("key", [(), 0.5, (1, 2, 3, 4), (-1,), (8, (8, 8, 2)), "n", (10, (4,))])
def test_index_spaces_that_do_not_fit(runtime: Runtime, key: Any) -> None:
    with pytest.raises(ShapeError):
        ocl.RawKernel(SAXPY, "saxpy")[key]


def test_what_is_not_understood_is_refused_by_name() -> None:
    for source, words in {
        "#define K __kernel void\nK f(__global int *x) {}": "no kernel f whose prototype is written out",
        'extern "C" __global__ void f(int *x) {}': "CUDA",
        "__kernel void f(read_only image2d_t x, DIM(n)) {}": "no argument fits: DIM(n)",
        "__kernel void f(__global float **x) {}": "no argument fits",
        "__kernel void f(__global thing *x) {}": "thing",
        "__kernel void f(float *x) {}": "no argument fits",
        "__kernel void f(__global int *x) {} __kernel void g(__global int *x) { f(x); }": "the source calls kernel f",
    }.items():
        with pytest.raises(Error) as error:
            ocl.RawKernel(source, "f")
        assert words in str(error.value), source
    with pytest.raises(Error, match="none of its parameters"):
        ocl.RawKernel(SAXPY, "saxpy", "in z")
    with pytest.raises(DTypeError, match=r"its source says float \*x"):
        ocl.RawKernel(SAXPY, "saxpy", "in int32[] x")


def test_a_type_of_the_author_is_declared(runtime: Runtime) -> None:
    source = "struct s { float v; };\n__kernel void f(__global struct s *x) { x[get_global_id(0)].v *= 2; }"
    x, _ = xy(4)
    ocl.RawKernel(source, "f", "inout float32[] x")[4](x)
    assert x.numpy().tolist() == [0, 2, 4, 6]


def test_a_view_of_a_type_of_the_author(runtime: Runtime) -> None:
    source = "typedef struct { float v, w; } s;\n__kernel void f(__global s *x) { x[get_global_id(0)].w *= 2; }"
    x, _ = xy(8)
    ocl.RawKernel(source, "f", "inout float32[] x")[2](x[3:7])
    assert x.numpy().tolist() == [0, 1, 2, 3, 8, 5, 12, 7]


def test_a_generated_source_is_taken_as_it_is(runtime: Runtime) -> None:
    source = """
    __kernel void scale(const uint n, __global const float *restrict a_buffer, const ulong a_offset,
                        __global float *b_buffer, const ulong b_offset)
    {
        __global const float *a = (__global void *)((__global char *)a_buffer + a_offset);
        __global float *b = (__global void *)((__global char *)b_buffer + b_offset);
        if (get_global_id(0) < n) b[get_global_id(0)] = a[get_global_id(0)] * 3;
    }"""
    x, y = xy(64)
    ocl.RawKernel(source, "scale", "in a, out b")[64](32, x, y[16:])
    assert (y.numpy()[16:48] == np.arange(32) * 3).all()


def test_the_source_of_a_kernel_of_ours_is_edited_and_run(runtime: Runtime) -> None:
    source = runtime.executor.engine.executable(SCALE).compilation.source.text
    assert "* 0.5f" in source
    x, y = xy(64)
    scale = ocl.RawKernel(source.replace("* 0.5f", "* 4.0f"), "scale", "in a, out b")
    scale[64](60, x, y)
    assert (y.numpy()[:60] == np.arange(60) * 4 + 1).all()


def test_it_is_dumped(device: Device, engine: Engine, tmp_path: Path) -> None:
    runtime = Runtime(device, engine.settings, FolderDump(tmp_path))
    with ocl.use(runtime):
        saxpy = ocl.RawKernel(SAXPY, "saxpy")
        x, y = xy()
        saxpy[1000](1.0, x, y)
        ocl.capture(lambda x, y: saxpy[1000](1.0, x, y))(x, y)
    texts = [path.read_text() for path in tmp_path.rglob("*.cl")]
    assert any("y[i] += a * x[i];" in text for text in texts)


def test_programs_are_kept_on_disk(device: Device, engine: Engine, tmp_path: Path) -> None:
    for built, found in ((1, 0), (0, 1)):
        runtime = Runtime(device, replace(engine.settings, cache_folder=tmp_path))
        with ocl.use(runtime), counting(runtime) as counted:
            x, y = xy()
            ocl.RawKernel(SAXPY, "saxpy", options=("-DN=3",))[1000](1.0, x, y)
        assert counted["program", "built"] == built
        assert counted["program", "disk_hits"] == found


def test_two_kernels_of_one_name_and_other_macros_are_apart(runtime: Runtime) -> None:
    @ocl.capture
    def both(x: Any) -> Any:
        y = x + 0
        for n in (1, 2):
            source = f"#define N {n}\n__kernel void f(__global float *x) {{ x[get_global_id(0)] += N; }}"
            ocl.RawKernel(source, "f")[8](y)
        return y

    x, _ = xy(8)
    assert (both(x).numpy() == np.arange(8) + 3).all()


def test_a_written_pointer_may_be_an_expression_that_lies_otherwise(runtime: Runtime) -> None:
    saxpy = ocl.RawKernel(SAXPY, "saxpy", "in x, inout y")
    host = np.arange(12, dtype="f4").reshape(3, 4)
    for step in (lambda x, y: saxpy[12](2.0, x, y), ocl.capture(lambda x, y: saxpy[12](2.0, x, y))):
        x = ocl.asarray(host)
        turned, other = x.T + 0, x.T.copy()
        step(turned, other)
        assert (other.numpy() == 3 * host.T).all()
        assert (turned.numpy() == host.T).all()
        assert (x.numpy() == host).all()


def test_an_array_from_outside_stays_as_it_lies(runtime: Runtime) -> None:
    saxpy = ocl.RawKernel(SAXPY, "saxpy", "in x, inout y")
    host = np.arange(12, dtype="f4").reshape(3, 4)
    outside = (ocl.asarray(host).T + 0).compute()
    with pytest.raises(Error, match="not its own"):
        ocl.capture(lambda x: saxpy[12](1.0, x, outside))(ocl.ones(12))
    result = ocl.capture(lambda x: saxpy[12](1.0, outside, x))
    x = ocl.zeros(12)
    result(x)
    assert (x.numpy() == host.T.ravel()).all()
    assert (outside.numpy() == host.T).all()


def test_arguments_are_computed_together(runtime: Runtime) -> None:
    saxpy = ocl.RawKernel(SAXPY, "saxpy", "in x, inout y")
    for _ in range(2):
        x, _ = xy()
        shared = ocl.sin(x) * 2
        with counting(runtime) as counted:
            saxpy[1000](1.0, shared + 1, shared - 1)
    assert counted["launch", "launches"] == 2


def test_an_out_that_is_written_in_part_keeps_the_rest(runtime: Runtime) -> None:
    source = "__kernel void half_(__global float *y, int n) { if (get_global_id(0) < n) y[get_global_id(0)] = -1; }"
    kernel = ocl.RawKernel(source, "half_", "out y")

    def step(x: Any) -> Any:
        y = x * 2
        z = y.copy()
        kernel[y.size](y, y.size // 2)
        return y, z + y

    for function in (step, ocl.capture(step)):
        for n in (10, 20, 40):
            x, _ = xy(n)
            host = 2 * np.arange(n, dtype="f4")
            written = host.copy()
            written[: n // 2] = -1
            y, total = function(x)
            assert (y.numpy() == written).all()
            assert (total.numpy() == host + written).all()


def test_sizes_and_floats_of_a_captured_function_are_numbers(runtime: Runtime) -> None:
    source = "__kernel void f(__global float *y, int n, float a, half_t h) { y[get_global_id(0)] = n * a + h; }"
    kernel = ocl.RawKernel(source, "f", options=("-Dhalf_t=float",))
    calls = []

    @ocl.capture
    def step(x: Any, a: float) -> Any:
        calls.append(1)
        y = ocl.zeros_like(x)
        kernel[x.size, (1,)](y, x.size, a * 2, 1)
        return y

    for n, a in ((10, 1.0), (20, 2.5), (30, 3.5), (40, 4.5)):
        assert (step(xy(n)[0], a).numpy() == n * a * 2 + 1).all()
    assert len(calls) <= 2


def test_declared_kernels_run_beside_each_other_and_undeclared_do_not(runtime: Runtime) -> None:
    source = (
        "__kernel void f(__global const float *x, __global float *y) { y[get_global_id(0)] = x[get_global_id(0)]; }"
    )
    for arguments, waits in (("in x, out y", 0), ("", 1)):
        kernel = ocl.RawKernel(source, "f", arguments)
        x, y = xy()
        kernel[500](x[:500], y[:500])
        runtime.finish()
        with ocl.stream(1):
            kernel[500](x[:500], y[:500])
        with counting(runtime) as counted, ocl.stream(2):
            kernel[500](x[500:], y[500:])
        assert counted["stream", "waits"] == waits
        runtime.finish()


def test_a_captured_kernel_is_replayed(runtime: Runtime) -> None:
    saxpy = ocl.RawKernel(SAXPY, "saxpy", "in x, inout y")

    @ocl.capture
    def step(x: Any, a: float) -> Any:
        y = x * 2
        saxpy[x.size, (10,)](a, x, y)
        return y + 1

    for n, a in ((100, 1.0), (200, 2.0), (300, 3.0)):
        x, _ = xy(n)
        assert (step(x, a).numpy() == np.arange(n, dtype="f4") * (2 + a) + 1).all()


def test_a_prepared_kernel(runtime: Runtime) -> None:
    saxpy = ocl.RawKernel(SAXPY, "saxpy", "in x, inout y")
    x, y = xy()
    step = saxpy[1000].prepare(1.0, x, y)
    for _ in range(10):
        step()
    assert (y.numpy() == 1 + 10 * np.arange(1000)).all()


def test_it_is_printed_profiled_and_not_interpreted(device: Device, engine: Engine) -> None:
    runtime = Runtime(device, replace(engine.settings, profile=True))
    with ocl.use(runtime):
        saxpy = ocl.RawKernel(SAXPY, "saxpy")
        x, y = xy()
        saxpy[1000](1.0, x, y)
        runtime.finish()
        assert "saxpy" in str(runtime.profile())
    kernel = saxpy.kernel(())
    assert text(kernel) == "kernel saxpy(a: f32, x: global f32* restrict, y: global f32*) in OpenCL C\n"
    with pytest.raises(IRError, match="which the interpreter does not read"):
        interpret(kernel, {}, (1,))


# ---------------------------------------------------------------------- calls that come again


@pytest.fixture
def bound_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of the kernel each time a call is bound to its arguments, which calls that come again are not."""
    names: list[str] = []
    bound = ocl.RawKernel.bound

    def counted(self: ocl.RawKernel, *args: Any) -> Any:
        names.append(self.name)
        return bound(self, *args)

    monkeypatch.setattr(ocl.RawKernel, "bound", counted)
    return names


def test_calls_that_come_again_are_bound_once(runtime: Runtime, bound_calls: list[str]) -> None:
    saxpy = ocl.RawKernel(SAXPY, "saxpy")
    x, y = xy()
    for number in range(20):
        saxpy[998](number, x[1:-1], y[2:])
        if number == 3:
            bound_calls.clear()
    assert bound_calls == []
    expected = np.ones(1000)
    expected[2:] += np.arange(1, 999) * sum(range(20))
    assert (y.numpy() == expected.astype("f4")).all()


def test_numbers_of_calls_that_come_again_are_checked(runtime: Runtime) -> None:
    source = "__kernel void put(uchar a, __global int *y) { y[get_global_id(0)] = a; }"
    put, y = ocl.RawKernel(source, "put"), ocl.zeros(4, dtype="i4")
    for number in (1, 2, 3, 4, 5, 255):
        put[4](number, y)
        assert (y.numpy() == number).all()
    with pytest.raises(NumberRangeError):
        put[4](256, y)
    with pytest.raises(DTypeError):
        put[4](1.5, y)


def test_sizes_of_local_memory_tell_calls_apart(runtime: Runtime) -> None:
    source = """
    __kernel void size(__local float *t, float2 a, __global float *y) {
        t[get_local_id(0)] = a.x;
        y[get_global_id(0)] = t[get_local_id(0)] + a.y;
    }"""
    size, y = ocl.RawKernel(source, "size"), ocl.zeros(4)
    for turn in range(6):
        for count in (4, 8):
            size[4, (4,)](count, (turn, count), y)
            assert (y.numpy() == turn + count).all()


def test_arrays_that_are_written_or_turned_between_calls(runtime: Runtime) -> None:
    saxpy = ocl.RawKernel(SAXPY, "saxpy")
    x = ocl.asarray(np.arange(12, dtype="f4").reshape(3, 4).T.copy().T)
    y = ocl.zeros((3, 4))
    for turn in range(10):
        y[...] = turn
        copy = y.copy()
        saxpy[12](1, x, y)
        x = x + 1 if turn == 5 else x
        assert (copy.numpy() == turn).all()
        assert (y.numpy() == np.arange(12).reshape(3, 4) + turn + (turn > 5)).all()


def test_a_captured_kernel_gets_views_that_go_backwards(runtime: Runtime) -> None:
    kernel = ocl.RawKernel(
        "__kernel void turned(__global const float *x, __global float *y, long x_strides)"
        "{ size_t i = get_global_id(0); y[i] = x[(long)i * x_strides]; }",
        "turned",
    )

    def step(x: ocl.Array, y: ocl.Array) -> ocl.Array:
        kernel[8](x[::-1], y)
        x[:4] = 0
        kernel[3](x[5:], y[5:])
        return y

    captured = ocl.capture(step)
    for call in (step, step, captured, captured):
        with ocl.use(runtime):
            found = call(ocl.asarray(np.arange(8, dtype="f4")), ocl.zeros(8, dtype="f4").copy())
            np.testing.assert_array_equal(found.numpy(), [7, 6, 5, 4, 3, 5, 6, 7])
