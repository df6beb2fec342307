"""How long it takes until a new expression of a hundred operations is computed for the first time."""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np

import ocl_runtime as ocl
from ocl_runtime.commands.bench.measure import OURS, Result, Timing
from ocl_runtime.commands.bench.samples import Sample
from ocl_runtime.runtime import Runtime

KEY, TITLE = "build-chain", "building a chain of 100 operations with sines"
_NODES, _LENGTH = 100, 64


def measure(runtime: Runtime, rounds: int = 3) -> Result:
    """Each round has a chain that no cache has ever seen: half its operations are drawn anew."""
    result = Result(KEY, TITLE, "f32", _NODES, [[_LENGTH]], verified="all")
    samples = []
    host = np.linspace(0.1, 0.9, _LENGTH, dtype=np.float32)
    with ocl.use(runtime):
        x = ocl.asarray(host)
        for _ in range(rounds):
            drawn = [random.SystemRandom().choice("+-*") for _ in range(_NODES // 2)]
            start = time.perf_counter()
            found = _chain(ocl.sin, x, drawn).compute().numpy()
            samples.append(Sample(time.perf_counter() - start))
            expected = _chain(np.sin, host.astype(np.float64), drawn)
            result.wrong |= not np.allclose(found, expected, rtol=1e-3, atol=1e-3)
    if result.wrong:
        result.left_out[OURS] = "wrong: the chain is not NumPy's"
    else:
        result.timings[OURS] = Timing("wall", tuple(samples))
    return result


def _chain(sin: Any, x: Any, drawn: list[str]) -> Any:
    y = x
    for operator in drawn:
        y = sin(y)
        y = y + x if operator == "+" else y - x if operator == "-" else y * x
    return y
