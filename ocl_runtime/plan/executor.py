"""What the planner and the arrays need of a runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from ocl_ir.graph.build import Node, Storage
from ocl_ir.indices import Shape
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.source_line import Where
from ocl_ir.types import DType
from ocl_runtime.plan.cache.evaluation import Evaluation
from ocl_runtime.plan.cache.plans import PlanCache
from ocl_runtime.plan.cache.stored import StoredPlans
from ocl_runtime.plan.cache.template import Template
from ocl_runtime.plan.cache.written import Allocator, Give
from ocl_runtime.plan.checks import Checks
from ocl_runtime.plan.kernels.cache import KernelCache
from ocl_runtime.plan.kernels.lowering import Choices
from ocl_runtime.plan.registry import Registry
from ocl_runtime.plan.target import Target

if TYPE_CHECKING:
    from ocl_runtime.plan.planner import Fusion


class Coming(Protocol):
    """Values on their way to the host."""

    def done(self) -> bool:
        """Whether `result` would return at once."""

    def result(self) -> NDArray[Any]:
        """The values, once they have come."""


class Executor(Protocol):
    """A device with memory that runs launches. All methods may be called from any thread.

    A storage is any object with an identity; memory is given back when the last reference to it goes.
    """

    @property
    def executor(self) -> Executor:
        """Itself: it may stand for its runtime."""

    @property
    def target(self) -> Target:
        """The device as the planner sees it; the same as long as the executor lives."""

    @property
    def kernels(self) -> KernelCache:
        """The kernels made for this executor."""

    @property
    def choices(self) -> Choices | None:
        """What was measured of variants, if that is to count."""

    @property
    def watch_fusion(self) -> Callable[[Fusion], None] | None:
        """Who is told how each plan's nodes were fused; None where nobody looks on."""

    @property
    def default_real(self) -> DType:
        """The dtype of reals where none is asked for: F32 or F64."""

    @property
    def checks(self) -> Checks | None:
        """Places of index arrays that are checked on the device; None where they are not."""

    @property
    def is_shared(self) -> bool:
        """Whether others use its memory or its queues too, and may keep its commands waiting."""

    @property
    def shows_values(self) -> bool:
        """Whether an array that is not computed is computed to be shown."""

    @property
    def numpy_calls(self) -> str:
        """What NumPy's functions that have to download arrays do: "warn", be "quiet", or raise an "error"."""

    @property
    def registry(self) -> Registry:
        """The arrays of this executor."""

    @property
    def plans(self) -> PlanCache:
        """The plans made for this executor."""

    @property
    def device_memory(self) -> Allocator:
        """What `allocate` takes memory from while no function is captured."""

    @property
    def stored_plans(self) -> StoredPlans | None:
        """The plans on disk for this executor, if it uses any."""

    def compiled(self, kernel: Kernel) -> object | None:
        """What a kernel was compiled to, if it was: something that can be pickled."""

    def adopt(self, kernel: Kernel, compiled: Any) -> None:
        """The same for a kernel that is to be built next, as an earlier process has found it."""

    @property
    def device(self) -> object:
        """What `Array.device` answers; equal only to itself."""

    def allocate(self, nbytes: int, where: Where = "", *, wait: bool = True) -> Storage:
        """Memory of `nbytes` (at least 1) with undefined contents, at an address that 64 divides.

        `where` is the Python line that asked for it, as in the methods below. Raises `OutOfMemoryError`; and, unless it
        may `wait`, `NoRoomYetError` where there is room once commands have ended.
        """

    def handed_over(self, storage: Storage) -> Storage:
        """The same memory as another storage, for who has written over it; the old one must not be used any more."""

    def upload(self, host: NDArray[Any], where: str = "", *, snapshot: bool = True) -> Storage:
        """New memory with a copy of a contiguous array (of at least one element), taken before this returns.

        Without `snapshot` the copy is taken later: the array must stay as it is until it was used.
        """

    def download(
        self, storage: Storage, dtype: DType, start: int, count: int, where: Where = "", out: NDArray[Any] | None = None
    ) -> Coming:
        """Elements `start … start + count`, on their way once all work on them is done: to a new 1-D array of
        `dtype.numpy`, or to a contiguous `out` of that dtype and size."""

    def copy(self, storage: Storage, dtype: DType, start: int, count: int, where: Where = "") -> Storage:
        """New memory with elements `start … start + count`, which the device copies. Not while a function is captured.
        Raises `OutOfMemoryError`."""

    def view(self, storage: Storage, dtype: DType, start: int, count: int, where: str = "") -> NDArray[Any] | None:
        """Elements in place, to be read only, once all work on them is done; None where the host cannot reach them."""

    def pinned(self, shape: Shape, dtype: DType, where: str = "") -> NDArray[Any]:
        """A host array, with undefined contents, that the device copies from and to by itself."""

    def announce(self, roots: Sequence[Node]) -> None:
        """The kernels that this thread builds next are for some nodes."""

    def build(self, kernels: Sequence[Kernel]) -> None:
        """Builds those of some kernels that are not built yet. Raises `BuildError` and what else building raises."""

    def bind(self, template: Template) -> None:
        """Binds a plan for the sizes that it was made for, if that is possible before it runs."""

    def ready(self, plan: Evaluation) -> None:
        """Builds what a plan launches and is not built yet. Raises `BuildError` and what else building raises."""

    @property
    def is_watched(self) -> bool:
        """Whether somebody looks on, to whom programs are shown as they are planned: then each evaluation is `run`."""

    @property
    def give(self) -> Give:
        """Starts the program of a plan that is bound to some sizes."""

    def run(self, plan: Evaluation) -> None:
        """Starts a plan's launches, which may depend on each other in their order, and on everything started before."""
