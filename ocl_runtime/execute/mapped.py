"""Memory of the device that the host reads in place, where both share it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ocl_runtime.execute.driver import Bytes
from ocl_runtime.execute.storage import Storage


class Mapped:
    """Bytes of a storage in place. NumPy arrays made of it hold it; the driver gets them back when the last goes."""

    def __init__(self, storage: Storage, host: Bytes) -> None:
        self._storage = storage
        self._host = host
        storage.views.append(None)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        interface = dict(self._host.__array_interface__)
        interface["data"] = (interface["data"][0], True)
        return interface

    def __del__(self) -> None:
        self._storage.views.pop()
        del self._host  # before the storage, which goes back to its pool


def array_over(storage: Storage, host: Bytes, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A read-only array over mapped bytes."""
    return np.asarray(Mapped(storage, host)).view(dtype)
