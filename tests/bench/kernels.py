#!/usr/bin/env python3
"""Classic kernels in the kernel language against the same in OpenCL C by hand, launched through PyOpenCL.

    python tests/bench/kernels.py [--device WORDS] [--check]

Both use the same algorithm, tiles and groups, in one process and one queue, by turns, on the device's own clock. Then,
what the first launch of each takes: translating Python, making source, and the driver's build beside that of the kernel
by hand. Last, what the host pays for a prepared launch over an enqueue with its arguments set.
"""

from __future__ import annotations

import itertools
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyopencl as cl
from figures import Figure, main
from host_path import best as best_of_rounds
from host_path import idle

import ocl_runtime as ocl
from ocl_ir.graph.build import Buffer
from ocl_ir.language.translate import Translation
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.execute.launch import Launch as Prepared
from ocl_runtime.language import global_id
from ocl_runtime.programs.kernels.variants import numbers_of
from tests.support.classic_kernels import CLASSICS
from tests.support.classic_kernels.by_hand import ByHand
from tests.support.classic_kernels.classic import Classic, Launch, Problem, check, named

RATIO, OVERHEAD = 1.1, 4.0
ROUNDS, RUNS = 5, 5
LAUNCHES = 2000

Enqueue = Callable[[], list[cl.Event]]


class InTheLanguage:
    """The kernels in the language, in the memory of those by hand: where buffers lie changes times on CPUs by half."""

    def __init__(self, runtime: ocl.Runtime, queue: cl.CommandQueue, problem: Problem, by_hand: ByHand) -> None:
        self._engine, self._queue, self._buffers = runtime.executor.engine, queue, by_hand.buffers
        self._arrays = {name: ocl.asarray(x) for name, x in problem.arrays.items()}
        self._launches = [self._prepared(launch) for launch in problem.launches if 0 not in launch.groups]

    def _prepared(self, launch: Launch) -> Prepared:
        args = named(launch.arguments, self._arrays)
        translation, _, items = launch.kernel.groups[launch.groups].inspected(args, {})
        arguments = launch.kernel.arguments(launch.kernel.bound(args, {})[0])
        computed = [x._computed() for x in arguments.arrays]

        def buffer(path: tuple[object, ...]) -> Buffer:
            return computed[arguments.array_index(path)]

        passed = numbers_of(translation, arguments.numbers, lambda path: buffer(path).layout, items, buffer)
        addressed = [(arg.storage, arg.layout.offset) if isinstance(arg, Buffer) else arg for arg in passed]
        prepared = self._engine.prepare(translation.kernel, addressed, launch.items, launch.group)
        names = {id(self._arrays[name]._computed().storage): name for name in self._arrays}
        values = list(prepared.args)
        for (position, _), storage in zip(prepared.pointers, prepared.storages, strict=True):
            values[position : position + 2] = [self._buffers[names[id(storage)]], 0]
        prepared.args = tuple(values)
        return prepared

    def enqueue(self) -> list[cl.Event]:
        """Launches all kernels."""
        launch = self._engine.driver.launch
        return [
            launch(self._queue, each.executable.handle(), each.args, each.sizes, None, ()) for each in self._launches
        ]


def compared(queue: cl.CommandQueue, by_hand: ByHand, enqueues: Sequence[Enqueue]) -> list[float]:
    """Seconds that each way takes on the device's own clock, by turns: medians of a few runs, and of these the best of
    some rounds."""

    def kernel_seconds(enqueue: Enqueue) -> float:
        by_hand.restore()
        queue.finish()
        events = enqueue()
        queue.finish()
        return sum(event.profile.end - event.profile.start for event in events) * 1e-9

    for enqueue in enqueues:
        kernel_seconds(enqueue)
    rounds = []
    for _ in range(ROUNDS):
        turns = [[kernel_seconds(enqueue) for enqueue in enqueues] for _ in range(RUNS)]
        rounds.append([statistics.median(times) for times in zip(*turns, strict=True)])
    return [min(times) for times in zip(*rounds, strict=True)]


def ratio(runtime: ocl.Runtime, classic: Classic) -> Figure:
    """The kernels in the language against those by hand, both checked against NumPy."""
    context = runtime.executor.engine.opencl.context
    problem = classic.problem(*classic.real)
    with cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE) as queue:
        by_hand = ByHand(context, queue, classic, problem)
        enqueues = [InTheLanguage(runtime, queue, problem, by_hand).enqueue, by_hand.enqueue]
        ours, theirs = compared(queue, by_hand, enqueues)
        for enqueue in enqueues:
            by_hand.restore()
            enqueue()
            check(problem, by_hand.arrays(), by_hand=enqueue == by_hand.enqueue)
    found = ours / theirs
    text = f"{found:.2f} times by hand ({ours * 1e3:.3f} and {theirs * 1e3:.3f} ms, {len(problem.launches)} launches)"
    return Figure(classic.name, text, f"{RATIO}", found <= RATIO)


