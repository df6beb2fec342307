"""Attention and its gradients: long rows, several batches, grouped queries, lengths that are odd, a mask.

The sizes that --list shows are those on a GPU, of all inputs. For fewer elements, batches become smaller first, then
heads, then rows. Inputs vary by 1, as behind a norm, so that scores do, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ocl_runtime.commands.bench.case import Arrays, Case, Expression
from ocl_runtime.commands.bench.data import Data

_CPU_WORK = 2**31
"""Operations of a case on a CPU, about."""
_MOST = math.sqrt(3)
"""Uniform numbers up to it vary by 1."""


@dataclass(frozen=True)
class Heads:
    """So many rows of some length for each head, all queries, keys and values; `key_heads`, 0 for as many as heads, are
    shared by heads in a row."""

    heads: int
    rows: int
    length: int
    batch: int = 0
    key_heads: int = 0
    causal: bool = False
    masked: bool = False

    @property
    def elements(self) -> int:
        """Of queries, keys and values."""
        return max(1, self.batch) * (self.heads + 2 * (self.key_heads or self.heads)) * self.rows * self.length

    @property
    def operations(self) -> float:
        """Multiplications and additions of both products; where they are causal, of what is seen."""
        every = 4.0 * max(1, self.batch) * self.heads * self.rows**2 * self.length
        return every / 2 if self.causal else every

    @property
    def default(self) -> int:
        """The power of two that is nearest to the elements."""
        return max(10, round(math.log2(self.elements)))

    @property
    def cpu(self) -> int:
        """The same for a CPU."""
        more = max(0, math.ceil(math.log2(self.operations / _CPU_WORK)))
        fronts = math.floor(math.log2(max(1, self.batch) * (self.key_heads or self.heads)))
        # Work falls with elements as long as there are batches and heads, then with their square.
        return max(10, self.default - (more if more <= fronts else fronts + math.ceil((more - fronts) / 2)))

    def scaled(self, elements: int) -> Heads:
        """For about so many elements."""
        share = elements / 2**self.default
        batch = max(1, round(self.batch * share)) if self.batch else 0
        share *= self.batch / batch if batch else 1
        of_keys = self.key_heads or self.heads
        key_heads = max(1, round(of_keys * share))
        share *= of_keys / key_heads
        rows = self.rows if share == 1 else max(8, round(self.rows // 8 * share) * 8 + self.rows % 8)
        heads = key_heads * (self.heads // of_keys)
        return replace(self, batch=batch, heads=heads, key_heads=key_heads if self.key_heads else 0, rows=rows)

    def of(self, inputs: Arrays) -> Heads:
        """Those of such inputs."""
        *batch, heads, rows, length = inputs[0].shape
        key_heads = inputs[1].shape[-3] if self.key_heads else 0
        return replace(self, heads=heads, rows=rows, length=length, batch=math.prod(batch) if batch else 0,
                       key_heads=key_heads)  # fmt: skip

    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Of queries, and of keys and values."""
        front = (self.batch,) if self.batch else ()
        of_keys = self.key_heads or self.heads
        return (*front, self.heads, self.rows, self.length), (*front, of_keys, self.rows, self.length)

    def __str__(self) -> str:
        """Batches × heads × rows × their length, and what is special."""
        sizes = (*([self.batch] if self.batch else []), self.heads, self.rows, self.length)
        words = [" × ".join(map(str, sizes))]
        words += [f"{self.key_heads} key heads"] if self.key_heads else []
        words += ["causal"] if self.causal else ["mask"] if self.masked else []
        return ", ".join(words)


def _inputs(heads: Heads, *, gradient: bool = False) -> Any:
    def inputs(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
        sizes = heads.scaled(n)
        of_queries, of_keys = sizes.shapes()
        shapes = [of_queries, of_keys, of_keys, *([of_queries] if gradient else [])]
        made = tuple(data.real(dtype, *shape, low=-_MOST, high=_MOST) for shape in shapes)
        return (*made, data.mask(0.9, sizes.rows, sizes.rows)) if heads.masked else made

    return inputs


def _batched(x: Any, heads: Heads) -> Any:
    """With an axis for batches, without which torch has no kernel of its own."""
    return x if heads.batch else x[None]


def _by_torch(heads: Heads) -> Expression:
    def expression(xp: Any, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        found = xp.nn.functional.scaled_dot_product_attention(
            *(_batched(x, heads) for x in (q, k, v)),
            attn_mask=mask,
            is_causal=heads.causal,
            enable_gqa=bool(heads.key_heads),
        )
        return found if heads.batch else found[0]

    return expression


def _torchs_backward(heads: Heads) -> tuple[Mapping[str, Expression], Mapping[str, Expression]]:
    """What torch computes of the inputs before it is timed, and then."""

    def forward(xp: Any, q: Any, k: Any, v: Any, gradient: Any) -> Arrays:
        leaves = tuple(x.requires_grad_() for x in (q, k, v))
        return _by_torch(heads)(xp, *leaves), *leaves, gradient

    def backward(xp: Any, result: Any, q: Any, k: Any, v: Any, gradient: Any) -> Any:
        return xp.autograd.grad(result, (q, k, v), gradient, retain_graph=True)

    return {"torch": forward}, {"torch": backward}


def _case(key: str, heads: Heads, dtype: str) -> Case:
    def expression(xp: Any, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        return xp.attention(q, k, v, mask=mask, causal=heads.causal)

    return Case(
        f"attention-{key}-{dtype}",
        f"attention, {heads}",
        expression,
        _inputs(heads),
        (dtype,),
        heads.default,
        heads.cpu,
        operations=lambda inputs: heads.of(inputs).operations,
        along=(0, 0, 0, *([None] if heads.masked else [])),
        sized=lambda inputs: f"attention, {heads.of(inputs)}",
        own={"torch": _by_torch(heads)},
        products=True,
    )


def _gradients(key: str, heads: Heads, dtype: str) -> Case:
    title = "gradients of attention (torch: backward alone)"

    def expression(xp: Any, q: Any, k: Any, v: Any, gradient: Any) -> Any:
        return xp.attention_gradients(q, k, v, gradient, causal=heads.causal)

    before, own = _torchs_backward(heads)
    return Case(
        f"attention-gradients-{key}-{dtype}",
        f"{title}, {heads}",
        expression,
        _inputs(heads, gradient=True),
        (dtype,),
        heads.default,
        # Five products, not two.
        max(10, heads.cpu - 1),
        operations=lambda inputs: 2.5 * heads.of(inputs).operations,
        along=(0, 0, 0, 0),
        sized=lambda inputs: f"{title}, {heads.of(inputs)}",
        before=before,
        own=own,
        products=True,
    )


_LONG = Heads(16, 4096, 128)

CASES = (
    _case("long", _LONG, "bf16"),
    _case("causal", replace(_LONG, causal=True), "bf16"),
    _gradients("long", _LONG, "bf16"),
    _gradients("causal", replace(_LONG, causal=True), "bf16"),
    _case("batch", Heads(16, 2048, 64, batch=4, causal=True), "f16"),
    _case("grouped", Heads(32, 4096, 128, key_heads=8, causal=True), "f16"),
    _case("odd", Heads(8, 1000, 128, batch=2), "f16"),
    _case("short", Heads(8, 1024, 64), "f32"),
    _case("mask", Heads(16, 2048, 64, masked=True), "f16"),
)
