"""What the kernels that sort have in common: how an element is read as bits, and in what order bits are.

Bits are moved, and the key that orders them is computed from them whenever it is asked for. So -0.0 and 0.0, which have
one key, keep their signs, and NaN its payload.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ocl_ir.kernel.builder import KernelBuilder
from ocl_ir.kernel.operands import Ref
from ocl_ir.types import BF16, BOOL, F16, F32, U8, U16, U32, U64, DType
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.form import Access, Term

_UNSIGNED = {1: U8, 2: U16, 4: U32, 8: U64}
_MANTISSA_BITS = {F16: 10, BF16: 7, F32: 23}


def bits_of(dtype: DType) -> DType:
    """The unsigned integer as wide as a dtype."""
    return _UNSIGNED[dtype.size]


def last_bits(dtype: DType, *, descending: bool) -> int:
    """The bits of an element that no other one comes behind."""
    bits = 8 * dtype.size
    everything, sign = 2**bits - 1, 1 << (bits - 1)
    if dtype.kind in {"bool", "uint"}:
        return 0 if descending else everything
    if dtype.is_float:
        return sign | _infinity(dtype) if descending else everything  # NaN is greatest
    return sign if descending else everything - sign


def _infinity(dtype: DType) -> int:
    mantissa_bits = _MANTISSA_BITS.get(dtype, 52)
    return (1 << (8 * dtype.size - 1)) - (1 << mantissa_bits)


def key_of(k: KernelBuilder, bits: Ref, dtype: DType, *, descending: bool) -> Ref:
    """An unsigned integer in the order of the elements of a dtype with these bits."""
    unsigned = bits_of(dtype)
    everything = 2 ** (8 * dtype.size) - 1
    sign = 1 << (8 * dtype.size - 1)

    def const(value: int) -> Ref:
        return k.const(value, unsigned)

    if dtype.kind in {"bool", "uint"}:
        return bits ^ const(everything) if descending else bits
    if not dtype.is_float:
        return bits ^ const(everything - sign if descending else sign)
    magnitude = bits & const(everything - sign)
    key = k.op("select", magnitude == const(0), const(sign), k.op("float_order", bits))
    key = k.op("select", magnitude > const(_infinity(dtype)), const(everything), key)
    return key ^ const(everything) if descending else key


@dataclass(frozen=True)
class Elements:
    """The elements that a kernel in the making sorts: the last of `values`, in rows of the `kept` axes before the last
    one. They have the dtype `of`, or are its bits."""

    k: KernelBuilder
    body: Body
    values: tuple[Term, ...]
    kept: int
    of: DType
    descending: bool

    def bits(self, row: Ref, r: Ref) -> Ref:
        """The bits of element `r` of a row."""
        body, last, index = self.body, len(self.values) - 1, self.body.index
        sizes = {axis: body.params[f"n{axis}"] for axis in range(self.kept)}
        where = body.coordinates(self.k.convert(row, index), range(self.kept - 1, -1, -1), sizes)
        number = self.k.convert(r, index)

        def read(access: Access) -> Ref:
            if access.kind == "scalar":
                return body.read(access, body.const(0))
            return body.read(access, body.element(access, body.offset(access, where, self.kept), number, 1, self.kept))

        value = body.evaluate(self.values, [last], read)[last]
        if self.of == BOOL:
            return self.k.op("select", value, self.k.const(1, U8), self.k.const(0, U8))
        unsigned = bits_of(self.of)
        return value if value.type == unsigned else self.k.bitcast(value, unsigned)

    def place(self, row: Ref, r: Ref) -> Ref:
        """Where element `r` of a row is in dense memory."""
        index = self.body.index
        return self.k.convert(row, index) * self.body.params["m"] + self.k.convert(r, index)

    def key(self, bits: Ref) -> Ref:
        """The key of some bits."""
        return key_of(self.k, bits, self.of, descending=self.descending)

    def last(self) -> Any:
        """The bits of an element that may stand behind all others."""
        return bits_of(self.of).numpy.type(last_bits(self.of, descending=self.descending))
