"""Quotients and square roots of vectors of float32 that are rounded correctly without a branch in each lane.

Only NVIDIA's compiler has PTX's first guesses. Elsewhere correctly rounded ones stand in for them, with 0 for what is
subnormal: what is proven there is the arithmetic behind the guess, and its limits.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from ocl_runtime.codegen.expressions import LANES_AT_ONCE
from ocl_runtime.codegen.templates import render_helper
from tests.device.codegen.test_helpers import _assert_equal, _devices
from tests.support.helper_rendering import Bench, CType, elementwise, helper

F4 = np.dtype("f4")
SIZE = 1 << 16
FLUSHED = "fabs(guess) < 0x1p-126f ? copysign(0.0f, guess) : guess"


@pytest.fixture(scope="module", params=_devices())
def bench(request: pytest.FixtureRequest) -> Bench:
    if request.param is None:
        pytest.fail("no usable OpenCL device")
    return Bench(request.param)


def _floats(exponents: np.ndarray, fractions: np.ndarray) -> np.ndarray:
    return (np.clip(exponents, 0, 255).astype("u4") << 23 | fractions).astype("u4").view(F4)


def _fractions(rng: np.random.Generator) -> np.ndarray:
    """Random ones, and a quarter each just above and just below a power of two."""
    fractions = rng.integers(0, 1 << 23, SIZE, dtype="u4")
    fractions[: SIZE // 4] &= 15
    fractions[SIZE // 4 : SIZE // 2] |= 0x7FFFF0
    return rng.permutation(fractions)


def _signed(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    return np.where(rng.random(values.size) < 0.5, values, -values)


def any_bits(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    n, d = rng.integers(0, 1 << 32, (2, SIZE), dtype="u4").view(F4)
    return n, d


def near_limits(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Quotients that are about to be subnormal or infinite, remainders that lose their last bits, and what is no
    ordinary number."""
    exponents = rng.integers(0, 256, SIZE)
    near = rng.integers(-4, 5, SIZE)
    wanted = np.choose(rng.integers(0, 3, SIZE), [exponents - 127 + near, exponents + 127 + near, 25 + near])
    return _signed(rng, _floats(wanted, _fractions(rng))), _signed(rng, _floats(exponents, _fractions(rng)))


def special(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    values = [0.0, 1.0, np.inf, np.nan, 2.0**-149, 2.0**-126, 2.0**-102, 2.0**-101, 2.0**126, 2.0**127, 3.4028235e38]
    both = np.array([*values, *(-value for value in values)], F4)
    pairs = np.stack(np.meshgrid(both, both)).reshape(2, -1)
    ordinary = rng.uniform(1, 2, pairs.shape).astype(F4)
    # One of four lanes, so that the others are there when the slow way is taken.
    n, d = np.stack([pairs, ordinary, ordinary, ordinary], axis=2).reshape(2, -1)
    return n, d


def hardest(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Quotients as near as possible to the middle between two floats: N 2^25 = Q D + r for small r and odd D."""
    d = rng.integers(1 << 22, 1 << 23, SIZE, dtype="u8") * 2 + 1
    inverse = d.copy()
    for _ in range(5):
        inverse = inverse * (2 - inverse * d)
    r = rng.integers(1, 9, SIZE, dtype="u8")
    q = (inverse * (0 - r) & (1 << 25) - 1) | 1 << 25
    n = (q * d + r) >> 25
    n = np.where(n < 1 << 24, n, n >> 1)
    return n.astype(F4), d.astype(F4)


def _defined(bench: Bench, function: str, lanes: int) -> str:
    """The helper with what it begins with, as the device has it."""
    guess = LANES_AT_ONCE[function]
    first = render_helper(guess, CType(F4))
    if not bench.device.quirks.branching_division:
        exact = "1.0f / whole" if function == "div" else "(float)(1.0 / sqrt((double)whole))"
        whole = "const float whole = fabs(x) < 0x1p-126f ? copysign(0.0f, x) : x;"
        first = re.sub(r"asm\(.*\);", f"{whole} guess = {exact}; guess = {FLUSHED};", first)
    return f"{first}\n{helper(f'lanes_{function}', CType(F4, lanes))}"


def _computed(bench: Bench, function: str, lanes: int, *inputs: np.ndarray) -> np.ndarray:
    body = f"result = lanes_{function}_{lanes}({', '.join('ab'[: len(inputs)])});"
    source = elementwise("test", CType(F4, lanes), len(inputs), body, _defined(bench, function, lanes))
    return bench.run(bench.build(source), "test", lanes, *inputs)


@pytest.mark.sample(3)
@pytest.mark.parametrize("lanes", [2, 3, 4, 16])
@pytest.mark.parametrize("operands", [any_bits, near_limits, special, hardest])
def test_quotients_are_rounded_correctly(bench: Bench, operands: object, lanes: int) -> None:
    n, d = operands(np.random.default_rng(lanes))  # type: ignore[operator]
    with np.errstate(all="ignore"):
        _assert_equal(_computed(bench, "div", lanes, n, d), n / d, n, d)


@pytest.mark.sample(2)
@pytest.mark.parametrize("lanes", [2, 3, 4, 16])
def test_roots_are_rounded_correctly(bench: Bench, lanes: int) -> None:
    rng = np.random.default_rng(lanes)
    squares = np.square(rng.integers(1 << 23, 1 << 24, SIZE, dtype="u8") * 2 + 1).astype(F4)  # near the middle of two
    for x in (*any_bits(rng), *near_limits(rng), special(rng)[0], squares):
        with np.errstate(all="ignore"):
            _assert_equal(_computed(bench, "sqrt", lanes, x), np.sqrt(x), x)
