"""Results beside NumPy's: nothing is timed whose result is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ocl_ir.bfloat16 import LIMITS, floats_of, held, is_bfloat16
from ocl_runtime.commands.bench.case import Arrays, Case, as_tuple
from ocl_runtime.commands.bench.peers.base import Value
from ocl_runtime.commands.bench.peers.numpy import names

_TOLERANCE = {2: 1e-2, 4: 5e-4, 8: 1e-9}
"""By the bytes of a real number, relative to a result and to the largest result."""
_SLAB = 2**18
"""Elements of each part that is checked of a result that can be checked in parts."""


class WrongResult(Exception):
    """A result that is not NumPy's."""


class Reference:
    """NumPy's results of a case: all, or of some of the first rows, of the middle ones, and of the last ones."""

    def __init__(self, case: Case, inputs: Arrays) -> None:
        self._case, self._inputs = case, inputs
        self._xp = names()
        if case.along:
            self._along: tuple[int | None, ...] = case.along
        else:
            first = inputs[0].shape[0]
            self._along = tuple(0 if x.shape[0] == first else None for x in inputs)
        self._length = length = inputs[0].shape[self._along[0] or 0]
        # As many rows of the first input as share one of another one stay together, and pairs.
        shortest = min(x.shape[axis] for x, axis in zip(inputs, self._along, strict=True) if axis is not None)
        unit = max(2, length // max(1, shortest))
        size = max(unit, min(length, _SLAB // max(1, inputs[0].size // length)) // unit * unit)
        if not (case.slabs or case.along) or 3 * size >= length:
            self._parts = [(0, length)]
        else:
            middle = length // 2 // unit * unit
            self._parts = [(0, size), (middle, middle + size), ((length - size) // unit * unit, length)]
        self._results = [self._of(*part) for part in self._parts]
        self.whole = len(self._parts) == 1

    def _of(self, start: int, end: int) -> Arrays:
        part = [
            x if axis is None else x[(slice(None),) * axis + (self._part(start, end, x.shape[axis]),)]
            for x, axis in zip(self._inputs, self._along, strict=True)
        ]
        wide = not self._case.exact and self._case.operations
        given = [self._widened(x) if wide else x for x in part]
        if self._case.writes:
            given[0] = given[0].copy()
        with np.errstate(all="ignore"):
            return tuple(map(np.asarray, as_tuple(self._case.expression(self._xp, *given))))

    def _part(self, start: int, end: int, length: int) -> slice:
        """Of another axis of some length, what goes with rows of the first input."""
        return slice(start * length // self._length, end * length // self._length)

    @staticmethod
    def _widened(x: np.ndarray) -> np.ndarray:
        x = _floats(x)
        return x.astype(np.result_type(x, np.float64)) if x.dtype.kind in "fc" else x

    def check(self, results: Sequence[Value], *, ordered: bool = True) -> None:
        """Raises `WrongResult` unless results are NumPy's, within roundings. Who is not `ordered` may give any of the
        results that the case allows then."""
        if not ordered and self._case.racing is not None:
            if not self._case.racing(self._inputs, _all(results[0])):
                raise WrongResult("the result is none that any order gives")
            return
        for (start, _), expected in zip(self._parts, self._results, strict=True):
            if len(results) != len(expected):
                raise WrongResult(f"{len(results)} results, not {len(expected)}")
            for found, right in zip(results, expected, strict=True):
                if self.whole:
                    self._compare(_all(found), right)
                    continue
                first = start * found.shape[0] // self._length
                self._compare(found.rows(first, first + right.shape[0]), right)

    def _compare(self, found: np.ndarray, right: np.ndarray) -> None:
        found = _floats(found)
        if found.shape != right.shape:
            raise WrongResult(f"the shape is {found.shape}, not {right.shape}")
        if np.array_equal(found, right):
            return
        if found.dtype.kind not in "fc" or right.dtype.kind not in "fc":
            wrong = found != right
        else:
            error = _TOLERANCE[min(np.finfo(found.dtype).bits // 8, self._least())]
            scale = float(np.max(np.abs(right), initial=0.0, where=np.isfinite(right)))
            wrong = ~np.isclose(found, right, rtol=error, atol=error * scale, equal_nan=True)
        strays = np.count_nonzero(wrong)
        if strays > self._case.strays * wrong.size:
            place = tuple(map(int, np.argwhere(wrong)[0])) if wrong.ndim else ()
            raise WrongResult(
                f"{strays} of {wrong.size} elements are wrong; {place}: {_at(found, place)}, not {_at(right, place)}"
            )

    def _least(self) -> int:
        """Bytes of the smallest real numbers among the inputs."""
        limits = [LIMITS if is_bfloat16(x.dtype) else np.finfo(x.dtype) for x in self._inputs if x.dtype.kind in "fcV"]
        return min((each.bits // 8 for each in limits), default=8)


def _floats(x: np.ndarray) -> np.ndarray:
    """Numbers of bfloat16 as float32, which NumPy has."""
    return floats_of(held(x).view(np.uint16)) if is_bfloat16(x.dtype) else x


def _all(value: Value) -> np.ndarray:
    return value.rows(0, value.shape[0] if value.shape else 1)


def _at(x: np.ndarray, place: tuple[int, ...]) -> Any:
    return x[place].item()
