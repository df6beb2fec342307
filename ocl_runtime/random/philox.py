"""A stream of random words: a key, and the number of the next draw, which the host counts.

Philox 4x32-10 makes a block of four words from a key of 64 bits and a counter of 128. Here the lower half of the
counter is a block's number within a draw, and the upper half is the draw's number: two draws of one stream have no
block in common, however long they are. A jump adds 2**32 to the draw's number. Streams that are spawned have keys of
their own, by NumPy's `SeedSequence`: two of n keys are equal with a probability of n**2 / 2**65.
"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ocl_ir.source_line import calling_line
from ocl_runtime.errors import DistributionError
from ocl_runtime.plan.tracing import tracer

_NAME = "Philox4x32-10"
_JUMP = 1 << 32
_DRAWS = 1 << 64


class Philox:
    """A stream of random words, as NumPy's bit generators are, by the algorithm of Salmon, Moraes, Dror and Shaw,
    Parallel random numbers: as easy as 1, 2, 3 (SC 2011).

        stream = Philox(42)
        rng = Generator(stream)

    `seed` is what NumPy's `SeedSequence` takes: None for entropy of the system, an integer that is not negative, or a
    sequence of such; or a `SeedSequence`. Raises `DistributionError` (a ValueError) for anything else.
    """

    def __init__(self, seed: int | Sequence[int] | np.random.SeedSequence | None = None) -> None:
        self._seed_seq = seed if isinstance(seed, np.random.SeedSequence) else _sequence(seed)
        low, high = self._seed_seq.generate_state(2, np.uint32)
        self._key = int(low) | int(high) << 32
        self._draw = 0
        self._lock = threading.Lock()

    @property
    def seed_seq(self) -> np.random.SeedSequence:
        """What the key was made of, and keys of further streams are made of."""
        return self._seed_seq

    @property
    def state(self) -> dict[str, Any]:
        """The key and the number of the next draw, as integers. It can be set, too: then the same numbers come again.

        Raises `DistributionError` where it is set to what is no such state.
        """
        with self._lock:
            return {"bit_generator": _NAME, "state": {"key": self._key, "draw": self._draw}}

    @state.setter
    def state(self, state: Mapping[str, Any]) -> None:
        try:
            name, key, draw = state["bit_generator"], state["state"]["key"], state["state"]["draw"]
            key, draw = operator.index(key), operator.index(draw)
        except (KeyError, TypeError):
            name, key, draw = None, 0, 0
        if name != _NAME or not (0 <= key < 1 << 64 and 0 <= draw < _DRAWS):
            raise DistributionError(
                f"{state!r} is no state of {_NAME}",
                place=calling_line(),
                remedy="set what rng.bit_generator.state gave",
            )
        with self._lock:
            self._key, self._draw = key, draw

    def take(self, draws: int = 1) -> tuple[int, int, int, int]:
        """The upper two words of the counter and the two of the key for one draw, which is nobody else's, or for the
        first of several.

        Raises `DistributionError` while a function is captured.
        """
        if tracer.get() is not None:
            raise DistributionError(
                "a draw of random numbers in a captured function would be the same in each of its runs",
                place=calling_line(),
                remedy="draw outside, and give the function the array: it is computed with what calls it",
            )
        with self._lock:
            draw, self._draw = self._draw, (self._draw + draws) % _DRAWS
        return draw & 0xFFFFFFFF, draw >> 32, self._key & 0xFFFFFFFF, self._key >> 32

    def jumped(self, jumps: int = 1) -> Philox:
        """A stream of the same key, 2**32 draws further for each jump. Raises `DistributionError` for what is no
        integer."""
        number = _integer("jumped by", jumps)
        other = Philox.__new__(Philox)
        other._seed_seq, other._key, other._lock = self._seed_seq, self._key, threading.Lock()
        with self._lock:
            other._draw = (self._draw + number * _JUMP) % _DRAWS
        return other

    def spawn(self, n_children: int) -> list[Philox]:
        """So many streams with keys of their own, others at each call. Raises `DistributionError` for what is no
        integer, or negative."""
        return [Philox(child) for child in self._seed_seq.spawn(_integer("spawn of", n_children, least=0))]

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {"seed_seq": self._seed_seq, "key": self._key, "draw": self._draw}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._seed_seq, self._key, self._draw = state["seed_seq"], state["key"], state["draw"]
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Philox(key={self._key:#018x}, draw={self._draw})"


def _integer(what: str, number: Any, least: float = -math.inf) -> int:
    try:
        found = operator.index(number)
    except TypeError:
        found = None
    if found is None or found < least:
        raise DistributionError(
            f"{what} {number!r}",
            place=calling_line(),
            remedy="give an integer" + (" that is not negative" if least == 0 else ""),
        )
    return found


def _sequence(seed: Any) -> np.random.SeedSequence:
    try:
        return np.random.SeedSequence(seed)
    except (TypeError, ValueError) as error:
        raise DistributionError(
            f"{seed!r} is no seed: {error}",
            place=calling_line(),
            remedy="use None, an integer that is not negative, a sequence of such, or a numpy.random.SeedSequence",
        ) from None
