"""Generated OpenCL C of the library's own algorithms, as a GPU gets it, for a person to read.

python -m pytest tests/golden --update-golden      writes them anew: look at the diff before you commit it
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.graph.linalg import LuFactor, OrthogonalRows, QrFactor
from ocl_runtime import fft
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.spelling import Dialect
from ocl_runtime.linalg.operands import called
from ocl_runtime.plan.planner import plan
from ocl_runtime.plan.target import Target
from ocl_runtime.random import default_rng
from ocl_runtime.special import expit, gammaln
from tests.golden.test_sources import NVIDIA as WARPS
from tests.golden.test_sources import golden
from tests.support.interpreted import InterpretedRuntime

FOLDER = Path(__file__).parent / "planned"
GPU = Target(kind="gpu", compute_units=132, group_size=256)
CPU = Target(kind="cpu", compute_units=8, group_size=64, vector_bytes=64)
MATRICES = replace(GPU, matrix_instructions=("mma_tf32",), warpgroups=True, tile_bytes=227 << 10)
NVIDIA = Dialect(branching_division=True, slow_inlining=True, rereads_arguments=True)


class Planned(NamedTuple):
    """An expression of an array of a shape and dtype, whose launch `number` is shown."""

    target: Target
    expression: Callable[[xp.Array], xp.Array]
    shape: tuple[int, ...]
    dtype: str = "f4"
    number: int = 0
    dialect: Dialect = Dialect()


CASES = {
    "scan_of_rows": Planned(GPU, lambda x: xp.cumulative_sum(x * 2, axis=1), (4096, 16384)),
    "scan_of_short_rows": Planned(GPU, lambda x: xp.cumulative_sum(x, axis=1), (2**20, 50)),
    "scan_totals_of_parts": Planned(GPU, xp.cumulative_sum, (2**20,)),
    "scan_of_parts": Planned(GPU, xp.cumulative_sum, (2**20,), number=-1),
    "scan_in_one_pass": Planned(replace(GPU, group_progress=True), xp.cumulative_sum, (2**20,), number=1),
    "counts_in_a_table": Planned(GPU, lambda x: xp.bincount(x, length=256), (2**20,), "i4", number=1),
    "counts_in_a_cache": Planned(GPU, lambda x: xp.bincount(x, length=2**20), (2**20,), "i4", number=1),
    "sums_over_many_operands": Planned(
        GPU, lambda x: xp.sum(x[0] * x[1] + x[2] * x[3] + x[4] * x[5], axis=1), (6, 4096, 8192)
    ),
    "argmax_of_columns": Planned(replace(GPU, vector_bytes=16), lambda x: xp.argmax(x, axis=0), (8192, 8192)),
    "columns_in_largest_groups": Planned(
        replace(GPU, largest_group_size=1024), lambda x: x - xp.mean(x, axis=0), (4096, 4096)
    ),
    "quotients.ptx": Planned(GPU, lambda x: x / xp.sqrt(x + 1), (2**20,), dialect=NVIDIA),
    "complex_multiply_add": Planned(GPU, lambda x: x[0] * x[1] + x[2], (3, 2**20), "c8"),
    "convolution": Planned(
        GPU,
        lambda x: xp.maximum(xp.conv(x, xp.reshape(x[0, :36], (64, 64, 3, 3)), 1, 2, dilation=2) + x[0, 0, 0, 0], 0),
        (64, 64, 32, 32),
        number=-1,
    ),
    "tiles_by_winograd": Planned(
        GPU, lambda x: xp.conv(x, xp.reshape(x[0, :36], (64, 64, 3, 3)), padding=1), (64, 64, 32, 32), number=-3
    ),
    "packing_on_a_cpu": Planned(CPU, lambda x: x @ x.T, (1024, 1024)),
    "product_of_panels_on_a_cpu": Planned(CPU, lambda x: x @ x, (1024, 1024), number=1),
    "product_of_few_rows_on_a_cpu": Planned(CPU, lambda x: x[:96] @ x, (1024, 1024), number=1),
    "product_with_more_on_a_cpu": Planned(CPU, lambda x: xp.maximum(x @ x + x[0], 0), (1024, 1024), number=1),
    "packing_of_what_is_computed_on_a_cpu": Planned(CPU, lambda x: (x * x[:, :1]) @ x.T, (1024, 1024)),
    "attention.ptx": Planned(
        MATRICES,
        lambda x: xp.attention(x, x, x, causal=True),
        (16, 4096, 64),
        dtype="f2",
        number=1,
        dialect=replace(NVIDIA, subgroups=WARPS),
    ),
    "product_in_tf32.ptx": Planned(MATRICES, xp.precision("tf32")(lambda x: xp.tanh(x @ x)), (4096, 4096), number=1),
    "complex_product_of_matrices": Planned(GPU, lambda x: x @ x, (1024, 1024), "c8"),
    "fourier_transform_of_rows": Planned(GPU, fft.fft, (4096, 1024), "c8"),
    "fourier_transform_of_a_long_line": Planned(GPU, fft.fft, (2**20,), "c8"),
    "fourier_transform_on_a_cpu": Planned(CPU, fft.fft, (4096, 60), "c8"),
    "sort_of_rows": Planned(GPU, lambda x: xp.sort(x, axis=1), (4096, 1000)),
    "sort_pass_counts": Planned(GPU, xp.sort, (2**20,)),
    "sort_pass": Planned(GPU, xp.sort, (2**20,), number=-1),
    "argsort_pass": Planned(GPU, xp.argsort, (2**20,), "u4", number=-1),
    "sort_pass_on_a_cpu": Planned(CPU, xp.sort, (2**20,), "i4", number=-1),
    "lu_panel": Planned(GPU, lambda x: called(LuFactor(), x), (1000, 8, 8), number=1),
    "qr_panel": Planned(GPU, lambda x: called(QrFactor(), x), (600, 8), number=2),
    "rotations_of_blocks": Planned(CPU, lambda x: called(OrthogonalRows(), x), (100, 100), number=3),
    "rotations_of_small_matrices": Planned(GPU, lambda x: called(OrthogonalRows(), x), (1000, 16, 16), number=1),
    "noise_added": Planned(
        replace(GPU, vector_bytes=16), lambda x: x + default_rng(1).normal(0.0, 0.1, x.shape), (2**20,)
    ),
    "logarithm_of_gamma": Planned(GPU, gammaln, (2**20,)),
    "logistic_of_a_sum": Planned(CPU, lambda x: expit(x * 2 + 1), (2**20,)),
    "scan_on_a_cpu": Planned(CPU, xp.cumulative_sum, (100,)),
}


@pytest.mark.parametrize("name", CASES)
def test_source(name: str, update_golden: bool) -> None:
    target, expression, shape, dtype, number, dialect = CASES[name]
    runtime = InterpretedRuntime(target)
    with xp.use(runtime):
        node = expression(xp.asarray(np.zeros(shape, dtype)))._node
    kernel = plan([node], runtime).launches[number].kernel
    golden(FOLDER / f"{name}.cl", compile_kernel(kernel, "hybrid", dialect).source.text, update_golden)


def test_no_orphans() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.cl" for name in CASES}
