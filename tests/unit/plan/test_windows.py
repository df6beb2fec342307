"""Stencils: what their terms share, and that they are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ocl_runtime.arrays as xp
from ocl_ir.graph import build as graph
from ocl_ir.kernel.grammar import If, Kernel, Load, Store, walk
from ocl_ir.layout import Layout
from ocl_ir.types import F32
from ocl_runtime.plan.fusion.neighbours import families
from ocl_runtime.plan.kernels import elementwise
from ocl_runtime.plan.launch import Address, Launch
from ocl_runtime.plan.target import Target
from tests.support.interpreted import InterpretedRuntime

BUSY = Target(kind="gpu", compute_units=1, group_size=8)
"""With `_ITEMS_OF_A_UNIT` 1 a few results already keep it busy."""
CPU = Target(kind="cpu", compute_units=2, group_size=8, vector_bytes=32)


def launched(runtime: InterpretedRuntime, array: xp.Array) -> Launch:
    before = len(runtime.launched)
    array.compute()
    (launch,) = runtime.launched[before:]
    return launch


def first_branch(kernel: Kernel) -> tuple[int, int]:
    """Loads and stores of a work-item all of whose results are in the array."""
    inside = next(stmt for stmt in reversed(list(walk(kernel.body))) if isinstance(stmt, If) and stmt.orelse)
    statements = list(walk(inside.then))
    return sum(isinstance(stmt, Load) for stmt in statements), sum(isinstance(stmt, Store) for stmt in statements)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 50)), max_size=8), st.integers(0, 8))
def test_neighbours_are_the_same_where_some_reads_were_looked_at_before(
    reads: list[tuple[int, int]], count: int
) -> None:
    memory = [graph.buffer(object(), F32, Layout.contiguous((8, 8))) for _ in range(2)]
    layouts = [(memory[number], Layout((3, 3), (8, 1), offset)) for number, offset in reads]
    assert families(layouts[count:], families(layouts[:count])) == families(layouts)


def nine(x: Any) -> Any:
    rows, columns = x.shape
    total = None
    for down in range(3):
        for right in range(3):
            part = x[down : rows - 2 + down, right : columns - 2 + right]
            total = part if total is None else total + part
    return total


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> InterpretedRuntime:
    monkeypatch.setattr(elementwise, "_ITEMS_OF_A_UNIT", 1)
    return InterpretedRuntime(BUSY)


def test_lanes_share_what_they_read_where_rows_are_aligned(busy: InterpretedRuntime) -> None:
    host = np.random.default_rng(0).random((20, 32)).astype("f4")
    with xp.use(busy):
        x = xp.asarray(host)
        found = nine(x)
        launch = launched(busy, found)
        # For four results three rows of a vector of four and one of two, where 36 elements are added up. The results'
        # rows are 30 elements long: two can be stored together.
        assert first_branch(launch.kernel) == (6, 2)
        assert sum(isinstance(arg, Address) for arg in launch.args) == 2
        np.testing.assert_array_equal(found.numpy(), nine(host))


def test_results_above_each_other_share_what_they_read_elsewhere(busy: InterpretedRuntime) -> None:
    host = np.random.default_rng(0).random((21, 31)).astype("f4")
    with xp.use(busy):
        found = nine(xp.asarray(host))
        launch = launched(busy, found)
        assert first_branch(launch.kernel) == (18, 4)  # six rows of three elements for four results
        assert sum(isinstance(arg, Address) for arg in launch.args) == 2
        np.testing.assert_array_equal(found.numpy(), nine(host))


def test_single_elements_are_copied_several_at_a_time(busy: InterpretedRuntime) -> None:
    host = np.random.default_rng(0).random((21, 31)).astype("f4")
    with xp.use(busy):
        found = xp.asarray(host)[:, 1:] * 2
        launch = launched(busy, found)
        assert first_branch(launch.kernel) == (4, 4)
        np.testing.assert_array_equal(found.numpy(), host[:, 1:] * 2)


def test_few_results_are_computed_by_as_many_work_items() -> None:
    runtime = InterpretedRuntime(BUSY)
    with xp.use(runtime):
        launch = launched(runtime, nine(xp.asarray(np.ones((21, 31), "f4"))))
        assert launch.global_size[0] * launch.global_size[1] >= 19 * 29


def around(x: Any, down: int, right: int) -> Any:
    """The sum of all elements up to so far away."""
    rows, columns = x.shape
    total = None
    for i in range(2 * down + 1):
        for j in range(2 * right + 1):
            part = x[i : rows - 2 * down + i, j : columns - 2 * right + j]
            total = part if total is None else total + part
    return total


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", [BUSY, CPU], ids=["gpu", "cpu"])
@pytest.mark.parametrize(("down", "right"), [(2, 2), (2, 3), (15, 0), (0, 15)])
@pytest.mark.parametrize("shape", [(40, 48), (41, 47), (33, 31)])
def test_many_terms_are_one_kernel(target: Target, down: int, right: int, shape: tuple[int, int]) -> None:
    """More of them than a kernel takes pointers; those that are more than 8 steps away have one of their own."""
    host = np.random.default_rng(0).random(shape).astype("f4")
    runtime = InterpretedRuntime(target)
    with xp.use(runtime):
        found = around(xp.asarray(host), down, right)
        launch = launched(runtime, found)
        pointers = sum(isinstance(arg, Address) for arg in launch.args)
        assert pointers == (2 if max(down, right) < 5 else 5)
        np.testing.assert_array_equal(found.numpy(), around(host, down, right))


@pytest.mark.parametrize("target", [BUSY, CPU], ids=["gpu", "cpu"])
def test_what_elements_are_taken_from_is_an_argument_too(target: Target) -> None:
    """Fourteen terms alone could have a pointer each, but there are six tables besides."""
    rng = np.random.default_rng(0)
    host, index = rng.random((24, 32)).astype("f4"), rng.integers(0, 50, (20, 26))
    tables = [rng.random(50).astype("f4") for _ in range(6)]

    def terms(x: Any, given: Any, at: Any) -> Any:
        total = given[0][at]
        for table in given[1:]:
            total = total + table[at]
        for i in range(2):
            for j in range(7):
                total = total + x[i : 20 + i, j : 26 + j]
        return total

    runtime = InterpretedRuntime(target)
    with xp.use(runtime):
        found = terms(xp.asarray(host), [xp.asarray(one) for one in tables], xp.asarray(index))
        launch = launched(runtime, found)
        assert sum(isinstance(arg, Address) for arg in launch.args) == 9  # with the index and the result
        np.testing.assert_array_equal(found.numpy(), terms(host, tables, index))


def test_one_leaf_of_others_rows_leaves_lanes_to_the_stencil(busy: InterpretedRuntime) -> None:
    """A right-hand side without the edges, whose rows begin anywhere, is read element by element."""
    rng = np.random.default_rng(0)
    host, inner = rng.random((20, 32)).astype("f4"), rng.random((18, 30)).astype("f4")
    with xp.use(busy):
        found = nine(xp.asarray(host)) - xp.asarray(inner)
        launch = launched(busy, found)
        assert first_branch(launch.kernel) == (6 + 4, 2)
        np.testing.assert_array_equal(found.numpy(), nine(host) - inner)


@pytest.mark.parametrize("columns", [31, 32])
def test_much_computing_for_each_result_is_written_once(busy: InterpretedRuntime, columns: int) -> None:
    """The code for several results would be long, and memory is not what it waits for."""
    host = np.random.default_rng(0).random((12, columns)).astype("f4")

    def much(x: Any) -> Any:
        total = x[:, 1:] + x[:, :-1]
        for _ in range(50):
            total = total * 0.5 + 1
        return total

    with xp.use(busy):
        found = much(xp.asarray(host))
        launch = launched(busy, found)
        loads = [stmt for stmt in walk(launch.kernel.body) if isinstance(stmt, Load)]
        assert len(loads) == 2
        np.testing.assert_allclose(found.numpy(), much(host), rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_way_with_fewest_reads(busy: InterpretedRuntime, axis: int) -> None:
    """Along the axis in which the terms are neighbours."""
    host = np.random.default_rng(0).random((9, 9, 9)).astype("f4")

    def three(x: Any) -> Any:
        x = x[:, 1:-1] if axis == 0 else x[1:-1]
        return x[:-2] + x[1:-1] + x[2:] if axis == 0 else x[:, :-2] + x[:, 1:-1] + x[:, 2:]

    with xp.use(busy):
        x = xp.asarray(host)  # and held, so that what is made of it is not kept
        found = three(x)
        launch = launched(busy, found[:, :, 1:])
        assert first_branch(launch.kernel) == (6, 4)  # 12 along the other axis
        np.testing.assert_array_equal(found.numpy(), three(host))


def test_a_read_that_is_not_by_neighbours_has_its_own_pointer(busy: InterpretedRuntime) -> None:
    host = np.random.default_rng(0).random((40, 32)).astype("f4")
    with xp.use(busy):
        x = xp.asarray(host)
        found = x[:20, 1:] + x[20:, 1:] + x[20:, :-1] + x[:20, ::-1][:, 1:]
        launch = launched(busy, found)
        assert sum(isinstance(arg, Address) for arg in launch.args) == 4
        np.testing.assert_array_equal(found.numpy(), host[:20, 1:] + host[20:, 1:] + host[20:, :-1] + host[:20, -2::-1])


def test_other_shapes_take_the_same_kernel(busy: InterpretedRuntime) -> None:
    with xp.use(busy):
        for rows, columns in ((20, 32), (24, 36), (60, 48)):
            host = np.random.default_rng(rows).random((rows, columns)).astype("f4")
            np.testing.assert_array_equal(nine(xp.asarray(host)).numpy(), nine(host))
        assert busy.kernels.statistics.misses == 1


def test_what_is_written_over_is_read_before(busy: InterpretedRuntime) -> None:
    """The rows of a work-item are read before one is stored, and terms elsewhere forbid writing over an operand."""
    host = np.random.default_rng(0).random((21, 31)).astype("f4")
    with xp.use(busy):
        x, y = xp.asarray(host) * 1, xp.asarray(host)
        x.compute()
        x = x[1:-1, 1:-1] + nine(y)
        np.testing.assert_array_equal(x.numpy(), host[1:-1, 1:-1] + nine(host))
        z = xp.asarray(host)
        z[1:-1, 1:-1] = nine(z)
        expected = host.copy()
        expected[1:-1, 1:-1] = nine(host)
        np.testing.assert_array_equal(z.numpy(), expected)


_DTYPES = st.sampled_from(["f4", "f4", "f8", "i2", "?"])


@given(data=st.data())
def test_any_terms(data: st.DataObject) -> None:
    """Of random arrays, steps and distances, with operands that are broadcast, transposed, flipped or elsewhere."""
    draw = data.draw
    rank = draw(st.integers(1, 3))
    inner = tuple(draw(st.integers(1, 9 if rank > 1 else 40)) for _ in range(rank))
    farthest = draw(st.sampled_from([1, 2, 9]))
    steps = [draw(st.sampled_from([1, 1, 1, 2])) for _ in range(rank)]
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    dtypes = [np.dtype(draw(_DTYPES)) for _ in range(2)]
    padding = [draw(st.sampled_from([0, 1, 3])) for _ in range(rank)]
    shape = [n * step + farthest + pad for n, step, pad in zip(inner, steps, padding, strict=True)]
    if draw(st.booleans()):
        shape[-1] = -(-shape[-1] // 4) * 4  # rows that begin at multiples of the lanes
    hosts = [(rng.random(tuple(shape)) * 9).astype(dtype) for dtype in dtypes]

    def term() -> tuple[int, tuple[slice, ...], str]:
        which = draw(st.integers(0, 1))
        starts = [draw(st.integers(0, farthest)) for _ in range(rank)]
        slices = tuple(slice(at, at + n * step, step) for at, n, step in zip(starts, inner, steps, strict=True))
        return which, slices, draw(st.sampled_from(["", "", "", "", "", "flip", "row", "turn"]))

    terms = [term() for _ in range(draw(st.sampled_from([2, 3, 4, 5, 6, 30])))]

    def value(arrays: list[Any]) -> Any:
        total = None
        for which, slices, how in terms:
            part = arrays[which][slices]
            if how == "flip":
                part = part[::-1]
            elif how == "row":
                part = part[:1]
            elif how == "turn" and rank == 2 and inner[0] == inner[1]:
                part = part.T
            total = part if total is None else (total | part if total.dtype == part.dtype == bool else total + part)
        return total

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elementwise, "_ITEMS_OF_A_UNIT", draw(st.sampled_from([0, 1, 1000])))
        with xp.use(InterpretedRuntime(draw(st.sampled_from([BUSY, BUSY, CPU])))):
            found, expected = value([xp.asarray(host) for host in hosts]), value(hosts)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("columns", [12, 13])
def test_regression_rows_back_to_front_beside_a_window(columns: int) -> None:
    """What lies in no window is read element by element, also where its rows begin at multiples of the lanes."""

    def mixed(x: Any) -> Any:
        return x[1:, 1:] * x[:1, :-1] + x[:-1, 1:] * x[1:, 3:4] - x[:0:-1, :-1]

    runtime = InterpretedRuntime(Target(kind="gpu", compute_units=2, group_size=16))
    host = np.random.default_rng(0).random((12, columns)).astype("f4")
    with xp.use(runtime):
        np.testing.assert_array_equal(mixed(xp.asarray(host)).numpy(), mixed(host))
    assert [launch.kernel.name for launch in runtime.launched] == ["mul_add_sub"]
