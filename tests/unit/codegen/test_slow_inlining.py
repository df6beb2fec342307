"""Where the compiler takes long over many functions with long code, a kernel of many calls one of each."""

from __future__ import annotations

import pytest

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.types import F32
from ocl_runtime.codegen.combine import combine
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.codegen.source import Source
from ocl_runtime.codegen.spelling import Dialect


def chain(length: int, name: str = "chain") -> Kernel:
    k = KernelBuilder(name)
    x, y, i = k.pointer("x", F32), k.pointer("y", F32), k.global_id(0, "i")
    value = k.load(x, i)
    for turn in range(length):
        value = k.op("pow", value, k.op("cos", value)) if turn % 8 == 7 else k.op("sin", value)
    k.store(y, i, value)
    return k.build()


def generated(kernel: Kernel, *, slow: bool = True) -> Source:
    return compile_kernel(kernel, "hybrid", Dialect(slow_inlining=slow)).source


def test_many_are_called() -> None:
    text = generated(chain(24)).text
    assert text.count("__attribute__((noinline)) float called_") == 3
    assert text.count("called_sin_float(") == 1 + 21
    assert "called_pow_float(const float x, const float y)" in text
    assert " sin(x)" in text
    assert "called" not in generated(chain(24), slow=False).text


@pytest.mark.parametrize("length", [1, 14])
def test_few_are_inlined(length: int) -> None:
    assert "called" not in generated(chain(length)).text


def test_functions_of_two_kernels_of_a_program_have_two_names() -> None:
    parts = [generated(chain(24, name)).part for name in ("first", "second")]
    assert "called_sin_float" in parts[0].functions
    text, renamed = combine(parts)
    assert renamed[1]["called_sin_float"] == "called_sin_float_1"
    assert "#define called_sin_float called_sin_float_1" in text
