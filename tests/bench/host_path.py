#!/usr/bin/env python3
"""What the host pays for an evaluation, and what an evaluation holds, each beside its target.

    python tests/bench/host_path.py [--device WORDS] [--check]

Times are of a driver that does nothing, so that they are the host's alone, unless a row says otherwise.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from figures import ROOT, Figure, main, seconds

import ocl_runtime as ocl
from examples.digits import with_arrays
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.types import F32

MICRO = 1e6


def best(run: Callable[[], object], times: int, rounds: int = 7) -> float:
    """Microseconds of a run when many follow each other, the best of some rounds."""
    for _ in range(40):  # until launches have kernel objects of their own
        run()

    def many() -> None:
        for _ in range(times):
            run()

    return min(seconds(many) for _ in range(rounds)) / times * MICRO


def best_of(build: Callable[[], Any], run: Callable[[Any], object], times: int, rounds: int = 7) -> float:
    """The same of what is done with something that is built first, which does not count."""
    for _ in range(40):
        run(build())

    def many() -> float:
        taken = 0.0
        for _ in range(times):
            built = build()
            start = time.perf_counter()
            run(built)
            taken += time.perf_counter() - start
        return taken

    return min(many() for _ in range(rounds)) / times * MICRO


def row(name: str, found: float, target: float, unit: str = "us") -> Figure:
    return Figure(name, f"{found:.1f} {unit}", f"{target:g} {unit}", found <= target)


@contextmanager
def idle(runtime: ocl.Runtime) -> Iterator[None]:
    """The driver does nothing meanwhile, and says that it is done."""
    runtime.finish()
    driver, event = runtime.executor.engine.driver, object()
    replaced: dict[str, Any] = dict.fromkeys(
        ("enqueue", "launch", "marker", "write", "read", "fill"), lambda *_, **__: event
    )
    replaced |= {"status": lambda _: 0} | dict.fromkeys(("flush", "wait", "finish"), lambda _: None)
    before = {name: getattr(driver, name) for name in replaced}
    for name, method in replaced.items():
        setattr(driver, name, method)
    try:
        yield
        runtime.finish()
    finally:
        for name, method in before.items():
            setattr(driver, name, method)


def ones(count: int) -> Any:
    return ocl.asarray(np.ones(count, np.float32))


def building() -> list[Figure]:
    x, y, wide, bias = ones(64), ones(64), ocl.asarray(np.ones((64, 64), np.float32)), ones(64)
    rows = ocl.asarray(np.arange(64)[::-1].copy())
    cases: list[tuple[str, Callable[[], object], float]] = [
        ("building x + y", lambda: x + y, 3),
        ("building x * 2", lambda: x * 2.0, 3),
        ("building sin(x)", lambda: ocl.sin(x), 3),
        ("building X + bias", lambda: wide + bias, 5),
        ("building x[1:-1]", lambda: x[1:-1], 4),
        ("building X[idx]", lambda: wide[rows], 8),
    ]
    return [row(name, best(run, 2000), target) for name, run, target in cases]


def evaluations(runtime: ocl.Runtime) -> list[Figure]:
    x, y, small, arrays = ones(1000), ones(1000), ones(64), [ones(64 + number) for number in range(20)]
    state = [ones(1000)]

    def loop() -> None:
        state[0] = state[0] * 0.5 + 1.0
        state[0].compute()

    def many() -> list[Any]:
        return [one * 2.0 + 1.0 for one in arrays]

    def chain() -> Any:
        value = x
        for _ in range(20):
            value = ocl.sum(value) * y
        return value

    def compute(built: Any) -> None:
        built.compute()

    out = ones(1000)
    found = [
        row(
            "one kept kernel: (a*b + sin(c)*2).compute()", best_of(lambda: x * y + ocl.sin(out) * 2.0, compute, 500), 10
        ),
        row("w = w*0.5+1; w.compute()", best(loop, 500), 12),
        row("float(sum(x))", best(lambda: float(ocl.sum(x)), 500), 25),
        row("x.numpy() of 64 elements", best(small.numpy, 1000), 8),
        row("20 independent kernels, each", best_of(many, lambda built: ocl.compute(*built), 50) / 20, 4),
        row("20 reductions in a row, each", best_of(chain, compute, 30) / 20, 8),
        row("compute_into again", best(lambda: ocl.compute_into(out, x * y + 1.0), 300), 15),
    ]
    lazy = [x + float(number) for number in range(100_000)]
    found.append(row("w.compute() beside 10^5 lazy arrays", best(loop, 500), 12))
    del lazy
    return found


def captured(runtime: ocl.Runtime) -> list[Figure]:
    one = ocl.capture(lambda x, y: x * y + 1.0)
    many = ocl.capture(lambda *arrays: [x * 2.0 + 1.0 for x in arrays])
    scaled = ocl.capture(lambda x, s: x * s + 1.0)
    x, y, arrays = ones(1000), ones(1000), [ones(64 + number) for number in range(18)]
    one(x, y), many(*arrays), scaled(x, 0.1), scaled(x, 0.2)
    numbers = iter(np.linspace(1, 2, 10**6).tolist())
    found = [
        row("a captured call of one kernel", best(lambda: one(x, y), 1000), 20),
        row("a captured call, 18 in, 18 out", best(lambda: many(*arrays), 50), 60),
        row("a captured call with a new number", best(lambda: scaled(x, next(numbers)), 500), 15),
    ]
    sizes = [(ones(2000 + 8 * number), ones(2000 + 8 * number)) for number in range(40)]
    times = sorted(seconds(lambda pair=pair: one(*pair)) for pair in sizes)
    found.append(row("a captured call with new sizes, a launch", times[len(times) // 2] * MICRO, 40))
    return found


def unseen_sizes(runtime: ocl.Runtime) -> Figure:
    """A statement whose structure is known, with slices that grow: no sizes come again."""
    a = ocl.asarray(np.random.default_rng(0).random((300, 300)).astype(np.float32))

    def statement(j: int) -> None:
        a[j, j + 1] -= a[j, :j] @ a[:j, j + 1]
        a.compute()

    def launched() -> int:
        return runtime.statistics()["launch"]["launches"]

    for j in range(2, 60):
        statement(j)
    times = []
    for j in range(60, 298):
        before = launched()
        taken = seconds(lambda j=j: statement(j))
        times.append(taken / (launched() - before))
    return row("a statement with sizes never seen, a launch", sorted(times)[len(times) // 2] * MICRO, 40)


def peaks(runtime: ocl.Runtime) -> list[Figure]:
    """Arrays in use at once beyond those that are held anyway, by the device's pool; nothing waits."""
    side = 256
    host = np.random.default_rng(0).random((side, side), "f4") / side
    x, weights = ocl.asarray(host), ocl.asarray(host)

    def peak(run: Callable[[], object]) -> float:
        runtime.finish()
        counters = runtime.executor.engine.memory.device_pool.counters
        before = counters.peak_in_use = counters.in_use
        run()
        runtime.finish()
        return (runtime.executor.engine.memory.device_pool.counters.peak_in_use - before) / host.nbytes

    def products() -> None:
        value = x
        for _ in range(40):
            value = value @ weights
        value.compute()

    def layers() -> None:
        value = x
        for _ in range(8):
            value = ocl.maximum(value @ weights, 0)
        value.compute()

    def heat() -> None:
        u = x + 0
        for _ in range(50):
            u[1:-1, 1:-1] += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
        u.compute()

    step = ocl.capture(lambda value: ocl.sin(value) @ weights)

    def steps() -> None:
        value = x
        for _ in range(1000):
            value = step(value)

    def row_kept() -> None:
        value = ocl.asarray(host)
        kept = value[3:4] + 0
        value[3] = 9
        value.compute()
        kept.compute()

    def mandelbrot() -> None:
        real, z = x * 3 - 2, x * 0
        imaginary = weights * 2 - 1
        a, b = z, z
        for _ in range(50):
            inside = a * a + b * b < 4
            z = z + inside
            a, b = ocl.where(inside, a * a - b * b + real, a), ocl.where(inside, 2 * a * b + imaginary, b)
        del a, b, inside
        z.compute()

    cases: list[tuple[str, Callable[[], object], float]] = [
        ("peak of 40 products", products, 2.1),
        ("peak of 8 layers", layers, 2.1),
        ("peak of 50 heat steps in place", heat, 2.1),
        ("peak of 1,000 captured steps", steps, 4.1),
        ("peak of t = x[3:4] + 0; x[3] = 9", row_kept, 1.1),
        ("peak of 50 Mandelbrot iterations", mandelbrot, 3.1),
    ]
    found = [row(name, peak(run), target, "arrays") for name, run, target in cases]
    before = runtime.statistics()["launch"]["launches"]
    mandelbrot()
    return [*found, row("50 Mandelbrot iterations", runtime.statistics()["launch"]["launches"] - before, 3, "kernels")]


