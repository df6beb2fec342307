"""What the kernels of elementwise operations and reductions share: parameters, places and the expression itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.operands import Ref
from ocl_ir.program_ops import DefinedOp
from ocl_ir.types import BF16, BOOL, F16, F32, F64, U8, U32, U64, DType, Vector, element, lanes
from ocl_runtime.plan.fusion.values import Operation, below
from ocl_runtime.plan.kernels.form import Access, Fetch, Spec, Term

_EXACT_IN_HALF = frozenset({"neg", "abs", "sign", "minimum", "maximum", "select", "copysign", "floor", "ceil", "trunc"})
"""Operations whose result is a half if the operands are, so that no rounding is needed."""


@dataclass(frozen=True)
class Body:
    """A kernel in the making, its parameters by name, and how it counts and computes."""

    k: KernelBuilder
    params: Mapping[str, Ref]
    index: DType
    fp16: bool

    @classmethod
    def start(cls, k: KernelBuilder, specs: Sequence[Spec], index: DType, fp16: bool, *, restrict: bool = True) -> Body:
        """Declares the parameters. Where the result is fresh memory, no two pointers that matter overlap."""
        params: dict[str, Ref] = {}
        for spec in specs:
            if isinstance(spec.type, DType):
                params[spec.name] = k.scalar(spec.name, spec.type)
            else:
                length = params[spec.length] if spec.length else None
                params[spec.name] = k.pointer(
                    spec.name, spec.type.dtype, align=spec.type.align, restrict=restrict, length=length
                )
        return cls(k, params, index, fp16)

    def const(self, value: int) -> Ref:
        """A literal of the index type."""
        return self.k.const(value, self.index)

    def offset(
        self, access: Access, coordinates: Mapping[int, Ref], lane: int | None = None, base: Ref | None = None
    ) -> Ref | None:
        """The element at some coordinates, without the part of axis `lane`; None stands for 0. The `base` is what other
        coordinates give."""
        hint = f"~{access.name}_index" if lane is None else f"~{access.name}_row"
        offset = self.params[access.first_name] if access.first and base is None else base
        near = 0
        for axis, stride in enumerate(access.strides):
            if axis == lane or stride == "none" or axis not in coordinates:
                continue
            step, shift = coordinates[axis], access.shift[axis] if access.shift else 0
            if stride == "one" and access.kind == "memory":
                near += shift
            elif shift:
                step = step + shift
            if stride == "param":
                step = self.k.op("mul", step, self.params[access.stride_name(axis)], hint=hint)
            if stride == "back":
                offset = self.k.op("sub", self.const(0) if offset is None else offset, step, hint=hint)
            else:
                offset = step if offset is None else self.k.op("add", offset, step, hint=hint)
        if near and offset is not None:
            # As wide as an address: neighbours then have one address, to which loads add the constant themselves.
            return self.k.convert(offset, U64, hint=f"{access.name}_at") + near
        return offset

    def vector_start(self, access: Access, offset: Ref | None, number: Ref, count: int, lane: int) -> Ref:
        """Where vector `number` of a row begins that begins at `offset`: for a wide access, visibly at a multiple. Of
        one that lies back to front, where its first lane is, the last one in memory."""
        if access.strides[lane] == "none":
            return self.const(0) if offset is None else offset
        hint = f"~{access.name}_index"
        if access.strides[lane] == "back":
            assert offset is not None
            if access.wide:
                return self.k.op("add", (offset - number) * count, count - 1, hint=hint)
            return self.k.op("sub", offset, number * count, hint=hint)
        if access.wide:
            vector = number if offset is None else self.k.op("add", offset, number, hint=hint)
            return self.k.op("mul", vector, count, hint=hint)
        start = self.k.op("mul", number, count, hint=hint)
        if access.shift:
            start = start + access.shift[lane]
        return start if offset is None else self.k.op("add", offset, start, hint=hint)

    def element(self, access: Access, offset: Ref | None, number: Ref, count: int, lane: int) -> Ref:
        """Element `number` of a row that begins at `offset`."""
        if access.strides[lane] == "none":
            return self.const(0) if offset is None else offset
        hint = f"~{access.name}_index"
        if access.strides[lane] == "back":
            assert offset is not None
            return self.k.op("sub", offset * count + (count - 1) if access.wide else offset, number, hint=hint)
        if access.strides[lane] == "param":
            number = self.k.op("mul", number, self.params[access.stride_name(lane)], hint=hint)
        if access.shift:
            number = number + access.shift[lane]
        if offset is None:
            return number
        return self.k.op("add", offset * count if access.wide else offset, number, hint=hint)

    def read(self, access: Access, index: Ref, count: int = 1) -> Ref:
        """The value of a leaf, `count` neighbours of it as a vector."""
        if access.kind == "scalar":
            parameter = self.params[access.name]
            if access.dtype == BOOL:
                return parameter != self.k.const(0, U8)
            return self.k.convert(parameter, self.computed_as(access.dtype))
        if access.kind == "iota":
            if count > 1:
                steps = [self.const(step) for step in range(count)]
                index = self.k.splat(index, count) + self.k.op("vector", *steps)
            return self.k.convert(index, self.computed_as(access.dtype))
        align = access.dtype.size * (count if access.wide else 1)
        dtype = self.computed_as(access.dtype)
        return self.k.load_as(self.params[access.name], index, dtype, count=count, align=align, hint=f"{access.name}_i")

    def neighbours(self, access: Access, coordinates: Mapping[int, Ref], along: Ref, lane: int, count: int) -> Ref:
        """A leaf at some coordinates: `count` elements along axis `lane`, of which it has the one at `along` first and
        the others behind, or the same ones."""
        if access.kind == "scalar":
            return self.spread(self.read(access, self.const(0)), count)
        start = self.element(access, self.offset(access, coordinates, lane), along, 1, lane)
        if access.strides[lane] == "none":
            return self.spread(self.read(access, start), count)
        return self.read(access, start, count)

    def elements(self, access: Access, start: Ref, count: int, width: int) -> list[Ref]:
        """So many neighbours, read in vectors of at most `width`, a multiple of which `start` is."""
        lanes_read: list[Ref] = []
        while len(lanes_read) < count:
            while width > count - len(lanes_read):
                width //= 2
            at = self.k.convert(start, U64) + len(lanes_read) if lanes_read else start
            align, dtype = access.dtype.size * width, self.computed_as(access.dtype)
            hint = f"{access.name}_i"
            read = self.k.load_as(self.params[access.name], at, dtype, count=width, align=align, hint=hint)
            lanes_of = (self.k.op("extract", read, self.k.const(lane, U32)) for lane in range(width))
            lanes_read += lanes_of if width > 1 else [read]
        return lanes_read

    def fetch(self, access: Access, coordinates: Sequence[Ref]) -> Ref:
        """The element at computed coordinates; of vectors of them, a vector."""
        where = {axis: self.k.convert(coordinate, self.index) for axis, coordinate in enumerate(coordinates)}
        offset = self.offset(access, where)
        if offset is None:
            offset = self.const(0)
        assert isinstance(offset.type, DType | Vector)
        count = lanes(offset.type)
        if count == 1 or access.kind == "iota":
            return self.read(access, offset)
        offsets = (self.k.op("extract", offset, self.k.const(lane, U32)) for lane in range(count))
        return self.k.op("vector", *(self.read(access, lane_offset) for lane_offset in offsets))

    def evaluate(
        self,
        values: Sequence[Term],
        wanted: Iterable[int],
        leaf: Callable[[Access], Ref],
        known: Mapping[int, Ref] = MappingProxyType({}),
    ) -> dict[int, Ref]:
        """The wanted values, by their places, with those that are `known` and what is between; `leaf` gives those of
        the leaves. Folds must be known."""
        done = dict(known)
        for index in below(values, wanted, known):
            value = values[index]
            if index in done:
                continue
            if isinstance(value, Access):
                done[index] = leaf(value)
            elif isinstance(value, Fetch):
                done[index] = self.fetch(value.access, [done[arg] for arg in value.args])
            else:
                assert isinstance(value, Operation)
                done[index] = self._operation(value, [done[arg] for arg in value.args])
        return done

    def _operation(self, value: Operation, args: Sequence[Ref]) -> Ref:
        if isinstance(value.op, DefinedOp):
            return self.k.convert(self.k.op(value.op, *self._as_defined(value.op, args)), self.computed_as(value.dtype))
        if value.op == "convert":
            result = self.converted(args[0], value.dtype)
        elif value.op == "bitcast":
            result = self.k.bitcast(args[0], value.dtype)
        else:
            result = self.k.op(value.op, *args)
        return result if value.op in _EXACT_IN_HALF else self.rounded(result, value.dtype)

    def _as_defined(self, op: DefinedOp, args: Sequence[Ref]) -> list[Ref]:
        """The operands of an operation of the program, which computes halves in float32 and rounds by itself."""
        return [
            self.k.convert(arg, F32 if dtype in {F16, BF16} else dtype)
            for arg, dtype in zip(args, op.dtypes, strict=True)
        ]

    def rounded(self, value: Ref, dtype: DType) -> Ref:
        """What was computed for `dtype`, rounded to it where it is computed in another."""
        return value if self.computed_as(dtype) == dtype else self.k.op(f"round_{dtype}", value)

    def converted(self, value: Ref, dtype: DType) -> Ref:
        """A value as another dtype, or, for a half that is computed in float32, ready to be rounded to it."""
        assert isinstance(value.type, DType | Vector)
        computed = self.computed_as(dtype)
        twice = computed != dtype and element(value.type) == F64
        return self._rounded_to_odd(value) if twice else self.k.convert(value, computed)

    def _rounded_to_odd(self, value: Ref) -> Ref:
        """A float64 as float32: cut, with the last bit set where that lost something, so that rounding this once more
        gives what rounding the float64 would. NaN stays NaN, and infinity comes back where half has none larger.
        """
        k = self.k
        near = k.convert(value, F32)
        bits = k.bitcast(near, U32)
        away = k.op("abs", k.convert(near, F64)) > k.op("abs", value)
        bits = bits - self._one_where(away)
        lost = k.convert(k.bitcast(bits, F32), F64) != value
        return k.bitcast(bits | self._one_where(lost), F32)

    def _one_where(self, condition: Ref) -> Ref:
        return self.k.op("select", condition, self.k.const(1, U32), self.k.const(0, U32))

    def computed_as(self, dtype: DType) -> DType:
        """The dtype of values in registers: what is only stored as half is computed in float32."""
        return F32 if dtype == BF16 or (dtype == F16 and not self.fp16) else dtype

    def coordinates(self, id_: Ref, axes: Sequence[int], sizes: Mapping[int, Ref]) -> dict[int, Ref]:
        """Splits a work-item's number into coordinates, the first axis fastest; the last may exceed its size."""
        split: dict[int, Ref] = {}
        for axis in axes[:-1]:
            split[axis] = self.k.op("urem", id_, sizes[axis], hint=f"~i{axis}")
            id_ = self.k.op("udiv", id_, sizes[axis])
        if axes:
            split[axes[-1]] = id_
        return split

    def spread(self, value: Ref, count: int) -> Ref:
        """A scalar as a vector; a vector as it is."""
        assert isinstance(value.type, DType | Vector)
        return value if lanes(value.type) == count else self.k.splat(value, count)
