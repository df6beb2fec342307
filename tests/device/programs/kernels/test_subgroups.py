"""Sub-groups exchange values the same on devices, in checked mode and in the interpreter."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.language import bool_, global_id, subgroup
from tests.support.depth import NIGHTLY

SIZE = 32
MODES = ["unchecked", "checked", "interpret"]


@ocl.kernel
def exchange(x, total, largest, running, before, crossed, behind, first):
    i = global_id(0)
    v = x[i]
    total[i] = subgroup.sum(v)
    largest[i] = subgroup.max(v)
    running[i] = subgroup.scan(v)
    before[i] = subgroup.shuffle_up(v, 1)
    crossed[i] = subgroup.shuffle_xor(v, 5)
    behind[i] = subgroup.shuffle_down(v, 3)
    first[i] = subgroup.broadcast(v, 0)


@ocl.kernel
def questions(x, least, some, every, lane, number):
    i = global_id(0)
    some[i] = subgroup.any(x[i] > least)
    every[i] = subgroup.all(x[i] > least)
    lane[i] = subgroup.lane()
    number[i] = subgroup.number()


ALL = list(itertools.product(MODES, [np.float32, np.int32, np.float16], [32, 96]))


@pytest.mark.parametrize(
    ("mode", "dtype", "group"),
    ALL if NIGHTLY else [case for case in ALL if case[0] == "interpret" or case[2] == 32][::2],
)
def test_values_are_exchanged(mode: str, dtype: Any, group: int) -> None:
    rows = np.random.default_rng(0).integers(0, 9, (group * 2 // SIZE, SIZE)).astype(dtype)
    x = ocl.asarray(rows.reshape(-1))
    outs = [ocl.zeros(x.shape, dtype=dtype) for _ in range(7)]
    getattr(exchange, mode)[x.size, (group,)](x, *outs)
    expected = [
        np.repeat(rows.sum(1, keepdims=True), SIZE, 1),
        np.repeat(rows.max(1, keepdims=True), SIZE, 1),
        rows.cumsum(1),
        np.roll(rows, 1, 1),
        rows[:, np.arange(SIZE) ^ 5],
        np.roll(rows, -3, 1),
        np.repeat(rows[:, :1], SIZE, 1),
    ]
    for out, wanted in zip(outs, expected, strict=True):
        np.testing.assert_array_equal(out.numpy().reshape(rows.shape), wanted)


@pytest.mark.parametrize("mode", MODES)
def test_questions_and_places(mode: str) -> None:
    values = np.arange(128, dtype=np.int32)
    x = ocl.asarray(values)
    some, every = (ocl.zeros(128, dtype=bool_) for _ in range(2))
    lane, number = (ocl.zeros(128, dtype=np.int32) for _ in range(2))
    getattr(questions, mode)[128, (64,)](x, 40, some, every, lane, number)
    np.testing.assert_array_equal(some.numpy(), np.repeat([False, True, True, True], SIZE))
    np.testing.assert_array_equal(every.numpy(), np.repeat([False, False, True, True], SIZE))
    np.testing.assert_array_equal(lane.numpy(), values % SIZE)
    np.testing.assert_array_equal(number.numpy(), values % 64 // SIZE)


def test_small_groups_have_small_subgroups() -> None:
    @ocl.kernel
    def sizes(out):
        out[global_id(0)] = subgroup.size()

    out = ocl.zeros(24, dtype=np.int32)
    sizes[24, (12,)](out)
    assert set(out.numpy()) == {4}
