"""Random expressions give the same bits however much of them is fused.

Each is computed three times: all at once, each array as soon as it is built, and a random part of them early. Views,
broadcasts, flips, reductions of all kinds and writes through views are among the steps. Functions are only those of
which no lane depends on another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ocl_runtime as ocl
from ocl_ir.graph.build import Buffer
from ocl_ir.passes import PIPELINE
from ocl_runtime.codegen.compile import compile_kernel
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.plan.fusion.merge import RULES, Rule
from ocl_runtime.plan.launch import Plan
from ocl_runtime.plan.planner import plan
from ocl_runtime.runtime import Runtime
from tests.support.arrays import FLOATS, INTEGERS
from tests.support.depth import with_builds
from tests.support.planned import arguments
from tests.support.rehearsal import rehearsal

SHAPES = [
    (7,),
    (67,),
    (130,),
    (1001,),
    (2100,),
    (3, 50),
    (40, 33),
    (5, 130),
    (130, 5),
    (2, 3, 40),
    (40, 2, 19),
    (17, 33, 3),
]
UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": lambda x: -x,
    "abs": ocl.abs,
    "sqrt": lambda x: ocl.sqrt(ocl.abs(x)) if x.dtype.kind == "f" else x,
    "half": lambda x: x * 0.3 if x.dtype.kind == "f" else x * 3,
    "bool": lambda x: x > x.dtype.type(1).item(),
    "f4": lambda x: ocl.astype(x, ocl.float32),
    "i4": lambda x: ocl.astype(ocl.abs(x) > 1, ocl.int32),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "max": ocl.maximum,
    "where": lambda x, y: ocl.where(x > y, x, y),
}
REDUCE = {"sum": ocl.sum, "prod": ocl.prod, "max": ocl.max, "min": ocl.min, "mean": ocl.mean}
ORDER: dict[str, Callable[[Any, int], Any]] = {
    "sort": lambda x, axis: ocl.sort(x, axis=axis),
    "places": lambda x, axis: ocl.astype(ocl.argsort(x, axis=axis, descending=True), ocl.int32),
    "least": lambda x, axis: ocl.top_k(x, min(3, x.shape[axis]), axis=axis, mode="smallest").values,
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "turned": lambda x: ocl.permute_dims(x, tuple(reversed(range(x.ndim)))),
    "rolled": lambda x: ocl.permute_dims(x, (*range(1, x.ndim), 0)) if x.ndim else x,
    "flipped": lambda x: x[::-1] if x.ndim else x,
    "cut": lambda x: x[..., 1:] if x.ndim and x.shape[-1] > 2 else x,
    "thinned": lambda x: x[::2] if x.ndim else x,
    "mirrored": lambda x: x[..., ::-1] if x.ndim else x,
    "first": lambda x: x[0] if x.ndim > 1 else x,
    "repeated": lambda x: ocl.broadcast_to(x, (3, *x.shape)) if x.size < 9000 else x,
    "flat": lambda x: ocl.reshape(x, (-1,)),
    "halved": lambda x: ocl.reshape(x, (2, -1)) if x.size % 2 == 0 else x,
    "wider": lambda x: x[:, None],
}

Step = tuple[str, str, int, int]
STEPS = st.one_of(
    st.tuples(st.just("unary"), st.sampled_from(sorted(UNARY)), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("binary"), st.sampled_from(sorted(BINARY)), st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.just("view"), st.sampled_from(sorted(VIEWS)), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("reduce"), st.sampled_from(sorted(REDUCE)), st.integers(0, 9), st.integers(0, 7)),
    st.tuples(st.just("write"), st.sampled_from(["part", "mask"]), st.integers(0, 9), st.integers(0, 9)),
)
SORTS = st.tuples(st.just("order"), st.sampled_from(sorted(ORDER)), st.integers(0, 9), st.integers(0, 7))
"""They end groups, so that rules have less to merge."""


def hosts(dtype: str, shape: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(len(shape) + shape[0])
    if np.dtype(dtype).kind == "f":
        return [(rng.standard_normal(shape) + 0.1).astype(dtype) for _ in range(2)]
    low = 0 if np.dtype(dtype).kind == "u" else -9
    return [rng.integers(low, 10, shape).astype(dtype) for _ in range(2)]


def number(x: Any) -> Any:
    """Bools as integers, which all functions take."""
    return ocl.astype(x, ocl.int32) if x.dtype.kind == "b" else x


def joined(x: Any, y: Any) -> tuple[Any, Any]:
    """Two arrays that broadcast, of one dtype."""
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        y = ocl.sum(y)
    return x, ocl.astype(y, x.dtype)


def applied(step: Step, arrays: list[Any]) -> Any:
    """What a step makes of the arrays built so far."""
    kind, name, first, second = step
    x = arrays[first % len(arrays)]
    if kind == "unary":
        return UNARY[name](number(x))
    if kind == "view":
        return VIEWS[name](x) if name != "wider" or x.ndim else x
    if kind == "order":
        return ORDER[name](x, second % x.ndim) if x.ndim else x
    if kind == "binary":
        return BINARY[name](*joined(number(x), arrays[second % len(arrays)]))
    if kind == "reduce":
        axes = tuple(axis for axis in range(x.ndim) if second >> axis & 1)
        if name == "prod":
            x = ocl.astype(number(x) > 0, ocl.float32)
        counts = x.dtype.kind == "b" and name == "sum"
        return REDUCE[name](x if counts else number(x), axis=axes or None, keepdims=second in {3, 7})
    x = number(x) + x.dtype.type(1).item()  # an array of its own
    value = ocl.max(number(arrays[second % len(arrays)]))
    view = x[::2] if name == "part" and x.ndim else x[..., :1] if x.ndim else x[...]
    view[...] = ocl.astype(value, x.dtype)
    return x


def run(steps: Sequence[Step], given: Sequence[np.ndarray], early: Callable[[int], bool]) -> list[np.ndarray]:
    """All arrays that the steps make, and their sums along each axis and all."""
    return [one.numpy() for one in evaluated(steps, given, early)]


def evaluated(steps: Sequence[Step], given: Sequence[np.ndarray], early: Callable[[int], bool]) -> list[Any]:
    """The arrays, computed."""
    arrays = built(steps, given, early)
    arrays += sums(arrays)
    ocl.compute(*arrays)
    return arrays


def built(steps: Sequence[Step], given: Sequence[np.ndarray], early: Callable[[int], bool]) -> list[Any]:
    """The arrays, of which only those of the steps that are to come early are computed."""
    arrays: list[Any] = [ocl.asarray(one) for one in given]
    for turn, step in enumerate(steps):
        made = applied(step, arrays)
        if made.size > 60_000:
            continue
        if early(turn):
            made.compute()
        arrays.append(made)
    return arrays


def sums(arrays: Sequence[Any]) -> list[Any]:
    """Their sums along each axis, and of all elements."""
    numbers = [number(x) for x in arrays]
    return [ocl.sum(x, axis=axis) for x in numbers for axis in (*range(x.ndim), None)]


def neighbours(arrays: Sequence[Any]) -> list[Any]:
    """What is read through several views: differences of elements that lie next to each other."""
    numbers = [number(x) for x in arrays]
    return [x[..., 2:] - x[..., 1:-1] * x[..., :-2] for x in numbers if x.ndim and x.shape[-1] > 2]


def by_rules(arrays: Sequence[Any], rules: Sequence[Rule], operations_per_byte: float = 8) -> Plan:
    """The plan that computes arrays under some rules."""
    runtime = ocl.current()
    target = replace(runtime.executor.target, operations_per_byte=operations_per_byte)
    executor = runtime.executor
    priced = SimpleNamespace(
        target=target,
        kernels=executor.kernels,
        allocate=executor.allocate,
        choices=None,
        watch_fusion=executor.watch_fusion,
    )
    return plan([one._node for one in arrays], priced, rules=rules)


def values(planned: Plan) -> list[np.ndarray]:
    """What a plan computes."""
    runtime = ocl.current()
    for launch in planned.launches:
        args = arguments(launch)
        runtime.executor.launch(launch.kernel, args, launch.global_size, launch.group_size)
    return [host(runtime, result) for result in planned.results]


def together(plans: Sequence[Plan]) -> None:
    """Builds the kernels of several plans as one program."""
    ocl.current().executor.engine.executables([launch.kernel for planned in plans for launch in planned.launches])


def host(runtime: Runtime, found: Buffer) -> np.ndarray:
    """The elements of a result."""
    if not found.size:
        return np.empty(found.shape, found.dtype.numpy)
    low, high = found.layout.range()
    flat = runtime.executor.download(found.storage, found.dtype, low, high - low).result()
    strides = tuple(stride * flat.itemsize for stride in found.layout.strides)
    return np.lib.stride_tricks.as_strided(flat[found.layout.offset - low :], found.shape, strides).copy()


def same(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> None:
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        equal = one.tobytes() == other.tobytes() or np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
        assert equal, f"array {number}: {one.dtype}{one.shape}: {one.ravel()[:4]} and {other.ravel()[:4]}"


@pytest.fixture(scope="module", autouse=True)
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtypes", [FLOATS, INTEGERS[:4], INTEGERS[4:]])  # all at once come near the time limit
@settings(max_examples=with_builds(-(-settings().max_examples // 3)))
@given(
    place=st.integers(0, 11),
    shape=st.sampled_from(SHAPES),
    steps=st.lists(STEPS | SORTS, min_size=2, max_size=9),
    early=st.integers(0, 511),
)
def test_fused_equals_unfused(
    dtypes: Sequence[str], place: int, shape: tuple[int, ...], steps: list[Step], early: int
) -> None:
    given = hosts(dtypes[place % len(dtypes)], shape)
    ways: list[Callable[[int], bool]] = [lambda _: False, lambda _: True, lambda number: bool(early >> number & 1)]
    with rehearsal(ocl.current()):
        for way in ways:
            evaluated(steps, given, way)
    at_once, stepwise, partly = (run(steps, given, way) for way in ways)
    same(at_once, stepwise)
    same(at_once, partly)


SEEN: dict[str, int] = {}
"""By how many kernels each rule has made plans shorter."""


@settings(max_examples=max(20, settings().max_examples // 3))  # of fewer, none may need a rule
@given(
    dtype=st.sampled_from([*FLOATS, *INTEGERS]),
    shape=st.sampled_from(SHAPES),
    steps=st.lists(STEPS, min_size=2, max_size=9),
)
def each_rule(dtype: str, shape: tuple[int, ...], steps: list[Step]) -> None:
    arrays = built(steps, hosts(dtype, shape), lambda _: False)
    fused, unfused = by_rules(arrays, RULES), by_rules(arrays, ())
    without = {rule.__name__: by_rules(arrays, [one for one in RULES if one is not rule]) for rule in RULES}
    together([fused, unfused, *without.values()])
    expected = values(fused)
    for name, planned in without.items():
        same(values(planned), expected)
        SEEN[name] = SEEN.get(name, 0) + max(0, len(planned.launches) - len(fused.launches))
    same(values(unfused), expected)
    assert len(fused.launches) <= len(unfused.launches)


def test_no_rule_changes_a_bit() -> None:
    SEEN.clear()
    each_rule()
    assert all(SEEN[rule.__name__] for rule in RULES), f"a rule was never needed: {SEEN}"


@settings(max_examples=settings().max_examples // 8)
@given(
    dtype=st.sampled_from([*FLOATS, *INTEGERS]),
    shape=st.sampled_from(SHAPES),
    steps=st.lists(STEPS, min_size=2, max_size=9),
)
def kept_or_computed_again(dtype: str, shape: tuple[int, ...], steps: list[Step]) -> None:
    arrays = neighbours(built(steps, hosts(dtype, shape), lambda _: False))
    again = by_rules(arrays, RULES, 1e9)
    by_cost = {cost: by_rules(arrays, RULES, cost) for cost in (0, 4)}
    together([again, *by_cost.values()])
    expected = values(again)
    for cost, planned in by_cost.items():
        same(values(planned), expected)
        SEEN[f"{cost}"] = SEEN.get(f"{cost}", 0) + len(planned.launches)


def test_what_is_kept_or_computed_again_has_the_same_bits() -> None:
    SEEN.clear()
    kept_or_computed_again()
    assert SEEN["0"] > SEEN["4"]


PROGRAMS: tuple[list[Step], ...] = (
    [("unary", "half", 0, 0), ("view", "turned", 2, 0), ("binary", "mul", 3, 3), ("reduce", "mean", 4, 1)],
    [("binary", "sub", 0, 1), ("reduce", "max", 2, 3), ("binary", "sub", 2, 3), ("write", "part", 4, 0)],
)


@pytest.mark.sample(3)
@pytest.mark.parametrize("left_out", [name for name, _ in PIPELINE])
def test_no_pass_changes_a_bit(left_out: str, device: Device, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [run(steps, hosts("f4", (130, 5)), lambda _: False) for steps in PROGRAMS]
    rest = tuple(one for one in PIPELINE if one[0] != left_out)
    compiled = partial(compile_kernel, pipeline=rest)
    monkeypatch.setattr("ocl_runtime.execute.engine.compile_kernel", compiled)
    with ocl.use(Runtime(device, engine.settings)):
        for steps, values in zip(PROGRAMS, expected, strict=True):
            same(run(steps, hosts("f4", (130, 5)), lambda _: False), values)


BEHIND_VECTORS: tuple[tuple[str, list[Step], int], ...] = (
    ("f8", [("unary", "abs", 0, 0), ("unary", "abs", 1, 0)], 3),
    (
        "f4",
        [("unary", "abs", 0, 0), ("binary", "add", 0, 1), *[("unary", "abs", 0, 0)] * 2, ("binary", "add", 0, 0)],
        12,
    ),
)


@pytest.mark.parametrize(("dtype", "steps", "early"), BEHIND_VECTORS)
def test_regression_the_columns_behind_the_last_vector_add_up_in_order(
    dtype: str, steps: list[Step], early: int
) -> None:
    """Intel's CPU compiler added them up in another order where it found that worth it: read, or stored beside."""
    given = hosts(dtype, (40, 33))
    same(run(steps, given, lambda _: False), run(steps, given, lambda number: bool(early >> number & 1)))
