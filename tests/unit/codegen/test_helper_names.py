"""What a kernel calls its values is no helper function of matrix instructions or of what goes on."""

from __future__ import annotations

import pytest

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.names import entry_name, names
from ocl_ir.types import F16, F32, U32
from ocl_runtime.codegen.helpers import WarpgroupTypes
from ocl_runtime.codegen.templates import HELPERS

NUMBERED = ("await_copies", "await_products", *HELPERS["specialising"])
"""Helpers with a number behind their names."""
FUNCTIONS = sorted(
    {*HELPERS["matrix_instructions"], *HELPERS["asynchronous"]} - {*NUMBERED, "warpgroup_multiply"}
    | {f"{name}_{number}" for name in NUMBERED for number in (0, 12, 240)}
    | {WarpgroupTypes(F16, 64, turned, turned, False).name for turned in (True, False)}
    | {WarpgroupTypes(F16, 64, None, True, True).name}
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_kernels_are_called_otherwise(name: str) -> None:
    k = KernelBuilder(name)
    value = k.let(k.scalar(name, U32) + 1, name)
    k.store(k.pointer("out", F32), 0, k.convert(value, F32))
    assert name not in {entry_name(k.build()), *names(k.build()).values()}
