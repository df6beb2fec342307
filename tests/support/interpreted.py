"""A runtime without OpenCL: storages are NumPy arrays, and kernels run in the interpreter of kernel IR."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ocl_ir import passes
from ocl_ir.graph.build import Node
from ocl_ir.interpret.kernel import run
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.subgroups import Subgroups
from ocl_ir.types import F32, DType
from ocl_runtime.plan.cache.evaluation import AnyPlan
from ocl_runtime.plan.cache.plans import PlanCache
from ocl_runtime.plan.checks import Checks
from ocl_runtime.plan.kernels.cache import KernelCache
from ocl_runtime.plan.launch import Address, Launch
from ocl_runtime.plan.planner import Fusion
from ocl_runtime.plan.registry import Registry
from ocl_runtime.plan.target import Target

_WARPS = Subgroups(sizes=(32,), spelling="ptx")
"""Of devices whose warpgroups multiply."""


class Storage:
    """Bytes with an identity."""

    def __init__(self, nbytes: int) -> None:
        self.bytes = np.full(nbytes, 0xCD, np.uint8)
        self.readers: list[Any] = []

    @property
    def nbytes(self) -> int:
        return self.bytes.nbytes

    def elements(self, dtype: np.dtype) -> np.ndarray:
        return self.bytes.view(dtype)


class Came:
    """Values that are there already."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def done(self) -> bool:
        return True

    def result(self) -> np.ndarray:
        return self._values


class InterpretedRuntime:
    """An `Executor` over the interpreter; it remembers every launch, and none of their memory."""

    def __init__(self, target: Target | None = None, default_real: DType = F32) -> None:
        self.target = target or Target(kind="gpu", compute_units=2, group_size=8, fp16=False)
        self.kernels = KernelCache()
        self.plans = PlanCache()
        self.registry = Registry()
        self.default_real = default_real
        self.shows_values = True
        self.is_shared = False
        self.is_watched = True
        self.watch_fusion: Callable[[Fusion], None] | None = None
        self.stored_plans = None
        self.choices = None
        self.checks: Checks | None = None
        self.numpy_calls = "warn"
        self.device = f"interpreter {id(self):x}"
        self.launched: list[Launch] = []
        self.allocations: Counter[int] = Counter()
        self._ready: dict[int, tuple[Kernel, Kernel]] = {}

    @property
    def executor(self) -> InterpretedRuntime:
        return self

    def _passed(self, kernel: Kernel) -> Kernel:
        """The kernel as a device would get it, verified after each pass."""
        if id(kernel) not in self._ready:
            subgroups = _WARPS if self.target.warpgroups else None
            self._ready[id(kernel)] = (kernel, passes.run(kernel, pipeline=passes.for_target(subgroups)))
        return self._ready[id(kernel)][1]

    def allocate(self, nbytes: int, where: str = "", *, wait: bool = True) -> Storage:
        assert nbytes > 0
        self.allocations[nbytes] += 1
        return Storage(nbytes)

    def handed_over(self, storage: Storage) -> Storage:
        other = Storage.__new__(Storage)
        other.bytes, other.readers = storage.bytes, []
        del storage.bytes
        return other

    def upload(self, host: np.ndarray, where: str = "", *, snapshot: bool = True) -> Storage:
        assert host.flags.c_contiguous
        storage = Storage(host.nbytes)
        storage.bytes[:] = host.reshape(-1).view(np.uint8)
        return storage

    def download(
        self, storage: Storage, dtype: DType, start: int, count: int, where: str = "", out: np.ndarray | None = None
    ) -> Came:
        elements = storage.elements(dtype.numpy)[start : start + count].copy()
        if out is None:
            return Came(elements)
        out.reshape(-1)[:] = elements
        return Came(out)

    def copy(self, storage: Storage, dtype: DType, start: int, count: int, where: str = "") -> Storage:
        made = self.allocate(count * dtype.size, where)
        made.bytes[:] = storage.bytes[start * dtype.size : (start + count) * dtype.size]
        return made

    def view(self, storage: Storage, dtype: DType, start: int, count: int, where: str = "") -> np.ndarray | None:
        return None

    def pinned(self, shape: tuple[int, ...], dtype: DType, where: str = "") -> np.ndarray:
        return np.empty(shape, dtype.numpy)

    def announce(self, roots: Sequence[Node]) -> None:
        pass

    def build(self, kernels: Sequence[Kernel]) -> None:
        for kernel in kernels:
            self._passed(kernel)

    def ready(self, plan: AnyPlan) -> None:
        self.build([launch.kernel for launch in plan.launches])

    def run(self, plan: AnyPlan) -> None:
        for launch in plan.launches:
            args = [arg._replace(storage=None) if isinstance(arg, Address) else arg for arg in launch.args]
            self.launched.append(replace(launch, args=tuple(args)))
            kernel = self._passed(launch.kernel)
            arguments: dict[str, Any] = {}
            for param, arg in zip(kernel.params, launch.args, strict=True):
                if isinstance(arg, Address):
                    arguments[param.value.hint] = (
                        arg.storage.elements(param.value.type.dtype.numpy),
                        arg.touched.offset,
                    )
                else:
                    arguments[param.value.hint] = arg
            run(kernel, arguments, launch.global_size, launch.group_size)
