"""What is copied, or comes out of a function as it went in, has memory of its own as soon as that is written into."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
import ocl_runtime.numpy as xnp
from ocl_ir.graph.build import Buffer
from ocl_runtime.arrays.core import ArrayCore
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, Error, ShapeError, SharingError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import counting


def whole(x: Any) -> Any:
    y = ocl.zeros(8, dtype="f4")
    y[...] = x
    return y


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": lambda x: x.copy(),
    "positive": lambda x: +x,
    "asarray": lambda x: ocl.asarray(x, copy=True),
    "astype": lambda x: x.astype(x.dtype),
    "reshape": lambda x: ocl.reshape(x, (4, 2), copy=True),
    "of a view": lambda x: x[2:6].copy(),
    "of a copy, which is gone": lambda x: x.copy()[1:].copy(),
    "written before": lambda x: written(x.copy()),
    "written as a whole": whole,
    "built on a copy": lambda x: x.copy() * 2,
    "transposed": lambda x: ocl.reshape(ocl.reshape(x, (2, 4)).T, (8,), copy=True),
}


def written(x: Any) -> Any:
    x[0] = 100.0
    return x


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


@pytest.mark.parametrize("copy_is_written", [False, True], ids=["into what was copied", "into the copy"])
@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_what_is_written_into_does_not_show_in_copies(
    runtime: Runtime, copied: Callable[[Any], Any], copy_is_written: bool
) -> None:
    x = ocl.asarray(np.arange(8, dtype="f4"))
    y = copied(x)
    out, other = (y.compute(), x) if copy_is_written else (x, y)
    before, view = other.numpy().copy() if copy_is_written else copied(np_like(x)), out[1:3]
    ocl.compute_into(out, ocl.full(out.shape, 7.0, dtype="f4"))
    assert out.numpy().tolist() == np.full(out.shape, 7.0).tolist()
    assert np.asarray(other).tolist() == np.asarray(before).tolist()
    assert view.numpy().ravel()[0] == 7.0


def np_like(x: Any) -> Any:
    """The same elements in memory that nobody else has."""
    return ocl.asarray(x.numpy())


def test_a_view_of_what_was_copied_is_written_into(runtime: Runtime) -> None:
    for _ in range(3):
        x = ocl.asarray(np.arange(8, dtype="f4"))
        view = x[2:6]
        copied, twice, element = view.copy(), view * 2, x[3]
        ocl.compute_into(view, ocl.full(4, 7.0, dtype="f4"))
        assert x.numpy().tolist() == [0, 1, 7, 7, 7, 7, 6, 7]
        assert (copied.numpy().tolist(), twice.numpy().tolist()) == ([2, 3, 4, 5], [4, 6, 8, 10])
        assert float(element) == 3.0


def test_copies_of_copies(runtime: Runtime) -> None:
    x = ocl.asarray(np.arange(8, dtype="f4"))
    copies = [x.copy()]
    for _ in range(200):  # most of which are gone
        copies[1:] = [copies[-1].copy()]
        gc.collect(0)
    first, last = copies
    ocl.compute_into(first, x + 1)
    ocl.compute_into(last, x + 2)
    for array, more in ((x, 0), (first, 1), (last, 2)):
        assert array.numpy().tolist() == [number + more for number in range(8)]


def test_a_copy_shares_memory_until_it_is_written(runtime: Runtime) -> None:
    x, z = (ocl.asarray(np.arange(1 << 16, dtype="f4")) for _ in range(2))
    with counting(runtime) as counted:
        y = x.copy()
        y.compute()
    assert (counted["launch", "launches"], counted["memory", "allocations"]) == (0, 0)
    with counting(runtime) as counted:
        ocl.compute_into(x, z + 1)
    assert (counted["launch", "launches"], counted["memory", "allocations"]) == (1, 1)
    with counting(runtime) as counted:
        ocl.compute_into(x, z + 2)
        ocl.compute_into(y, z + 3)
    assert (counted["launch", "launches"], counted["memory", "allocations"]) == (2, 0)
    assert (float(x[0]), float(y[0])) == (2.0, 3.0)


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", ["i4", "f4", "u1"])
def test_no_function_gives_an_operand_back_as_its_result(runtime: Runtime, dtype: str) -> None:
    checked = 0
    for library in (ocl, xnp):
        for name in sorted(set(library.__all__) - CHANGING):
            function = getattr(library, name)
            if isinstance(function, type) or not callable(function):
                continue
            for args in ((), (1,), (dtype,), (None, None)):
                checked += is_apart(function, dtype, args)
    assert checked > 15


CHANGING = {"use", "set_default", "current", "stream", "capture", "compute_into"}
"""Functions that change more than their operands, or are to write into one."""


def is_apart(function: Callable[..., Any], dtype: str, args: tuple[Any, ...]) -> bool:
    """Whether a function gives an array over the memory of its operand without being a view; that it is apart once
    that memory is written into is checked."""
    x = ocl.asarray(np.arange(8).reshape(4, 2).astype(dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            y = function(x, *args)
        except Exception:  # noqa: BLE001
            return False
    if not isinstance(y, ocl.Array) or y._cell is x._cell:
        return False
    node = y._node
    if not isinstance(node, Buffer) or node.storage is not x._node.storage:
        return False
    before = y.numpy().copy()
    ocl.compute_into(x, ocl.full((4, 2), 3, dtype=dtype))
    assert np.array_equal(y.numpy(), before), (function, dtype, args)
    return True


def test_what_a_captured_function_computes_into(runtime: Runtime) -> None:
    @ocl.capture
    def doubled(x: Any) -> Any:
        ocl.compute_into(x, x[::-1] * 2)
        return x + 0

    for _ in range(3):
        x = ocl.asarray(np.arange(8, dtype="f4"))
        copied, element, later = x.copy(), x[5], x + 1
        after = doubled(x)
        assert after.numpy().tolist() == x.numpy().tolist() == [2.0 * number for number in range(7, -1, -1)]
        assert copied.numpy().tolist() == list(range(8))
        assert (float(element), later.numpy().tolist()) == (5.0, list(range(1, 9)))


def test_an_array_is_computed_into_itself_in_place(runtime: Runtime) -> None:
    host = np.arange(1 << 12, dtype="f4").reshape(64, 64)
    x, rows = ocl.asarray(host), ocl.asarray(np.concatenate([host, host]))
    with counting(runtime) as counted:
        ocl.compute_into(x, ocl.sin(x) * 2 + x)
    assert (counted["launch", "launches"], counted["memory", "allocations"]) == (1, 0)
    expected = (ocl.sin(ocl.asarray(host)) * 2 + host).numpy()
    assert np.array_equal(x.numpy(), expected)
    for turn in range(1, 20):  # by a function that is written for it, too
        ocl.compute_into(x, x * 0 + turn)
        assert np.array_equal(x.numpy(), np.full_like(host, turn))
    for moved in (lambda x: x[::-1] + x, lambda x: x.T * 2, lambda x: x + ocl.sum(x, axis=0), lambda x: x @ x):
        x, y = ocl.asarray(host), ocl.asarray(host.copy())
        ocl.compute_into(x, moved(x))
        assert np.array_equal(x.numpy(), moved(y).numpy())
    ocl.compute_into(rows[:64], rows[:64] + 1)  # of which the rest has to stay
    assert np.array_equal(rows.numpy(), np.concatenate([host + 1, host]))


VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x,
    "a slice": lambda x: x[1:3],
    "reversed": lambda x: x[::-1],
    "every other column": lambda x: x[:, ::2],
    "transposed": lambda x: x.T,
    "a row": lambda x: x[2],
}
HELD: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda x: None,
    "a copy": lambda x: x.copy(),
    "an expression": lambda x: x + 0,
    "an element": lambda x: x[2, 3],
    "another view": lambda x: x[1:],
}


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("way", ["written", "computed into"])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_captured_function_writes_into_views_of_what_others_need(
    runtime: Runtime, view: Callable[[Any], Any], way: str, held: str
) -> None:
    @ocl.capture
    def double(x: Any) -> Any:
        if way == "written":
            x *= 2
        else:
            ocl.compute_into(x, x * 2)
        return ocl.sum(x)

    for turn in range(3):
        host = np.arange(24, dtype="f4").reshape(4, 6) + turn
        x = ocl.asarray(host).compute()
        other = HELD[held](x)
        expected, before = host.copy(), host.copy()
        view(expected)[...] *= 2
        assert float(double(view(x))) == view(expected).sum()
        np.testing.assert_array_equal(x.numpy(), expected)
        if held == "another view":
            np.testing.assert_array_equal(other.numpy(), expected[1:])
        elif held == "an element":
            assert float(other) == before[2, 3]
        elif other is not None:
            np.testing.assert_array_equal(other.numpy(), before)


@pytest.mark.parametrize("captured", [False, True], ids=["called", "captured"])
@pytest.mark.parametrize("computed", [False, True], ids=["not computed", "computed"])
@pytest.mark.parametrize("way", ["written", "computed into"])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_what_is_written_into_a_view_of_an_expression_is_written_into_that(
    runtime: Runtime, view: Callable[[Any], Any], way: str, computed: bool, captured: bool
) -> None:
    """Also where the view has been computed, and the expression has not."""

    def double(x: Any) -> Any:
        if way == "written":
            x *= 2
        else:
            ocl.compute_into(x, x * 2)
        return ocl.sum(x)

    host = np.arange(24, dtype="f4").reshape(4, 6)
    x = ocl.asarray(host) + 1
    seen, other = view(x), x.T
    expected = host + 1
    view(expected)[...] *= 2
    if computed:
        seen.compute()
    elif way == "computed into" and not captured:
        seen = view(x.compute())
    assert float((ocl.capture(double) if captured else double)(seen)) == view(expected).sum()
    np.testing.assert_array_equal(other.numpy(), expected.T)
    np.testing.assert_array_equal(x.numpy(), expected)
    np.testing.assert_array_equal(seen.numpy(), view(expected))


@ocl.capture
def captured_write(x: Any, value: Any) -> None:
    x[...] = value


@ocl.capture
def captured_add(x: Any, value: Any) -> None:
    x += value


@ocl.capture
def captured_compute_into(x: Any, value: Any) -> None:
    ocl.compute_into(x, value)


REPEATED: dict[str, Callable[[], Any]] = {
    "written with a number": lambda: of_row(np.array(0, "f4")),
    "written with a row": lambda: of_row(np.zeros(3, "f4")),
    "backwards": lambda: of_row(np.zeros(3, "f4"))[::-1],
    "a copy of what was broadcast": lambda: ocl.broadcast_to(ocl.asarray(np.zeros(3, "f4")), (2, 3)).copy().compute(),
}
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "captured write": captured_write,
    "captured +=": captured_add,
    "captured compute_into": captured_compute_into,
    "compute_into": ocl.compute_into,
}


def of_row(row: np.ndarray) -> Any:
    x = ocl.asarray(np.ones((2, 3), "f4"))
    x[...] = ocl.asarray(row)
    return x.compute()


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("made", REPEATED.values(), ids=REPEATED)
def test_what_repeats_a_row_gets_memory_for_each_element(
    runtime: Runtime, made: Callable[[], Any], write: Callable[[Any, Any], Any]
) -> None:
    """It shares the memory of the row until it is written."""
    host = np.arange(6, dtype="f4").reshape(2, 3)
    for _ in range(2):
        x = made()
        write(x, ocl.asarray(host))
        assert x.numpy().tolist() == host.tolist()


@pytest.mark.parametrize("write", [captured_write, captured_add, captured_compute_into, ocl.compute_into])
def test_what_was_broadcast_is_not_written(runtime: Runtime, write: Callable[[Any, Any], Any]) -> None:
    row, host = ocl.asarray(np.zeros(3, "f4")), np.ones((2, 3), "f4")
    with pytest.raises(ShapeError, match=r"shape \(2, 3\) of an array that was broadcast"):
        write(ocl.broadcast_to(row, (2, 3)), ocl.asarray(host))
    assert row.numpy().tolist() == [0, 0, 0]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_nobody_writes_into_an_element(runtime: Runtime, write: Callable[[Any, Any], Any]) -> None:
    x = ocl.asarray(np.arange(3, dtype="f4")).compute()
    element = x[1]
    with pytest.raises(DTypeError, match="an element that was read with integers"):
        (captured_write if write is ocl.compute_into else write)(element, ocl.asarray(np.float32(9)))
    assert (float(element), x.tolist()) == (1.0, [0.0, 1.0, 2.0])


@pytest.mark.parametrize("write", [captured_add, captured_compute_into])
def test_a_copy_is_an_argument_of_its_own(runtime: Runtime, write: Callable[[Any, Any], Any]) -> None:
    """Though it shares the other one's memory until one of them is written."""
    host = np.arange(8, dtype="f4")
    for part, other in ((slice(None), slice(None)), (slice(4), slice(2, 6))):
        for _ in range(2):
            x = ocl.asarray(host)
            copied = x.copy()
            write(x[part], copied[other])
            expected = host.copy()
            expected[part] = host[part] + host[other] if write is captured_add else host[other]
            assert x.numpy().tolist() == expected.tolist()
            assert copied.numpy().tolist() == host.tolist()


