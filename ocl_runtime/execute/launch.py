"""A built kernel, its arguments, and the command that runs it."""

from __future__ import annotations

import math
import operator
import reprlib
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias
from weakref import WeakSet

import numpy as np

from ocl_ir.kernel.grammar import Const, Kernel, Param
from ocl_ir.kernel.printer import text
from ocl_ir.layout import Layout
from ocl_ir.source_line import Where
from ocl_ir.types import BOOL, DType, Pointer, element
from ocl_runtime.codegen.cache import ProgramCache
from ocl_runtime.codegen.compile import Compilation
from ocl_runtime.codegen.driver import Program
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, LaunchError, MixedDevicesError, NumberRangeError, ShapeError
from ocl_runtime.execute.driver import Driver, Error, KernelHandle, MemoryUse, Sizes
from ocl_runtime.execute.memory.storage import Memory, Storage
from ocl_runtime.execute.streams.hazards import Touch

Argument: TypeAlias = "tuple[Storage, int | Layout] | np.generic | int | float | bool"
"""For a pointer parameter, a storage and an offset in elements, or where they are known the elements of the storage
that the kernel touches, the first of which the pointer is to; a number for a scalar one."""

MOST_ITEMS = 2**63

# Group sizes of other types may equal these and be refused: 64.0 == 64.
_PLAIN = frozenset({int})


def _is_size(size: object) -> bool:
    """Whether there may be as many work-items."""
    return isinstance(size, int | np.integer) and bool(1 <= size < MOST_ITEMS)


@dataclass(slots=True)  # frozen, making one takes twice as long
class Launch:
    """A kernel with its arguments and sizes, checked and ready; it may be given to streams any number of times.

    It holds its storages. For each pointer, `pointers` has the position of its buffer among the arguments, and what the
    kernel touches there, if anything. `what` names it in errors, `where` is the Python line that asked for it.
    """

    executable: Executable
    what: str
    args: Sequence[Any]
    touches: Sequence[Touch]
    sizes: tuple[Sizes, Sizes]
    storages: Sequence[Storage]
    pointers: Sequence[tuple[int, Touch | None]]
    where: Where

    def refused(self, error: Error) -> LaunchError:
        """What to say when the driver does not take it."""
        return self.executable.refused(self.sizes, self.where, error)


class User(Protocol):
    """Who holds kernel objects of a program."""

    @property
    def used(self) -> float:
        """When they were last launched, by `time.monotonic`."""

    def let_go(self) -> None:
        """Holds them no more."""


