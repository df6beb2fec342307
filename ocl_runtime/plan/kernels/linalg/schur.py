"""Hessenberg matrices made upper triangular by QR iterations with implicit shifts, as LAPACK's lahqr does it: two
conjugate shifts at once for real ones, whose blocks of 2 × 2 on the diagonal have conjugate eigenvalues in the end
(Francis, The QR transformation, 1961), and one for complex ones.

An iteration looks for the last subdiagonal element that is negligible, and behind it either splits off what is
triangular already, or chases a bulge from there to the end of the active block. The group that has a matrix spreads
each reflector over its work-items; where the active block ends and how long it has been the same is all the state.

W has rows beside the matrix that are reflected from the left alone (hessenberg.py), which makes them the Schur vectors;
without them, only the active block is reflected.
"""

from __future__ import annotations

from typing import Any

from ocl_ir.language.builtins.registry import BUILTINS
from ocl_runtime.plan.kernels.linalg.groups import max_of, wait
from ocl_runtime.plan.kernels.linalg.hessenberg import reflector
from ocl_runtime.plan.kernels.linalg.scalars import divided, quotient
from ocl_runtime.plan.kernels.linalg.standard_block import standardise

conj, local_id, local_size, sqrt = (BUILTINS[name] for name in ("conj", "local_id", "local_size", "sqrt"))

_PATIENCE = 10
"""Iterations for one eigenvalue before a shift that is made up, in case that cycles."""


def iterate(
    w: Any, b: Any, n: Any, width: Any, end: Any, since: Any, iterations: Any, eps: float, tiny: float, real: bool
) -> Any:
    """So many iterations for the active block that ends in row `end`, by a group. Gives the end and the iterations
    since it changed. An end of -1 says that all is done."""
    item = local_id(0)
    items = local_size(0)
    smallest = tiny / eps
    for _ in range(iterations):
        if end < 0:
            break
        begin = 0
        for k in range(1 + item, end + 1, items):
            if is_negligible(w, b, k, end, smallest, eps):
                begin = k
        begin = int(max_of(begin))
        wait()
        if begin > 0 and item == 0:
            w[b, begin, begin - 1] = 0
        if end - begin < (2 if real else 1):
            if real and begin < end:
                standardise(w, b, n, width, begin, eps)
            end = begin - 1
            since = 0
        else:
            since = since + 1
            chase(w, b, n, width, begin, end, since, tiny, real)
        wait()
    return (end, since)


def is_negligible(w: Any, b: Any, k: Any, end: Any, smallest: Any, eps: float) -> Any:
    """Whether the element left of a diagonal one may count as 0 (Ahues and Tisseur, A new deflation criterion for the
    QR algorithm, 1997)."""
    before = w[b, k - 1, k - 1]
    here = w[b, k, k]
    below = abs(w[b, k, k - 1])
    above = abs(w[b, k - 1, k])
    size = abs(before) + abs(here)
    if size == 0:
        if k > 1:
            size = size + abs(w[b, k - 1, k - 2])
        if k < end:
            size = size + abs(w[b, k + 1, k])
    apart = abs(before - here)
    greater = max(abs(here), apart)
    lesser = min(abs(here), apart)
    total = greater + max(below, above)
    product = min(below, above) * (max(below, above) / total)
    return below <= smallest or (below <= eps * size and product <= max(smallest, eps * (lesser * (greater / total))))