def planning(device: str | None) -> list[Figure]:
    """What planning 10,000 nodes takes a node, in a process that has planned nothing yet; its programs are on disk,
    where another process has built them."""
    command = [sys.executable, "-c", f"import host_path; host_path.planned({device!r})"]
    for _ in range(2):
        told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT / "tests/bench").stdout
    times = dict(line.rsplit(" ", 1) for line in told.splitlines())
    return [row(f"planning anew, a node: {name}", float(time) * MICRO, 30) for name, time in times.items()]


def planned(device: str | None) -> None:
    """Prints how many seconds each case of `planning` takes a node."""
    runtime = ocl.Runtime(device)
    vars(runtime.executor)["stored_plans"] = None  # plans of earlier processes are not looked for, and none is kept
    with ocl.use(runtime):
        x = ones(100)

        def results() -> None:
            ocl.compute(*[x * float(number) + 1.0 for number in range(5000)])

        def rows() -> None:
            value = ocl.asarray(np.ones((5000, 8), np.float32))
            for number in range(1, 5000):
                value[number] = value[number - 1] * 0.5 + value[number]
            value.compute()

        def chain() -> None:
            value = x
            for _ in range(5000):
                value = ocl.sin(value) * 1.01
            value.compute()

        (x - 1.0).compute()  # reads the templates, once a process
        for name, run in {"5,000 results": results, "5,000 row writes": rows, "a chain": chain}.items():
            print(name, seconds(run) / 10_000)


