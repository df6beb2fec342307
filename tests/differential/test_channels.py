"""Convolutions with channels and pooling of random sizes, beside NumPy, on the device."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ocl_runtime as ocl
from ocl_runtime.errors import DTypeError, Error, ShapeError
from tests.support import convolution_reference as reference
from tests.support.depth import with_builds

_DTYPES = ["f4", "f2", "f8", "i4", "u1", "c8"]


class Problem(NamedTuple):
    x: np.ndarray
    w: np.ndarray
    stride: list[int]
    pairs: list[tuple[int, int]]
    dilation: list[int]
    groups: int


def whole(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Small whole numbers, of which all sums are exact."""
    made = rng.integers(0 if dtype[0] == "u" else -2, 3, shape).astype(dtype)
    return made + 1j * rng.integers(-2, 3, shape).astype(made.real.dtype) if dtype[0] == "c" else made


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    rng, dtype, rank = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.sampled_from(_DTYPES)), draw(
        st.integers(1, 3)
    )  # fmt: skip

    def numbers(low: int, high: int) -> list[int]:
        return [draw(st.integers(low, high)) for _ in range(rank)]

    kernel, stride, dilation = numbers(1, 3), numbers(1, 3), numbers(1, 2)
    pairs = list(zip(numbers(0, 2), numbers(0, 2), strict=True))
    space = [
        max(1, d * (k - 1) + 1 - before - behind) + draw(st.integers(0, (40, 9, 4)[rank - 1]))
        for k, d, (before, behind) in zip(kernel, dilation, pairs, strict=True)
    ]
    groups, batch = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    taken, made = draw(st.sampled_from([1, 2, 3, 5, 16])), draw(st.sampled_from([0, 1, 2, 3, 16, 17, 33]))
    x = whole(rng, dtype, (batch, groups * taken, *space))
    w = whole(rng, dtype, (groups * made, taken, *kernel))
    return Problem(x, w, stride, pairs, dilation, groups)


@settings(max_examples=with_builds(60))
@given(problems(), st.sampled_from(["dense", "channels last", "reversed", "computed"]))
def test_convolutions_are_exact(case: Problem, lies: str) -> None:
    x, w, stride, pairs, dilation, groups = case
    expected = reference.conv(*case)
    device, weights = ocl.asarray(x), ocl.asarray(w)
    if lies == "channels last":
        device = ocl.moveaxis(ocl.asarray(np.ascontiguousarray(np.moveaxis(x, 1, -1))), -1, 1)
        weights = ocl.moveaxis(ocl.asarray(np.ascontiguousarray(np.moveaxis(w, 1, -1))), -1, 1)
    elif lies == "reversed":
        device = ocl.flip(ocl.asarray(np.ascontiguousarray(np.flip(x))))
    elif lies == "computed":
        device = -ocl.asarray(-x)
    found = ocl.conv(device, weights, stride, pairs, dilation, groups)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found.numpy(), expected)


@settings(max_examples=with_builds(20))
@given(problems(), st.booleans())
def test_what_follows_a_convolution(case: Problem, same: bool) -> None:
    x, w, stride, pairs, dilation, groups = case
    if x.dtype.kind != "f" or not x.size or not w.size:
        return
    bias = whole(np.random.default_rng(0), x.dtype.str[1:], w.shape[:1])[(slice(None),) + (None,) * (x.ndim - 2)]
    bare = reference.conv(*case)
    made = ocl.conv(ocl.asarray(x), ocl.asarray(w), stride, pairs, dilation, groups) + ocl.asarray(bias)
    if same:
        made = made + ocl.asarray(bare)
    expected = np.maximum(bare + bias + (bare if same else 0), 0)
    np.testing.assert_array_equal(ocl.maximum(made, 0).numpy(), expected)


