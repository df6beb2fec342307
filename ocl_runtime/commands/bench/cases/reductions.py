"""Sums, maxima and their places; running sums; softmax, layer norm and variance."""

from __future__ import annotations

from typing import Any

import numpy as np

from ocl_runtime.commands.bench.case import ANY, REAL, Arrays, Case, rows, square
from ocl_runtime.commands.bench.cases.elementwise import squares
from ocl_runtime.commands.bench.data import Data

_WIDTHS = (64, 256, 1024, 4096, 16384, 32768)
_KINDS: dict[str, tuple[str, ...]] = {"sum": ("f32", "f64", "i32", "i64"), "max": ANY, "argmax": ANY}
_TORCH = {"max": "amax"}


def _reduced(name: str, where: str, axis: int | None, inputs: Any, words: str) -> Case:
    def torch(xp: Any, x: Any) -> Any:
        found = getattr(xp, _TORCH.get(name, name))
        return found(x) if axis is None else found(x, axis)

    def any_place(inputs: Arrays, result: np.ndarray) -> bool:
        """Of several largest elements each may be named."""
        (x,) = inputs
        if axis is None:
            return bool(x.reshape(-1)[int(result)] == x.max())
        named = np.take_along_axis(x, np.expand_dims(result, axis).astype(np.int64), axis)
        return bool(np.array_equal(named, x.max(axis=axis, keepdims=True)))

    return Case(
        f"{name}-{where}",
        f"{name}, {words}",
        lambda xp, x: getattr(xp, name)(x, axis=axis),
        inputs,
        _KINDS[name],
        ceiling="read",
        operations=1,
        own={"torch": torch},
        racing=any_place if name == "argmax" else None,
    )


def _cube(data: Data, n: int, dtype: np.dtype[Any]) -> tuple[Any, ...]:
    side = square(max(1, n // 64))
    return (data.real(dtype, 64, side, side),)


def _in_rows(width: int) -> Any:
    return lambda data, n, dtype: (data.real(dtype, *rows(n, width)),)


def softmax(xp: Any, x: Any) -> Any:
    """Of rows."""
    powers = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return powers / xp.sum(powers, axis=-1, keepdims=True)


def layer_norm(xp: Any, x: Any) -> Any:
    """Of rows, with a product for the square."""
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    return centred / xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)


def layer_norm_with_power(xp: Any, x: Any) -> Any:
    """Of rows, as textbooks have it."""
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    return centred / (xp.mean(centred**2, axis=-1, keepdims=True) + 1e-5) ** 0.5


def _norms(width: int) -> tuple[Case, ...]:
    def case(name: str, words: str, expression: Any, operations: int, **more: Any) -> Case:
        return Case(
            f"{name}-{width}",
            f"{words}, rows of {width}",
            expression,
            _in_rows(width),
            slabs=True,
            operations=operations,
            **more,
        )

    normal = {"torch": lambda xp, x: xp.nn.functional.layer_norm(x, x.shape[-1:])}
    variance = {"torch": lambda xp, x: xp.var(x, -1, correction=0)}
    return (
        case("softmax", "softmax", softmax, 5, own={"torch": lambda xp, x: xp.softmax(x, -1)}),
        case("layer-norm", "layer norm", layer_norm, 8, own=normal),
        case("layer-norm-power", "layer norm with **2", layer_norm_with_power, 8, own=normal),
        case("variance", "variance", lambda xp, x: xp.var(x, axis=-1), 4, own=variance, ceiling="read"),
    )


CASES = (
    *(
        _reduced(name, *place)
        for name in _KINDS
        for place in (
            ("all", None, squares(1), "all of a square"),
            ("first", 0, squares(1), "first axis"),
            ("last", 1, squares(1), "last axis"),
            ("middle", 1, _cube, "middle axis of three"),
            ("odd", 1, lambda data, n, dtype: (data.real(dtype, square(n) - 1, square(n) + 1),), "last axis, odd"),
        )
    ),
    *(_reduced("sum", f"rows-{width}", 1, _in_rows(width), f"rows of {width}") for width in (33, 64, 128, 256)),
    *(_reduced("sum", f"columns-{width}", 0, _in_rows(width), f"{width} columns") for width in (8, 16, 32)),
    *(case for width in _WIDTHS for case in _norms(width)),
    Case(
        "running-sum",
        "running sum",
        lambda xp, x: xp.cumsum(x, axis=0),
        lambda data, n, dtype: (
            data.real(dtype, n, low=0 if dtype.kind in "iu" else -0.5, high=5 if dtype.kind in "iu" else 0.5),
        ),
        ("f32", "f64", "i32"),
        gpu=27,
        operations=1,
    ),
    *(
        Case(
            f"running-sum-rows{suffix}",
            f"running sum, rows of {width}",
            lambda xp, x: xp.cumsum(x, axis=1),
            _in_rows(width),
            REAL[:1],
            slabs=True,
            operations=1,
        )
        for width, suffix in ((16384, ""), (50, "-50"))
    ),
)
