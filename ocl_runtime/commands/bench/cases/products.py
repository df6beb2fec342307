"""Products of matrices: squares, odd, flat, tall and turned ones, batches, and what networks make of a product.

The sizes that --list shows are those on a GPU. For fewer elements, batches become smaller first, then sides, which keep
what is odd about them.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ocl_runtime.commands.bench.case import Arrays, Case, Expression
from ocl_runtime.commands.bench.cases.reductions import softmax
from ocl_runtime.commands.bench.data import Data

_CPU_WORK = 2**31
"""Operations of a case on a CPU, about."""
_LEAST_SIDE = 8


@dataclass(frozen=True)
class Sizes:
    """`batch` products of (m, k) and (k, n). `turned`: which operands lie transposed in memory; `shared`: whether the
    right matrix is the same for all."""

    m: int
    n: int
    k: int
    batch: int = 1
    turned: str = ""
    shared: bool = False

    @property
    def elements(self) -> int:
        """Of both operands."""
        return self.k * (self.batch * self.m + (1 if self.shared else self.batch) * self.n)

    @property
    def operations(self) -> float:
        """Multiplications and additions."""
        return 2.0 * self.batch * self.m * self.n * self.k

    @property
    def default(self) -> int:
        """The power of two that is nearest to the elements."""
        return max(10, round(math.log2(self.elements)))

    @property
    def cpu(self) -> int:
        """The same for a CPU."""
        more = max(0.0, math.log2(self.operations / _CPU_WORK))
        # A quarter of the elements is half of each side.
        return max(10, self.default - (math.ceil(more) if self.batch > 1 else 2 * math.ceil(more / 3)))

    def scaled(self, elements: int) -> Sizes:
        """For about so many elements: more or fewer products, or a larger or smaller one where there is one."""
        share = elements / 2**self.default
        if share == 1:
            return self
        batch = self.batch if self.shared or self.batch == 1 else max(1, round(self.batch * share))
        side = math.sqrt(share * self.batch / batch)
        m, n, k = (_scaled(length, side) for length in (self.m, self.n, self.k))
        return replace(self, m=m, n=n, k=k, batch=batch)

    def of(self, inputs: Arrays) -> Sizes:
        """Those of such inputs."""
        left, right = inputs[0].shape, inputs[1].shape
        m, k = left[-2:][:: -1 if "a" in self.turned else 1]
        return replace(self, m=m, n=right[-2 if "b" in self.turned else -1], k=k, batch=math.prod(left[:-2]))

    def __str__(self) -> str:
        """Rows, columns and the inner axis."""
        batch = f"{self.batch} of " if self.batch > 1 else ""
        sides = f"{self.m}³" if self.m == self.n == self.k else f"{self.m} × {self.n} × {self.k}"
        return f"{batch}{sides}{', one b' if self.shared else ''}"

    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Of both operands as they lie in memory."""
        front = (self.batch,) if self.batch > 1 else ()
        left = (self.k, self.m) if "a" in self.turned else (self.m, self.k)
        right = (self.n, self.k) if "b" in self.turned else (self.k, self.n)
        return front + left, right if self.shared else front + right

    @property
    def rows(self) -> tuple[int | None, int | None]:
        """The axes of both operands that go with the first one of the result."""
        if self.batch > 1:
            return 0, None if self.shared else 0
        return (1 if "a" in self.turned else 0), None


