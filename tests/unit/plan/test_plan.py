from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ocl_ir import passes
from ocl_ir.graph import build as graph
from ocl_ir.graph.build import Buffer, Node
from ocl_ir.indices import parse_index
from ocl_ir.kernel.grammar import For, Load, Store, walk
from ocl_ir.kernel.printer import text
from ocl_ir.layout import Layout
from ocl_ir.types import BOOL, F16, F32, F64, I8, I32, I64, U64, Pointer, from_numpy, lanes
from ocl_runtime.arrays.meaning import masks
from ocl_runtime.plan.fusion import reduction_order as order
from ocl_runtime.plan.fusion.groups import groups
from ocl_runtime.plan.fusion.growing import MAX_POINTERS, most_operations
from ocl_runtime.plan.fusion.layouts import Layouts
from ocl_runtime.plan.kernels import body, elementwise, elementwise_kernel, reduce_kernel
from ocl_runtime.plan.kernels.cache import KernelCache
from ocl_runtime.plan.launch import Address, Launch
from ocl_runtime.plan.planner import Plan, plan
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime

GPU = Target(kind="gpu", compute_units=2, group_size=8)
CPU = Target(kind="cpu", compute_units=2, group_size=8, vector_bytes=64, operations_per_byte=4)


class Desk:
    """Plans and runs expressions on one interpreted runtime."""

    def __init__(self, target: Target = GPU) -> None:
        self.runtime = InterpretedRuntime(target)
        self._random = np.random.default_rng(0)  # its own: no test's numbers depend on the tests before it

    def buffer(self, host: Any) -> Node:
        host = np.ascontiguousarray(host)
        return graph.buffer(self.runtime.upload(host), from_numpy(host.dtype), Layout.contiguous(host.shape))

    def random(self, *shape: int, dtype: str = "f4") -> tuple[np.ndarray, Node]:
        host = (self._random.random(shape) * 100 - 50).astype(dtype)
        return host, self.buffer(host)

    def plan(self, *roots: Node, **more: Any) -> Plan:
        return plan(roots, self.runtime, **more)

    def values(self, root: Node) -> np.ndarray:
        planned = self.plan(root, dense=True)
        self.runtime.run(planned)
        (found,) = planned.results
        return self.host(found)

    def host(self, found: Buffer) -> np.ndarray:
        low, high = found.layout.range()
        flat = self.runtime.download(found.storage, found.dtype, low, high - low).result()
        strides = tuple(stride * flat.itemsize for stride in found.layout.strides)
        return np.lib.stride_tricks.as_strided(flat[found.layout.offset - low :], found.shape, strides)


@pytest.fixture(params=[GPU, CPU], ids=["gpu", "cpu"])
def desk(request: pytest.FixtureRequest) -> Desk:
    return Desk(request.param)


def storages(launch: Launch) -> list[object]:
    """The storages of the pointers that a launch reads."""
    return [arg.storage for arg in launch.args if isinstance(arg, Address)][:-1]


def example(desk: Desk, n: int) -> tuple[np.ndarray, Node]:
    """a*b + sin(c)"""
    (x, a), (y, b), (z, c) = (desk.random(n) for _ in range(3))
    return x * y + np.sin(z), graph.elementwise("add", graph.elementwise("mul", a, b), graph.elementwise("sin", c))


def shifted(node: Node, key: object) -> Node:
    return graph.index(node, parse_index(node.shape, key))


# ---------------------------------------------------------------------- how many launches


@pytest.mark.parametrize("n", [1, 3, 4, 5, 16, 63, 64, 65, 1000])
def test_an_expression_is_one_launch(desk: Desk, n: int) -> None:
    expected, node = example(desk, n)
    planned = desk.plan(node)
    assert [launch.kernel.name for launch in planned.launches] == ["mul_sin_add"]
    np.testing.assert_allclose(desk.values(node), expected, rtol=1e-6, atol=1e-6)


def test_a_sum_at_the_end_is_fused(desk: Desk) -> None:
    expected, node = example(desk, 3000)
    total = graph.reduce("sum", node, (0,), F32)
    planned = desk.plan(total)
    assert len(planned.launches) <= 2
    assert planned.launches[0].kernel.name == "mul_sin_add_sum"
    np.testing.assert_allclose(desk.values(total), expected.astype("f8").sum(), rtol=1e-5)


