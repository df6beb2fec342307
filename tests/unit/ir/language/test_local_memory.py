"""Reads of what nobody stored, and races on local memory, that are proven while a kernel is translated."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from ocl_ir.errors import DataRaceError, Error
from ocl_ir.language.builtins.registry import BUILTINS
from ocl_ir.language.context import Options
from ocl_ir.language.errors import KernelError
from ocl_ir.language.parameters import ArrayType
from ocl_ir.language.translate import translate
from ocl_ir.types import F32

barrier, global_id, local_id, local_array, private_array = (
    BUILTINS[name] for name in ("barrier", "global_id", "local_id", "local_array", "private_array")
)
float32 = np.float32
GROUP = 64


def translated(function: Callable[..., Any]) -> None:
    assert isinstance(function, FunctionType)
    translate(function, {"x": ArrayType(F32, 1)}, Options(group_size=(GROUP, 1, 1)))


def read_first(x: Any) -> None:
    part = local_array(64, float32)
    x[global_id(0)] = part[local_id(0)]


def read_first_in_private(x: Any) -> None:
    own = private_array(4, float32)
    x[global_id(0)] = own[2]


def stored_by_the_turn_before(x: Any) -> None:
    own = private_array(4, float32)
    for k in range(4):
        if k > 0:
            x[global_id(0)] = own[k - 1]
        own[k] = float32(k)


def stored_on_one_side(x: Any) -> None:
    own = private_array(4, float32)
    if x[0] > 0:
        own[0] = 1
    x[global_id(0)] = own[0]


def neighbours(x: Any) -> None:
    part = local_array(65, float32)
    lane = local_id(0)
    part[lane] = x[global_id(0)]
    x[global_id(0)] = part[lane + 1]
    barrier()


def neighbours_behind_a_barrier(x: Any) -> None:
    part = local_array(65, float32)
    lane = local_id(0)
    part[lane] = x[global_id(0)]
    barrier()
    x[global_id(0)] = part[lane + 1]


def mirrored(x: Any) -> None:
    part = local_array(64, float32)
    lane = local_id(0)
    part[lane] = x[global_id(0)]
    part[63 - lane] = 0
    barrier()


def apart(x: Any) -> None:
    part = local_array(128, float32)
    lane = local_id(0)
    part[2 * lane] = x[global_id(0)]
    part[2 * lane + 1] = 0
    barrier()


def everybody_stores_one_element(x: Any) -> None:
    part = local_array(1, float32)
    part[0] = 1
    barrier()
    x[global_id(0)] = part[0]


def one_stores_it(x: Any) -> None:
    part = local_array(1, float32)
    if local_id(0) == 0:
        part[0] = 1
    barrier()
    x[global_id(0)] = part[0]


@pytest.mark.parametrize("function", [read_first, read_first_in_private], ids=lambda function: function.__name__)
def test_what_nobody_stored_is_not_read(function: Callable[..., Any]) -> None:
    with pytest.raises(KernelError, match="is read before anything was stored there") as caught:
        translated(function)
    assert function.__name__ in caught.value.place


@pytest.mark.parametrize("function", [neighbours, mirrored, everybody_stores_one_element], ids=lambda f: f.__name__)
def test_a_race_that_is_certain_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(DataRaceError, match=r"data race on part\[\d+\]: work-items \d+ and \d+") as caught:
        translated(function)
    assert "test_local_memory.py" in caught.value.place


@pytest.mark.parametrize(
    "function",
    [stored_by_the_turn_before, stored_on_one_side, neighbours_behind_a_barrier, apart, one_stores_it],
    ids=lambda function: function.__name__,
)
def test_what_may_be_right_is_not_refused(function: Callable[..., Any]) -> None:
    translated(function)


def returns_and_goes_on(x: Any) -> None:
    x[0] = 1
    return
    x[0] = 2


def test_what_is_never_reached_is_refused() -> None:
    with pytest.raises(Error, match="this is never reached"):
        translated(returns_and_goes_on)
