"""A kernel over an index space, in a mode, to be called with its arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ocl_ir.graph.build import Buffer
from ocl_ir.language.translate import Translation
from ocl_ir.source_line import calling_line
from ocl_ir.types import element
from ocl_runtime.arrays import Array, zeros
from ocl_runtime.arrays.core import executor_of
from ocl_runtime.arrays.reals import base_executor
from ocl_runtime.errors import Error
from ocl_runtime.executor import DeviceExecutor
from ocl_runtime.plan.tracing import tracer
from ocl_runtime.programs.bound_launch import bind_over, open_number
from ocl_runtime.programs.kernels.arguments import Arguments
from ocl_runtime.programs.kernels.interpreted import interpret
from ocl_runtime.programs.kernels.plain import run_plain
from ocl_runtime.programs.kernels.sizes import LaunchSize, Sizes, check_dimensions, check_whole
from ocl_runtime.programs.kernels.variants import number_of, numbers_of
from ocl_runtime.programs.kernels.violations import STATUS_WORDS, violation
from ocl_runtime.programs.launching import Call, PreparedLaunch, launch_over, prepare_over
from ocl_runtime.programs.repeats import by_position, key_of

if TYPE_CHECKING:
    from ocl_runtime.programs.kernels.kernel import Kernel

_MOST_SHORT = 2**31
"""Lengths, strides and work-items from here on are counted in 64 bits."""


@dataclass(frozen=True, slots=True)
class Sized:
    """A kernel in a mode, to be subscripted with sizes."""

    kernel: Kernel
    mode: str
    counts_groups: bool = False

    def __getitem__(self, sizes: Any) -> Launcher:
        """The kernel over an index space, to be called with its arguments."""
        return Launcher(self.kernel, self.mode, sizes, self.counts_groups)

    @property
    def groups(self) -> Sized:
        """Sizes count groups."""
        return Sized(self.kernel, self.mode, counts_groups=True)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Launches the kernel over the shape of the parameter that `over` names."""
        return Launcher(self.kernel, self.mode, None)(*args, **keywords)


