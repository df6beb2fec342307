"""What a kernel prints on the device is what it prints in the interpreter; work-items print in any order."""

from __future__ import annotations

import numpy as np
import pytest

from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.locals import STRATEGIES
from ocl_ir.types import BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, DType
from ocl_runtime.execute.engine import Engine
from tests.support.cases import BY_NAME


def printed(kernel: Kernel, args: dict[str, np.ndarray], items: int) -> list[str]:
    lines: list[str] = []
    run(kernel, {name: value.copy() for name, value in args.items()}, (items,), (1,), print_=lines.append)
    return sorted(lines)


def printed_on_the_device(
    engine: Engine,
    kernel: Kernel,
    args: dict[str, np.ndarray],
    items: int,
    strategy: str,
    capfd: pytest.CaptureFixture[str],
) -> list[str]:
    executable = engine.executable(kernel, strategy)
    uploaded = {name: (engine.upload(value), 0) for name, value in args.items()}
    engine.finish()
    capfd.readouterr()
    engine.submit(executable.prepare(uploaded, (items,), (1,)))
    engine.finish()
    return sorted(capfd.readouterr().out.splitlines())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_texts(strategy: str, engine: Engine, capfd: pytest.CaptureFixture[str]) -> None:
    case = BY_NAME["printing"]
    args = case.arguments(np.random.default_rng(7))
    wanted = printed(case.kernel, args, 4)
    assert '100% of "{2}" is inf \\n??/ 1\t*/ é' in wanted
    assert "-1 11529215046068469761" in wanted
    assert wanted.count("") == 3
    assert printed_on_the_device(engine, case.kernel, args, 4, strategy, capfd) == wanted


@pytest.mark.parametrize("dtype", [BOOL, I8, U8, I16, U16, I32, U32, I64, U64, F16, F32, F64], ids=str)
def test_numbers_of_every_type(dtype: DType, engine: Engine, capfd: pytest.CaptureFixture[str]) -> None:
    if not engine.device.capabilities.computes(dtype.name):
        pytest.skip(f"the device does not compute with {dtype}")
    k = KernelBuilder("printing")
    i = k.global_id()
    k.print_("{}: {}", i, k.load(k.pointer("x", dtype), i))
    if dtype == BOOL:
        x = np.array([True, False])
    elif dtype.is_float:
        x = np.array([0, -0.0, 1 / 3, 1e-5, 6e4, -1234.5, np.inf, -np.inf], dtype.numpy)
    else:
        limits = np.iinfo(dtype.numpy)
        x = np.array([0, 1, limits.max, limits.min, limits.max // 3], dtype.numpy)
    kernel = k.build()
    assert printed_on_the_device(engine, kernel, {"x": x}, x.size, "hybrid", capfd) == printed(kernel, {"x": x}, x.size)
