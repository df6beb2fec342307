"""The matrix instructions that there are, and which document says how their work-items hold matrices.

mma_*          NVIDIA, 32 work-items: "Matrix multiply-accumulate operation using mma instruction" of the PTX ISA, for
               `mma.sync.m16n8k16` of halves and float64, and `m16n8k8` of tf32.
mfma_*         AMD's CDNA, 64: the register mappings that AMD's matrix instruction calculator prints for
               `v_mfma_f32_16x16x16f16`, `v_mfma_f32_16x16x16bf16_1k`, `v_mfma_f32_16x16x4f32` and
               `v_mfma_f64_16x16x4f64`. Sums of float64 have other rows than those of float32.
wmma_*         AMD's RDNA 3, 32: the same for `v_wmma_f32_16x16x16_f16` and `_bf16`. Lanes 16 to 31 hold the operands of
               lanes 0 to 15 once more.
wmma_gfx12_*   AMD's RDNA 4, 32: "Using the Matrix Cores of AMD RDNA 4 architecture GPUs" (GPUOpen), 8 elements a lane.
xmx8_*         Intel, 8 work-items: Khronos's `cl_intel_subgroup_matrix_multiply_accumulate`, for devices whose least
               sub-group has 8 (Arc). The right matrix has a column for each work-item, packed in pairs.
xmx16_*        Intel, 16: the same, for devices whose least sub-group has 16 (Data Center GPU Max, Xe 2).

No result tells in which order an instruction of halves takes the inner axis, as long as both operands have the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from ocl_ir.kernel.matrix_instruction import Axis, Digit, MatrixInstruction, MatrixLayout
from ocl_ir.types import BF16, F16, F32, F64, TF32, U16, U32, DType


def _mma(dtype: DType) -> MatrixInstruction:
    """NVIDIA's: lane 4 g + t."""
    pack = 4 // dtype.size if dtype is not F64 else 1
    register, accumulator = (F64, F64) if dtype is F64 else (U32, F32)
    packed = (Digit(pack, "inner"),) if pack > 1 else ()
    threads, beyond = Digit(4, "inner", pack), Digit(4 if dtype is F64 else 2, "inner", 4 * pack)

    def operand(own: Axis, *elements: Digit) -> MatrixLayout:
        return MatrixLayout(register, pack, (threads, Digit(8, own)), (*packed, *elements, beyond))

    sums = MatrixLayout(
        accumulator, 1, (Digit(4, "column", 2), Digit(8, "row")), (Digit(2, "column"), Digit(2, "row", 8))
    )
    return MatrixInstruction(f"mma_{dtype}", dtype, operand("row", Digit(2, "row", 8)), operand("column"), sums)


def _amd(name: str, dtype: DType, operand: Callable[[Axis], MatrixLayout], sums: MatrixLayout) -> MatrixInstruction:
    """One of AMD's, whose builtins take halves as such."""
    extensions = ("cl_khr_fp16",) if dtype is F16 else ()
    return MatrixInstruction(name, dtype, operand("row"), operand("column"), sums, extensions=extensions)


def _mfma(dtype: DType) -> MatrixInstruction:
    """AMD's of CDNA: lane 16 q + i."""
    each = 4 if dtype.size == 2 else 1
    register, pack = (U32, 2) if dtype.size == 2 else (dtype, 1)

    def operand(own: Axis) -> MatrixLayout:
        elements = (Digit(each, "inner"),) if each > 1 else ()
        return MatrixLayout(register, pack, (Digit(16, own), Digit(4, "inner", each)), elements)

    rows = (1, 4) if dtype is F64 else (4, 1)
    lanes = Digit(16, "column"), Digit(4, "row", rows[0])
    sums = MatrixLayout(F64 if dtype is F64 else F32, 1, lanes, (Digit(4, "row", rows[1]),))
    return _amd(f"mfma_{dtype}", dtype, operand, sums)


def _wmma(dtype: DType) -> MatrixInstruction:
    """AMD's of RDNA 3: lane 16 h + i, of which both halves have the same operands."""

    def operand(own: Axis) -> MatrixLayout:
        return MatrixLayout(U32, 2, (Digit(16, own), Digit(2, own, 0)), (Digit(16, "inner"),))

    sums = MatrixLayout(F32, 1, (Digit(16, "column"), Digit(2, "row")), (Digit(8, "row", 2),))
    return _amd(f"wmma_{dtype}", dtype, operand, sums)


def _wmma_gfx12(dtype: DType) -> MatrixInstruction:
    """AMD's of RDNA 4: lane 16 h + i."""

    def operand(own: Axis) -> MatrixLayout:
        return MatrixLayout(U32, 2, (Digit(16, own), Digit(2, "inner", 8)), (Digit(8, "inner"),))

    sums = MatrixLayout(F32, 1, (Digit(16, "column"), Digit(2, "row", 8)), (Digit(8, "row"),))
    return _amd(f"wmma_gfx12_{dtype}", dtype, operand, sums)


def _xmx(dtype: DType, size: int) -> MatrixInstruction:
    """Intel's: all work-items together have a row of the left matrix, each one has a column of the right one."""
    pack = 16 // size
    packed = (Digit(pack, "inner"),) if pack > 1 else ()
    register = U32 if pack > 1 else U16
    left = MatrixLayout(register, pack, (Digit(size, "inner", pack),), (*packed, Digit(8, "row")))
    right = MatrixLayout(U32, 2, (Digit(size, "column"),), (Digit(16, "inner"),))
    sums = MatrixLayout(F32, 1, (Digit(size, "column"),), (Digit(8, "row"),))
    return MatrixInstruction(f"xmx{size}_{dtype}", dtype, left, right, sums, asks_size=True)


_HALVES = F16, BF16
INSTRUCTIONS = {
    instruction.name: instruction
    for instruction in (
        *(_mma(dtype) for dtype in (*_HALVES, TF32, F64)),
        *(_mfma(dtype) for dtype in (*_HALVES, F32, F64)),
        *(_wmma(dtype) for dtype in _HALVES),
        *(_wmma_gfx12(dtype) for dtype in _HALVES),
        *(_xmx(dtype, size) for size in (8, 16) for dtype in _HALVES),
    )
}
"""All instructions, by name."""


@lru_cache(maxsize=256)
def instruction_for(dtype: DType, names: tuple[str, ...]) -> MatrixInstruction | None:
    """The one of some instructions that takes operands of a dtype, if there is one."""
    return next((each for name in names if (each := INSTRUCTIONS[name]).dtype is dtype), None)
