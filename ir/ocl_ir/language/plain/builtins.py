"""What builtins are for a work-item that is a thread: ids, arrays, barriers, atomics, vectors, loops."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocl_ir.errors import DTypeError
from ocl_ir.language.plain.arrays import PlainArray
from ocl_ir.language.plain.names import dtype_of
from ocl_ir.language.plain.numbers import Index, Typed, apply, class_of, converted, is_ours, plain
from ocl_ir.language.plain.work_item import running
from ocl_ir.numpy_functions import maximum, minimum
from ocl_ir.types import BF16, DType

# ---------------------------------------------------------------------- the index space


def global_id(dimension: int = 0) -> Index:
    """The index in the whole index space."""
    return Index(running("global_id").position[dimension])


def local_id(dimension: int = 0) -> Index:
    """The index in the group."""
    return Index(running("local_id").local[dimension])


def group_id(dimension: int = 0) -> Index:
    """The number of the group."""
    return Index(running("group_id").group.number[dimension])


def num_groups(dimension: int = 0) -> Index:
    """How many groups there are."""
    launch = running("num_groups").launch
    items = launch.items[dimension] if dimension < len(launch.items) else 1
    return Index(-(-items // launch.group[dimension]))


def global_size(dimension: int = 0) -> Index:
    """How many work-items were asked for."""
    items = running("global_size").launch.items
    return Index(items[dimension] if dimension < len(items) else 1)


def local_size(dimension: int = 0) -> int:
    """How many work-items a group has, which is known from the launch."""
    return running("local_size").launch.group[dimension]


def position() -> Any:
    """The indices in NumPy's order."""
    item = running("position")
    ids = tuple(map(Index, reversed(item.position[: len(item.launch.items)])))
    return ids[0] if len(ids) == 1 else ids


# ---------------------------------------------------------------------- memory


def barrier() -> None:
    """Waits for the group."""
    running("barrier").meet("barrier")


def local_array(shape: Any, dtype: Any) -> PlainArray:
    """An array of the group, one for each place that makes one."""
    return _array(running("local_array").group.arrays, shape, dtype_of(dtype))


def private_array(shape: Any, dtype: Any) -> PlainArray:
    """An array of the work-item."""
    return _array(running("private_array").arrays, shape, dtype_of(dtype))


def _array(known: dict[Any, PlainArray], shape: Any, dtype: DType) -> PlainArray:
    lengths = tuple(map(int, shape)) if isinstance(shape, tuple) else (int(shape),)
    key = tuple(_call_chain(sys._getframe(2)))
    if key not in known:
        known[key] = PlainArray(_undefined(lengths, dtype), dtype, "the array")
    return known[key]


def _undefined(lengths: tuple[int, ...], dtype: DType) -> NDArray[Any]:
    """Contents that show up in a result: NaN, or bytes of 0xCD."""
    contents = np.empty(lengths, dtype.numpy)
    contents.view(np.uint8).fill(0xCD if dtype.kind != "bool" else 1)
    if dtype.is_float and dtype is not BF16:
        contents.fill(np.nan)
    return contents


def _call_chain(frame: FrameType | None) -> Iterator[tuple[object, int]]:
    """The instruction of each frame: an inlined helper has arrays of its own at each call."""
    while frame is not None:
        yield frame.f_code, frame.f_lasti
        frame = frame.f_back


def atomic(op: str) -> Callable[..., Any]:
    """An atomic: threads run one at a time, so it needs no lock."""

    def function(x: PlainArray, index: Any, value: Any) -> Any:
        if x.type.bits < 32:
            raise DTypeError(f"an atomic of {x.type.numpy}", remedy="use an array of int32 or uint32")
        before = x[index]
        operand = Typed(x.stored(value))
        x[index] = operand if op == "exchange" else apply(_ATOMICS[op], x.type, before, operand)
        return before

    return function


_ATOMICS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "min": minimum, "max": maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip


def atomic_compare_exchange(x: PlainArray, index: Any, expected: Any, value: Any) -> Any:
    """Stores the value where the element is as expected."""
    before = x[index]
    if before.value == x.stored(expected):
        x[index] = value
    return before


def vload(x: PlainArray, index: Any, count: int, *, aligned: bool = False) -> Typed:
    """Neighbouring elements as a vector."""
    elements = x.run(index, count)
    if x.type is BF16:
        return Typed((elements.astype(np.uint32) << np.uint32(16)).view(np.float32))
    return Typed(elements.copy())


def vstore(x: PlainArray, index: Any, value: Typed, *, aligned: bool = False) -> None:
    """Writes the lanes of a vector."""
    x.run(index, value.lanes)[...] = x.stored(value)


def vector(dtype: DType, count: int) -> Callable[..., Typed]:
    """`float4` and its kin."""

    def make(*values: Any) -> Typed:
        lanes = np.concatenate([np.atleast_1d(converted(value, dtype, fits=False)) for value in values])
        if len(lanes) not in {1, count}:
            raise DTypeError(f"{len(lanes)} numbers for {count} lanes")
        return Typed(np.resize(lanes, count))

    return make


# ---------------------------------------------------------------------- loops


def range_(*bounds: Any) -> Iterator[Any]:
    """Python's range, of indices, or of the one dtype of typed bounds."""
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    classes = [class_of(bound) for bound in (start, stop, step)]
    dtypes = {class_.dtype for class_ in classes if class_ is not None and class_.dtype}
    typed = len(dtypes) == 1 and not any(class_.is_index for class_ in classes if class_) and not is_ours(step)
    (dtype,) = dtypes if typed else (None,)
    if dtype is not None and (dtype.bits < 32 or (int(step) < 0 and dtype.kind == "uint")):
        dtype = None
    if int(plain(step)) == 0:
        return
    for number in range(*(int(plain(bound)) for bound in (start, stop, step))):
        yield Index(number) if dtype is None else Typed(dtype.numpy.type(number))


def unrolled(values: Any) -> Any:
    """The values, which are literals."""
    return [int(value) for value in values] if not isinstance(values, tuple) else values


def hint(values: Any, *, unroll: int = 0) -> Any:
    """The loop as it is."""
    return values


def length(value: Any) -> Any:
    """The length of a tuple or a text, or of the first axis of an array."""
    return Index(len(value)) if isinstance(value, PlainArray) else len(value)
