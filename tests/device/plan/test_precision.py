"""What is written out for a line of a program that comes again and again, where the line multiplies more or less
exactly."""

from __future__ import annotations

import numpy as np

import ocl_runtime as ocl


def test_each_precision_has_its_own_function() -> None:
    with ocl.use(ocl.Runtime(None)) as runtime:
        x, lines = ocl.asarray(np.ones((64, 64), "f4")), runtime.executor.plans.lines

        def multiplied(precision: str) -> int:
            """How often something that was written out was run."""
            before = lines.hits
            with ocl.precision(precision):
                (x @ x).numpy()
            return int(lines.hits - before)

        assert sum(multiplied("tf32") for _ in range(50)) > 25
        assert multiplied("float32") == 0
        assert sum(multiplied("float32") for _ in range(50)) > 25
        assert multiplied("tf32") == multiplied("float32") == 1
