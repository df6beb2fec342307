"""Where the compiler branches in each lane, vectors of float32 are divided, and their roots taken, by helpers."""

from __future__ import annotations

import pytest

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.types import F32, F64, DType
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.spelling import Dialect


def source(dtype: DType, lanes: int, *, branches: bool) -> str:
    k = KernelBuilder("quotients")
    x, y, i = k.pointer("x", dtype), k.pointer("y", dtype), k.global_id(0, "i")
    value = k.load(x, i * lanes, count=lanes)
    k.store(y, i * lanes, value / k.op("sqrt", value))
    return compile_kernel(k.build(), "hybrid", Dialect(branching_division=branches)).source.text


@pytest.mark.parametrize("lanes", [2, 4])
def test_vectors_of_float32(lanes: int) -> None:
    text = source(F32, lanes, branches=True)
    assert f"lanes_div_{lanes}(x_value, lanes_sqrt_{lanes}(x_value))" in text
    assert text.count("float first_reciprocal(") == text.count("float first_reciprocal_root(") == 1
    assert "x_value / sqrt(x_value)" in source(F32, lanes, branches=False)


@pytest.mark.parametrize(("dtype", "lanes"), [(F32, 1), (F64, 2)], ids=str)
def test_all_others_are_as_ever(dtype: DType, lanes: int) -> None:
    assert source(dtype, lanes, branches=True) == source(dtype, lanes, branches=False)
