"""Numbers at even distances, coordinates of grids, and windows, as NumPy makes them: float64 where they are floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import ocl_runtime.arrays as xp
from ocl_ir.source_line import calling_line
from ocl_runtime import special
from ocl_runtime.arrays import Array
from ocl_runtime.arrays.axes import length_of
from ocl_runtime.arrays.core import executor_of
from ocl_runtime.arrays.current_runtime import current_executor
from ocl_runtime.arrays.meaning.dtypes import common_of
from ocl_runtime.errors import DTypeError, ShapeError
from ocl_runtime.numpy.elementwise import UFUNCS
from ocl_runtime.numpy.operands import array_of, arrays, arrays_in, common, only, operands, sizes
from ocl_runtime.numpy.promotion import DTypeLike, dtype_of, made_as, real
from ocl_runtime.numpy.results import numpys
from ocl_runtime.numpy.shapes import atleast_1d, lying

__all__ = [
    "arange", "bartlett", "blackman", "c_", "geomspace", "hamming", "hanning", "indices", "kaiser", "linspace",
    "logspace", "meshgrid", "mgrid", "ogrid", "r_", "vander",
]  # fmt: skip


def arange(
    start_or_stop: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: DTypeLike = None,
    device: object = None,
    like: Any = None,
) -> Array:
    """`start, start + step, …` below `stop`, or from 0; float64 if one of them is a float."""
    only("arange", like=like)
    numbers = [_number(x) for x in (start_or_stop, stop, step)]
    if dtype is None and any(isinstance(x, float) for x in numbers):
        dtype = real(current_executor())
    first, last, by = numbers
    return xp.arange(
        first, last, 1 if by is None else by, dtype=None if dtype is None else made_as(dtype), device=device
    )


def _number(x: Any) -> Any:
    """A number of NumPy's, or in an array, as Python's."""
    return x.item() if isinstance(x, np.generic | np.ndarray) else x.numpy().item() if isinstance(x, Array) else x


def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: object = None,
) -> Any:
    """`num` evenly spaced numbers along a new axis; `start` and `stop` may be arrays. float64 unless told otherwise.

    Raises `ShapeError` for a number that is no size.
    """
    num = length_of("linspace", num)
    if device is not None:
        xp.zeros((), device=device)  # which raises for another device
    ends, executor = operands("linspace", (start, stop))
    computed = common(*ends, 1.0)
    first, last = (array_of(x, computed, executor) for x in ends)
    steps = num - 1 if endpoint else num
    with xp.use(executor):
        number = xp.reshape(xp.arange(num, dtype=computed), (-1,) + (1,) * max(first.ndim, last.ndim))
    step = (last - first) / steps if steps > 0 else xp.full_like(last - first, math.nan)
    line = first + number * (step if steps > 0 else 0)
    if endpoint and num > 1:
        line = xp.where(xp.equal(number, num - 1), last, line)
    if dtype is not None and dtype_of(dtype).kind in "iu":
        line = xp.floor(line)
    line = xp.moveaxis(xp.astype(line, computed if dtype is None else made_as(dtype, executor)), 0, axis)
    return (line, step) if retstep else line


def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> Array:
    """The powers of a base whose exponents `linspace` gives."""
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    powers = UFUNCS["power"](base, exponents)
    return array_of(powers, None if dtype is None else made_as(dtype))


def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: DTypeLike = None, axis: int = 0
) -> Array:
    """Numbers of which each is a fixed multiple of the one before. Raises `ShapeError` for an end that is 0."""
    first, last = (array_of(x, np.float64) for x in arrays("geomspace", (start, stop)))
    if bool(xp.any(xp.logical_or(xp.equal(first, 0), xp.equal(last, 0)))):
        raise ShapeError("geomspace from or to 0", place=calling_line(), remedy="use linspace, or another end")
    ratio = xp.log(last / first)
    line = first * xp.exp(linspace(xp.zeros_like(ratio), ratio, num, endpoint))
    with xp.use(line._executor):
        number = xp.reshape(xp.arange(num), (-1,) + (1,) * max(first.ndim, last.ndim))
    if endpoint and num > 1:
        line = xp.where(xp.equal(number, num - 1), last, line)
    line = xp.moveaxis(line, 0, axis)
    return array_of(line, None if dtype is None else made_as(dtype))


# ---------------------------------------------------------------------- grids


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Array, ...]:
    """Coordinate arrays: number `i` varies along axis `i`, and 0 and 1 are exchanged for "xy"."""
    del copy
    lines = [xp.reshape(x, -1) for x in arrays("meshgrid", xi)]
    grids = xp.meshgrid(*lines, indexing=indexing)  # type: ignore[arg-type]
    if not sparse:
        return tuple(grids)
    order = [1, 0, *range(2, len(lines))] if indexing == "xy" and len(lines) > 1 else list(range(len(lines)))
    return tuple(lying(line, axis, len(lines)) for line, axis in zip(lines, order, strict=True))


def indices(dimensions: Any, dtype: DTypeLike = int, sparse: bool = False) -> Any:
    """The coordinate along each axis, everywhere in a shape; with axes of length 1 if `sparse`."""
    shape = sizes(dimensions)
    lines = [xp.arange(length, dtype=made_as(dtype)) for length in shape]
    grids = meshgrid(*lines, sparse=sparse, indexing="ij")
    if sparse:
        return grids
    return xp.stack(list(grids)) if grids else xp.zeros((0,), dtype=made_as(dtype))


class _Grid:
    """`mgrid[0:5, 0:3]` and `ogrid[0:5, 0:1:10j]`: coordinates by slices, a count of points as a complex step."""

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    @numpys
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _ticks(key)
        lines = [_ticks(part) for part in key]
        kind = common(*lines)
        lines = [xp.astype(line, kind, copy=False) for line in lines]
        grids = meshgrid(*lines, sparse=self._sparse, indexing="ij")
        return grids if self._sparse else xp.stack(list(grids))


mgrid = _Grid(sparse=False)
ogrid = _Grid(sparse=True)


class _Row:
    """`r_[1:4, 7, x]`: slices, numbers and arrays one after the other."""

    @numpys
    def __getitem__(self, key: Any) -> Array:
        return xp.concat([atleast_1d(part) for part in _pieces(key)], axis=0)


class _Columns:
    """`c_[x, y]`: slices, numbers and arrays beside each other, lines as columns."""

    @numpys
    def __getitem__(self, key: Any) -> Array:
        return xp.concat([xp.reshape(x, (-1, 1)) if x.ndim < 2 else x for x in _pieces(key)], axis=-1)


r_ = _Row()
c_ = _Columns()


def _pieces(key: Any) -> list[Array]:
    """The parts of a key as arrays of one dtype; numbers are weak."""
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(part, str) for part in parts):
        raise DTypeError("r_ with directions", place=calling_line(), remedy="use concatenate, stack or column_stack")
    with xp.use(executor_of("r_", parts)):
        pieces, executor = operands("r_", [_ticks(part) if isinstance(part, slice) else part for part in parts])
    kind = common(*pieces)
    return [array_of(x, kind, executor) for x in pieces]


def _ticks(part: slice) -> Array:
    first, step = _number(part.start) or 0, _number(part.step)
    last = _number(part.stop)
    if last is None:
        raise DTypeError("a grid without an end", place=calling_line(), remedy="say where it ends: mgrid[0:5]")
    if isinstance(step, complex):
        line: Array = linspace(first, last, int(abs(step)))
        return line
    return arange(first, last, 1 if step is None else step)


# ---------------------------------------------------------------------- windows


def _window(M: Any, of: Callable[[Array], Array]) -> Array:  # noqa: N803
    """A function of the odd numbers around 0 that NumPy's windows are made of; 1 for one point."""
    executor = executor_of("window", arrays_in(M))
    count = int(M)
    with xp.use(executor):
        if count <= 1:
            return xp.ones(max(count, 0), dtype=real(executor))
        return of(xp.arange(1 - count, count, 2, dtype=real(executor)) / (count - 1))


