"""Random programs that make, view, write, compute and drop arrays give what they give in NumPy, captured ones too."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ocl_runtime as ocl
import ocl_runtime.arrays as xp
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.plan.target import Target
from ocl_runtime.plan.tracing import tracer
from ocl_runtime.runtime import Runtime
from tests.support.arrays import assert_same
from tests.support.depth import with_builds
from tests.support.interpreted import InterpretedRuntime

OPS = ("add", "subtract", "multiply", "maximum")
STEPS = st.lists(st.tuples(st.integers(0, 20), *(st.integers(0, 10**6) for _ in range(3))), min_size=3, max_size=25)


@ocl.capture
def captured_write(x: Any) -> Any:
    x += 1
    return ocl.max(x)


@ocl.capture
def captured_compute_into(x: Any, y: Any) -> Any:
    ocl.compute_into(x, ocl.maximum(x, 2))
    return x * y


@dataclass
class Both:
    """The same arrays here and in NumPy, and elements that were read, which later writes must not change."""

    ours: list[Any] = field(default_factory=list)
    numpy: list[np.ndarray[Any, Any]] = field(default_factory=list)
    elements: list[tuple[Any, Any]] = field(default_factory=list)

    def add(self, ours: Any, numpy: np.ndarray[Any, Any]) -> None:
        assert ours.shape == numpy.shape
        assert ours.dtype == numpy.dtype
        self.ours.append(ours)
        self.numpy.append(numpy)

    def pick(self, number: int) -> tuple[Any, np.ndarray[Any, Any]]:
        place = number % len(self.ours)
        return self.ours[place], self.numpy[place]

    def like(self, number: int, shape: tuple[int, ...]) -> tuple[Any, Any]:
        """An array that broadcasts to a shape, or a number."""
        for place in range(len(self.ours)):
            one = (number + place) % len(self.ours)
            try:
                if np.broadcast_shapes(self.numpy[one].shape, shape) == shape:
                    return self.ours[one], self.numpy[one]
            except ValueError:
                continue
        return number % 5, number % 5

    def step(self, kind: int, first: int, second: int, third: int) -> None:
        if kind == 0 or not self.ours:
            shape = ((6,), (4, 5), (3, 4), (2, 3, 4))[second % 4]
            host = np.random.default_rng(first).integers(-20, 20, shape).astype(("i4", "f4")[third % 2])
            self.add(ocl.asarray(host), host.copy())
            return
        x, n = self.pick(first)
        match kind:
            case 1 | 2:
                key = index(n.shape, second, third)
                self.add(x[key], n[key])
            case 3 if n.ndim > 1:
                self.add(ocl.permute_dims(x, tuple(reversed(range(n.ndim)))), n.T)
            case 4:
                reshaped = n.reshape(-1)
                if np.shares_memory(reshaped, n) == ocl_view(x):
                    self.add(ocl.reshape(x, -1), reshaped)
            case 5 | 6:
                y, m = self.like(second, n.shape)
                name = OPS[third % len(OPS)]
                ours = getattr(ocl, name)(x, y)
                self.add(ours, np.asarray(getattr(np, name)(n, m), ours.dtype))
            case 7:
                key = index(n.shape, second, third)
                y, m = self.like(third, n[key].shape)
                x[key] = y
                n[key] = m
            case 8:
                y, m = self.like(second, n.shape)
                if np.result_type(n, m) != n.dtype:
                    y = m = second % 5
                if third % 2:
                    x += y
                    n += m
                else:
                    x *= y
                    n *= m
            case 9:
                limit = second % 10
                x[x > limit] = third % 7
                n[n > limit] = third % 7
            case 10:
                ocl.compute(x, self.pick(second)[0])
            case 12 | 13 if n.ndim and n.size:
                places = np.random.default_rng(second).integers(-len(n), len(n), 5)
                given = ocl.asarray(places) if third % 2 else places
                if kind == 12:
                    self.add(x[given], n[places])
                else:
                    y, m = self.like(third, n[places].shape)
                    x[given] = y
                    n[places] = m
            case 14:
                self.add(x[x > second % 10], n[n > second % 10])
            case 15 if n.ndim and n.size:
                self.add(ocl.concat([x, x[:1]]), np.concatenate([n, n[:1]]))
            case 16 if n.size:
                most = captured_write(x)
                n += n.dtype.type(1)
                self.elements.append((most, n.max()))
            case 17:
                if tracer.get() is not None:
                    x.compute()  # the function is a part of what is captured, which computes no arguments
                ours = captured_compute_into(x, x)
                n[...] = np.maximum(n, n.dtype.type(2))
                self.add(ours, n * n)
            case 18:
                y, m = self.like(second, n.shape)
                if np.result_type(n, m) == n.dtype:
                    ocl.compute_into(x.compute(), ocl.minimum(x, y))
                    n[...] = np.minimum(n, m)
            case 19 if n.ndim and n.size:
                for _ in range(1 + third % 2):  # equal values are one where they are planned together
                    self.add(ocl.max(x, axis=0, keepdims=True), n.max(axis=0, keepdims=True))
            case 20 if n.size:
                place = np.unravel_index(second % n.size, n.shape)
                self.elements.append((x[tuple(map(int, place))], n[place]))
            case 11 if len(self.ours) > 2:
                del self.ours[first % len(self.ours)]
                del self.numpy[first % len(self.numpy)]

    def check(self) -> None:
        for x, n in zip(self.ours, self.numpy, strict=True):
            assert_same(x.numpy(), n)
        for x, n in self.elements:
            assert_same(x.numpy(), np.asarray(n))


def ocl_view(x: Any) -> bool:
    """Whether a flat shape is a view here, which has its base in order where NumPy's may have another."""
    return ocl.reshape(x, -1)._cell is x._cell


