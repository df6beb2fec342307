"""Reductions made of expressions, with the arguments of CuPy or those of PyOpenCL.

    norm = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    y = norm(x, axis=1)

    dot = ReductionKernel(np.float32, "0", "a + b", "x[i] * y[i]", "const float *x, const float *y")
    z = dot(x, y)

Each group of work-items folds a segment: items take places in turn, and their totals are folded in halves. Where there
are long segments and few results, parts of each are folded first, and then the parts: the order depends on sizes only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ocl_ir.graph.build import Buffer
from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.kernel.source_kernel import SourceKernel
from ocl_ir.layout import Layout, broadcast_shapes
from ocl_ir.source_line import calling_line
from ocl_ir.types import DType, from_numpy
from ocl_runtime.arrays import Array, broadcast_to, permute_dims
from ocl_runtime.arrays.axes import axes_of
from ocl_runtime.arrays.core import compute_together, executor_of
from ocl_runtime.arrays.functions.transfers import allocated
from ocl_runtime.codegen.spelling import value_type
from ocl_runtime.codegen.templates import render
from ocl_runtime.errors import DTypeError, ShapeError
from ocl_runtime.programs.launching import Call, launch_over
from ocl_runtime.programs.raw.indexed import declared_arguments, without_context
from ocl_runtime.programs.raw.operands import Arrangement, Element, Operands, index_type, typedefs, without_methods
from ocl_runtime.programs.raw.order import compact
from ocl_runtime.programs.raw.parameters import Parameter, arguments_of, bound_types, checked_name, parameters
from ocl_runtime.programs.raw.signature import Signature

_GROUP = 64
_MOST_GROUPS = 2**14
"""Groups of a launch, each of which goes on to further parts where there are more."""
_WORTH_PARTS = 4096
"""Places of a segment that are worth a group of their own."""
_MOST_PARTS = 256


class ReductionKernel:
    """A reduction from expressions in OpenCL C.

    As CuPy has it: `in_params`, `out_params`, an expression of the ins for each place, one that joins `a` and `b`, a
    statement that makes the outs of the total `a`, the neutral element, a name. The call takes the ins, `axis`,
    `keepdims` and `out`, and gives a new array.

        ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")(x, axis=1)

    As PyOpenCL has it: the dtype of the result, the neutral element, the expression that joins `a` and `b`, the
    expression for each place `i`, and the arguments in C. A context may stand in front. The call takes the arguments
    and gives an array of shape ().

        ReductionKernel(np.float32, "0", "a + b", "x[i] * y[i]", "const float *x, const float *y")(x, y)

    Where there is nothing to reduce, the result is made of the neutral element. Totals are folded in an order that
    depends on sizes only. Raises `Error` for declarations that cannot be read; a call raises `DTypeError`, `ShapeError`
    or `NumberRangeError` for arguments that do not fit, and `BuildError`.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        arguments = without_context(arguments)
        is_indexed = "dtype_out" in named or (bool(arguments) and not isinstance(arguments[0], str))
        self._reduction = _indexed(*arguments, **named) if is_indexed else _broadcasting(*arguments, **named)

    def __repr__(self) -> str:
        return f"<ReductionKernel {self._reduction.name}>"

    def __call__(
        self, *args: Any, axis: Any = None, keepdims: bool = False, out: Array | None = None, **named: Any
    ) -> Any:
        """The reduction of arrays, along some axes or all."""
        return self._reduction(args, named, axis, keepdims, out)


def _broadcasting(
    in_params: str,
    out_params: str,
    map_expr: str,
    reduce_expr: str,
    post_map_expr: str,
    identity: Any,
    name: str = "reduce_kernel",
    *,
    reduce_type: str | None = None,
    preamble: str = "",
    options: Sequence[str] = (),
) -> _Reduction:
    ins, outs = parameters(name, in_params), parameters(name, out_params)
    total = outs[0].type if reduce_type is None else reduce_type
    text = _Text(map_expr, reduce_expr, post_map_expr.strip().removesuffix(";"), str(identity), preamble)
    return _Reduction(name, ins, outs, total, text, options)


