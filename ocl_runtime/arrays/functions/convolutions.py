"""Convolutions of batches of arrays with channels, and pooling: what deep-learning libraries call so."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.source_line import caller, calling_line
from ocl_ir.types import BOOL, F32
from ocl_runtime.arrays.array import Array, arrays_of, ordered_array_of
from ocl_runtime.arrays.axes import length_of
from ocl_runtime.arrays.functions.creation import arange
from ocl_runtime.arrays.functions.elementwise import astype, maximum, minimum
from ocl_runtime.arrays.functions.joining import pad
from ocl_runtime.arrays.functions.manipulation import reshape
from ocl_runtime.arrays.meaning.convolutions import Copies, convolution, padded, windows
from ocl_runtime.arrays.meaning.dtypes import iinfo
from ocl_runtime.arrays.meaning.line_convolutions import convolution_of_lines
from ocl_runtime.arrays.meaning.semantics import cast, common_dtype
from ocl_runtime.arrays.meaning.taps import Taps
from ocl_runtime.arrays.meaning.winograd import convolution_by_winograd
from ocl_runtime.arrays.operands import ArrayLike
from ocl_runtime.errors import DTypeError, Error, ShapeError

PerAxis: TypeAlias = int | Sequence[int]
"""A number for all axes, or one for each."""
Padding: TypeAlias = int | Sequence[int | Sequence[int]] | str
"""As many elements on both sides, or for each axis a number or a pair, before and behind; or "same" or "valid"."""
_MOST_AXES = 3


def conv(
    x: ArrayLike,
    w: ArrayLike,
    /,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Array:
    """The sums of products of `w` and what it lies over while it is moved over `x`, along one to three axes.

    `x` has the shape (batch, channels, *space), `w` (channels of the result, channels / groups, *kernel), the result
    (batch, channels of the result, *places): `w` is not turned, so that this is what the deep-learning libraries call a
    convolution, and signal processing a cross-correlation (`signal.convolve` turns it). `stride` says how far it moves,
    `dilation` how far its elements are apart, each as a number or one for each axis; `padding` how many zeros there are
    around `x`: a number, one for each axis, a pair (before, behind) for each, "valid" for none, or "same" for as many
    as give ceil(space / stride) places, the odd one behind. The channels of `x` and of the result are split into
    `groups`, and those of one only meet each other.

    The dtype is that to which both are promoted; half adds up in float32. It is a product of matrices, one of which is
    a view of `x` (implicit GEMM: Chetlur et al., cuDNN: Efficient Primitives for Deep Learning, 2014). On GPUs, large
    ones of 3 × 3 in float32 that move by 1, channels first, multiply less often (Lavin and Gray, Fast Algorithms for
    Convolutional Neural Networks, 2016), with other roundings, and halves of few channels that move by more than 1 are
    taken in phases: an infinity right beside a window may make its result NaN (docs/NUMERICS.md).

        conv(ones((1, 3, 32, 32)), ones((8, 3, 3, 3)), stride=2, padding=1).shape     # (1, 8, 16, 16)

    Raises `ShapeError` for shapes that do not fit, and for a kernel that is longer than `x` with what is around it;
    `DTypeError` for bools; `Error` for another padding.
    """
    x, w = arrays_of("conv", x, w)
    rank = _rank("conv", x)
    if w.ndim != x.ndim or 0 in w.shape[2:]:
        raise _unfit("conv", x, w, "both need as many axes, and a kernel has elements")
    count = length_of("conv with groups", groups)
    if not count or x.shape[1] != w.shape[1] * count or w.shape[0] % count:
        raise _unfit("conv", x, w, f"{groups} groups divide the channels of both; w has channels / groups of them")
    if x._dtype is w._dtype is BOOL:
        raise DTypeError("conv of bools", place=calling_line(), remedy="convert first: astype(x, int32)")
    taps = _taps("conv", x, w.shape[2:], stride, padding, _numbers("conv", "dilation", dilation, rank))
    dtype = common_dtype((x._node, w._node), x._executor)
    operands = cast(x._node, dtype), cast(w._node, dtype)
    target = x._executor.target
    by = convolution_of_lines if target.kind == "cpu" else convolution_by_winograd
    node = by(*operands, taps, count, caller())
    if node is None:
        fills = dtype.size == 2 and dtype.is_inexact and bool(target.matrix_instructions)
        copies: Copies = None if target.kind == "cpu" else "filled" if fills else "whole"
        node = convolution(*operands, taps, count, caller(), copies=copies)
    return Array(node, x._executor)


def max_pool(x: ArrayLike, /, window: PerAxis, stride: PerAxis | None = None, padding: Padding = 0) -> Array:
    """The greatest elements of windows over the axes behind the first two of `x` (batch, channels, *space), NaN where
    there is one. Windows are moved by `stride`, by default their own length; `padding` as of `conv`, of elements that
    do not count.

        max_pool(reshape(arange(16.0), (1, 1, 4, 4)), 2)     # [[[[5, 7], [13, 15]]]]

    Raises `ShapeError` for shapes that do not fit, and for a padding that is as long as the window; `DTypeError` for
    complex numbers; `Error` for another padding.
    """
    x = ordered_array_of("max_pool", x)
    taps = _pooled("max_pool", x, window, stride, padding)
    if any(each.before or each.behind for each in taps):
        around = [(0, 0), (0, 0), *((each.before, each.behind) for each in taps)]
        x = pad(x, around, constant_values=_least(x))
    seen = windows(x._node, taps, caller())
    return Array(graph.reduce("max", seen, _elements(seen, taps), x._dtype, where=caller()), x._executor)


def mean_pool(
    x: ArrayLike,
    /,
    window: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    *,
    count_padding: bool = True,
) -> Array:
    """The means of windows over the axes behind the first two of `x` (batch, channels, *space). Arguments as of
    `max_pool`; the padding counts as zeros, or not at all where `count_padding` is false (the `count_include_pad` of
    other libraries).

    Dtypes as of `mean`: half adds up in float32, integers give the default real dtype. Errors as of `max_pool`.

        mean_pool(reshape(arange(16.0), (1, 1, 4, 4)), 2)     # [[[[2.5, 4.5], [10.5, 12.5]]]]
    """
    (x,) = arrays_of("mean_pool", x)
    taps = _pooled("mean_pool", x, window, stride, padding)
    dtype = x._dtype if x._dtype.is_inexact else x._executor.default_real
    wide = F32 if dtype.bits == 16 else dtype
    seen = windows(padded(cast(x._node, wide), taps, caller()), taps, caller())
    total = Array(graph.reduce("sum", seen, _elements(seen, taps), wide, where=caller()), x._executor)
    counts: Array | int = math.prod(each.length for each in taps)
    if not count_padding:
        counts = astype(_inside(x, taps), wide.public)
    return astype(total / counts, dtype.public)


# ---------------------------------------------------------------------- what users give


def _rank(what: str, x: Array) -> int:
    """The axes behind the first two."""
    if not 0 < x.ndim - 2 <= _MOST_AXES:
        raise ShapeError(
            f"{what} of shape {x.shape}",
            place=calling_line(),
            remedy="give (batch, channels, *space) with one to three axes of space; x[None] adds an axis",
        )
    return x.ndim - 2


def _numbers(what: str, name: str, value: PerAxis, rank: int) -> list[int]:
    """A positive number for each axis."""
    several = value if isinstance(value, Sequence) else (value,) * rank
    numbers = [length_of(f"{what} with {name}", each) for each in several]
    if len(numbers) != rank or not all(numbers):
        raise ShapeError(
            f"{what} with the {name} {value} along {rank} axes",
            place=calling_line(),
            remedy="give one positive number, or one for each axis",
        )
    return numbers


def _taps(
    what: str, x: Array, kernel: Sequence[int], stride: PerAxis, padding: Padding, dilation: Sequence[int]
) -> list[Taps]:
    """How windows lie along each axis. Raises `ShapeError` where none fits in."""
    strides = _numbers(what, "stride", stride, len(kernel))
    taps = [Taps(*each) for each in zip(kernel, strides, dilation, strict=True)]
    around = _around(what, padding, x.shape[2:], taps)
    taps = [each._replace(before=before, behind=behind) for each, (before, behind) in zip(taps, around, strict=True)]
    if any(each.count(length) < 1 for each, length in zip(taps, x.shape[2:], strict=True)):
        reach = tuple(each.reach for each in taps)
        raise ShapeError(
            f"{what} with windows of {reach} over {x.shape[2:]} elements with {around} around them",
            place=calling_line(),
            remedy="give more padding, or a shorter window",
        )
    return taps


def _around(what: str, padding: Padding, space: Sequence[int], taps: Sequence[Taps]) -> list[tuple[int, int]]:
    """Elements before and behind each axis."""
    if padding == "same":
        lengths = [
            max(0, (-(-length // each.stride) - 1) * each.stride + each.reach - length)
            for each, length in zip(taps, space, strict=True)
        ]
        return [(length // 2, length - length // 2) for length in lengths]
    if isinstance(padding, str):
        if padding != "valid":
            raise Error(f"{what} with the padding {padding!r}", place=calling_line(), remedy='use "same" or "valid"')
        return [(0, 0)] * len(taps)
    sides = list(padding) if isinstance(padding, Sequence) else [padding] * len(taps)
    pairs = [tuple(each) if isinstance(each, Sequence) else (each, each) for each in sides]
    if len(pairs) != len(taps) or any(len(pair) != 2 for pair in pairs):  # noqa: PLR2004
        raise ShapeError(
            f"{what} with the padding {padding} along {len(taps)} axes",
            place=calling_line(),
            remedy="give one number, or for each axis one or a pair (before, behind)",
        )
    named = f"{what} with padding"
    return [(length_of(named, before), length_of(named, behind)) for before, behind in pairs]


def _unfit(what: str, x: Array, w: Array, remedy: str) -> ShapeError:
    return ShapeError(f"{what} of shapes {x.shape} and {w.shape}", place=calling_line(), remedy=remedy)


# ---------------------------------------------------------------------- pooling


def _pooled(what: str, x: Array, window: PerAxis, stride: PerAxis | None, padding: Padding) -> list[Taps]:
    """How windows lie that each have an element of `x`."""
    rank = _rank(what, x)
    lengths = _numbers(what, "window", window, rank)
    taps = _taps(what, x, lengths, lengths if stride is None else stride, padding, [1] * rank)
    if any(max(each.before, each.behind) >= each.length for each in taps):
        raise ShapeError(
            f"{what} with {[(each.before, each.behind) for each in taps]} around windows of {tuple(lengths)}",
            place=calling_line(),
            remedy="give less padding: a window would have no element",
        )
    if 0 in x.shape[2:]:
        raise ShapeError(f"{what} of no elements: shape {x.shape}", place=calling_line(), remedy="check x.size first")
    return taps


def _elements(seen: Node, taps: Sequence[Taps]) -> tuple[int, ...]:
    """The axes of the elements of a window."""
    behind = len(seen.shape) - len(taps)
    return tuple(range(behind - len(taps), behind))


def _least(x: Array) -> float | int:
    """What no element of a dtype is less than."""
    if x._dtype.is_float:
        return -math.inf
    return 0 if x._dtype == BOOL else int(iinfo(x.dtype).min)


def _inside(x: Array, taps: Sequence[Taps]) -> Array:
    """How many elements of each window are no padding."""
    counts = None
    for axis, (each, length) in enumerate(zip(taps, x.shape[2:], strict=True)):
        first = arange(each.count(length), device=x.device) * each.stride - each.before
        inside = minimum(first + each.length, length) - maximum(first, 0)
        inside = reshape(inside, (-1,) + (1,) * (len(taps) - 1 - axis))
        counts = inside if counts is None else counts * inside
    assert counts is not None
    return counts
