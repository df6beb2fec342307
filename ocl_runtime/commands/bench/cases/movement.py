"""Elements that change their places: reversed, transposed, permuted, and sums of such."""

from __future__ import annotations

from typing import Any

from ocl_runtime.commands.bench.case import ANY, Case, moved_into_order, square
from ocl_runtime.commands.bench.cases.elementwise import squares

_PERMUTED = ((0, 2, 1, 3), (3, 2, 1, 0), (0, 3, 1, 2), (2, 0, 3, 1))


def _wide(data: Any, n: int, dtype: Any) -> tuple[Any, ...]:
    """A matrix that is twice as high as wide, in whole tiles where it is large."""
    side = square(n // 2, 64 if n >= 2**14 else 1)
    return (data.real(dtype, 2 * side, side),)


def _four_axes(data: Any, n: int, dtype: Any) -> tuple[Any, ...]:
    """A batch of images: 32 channels, a fourth axis of 64, and squares of the rest."""
    side = square(max(4, n // (32 * 64)))
    return (data.real(dtype, side, 32, side, 64),)


def _transposed(xp: Any, x: Any) -> Any:
    return moved_into_order(xp, x.T)


CASES = (
    Case(
        "reversed",
        "x[::-1, ::-1] * 1",
        lambda _, x: x[::-1, ::-1] * 1,
        squares(1),
        ANY,
        own={"torch": lambda xp, x: xp.flip(x, (0, 1))},
    ),
    Case("transpose", "transpose", _transposed, _wide, ANY),
    Case("transpose-halves", "transpose, f16", _transposed, _wide, ("f16",)),
    Case("transpose-odd", "transpose, odd sides", _transposed, squares(1, odd=1)),
    Case("x.T+y", "x.T + y", lambda _, x, y: x.T + y, squares(2), ANY, operations=1),
    Case("reshape-x.T", "reshape(x.T, -1) * 2", lambda xp, x: xp.reshape(x.T, (-1,)) * 2, squares(1), operations=1),
    *(
        Case(
            f"permute-{''.join(map(str, axes))}",
            f"permute {axes}",
            lambda xp, x, axes=axes: moved_into_order(xp, xp.transpose(x, axes)),
            _four_axes,
        )
        for axes in _PERMUTED
    ),
)
