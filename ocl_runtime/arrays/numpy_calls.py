"""NumPy's own functions called with arrays: `numpy.sum(x)`, `numpy.add(x, y)`, `ndarray + x`.

Who answers is made of arrays (`ocl_runtime.numpy.protocols`), so it is handed in: `register` takes what loads it, which
is done with the first such call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ocl_runtime.arrays.core import ArrayCore
from ocl_runtime.arrays.current_runtime import use


class Answers(Protocol):
    """NumPy's two protocols as functions."""

    def array_function(
        self,
        asked: Any,
        function: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        /,
    ) -> Any:
        """The result of one of NumPy's functions, of the array that was asked for it."""

    def array_ufunc(self, ufunc: np.ufunc, method: str, inputs: Sequence[Any], how: Mapping[str, Any], /) -> Any:
        """The result of a method of one of NumPy's ufuncs."""


class _Registered:
    """Who loads the answers; loading again costs a look-up."""

    load: Callable[[], Answers] | None = None


def register(load: Callable[[], Any]) -> None:
    """Registers what loads the answers."""
    _Registered.load = load


class NumpyCalls(ArrayCore):
    """The methods through which NumPy asks."""

    __slots__ = ()

    def __array_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """One of NumPy's functions with this array among its arguments: on the device, or on a downloaded copy. What it
        makes is of the runtime of the array."""
        load = _Registered.load
        if load is None:
            return NotImplemented
        with use(self._executor):
            return load().array_function(self, func, types, args, kwargs)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **how: Any) -> Any:
        """One of NumPy's elementwise functions with this array among its operands or results."""
        load = _Registered.load
        return NotImplemented if load is None else load().array_ufunc(ufunc, method, inputs, how)