def test_a_stencil_is_one_launch_over_one_storage(desk: Desk) -> None:
    x, a = desk.random(20, 30)
    keys = [np.s_[1:-1, 1:-1], np.s_[:-2, 1:-1], np.s_[2:, 1:-1], np.s_[1:-1, :-2], np.s_[1:-1, 2:]]
    node, expected = shifted(a, keys[0]), x[keys[0]]
    for key in keys[1:]:
        node, expected = graph.elementwise("add", node, shifted(a, key)), expected + x[key]
    (launch,) = desk.plan(node).launches
    assert isinstance(a, Buffer)
    assert storages(launch) == [a.storage] * (1 if desk.runtime.target.kind == "gpu" else 5)
    np.testing.assert_array_equal(desk.values(node), expected)


def test_what_a_reduction_gives_is_computed_first() -> None:
    desk = Desk()
    x, a = desk.random(6, 8)
    root = graph.elementwise("sqrt", graph.elementwise("abs", a))
    total = graph.reduce("sum", root, (1,), F32, keepdims=True)
    node = graph.elementwise("div", root, graph.expand(total, (6, 8)))
    assert [launch.kernel.name for launch in desk.plan(node).launches] == ["abs_sqrt_sum_div"]
    # Otherwise the root is computed again in a second kernel, which is cheaper than writing and reading it.
    apart = [launch.kernel.name for launch in desk.plan(node, rules=()).launches]
    assert apart == ["abs_sqrt_sum", "abs_sqrt_div"]
    expected = np.sqrt(np.abs(x))
    np.testing.assert_allclose(desk.values(node), expected / expected.sum(1, keepdims=True), rtol=1e-6)


def test_a_shared_node_is_computed_once() -> None:
    desk = Desk()
    x, a = desk.random(9)
    node, expected = a, x
    for _ in range(6):
        node, expected = graph.elementwise("add", node, node), expected + expected
    (launch,) = desk.plan(node).launches
    kernel = text(launch.kernel)
    assert kernel.count("f32 = add") == 12  # 6 in the lanes, 6 in the rest
    assert kernel.count("load") == 2
    np.testing.assert_array_equal(desk.values(node), expected)


def test_several_results_share_what_they_have_in_common() -> None:
    desk = Desk()
    x, a = desk.random(9)
    root = graph.elementwise("sqrt", graph.elementwise("abs", a))
    more = graph.elementwise("exp", graph.elementwise("neg", root))
    apart = desk.plan(root, more, rules=())
    assert [launch.kernel.name for launch in apart.launches] == ["abs_sqrt", "neg_exp"]
    planned = desk.plan(root, more)
    assert [launch.kernel.name for launch in planned.launches] == ["abs_sqrt_neg_exp"]
    for one in (apart, planned):
        desk.runtime.run(one)
        np.testing.assert_allclose(desk.host(one.results[0]), np.sqrt(np.abs(x)), rtol=1e-6)
        np.testing.assert_allclose(desk.host(one.results[1]), np.exp(-np.sqrt(np.abs(x))), rtol=1e-6)