def index(shape: tuple[int, ...], second: int, third: int) -> Any:
    """A basic index that picks at least an axis's worth."""
    key: list[Any] = []
    for axis, length in enumerate(shape):
        kind = (second >> (3 * axis)) % 8
        start, stop = sorted(((third >> axis) % (length + 1), (third >> (axis + 3)) % (length + 1)))
        step = (1, 2, -1, -2)[(third >> (2 * axis)) % 4]
        if kind == 0 and length and len(shape) > 1:
            key.append(start % length)
        elif kind < 3:
            key.append(slice(None))
        else:
            key.append(slice(start, stop, step) if step > 0 else slice(None, None, step))
    return (*key, ...)  # never a number, which is no view in NumPy


def program(runtime: Runtime, steps: list[tuple[int, int, int, int]]) -> None:
    with ocl.use(runtime), np.errstate(all="ignore"):
        both = Both()
        for step in steps:
            both.step(*step)
        both.check()


@pytest.fixture(scope="module")
def runtime(device: Device, engine: Engine) -> Runtime:
    return Runtime(device, engine.settings)


@settings(max_examples=with_builds(settings.default.max_examples // 3))
@given(STEPS)
def test_writes_views_and_expressions_are_numpys(runtime: Runtime, steps: list[tuple[int, int, int, int]]) -> None:
    program(runtime, steps)


@settings(max_examples=with_builds(settings.default.max_examples // 6))
@given(STEPS)
def test_with_memory_that_is_poisoned_when_it_is_freed(
    device: Device, engine: Engine, steps: list[tuple[int, int, int, int]]
) -> None:
    """Nothing reads what was overwritten in place or given back, and the commands are ordered."""
    runtime = Runtime(device, replace(engine.settings, poison=True, memory_limit=2**20))
    program(runtime, steps)


@settings(max_examples=with_builds(settings.default.max_examples // 4))
@given(STEPS)
def test_captured_programs_of_writes_views_and_expressions_are_numpys(
    runtime: Runtime, steps: list[tuple[int, int, int, int]]
) -> None:
    """What is read before memory is written, or computed into, is what was there; arguments are written, too."""
    rng = np.random.default_rng(len(steps))
    hosts = [rng.integers(-20, 20, shape).astype(dtype) for shape, dtype in (((4, 5), "f4"), ((6,), "i4"))]
    expected: list[list[np.ndarray[Any, Any]]] = []

    @ocl.capture
    def captured(*given: Any) -> Any:
        arguments = [host.copy() for host in hosts]
        both = Both(list(given), list(arguments))
        for kind, *numbers in steps:
            if kind != 14:  # the size of x[mask] depends on values
                both.step(kind, *numbers)
        expected.append([*arguments, *both.numpy, *[np.asarray(n) for _, n in both.elements]])
        return both.ours, [x for x, _ in both.elements]

    with ocl.use(runtime), np.errstate(all="ignore"):
        for _ in range(2):
            arguments = [ocl.asarray(host.copy()) for host in hosts]
            arrays, elements = captured(*arguments)
            for x, n in zip([*arguments, *arrays, *elements], expected[0], strict=True):
                assert_same(x.numpy(), n)
    assert len(expected) == 1


@pytest.mark.parametrize("kind", ["gpu", "cpu"])
@pytest.mark.parametrize("size", [1, 255, 4096, 5000])
def test_masks_that_are_being_written(kind: Literal["gpu", "cpu"], size: int) -> None:
    """The whole rows of such a mask, if there are any, and the rest are parts of one that is not in memory yet."""
    host, x = np.arange(2 * size) % 3 == 1, np.arange(size)
    with xp.use(InterpretedRuntime(Target(kind=kind, compute_units=1, group_size=8))):
        mask = xp.asarray(host)[::2].compute()
        mask[0] = True
        expected = host[::2].copy()
        expected[0] = True
        assert_same(xp.asarray(x)[mask].numpy(), x[expected])
