"""Real blocks of 2 × 2 on the diagonal in the standard form of LAPACK's lanv2: upper triangular, or with equal elements
on the diagonal and others of different sign, whose eigenvalues are conjugate."""

from __future__ import annotations

from typing import Any

from ocl_ir.language.builtins.registry import BUILTINS
from ocl_runtime.plan.kernels.linalg.groups import wait

copysign, hypot, local_id, local_size, sign, sqrt = (
    BUILTINS[name] for name in ("copysign", "hypot", "local_id", "local_size", "sign", "sqrt")
)


def rotation_to_standard(a: Any, b: Any, c: Any, d: Any, eps: float) -> Any:
    """The block in its standard form, and the cosine and the sine of the rotation that gives it."""
    zero = a * 0
    cosine = zero + 1
    sine = zero
    half = (a - d) / 2
    greater = max(abs(b), abs(c))
    lesser = min(abs(b), abs(c)) * sign(b) * sign(c)
    if c == 0:
        cosine = zero + 1
    elif b == 0:
        cosine = zero
        sine = zero + 1
        a, d = (d, a)
        b, c = (-c, zero)
    elif half != 0 or sign(b) == sign(c):
        scale = max(abs(half), greater)
        discriminant = half / scale * half + greater / scale * lesser
        if discriminant >= 4 * eps:  # two real eigenvalues
            root = half + copysign(sqrt(scale) * sqrt(discriminant), half)
            a = d + root
            d = d - greater / root * lesser
            length = hypot(c, root)
            cosine = root / length
            sine = c / length
            b, c = (b - c, zero)
        else:  # conjugate ones, or real ones that are nearly equal: makes the diagonal elements equal
            length = hypot(b + c, 2 * half)
            cosine = sqrt((1 + abs(b + c) / length) / 2)
            sine = -(half / (length * cosine)) * copysign(zero + 1, b + c)
            top, right = (a * cosine + b * sine, b * cosine - a * sine)
            left, corner = (c * cosine + d * sine, d * cosine - c * sine)
            b = right * cosine + corner * sine
            c = left * cosine - top * sine
            a = (top * cosine + left * sine + (corner * cosine - right * sine)) / 2
            d = a
            if c != 0 and b == 0:
                b, c = (-c, zero)
                cosine, sine = (-sine, cosine)
            elif c != 0 and sign(b) == sign(c):
                root = copysign(sqrt(abs(b)) * sqrt(abs(c)), c)
                norm = sqrt(abs(b + c))
                other, turn = (sqrt(abs(b)) / norm, sqrt(abs(c)) / norm)
                a = a + root
                d = d - root
                b, c = (b - c, zero)
                cosine, sine = (cosine * other - sine * turn, cosine * turn + sine * other)
    return (a, b, c, d, cosine, sine)


def standardise(w: Any, b: Any, n: Any, width: Any, k: Any, eps: float) -> None:
    """Gives a block its standard form by a group, which rotates its rows and columns."""
    item = local_id(0)
    items = local_size(0)
    a, right, below, d, cosine, sine = rotation_to_standard(
        w[b, k, k], w[b, k, k + 1], w[b, k + 1, k], w[b, k + 1, k + 1], eps
    )
    wait()
    if item == 0:
        w[b, k, k] = a
        w[b, k, k + 1] = right
        w[b, k + 1, k] = below
        w[b, k + 1, k + 1] = d
    if width > n:
        for j in range(k + 2 + item, width, items):
            x = w[b, k, j]
            y = w[b, k + 1, j]
            w[b, k, j] = cosine * x + sine * y
            w[b, k + 1, j] = cosine * y - sine * x
        for i in range(item, k, items):
            x = w[b, i, k]
            y = w[b, i, k + 1]
            w[b, i, k] = cosine * x + sine * y
            w[b, i, k + 1] = cosine * y - sine * x
