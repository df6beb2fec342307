"""What is computed again and what is kept: by the device's operations in the time of a byte."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Node
from ocl_ir.indices import Span
from ocl_ir.kernel.grammar import Kernel, Let, walk
from ocl_ir.types import F32, element
from ocl_runtime.plan.fusion import groups as fuse
from ocl_runtime.plan.fusion import growing
from ocl_runtime.plan.fusion.cost import choice, operation
from ocl_runtime.plan.fusion.growing import most_operations
from ocl_runtime.plan.fusion.layouts import Layouts
from ocl_runtime.plan.fusion.readers import readers
from ocl_runtime.plan.launch import Plan
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime
from tests.unit.plan.test_plan import CPU, GPU, Desk


@pytest.fixture(params=[GPU, CPU], ids=["gpu", "cpu"])
def desk(request: pytest.FixtureRequest) -> Desk:
    return Desk(request.param)


def summed(node: Node, count: int) -> Node:
    """The sum of a node's elements and of its `count - 1` next neighbours."""
    (length,) = node.shape
    views = [graph.index(node, (Span(start, 1, length - count + 1),)) for start in range(count)]
    total = views[0]
    for view in views[1:]:
        total = graph.elementwise("add", total, view)
    return total


def chain(node: Node, op: str, count: int) -> Node:
    for _ in range(count):
        node = graph.elementwise(op, node)
    return node


def counted(planned: Plan) -> Counter[str]:
    """Operations in the code of all kernels."""
    lets = [stmt for launch in planned.launches for stmt in walk(launch.kernel.body) if isinstance(stmt, Let)]
    return Counter(let.op for let in lets)


# ---------------------------------------------------------------------- the choice


def test_bytes_and_operations_are_weighed() -> None:
    target = Target(operations_per_byte=5)
    assert not choice(2, 20, 1, 8, target).keeps  # 40 operations, as much as 8 bytes
    assert choice(2, 21, 1, 8, target).keeps
    assert choice(2, 20, 2, 8, target).keeps  # a load more
    assert not choice(2, 21, 1, 8, replace(target, operations_per_byte=6)).keeps


def test_operations_of_64_bits_count_twice(desk: Desk) -> None:
    for dtype in ("f4", "f8"):
        _, a = desk.random(4, dtype=dtype)
        counts = [operation(op, (a.dtype, a.dtype)) for op in ("add", "sqrt", "sin")]
        assert counts == [one * (1 + (dtype == "f8")) for one in (1, 8, 20)]


# ---------------------------------------------------------------------- views

CASES: dict[str, tuple[Callable[[Node], Node], int, int]] = {
    "cheap": (lambda x: graph.elementwise("mul", x, x), 1, 1),
    "between": (lambda x: chain(graph.elementwise("mul", x, x), "neg", 4), 1, 2),
    "costly": (lambda x: graph.elementwise("sin", graph.elementwise("exp", x)), 2, 2),
}
"""What is read through nine views, and the kernels that it takes on a GPU and on a CPU."""


@pytest.mark.parametrize("name", CASES)
def test_what_is_read_through_nine_views(name: str) -> None:
    make, *kernels = CASES[name]
    bits = []
    for target, expected in zip((GPU, CPU), kernels, strict=True):
        desk = Desk(target)
        _, a = desk.random(100)
        kept = make(a)
        planned = desk.plan(summed(kept, 9))
        assert len(planned.launches) == expected
        assert (kept in planned.why) == (expected == 2)
        bits.append(desk.values(summed(make(graph.elementwise("mul", a, a)), 9)).tobytes())
    assert bits[0] == bits[1]


def lets(kernel: Kernel, op: str) -> int:
    """How many operations of a kind a kernel has on floats."""
    found = [stmt for stmt in walk(kernel.body) if isinstance(stmt, Let) and stmt.op == op]
    return sum(element(stmt.result.type).is_float for stmt in found)


def copies(desk: Desk) -> int:
    """How often each operation stands in a kernel of lanes: for vectors, and for what is left of each."""
    return 5 if desk.runtime.target == GPU else 2


def test_what_one_kernel_computes_once_counts_once(desk: Desk) -> None:
    _, node = desk.random(50)
    for _ in range(12):  # 4096 operations without sharing
        node = graph.elementwise("mul", node, node)
    (launch,) = desk.plan(summed(node, 2)).launches
    assert lets(launch.kernel, "mul") == 2 * 12 * copies(desk)


