"""Halves and bfloat16 are loaded as their bits, and vectors of bits are read as wider words."""

from __future__ import annotations

import numpy as np
import pytest

from ocl_ir.errors import DTypeError, VerifyError
from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.verify import verify
from ocl_ir.types import BF16, F16, U16, U32, DType, Vector
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.spelling import Dialect


def words(dtype: DType) -> Kernel:
    """Eight elements as four words."""
    k = KernelBuilder("words")
    x, y = k.pointer("x", dtype, align=16), k.pointer("y", U32, align=16)
    bits = k.load_as(x, 0, U16, count=8, align=16)
    k.store(y, 0, k.op("bitcast", bits, result=Vector(U32, 4)), align=16)
    return k.build()


@pytest.mark.parametrize("dtype", [F16, BF16])
def test_words_of_halves(dtype: DType) -> None:
    kernel = words(dtype)
    verify(kernel)
    bits = np.arange(0x3C00, 0x3C08, dtype=np.uint16)
    y = np.zeros(4, np.uint32)
    run(kernel, {"x": bits.view(dtype.numpy) if dtype is F16 else bits, "y": y}, (1,), (1,))
    np.testing.assert_array_equal(y, bits.view(np.uint32))
    assert "as_uint4(LOAD(ushort8, x))" in compile_kernel(kernel, "hybrid", Dialect()).source.text


def test_bits_are_not_stored() -> None:
    k = KernelBuilder("stored")
    x = k.pointer("x", F16)
    k.store(x, 0, k.const(1, U16))
    with pytest.raises(VerifyError, match="u16 is moved through a pointer to f16"):
        verify(k.build())


def test_words_of_another_size_are_refused() -> None:
    k = KernelBuilder("words")
    bits = k.load_as(k.pointer("x", F16), 0, U16, count=4)
    with pytest.raises(DTypeError):
        k.op("bitcast", bits, result=Vector(U32, 4))
