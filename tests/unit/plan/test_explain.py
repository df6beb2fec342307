"""`explain` says what computing would do, and nothing is computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_runtime.arrays import core
from ocl_runtime.plan.fusion.growing import most_operations
from tests.support.interpreted import InterpretedRuntime


@pytest.fixture
def runtime() -> Iterator[InterpretedRuntime]:
    runtime = InterpretedRuntime()
    with xp.use(runtime):  # type: ignore[arg-type]
        yield runtime


def lines(text: str) -> list[str]:
    """Without the Python lines, which differ from place to place."""
    return [
        line.split("    ")[0].split(" (")[0].rstrip() if "test_explain" in line else line for line in text.split("\n")
    ]


def test_graph_kernels_bytes_and_memory(runtime: InterpretedRuntime) -> None:
    x = xp.asarray(np.ones((30, 40), "f4"))
    shifted = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    text = xp.explain(shifted / xp.sum(shifted, axis=1, keepdims=True))
    assert runtime.launched == []
    assert runtime.allocations.total() == 0
    shown = lines(text)
    assert shown[:2] == [
        "t0: f32[30, 40] = exp(sub(a, expand(max(a, axes [1], keepdims), [30, 40])))",
        "y: f32[30, 40] = div(t0, expand(sum(t0, axes [1], keepdims), [30, 40]))",
    ]
    # The maximum is stored too, because another array, `shifted`, is made of it.
    assert "1 kernel, 9,720 bytes moved, 9,600 at least: 1.01 times as many" in shown
    assert any(line.startswith("  1. test_graph_kernels_bytes_and_memory: max_sub_exp_sum_div ") for line in shown)
    assert any(line.endswith("reads 4,800 bytes, writes 4,920") for line in shown)
    assert "memory: 2 allocations, 4,920 bytes" in shown
    assert "is computed by itself: a reduction ends its kernel" in text
    assert "test_explain.py:" in text


def test_what_is_written_twice_is_shown_once_as_it_is_computed(runtime: InterpretedRuntime) -> None:
    x = xp.asarray(np.ones((30, 40), "f4"))
    shown = lines(xp.explain(xp.sum(x, axis=0) * 2 + xp.sum(x, axis=0)))
    assert shown[:2] == ["t0: f32[40] = sum(a, axes [0])", "y: f32[40] = add(mul(t0, 2.0), t0)"]
    assert shown[3].startswith("1 kernel, ")


def test_what_is_written_over_and_why_not(runtime: InterpretedRuntime) -> None:
    x = xp.asarray(np.ones(40, "f4"))
    y = x * 2 + 1
    assert "memory of its own: an operand is needed elsewhere" in xp.explain(y)
    assert "memory: 1 allocation, 160 bytes" in xp.explain(y)
    del x
    assert "written over an operand" in xp.explain(y)
    assert "memory: 0 allocations, 0 bytes" in xp.explain(y)
    y.compute()
    assert runtime.allocations.total() == 0
    z = y[::-1] + 1
    del y
    assert "memory of its own: the operands have other dtypes, shapes or orders" in xp.explain(z)
    assert "memory of its own: no operand is in memory" in xp.explain(xp.arange(5) * 2)
    assert xp.explain(z.compute()) == "computed already\n"


def test_why_an_expression_is_cut(runtime: InterpretedRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    x = xp.asarray(np.ones((4, 6), "f4"))

    def costly() -> Any:
        return xp.exp(xp.sin(x)) * xp.cos(x) + xp.sqrt(x)

    def differences(y: Any) -> Any:
        return y[:, 1:] - y[:, :-1]

    again = "computing it again takes 70 operations an element, and keeping it moves 8 bytes, as much as 64 operations"
    text = xp.explain(differences(costly()))  # by itself: an assertion holds what it calls with
    assert f"it is read in 2 ways (views, kernels): {again}" in text
    held = costly()
    assert f"is kept, since somebody holds it: {again}" in xp.explain(differences(held))
    cut = x[:, 1:]
    assert "a reshape of it has to copy" in xp.explain(
        xp.reshape(cut + 1, (5, 4)) * 2 + xp.reshape(x, (6, 4))[1:, ::-1]
    )
    monkeypatch.setattr(core, "BOUND", 10**6)  # it is pending as a whole
    deep = x
    most = most_operations(x._executor.target, pointwise=True)
    for _ in range(most + 50):
        deep = xp.sin(deep)
    assert f"{most} operations, as many as it may" in xp.explain(deep)
    for number in range(200):
        deep = deep * (number + 1.5)
    assert "as many arguments as the device takes" in xp.explain(deep)
    written = x * 2
    written[0] = 1
    assert "it is written into" in xp.explain(written + 1)
    assert "a write ends its kernel" in xp.explain(written + 1)