def test_a_costly_node_under_two_views_is_computed_once() -> None:
    desk = Desk()
    x, a = desk.random(40)
    node, expected = a, x
    for _ in range(6):
        node, expected = graph.elementwise("sin", node), np.sin(expected)
    both = graph.elementwise("add", shifted(node, np.s_[1:]), shifted(node, np.s_[:-1]))
    assert len(desk.plan(both).launches) == 2
    cheap = graph.elementwise("sin", a)
    both_cheap = graph.elementwise("add", shifted(cheap, np.s_[1:]), shifted(cheap, np.s_[:-1]))
    assert len(desk.plan(both_cheap).launches) == 1
    np.testing.assert_allclose(desk.values(both), expected[1:] + expected[:-1], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(desk.values(both_cheap), np.sin(x)[1:] + np.sin(x)[:-1], rtol=1e-5, atol=1e-6)


def test_repeated_stencils_do_not_explode() -> None:
    desk = Desk()
    x, node = desk.random(64)
    expected = x
    for _ in range(12):
        node = graph.elementwise("add", shifted(node, np.s_[1:]), shifted(node, np.s_[:-1]))
        expected = expected[1:] + expected[:-1]
    assert len(desk.plan(node).launches) <= 12
    np.testing.assert_array_equal(desk.values(node), expected)


def test_looking_at_memory_is_no_launch() -> None:
    desk = Desk()
    _, a = desk.random(4, 6)
    view = shifted(graph.permute(a, (1, 0)), np.s_[::2])
    planned = desk.plan(view)
    assert planned.launches == ()
    assert isinstance(a, Buffer)
    assert planned.results[0].storage is a.storage


def test_a_view_of_a_result_shares_its_memory() -> None:
    desk = Desk()
    _, a = desk.random(4, 6)
    total = graph.reduce("sum", a, (1,), F32)
    planned = desk.plan(total, shifted(total, np.s_[None, ::-1]))
    assert len(planned.launches) == 1
    assert planned.results[0].storage is planned.results[1].storage


@pytest.mark.parametrize("shape", [(24,), (2, 12), (4, 6)], ids=str)
def test_a_reshape_of_what_does_not_lie_in_order_copies_where_others_have_no_such_shape(shape: tuple[int, ...]) -> None:
    desk = Desk()
    (x, a), (y, b) = desk.random(4, 6), desk.random(*shape[:-1], shape[-1] + 1)
    turned = graph.reshape(graph.permute(a, (1, 0)), shape)
    node = graph.elementwise("add", turned, graph.scalar(1.0, F32, shape))
    assert [launch.kernel.name for launch in desk.plan(node).launches] == ["add"]
    np.testing.assert_array_equal(desk.values(node), x.T.reshape(shape) + 1)
    if len(shape) > 1:
        node = graph.elementwise("add", turned, shifted(b, np.s_[:, 1:]))
        assert [launch.kernel.name for launch in desk.plan(node).launches] == ["copy", "add"]
        np.testing.assert_array_equal(desk.values(node), x.T.reshape(shape) + y[:, 1:])
    summed = graph.elementwise("add", a, a)
    flat = graph.elementwise("neg", graph.reshape(summed, shape))
    assert [launch.kernel.name for launch in desk.plan(flat).launches] == ["add_neg"]
    np.testing.assert_array_equal(desk.values(flat), -(x + x).reshape(shape))


def test_a_wanted_view_that_another_result_copies() -> None:
    desk = Desk()
    x, a = desk.random(4, 6)
    turned = graph.permute(graph.elementwise("neg", a), (1, 0))
    planned = desk.plan(turned, graph.elementwise("abs", graph.reshape(turned, (24,))))
    desk.runtime.run(planned)
    np.testing.assert_array_equal(desk.host(planned.results[0]), -x.T)
    np.testing.assert_array_equal(desk.host(planned.results[1]), np.abs(x.T.reshape(24)))


# ---------------------------------------------------------------------- limits


def test_a_deep_chain_is_cut_into_equal_kernels() -> None:
    desk = Desk()
    x, a = desk.random(5)
    node, expected = a, x.astype("f4")
    for _ in range(2_000):
        node, expected = graph.elementwise("add", node, a), expected + x
    planned = desk.plan(node)
    assert len(planned.launches) == -(-2_000 // most_operations(GPU, pointwise=True))
    assert desk.runtime.kernels.statistics.kernels == 2  # the last one is shorter
    desk.runtime.run(planned)
    np.testing.assert_array_equal(desk.host(planned.results[0]), expected)


def test_many_buffers_are_cut_to_what_a_kernel_takes() -> None:
    desk = Desk()
    parts = [desk.random(5) for _ in range(100)]
    expected, node = parts[0]
    for x, a in parts[1:]:
        expected, node = expected + x, graph.elementwise("add", node, a)
    planned = desk.plan(node)
    for launch in planned.launches:
        assert len(storages(launch)) <= MAX_POINTERS
        assert 16 * len(launch.args) <= desk.runtime.target.max_argument_bytes
    np.testing.assert_allclose(desk.values(node), expected, rtol=1e-5, atol=1e-4)


def test_many_scalars_are_cut_to_what_a_kernel_takes() -> None:
    desk = Desk()
    x, node = desk.random(5)
    for _ in range(120):
        x, node = x + np.float32(1), graph.elementwise("add", node, graph.scalar(1.0, F32, (5,)))
    planned = desk.plan(node)
    assert len(planned.launches) > 1
    for launch in planned.launches:
        assert 8 * len(launch.args) <= desk.runtime.target.max_argument_bytes
    np.testing.assert_array_equal(desk.values(node), x)


def test_groups_come_after_what_they_read() -> None:
    desk = Desk()
    _, a = desk.random(4)
    one = graph.reduce("sum", a, (0,), F32)
    two = graph.reduce("max", graph.elementwise("sub", a, graph.expand(one, (4,))), (0,), F32)
    order = [group.root for group in groups([graph.elementwise("mul", one, two)], GPU, Layouts())]
    assert order.index(one) < order.index(two)


@pytest.mark.parametrize("size", [30, 4096 + 30])
def test_a_view_that_is_copied_comes_after_what_became_a_group_behind_it(size: int) -> None:
    """A mask that is a view of a result is counted: its whole rows, of which there may be none, and the rest."""
    desk = Desk(CPU)
    x, a = desk.random(size, 1)
    holds = graph.elementwise("gt", a, graph.scalar(0.5, F32, (size, 1)))
    cut = masks.rows(graph.index(holds, parse_index((size, 1), np.s_[:, 0])))
    planned = desk.plan(holds, cut.counts, cut.upto, cut.total)
    desk.runtime.run(planned)
    assert desk.host(planned.results[3]) == np.count_nonzero(x > 0.5)


# ---------------------------------------------------------------------- the cache


def test_a_hit_builds_no_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()
    nodes = [example(desk, n)[1] for n in (40, 40, 1000)]
    nodes += [graph.reduce("sum", node, (0,), F32) for node in nodes]
    first = desk.plan(nodes[0], nodes[3])
    before = desk.runtime.kernels.statistics
    monkeypatch.setattr(elementwise_kernel, "KernelBuilder", None)
    monkeypatch.setattr(reduce_kernel, "KernelBuilder", None)
    monkeypatch.setattr(body, "KernelBuilder", None)
    again = desk.plan(nodes[1], nodes[4])
    after = desk.runtime.kernels.statistics
    assert [launch.kernel for launch in again.launches] == [launch.kernel for launch in first.launches]
    assert (after.misses, after.hits) == (before.misses, before.hits + len(again.launches))


@pytest.mark.parametrize("shape", [(1,), (77,), (3, 5), (2, 3, 4)], ids=str)
def test_a_new_shape_or_scalar_is_no_new_kernel(shape: tuple[int, ...]) -> None:
    desk = Desk()
    for at in ((64,), shape):
        _, a = desk.random(*at)
        desk.plan(graph.elementwise("mul", a, graph.scalar(float(len(at)), F32, at)))
    assert desk.runtime.kernels.statistics.misses == 1


def test_kernels_differ_by_alias_dtype_and_stride() -> None:
    desk = Desk()
    (_, a), (_, b), (_, i) = desk.random(4, 8), desk.random(4, 8), desk.random(4, 8, dtype="i4")
    (_, long_) = desk.random(8)
    for x, y in [(a, b), (a, a), (i, i), (a, graph.expand(long_, (4, 8))), (b, a)]:
        desk.plan(graph.elementwise("add", x, y))
    assert desk.runtime.kernels.statistics.misses == 4


def test_the_cache_is_bounded() -> None:
    cache = KernelCache(limit=2)
    desk = Desk()
    kernel = desk.plan(example(desk, 4)[1]).launches[0].kernel
    for form in ("a", "b", "a", "c", "a", "b"):
        cache.get(form, lambda _: kernel)
    found = cache.statistics
    assert (found.hits, found.misses, found.evictions, found.kernels) == (2, 4, 2, 2)


# ---------------------------------------------------------------------- the code


def test_names_and_notes() -> None:
    desk = Desk()
    (_, a), (_, b) = desk.random(8), desk.random(8)
    node = graph.elementwise("sub", graph.elementwise("mul", a, b), graph.scalar(2.0, F32, (8,)))
    (launch,) = desk.plan(node).launches
    assert [param.value.hint for param in launch.kernel.params] == ["n", "a", "b", "s0", "y"]
    assert launch.kernel.note == "y = a*b - s0    f32, 1-D, 4 elements a work-item"
    (named,) = desk.plan(node, names={b: "weights", a: "y"}).launches
    assert [param.value.hint for param in named.kernel.params] == ["n", "a", "weights", "s0", "y"]
    assert "test_plan.py" in launch.where


def vectorized(launch: Launch) -> dict[str, tuple[int, int]]:
    """Lanes and alignment of the vector accesses of a launch after the passes, by pointer."""
    found = {}
    for stmt in walk(passes.run(launch.kernel).body):
        if isinstance(stmt, Load | Store):
            moved = stmt.result.type if isinstance(stmt, Load) else stmt.value.type
            assert not isinstance(moved, Pointer)
            if lanes(moved) > 1:
                found[stmt.pointer.hint] = (lanes(moved), stmt.align)
    return found


def test_wide_accesses_are_aligned_where_that_is_known() -> None:
    for desk, wide in ((Desk(GPU), (4, 16)), (Desk(CPU), (16, 64))):
        _, a = desk.random(6, 64)
        row = desk.random(64)[1]
        whole, shifted_by_one = graph.expand(row, (6, 64)), shifted(desk.buffer(np.zeros(65, "f4")), np.s_[1:])
        (launch,) = desk.plan(graph.elementwise("add", a, whole)).launches
        assert vectorized(launch) == {"a": wide, "b": wide, "y": wide}
        (launch,) = desk.plan(graph.elementwise("add", row, shifted_by_one)).launches
        # Alignment is one fact of a kernel: where one leaf is not aligned, nothing is promised of the others either.
        # But a GPU always stores aligned vectors.
        expected = dict.fromkeys(("a", "b", "y"), (wide[0], 4))
        assert vectorized(launch) == (expected | {"y": wide} if desk.runtime.target == GPU else expected)


@pytest.mark.parametrize(("dtype", "width"), [("f4", 4), ("f8", 2), ("i1", 16), ("f2", 8)])
def test_lanes_fill_a_wide_access(dtype: str, width: int) -> None:
    desk = Desk()
    _, a = desk.random(100, dtype=dtype)
    (launch,) = desk.plan(graph.elementwise("add", a, a)).launches
    loops = [stmt for stmt in walk(launch.kernel.body) if isinstance(stmt, For) and stmt.vectorize]
    assert [loop.stop.value for loop in loops] == [width]  # type: ignore[union-attr]


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 6])
def test_strided_expressions_of_any_rank(desk: Desk, rank: int) -> None:
    shape = (3, 2, 3, 2, 3, 5)[-rank:]
    (x, a), (y, b) = desk.random(*(2 * length for length in shape)), desk.random(*reversed(shape))
    key = tuple(np.s_[::2] if axis % 2 else np.s_[::-2] for axis in range(rank))
    node = graph.elementwise("sub", shifted(a, key), graph.permute(b, tuple(reversed(range(rank)))))
    (launch,) = desk.plan(node).launches
    assert all(whole % group == 0 for whole, group in zip(launch.global_size, launch.group_size, strict=True))
    np.testing.assert_array_equal(desk.values(node), x[key] - y.transpose())


