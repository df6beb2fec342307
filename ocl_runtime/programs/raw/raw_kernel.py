"""Kernels written by hand in OpenCL C, launched over arrays.

    saxpy = RawKernel(source, "saxpy", arguments="in x, inout y")
    saxpy[n](2.0, x, y)

A kernel takes the road of all others: its arguments are ordered by what they touch, its launches are captured, replayed
and timed. What nothing is declared of may touch all of an array's memory, and is read and written.
"""

from __future__ import annotations

import reprlib
from collections.abc import Container, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ocl_ir.graph.build import Buffer
from ocl_ir.guards import Backed
from ocl_ir.kernel.accesses import WRITE
from ocl_ir.kernel.source_kernel import SourceKernel
from ocl_ir.source_line import calling_line
from ocl_ir.types import BF16, BOOL, U8, U16
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.core import compute_together
from ocl_runtime.arrays.hosts import is_pyopencl
from ocl_runtime.codegen.templates import render_source
from ocl_runtime.errors import DTypeError, Error, ShapeError
from ocl_runtime.plan.tracing import tracer
from ocl_runtime.programs.bound_launch import bind_over, open_number
from ocl_runtime.programs.kernel_call import Call, executor_behind
from ocl_runtime.programs.launching import PreparedLaunch, launch_over, prepare_over
from ocl_runtime.programs.raw.declarations import Declaration, declarations
from ocl_runtime.programs.raw.index_space import IndexSpace, fitting_group, groups_space, index_space, not_launched
from ocl_runtime.programs.raw.kernel_ir import dtype_of, holds_structs, kernel_of, mode_of
from ocl_runtime.programs.raw.numbers import converted
from ocl_runtime.programs.raw.order import in_order
from ocl_runtime.programs.raw.parameters import array_remedy
from ocl_runtime.programs.raw.prototype import Parameter, Prototype, prototypes, readable_prototypes
from ocl_runtime.programs.repeats import Repeats, by_position, key_of
from ocl_runtime.programs.struct_array import memory_of

_MOST_GROUP = 256
"""Work-items of a group where nobody says how many: every device takes these."""
_IN_C = {BOOL: U8, BF16: U16}
"""What OpenCL C has in memory of dtypes that it has no type for."""


class _Scalar(NamedTuple):
    """A parameter that is a single number: its index in kernel IR, and that of its argument."""

    param_index: int
    parameter: Parameter
    arg_index: int


