"""The steps of a product whose operands go through registers.

While a group multiplies what is in one half of its local memory, the next step is on its way from global memory to
registers, from which it is stored in the other half; one barrier a step is enough. The first step is the one that may
be shorter: so none of the others needs to look.
"""

from __future__ import annotations

from typing import Protocol

from ocl_ir.kernel.operands import Ref
from ocl_runtime.plan.kernels.body import Body
from ocl_runtime.plan.kernels.products.stage import Stage


class Fragments(Protocol):
    """What a work-item has of the tile."""

    def multiply(self, half: Ref) -> None:
        """Adds the products of a step."""

    def store_band(self, band: int, local: Ref) -> None:
        """Stores the sums of a band in local memory."""


class Pipeline:
    """The steps, and what a work-item has of the tile."""

    def __init__(self, body: Body, inner: int, left: Stage, right: Stage, fragments: Fragments) -> None:
        self._body, self._inner = body, inner
        self._left, self._right = left, right
        self.store_band = fragments.store_band
        self._fragments = fragments

    def go_along(self, begin: Ref, count: Ref) -> None:
        """Adds up the products of `count` places of the inner axis."""
        k, inner = self._body.k, self._inner
        steps = k.op("udiv", count + (inner - 1), self._body.const(inner), hint="steps")
        ragged = k.let(count - (steps - 1) * inner, "ragged")
        both = self._left, self._right
        for stage in both:
            stage.fetch(begin, ragged)
        for stage in both:
            stage.deposit(0)
        k.barrier()
        with k.for_(0, steps, dtype=self._body.index, hint="step") as step:
            more = step + 1 < steps
            with k.if_(more):
                following = k.let(begin + ragged + step * inner, "next")
                for stage in both:
                    stage.fetch(following)
            self._fragments.multiply(step & 1)
            with k.if_(more):
                for stage in both:
                    stage.deposit((step + 1) & 1)
            k.barrier()
