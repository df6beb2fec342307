"""Arrays and NumPy, and whoever else speaks DLPack on the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.errors import DTypeError, MixedDevicesError, SharingError
from ocl_runtime.execute.engine import Engine
from ocl_runtime.runtime import Runtime
from tests.support.arrays import COPIES_ARE_WRITABLE, DTYPES, assert_same, counting, has

HOST = np.arange(24, dtype="f4").reshape(4, 6)
LAYOUTS = {
    "whole": np.s_[:],
    "a part": np.s_[1:3, 2:5],
    "columns": np.s_[:, ::3],
    "backwards": np.s_[::-1, ::-2],
    "one": np.s_[2, 3],
    "a new axis": np.s_[1, None, 2:],
    "nothing": np.s_[2:2],
}


class Exporter:
    """What offers DLPack and nothing else, of a NumPy array, and remembers what it was asked."""

    def __init__(self, host: np.ndarray, device: tuple[int, int] = (1, 0), to_host: bool = True) -> None:
        self.host = host
        self.device = device
        self.to_host = to_host
        self.asked: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **asked: Any) -> Any:
        self.asked.append(asked)
        if self.device != (1, 0) and not (self.to_host and asked.get("dl_device") == (1, 0)):
            raise BufferError("only where it is")
        return self.host.__dlpack__(max_version=asked.get("max_version"))


class Asking:
    """Who takes an array and asks for it in another way than NumPy does."""

    def __init__(self, x: ocl.Array, **asked: Any) -> None:
        self.x = x
        self.asked = asked

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.x.__dlpack_device__()

    def __dlpack__(self, **asked: Any) -> Any:
        return self.x.__dlpack__(**self.asked)


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    with ocl.use(Runtime(device, engine.settings)) as runtime:
        assert isinstance(runtime, Runtime)
        yield runtime


@pytest.fixture
def apart(device: Device, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    """As on a device with memory of its own."""
    with ocl.use(Runtime(device, engine.settings)) as runtime:
        assert isinstance(runtime, Runtime)
        monkeypatch.setattr(runtime.executor.engine.transfers, "_shared", False)
        yield runtime


# ---------------------------------------------------------------------- out


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_everything_goes_out_and_in(runtime: Runtime, dtype: str, layout: str) -> None:
    if not has(runtime, dtype):
        pytest.skip(f"the device has no {dtype}")
    host = HOST.astype(dtype)
    x, expected = ocl.asarray(host)[LAYOUTS[layout]], np.asarray(host[LAYOUTS[layout]])
    for version in (None, (0, 8), (1, 0), (1, 1)):
        for copy in (None, True):
            assert_same(np.from_dlpack(Asking(x, max_version=version, copy=copy)), expected)
    assert_same(ocl.from_dlpack(Exporter(expected)).numpy(), expected)
    assert_same(np.asarray(x), expected)


def test_shared_memory_is_given_in_place_and_read_only(runtime: Runtime) -> None:
    if not runtime.device.capabilities.unified_memory:
        pytest.skip("the device has memory of its own")
    x = (ocl.asarray(HOST) + 1).compute()
    with counting(runtime) as counted:
        seen = np.from_dlpack(x)
        assert np.shares_memory(seen, np.asarray(x, copy=False))
        assert np.shares_memory(seen, np.from_dlpack(x[1:3, ::2], copy=False))
        assert np.shares_memory(seen, np.from_dlpack(x[::-1], copy=False))
    assert counted["memory", "allocations"] == 0
    assert not seen.flags.writeable
    assert_same(seen, HOST + 1)
    copied = np.from_dlpack(x, copy=True)
    assert copied.flags.writeable == COPIES_ARE_WRITABLE
    assert not np.shares_memory(copied, seen)
    assert (
        np.from_dlpack(x[::-1]).flags.writeable == COPIES_ARE_WRITABLE
    )  # a copy, since others take no negative strides
    assert np.from_dlpack(x[2:2], copy=False).shape == (0, 6)
    del x
    others = [(ocl.asarray(HOST) * number).compute() for number in range(20)]
    assert_same(seen, HOST + 1)  # the memory was not used again
    assert len(others) == 20


def test_who_cannot_be_told_that_it_is_read_only_gets_a_copy(runtime: Runtime) -> None:
    x = ocl.asarray(HOST)
    for version in (None, (0, 9)):
        taken = np.from_dlpack(Asking(x, max_version=version))
        assert_same(taken, HOST)
        assert not np.shares_memory(taken, np.from_dlpack(x))
    for version in (None, (0, 9)):
        with pytest.raises(BufferError, match="cannot be told"):
            x.__dlpack__(max_version=version, copy=False)


def test_memory_of_the_device_alone_is_copied(apart: Runtime) -> None:
    x = ocl.asarray(HOST)
    taken = np.from_dlpack(x)
    assert taken.flags.writeable == COPIES_ARE_WRITABLE
    assert_same(taken, HOST)
    with pytest.raises(BufferError, match="cannot be had without a copy"):
        np.from_dlpack(x, copy=False)
    with pytest.raises(ValueError, match="cannot be had without a copy"):
        np.asarray(x, copy=False)


def test_what_dlpack_is_not_given(runtime: Runtime) -> None:
    x = ocl.asarray(HOST)
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="stream 1"):
        x.__dlpack__(stream=1)
    with pytest.raises(BufferError, match=r"device \(2, 0\)"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(SharingError, match="to_pyopencl"):
        x.__dlpack__(dl_device=(4, 0))
    assert_same(np.from_dlpack(x, device="cpu"), HOST)


def test_numpys_protocol(runtime: Runtime) -> None:
    x = ocl.asarray(HOST)
    for dtype in (np.float64, "f8", np.dtype("f8")):
        assert_same(x.__array__(dtype), HOST.astype("f8"))
        with pytest.raises(ValueError, match="cannot be had without a copy as float64"):
            x.__array__(dtype, copy=False)
    first, second = x.__array__(copy=True), x.__array__(np.float32)
    assert first.flags.writeable
    assert second.flags.writeable
    assert not np.shares_memory(first, second)
    if runtime.device.capabilities.unified_memory:
        for dtype in (None, np.float32, "float32", np.dtype("f4")):
            assert_same(x.__array__(dtype, copy=False), HOST)
    for none in (x[4:], ocl.asarray(HOST[:0]), ocl.zeros((0, 6))):
        empty = none.__array__(copy=False)
        assert (empty.shape, empty.flags.writeable) == ((0, 6), False)


# ---------------------------------------------------------------------- in


def test_memory_of_the_host_is_uploaded_once(runtime: Runtime) -> None:
    given = Exporter(HOST)
    with counting(runtime) as counted:
        x = ocl.from_dlpack(given)
    assert counted["memory", "allocations"] == 1
    assert len(given.asked) == 1
    given.host = HOST + 1
    assert_same(x.numpy(), HOST)
    fixed = HOST.copy()
    fixed.flags.writeable = False
    assert_same(ocl.from_dlpack(fixed).numpy(), HOST)
    with pytest.raises(BufferError, match="from_dlpack copies"):
        ocl.from_dlpack(given, copy=False)


def test_an_array_is_itself(runtime: Runtime, device: Device, engine: Engine) -> None:
    x = ocl.asarray(HOST) * 2
    assert ocl.from_dlpack(x) is ocl.from_dlpack(x, copy=False) is x
    copied = ocl.from_dlpack(x, copy=True)
    ocl.compute_into(copied, copied + 1)
    assert_same(x.numpy(), HOST * 2)
    assert_same(copied.numpy(), HOST * 2 + 1)
    with ocl.use(Runtime(device, engine.settings)) as other:
        moved = ocl.from_dlpack(x)
        assert moved._executor is other.executor
        assert_same(moved.numpy(), HOST * 2)
        with pytest.raises(BufferError, match="from_dlpack copies"):
            ocl.from_dlpack(x, copy=False)
    with pytest.raises(MixedDevicesError):
        ocl.from_dlpack(HOST, device="another")


def test_other_devices_are_asked_for_a_copy_on_the_host(runtime: Runtime) -> None:
    for kind in (2, 4):
        given = Exporter(HOST, (kind, 0))
        assert_same(ocl.from_dlpack(given).numpy(), HOST)
        assert given.asked[-1]["dl_device"] == (1, 0)
        with pytest.raises(SharingError, match=f"device {kind} does not give its values: only where it is") as caught:
            ocl.from_dlpack(Exporter(HOST, (kind, 0), to_host=False))
        assert ("from_pyopencl" in caught.value.remedy) == (kind == 4)


def test_what_has_no_values_for_a_device(runtime: Runtime) -> None:
    with pytest.raises(DTypeError, match="offers no DLPack"):
        ocl.from_dlpack([1, 2])
    with pytest.raises(ValueError, match="asarray always copies"):
        ocl.asarray(HOST, copy=False)