def slices(runtime: ocl.Runtime) -> list[Figure]:
    """Plans and kernels of 150 sums of eight slices of any length at any places."""
    rng = np.random.default_rng(0)
    arrays = [ones(5000) for _ in range(8)]
    before = runtime.statistics()
    for _ in range(150):
        length = int(rng.integers(100, 900))
        parts = [one[start : start + length] for one, start in zip(arrays, rng.integers(0, 4000, 8), strict=True)]
        sum(parts[1:], parts[0]).compute()
    after = runtime.statistics()
    return [
        row(f"150 sums of eight slices: {kind}s", after[kind]["misses"] - before[kind]["misses"], 3, f"{kind}s")
        for kind in ("plan", "kernel")
    ]


def while_another_builds(runtime: ocl.Runtime) -> Figure:
    """The worst kept evaluation of a thread while another one's kernel is built, which takes seconds."""
    x, ready, worst = ones(1000), threading.Event(), 0.0
    (x + 1.0).compute()

    def build() -> None:
        k = KernelBuilder("long")
        y = k.pointer("y", F32)
        value = k.load(y, 0)
        for number in range(600):
            value = k.op("sin", value) * float(number)
        k.store(y, 0, value)
        ready.set()
        runtime.executor.engine.executable(k.build())

    thread = threading.Thread(target=build)
    thread.start()
    ready.wait()
    start = time.perf_counter()
    while thread.is_alive():
        worst = max(worst, seconds((x + 1.0).compute))
    built = time.perf_counter() - start
    thread.join()
    return row(f"worst kept evaluation beside a build of {built:.1f} s", worst * 1e3, 5, "ms")


def on_a_card(runtime: ocl.Runtime) -> list[Figure]:
    """What people wait for, with the card's own time; on CPUs the kernels themselves take longer than the targets."""
    x, y, state = ones(1000), ones(1000), [ocl.asarray(np.random.default_rng(0).random((1024, 1024), "f4"))]

    def step(u: Any) -> Any:
        inside = u[1:-1, 1:-1]
        return inside + 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inside)

    captured_step = ocl.capture(lambda u: ocl.pad(step(u), 1))

    def eager() -> None:
        u = state[0]
        for _ in range(1000):
            u[1:-1, 1:-1] = step(u)
        u.compute()
        runtime.finish()

    def captured() -> None:
        u = state[0]
        for _ in range(1000):
            u = captured_step(u)
        runtime.finish()

    def learning() -> float:
        return with_arrays(ocl, 128, 20).seconds / 300 * MICRO  # steps

    eager(), captured()
    return [
        row("computed x + y of 1,000 elements", best_of(lambda: x + y, lambda built: built.compute(), 500), 15),
        row("a training step of examples/digits.py", min(learning() for _ in range(3)), 900),
        row("a step of heat 1024 x 1024, eager", min(seconds(eager) for _ in range(3)) / 1000 * MICRO, 150),
        row("a step of heat 1024 x 1024, captured", min(seconds(captured) for _ in range(3)) / 1000 * MICRO, 45),
    ]


def imports() -> Figure:
    def taken(code: str) -> float:
        command = [sys.executable, "-c", code]
        return min(seconds(lambda: subprocess.run(command, check=True, cwd=ROOT)) for _ in range(5))

    nothing = taken("")
    path = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'ir')!r}]; "
    ours, theirs = taken(path + "import ocl_runtime") - nothing, taken("import numpy, pyopencl") - nothing
    return row("import, against numpy and pyopencl", ours / theirs, 1.8, "times")


def figures(runtime: ocl.Runtime, device: str | None) -> Iterator[Figure]:
    with ocl.use(runtime):
        yield from building()
        with idle(runtime):
            yield from [*evaluations(runtime), *captured(runtime), unseen_sizes(runtime)]
        if runtime.device.capabilities.kind == "gpu":
            yield from on_a_card(runtime)
        yield from peaks(runtime)
        yield from slices(runtime)
        yield from planning(device)
        yield imports()
        yield while_another_builds(runtime)


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", figures))
