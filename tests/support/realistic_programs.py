"""Host programs with the memory patterns of real work: what the arena planner is judged by.

Kernels do not matter to it, so everything is scaled or added; shapes, lifetimes and streams are those of the named kind
of program. Sizes are of float32 elements.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from ocl_ir.host.builder import HostBuilder
from ocl_ir.host.grammar import Program, Value
from ocl_ir.types import F32
from tests.support.programs import SCALE


class Writer:
    """A builder with a shorter hand: every function gives a new value."""

    def __init__(self, name: str) -> None:
        self.p = HostBuilder(name)

    def input(self, name: str, size: int) -> Value:
        return self.p.input(name, F32, (size,))

    def made(self, *sources: Value, size: int | None = None) -> Value:
        """A new value from one or more; of another size, from as much of each as there is."""
        wanted = size if size is not None else length(sources[0])
        out = self.p.alloc(F32, (wanted,), "t")
        self.p.fill(out, 0)
        for source in sources:
            used = min(length(source), wanted)
            self.p.launch(SCALE, (used, source, out), (used,))
        return out


def length(value: Value) -> int:
    """Its elements."""
    known = value.shape[0]
    assert isinstance(known, int)
    return known


def unet(levels: int = 5, size: int = 1 << 18) -> Program:
    """Down to half the size each level, and up again beside what was kept of the way down."""
    w = Writer("unet")
    now, kept = w.input("x", size), []
    for _ in range(levels):
        now = w.made(w.made(now))
        kept.append(now)
        now = w.made(now, size=length(now) // 2)
    for skip in reversed(kept):
        up = w.made(now, size=length(skip))
        now = w.made(w.made(up, skip))
    return w.p.build(now)


def transformer(blocks: int = 6, tokens: int = 256, width: int = 256) -> Program:
    """Attention and a feed-forward layer with residuals, block after block."""
    w = Writer("transformer")
    size = tokens * width
    now = w.input("x", size)
    for _ in range(blocks):
        normed = w.made(now)
        q, k, v = (w.made(normed) for _ in range(3))
        scores = w.made(q, k, size=4 * tokens * tokens)
        weights = w.made(scores)
        attended = w.made(weights, v, size=size)
        now = w.made(now, attended)
        hidden = w.made(w.made(now), size=4 * size)
        now = w.made(now, w.made(w.made(hidden), size=size))
    return w.p.build(now)


def multigrid(levels: int = 6, size: int = 1 << 18) -> Program:
    """A V-cycle: smooth, residual, restrict, and back with corrections."""
    w = Writer("multigrid")
    u, f = w.input("u", size), w.input("f", size)
    stack = []
    for _ in range(levels):
        u = w.made(w.made(u, f), f)
        residual = w.made(u, f)
        stack.append((u, f))
        f = w.made(residual, size=length(residual) // 4)
        u = w.made(f)
    for fine, right in reversed(stack):
        correction = w.made(u, size=length(fine))
        u = w.made(w.made(fine, correction), right)
    return w.p.build(u)


def butterflies(stages: int = 10, size: int = 1 << 16) -> Program:
    """Each stage reads all of the last one into another array, in halves on two streams."""
    w = Writer("butterflies")
    now = w.input("x", size)
    for _ in range(stages):
        new = w.p.alloc(F32, (size,), "t")
        for half in range(2):
            with w.p.stream(half):
                part = w.p.slice(new, 0, half * size // 2, size // 2)
                w.p.launch(SCALE, (size // 2, w.p.slice(now, 0, half * size // 2, size // 2), part), (size // 2,))
        now = new
    return w.p.build(now)


def photograph(size: int = 1 << 18, radius: int = 2) -> Program:
    """The demo: a weighted sum over neighbours, gradients, edges."""
    w = Writer("photograph")
    image = w.input("image", size)
    total, weights = w.made(image), w.made(image)
    for _ in range((2 * radius + 1) ** 2):
        alike = w.made(image)
        weight = w.made(alike)
        total, weights = w.made(total, weight), w.made(weights, weight)
    smooth = w.made(total, weights)
    dx, dy = w.made(smooth), w.made(smooth)
    magnitude = w.made(dx, dy)
    thin = w.made(magnitude, dx, dy)
    return w.p.build(w.made(thin, magnitude))


def tiles(count: int = 16, size: int = 1 << 16, streams: int = 4) -> Program:
    """Parts on streams, each with scratch memory of its own."""
    w = Writer("tiles")
    x = w.input("x", count * size)
    y = w.p.alloc(F32, (count * size,), "y")
    for part in range(count):
        with w.p.stream(part % streams):
            now = w.made(w.p.slice(x, 0, part * size, size))
            for _ in range(3):
                now = w.made(now)
            w.p.copy(w.p.slice(y, 0, part * size, size), now)
    return w.p.build(y)


def residual_network(blocks: int = 12, size: int = 1 << 17) -> Program:
    """Two layers and a shortcut, the size halving every fourth block."""
    w = Writer("residual_network")
    now = w.input("x", size)
    for block in range(blocks):
        target = length(now) // (2 if block % 4 == 3 else 1)
        inner = w.made(w.made(now), size=target)
        now = w.made(w.made(inner), w.made(now, size=target))
    return w.p.build(now)


def runge_kutta(steps: int = 5, size: int = 1 << 16) -> Program:
    """Four slopes a step, each from the last one."""
    w = Writer("runge_kutta")
    u = w.input("u", size)
    for _ in range(steps):
        slopes = [w.made(u)]
        for _ in range(3):
            slopes.append(w.made(w.made(u, slopes[-1])))
        u = w.made(u, *slopes)
    return w.p.build(u)


def backward(layers: int = 10, size: int = 1 << 16) -> Program:
    """Training: what the way forward computed is kept for the way back."""
    w = Writer("backward")
    rng = random.Random(1)
    now, kept = w.input("x", size), []
    for _ in range(layers):
        now = w.made(now, size=size * rng.choice([1, 1, 2, 4]))
        kept.append(now)
        now = w.made(now)
    gradient, updates = w.made(now), []
    for activation in reversed(kept):
        gradient = w.made(gradient, activation, size=length(activation))
        updates.append(w.made(gradient, size=size // 8))
    return w.p.build(gradient, *updates)


def pyramid(levels: int = 7, size: int = 1 << 18) -> Program:
    """Laplacian pyramid: blur and subtract at every level, then put together again."""
    w = Writer("pyramid")
    now, bands = w.input("x", size), []
    for _ in range(levels):
        blurred = w.made(w.made(now))
        bands.append(w.made(now, blurred))
        now = w.made(blurred, size=max(1, length(now) // 4))
    for band in reversed(bands):
        now = w.made(w.made(now, size=length(band)), band)
    return w.p.build(now)


def conjugate_gradient(steps: int = 12, size: int = 1 << 17) -> Program:
    """Four vectors and a few numbers, replaced in every step."""
    w = Writer("conjugate_gradient")
    x, r = w.input("x", size), w.input("b", size)
    direction = w.made(r)
    for _ in range(steps):
        product = w.made(direction)
        alpha = w.made(direction, product, size=1)
        x, r = w.made(x, direction, alpha), w.made(r, product, alpha)
        beta = w.made(r, size=1)
        direction = w.made(r, direction, beta)
    return w.p.build(x)


PROGRAMS: dict[str, Callable[[], Program]] = {
    function.__name__: function  # type: ignore[attr-defined]
    for function in (
        unet,
        transformer,
        multigrid,
        butterflies,
        photograph,
        tiles,
        residual_network,
        runge_kutta,
        backward,
        pyramid,
        conjugate_gradient,
    )
}
