"""The transformer of gpt.py beside NumPy in float64, and its gradients beside differences of its loss."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from gpt import Sizes, cross_entropy, first_weights, gradients, transformer

import ocl_runtime as ocl


def weights(q: Any, k: Any) -> Any:
    """The softmax of the scores, without those of later positions."""
    scores = np.tril(np.exp(q @ np.matrix_transpose(k) / math.sqrt(q.shape[-1])))
    return scores / np.sum(scores, axis=-1, keepdims=True)


def attention(q: Any, k: Any, v: Any, *, causal: bool) -> Any:
    """`ocl.attention` of a few small numbers, causal."""
    assert causal
    return weights(q, k) @ v


def attention_gradients(q: Any, k: Any, v: Any, above: Any, *, causal: bool) -> tuple[Any, Any, Any]:
    """`ocl.attention_gradients` of the same."""
    assert causal
    taken, by_taken = weights(q, k), above @ np.matrix_transpose(v)
    by_scores = taken * (by_taken - np.sum(taken * by_taken, axis=-1, keepdims=True)) / math.sqrt(q.shape[-1])
    return by_scores @ k, np.matrix_transpose(by_scores) @ q, np.matrix_transpose(taken) @ above


PLAIN = SimpleNamespace(**vars(np), attention=attention, attention_gradients=attention_gradients, add_at=np.add.at)
"""NumPy, with what the model takes beyond the standard."""


def check(learnt: np.ndarray, sizes: Sizes) -> float:
    """The greatest error of the loss and the gradients of a step, each relative to its greatest element.

    NumPy's gradients are held against differences of its loss in a random direction for each of the weights.
    """
    rng, small = np.random.default_rng(3), 1e-5
    characters = learnt[: sizes.batch * (sizes.context + 1)].reshape(sizes.batch, -1)
    host = {name: x + rng.normal(0, 0.05, x.shape).astype(np.float32) for name, x in first_weights(sizes).items()}
    exact = {name: x.astype(np.float64) for name, x in host.items()}

    def loss_at(name: str, way: np.ndarray) -> float:
        scores, _ = transformer(PLAIN, exact | {name: exact[name] + way}, characters[:, :-1], sizes)
        return float(cross_entropy(PLAIN, scores, characters[:, 1:])[0])

    loss, expected = gradients(PLAIN, exact, characters, sizes)
    step = ocl.capture(lambda w, characters: gradients(ocl, w, characters, sizes))
    ours, found = step({name: ocl.asarray(x) for name, x in host.items()}, ocl.asarray(characters))
    errors = [abs(float(ours) - loss) / loss]
    for name, gradient in expected.items():
        errors.append(np.abs(found[name].numpy() - gradient).max() / np.abs(gradient).max())
        way = rng.normal(size=gradient.shape)
        slope = (loss_at(name, small * way) - loss_at(name, -small * way)) / (2 * small)
        assert abs(slope - np.sum(gradient * way)) < 1e-6 * np.linalg.norm(gradient), name
    assert max(errors) < 1e-4
    return max(errors)
