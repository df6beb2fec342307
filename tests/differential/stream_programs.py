"""Random programs for streams: allocations, strided and overlapping views, writes, reads, copies, frees.

A program is a list of steps, each made from one number, so that Hypothesis can shorten it. `expected` runs it step by
step in NumPy; `Runner`s (the simulated device's is here, the real one's in the tests) give it to streams.
Step `mix` goes through the elements of its views in order: dst[i] = a*dst[i] + b*src[i] + c, in 32 bits, which shows
whenever two of them change places.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Protocol, TypeAlias

import numpy as np
from hypothesis import strategies as st

from ocl_ir.kernel.accesses import READ, WRITE
from ocl_ir.layout import Layout
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.execute.transfers.transfer import Download
from tests.support.world import World

ITEM = 4
_MOST_ARRAYS = 6
Array: TypeAlias = "np.ndarray[Any, np.dtype[np.uint32]]"


@dataclass(frozen=True)
class Allocate:
    """A new array of `count` elements, filled `how` and from a seed."""

    array: int
    count: int
    how: str
    seed: int
    stream: int
    slow: bool


@dataclass(frozen=True)
class Mix:
    """dst[i] = a*dst[i] + b*src[i] + c for the elements of two views in order."""

    dst: int
    to: Layout
    src: int
    from_: Layout
    factors: tuple[int, int, int]
    stream: int
    slow: bool


@dataclass(frozen=True)
class Read:
    """Elements `low … high` of an array to the host; `aside` leaves the stream to the library."""

    array: int
    low: int
    high: int
    stream: int
    aside: bool
    slow: bool


@dataclass(frozen=True)
class Free:
    """The array is dropped."""

    array: int


@dataclass(frozen=True)
class Look:
    """The host looks which commands have ended, or waits for the newest value that it asked for."""

    wait: bool


Step: TypeAlias = Allocate | Mix | Read | Free | Look


@st.composite
def programs(draw: st.DrawFn, most: int = 200) -> tuple[int, int, list[Step]]:
    """A number of streams, a seed for the scheduler, and the steps."""
    streams = draw(st.integers(2, 8))
    seed = draw(st.integers(0, 2**16))
    count = draw(st.integers(10, most))
    numbers = draw(st.lists(st.integers(0, 2**32), min_size=count, max_size=count))
    return streams, seed, steps(numbers, streams)


def steps(numbers: Sequence[int], streams: int) -> list[Step]:
    """The program that these numbers stand for."""
    made: list[Step] = []
    live: dict[int, int] = {}
    arrays = reads = 0
    for number in numbers:
        pick = random.Random(number)
        chance, stream, slow = pick.random(), pick.randrange(streams), pick.random() < 0.15
        if not live or (chance < 0.17 and len(live) < _MOST_ARRAYS):
            count = pick.choice((16, 64, 100, 256, 512))
            how = pick.choice(("upload", "snapshot", "fill", "kernel"))
            made.append(Allocate(arrays, count, how, number, stream, slow))
            live[arrays] = count
            arrays += 1
        elif chance < 0.3 and len(live) > 1:
            made.append(Free(pick.choice(list(live))))
            del live[made[-1].array]
        elif chance < 0.38:
            array = pick.choice(list(live))
            low = pick.randrange(live[array])
            made.append(Read(array, low, pick.randint(low + 1, live[array]), stream, pick.random() < 0.5, slow))
            reads += 1
        elif chance < 0.41:
            made.append(Look(pick.random() < 0.5 and reads > 0))
        else:
            dst, src = pick.choice(list(live)), pick.choice(list(live))
            shape = _shape(pick, min(live[dst], live[src]))
            to, from_ = _view(pick, shape, live[dst]), _view(pick, shape, live[src], repeats=True)
            factors = (pick.choice((0, 5)), pick.choice((3, 7)), number % 1000)
            made.append(Mix(dst, to, src, from_, factors, stream, slow))
    return made


def _shape(pick: random.Random, most: int) -> tuple[int, ...]:
    if pick.random() < 0.3:
        return (most,)
    if pick.random() < 0.6:
        return (pick.randint(1, most),)
    rows = pick.randint(2, 4)
    return rows, pick.randint(1, most // rows)


def _view(pick: random.Random, shape: tuple[int, ...], count: int, *, repeats: bool = False) -> Layout:
    """Elements of an array of `count`; each once, unless it `repeats`."""
    if repeats and pick.random() < 0.1:
        return Layout(shape, (0,) * len(shape), pick.randrange(count))
    if len(shape) == 1:
        stride = pick.choice((1, 1, 2, 3, 7)) if shape[0] > 1 else 1
        stride = min(stride, (count - 1) // max(1, shape[0] - 1) or 1)
        strides = (stride,)
    else:
        inner = pick.choice((1, 2))
        inner = inner if shape[0] * shape[1] * inner <= count else 1
        least = shape[1] * inner
        strides = (pick.randint(least, max(least, (count - 1 - (shape[1] - 1) * inner) // (shape[0] - 1))), inner)
    span = 1 + sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True))
    offset = pick.randint(0, count - span)
    if pick.random() < 0.2:
        return Layout(shape, tuple(-stride for stride in strides), offset + span - 1)
    return Layout(shape, strides, offset)


# ---------------------------------------------------------------------- what they mean


def initial(step: Allocate) -> Array:
    """The first contents of an array."""
    if step.how == "fill":
        return np.full(step.count, step.seed & 0xFFFFFFFF, np.uint32)
    return np.random.default_rng(step.seed).integers(0, 2**32, step.count, np.uint32)


def mix(dst: Array, to: Layout, src: Array, from_: Layout, factors: tuple[int, int, int]) -> None:
    """The step on whole arrays."""
    a, b, c = (np.uint32(factor) for factor in factors)
    if dst is not src and not np.shares_memory(dst, src):
        target, source = _strided(dst, to), _strided(src, from_)
        target[...] = a * target + b * source + c
        return
    for index in product(*map(range, to.shape)):
        i, j = _element(to, index), _element(from_, index)
        dst[i] = (int(a) * int(dst[i]) + int(b) * int(src[j]) + int(c)) & 0xFFFFFFFF


def _element(layout: Layout, index: tuple[int, ...]) -> int:
    return layout.offset + sum(at * stride for at, stride in zip(index, layout.strides, strict=True))


def _strided(array: Array, layout: Layout) -> Array:
    strides = [stride * ITEM for stride in layout.strides]
    return np.lib.stride_tricks.as_strided(array[layout.offset :], layout.shape, strides)


def expected(steps: Sequence[Step]) -> list[Array]:
    """What the host gets to see: every value read."""
    arrays: dict[int, Array] = {}
    seen: list[Array] = []
    for step in steps:
        if isinstance(step, Allocate):
            arrays[step.array] = initial(step)
        elif isinstance(step, Mix):
            mix(arrays[step.dst], step.to, arrays[step.src], step.from_, step.factors)
        elif isinstance(step, Read):
            seen.append(arrays[step.array][step.low : step.high].copy())
        elif isinstance(step, Free):
            del arrays[step.array]
    return seen


class Runner(Protocol):
    """Gives steps to a device."""

    def allocate(self, step: Allocate) -> Storage:
        """An array with its contents on the way."""

    def mix(self, step: Mix, dst: Storage, src: Storage) -> None:
        """A kernel."""

    def read(self, step: Read, array: Storage) -> Download:
        """Values on their way to the host."""

    def look(self) -> None:
        """Finds out what has ended."""


def run(
    steps: Sequence[Step], runner: Runner, forgive: tuple[type[Exception], ...] = ()
) -> tuple[list[Step], list[Array | None]]:
    """The steps that were taken and what the host got to see, as `expected` has it.

    That is all of it, unless `forgive` names errors: a step that raises one is not taken, nor are others with an array
    that is not there, and a value that raises one is None.
    """
    arrays: dict[int, Storage] = {}
    seen: list[Download] = []
    taken: list[Step] = []

    def take(step: Step) -> None:
        if isinstance(step, Allocate):
            arrays[step.array] = runner.allocate(step)
        elif isinstance(step, Mix):
            runner.mix(step, arrays[step.dst], arrays[step.src])
        elif isinstance(step, Read):
            seen.append(runner.read(step, arrays[step.array]))
        elif isinstance(step, Free):
            del arrays[step.array]
        elif not step.wait:
            runner.look()
        elif seen:
            seen[-1].result()

    missing = (KeyError, *forgive) if forgive else ()
    for step in steps:
        with suppress(*missing):
            take(step)
            taken.append(step)
    for number, array in list(arrays.items()):
        with suppress(*forgive):
            take(Read(number, 0, array.nbytes // ITEM, 0, aside=True, slow=False))
            taken.append(Read(number, 0, array.nbytes // ITEM, 0, aside=True, slow=False))
    values: list[Array | None] = []
    for one in seen:
        values.append(None)
        with suppress(*forgive):
            values[-1] = one.result()
    return taken, values


class SimulatedRunner:
    """Gives steps to a `World`."""

    def __init__(self, world: World) -> None:
        self.world = world

    def allocate(self, step: Allocate) -> Storage:
        world, stream = self.world, self.world.stream(step.stream)
        self._slow(step.slow)
        if step.how in ("upload", "snapshot"):
            return world.transfers.upload(initial(step), stream, "", snapshot=step.how == "snapshot")
        storage = world.memory.allocate(step.count * ITEM, stream=stream)
        if step.how == "fill":
            pattern = np.uint32(step.seed & 0xFFFFFFFF)
            args = storage.buffer, storage.start, storage.nbytes, pattern
            world.streams.submit(stream, [storage.touch(WRITE)], "a fill", "", world.recording.fill, *args)
            return storage

        def start(data: np.ndarray[Any, Any]) -> None:
            _elements(data, storage_at, step.count)[:] = initial(step)

        storage_at = storage.start
        world.give(step.stream, storage.touch(WRITE), run=start, args=(storage.buffer,), slow=step.slow)
        return storage

    def mix(self, step: Mix, dst: Storage, src: Storage) -> None:
        mode = WRITE | (READ if step.factors[0] else 0)
        touches = dst.touch_layout(mode, step.to, ITEM), src.touch_layout(READ, step.from_, ITEM)
        to_at, from_at, same = dst.start, src.start, dst is src
        to_count, from_count = dst.nbytes // ITEM, src.nbytes // ITEM

        def mixed(to: np.ndarray[Any, Any], from_: np.ndarray[Any, Any]) -> None:
            target = _elements(to, to_at, to_count)
            source = target if same else _elements(from_, from_at, from_count)
            mix(target, step.to, source, step.from_, step.factors)

        self.world.give(step.stream, *touches, name="mix", run=mixed, args=(dst.buffer, src.buffer), slow=step.slow)

    def read(self, step: Read, array: Storage) -> Download:
        world, count = self.world, step.high - step.low
        self._slow(step.slow)
        if step.aside:
            return world.transfers.download(array, np.dtype(np.uint32), count, step.low, "")
        target = np.empty(count, np.uint32)
        touch = array.touch(READ, step.low * ITEM, step.high * ITEM)
        args = array.buffer, array.start + step.low * ITEM, target.view(np.uint8)
        command = world.streams.submit(
            world.stream(step.stream), [touch], "a read", "", world.recording.read, *args, keep=target
        )
        return Download(world.streams, command, target, partial(world.streams.wait, command))

    def look(self) -> None:
        self.world.streams.look()

    def _slow(self, slow: bool) -> None:
        if slow:
            self.world.device.slow.add(self.world.device.enqueued)


def _elements(data: np.ndarray[Any, Any], at: int, count: int) -> Array:
    return data[at : at + count * ITEM].view(np.uint32)