@settings(max_examples=with_builds(30))
@given(problems(), st.sampled_from(["max", "mean", "mean of what counts"]), st.data())
def test_pooling(case: Problem, what: str, data: st.DataObject) -> None:
    x, stride = case.x, case.stride
    window = [k + 1 for k in case.w.shape[2:]]
    pairs = [(min(b, k - 1), min(a, k - 1)) for (b, a), k in zip(case.pairs, window, strict=True)]
    if x.dtype.kind == "c" or any(n + b + a < k for n, (b, a), k in zip(x.shape[2:], pairs, window, strict=True)):
        return
    if not x.size:
        return
    if x.dtype.kind == "f" and data.draw(st.booleans()):
        x = x.copy()
        x.flat[data.draw(st.integers(0, x.size - 1))] = np.nan
    device = ocl.asarray(x)
    if what == "max":
        least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        expected = reference.pool(x, lambda seen: seen.max(-1), window, stride, pairs, least)
        np.testing.assert_array_equal(ocl.max_pool(device, window, stride, pairs).numpy(), expected)
        return
    wide = x.astype("f8")
    total = reference.pool(wide, lambda seen: seen.sum(-1), window, stride, pairs, 0)
    counts = reference.pool(np.ones_like(wide), lambda seen: seen.sum(-1), window, stride, pairs, 0)
    expected = total / (counts if what != "mean" else np.prod(window))
    found = ocl.mean_pool(device, window, stride, pairs, count_padding=what == "mean")
    assert found.dtype == (x.dtype if x.dtype.kind == "f" else np.float32)
    np.testing.assert_allclose(found.numpy(), expected.astype(found.dtype), rtol=1e-3 if x.dtype == "f2" else 1e-6)


def test_the_padding_same_gives_as_many_places() -> None:
    for length in range(1, 12):
        for stride in range(1, 4):
            x = np.arange(length, dtype="f4").reshape(1, 1, -1)
            w = np.ones((1, 1, 4), "f4")
            found = ocl.conv(ocl.asarray(x), ocl.asarray(w), stride, "same")
            assert found.shape[-1] == -(-length // stride)
            missing = max(0, (found.shape[-1] - 1) * stride + 4 - length)
            pairs = [(missing // 2, missing - missing // 2)]
            np.testing.assert_array_equal(found.numpy(), reference.conv(x, w, [stride], pairs, [1]))


def test_dtypes_are_those_of_products() -> None:
    x, w = ocl.ones((1, 2, 5), dtype="i2"), ocl.ones((3, 2, 2), dtype="f4")
    assert ocl.conv(x, w).dtype == np.float32
    halves = ocl.conv(ocl.full((1, 4096, 1), 0.1, dtype="f2"), ocl.ones((1, 4096, 1), dtype="f2"))
    assert abs(float(halves[0, 0, 0]) - 4096 * float(np.float16(0.1))) < 0.3  # added up in float32


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda x, w: ocl.conv(x[0, 0], w[0, 0]), ShapeError, "shape"),
    (lambda x, w: ocl.conv(x, w[0]), ShapeError, "shapes"),
    (lambda x, w: ocl.conv(x, w[:, :1]), ShapeError, "groups"),
    (lambda x, w: ocl.conv(x, w, groups=0), ShapeError, "groups"),
    (lambda x, w: ocl.conv(x, w, groups=3), ShapeError, "groups"),
    (lambda x, w: ocl.conv(x, w, stride=0), ShapeError, "stride"),
    (lambda x, w: ocl.conv(x, w, stride=(1, 2, 3)), ShapeError, "stride"),
    (lambda x, w: ocl.conv(x, w, dilation=-1), ShapeError, "dilation"),
    (lambda x, w: ocl.conv(x, w, dilation=9), ShapeError, "more padding"),
    (lambda x, w: ocl.conv(x, w, padding="full"), Error, "same"),
    (lambda x, w: ocl.conv(x, w, padding=[(1, 2, 3), 1]), ShapeError, "padding"),
    (lambda x, w: ocl.conv(x, w, padding=-1), ShapeError, "padding"),
    (lambda x, w: ocl.conv(x > 0, w > 0), DTypeError, "astype"),
    (lambda x, w: ocl.max_pool(x, 2, padding=2), ShapeError, "less padding"),
    (lambda x, w: ocl.max_pool(x, 9), ShapeError, "shorter window"),
    (lambda x, w: ocl.mean_pool(x, 0), ShapeError, "window"),
    (lambda x, w: ocl.max_pool(x + 0j, 2), DTypeError, "order"),
    (lambda x, w: ocl.max_pool(x[0, 0], 2), ShapeError, "batch"),
])  # fmt: skip
def test_errors_say_what_to_do(call: Any, error: type[Exception], text: str) -> None:
    x, w = ocl.ones((2, 4, 6, 6)), ocl.ones((4, 4, 3, 3))
    with pytest.raises(error, match=text):
        call(x, w)
