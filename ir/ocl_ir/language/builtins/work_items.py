"""Builtins of the index space, of memory, and of loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_ir.errors import DTypeError, ShapeError
from ocl_ir.language.plain import builtins
from ocl_ir.language.statements.calls import Calls
from ocl_ir.language.values.loops import Range, Unrolled
from ocl_ir.language.values.promotion import class_of
from ocl_ir.language.values.table import Builtin
from ocl_ir.language.values.values import ArrayView, Number, Value, is_static, low_of
from ocl_ir.types import LANES, U32, DType, Vector, from_numpy


def _dimension(t: Calls, dimension: Value) -> int:
    if dimension not in {0, 1, 2} or isinstance(dimension, bool):
        raise t.fault(f"{t.described(dimension)} is no dimension", "use 0, 1 or 2", ShapeError)
    t.dimensions_asked.add(dimension)
    return int(dimension)


def _id(name: str, hint: str, low: int = 0) -> Builtin:
    def emit(t: Calls, dimension: Value = 0) -> Value:
        ref = t.k.item(name, _dimension(t, dimension), "", t.index_type)
        return Number(ref, t.index_type, "index", low)

    emit.__doc__ = f"""This work-item's {hint} along a dimension, 0 the fastest: an index."""
    return Builtin(name, emit, getattr(builtins, name))


def global_size(t: Calls, dimension: Value = 0) -> Value:
    """How many work-items were asked for along a dimension."""
    return t.items(_dimension(t, dimension))


def local_size(t: Calls, dimension: Value = 0) -> Value:
    """How many work-items a group has along a dimension."""
    axis = _dimension(t, dimension)
    if t.options.group_size is not None:
        return t.options.group_size[axis]
    return Number(t.k.item("local_size", axis, "", t.index_type), t.index_type, "index", 1)


def position(t: Calls) -> Value:
    """The indices of this work-item in NumPy's order, the last axis fastest: one for each axis of what the kernel is
    launched over; a number for one axis."""
    count = t.options.dimensions
    ids = tuple(GLOBAL_ID.emit(t, count - 1 - axis) for axis in range(count))
    return ids[0] if count == 1 else ids


def barrier(t: Calls) -> None:
    """Every work-item of the group comes here before any goes on; what they stored before is seen after."""
    t.k.barrier(local=True, global_=True)


def local_array(t: Calls, shape: Value, dtype: Value) -> Value:
    """An array that the work-items of a group share; its contents are undefined until they are stored."""
    return t.new_array(shape, t.dtype_of(dtype), "local", t.target_name)


def private_array(t: Calls, shape: Value, dtype: Value) -> Value:
    """An array of this work-item alone; its contents are undefined until they are stored."""
    return t.new_array(shape, t.dtype_of(dtype), "private", t.target_name)


# ---------------------------------------------------------------------- atomics and vectors


def _atomic(op: str, name: str) -> Builtin:
    def emit(t: Calls, x: Value, index: Value, value: Value) -> Value:
        return t.atomic(op, _array(t, x, name), index, value, used=t.is_used)

    what = {"exchange": "replaces it by"}.get(op, f"applies `{op}` to it and")
    emit.__doc__ = f"""In one step, reads `x[index]`, {what} the value, and gives what was there before."""
    return Builtin(name, emit, builtins.atomic(op))


def atomic_compare_exchange(t: Calls, x: Value, index: Value, expected: Value, value: Value) -> Value:
    """In one step, stores the value where `x[index]` is as expected, and gives what was there before."""
    return t.atomic("compare_exchange", _array(t, x, "atomic_compare_exchange"), index, expected, value, used=t.is_used)


def _array(t: Calls, value: Value, what: str) -> ArrayView:
    if not isinstance(value, ArrayView):
        raise t.fault(f"{what} of {t.described(value)}", "give an array", DTypeError)
    return value


def vload(t: Calls, x: Value, index: Value, count: Value, *, aligned: Value = False) -> Value:
    """`count` neighbouring elements from an index on, as a vector; `aligned` promises that its size divides the
    address."""
    if count not in LANES:
        raise t.fault(
            f"vload of {count if isinstance(count, int) else t.described(count)} elements",
            "use 2, 3, 4, 8 or 16",
            DTypeError,
        )
    return t.load_vector(_array(t, x, "vload"), index, count, aligned=bool(aligned))


def vstore(t: Calls, x: Value, index: Value, value: Value, *, aligned: Value = False) -> None:
    """Writes the lanes of a vector to neighbouring elements from an index on."""
    t.store_vector(_array(t, x, "vstore"), index, value, aligned=bool(aligned))


