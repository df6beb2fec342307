"""What the planner and the arrays need of a runtime."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from ir.graph import Storage
from ir.types import DType
from ocl_runtime.plan.cache import KernelCache
from ocl_runtime.plan.launch import Plan
from ocl_runtime.plan.target import Target


class Executor(Protocol):
    """A device with memory that runs launches. All methods may be called from any thread.

    A storage is any object with an identity; memory is given back when the last reference to it goes.
    """

    @property
    def target(self) -> Target:
        """The device as the planner sees it; the same as long as the executor lives."""

    @property
    def kernels(self) -> KernelCache:
        """The kernels made for this executor."""

    @property
    def default_real(self) -> DType:
        """The dtype of reals where none is asked for: F32 or F64."""

    @property
    def device(self) -> object:
        """What `Array.device` answers; equal only to itself."""

    def allocate(self, nbytes: int) -> Storage:
        """Memory of `nbytes` (at least 1) with undefined contents, at an address that 64 divides."""

    def upload(self, host: NDArray[Any]) -> Storage:
        """New memory with a copy of a contiguous array (of at least one element), taken before this returns."""

    def download(self, storage: Storage, dtype: DType, start: int, count: int) -> NDArray[Any]:
        """Elements `start … start + count` as a new 1-D array of `dtype.numpy`, once all work on them is done."""

    def run(self, plan: Plan) -> None:
        """Starts a plan's launches, which may depend on each other in their order, and on everything started before."""
