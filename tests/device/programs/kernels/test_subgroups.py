"""Sub-groups exchange values the same on devices, in registers and through local memory, in checked mode and in the
interpreter."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.subgroups import Subgroups
from ocl_runtime.language import bool_, global_id, position, subgroup
from tests.support.depth import NIGHTLY
from tests.support.roads import ROADS, on

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


ALL = list(itertools.product(MODES, [np.float32, np.int32, np.float16], [32, 96, 48]))


@pytest.fixture(params=ROADS)
def road(request: pytest.FixtureRequest) -> Iterator[Subgroups | None]:
    """Arrays are on a device that exchanges values in sub-groups as it can, then on one that cannot."""
    with on(request.param) as subgroups:
        yield subgroups


def size_of(group: int) -> int:
    return min(32, group & -group)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("mode", "dtype", "group"),
    ALL if NIGHTLY else [case for case in ALL if case[0] == "interpret" or case[2] != 96][::2],
)
def test_values_are_exchanged(mode: str, dtype: Any, group: int, road: Subgroups | None) -> None:
    size = size_of(group)
    rows = np.random.default_rng(0).integers(0, 9, (group * 2 // size, size)).astype(dtype)
    x = ocl.asarray(rows.reshape(-1))
    outs = [ocl.zeros(x.shape, dtype=dtype) for _ in range(7)]
    getattr(exchange, mode)[x.size, (group,)](x, *outs)
    expected = [
        np.repeat(rows.sum(1, keepdims=True), size, 1),
        np.repeat(rows.max(1, keepdims=True), size, 1),
        rows.cumsum(1),
        np.roll(rows, 1, 1),
        rows[:, np.arange(size) ^ 5],
        np.roll(rows, -3, 1),
        np.repeat(rows[:, :1], size, 1),
    ]
    for out, wanted in zip(outs, expected, strict=True):
        np.testing.assert_array_equal(out.numpy().reshape(rows.shape), wanted)


@pytest.mark.parametrize("group", [(32,), (48,), (16, 2), (8, 4), (4, 2)], ids=str)
def test_where_the_device_can_no_local_memory_is_used(group: tuple[int, ...], road: Subgroups | None) -> None:
    @ocl.kernel
    def summed(x, y):
        i, j = position()
        y[i, j] = subgroup.sum(x[i, j]) + subgroup.scan(x[i, j]) * int(subgroup.any(x[i, j] > 2))

    width, height = (*group, 1)[:2]
    x = ocl.asarray(np.random.default_rng(0).normal(size=(height * 2, width * 2)).astype(np.float32))
    y = ocl.zeros_like(x)
    sizes = width * 2, height * 2, (width, height)
    summed[sizes](x, y)
    wanted = ocl.zeros_like(x)
    summed.interpret[sizes](x, wanted)
    assert y.numpy().tobytes() == wanted.numpy().tobytes()
    source, explained = summed.source(x, y, sizes=sizes), summed.explain(x, y, sizes=sizes)
    size = size_of(width * height)
    in_registers = road is not None and road.exchange(size, (width, height, 1))
    assert ("__local" not in source) == ("barrier(" not in source) == in_registers
    assert ("shuffle" in source.replace("shuffled", "")) == in_registers
    how = "in registers" if in_registers else "through local memory"
    assert f"  exchanges values in its sub-group 3 times, {how}\n" in explained


def test_one_exchange_is_explained_in_the_singular() -> None:
    @ocl.kernel(local=32)
    def summed(x, y):
        y[global_id(0)] = subgroup.sum(x[global_id(0)])

    x = ocl.zeros(64)
    assert "exchanges values in its sub-group once, " in summed.explain(x, x, sizes=64)


@pytest.mark.parametrize("mode", MODES)
def test_questions_and_places(mode: str, road: Subgroups | None) -> None:
    values = np.arange(128, dtype=np.int32)
    x = ocl.asarray(values)
    some, every = (ocl.zeros(128, dtype=bool_) for _ in range(2))
    lane, number = (ocl.zeros(128, dtype=np.int32) for _ in range(2))
    getattr(questions, mode)[128, (64,)](x, 40, some, every, lane, number)
    np.testing.assert_array_equal(some.numpy(), np.repeat([False, True, True, True], 32))
    np.testing.assert_array_equal(every.numpy(), np.repeat([False, False, True, True], 32))
    np.testing.assert_array_equal(lane.numpy(), values % 32)
    np.testing.assert_array_equal(number.numpy(), values % 64 // 32)


def test_small_groups_have_small_subgroups() -> None:
    @ocl.kernel
    def sizes(out):
        out[global_id(0)] = subgroup.size()

    out = ocl.zeros(24, dtype=np.int32)
    sizes[24, (12,)](out)
    assert set(out.numpy()) == {4}
