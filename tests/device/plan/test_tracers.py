"""Under a debugger's tracer or a profiler, which hold what frames refer to, results are right, though perhaps slower.

Whether memory is written over is found out by counting references (`ocl_runtime/plan/donation.py`, and the functions of
`ocl_runtime/plan/cache/written.py`): what a tracer holds besides must look like somebody's, and what it held while
functions were written, or while the library was imported, must not be taken for nobody's afterwards.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import ocl_runtime as ocl
from ocl_runtime.device import Device
from ocl_runtime.execute.engine import Engine
from ocl_runtime.plan.cache.known_lines import WORTH
from ocl_runtime.runtime import Runtime
from tests.support.arrays import python

HOST = np.arange(1000, dtype="f4")
TURNS = WORTH + 6


@pytest.fixture
def runtime(device: Device, engine: Engine) -> Iterator[Runtime]:
    runtime = Runtime(device, engine.settings)
    with ocl.use(runtime):
        yield runtime


def in_place() -> list[Any]:
    """A loop over its operand, of whose states some are held, with views, elements and writes."""
    x, found, held = ocl.asarray(HOST) + 0, list[Any](), list[Any]()
    for turn in range(TURNS):
        before = x
        x = x * 0.5 + 1
        x.compute()
        if turn % 5 == 3:
            held.append(before)
        part = x[3:10]
        element = x[4]
        x[5] = turn
        found += [float(part[0]), float(element), part.numpy()]
        x[3:10] += 1
        found.append(x.numpy())
    return found + [value.numpy() for value in held]


def held_now_and_then() -> list[Any]:
    """One line evaluates what somebody holds and what nobody does, in turn."""
    held, found = list[Any](), list[Any]()
    for turn in range(3 * TURNS):
        x = (ocl.asarray(HOST) * turn).compute()
        if turn > TURNS and turn % 3 == 0:
            held.append(x)
        x = x + 1.0
        x.compute()
        found.append(x.numpy())
    return found + [value.numpy() for value in held]


def views() -> list[Any]:
    """One line evaluates what somebody's expression reads a part of, and what nobody needs."""
    held, found = list[Any](), list[Any]()
    for turn in range(4 * TURNS):
        x = (ocl.asarray(HOST) * turn).compute()
        if turn > 2 * TURNS and turn % 3 == 0:
            held.append(x[turn:] * 3)
        x = x + 1.0
        x.compute()
        found.append(x.numpy())
    return found + [value.numpy() for value in held]


def copies() -> list[Any]:
    found = []
    for turn in range(TURNS):
        a = ocl.asarray(HOST) + turn
        b = ocl.asarray(a, copy=True)
        a += 1
        found += [a.numpy(), b.numpy()]
    return found


def into() -> list[Any]:
    """Results in memory that is there, and an operand that a captured function may write over."""
    step = ocl.capture(lambda x: ocl.sin(x) * 2 + 1)
    x, y, found = ocl.asarray(HOST), ocl.allocate(HOST.shape), list[Any]()
    for turn in range(TURNS):
        kept = x
        ocl.compute_into(y, x * turn + 1)
        x = step(x)
        found += [y.numpy(), kept.numpy(), x.numpy()]
    return found


def on_the_way() -> list[Any]:
    """A value is asked for in each turn, so that states are kept on the way."""
    x, found = ocl.asarray(HOST), list[Any]()
    for turn in range(TURNS):
        named = ocl.sin(x) * 1.01
        found.append(float(ocl.sum(named * named)))
        x = named if turn % 2 else named + x
        found.append(x.numpy())
    return found


PROGRAMS = (in_place, held_now_and_then, views, copies, into, on_the_way)


class Tracer:
    """Looks at the local variables of every frame, as debuggers do, and keeps those of some."""

    def __init__(self, every: int) -> None:
        self.kept: list[dict[str, Any]] = []
        self.frames: list[FrameType] = []
        self.events = 0
        self._every = every

    def __call__(self, frame: FrameType, event: str, argument: object) -> Tracer:
        names = frame.f_locals
        self.events += 1
        if self._every and self.events % self._every == 0:
            self.kept[:] = [*self.kept[-20:], dict(names)]
            self.frames[:] = [*self.frames[-5:], frame]
        return self


HOOKS: dict[str, tuple[Callable[[], Any], Callable[[Any], None], int]] = {
    "tracer": (sys.gettrace, sys.settrace, 0),
    "tracer that keeps": (sys.gettrace, sys.settrace, 97),
    "profiler": (sys.getprofile, sys.setprofile, 0),
    "profiler that keeps": (sys.getprofile, sys.setprofile, 97),
}


@contextmanager
def hooked(name: str) -> Iterator[Tracer]:
    get, put, every = HOOKS[name]
    tracer, before = Tracer(every), get()
    put(tracer)
    try:
        yield tracer
    finally:
        put(before)


def same(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def digest(program: Callable[[], list[Any]]) -> str:
    return hashlib.sha256(b"".join(np.asarray(value).tobytes() for value in program())).hexdigest()


@pytest.mark.sample(6)
@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_results_under_a_tracer(runtime: Runtime, device: Device, engine: Engine, program: Any, hook: str) -> None:
    """What was planned and written before it, with it and after it."""
    with ocl.use(Runtime(device, engine.settings)):
        expected = program()
    with hooked(hook) as tracer:
        same(program(), expected)
    assert tracer.events > 1000
    same(program(), expected)
    same(program(), expected)
    with hooked(hook):
        same(program(), expected)


IMPORTED = """
import sys

def look(frame, event, argument):
    if frame.f_code.co_flags & 1:  # a function's: Python 3.12 forgets names of comprehensions in modules
        frame.f_locals
    return look

sys.{put}(look)
from tests.device.plan.test_tracers import PROGRAMS, digest
sys.{put}(None)
print(*(digest(program) for program in PROGRAMS))
"""


@pytest.mark.parametrize("put", ["settrace", "setprofile"])
def test_a_library_that_was_imported_under_a_tracer(
    runtime: Runtime, tmp_path: Path, cache_folder: Path, put: str
) -> None:
    """As debuggers import it. How many references counting itself adds is found out then."""
    done = python("-c", IMPORTED.format(put=put), cwd=tmp_path, env={"OCL_RUNTIME_CACHE": str(cache_folder)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [digest(program) for program in PROGRAMS]
