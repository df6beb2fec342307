"""Kernel objects: without the Python that PyOpenCL writes for each, and as PyOpenCL makes them for everybody else."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from pyopencl import invoker

import ocl_runtime as ocl
from ocl_runtime.codegen import driver
from ocl_runtime.device import Device, kernel_objects
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime

SOURCE = """
__kernel void scaled(__global const float* x, ulong at, __global float* y, float factor, char step, ushort width) {
    const size_t i = get_global_id(0);
    y[i] = x[at + i] * factor + step * width;
}
"""
TYPES = (None, np.uint64, None, np.float32, np.int8, np.uint16)
HOST = np.arange(12, dtype="f4")


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels for whose arguments PyOpenCL has written Python."""
    names: list[str] = []
    check = invoker._check_arg_size
    monkeypatch.setattr(invoker, "_check_arg_size", lambda name, *more: names.append(name) or check(name, *more))
    return names


@pytest.fixture
def program(device: Device, engine: Engine) -> Any:
    """Whose kernels are made by anybody; the engine has made its driver."""
    context = cl.Context([device.cl])
    return driver.build(context, device, SOURCE)._program, context


def _launched(kernel: Any, context: Any, *numbers: Any) -> np.ndarray:
    queue, found = cl.CommandQueue(context), np.zeros(8, "f4")
    x, y = (cl.Buffer(context, cl.mem_flags.READ_WRITE, HOST.nbytes) for _ in range(2))
    cl.enqueue_copy(queue, x, HOST)
    at, *rest = numbers
    kernel.set_args(x, at, y, *rest)
    cl.enqueue_nd_range_kernel(queue, kernel, (8,), None)
    cl.enqueue_copy(queue, found, y)
    return found


def test_nothing_is_written_for_ours(device: Device, engine: Engine, written: list[str]) -> None:
    with ocl.use(Runtime(device, engine.settings)):
        x = ocl.asarray(HOST)
        for turn in range(12):
            x = ocl.cumulative_sum(x * 0.5 + turn)
            x.compute()
        assert x.numpy().shape == HOST.shape
    assert not written


def test_arguments_of_all_kinds(program: Any, written: list[str]) -> None:
    kernels, context = program
    kernel = kernel_objects.new_kernel(kernels, "scaled")
    kernel_objects.set_types(kernel, TYPES)
    for at, factor, step, width in ((3, 0.5, -7, 65_535), (0, -2.0, 1, 2), (4, 1e-3, 127, 0)):
        found = _launched(kernel, context, at, factor, step, width)
        np.testing.assert_array_equal(found, HOST[at : at + 8] * np.float32(factor) + np.float32(step * width))
    assert not written


def test_what_pyopencl_does_not_pack_is_left_to_it(device: Device, engine: Engine, written: list[str]) -> None:
    if not device.capabilities.fp16:
        pytest.skip("the device has no cl_khr_fp16")
    context = cl.Context([device.cl])
    source = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n__kernel void k(__global float* y, half h) { *y = h; }"
    kernel = kernel_objects.new_kernel(driver.build(context, device, source)._program, "k")
    kernel_objects.set_types(kernel, (None, np.float16))
    assert written == ["k"]
    queue, found = cl.CommandQueue(context), np.zeros(1, "f4")
    y = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)
    kernel.set_args(y, 0.25)
    cl.enqueue_nd_range_kernel(queue, kernel, (1,), None)
    cl.enqueue_copy(queue, found, y)
    assert found[0] == 0.25


def test_kernels_of_the_user_are_pyopencls(program: Any, written: list[str]) -> None:
    kernels, context = program
    theirs = cl.Kernel(kernels, "scaled")
    assert written == ["scaled"]
    numbers = np.uint64(2), np.float32(3), np.int8(1), np.uint16(5)
    np.testing.assert_array_equal(_launched(theirs, context, *numbers), HOST[2:10] * 3 + 5)
    with pytest.raises(TypeError):
        theirs.set_args()


def test_kernels_of_the_user_are_pyopencls_in_other_threads_meanwhile(program: Any, written: list[str]) -> None:
    kernels, _ = program
    ended = threading.Event()

    def make_ours() -> None:
        while not ended.is_set():
            kernel_objects.set_types(kernel_objects.new_kernel(kernels, "scaled"), TYPES)

    thread = threading.Thread(target=make_ours)
    thread.start()
    for _ in range(200):
        cl.Kernel(kernels, "scaled")
    ended.set()
    thread.join()
    assert written == ["scaled"] * 200


def test_an_object_that_was_taken_for_ours_works(program: Any) -> None:
    """As where a handler of a signal makes one just then: without types it takes what PyOpenCL's takes."""
    kernels, context = program
    kernel = kernel_objects.new_kernel(kernels, "scaled")
    numbers = np.uint64(2), np.float32(3), np.int8(1), np.uint16(5)
    np.testing.assert_array_equal(_launched(kernel, context, *numbers), HOST[2:10] * 3 + 5)
    queue, found = cl.CommandQueue(context), np.zeros(8, "f4")
    x, y = (cl.Buffer(context, cl.mem_flags.READ_WRITE, HOST.nbytes) for _ in range(2))
    cl.enqueue_copy(queue, x, HOST)
    at, *rest = numbers
    kernel(queue, (8,), None, x, at, y, *rest).wait()
    cl.enqueue_copy(queue, found, y)
    np.testing.assert_array_equal(found, HOST[2:10] * 3 + 5)