def test_loads_in_place_of_one_count(desk: Desk) -> None:
    total, *nodes = (desk.random(50)[1] for _ in range(7))
    for node in nodes:
        total = graph.elementwise("add", total, node)
    total = chain(total, "neg", 6)
    planned = desk.plan(summed(total, 3))  # 24 operations, and 12 loads
    assert len(planned.launches) == (1 if desk.runtime.target == GPU else 2)


def test_neighbours_take_one_argument(desk: Desk) -> None:
    x, a = desk.random(100)
    node = summed(summed(a, 4), 4)  # 12 additions more and as many loads: less than 8 bytes on both
    (launch,) = desk.plan(node).launches
    assert lets(launch.kernel, "add") == (3 + 4 * 3) * copies(desk)
    once = x[:-3] + x[1:-2] + x[2:-1] + x[3:]
    np.testing.assert_array_equal(desk.values(node), once[:-3] + once[1:-2] + once[2:-1] + once[3:])


def test_more_arguments_than_a_device_takes_are_not_loaded_again(desk: Desk) -> None:
    node = desk.random(100)[1]
    for _ in range(12):
        node = graph.elementwise("add", node, desk.random(100)[1])
    planned = desk.plan(summed(node, 2))
    first, last = (lets(launch.kernel, "add") for launch in planned.launches)
    assert (first, last) == (2 * 12, copies(desk))
    assert "to compute it again for each takes more arguments than the device takes" in " ".join(planned.why.values())


def test_kernels_that_reduce_have_a_pointer_for_each_read(desk: Desk) -> None:
    _, a = desk.random(100)
    planned = desk.plan(graph.reduce("sum", summed(summed(a, 5), 5), (0,), F32))
    assert "to compute it again for each takes more arguments than the device takes" in " ".join(planned.why.values())