def test_too_many_groups_for_the_outer_dimensions_share_one() -> None:
    desk = Desk()
    x, _ = desk.random(3)
    column = graph.expand(graph.index(desk.buffer(x), (None, parse_index((3,), np.s_[:])[0])), (600_000, 3))
    (launch,) = desk.plan(graph.elementwise("neg", column)).launches
    assert launch.global_size[1:] == (1, 1)
    few = shifted(column, np.s_[:5])
    grid, sizes, _ = elementwise._index_space((5, 3), 8, wide=False)
    assert (grid, sizes) == (((1,), (0,)), (4, 6, 1))
    np.testing.assert_array_equal(desk.values(graph.elementwise("neg", few)), np.broadcast_to(-x, (5, 3)))


@pytest.mark.parametrize("length", [65, 67, 70, 129, 1001])
@pytest.mark.parametrize("key", [np.s_[::3], np.s_[::-1], np.s_[1::2]], ids=str)
@pytest.mark.parametrize("op", ["sum", "max"])
def test_rows_of_elements_far_apart_are_reduced_to_their_end(desk: Desk, length: int, key: slice, op: Any) -> None:
    """Beside a dense operand, whose lanes leave a rest."""
    (x, a), (y, b) = desk.random(length, dtype="i4"), desk.random(3 * length, dtype="i4")
    other, far = y[key][:length], shifted(shifted(b, (key,)), (np.s_[:length],))
    root = graph.reduce(op, graph.elementwise("add", a, far), (0,), I64 if op == "sum" else I32)
    assert desk.values(root) == getattr((x + other).astype("i8"), op)()