def chase(w: Any, b: Any, n: Any, width: Any, begin: Any, end: Any, since: Any, tiny: float, real: bool) -> None:
    """One iteration with shifts, which makes a bulge below the diagonal and chases it out of the active block."""
    item = local_id(0)
    items = local_size(0)
    first_row = 0 if width > n else begin
    last_column = width if width > n else end + 1
    x, y, z = double_shifted(w, b, begin, end, since) if real else single_shifted(w, b, begin, end, since)
    wait()
    for k in range(begin, end):
        third = min(k + 2, end)
        if k > begin:
            x = w[b, k, k - 1]
            y = w[b, k + 1, k - 1]
            if real:
                z = w[b, third, k - 1] if k + 2 <= end else y * 0
        scale = max(abs(y), abs(z))
        below = scale * sqrt((abs(y) / scale) ** 2 + (abs(z) / scale) ** 2) if scale > tiny else scale * 0
        factor, divisor, first = reflector(x, below, tiny)
        y = y / divisor
        z = z / divisor
        for j in range(k + item, last_column, items):
            total = w[b, k, j] + conj(y) * w[b, k + 1, j]
            if real:
                total = total + z * w[b, third, j]
            total = total * factor
            w[b, k, j] = w[b, k, j] - total
            w[b, k + 1, j] = w[b, k + 1, j] - total * y
            if real:
                w[b, third, j] = w[b, third, j] - total * z
        wait()
        if k > begin and item == 0:
            w[b, k, k - 1] = first
            w[b, k + 1, k - 1] = 0
            if real and third > k + 1:
                w[b, third, k - 1] = 0
        for i in range(first_row + item, min(k + 3, end) + 1, items):
            total = w[b, i, k] + w[b, i, k + 1] * y
            if real:
                total = total + w[b, i, third] * z
            total = total * factor
            w[b, i, k] = w[b, i, k] - total
            w[b, i, k + 1] = w[b, i, k + 1] - total * conj(y)
            if real:
                w[b, i, third] = w[b, i, third] - total * z
        wait()


def double_shifted(w: Any, b: Any, begin: Any, end: Any, since: Any) -> Any:
    """The first column of (H - s)(H - t) of a real matrix, for conjugate or equal real shifts s and t: the eigenvalues
    of the last block of 2 × 2, or the one of them that is nearer to the last element."""
    corner = w[b, end, end]
    top = w[b, end - 1, end - 1]
    right = w[b, end - 1, end]
    below = w[b, end, end - 1]
    if since % _PATIENCE == 0:
        at_end = since % (2 * _PATIENCE) == 0
        row = end if at_end else begin + 2
        size = abs(w[b, row, row - 1]) + abs(w[b, row - 1, row - 2])
        corner = 0.75 * size + (w[b, end, end] if at_end else w[b, begin, begin])
        top = corner
        right = -0.4375 * size
        below = size
    size = abs(corner) + abs(top) + abs(right) + abs(below)
    shift = size * 0
    imaginary = shift
    if size > 0:
        mean = (top / size + corner / size) / 2
        determinant = (top / size - mean) * (corner / size - mean) - (right / size) * (below / size)
        root = sqrt(abs(determinant))
        if determinant >= 0:
            shift = mean * size
            imaginary = root * size
        else:
            nearer = abs(mean + root - corner / size) <= abs(mean - root - corner / size)
            shift = (mean + root if nearer else mean - root) * size
    apart = w[b, begin, begin] - shift
    below = w[b, begin + 1, begin]
    size = abs(apart) + abs(imaginary) + abs(below)
    ratio = below / size
    x = ratio * w[b, begin, begin + 1] + apart * (apart / size) + imaginary * (imaginary / size)
    y = ratio * (apart + (w[b, begin + 1, begin + 1] - shift))
    return (x, y, ratio * w[b, begin + 2, begin + 1])


def single_shifted(w: Any, b: Any, begin: Any, end: Any, since: Any) -> Any:
    """The first column of H - s of a complex matrix, for the eigenvalue s of the last block of 2 × 2 that is nearer to
    its last element (Wilkinson's shift), and a 0."""
    shift = w[b, end, end]
    if since % _PATIENCE == 0:
        at_end = since % (2 * _PATIENCE) == 0
        row = end if at_end else begin + 1
        shift = (shift if at_end else w[b, begin, begin]) + 0.75 * abs(w[b, row, row - 1])
    else:
        root = sqrt(w[b, end - 1, end]) * sqrt(w[b, end, end - 1])
        half = (w[b, end - 1, end - 1] - shift) / 2
        size = max(abs(root), abs(half))
        if abs(root) > 0:
            half_part = divided(half, size)
            root_part = divided(root, size)
            other = size * sqrt(half_part * half_part + root_part * root_part)
            if abs(half + other) < abs(half - other):
                other = -other
            shift = shift - root * quotient(root, half + other)
    return (w[b, begin, begin] - shift, w[b, begin + 1, begin], shift * 0)
