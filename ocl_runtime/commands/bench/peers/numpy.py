"""NumPy, on the host."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np

from ocl_ir import numpy_functions
from ocl_runtime.commands.bench.case import Arrays, Case, Expression, as_tuple
from ocl_runtime.commands.bench.peers import networks
from ocl_runtime.commands.bench.peers.base import LeftOut, Names, Value, library
from ocl_runtime.commands.bench.samples import Sample


def _add_at(y: np.ndarray, index: np.ndarray, values: np.ndarray) -> None:
    np.add.at(y, index, values)


def _top_k(x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(x, kind="stable")[::-1][:k]
    return x[order], order


def _erf() -> Any:
    try:
        return library("scipy.special").erf
    except LeftOut:
        return numpy_functions.erf


def names() -> Names:
    """NumPy's, and what cases use beside them."""
    more = SimpleNamespace(
        erf=_erf(), rsqrt=lambda x: 1 / np.sqrt(x), fma=lambda a, b, c: a * b + c, add_at=_add_at, top_k=_top_k
    )
    return Names(np, more, networks)


class NumPy:
    """On the host's clock."""

    name = "numpy"
    clock = "the host's clock"

    def __init__(self) -> None:
        self.about = f"NumPy {np.__version__} on the host"
        self._names = names()

    def prepare(self, case: Case, sets: list[Arrays]) -> OnHost:
        """Copies what is written into. Raises `LeftOut` for what would take minutes."""
        if case.products and sets[0][0].dtype.itemsize == 2:
            raise LeftOut("NumPy multiplies matrices of halves element by element")
        return OnHost(
            case.own.get(self.name, case.expression),
            self._names,
            [(inputs[0].copy(), *inputs[1:]) if case.writes else inputs for inputs in sets],
        )


class OnHost:
    """An expression over arrays of NumPy."""

    def __init__(self, expression: Expression, xp: Names, sets: list[Arrays]) -> None:
        self._expression, self._names, self._sets = expression, xp, sets

    def time(self, turn: int) -> Sample:
        """On the host's clock."""
        start = time.perf_counter()
        found = self._run(turn)
        wall = time.perf_counter() - start
        del found
        return Sample(wall)

    def results(self, turn: int) -> tuple[Value, ...]:
        """They are NumPy's."""
        return tuple(map(Value.of, self._run(turn)))

    def _run(self, turn: int) -> Arrays:
        with np.errstate(all="ignore"):
            return tuple(map(np.asarray, as_tuple(self._expression(self._names, *self._sets[turn % len(self._sets)]))))
