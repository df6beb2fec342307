"""Eigenvectors of triangular matrices by back substitution, as LAPACK's trevc: a work-item has one, and they all go
from row to row. Real matrices have blocks of 2 × 2 on the diagonal for conjugate eigenvalues (schur.py), of which only
the vector of the first is computed.

Divisors are no less than an error of the matrix makes them, and a vector that grows is divided by its last element, as
it does for eigenvalues that are equal. All elements are the conjugates of the vectors': so they can be multiplied by Z
where Z^H is what there is, as conj(Z @ x) is the transpose of Z^H times conj(x).
"""

from __future__ import annotations

from typing import Any

from ocl_ir.language.builtins.registry import BUILTINS
from ocl_runtime.plan.kernels.linalg.scalars import divided

conj, group_id, local_id, local_size, sqrt = (
    BUILTINS[name] for name in ("conj", "group_id", "local_id", "local_size", "sqrt")
)

_GREATEST = 2.0**20
"""Elements that are greater have a vector divided."""


def is_second(w: Any, b: Any, k: Any, real: bool) -> Any:
    """Whether a row is the second one of a block."""
    if real:
        return k > 0 and w[b, k, max(k - 1, 0)] != 0
    return False


def is_first(w: Any, b: Any, k: Any, n: Any, real: bool) -> Any:
    """Whether a row is the first one of a block."""
    if real:
        return k + 1 < n and w[b, min(k + 1, n - 1), k] != 0
    return False


def store_values(w: Any, state: Any, powers: Any, values: Any, result: Any, real: bool) -> None:
    """Writes the eigenvalues of triangular matrices, and those times the powers of 2 that matrices were divided by as
    the first row of the result; NaN for matrices that are not triangular yet."""
    b = group_id(0)
    n = w.shape[1]
    power = powers[b, 0]
    if state[b, 0] >= 0:
        power = power * 0 / 0
    for k in range(local_id(0), n, local_size(0)):
        value = w[b, k, k]
        if real:
            imaginary = abs(value) * 0
            if is_first(w, b, k, n, real):
                imaginary = sqrt(abs(w[b, k, k + 1])) * sqrt(abs(w[b, k + 1, k]))
            if is_second(w, b, k, real):
                imaginary = -sqrt(abs(w[b, k - 1, k])) * sqrt(abs(w[b, k, k - 1]))
            values[b, k] = complex(value, imaginary)
            result[b, 0, k] = complex(value * power, imaginary * power)
        else:
            values[b, k] = value
            result[b, 0, k] = value * power


def substitute(w: Any, values: Any, x: Any, first: Any, last: Any, tiles: Any, eps: float, real: bool) -> None:
    """The elements from `last` down to `first` of the conjugates of all eigenvectors, which are columns of x."""
    n = w.shape[1]
    b = group_id(0) // tiles
    k = group_id(0) % tiles * local_size(0) + local_id(0)
    if k < n:
        value = conj(values[b, k])
        least = eps * max(abs(value), eps)
        paired = is_first(w, b, k, n, real)
        top = k + 1 if paired else k
        skipped = is_second(w, b, k, real)
        for step in range(last - first):
            j = last - 1 - step
            if j > top or skipped:
                x[b, j, k] = 0
            elif j >= k:
                if paired:
                    x[b, j, k] = of_block(w, b, k, value, j == k)
                else:
                    x[b, j, k] = 1
            elif not is_first(w, b, j, n, real):
                right = product_with_row(w, x, b, j, k, top)
                if is_second(w, b, j, real):
                    above = product_with_row_behind(w, x, b, j - 1, j, k, top)
                    above, right = solve_block(w, b, j - 1, value, above, right, least)
                    x[b, j - 1, k] = above
                    size = max(abs(above), abs(right))
                    start = j - 1
                else:
                    right = right / at_least(conj(w[b, j, j]) - value, least)
                    size = abs(right)
                    start = j
                x[b, j, k] = right
                if size > _GREATEST:
                    for i in range(start, top + 1):
                        x[b, i, k] = x[b, i, k] / size


def product_with_row(w: Any, x: Any, b: Any, j: Any, k: Any, top: Any) -> Any:
    """What the elements behind the diagonal of a row have on the right side of its equation."""
    return product_with_row_behind(w, x, b, j, j, k, top)


def product_with_row_behind(w: Any, x: Any, b: Any, j: Any, behind: Any, k: Any, top: Any) -> Any:
    """The same behind another column."""
    total = x[b, top, k] * 0
    for i in range(behind + 1, top + 1):
        total = total - conj(w[b, j, i]) * x[b, i, k]
    return total


def of_block(w: Any, b: Any, k: Any, value: Any, is_upper: Any) -> Any:
    """One of the two elements of the vector that belong to its own block: the greater is 1."""
    right = w[b, k, k + 1]
    below = w[b, k + 1, k]
    imaginary = value.imag
    upper = complex(imaginary * 0 + 1, imaginary * 0)
    lower = complex(imaginary * 0, imaginary / right)
    if abs(right) < abs(below):
        upper = complex(imaginary * 0, -right / imaginary)
        lower = complex(imaginary * 0 + 1, imaginary * 0)
    return upper if is_upper else lower


def at_least(divisor: Any, least: Any) -> Any:
    """A divisor, or the least one."""
    return divisor if abs(divisor) >= least else divisor * 0 + least


def solve_block(w: Any, b: Any, k: Any, value: Any, above: Any, below: Any, least: Any) -> Any:
    """The two unknowns of a real block minus a complex number, by elimination with a pivot."""
    pivot = w[b, k, k] - value
    right = w[b, k, k + 1]
    left = w[b, k + 1, k]
    if abs(pivot) >= abs(left):
        ratio = left / pivot
        second = (below - ratio * above) / at_least(pivot - ratio * right, least)
        return ((above - right * second) / pivot, second)
    ratio = pivot / left
    second = (above - ratio * below) / at_least(right - ratio * pivot, least)
    return ((below - pivot * second) / left, second)


def normalise_columns(w: Any, products: Any, scales: Any, values: Any, result: Any, tiles: Any, real: bool) -> None:
    """Writes the eigenvectors below the eigenvalues: undoes what balancing did, gives them length 1, and makes the
    greatest element of those of complex eigenvalues real, as LAPACK does; so it does for all of complex matrices."""
    n = products.shape[1]
    b = group_id(0) // tiles
    k = group_id(0) % tiles * local_size(0) + local_id(0)
    if k < n:
        second = is_second(w, b, k, real)
        source = k - 1 if second else k
        largest = abs(products[b, 0, 0]) * 0
        head = products[b, 0, source]
        for i in range(n):
            element = products[b, i, source] * scales[b, i]
            if abs(element) > largest:
                largest = abs(element)
                head = element
        squares = largest * 0
        for i in range(n):
            ratio = abs(products[b, i, source] * scales[b, i]) / largest
            squares = squares + ratio * ratio
        value = result[b, 0, k]
        turn = conj(divided(head, largest))
        if real and value.imag == 0:
            turn = turn * 0 + 1
        turn = divided(turn, sqrt(squares))
        for i in range(n):
            element = divided(products[b, i, source] * scales[b, i], largest) * turn
            result[b, i + 1, k] = element if second else conj(element)
        if value.real != value.real:
            for i in range(n):
                result[b, i + 1, k] = value
