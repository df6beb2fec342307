"""A launch that was checked once, without its memory, to run again over other memory.

What follows from the kernel, the sizes and the layouts stays: the program, its numbers, offsets and footprints from the
start of each storage. Over storages it is a `Launch` again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ocl_ir.layout import Layout
from ocl_ir.source_line import Where
from ocl_ir.types import Pointer
from ocl_runtime.errors import MixedDevicesError, ShapeError
from ocl_runtime.execute.launch import Launch
from ocl_runtime.execute.memory.storage import Storage
from ocl_runtime.execute.streams.hazards import Touch


class _Access(NamedTuple):
    """A pointer: the place of its buffer among the arguments, the number of its storage, the element of that which it
    points to, and the bytes `low … high` of the storage that the kernel touches in this `mode` (0: none)."""

    place: int
    storage: int
    offset: int
    itemsize: int
    mode: int
    low: int
    high: int
    footprint: Layout | None


class Prepared:
    """A launch over storages that are given by number: `storages` are those of its pointers, in order. `numbers` are
    the places of arguments that differ each time."""

    __slots__ = ("_accesses", "_launch", "_numbers")

    def __init__(self, launch: Launch, storages: Sequence[int], numbers: Sequence[int]) -> None:
        pointers = [param.value.type for param in launch.executable.kernel.params]
        itemsizes = [one.dtype.size for one in pointers if isinstance(one, Pointer)]
        self._numbers = numbers
        self._accesses = []
        args = list(launch.args)
        for storage, itemsize, number, (place, touch) in zip(
            launch.storages, itemsizes, storages, launch.pointers, strict=True
        ):
            start = storage.start
            offset = launch.args[place + 1] - start // itemsize
            mode, low, high, footprint = 0, 0, 0, None
            if touch is not None:
                mode, low, high = touch.mode, touch.low - start, min(touch.high - start, storage.nbytes)
                footprint = touch.footprint and replace(touch.footprint, offset=touch.footprint.offset - start)
            self._accesses.append(_Access(place, number, offset, itemsize, mode, low, high, footprint))
            args[place] = None
        self._launch = replace(launch, args=tuple(args), touches=(), storages=(), pointers=())

    def over(self, storages: Sequence[Storage], numbers: Sequence[bool | int | float], where: Where) -> Launch:
        """The launch over these storages, with these numbers in their places.

        Raises `MixedDevicesError` or `ShapeError` for a storage of another runtime, or that is too small.
        """
        launch = self._launch
        executable, args, touches = launch.executable, list(launch.args), []
        memory = executable.memory
        for place, number, offset, itemsize, mode, low, high, footprint in self._accesses:
            storage = storages[number]
            if storage.memory is not memory or storage.nbytes < high:
                raise _misfit(launch, storage, high)
            block = storage.block
            start = block.low
            args[place] = block.page.buffer
            args[place + 1] = start // itemsize + offset
            if mode:
                end = block.high if high == storage.nbytes else start + high  # as `Storage.touch` has it
                gaps = footprint and replace(footprint, offset=footprint.offset + start)
                touches.append(Touch(block.ranges, start + low, end, mode, gaps))
        for place, value in zip(self._numbers, numbers, strict=True):
            args[place] = value
        return Launch(executable, launch.what, args, touches, launch.sizes, storages, (), where)


def _misfit(launch: Launch, storage: Storage, nbytes: int) -> MixedDevicesError | ShapeError:
    if storage.memory is not launch.executable.memory:
        return MixedDevicesError(
            f"{launch.what} got memory of another runtime",
            place=f"the kernel runs on {launch.executable.device}",
            remedy="allocate it on the runtime that launches the kernel",
        )
    return ShapeError(
        f"{launch.what} touches {nbytes:,} bytes of a storage",
        place=f"{storage!r} is smaller",
        remedy="use a storage that holds all elements of the array",
    )
