"""Random programs that evaluate at one line, again and again, what is nearly the same, give what NumPy gives: functions
are written for what comes again, and have to see whatever differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.plan.cache import known_lines
from ocl_runtime.runtime import Runtime
from tests.support.depth import with_builds

SIZES = (12, 20)
ARRAYS = 4
NUMBERS = (0.5, 1.0, 0.0, -0.0, 3.0)
FORMS = 6
PLACE = st.integers(0, ARRAYS - 1)
STEP = st.tuples(
    st.integers(0, FORMS - 1),
    PLACE,
    PLACE,
    st.sampled_from(NUMBERS),
    st.sampled_from(["replace", "keep", "hold", "into", "write", "pending", "twice"]),
    PLACE,
)
STEPS = st.lists(STEP, min_size=4, max_size=24)


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    """One that writes a function as early as it can."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_lines, "WORTH", 1)
        yield Runtime(device, engine.settings)


def formed(xp: Any, form: int, x: Any, y: Any, number: float) -> tuple[Any, Any]:
    """An expression, and a part of it. All forms are asked for at the same lines."""
    part = x * number if form % 2 else x + y
    match form:
        case 0 | 1:
            whole = part - y
        case 2:
            whole = part * part + x
        case 3:
            whole = xp.where(part > y, part, y)
        case 4:
            whole = part[::-1] + xp.sum(y)
        case _:
            whole = part.reshape(2, -1) @ y.reshape(-1, 2)
            whole = xp.sum(whole) + x
    return xp.minimum(xp.maximum(whole, -99), 99), part


def run(xp: Any, arrays: list[Any], steps: list[Any]) -> list[Any]:
    """The arrays after all steps, and what was held. NumPy's and ours take the same way; only computing is ours."""
    held: list[Any] = []
    ours = xp is ocl
    for form, first, second, number, then, place in steps:
        x, y = arrays[first], arrays[second]
        whole, part = formed(xp, form, x, y, np.float32(number).item())
        if then == "hold":
            held.append(part)
        del part
        x = y = None
        if then == "into":
            if ours:
                ocl.compute(*arrays, *held)  # pending ones would see what is written
                ocl.compute_into(arrays[place], whole)
            else:
                arrays[place][...] = whole
            continue
        if then == "write":
            arrays[place][2:7] = whole[1:6]
            continue
        if then == "keep":
            held.append(whole)
        if ours and then == "twice":
            ocl.compute(whole, whole * 2)
        elif ours and then != "pending":
            whole.compute()
        arrays[place] = whole
        del whole
    return [*arrays, *held]


@settings(max_examples=with_builds(settings().max_examples // 2))
@given(STEPS, st.sampled_from(SIZES))
def test_what_comes_again_is_numpys(runtime: Runtime, steps: list[Any], size: int) -> None:
    rng = np.random.default_rng(len(steps))
    hosts = [rng.integers(-3, 4, size).astype("f4") for _ in range(ARRAYS)]
    with ocl.use(runtime):
        for start in (0, 1):
            given = [host + start for host in hosts]
            with np.errstate(all="ignore"):
                expected = run(np, [host.copy() for host in given], steps)
            found = run(ocl, [ocl.asarray(host) + 0 for host in given], steps)
            for one, wanted in zip(found, expected, strict=True):
                np.testing.assert_allclose(one.numpy(), wanted, rtol=1e-4, atol=1e-3)
