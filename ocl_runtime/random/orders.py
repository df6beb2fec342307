"""Random orders, and choices without replacement: places in the order of random keys.

Keys are words of 64 bits, and equal ones stay in their order: of n keys two are equal with a probability of less than
n**2 / 2**65, by which any set of orders may be likelier or less likely than it should be. Sorts are stable everywhere,
so an order is the same on every device.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ocl_ir.indices import Shape
from ocl_ir.source_line import calling_line
from ocl_ir.types import F32, F64, U64
from ocl_runtime.arrays import Array, argsort, asarray, astype, reshape, take, take_along_axis, top_k
from ocl_runtime.arrays.array import array_of
from ocl_runtime.arrays.axes import axis_of
from ocl_runtime.errors import DistributionError, DTypeError
from ocl_runtime.random.distributions import nowhere_zero
from ocl_runtime.random.parameters import probabilities
from ocl_runtime.random.philox import Philox
from ocl_runtime.random.words import words, words_for

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor


def permutation(stream: Philox, executor: Executor, x: Any, axis: int) -> Array:
    """The integers below a number, or the parts of an array along an axis, in a random order."""
    values = array_or_count("permutation", x)
    if not isinstance(values, Array):
        return argsort(words(stream, (values,), U64, executor))
    return _reordered("permutation", stream, executor, values, axis)


def _reordered(what: str, stream: Philox, executor: Executor, x: Array, axis: int) -> Array:
    number = axis_of(what, axis, x.ndim)
    return take(x, argsort(words(stream, (x.shape[number],), U64, executor)), axis=number)


def array_or_count(what: str, x: Any) -> Array | int:
    """An array, or, of an integer, that. Raises `DistributionError` for an integer that is negative or beyond int64,
    and for anything else."""
    if isinstance(x, Array):
        return x
    if isinstance(x, list | tuple) or np.ndim(x):
        return asarray(x)
    try:
        count = operator.index(x)
    except TypeError:
        count = -1
    if not 0 <= count < 1 << 63:
        raise DistributionError(
            f"{what} of {x!r}", place=calling_line(), remedy="give an array, or an integer from 0 below 2**63"
        )
    return count


def shuffle(stream: Philox, executor: Executor, x: Any, axis: int) -> None:
    """Puts the parts of an array along an axis in a random order, in place."""
    x[...] = _reordered("shuffle", stream, executor, written("shuffle", x), axis)


def permuted(stream: Philox, executor: Executor, x: Any, axis: int | None, out: Any) -> Array:
    """The elements of each line along an axis in a random order of its own, or all of them."""
    values = array_of("permuted", x)
    if axis is None:
        keys = words(stream, (values.size,), U64, executor)
        result = reshape(reshape(values, -1)[argsort(keys)], values.shape)
    else:
        number = axis_of("permuted", axis, values.ndim)
        keys = words(stream, values.shape, U64, executor)
        result = take_along_axis(values, argsort(keys, axis=number), axis=number)
    if out is None:
        return result
    target = written("permuted", out)
    target[...] = result
    return target


def written(what: str, x: Any) -> Array:
    """What is written. Raises `DTypeError` where it is no array of the device."""
    if not isinstance(x, Array):
        raise DTypeError(
            f"{what} of {type(x).__name__} in place", place=calling_line(), remedy="give an array of the device"
        )
    return x


def without_replacement(stream: Philox, executor: Executor, shape: Shape, count: int, p: Any) -> Array:
    """Different integers below a number, as many as a shape has: those with the least keys, in their order.

    With probabilities, the key of each is an exponential number divided by its own: so each is the next one with a
    probability in proportion to its own among those that are left (Efraimidis and Spirakis, Weighted random sampling
    with a reservoir, 2006).
    """
    wanted = math.prod(shape)
    if wanted > count:
        raise DistributionError(
            f"a choice of {wanted} of {count} without replacement", place=calling_line(), remedy="choose fewer of them"
        )
    if p is None:
        keys = words(stream, (count,), U64, executor)
    else:
        real = F64 if executor.target.fp64 else F32
        given = probabilities(p, count, real)
        if not isinstance(p, Array) and np.count_nonzero(p) < wanted:
            raise DistributionError(
                f"a choice of {wanted} without replacement, where {np.count_nonzero(p)} probabilities are above 0",
                place=calling_line(),
                remedy="choose fewer",
            )
        keys = nowhere_zero(words_for(stream, (count,), real, executor), real) / astype(given, real.public)
    return reshape(top_k(keys, wanted, mode="smallest").indices, shape)
