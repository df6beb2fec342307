"""A built kernel, its arguments, and the command that runs it."""

from __future__ import annotations

import math
import operator
import reprlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from ir.kernel import Array, Const, Kernel, Param, walk
from ir.names import entry_name
from ir.printer import text
from ir.types import BOOL, DType, Pointer, element
from ocl_runtime.codegen.compile import Compilation
from ocl_runtime.codegen.driver import Program
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, LaunchError, MixedDevicesError, NumberRangeError, ShapeError
from ocl_runtime.execute import driver
from ocl_runtime.execute.storage import Memory, Storage

Argument: TypeAlias = "tuple[Storage, int] | np.generic | int | float | bool"
"""A storage and an offset in elements for a pointer parameter; a number for a scalar one."""

_MOST_ITEMS = 2**63


@dataclass
class Executable:
    """A program's kernel, ready to be launched from any thread."""

    device: Device
    compilation: Compilation
    program: Program
    memory: Memory
    _of_thread: threading.local = field(default_factory=threading.local, repr=False)
    _positions: Mapping[int, int] = field(init=False, repr=False)
    """The place of each parameter by its id."""

    def __post_init__(self) -> None:
        self._positions = {param.value.id: place for place, param in enumerate(self.kernel.params)}

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
        Raises `DTypeError`, `NumberRangeError` or `ShapeError` for arguments and sizes that do not fit,
        `MixedDevicesError` for memory of another runtime, `LaunchError` where the driver refuses.
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
        sizes = (*global_size, *group_size)
        whole = all(isinstance(size, int | np.integer) and 1 <= size < _MOST_ITEMS for size in sizes)
        if len(global_size) != len(group_size) or not 1 <= len(global_size) <= 3 or not whole:
            raise ShapeError(
                f"global size {global_size} with group size {group_size}",
                place=f"kernel {self.kernel.name}",
                remedy="give both the same 1 to 3 sizes: integers, at least 1",
            )
        limits = self.device.capabilities.max_work_item_sizes
        if math.prod(group_size) > self._of_thread.limit or any(map(operator.gt, group_size, limits)):
            raise ShapeError(
                f"a work-group of {group_size} is too large for kernel {self.kernel.name} on {self.device}",
                place=f"the most is {self._of_thread.limit} work-items, {limits} along the dimensions",
                remedy="use a smaller group size",
            )

    def _arguments(self, args: Mapping[str, Argument] | Sequence[Argument]) -> list[driver.Buffer | np.generic]:
        params = self.kernel.params
        given = self._ordered(args) if isinstance(args, Mapping) else args
        if len(given) != len(params):
            raise self._unfit(f"got {len(given)} arguments")
        out: list[driver.Buffer | np.generic] = []
        for param, value in zip(params, given, strict=True):
            name, type_ = param.value.hint, param.value.type
            if isinstance(type_, Pointer):
                out += self._address(name, type_, value, self._promised(param, given))
            elif isinstance(value, tuple):
                raise self._unfit(f"got a storage for {name!r}, which takes a number")
            else:
                out.append(self._number(name, element(type_), value))
        return out

    def _promised(self, param: Param, given: Sequence[Argument]) -> int:
        """How many elements the kernel may touch from the offset on: the parameter's length where it is known."""
        if isinstance(param.length, Const):
            return int(param.length.value)
        number = self._positions.get(param.length.id) if param.length is not None else None
        value = given[number] if number is not None else 0
        return int(value) if isinstance(value, int | np.integer) else 0

    def _address(self, name: str, type_: Pointer, value: Argument, promised: int) -> tuple[driver.Buffer, np.generic]:
        if not isinstance(value, tuple) or len(value) != 2 or not isinstance(value[0], Storage):
            raise self._unfit(f"got {reprlib.repr(value)} for {name!r}, which takes a storage and an offset")
        storage, offset = value
        if storage.memory is not self.memory:
            raise MixedDevicesError(
                f"kernel {self.kernel.name} got memory of another runtime for {name!r}",
                place=f"the kernel runs on {self.device}",
                remedy="allocate it on the runtime that launches the kernel",
            )
        size = type_.dtype.size
        whole = isinstance(offset, int | np.integer) and offset >= 0
        if not whole or (offset + promised) * size > storage.nbytes:
            touched = f" and may touch {promised} elements from there" if promised else ""
            raise ShapeError(
                f"kernel {self.kernel.name} got the offset {offset!r} for {name!r}{touched}",
                place=f"{storage!r} has {storage.nbytes // size} elements of {type_.dtype}",
                remedy="count elements from the start of the storage",
            )
        if offset * size % type_.align:
            raise ShapeError(
                f"kernel {self.kernel.name} got the offset {offset} for {name!r}, aligned to {type_.align} bytes",
                place=f"{offset} elements of {type_.dtype} are {offset * size} bytes",
                remedy="use an aligned offset, or a kernel that promises less",
            )
        return storage.handle, np.uint64(offset)

    def _number(self, name: str, dtype: DType, value: np.generic | int | float | bool) -> np.generic:
        """The number as the kernel takes it: Python's are weak, NumPy's keep their values."""
        passed = np.dtype(np.uint8) if dtype == BOOL else dtype.numpy
        if isinstance(value, np.generic):
            fits = np.can_cast(value.dtype, passed)
        else:
            weak = bool if dtype == BOOL else int | float if dtype.is_float else int
            fits = isinstance(value, weak)
        if not fits:
            raise self._unfit(f"got {reprlib.repr(value)} for {name!r}, which is no {dtype}")
        try:
            return passed.type(value)
        except OverflowError:
            raise NumberRangeError(
                f"kernel {self.kernel.name} got {reprlib.repr(value)} for {name!r}, which is out of range for {dtype}",
                remedy="use a smaller number, or a wider parameter",
            ) from None

    def _ordered(self, args: Mapping[str, Argument]) -> list[Argument]:
        names = [param.value.hint for param in self.kernel.params]
        wrong = sorted(set(names) ^ set(args))
        if wrong:
            raise self._unfit(f"got other arguments than it has: {', '.join(wrong)}")
        return [args[name] for name in names]

    def _unfit(self, fact: str) -> DTypeError:
        takes = ", ".join(f"{param.value.hint}: {param.value.type}" for param in self.kernel.params)
        return DTypeError(f"kernel {self.kernel.name} {fact}", remedy=f"it takes {takes}")
