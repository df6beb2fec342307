"""Numbers as kernels in OpenCL C take them: converted to the parameter's type, if that holds them."""

from __future__ import annotations

import math
import reprlib
from typing import Any

import numpy as np

from ocl_ir.guards import Backed
from ocl_ir.reals import Real
from ocl_ir.source_line import calling_line
from ocl_ir.types import DType
from ocl_runtime.errors import DTypeError, NumberRangeError


def converted(kernel: str, name: str, dtype: DType, number: Any) -> Any:
    """A number of Python's or NumPy's as one of a dtype; sizes and floats of a captured function keep their formula.

    Raises `DTypeError` for what is no number, and for a float where an integer is taken; `NumberRangeError` for one
    that the dtype does not hold.
    """
    if isinstance(number, np.ndarray) and not number.shape:
        number = number[()]
    if type(number) is Real and dtype.is_float:
        return number
    if type(number) is Backed and dtype.is_integer:
        return number
    number = number.item() if isinstance(number, np.generic) else number
    if not isinstance(number, bool | int | float | Backed) or (isinstance(number, float) and not dtype.is_float):
        raise DTypeError(
            f"kernel {kernel} got {reprlib.repr(number)} for {name}, which takes a number of {dtype.public}",
            place=calling_line(),
            remedy="give a number; of an array of one element, float(x) or int(x)",
        )
    if dtype.is_float:
        value = float(number)
        with np.errstate(over="ignore"):
            fits = math.isinf(value) or not np.isinf(dtype.numpy.type(value))
    else:
        value = int(number)
        fits = np.iinfo(dtype.numpy).min <= value <= np.iinfo(dtype.numpy).max
    if not fits:
        raise NumberRangeError(
            f"kernel {kernel} got {number!r} for {name}, which is out of range for {dtype.public}",
            place=calling_line(),
            remedy="use a smaller number, or a wider parameter",
        )
    return value
