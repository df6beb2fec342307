"""Random programs have kernels that nobody builds again."""

from __future__ import annotations

import pytest

from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.settings import Settings


@pytest.fixture(scope="session")
def engine(device: Device) -> Engine:
    """An engine that keeps no binaries: PoCL compiles each kernel once more to give one, for any group size."""
    return Engine(device, Settings(cache_folder=None))
