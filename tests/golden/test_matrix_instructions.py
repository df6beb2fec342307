"""Generated OpenCL C with matrix instructions, compared with files that a person can read: of each instruction the
kernel by which a device is tried, and a product in tiles of each kind.

python -m pytest tests/golden --update-golden      writes them anew: look at the diff before you commit it
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.matrix_instructions import INSTRUCTIONS
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.matrix_trial import check_kernel
from ocl_runtime.codegen.spelling import Dialect
from ocl_runtime.plan.planner import plan
from ocl_runtime.plan.target import Target
from tests.golden.test_sources import golden
from tests.support.interpreted import InterpretedRuntime

FOLDER = Path(__file__).parent / "matrix_instructions"
PRODUCTS = {
    "mma_f64": "f8",
    "mfma_f16": "f2",
    "mfma_f32": "f4",
    "mfma_f64": "f8",
    "wmma_f16": "f2",
    "wmma_gfx12_f16": "f2",
    "xmx8_f16": "f2",
    "xmx16_f16": "f2",
}
"""Instructions of which products are shown, and the dtype of their operands."""


def product(name: str) -> Kernel:
    """The kernel of a product. The left matrix is read along the inner axis, the right one along its own."""
    target = Target(compute_units=64, local_bytes=64 << 10, matrix_instructions=(name,))
    runtime = InterpretedRuntime(target)
    with xp.use(runtime):
        x, y = (xp.asarray(np.zeros((2048, 2048), PRODUCTS[name])) for _ in range(2))
        launch = plan([(x @ y)._node], runtime).launches[0]
    return launch.kernel


@pytest.mark.parametrize("name", sorted(INSTRUCTIONS))
def test_instruction(name: str, update_golden: bool) -> None:
    compilation = compile_kernel(check_kernel(INSTRUCTIONS[name]), "hybrid", Dialect())
    golden(FOLDER / f"{name}.cl", compilation.source.text, update_golden)


@pytest.mark.parametrize("name", PRODUCTS)
def test_product(name: str, update_golden: bool) -> None:
    compilation = compile_kernel(product(name), "hybrid", Dialect())
    golden(FOLDER / f"product_by_{name}.cl", compilation.source.text, update_golden)


def test_no_orphans() -> None:
    wanted = {f"{name}.cl" for name in INSTRUCTIONS} | {f"product_by_{name}.cl" for name in PRODUCTS}
    assert {path.name for path in FOLDER.iterdir()} == wanted
