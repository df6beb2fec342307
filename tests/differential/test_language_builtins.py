"""Python's own functions and forms in kernels, three ways: plain Python, the interpreter, the device."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.language import float2, float4, float32, global_id, group_id, int32, load_tile, store_tile, tile
from tests.support.three_ways import agree, in_plain_python, launched

N = 24
X = ((np.arange(N) * 7) % 23 - 9).astype(np.float32) / 4
K = ((np.arange(N) * 5) % 17 - 8).astype(np.int32)
SIXTEENTHS = np.arange(N, dtype=np.float32) / 16


def floats() -> np.ndarray:
    return np.zeros(N, np.float32)


def integers() -> np.ndarray:
    return np.zeros(N, np.int32)


# ---------------------------------------------------------------------- numbers and conditions


def powers(x, k, y, z):
    i = global_id(0)
    y[i] = pow(x[i], 2) + np.power(x[i], 3) + pow(2, 5, 7)
    z[i] = pow(k[i], 3) + pow(base=i, exp=2)


def powers_of_floats(x, y):
    i = global_id(0)
    y[i] = math.pow(abs(x[i]), 1.5) + pow(abs(x[i]), 0.25) + math.pow(i, 2)


def questions(x, k, y):
    i = global_id(0)
    v = x[i]
    asked = (v > 0, k[i] == 3, i < 5)
    y[i] = 1 if any(asked) else 0
    y[i] += 2 if all((v > -1, v < 1)) else 0
    y[i] += 4 if any((k[i], i)) else 0
    y[i] += 8 if all(()) and not any(()) else 0
    y[i] += 16 if any((v > 1, True)) else 0
    y[i] += 32 if all((v > 1, False)) else 0
    y[i] += 64 if any(float2(v, k[i])) and all(float4(v, 1, 2, 3)) else 0
    is_small = all((abs(v) < 1, abs(k[i]) < 4))
    y[i] += 128 * int(is_small)


# ---------------------------------------------------------------------- starred targets


def split(values):
    first, *rest = values
    return first - len(rest), tuple(rest)


def starred_targets(x, y):
    i = global_id(0)
    first, *rest = (x[i], 2, x[i] * 3)
    *start, last = (1, 2, 3, x[i])
    a, *none, b = (x[i], 5)
    c, (d, *e), f = 1, (2, 3, 4), 5
    lane, *lanes = float4(x[i], 1, 2, 3)
    total = first + rest[0] + rest[1] + last + start[2] + a + b + len(none) + c + d + e[1] + f + lane + lanes[2]
    for g, *h in ((1, 2, 3), (4, 5, 6)):
        total += g * h[1]
    head, tail = split((x[i], 1, 2))
    y[i] = total + head + tail[1]


def starred_behind_a_branch(x, y):
    i = global_id(0)
    if x[i] > 0:
        first, *rest = (x[i], 2, 3)
    else:
        first, *rest = (1, x[i], 4)
    for _ in range(2):
        first, *rest = (rest[0] + 0.5, first * 1, rest[1])
    y[i] = first + rest[0] * 10 + rest[1] * 100


@pytest.mark.parametrize(
    ("kernel", "arguments", "most_ulps"),
    [
        (powers, {"x": X, "k": K, "y": floats(), "z": integers()}, 64),  # OpenCL's 16 of a cube 4 times the sum
        (powers_of_floats, {"x": X, "y": floats()}, 16),
        (questions, {"x": X, "k": K, "y": integers()}, 0),
        (starred_targets, {"x": X, "y": floats()}, 0),
        (starred_behind_a_branch, {"x": X, "y": floats()}, 0),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_numbers(kernel: Callable[..., Any], arguments: dict[str, np.ndarray], most_ulps: float) -> None:
    agree(kernel, N, arguments, most_ulps=most_ulps)  # type: ignore[arg-type]


# ---------------------------------------------------------------------- printing


def says(v, i):
    print(f"{v:.2f} of {i}", f"{{{i}}}", sep="; ")


def printed(x, k, a, y):
    i = global_id(0)
    y[i] = 0  # whose elements are waited for
    says(x[i], i)
    print(f"i={i} x={x[i]:.3f} {x[i]:10.2e}|{x[i]:<8g}|{x[i]:+.1f}|{x[i]:08.3f}|{x[i]:G} {x[i]}")
    print(f"k={k[i]:5d}|{k[i]:<5}|{k[i]:05d}|{k[i]:+d} {i:x} {i:4X} {np.uint32(255):x} {k[i] > 0} {k[i] > 0:d}")
    print(f"a={a:.4g} {math.pi:.3f} {'text':>6} {1_000_000:,} 100%", x[i], 0.1, a, a > 0, True, float2(x[i], 2))
    print(f"{float2(x[i], 1):.1f} {np.float32(1) / 3} {x[i]:{WIDTH}.1f}", f"", f"no values")  # noqa: F541


WIDTH = 9


@pytest.mark.parametrize("mode", ["interpret", "unchecked"])
def test_what_is_printed_is_the_same(mode: str, capfd: pytest.CaptureFixture[str]) -> None:
    kernel = ocl.kernel(printed)
    arguments = {"x": SIXTEENTHS - 0.5, "k": K, "a": 0.1, "y": floats()}
    in_plain_python(kernel, N, arguments)
    wanted = sorted(capfd.readouterr().out.splitlines())
    assert "i=3 x=-0.312  -3.12e-01|-0.3125 |-0.3|-000.312|-0.3125 -0.3125" in wanted
    assert "-0.31 of 3; {3}" in wanted
    launched(kernel, mode, N, arguments)
    assert sorted(capfd.readouterr().out.splitlines()) == wanted


# ---------------------------------------------------------------------- products


def product_added_directly(a, b, c):
    acc = tile((4, 4), float32, fill=1 / 3)
    acc += load_tile(a, (0, 0), (4, 6)) @ load_tile(b, (0, 0), (6, 4))
    store_tile(c, (group_id(0) * 4, 0), acc)


def product_with_a_name(a, b, c):
    acc = tile((4, 4), float32, fill=1 / 3)
    p = load_tile(a, (0, 0), (4, 6)) @ load_tile(b, (0, 0), (6, 4))
    acc += p
    store_tile(c, (group_id(0) * 4, 0), acc)


def multiplied(a, b):
    return a @ b


def product_of_a_helper(a, b, c):
    acc = tile((4, 4), float32, fill=1 / 3)
    acc += multiplied(load_tile(a, (0, 0), (4, 6)), load_tile(b, (0, 0), (6, 4)))
    store_tile(c, (group_id(0) * 4, 0), acc)


def product_chosen(a, b, c):
    acc = tile((4, 4), float32, fill=1 / 3)
    acc += load_tile(b, (0, 0), (4, 4)) if WIDTH < 0 else load_tile(a, (0, 0), (4, 6)) @ load_tile(b, (0, 0), (6, 4))
    store_tile(c, (group_id(0) * 4, 0), acc)


def test_a_product_is_joined_to_what_it_is_added_to_only_where_that_is_written_out() -> None:
    rng = np.random.default_rng(3)
    arguments = {
        "a": rng.random((4, 6)).astype(np.float32),
        "b": rng.random((6, 4)).astype(np.float32),
        "c": np.zeros((4, 4), np.float32),
    }
    direct = agree(product_added_directly, 4, arguments, local=4)["c"]
    named = agree(product_with_a_name, 4, arguments, local=4)["c"]
    assert (direct != named).any()
    for kernel in (product_of_a_helper, product_chosen):
        np.testing.assert_array_equal(agree(kernel, 4, arguments, local=4)["c"], named)


def test_int32_is_a_name_that_print_may_use(capfd: pytest.CaptureFixture[str]) -> None:
    def cast_inside(x):
        print(f"{int32(x[global_id(0)]):3d}")

    ocl.kernel(cast_inside).interpret[2](ocl.asarray(np.array([1.5, -2.5], np.float32)))
    assert capfd.readouterr().out.splitlines() == ["  1", " -2"]


def multiplied_by_sign(x, y):
    i = global_id(0)
    if x[i].real > 0:
        value = x[i] * 2
    else:
        value = -x[i]
    y[i] = value


def test_a_complex_number_of_either_branch() -> None:
    x = np.array([1 + 2j, -1 + 3j, 4], np.complex64)
    found = agree(multiplied_by_sign, 3, {"x": x, "y": np.zeros(3, np.complex64)})["y"]
    np.testing.assert_array_equal(found, [2 + 4j, 1 - 3j, 8])