@dataclass(frozen=True, slots=True)
class Launcher:
    """A kernel over an index space, to be called with its arguments."""

    kernel: Kernel
    mode: str
    sizes: Any
    counts_groups: bool = False

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Launches the kernel, without waiting for it; gives the outputs that were left out.

        Raises `DTypeError`, `ShapeError` or `Error` for arguments that do not fit, and what translating raises.
        """
        repeatable = self._repeatable(args, keywords)
        if repeatable is not None and self.kernel.repeats.start(*repeatable, calling_line()):
            return None
        values, made = self.kernel.bound(args, keywords)
        arguments = self.kernel.arguments(values)
        executor = self._executor(arguments)
        size = self._size(values, executor)
        if 0 not in size.items:
            self._launch(arguments, executor, size)
            if repeatable is not None and not self._is_checked(executor) and self.kernel.repeats.is_due(*repeatable):
                self._bind(repeatable[0], arguments, executor, size)
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    def prepare(self, *args: Any, **keywords: Any) -> PreparedLaunch:
        """The launch, built and bound, to be called."""
        values, _ = self.kernel.bound(args, keywords)
        arguments = self.kernel.arguments(values)
        executor = self._executor(arguments)
        size = self._size(values, executor)
        return prepare_over(arguments.arrays, self._call(arguments, executor, size))

    def inspected(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[Translation, DeviceExecutor, Sizes]:
        """The variant that a call has, what would run it, and over how many work-items."""
        values, _ = self.kernel.bound(args, keywords)
        arguments = self.kernel.arguments(values)
        executor = self._executor(arguments)
        size = self._size(values, executor)
        buffers = [x._computed() for x in arguments.arrays]
        return self._variant(arguments, buffers, executor, size), executor, size.items

    def _executor(self, arguments: Arguments) -> DeviceExecutor:
        executor = base_executor(executor_of(f"kernel {self.kernel.__name__}", arguments.arrays))
        assert isinstance(executor, DeviceExecutor)
        return executor

    def _size(self, values: Mapping[str, Any], executor: DeviceExecutor) -> LaunchSize:
        return self.kernel.size(self.sizes, values, executor.device.quirks.group_size, counts_groups=self.counts_groups)

    def _variant(
        self, arguments: Arguments, buffers: Sequence[Buffer], executor: DeviceExecutor, size: LaunchSize
    ) -> Translation:
        options = self.kernel.options(
            executor,
            size.group,
            len(size.items),
            wide=_is_wide(arguments, buffers, size),
            checked=self._is_checked(executor),
            whole=self.counts_groups,
            interpreted=self.mode == "interpret",
        )
        return self.kernel.variant(arguments, buffers, options)

    def _is_checked(self, executor: DeviceExecutor) -> bool:
        if self.mode == "checked" and tracer.get() is not None:
            raise Error(
                f"kernel {self.kernel.__name__} is launched in checked mode in a captured function",
                place=calling_line(),
                remedy="check it outside of the captured function",
            )
        return self.mode in {"checked", "interpret"} or (
            not self.mode and executor.settings.check and tracer.get() is None
        )

    def _repeatable(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[Hashable, Sequence[Any]] | None:
        """What tells the call from others, and its arguments by position, if it may come again: it is launched without
        checks or a trace."""
        if self.mode not in {"", "unchecked"} or tracer.get() is not None:
            return None
        positional = by_position(self.kernel.all_given, args, keywords)
        if positional is None:
            return None
        key = key_of(self.sizes, self.counts_groups, positional, self.kernel.constants)
        return None if key is None else (key, positional)

    def _bind(self, key: Hashable, arguments: Arguments, executor: DeviceExecutor, size: LaunchSize) -> None:
        """Binds a call that comes again to the memory of its arrays."""
        seen: list[Translation] = []
        call = self._call(arguments, executor, size, seen)
        launch = bind_over(arguments.arrays, call, executor, calling_line(), leaves_open=True)
        self.kernel.repeats.bind(key, launch, partial(_numbers, self.kernel, seen[-1]))

    def _launch(self, arguments: Arguments, executor: DeviceExecutor, size: LaunchSize) -> None:
        if self.mode == "interpret":
            if self.kernel.stops_in_a_debugger:
                run_plain(self.kernel.plain_function(), arguments, size, executor.default_real, checks_divisors=True)
                return
            interpret(lambda buffers: self._interpreted(arguments, buffers, executor, size), arguments, size)
            return
        if not self._is_checked(executor):
            launch_over(arguments.arrays, self._call(arguments, executor, size), calling_line())
            return
        status, seen = zeros((STATUS_WORDS,), dtype=np.int32), list[Translation]()
        call = self._call(arguments, executor, size, seen, is_checked=True)
        launch_over([*arguments.arrays, status], call, calling_line())
        sites = seen[-1].sites
        error = violation(status.numpy(), sites, size.group) if sites else None
        if error is not None:
            raise error

    def _call(
        self,
        arguments: Arguments,
        executor: DeviceExecutor,
        size: LaunchSize,
        seen: list[Translation] | None = None,
        *,
        is_checked: bool = False,
    ) -> Callable[[Sequence[Buffer]], Call]:
        """What to launch over the memory of the arrays, behind which the record of the first violation lies where that
        is checked. The variants that it launches are added to those that were `seen`."""

        def call(buffers: Sequence[Buffer]) -> Call:
            own = buffers[: len(arguments.arrays)]
            translation = self._variant(arguments, own, executor, size)
            self._check(translation, size)
            if seen is not None:
                seen.append(translation)
            index = arguments.array_index
            passed = numbers_of(
                translation,
                arguments.numbers,
                lambda path: own[index(path)].layout,
                size.items,
                lambda path: own[index(path)],
                buffers[-1] if is_checked else None,
            )
            group = size.group[: len(size.items)]
            return Call(translation.kernel, passed, size.whole, group, translation.open_numbers)

        return call

    def _interpreted(
        self, arguments: Arguments, buffers: Sequence[Buffer], executor: DeviceExecutor, size: LaunchSize
    ) -> Translation:
        translation = self._variant(arguments, buffers, executor, size)
        self._check(translation, size)
        return translation

    def _check(self, translation: Translation, size: LaunchSize) -> None:
        check_dimensions(self.kernel.__name__, size, translation.dimensions_asked)
        if translation.waits:
            check_whole(self.kernel.__name__, size, "")


def _numbers(kernel: Kernel, translation: Translation, args: Sequence[Any]) -> dict[str, Any] | None:
    """The open numbers of a bound call; None where the kernel reads something else from around it by now."""
    if not all(capture.is_current for capture in translation.captures):
        return None
    opened: dict[str, Any] = {}
    if translation.open_numbers:
        pairs, params = zip(kernel.all_given, args, strict=True), translation.kernel.params
        passed = kernel.arguments({name: x for name, x in pairs if not isinstance(x, Array)}).numbers
        for index in translation.open_numbers:
            value = number_of(translation.sources[index], params[index], passed)
            name, number = open_number(index, element(params[index].value.type), value)
            opened[name] = number
    return opened


def _is_wide(arguments: Arguments, buffers: Sequence[Buffer], size: LaunchSize) -> bool:
    """Whether anything is counted beyond 32 bits."""
    counted = [abs(number) for number in arguments.numbers.values() if isinstance(number, int)]
    for layout in (buffer.layout for buffer in buffers):
        steps = zip(layout.shape, layout.strides, strict=True)
        reached = sum((extent - 1) * abs(stride) for extent, stride in steps)
        counted += (layout.size, reached, *layout.shape, *map(abs, layout.strides))
    return max([*counted, *size.whole], default=0) >= _MOST_SHORT
