"""Elements that are read with integers are values, as NumPy's scalars are; writes do not copy for their sake."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.graph import build as graph
from ocl_runtime.errors import DTypeError, IndexingError, RankError
from ocl_runtime.plan.registry import Reads
from tests.support.interpreted import InterpretedRuntime


@pytest.fixture(autouse=True)
def runtime() -> Iterator[InterpretedRuntime]:
    with xp.use(InterpretedRuntime()) as made:
        yield made


def swapped(x: Any) -> Any:
    x[0], x[1] = x[1], x[0]
    return x


def read_then_written(x: Any) -> Any:
    t = x[3]
    x[3] = 9
    return t


def counted_up(x: Any) -> Any:
    y = x[0]
    z = y
    y += 1
    x[1] = z
    x[2] = y
    return x


def added_to(x: Any) -> Any:
    x[0] += 1
    x[-1] *= 3
    return x


def products_of_neighbours(x: Any) -> Any:
    for i in range(2, 6):
        x[i] = x[i - 1] + x[i - 2]
    return x


def built_on_elements(x: Any) -> Any:
    t = x[3] * 2 + x[4]
    x[3] = 100
    u = x[3] + t
    x[4] = 200
    return t + u * 1000


def through_a_view(x: Any) -> Any:
    view = x[2:]
    t = view[1]
    x[3] = -1
    u = x[3]
    view[...] = 7
    return t * 100 + u


def sum_of_a_loop(x: Any) -> Any:
    total = 0
    for value in x:
        x[0] = 5
        total = total * 2 + value
    return total


def reversed_by_hand(x: Any) -> Any:
    for i in range(3):
        x[i], x[5 - i] = x[5 - i], x[i]
    return x


PROGRAMS: list[Callable[[Any], Any]] = [
    swapped, read_then_written, counted_up, added_to, products_of_neighbours, built_on_elements, through_a_view,
    sum_of_a_loop, reversed_by_hand,
]  # fmt: skip


@pytest.mark.parametrize("computed", [True, False])
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_numpy_has_it(program: Callable[[Any], Any], computed: bool) -> None:
    host = np.array([1, 2, 3, 5, 8, 13], "i4")
    x = xp.asarray(host) * 1
    if computed:
        x.compute()
    found = program(x)
    before = host.copy()
    expected = program(before)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
    np.testing.assert_array_equal(x.numpy(), before)


def test_which_indices_give_values() -> None:
    x, zero = xp.asarray(np.arange(6).reshape(2, 3)), xp.asarray(5)
    for view in (x[1], x[1, 2, ...], x[1, 2, None], x[..., 1, 2], zero[...], x[1:2, 2]):
        view[...] = 7
    assert x.numpy().tolist() == [[0, 1, 2], [7, 7, 7]]
    assert int(zero) == 7
    for value in (x[1, 2], x[-1, np.int8(2)], zero[()], next(iter(x[0])), x[xp.asarray(1)[()], 2]):
        with pytest.raises(DTypeError, match="writing into an element that was read with integers") as caught:
            value[...] = 3
        assert isinstance(caught.value, TypeError)
        assert "x[0] = 3" in caught.value.remedy
        with pytest.raises(DTypeError, match="that is a value"):
            value[()] = 3


def test_operators_in_place_give_a_new_value() -> None:
    x = xp.asarray([1, 2])
    y = x[0]
    z = y
    y += 1.5  # as a number, of any dtype
    assert (float(z), float(y), x.numpy().tolist()) == (1.0, 2.5, [1, 2])
    y[...] = 4  # the result of an operation is an array like any other
    assert (float(y), float(copy.copy(x[1]))) == (4.0, 2.0)
    view = z[...]
    view[...] = 8
    assert int(z) == 1


def test_a_write_with_its_own_element_stays_one_expression(runtime: InterpretedRuntime) -> None:
    x = xp.asarray(np.arange(1000, dtype="f4"))
    x[0] += 1
    x[1] = x[1] * 3 + x[2]
    assert runtime.launched == []
    assert x.numpy()[:3].tolist() == [1.0, 5.0, 2.0]


def test_many_elements_leave_the_old_array_to_them(runtime: InterpretedRuntime) -> None:
    x = xp.asarray(np.arange(100, dtype="f4"))
    elements = list(x)
    x[0] = -1
    x[50] = -1
    assert runtime.launched == [], "a hundred elements are not computed one by one"
    assert float(x[50]) == -1.0
    assert [float(one) for one in elements[::25]] == [0, 25, 50, 75]


def test_an_element_that_another_thread_moves_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    x = xp.asarray(np.arange(8, dtype="f4"))
    t = x[3]
    read = xp.Array._read

    def written_meanwhile(array: xp.Array) -> Any:
        node = read(array)
        x[3] = 9
        x.compute()
        return node

    monkeypatch.setattr(xp.Array, "_read", written_meanwhile)
    assert float(t) == 3
    monkeypatch.undo()
    assert float(t) == 3
    np.testing.assert_array_equal(x.numpy(), [0, 1, 2, 9, 4, 5, 6, 7])


def test_a_view_of_an_element_that_has_moved() -> None:
    x = xp.asarray(np.arange(8, dtype="f4"))
    t = x[3]
    node = t._node  # as another thread has it
    pending = t * 2
    x[3] = 9
    x.compute()
    assert node is not t._node
    again = xp.Array(graph.reshape(node, (1,)), x._executor)
    np.testing.assert_array_equal(again.numpy(), [3])
    assert float(pending) == 6


def test_reads_that_are_over_are_forgotten() -> None:
    x = xp.zeros(10).compute()
    for _ in range(1000):
        float(x[3])
    assert len(x._cell.reads) <= 64


def test_reads_that_are_still_needed_are_looked_through_seldom() -> None:
    x = xp.asarray(np.arange(500, dtype="f4"))
    elements = []
    rebuilt = 0
    for number in range(500):
        before = Reads.most if x._cell.reads is None else x._cell.reads.most
        elements.append(x[number])
        rebuilt += x._cell.reads.most != before
    assert rebuilt == 3, "at 64, 128 and 256"
    x[...] = -1
    assert [float(element) for element in elements[::100]] == [0, 100, 200, 300, 400]
    assert x.tolist() == [-1] * 500


def test_len_and_iter_of_no_axes_are_type_errors() -> None:
    for function in (len, iter):
        with pytest.raises(RankError) as caught:
            function(xp.zeros(()))
        assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x[3], lambda x: x[0, 0, 0], lambda x: x[:, -4], lambda x: x[[5]], lambda x: x[..., ...],
        lambda x: x[xp.zeros(3, dtype="?")], lambda x: xp.sum(x, axis=2), lambda x: xp.expand_dims(x, axis=5),
        lambda x: x[0.5], lambda x: x["a"], lambda x: xp.take(x, [7], axis=0), lambda x: x[[0, 1], [0, 1, 2]],
        lambda x: x[::0], lambda x: x.__setitem__(7, 0), lambda x: x.item(6), lambda x: x.item(0, 3),
    ],
)  # fmt: skip
def test_wrong_indices_and_axes_are_index_errors(read: Callable[[Any], Any]) -> None:
    with pytest.raises(IndexingError) as caught:
        read(xp.zeros((2, 3)))
    assert isinstance(caught.value, IndexError)
    assert isinstance(caught.value, ValueError)
    assert "test_elements.py" in caught.value.place
    assert caught.value.remedy


BOOLS: list[tuple[tuple[int, ...], str]] = [
    ((3, 4), "x[true]"), ((3, 4), "x[false]"), ((3, 4), "x[None, true]"), ((3, 4), "x[true, None]"),
    ((3, 4), "x[false, 1:]"), ((3, 4), "x[true, [0, 1]]"), ((3, 4), "x[[0, 1], true]"), ((3, 4), "x[:, true]"),
    ((3, 4), "x[..., true]"), ((3, 4), "x[0, true]"), ((3, 4), "x[0, 1, true]"), ((), "x[true]"), ((), "x[false]"),
    ((3, 4), "x[true, false]"), ((3, 4), "x[[0], :, true]"), ((0, 3), "x[true]"),
    ((3,), "x[true, [True, False, True]]"),
]  # fmt: skip


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize(
    "key",
    [
        (None, [0, 1], ..., [1, 2]),
        (None, 0, ..., [1, 2]),
        (None, [0, 1], ..., 2),
        (None, [], ..., []),
        (None, [0, 1], [1, 2], ...),
        (None, ..., [0, 1], [1, 2]),
        ([0, 1], ..., [1, 2]),
        (None, [0, 1], None, ..., [1, 2]),
    ],
)
def test_an_ellipsis_that_stands_for_no_axis_keeps_index_arrays_apart(key: tuple[Any, ...], where: str) -> None:
    host = np.arange(6, dtype=np.float32).reshape(2, 3)
    numpys = tuple(np.array(part, np.int32) if isinstance(part, list) else part for part in key)
    ours = tuple(xp.asarray(part) if where == "device" and isinstance(part, np.ndarray) else part for part in numpys)
    x = xp.asarray(host)
    np.testing.assert_array_equal(x[ours].numpy(), host[numpys])
    x[ours] = host[numpys] + 10
    host[numpys] += 10
    np.testing.assert_array_equal(x.numpy(), host)


@pytest.mark.parametrize("where", ["python", "numpy", "device"])
@pytest.mark.parametrize(("shape", "index"), BOOLS)
def test_single_bools_are_masks_of_no_axes(shape: tuple[int, ...], index: str, where: str) -> None:
    host = np.arange(np.prod(shape), dtype="i4").reshape(shape)
    x = xp.asarray(host.copy())
    makes = {"python": bool, "numpy": np.asarray, "device": xp.asarray}
    made = {"true": makes[where](True), "false": makes[where](False)}
    expected = eval(index, {"x": host, "true": True, "false": False})
    found = eval(index, {"x": x, **made})
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.numpy(), expected)
    exec(f"{index} = 7", {"x": x, **made})
    exec(f"{index} = 7", {"x": host, "true": True, "false": False})
    np.testing.assert_array_equal(x.numpy(), host)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("on_device", [True, False])
def test_masks_with_axes_of_length_0(shape: tuple[int, ...], axes: int, on_device: bool) -> None:
    host = np.zeros(shape, "f4")
    mask = np.ones(shape[:axes], "?")
    x, index = xp.asarray(host), xp.asarray(mask) if on_device else mask
    assert x[index].shape == host[mask].shape
    assert x[index].numpy().shape == host[mask].shape
    x[index] = 3
    np.testing.assert_array_equal(x.numpy(), host)


def test_elements_are_values_however_many_were_read_since() -> None:
    out = xp.asarray(np.arange(10, dtype="f4")).compute()
    first = out[3]
    others = [out[4] + number for number in range(200)]
    xp.compute_into(out, xp.full(10, 2.0))
    assert (float(first), float(others[7]), out.tolist()) == (3.0, 11.0, [2.0] * 10)
