"""What planning needs of a runtime, told apart from the planner, which processes do without that find plans on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ocl_ir.graph.build import Storage
from ocl_ir.source_line import Where
from ocl_runtime.plan.kernels.cache import KernelCache
from ocl_runtime.plan.kernels.lowering import Choices
from ocl_runtime.plan.target import Target

if TYPE_CHECKING:
    from ocl_runtime.plan.planner import Fusion


class Planning(Protocol):
    """What planning needs of an executor."""

    @property
    def watch_fusion(self) -> Callable[[Fusion], None] | None:
        """Who is told how each plan's nodes were fused; None where nobody looks on."""

    @property
    def target(self) -> Target:
        """The device as the planner sees it."""

    @property
    def choices(self) -> Choices | None:
        """What was measured of variants, if that is to count."""

    @property
    def kernels(self) -> KernelCache:
        """The kernels made for it."""

    def allocate(self, nbytes: int, where: Where = "") -> Storage:
        """Memory of `nbytes` bytes."""
