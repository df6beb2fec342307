"""The launches of custom calls: which function lowers an algorithm of the library, by its type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

from ocl_ir.graph.build import Buffer, Storage
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.launch import Launch


class Call(NamedTuple):
    """An algorithm, its operands in row-major order, and where its result lies in that order, from the beginning of its
    memory on: memory of its own, or that of the operand which the algorithm overwrites."""

    algorithm: Any
    operands: tuple[Buffer, ...]
    result: Buffer


Lower: TypeAlias = Callable[[Call, Callable[[int], Storage], Lowering], list[Launch]]
"""Gives the launches that compute a result with elements. Sizes that it needs as numbers it takes by `int`, which
guards the plan; the function gives memory for what lies between the launches."""

_ATTENTION = "ocl_runtime.plan.kernels.attention.launches"
_FOURIER = "ocl_runtime.plan.kernels.fourier"
_LINALG = "ocl_runtime.plan.kernels.linalg"
_LOWERED_BY: Mapping[str, str] = {
    "Attention": f"{_ATTENTION}:attention_launches",
    "AttentionGradient": f"{_ATTENTION}:gradient_launches",
    "AttentionStatistics": f"{_ATTENTION}:statistics_launches",
    "Cholesky": f"{_LINALG}.cholesky:cholesky_launches",
    "Contiguous": "ocl_runtime.plan.kernels.contiguous:contiguous_launches",
    "Eigen": f"{_LINALG}.eigen:eigen_launches",
    "FourierTransform": f"{_FOURIER}.passes:transform_launches",
    "HalfSpectrum": f"{_FOURIER}.half_spectrum:half_spectrum_launches",
    "LuFactor": f"{_LINALG}.lu:lu_factor_launches",
    "LuSolve": f"{_LINALG}.lu:lu_solve_launches",
    "ModularPowers": f"{_FOURIER}.modular_powers:modular_powers_launches",
    "OrthogonalRows": f"{_LINALG}.jacobi:orthogonal_rows_launches",
    "QrFactor": f"{_LINALG}.qr:qr_factor_launches",
    "RootsOfUnity": f"{_FOURIER}.roots:roots_launches",
    "TriangularSolve": f"{_LINALG}.triangular:triangular_solve_launches",
    "WinogradConvolution": "ocl_runtime.plan.kernels.winograd:winograd_launches",
}
"""By the name of the algorithm's type, the module and the name of the function: loaded with the first call."""


def call_launches(call: Call, allocate: Callable[[int], Storage], lowering: Lowering) -> list[Launch]:
    """The launches of a custom call."""
    return _lowered_by(type(call.algorithm).__name__)(call, allocate, lowering)


@cache
def _lowered_by(algorithm: str) -> Lower:
    module, name = _LOWERED_BY[algorithm].split(":")
    lower: Lower = getattr(import_module(module), name)
    return lower
