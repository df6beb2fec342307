"""Single instructions of NVIDIA's devices as operations, for kernels that are for them alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_ir.bfloat16 import bits_of
from ocl_ir.program_ops import InlineC
from ocl_ir.types import BF16, F16, F32, U32, DType


def _instruction(ptx: str, dtype: DType, sources: str, reference: Callable[..., Any]) -> InlineC:
    """An instruction of some float32, the constraints of whose operands are given, as an operation."""
    name, letter = ("uint", "r") if dtype is U32 else ("float", "f")
    return InlineC(f'({{{{ {name} y; asm("{ptx}" : "={letter}"(y) : {sources}); y; }}}})', dtype, reference)


def _exp2(x: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.exp2(x)


EXP2 = _instruction("ex2.approx.ftz.f32 %0, %1;", F32, '"f"({0})', _exp2)
"""Weights are rounded to halves: what the device has for exponentials is exact enough."""


def _packed(dtype: DType) -> InlineC:
    """Two numbers, rounded to the halves of a word."""

    def reference(low: Any, high: Any) -> Any:
        halves = [bits_of(x) if dtype is BF16 else x.astype(np.float16).view(np.uint16) for x in (low, high)]
        return halves[0].astype(np.uint32) | halves[1].astype(np.uint32) << 16

    return _instruction(f"cvt.rn.{dtype}x2.f32 %0, %1, %2;", U32, '"f"({1}), "f"({0})', reference)


PACK = {dtype: _packed(dtype) for dtype in (F16, BF16)}
"""Two float32 as a word of halves."""
