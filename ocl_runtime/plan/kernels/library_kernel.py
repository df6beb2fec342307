"""Kernels of library algorithms: functions in the kernel language over arrays in memory, and their launches.

An argument is an array with as many axes as its layout: `a[i, j]` goes by its strides, which are parameters of the
kernel unless they are 0 or 1, as its shape is. So one kernel serves parts of all matrices, transposed ones too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from ocl_ir.graph.build import Buffer, Storage, buffer
from ocl_ir.indices import Shape
from ocl_ir.kernel.grammar import Kernel
from ocl_ir.kernel.operands import Ref
from ocl_ir.language.library import Algorithm
from ocl_ir.language.values.values import ArrayView, Memory, Number
from ocl_ir.layout import Layout
from ocl_ir.types import I32, I64, DType, Pointer
from ocl_runtime.plan.fusion.values import Leaf, Value
from ocl_runtime.plan.kernels.elementwise import elementwise_launch
from ocl_runtime.plan.kernels.form import Output, Parameters
from ocl_runtime.plan.kernels.lowering import Lowering
from ocl_runtime.plan.kernels.products.contraction import Contraction
from ocl_runtime.plan.kernels.products.launches import contract_launches, is_read_in_place
from ocl_runtime.plan.launch import Address, Launch

_MOST_NARROW = 2**31 - 2**20
"""Indices below are computed in 32 bits."""


@dataclass(frozen=True, slots=True)
class ArrayForm:
    """An argument: `strides` that are None are parameters."""

    name: str
    dtype: DType
    strides: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class LibraryKernelForm:
    """The key of such a kernel: the function in its module, its arrays, sizes and numbers, what of its arguments is
    known, and the work-items of a group. `restrict`: all arrays are in different memory. `exchanges`: work-items read
    what others write there."""

    module: str
    function: str
    arrays: tuple[ArrayForm, ...]
    sizes: tuple[str, ...]
    numbers: tuple[tuple[str, DType], ...]
    constants: tuple[tuple[str, Hashable], ...]
    items: int
    index: DType
    restrict: bool
    exchanges: bool


def build(form: LibraryKernelForm) -> Kernel:
    """The kernel of a form."""
    function = getattr(import_module(form.module), form.function)
    known = ", ".join(f"{name} {value}" for name, value in form.constants)
    algorithm = Algorithm(
        form.function,
        function,
        index=form.index,
        group_size=(form.items, 1, 1),
        exchanges=form.exchanges,
        note=f"{function.__doc__.strip().splitlines()[0]}    {known}".rstrip(),
    )
    k = algorithm.k

    def size(name: str) -> Number:
        return Number(k.scalar(name, form.index, low=0), form.index, "index", 0)

    arguments: dict[str, Any] = {}
    for array in form.arrays:
        pointer = k.pointer(array.name, array.dtype, align=array.dtype.size, restrict=form.restrict)
        axes = range(len(array.strides))
        shape = tuple(size(f"{array.name}_shape{axis}") for axis in axes)
        strides = tuple(
            size(f"{array.name}_stride{axis}") if stride is None else stride
            for axis, stride in zip(axes, array.strides, strict=True)
        )
        arguments[array.name] = ArrayView(Memory(array.name, pointer, array.dtype), shape, strides)
    arguments |= {name: size(name) for name in form.sizes}
    numbers: dict[str, Ref] = {name: k.scalar(name, dtype) for name, dtype in form.numbers}
    algorithm.write(**arguments, **numbers, **dict(form.constants))
    return algorithm.build()


class Launches:
    """The launches of an algorithm, in the making."""

    def __init__(self, allocate: Callable[[int], Storage], lowering: Lowering) -> None:
        self.made: list[Launch] = []
        self.target = lowering.target
        self._allocate = allocate
        self._lowering = lowering

    def scratch(self, dtype: DType, shape: Shape) -> Buffer:
        """Memory for an array between the launches, in row-major order."""
        return buffer(self._allocate(math.prod(shape) * dtype.size), dtype, Layout.contiguous(shape))

    def kernel(
        self,
        function: Callable[..., None],
        groups: int,
        items: int,
        arrays: Mapping[str, Buffer],
        *,
        sizes: Mapping[str, int] | None = None,
        numbers: Mapping[str, tuple[DType, float]] | None = None,
        exchanges: bool = True,
        **constants: Hashable,
    ) -> None:
        """Launches so many groups of work-items of a function with these arguments. Without `exchanges`, none of them
        reads what another one writes to an array."""
        reach = [groups * items, *((sizes or {}).values())]
        for array in arrays.values():
            reach += [array.layout.span, *array.layout.shape]
        parameters = Parameters(I64 if max(reach) > _MOST_NARROW else I32, groups * items)
        forms = []
        for name, array in arrays.items():
            layout = array.layout
            address = Address(array.storage, Layout(layout.shape, layout.strides, layout.offset))
            parameters.pointer(name, Pointer(array.dtype, align=array.dtype.size), address)
            known = tuple(None if stride not in (0, 1) else int(stride) for stride in layout.strides)
            for axis, length in enumerate(layout.shape):
                parameters.size(f"{name}_shape{axis}", length)
            for axis, stride in enumerate(layout.strides):
                if known[axis] is None:
                    parameters.size(f"{name}_stride{axis}", stride)
            forms.append(ArrayForm(name, array.dtype, known))
        for name, length in (sizes or {}).items():
            parameters.size(name, length)
        for name, (dtype, value) in (numbers or {}).items():
            parameters.number(name, dtype, value)
        form = LibraryKernelForm(
            module=function.__module__,
            function=function.__name__,
            arrays=tuple(forms),
            sizes=tuple(sizes or ()),
            numbers=tuple((name, dtype) for name, (dtype, _) in (numbers or {}).items()),
            constants=tuple(constants.items()),
            items=items,
            index=parameters.index,
            exchanges=exchanges,
            restrict=len({id(array.storage) for array in arrays.values()}) == len(arrays),
        )
        kernel = self._lowering.kernels.get(form, build)
        where = self._lowering.where
        self.made.append(Launch(kernel, tuple(parameters.args), (groups * items, 1, 1), (items, 1, 1), where))

    # ------------------------------------------------------------------ elementwise

    def store(self, values: tuple[Value, ...], target: Buffer, *, apart: bool = True) -> None:
        """Writes the last of some values; what is read of the target (then they are not `apart`) is read at the same
        place."""
        output = Output(len(values) - 1, target.layout, target.storage, target.dtype)
        self.made.append(elementwise_launch(values, target.shape, [output], self._lowering, apart=apart))

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Writes the elements of one array into another one."""
        self.store((leaf(source),), target)

    def dense(self, source: Buffer) -> Buffer:
        """A copy in row-major order."""
        target = self.scratch(source.dtype, source.shape)
        self.copy(source, target)
        return target

    # ------------------------------------------------------------------ products

    def product(self, left: Buffer, right: Buffer) -> Buffer:
        """The products of matrices, in memory of their own."""
        target = self.scratch(left.dtype, (*left.shape[:-1], right.shape[-1]))
        contraction = Contraction(left=leaf(left), right=leaf(right), accumulator=left.dtype, dtype=left.dtype)
        if right.shape[-1] != 1 and not is_read_in_place(contraction, self.target):
            contraction = replace(contraction, right=leaf(self.dense(right)))
        self.made += contract_launches(contraction, target.storage, self._allocate, self._lowering)
        return target


def leaf(array: Buffer) -> Leaf:
    """An array as a value that is read."""
    return Leaf(array, array.layout, False)
