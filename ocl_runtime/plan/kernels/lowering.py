"""With what expressions become launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ocl_ir.graph.build import Node
from ocl_ir.kernel.grammar import Kernel
from ocl_runtime.plan.kernels.cache import KernelCache
from ocl_runtime.plan.target import Target

PRODUCTS = "products"
"""The name that products of matrices have as an algorithm."""


class Choices(Protocol):
    """Which variants of algorithms were measured to be the fastest (`ocl_runtime.tuning`)."""

    @property
    def generation(self) -> int:
        """Another number once anything has changed: plans that were made before may be others now."""

    def records(self, algorithm: str) -> Sequence[tuple[str, str]]:
        """The problems of an algorithm that were measured, each with the variant that won, as text."""

    def asked(self, algorithm: str, problem: object) -> None:
        """A plan needs this of an algorithm."""

    def used(self, algorithm: str, problem: str, kernels: Sequence[Kernel]) -> None:
        """A plan launches these because of a record."""

    def failed(self, kernels: Sequence[Kernel], error: Exception) -> bool:
        """Some of these could not be built or launched. Whether a record was to blame, which is forgotten then: who
        plans again gets other kernels."""

    def digest(self) -> str:
        """What tells these records from others; nothing where there are none."""


class Lowering(NamedTuple):
    """What the target is, the kernels that there are, the names of arrays, the Python line that asks (`where`), and
    what was measured, if anything is known of that."""

    target: Target
    kernels: KernelCache
    names: Mapping[Node, str]
    where: str = ""
    choices: Choices | None = None
