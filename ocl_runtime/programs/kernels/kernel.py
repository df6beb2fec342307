"""Kernels that users write in Python, and launch.

    @ocl.kernel
    def saxpy(a, x, y):
        i = global_id(0)
        if i < x.size:
            y[i] = a * x[i] + y[i]

    saxpy[x.size](2.0, x, y)

Decorating reads nothing: a kernel is translated when it is first launched, for the types of its arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, update_wrapper
from types import FunctionType
from typing import Any

import numpy as np

from ocl_ir.graph.build import Buffer
from ocl_ir.kernel.printer import text
from ocl_ir.language.context import Options
from ocl_ir.language.plain.names import calls_breakpoint
from ocl_ir.language.source import FunctionSource, source_from, source_of
from ocl_ir.language.translate import Translation
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array, empty, zeros
from ocl_runtime.arrays.core import executor_of
from ocl_runtime.arrays.reals import base_executor
from ocl_runtime.errors import Error, ShapeError
from ocl_runtime.executor import DeviceExecutor
from ocl_runtime.plan.tracing import tracer
from ocl_runtime.programs.kernels.annotations import annotations_of
from ocl_runtime.programs.kernels.arguments import Arguments
from ocl_runtime.programs.kernels.interpreted import interpret
from ocl_runtime.programs.kernels.plain import run_plain
from ocl_runtime.programs.kernels.sizes import LaunchSize, Sizes, check_dimensions, check_whole, launch_size
from ocl_runtime.programs.kernels.variants import Variants, numbers_of
from ocl_runtime.programs.kernels.violations import STATUS_WORDS, violation
from ocl_runtime.programs.launching import Call, launch_over
from ocl_runtime.programs.prepared_launch import PreparedLaunch, prepare_over

_MOST_SHORT = 2**31
"""Lengths, strides and work-items from here on are counted in 64 bits."""


@dataclass(frozen=True, slots=True)
class NewLike:
    """The default of an output: an array like that of another parameter."""

    name: str


def new_like(name: str) -> Any:
    """The default of a parameter that is an output: where it is left out, an array of the shape and dtype of another
    parameter is made, and the call returns it.

    @ocl.kernel(over="x")
    def doubled(x, y=new_like("x")):
        i = position()
        y[i] = x[i] * 2

    y = doubled(x)
    """
    return NewLike(name)


class Kernel:
    """A function in Python that runs for each work-item of an index space.

    `k[n](…)` launches it over work-items, `k[n, (256,)](…)` in groups of a size, `k.groups[g](…)` over groups, and
    `k(…)` over the shape of the parameter that `over` names. `k.checked` tests each access, `k.interpret` runs in the
    interpreter. Each returns at once; what arrays the kernel writes is seen as after `y[...] = …`.
    """

    def __init__(
        self,
        function: FunctionType | None,
        source: str | None = None,
        local: int | Sizes | None = None,
        over: str | None = None,
    ) -> None:
        self._function = function
        self._text = source
        self._local = (local,) if isinstance(local, int) else local
        self._over = over
        if function is not None:
            update_wrapper(self, function)
        else:
            self.__name__ = self._source.frame.function
        self._variants = Variants(self.__name__, lambda: self._source, function)

    @cached_property
    def _source(self) -> FunctionSource:
        return source_of(self._function) if self._function is not None else source_from(self._text or "")

    @cached_property
    def _signature(self) -> inspect.Signature:
        if self._function is not None:
            return inspect.signature(self._function)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(arg.arg, kind) for arg in self._source.node.args.args])

    @cached_property
    def _annotations(self) -> Mapping[str, Any]:
        return annotations_of(self._function) if self._function is not None else {}

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}{self._signature}>"

    def __getitem__(self, sizes: Any) -> Launcher:
        """The kernel over an index space, to be called with its arguments."""
        return Launcher(self, "", sizes)

    @property
    def groups(self) -> Sized:
        """`k.groups[gx, gy](…)`: so many groups along each dimension."""
        return Sized(self, "", counts_groups=True)

    @property
    def checked(self) -> Sized:
        """The kernel with each access tested; the first one outside is raised where it is launched."""
        return Sized(self, "checked")

    @property
    def unchecked(self) -> Sized:
        """The kernel without tests, also where `OCL_RUNTIME_CHECK=on` asks for them."""
        return Sized(self, "unchecked")

    @property
    def interpret(self) -> Sized:
        """The kernel in the interpreter, which finds races; in plain Python where its body calls `breakpoint`."""
        return Sized(self, "interpret")

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Launches the kernel over the shape of the parameter that `over` names, the last axis in dimension 0."""
        return Launcher(self, "", None)(*args, **keywords)

    @property
    def variants(self) -> list[Translation]:
        """What it has been translated to so far."""
        return self._variants.all()

    def prepare(self, *args: Any, sizes: Any = None, **keywords: Any) -> PreparedLaunch:
        """A launch over the same arguments, built and bound, which costs the least time each time it is called."""
        return Launcher(self, "unchecked", sizes).prepare(*args, **keywords)

    def ir(self, *args: Any, sizes: Any = None, **keywords: Any) -> str:
        """The kernel IR for arguments."""
        return text(Launcher(self, "unchecked", sizes).translation(*args, **keywords).kernel)

    def source(self, *args: Any, sizes: Any = None, **keywords: Any) -> str:
        """The OpenCL C for arguments, on the device that they are on."""
        launcher = Launcher(self, "unchecked", sizes)
        translation = launcher.translation(*args, **keywords)
        return launcher.executor(args).engine.executable(translation.kernel).compilation.source.text

    # ------------------------------------------------------------------ for launchers

    @property
    def function(self) -> FunctionType:
        """The function in Python. Raises `Error` for a kernel that was made of a text."""
        if self._function is None:
            raise Error(
                f"kernel {self.__name__} has no function in Python, only a text",
                place=calling_line(),
                remedy="define it in a file to run it in plain Python",
            )
        return self._function

    @property
    def stops_in_a_debugger(self) -> bool:
        """Whether its body calls `breakpoint`."""
        return self._function is not None and calls_breakpoint(self._function)

    def bound(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[dict[str, Any], list[Array]]:
        """The arguments by parameter, and the outputs that were left out and are made. Raises `Error`."""
        try:
            bound = self._signature.bind(*args, **keywords)
        except TypeError as error:
            raise Error(
                f"kernel {self.__name__}: {error}",
                place=calling_line(),
                remedy=f"call {self.__name__}{self._signature}",
            ) from None
        bound.apply_defaults()
        values, made = dict(bound.arguments), list[Array]()
        for name, value in values.items():
            if isinstance(value, NewLike):
                like = values[value.name]
                output = values[name] = empty(like.shape, dtype=like.dtype)
                made.append(output)
        return values, made

    def arguments(self, values: Mapping[str, Any]) -> Arguments:
        """The arguments with their types."""
        return Arguments(self.__name__, values, self._annotations)

    def size(self, key: Any, values: Mapping[str, Any], default: int, *, counts_groups: bool) -> LaunchSize:
        """Over how many work-items it runs."""
        if key is None:
            key = self._covered(values)
        return launch_size(self.__name__, key, self._local, default, counts_groups=counts_groups)

    def _covered(self, values: Mapping[str, Any]) -> Sizes:
        if self._over is None:
            raise ShapeError(
                f"kernel {self.__name__} is called without sizes",
                place=calling_line(),
                remedy=f'write {self.__name__}[n](…), or @ocl.kernel(over="y") for the shape of y',
            )
        shape = values[self._over].shape
        if not 1 <= len(shape) <= 3:
            raise ShapeError(
                f"kernel {self.__name__} runs over {self._over}, which has {len(shape)} axes",
                place=calling_line(),
                remedy="reshape it to 1 to 3 axes, or give sizes",
            )
        return tuple(reversed(shape))

    def variant(self, arguments: Arguments, buffers: Sequence[Buffer], options: Options) -> Translation:
        """The translation for arguments that lie in some buffers."""
        return self._variants.variant(arguments.types(buffers), options)


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
        values, made = self.kernel.bound(args, keywords)
        arguments = self.kernel.arguments(values)
        executor = self._executor(arguments)
        size = self._size(values, executor)
        if 0 not in size.items:
            self._launch(arguments, executor, size)
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    def prepare(self, *args: Any, **keywords: Any) -> PreparedLaunch:
        """The launch, built and bound, to be called."""
        values, _ = self.kernel.bound(args, keywords)
        arguments = self.kernel.arguments(values)
        executor = self._executor(arguments)
        size = self._size(values, executor)
        return prepare_over(arguments.arrays, self._call(arguments, self._options(arguments, executor, size), size))

    def translation(self, *args: Any, **keywords: Any) -> Translation:
        """The variant that a call with these arguments has."""
        values, _ = self.kernel.bound(args, keywords)
        arguments = self.kernel.arguments(values)
        executor = self._executor(arguments)
        size = self._size(values, executor)
        buffers = [x._computed() for x in arguments.arrays]
        return self.kernel.variant(arguments, buffers, self._options(arguments, executor, size))

    def executor(self, args: Sequence[Any]) -> DeviceExecutor:
        """What runs it."""
        executor = base_executor(executor_of(f"kernel {self.kernel.__name__}", args))
        assert isinstance(executor, DeviceExecutor)
        return executor

    def _executor(self, arguments: Arguments) -> DeviceExecutor:
        return self.executor(arguments.arrays)

    def _size(self, values: Mapping[str, Any], executor: DeviceExecutor) -> LaunchSize:
        return self.kernel.size(self.sizes, values, executor.device.quirks.group_size, counts_groups=self.counts_groups)

    def _options(self, arguments: Arguments, executor: DeviceExecutor, size: LaunchSize) -> Options:
        capabilities = executor.device.capabilities
        return Options(
            default_real=executor.default_real,
            wide=_is_wide(arguments, size),
            checked=self._is_checked(executor),
            fp64=capabilities.computes("f64"),
            group_size=size.group,
            dimensions=len(size.items),
        )

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

    def _launch(self, arguments: Arguments, executor: DeviceExecutor, size: LaunchSize) -> None:
        options = self._options(arguments, executor, size)
        if self.mode == "interpret":
            if self.kernel.stops_in_a_debugger:
                run_plain(self.kernel.function, arguments, size, executor.default_real)
                return
            buffers = _dense_buffers(arguments.arrays)
            translation = self.kernel.variant(arguments, buffers, options)
            self._check(translation, size)
            interpret(translation, arguments.arrays, arguments.numbers, arguments.array_index, size)
            return
        if not options.checked:
            launch_over(arguments.arrays, self._call(arguments, options, size), calling_line())
            return
        status, sites = zeros((STATUS_WORDS,), dtype=np.int32), list[Any]()
        launch_over([*arguments.arrays, status], self._call(arguments, options, size, sites), calling_line())
        error = violation(status.numpy(), sites[-1], size.group) if sites[-1] else None
        if error is not None:
            raise error

    def _call(
        self, arguments: Arguments, options: Options, size: LaunchSize, sites: list[Any] | None = None
    ) -> Callable[[Sequence[Buffer]], Call]:
        def call(buffers: Sequence[Buffer]) -> Call:
            own = buffers[: len(arguments.arrays)]
            translation = self.kernel.variant(arguments, own, options)
            self._check(translation, size)
            if sites is not None:
                sites.append(translation.sites)
            index = arguments.array_index
            passed = numbers_of(
                translation,
                arguments.numbers,
                lambda path: own[index(path)].layout,
                size.items,
                lambda path: own[index(path)],
                buffers[-1] if sites is not None else None,
            )
            return Call(translation.kernel, passed, size.whole, size.group[: len(size.items)])

        return call

    def _check(self, translation: Translation, size: LaunchSize) -> None:
        check_dimensions(self.kernel.__name__, size, translation.dimensions_asked)
        if translation.waits:
            check_whole(self.kernel.__name__, size, "")


def _dense_buffers(arrays: Sequence[Array]) -> list[Buffer]:
    """Memory like that of copies in row-major order: the same array twice is the same memory."""
    copies = {id(x): empty(x.shape, dtype=x.dtype)._computed() for x in arrays}
    return [copies[id(x)] for x in arrays]


def _is_wide(arguments: Arguments, size: LaunchSize) -> bool:
    """Whether anything is counted beyond 32 bits."""
    numbers = [abs(number) for number in arguments.numbers.values() if isinstance(number, int)]
    lengths = [extent for x in arguments.arrays for extent in (*x.shape, x.size)]
    return max([*numbers, *lengths, *size.whole], default=0) >= _MOST_SHORT


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    source: str | None = None,
    local: int | Sizes | None = None,
    over: str | None = None,
) -> Any:
    """A kernel of a Python function, as a decorator with or without options, or of the `source` of one.

    `local` is the size of its groups, `over` the array parameter whose shape a call without sizes covers. Raises
    `Error` for what is no function.
    """
    if source is not None:
        return Kernel(None, source, local, over)
    if function is None:
        return lambda wrapped: kernel(wrapped, local=local, over=over)
    if not isinstance(function, FunctionType):
        raise Error(
            f"a kernel of {function!r}", place=calling_line(), remedy="decorate a function that is defined with def"
        )
    return Kernel(function, None, local, over)


__all__ = ["Kernel", "kernel", "new_like"]
