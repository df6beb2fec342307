"""Host to device and back. Both wait: streams and pinned staging are to come."""

from __future__ import annotations

from typing import Any

import numpy as np

from ocl_runtime.device import Device
from ocl_runtime.errors import LaunchError, ShapeError
from ocl_runtime.execute import driver
from ocl_runtime.execute.storage import Storage


def upload(queue: driver.Queue, storage: Storage, source: np.ndarray[Any, Any], device: Device) -> None:
    """Copies a host array, in C order, to the start of the storage."""
    if source.nbytes:
        try:
            driver.write(queue, storage.handle, np.ascontiguousarray(source))
        except driver.Error as error:
            raise _failed(f"{source.nbytes:,} bytes could not be copied to {device}", error) from error


def download(
    queue: driver.Queue, storage: Storage, dtype: np.dtype[Any], count: int, offset: int, device: Device
) -> np.ndarray[Any, Any]:
    """`count` elements from element `offset` on, as a new 1-D host array. Raises `ShapeError` if not there."""
    if offset < 0 or count < 0 or (offset + count) * dtype.itemsize > storage.nbytes:
        raise ShapeError(
            f"elements {offset} to {offset + count} of a storage that has {storage.nbytes // dtype.itemsize}",
            place=f"{storage!r}, read as {dtype}",
            remedy="ask for elements that are there",
        )
    target = np.empty(count, dtype)
    if count:
        try:
            driver.read(queue, storage.handle, target, offset * target.itemsize)
        except driver.Error as error:
            raise _failed(f"{target.nbytes:,} bytes could not be copied from {device}", error) from error
    return target


def _failed(fact: str, error: driver.Error) -> LaunchError:
    return LaunchError(
        f"{fact}: {error}",
        remedy="a command before this one may have failed on the device: see what ran last, and make a new Runtime",
    )