def test_groups_of_a_gpu_have_several_rows() -> None:
    """What reads the rows above and below finds them in the cache."""
    assert elementwise._index_space((1000, 1000), 256, wide=True)[1:] == ((1024, 1000, 1), (64, 4, 1))
    assert elementwise._index_space((1000, 10), 256, wide=True)[1:] == ((16, 1008, 1), (16, 16, 1))
    assert elementwise._index_space((3, 1000), 256, wide=True)[1:] == ((1024, 4, 1), (64, 4, 1))
    assert elementwise._index_space((1000,), 256, wide=True)[1:] == ((1024, 1, 1), (256, 1, 1))
    assert elementwise._index_space((1000, 1000), 64, wide=False)[1:] == ((1024, 1000, 1), (64, 1, 1))


def test_divided_index_spaces_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elementwise, "_MOST_GROUPS", 1)
    desk = Desk()
    (x, a), (y, b) = desk.random(13, 10), desk.random(10)
    node = graph.elementwise("mul", a, graph.expand(b, (13, 10)))
    (launch,) = desk.plan(node).launches
    assert launch.global_size[1] == 1
    np.testing.assert_array_equal(desk.values(node), x * y)


def test_large_arrays_count_in_64_bits() -> None:
    desk = Desk()
    huge = graph.buffer(object(), I8, Layout.contiguous((2**32,)))
    desk.runtime.allocate = lambda nbytes, where="": object()  # type: ignore[method-assign, assignment, return-value]
    (launch,) = desk.plan(graph.elementwise("neg", huge)).launches
    assert launch.args[0] == np.uint64(2**32)
    assert launch.kernel.params[0].value.type == U64