def test_functions_are_longer_than_additions(desk: Desk) -> None:
    """Drivers take long over kernels of many, so these have fewer."""
    _, a = desk.random(100)
    most = most_operations(desk.runtime.target, pointwise=True)
    assert len(desk.plan(chain(a, "abs", most // 4)).launches) == 1
    assert len(desk.plan(chain(a, "sin", most // 4)).launches) == 2


def test_more_operations_than_a_kernel_has_are_not_done_again() -> None:
    desk = Desk(replace(GPU, operations_per_byte=1000))
    _, a = desk.random(100)
    most = most_operations(GPU, pointwise=True)
    planned = desk.plan(summed(chain(a, "abs", most // 4), 5))
    assert len(planned.launches) == 2
    assert f"to compute it again for each takes more than {most} operations" in " ".join(planned.why.values())
    assert len(desk.plan(summed(chain(a, "abs", most // 6), 5)).launches) == 1


@pytest.mark.parametrize("target", [GPU, CPU], ids=["gpu", "cpu"])
def test_what_is_cheap_but_long_leaves_room_in_a_kernel(target: Target) -> None:
    """Of values at a cut that are three divisions each, as many are computed again as half a kernel takes. All of them
    were as long as a kernel, which had no room for its own result then, and was put in order for ever."""

    inner = ["(a + b) # a", "(a - b) # a", "(a * b) # a", "(b - a) # b", "-a # b", "(a + b) # b", "(a * b) # b"]
    values = [f"({text.replace('#', op)}) / a / b / a" for op in "+-*" for text in inner][:20]
    lines = [f"v{number} = {text}" for number, text in enumerate(values)]
    used = [f"total = total - v{number}" for number in range(len(values))]
    # A line for each operation, or it were a loop, whose turns are computed on the way.
    lines += ["total = a", *used, *["total = total - a", "total = total * a"] * 190, *used]
    program = compile("\n".join(lines), "long.py", "exec")

    def computed(a: Any, b: Any) -> Any:
        names = {"a": a, "b": b}
        exec(program, names)  # noqa: S102  # which is text of this test
        return names["total"]

    hosts = [np.random.default_rng(seed).uniform(1, 2, 64).astype("f4") for seed in (1, 2)]
    runtime = InterpretedRuntime(replace(target, max_argument_bytes=4000))
    with xp.use(runtime):  # type: ignore[arg-type]
        found = computed(*map(xp.asarray, hosts)).numpy()
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, computed(*hosts), rtol=1e-4)
    assert runtime.kernels.statistics.misses <= 4


def test_ways_are_views_of_views(desk: Desk) -> None:
    _, a = desk.random(9, 9)
    node = graph.elementwise("neg", a)
    turned = graph.permute(node, (1, 0))
    parts = [graph.index(turned, (Span(start, 1, 7), Span(0, 1, 9))) for start in range(3)]
    whole = graph.elementwise("add", graph.elementwise("add", parts[0], parts[1]), parts[2])
    assert readers([whole])[node] == 3
    assert readers([whole, turned])[node] == 1  # all read what is wanted


def test_the_same_place_is_one_way(desk: Desk) -> None:
    _, a = desk.random(9)
    node = graph.elementwise("neg", a)
    cut = (Span(1, 1, 8),)
    later = graph.index(graph.elementwise("sqrt", node), cut)
    assert readers([graph.elementwise("mul", later, graph.elementwise("abs", graph.index(node, cut)))])[node] == 1


# ---------------------------------------------------------------------- depth


def blurred(node: Node, levels: int) -> Node:
    for _ in range(levels):
        node = summed(node, 3)
    return node


def test_blurs_of_blurs_do_not_grow_without_bounds(desk: Desk) -> None:
    x, a = desk.random(200)
    planned = desk.plan(blurred(a, 10))
    assert len(planned.launches) == 4
    assert counted(planned)["add"] < 2000  # 3**10 = 59049 without cuts
    expected = x
    for _ in range(10):
        expected = expected[:-2] + expected[1:-1] + expected[2:]
    np.testing.assert_array_equal(desk.values(blurred(a, 10)), expected)


def test_planning_is_linear_in_depth(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    visits: list[int] = []
    reach = growing.Growing.reach

    def visited(*args: object) -> object:
        visits[-1] += 1
        return reach(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(growing.Growing, "reach", visited)
    _, a = desk.random(400)
    for levels in (40, 80, 160):  # with fewer a constant part counts
        visits.append(0)
        fuse.groups([blurred(a, levels)], desk.runtime.target, Layouts())
    first, second, third = visits
    assert first < second / 1.9 < third / 3.8
    assert third < 2.1 * second < 4.4 * first


@pytest.mark.parametrize("target", [GPU, CPU], ids=["gpu", "cpu"])
def test_the_choice_asks_for_no_size(target: Target) -> None:
    runtime = InterpretedRuntime(target)
    with xp.use(runtime):  # type: ignore[arg-type]
        built = []
        for length in (170, 1001, 3000):
            x = xp.asarray(np.linspace(0, 1, length, dtype="f4"))
            for y in (xp.sin(xp.sin(x)), x * 2):
                (y[:-2] + y[1:-1] + y[2:]).compute()
            built.append(runtime.kernels.statistics.misses)
    assert built == [3, 3, 3]
    assert [runtime.plans.statistics.misses, runtime.plans.statistics.hits] == [2, 4]


# ---------------------------------------------------------------------- kernels and passes


@pytest.mark.parametrize("count", [1, 20])
def test_what_two_kernels_read_is_stored_if_it_is_costly(desk: Desk, count: int) -> None:
    _, a = desk.random(12, 40)
    node = chain(a, "sin", count)
    planned = desk.plan(*(graph.reduce("sum", node, (axis,), F32) for axis in (0, 1)))
    assert ["sin" in launch.kernel.name for launch in planned.launches] == [True, count == 1]
    assert (node in planned.why) == (count == 20)


def test_reductions_of_one_pass_share_what_they_read(desk: Desk) -> None:
    _, a = desk.random(12, 40)
    node = chain(a, "sin", 20)
    squares = graph.elementwise("mul", node, node)
    planned = desk.plan(graph.reduce("sum", node, (1,), F32), graph.reduce("sum", squares, (1,), F32))
    assert len(planned.launches) == 1


@pytest.mark.parametrize(("count", "kernels"), [(1, 1), (20, 2)])
def test_another_pass_reads_what_is_costly(desk: Desk, count: int, kernels: int) -> None:
    _, a = desk.random(12, 40)
    node = chain(a, "sin", count)
    total = graph.reduce("sum", node, (1,), F32, keepdims=True)
    planned = desk.plan(graph.elementwise("div", node, graph.expand(total, node.shape)))
    assert len(planned.launches) == kernels
    if kernels == 2:
        assert planned.launches[1].kernel.name == "div"
        assert f"takes {20 * count} operations an element" in planned.why[node]
