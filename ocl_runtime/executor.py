"""What computes the arrays of one device: the engine that executes, what is kept of plans and kernels, who looks on.

It puts these parts together for the planner and the arrays, which know it as `ocl_runtime.plan.executor.Executor`. Who
uses the library has a `Runtime` in front of it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ocl_ir.graph.build import Node
from ocl_ir.graph.printer import text
from ocl_ir.guards import plain
from ocl_ir.host.schedule import Schedule
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where, calling_line
from ocl_ir.types import DTYPES, DType
from ocl_runtime.codegen.matrix_check import usable_instructions
from ocl_runtime.codegen.source import Source
from ocl_runtime.device import Device, Existing
from ocl_runtime.errors import Error
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.engine import Recorder as CompiledRecorder
from ocl_runtime.execute.launch import Argument
from ocl_runtime.execute.memory.storage import Memory as DeviceMemory
from ocl_runtime.execute.memory.storage import Storage, without_memory
from ocl_runtime.execute.replay.bound import Bound
from ocl_runtime.execute.replay.handles import Memory, handles_for, kernels_of
from ocl_runtime.execute.replay.run import give
from ocl_runtime.execute.transfers.transfer import Download
from ocl_runtime.plan.cache.evaluation import Evaluation
from ocl_runtime.plan.cache.plans import PlanCache
from ocl_runtime.plan.cache.stored import StoredPlans
from ocl_runtime.plan.cache.template import First, Sized, Template
from ocl_runtime.plan.checks import Checks
from ocl_runtime.plan.host.prepare import HostTarget, Outcome, described
from ocl_runtime.plan.kernels.cache import KernelCache
from ocl_runtime.plan.kernels.lowering import PRODUCTS
from ocl_runtime.plan.launch import with_addresses
from ocl_runtime.plan.registry import Registry
from ocl_runtime.plan.target import CPU_OPERATIONS_PER_BYTE, GPU_OPERATIONS_PER_BYTE, Target
from ocl_runtime.plan.tracing import question, tracer
from ocl_runtime.settings import Settings
from ocl_runtime.tuning.choices import Choices
from ocl_runtime.tuning.records import Place, Records

if TYPE_CHECKING:
    from ocl_runtime.plan.planner import Fusion


class Recorder(CompiledRecorder, Protocol):
    """Who wants to see what is planned, too; `ocl_runtime.observe` has one that writes files."""

    def fused(self, fusion: Fusion) -> None:
        """The nodes of a plan were put into groups, and these into kernels, which are not built yet."""

    def planned(self, expression: str) -> None:
        """The kernels that this thread compiles from now on are for this expression, given as text."""

    def prepared(self, schedule: Schedule, stages: Sequence[tuple[str, Outcome]]) -> None:
        """A host program was planned for some sizes, and is about to run; for each pass, by name, what came of it, or
        why it was not run."""


class DeviceExecutor:
    """What computes the arrays of one device, as `ocl_runtime.plan.executor.Executor` has it."""

    def __init__(
        self, device: Device, settings: Settings, recorder: Recorder | None = None, existing: Existing | None = None
    ) -> None:
        self.settings = settings
        self._recorder = recorder
        self.watch_fusion: Final = None if recorder is None else recorder.fused
        """Who is told how each plan's nodes were fused."""
        self._existing = existing
        self.run_on(Engine(device, settings, recorder, existing=existing))
        self.default_real: Final = DTYPES[settings.default_real]
        """The dtype of reals where none is asked for."""
        self.numpy_calls: Final = settings.numpy_calls
        """What NumPy's functions that have to download arrays do: "warn", be "quiet", or raise an "error"."""
        self.kernels: Final = KernelCache()
        """The kernels made for it, by structure."""
        self.plans: Final = PlanCache()
        """The plans made for it, by structure."""
        self.registry: Final = Registry()
        """Its arrays."""
        self.checks: Final = Checks() if settings.check else None
        """Places of index arrays that are checked on the device, if they are."""
        instructions = usable_instructions(device, settings.cache_folder)
        self.target: Final = _target(device, self.engine.streams.count, instructions)
        """The device as the planner sees it."""
        caps = device.capabilities
        place = Place(f"{caps.name}, {caps.platform}", f"{caps.driver_version}, {caps.platform_version}")
        records = Records(settings.cache_folder if settings.tune else None)
        self.choices: Final = Choices(records, place, {PRODUCTS: _version_of_products})
        """What was measured of variants."""
        kept = recorder is None and settings.cache_folder is not None  # who looks on wants to see all
        made_for = f"{self.target} {self.engine.compiles_as}"
        self.stored_plans: Final = (
            StoredPlans(self.engine.programs.files, made_for, self.choices.digest) if kept else None
        )
        """The plans that earlier processes have made for such a device, if any are kept."""
        self.host_target: Final = HostTarget(
            self.kernels, self.target.group_size, self.target.streams, settings.memory_limit
        )
        """The same for passes over host programs."""
        # Some drivers abort when the process ends with commands still running.
        weakref.finalize(self, self.engine.close)

    def __repr__(self) -> str:
        return f"DeviceExecutor({self.device})"

    def run_on(self, engine: Engine) -> None:
        """Runs everything by an engine from now on."""
        self.engine = engine
        self.give = partial(give, engine)
        """Starts the bound program of an evaluation over memory for its buffers."""

    @property
    def executor(self) -> DeviceExecutor:
        """Itself: it may stand for its runtime."""
        return self

    def stand_behind(self, runtime: object, another: Callable[[DeviceExecutor], object]) -> None:
        """Is what a runtime computes by, which it does not keep; `another` makes one where that is gone."""
        self._runtime, self._another = weakref.ref(runtime), another

    @property
    def runtime(self) -> Any:
        """The runtime in front of it: the one that there is, or another one for whoever has only arrays left."""
        runtime = self._runtime()
        if runtime is None:
            runtime = self._another(self)
            self._runtime = weakref.ref(runtime)
        return runtime

    @property
    def device(self) -> Device:
        """The device that computes."""
        return self.engine.device

    @property
    def device_memory(self) -> DeviceMemory:
        """What arrays lie in."""
        return self.engine.memory

    @property
    def is_shared(self) -> bool:
        """Whether PyOpenCL uses its memory or its queues too."""
        return self._existing is not None or self.engine.streams.guests is not None

    @property
    def shows_values(self) -> bool:
        """Whether an array that is not computed is computed to be shown."""
        return self.settings.repr == "values"

    def allocate(self, nbytes: int, where: Where = "", *, wait: bool = True) -> Any:
        """Memory with undefined contents, asked for at `where`. Raises as `Memory.allocate` does."""
        trace = tracer.get()
        if trace is not None:
            return trace.allocate(nbytes, where)
        return self.engine.allocate(plain(nbytes), where, wait=wait)

    def handed_over(self, storage: Storage) -> Storage:
        """The same memory as another storage."""
        # An array that was kept from a captured function has only planned memory: `run` has refused it.
        return storage.handed_over() if isinstance(storage, Storage) else storage

    def upload(self, host: NDArray[Any], where: str = "", *, snapshot: bool = True) -> Storage:
        """New memory with a copy of a contiguous host array."""
        return self.engine.upload(host, where, snapshot=snapshot)

    def download(
        self, storage: Storage, dtype: DType, start: int, count: int, where: Where = "", out: NDArray[Any] | None = None
    ) -> Download:
        """Elements on their way to the host."""
        trace = tracer.get()
        if trace is not None and trace.has_no_values(storage):
            fact, remedy = question.get()
            raise Error(
                f"a captured function asks for {fact}, which is not there while it is captured",
                place=calling_line(),
                remedy=remedy,
            )
        if not isinstance(storage, Storage):
            raise without_memory()
        return self.engine.download(storage, dtype.numpy, count, start, where, out)

    def copy(self, storage: Storage, dtype: DType, start: int, count: int, where: Where = "") -> Storage:
        """New memory with elements of other memory, which the device copies."""
        return self.engine.copy(storage, dtype.numpy, count, start, where)

    def view(self, storage: Storage, dtype: DType, start: int, count: int, where: str = "") -> NDArray[Any] | None:
        """Elements in place, to be read only, where the device shares the host's memory."""
        trace = tracer.get()
        if trace is not None and trace.has_no_values(storage):
            return None
        return self.engine.view(storage, dtype.numpy, count, start, where)

    def pinned(self, shape: tuple[int, ...], dtype: DType, where: str = "") -> NDArray[Any]:
        """A host array that the device copies from and to by itself."""
        return self.engine.pinned(shape, dtype.numpy, where)

    def borrow(
        self,
        obj: object,
        dtype: np.dtype[Any] | None,
        shape: tuple[int, ...] | None,
        offset: int,
        queue: object,
        wait_for: Sequence[object],
        where: str = "",
    ) -> tuple[Storage | None, np.dtype[Any], Layout]:
        """The memory of a PyOpenCL buffer or array, with what lies where in it; see `execute.sharing.sharing`."""
        _not_captured()
        self.engine.check_process()
        return self.engine.sharing.borrow(obj, dtype, shape, offset, queue, wait_for, where)

    def lend(self, storage: Storage | None, dtype: DType, layout: Layout, queue: object, where: str = "") -> Any:
        """A PyOpenCL array over elements of a storage; see `execute.sharing.sharing`."""
        _not_captured()
        self.engine.check_process()
        if storage is not None and not isinstance(storage, Storage):
            raise without_memory()
        return self.engine.sharing.lend(storage, dtype.numpy, layout, queue, where)

    def launch(
        self,
        kernel: Kernel,
        args: Mapping[str, Argument] | Sequence[Argument],
        global_size: tuple[int, ...],
        group_size: tuple[int, ...] | None = None,
        where: Where = "",
    ) -> None:
        """Runs a kernel over an index space on this thread's stream, without waiting for it.

        A pointer's argument is a storage and an offset in elements, or the `ocl_ir.layout.Layout` of the elements that
        are touched, to the first of which the pointer is. `where` is the Python line that asks, by default the
        caller's. Raises `DTypeError`, `ShapeError`, `NumberRangeError` or `MixedDevicesError` for arguments that do not
        fit, `LaunchError` where the driver refuses.
        """
        trace = tracer.get()
        if trace is None:
            self.engine.launch(kernel, args, global_size, group_size, where)
            return
        arguments = self.engine.executable(kernel).checked(args)
        trace.launch(kernel, with_addresses(kernel, arguments), global_size, group_size)

    def announce(self, roots: Sequence[Node]) -> None:
        """Tells who looks on what this thread's next kernels are for."""
        if self._recorder is not None:
            self._recorder.planned("\n".join(map(text, roots)))

    def build(self, kernels: Sequence[Kernel]) -> None:
        """Builds those of some kernels that are not built yet."""
        self.engine.executables(kernels)

    def compiled(self, kernel: Kernel) -> Source | None:
        """The source of a kernel that was compiled, with all that belongs to it."""
        return self.engine.compiled(kernel)

    def adopt(self, kernel: Kernel, compiled: Source) -> None:
        """The source of a kernel that is to be built next, as another process has generated it."""
        self.engine.adopt(kernel, compiled)

    def ready(self, plan: Evaluation) -> None:
        """Builds what a plan launches and is not built yet."""
        if self._recorder is not None:
            self.announce(plan.roots)
        if plan.sized.ready is None:
            self.build(plan.template.distinct)

    def run(self, plan: Evaluation) -> None:
        """Starts an evaluation as a program of steps, without waiting for them: on the stream that this thread has
        chosen, else on those that the plan spreads them over."""
        sized = plan.sized
        if sized.ready is None:
            schedule = self._make_ready(plan.template, sized)
            if self.is_watched and schedule is not None and len(schedule.nodes) > 1:
                lines = plan.lines()
                self.prepared(described(schedule, lines), plan.template.passes(sized, lines))
        storages = plan.storages
        memory: Memory = [None if slot is None else (storages[slot], 0) for slot in plan.template.slots]
        memory.append(None if plan.arena is None else (plan.arena, 0))
        for buffer, storage in plan.pieces.items():
            memory[buffer] = storage, 0
        plan.arena, plan.pieces = None, {}  # they go back as soon as all is given
        self.give(sized.ready, memory, plan.lines(), plan.numbers(), self.engine.streams.current())

    def _make_ready(self, template: Template, sized: Sized) -> Schedule | None:
        """Binds what runs for some sizes; gives the schedule, if it took one."""
        if sized.bound is not None:
            handles = handles_for(self.engine, template.kernels, template.handles)
            if not handles.asks_for_schedules:
                template.handles = handles
                sized.make_ready(Bound.read(sized.bound, handles, sized.again))
                return None
        schedule = sized.schedule
        template.handles = handles = handles_for(self.engine, kernels_of(schedule), template.handles)
        sized.make_ready(Bound(schedule, handles, None if handles.asks_for_schedules else sized.again))
        return schedule

    def bind(self, template: Template) -> None:
        """Binds a plan that nobody has run yet for the sizes that it was made for, so that it is kept on disk with
        that, if this is possible."""
        with suppress(Exception):  # whatever is wrong, who runs it hears
            sized = template.first()
            self._make_ready(template, sized)
            bound = sized.ready.written()
            if bound is not None and len(sized.askers) == len(template.kernels):
                template.bound = First(sized.arena, sized.askers, bound)

    @property
    def is_watched(self) -> bool:
        """Whether somebody looks on, to whom programs are shown as they are planned."""
        return self._recorder is not None

    def prepared(self, schedule: Schedule, stages: Sequence[tuple[str, Outcome]]) -> None:
        """Shows a planned host program, a captured one or an evaluation, and what came of each pass, to who looks on,
        if anybody does."""
        if self._recorder is not None:
            self._recorder.prepared(schedule, stages)