def _scaled(length: int, share: float) -> int:
    """What is left over by eight stays; a length of 64 or less, too, unless others become far shorter."""
    least = min(length, _LEAST_SIDE)
    return length if length <= 64 and share > 1 / 8 else max(least, int(length // 8 * share) * 8 + length % 8)


def _product(turned: str) -> Expression:
    def expression(xp: Any, a: Any, b: Any) -> Any:
        left = xp.swapaxes(a, -1, -2) if "a" in turned else a
        return left @ (xp.swapaxes(b, -1, -2) if "b" in turned else b)

    return expression


def _matrices(sizes: Sizes) -> Any:
    def inputs(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
        left, right = sizes.scaled(n).shapes()
        return data.real(dtype, *left, low=-1.0), data.real(dtype, *right, low=-1.0)

    return inputs


def _case(key: str, title: str, sizes: Sizes, dtype: str = "f32", **more: Any) -> Case:
    fields: dict[str, Any] = {
        "expression": _product(sizes.turned),
        "inputs": _matrices(sizes),
        "operations": lambda inputs: sizes.of(inputs).operations,
        "along": sizes.rows,
        "cpu": sizes.cpu,
        **more,
    }
    return Case(
        f"matmul-{key}" if dtype == "f32" else f"matmul-{key}-{dtype}",
        f"{title}, {sizes}",
        sized=lambda inputs: f"{title}, {sizes.of(inputs)}",
        dtypes=(dtype,),
        gpu=sizes.default,
        products=True,
        **fields,
    )


# ---------------------------------------------------------------------- what networks make of products


def gelu(xp: Any, x: Any, w: Any, b: Any) -> Any:
    """A dense layer with Gaussian error linear units."""
    y = x @ w + b
    return y * 0.5 * (xp.erf(y * math.sqrt(0.5)) + 1)


def _layer(sizes: Sizes) -> Any:
    """Weights so small that units are about 1."""

    def inputs(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
        left, right = sizes.scaled(n).shapes()
        most = 3 / math.sqrt(left[-1])
        weights = data.real(dtype, *right, low=-most, high=most)
        return data.real(dtype, *left, low=-1.0), weights, data.real(dtype, right[-1], low=-1.0)

    return inputs


def _masked(sizes: Sizes) -> Any:
    def inputs(data: Data, n: int, dtype: np.dtype[Any]) -> Arrays:
        x, w, _ = _layer(sizes)(data, n, dtype)
        shape = len(x), w.shape[-1]
        return x, w, data.mask(0.9, *shape), data.real(dtype, *shape, low=-1.0)

    return inputs


def _attention(xp: Any, q: Any, k: Any) -> Any:
    """How much each position looks at each other one."""
    return softmax(xp, q @ xp.swapaxes(k, -1, -2))


def _in_tf32(xp: Any, a: Any, b: Any) -> Any:
    """A product in tf32, of who has that; of all others in float32."""
    with xp.precision("tf32") if hasattr(xp, "precision") else nullcontext():
        return a @ b


def _torchs_in_tf32(torch: Any, a: Any, b: Any) -> Any:
    """The same by torch's own choice."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        return a @ b
    finally:
        torch.set_float32_matmul_precision(before)


_TORCHS_TF32 = {"torch": _torchs_in_tf32}
_TORCHS_GELU = {"torch": lambda xp, x, w, b: xp.nn.functional.gelu(xp.addmm(b, x, w))}
_TORCHS_SOFTMAX = {"torch": lambda xp, q, k: xp.softmax(q @ k.mT, -1)}
_LAYER, _HEADS = Sizes(4096, 4096, 4096), Sizes(1024, 1024, 64, 64, "b")


def _squares(*sides: int, dtype: str = "f32") -> list[Case]:
    """Each of its own size on CPUs, too: a quarter of the side."""
    squares = (Sizes(side, side, side) for side in sides)
    return [_case(str(each.m), "a @ b", each, dtype, cpu=each.default - 4) for each in squares]


def _of(key: str, sizes: Sizes) -> Case:
    name = {"": "a @ b", "a": "aᵀ @ b", "b": "a @ bᵀ", "ab": "aᵀ @ bᵀ"}[sizes.turned]
    return _case(key, name, sizes)


CASES = (
    *_squares(512, 1024, 2048, 4096, 8192),
    _of("4097", Sizes(4097, 4097, 4097)),
    _of("1000", Sizes(1000, 1000, 1000)),
    _of("batch-512", Sizes(512, 512, 512, 64)),
    _of("batch-64", Sizes(64, 64, 64, 1024)),
    _of("tall-turned", Sizes(512, 512, 65536, turned="a")),
    _of("right-turned", Sizes(4096, 4096, 4096, turned="b")),
    _of("both-turned", Sizes(4096, 4096, 4096, turned="ab")),
    _of("few-rows", Sizes(16, 4096, 4096)),
    _of("few-columns", Sizes(4096, 16, 4096)),
    _of("outer", Sizes(8192, 8192, 64)),
    _of("wide", Sizes(300, 20000, 300)),
    _of("long", Sizes(128, 128, 65536)),
    _of("2047", Sizes(2047, 2048, 2049)),
    _of("odd", Sizes(33, 1025, 4097)),
    _of("batch-turned", Sizes(128, 128, 128, 256, "b")),
    _of("tall", Sizes(10000, 100, 100)),
    _of("100", Sizes(100, 10000, 100)),
    _of("row", Sizes(1, 4096, 4096)),
    _of("column", Sizes(4096, 1, 4096)),
    _of("one-right", Sizes(1024, 1024, 1024, 3, shared=True)),
    *_squares(1024, 2048, 4096, dtype="f64"),
    *_squares(1024, 2048, 4096, 8192, dtype="f16"),
    *_squares(1024, 2048, 4096, 8192, dtype="bf16"),
    *(
        _case(f"{side}-tf32", "a @ b in tf32", square, cpu=square.default - 4, expression=_in_tf32, factor="tf32",
              own=_TORCHS_TF32)
        for side in (1024, 2048, 4096, 8192) for square in [Sizes(side, side, side)]
    ),
    *(
        case
        for dtype in ("f32", "f16")
        for case in (
            _case("gelu", "gelu(x @ w + b)", _LAYER, dtype, expression=gelu, inputs=_layer(_LAYER),
                  along=(0, None, None), own=_TORCHS_GELU),
            _case("mask", "(x @ w) * mask + r", _LAYER, dtype, inputs=_masked(_LAYER), along=(0, None, 0, 0),
                  expression=lambda _, x, w, mask, r: (x @ w) * mask + r),
            _case("softmax", "softmax(q @ kᵀ)", _HEADS, dtype, expression=_attention,
                  own=_TORCHS_SOFTMAX),
        )
    ),
)  # fmt: skip