def _indexed(
    dtype_out: Any,
    neutral: Any,
    reduce_expr: str,
    map_expr: str | None = None,
    arguments: str = "",
    name: str = "reduce_kernel",
    options: Sequence[str] = (),
    preamble: str = "",
) -> _Reduction:
    dtype = from_numpy(dtype_out)
    ins = declared_arguments(name, arguments, preamble)
    pointers = [param for param in ins if param.is_raw]
    if not pointers:
        raise DTypeError(
            f"kernel {name} is declared without an array to reduce: {arguments!r}",
            place=calling_line(),
            remedy='declare one: arguments="const float *x"',
        )
    out = Parameter(dtype.name, "_result", False, dtype)
    text = _Text(map_expr or f"{pointers[0].name}[i]", reduce_expr, "_result = a", str(neutral), preamble)
    return _Reduction(name, ins, [out], dtype.name, text, options)


class _Text(NamedTuple):
    """What a user wrote of a reduction."""

    map_expr: str
    reduce_expr: str
    post_map_expr: str
    neutral: str
    preamble: str


class _Segments(NamedTuple):
    """How many results there are, of how many places each, in how many parts these are folded, and the shape of all
    places: those of a result follow each other."""

    outs: int
    length: int
    parts: int
    shape: tuple[int, ...]


