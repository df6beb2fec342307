"""Random programs that read elements, build on them, write and swap give what they give in NumPy, captured or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.depth import with_builds
from tests.support.interpreted import InterpretedRuntime

LENGTH = 6
PLACES = st.integers(-LENGTH, LENGTH - 1)
STEPS = st.lists(st.tuples(st.integers(0, 12), PLACES, PLACES, st.integers(0, 20)), min_size=2, max_size=20)


def run(x: Any, steps: list[tuple[int, int, int, int]], computing: bool) -> list[Any]:
    """What a program read, and the array. NumPy's and ours take the same way; only `compute` is ours alone."""
    read: list[Any] = [x[0]]
    for kind, first, second, number in steps:
        before = read[number % len(read)]
        match kind:
            case 0 | 1:
                read.append(x[first])
            case 2:
                read.append(x[first] * 3 + before)
            case 3:
                x[first] = number
            case 4:
                x[first] = before
            case 5:
                x[first], x[second] = x[second], x[first]
            case 6:
                x[first] += number
            case 7:
                element = kept = x[first]
                element += number
                read += [kept, element]
            case 8:
                view = x[::-1]
                read.append(view[first])
                view[second] = x[first]
            case 9:
                x[1:4] = x[2:5] + before
            case 10:
                x *= 2
            case 11:
                read.append(x[[first, second]][1])
                x[[first, second]] = before
            case 12 if computing:
                x.compute()
    return [*read, x]


def check(steps: list[tuple[int, int, int, int]], host: np.ndarray) -> None:
    expected = run(host.copy(), steps, False)
    found = run(ocl.asarray(host) + 0, steps, True)
    for one, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.numpy(), np.asarray(wanted))


HOST = np.arange(1, LENGTH + 1, dtype="i4")


@given(STEPS)
def test_elements_interpreted(steps: list[tuple[int, int, int, int]]) -> None:
    with ocl.use(InterpretedRuntime()):
        check(steps, HOST)


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


@settings(max_examples=with_builds(settings().max_examples // 4))
@given(STEPS)
def test_elements_on_the_device(runtime: Runtime, steps: list[tuple[int, int, int, int]]) -> None:
    with ocl.use(runtime):
        check(steps, HOST)


@settings(max_examples=with_builds(settings().max_examples // 10))
@given(STEPS)
def test_elements_in_captured_functions(runtime: Runtime, steps: list[tuple[int, int, int, int]]) -> None:
    expected = run(HOST.copy(), steps, False)

    @ocl.capture
    def program(x: Any) -> Any:
        *read, x = run(x, steps, False)
        return read

    with ocl.use(runtime):
        for _ in range(2):  # captured, then replayed
            x = ocl.asarray(HOST)
            for one, wanted in zip([*program(x), x], expected, strict=True):
                np.testing.assert_array_equal(one.numpy(), np.asarray(wanted))
