"""Words of a stream as nodes of the graph, and what the first of numbers are made of them.

A word is an operation on its place, which an iota has, and on numbers: the counter and the key are parameters of
kernels, so that another draw of the same shape finds its plan, and where a draw is moved or sliced, its places are. The
operation costs what a function does, so the planner keeps a draw in memory only if computing it again costs more.

What is made of a word here is made of operations that are rounded correctly everywhere: the same bits on each device.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.indices import Shape
from ocl_ir.layout import Layout
from ocl_ir.source_line import caller
from ocl_ir.types import F32, U32, U64, DType
from ocl_runtime.arrays import Array
from ocl_runtime.random.philox import Philox

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor

_PLACES_U32 = 1 << 32


def words(stream: Philox, shape: Shape, dtype: DType, executor: Executor) -> Array:
    """A draw of words of 32 or 64 bits, U32 or U64, in row-major order."""
    return Array(graph.elementwise("philox", *counters(stream, shape, dtype)), executor)


def counters(stream: Philox, shape: Shape, dtype: DType, draws: int = 1) -> list[Node]:
    """Places in row-major order, the other words of the counter of a draw, or of the first of several, and those of the
    key."""
    line = caller()

    def number(value: int) -> Node:
        return graph.scalar(value, dtype, shape, line)

    counter_and_key = [number(word) for word in stream.take(draws)]
    places, c1 = graph.iota(dtype, Layout.contiguous(shape), line), number(0)
    if dtype is U32 and math.prod(shape) > _PLACES_U32:
        # The upper half of a place goes into word 1 of the counter, the lower half has the bits for the others.
        wide = graph.iota(U64, Layout.contiguous(shape), line)
        c1 = graph.convert(graph.elementwise("shr", wide, graph.scalar(32, U64, shape, line)), U32)
        places = graph.convert(wide, U32)
    return [places, c1, *counter_and_key]


def words_for(stream: Philox, shape: Shape, dtype: DType, executor: Executor) -> Array:
    """A draw of words as wide as a float dtype."""
    return words(stream, shape, U32 if dtype is F32 else U64, executor)


def uniform(word: Array, dtype: DType) -> Array:
    """Numbers from 0 below 1, all multiples of 2**-24 (float32) or 2**-53 being as likely, of words as wide."""
    bits, kept = dtype.bits, 24 if dtype is F32 else 53
    return _float_of(word & ((1 << bits) - (1 << bits - kept)), dtype) * 2.0**-bits


def positive(word: Array, dtype: DType) -> Array:
    """Numbers above 0 up to 1, with all the bits that a float has: those near 0 go down to 2**-33 or 2**-65."""
    return _float_of(word, dtype) * 2.0**-dtype.bits + 2.0 ** (-dtype.bits - 1)


def normal(word: Array, dtype: DType) -> Array:
    """Standard normal numbers: the inverse of the distribution's function, one word each."""
    return Array(graph.bitcast(graph.elementwise("normal_bits", word._node), dtype), word._executor)


def _float_of(word: Array, dtype: DType) -> Array:
    return Array(graph.convert(word._node, dtype), word._executor)
