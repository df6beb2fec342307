"""Uploads and downloads of every size, by every way: what goes up comes down, and what does not fit is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from ocl_ir.kernel.accesses import WRITE
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, ShapeError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.execute.memory.storage import Pinned
from tests.support.wrapped import (
    PIECE,
    Wrapped,
    eventually,
    held,
    random_bytes,
    values,
    with_small_ring,
)

LARGE = 3 * 2**20 + 12
"""More than the ring holds."""
SIZES = [1, 2, 3, 255, 256, 257, 65_536, 65_537, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 5 * PIECE - 3, LARGE]

# A wait in the driver cannot be interrupted, only ended with the process.
pytestmark = pytest.mark.timeout(120, method="thread")

Made = Callable[..., tuple[Engine, Wrapped]]


@pytest.fixture
def make(device: Device, engine: Engine) -> Made:
    return partial(with_small_ring, device, engine.settings)


@pytest.fixture(params=["as it is", "staged"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# ---------------------------------------------------------------------- sizes and ways


@pytest.mark.parametrize("snapshot", [True, False])
@pytest.mark.parametrize("pinned", [True, False])
def test_every_size_goes_up_and_down(make: Made, way: str, pinned: bool, snapshot: bool) -> None:
    engine, _ = make(way)
    for nbytes in SIZES:
        host = random_bytes(nbytes, nbytes)
        if pinned:
            host = engine.pinned((nbytes,), host.dtype)
            host[:] = random_bytes(nbytes, nbytes)
        x = engine.upload(host, snapshot=snapshot)
        out = engine.pinned((nbytes,), host.dtype) if pinned else None
        found = engine.download(x, host.dtype, nbytes, out=out).result()
        assert found.dtype == host.dtype
        np.testing.assert_array_equal(found, host, err_msg=str(nbytes))
        assert (found is out) == pinned


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "f2", "f4", "i8", "c8"])
def test_any_shape_and_dtype_is_bytes_in_order(make: Made, way: str, dtype: str) -> None:
    engine, _ = make(way)
    for shape in [(), (1,), (3, 5), (2, 0 + 3, 4), (70_000,)]:
        host = random_bytes(64 * 2**20 // 2**6).view("u1")[: int(np.prod(shape)) * np.dtype(dtype).itemsize]
        host = (host % 2).view(dtype).reshape(shape)
        np.testing.assert_array_equal(
            engine.download(engine.upload(host), host.dtype, host.size).result(), host.reshape(-1)
        )
    turned = np.asfortranarray(np.arange(12, dtype="u4").reshape(3, 4))
    for given in (turned, turned[:, ::2], turned[::-1]):
        np.testing.assert_array_equal(values(engine, engine.upload(given)), given.reshape(-1))


def test_part_of_a_storage_comes_down_and_the_rest_is_left_alone(make: Made, way: str) -> None:
    engine, _ = make(way)
    host = np.arange(LARGE // 4, dtype=np.uint32)
    x = engine.upload(host)
    for first, count in [(0, 1), (7, 3), (1, host.size - 1), (host.size - 1, 1), (1000, PIECE)]:
        out = np.zeros(count + 2, np.uint32)
        coming = engine.download(x, host.dtype, count, first, out=out[1:-1])
        np.testing.assert_array_equal(coming.result(), host[first : first + count])
        assert out[0] == out[-1] == 0


def test_an_upload_touches_its_own_memory_only(make: Made, way: str) -> None:
    engine, _ = make(way)
    before, x, after = (engine.upload(np.full(1000, 7, np.uint8)) for _ in range(3))
    assert before.buffer is x.buffer is after.buffer
    del x
    again = engine.upload(random_bytes(999))
    assert again.start == before.start + 1024
    for one in (before, after):
        assert (values(engine, one, np.uint8) == 7).all()


@pytest.mark.parametrize("staging", [0, 1000, 2**19, 2**20])
def test_a_ring_of_any_size_will_do(make: Made, staging: int) -> None:
    engine, _ = make(staging_bytes=staging)
    for nbytes in (1, 1000, 65_536, 65_537, LARGE):
        host = random_bytes(nbytes, nbytes)
        expected = host.copy()
        x = engine.upload(host)
        host[:] = 0
        np.testing.assert_array_equal(values(engine, x, np.uint8), expected)
    assert engine.memory.staging_pool.counters.peak_reserved <= staging
    assert engine.memory.host_pool.counters.allocations == 0


def test_pinned_memory_of_another_runtime_is_ordinary(make: Made) -> None:
    engine, _ = make()
    other, _ = make()
    host = other.pinned((1000,), np.dtype("u4"))
    host[:] = np.arange(1000)
    x = engine.upload(host, snapshot=False)
    engine.download(x, host.dtype, 1000, out=host).result()
    assert (host == np.arange(1000)).all()
    assert isinstance(host.base, np.ndarray | Pinned)
    ranges = next(iter(other.memory.host_pool.live())).ranges
    assert not any(cell.reads or cell.writes for cell in ranges.cells)


# ---------------------------------------------------------------------- coming down


@pytest.mark.parametrize("nbytes", [1000, LARGE])
def test_a_download_says_when_it_is_done(make: Made, way: str, nbytes: int) -> None:
    engine, _ = make(way)
    host = random_bytes(nbytes)
    x = engine.upload(host)
    engine.finish()
    with held(engine, 0, x.touch(WRITE)):
        coming = engine.download(x, host.dtype, nbytes)
        assert not coming.done()
    assert eventually(coming.done)  # nobody else waits, so asking must be enough to get it started
    waits = engine.streams.counters.host_waits
    found = coming.result()
    assert engine.streams.counters.host_waits == waits
    np.testing.assert_array_equal(found, host)
    assert coming.result() is found


def test_a_result_gives_the_staging_memory_back(make: Made) -> None:
    engine, _ = make()
    x = engine.upload(random_bytes(1000))
    coming = engine.download(x, np.dtype("u1"), 1000)
    engine.finish()
    assert engine.memory.staging_pool.counters.live == 1
    coming.result()
    assert engine.memory.staging_pool.counters.live == 0


@pytest.mark.parametrize("nbytes", [1000, PIECE, LARGE])
def test_a_download_that_nobody_waits_for_harms_nobody(make: Made, way: str, nbytes: int) -> None:
    engine, _ = make(way)
    x = engine.upload(random_bytes(nbytes))
    with held(engine, 0, x.touch(WRITE)):
        for _ in range(20):
            engine.download(x, np.dtype("u1"), nbytes)
        del x
        y = engine.upload(random_bytes(nbytes, 1))
    np.testing.assert_array_equal(values(engine, y, np.uint8), random_bytes(nbytes, 1))
    engine.finish()
    assert engine.memory.staging_pool.counters.live == 0


def test_what_does_not_fit_is_refused(make: Made, way: str) -> None:
    engine, _ = make(way)
    x = engine.upload(np.arange(10, dtype="u4"))
    f4, u4 = np.dtype("f4"), np.dtype("u4")
    for count, offset in [(11, 0), (1, 10), (10, 1), (1, -1), (0, 0), (-1, 3)]:
        with pytest.raises(ShapeError, match=f"elements {offset} to {offset + count} of a storage that has 10"):
            engine.download(x, u4, count, offset)
    for out in (np.empty(9, u4), np.empty(20, u4)[::2], np.empty((5, 2), u4).T, np.empty(11, u4)):
        with pytest.raises(ShapeError, match="download of 10 elements into an array of shape"):
            engine.download(x, u4, 10, out=out)
    fixed = np.empty(10, u4)
    fixed.flags.writeable = False
    with pytest.raises(ShapeError, match="writable"):
        engine.download(x, u4, 10, out=fixed)
    with pytest.raises(DTypeError, match="download of uint32 into an array of float32"):
        engine.download(x, u4, 10, out=np.empty(10, f4))
    with pytest.raises(DTypeError, match="Python's objects"):
        engine.upload(np.array([object()]))
    with pytest.raises(ShapeError, match="memory of 0 bytes"):
        engine.upload(np.empty(0, u4))
    np.testing.assert_array_equal(engine.download(x, u4, 10, out=np.empty((2, 5), u4)).result().reshape(-1), range(10))
