"""Integers without bias that can be seen, and choices.

A word times the number of values, of which the upper half is taken (Lemire, Fast random integer generation in an
interval, 2019, without the rejections, which would make a draw depend on those before it). Words have 64 bits for up to
2**32 values and 128 bits for more: no value is more likely than another by more than a part in 2**32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ocl_ir.graph import build as graph
from ocl_ir.indices import Shape
from ocl_ir.source_line import calling_line
from ocl_ir.types import BOOL, F32, F64, I64, U64, DType
from ocl_runtime.arrays import Array, asarray, astype, broadcast_to, cumulative_sum, minimum, searchsorted, take, where
from ocl_runtime.arrays.axes import axis_of
from ocl_runtime.arrays.meaning.dtypes import int64, require, to_dtype, uint64
from ocl_runtime.errors import DistributionError, DTypeError
from ocl_runtime.random.orders import array_or_count, without_replacement
from ocl_runtime.random.parameters import Size, probabilities, shape_for
from ocl_runtime.random.philox import Philox
from ocl_runtime.random.words import uniform, words, words_for

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor

_FEW = 1 << 32


def integers(stream: Philox, executor: Executor, low: Any, high: Any, size: Size, dtype: Any, endpoint: bool) -> Array:
    """Integers from `low` up to `high`, with it if `endpoint`. What they raise says `Generator.integers`."""
    wanted = require(to_dtype(dtype), executor.target)
    if not (wanted.is_integer or wanted is BOOL):
        raise DTypeError(
            f"integers of {wanted.public}", place=calling_line(), remedy="use an integer dtype, or astype(x, dtype)"
        )
    low, high = (0, low) if high is None else (low, high)
    bounds = [_bound(value, wanted, past=end and not endpoint) for value, end in ((low, False), (high, True))]
    low, high = bounds
    if not (isinstance(low, Array) or isinstance(high, Array)):
        _ordered(np.asarray(low, object), np.asarray(high, object), endpoint)
    low, high = (
        value if isinstance(value, int | Array) else asarray(np.array(value.tolist(), _host_dtype(value)))
        for value in bounds
    )
    shape = shape_for("integers", size, (low, high))
    if isinstance(low, int) and isinstance(high, int):
        steps = below(stream, executor, shape, high - low + endpoint)
        first: int | Array = low % (1 << 64)
    else:
        first, last = (_as_u64(value, executor) for value in (low, high))
        steps = _below_arrays(stream, executor, shape, last - first + (1 if endpoint else 0))
    return _cast(steps + first, wanted)


def below(stream: Philox, executor: Executor, shape: Shape, count: int) -> Array:
    """Integers, uint64, from 0 below a number that is at most 2**64."""
    word = words(stream, shape, U64, executor)
    if count == 1 << 64:
        return word
    if count <= _FEW:
        return _high(word, count)
    return _long_product(word, words(stream, shape, U64, executor), count)


def _below_arrays(stream: Philox, executor: Executor, shape: Shape, count: Array) -> Array:
    first, second = (words(stream, shape, U64, executor) for _ in range(2))
    # Of all 2**64 values the count is 0 modulo 2**64, and a word is one of them.
    return where(count == 0, first, _long_product(first, second, count))


def _long_product(high: Array, low: Array, count: int | Array) -> Array:
    """Bits 128 and up of the product of two words, as one number, and a count."""
    middle = high * count
    carried = (middle + _high(low, count)) < middle
    return _high(high, count) + astype(carried, uint64)


def _high(word: Array, count: int | Array) -> Array:
    if isinstance(count, Array):
        factor = broadcast_to(count, word.shape)._node
    else:
        factor = graph.scalar(count, U64, word.shape)
    return Array(graph.elementwise("mul_high", word._node, factor), word._executor)


def _bound(value: Any, dtype: DType, *, past: bool) -> Any:
    """A bound as an int, as an array of the device, or as an array of Python's ints, which NumPy's dtypes may not
    hold."""
    if isinstance(value, Array):
        if not (value._dtype.is_integer or value._dtype is BOOL):
            raise DTypeError(
                f"integers with a bound of {value.dtype}", place=calling_line(), remedy="astype(bound, int64)"
            )
        return value
    numbers = _whole(value)
    least, most = _limits(dtype)
    if ((numbers < least) | (numbers > most + past)).any():
        raise DistributionError(
            f"integers with the bound {value!r}, which {dtype.public} does not hold",
            place=calling_line(),
            remedy="give a wider dtype, or nearer bounds",
        )
    return numbers if numbers.ndim else numbers.item()


def _whole(value: Any) -> Any:
    """An array of Python's ints. Raises `DTypeError` for what is none, and for numbers with a fraction."""
    try:
        host = np.asarray(value)
    except ValueError:  # lists of differing lengths
        host = np.asarray(None)
    numbers = host.ravel().tolist()
    is_float = host.dtype.kind == "f"
    if not all(isinstance(number, int) or (is_float and number % 1 == 0) for number in numbers):
        raise DTypeError(
            f"integers with the bound {value!r}, which is no integer", place=calling_line(), remedy="give integers"
        )
    found = np.empty(host.size, object)
    found[:] = [int(number) for number in numbers]
    return found.reshape(host.shape)


