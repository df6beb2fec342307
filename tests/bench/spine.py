#!/usr/bin/env python3
"""The figures of the spine on the chosen device, each beside its target.

    python tests/bench/spine.py [--device WORDS] [--check]

All ratios are of things measured in this run. With --check the exit code is 1 where a target that applies to this
device is missed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable

import numpy as np
from clock import copy_bandwidth, device_seconds
from figures import ROOT, Figure, main, median_seconds, seconds

import ocl_runtime as ocl

IMPORTS = "import numpy; import pyopencl"
PROGRAM = """
import json, numpy as np
import ocl_runtime as ocl
a, b, c = (ocl.asarray(np.full(1000, x, np.float32)) for x in (1, 2, 3))
result = (a * b + ocl.sin(c)).numpy()
runtime = ocl.current()
print(json.dumps({"built": runtime.statistics()["program"]["built"], "first": float(result[0])}))
"""


def back_to_back(enqueue: Callable[[], object], finish: Callable[[], object], count: int = 50) -> float:
    """Seconds a command takes when many follow each other, so that the host's part is hidden behind the device's."""

    def many() -> None:
        for _ in range(count):
            enqueue()
        finish()

    return median_seconds(many, 7) / count


def operands(size: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(size).astype(np.float32) for _ in range(3)]


def fused(runtime: ocl.Runtime, size: int) -> tuple[float, float, float]:
    """Of a*b + sin(c): bytes a second, each counted once; the host's seconds to build and compute it; the largest
    error."""
    with ocl.use(runtime):
        host = operands(size)
        a, b, c = (ocl.asarray(one) for one in host)
        expression = a * b + ocl.sin(c)
        seconds = device_seconds(runtime, expression)
        x, y, z = a[:1000], b[:1000], c[:1000]

        def compute() -> None:
            (x * y + ocl.sin(z)).compute()

        host_seconds = back_to_back(compute, runtime.finish, 500)
        reference = host[0].astype(np.float64) * host[1] + np.sin(host[2].astype(np.float64))
        error = float(np.max(np.abs(expression.numpy() - reference)))
    return 16 * size / seconds, host_seconds, error


def against_numpy(runtime: ocl.Runtime, size: int) -> tuple[float, float]:
    """How many times faster than NumPy, from computing to the end of the device's work; and the largest error."""
    with ocl.use(runtime):
        host = operands(size)
        a, b, c = (ocl.asarray(one) for one in host)

        def compute() -> None:
            (a * b + ocl.sin(c)).compute()
            runtime.finish()

        ours = median_seconds(compute)
        reference = host[0].astype(np.float64) * host[1] + np.sin(host[2].astype(np.float64))
        error = float(np.max(np.abs((a * b + ocl.sin(c)).numpy() - reference)))
    return median_seconds(lambda: host[0] * host[1] + np.sin(host[2])) / ours, error


def second_start(words: str | None) -> tuple[float, int]:
    """Seconds of a whole process with a first result over those of the bare imports, and the programs it built."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            "OCL_RUNTIME_CACHE": cache,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "ir"), *sys.path[1:]]),
        }
        if words:
            environment["OCL_RUNTIME_DEVICE"] = words

        def start(program: str) -> str:
            command = [sys.executable, "-c", program]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            return done.stdout

        start(PROGRAM)
        built = json.loads(start(PROGRAM))["built"]
        pairs = []
        for _ in range(7):  # alternating, so that a noisy moment meets both
            pairs.append([seconds(lambda program=program: start(program)) for program in (PROGRAM, IMPORTS)])
        ours, bare = (statistics.median(one) for one in zip(*pairs, strict=True))
    return ours / bare, built


def reductions(runtime: ocl.Runtime, side: int) -> list[Figure]:
    """Sums of a matrix of float32: bytes read in a second, beside NumPy on a CPU."""
    host = np.random.default_rng(1).standard_normal((side, side)).astype(np.float32)
    found = []
    with ocl.use(runtime):
        x = ocl.asarray(host)
        for name, axis in (("all", None), ("axis 0", 0), ("axis 1", 1)):
            seconds = device_seconds(runtime, ocl.sum(x, axis=axis))
            text = f"{host.nbytes / seconds / 1e9:.0f} GB/s"
            if runtime.device.capabilities.kind == "cpu":
                numpys = median_seconds(lambda axis=axis: host.sum(axis=axis), 7)
                text += f", {numpys / seconds:.1f} times NumPy"
            found.append(Figure(f"sum over {name}, {side} x {side}", text))
    return found


def torch_bandwidth(size: int) -> float | None:
    """Bytes a second of a*b + sin(c) in torch on the same GPU, where torch is there; counted as for ours."""
    try:
        import torch
    except ModuleNotFoundError:
        return None
    if not torch.cuda.is_available():
        return None
    a, b, c = (torch.from_numpy(one).cuda() for one in operands(size))
    return 16 * size / back_to_back(lambda: a * b + torch.sin(c), torch.cuda.synchronize)


def figures(runtime: ocl.Runtime, words: str | None) -> list[Figure]:
    found = []
    name = "a*b + sin(c)"
    if runtime.device.capabilities.kind == "gpu":
        copy = copy_bandwidth(runtime, 4 << 26)
        speed, launch, error = fused(runtime, 1 << 24)
        text = f"{speed / 1e9:.0f} GB/s, {speed / copy:.1%} of the copy, largest error {error:.1e}"
        found.append(Figure("copy of 2^26 float32", f"{copy / 1e9:.0f} GB/s"))
        found.append(Figure(f"{name}, 2^24 float32", text, "90%", speed >= 0.9 * copy and error < 1e-5))
        found.append(Figure("building and computing it, host's part", f"{launch * 1e6:.0f} us"))
        torchs = torch_bandwidth(1 << 24)
        if torchs is not None:
            found.append(Figure(f"{name} in torch, eager", f"{torchs / 1e9:.0f} GB/s"))
        found += reductions(runtime, 8192)
    else:
        ratio, error = against_numpy(runtime, 1 << 22)
        text = f"{ratio:.1f} times NumPy, largest error {error:.1e}"
        found.append(Figure(f"{name}, 2^22 float32", text, "3 times", ratio >= 3 and error < 1e-5))
        found += reductions(runtime, 4096)
    ratio, built = second_start(words)
    found.append(Figure("second start: programs built", str(built), "0", built == 0))
    found.append(Figure("second start: time", f"{ratio:.2f} times the bare imports", "3 times", ratio <= 3))
    return found


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", figures))
