"""Loops as people write them, a turn at a time: each turn takes the state of the last one and gives the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ocl_runtime as ocl

Turn = Callable[[list[Any]], list[Any]]


def waves(state: list[Any]) -> list[Any]:
    return [ocl.sin(state[0]) * 1.01]


def pendulum(state: list[Any]) -> list[Any]:
    x, v = state
    v = v - 0.01 * x
    return [x + 0.01 * v, v]


def heat(state: list[Any]) -> list[Any]:
    u = state[0]
    u[1:-1, 1:-1] += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
    return [u]


def helped(state: list[Any]) -> list[Any]:
    def half(x: Any) -> Any:
        return x * 0.5

    return [half(state[0]) + half(ocl.roll(state[0], 1, axis=0))]


def fields(state: list[Any]) -> list[Any]:
    e, h = state
    h[:-1] += 0.5 * (e[1:] - e[:-1])
    e[1:-1] += 0.5 * (h[1:-1] - h[:-2])
    return [e, h]


def momentum(state: list[Any]) -> list[Any]:
    """Descent to the least of (x - 0.3) ** 2, with momentum."""
    x, velocity = state
    velocity = 0.9 * velocity - 0.02 * (x - 0.3)
    return [x + velocity, velocity]


def averages(state: list[Any]) -> list[Any]:
    """A sequence beside its running mean."""
    x, mean = state
    x = ocl.cos(x)
    return [x, 0.99 * mean + 0.01 * x]


def normalized(state: list[Any]) -> list[Any]:
    """Rows that are mixed and scaled to a sum of 1."""
    x = state[0] * state[0] + 0.1
    return [x / ocl.sum(x, axis=1, keepdims=True)]


def jacobi(state: list[Any]) -> list[Any]:
    """A sweep out of place, beside a right-hand side that stays."""
    u, source = state
    inside = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 0.01 * source[1:-1, 1:-1])
    return [ocl.pad(inside, 1), source]


def _long_turn() -> Turn:
    """A turn of forty writes, each in a line of its own."""
    lines = [f"    u[{number % 20 + 1}] = 0.5 * u[{number % 20}] + 0.25 * u[{number % 20 + 2}]" for number in range(40)]
    names: dict[str, Any] = {}
    exec("\n".join(["def turn(state):", "    (u,) = state", *lines, "    return [u]"]), names)  # noqa: S102
    return names["turn"]  # type: ignore[no-any-return]


# Each turn with the count of arrays of its state, which have 22 rows or more, and values from 0 to 2.
LOOPS: dict[str, tuple[Turn, int]] = {
    "long": (_long_turn(), 1),
    "waves": (waves, 1),
    "pendulum": (pendulum, 2),
    "heat": (heat, 1),
    "helped": (helped, 1),
    "fields": (fields, 2),
    "momentum": (momentum, 2),
    "averages": (averages, 2),
    "normalized": (normalized, 1),
    "jacobi": (jacobi, 2),
}