def _limits(dtype: DType) -> tuple[int, int]:
    if dtype is BOOL:
        return 0, 1
    return (-1 << dtype.bits - 1, (1 << dtype.bits - 1) - 1) if dtype.kind == "int" else (0, (1 << dtype.bits) - 1)


def _ordered(low: Any, high: Any, endpoint: bool) -> None:
    wrong = (low > high) if endpoint else (low >= high)
    if np.any(wrong):
        raise DistributionError(
            f"integers from {low} {'up to' if endpoint else 'below'} {high}: there are none",
            place=calling_line(),
            remedy="give a low that is below high" + (", or equal to it" if endpoint else ""),
        )


def _host_dtype(numbers: Any) -> Any:
    return np.uint64 if max(numbers.ravel().tolist(), default=0) >= 1 << 63 else np.int64


def _as_u64(value: int | Array, executor: Executor) -> Array:
    """A bound modulo 2**64."""
    if isinstance(value, int):
        return Array(graph.scalar(value % (1 << 64), U64), executor)
    return _cast(value if value._dtype is U64 else astype(value, int64), U64)


def _cast(value: Array, dtype: DType) -> Array:
    return value if value._dtype is dtype else Array(graph.convert(value._node, dtype), value._executor)


def choice(stream: Philox, executor: Executor, a: Any, size: Size, replace: bool, p: Any, axis: int) -> Array:
    """Elements of an array along an axis, or integers below a number. What it raises says `Generator.choice`."""
    values = array_or_count("choice", a)
    if isinstance(values, Array):
        axis = axis_of("choice", axis, values.ndim)
        count = values.shape[axis]
    else:
        count = values
    shape = shape_for("choice", size, ())
    if count <= 0 and np.prod(shape, dtype=object):
        raise DistributionError(
            "a choice of nothing", place=calling_line(), remedy="give elements, or a number that is above 0"
        )
    if not replace:
        index = without_replacement(stream, executor, shape, count, p)
    elif p is None:
        index = _cast(below(stream, executor, shape, max(count, 1)), I64)
    else:
        index = _weighted(stream, executor, shape, count, p)
    if not isinstance(values, Array):
        return index
    taken = take(values, index.reshape(-1), axis=axis)
    return taken.reshape((*values.shape[:axis], *shape, *values.shape[axis + 1 :]))


def _weighted(stream: Philox, executor: Executor, shape: Shape, count: int, p: Any) -> Array:
    """Places in the running sum of probabilities."""
    real = F64 if executor.target.fp64 else F32
    p = probabilities(p, count, real)
    total = cumulative_sum(astype(p, real.public))
    number = uniform(words_for(stream, shape, real, executor), real)
    # The last sum may be less than 1 by rounding, or, of an array of the device, by far.
    return minimum(searchsorted(total, number * total[-1], side="right"), count - 1)
