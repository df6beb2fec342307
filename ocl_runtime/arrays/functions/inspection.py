"""What the array API standard lets programs ask of a namespace: dtypes, devices, what is there at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from ocl_ir.types import C128, F64
from ocl_runtime.arrays.current_runtime import current_executor, executor_for
from ocl_runtime.arrays.meaning import dtypes as all_dtypes
from ocl_runtime.arrays.meaning.dtypes import isdtype


class NamespaceInfo:
    """`__array_namespace_info__()`, for the runtime in use. Its device is the only one: `use` changes it."""

    def capabilities(self) -> dict[str, Any]:
        """Masks as indices and functions whose shape depends on values are there; axes are not limited."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> object:
        """The device of the runtime in use."""
        return current_executor().device

    def devices(self) -> list[object]:
        """The device of the runtime in use."""
        return [current_executor().device]

    def default_dtypes(self, *, device: object = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of what is made without one. Raises `MixedDevicesError` for a device that is not that of the
        runtime in use."""
        real = executor_for(device).default_real
        return {
            "real floating": real.numpy,
            "complex floating": all_dtypes.complex_of(real).numpy,
            "integral": all_dtypes.int64,
            "indexing": all_dtypes.int64,
        }

    def dtypes(self, *, device: object = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of the standard that the device has, by name; of a kind as `isdtype` takes it, if one is given.

        Raises `DTypeError` for a kind that does not exist, `MixedDevicesError` as `default_dtypes` does.
        """
        target = executor_for(device).target
        integers = (f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
        names = ("bool_", *integers, "float32", "float64", "complex64", "complex128")
        dtypes = {name.rstrip("_"): getattr(all_dtypes, name) for name in names}
        return {
            name: dtype
            for name, dtype in dtypes.items()
            if (target.fp64 or dtype not in {F64.numpy, C128.numpy}) and (kind is None or isdtype(dtype, kind))
        }


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807
    """What there is, by the array API standard: dtypes, devices, capabilities.

    >>> __array_namespace_info__().default_dtypes()["integral"]
    dtype('int64')
    """
    return NamespaceInfo()
