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
import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, update_wrapper
from types import FunctionType
from typing import Any, overload

import numpy as np

from ocl_ir.graph.build import Buffer
from ocl_ir.kernel.printer import text
from ocl_ir.language.context import Options
from ocl_ir.language.parameters import ArgumentType
from ocl_ir.language.plain.names import calls_breakpoint
from ocl_ir.language.syntax.source import function_from
from ocl_ir.language.translate import Translation
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays import Array, empty
from ocl_runtime.errors import Error, ShapeError
from ocl_runtime.executor import DeviceExecutor
from ocl_runtime.programs.kernels.annotations import ConstantAnnotation, annotations_of
from ocl_runtime.programs.kernels.arguments import Arguments
from ocl_runtime.programs.kernels.inspection import dumped, explained
from ocl_runtime.programs.kernels.inspection import source_of as source_text
from ocl_runtime.programs.kernels.launcher import Launcher, Sized
from ocl_runtime.programs.kernels.names import NAMES
from ocl_runtime.programs.kernels.sizes import LaunchSize, Sizes, launch_size
from ocl_runtime.programs.kernels.variants import Variants
from ocl_runtime.programs.launching import PreparedLaunch
from ocl_runtime.programs.repeats import Repeats


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
        function: FunctionType,
        local: int | Sizes | None = None,
        over: str | None = None,
        source: str | None = None,
    ) -> None:
        self._function = function
        self._text = source
        self._local = (local,) if isinstance(local, int) else local
        self._over = over
        self.__name__ = function.__name__
        update_wrapper(self, function)
        self._options: dict[tuple[Any, ...], Options] = {}
        self._variants = Variants(function)
        self._asks_units = False
        """Whether it depends on which arrays lie in whole units, which few kernels do."""
        self.repeats = Repeats()
        """Calls that may come again."""

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self._function)

    @cached_property
    def all_given(self) -> Sequence[str]:
        """The parameters, where all of them may be given by position; none where some may not."""
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        simple = all(parameter.kind in by_position for parameter in self._signature.parameters.values())
        return list(self._signature.parameters) if simple else []

    @cached_property
    def _annotations(self) -> Mapping[str, Any]:
        return annotations_of(self._function)

    @cached_property
    def constants(self) -> Container[int]:
        """The indices of parameters that are annotated as constants."""
        annotated = enumerate(map(self._annotations.get, self._signature.parameters))
        return frozenset(index for index, annotation in annotated if isinstance(annotation, ConstantAnnotation))

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}{self._signature}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        """A kernel is pickled by its name, as a function is; one of a text by that."""
        if self._text is not None:
            return _of_text, (self._text, self._local, self._over, self.__name__)
        return self._function.__qualname__

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
        return text(self._inspected(sizes, args, keywords)[0].kernel)

    def source(self, *args: Any, sizes: Any = None, lines: bool = False, **keywords: Any) -> str:
        """The OpenCL C for arguments, on the device that they are on; with `lines`, it names lines of Python."""
        translation, executor, _ = self._inspected(sizes, args, keywords)
        return source_text(translation, executor, lines=lines)

    def dump(self, *args: Any, sizes: Any = None, stage: str | None = None, **keywords: Any) -> str:
        """Every stage from kernel IR to the binary for arguments, or one by its name. Raises `Error` for a stage that
        kernels have not."""
        translation, executor, _ = self._inspected(sizes, args, keywords)
        return dumped(translation, executor, stage)

    def explain(self, *args: Any, sizes: Any = None, **keywords: Any) -> str:
        """What a launch with arguments asks for and does: memory, operations, bytes, barriers."""
        return explained(*self._inspected(sizes, args, keywords))

    def _inspected(
        self, sizes: Any, args: Sequence[Any], keywords: Mapping[str, Any]
    ) -> tuple[Translation, DeviceExecutor, Sizes]:
        return Launcher(self, "unchecked", sizes).inspected(args, keywords)

    # ------------------------------------------------------------------ for launchers and commands

    def plain_function(self) -> FunctionType:
        """The function in Python."""
        return self._function

    @property
    def stops_in_a_debugger(self) -> bool:
        """Whether its body calls `breakpoint`."""
        return calls_breakpoint(self._function)

    @property
    def parameters(self) -> Sequence[str]:
        """The names of its parameters."""
        return list(self._signature.parameters)

    @property
    def defaults(self) -> dict[str, Any]:
        """The values of parameters that may be left out."""
        parameters = self._signature.parameters.values()
        return {
            parameter.name: parameter.default for parameter in parameters if parameter.default is not parameter.empty
        }

    @property
    def group(self) -> Sizes | None:
        """The size of its groups, where it says one."""
        return self._local

    def translated(self, types: Mapping[str, ArgumentType], options: Options) -> Translation:
        """The variant for types. Raises what `translate` raises."""
        return self._variants.variant(types, options)

    def bound(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[dict[str, Any], list[Array]]:
        """The arguments by parameter, and the outputs that were left out and are made. Raises `Error`."""
        names = self.all_given
        if not keywords and len(args) == len(names):
            return dict(zip(names, args, strict=True)), []
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

    def options(
        self,
        executor: DeviceExecutor,
        group: tuple[int, int, int],
        dimensions: int,
        *,
        wide: bool,
        checked: bool,
        whole: bool,
        interpreted: bool = False,
    ) -> Options:
        """What a variant is translated for, by the device, the mode and the index space."""
        target = executor.target
        device = executor.default_real, target.fp64, target.kind, target.local_bytes, target.matrix_instructions
        key = device, group, dimensions, wide, checked, whole, interpreted
        options = self._options.get(key)
        if options is None:
            options = self._options[key] = Options(
                default_real=executor.default_real,
                wide=wide,
                checked=checked,
                interpreted=interpreted,
                fp64=target.fp64,
                group_size=group,
                dimensions=dimensions,
                whole=whole,
                kind=target.kind,
                local_bytes=max(target.local_bytes, target.tile_bytes),
                matrix_instructions=target.matrix_instructions,
            )
        return options

    def variant(self, arguments: Arguments, buffers: Sequence[Buffer], options: Options) -> Translation:
        """The translation for arguments that lie in some buffers."""
        made = self._variants.variant(arguments.types(buffers, asks_units=self._asks_units), options)
        if made.asks_units and not self._asks_units:
            self._asks_units = True
            return self.variant(arguments, buffers, options)
        return made


@overload
def kernel(function: Callable[..., Any], /) -> Kernel: ...


@overload
def kernel(*, source: str, name: str = "", local: int | Sizes | None = None, over: str | None = None) -> Kernel: ...


@overload
def kernel(*, local: int | Sizes | None = None, over: str | None = None) -> Callable[[Callable[..., Any]], Kernel]: ...


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    source: str | None = None,
    name: str = "",
    local: int | Sizes | None = None,
    over: str | None = None,
) -> Any:
    """A kernel of a Python function, as a decorator with or without options, or of the `source` of one, which is run
    and sees the kernel language, `math` and `np`. Of several functions in a source, `name` says which is the kernel.

    `local` is the size of its groups, `over` the array parameter whose shape a call without sizes covers. Raises
    `Error` for what is no function.
    """
    if source is not None:
        return _of_text(source, local, over, name)
    if name:
        raise Error(
            f"a kernel with the name {name!r} and without a source",
            place=calling_line(),
            remedy="a function is called what it is called; name is for ocl.kernel(source=text, name=…)",
        )
    if function is None:
        return lambda wrapped: _decorated(wrapped, local, over)
    return _decorated(function, local, over)


def _decorated(function: Callable[..., Any], local: int | Sizes | None, over: str | None) -> Kernel:
    if not isinstance(function, FunctionType):
        raise Error(
            f"a kernel of {function!r}", place=calling_line(), remedy="decorate a function that is defined with def"
        )
    return Kernel(function, local, over)


def _of_text(text: str, local: int | Sizes | None, over: str | None, name: str) -> Kernel:
    return Kernel(function_from(text, {**NAMES, "math": math, "np": np}, name), local, over, text)


__all__ = ["Kernel", "kernel", "new_like"]
