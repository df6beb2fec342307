#!/usr/bin/env python3
"""The figures of lazy arrays on the chosen device, each beside its target.

    python tests/bench/arrays.py [--device WORDS] [--check]

What the host pays is measured over arrays of a few elements, so that the device is never in the way. With --check the
exit code is 1 where a target that applies to this device is missed.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyopencl as cl
from figures import Figure, main, median_seconds, seconds

import ocl_runtime as ocl
from ocl_runtime.commands.bench.cases import CASES
from ocl_runtime.commands.bench.ceilings import Ceilings
from ocl_runtime.commands.bench.data import Data
from ocl_runtime.commands.bench.measure import Session
from ocl_runtime.commands.bench.opencl import OpenCL
from ocl_runtime.commands.bench.peers.ours import Ours
from ocl_runtime.plan.structure import Structure
from tests.support.planned import arguments

LEAST_SHARES = {"a*b+sin": 0.97, "black-scholes-short": 0.85, "stencil-9": 0.85}
"""Cases of ocl-bench that memory limits, and their targets as shares of a copy."""


def best(run: Callable[[], object], times: int, rounds: int = 9) -> float:
    """Seconds of a run when many follow each other, the best of some rounds."""
    run()

    def many() -> None:
        for _ in range(times):
            run()

    return min(seconds(many) for _ in range(rounds)) / times


def nodes() -> list[Figure]:
    """Building expressions."""
    x, y = (ocl.asarray(np.ones(64, np.float32)) for _ in range(2))
    built = {"x + y": lambda: x + y, "x * 2": lambda: x * 2, "x[1:-1]": lambda: x[1:-1], "sin(x)": lambda: ocl.sin(x)}
    costs = {name: best(run, 2000) for name, run in built.items()}
    text = ", ".join(f"{name} {cost * 1e6:.1f}" for name, cost in costs.items())
    worst = max(costs.values())
    return [Figure("building a node, us", text, "8", worst <= 8e-6)]


def plans(runtime: ocl.Runtime) -> list[Figure]:
    """What cached plans cost over the bare launches of their kernels."""
    a, b, c = (ocl.asarray(np.ones(64, np.float32)) for _ in range(3))

    def one() -> list[Any]:
        return [a * b + ocl.sin(c) * 2.0]

    def many() -> list[Any]:
        """Twenty results of as many lengths, which share no kernel."""
        return [a[number:] * b[number:] + 1.5 for number in range(20)]  # the scalars tell them apart

    def chain() -> list[Any]:
        """Reductions, each of which needs the one before."""
        x = a * 1.0  # the scalar tells chains apart: what they shared would be computed once
        for _ in range(20):
            x = a - ocl.sum(x) * 0.5
        return [x]

    cases = [("of one kernel", one, 500), ("of independent kernels", many, 25), ("of reductions in a row", chain, 25)]
    return [_plan(runtime, name, make, times) for name, make, times in cases]


def _plan(runtime: ocl.Runtime, name: str, make: Callable[[], list[Any]], times: int) -> Figure:
    structure = Structure([array._node for array in make()])
    plan = runtime.executor.plans.plan(structure, runtime.executor)
    raw = []
    for launch in plan.launches:
        args = arguments(launch)
        made = runtime.executor.engine.prepare(launch.kernel, args, launch.global_size, launch.group_size)
        raw.append((made.executable.handle(), made.args, made.sizes))
    queue = runtime.executor.engine.streams.current().queue

    def bare() -> None:
        for handle, args, sizes in raw:
            handle.set_args(*args)
            cl.enqueue_nd_range_kernel(queue, handle, *sizes)

    least = best(bare, times)
    runtime.finish()
    with ocl.stream(0):  # as the bare launches
        ocl.compute(*make())
        batches = [[make() for _ in range(times)] for _ in range(10)]

        def compute() -> None:
            for arrays in batches.pop():
                ocl.compute(*arrays)

        computed = min(seconds(compute) for _ in range(9)) / times
    count = len(raw)
    extra = (computed - least) / count
    text = f"{extra * 1e6:.0f} us more a kernel than {least / count * 1e6:.1f} us, {count} of them"
    return Figure(f"a cached plan {name}, against raw", text, "4 us", extra <= 4e-6)


def memory(runtime: ocl.Runtime) -> Figure:
    """What the host holds after very many evaluations."""

    def turns(count: int) -> None:
        x = ocl.asarray(np.ones(300, np.float32))
        for turn in range(count):
            x = x * 0.5 + turn % 7
            x.compute()
        runtime.finish()

    turns(2000)
    tracemalloc.start(1)
    turns(300)
    before = tracemalloc.get_traced_memory()[0]
    turns(100_000)
    more = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return Figure("100,000 evaluations hold", f"{more / 1e3:.0f} kB more", "300 kB", more <= 300_000)


def depth() -> Figure:
    """A long chain, built and run: ten times the nodes in about ten times the time."""

    def run(count: int) -> float:
        def chain() -> Any:
            x = ocl.asarray(np.ones(8, np.float32))
            for _ in range(count):
                x = x * 1.0001
            return x.compute().numpy()

        return seconds(chain)

    run(2000)
    few, many = run(10_000), run(100_000)
    text = f"{many:.1f} s for 100,000 nodes, {many / few / 10:.2f} times as much a node as for 10,000"
    return Figure("a long chain", text, "1.5 times", many / few <= 15)


def loops(runtime: ocl.Runtime) -> list[Figure]:
    """Turns of a loop, and new shapes."""
    x = ocl.asarray(np.ones(1000, np.float32))
    x = x * 0.5 + 1
    x.compute()
    before = runtime.statistics()
    for _ in range(100):
        x = x * 0.5 + 1
        x.compute()
    after = runtime.statistics()
    allocated = after["memory"]["allocations"] - before["memory"]["allocations"]
    planned = after["plan"]["misses"] - before["plan"]["misses"]
    rng, shapes = np.random.default_rng(0), []
    for _ in range(200):
        shapes.append(tuple(int(one) for one in rng.integers(300, 900, 2) // 16 * 16))
    built = []
    for shape in shapes:
        x = ocl.asarray(np.ones(shape, np.float32))
        kernels = runtime.statistics()["kernel"]["misses"]
        ((x - ocl.mean(x, axis=1, keepdims=True)) * 2).compute()
        built.append(runtime.statistics()["kernel"]["misses"] - kernels)
    late = sum(built[20:])
    return [
        Figure("100 turns of x = x * 0.5 + 1 take", f"{allocated} allocations, {planned} plans", "0, 1", not allocated),
        Figure("200 shapes build", f"{sum(built)} kernels, {late} after the first 20", "0 after", not late),
    ]


def bandwidth(runtime: ocl.Runtime) -> list[Figure]:
    """Expressions that memory limits, on the device's clock, beside a copy; each byte counted once. `ocl-bench` has all
    others, beside other libraries."""
    timed = ocl.Runtime(runtime.device, replace(runtime.settings, profile=True))
    session = Session(Ours(timed), (), Ceilings(OpenCL(timed), "device"), Data(), rounds=15, seconds=2)
    found = []
    for case in CASES:
        if case.key not in LEAST_SHARES:
            continue
        result, least = session.measure(case, case.default_size("gpu"), "f32"), LEAST_SHARES[case.key]
        if result.ours is None or result.ceiling is None or result.of_ceiling is None:
            found.append(Figure(case.title, str(result.left_out), f"{least:.0%}", met=False))
            continue
        speed = result.moved / result.ours.summary.median
        text = f"{speed / 1e9:.0f} GB/s, {result.of_ceiling:.1%} of the copy's {result.ceiling.rate / 1e9:.0f}"
        found.append(Figure(case.title, text, f"{least:.0%}", result.of_ceiling >= least))
    return found


def streams(runtime: ocl.Runtime) -> Figure:
    """Chains that do not need each other, each too small for the device, in one captured function: on a runtime with
    one stream, and on one whose streams the plan takes by itself."""

    def chains(*given: Any) -> tuple[Any, ...]:
        found = list(given)
        for _ in range(512):
            found = [ocl.fmod(1e300, x) + 1.0 for x in found]
        return tuple(found)

    def timed(own: ocl.Runtime) -> float:
        with ocl.use(own):
            given = [ocl.asarray(np.full(2048, 1.0 + number, np.float64)) for number in range(8)]
            captured = ocl.capture(chains)

            def run() -> None:
                captured(*given)
                own.finish()

            return median_seconds(run, 7)

    one = timed(ocl.Runtime(runtime.device, replace(runtime.settings, streams=1)))
    apart = timed(runtime)
    text = f"{one / apart:.2f} times ({one * 1e3:.1f} and {apart * 1e3:.1f} ms)"
    return Figure("8 independent chains, against one stream", text, "6 times", one >= 6 * apart)


def figures(runtime: ocl.Runtime, device: str | None) -> list[Figure]:
    """All of them."""
    del device
    with ocl.use(runtime):
        found = [*nodes(), *plans(runtime), depth(), memory(runtime), *loops(runtime)]
        if runtime.device.capabilities.kind == "gpu":
            found += [*bandwidth(runtime), streams(runtime)]
    return found


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", figures))