class _Reduction:
    def __init__(
        self,
        name: str,
        ins: Sequence[Parameter],
        outs: Sequence[Parameter],
        total: str,
        text: _Text,
        options: Sequence[str],
    ) -> None:
        self.name = checked_name(name)
        self._ins, self._outs, self._total, self._text, self._options = ins, outs, total, text, options
        self._variants: dict[Any, SourceKernel] = {}

    def __call__(self, args: Sequence[Any], named: dict[str, Any], axis: Any, keepdims: bool, out: Array | None) -> Any:
        arguments = arguments_of(self.name, self._ins, args, named, len(self._ins))
        executor = executor_of(self.name, [*arguments, out])
        values = [*arguments, *([] if out is None else [out])]
        types = bound_types(self.name, [*self._ins, *self._outs], values, executor.default_real)
        total = types.get(self._total) or from_numpy(np.dtype(self._total))
        compute_together([argument for argument in arguments if isinstance(argument, Array)])
        placed, shape, kept = self._over_places(arguments, axis)
        length = math.prod(shape[len(kept) :])
        out_shape = self._out_shape(arguments, axis, kept, keepdims)
        if out is not None and (out.shape != out_shape or len(self._outs) > 1):
            raise ShapeError(
                f"kernel {self.name} got an out of shape {out.shape} for results of shape {out_shape}",
                place=calling_line(),
                remedy="give one out of that shape, or none",
            )
        results = [allocated(types[param.type], Layout.contiguous(out_shape), executor) for param in self._outs]
        outs = math.prod(kept)
        parts = 1 if outs >= _GROUP or length <= _WORTH_PARTS else min(-(-length // _WORTH_PARTS), _MOST_PARTS)
        segments = _Segments(outs, length, parts, shape)
        operands = Operands(self.name, self._ins, placed, types, [self._text.map_expr], {})
        if parts == 1:
            launch_over([*operands.arrays, *results], self._first(segments, operands, types, total, is_last=True))
        else:
            partial = allocated(total, Layout.contiguous((outs * parts,)), executor)
            launch_over([*operands.arrays, partial], self._first(segments, operands, types, total, is_last=False))
            launch_over([partial, *results], self._second(segments, types, total))
        if out is not None:
            out[...] = results[0]
            return out
        return tuple(results) if len(results) > 1 else results[0]

    def _over_places(self, arguments: Sequence[Any], axis: Any) -> tuple[list[Any], tuple[int, ...], tuple[int, ...]]:
        """The arguments with the axes that are reduced behind the others, the shape of all that is not raw then, and
        that of the axes that are kept."""
        whole = self._shape(arguments)
        if whole is None:  # all is indexed by the expression itself
            sizes = [x.size for x in arguments if isinstance(x, Array)]
            placed = [compact(x) if isinstance(x, Array) else x for x in arguments]
            return placed, (sizes[0] if sizes else 1,), ()
        reduced = sorted(axes_of(self.name, axis, len(whole)))
        order = [number for number in range(len(whole)) if number not in reduced] + reduced
        placed = [
            x
            if not isinstance(x, Array)
            else compact(x)
            if param.is_raw
            else permute_dims(broadcast_to(x, whole), order)
            for param, x in zip(self._ins, arguments, strict=True)
        ]
        shape = tuple(whole[number] for number in order)
        return placed, shape, shape[: len(shape) - len(reduced)]

    def _out_shape(self, arguments: Sequence[Any], axis: Any, kept: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
        whole = self._shape(arguments)
        if not keepdims or whole is None:
            return kept
        reduced = axes_of(self.name, axis, len(whole))
        return tuple(1 if number in reduced else length for number, length in enumerate(whole))

    def _shape(self, arguments: Sequence[Any]) -> tuple[int, ...] | None:
        """That of all arrays that are not raw; None where there are none."""
        pairs = zip(self._ins, arguments, strict=True)
        shapes = [x.shape for param, x in pairs if isinstance(x, Array) and not param.is_raw]
        return broadcast_shapes(*shapes) if shapes else None

    # ------------------------------------------------------------------ launches

    def _first(
        self, segments: _Segments, operands: Operands, types: dict[str, DType], total: DType, *, is_last: bool
    ) -> Callable[[Sequence[Buffer]], Call]:
        """Folds segments, or parts of them."""
        count = len(operands.arrays)
        parts = segments.outs * (1 if is_last else segments.parts)

        def call(buffers: Sequence[Buffer]) -> Call:
            arrangement = operands.arranged(buffers[:count], segments.shape, segments.outs * segments.length)
            key = operands.key, arrangement.key, total, is_last
            kernel = self._variants.get(key)
            if kernel is None:
                signature = _counts(arrangement.index)
                read = [element for _, element in operands.declare(signature, arrangement)]
                map_expr = without_methods(self._text.map_expr)
                kernel = self._variants[key] = self._rendered(
                    signature, types, total, arrangement, read, map_expr, is_last=is_last
                )
            counts = parts, segments.length, 1 if is_last else segments.parts
            args = [*counts, *operands.args(buffers[:count], arrangement), *buffers[count:]]
            return Call(kernel, args, (min(parts, _MOST_GROUPS) * _GROUP,), (_GROUP,))

        return call

    def _second(self, segments: _Segments, types: dict[str, DType], total: DType) -> Callable[[Sequence[Buffer]], Call]:
        """Folds the parts of each segment."""

        def call(buffers: Sequence[Buffer]) -> Call:
            index = index_type(segments.outs * segments.parts, ())
            key = *sorted((name, dtype.name) for name, dtype in types.items()), total, index
            kernel = self._variants.get(key)
            if kernel is None:
                signature = _counts(index)
                signature.pointer("_partial", total, READ)
                element = Element("_total_of_part", value_type(total), "_partial", "i")
                flat = Arrangement((), (), (), index)
                kernel = self._variants[key] = self._rendered(
                    signature, types, total, flat, [element], element.name, is_last=True
                )
            args: list[Any] = [segments.outs, segments.parts, 1, *buffers]
            return Call(kernel, args, (min(segments.outs, _MOST_GROUPS) * _GROUP,), (_GROUP,))

        return call

    # ------------------------------------------------------------------ sources

    def _rendered(
        self,
        signature: Signature,
        types: dict[str, DType],
        total: DType,
        arrangement: Arrangement,
        read: Sequence[Element],
        map_expr: str,
        *,
        is_last: bool,
    ) -> SourceKernel:
        written: list[Element] = []
        if is_last:
            for param in self._outs:
                signature.pointer(f"_{param.name}_data", types[param.type], WRITE)
                written.append(Element(param.name, value_type(types[param.type]), f"_{param.name}_data", "_out"))
        else:
            signature.pointer("_partial", total, WRITE)
            written.append(Element("_total_of_part", value_type(total), "_partial", "_part"))
        text = self._text
        source = render(
            "raw_reduction.cl.mako",
            name=self.name,
            note=f"{text.map_expr} by {text.reduce_expr}",
            extensions=signature.extensions,
            typedefs=typedefs([*self._ins, *self._outs], types),
            preamble=text.preamble,
            total=value_type(total),
            reduce_expr=text.reduce_expr,
            group=_GROUP,
            params=signature.declarations,
            pointers=signature.pointers,
            index=value_type(arrangement.index),
            neutral=text.neutral,
            coordinates=arrangement.coordinates,
            read=read,
            map_expr=map_expr,
            written=written,
            post_map_expr=text.post_map_expr if is_last else "_total_of_part = a",
        )
        return signature.kernel(self.name, source, self._options, (_GROUP, 1, 1))


def _counts(index: DType) -> Signature:
    """How many parts there are, how long a segment is, and how many parts it has."""
    signature = Signature()
    for name in ("_parts", "_length", "_segments"):
        signature.number(name, index)
    return signature
