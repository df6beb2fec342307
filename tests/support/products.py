"""Targets that multiply in each of the ways there are, whole numbers to multiply, and what comes out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ocl_ir.kernel.grammar import walk
from ocl_runtime.plan.launch import Launch
from ocl_runtime.plan.target import Target

FMA = Target(compute_units=4, local_bytes=48 << 10)
MATRICES = Target(
    compute_units=4,
    local_bytes=48 << 10,
    tile_bytes=99 << 10,
    matrix_instructions=("mma_f16", "mma_bf16", "mma_tf32"),
)
WARPGROUPS = Target(
    compute_units=4,
    local_bytes=48 << 10,
    tile_bytes=227 << 10,
    matrix_instructions=("mma_f16", "mma_bf16", "mma_tf32", "mma_f64"),
    warpgroups=True,
)
_OTHER = Target(compute_units=4, local_bytes=64 << 10)
CDNA = replace(
    _OTHER,
    matrix_instructions=("mfma_f16", "mfma_bf16", "mfma_f32", "mfma_f64"),
)
RDNA3 = replace(
    _OTHER,
    matrix_instructions=("wmma_f16", "wmma_bf16"),
)
RDNA4 = replace(
    _OTHER,
    matrix_instructions=("wmma_gfx12_f16", "wmma_gfx12_bf16"),
)
XE_HPG = replace(
    _OTHER,
    matrix_instructions=("xmx8_f16", "xmx8_bf16"),
)
XE_HPC = replace(
    _OTHER,
    matrix_instructions=("xmx16_f16", "xmx16_bf16"),
)
OTHERS = {"cdna": CDNA, "rdna 3": RDNA3, "rdna 4": RDNA4, "xe-hpg": XE_HPG, "xe-hpc": XE_HPC}
"""GPUs of AMD and Intel."""
TARGETS = {
    "fma f4": (FMA, "f4"),
    "fma f2": (FMA, "f2"),
    "fma f8": (FMA, "f8"),
    "fma i4": (FMA, "i4"),
    "fma u1": (FMA, "u1"),
    "fma c8": (FMA, "c8"),
    "fma c16": (FMA, "c16"),
    "matrix f2": (MATRICES, "f2"),
    "matrix f8": (WARPGROUPS, "f8"),
    "warpgroup f2": (WARPGROUPS, "f2"),
    "matrix tf32": (MATRICES, "tf32"),
    "warpgroup tf32": (WARPGROUPS, "tf32"),
    **{f"{name} f2": (target, "f2") for name, target in OTHERS.items()},
    "cdna f4": (CDNA, "f4"),
    "cdna f8": (CDNA, "f8"),
}
"""By which instructions of what target a dtype is multiplied, with both."""


def numpy_dtype(dtype: str) -> str:
    """That of the operands: of products in tf32 float32."""
    return "f4" if dtype == "tf32" else dtype


def numbers(rng: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    """Whole numbers, of which products and sums are exact."""
    low = 0 if dtype[0] == "u" else -3
    made = rng.integers(low, 4, shape).astype(numpy_dtype(dtype))
    return made + 1j * rng.integers(-3, 4, shape).astype(made.real.dtype) if dtype[0] == "c" else made


def exactly(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The product in the operands' dtype, which wraps."""
    wide = "c16" if left.dtype.kind == "c" else "f8" if left.dtype.kind == "f" else "i8"
    return (left.astype(wide) @ right.astype(wide)).astype(left.dtype)


def statements(launches: tuple[Launch, ...], kind: type) -> int:
    """How many of a kind all kernels have."""
    return sum(isinstance(stmt, kind) for launch in launches for stmt in walk(launch.kernel.body))
