"""A case: an expression as people write it, over inputs of a size, and what it has to move and to compute."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ocl_ir.bfloat16 import HELD
from ocl_runtime.commands.bench.data import Data

Arrays = tuple[Any, ...]
Expression = Callable[..., Any]
"""Takes the names of a library (NumPy's names, see `peers.library`) and the inputs; gives an array, or several."""
DTYPES: dict[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "bf16": HELD,
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "u32": np.dtype(np.uint32),
}
REAL = ("f32", "f16", "f64")
ANY = ("f32", "f16", "f64", "i32", "i64", "i8")


def everything(inputs: Arrays, outputs: Arrays) -> int:
    """Bytes of all inputs and outputs, each counted once."""
    return sum(int(x.nbytes) for x in (*inputs, *outputs))


def result_twice(_: Arrays, outputs: Arrays) -> int:
    """Bytes of a result that is read from as many elements as it has."""
    return 2 * sum(int(x.nbytes) for x in outputs)


@dataclass(frozen=True)
class Case:
    """One thing to measure.

    `inputs` makes them for about so many elements of a dtype, by default the first of `dtypes`. `gpu` and `cpu` are the
    default sizes, as powers of two. `operations` is how many the expression does for each element of the first input
    (as written; a function such as a sine counts as one), or all of them by the inputs. `slabs` says that the first
    rows of the result need only the first rows of the inputs, and so on, so that a part of a large result can be
    checked; `along` says more: of each input the axis that goes with the first one of the result, None where all of it
    is needed. `sized` is the title for inputs whose sizes matter.
    """

    key: str
    title: str
    expression: Expression
    inputs: Callable[[Data, int, np.dtype[Any]], Arrays]
    dtypes: tuple[str, ...] = REAL
    gpu: int = 26
    cpu: int = 24
    ceiling: str = "copy"
    moved: Callable[[Arrays, Arrays], int] = everything
    operations: float | Callable[[Arrays], float] = 0.0
    slabs: bool = False
    sized: Callable[[Arrays], str] | None = None
    along: tuple[int | None, ...] = ()
    writes: bool = False
    """Whether the expression writes into its first input, which is also its result."""
    asks: bool = False
    """Whether the host has to know something, such as a length, before all can be enqueued."""
    needs: str = ""
    """A function of the library without which the case cannot be."""
    exact: bool = False
    """Whether the result depends on roundings, so that the reference is computed in the same dtype."""
    strays: float = 0.0
    """The share of elements that may differ, since they hang on one rounding."""
    own: Mapping[str, Expression] = field(default_factory=dict)
    """What users of a peer write instead, by its name."""
    before: Mapping[str, Expression] = field(default_factory=dict)
    """What a peer computes of each set of inputs before it is timed, by its name: what takes their place."""
    racing: Callable[[Arrays, np.ndarray], bool] | None = None
    """Whether a result is one of those that peers without a fixed order may give."""
    products: bool = False
    """Whether the operations are those of products of matrices, for which devices may have instructions that no ceiling
    is measured with, and NumPy nothing fast but for float32 and float64."""
    factor: str = ""
    """As what products are multiplied, by name, where that is not the dtype of the inputs."""
    compiled: bool = False
    """Whether torch's compiler is among the peers by default: it takes long."""

    def work(self, inputs: Arrays) -> float:
        """Operations for such inputs."""
        if callable(self.operations):
            return self.operations(inputs)
        return self.operations * float(inputs[0].size)

    def default_size(self, kind: str) -> int:
        """Elements on a kind of device."""
        return 1 << (self.cpu if kind == "cpu" else self.gpu)


def as_tuple(result: Any) -> Arrays:
    """One result or several as several."""
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def moved_into_order(xp: Any, x: Any) -> Any:
    """The elements of a view, moved to where its axes say: one axis can have them in no other way."""
    return xp.reshape(x, (-1,))


def square(n: int, multiple: int = 1) -> int:
    """The side of a square of about n elements."""
    side = math.isqrt(n)
    return max(multiple, side // multiple * multiple)


def rows(n: int, width: int) -> tuple[int, int]:
    """The shape of about n elements in rows."""
    return max(1, n // width), width
