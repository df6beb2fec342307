"""One operation on arrays of values: the step that the interpreter takes for every `Let`.

A value of n work-items is an array of shape (n,) for a scalar and (n, lanes) for a vector, of exactly the dtype of its
IR type. The elementwise operations are the references of the op table; the structural ones are here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ocl_ir.errors import IRError
from ocl_ir.ops import OPS
from ocl_ir.program_ops import InlineC
from ocl_ir.types import DType, ValueType, Vector, element, lanes, limits

Data: TypeAlias = NDArray[Any]

POISON_BYTE = 0xCD
"""What undefined integers consist of; undefined floats are NaN, undefined bools true."""


def filled(value: bool | int | float | complex, type_: ValueType, count: int) -> Data:
    """The same value for `count` work-items."""
    shape = (count, lanes(type_)) if isinstance(type_, Vector) else (count,)
    return np.full(shape, value, element(type_).numpy)


def poison(type_: ValueType, count: int) -> Data:
    """Undefined contents: a pattern that shows up in a result."""
    return filled(_poison_of(element(type_)), type_, count)


def fixed(values: Data) -> Data:
    """The same array, into which nobody writes from now on."""
    values.flags.writeable = False
    return values


def spread(values: Data, items: Data, type_: ValueType, count: int) -> Data:
    """The values of `items`, in their order, among `count` work-items: the others' are undefined."""
    shape = (count, type_.lanes) if isinstance(type_, Vector) else (count,)
    if values.shape == shape and values.dtype == element(type_).numpy:
        return fixed(values)  # they are all work-items
    whole = poison(type_, count)
    whole[items] = values
    return fixed(whole)


@cache
def _poison_of(dtype: DType) -> bool | int | float | complex:
    if dtype.kind == "bool":
        return True
    if dtype.name == "bf16":
        return 0x7FC0  # NaN in bfloat16's bits
    if dtype.is_float:
        return float("nan")
    if dtype.is_complex:
        return complex("nan+nanj")
    return int.from_bytes(bytes([POISON_BYTE]) * dtype.size, "little", signed=dtype.kind == "int")


def same_bits(values: Data, others: Data) -> Data:
    """Where two arrays of one dtype hold the same bits, so that NaN equals itself and 0.0 is not -0.0."""
    bits = np.dtype(f"u{values.itemsize}")
    return np.asarray(np.ascontiguousarray(values).view(bits) == np.ascontiguousarray(others).view(bits))


def overflows(op: str, args: Sequence[Data], dtype: DType) -> Data:
    """Where the exact result of an operation on integers has no place in their dtype."""
    exact = OPS[op].reference(*[arg.astype(np.float64) for arg in args])  # exact up to 2**53, monotonous above
    low, high = limits(dtype)
    return np.asarray((exact < low) | (exact > high))


def evaluate(op: str, args: Sequence[Data], result: ValueType) -> Data:
    """`op` of a verified `Let` on the operands' arrays; questions about the index space are not among them.

    Raises `ZeroDivisionError` where the table says that an operation is undefined.
    """
    if op in OPS:
        return np.asarray(OPS[op].reference(*args))
    if isinstance(op, InlineC):
        if op.reference is None:
            raise IRError(
                f"the interpreter does not run OpenCL C: {op}", remedy="give its meaning: opencl_c(…, python=np.sin)"
            )
        own = [arg.copy() for arg in args]  # a program's function may write into them
        return np.asarray(op.reference(*own)).astype(op.result.numpy)
    first = args[0]
    match op:
        case "copy" | "uniform":
            return first.copy()
        case "convert":
            with np.errstate(all="ignore"):
                return first.astype(element(result).numpy)
        case "bitcast":
            return np.ascontiguousarray(first).view(element(result).numpy)
        case "splat":
            return np.repeat(first[:, None], lanes(result), axis=1)
        case "vector":
            return np.stack(args, axis=1)
        case "extract":
            return first[:, int(args[1].flat[0])]
        case "lo" | "hi":
            half = first.shape[1] // 2
            part = first[:, :half] if op == "lo" else first[:, half:]
            return part if isinstance(result, Vector) else part[:, 0]
    raise AssertionError(f"the verifier let the unknown operation {op} through")