class VectorType(Builtin):
    """`float4` and the like: makes a vector of scalars and vectors, or of one scalar in all lanes."""

    def __init__(self, name: str, dtype: DType, count: int) -> None:
        self.dtype, self.count = dtype, count

        def emit(t: Calls, *values: Value) -> Value:
            return self._vector(t, values)

        emit.__doc__ = f"""A vector of {count} lanes of {dtype.numpy}: of as many numbers, or one for all."""
        super().__init__(name, emit, builtins.vector(dtype, count))

    def _vector(self, t: Calls, values: tuple[Value, ...]) -> Number:
        t.available(self.dtype)
        lanes: list[Any] = []
        for value in values:
            if class_of(value) is None:
                raise t.fault(f"{self.name} of {t.described(value)}", "give it numbers", DTypeError)
            ref = t.converted(value, self.dtype, fits=False)
            width = ref.type.lanes if isinstance(ref.type, Vector) else 1
            lanes += [ref] if width == 1 else [t.k.op("extract", ref, t.k.const(lane, U32)) for lane in range(width)]
        if len(lanes) == 1:
            return Number(t.k.splat(lanes[0], self.count), self.dtype)
        if len(lanes) != self.count:
            raise t.fault(
                f"{len(lanes)} numbers for the {self.count} lanes of {self.name}",
                f"give {self.count}, or one",
                DTypeError,
            )
        return Number(t.k.op("vector", *lanes), self.dtype)


_C_NAMES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8", "ulong": "u8",
    "float": "f4", "double": "f8",
}  # fmt: skip
_DTYPES = frozenset({"int8", "int16", "uint8", "uint16", "float16"})
"""Names that are vectors in OpenCL C and numbers in NumPy, whose they are here."""
VECTORS: dict[str, Builtin] = {
    vector: VectorType(vector, from_numpy(code), count)
    for name, code in _C_NAMES.items()
    for count in LANES
    for vector in (f"{name}{count}", f"{np.dtype(code)}x{count}")
    if vector not in _DTYPES
}
"""`float4` as in OpenCL C, and `float32x4`, which is the same."""

# ---------------------------------------------------------------------- loops


def range_(t: Calls, *bounds: Value) -> Value:
    """Python's `range`, counted on the device; its bounds are taken once."""
    if not 1 <= len(bounds) <= 3:
        raise t.fault(f"range of {len(bounds)} numbers", "give one to three")
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    classes = [class_of(bound) for bound in (start, stop, step)]
    for bound, class_ in zip((start, stop, step), classes, strict=True):
        integral = class_ is not None and (
            class_.is_index or class_.literal == "int" or (class_.dtype is not None and class_.dtype.is_integer)
        )
        if not integral:
            raise t.fault(f"range of {t.described(bound)}", "convert it: int(…)", DTypeError)
    dtypes = {class_.dtype for class_ in classes if class_ is not None and class_.literal is None and class_.dtype}
    indices = any(class_ is not None and class_.is_index for class_ in classes)
    dtype = next(iter(dtypes)) if len(dtypes) == 1 and not indices and isinstance(step, int) else None
    if dtype is not None and (dtype.bits < 32 or (isinstance(step, int) and step < 0 and dtype.kind == "uint")):
        dtype = None
    if dtype is None:
        start, stop, step = (
            bound if isinstance(bound, int) else Number(t.index(bound), t.index_type, "index", low_of(bound))
            for bound in (start, stop, step)
        )
    return Range(start, stop, step, dtype)


def unrolled(t: Calls, values: Value) -> Value:
    """A loop over known values, of which each turn is translated for itself."""
    if isinstance(values, Range):
        bounds = values.start, values.stop, values.step
        if not is_static(bounds):
            raise t.fault(
                "unrolled(range(…)) of numbers that are known only at run time", "annotate them: n: Constant[int]"
            )
        return Unrolled(range(*bounds))
    if isinstance(values, tuple | range):
        return Unrolled(values)
    raise t.fault(f"unrolled({t.described(values)})", "give a range or a tuple")


def hint(t: Calls, counted: Value, *, unroll: Value = 0) -> Value:
    """A loop of which the compiler is asked to unroll so many turns."""
    if not isinstance(counted, Range) or not isinstance(unroll, int) or unroll < 0:
        raise t.fault("hint of this", "write hint(range(n), unroll=4)")
    return Range(counted.start, counted.stop, counted.step, counted.dtype, unroll)


def _named(function: Callable[..., Any], python: Callable[..., Any] | None = None) -> Builtin:
    return Builtin(function.__name__.rstrip("_"), function, python)


GLOBAL_ID = _id("global_id", "index in the whole index space")
_ATOMICS = ("add", "sub", "min", "max", "and", "or", "xor", "exchange")

BUILTINS: dict[str, Builtin] = {
    "global_id": GLOBAL_ID,
    "local_id": _id("local_id", "index in its group"),
    "group_id": _id("group_id", "number of its group"),
    "num_groups": _id("num_groups", "number of groups", 1),
    "global_size": _named(global_size, builtins.global_size),
    "local_size": _named(local_size, builtins.local_size),
    "position": _named(position, builtins.position),
    "barrier": _named(barrier, builtins.barrier),
    "local_array": _named(local_array, builtins.local_array),
    "private_array": _named(private_array, builtins.private_array),
    **{f"atomic_{op}": _atomic(op, f"atomic_{op}") for op in _ATOMICS},
    "atomic_compare_exchange": _named(atomic_compare_exchange, builtins.atomic_compare_exchange),
    "vload": _named(vload, builtins.vload),
    "vstore": _named(vstore, builtins.vstore),
    **VECTORS,
    "unrolled": _named(unrolled, builtins.unrolled),
    "hint": _named(hint, builtins.hint),
}
"""By the name in `ocl_runtime.language`."""

PYTHON = {"range": _named(range_, builtins.range_)}
"""What Python's own `range` is in a kernel."""
