"""What needs a device is under `tests/device`."""

from __future__ import annotations

import pytest


@pytest.fixture
def device() -> None:
    """There is none here."""
    pytest.fail("a unit test asks for a device: it belongs to tests/device")


@pytest.fixture
def engine() -> None:
    """There is none here."""
    pytest.fail("a unit test asks for an engine on a device: it belongs to tests/device")
