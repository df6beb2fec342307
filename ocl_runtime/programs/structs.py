"""Structs of OpenCL C as NumPy's structured dtypes of the same layout.

    pair = named("pair", np.dtype([("value", "f4"), ("index", "i4")]))
    Struct.of(pair).name

The name in C is kept in the metadata of the dtype, so nothing has to be registered anywhere. A scalar in a struct lies
at a multiple of its size, and the struct is as long as a multiple of its largest scalar: OpenCL C says so for every
device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ocl_ir.kernel.names import KEYWORDS, function_name
from ocl_ir.source_line import calling_line
from ocl_ir.types import DType, from_numpy
from ocl_runtime.errors import DTypeError, Error

_C_NAME = "c_name"


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct of scalars: its name in C and its dtype in NumPy."""

    name: str
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, dtype: Any) -> Struct:
        """The struct that a dtype has the name of. Raises `DTypeError` for a dtype without a name, and what `named`
        raises."""
        numpy_dtype = np.dtype(dtype)
        name = c_name(numpy_dtype)
        if not name:
            raise DTypeError(
                f"dtype {numpy_dtype} has no name in C",
                place=calling_line(),
                remedy='name it: dtype = ocl.tools.get_or_register_dtype("pair", dtype)',
            )
        return cls(name, named(name, numpy_dtype))

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def fields(self) -> list[tuple[str, DType]]:
        """The fields in their order, with their types."""
        return _fields(self.name, self.dtype)

    @property
    def align(self) -> int:
        """The bytes of which every address of an element is a multiple."""
        return max(dtype.size for _, dtype in self.fields)


def c_name(dtype: np.dtype[Any]) -> str:
    """The name in C that a dtype carries; nothing where it has none."""
    return "" if dtype.metadata is None else str(dtype.metadata.get(_C_NAME, ""))


def named(name: str, dtype: Any) -> np.dtype[Any]:
    """A structured dtype with a name in C. Raises `Error` for what cannot be a name there, `DTypeError` for fields that
    are no scalars of a device and for a layout that is not that of C."""
    numpy_dtype, laid_out = np.dtype(dtype), in_c_layout(name, dtype)
    if _layout(numpy_dtype) != _layout(laid_out):
        offsets, itemsize = _layout(numpy_dtype)
        c_offsets, c_itemsize = _layout(laid_out)
        raise DTypeError(
            f"struct {name} has its fields at the bytes {_listed(offsets)} of {itemsize} in NumPy, and at "
            f"{_listed(c_offsets)} of {c_itemsize} in C",
            place=calling_line(),
            remedy="lay it out as C does: np.dtype(…, align=True)",
        )
    metadata = {**(numpy_dtype.metadata or {}), _C_NAME: name}
    return np.dtype(numpy_dtype, metadata=metadata)  # type: ignore[no-any-return]


def in_c_layout(name: str, dtype: Any) -> np.dtype[Any]:
    """A dtype with the fields of another one where C puts them, and a name. Raises as `named`, but takes any layout."""
    if function_name(name) != name:
        raise _unfit("struct", name)
    fields = _fields(_checked(name, "struct"), np.dtype(dtype))
    offsets: list[int] = []
    end = 0
    for _, type_ in fields:
        offsets.append(_rounded_up(end, type_.size))
        end = offsets[-1] + type_.size
    parts = {
        "names": [field for field, _ in fields],
        "formats": [type_.numpy for _, type_ in fields],
        "offsets": offsets,
        "itemsize": _rounded_up(end, max(type_.size for _, type_ in fields)),
    }
    return np.dtype(parts, metadata={_C_NAME: name})  # type: ignore[call-overload,no-any-return]


def _fields(name: str, dtype: np.dtype[Any]) -> list[tuple[str, DType]]:
    if not dtype.names:
        raise DTypeError(
            f"struct {name} is made of {dtype}, which has no fields",
            place=calling_line(),
            remedy='use a structured dtype: np.dtype([("value", "f4"), ("index", "i4")])',
        )
    return [(_checked(field, f"field of {name}"), _scalar(name, field, dtype[field])) for field in dtype.names]


def _scalar(name: str, field: str, dtype: np.dtype[Any]) -> DType:
    try:
        scalar, remedy = from_numpy(dtype), "use two fields, of the real and the imaginary part"
    except DTypeError as error:
        scalar, remedy = None, error.remedy
    if scalar is None or scalar.is_complex:
        raise DTypeError(
            f"struct {name} has a field {field} of {dtype}, which is no scalar of a device",
            place=calling_line(),
            remedy=remedy,
        )
    return scalar


def _checked(name: str, what: str) -> str:
    if not name.isidentifier() or not name.isascii() or name in KEYWORDS:
        raise _unfit(what, name)
    return name


def _unfit(what: str, name: str) -> Error:
    return Error(
        f"a {what} cannot be called {name!r} in OpenCL C",
        place=calling_line(),
        remedy="use letters, digits and underscores, and no word that OpenCL C has",
    )


def _layout(dtype: np.dtype[Any]) -> tuple[list[int], int]:
    """The offsets of all fields, and the bytes of an element."""
    assert dtype.names is not None
    assert dtype.fields is not None
    return [int(dtype.fields[name][1]) for name in dtype.names], dtype.itemsize


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _rounded_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