@pytest.mark.parametrize("needed", [True, False], ids=["others need it", "nobody needs it"])
def test_what_others_need_of_memory_that_is_lent_stays(runtime: Runtime, needed: bool) -> None:
    """An array is lent as it is where nobody else needs its memory; copies of what was lent have their own."""
    x = ocl.asarray(np.arange(4, dtype="f4")).compute()
    before = [x.copy(), x.copy()[1:], x.copy()[2], (x.copy() + 0)[2], x + 1] if needed else []
    row = ocl.zeros((2, 4), dtype="f4").compute()
    if needed:
        row[...] = x
        row.compute()
    with counting(runtime) as counted:
        theirs = x.to_pyopencl()
    assert (counted["memory", "allocations"] > 0) == needed
    behind, rows = x.copy(), ocl.zeros((2, 4), dtype="f4")
    rows[...] = x
    rows.compute()
    theirs.fill(9)
    assert x.tolist() == [9, 9, 9, 9]
    assert behind.tolist() == [0, 1, 2, 3]
    assert rows.tolist() == [[0, 1, 2, 3], [0, 1, 2, 3]]
    if needed:
        assert [y.tolist() for y in before] == [[0, 1, 2, 3], [1, 2, 3], 2, 2, [1, 2, 3, 4]]
        assert row.tolist() == [[0, 1, 2, 3], [0, 1, 2, 3]]
    for y in (behind, *before[:1]):
        ocl.compute_into(y, ocl.full(4, 5, dtype="f4"))
        captured_compute_into(y, ocl.full(4, 6, dtype="f4"))
        assert (x.tolist(), y.tolist()) == ([9, 9, 9, 9], [6, 6, 6, 6])
    for y in (rows, row):
        ocl.compute_into(y, ocl.full((2, 4), 5, dtype="f4"))
    ocl.compute_into(x, ocl.full(4, 8, dtype="f4"))  # which PyOpenCL sees
    assert theirs.get().tolist() == [8, 8, 8, 8]