def first_launch(runtime: ocl.Runtime, classic: Classic) -> Figure:
    """What comes before the first launch of all kernels, in milliseconds."""
    engine = runtime.executor.engine
    problem = classic.problem(*classic.small)
    arrays = {name: ocl.asarray(x) for name, x in problem.arrays.items()}
    launches = {launch.kernel: launch for launch in problem.launches}
    translations, translating = _timed(lambda: [_translated(launch, arrays) for launch in launches.values()])
    strategy = runtime.settings.locals_strategy or runtime.device.quirks.locals_strategy
    sources, generating = _timed(
        lambda: [compile_kernel(made.kernel, strategy, engine._dialect).source for made in translations]
    )
    context = engine.opencl.context
    new = f"/* {time.time_ns()} */\n"  # no driver has built it before
    _, building = _timed(
        lambda: [cl.Program(context, new + made.text).build(["-cl-std=CL1.2", *made.options]) for made in sources]
    )
    _, by_hand = _timed(lambda: cl.Program(context, new + classic.source).build("-cl-std=CL1.2"))
    text = f"translated in {translating:.0f}, source in {generating:.0f}, built in {building:.0f} ms; "
    return Figure(f"{classic.name}, {len(launches)} kernels, first", f"{text}by hand built in {by_hand:.0f} ms")


def _translated(launch: Launch, arrays: dict[str, ocl.Array]) -> Translation:
    return launch.kernel.groups[launch.groups].inspected(named(launch.arguments, arrays), {})[0]


def _timed(run: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    made = run()
    return made, (time.perf_counter() - start) * 1e3


@ocl.kernel(local=64)
def saxpy(a, x, y):
    i = global_id(0)
    if i < x.size:
        y[i] = a * x[i] + y[i]


SAXPY = """
__kernel void saxpy(float a, __global const float *x, __global float *y, int n)
{
    int i = get_global_id(0);
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""


def overhead(runtime: ocl.Runtime) -> list[Figure]:
    """Microseconds of a launch of 64 work-items when many follow each other, prepared and raw by turns; and what the
    host pays for a prepared one where the driver does nothing."""
    context = runtime.executor.engine.opencl.context
    x, y = (ocl.asarray(np.zeros(64, np.float32)) for _ in range(2))
    prepared = saxpy.prepare(np.float32(2), x, y, sizes=64)
    by_hand = ocl.RawKernel(SAXPY, "saxpy")
    queue = cl.CommandQueue(context)
    kernel = cl.Kernel(cl.Program(context, SAXPY).build("-cl-std=CL1.2"), "saxpy")
    buffers = [cl.Buffer(context, cl.mem_flags.READ_WRITE, 256) for _ in range(2)]
    kernel.set_args(np.float32(2), *buffers, np.int32(64))
    enqueue, sizes = cl.enqueue_nd_range_kernel, ((64,), (64,))

    def ours() -> None:
        for _ in range(LAUNCHES):
            prepared()

    def theirs() -> None:
        for _ in range(LAUNCHES):
            enqueue(queue, kernel, *sizes)

    best = [float("inf")] * 2
    for _ in range(ROUNDS + 3):
        for side, (run, finish) in enumerate(((ours, runtime.finish), (theirs, queue.finish))):
            _, milliseconds = _timed(run)
            best[side] = min(best[side], milliseconds / LAUNCHES * 1e3)
            finish()
    more = best[0] - best[1]
    text = f"{more:.1f} us more than a raw enqueue ({best[0]:.1f} and {best[1]:.1f} us)"
    with idle(runtime):
        host = best_of_rounds(prepared, LAUNCHES)
        again = best_of_rounds(lambda: saxpy[64](np.float32(2), x, y), LAUNCHES)
        raw = best_of_rounds(lambda: by_hand[64](np.float32(2), x, y, 64), LAUNCHES)
        sizes = itertools.cycle(range(1, 200))  # more than are remembered
        single = best_of_rounds(lambda: saxpy[next(sizes)](np.float32(2), x, y), LAUNCHES)
    return [
        Figure("a prepared launch", text, f"{OVERHEAD:g} us", more <= OVERHEAD),
        Figure(
            "the host's part of it",
            f"{host:.1f} us over a driver that does nothing",
            f"{OVERHEAD:g} us",
            host <= OVERHEAD,
        ),
        Figure(
            "that of a call that comes again",
            f"{again:.1f} us, {raw:.1f} in OpenCL C; of one that does not, {single:.1f} us",
        ),
    ]


def figures(runtime: ocl.Runtime, _: str | None) -> Iterator[Figure]:
    with ocl.use(runtime):
        x = ocl.zeros(64, dtype=np.float32)
        saxpy[64](np.float32(1), x, x + 1)  # what the first kernel of a process pays alone
        for classic in CLASSICS:
            yield first_launch(runtime, classic)
        for classic in CLASSICS:
            yield ratio(runtime, classic)
        yield from overhead(runtime)


if __name__ == "__main__":
    # Each build counts, also of what an earlier process has built.
    os.environ |= {"OCL_RUNTIME_CACHE": "off", "PYOPENCL_NO_CACHE": "1", "CUDA_CACHE_DISABLE": "1"}
    os.environ |= {"POCL_KERNEL_CACHE": "0"}
    sys.exit(main(__doc__ or "", figures))