def test_half_without_arithmetic_rounds_after_each_operation(desk: Desk) -> None:
    (x, a), (y, b) = desk.random(37, dtype="f2"), desk.random(37, dtype="f2")
    node = graph.elementwise("add", graph.elementwise("mul", a, b), graph.scalar(0.1, F16, (37,)))
    node = graph.elementwise("select", graph.elementwise("lt", a, b), node, graph.convert(graph.convert(a, F32), F16))
    expected = np.where(x < y, x * y + np.float16(0.1), x)
    np.testing.assert_array_equal(desk.values(node), expected)


def test_half_with_arithmetic_gives_the_same() -> None:
    desk = Desk(Target(group_size=8, fp16=True))
    (x, a), (y, b) = desk.random(37, dtype="f2"), desk.random(37, dtype="f2")
    node = graph.elementwise("add", graph.elementwise("mul", a, b), graph.scalar(0.1, F16, (37,)))
    assert "round_f16" not in text(desk.plan(node).launches[0].kernel)
    np.testing.assert_array_equal(desk.values(node), x * y + np.float16(0.1))
    total = graph.reduce("sum", node, (0,), F16)
    np.testing.assert_allclose(desk.values(total), (x * y + np.float16(0.1)).sum(dtype="f4"), rtol=2e-3)


def test_iotas_and_scalars_take_no_memory(desk: Desk) -> None:
    places = graph.iota(I64, Layout((7, 9), (9, 1), 2))
    node = graph.elementwise("mul", shifted(places, np.s_[::-2, ::-1]), graph.scalar(3, I64, (4, 9)))
    (launch,) = desk.plan(node).launches
    assert storages(launch) == []
    np.testing.assert_array_equal(desk.values(node), (np.arange(63).reshape(7, 9) + 2)[::-2, ::-1] * 3)
    filled = graph.scalar(True, BOOL, (5,))
    assert desk.plan(filled).launches[0].kernel.name == "fill"
    np.testing.assert_array_equal(desk.values(filled), np.ones(5, bool))


def test_arrays_without_elements_need_no_launch() -> None:
    desk = Desk()
    _, a = desk.random(4, 6)
    empty = graph.elementwise("neg", shifted(a, np.s_[:, 3:3]))
    planned = desk.plan(empty, graph.reduce("sum", empty, (0,), F32))
    assert planned.launches == ()
    assert [result.shape for result in planned.results] == [(4, 0), (0,)]
    assert not desk.runtime.allocations


# ---------------------------------------------------------------------- reductions

