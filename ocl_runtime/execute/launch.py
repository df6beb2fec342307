"""A built kernel, its arguments, and the command that runs it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from ir.kernel import Array, Kernel, walk
from ir.names import entry_name
from ir.printer import text
from ir.types import BOOL, Pointer, element
from ocl_runtime.codegen.compile import Compilation
from ocl_runtime.codegen.driver import Program
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, LaunchError, ShapeError
from ocl_runtime.execute import driver
from ocl_runtime.execute.storage import Storage

Argument: TypeAlias = "tuple[Storage, int] | np.generic | int | float | bool"
"""A storage and an offset in elements for a pointer parameter; a number for a scalar one."""


@dataclass
class Executable:
    """A program's kernel, ready to be launched from any thread."""

    device: Device
    compilation: Compilation
    program: Program
    _of_thread: threading.local = field(default_factory=threading.local, repr=False)

    @property
    def kernel(self) -> Kernel:
        """The kernel IR."""
        return self.compilation.kernel

    def launch(
        self,
        queue: driver.Queue,
        args: Mapping[str, Argument] | Sequence[Argument],
        global_size: tuple[int, ...],
        group_size: tuple[int, ...],
    ) -> driver.Event:
        """Enqueues the kernel with its arguments, by name or in the order of its parameters.

        The global size is padded to a multiple of the group size, so the kernel must guard its accesses.
        Raises `DTypeError` or `ShapeError` for arguments and sizes that do not fit, `LaunchError` where the driver
        refuses.
        """
        handle = self._handle()
        self._check_sizes(global_size, group_size)
        padded = tuple(-(-size // group) * group for size, group in zip(global_size, group_size, strict=True))
        try:
            return driver.enqueue(queue, handle, self._arguments(args), padded, group_size)
        except driver.Error as error:
            raise LaunchError(
                f"kernel {self.kernel.name} could not be launched on {self.device}: {error}",
                place=f"global size {padded}, group size {group_size}\n{text(self.kernel)}",
                remedy="see the driver's error code; ocl-dump shows the generated source",
            ) from error

    def _handle(self) -> driver.Kernel:
        """This thread's kernel object: a shared one would mix up the arguments of two threads."""
        handle = getattr(self._of_thread, "handle", None)
        if handle is None:
            handle = self._of_thread.handle = self.program.kernel(entry_name(self.kernel))
            self._check_limits(handle)
        return handle

    def _check_limits(self, handle: driver.Kernel) -> None:
        caps = self.device.capabilities
        arrays = [stmt for stmt in walk(self.kernel.body) if isinstance(stmt, Array)]
        pointers = [(array.pointer.type, array.length) for array in arrays]
        used = sum(
            type_.dtype.size * length
            for type_, length in pointers
            if isinstance(type_, Pointer) and type_.space == "local"
        )
        if used > caps.local_memory and not self.device.quirks.local_memory_checked:
            raise LaunchError(
                f"kernel {self.kernel.name} wants {used:,} bytes of local memory",
                place=f"{self.device} has {caps.local_memory:,} bytes",
                remedy="use smaller local arrays",
            )
        self._of_thread.limit = driver.group_size_limit(handle, self.device)

    def _check_sizes(self, global_size: tuple[int, ...], group_size: tuple[int, ...]) -> None:
        items = 1
        for size in group_size:
            items *= size
        limits = self.device.capabilities.max_work_item_sizes
        if items > self._of_thread.limit or any(size > most for size, most in zip(group_size, limits, strict=False)):
            raise ShapeError(
                f"a work-group of {group_size} is too large for kernel {self.kernel.name} on {self.device}",
                place=f"the most is {self._of_thread.limit} work-items, {limits} along the dimensions",
                remedy="use a smaller group size",
            )
        if len(global_size) != len(group_size) or not 1 <= len(global_size) <= 3 or min(global_size) < 1:
            raise ShapeError(
                f"global size {global_size} with group size {group_size}",
                remedy="give both the same 1 to 3 positive sizes",
            )

    def _arguments(self, args: Mapping[str, Argument] | Sequence[Argument]) -> list[driver.Buffer | np.generic]:
        params = self.kernel.params
        given = self._ordered(args) if isinstance(args, Mapping) else args
        if len(given) != len(params):
            raise self._unfit(f"got {len(given)} arguments")
        out: list[driver.Buffer | np.generic] = []
        for param, value in zip(params, given, strict=True):
            if isinstance(param.value.type, Pointer):
                if not isinstance(value, tuple):
                    raise self._unfit(f"got {value!r} for {param.value.hint!r}, which takes a storage and an offset")
                storage, offset = value
                out += [storage.handle, np.uint64(offset)]
            elif isinstance(value, tuple):
                raise self._unfit(f"got a storage for {param.value.hint!r}, which takes a number")
            else:
                dtype = element(param.value.type)
                out.append(np.uint8(value) if dtype == BOOL else dtype.numpy.type(value))
        return out

    def _ordered(self, args: Mapping[str, Argument]) -> list[Argument]:
        names = [param.value.hint for param in self.kernel.params]
        wrong = sorted(set(names) ^ set(args))
        if wrong:
            raise self._unfit(f"got other arguments than it has: {', '.join(wrong)}")
        return [args[name] for name in names]

    def _unfit(self, fact: str) -> DTypeError:
        takes = ", ".join(f"{param.value.hint}: {param.value.type}" for param in self.kernel.params)
        return DTypeError(f"kernel {self.kernel.name} {fact}", remedy=f"it takes {takes}")
