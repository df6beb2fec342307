"""Attention of products and a softmax stores scores of one block of queries, and leaves out keys that nobody sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.types import F32, F64
from ocl_runtime.arrays.functions import attention_blocks
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import counting

HEADS, KEY_HEADS, N, D = 4, 2, 320, 8
QUERIES = 32
SCORES = HEADS * N * N * 4
"""Bytes of all scores."""


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, replace(engine.settings, streams=1))
    with ocl.use(runtime):
        yield runtime


def set_queries(patch: pytest.MonkeyPatch, count: int) -> None:
    """A block has so many queries of each head."""
    patch.setattr(attention_blocks, "_SCORE_BYTES", dict.fromkeys(("cpu", "gpu"), SCORES * count // N))
    patch.setattr(attention_blocks, "_LEAST_QUERIES", dict.fromkeys(("cpu", "gpu"), count))


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    set_queries(monkeypatch, QUERIES)


def operands() -> list[Any]:
    rng = np.random.default_rng(0)
    heads = (HEADS, KEY_HEADS, KEY_HEADS, HEADS)
    return [ocl.asarray(rng.standard_normal((count, N, D)).astype("f4")) for count in heads]


def attended(causal: bool, *arrays: Any) -> Any:
    return [ocl.attention(*arrays[:3], causal=causal)]


def gradients(causal: bool, *arrays: Any) -> Any:
    return ocl.attention_gradients(*arrays, causal=causal)


def peak(runtime: Runtime, compute: Callable[[], Any]) -> float:
    """Bytes in use at once, beyond those before, as arrays of all scores."""
    runtime.finish()
    counters = runtime.executor.engine.memory.device_pool.counters
    before = counters.in_use
    counters.peak_in_use = before
    ocl.compute(*compute())
    runtime.finish()
    return (counters.peak_in_use - before) / SCORES


@pytest.mark.sample(2)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("function", "whole"), [(attended, 1.0), (gradients, 2.0)])
def test_scores_of_one_block_are_stored(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, function: Any, whole: float, causal: bool
) -> None:
    arrays = operands()
    set_queries(monkeypatch, N)
    assert peak(runtime, lambda: function(causal, *arrays)) >= whole
    expected = [x.numpy() for x in function(causal, *arrays)]
    set_queries(monkeypatch, QUERIES)
    assert peak(runtime, lambda: function(causal, *arrays)) < 0.6
    captured = ocl.capture(lambda *arrays: tuple(function(causal, *arrays)))
    captured(*arrays)  # planned
    assert peak(runtime, lambda: captured(*arrays)) < 0.6
    for found in (function(causal, *arrays), captured(*arrays)):
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x.numpy(), y, rtol=1e-5, atol=1e-5)


def test_blocks_share_kernels_and_a_plan(runtime: Runtime, in_blocks: None) -> None:
    arrays = operands()
    with counting(runtime) as counted:
        ocl.compute(*attended(False, *arrays))
    assert counted["launch", "launches"] >= 4 * N // QUERIES
    assert counted["launch", "compiled"] < 8
    assert counted["plan", "hits"] >= N // QUERIES - 2
    assert counted["plan", "plans"] <= 2  # the first one makes the memory of the result, too


def test_keys_that_nobody_sees_are_left_out(in_blocks: None) -> None:
    seen = [block.keys for block in attention_blocks.Scores(*operands()[:2], [], F32, True, 1.0).blocks()]
    assert seen == list(range(QUERIES, N + 1, QUERIES))


def test_arrays_of_another_runtime(device: Device, in_blocks: None) -> None:
    with ocl.use(Runtime(device)):
        arrays = operands()
    with ocl.use(Runtime(device)):
        for function in (attended, gradients):
            assert all(np.isfinite(x.numpy()).all() for x in function(True, *arrays))


def test_blocks_of_long_and_of_causal_sequences() -> None:
    def count(heads: int, n: int, dtype: Any, causal: bool) -> int:
        q = ocl.zeros((heads, n, 8), dtype=dtype.public)
        return len(attention_blocks.Scores(q, q, [], dtype, causal, 1.0).blocks())

    kind = ocl.zeros(1)._executor.target.kind
    n, few = {"cpu": (4096, 4), "gpu": (16384, 1)}[kind]
    assert count(1, n // 4, F32, False) == 1
    assert count(1, n // 4, F32, True) == few
    assert count(1, n, F32, True) == 8
    assert 2 * count(4, n, F32, False) == count(4, n, F64, False)


def test_operands_are_computed_once(runtime: Runtime, in_blocks: None) -> None:
    q, k, v, gradient = operands()
    launches = []
    for arrays in [(q, k, v, gradient), (ocl.exp(q), ocl.sin(k), v + 1, gradient * 2)]:
        with counting(runtime) as counted:
            ocl.compute(*attended(False, *arrays))
        launches.append(counted["launch", "launches"])
    assert launches[0] < launches[1] <= launches[0] + len(arrays)
