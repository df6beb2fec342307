"""Plans that are kept: what is found again, for which sizes, and that finding one builds nothing."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_ir.guards import Guards
from ocl_ir.layout import Layout
from ocl_runtime.codegen.driver import Program
from ocl_runtime.device import Device
from ocl_runtime.errors import MixedDevicesError, ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.launch import Executable
from ocl_runtime.plan.cache.plans import PlanCache
from ocl_runtime.plan.cache.template import Template
from ocl_runtime.plan.planning import Planning
from ocl_runtime.plan.structure import Structure
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same, counting
from tests.support.interpreted import InterpretedRuntime


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


@pytest.mark.sample(2)
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


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_many_shapes_share_plans_and_kernels(runtime: Runtime, name: str) -> None:
    rng, expression, planned = np.random.default_rng(1), EXPRESSIONS[name], 0
    fresh = Runtime(runtime.device, runtime.settings)
    for turn in range(200):
        shape = tuple(int(one) for one in rng.integers(260, 700, 2) // 16 * 16)
        x, y = random(rng, *shape), random(rng, *shape)
        with counting(runtime) as counted:
            found = expression(x, y).compute()
        planned += counted["plan", "misses"]
        assert turn < 100 or counted["kernel", "misses"] == counted["launch", "compiled"] == 0
        if turn % 20 == 0:
            fresh.executor.plans = PlanCache()  # all is planned anew, for kernels that are there
            with ocl.use(fresh):
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
    runtime.executor.plans = PlanCache(limit=3)
    with ocl.use(runtime):  # type: ignore[arg-type]
        x = ocl.asarray(np.ones(3, "f4"))
        for function in (ocl.sqrt, ocl.exp, ocl.sin, ocl.cos, ocl.sqrt):
            function(x).compute()
        ocl.sqrt(x).compute()
    found = runtime.executor.plans.statistics
    assert (found.hits, found.misses, found.evictions, found.plans) == (1, 5, 2, 3)


def test_kept_plans_take_only_so_much_memory() -> None:
    runtime = InterpretedRuntime()
    with ocl.use(runtime):  # type: ignore[arg-type]
        x = ocl.asarray(np.ones(3, "f4"))
        (x + 1).compute()
        one = runtime.executor.plans.statistics.nbytes
        ocl.compute(*(ocl.sum(x * float(number)) for number in range(9)))
        large = runtime.executor.plans.statistics.nbytes - one
        assert 0 < one < large, "more launches take more"
        runtime.executor.plans = PlanCache(most_bytes=2 * one)
        for function in (ocl.sqrt, ocl.exp, ocl.sin):
            function(x).compute()
        found = runtime.executor.plans.statistics
        assert (found.plans, found.evictions, found.nbytes) == (2, 1, 2 * one)
        for length in (7, 5):  # other sizes of a plan take some, too
            ocl.sin(ocl.asarray(np.ones(length, "f4"))).compute()
        before = runtime.executor.plans.statistics
        assert before.plans == 1
        ocl.exp(x).compute()
        assert runtime.executor.plans.statistics.misses == before.misses + 1


def test_the_plans_that_were_used_last_are_kept() -> None:
    runtime = InterpretedRuntime()
    runtime.executor.plans = PlanCache(limit=2)
    with ocl.use(runtime):  # type: ignore[arg-type]
        x = ocl.asarray(np.ones(3, "f4"))
        for function in (ocl.sqrt, ocl.exp, ocl.sqrt, ocl.sin, ocl.sqrt):
            function(x).compute()
    found = runtime.executor.plans.statistics
    assert (found.hits, found.misses, found.evictions, found.plans) == (2, 3, 1, 2)


def test_a_hit_takes_no_expression_apart_and_binds_nothing(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows from the structure, and from the sizes, was found out by the evaluations before."""

    def expression(value: float) -> tuple[Any, Any]:
        x = ocl.asarray(np.arange(60, dtype="f4").reshape(5, 12) * np.float32(value))
        return (x[1:] - x[:-1]) * value + ocl.sum(x, axis=0), x

    def never(*_: Any, **__: Any) -> Any:
        pytest.fail("a plan that is kept does this once")

    for value in (1.0, 2.0):
        built, x = expression(value)  # and x is held, as it is then
        built.compute()
    built, x = expression(3.0)
    for name in (
        "cache.template.Template.__init__",
        "cache.template.Template._size",
        "donation.Holders.__init__",
        "donation.Holders._needs",
    ):
        monkeypatch.setattr(f"ocl_runtime.plan.{name}", never)
    monkeypatch.setattr(Executable, "padded", never)
    monkeypatch.setattr("ocl_ir.layout.formulas", never)
    monkeypatch.setattr(Layout, "_is_dense", never)
    with counting(runtime) as counted:
        built.compute()
    monkeypatch.undo()
    assert counted["plan", "hits"] == 1
    host = x.numpy()
    assert_same(built.numpy(), (host[1:] - host[:-1]) * np.float32(3) + host.sum(0))


