"""Where the compiler reads numbers among the arguments again, those that are used often are put into registers."""

from __future__ import annotations

import pytest

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.types import F32, F64, I32, DType
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.spelling import Dialect


def turns(dtype: DType, uses: int) -> Kernel:
    k = KernelBuilder("turns")
    s, clash = k.scalar("s", dtype), k.scalar("s_argument", dtype)
    x, y, i = k.pointer("x", dtype), k.pointer("y", dtype), k.global_id(0, "i")
    value = k.load(x, i) + clash
    for _ in range(uses):
        value = value * value + s
    k.store(y, i, value)
    return k.build()


def source(kernel: Kernel, *, rereads: bool = True) -> str:
    return compile_kernel(kernel, "hybrid", Dialect(rereads_arguments=rereads)).source.text


def test_a_number_that_is_used_often() -> None:
    text = source(turns(F32, 16))
    assert text.count("const float s = HELD(s_argument);") == 1
    assert "#define HELD(x)" in text
    assert "const float s_argument," in text
    assert "const float s_argument_1," in text  # which is another one
    assert "HELD" not in source(turns(F32, 16), rereads=False)


@pytest.mark.parametrize(("dtype", "uses"), [(F32, 15), (F64, 16), (I32, 16)], ids=str)
def test_all_others_are_as_ever(dtype: DType, uses: int) -> None:
    assert "HELD" not in source(turns(dtype, uses))
