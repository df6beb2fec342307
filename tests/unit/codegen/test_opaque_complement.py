"""Where the compiler must not know that bits are turned over, integers of 32 and 64 bits are spelled with a macro."""

from __future__ import annotations

import pytest

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import BOOL, I16, I32, U64, DType
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.spelling import Dialect


def source(dtype: DType, op: str, *, opaque: bool, lanes: int = 1) -> str:
    k = KernelBuilder("turned")
    x, y, i = k.pointer("x", dtype), k.pointer("y", dtype), k.global_id(0, "i")
    value = k.load(x, i) if lanes == 1 else k.load(x, i * lanes, count=lanes)
    ones = -1 if dtype.kind == "int" else 2**dtype.bits - 1
    turned: Ref = {
        "not": lambda: k.op("not", value),
        "xor": lambda: k.op("xor", value, ones),
        "sub": lambda: k.op("sub", k.const(ones, dtype), value),
        "other": lambda: k.op("xor", value, 5),
    }[op]()
    k.store(y, i if lanes == 1 else i * lanes, turned)
    return compile_kernel(k.build(), "hybrid", Dialect(opaque_complement=opaque)).source.text


@pytest.mark.parametrize("dtype", [I32, U64], ids=str)
@pytest.mark.parametrize("op", ["not", "xor", "sub"])
def test_numbers_of_32_and_64_bits(dtype: DType, op: str) -> None:
    text = source(dtype, op, opaque=True)
    assert "#define COMPLEMENT(x)" in text
    assert "= COMPLEMENT(" in text
    assert "COMPLEMENT" not in source(dtype, op, opaque=False)


def test_all_others_are_as_ever() -> None:
    for dtype, op, lanes in ((I32, "other", 1), (I16, "not", 1), (BOOL, "not", 1), (I32, "not", 4)):
        assert "COMPLEMENT" not in source(dtype, op, opaque=True, lanes=lanes)