class RawKernel:
    """A kernel of a source in OpenCL C.

    `arguments` declares how parameters are used, by direction, type and name, of which the first two may be left out:
    `"in float32[] x, out float32[] y, float32 a"`. `options` go to the compiler, `local` is the size of a group where a
    launch says none. With `values`, the source is a Mako template that gets these names.

        scale = RawKernel("__kernel void scale(__global float *x, float a)"
                          "{ x[get_global_id(0)] *= a; }", "scale")
        scale[x.size](x, 2.0)

    `k[n](…)` runs over n work-items, `k[h, w, (16, 16)](…)` in groups of that size, `k.groups[8, (256,)](…)` over as
    many groups, and `k((8,), (256,), (x, 2.0))` as CuPy has it. Raises `Error` where the source has no such kernel,
    `DTypeError` for parameters that no argument fits; a launch raises `BuildError`, with the line of the source.
    """

    def __init__(
        self,
        source: str,
        name: str,
        arguments: str = "",
        *,
        options: Sequence[str] = (),
        local: tuple[int, ...] | int | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> None:
        self.source = source if values is None else render_source(source, values)
        """What was written, rendered if it is a template."""
        self.name = name
        self._asked_at = calling_line()
        self.options = tuple(options)
        self.local = (local,) if isinstance(local, int) else local
        declared = prototypes(self.source, name, self.options)
        self._set_up(declared, declarations(name, arguments, declared[0].parameters))
        self._prototypes = declared
        self._others: Sequence[Prototype] = ()
        self._kernels: dict[tuple[int, ...], SourceKernel] = {}
        """By the sizes of local memory."""
        self.repeats = Repeats()
        """Calls that may come again."""
        if not any(parameter.is_local for parameter in self._parameters):
            self.kernel(())

    def _set_up(self, declared: Sequence[Prototype], declarations: Mapping[str, Declaration]) -> None:
        self._declared = declarations
        self._parameters = declared[0].parameters
        if any([p.type for p in other.parameters] != [p.type for p in self._parameters] for other in declared):
            raise Error(
                f"the source has several kernels {self.name}, with other parameters",
                place=calling_line(),
                remedy="leave one of them, or choose it by options=('-D…',) within its body",
            )
        names = {parameter.name for parameter in self._parameters if parameter.is_pointer}
        self._strides = {
            parameter.name: parameter.name.removesuffix("_strides")
            for parameter in self._parameters
            if parameter.name.endswith("_strides") and parameter.name.removesuffix("_strides") in names
        }
        """Parameters that get the strides of another one, by name."""
        self.taken = [parameter for parameter in self._parameters if parameter.name not in self._strides]
        """The parameters that a launch gives arguments for."""
        if self.local is None:
            self.local = next((prototype.group_size for prototype in declared if prototype.group_size), None)

    def __repr__(self) -> str:
        return f"<RawKernel {self.name}({', '.join(parameter.name for parameter in self.taken)})>"

    def __getitem__(self, key: Any) -> RawLaunch:
        """Over work-items: sizes, dimension 0 first, and at the end a tuple for the size of a group, or None."""
        if isinstance(key, tuple) and len(key) > 1 and key[-1] is None:
            key = key[:-1]
        return RawLaunch(self, index_space(self.name, key, self.local))

    @property
    def groups(self) -> Groups:
        """The same, counted in groups."""
        return Groups(self)

    def __call__(self, grid: Any = None, block: Any = None, args: Sequence[Any] = (), *more: Any, **named: Any) -> None:
        """Launches it as CuPy does: over groups of `block` work-items. Raises `ShapeError`, also for PyOpenCL's way to
        call a kernel, and what a launch raises."""
        is_cupys = isinstance(grid, tuple) and isinstance(block, tuple) and isinstance(args, tuple | list)
        if not is_cupys or more or named:
            raise not_launched(self.name, grid, block, args)
        size = max(len(grid), len(block))
        grid, block = (*grid, *[1] * (size - len(grid))), (*block, *[1] * (size - len(block)))
        self.groups[(*grid, block)](*args)

    # ------------------------------------------------------------------ arguments

    def build_with(self, others: Sequence[Prototype]) -> None:
        """Is one program with other kernels of its source."""
        self._others, self._kernels = others, {}

    def kernel(self, local: tuple[int, ...]) -> SourceKernel:
        """The kernel IR, with sizes of local memory."""
        kernel = self._kernels.get(local)
        if kernel is None:
            others = self._others
            kernel = kernel_of(
                self.source, self._prototypes, others, local, self._declared, self.options, self._asked_at
            )
            self._kernels[local] = kernel
        return kernel

    def bound(self, args: Sequence[Any], named: Mapping[str, Any], space: IndexSpace) -> tuple[list[Array], Any]:
        """The arrays among the arguments, and what says how to launch over their memory."""
        arguments = self._in_order(args, named)
        arrays: list[Array] = []
        numbers: dict[str, list[Any]] = {}
        local: list[int] = []
        for parameter in self.taken:
            argument = arguments[parameter.name]
            if parameter.is_pointer:
                arrays.append(self._array(parameter, argument))
            elif parameter.is_local:
                local.append(self._elements(parameter, argument))
            else:
                numbers[parameter.name] = self._numbers(parameter, argument)
        compute_together(arrays)
        pointers = [parameter for parameter in self.taken if parameter.is_pointer]
        arrays = [
            x if parameter.name in self._strides.values() else in_order(x, is_written=self._writes(parameter))
            for parameter, x in zip(pointers, arrays, strict=True)
        ]
        kernel = self.kernel(tuple(local))
        limit = executor_behind(arrays).device.capabilities.max_work_group_size
        group_size = space.group_size or fitting_group(space.global_size, min(_MOST_GROUP, limit))

        def call(buffers: Sequence[Buffer]) -> Call:
            views = {parameter.name: buffer for parameter, buffer in zip(pointers, buffers, strict=True)}
            args: list[Any] = []
            for parameter in self._parameters:
                if parameter.is_pointer:
                    args.append(self._view(parameter, views[parameter.name]))
                elif parameter.is_local:
                    continue
                elif parameter.name in self._strides:
                    args += self._strides_of(parameter, views[self._strides[parameter.name]])
                else:
                    args += numbers[parameter.name]
            opened = [scalar.param_index for scalar in self._scalars]
            return Call(kernel, args, space.global_size, group_size, opened)

        return arrays, call

    def repeatable(
        self, args: Sequence[Any], named: Mapping[str, Any], space: IndexSpace
    ) -> tuple[Hashable, Sequence[Any]] | None:
        """What tells a call from others, and its arguments by position, if it may come again: it has no vectors of
        numbers, and nobody traces it. The source depends on sizes of local memory."""
        positional = by_position(self._names, args, named)
        if positional is None or self._takes_vectors or tracer.get() is not None:
            return None
        key = key_of(space, True, positional, self._sizes)
        return None if key is None else (key, positional)

    @cached_property
    def _names(self) -> Sequence[str]:
        return [parameter.name for parameter in self.taken]

    @cached_property
    def _sizes(self) -> Container[int]:
        """The indices of arguments that are sizes of local memory."""
        return frozenset(index for index, parameter in enumerate(self.taken) if parameter.is_local)

    @cached_property
    def _takes_vectors(self) -> bool:
        return any(parameter.lanes > 1 and not parameter.is_pointer for parameter in self.taken)

    @cached_property
    def _scalars(self) -> Sequence[_Scalar]:
        """The parameters that are single numbers of each call."""
        scalars, index = list[_Scalar](), 0
        for parameter in self._parameters:
            is_number = not parameter.is_pointer and not parameter.is_local
            if is_number and parameter.lanes == 1 and parameter.name not in self._strides:
                scalars.append(_Scalar(index, parameter, self.taken.index(parameter)))
            index += parameter.lanes if is_number else parameter.is_pointer
        return scalars

    def numbers(self, args: Sequence[Any]) -> dict[str, Any]:
        """The numbers of a call that comes again, by the names that a bound launch has for them."""
        numbers: dict[str, Any] = {}
        for param_index, parameter, arg_index in self._scalars:
            dtype = dtype_of(self.name, parameter, self._declared)
            value = converted(self.name, parameter.name, dtype, args[arg_index])
            name, number = open_number(param_index, dtype, value)
            numbers[name] = number
        return numbers

    def _in_order(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        names = self._names
        arguments = dict(zip(names, args, strict=False))
        wrong = sorted({*names} ^ {*arguments, *named})
        if len(args) > len(names) or wrong or not arguments.keys().isdisjoint(named):
            raise DTypeError(
                f"kernel {self.name} got {len(args)} arguments in order and {', '.join(named) or 'none'} by name",
                place=calling_line(),
                remedy=f"it takes {', '.join(map(str, self.taken))}",
            )
        return arguments | dict(named)

    def _writes(self, parameter: Parameter) -> bool:
        """Whether the kernel may write what a parameter points to."""
        return bool(mode_of(parameter, self._declared) & WRITE)

    def _elements(self, parameter: Parameter, argument: Any) -> int:
        """How many elements of local memory a parameter gets: a number, or PyOpenCL's `LocalMemory`, in bytes."""
        if is_pyopencl(argument):
            count = int(argument.size) // (dtype_of(self.name, parameter, self._declared).size * parameter.lanes)
        else:
            is_number = isinstance(argument, int | np.integer | Backed) and not isinstance(argument, bool)
            count = int(argument) if is_number else 0
        if count < 1:
            raise DTypeError(
                f"kernel {self.name} got {reprlib.repr(argument)} for {parameter.name}, which is local memory",
                place=calling_line(),
                remedy="give the number of elements that a work-group shares",
            )
        return count

    def _array(self, parameter: Parameter, argument: Any) -> Array:
        if holds_structs(parameter, self._declared):
            return memory_of(self.name, parameter.name, parameter.struct, argument)
        if not isinstance(argument, Array):
            raise DTypeError(
                f"kernel {self.name} got {reprlib.repr(argument)} for {parameter.name}, which takes an array",
                place=calling_line(),
                remedy=array_remedy(argument),
            )
        dtype = dtype_of(self.name, parameter, self._declared)
        if argument._dtype is not dtype and _IN_C.get(argument._dtype) is not dtype:
            raise DTypeError(
                f"kernel {self.name} got an array of {argument.dtype} for {parameter.name}, which points to "
                f"{parameter.type}",
                place=calling_line(),
                remedy=f"convert it: ocl.astype(x, {dtype.public.name!r}), or declare the kernel for {argument.dtype}",
            )
        return argument

    def _numbers(self, parameter: Parameter, argument: Any) -> list[Any]:
        dtype = dtype_of(self.name, parameter, self._declared)
        if parameter.lanes == 1:
            return [converted(self.name, parameter.name, dtype, argument)]
        if not hasattr(argument, "__len__") or isinstance(argument, Array) or len(argument) != parameter.lanes:
            raise DTypeError(
                f"kernel {self.name} got {reprlib.repr(argument)} for {parameter.name}, which is a {parameter.type}",
                place=calling_line(),
                remedy=f"give {parameter.lanes} numbers",
            )
        return [converted(self.name, parameter.name, dtype, number) for number in argument]

    def _view(self, parameter: Parameter, buffer: Buffer) -> Buffer:
        """Memory as the kernel can take it: in order, unless it asks for strides."""
        if parameter.name not in self._strides.values() and not buffer.layout.is_dense:
            raise ShapeError(
                f"kernel {self.name} got a view with strides {tuple(map(int, buffer.layout.strides))} for "
                f"{parameter.name}, and does not ask for them",
                place=calling_line(),
                remedy=f"pass {parameter.name}.copy(), or add a parameter long{max(2, buffer.layout.ndim)} "
                f"{parameter.name}_strides to the kernel, which gets them in elements",
            )
        return buffer

    def _strides_of(self, parameter: Parameter, buffer: Buffer) -> list[int]:
        strides = buffer.layout.strides
        if len(strides) > parameter.lanes:
            raise ShapeError(
                f"kernel {self.name} takes {parameter.lanes} strides of {self._strides[parameter.name]}, an array of "
                f"{len(strides)} axes",
                place=calling_line(),
                remedy="use a wider vector for the strides, or reshape the array",
            )
        return [*strides, *[0] * (parameter.lanes - len(strides))]


class RawLaunch:
    """A kernel and what it is launched over: to be called with the arguments."""

    def __init__(self, kernel: RawKernel, space: IndexSpace) -> None:
        self._kernel = kernel
        self._space = space

    def __call__(self, *args: Any, **named: Any) -> None:
        """Launches the kernel, without waiting for it. Raises `DTypeError`, `NumberRangeError` or `ShapeError` for
        arguments that do not fit, `BuildError` where the source does not build, and what `launch_over` raises."""
        kernel, where = self._kernel, calling_line()
        repeatable = kernel.repeatable(args, named, self._space)
        if repeatable is not None and kernel.repeats.start(*repeatable, where):
            return
        arrays, call = kernel.bound(args, named, self._space)
        launch_over(arrays, call, where)
        if repeatable is not None and kernel.repeats.is_due(*repeatable):
            launch = bind_over(arrays, call, executor_behind(arrays), where, leaves_open=True)
            kernel.repeats.bind(repeatable[0], launch, kernel.numbers)

    def prepare(self, *args: Any, **named: Any) -> PreparedLaunch:
        """The launch, bound to these arguments, to be made by calling it: for launches that come again and again."""
        arrays, call = self._kernel.bound(args, named, self._space)
        return prepare_over(arrays, call)


class Groups:
    """A kernel to be launched over a number of groups: `k.groups[8, (256,)](…)`."""

    def __init__(self, kernel: RawKernel) -> None:
        self._kernel = kernel

    def __getitem__(self, key: Any) -> RawLaunch:
        """Over groups: how many along each dimension, and a tuple for their size."""
        return RawLaunch(self._kernel, groups_space(self._kernel.name, key, self._kernel.local))


class RawModule:
    """A source in OpenCL C with several kernels.

    module = RawModule(source)
    module.kernel("saxpy")[n](2.0, x, y)
    """

    def __init__(self, source: str, *, options: Sequence[str] = (), values: Mapping[str, Any] | None = None) -> None:
        self.source = source if values is None else render_source(source, values)
        """What was written, rendered if it is a template."""
        self.options = tuple(options)
        self._prototypes = readable_prototypes(self.source, self.options)

    def kernel(self, name: str, arguments: str = "", *, local: tuple[int, ...] | int | None = None) -> RawKernel:
        """A kernel by its name. Raises as `RawKernel` does."""
        kernel = RawKernel(self.source, name, arguments, options=self.options, local=local)
        kernel.build_with([prototype for prototype in self._prototypes if prototype.name != name])
        return kernel

    def get_function(self, name: str) -> RawKernel:
        """The same, as CuPy calls it."""
        return self.kernel(name)
