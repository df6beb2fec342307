"""Masks, elements by index, writes by index, counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ocl_runtime.commands.bench.case import ANY, Arrays, Case
from ocl_runtime.commands.bench.data import SPREADS, Data, Spread

_BINS: tuple[tuple[int, Spread], ...] = ((256, "random"), (4096, "random"), (2**20, "random"), (2**20, "skewed"))
_DENSITIES = ((0.5, "half"), (0.01, "few"))


def _masked(share: float) -> Callable[[Data, int, np.dtype[Any]], Arrays]:
    return lambda data, n, dtype: (data.real(dtype, n), data.mask(share, n))


def _mask(share: float) -> Callable[[Data, int, np.dtype[Any]], Arrays]:
    return lambda data, n, _: (data.mask(share, n),)


def _keys(bins: int, spread: Spread) -> Callable[[Data, int, np.dtype[Any]], Arrays]:
    return lambda data, n, _: (data.indices(n, bins, spread, np.int32),)


def _gathered(spread: Spread) -> Callable[[Data, int, np.dtype[Any]], Arrays]:
    return lambda data, n, dtype: (data.real(dtype, n), data.indices(n, n, spread))


def _written(spread: Spread, start: float) -> Callable[[Data, int, np.dtype[Any]], Arrays]:
    """What is written into, where, and values that tell which of them was written: one more than their places."""

    def inputs(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
        values = (np.arange(n, dtype=np.int64) % 2**24 + 1).astype(dtype)
        return np.full(n, start, dtype), data.indices(n, n, spread), values

    return inputs


def _added(spread: Spread) -> Callable[[Data, int, np.dtype[Any]], Arrays]:
    """Zeros and ones are added, so that all sums are exact in every order."""

    def inputs(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
        return np.zeros(n, dtype), data.indices(n, n, spread), data.mask(0.5, n).astype(dtype)

    return inputs


def _any_winner(inputs: Arrays, result: np.ndarray) -> bool:
    """Whether each place that is named has one of the values for it, and all others have what they had."""
    before, index, _ = inputs
    named = np.zeros(before.size, bool)
    named[index] = True
    if before.size > 2**24:  # the values repeat
        return bool(np.array_equal(result[~named], before[~named]) and (result[named] > 0).all())
    places = result[named].astype(np.int64) - 1
    right = (places >= 0).all() and np.array_equal(index[places], np.flatnonzero(named))
    return bool(right and np.array_equal(result[~named], before[~named]))


def _assign(_: Any, y: Any, index: Any, values: Any) -> Any:
    y[index] = values
    return y


def _increase(_: Any, y: Any, index: Any, values: Any) -> Any:
    y[index] += values
    return y


def _add_at(xp: Any, y: Any, index: Any, values: Any) -> Any:
    found = xp.add_at(y, index, values)
    return y if found is None else found


def _touched(inputs: Arrays, _: Arrays) -> int:
    """The indices and the values are read, and as many elements are written."""
    return int(inputs[1].nbytes + 2 * inputs[2].nbytes)


def _touched_twice(inputs: Arrays, _: Arrays) -> int:
    """The indices and the values are read, and as many elements are read and written."""
    return int(inputs[1].nbytes + 3 * inputs[2].nbytes)


def _found(inputs: Arrays, outputs: Arrays) -> int:
    """The mask is read, and of the elements those that are taken."""
    return int(inputs[-1].nbytes + sum(x.nbytes for x in outputs) * len(inputs))


def _with_indices(inputs: Arrays, outputs: Arrays) -> int:
    return int(inputs[1].nbytes + 2 * outputs[0].nbytes)


def _bins(bins: int) -> Callable[[Any, Any], Any]:
    return lambda xp, x: xp.bincount(x, minlength=bins)


CASES = (
    *(
        Case(
            f"mask-{name}",
            f"x[mask], {share:.0%} true",
            lambda _, x, mask: x[mask],
            _masked(share),
            ANY,
            moved=_found,
            asks=True,
        )
        for share, name in _DENSITIES
    ),
    Case(
        "mask-odd",
        "x[mask], 50% true, odd length",
        lambda _, x, mask: x[mask],
        lambda data, n, dtype: (data.real(dtype, n - 1), data.mask(0.5, n - 1)),
        ANY,
        moved=_found,
        asks=True,
    ),
    *(
        Case(
            f"nonzero-{name}",
            f"nonzero(mask), {share:.0%} true",
            lambda xp, mask: xp.nonzero(mask)[0],
            _mask(share),
            ("f32",),
            moved=_found,
            asks=True,
            own={"torch": lambda xp, mask: xp.nonzero(mask, as_tuple=True)[0]},
        )
        for share, name in _DENSITIES
    ),
    *(
        Case(
            f"gather-{spread}",
            f"x[idx], {spread}",
            lambda _, x, index: x[index],
            _gathered(spread),
            ANY,
            gpu=24,
            moved=_with_indices,
        )
        for spread in SPREADS
    ),
    *(
        Case(
            f"{key}-{spread}",
            f"{words}, {spread}",
            expression,
            inputs(spread),
            ("f32",),
            gpu=24,
            cpu=22,
            moved=moved,
            writes=True,
            needs=needs,
            racing=racing,
            own=own,
        )
        for key, words, expression, inputs, moved, needs, racing, own in (
            (
                "write",
                "y[idx] = v",
                _assign,
                lambda spread: _written(spread, -1.0),
                _touched,
                "",
                _any_winner,
                {"jax": lambda _, y, index, values: y.at[index].set(values)},
            ),
            (
                "increase",
                "y[idx] += v",
                _increase,
                lambda spread: _written(spread, 0.0),
                _touched_twice,
                "",
                _any_winner,
                {"jax": lambda _, y, index, values: y.at[index].set(y[index] + values)},
            ),
            (
                "add-at",
                "add_at(y, idx, v)",
                _add_at,
                _added,
                _touched_twice,
                "add_at",
                None,
                {
                    "torch": lambda _, y, index, values: y.index_put_((index,), values, accumulate=True),
                    "jax": lambda _, y, index, values: y.at[index].add(values),
                },
            ),
        )
        for spread in SPREADS
    ),
    *(
        Case(
            f"bincount-{bins}-{spread}",
            f"bincount into {bins}, {spread}",
            _bins(bins),
            _keys(bins, spread),
            ("i32",),
            cpu=22,
            ceiling="read",
            needs="bincount",
            asks=True,
        )
        for bins, spread in _BINS
    ),
)
