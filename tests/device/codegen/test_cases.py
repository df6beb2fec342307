"""The shared kernels on the device, in every strategy, and in the interpreter, against NumPy."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.locals import STRATEGIES
from ocl_ir.passes import run as run_passes
from ocl_ir.types import Pointer
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.errors import DTypeError
from ocl_runtime.execute.engine import Engine
from tests.support.cases import CASES, Case

NEEDS = {"half_arithmetic": "f16", "doubles": "f64", "double_atomics": "f64"}


def arguments(case: Case) -> dict[str, Any]:
    return case.arguments(np.random.default_rng(7))


def check(case: Case, got: dict[str, Any]) -> None:
    with np.errstate(all="ignore"):
        wanted = case.expected(arguments(case))
    for name, values in wanted.items():
        if case.tolerance:
            np.testing.assert_allclose(got[name], values, rtol=case.tolerance, atol=case.tolerance)
        else:
            np.testing.assert_array_equal(got[name], values)
        assert got[name].dtype == values.dtype


@pytest.mark.parametrize("optimised", [False, True], ids=["as built", "after the passes"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_interpreted(case: Case, optimised: bool) -> None:
    kernel = run_passes(case.kernel) if optimised else case.kernel
    got = copy.deepcopy(arguments(case))
    run(kernel, got, case.global_size, case.group_size)
    check(case, got)


@pytest.fixture(scope="module")
def built(engine: Engine) -> None:
    """All of their kernels, in a few programs."""
    usable = [case for case in CASES if computes(engine, case)]
    compilations = [
        compile_kernel(case.kernel, strategy, engine._dialect) for case in usable for strategy in STRATEGIES
    ]
    engine.programs.build_together([one.source.part for one in compilations])


def computes(engine: Engine, case: Case) -> bool:
    return engine.device.capabilities.computes(NEEDS.get(case.name, "f32"))


@pytest.mark.sample(5)
@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_on_the_device(case: Case, strategy: str, engine: Engine) -> None:
    if not computes(engine, case):
        with pytest.raises(DTypeError, match="cannot compute with"):
            engine.executable(case.kernel, strategy)
        return
    given = arguments(case)
    args: dict[str, Any] = {}
    for param in case.kernel.params:
        value = given[param.value.hint]
        args[param.value.hint] = (engine.upload(value), 0) if isinstance(param.value.type, Pointer) else value
    engine.submit(engine.executable(case.kernel, strategy).prepare(args, case.global_size, case.group_size))
    arrays = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    check(
        case, {name: engine.download(args[name][0], value.dtype, value.size).result() for name, value in arrays.items()}
    )