@pytest.mark.parametrize(
    "copied",
    [
        *COPIES.values(),
        ocl.Array.flatten,
        lambda x: ocl.concat([x]),
        lambda x: ocl.concat([x, ocl.zeros(0, dtype="f4")]),
        lambda x: ocl.stack([x]),
        ocl.clip,
        xnp.array,
    ],
)
def test_copies_of_what_is_lent_have_memory_of_their_own(runtime: Runtime, copied: Callable[[Any], Any]) -> None:
    x = ocl.asarray(np.arange(8, dtype="f4")).compute()
    theirs = x.to_pyopencl()
    y = copied(x).compute()
    values = y.tolist()
    theirs.fill(9)
    assert (y.tolist(), x.tolist()) == (values, [9] * 8)
    for write in (ocl.compute_into, captured_compute_into):
        write(y, ocl.full(y.shape, 5, dtype="f4"))
        assert (y.numpy().min(), y.numpy().max(), theirs.get().tolist()) == (5, 5, [9] * 8)


def test_arrays_over_memory_that_pyopencl_has_stay_together(runtime: Runtime) -> None:
    """As arguments of a captured function that writes into one of them, whatever empty arrays it gets besides."""
    x = ocl.asarray(np.arange(4, dtype="f4")).compute()
    theirs = x.to_pyopencl()
    traced = []

    @ocl.capture
    def added(a: Any, b: Any, *empty: Any) -> None:
        traced.append(1)
        a[...] = a + b

    for other in (ocl.from_pyopencl(theirs), x[:]):
        with pytest.raises(Error, match="shares memory with another one"):
            added(x, other, ocl.zeros(0), ocl.zeros(0))
    theirs.fill(9)
    assert x.tolist() == [9] * 4
    traced.clear()
    for _ in range(3):
        y = ocl.asarray(np.arange(4, dtype="f4")).compute()
        added(y, y.copy())
        assert y.tolist() == [0, 2, 4, 6]
    assert len(traced) == 2  # once to find out that it writes what is shared, once with memory for each