def test_a_plan_that_is_kept_prepares_its_launches_once_for_each_size(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, count, padded = np.random.default_rng(0), 0, Executable.padded

    def counted(*args: Any, **more: Any) -> Any:
        nonlocal count
        count += 1
        return padded(*args, **more)

    monkeypatch.setattr(Executable, "padded", counted)
    for turn in range(6):
        shape = (64, 48) if turn % 2 else (96, 32)
        x, y = random(rng, *shape), random(rng, *shape)
        z = (x[1:, ::-1] - y[:-1]) * turn + ocl.sum(x * y, axis=0)
        with counting(runtime) as counted_:
            z.compute()
        assert counted_["launch", "launches"] >= 2
        assert count == 2 * counted_["launch", "launches"] if turn else count == counted_["launch", "launches"]
        n, m = x.numpy(), y.numpy()
        np.testing.assert_allclose(z.numpy(), (n[1:, ::-1] - m[:-1]) * turn + (n * m).sum(0), rtol=1e-4, atol=1e-4)


def test_a_plan_that_is_bound_to_sizes_keeps_no_schedule(runtime: Runtime) -> None:
    """It is made again for who asks, and says the same."""
    x = random(np.random.default_rng(0), 64, 48)

    def evaluate() -> Any:
        return (ocl.sum(x * 2.0, axis=0) * ocl.sum(x, axis=0)).compute()

    first = evaluate().numpy()
    (kept,) = runtime.executor.plans._kept.values()
    ((template,),) = kept.templates.values()
    (sized,) = template._sized.values()
    bound = sized.ready
    assert sized._schedule is None
    assert bound._schedule is None
    assert bound._touches is None
    assert len(bound.touched) == len(sized.schedule.nodes) == len(bound.commands)
    assert all(bound.touched)
    assert sized.schedule == sized.again()
    assert_same(evaluate().numpy(), first)


def test_plans_that_are_dropped_go_at_once(runtime: Runtime) -> None:
    """And do not wait for the collector of garbage: they are many bytes."""
    x = random(np.random.default_rng(0), 64, 48)
    gc.collect()
    gc.disable()
    try:
        for turn in range(3):
            (ocl.sum(x[turn:] * 2.0, axis=0) * ocl.sum(x[turn:], axis=0)).compute()
        runtime.finish()
        templates = [weakref.ref(one) for kept in runtime.executor.plans._kept.values() for one in _templates(kept)]
        assert templates
        for key in list(runtime.executor.plans._kept):
            runtime.executor.plans._drop(key)
        assert [one() for one in templates] == [None] * len(templates)
    finally:
        gc.enable()


def _templates(kept: Any) -> list[Any]:
    return [one for alike in kept.templates.values() for one in alike]


def test_kept_plans_are_bound_to_parts_of_memory(runtime: Runtime) -> None:
    """Offsets and footprints are counted from where this evaluation's memory begins in its page."""
    host = np.arange(4096, dtype="f4").reshape(64, 64)
    blocks = [ocl.asarray(np.full(100 + 50 * number, -1.0, "f4")) for number in range(5)]
    for turn in range(8):
        x = ocl.asarray(host + turn)
        if turn % 2:
            blocks.pop()
        left = x[:, :32] * 2
        x[3:9, 5::2] = turn
        expected = host + turn
        expected[3:9, 5::2] = turn
        assert_same((x[:, 32:] + x[:, 1:33]).numpy(), expected[:, 32:] + expected[:, 1:33])
        assert_same(left.numpy(), (host + turn)[:, :32] * 2)
    assert all((one.numpy() == -1).all() for one in blocks)


def test_a_kept_launch_is_not_run_over_memory_that_does_not_fit(runtime: Runtime, engine: Engine) -> None:
    for _ in range(2):
        x = ocl.asarray(np.ones(100, "f4"))
        plan = runtime.executor.plans.plan(Structure([(x * 2)._node]), runtime.executor)
        runtime.executor.run(plan)
    for storage, error, message in (
        (runtime.executor.allocate(100), ShapeError, "touches 400 bytes"),
        (engine.allocate(400), MixedDevicesError, "another runtime"),
    ):
        plan.storages[0] = storage
        with pytest.raises(error, match=message):
            runtime.executor.run(plan)


def test_threads_share_kept_plans(runtime: Runtime) -> None:
    rng = np.random.default_rng(0)
    hosts = [rng.random((40, 33), dtype="f4") for _ in range(8)]
    expected = [host[1:, ::-1] * np.float32(number) - host[:-1] for number, host in enumerate(hosts)]

    def work(number: int) -> None:
        with ocl.use(runtime):
            for _ in range(50):
                x = ocl.asarray(hosts[number])
                assert_same((x[1:, ::-1] * number - x[:-1]).numpy(), expected[number])

    with counting(runtime) as counted, ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert counted["plan", "misses"] == 1
    assert counted["plan", "hits"] == 399


def test_errors_name_the_line_of_this_evaluation(runtime: Runtime) -> None:
    """Not of the one that made the plan."""
    x = ocl.asarray(np.ones(8, "f4"))
    plans = [runtime.executor.plans.plan(Structure([(x + number)._node]), runtime.executor) for number in range(2)]
    lines = [launch.where for plan in plans for launch in plan.launches]
    assert all("test_plans.py:" in str(line) for line in lines)
    first = (x * 2)._node
    second = (x * 3)._node
    places = [
        str(runtime.executor.plans.plan(Structure([node]), runtime.executor).launches[0].where).rsplit(":", 1)[1]
        for node in (first, second)
    ]
    assert int(places[1]) == int(places[0]) + 1


def test_plans_of_one_structure_are_bounded(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ocl_runtime.plan.cache.template.Template.knows", lambda template, _: False)
    monkeypatch.setattr("ocl_runtime.plan.cache.template.Template.fits", lambda template, _: not template.used)
    x = ocl.asarray(np.ones(100, "f4"))
    for _ in range(40):
        (x * 2 + 1).compute()
    statistics = runtime.statistics()["plan"]
    assert (statistics["misses"], statistics["evictions"], statistics["plans"]) == (40, 8, 1)


class Programs:
    """A recorder that knows which programs are still there."""

    def __init__(self) -> None:
        self.alive: weakref.WeakSet[Program] = weakref.WeakSet()

    def compiled(self, compilation: object, program: Program) -> None:
        self.alive.add(program)

    def fused(self, fusion: object) -> None:
        pass

    def planned(self, text: str) -> None:
        pass

    def prepared(self, schedule: object, stages: object) -> None:
        pass


def test_kept_plans_let_programs_go_and_take_them_again(device: Device, engine: Engine) -> None:
    programs = Programs()
    runtime = Runtime(device, replace(engine.settings, program_bytes=1), recorder=programs)
    host = np.arange(1000, dtype="f4")
    with ocl.use(runtime):
        x = ocl.asarray(host)
        expressions = [lambda: x * 2 + 1, lambda: ocl.abs(x - 500), lambda: x * x]
        expected = [expression().numpy() for expression in expressions]
        gc.collect()
        assert (len(programs.alive), runtime.statistics()["program"]["dropped"]) == (1, 2)
        with counting(runtime) as counted:
            for _ in range(2):
                for expression, result in zip(expressions, expected, strict=True):
                    assert_same(expression().numpy(), result)
        assert counted["plan", "misses"] == 0
        assert counted["kernel", "misses"] == 0
        assert counted["program", "dropped"] == 6


def test_programs_that_kept_plans_use_are_the_last_to_go(device: Device, engine: Engine) -> None:
    size = device.quirks.program_bytes
    runtime = Runtime(device, replace(engine.settings, program_bytes=4 * size))
    with ocl.use(runtime):
        x = ocl.asarray(np.arange(1000, dtype="f4"))
        (x * 2).compute()
        for number in range(5):
            y = x
            for _ in range(number + 1):
                y = y * y - 1
            y.compute()  # a program of its own
            with counting(runtime) as counted:
                (x * 2).compute()
            assert {counted["program", name] for name in ("built", "disk_hits", "memory_hits")} == {0}
        assert runtime.statistics()["program"]["dropped"] >= 2


def test_threads_drop_each_others_programs(device: Device, engine: Engine) -> None:
    runtime = Runtime(device, replace(engine.settings, program_bytes=1))
    host = np.arange(100, dtype="f4")

    def work(factor: int) -> bool:
        with ocl.use(runtime):
            x = ocl.asarray(host)
            for _ in range(10):
                assert_same((x * factor - ocl.abs(x) if factor % 2 else x - factor).numpy(),
                            host * np.float32(factor) - host if factor % 2 else host - np.float32(factor))  # fmt: skip
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(1, 9)))


