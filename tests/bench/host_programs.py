#!/usr/bin/env python3
"""The figures of host programs on the chosen device, each beside its target.

    python tests/bench/host_programs.py [--device WORDS] [--check]

What a replayed node costs the host beside raw PyOpenCL; what is allocated, taken from the pool and built in steady
state; how large arenas are beside lower bounds; and, on a GPU, what tiles on several streams gain over one stream.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict
from collections.abc import Callable

import numpy as np
import pyopencl as cl
from figures import ROOT, Figure, main, median_seconds, seconds

import ocl_runtime as ocl
from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.grammar import Program
from ocl_ir.host.schedule import Schedule, bind
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.sizes import larger, parts, smaller
from ocl_ir.types import F32, U32
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.replay.execution import Part
from ocl_runtime.execute.replay.replay import Replay
from ocl_runtime.plan.host.memory import plan_memory
from ocl_runtime.plan.host.prepare import HostTarget, prepare
from ocl_runtime.plan.host.streams import place_streams

sys.path.insert(0, str(ROOT))

from tests.support.programs import SCALE
from tests.support.realistic_programs import PROGRAMS

SIDE = 16384
ROWS = 1024


def chain(links: int) -> Program:
    """A chain of launches over a preallocated output."""
    p = HostBuilder("chain")
    n = p.size("n")
    now, y = p.input("x", F32, (n,)), p.output("y", F32, (n,))
    for link in range(links):
        new = y if link == links - 1 else p.alloc(F32, (n,), "t")
        p.launch(SCALE, (n, now, new), (n,), (64,))
        now = new
    return p.build(y)


def made(runtime: ocl.Runtime, program: Program, streams: int = 8, **sizes: int) -> Schedule:
    return prepare(program, sizes, HostTarget(runtime.executor.kernels, runtime.executor.target.group_size, streams))


def replays(runtime: ocl.Runtime) -> list[Figure]:
    """Microseconds a node beside the same kernels enqueued with their arguments set; what steady state takes."""
    engine, found = runtime.executor.engine, []
    x, y = (engine.upload(np.ones(64, np.float32)) for _ in range(2))
    parameters = {"x": Part(x), "y": Part(y)}
    queue = engine.streams.current().queue
    for links in (10, 100, 1000):
        program = chain(links)
        start = seconds(lambda program=program: run_first(runtime, program, parameters))
        replay = Replay(engine, made(runtime, program, n=64))
        second = seconds(lambda replay=replay: (replay(parameters), engine.finish()))
        for _ in range(40):  # until launches have kernel objects of their own
            replay(parameters)
        own = replay._bound.handles.own()
        steps = list(zip(own.sets[0].handles, replay._bound.commands, strict=True))
        own.busy = False

        def raw(steps: list = steps) -> None:
            for handle, command in steps:
                cl.enqueue_nd_range_kernel(queue, handle, *command.sizes)

        before = counters(engine)
        repeats = max(1, 400 // links)
        ours, theirs = alternately(
            lambda replay=replay, repeats=repeats: [replay(parameters) for _ in range(repeats)],
            lambda raw=raw, repeats=repeats: [raw() for _ in range(repeats)],
            engine.finish,
        )
        ours, theirs = ours / (links * repeats), theirs / (links * repeats)
        taken = counters(engine) - before
        # The part of a replay that does not depend on its length weighs on short ones.
        target = {"target": "1.25 times", "met": ours <= 1.25 * theirs} if links > 10 else {}
        text = f"{ours * 1e6:.2f} us, raw {theirs * 1e6:.2f}: {ours / theirs:.2f} times"
        found.append(Figure(f"replay of {links} nodes, a node", text, **target))
        found.append(
            Figure(
                f"  first call, second, replay of {links}",
                f"{start * 1e3:.1f}, {second * 1e3:.2f}, {ours * links * 1e3:.3f} ms",
            )
        )
        text = ", ".join(f"{count} {name}" for name, count in taken.items()) or "nothing"
        found.append(Figure(f"  steady state of {links} takes", text, "nothing", not +taken))
    return found


def run_first(runtime: ocl.Runtime, program: Program, parameters: dict[str, Part]) -> None:
    Replay(runtime.executor.engine, made(runtime, program, n=64))(parameters)
    runtime.finish()


def counters(engine: Engine) -> Counter[str]:
    """What a steady state must leave alone."""
    pool = engine.memory.device_pool.counters
    return Counter({"pages": pool.created, "kernels": engine.counters.compiled})


def alternately(
    one: Callable[[], object], other: Callable[[], object], finish: Callable[[], None], rounds: int = 15
) -> tuple[float, float]:
    """Seconds of each, the best of rounds that take turns."""
    best = [float("inf")] * 2
    for _ in range(rounds):
        for place, run in enumerate((one, other)):
            finish()
            best[place] = min(best[place], seconds(run))
    finish()
    return best[0], best[1]


def arenas() -> list[Figure]:
    """The arena of each program: without reuse, with exact sizes reused, as planned, and the bound."""
    found = []
    for streams in (1, 4):
        for name, program in PROGRAMS.items():
            schedule = place_streams(bind(program(), {}), streams)
            _, memory = plan_memory(schedule)
            _, tight = plan_memory(schedule, limit=0)
            mib = 2**20
            text = (
                f"{memory.unshared / mib:7.1f} without, {exact_size_reuse(schedule) / mib:6.1f} exact sizes, "
                f"{memory.arena / mib:6.1f} planned, {memory.bound / mib:6.1f} bound; "
                f"with waits {tight.arena / mib:5.1f}, live {tight.live / mib:5.1f} MiB"
            )
            good = tight.arena <= 1.05 * tight.live and (streams > 1 or memory.arena <= 1.05 * memory.live)
            found.append(Figure(f"arena of {name}, {streams} streams", text, "5% of live", good))
    return found


def exact_size_reuse(schedule: Schedule) -> int:
    """The peak of an allocator that gives freed memory only to requests of the same size, in program order."""
    ends: dict[int, list[int]] = {}
    for buffer, (_, last) in schedule.lives.items():
        ends.setdefault(last, []).append(buffer)
    starts = {first: buffer for buffer, (first, _) in schedule.lives.items()}
    free: OrderedDict[int, int] = OrderedDict()
    taken = 0
    for node in range(len(schedule.nodes)):
        buffers = [buffer for buffer, (first, _) in schedule.lives.items() if first == node]
        for buffer in buffers if node in starts else ():
            size = schedule.buffers[buffer].nbytes
            if free.get(size, 0):
                free[size] -= 1
            else:
                taken += size
        for buffer in ends.get(node, ()):
            size = schedule.buffers[buffer].nbytes
            free[size] = free.get(size, 0) + 1
    return taken


def stencil() -> Kernel:
    """y = steps of smoothing of the rows above and below; x has a row more at each end."""
    k = KernelBuilder("stencil")
    n, width = k.scalar("n", U32), k.scalar("width", U32)
    x, y = k.pointer("x", F32), k.pointer("y", F32)
    i = k.global_id(0)
    with k.if_(i < n):
        above, here, below = (k.load(x, i + width * row) for row in range(3))
        value = k.variable((above + here + below) / 3, hint="value")
        with k.for_(0, 60):
            k.assign(value, k.op("sqrt", value * value + 0.25) - 0.25)
        k.store(y, i, value)
    return k.build()


def tiled(kernel: Kernel, streams: int, rows: int) -> Program:
    """Tiles of an image on the host, with a halo of one row, up, through the stencil, and down."""
    p = HostBuilder("tiled")
    h, w = p.size("h"), p.size("w")
    image, out = p.host_input("image", F32, (h, w)), p.host_output("out", F32, (h - 2, w))
    with p.for_(parts(h - 2, rows)) as i, p.stream(i % streams):
        start = i * rows
        length = smaller(rows, h - 2 - start)
        x, y = p.alloc(F32, (length + 2, w), "x"), p.alloc(F32, (length, w), "y")
        p.copy(x, p.slice(image, 0, start, length + 2))
        p.launch(kernel, (length * w, w, x, y), (larger(length * w, 1),))
        p.copy(p.slice(out, 0, start, length), y)
    return p.build()


def tiles(runtime: ocl.Runtime) -> list[Figure]:
    """A stencil over a large image with uploads and downloads, in 1, 2, 4 and 8 streams."""
    engine, kernel = runtime.executor.engine, stencil()
    image = engine.pinned((SIDE, SIDE), np.dtype(np.float32))
    image[:] = np.random.default_rng(0).random((SIDE, SIDE), np.float32)
    out, whole = (engine.pinned((SIDE - 2, SIDE), np.dtype(np.float32)) for _ in range(2))

    def run(replay: Replay, target: np.ndarray) -> None:
        replay({"image": image.reshape(-1).view(np.uint8), "out": target.reshape(-1).view(np.uint8)})
        engine.finish()

    run(Replay(engine, made(runtime, tiled(kernel, 1, SIDE), h=SIDE, w=SIDE)), whole)
    times, equal = {}, True
    for streams in (1, 2, 4, 8):
        replay = Replay(engine, made(runtime, tiled(kernel, streams, ROWS), h=SIDE, w=SIDE))
        out[:] = 0
        times[streams] = median_seconds(lambda replay=replay: run(replay, out), 5)
        equal = equal and np.array_equal(out, whole)
    best = min(times[streams] for streams in (2, 4, 8))
    text = ", ".join(f"{streams}: {one * 1e3:.0f} ms" for streams, one in times.items())
    gain = times[1] / best
    return [
        Figure(f"stencil of {SIDE} x {SIDE} in streams", text),
        Figure("  gain of overlap", f"{gain:.2f} times", "1.8 times", gain >= 1.8),
        Figure("  equal to the untiled one, bit for bit", str(equal), "True", equal),
    ]


def shapes(runtime: ocl.Runtime) -> Figure:
    """One program for many shapes: kernels built after the first."""
    program, engine = chain(5), runtime.executor.engine
    run_sizes = [3 + 37 * index for index in range(50)]
    before, right = 0, True
    for index, n in enumerate(run_sizes):
        host = np.full(n, 2, np.float32)
        x, y = engine.upload(host), engine.allocate(4 * n)
        Replay(engine, made(runtime, program, n=n))({"x": Part(x), "y": Part(y)})
        right = right and bool((engine.download(y, host.dtype, n).result() == 2).all())
        before = engine.counters.compiled if index == 0 else before
    built = engine.counters.compiled - before
    return Figure("50 shapes of one program build", f"{built} kernels after the first", "0", built == 0 and right)


def launches(runtime: ocl.Runtime) -> list[Figure]:
    """Microseconds of a kernel by hand over arrays, prepared and not, beyond a raw enqueue with arguments set."""
    source = """__kernel void add(__global const float *x, __global float *y)
    { y[get_global_id(0)] += x[get_global_id(0)]; }"""
    with ocl.use(runtime):
        x, y = ocl.ones(64).compute(), ocl.zeros(64).compute()
        add = ocl.RawKernel(source, "add", "in x, inout y")
        prepared = add[64, (64,)].prepare(x, y)
        for _ in range(40):  # until it has a kernel object of its own
            prepared()
        engine = runtime.executor.engine
        queue, handle = engine.streams.current().queue, engine.executable(add.kernel(())).new_handle()
        storages = [array._computed().storage for array in (x, y)]
        handle.set_args(*[part for storage in storages for part in (storage.buffer, storage.start // 4)])
        del storages  # who refers to memory needs it

        def raw() -> None:
            cl.enqueue_nd_range_kernel(queue, handle, (64,), (64,))

        found = []
        for name, launch, most in (("prepared launch", prepared, 4), ("launch", lambda: add[64, (64,)](x, y), 0)):
            ours, theirs = alternately(
                lambda launch=launch: [launch() for _ in range(100)], lambda: [raw() for _ in range(100)], engine.finish
            )
            more = (ours - theirs) * 1e4
            target = {"target": f"{most} us more", "met": more <= most} if most else {}
            text = f"{ours * 1e4:.2f} us, raw {theirs * 1e4:.2f}: {more:.2f} more"
            found.append(Figure(f"{name} of a kernel by hand", text, **target))
    return found


def figures(runtime: ocl.Runtime, _: str | None) -> list[Figure]:
    found = [*replays(runtime), *launches(runtime), shapes(runtime), *arenas()]
    if runtime.device.capabilities.kind == "gpu":
        found += tiles(runtime)
    return found


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", figures))
