"""Products of matrices of random sizes, dtypes and layouts, with what is computed of each element, on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ocl_runtime as ocl
from tests.support.depth import NIGHTLY, with_builds

_DTYPES = ["f4", "f2", "f8", "i4", "u1", "i8", "c8", "c16"]
_LENGTHS = [1, 2, 3, 8, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 96, 127, 128, 129, 200, 256, 257]


def whole(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Small whole numbers, of which all sums are exact."""
    made = rng.integers(0 if dtype[0] == "u" else -2, 3, shape).astype(dtype)
    return made + 1j * rng.integers(-2, 3, shape).astype(made.real.dtype) if dtype[0] == "c" else made


def exactly(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    wide = "c16" if left.dtype.kind == "c" else "f8" if left.dtype.kind == "f" else "i8"
    return (left.astype(wide) @ right.astype(wide)).astype(left.dtype)


@st.composite
def operand(draw: st.DrawFn, rng: Any, dtype: str, shape: tuple[int, ...]) -> tuple[np.ndarray, Any]:
    """A matrix on the host, and the same on the device: dense, transposed, a part, back to front, or with gaps."""
    kind = draw(st.sampled_from(["dense", "transposed", "part", "reversed", "gaps", "shifted"]))
    *front, rows, columns = shape
    if kind == "transposed":
        host = whole(rng, dtype, (*front, columns, rows))
        return np.swapaxes(host, -1, -2), ocl.matrix_transpose(ocl.asarray(host))
    if kind == "part":
        host = whole(rng, dtype, (*front, rows + 3, columns + 8))
        return host[..., 2 : rows + 2, 8:], ocl.asarray(host)[..., 2 : rows + 2, 8:]
    if kind == "shifted":
        host = whole(rng, dtype, (*front, rows, columns + 1))
        return host[..., 1:], ocl.asarray(host)[..., 1:]
    if kind == "reversed":
        host = whole(rng, dtype, shape)
        return host[..., ::-1, ::-1], ocl.asarray(host)[..., ::-1, ::-1]
    if kind == "gaps":
        host = whole(rng, dtype, (*front, 2 * rows, 2 * columns))
        return host[..., ::2, ::2], ocl.asarray(host)[..., ::2, ::2]
    host = whole(rng, dtype, shape)
    return host, ocl.asarray(host)


@st.composite
def products(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, Any, Any]:
    rng, dtype = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.sampled_from(_DTYPES))
    m, k, n = (draw(st.sampled_from(_LENGTHS)) for _ in range(3))
    front = draw(st.sampled_from([(), (), (3,), (2, 2)]))
    left, x = draw(operand(rng, dtype, (*front, m, k)))
    right, y = draw(operand(rng, dtype, (*(front if draw(st.booleans()) else ()), k, n)))
    return left, right, x, y


@settings(max_examples=with_builds(60))
@given(products())
def test_products_are_exact(case: tuple[np.ndarray, np.ndarray, Any, Any]) -> None:
    left, right, x, y = case
    np.testing.assert_array_equal((x @ y).numpy(), exactly(left, right))


@settings(max_examples=with_builds(40))
@given(products(), st.sampled_from(["bias", "masked", "relu", "twice", "compared"]))
def test_what_is_computed_of_each_element(case: tuple[np.ndarray, np.ndarray, Any, Any], what: str) -> None:
    left, right, x, y = case
    bare, product = exactly(left, right), x @ y
    if bare.dtype.kind == "c" and what in {"relu", "compared"}:
        return
    rng = np.random.default_rng(0)
    bias, rest = whole(rng, bare.dtype.str[1:], bare.shape[-1:]), whole(rng, bare.dtype.str[1:], bare.shape)
    with np.errstate(all="ignore"):
        match what:
            case "bias":
                expected, made = bare + bias, product + ocl.asarray(bias)
            case "masked":
                expected, made = bare * rest + bias, product * ocl.asarray(rest) + ocl.asarray(bias)
            case "relu":
                expected, made = np.maximum(bare, 1), ocl.maximum(product, 1)
            case "twice":
                expected, made = bare - (bare * bare), product - product * product
            case _:
                expected, made = bare > bias, product > ocl.asarray(bias)
    np.testing.assert_array_equal(made.numpy(), expected)


SIZES = [(512, 512, 512), (1000, 1000, 1000), (65, 2049, 65), (2048, 16, 2048), (16, 4096, 300)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["f4", "f2", "f8", "c8"])
@pytest.mark.parametrize("shape", SIZES if NIGHTLY else SIZES[:1] + SIZES[2:4:2], ids=str)
def test_errors_are_those_of_sums(dtype: str, shape: tuple[int, int, int]) -> None:
    """Of random numbers: no further from float64 than adding one product after the other in the dtype of the sums."""
    m, k, n = shape
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal(side).astype(dtype) for side in ((m, k), (k, n)))
    wide = "c16" if dtype == "c8" else "f8"
    exact = left.astype(wide) @ right.astype(wide)
    scale = np.abs(left).astype("f8") @ np.abs(right).astype("f8")
    found = (ocl.asarray(left) @ ocl.asarray(right)).numpy().astype(wide)
    unit = {"f4": 2.0**-24, "c8": 2.0**-23, "f8": 2.0**-53, "f2": 2.0**-24}[dtype]
    rounding = np.abs(exact) * 2.0**-11 if dtype == "f2" else 0
    assert (np.abs(found - exact) <= 2 * k**0.5 * unit * scale + rounding).all()


def test_infinities_and_nan_go_through() -> None:
    left, right = np.ones((64, 40), "f4"), np.ones((40, 64), "f4")
    left[3, 5], left[7, 39], right[0, 9] = np.inf, np.nan, -np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal((ocl.asarray(left) @ ocl.asarray(right)).numpy(), left @ right)


@pytest.mark.sample(3)
@pytest.mark.parametrize("shape", [(33, 65, 40), (128, 256, 64), (300, 100, 200)], ids=str)
@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
def test_tf32_is_within_its_bound(shape: tuple[int, int, int], turned: str) -> None:
    """Both operands may be rounded to 10 bits; a device without instructions for that is far within."""
    (m, k, n), rng = shape, np.random.default_rng(7)
    left, right = rng.standard_normal((m, k)).astype("f4"), rng.standard_normal((k, n)).astype("f4")
    x = ocl.asarray(left.T.copy()).T if "a" in turned else ocl.asarray(left)
    y = ocl.asarray(right.T.copy()).T if "b" in turned else ocl.asarray(right)
    with ocl.precision("tf32"):
        made = ocl.maximum(x @ y + 1, 0).numpy()
    wide = left.astype("f8") @ right.astype("f8")
    bound = (2.0**-10 + 2.0**-22 + (k + 2) * 2.0**-24) * (np.abs(left).astype("f8") @ np.abs(right) + 1)
    assert (np.abs(made - np.maximum(wide + 1, 0)) <= bound).all()