def _not_captured() -> None:
    if tracer.get() is not None:
        raise Error(
            "a captured function exchanges memory with PyOpenCL, which is nothing that could be run again",
            place=calling_line(),
            remedy="exchange it outside of the captured function, and pass arrays",
        )


def _version_of_products() -> str:
    """Of the kernels that multiply matrices."""
    from ocl_runtime.plan.kernels.products.variant import version  # which nobody needs who has measured nothing

    return version()


def _target(device: Device, streams: int, matrix_instructions: tuple[str, ...]) -> Target:
    caps, quirks = device.capabilities, device.quirks
    return Target(
        kind="cpu" if caps.kind == "cpu" else "gpu",
        compute_units=caps.compute_units,
        vector_bytes=quirks.vector_bytes,
        group_size=quirks.group_size,
        large_group_size=2 * quirks.group_size if 2 * quirks.group_size <= caps.max_work_group_size else 0,
        largest_group_size=quirks.largest_group_size,
        local_bytes=caps.local_memory,
        max_argument_bytes=caps.max_argument_bytes,
        operations_per_byte=CPU_OPERATIONS_PER_BYTE if caps.kind == "cpu" else GPU_OPERATIONS_PER_BYTE,
        streams=streams,
        fp16=caps.fp16,
        fp64=caps.fp64,
        group_progress=quirks.group_progress,
        matrix_instructions=matrix_instructions,
        warpgroups=quirks.warpgroups,
        tile_bytes=quirks.tile_bytes,
        atomics64=caps.int64_atomics,
    )
