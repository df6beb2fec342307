#!/usr/bin/env python3
"""Loops of 1,000 turns: plans, kernels and time, whether each turn asks for a value, computes, or not.

    python tests/bench/turns.py [--device WORDS] [--check]

Nobody has to know when to call `compute`: a loop without it takes at most 1.3 times as long as with it in each turn,
and one that asks for a value in each turn as long as one that computes and asks, since both wait for the device then.
How long that is against a loop that computes and asks for nothing stands beside it. Each loop has a runtime of its own,
so that its plans and kernels are those of no other.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from figures import Figure, main, seconds

import ocl_runtime as ocl
from tests.support.loops import LOOPS

COUNT = 1000
LONG = 40  # a turn of `long` has as many writes
ROUNDS = 3
SHAPE = (24, 32)
PLANS, KERNELS, RATIO = 4, 8, 1.3

Mode = Callable[[list[Any]], object]


def _nothing(_: list[Any]) -> None:
    return None


def _ask(state: list[Any]) -> float:
    return float(state[0][3, 5])


def _compute(state: list[Any]) -> None:
    ocl.compute(*state)


def _both(state: list[Any]) -> float:
    ocl.compute(*state)
    return float(state[0][3, 5])


def run(name: str, each_turn: Mode) -> None:
    """A loop to its end."""
    step, arrays = LOOPS[name]
    host = np.random.default_rng(0).random(SHAPE, "f4")
    state = [ocl.asarray(host + number) for number in range(arrays)]
    for _ in range(COUNT // LONG if name == "long" else COUNT):
        state = step(state)
        each_turn(state)
    ocl.compute(*state)
    state[0].numpy()


def counted(runtime: ocl.Runtime, name: str, each_turn: Mode) -> tuple[int, int]:
    """How many plans and kernels the first run of a loop makes."""
    before = runtime.statistics()
    run(name, each_turn)
    after = runtime.statistics()
    plans = after["plan"]["misses"] - before["plan"]["misses"]
    return plans, after["launch"]["compiled"] - before["launch"]["compiled"]


def times(name: str, each_turn: Mode, reference: Mode) -> float:
    """A loop against another way to run it, the median of some pairs."""
    run(name, reference)
    pairs = [(seconds(lambda: run(name, each_turn)), seconds(lambda: run(name, reference))) for _ in range(ROUNDS)]
    return statistics.median(ours / theirs for ours, theirs in pairs)


def figures(runtime: ocl.Runtime, _: str | None) -> Iterator[Figure]:
    cases = [
        ("nothing", _nothing, {"computed": _compute}),
        ("a value", _ask, {"both": _both, "computed": _compute}),
        ("both", _both, {}),
    ]
    for name in LOOPS:
        for words, each_turn, references in cases:
            with ocl.use(ocl.Runtime(runtime.device)) as own:
                plans, kernels = counted(own, name, each_turn)
                ratios = {other: times(name, each_turn, reference) for other, reference in references.items()}
            text = ", ".join(
                [
                    f"{plans} plans, {kernels} kernels",
                    *[f"{ratio:.2f} times {other}" for other, ratio in ratios.items()],
                ]
            )
            good = plans <= PLANS and kernels <= KERNELS and next(iter(ratios.values()), 0.0) <= RATIO
            yield Figure(f"{name}, {words} each turn", text, f"{PLANS}, {KERNELS}, {RATIO} times", good)


if __name__ == "__main__":
    os.environ["OCL_RUNTIME_CACHE"] = "off"  # each plan and kernel counts, also those that an earlier process made
    sys.exit(main(__doc__ or "", figures))
