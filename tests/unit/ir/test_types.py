"""What type checkers see: mypy checks this file (`files` in pyproject.toml), and pytest runs it."""

from __future__ import annotations

from typing import assert_type

import pytest

import ocl_runtime as ocl
from ocl_runtime.errors import DTypeError


@ocl.capture
def step(x: ocl.Array, y: ocl.Array, *, scale: float = 1.0) -> tuple[ocl.Array, ocl.Array]:
    return x + y * scale, x - y


def test_a_captured_function_keeps_its_types() -> None:
    x = ocl.ones((3,))
    assert_type(step(x, x, scale=2.0), tuple[ocl.Array, ocl.Array])
    with pytest.raises(TypeError):
        step(x)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        step(x, x, scales=2.0)  # type: ignore[call-arg]
    with pytest.raises(DTypeError):
        step(1.0, 2.0)  # type: ignore[arg-type]
