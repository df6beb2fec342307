"""Generated OpenCL C of every shared kernel in every strategy, compared with files that a person can read and diff.

python -m pytest tests/golden --update-golden      writes them anew: look at the diff before you commit it
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.locals import STRATEGIES
from ocl_ir.kernel.printer import text
from ocl_ir.subgroups import Subgroups
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.spelling import Dialect
from tests.support.cases import BY_NAME, CASES, Case
from tests.support.ptx_cases import PTX_KERNELS
from tests.support.roads import NVIDIA

OWN_MATH = ["mul_sin_add"]
SUBGROUPS = {"opencl": Subgroups(sizes=(32,), spelling="opencl"), "ptx": NVIDIA}
EXCHANGING = [("exchange", "opencl"), ("exchange", "ptx"), ("float_atomics", "ptx")]
"""Kernels for devices with more than OpenCL C 1.2 has, by how source asks for it: work-items exchange values in
sub-groups, and floats are added in memory."""
FOLDER = Path(__file__).parent / "sources"


def golden(path: Path, made: str, update: bool) -> None:
    if update:
        path.parent.mkdir(exist_ok=True)
        path.write_text(made)
    assert path.exists(), f"{path.name} is missing: run with --update-golden and look at it"
    assert made == path.read_text(), f"{path.name} differs: if the change is wanted, run with --update-golden"


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_source(case: Case, strategy: str, update_golden: bool) -> None:
    compilation = compile_kernel(case.kernel, strategy, Dialect())
    golden(FOLDER / f"{case.name}.{strategy}.cl", compilation.source.text, update_golden)


@pytest.mark.parametrize("name", OWN_MATH)
def test_source_with_own_math(name: str, update_golden: bool) -> None:
    """As PoCL gets it: the library's branch-free functions, and word that the kernel is vector code."""
    compilation = compile_kernel(BY_NAME[name].kernel, "hybrid", Dialect(own_math=True, vector_hint=True))
    golden(FOLDER / f"{name}.own_math.cl", compilation.source.text, update_golden)


@pytest.mark.parametrize(("name", "spelling"), EXCHANGING)
def test_source_with_subgroups(name: str, spelling: str, update_golden: bool) -> None:
    """As Intel and NVIDIA get it: no local memory between the items of a sub-group, and nobody waits; no loop for one
    addition."""
    compilation = compile_kernel(BY_NAME[name].kernel, "hybrid", Dialect(subgroups=SUBGROUPS[spelling]))
    golden(FOLDER / f"{name}.{spelling}.cl", compilation.source.text, update_golden)


@pytest.mark.parametrize("kernel", PTX_KERNELS, ids=lambda kernel: kernel.name)
def test_source_with_instructions_of_ptx(kernel: Kernel, update_golden: bool) -> None:
    """As only NVIDIA gets it: matrix instructions, and what goes on while work-items do."""
    compilation = compile_kernel(kernel, "hybrid", Dialect(subgroups=NVIDIA))
    golden(FOLDER / f"{kernel.name}.ptx.cl", compilation.source.text, update_golden)


@pytest.mark.parametrize("kernel", [*(case.kernel for case in CASES), *PTX_KERNELS], ids=lambda kernel: kernel.name)
def test_kernel_ir(kernel: Kernel, update_golden: bool) -> None:
    compilation = compile_kernel(kernel, "hybrid", Dialect())
    stages = [f"# {name}\n{text(stage)}" for name, stage in compilation.stages if name in {"built", "dce"}]
    golden(FOLDER / f"{kernel.name}.ir", "\n".join(stages), update_golden)


def test_no_orphans() -> None:
    wanted = {f"{case.name}.{end}" for case in CASES for end in (*(f"{s}.cl" for s in STRATEGIES), "ir")}
    wanted |= {f"{name}.own_math.cl" for name in OWN_MATH}
    wanted |= {f"{name}.{spelling}.cl" for name, spelling in EXCHANGING}
    wanted |= {f"{kernel.name}.{end}" for kernel in PTX_KERNELS for end in ("ptx.cl", "ir")}
    assert {path.name for path in FOLDER.iterdir()} == wanted


def test_enough_kernels() -> None:
    assert len(CASES) >= 20


def test_same_kernel_same_text() -> None:
    for case in CASES:
        first, second = (compile_kernel(case.kernel, "reuse", Dialect()).source.text for _ in range(2))
        assert first == second
