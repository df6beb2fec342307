"""How a reduction runs: which kernels fold what, and their sources.

Each group of work-items folds a segment: items take indices in turn, and their totals are folded in halves. Where there
are long segments and few results, parts of each are folded first, and then the parts: the order depends on sizes only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ocl_ir.graph.build import Buffer
from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.kernel.source_kernel import SourceKernel
from ocl_ir.layout import broadcast_shapes
from ocl_ir.source_line import calling_line
from ocl_ir.types import U8, DType, from_numpy
from ocl_runtime.arrays import Array, broadcast_to, permute_dims
from ocl_runtime.arrays.axes import axes_of
from ocl_runtime.arrays.core import compute_together, executor_of
from ocl_runtime.codegen.spelling import value_type
from ocl_runtime.codegen.templates import render
from ocl_runtime.errors import DTypeError, ShapeError
from ocl_runtime.programs.launching import Call, launch_over
from ocl_runtime.programs.raw.declared_structs import with_structs
from ocl_runtime.programs.raw.operands import Arrangement, Element, Operands, index_type, typedefs, without_methods
from ocl_runtime.programs.raw.order import compact
from ocl_runtime.programs.raw.parameters import Parameter, arguments_of, bound_types, checked_name
from ocl_runtime.programs.raw.signature import Signature
from ocl_runtime.programs.struct_array import StructArray, memory_of, new_memory, result_in
from ocl_runtime.programs.structs import Struct

if TYPE_CHECKING:
    pass

_GROUP = 64
_MOST_GROUPS = 2**14
"""Groups of a launch, each of which goes on to further parts where there are more."""
_WORTH_PARTS = 4096
"""Places of a segment that are worth a group of their own."""
_MOST_PARTS = 256


class Text(NamedTuple):
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


class Reduction:
    """A reduction to be called: parameters, the name of the type of totals, and the text."""

    def __init__(
        self,
        name: str,
        ins: Sequence[Parameter],
        outs: Sequence[Parameter],
        total: str,
        text: Text,
        structs: Mapping[str, Struct],
        options: Sequence[str],
    ) -> None:
        self.name = checked_name(name)
        self._ins, self._outs, self._total, self._text, self._options = ins, outs, total, text, options
        self._structs = structs
        """By their names, for which parameters and `total` may stand."""
        self._variants: dict[Any, SourceKernel] = {}

    def __call__(
        self, args: Sequence[Any], named: dict[str, Any], axis: Any, keepdims: bool, out: Array | StructArray | None
    ) -> Any:
        """The results for arguments in order and by name, along some axes or all."""
        arguments = arguments_of(self.name, self._ins, args, named, len(self._ins))
        target = self._target(out)
        executor = executor_of(self.name, [*arguments, target])
        values = [*arguments, *([] if target is None else [target])]
        types = bound_types(self.name, [*self._ins, *self._outs], values, executor.default_real)
        total = self._structs.get(self._total) or types.get(self._total) or from_numpy(np.dtype(self._total))
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
        results = [new_memory(param.struct or types[param.type], out_shape, executor) for param in self._outs]
        outs = math.prod(kept)
        parts = 1 if outs >= _GROUP or length <= _WORTH_PARTS else min(-(-length // _WORTH_PARTS), _MOST_PARTS)
        segments = _Segments(outs, length, parts, shape)
        operands = Operands(self.name, self._ins, placed, types, [self._text.map_expr], {})
        if parts == 1:
            launch_over([*operands.arrays, *results], self._first(segments, operands, types, total, is_last=True))
        else:
            partial = new_memory(total, (outs * parts,), executor)
            launch_over([*operands.arrays, partial], self._first(segments, operands, types, total, is_last=False))
            launch_over([partial, *results], self._second(segments, types, total))
        if target is not None:
            target[...] = results[0]
            return out
        pairs = zip(self._outs, results, strict=True)
        made = [result_in(x, param.struct) for param, x in pairs]
        return tuple(made) if len(made) > 1 else made[0]

    def _target(self, out: Array | StructArray | None) -> Array | None:
        """The array that results are written into: of structs that of their bytes."""
        struct = self._outs[0].struct
        if struct is not None:
            return None if out is None else memory_of(self.name, self._outs[0].name, struct, out)
        if isinstance(out, StructArray):
            raise DTypeError(
                f"kernel {self.name} got an out of structs for results that are numbers",
                place=calling_line(),
                remedy="give an array of numbers, or none",
            )
        return out

    def _over_places(self, arguments: Sequence[Any], axis: Any) -> tuple[list[Any], tuple[int, ...], tuple[int, ...]]:
        """The arguments with the axes that are reduced behind the others, the shape of all that is not raw then, and
        that of the axes that are kept."""
        whole = self._shape(arguments)
        if whole is None:  # all is indexed by the expression itself
            sizes = [
                x.size // (1 if param.struct is None else param.struct.size)
                for param, x in zip(self._ins, arguments, strict=True)
                if isinstance(x, Array)
            ]
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
        self, segments: _Segments, operands: Operands, types: dict[str, DType], total: DType | Struct, *, is_last: bool
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

    def _second(
        self, segments: _Segments, types: dict[str, DType], total: DType | Struct
    ) -> Callable[[Sequence[Buffer]], Call]:
        """Folds the parts of each segment."""

        def call(buffers: Sequence[Buffer]) -> Call:
            index = index_type(segments.outs * segments.parts, ())
            key = *sorted((name, dtype.name) for name, dtype in types.items()), total, index
            kernel = self._variants.get(key)
            if kernel is None:
                signature = _counts(index)
                _point(signature, "_partial", total, READ)
                element = Element("_total_of_part", _type(total), "_partial", "i")
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
        total: DType | Struct,
        arrangement: Arrangement,
        read: Sequence[Element],
        map_expr: str,
        *,
        is_last: bool,
    ) -> SourceKernel:
        written: list[Element] = []
        if is_last:
            for param in self._outs:
                type_ = param.struct or types[param.type]
                _point(signature, f"_{param.name}_data", type_, WRITE)
                written.append(Element(param.name, _type(type_), f"_{param.name}_data", "_out"))
        else:
            _point(signature, "_partial", total, WRITE)
            written.append(Element("_total_of_part", _type(total), "_partial", "_part"))
        for struct in self._structs.values():
            signature.uses(struct)
        text = self._text
        source = render(
            "raw_reduction.cl.mako",
            name=self.name,
            note=f"{text.map_expr} by {text.reduce_expr}",
            extensions=signature.extensions,
            typedefs=typedefs([*self._ins, *self._outs], types),
            preamble=with_structs([*self._structs.values()], text.preamble),
            total=_type(total),
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


def _point(signature: Signature, name: str, type_: DType | Struct, mode: int) -> None:
    if isinstance(type_, Struct):
        signature.pointer(name, U8, mode, type_)
    else:
        signature.pointer(name, type_, mode)


def _type(type_: DType | Struct) -> str:
    return type_.name if isinstance(type_, Struct) else value_type(type_)


def _counts(index: DType) -> Signature:
    """How many parts there are, how long a segment is, and how many parts it has."""
    signature = Signature()
    for name in ("_parts", "_length", "_segments"):
        signature.number(name, index)
    return signature
