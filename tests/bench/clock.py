"""Seconds on the device's own clock."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import numpy as np
import pyopencl as cl

import ocl_runtime as ocl
from ocl_runtime.plan.planner import plan
from tests.support.planned import arguments


def on_the_devices_clock(runtime: ocl.Runtime, enqueue: Callable[[cl.CommandQueue], list[cl.Event]]) -> float:
    """Seconds that commands take together on the device's own clock: the median of some runs."""
    properties = cl.command_queue_properties.PROFILING_ENABLE
    queue = cl.CommandQueue(runtime.executor.engine.opencl.context, runtime.device.cl, properties)
    times = []
    for _ in range(18):
        events = enqueue(queue)
        queue.finish()
        times.append(sum(event.profile.end - event.profile.start for event in events) * 1e-9)
    return statistics.median(times[3:])


def device_seconds(runtime: ocl.Runtime, expression: ocl.Array) -> float:
    """Seconds that the launches of an expression take together on the device's clock."""
    engine, planned = runtime.executor.engine, plan([expression._node], runtime.executor)

    def launch_all(queue: cl.CommandQueue) -> list[cl.Event]:
        events = []
        for launch in planned.launches:
            args = arguments(launch)
            made = engine.prepare(launch.kernel, args, launch.global_size, launch.group_size)
            events.append(engine.driver.launch(queue, made.executable.handle(), made.args, made.sizes, None, ()))
        return events

    return on_the_devices_clock(runtime, launch_all)


def copy_bandwidth(runtime: ocl.Runtime, nbytes: int) -> float:
    """Bytes read and written in a second by the faster of the driver's own copy and a plain float4 kernel."""
    context = runtime.executor.engine.opencl.context
    source, target = (cl.Buffer(context, cl.mem_flags.READ_WRITE, nbytes) for _ in range(2))
    with cl.CommandQueue(context) as queue:
        cl.enqueue_fill_buffer(queue, source, np.float32(1.5), 0, nbytes)
    body = "{ y[get_global_id(0)] = x[get_global_id(0)]; }"
    text = f"__kernel void copy(__global const float4 *x, __global float4 *y) {body}"
    kernel = cl.Kernel(cl.Program(context, text).build(), "copy")
    kernel.set_args(source, target)
    ways: tuple[Callable[[cl.CommandQueue], list[cl.Event]], ...] = (
        lambda queue: [cl.enqueue_copy(queue, target, source, byte_count=nbytes)],
        lambda queue: [cl.enqueue_nd_range_kernel(queue, kernel, (nbytes // 16,), None)],
    )
    return 2 * nbytes / min(on_the_devices_clock(runtime, way) for way in ways)