AXES = [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("shape", [(3, 4, 70), (70, 3, 5), (2, 70, 33), (1, 1, 1), (65, 1, 1)], ids=str)
@pytest.mark.parametrize("axes", AXES, ids=str)
def test_reductions_over_any_axes(desk: Desk, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x, a = desk.random(*shape)
    np.testing.assert_allclose(
        desk.values(graph.reduce("sum", a, axes, F32)), x.astype("f8").sum(axes), rtol=1e-4, atol=1e-3
    )
    turned = graph.permute(a, (2, 0, 1))
    largest = graph.reduce("max", turned, axes, F32, keepdims=True)
    np.testing.assert_array_equal(desk.values(largest), x.transpose(2, 0, 1).max(axes, keepdims=True))


@pytest.mark.parametrize("count", [1, 5, 31, 33, 100, 1000, 20_000])
def test_reductions_of_many_elements(desk: Desk, count: int) -> None:
    x, a = desk.random(count, dtype="i4")
    for op, expected in (("sum", x.sum()), ("min", x.min()), ("max", x.max())):
        dtype = I64 if op == "sum" else I32
        assert desk.values(graph.reduce(op, a, (0,), dtype)) == expected  # type: ignore[arg-type]


def test_tall_columns_are_split(desk: Desk) -> None:
    few, a = desk.random(2000, 3, dtype="i4")
    np.testing.assert_array_equal(desk.values(graph.reduce("sum", a, (0,), I64)), few.sum(0))
    x, b = desk.random(2100, 3 if desk.runtime.target.kind == "gpu" else 37, dtype="i2")
    node = graph.reduce("sum", b, (0,), I64)
    assert len(desk.plan(node).launches) == 2
    np.testing.assert_array_equal(desk.values(node), x.sum(0))


def test_reductions_propagate_nan_and_wrap_integers(desk: Desk) -> None:
    x = np.ones(300, "f4")
    x[217] = np.nan
    for op in ("min", "max"):
        assert np.isnan(desk.values(graph.reduce(op, desk.buffer(x), (0,), F32)))  # type: ignore[arg-type]
    many = np.full(40, 7, "u8")
    assert desk.values(graph.reduce("prod", desk.buffer(many), (0,), U64)) == many.prod()


@pytest.mark.parametrize("target", [Target(), Target(compute_units=132), CPU], ids=["gpu", "large gpu", "cpu"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((2**28,), (0,)), ((2**24, 3), (0,)), ((2**24, 30), (0,)), ((5, 2**24), (1,)), ((2**14, 2**14), (0,))],
    ids=str,
)
def test_no_number_is_added_to_a_long_chain(target: Target, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    runtime = InterpretedRuntime(target)
    runtime.allocate = lambda nbytes, where="": object()  # type: ignore[method-assign, assignment, return-value]
    node = graph.reduce("sum", graph.buffer(object(), F32, Layout.contiguous(shape)), axes, F32)
    for launch in plan([node], runtime).launches:
        names = [param.value.hint for param in launch.kernel.params]
        whole = "per" if "per" in names else "m"
        per = int(launch.args[names.index(whole)])  # type: ignore[arg-type]
        form = runtime.kernels.form_of(launch.kernel)
        assert isinstance(form, reduce_kernel.ReduceForm)
        if form.way == "rows":  # of which a part has so many vectors, a whole one so many elements
            per //= form.chains * (form.lanes if whole == "m" else 1)
        assert per / form.team <= 4100


def test_a_second_launch_reads_what_the_first_wrote() -> None:
    desk = Desk()
    _, a = desk.random(20_000)
    first, second = desk.plan(graph.reduce("sum", a, (0,), F32)).launches
    written = [arg.storage for arg in first.args if isinstance(arg, Address)][-1]
    assert storages(second) == [written]


def test_reduced_axes_that_repeat_elements(desk: Desk) -> None:
    x, a = desk.random(5)
    node = graph.reduce("sum", graph.expand(graph.index(a, (None, parse_index((5,), np.s_[:])[0])), (70, 5)), (0,), F32)
    np.testing.assert_allclose(desk.values(node), x * 70, rtol=1e-5)
    ones = graph.reduce("sum", graph.scalar(1, I32, (70, 5)), (0, 1), I64)
    assert desk.values(ones) == 350


def test_the_same_device_gives_the_same_bits(desk: Desk) -> None:
    _, a = desk.random(5000)
    node = graph.reduce("sum", a, (0,), F64)
    assert desk.values(node).tobytes() == desk.values(node).tobytes()
    assert order._SEQUENTIAL == 4096
