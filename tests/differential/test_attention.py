"""Attention and its gradients beside NumPy's in float64, on the device."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ocl_runtime as ocl
from ocl_runtime.arrays.functions import attention_blocks
from ocl_runtime.errors import DTypeError, ShapeError
from tests.support.depth import with_builds

_ERRORS = {"f4": 1e-5, "f2": 4e-3, "f8": 1e-12}


@contextmanager
def blocks_of(queries: int) -> Iterator[None]:
    """Attention that is composed takes so many queries, or up to twice as many, at a time; 0: all of small arrays."""
    with pytest.MonkeyPatch.context() as patch:
        if queries:
            patch.setattr(attention_blocks, "_SCORE_BYTES", dict.fromkeys(("cpu", "gpu"), 1))
            patch.setattr(attention_blocks, "_CAUSAL_BYTES", dict.fromkeys(("cpu", "gpu"), 1))
            patch.setattr(attention_blocks, "_LEAST_QUERIES", dict.fromkeys(("cpu", "gpu"), queries))
        yield


def scale_of(q: np.ndarray, scale: float | None) -> float:
    return 1 / math.sqrt(q.shape[-1]) if scale is None else scale


def weights_by_numpy(q: np.ndarray, k: np.ndarray, mask: np.ndarray | None, *, causal: bool, scale: float) -> Any:
    n, m = q.shape[-2], k.shape[-2]
    scores = q @ np.swapaxes(k, -1, -2) * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = np.where(np.arange(m) <= np.arange(n)[:, None] + m - n, scores, -np.inf)
    largest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(largest), 0, largest))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total)


def by_numpy(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None, *, causal: bool, scale: float | None
) -> Any:
    q, k, v = (x.astype("f8") for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[-3] // k.shape[-3], -3) for x in (k, v))
    return weights_by_numpy(q, k, mask, causal=causal, scale=scale_of(q, scale)) @ v


def gradients_by_numpy(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, gradient: np.ndarray, mask: np.ndarray | None,
    *, causal: bool, scale: float | None,
) -> list[Any]:  # fmt: skip
    q, k, v, gradient = (x.astype("f8") for x in (q, k, v, gradient))
    shape, shared, scale = k.shape, q.shape[-3] // k.shape[-3], scale_of(q, scale)
    k, v = (np.repeat(x, shared, -3) for x in (k, v))
    weights = weights_by_numpy(q, k, mask, causal=causal, scale=scale)
    by_weights = gradient @ np.swapaxes(v, -1, -2)
    by_scores = weights * (by_weights - (weights * by_weights).sum(-1, keepdims=True)) * scale
    by_keys, by_values = (np.swapaxes(x, -1, -2) @ y for x, y in ((by_scores, q), (weights, gradient)))
    heads = (x.reshape(*shape[:-2], shared, *x.shape[-2:]) for x in (by_keys, by_values))
    return [by_scores @ k, *(x.sum(-3) for x in heads)]


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
    q, k, v, gradient = (rng.standard_normal(shape).astype(dtype) for shape in (*shapes, (*front, heads, n, e)))
    return {
        "q": q, "k": k, "v": v, "gradient": gradient, "mask": mask,
        "queries": draw(st.sampled_from([0, 5, 16])), "causal": draw(st.booleans()),
        "scale": draw(st.sampled_from([None, 0.25, 0.0, -0.5])),
    }  # fmt: skip


@settings(max_examples=with_builds(20))
@given(cases())
def test_attention_is_that_of_numpy(case: dict[str, Any]) -> None:
    q, k, v, mask = (case[name] for name in ("q", "k", "v", "mask"))
    given_mask = None if mask is None else ocl.asarray(mask)
    how = {"causal": case["causal"], "scale": case["scale"]}
    with blocks_of(case["queries"]):
        found = ocl.attention(ocl.asarray(q), ocl.asarray(k), ocl.asarray(v), mask=given_mask, **how).numpy()
    assert found.dtype == q.dtype
    expected = by_numpy(q, k, v, mask, **how)
    np.testing.assert_allclose(found, expected, atol=_ERRORS[q.dtype.str[1:]] * max(1, np.abs(expected).max()))


@settings(max_examples=with_builds(20))
@given(cases())
def test_gradients_are_those_of_numpy(case: dict[str, Any]) -> None:
    arrays, mask = [case[name] for name in ("q", "k", "v", "gradient")], case["mask"]
    given_mask = None if mask is None else ocl.asarray(mask)
    how = {"causal": case["causal"], "scale": case["scale"]}
    with blocks_of(case["queries"]):
        found = ocl.attention_gradients(*map(ocl.asarray, arrays), mask=given_mask, **how)
    expected = gradients_by_numpy(*arrays, mask, **how)
    for mine, other, operand in zip(found, expected, arrays, strict=False):
        assert (mine.dtype, mine.shape) == (operand.dtype, operand.shape)
        error = _ERRORS[operand.dtype.str[1:]] * max(1, np.abs(other).max())
        np.testing.assert_allclose(mine.numpy(), other, atol=error)


@pytest.mark.parametrize("kind", ["none", "bools", "numbers", "causal"])
def test_gradients_are_differences_of_attention(kind: str) -> None:
    """Each element of each operand moves by a little to both sides; two heads share keys."""
    rng, small = np.random.default_rng(3), 1e-5
    shapes = (4, 5, 3), (2, 6, 3), (2, 6, 2)
    arrays, gradient = [rng.standard_normal(shape) for shape in shapes], rng.standard_normal((4, 5, 2))
    mask = {"bools": rng.random((5, 6)) < 0.6, "numbers": rng.standard_normal((4, 1, 6))}.get(kind)
    how = {"causal": kind == "causal", "mask": None if mask is None else ocl.asarray(mask)}
    found = ocl.attention_gradients(*map(ocl.asarray, (*arrays, gradient)), **how)
    for number, x in enumerate(arrays):
        sides = []
        for sign in (1, -1):
            moved = x + sign * small * np.eye(x.size).reshape(x.size, *x.shape)
            many = [np.broadcast_to(y, (x.size, *y.shape)) for y in arrays]
            many[number] = moved
            sides.append((ocl.attention(*map(ocl.asarray, many), **how).numpy() * gradient).sum((1, 2, 3)))
        differences = (sides[0] - sides[1]) / (2 * small)
        np.testing.assert_allclose(found[number].numpy().ravel(), differences, atol=1e-8)


def test_gradients_of_queries_that_see_nothing_are_zero() -> None:
    rng = np.random.default_rng(4)
    q, k, v, gradient = (ocl.asarray(rng.standard_normal((2, 4, 8)).astype("f4")) for _ in range(4))
    mask = np.ones((4, 4), bool)
    mask[2] = mask[:, 1] = False
    dq, dk, dv = (x.numpy() for x in ocl.attention_gradients(q, k, v, gradient, mask=ocl.asarray(mask)))
    assert (dq[:, 2] == 0).all()
    assert (dk[:, 1] == 0).all()
    assert (dv[:, 1] == 0).all()
    assert all(np.isfinite(x).all() and x[:, 0].all() for x in (dq, dk, dv))
    nothing = ocl.attention_gradients(q, k, v, gradient, mask=ocl.zeros((4, 4), dtype=ocl.bool))
    assert not any(x.numpy().any() for x in nothing)


def test_gradients_without_queries() -> None:
    none, some = ocl.zeros((2, 0, 8)), ocl.ones((1, 4, 8))
    dq, dk, dv = ocl.attention_gradients(none, some, some, none)
    assert dq.shape == (2, 0, 8)
    assert not dk.numpy().any()
    assert not dv.numpy().any()


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


@pytest.mark.parametrize("name", ["attention", "attention_gradients"])
@pytest.mark.parametrize("shapes", [
    ((4, 8), (4, 8), (4, 8)),
    ((3, 4, 8), (2, 4, 8), (2, 4, 8)),
    ((2, 4, 8), (2, 4, 9), (2, 4, 8)),
    ((2, 4, 8), (2, 4, 8), (2, 5, 8)),
    ((1, 2, 4, 8), (2, 4, 8), (2, 4, 8)),
    ((2, 4, 8), (2, 0, 8), (2, 0, 8)),
])  # fmt: skip
def test_shapes_that_do_not_fit(shapes: tuple[tuple[int, ...], ...], name: str) -> None:
    given_shapes = shapes if name == "attention" else (*shapes, shapes[0])
    with pytest.raises(ShapeError, match=f"{name} of shapes"):
        getattr(ocl, name)(*(ocl.zeros(shape) for shape in given_shapes))


def test_a_gradient_of_another_shape_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"attention_gradients of a gradient of shape \(2, 4, 8\)") as caught:
        ocl.attention_gradients(*(ocl.zeros((2, 4, length)) for length in (8, 8, 9, 8)))
    assert "(2, 4, 9)" in caught.value.remedy


@pytest.mark.parametrize(("name", "count"), [("attention", 3), ("attention_gradients", 4)])
@pytest.mark.parametrize("dtype", ["int32", "complex64"])
def test_other_dtypes_are_refused(name: str, count: int, dtype: str) -> None:
    with pytest.raises(DTypeError, match=f"{name} of {dtype}"):
        getattr(ocl, name)(*(ocl.zeros((1, 2, 2), dtype=dtype) for _ in range(count)))
