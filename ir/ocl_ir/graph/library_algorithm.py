"""What an algorithm of the library is to the graph: a name, parameters that are no sizes, and what it gives of which
operands. How it is computed, `ocl_runtime.plan.kernels.custom_call` knows by its type.
"""

from __future__ import annotations

import re
from typing import ClassVar, NamedTuple

from ocl_ir.indices import Shape
from ocl_ir.types import DType


class Typed(NamedTuple):
    """A dtype and a shape."""

    dtype: DType
    shape: Shape


class LibraryAlgorithm:
    """The base of all, which are frozen dataclasses with slots: two are one algorithm if they are equal.

    An algorithm of several results gives one array that has all of them, of which views are taken. All that it is told
    beside its operands is a field of it; sizes are not, they follow from the operands.
    """

    __slots__ = ()

    alignment: ClassVar[int] = 1
    """Bytes that divide where operands begin: others are copied."""
    overwrites: ClassVar[int | None] = None
    """The operand in whose memory the result may be, if nobody else needs it: one of the same dtype and size."""

    @property
    def name(self) -> str:
        """For who reads an expression: `TriangularSolve` is `triangular_solve`."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(self).__name__).lower()

    def result(self, *operands: Typed) -> Typed:
        """What it gives of such operands."""
        raise NotImplementedError