def test_memory_that_another_thread_lends_meanwhile_stays(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    x = ocl.asarray(np.arange(4, dtype="f4")).compute()
    copied, own = x.copy(), ArrayCore._own
    lent = []

    def lent_meanwhile(self: ArrayCore, **how: Any) -> None:
        nonlocal copied
        monkeypatch.setattr(ArrayCore, "_own", own)
        copied = None  # so that another thread needs no copy
        lent.append(x.to_pyopencl())
        own(self, **how)

    monkeypatch.setattr(ArrayCore, "_own", lent_meanwhile)
    theirs = x.to_pyopencl()
    lent[0].fill(5)
    assert x.tolist() == theirs.get().tolist() == [5] * 4


def test_nobody_writes_into_an_element_that_is_lent(runtime: Runtime) -> None:
    x = ocl.asarray(np.array(3, "f4")).compute()
    theirs = x.to_pyopencl()
    with pytest.raises(DTypeError, match="an element that was read with integers"):
        captured_compute_into(x[()], ocl.asarray(np.float32(9)))
    assert (float(x), theirs.get()) == (3, 3)


def test_lending_what_repeats_a_row_keeps_what_another_thread_writes(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets memory for each element; a write that comes in between is not lost."""
    x = of_row(np.zeros(3, "f4"))
    copied = ArrayCore._computed

    def written_meanwhile(self: ArrayCore) -> Buffer:
        result = copied(self)
        monkeypatch.setattr(ArrayCore, "_computed", copied)
        x[0, 0] = 7.0
        return result

    monkeypatch.setattr(ArrayCore, "_computed", written_meanwhile)
    theirs = x.to_pyopencl()
    assert x.tolist() == theirs.get().tolist() == [[7, 0, 0], [0, 0, 0]]


def test_compute_into_leaves_what_was_built_on_memory_that_numpy_looks_at(runtime: Runtime) -> None:
    x = ocl.asarray(np.arange(4, dtype="f4"))
    try:
        seen = np.asarray(x, copy=False)
    except SharingError:
        pytest.skip("the device has memory of its own")
    y = x + 0.5
    ocl.compute_into(x, x * 10)
    assert x.numpy().tolist() == [0, 10, 20, 30]
    assert y.numpy().tolist() == [0.5, 1.5, 2.5, 3.5]
    assert seen.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("made", REPEATED.values(), ids=REPEATED)
def test_what_repeats_a_row_is_lent_with_memory_for_each_element(runtime: Runtime, made: Callable[[], Any]) -> None:
    """What PyOpenCL writes into one element shows in that one."""
    x = made()
    lent = x.to_pyopencl()
    host = np.arange(6, dtype="f4").reshape(2, 3)
    lent.set(host) if lent.flags.c_contiguous else lent[::-1].set(host[::-1].copy())
    assert x.numpy().tolist() == host.tolist()


def test_what_was_broadcast_is_lent_as_it_is(runtime: Runtime) -> None:
    assert ocl.broadcast_to(ocl.asarray(np.zeros(3, "f4")), (2, 3)).to_pyopencl().strides == (0, 4)
