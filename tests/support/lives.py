"""What of a runtime is still there."""

from __future__ import annotations

import weakref
from typing import Any

from ocl_runtime.runtime import Runtime


def parts_of(runtime: Runtime) -> list[weakref.ref[Any]]:
    """The runtime, its executor, and the memory of its device: each may outlive the one before."""
    return [weakref.ref(part) for part in (runtime, runtime.executor, runtime.executor.engine.memory)]
