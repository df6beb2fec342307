"""OpenCL C by hand through PyOpenCL, for some of the cases: the kernels of kernels.cl."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ocl_runtime.commands.bench.case import Arrays, Case
from ocl_runtime.commands.bench.opencl import Launch, OpenCL
from ocl_runtime.commands.bench.peers.base import LeftOut, Value
from ocl_runtime.commands.bench.samples import Sample

Recipe = Callable[[OpenCL, Arrays, Sequence[Any], Any], list[Launch]]
"""The launches for inputs, as arrays and as buffers, and for the buffer of the result."""
_STRETCHES = 64
"""Into how many parts a CPU's running sum is cut."""


class ByHand:
    """Kernels for float32, for sizes that they divide."""

    name = "opencl"

    def __init__(self, opencl: OpenCL) -> None:
        self.about = f"OpenCL C by hand, PyOpenCL {opencl.version}"
        self.clock = "the host's clock, to the end" if opencl.kind == "cpu" else "the device's clock"
        self._opencl = opencl

    def prepare(self, case: Case, sets: list[Arrays]) -> Launches:
        """Uploads the inputs and sets the arguments."""
        if case.key not in _RECIPES:
            raise LeftOut("not written by hand")
        shape, recipe = _RECIPES[case.key]
        dtype = sets[0][0].dtype
        if dtype != np.float32 and case.key != "bincount-256-random":
            raise LeftOut("by hand for float32 only")
        if any(x.size % 4096 for x in sets[0]):
            raise LeftOut("by hand for whole tiles only")
        return Launches(self._opencl, recipe, sets, shape(sets[0]), dtype)


class Launches:
    """Launches over uploaded inputs."""

    def __init__(
        self, opencl: OpenCL, recipe: Recipe, sets: list[Arrays], shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self._opencl, self._shape, self._dtype = opencl, shape, dtype
        self._nbytes = int(np.prod(shape)) * dtype.itemsize
        self._result = opencl.empty(max(4, self._nbytes))
        self._launches = [recipe(opencl, inputs, [opencl.upload(x) for x in inputs], self._result) for inputs in sets]

    def _enqueue(self, turn: int) -> list[Any]:
        launches = self._launches[turn % len(self._launches)]
        cleared = (
            [self._opencl.fill(self._result, self._nbytes)] if launches[0].kernel.function_name == "counts" else []
        )
        return [*cleared, *(self._opencl.enqueue(launch) for launch in launches)]

    def time(self, turn: int) -> Sample:
        """From the first launch to the end of the last."""
        return self._opencl.time(lambda: self._enqueue(turn))

    def results(self, turn: int) -> tuple[Value, ...]:
        """Downloads the result."""
        self._enqueue(turn)
        return (Value.of(self._opencl.download(self._result, self._shape, self._dtype)),)


def _elementwise(kernel: str) -> Recipe:
    def recipe(opencl: OpenCL, inputs: Arrays, buffers: Sequence[Any], result: Any) -> list[Launch]:
        n = inputs[0].size // 4
        return [opencl.launch(kernel, [*buffers, result, n], (n,), None)]

    return recipe


def _row_sums(opencl: OpenCL, inputs: Arrays, buffers: Sequence[Any], result: Any) -> list[Launch]:
    height, width = inputs[0].shape
    if opencl.kind == "cpu":
        if width % 32:
            raise LeftOut("by hand for rows of whole vectors only")
        return [opencl.launch("row_sums_stretch", [*buffers, result, width // 16], (height,), None)]
    if width % 4:
        raise LeftOut("by hand for rows of whole vectors only")
    return [opencl.launch("row_sums", [*buffers, result, width // 4], (height * 256,), (256,))]


def _transpose(opencl: OpenCL, inputs: Arrays, buffers: Sequence[Any], result: Any) -> list[Launch]:
    height, width = inputs[0].shape
    if height % 64 or width % 64:
        raise LeftOut("by hand for whole tiles only")
    if opencl.kind == "cpu":
        return [
            opencl.launch("transpose_stretch", [*buffers, result, height, width], (height // 16, width // 16), None)
        ]
    groups = height // 64 * (width // 64)
    return [opencl.launch("transpose", [*buffers, result, height, width], (groups * 256,), (256,))]


def _running_sum(opencl: OpenCL, inputs: Arrays, buffers: Sequence[Any], result: Any) -> list[Launch]:
    n = inputs[0].size
    if opencl.kind == "cpu":
        sums, length = opencl.empty(4 * _STRETCHES), n // _STRETCHES
        return [
            opencl.launch("stretch_sums", [*buffers, sums, length // 16], (_STRETCHES,), (1,)),
            opencl.launch("running_sum_stretch", [*buffers, result, sums, length], (_STRETCHES,), (1,)),
        ]
    tiles = n // 4096
    sums = opencl.empty(4 * tiles)
    return [
        opencl.launch("tile_sums", [*buffers, sums], (tiles * 256,), (256,)),
        opencl.launch("sums_of_sums", [sums, tiles], (256,), (256,)),
        opencl.launch("running_sum", [*buffers, result, sums], (tiles * 256,), (256,)),
    ]


def _counts(opencl: OpenCL, inputs: Arrays, buffers: Sequence[Any], result: Any) -> list[Launch]:
    group = 256
    groups = min(inputs[0].size // 4 // group, opencl.units * (1 if opencl.kind == "cpu" else 8))
    return [opencl.launch("counts", [*buffers, result, inputs[0].size // 4], (groups * group,), (group,))]


def _gather(opencl: OpenCL, inputs: Arrays, buffers: Sequence[Any], result: Any) -> list[Launch]:
    n = inputs[1].size
    return [opencl.launch("gather", [*buffers, result, n], (n,), None)]


def _as_first(inputs: Arrays) -> tuple[int, ...]:
    return tuple(inputs[0].shape)


_RECIPES: dict[str, tuple[Callable[[Arrays], tuple[int, ...]], Recipe]] = {
    "negative": (_as_first, _elementwise("negative")),
    "a*b+c": (_as_first, _elementwise("product_and_sum")),
    "a*b+sin": (_as_first, _elementwise("product_and_sine")),
    "transpose": (lambda inputs: (inputs[0].size,), _transpose),
    "sum-last": (lambda inputs: tuple(inputs[0].shape[:1]), _row_sums),
    "running-sum": (_as_first, _running_sum),
    "bincount-256-random": (lambda _: (256,), _counts),
    **{f"gather-{spread}": (_as_first, _gather) for spread in ("random", "sorted", "skewed", "constant")},
}
