"""What a parameter's annotation says: an array of a rank and a dtype, a number of a dtype, or a constant.

    def scale(x: Array2[np.float32], factor: float32, width: Constant[int] = 8): ...

What is not annotated takes whatever the call has.
"""

from __future__ import annotations

import inspect
import operator
from dataclasses import dataclass
from types import FunctionType
from typing import Any, get_type_hints

import numpy as np

from ocl_ir.errors import DTypeError
from ocl_ir.guards import Backed
from ocl_ir.source_line import calling_line
from ocl_ir.types import DType, from_numpy
from ocl_runtime.arrays import Array as ArrayOfCall


@dataclass(frozen=True, slots=True)
class ArrayAnnotation:
    """An array; `rank` and `dtype` are None where any is taken. `Array2[np.float32]` has one of float32."""

    rank: int | None = None
    dtype: DType | None = None

    def __getitem__(self, dtype: Any) -> ArrayAnnotation:
        return ArrayAnnotation(self.rank, from_numpy(dtype))

    def __call__(self) -> None:
        """Annotations are callable for those who look at types."""


@dataclass(frozen=True, slots=True)
class ConstantAnnotation:
    """A value that is known while the kernel is translated, and a part of what it is known by; `Constant[int]`."""

    python_type: type | None = None

    def __getitem__(self, python_type: type) -> ConstantAnnotation:
        return ConstantAnnotation(python_type)

    def __call__(self) -> None:
        """Annotations are callable for those who look at types."""


@dataclass(frozen=True, slots=True)
class NumberAnnotation:
    """A number that is converted to a dtype."""

    dtype: DType


Annotation = ArrayAnnotation | ConstantAnnotation | NumberAnnotation | None


def constant_value(what: str, parameter: str, value: Any, annotation: ConstantAnnotation) -> Any:
    """An argument of a parameter that is a constant; NumPy's integers and sizes of a captured function are ints. Raises
    `DTypeError` for one of another type."""
    if isinstance(value, np.integer | Backed):
        value = operator.index(value)
    if annotation.python_type is not None and not isinstance(value, annotation.python_type):
        raise DTypeError(
            f"{what} got {argument_text(value)} for {parameter}, which takes a constant "
            f"{annotation.python_type.__name__}",
            place=calling_line(),
            remedy="pass one",
        )
    return value


def argument_text(value: Any) -> str:
    """An argument in an error, which computes no elements of arrays."""
    what = f"an array of {value.dtype}, shape {value.shape}" if isinstance(value, ArrayOfCall) else f"{value!r}"
    return what if len(what) <= 60 else f"a {type(value).__module__}.{type(value).__name__}"


def annotations_of(function: FunctionType) -> dict[str, Annotation]:
    """The annotations of a kernel's parameters. Raises `DTypeError` for what is none."""
    annotations: dict[str, Annotation] = {}
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise undefined(function, error) from None
    for name in inspect.signature(function).parameters:
        if name in hints:
            annotations[name] = _annotation(function, name, hints[name])
    return annotations


def undefined(function: FunctionType, error: NameError) -> DTypeError:
    """What to say of an annotation with a name that does not exist."""
    return DTypeError(
        f"an annotation of {function.__name__} names {error.name!r}, which nobody has defined",
        place=f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}",
        remedy="import it: from ocl_runtime.language import Array1, Constant, float32",
    )


def _annotation(function: FunctionType, name: str, hint: Any) -> Annotation:
    if isinstance(hint, ArrayAnnotation | ConstantAnnotation):
        return hint
    if hint in {Any, int, float, object}:
        return None
    if hint is bool or isinstance(hint, np.dtype) or (isinstance(hint, type) and issubclass(hint, np.generic)):
        return NumberAnnotation(from_numpy(hint))
    raise DTypeError(
        f"the parameter {name} of {function.__name__} is annotated with {hint!r}",
        place=f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}",
        remedy="use Array1[np.float32] and the like, a dtype for a number, or Constant[int]",
    )


Array = ArrayAnnotation()
Array1, Array2, Array3, Array4 = (ArrayAnnotation(rank) for rank in (1, 2, 3, 4))
Constant = ConstantAnnotation()
