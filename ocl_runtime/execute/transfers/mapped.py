"""Memory of the device that the host reads in place, where both share it."""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from ocl_runtime.execute.driver import Bytes
from ocl_runtime.execute.memory.storage import Storage


class Mapped:
    """Bytes of a storage in place. NumPy arrays made of it hold it; the driver gets them back when the last goes."""

    __slots__ = ("__weakref__", "_held")

    def __init__(self, storage: Storage, host: Bytes) -> None:
        # The host's bytes go before the storage, which then goes back to its pool: a tuple lets its last item go first.
        self._held = storage, host
        # Removed by a function of C, which no signal interrupts.
        storage.views.append(ref(self, storage.views.remove))

    @property
    def __array_interface__(self) -> dict[str, Any]:
        interface = dict(self._held[1].__array_interface__)
        interface["data"] = (interface["data"][0], True)
        return interface


def array_over(storage: Storage, host: Bytes, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A read-only array over mapped bytes."""
    return np.asarray(Mapped(storage, host)).view(dtype)
