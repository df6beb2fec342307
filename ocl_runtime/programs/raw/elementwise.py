"""Kernels made of a statement for each element, with the arguments of CuPy or those of PyOpenCL.

    squared_difference = ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_difference")
    z = squared_difference(x, 2.0)

    axpy = ElementwiseKernel("float a, float *x, float *y", "y[i] += a * x[i]", "axpy")
    axpy(2.0, x, y)

The first kind broadcasts and reads through strides. A source is made for each combination of dtypes and ways of lying
in memory; sizes, strides and numbers are arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ocl_ir.graph.build import Buffer
from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.kernel.source_kernel import SourceKernel
from ocl_ir.layout import broadcast_shapes
from ocl_ir.source_line import calling_line
from ocl_ir.types import DType
from ocl_runtime.arrays import Array, broadcast_to
from ocl_runtime.arrays.core import compute_together, executor_of
from ocl_runtime.codegen.spelling import value_type
from ocl_runtime.codegen.templates import render
from ocl_runtime.errors import Error, ShapeError
from ocl_runtime.programs.launching import Call, launch_over
from ocl_runtime.programs.raw.declared_structs import with_structs
from ocl_runtime.programs.raw.indexed import IndexedKernel, without_context
from ocl_runtime.programs.raw.operands import Arrangement, Operands, typedefs, without_methods
from ocl_runtime.programs.raw.order import compact, in_order
from ocl_runtime.programs.raw.parameters import (
    Parameter,
    arguments_of,
    bound_types,
    check_indexed,
    checked_name,
    parameters,
    structs_by_name,
)
from ocl_runtime.programs.raw.signature import Signature
from ocl_runtime.programs.struct_array import new_memory, result_in

_GROUP = 64
_MOST_ITEMS = 2**22
"""Work-items, of which each goes on to further elements where there are more."""


class ElementwiseKernel:
    """A kernel from a statement in OpenCL C for each element.

    As CuPy has it: `in_params` and `out_params` with a type and a name each, an operation that assigns the outs, a
    name. Types are dtypes or names (`T`) that arguments bind. The call takes the ins, and the outs if they are not to
    be new, and gives the out or a tuple of several. What is `raw` is indexed by the operation itself: `i` is the index,
    `_ind.size()` how many there are, `y.size()` that of a raw array. `structs` are structured dtypes with a name in C
    (`ocl.tools.get_or_register_dtype`), which raw arrays may be of.

        ElementwiseKernel("T x, raw T y", "T z", "z = x + y[_ind.size() - i - 1]", "add_reverse")(x, y)

    As PyOpenCL has it: the arguments of a kernel in C, a statement over `i` and `n`, a name. The call takes all of
    them. A context may stand in front. Arguments may point to `structs`.

        ElementwiseKernel("float a, float *x, float *z", "z[i] = a * x[i]", "scale")(2.0, x, z)
        ElementwiseKernel("const pair *x, float *z", "z[i] = x[i].value", structs=[pair])(pairs, z)

    Raises `Error` for declarations that cannot be read; a call raises `DTypeError`, `ShapeError`, `NumberRangeError`
    for arguments that do not fit, and `BuildError`.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        arguments = without_context(arguments)
        first = named.get("arguments", arguments[0] if arguments else "")
        is_indexed = "arguments" in named or "*" in str(first)
        self._kernel: IndexedKernel | _Broadcasting = (
            IndexedKernel(*arguments, **named) if is_indexed else _Broadcasting(*arguments, **named)
        )

    def __repr__(self) -> str:
        return f"<ElementwiseKernel {self._kernel.name}>"

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Launches the kernel over arrays and numbers. Gives the outs of CuPy's kind, nothing of PyOpenCL's."""
        return self._kernel(*args, **named)


class _Broadcasting:
    """The kind of CuPy."""

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        *,
        preamble: str = "",
        structs: Sequence[Any] = (),
        loop_prep: str = "",
        after_loop: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        options: Sequence[str] = (),
    ) -> None:
        self.name = name = checked_name(name)
        self._structs = structs_by_name(structs)
        self._ins = parameters(name, in_params, self._structs)
        self._outs = parameters(name, out_params, self._structs)
        self._params = [*self._ins, *self._outs]
        check_indexed(name, self._params)
        names = [param.name for param in self._params]
        if not self._outs or len(set(names)) < len(names) or not {"i", "n"}.isdisjoint(names):
            raise Error(
                f"kernel {name} is declared with {', '.join(names)}",
                place=calling_line(),
                remedy="give each parameter a name of its own, other than i and n, and at least one out",
            )
        self._operation, self._preamble, self._options = operation, preamble, options
        self._before, self._after = loop_prep, after_loop
        self._no_return, self._return_tuple = no_return, return_tuple
        self._variants: dict[Any, SourceKernel] = {}

    def __call__(self, *args: Any, size: int | None = None, **named: Any) -> Any:
        arguments = arguments_of(self.name, self._params, args, named, len(self._ins))
        executor = executor_of(self.name, arguments)
        types = bound_types(self.name, self._params, arguments, executor.default_real)
        shape = self._shape(arguments, size)
        for param in self._outs[len(arguments) - len(self._ins) :]:
            if param.is_raw and size is None:
                raise self._without_size(param)
            arguments.append(new_memory(param.struct or types[param.type], shape, executor))
        compute_together([argument for argument in arguments if isinstance(argument, Array)])
        placed = [self._placed(param, argument, shape) for param, argument in zip(self._params, arguments, strict=True)]
        modes = {param.name: READ | WRITE for param in self._outs}
        operands = Operands(self.name, self._params, placed, types, [self._operation], modes)
        launch_over(operands.arrays, self._call(operands, types, shape))
        pairs = zip(self._outs, arguments[len(self._ins) :], strict=True)
        outs = tuple([result_in(memory, param.struct) for param, memory in pairs])
        if self._no_return:
            return None
        return outs if len(outs) > 1 or self._return_tuple else outs[0]

    def _placed(self, param: Parameter, argument: Any, shape: tuple[int, ...]) -> Any:
        """An argument over the places, or as a whole."""
        if not isinstance(argument, Array):
            return argument
        if param.is_raw:
            return compact(argument) if param in self._ins else in_order(argument, is_written=True)
        is_broadcast = param in self._ins and argument.shape != shape
        return broadcast_to(argument, shape) if is_broadcast else argument

    def _shape(self, arguments: Sequence[Any], size: int | None) -> tuple[int, ...]:
        """That of the places: of what is not raw, or the size that is given."""
        pairs = [*zip(self._params, arguments, strict=False)]
        ins = [arg.shape for param, arg in pairs[: len(self._ins)] if isinstance(arg, Array) and not param.is_raw]
        outs = [arg.shape for param, arg in pairs[len(self._ins) :] if not param.is_raw]
        if not ins and not outs:
            raw = next((param for param in self._params if param.is_raw), None)
            if size is None and raw is not None:
                raise self._without_size(raw)
            return () if size is None else (size,)
        shape = broadcast_shapes(*ins) if ins else outs[0]
        if any(out != shape for out in outs):
            raise ShapeError(
                f"kernel {self.name} got an out of shape {next(out for out in outs if out != shape)} for values of "
                f"shape {shape}",
                place=calling_line(),
                remedy="give an out of that shape, or none",
            )
        return shape

    def _without_size(self, param: Parameter) -> ShapeError:
        return ShapeError(
            f"kernel {self.name} has only raw arrays, and nobody says how many indices there are",
            place=calling_line(),
            remedy=f"call it with size=…, or declare {param.name} without raw",
        )

    def _call(
        self, operands: Operands, types: dict[str, DType], shape: tuple[int, ...]
    ) -> Callable[[Sequence[Buffer]], Call]:
        count = math.prod(shape)

        def call(buffers: Sequence[Buffer]) -> Call:
            arrangement = operands.arranged(buffers, shape, count)
            key = operands.key, arrangement.key
            kernel = self._variants.get(key)
            if kernel is None:
                kernel = self._variants[key] = self._variant(operands, arrangement, types)
            items = -(-min(count, _MOST_ITEMS) // _GROUP) * _GROUP
            return Call(kernel, [count, *operands.args(buffers, arrangement)], (items,), (_GROUP,))

        return call

    def _variant(self, operands: Operands, arrangement: Arrangement, types: dict[str, DType]) -> SourceKernel:
        """The kernel for dtypes and ways of lying in memory."""
        signature = Signature()
        for struct in self._structs.values():
            signature.uses(struct)
        signature.number("_ind_size", arrangement.index)
        elements = operands.declare(signature, arrangement)
        source = render(
            "raw_elementwise.cl.mako",
            name=self.name,
            note=", ".join(f"{param.type} {param.name}" for param in self._params),
            extensions=signature.extensions,
            typedefs=typedefs(self._params, types),
            preamble=with_structs([*self._structs.values()], self._preamble),
            params=signature.declarations,
            pointers=signature.pointers,
            before=self._before,
            index=value_type(arrangement.index),
            coordinates=arrangement.coordinates,
            read=[element for param, element in elements if param in self._ins],
            written=[element for param, element in elements if param in self._outs],
            operation=without_methods(self._operation).strip().removesuffix(";"),
            after=self._after,
        )
        return signature.kernel(self.name, source, self._options)
