"""Looking at an array shows its values or why there are none; it never raises, and changes nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ocl_runtime.arrays as xp
from ocl_ir.graph.build import Buffer
from ocl_runtime.errors import LaunchError
from ocl_runtime.plan.cache.evaluation import AnyPlan
from tests.support.interpreted import InterpretedRuntime


class Runtime(InterpretedRuntime):
    """Something happens when it runs, or is asked for memory."""

    def __init__(self) -> None:
        super().__init__()
        self.running: Any = lambda: None
        self.allocating: Any = lambda: None

    def run(self, plan: AnyPlan) -> None:
        self.running()
        super().run(plan)

    def allocate(self, nbytes: int, where: Any = "", *, wait: bool = True) -> Any:
        self.allocating()
        return super().allocate(nbytes, where, wait=wait)


@pytest.fixture(autouse=True)
def runtime() -> Iterator[Runtime]:
    with xp.use(Runtime()) as made:
        yield made


def test_looking_computes(runtime: Runtime) -> None:
    x = xp.asarray([1, 2]) + 1
    assert repr(x) == f"Array([2, 3], shape=(2,), dtype=int64, device={runtime.device})"
    assert isinstance(x._node, Buffer)
    assert len(runtime.launched) == 1
    assert str(x) == repr(x)
    assert len(runtime.launched) == 1


def test_lazy_is_a_setting(runtime: Runtime) -> None:
    runtime.shows_values = False
    x = xp.asarray([1, 2]) + 1
    assert repr(x) == f"Array(shape=(2,), dtype=int64, device={runtime.device}, not computed yet)"
    assert runtime.launched == []
    assert repr(x.compute()).startswith("Array([2, 3], ")


def test_html() -> None:
    shown = (xp.asarray([1, 2]) + 1)._repr_html_()
    assert "[2, 3]" in shown
    assert "shape=(2,), dtype=int64" in shown
    assert shown.startswith("<div>")
    assert "&lt;" in xp.zeros((0, 2)).compute()._repr_html_().replace("<", "&lt;")


def test_a_failure_is_shown(runtime: Runtime) -> None:
    def fail() -> None:
        raise LaunchError("the driver gave up", place="here", remedy="none")

    runtime.running = fail
    kept = xp.asarray([1, 2])
    x = kept + 1
    for shown in (repr(x), str(x), x._repr_html_()):
        assert "no values: the driver gave up" in shown
        assert "shape=(2,), dtype=int64" in shown


@pytest.mark.parametrize("error", [MemoryError("no room"), RuntimeError(), KeyError("odd")])
def test_whatever_goes_wrong_is_shown(runtime: Runtime, error: Exception) -> None:
    def fail() -> None:
        raise error

    kept = xp.asarray([1, 2])
    x = kept + 1
    runtime.allocating = fail
    assert f"no values: {error or type(error).__name__}" in repr(x)


def test_nothing_is_computed_while_the_thread_computes(runtime: Runtime) -> None:
    other, seen = xp.asarray([1, 2]) + 1, []
    x = xp.asarray([3]) * 2
    runtime.running = lambda: seen.append((repr(x), repr(other)))
    x.compute()
    runtime.running = lambda: None
    assert all("no values while this thread computes" in text for text in seen[0])
    assert not isinstance(other._node, Buffer)
    assert repr(other).startswith("Array([2, 3]")


def test_another_thread_waits_its_turn(runtime: Runtime) -> None:
    inside, go_on, seen = threading.Event(), threading.Event(), []

    def hold() -> None:
        inside.set()
        assert go_on.wait(20)

    x, other = xp.asarray([3]) * 2, xp.asarray([1, 2]) + 1
    runtime.running = hold
    computing = threading.Thread(target=x.compute)
    computing.start()
    assert inside.wait(20)
    runtime.running = lambda: None
    looking = threading.Thread(target=lambda: seen.append(repr(other)))
    looking.start()
    go_on.set()
    computing.join(20)
    looking.join(20)
    assert seen[0].startswith("Array([2, 3]")


def test_a_large_array_shows_its_ends(runtime: Runtime) -> None:
    host = np.arange(200 * 300).reshape(200, 300)
    shown = repr(xp.asarray(host) + 0)
    values = np.array2string(host, separator=", ", prefix="Array(")
    assert shown == f"Array({values}, shape=(200, 300), dtype=int64, device={runtime.device})"


def test_looking_at_a_view_changes_nothing() -> None:
    x = xp.asarray(np.arange(6)) * 1
    view, element = x[2:], x[0]
    repr(view), repr(element)
    x[...] = 9
    assert (view.tolist(), element.item(), repr(view).startswith("Array([9, 9")) == ([9] * 4, 0, True)
