"""Whether a product of matrices is right.

A small product is compared with one in float64 (integers: in integers), each element. Of a large one some rows and
columns are; and every element with the result of the first variant that these do not refute. An error counts in parts
of what rounding can do at worst in practice, so 1 is the most: a single product that is missing in a sum of thousands
is more. NaN is never right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocl_ir.bfloat16 import floats_of
from ocl_ir.types import TF32, DType
from ocl_runtime.tuning.contest import WrongError

_SMALL = 2**25
"""Products up to which all elements are compared in float64."""
_SAMPLES = 8
"""Rows, and columns, of a larger one."""
_SEQUENTIAL = 4096
"""Products that are added up one after the other; parts of k are joined as in a tree."""
_EPSILONS = {"bf16": 2.0**-7, "tf32": 2.0**-10}
"""Of dtypes that NumPy lacks."""
_BAND = 2**24
"""Elements that are compared at a time."""


class Reference:
    """What the product of two host arrays (…, m, k) and (…, k, n) is, as far as it is known. The arrays of bfloat16 are
    its bits, those of tf32 float32."""

    def __init__(
        self, left: NDArray[Any], right: NDArray[Any], operands: DType, accumulator: DType, dtype: DType
    ) -> None:
        self._left, self._right = _wide(left, operands), _wide(right, operands)
        self._dtype = dtype
        *self._batch, self._m, k = left.shape
        self._n = right.shape[-1]
        # Of roundings that mostly cancel, in sums that may all be of one sign, as on the diagonal of x @ x.T; and of
        # one at the end. By the lengths of row and column, what errs like this stays below a tenth.
        self._of_norms = (8 + math.sqrt(min(k, _SEQUENTIAL))) * _epsilon(accumulator)
        if operands is TF32:  # which are rounded
            self._of_norms += _epsilon(TF32)
        self._of_value = _epsilon(dtype)
        self.whole = math.prod(self._batch) * self._m * self._n * k <= _SMALL
        """Whether all elements are known in float64."""
        random = np.random.default_rng(0)
        self._rows = self._picked(random, self._m)
        self._columns = self._picked(random, self._n)
        self._expected = [
            (self._rows, slice(None), self._left[..., self._rows, :] @ self._right),
            (slice(None), self._columns, self._left @ self._right[..., self._columns]),
        ][: 1 if self.whole else 2]
        if dtype.is_inexact:
            self._left_norms = np.sqrt((np.abs(self._left) ** 2).sum(-1))
            self._right_norms = np.sqrt((np.abs(self._right) ** 2).sum(-2))
        self._first: NDArray[Any] | None = None

    def _picked(self, random: np.random.Generator, length: int) -> Any:
        """Of a large product the first, the last and some more; else all."""
        if self.whole or length <= _SAMPLES:
            return slice(None)
        return np.unique([0, length - 1, *random.integers(0, length, _SAMPLES - 2)])

    def check(self, result: NDArray[Any]) -> float:
        """How far a result is off. Raises `WrongError`."""
        worst = 0.0
        for rows, columns, expected in self._expected:
            found = _wide(result[..., rows, :][..., columns], self._dtype)
            worst = max(worst, self._off(found, expected, rows, columns, 1.0))
        if not self.whole:
            for rows in self._bands():
                band = _wide(result[..., rows, :], self._dtype)
                if self._first is None:
                    self._finite(band)
                else:
                    self._off(band, _wide(self._first[..., rows, :], self._dtype), rows, slice(None), 2.0)
            if self._first is None:
                self._first = result.copy()
        return worst

    def _bands(self) -> Iterator[slice]:
        """All rows, so many at a time as fit into memory wherever the result does."""
        step = max(1, _BAND // (math.prod(self._batch) * self._n))
        for first in range(0, self._m, step):
            yield slice(first, first + step)

    def _finite(self, found: NDArray[Any]) -> None:
        if self._dtype.is_inexact and not np.isfinite(found).all():
            raise WrongError(f"{int((~np.isfinite(found)).sum())} elements are not finite")

    def _off(self, found: NDArray[Any], expected: NDArray[Any], rows: Any, columns: Any, most: float) -> float:
        """The greatest error, in parts of the bound, of which `most` are allowed: two results may be off both."""
        if not self._dtype.is_inexact:
            wrong = found != expected.astype(self._dtype.numpy).astype(found.dtype)
            if wrong.any():
                raise WrongError(f"{int(wrong.sum())} of {wrong.size} elements are wrong")
            return 0.0
        norms = self._left_norms[..., rows, np.newaxis] * self._right_norms[..., np.newaxis, columns]
        bound = self._of_norms * norms + self._of_value * np.abs(expected) + np.finfo(np.float64).tiny
        with np.errstate(invalid="ignore", over="ignore"):
            off = np.abs(found - expected) / bound
        right = off <= most  # NaN is not
        if not right.all():
            raise WrongError(f"{int((~right).sum())} of {right.size} elements are wrong")
        return float(off.max())


def _wide(values: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Exactly the same in float64 or complex128; integers stay what they are, since they wrap."""
    if dtype.name == "bf16":
        return floats_of(values.view(np.uint16)).astype(np.float64)
    if dtype.is_inexact:
        return values.astype(np.complex128 if dtype.is_complex else np.float64)
    return values.astype(np.int64 if dtype.kind == "int" else np.uint64)


def _epsilon(dtype: DType) -> float:
    if dtype.name in _EPSILONS:
        return _EPSILONS[dtype.name]
    return float(np.finfo(dtype.numpy).eps) if dtype.is_inexact else 0.0


def random_values(count: int, dtype: DType) -> NDArray[Any]:
    """Numbers for operands, as `dtype.numpy` has them: between -1 and 1, integers between -100 and 100, or 0 and 100.

    Many are a few million again and again, a prime number of them, so that no two rows are alike.
    """
    random, most = np.random.default_rng(1), 4_194_301
    few = min(count, most)
    if not dtype.is_inexact:
        low = -100 if dtype.kind == "int" else 0
        values: NDArray[Any] = random.integers(low, 101, few).astype(dtype.numpy)
    elif dtype.is_complex:
        values = (random.uniform(-1, 1, few) + 1j * random.uniform(-1, 1, few)).astype(dtype.numpy)
    elif dtype.name == "bf16":
        values = (random.uniform(-1, 1, few).astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    else:
        values = random.uniform(-1, 1, few).astype(dtype.numpy)
    return np.resize(values, count)
