"""What is merged into one kernel and what is not, what that does to memory, and that it changes no bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ocl_ir import passes
from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer, Node
from ocl_ir.kernel.grammar import Load, walk
from ocl_ir.layout import Layout
from ocl_ir.types import F32
from ocl_runtime.plan.donation import Donation
from ocl_runtime.plan.fusion import merge
from ocl_runtime.plan.fusion.drafts import Draft
from ocl_runtime.plan.launch import Plan
from tests.unit.plan.test_plan import CPU, GPU, Desk, storages

ROWS = 40
LENGTH = 130


@pytest.fixture(params=[GPU, CPU], ids=["gpu", "cpu"])
def desk(request: pytest.FixtureRequest) -> Desk:
    return Desk(request.param)


def total(node: Node, axis: int = 1) -> Node:
    return graph.reduce("sum", node, (axis,), F32, keepdims=True)


def names(planned: Plan) -> list[str]:
    return [launch.kernel.name for launch in planned.launches]


def run(desk: Desk, planned: Plan) -> list[np.ndarray]:
    desk.runtime.run(planned)
    return [desk.host(result).copy() for result in planned.results]


def donation(*nodes: Node) -> Donation:
    return Donation([node.storage for node in nodes if isinstance(node, Buffer)], ())


def of(node: Node) -> object:
    assert isinstance(node, Buffer)
    return node.storage


def same(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> None:
    assert [one.tobytes() for one in found] == [one.tobytes() for one in expected]


@pytest.mark.parametrize("length", [130, 5000])
def test_a_large_expression_adds_in_the_same_order(desk: Desk, length: int) -> None:
    _, node = desk.random(3, length)
    for _ in range(20):
        node = graph.elementwise("add", graph.elementwise("mul", node, node), graph.elementwise("neg", node))
        node = graph.elementwise("sqrt", graph.elementwise("abs", node))
    several = [graph.reduce(op, node, (1,), F32) for op in ("sum", "max")]
    together = desk.plan(*several)
    assert len(together.launches) <= 2
    (computed,) = run(desk, desk.plan(node))
    apart = [desk.plan(graph.reduce(op, desk.buffer(computed), (1,), F32)) for op in ("sum", "max")]
    same(run(desk, together), [run(desk, one)[0] for one in apart])
    # The expression stands in the code for rounds, for what is left of them, and for what is left of vectors.
    kernel = passes.run(together.launches[0].kernel)
    assert sum(isinstance(stmt, Load) and stmt.pointer.hint == "a" for stmt in walk(kernel.body)) <= 3


@pytest.mark.parametrize("axis", [0, 1])
def test_what_is_normalised_is_written_over_its_operand(desk: Desk, axis: int) -> None:
    x, a = desk.random(ROWS, 24)
    node = graph.elementwise("div", a, graph.expand(total(a, axis), a.shape))
    planned = desk.plan(node, donation=donation(a))
    assert names(planned) == ["sum_div"]
    assert planned.results[0].storage is of(a)
    assert [one.reason for one in planned.in_place] == [""]
    assert desk.runtime.allocations.total() == 0
    np.testing.assert_allclose(run(desk, planned)[0], x / x.sum(axis, keepdims=True, dtype="f8"), rtol=1e-4)


def test_two_results_are_written_over_an_operand_each(desk: Desk) -> None:
    (x, a), (y, b) = desk.random(1000), desk.random(1000)
    planned = desk.plan(graph.elementwise("add", a, b), graph.elementwise("sub", a, b), donation=donation(a, b))
    assert names(planned) == ["add_sub"]
    assert {id(result.storage) for result in planned.results} == {id(of(a)), id(of(b))}
    assert desk.runtime.allocations.total() == 0
    same(run(desk, planned), [x + y, x - y])


def test_what_is_read_once_more_is_not_written_over(desk: Desk) -> None:
    x, a = desk.random(ROWS, LENGTH)
    twice = graph.elementwise("add", a, a)
    left = graph.elementwise("sub", a, graph.expand(total(twice), a.shape))
    planned = desk.plan(twice, left, donation=donation(a))
    assert names(planned) == ["add_sum_sub"]
    assert [result.storage is of(a) for result in planned.results] == [False, True]
    assert planned.in_place[0].reason == "an operand is read once more after that"
    found = run(desk, planned)
    np.testing.assert_array_equal(found[0], x + x)
    np.testing.assert_allclose(found[1], x - (x + x).sum(1, keepdims=True), rtol=1e-4, atol=1e-2)


def test_what_others_need_is_stored(desk: Desk) -> None:
    _, a = desk.random(ROWS, LENGTH)
    sums = total(a)
    node = graph.elementwise("div", a, graph.expand(sums, a.shape))
    assert sums not in desk.plan(node).computed
    needed = desk.plan(node, donation=Donation((), {sums}))
    assert names(needed) == ["sum_div"]
    assert sums in needed.computed


def test_a_costly_result_is_read_and_not_computed_again() -> None:
    desk = Desk()
    _, node = desk.random(ROWS, LENGTH)
    for _ in range(20):
        node = graph.elementwise("sin", node)
    scaled = graph.elementwise("div", node, graph.expand(total(node), node.shape))
    planned = desk.plan(node, scaled)
    assert len(planned.launches) == 2
    why = planned.why[node]
    assert "it goes through the elements again, where computing it again takes 400 operations an element, and " in why
    assert why.endswith("keeping it moves 4 bytes, as much as 32 operations")
    _, cheap = desk.random(ROWS, LENGTH)
    cheap = graph.elementwise("sin", cheap)
    scaled = graph.elementwise("div", cheap, graph.expand(total(cheap), cheap.shape))
    assert len(desk.plan(cheap, scaled).launches) == 1


def test_what_a_third_kernel_lies_between_stays_apart(desk: Desk) -> None:
    x, a = desk.random(ROWS, ROWS)
    first = graph.elementwise("add", a, a)
    turned = graph.reshape(graph.permute(first, (1, 0)), (ROWS * ROWS,))
    last = graph.elementwise("mul", first, graph.reshape(graph.elementwise("neg", turned), (ROWS, ROWS)))
    planned = desk.plan(first, last)
    assert len(planned.launches) >= 2
    same(run(desk, planned), [x + x, (x + x) * -(x + x).T])


def test_reads_at_other_places_are_not_merged(desk: Desk) -> None:
    x, a = desk.random(ROWS, ROWS)
    first = graph.elementwise("add", a, a)
    last = graph.elementwise("sub", first, graph.permute(first, (1, 0)))
    planned = desk.plan(first, last)
    assert names(planned) == ["add", "sub"]
    assert any("it is read at other places" in why for why in planned.why.values())
    same(run(desk, planned), [x + x, (x + x) - (x + x).T])


def test_few_long_rows_share_the_kernels_of_their_parts() -> None:
    desk = Desk()
    x, a = desk.random(2, 40_000)
    ops = ("sum", "max", "min")
    several = [graph.reduce(op, a, (1,), F32) for op in ops]  # type: ignore[arg-type]
    spread = graph.elementwise("sub", several[1], several[2])
    planned = desk.plan(several[0], spread)
    assert names(planned) == ["sum_max_min", "sum_max_min_sub"]
    assert [len(set(map(id, storages(launch)))) for launch in planned.launches] == [3, 4]
    found = run(desk, planned)
    same(found, run(desk, desk.plan(several[0], spread, rules=())))
    np.testing.assert_array_equal(found[1], x.max(1) - x.min(1))


def test_a_view_is_stored_in_the_order_in_memory_of_what_it_shows(desk: Desk) -> None:
    x, a = desk.random(6, 8, 10)
    view = graph.expand(graph.permute(graph.elementwise("neg", a), (2, 0, 1)), (3, 10, 6, 8))
    planned = desk.plan(view)
    assert planned.results[0].layout == Layout((3, 10, 6, 8), (0, 1, 80, 10))
    assert desk.runtime.allocations == {480 * 4: 1}
    np.testing.assert_array_equal(run(desk, planned)[0], np.broadcast_to(-x.transpose(2, 0, 1), (3, 10, 6, 8)))


def test_no_pair_of_drafts_is_tried_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of one array, far more than one kernel takes: each is tried with few."""
    desk, tried = Desk(GPU), []
    joined = merge._Merger._joined

    def counted(merger: Any, first: Draft, second: Draft) -> Any:
        tried.append((tuple(group.root for group in first.groups), tuple(group.root for group in second.groups)))
        return joined(merger, first, second)

    monkeypatch.setattr(merge._Merger, "_joined", counted)
    _, x = desk.random(4, 6)
    nodes = [graph.elementwise("mul", x, graph.scalar(float(number), F32, x.shape)) for number in range(100)]
    planned = desk.plan(*nodes)
    assert len(planned.launches) <= 10
    assert len(tried) == len(set(tried))
    assert len(tried) <= 2 * len(nodes)
