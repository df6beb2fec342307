"""Builtins of tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_ir.errors import DTypeError, ShapeError
from ocl_ir.language.builtins.tiles import Tiles
from ocl_ir.language.plain import tiles
from ocl_ir.language.values.table import Builtin
from ocl_ir.language.values.values import ArrayView, Value, is_tile


def tile(t: Tiles, shape: Value, dtype: Value, fill: Value = 0) -> Value:
    """A tile of one value, which belongs to the whole group."""
    return t.filled(_shape(t, shape), t.dtype_of(dtype), fill)


def load_tile(t: Tiles, x: Value, origin: Value, shape: Value, fill: Value = 0, *, inside: Value = False) -> Value:
    """The elements of an array from an origin on, as a tile; those outside of the array are `fill`. `inside` promises
    that there are none."""
    if not isinstance(x, ArrayView):
        raise t.fault(f"load_tile of {t.described(x)}", "give an array", DTypeError)
    lengths = _shape(t, shape)
    return t.loaded(x, _origin(t, origin, x, lengths), lengths, fill, inside=bool(inside))


def store_tile(t: Tiles, x: Value, origin: Value, value: Value) -> None:
    """Writes a tile into an array from an origin on; what would lie outside is not stored."""
    if not isinstance(x, ArrayView) or not is_tile(value):
        what = f"store_tile of {t.described(value)} into {t.described(x)}"
        raise t.fault(what, "give an array and a tile", DTypeError)
    t.store_tile(x, _origin(t, origin, x, value.shape), value)


def dot(t: Tiles, acc: Value, a: Value, b: Value, *, matrix: Value = False) -> Value:
    """`acc + a @ b`: the products are added one by one with `fma`, in ascending order of the inner axis; into halves in
    float32, rounded at the end. `matrix` lets them be added in the order of the device's matrix instructions."""
    for value in (acc, a, b):
        if not is_tile(value) or len(value.shape) != 2:
            raise t.fault(f"dot of {t.described(value)}", "give tiles with two axes", DTypeError)
    if not isinstance(matrix, bool):
        raise t.fault(f"dot with matrix={t.described(matrix)}", "give True or False, known now", DTypeError)
    return t.dot(t.in_registers(acc), a, b, matrix=matrix)


def _shape(t: Tiles, shape: Value) -> tuple[int, ...]:
    lengths = shape if isinstance(shape, tuple) else (shape,)
    for length in lengths:
        if not isinstance(length, int | np.integer) or isinstance(length, bool) or length < 1:
            raise t.fault(
                f"a length of a tile is {t.described(length)}",
                "use numbers that are known: annotate n: Constant[int]",
                ShapeError,
            )
    if not 1 <= len(lengths) <= 2:
        raise t.fault(f"a tile with {len(lengths)} axes", "use one or two", ShapeError)
    return tuple(map(int, lengths))


def _origin(t: Tiles, origin: Value, x: ArrayView, shape: tuple[int, ...]) -> tuple[Any, ...]:
    coordinates = origin if isinstance(origin, tuple) else (origin,)
    if not len(coordinates) == len(x.shape) == len(shape):
        raise t.fault(
            f"a tile with {len(shape)} axes at {len(coordinates)} coordinates of {x}",
            "index the array first: load_tile(x[i], …)",
            ShapeError,
        )
    return coordinates


_PYTHON: dict[str, Callable[..., Any]] = {
    "tile": tiles.tile,
    "load_tile": tiles.load_tile,
    "store_tile": tiles.store_tile,
    "dot": tiles.dot,
}

BUILTINS = {
    function.__name__: Builtin(function.__name__, function, _PYTHON[function.__name__])
    for function in (tile, load_tile, store_tile, dot)
}
"""By the name in `ocl_runtime.language`."""