def hanning(M: Any) -> Array:  # noqa: N803
    """The Hann window."""
    return _window(M, lambda t: 0.5 + 0.5 * xp.cos(math.pi * t))


def hamming(M: Any) -> Array:  # noqa: N803
    """The Hamming window."""
    return _window(M, lambda t: 0.54 + 0.46 * xp.cos(math.pi * t))


def blackman(M: Any) -> Array:  # noqa: N803
    """The Blackman window."""
    return _window(M, lambda t: 0.42 + 0.5 * xp.cos(math.pi * t) + 0.08 * xp.cos(2 * math.pi * t))


def bartlett(M: Any) -> Array:  # noqa: N803
    """The Bartlett window, a triangle."""
    return _window(M, lambda t: 1 - xp.abs(t))


def kaiser(M: Any, beta: Any) -> Array:  # noqa: N803
    """The Kaiser window, of a shape that the number `beta` says."""
    shape = float(_number(beta))
    return _window(M, lambda t: special.i0(shape * xp.sqrt(1 - t * t)) / float(np.i0(shape)[()]))


# ---------------------------------------------------------------------- powers


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:  # noqa: N803
    """The powers of the elements, one row for each, the highest first unless `increasing`."""
    base = array_of(x)
    base = array_of(base, common_of(base.dtype, np.int64))
    count = base.size if N is None else N
    with xp.use(base._executor):
        powers = xp.arange(count, dtype=base.dtype)
    powers = powers if increasing else xp.flip(powers)
    return xp.pow(xp.reshape(base, (-1, 1)), powers)
