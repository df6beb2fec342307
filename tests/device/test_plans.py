"""Plans that are kept: what is found again, for which sizes, and that finding one builds nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.plan.plans import PlanCache
from ocl_runtime.plan.registry import Spare
from ocl_runtime.plan.relative import Relative
from ocl_runtime.runtime import Runtime
from tests.arrays_support import assert_same, counting
from tests.interpreted import InterpretedRuntime


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


def random(rng: np.random.Generator, *shape: int) -> Any:
    return ocl.asarray(rng.random(shape, dtype="f4"))


EXPRESSIONS: dict[str, Callable[[Any, Any], Any]] = {
    "elementwise": lambda x, y: ocl.sqrt(x) * 2 + y,
    "scalars": lambda x, y: (x + 3) * 0.25 - y % 2,
    "views": lambda x, y: x[1:, ::-1] - y[:-1],
    "sums": lambda x, y: ocl.sum(x * y, axis=1) + ocl.mean(x, axis=1),
    "normalised": lambda x, y: (x - ocl.mean(x)) / (1 + ocl.std(y, axis=0)),
    "turned": lambda x, y: ocl.reshape(x.T, (-1,)) + ocl.reshape(y, (-1,)),
    "counted": lambda x, y: x * ocl.arange(x.shape[1]) + y.shape[0],
}


def written(x: Any, y: Any) -> Any:
    z = x + y
    z[1:, 0] = y[:-1, 1]
    z *= 2
    return z


EXPRESSIONS["written"] = written


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_that_is_like_another_is_not_planned(runtime: Runtime, name: str) -> None:
    """Other memory, values and scalars, the same sizes."""
    rng, expression = np.random.default_rng(0), EXPRESSIONS[name]
    for turn in range(4):
        x, y = random(rng, 40, 33), random(rng, 40, 33)
        with counting(runtime) as counted:
            found = expression(x, y).compute()
        if turn:
            assert counted["plan", "misses"] == counted["kernel", "misses"] == counted["kernel", "hits"] == 0
            assert counted["plan", "hits"] == 1
        with ocl.use(fresh := Runtime(runtime.device, runtime.settings)):
            again = expression(ocl.asarray(x.numpy()), ocl.asarray(y.numpy()))
            assert_same(found.numpy(), again.numpy())
        assert fresh.statistics()["plan"]["misses"] == 1


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_many_shapes_share_plans_and_kernels(runtime: Runtime, name: str) -> None:
    rng, expression, planned = np.random.default_rng(1), EXPRESSIONS[name], 0
    for turn in range(200):
        shape = tuple(int(one) for one in rng.integers(260, 700, 2) // 16 * 16)
        x, y = random(rng, *shape), random(rng, *shape)
        with counting(runtime) as counted:
            found = expression(x, y).compute()
        planned += counted["plan", "misses"]
        assert turn < 100 or counted["kernel", "misses"] == counted["launch", "compiled"] == 0
        if turn % 20 == 0:
            with ocl.use(Runtime(runtime.device, runtime.settings)):
                assert_same(found.numpy(), expression(ocl.asarray(x.numpy()), ocl.asarray(y.numpy())).numpy())
    assert planned <= 24


def test_scalars_are_no_part_of_a_plan_but_their_dtypes_are(runtime: Runtime) -> None:
    x = ocl.asarray(np.arange(10, dtype="i4"))
    with counting(runtime) as counted:
        found = [(x * value).numpy() for value in (2, -3, 0, 7)]
        other = (x * 2.0).numpy()
    assert counted["plan", "misses"] == 2
    for value, one in zip((2, -3, 0, 7), found, strict=True):
        assert_same(one, np.arange(10, dtype="i4") * value)
    assert_same(other, np.arange(10, dtype="f4") * 2)
    unsigned = ocl.asarray(np.arange(5, dtype="u1"))
    assert_same((unsigned + 255).numpy(), np.arange(5, dtype="u1") + np.uint8(255))


def test_one_memory_in_two_places_is_another_plan_than_two(runtime: Runtime) -> None:
    host = np.arange(20, dtype="f4")
    x, y = ocl.asarray(host), ocl.asarray(host * 2)
    for _ in range(2):
        assert_same((x + x).numpy(), host * 2)
        assert_same((x + y).numpy(), host * 3)
        assert_same((y + x).numpy(), host * 3)
        assert_same((x[:10] + x[10:]).numpy(), host[:10] + host[10:])
        assert_same((x[:10] + y[10:]).numpy(), host[:10] + host[10:] * 2)


def test_what_may_be_written_over_is_a_part_of_the_key(runtime: Runtime) -> None:
    host = np.arange(20, dtype="f4")
    for _ in range(2):
        x = ocl.asarray(host)
        y = x + 1
        y.compute()
        assert_same(x.numpy(), host)
        z = x + 1
        del x
        z.compute()
        assert_same(z.numpy(), y.numpy())


def test_the_cache_is_bounded() -> None:
    runtime = InterpretedRuntime()
    runtime.plans = PlanCache(limit=3)
    with ocl.use(runtime):  # type: ignore[arg-type]
        x = ocl.asarray(np.ones(3, "f4"))
        for function in (ocl.sqrt, ocl.exp, ocl.sin, ocl.cos, ocl.sqrt):
            function(x).compute()
        ocl.sqrt(x).compute()
    found = runtime.plans.statistics
    assert (found.hits, found.misses, found.evictions, found.plans) == (1, 5, 2, 3)


def test_errors_name_the_line_of_this_evaluation(runtime: Runtime) -> None:
    """Not of the one that made the plan."""
    x = ocl.asarray(np.ones(8, "f4"))
    plans = [runtime.plans.plan(Relative([(x + number).node]), Spare((), ()), runtime) for number in range(2)]
    lines = [launch.where for plan in plans for launch in plan.launches]
    assert all("test_plans.py:" in str(line) for line in lines)
    first = (x * 2).node
    second = (x * 3).node
    places = [
        str(runtime.plans.plan(Relative([node]), Spare((), ()), runtime).launches[0].where).rsplit(":", 1)[1]
        for node in (first, second)
    ]
    assert int(places[1]) == int(places[0]) + 1