def test_sizes_that_were_there_are_found_before_any_guard_is_tried(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = [ocl.asarray(np.ones(shape, "f4")) for shape in [(3, 64), (64, 3), (1, 8), (300, 2), (5000, 7)]]
    for x in arrays:
        ocl.sum(x, axis=1).compute()
    monkeypatch.setattr("ocl_ir.guards.Guards.hold", lambda *_: pytest.fail("no guard is asked"))
    for x in arrays:
        assert_same(ocl.sum(x, axis=1).numpy(), x.numpy().sum(1))


def test_a_loop_over_rows_asks_little_of_sizes(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each row of those that a plan writes: that it is what is read there, that it lies apart from the one before,
    how wide its accesses are, and that it is within reach."""
    made: list[tuple[int, int]] = []
    serve = Template.serve

    def noted(template: Template, executor: Planning, guards: Guards) -> None:
        made.append((len(template.kernels), len(guards.conditions)))
        serve(template, executor, guards)

    monkeypatch.setattr(Template, "serve", noted)
    for rows in (8, 16):
        expected = np.ones((rows, 8), "f4")
        value = ocl.asarray(expected)
        for row in range(1, rows):
            value[row] = value[row - 1] * 0.5 + value[row]
            expected[row] = expected[row - 1] * 0.5 + expected[row]
        assert_same(value.numpy(), expected)
    (few, found), (many, more) = made
    assert (few, many) == (7, 15)
    assert more - found <= 6 * (many - few)
