"""Arrays on streams: uploads that begin, downloads that come, pinned host arrays, and the order between streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, SettingError, ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same, counting

HOST = np.arange(5000, dtype="f4").reshape(50, 100)


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, replace(engine.settings, streams=4))
    with ocl.use(runtime):
        yield runtime


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f4"])
@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (7, 11), (300, 1000)])
def test_up_and_down(runtime: Runtime, shape: tuple[int, ...], dtype: str) -> None:
    host = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    coming = ocl.download(ocl.upload(host))
    assert_same(coming.result(), host)
    assert coming.done()


def test_views_and_expressions_come_down_as_they_are(runtime: Runtime) -> None:
    x = ocl.upload(HOST)
    for name, given, expected in [
        ("a view", x[::2, 5:90:3], HOST[::2, 5:90:3]),
        ("transposed", x.T, HOST.T),
        ("broadcast", ocl.broadcast_to(x[0], (3, 100)), np.broadcast_to(HOST[0], (3, 100))),
        ("an expression", x * 2 + x[1], HOST * 2 + HOST[1]),
        ("of what NumPy holds with gaps", ocl.upload(HOST[:, ::2]), HOST[:, ::2]),
    ]:
        np.testing.assert_array_equal(ocl.download(given).result(), expected, err_msg=name)


def test_pinned_arrays_are_arrays(runtime: Runtime) -> None:
    host, back = (ocl.pinned_empty((50, 100), dtype=np.float32) for _ in range(2))
    host[:] = HOST
    coming = ocl.download(ocl.upload(host) + 1, out=back)
    assert coming.result().base is not None
    assert_same(back, HOST + 1)
    assert_same(ocl.asarray(host[3:5]).numpy(), HOST[3:5])
    assert ocl.pinned_empty(7).dtype == np.float32
    assert ocl.pinned_empty((0, 3), dtype="i4").shape == (0, 3)
    del host, back, coming
    runtime.finish()
    runtime.executor.engine.memory.host_pool.trim()
    assert runtime.statistics()["pinned"]["in_use"] == 0


def test_nothing_waits_until_a_value_is_asked_for(runtime: Runtime) -> None:
    with counting(runtime) as counted:
        x = ocl.upload(HOST)
        with ocl.stream(1):
            y = (x * 2).compute()
        with ocl.stream(2):
            z = ocl.download(y + x)
    assert counted["stream", "host_waits"] == 0
    assert counted["stream", "waits"] >= 2
    assert_same(z.result(), HOST * 3)


def test_streams_are_ordered_by_data_alone(runtime: Runtime) -> None:
    with ocl.stream(0):
        x = ocl.asarray(HOST)
    runtime.finish()
    with counting(runtime) as apart:
        with ocl.stream(1):
            one = (x + 1).compute()
        with ocl.stream(2):
            two = (x + 2).compute()
    assert apart["stream", "waits"] == 0  # x was there already, and nobody writes it
    with counting(runtime) as joined, ocl.stream(3):
        three = (one * two).compute()
    assert joined["stream", "waits"] == 2
    assert_same(three.numpy(), (HOST + 1) * (HOST + 2))


def test_parts_of_an_array_are_independent(runtime: Runtime) -> None:
    """Disjoint columns and rows of one allocation are computed from without a wait; what overlaps has one."""
    with ocl.stream(0):
        x = (ocl.asarray(HOST) * 1).compute()
    runtime.finish()
    with counting(runtime) as counted:
        for number in range(4):
            with ocl.stream(number):
                (x[:, number::4] * 2).compute()
    assert counted["stream", "waits"] == 0


def test_streams_are_numbered_from_zero(runtime: Runtime) -> None:
    for number in (-1, 1.5, "one", True):
        with pytest.raises(SettingError, match="is no stream"), ocl.stream(number):  # type: ignore[arg-type]
            pass
    with ocl.stream(1):
        with ocl.stream(1 + 4):
            assert runtime.executor.engine.streams.current().index == 1
        with ocl.stream(2):
            assert runtime.executor.engine.streams.current().index == 2
        assert runtime.executor.engine.streams.current().index == 1


def test_what_cannot_be_moved(runtime: Runtime) -> None:
    x = ocl.upload(HOST)
    with pytest.raises(DTypeError, match="upload of a list"):
        ocl.upload([1, 2])  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="download of float32 into float64"):
        ocl.download(x, out=np.empty((50, 100)))
    with pytest.raises(DTypeError, match="into list"):
        ocl.download(x, out=[])  # type: ignore[arg-type]
    fixed = np.empty((50, 100), "f4")
    fixed.flags.writeable = False
    for out in (np.empty((50, 99), "f4"), np.empty((100, 50), "f4").T, fixed):
        with pytest.raises(ShapeError, match=r"download of shape \(50, 100\) into an array") as caught:
            ocl.download(x, out=out)
        assert "test_async_arrays.py:" in caught.value.place


def test_many_views_in_place_of_parts_of_one_array(runtime: Runtime) -> None:
    """A driver that unmaps only some of them ended the process: of maps that begin at one byte and differ in size."""
    if not runtime.device.capabilities.unified_memory:
        pytest.skip("the device has memory of its own")
    random, views = np.random.default_rng(0), list[tuple[np.ndarray, list[int]]]()
    arrays = [ocl.asarray(np.arange(4, dtype="i4") + 4 * number).compute() for number in range(20)]
    parts = [slice(None), slice(1, None), slice(None, 2), slice(None, None, 2), slice(None, None, -1)]
    for _ in range(3000):
        number, part = int(random.integers(20)), parts[random.integers(5)]
        views.append((np.asarray(arrays[number][part], copy=False), list(range(4 * number, 4 * number + 4))[part]))
        if random.random() < 0.2:
            view, values = views.pop(int(random.integers(len(views))))
            assert view.tolist() == values
        if random.random() < 0.1:
            views.clear()


def test_shared_memory_is_read_in_place(runtime: Runtime) -> None:
    """Without a copy, read-only, and for as long as the view lives; elsewhere it is an error."""
    x = (ocl.asarray(HOST) + 1).compute()
    if not runtime.device.capabilities.unified_memory:
        with pytest.raises(ocl.Error, match="cannot be had without a copy"):
            np.asarray(x, copy=False)
        return
    with counting(runtime) as counted:
        seen = np.asarray(x, copy=False)
        part = np.asarray(x[3:9, ::-2], copy=False)
    assert counted["memory", "allocations"] == 0
    assert_same(seen, HOST + 1)
    assert_same(part, (HOST + 1)[3:9, ::-2])
    assert np.shares_memory(seen, part)
    with pytest.raises(ValueError, match="read-only"):
        seen[0] = 0
    del x
    others = [(ocl.asarray(HOST) * number).compute() for number in range(20)]  # the memory must not be used again
    assert_same(seen, HOST + 1)
    del seen, part, others
    with pytest.raises(ocl.Error, match="cannot be had without a copy"):
        (ocl.asarray(HOST) + 1).__array__(np.float64, copy=False)


def test_a_view_with_gaps_comes_from_its_own_runtime(device: Device, engine: Engine) -> None:
    """Whichever is in use."""
    host = np.arange(20, dtype="f4").reshape(4, 5)
    with ocl.use(Runtime(device, engine.settings)):
        x = ocl.asarray(host)
    with ocl.use(Runtime(device, engine.settings)):
        assert_same(ocl.download(x[:, ::2]).result(), host[:, ::2])
        assert_same(ocl.download(x.T).result(), host.T)