@dataclass(eq=False)
class Executable:
    """A program's kernel, ready to be launched from any thread.

    It lets the program go where memory for programs is short, and takes it again for its next launch.
    """

    device: Device
    driver: Driver
    compilation: Compilation
    programs: ProgramCache
    memory: Memory
    _program: Program | None = field(default=None, repr=False)
    _of_thread: threading.local = field(default_factory=threading.local, repr=False)
    _users: WeakSet[User] = field(default_factory=WeakSet, repr=False)
    """Who has kernel objects of its own: the lock is held to change or to walk them."""
    _users_lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _used: float = 0.0
    _group_limit: int = 0
    """The most work-items of a group, once a kernel object has said it."""
    _fitting: set[Sizes] = field(default_factory=set, repr=False)
    """Sizes of groups that it has been launched with."""

    def __post_init__(self) -> None:
        source = self.compilation.source
        self.what = f"kernel {source.name}"
        """Its name in errors."""
        self._params = source.params
        self._positions = {param.value.id: position for position, param in enumerate(self._params)}
        """The position of each parameter by its id."""
        self._modes = source.modes
        self._types: list[type[np.generic] | None] = []
        for param in self._params:
            type_ = param.value.type
            pointer = isinstance(type_, Pointer)
            self._types += [None, np.uint64] if pointer else [_passed(element(type_)).type]

    @property
    def kernel(self) -> Kernel:
        """The kernel IR."""
        return self.compilation.kernel

    def prepare(
        self,
        args: Mapping[str, Argument] | Sequence[Argument],
        global_size: tuple[int, ...],
        group_size: tuple[int, ...],
        where: Where = "",
    ) -> Launch:
        """The launch with these arguments, by name or in the order of the parameters.

        The global size is padded to a multiple of the group size, so the kernel must guard its accesses; of a kernel
        with a barrier it must be one.
        Raises `DTypeError`, `NumberRangeError` or `ShapeError` for arguments and sizes that do not fit, and
        `MixedDevicesError` for memory of another runtime.
        """
        sizes = self.padded(global_size, group_size)
        arguments = self.checked(args)
        values: list[Any] = []
        touches: list[Touch] = []
        storages: list[Storage] = []
        pointers: list[tuple[int, Touch | None]] = []
        for param, value, mode in zip(self._params, arguments, self._modes, strict=True):
            name, type_ = param.value.hint, param.value.type
            if isinstance(type_, Pointer):
                storage, offset, touch = self._address(name, type_, value, self._promised(param, arguments), mode)
                touched = touch if mode and touch.low < touch.high else None
                pointers.append((len(values), touched))
                values += [storage.buffer, offset]
                storages.append(storage)
                if touched is not None:
                    touches.append(touched)
            elif isinstance(value, tuple):
                raise self._unfit(f"got a storage for {name!r}, which takes a number")
            else:
                values.append(self._number(param, element(type_), value))
        return Launch(self, self.what, tuple(values), tuple(touches), sizes, storages, pointers, where)

    def checked(self, args: Mapping[str, Argument] | Sequence[Argument]) -> Sequence[Argument]:
        """The arguments in the order of the parameters, memory for pointers and numbers for scalars."""
        arguments = self._ordered(args) if isinstance(args, Mapping) else args
        if len(arguments) != len(self._params):
            raise self._unfit(f"got {len(arguments)} arguments")
        for param, value in zip(self._params, arguments, strict=True):
            if isinstance(value, tuple) and not isinstance(param.value.type, Pointer):
                raise self._unfit(f"got a storage for {param.value.hint!r}, which takes a number")
            if not isinstance(value, tuple) and isinstance(param.value.type, Pointer):
                raise self._unfit(
                    f"got {reprlib.repr(value)} for {param.value.hint!r}, which takes a storage and an offset"
                )
        return arguments

    def handle(self) -> KernelHandle:
        """This thread's kernel object: a shared one would mix up the arguments of two threads."""
        self._used = time.monotonic()
        handle = getattr(self._of_thread, "handle", None)
        if handle is None or self._program is None:
            handle = self._of_thread.handle = self.new_handle()
        return handle

    @property
    def used(self) -> float:
        """When it was last launched, by `time.monotonic`."""
        with self._users_lock:
            return max([self._used, *[user.used for user in self._users]])

    def add_user(self, user: User) -> None:
        """Somebody has kernel objects of its own."""
        with self._users_lock:
            self._users.add(user)

    @property
    def program(self) -> Program:
        """The program: held, or looked up and built if need be."""
        program = self._program
        if program is None:
            source = self.compilation.source
            program = self._program = self.programs.program(source.text, source.options, source.explain, self)
        return program

    def let_go(self) -> None:
        """Holds neither the program nor kernel objects of it any more, nor do others."""
        self._program, self._of_thread = None, threading.local()
        with self._users_lock:
            users = list(self._users)
        for user in users:
            user.let_go()

    def padded(self, global_size: tuple[int, ...], group_size: tuple[int, ...]) -> tuple[Sizes, Sizes]:
        """Sizes to launch it with: checked, the global one a multiple of the other, with a default for no group size.

        Raises `ShapeError` for sizes that do not fit; of a kernel whose work-items wait for each other, the global one
        is not padded, because work-items that nobody asked for would have to come there, too.
        """
        groups = tuple(group_size or (self.device.quirks.group_size, 1, 1)[: len(global_size)])
        plain = _PLAIN.issuperset(map(type, (*global_size, *groups)))
        known = plain and len(groups) == len(global_size) and groups in self._fitting
        if not known or min(global_size) < 1 or max(global_size) >= MOST_ITEMS:
            self._check_sizes(global_size, groups)
            self._fitting.add(groups)
        padded = tuple([-(-size // group) * group for size, group in zip(global_size, groups, strict=True)])
        if padded != tuple(global_size) and self.compilation.source.waits:
            dimensions = zip(global_size, groups, padded, strict=True)
            size, group, whole = next(sizes for sizes in dimensions if sizes[0] != sizes[2])
            raise ShapeError(
                f"{size} is not a multiple of the group size {group}, and the kernel has a barrier",
                place=f"{self.what} with the global size {tuple(global_size)} in groups of {groups}",
                remedy=f"launch {whole} and test the index",
            )
        return padded, groups

    def refused(self, sizes: tuple[Sizes, Sizes], where: Where, error: Error) -> LaunchError:
        """What to say when the driver does not take a launch."""
        global_size, group_size = sizes
        return LaunchError(
            f"{self.what} could not be launched on {self.device}: {error}",
            place=f"asked for at {where}\nglobal size {global_size}, group size {group_size}\n{text(self.kernel)}",
            remedy="see the driver's error code; ocl-dump shows the generated source",
        )

    def new_handle(self) -> KernelHandle:
        """A kernel object for the caller alone."""
        handle = self.program.kernel(self.compilation.source.functions[-1])
        try:
            self.driver.set_types(handle, self._types)
            if not self._group_limit:
                self._check_limits(handle)
        except Error as error:
            raise LaunchError(f"{self.what} cannot be launched on {self.device}: {error}") from error
        return handle

    def memory_use(self) -> MemoryUse:
        """What the compiled kernel asks for."""
        return self.driver.memory_use(self.handle())

    def _check_limits(self, handle: KernelHandle) -> None:
        caps, used = self.device.capabilities, self.compilation.source.local_bytes
        if used > caps.local_memory and not self.device.quirks.local_memory_checked:
            raise LaunchError(
                f"{self.what} wants {used:,} bytes of local memory",
                place=f"{self.device} has {caps.local_memory:,} bytes",
                remedy="use smaller local arrays",
            )
        self._group_limit = self.driver.group_size_limit(handle)

    def _check_sizes(self, global_size: tuple[int, ...], group_size: tuple[int, ...]) -> None:
        sizes = (*global_size, *group_size)
        whole = all(map(_is_size, sizes))
        if len(global_size) != len(group_size) or not 1 <= len(global_size) <= 3 or not whole:
            raise ShapeError(
                f"global size {global_size} with group size {group_size}",
                place=self.what,
                remedy="give both the same 1 to 3 sizes: integers, at least 1",
            )
        if not self._group_limit:
            self.handle()  # which says it
        limits = self.device.capabilities.max_work_item_sizes
        if math.prod(group_size) > self._group_limit or any(map(operator.gt, group_size, limits)):
            raise ShapeError(
                f"a work-group of {group_size} is too large for {self.what} on {self.device}",
                place=f"the most is {self._group_limit} work-items, {limits} along the dimensions",
                remedy="use a smaller group size",
            )

    def _promised(self, param: Param, arguments: Sequence[Argument]) -> int | None:
        """How many elements the kernel may touch from the offset on: the parameter's length where it is known."""
        if isinstance(param.length, Const):
            return int(param.length.value)
        number = self._positions.get(param.length.id) if param.length is not None else None
        value = arguments[number] if number is not None else None
        return int(value) if isinstance(value, int | np.integer) else None

    def _address(
        self, name: str, type_: Pointer, value: Argument, promised: int | None, mode: int
    ) -> tuple[Storage, int, Touch]:
        """The storage, the offset in bytes of its buffer, and the access."""
        if not isinstance(value, tuple) or len(value) != 2 or not isinstance(value[0], Storage):
            raise self._unfit(f"got {reprlib.repr(value)} for {name!r}, which takes a storage and an offset")
        storage, start = value
        offset = start.offset if isinstance(start, Layout) else start
        if storage.memory is not self.memory:
            raise MixedDevicesError(
                f"{self.what} got memory of another runtime for {name!r}",
                place=f"the kernel runs on {self.device}",
                remedy="allocate it on the runtime that launches the kernel",
            )
        size = type_.dtype.size
        whole = isinstance(offset, int | np.integer) and offset >= 0
        if not whole or (offset + (promised or 0)) * size > storage.nbytes:
            touched = f" and may touch {promised} elements from there" if promised else ""
            raise ShapeError(
                f"{self.what} got the offset {offset!r} for {name!r}{touched}",
                place=f"{storage!r} has {storage.nbytes // size} elements of {type_.dtype}",
                remedy="count elements from the start of the storage",
            )
        if offset * size % type_.align:
            raise ShapeError(
                f"{self.what} got the offset {offset} for {name!r}, aligned to {type_.align} bytes",
                place=f"{offset} elements of {type_.dtype} are {offset * size} bytes",
                remedy="use an aligned offset, or a kernel that promises less",
            )
        if isinstance(start, Layout):
            touch = storage.touch_layout(mode, start, size)
        elif promised is not None:
            touch = storage.touch(mode, offset * size, (offset + promised) * size)
        else:
            touch = storage.touch(mode)
        return storage, storage.start + int(offset) * size, touch

    def _number(self, param: Param, dtype: DType, value: np.generic | int | float | bool) -> bool | int | float:
        """The number as the kernel takes it: Python's are weak, NumPy's keep their values."""
        passed, name = _passed(dtype), param.value.hint
        if isinstance(value, np.generic):
            fits = np.can_cast(value.dtype, passed)
        else:
            weak = bool if dtype == BOOL else int | float if dtype.is_float else int
            fits = isinstance(value, weak)
        if not fits:
            raise self._unfit(f"got {reprlib.repr(value)} for {name!r}, which is no {dtype}")
        try:
            number: bool | int | float = passed.type(value).item()
        except OverflowError:
            raise NumberRangeError(
                f"{self.what} got {reprlib.repr(value)} for {name!r}, which is out of range for {dtype}",
                remedy="use a smaller number, or a wider parameter",
            ) from None
        if param.low is not None and number < param.low:
            raise NumberRangeError(
                f"{self.what} got {number} for {name!r}, which is promised never to be below {param.low}",
                remedy="pass what was promised, or build the kernel without `low`",
            )
        return number

    def _ordered(self, args: Mapping[str, Argument]) -> list[Argument]:
        names = [param.value.hint for param in self._params]
        wrong = sorted(set(names) ^ set(args))
        if wrong:
            raise self._unfit(f"got other arguments than it has: {', '.join(wrong)}")
        return [args[name] for name in names]

    def _unfit(self, fact: str) -> DTypeError:
        takes = ", ".join(f"{param.value.hint}: {param.value.type}" for param in self._params)
        return DTypeError(f"{self.what} {fact}", remedy=f"it takes {takes}")


def _passed(dtype: DType) -> np.dtype[Any]:
    """Kernels take no bools."""
    return np.dtype(np.uint8) if dtype == BOOL else dtype.numpy
