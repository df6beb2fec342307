"""Matrices balanced, so that rows and columns with the same number are of like length: by powers of 2, which round
nothing (Parlett and Reinsch, Balancing a matrix for calculation of eigenvalues and eigenvectors, 1969), with the
lengths and the bound of LAPACK's gebal (James, Langou and Lowery, On matrix balancing and eigenvector computation,
2014).

Arrays of these functions have the batch as their first axis: in local memory it has length 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ocl_ir.language.builtins.registry import BUILTINS
from ocl_runtime.plan.kernels.linalg.groups import any_of, max_of, sum_of, wait
from ocl_runtime.plan.kernels.linalg.scalars import divided, greatest_part

isfinite, local_id, local_size, sqrt = (BUILTINS[name] for name in ("isfinite", "local_id", "local_size", "sqrt"))

ROUNDS = 20
"""At most; each makes some row and column shorter together by 5%, most matrices take 2 or 3."""


def length(element: Callable[[Any], Any], count: Any) -> Any:
    """The length of a vector that all work-items of a group know of, whose squares may be no numbers."""
    largest = abs(element(0)) * 0
    for i in range(local_id(0), count, local_size(0)):
        largest = max(largest, abs(element(i)))
    largest = max_of(largest)
    squares = largest * 0
    for i in range(local_id(0), count, local_size(0)):
        ratio = abs(element(i)) / largest if largest > 0 else largest
        squares = squares + ratio * ratio
    return largest * sqrt(sum_of(squares))


def balance(w: Any, scales: Any, b: Any, n: Any, limit: float) -> None:
    """Divides rows by `scales` and multiplies columns by them, in a group."""
    begin_scales(scales, b, n)
    for _ in range(ROUNDS):
        if not any_of(balance_once(w, scales, b, n, limit)):
            break


def begin_scales(scales: Any, b: Any, n: Any) -> None:
    """Nothing is scaled yet."""
    for i in range(local_id(0), n, local_size(0)):
        scales[b, i] = 1
    wait()


def balance_once(w: Any, scales: Any, b: Any, n: Any, limit: float) -> Any:
    """Goes through all rows and columns once, and gives whether any was scaled. No scale leaves the range from `limit`
    to its inverse."""
    item = local_id(0)
    items = local_size(0)
    changed = False
    for i in range(n):
        column = length(lambda j: w[b, j, i], n)  # noqa: B023, it is written out here
        row = length(lambda j: w[b, i, j], n)  # noqa: B023
        before = 0.95 * (column + row)
        scale = scales[b, i]
        factor = scale * 0 + 1
        if column > 0 and row > 0:
            while column < row / 2 and scale * factor < limit:
                factor = factor * 2
                column = column * 2
                row = row / 2
            while row < column / 2 and scale * factor > 1 / limit:
                factor = factor / 2
                column = column / 2
                row = row * 2
        wait()
        if any_of(column + row < before):
            changed = True
            if item == 0:
                scales[b, i] = scale * factor
            for j in range(item, n, items):
                if j != i:
                    w[b, i, j] = w[b, i, j] / factor
                    w[b, j, i] = w[b, j, i] * factor
        wait()
    return changed


def normalise(w: Any, b: Any, n: Any, tiny: float) -> Any:
    """Divides matrices by the power of 2 that is nearest below their greatest magnitude: squares are numbers then, and
    what is `tiny` counts for nothing. Gives that power, and whether all elements are finite."""
    item = local_id(0)
    items = local_size(0)
    largest = greatest_part(w[b, 0, 0]) * 0
    finite = True
    for i in range(item, n, items):
        for j in range(n):
            size = greatest_part(w[b, i, j])
            largest = max(largest, size)
            finite = finite and isfinite(size)
    largest = max_of(largest)
    power = largest * 0 + 1
    finite = not any_of(not finite)
    if finite and largest > 0:
        while largest >= 2:
            largest = largest / 2
            power = power * 2
        while largest < 1 and power > tiny:
            largest = largest * 2
            power = power / 2
    wait()
    for i in range(item, n, items):
        for j in range(n):
            w[b, i, j] = divided(w[b, i, j], power)
    wait()
    return (power, finite)
