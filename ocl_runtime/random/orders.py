"""Random orders, and choices without replacement: places in the order of random keys.

Keys are words of 64 bits, and equal ones stay in their order: of n keys two are equal with a probability of less than
n**2 / 2**65, by which any set of orders may be likelier or less likely than it should be. Sorts are stable everywhere,
so an order is the same on every device.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ocl_ir.indices import Shape
from ocl_ir.source_line import calling_line
from ocl_ir.types import F32, F64, U64
from ocl_runtime.arrays import Array, argsort, asarray, astype, reshape, take, take_along_axis, top_k
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
    if not isinstance(x, Array) and not np.ndim(x):
        count = np.asarray(x)
        if count.dtype.kind not in "iu" or count < 0:
            raise DistributionError(
                f"a permutation of {x!r}",
                place=calling_line(),
                remedy="give an array, or an integer that is not negative",
            )
        return argsort(words(stream, (int(count),), U64, executor))
    values = x if isinstance(x, Array) else asarray(x)
    number = axis_of("permutation", axis, values.ndim)
    return take(values, argsort(words(stream, (values.shape[number],), U64, executor)), axis=number)


def shuffle(stream: Philox, executor: Executor, x: Any, axis: int) -> None:
    """Puts the parts of an array along an axis in a random order, in place."""
    x[...] = permutation(stream, executor, written("shuffle", x), axis)


def permuted(stream: Philox, executor: Executor, x: Any, axis: int | None, out: Any) -> Array:
    """The elements of each line along an axis in a random order of its own, or all of them."""
    values = x if isinstance(x, Array) else asarray(x)
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
