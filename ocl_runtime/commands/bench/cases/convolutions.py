"""Convolutions of a network for pictures, ResNet-50 (He et al., Deep residual learning for image recognition, 2015):
each in float32 and float16 with channels first, and in float16 with channels last, which lie so in memory alone.

The sizes that --list shows are those on a GPU, of both inputs. For fewer elements, batches become smaller first, then
pictures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ocl_runtime.commands.bench.case import Arrays, Case
from ocl_runtime.commands.bench.data import Data

_BATCH = 32
_CPU_WORK = 2**31
"""Operations of a case on a CPU, about."""


@dataclass(frozen=True)
class Layer:
    """A kernel over pictures of square sides, with as many zeros around as keep sides where the stride is 1. `last`:
    whether the channels of a place lie next to each other."""

    channels: int
    results: int
    side: int
    kernel: int
    stride: int = 1
    batch: int = _BATCH
    last: bool = False

    @property
    def padding(self) -> int:
        """Zeros at each end."""
        return self.kernel // 2

    @property
    def operations(self) -> float:
        """Multiplications and additions, those with zeros, too."""
        places = (self.side - 1) // self.stride + 1
        return 2.0 * self.batch * self.results * places**2 * self.channels * self.kernel**2

    @property
    def elements(self) -> int:
        """Of pictures and weights."""
        return self.channels * (self.batch * self.side**2 + self.results * self.kernel**2)

    @property
    def default(self) -> int:
        """The power of two that is nearest to the elements."""
        return max(10, round(math.log2(self.elements)))

    @property
    def cpu(self) -> int:
        """The same for a CPU."""
        return max(10, self.default - max(0, math.ceil(math.log2(self.operations / _CPU_WORK))))

    def scaled(self, elements: int) -> Layer:
        """For about so many elements."""
        share = elements / 2**self.default
        batch = max(1, round(self.batch * share))
        share *= self.batch / batch
        return replace(self, batch=batch, side=max(self.kernel, round(self.side * math.sqrt(share))))

    def of(self, inputs: Arrays) -> Layer:
        """That of such inputs."""
        return replace(self, batch=len(inputs[0]), side=inputs[0].shape[1 if self.last else 2])

    def __str__(self) -> str:
        """What lies over what."""
        kernel = f"{self.kernel}×{self.kernel}{f'/{self.stride}' if self.stride > 1 else ''}"
        last = ", channels last" if self.last else ""
        return f"{kernel}, {self.channels} → {self.results} at {self.side}², batch {self.batch}{last}"


def _case(key: str, layer: Layer, dtype: str) -> Case:
    def inputs(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
        made = layer.scaled(n)
        pictures, kernel = (made.batch, made.channels, made.side, made.side), (made.kernel, made.kernel)
        # Weights that keep the sums of products about 1.
        most = 3 / math.sqrt(made.channels * made.kernel**2)
        weights = (made.results, made.channels, *kernel)
        if layer.last:
            pictures, weights = (
                (made.batch, made.side, made.side, made.channels),
                (made.results, *kernel, made.channels),
            )
        return data.real(dtype, *pictures, low=-1.0), data.real(dtype, *weights, low=-most, high=most)

    def first(xp: Any, x: Any) -> Any:
        """A view with the channels behind the batch."""
        return xp.moveaxis(x, -1, 1) if layer.last else x

    def expression(xp: Any, x: Any, w: Any) -> Any:
        return xp.conv(first(xp, x), first(xp, w), stride=layer.stride, padding=layer.padding)

    def torch(xp: Any, x: Any, w: Any) -> Any:
        return xp.nn.functional.conv2d(first(xp, x), first(xp, w), stride=layer.stride, padding=layer.padding)

    return Case(
        f"conv-{key}{'-last' if layer.last else ''}" + ("" if dtype == "f32" else f"-{dtype}"),
        f"conv {layer}",
        expression,
        inputs,
        (dtype,),
        layer.default,
        layer.cpu,
        operations=lambda inputs: layer.of(inputs).operations,
        along=(0, None),
        sized=lambda inputs: f"conv {layer.of(inputs)}",
        own={"torch": torch},
        products=True,
    )


_LAYERS = {
    "first-7x7": Layer(3, 64, 224, 7, 2),
    "56-1x1": Layer(64, 64, 56, 1),
    "56-3x3": Layer(64, 64, 56, 3),
    "56-1x1-out": Layer(64, 256, 56, 1),
    "56-1x1-in": Layer(256, 128, 56, 1),
    "56-3x3-strided": Layer(128, 128, 56, 3, 2),
    "28-3x3": Layer(128, 128, 28, 3),
    "14-3x3": Layer(256, 256, 14, 3),
    "14-1x1": Layer(1024, 256, 14, 1),
    "7-3x3": Layer(512, 512, 7, 3),
}
_LAST = {key: replace(layer, last=True) for key, layer in _LAYERS.items()}

CASES = tuple(
    _case(key, layer, dtype)
    for layers, dtype in ((_LAYERS, "f32"), (_LAYERS, "f16"), (_LAST, "f16"))
    for key, layer in layers.items()
)
