"""Small kernels of NVIDIA's instructions mean what NumPy says."""

from __future__ import annotations

import numpy as np
import pytest

from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.verify import verify
from tests.support.cases import Case
from tests.support.ptx_cases import PTX_CASES


@pytest.mark.parametrize("case", PTX_CASES, ids=str)
def test_the_interpreter_agrees_with_numpy(case: Case) -> None:
    arguments = case.arguments(np.random.default_rng(4))
    wanted = case.expected(arguments)
    verify(case.kernel)
    run(case.kernel, arguments, case.global_size, case.group_size)
    for name, array in wanted.items():
        np.testing.assert_array_equal(arguments[name], array, name)
