"""Attention beside NumPy's in float64, on the device."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ocl_runtime as ocl
from ocl_runtime.errors import DTypeError, ShapeError
from tests.support.depth import with_builds

_ERRORS = {"f4": 1e-5, "f2": 4e-3, "f8": 1e-12}


def by_numpy(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None, *, causal: bool, scale: float | None
) -> Any:
    q, k, v = (x.astype("f8") for x in (q, k, v))
    shared = q.shape[-3] // k.shape[-3]
    k, v = (np.repeat(x, shared, -3) for x in (k, v))
    n, m = q.shape[-2], k.shape[-2]
    scores = q @ np.swapaxes(k, -1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = np.where(np.arange(m) <= np.arange(n)[:, None] + m - n, scores, -np.inf)
    largest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(largest), 0, largest))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    rng, dtype = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.sampled_from(list(_ERRORS)))
    front = draw(st.sampled_from([(), (2,), (2, 1)]))
    key_heads, shared = draw(st.sampled_from([1, 2])), draw(st.sampled_from([1, 2, 3]))
    n, m = draw(st.sampled_from([1, 7, 33, 64])), draw(st.sampled_from([1, 16, 37, 64]))
    d, e = draw(st.sampled_from([1, 8, 16, 40])), draw(st.sampled_from([1, 8, 24]))
    heads = key_heads * shared
    kind = draw(st.sampled_from(["none", "bools", "numbers"]))
    mask = None
    if kind == "bools":
        mask = rng.random((n, m)) < 0.7
    elif kind == "numbers":
        mask = rng.standard_normal((heads, 1, m)).astype("f4")
    shapes = (*front, heads, n, d), (*front, key_heads, m, d), (*front, key_heads, m, e)
    q, k, v = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    return {
        "q": q, "k": k, "v": v, "mask": mask,
        "causal": draw(st.booleans()), "scale": draw(st.sampled_from([None, 0.25])),
    }  # fmt: skip


@settings(max_examples=with_builds(40))
@given(cases())
def test_attention_is_that_of_numpy(case: dict[str, Any]) -> None:
    q, k, v, mask = (case[name] for name in ("q", "k", "v", "mask"))
    given_mask = None if mask is None else ocl.asarray(mask)
    how = {"causal": case["causal"], "scale": case["scale"]}
    found = ocl.attention(ocl.asarray(q), ocl.asarray(k), ocl.asarray(v), mask=given_mask, **how).numpy()
    assert found.dtype == q.dtype
    expected = by_numpy(q, k, v, mask, **how)
    np.testing.assert_allclose(found, expected, atol=_ERRORS[q.dtype.str[1:]] * max(1, np.abs(expected).max()))


def test_queries_that_see_nothing_get_zero() -> None:
    q = k = v = ocl.asarray(np.ones((1, 4, 8), "f4"))
    mask = np.ones((4, 4), bool)
    mask[2] = False
    found = ocl.attention(q, k, v, mask=ocl.asarray(mask)).numpy()
    assert (found[0, 2] == 0).all()
    np.testing.assert_allclose(found[0, [0, 1, 3]], 1, rtol=1e-6)
    early = ocl.attention(ocl.asarray(np.ones((1, 6, 8), "f4")), k, v, causal=True).numpy()
    assert (early[0, :2] == 0).all()  # query 2 is the first one that sees a key


def test_scores_of_halves_are_float32() -> None:
    """Scores of 4096 and 4097 are one number in half precision, and a factor of e apart here."""
    q = np.zeros((1, 1, 16), "f2")
    q[..., 0], q[..., 1] = 64, 1
    k = np.zeros((1, 2, 16), "f2")
    k[..., 0], k[0, 1, 1] = 64, 1
    v = np.array([[[0.0], [1.0]]], "f2")
    found = ocl.attention(*(ocl.asarray(x) for x in (q, k, v)), scale=1.0).numpy()
    np.testing.assert_allclose(found, 1 / (1 + math.exp(-1)), rtol=2e-3)


@pytest.mark.parametrize("shapes", [
    ((4, 8), (4, 8), (4, 8)),
    ((3, 4, 8), (2, 4, 8), (2, 4, 8)),
    ((2, 4, 8), (2, 4, 9), (2, 4, 8)),
    ((2, 4, 8), (2, 4, 8), (2, 5, 8)),
    ((1, 2, 4, 8), (2, 4, 8), (2, 4, 8)),
    ((2, 4, 8), (2, 0, 8), (2, 0, 8)),
])  # fmt: skip
def test_shapes_that_do_not_fit(shapes: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ShapeError, match="attention of shapes"):
        ocl.attention(*(ocl.zeros(shape) for shape in shapes))


def test_integers_are_refused() -> None:
    with pytest.raises(DTypeError, match="attention of int32"):
        ocl.attention(*(ocl.zeros((1, 2, 2), dtype=ocl.int32) for _ in range(3)))
