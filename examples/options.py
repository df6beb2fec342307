#!/usr/bin/env python3
"""The price of an Asian option, by Monte Carlo, with its error bars, beside the exact price of its geometric sister.

    python examples/options.py [THOUSANDS OF PATHS] [--out FOLDER] [--device WORDS]

The option pays what the mean of a year's weekly prices is above its strike. Prices follow a geometric Brownian motion;
random numbers are drawn where they are used and never stored. The geometric mean, whose price is known (A. Kemna and
A. Vorst, 1990), is so much like the arithmetic one that what it misses tells most of the error: a control variate.
"""

from __future__ import annotations

from math import erf, exp, log, sqrt
from pathlib import Path

import numpy as np
from pictures import main, write_png

import ocl_runtime as ocl

SPOT, STRIKE, RATE, VOLATILITY, WEEKS = 100.0, 105.0, 0.03, 0.25, 52
SEED = 2026


def payoffs(paths: int, generator):
    """What the option and its geometric sister pay, discounted, for each path."""
    step = 1 / WEEKS
    drift, spread = (RATE - VOLATILITY**2 / 2) * step, VOLATILITY * sqrt(step)
    moves = drift + spread * generator.standard_normal((paths, WEEKS), dtype=ocl.float32)
    logarithms = log(SPOT) + ocl.cumulative_sum(moves, axis=1)
    arithmetic = ocl.mean(ocl.exp(logarithms), axis=1)
    geometric = ocl.exp(ocl.mean(logarithms, axis=1))
    return [exp(-RATE) * ocl.clip(mean - STRIKE, 0) for mean in (arithmetic, geometric)]


def exact_geometric() -> float:
    """The price of the sister: Black and Scholes's, of the geometric mean's drift and volatility."""
    n = WEEKS
    mean = log(SPOT) + (RATE - VOLATILITY**2 / 2) * (n + 1) / (2 * n)
    variance = VOLATILITY**2 * (n + 1) * (2 * n + 1) / (6 * n * n)
    upper = (mean - log(STRIKE) + variance) / sqrt(variance)
    normal = [0.5 * (1 + erf(x / sqrt(2))) for x in (upper, upper - sqrt(variance))]
    return exp(-RATE) * (exp(mean + variance / 2) * normal[0] - STRIKE * normal[1])


def estimates(arithmetic, geometric, exact: float):
    """The price and its standard error, plain and with the control variate, and the sister's distance from its exact
    price in standard errors."""
    count = arithmetic.shape[0]
    plain, control = ocl.mean(arithmetic), ocl.mean(geometric)
    beta = ocl.mean((arithmetic - plain) * (geometric - control)) / ocl.var(geometric)
    better = arithmetic - beta * (geometric - exact)
    results = [
        plain, ocl.std(arithmetic) / sqrt(count), ocl.mean(better), ocl.std(better) / sqrt(count),
        (control - exact) / (ocl.std(geometric) / sqrt(count)),
    ]  # fmt: skip
    ocl.compute(*results)
    return [float(result) for result in results]


def run(thousands: int, out: Path) -> None:
    """Prices the option with more and more paths, and draws the error bars."""
    exact, rows = exact_geometric(), []
    for power in range(8):
        paths = max(256, thousands * 1000 >> (7 - power))
        rows.append((paths, *estimates(*payoffs(paths, ocl.random.default_rng(SEED)), exact)))
    for paths, plain, error, better, small, off in rows:
        print(f"{paths:>9,} paths: {plain:.4f} +- {error:.4f}, with the variate {better:.4f} +- {small:.5f}", end="; ")
        print(f"the sister is {off:+.1f} standard errors off")
        assert abs(off) < 4.5
        assert small < error / 5
    assert abs(rows[-1][1] - rows[-1][3]) < 4.5 * rows[-1][2]
    write_png(out / "options.png", bars(rows))


def bars(rows) -> np.ndarray:
    """Error bars of two standard errors, plain ones in red and with the variate in blue, around the last price."""
    height, width = 240, 60 * len(rows)
    pixels, middle = np.ones((height, width, 3)), rows[-1][3]
    scale = (height / 2 - 10) / (2 * rows[0][2] + abs(rows[0][1] - middle))
    pixels[height // 2] = 0.8
    for number, (_, plain, error, better, small, _) in enumerate(rows):
        for price, half, column, colour in ((plain, error, 20, (0.8, 0.2, 0.1)), (better, small, 40, (0.1, 0.2, 0.8))):
            low, high = (round(height / 2 - (price + sign * 2 * half - middle) * scale) for sign in (1, -1))
            left = 60 * number + column
            pixels[max(0, low) : high + 1, left : left + 3] = colour
            pixels[round(height / 2 - (price - middle) * scale), left - 4 : left + 7] = colour
    return pixels


if __name__ == "__main__":
    main(__doc__ or "", run, 1000)
