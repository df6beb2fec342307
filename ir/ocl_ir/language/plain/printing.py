"""What `print` writes for numbers of a kernel, in plain Python: the text that devices write."""

from __future__ import annotations

from typing import Any

import numpy as np

from ocl_ir.errors import DTypeError
from ocl_ir.kernel.formats import conversion_of
from ocl_ir.types import F64, I64, U64, from_numpy


def print_(*values: Any, sep: str = " ") -> None:
    """Prints a line of texts and numbers."""
    print(sep.join(map(text_of, values)))


def text_of(value: Any) -> str:
    """A number or a text as an argument of `print` is written, as on devices: floats have six significant digits, and
    bools are 0 and 1."""
    return formatted(value, "") if isinstance(value, bool | float) else format(value)


def formatted(value: Any, specification: str) -> str:
    """A number, or the lanes of a vector in brackets, by a specification. Raises `DTypeError` for one that printf has
    not, or that the number does not take."""
    if isinstance(value, np.ndarray):
        return f"({', '.join(formatted(lane, specification) for lane in value)})"
    if isinstance(value, np.generic):
        dtype = from_numpy(value.dtype)
    elif isinstance(value, float):
        dtype = F64
    else:
        dtype = U64 if specification.endswith(("x", "X")) and value >= 0 else I64
    try:
        text: str = conversion_of(specification, dtype) % value
    except ValueError as error:
        raise DTypeError(str(error), remedy="use a width, and d, x, e, f or g, as in :5d or :.3f") from None
    return text
