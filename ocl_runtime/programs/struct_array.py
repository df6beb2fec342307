"""Arrays of structs, as reductions give them and kernels in OpenCL C take them: bytes on the device.

    pairs = StructArray(np.zeros(10, pair))
    pairs.numpy()["value"]

Functions and operators do not take them. The bytes are an array with an axis more, so that launches over them are
ordered, captured and timed as over any other.
"""

from __future__ import annotations

import math
import reprlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ocl_ir.layout import Layout
from ocl_ir.source_line import calling_line
from ocl_ir.types import U8, DType
from ocl_runtime.arrays import Array, asarray
from ocl_runtime.arrays.functions.transfers import allocated
from ocl_runtime.errors import DTypeError, SharingError
from ocl_runtime.programs.structs import Struct

if TYPE_CHECKING:
    from ocl_runtime.plan.executor import Executor


class StructArray:
    """An array of structs on the device, made of the values of a NumPy array. The dtype has its name in C from
    `ocl.tools.get_or_register_dtype`. Raises as `Struct.of` does.

    StructArray(np.zeros(10, ocl.tools.get_or_register_dtype("pair", [("value", "f4"), ("index", "i4")])))
    """

    __slots__ = ("_memory", "_struct")

    def __init__(self, values: NDArray[Any]) -> None:
        values = np.asarray(values)
        self._struct = Struct.of(values.dtype)
        flat = np.ascontiguousarray(values.reshape(-1))
        self._memory = asarray(flat.view(np.uint8).reshape(*values.shape, self._struct.size))

    @classmethod
    def over(cls, memory: Array, struct: Struct) -> StructArray:
        """The structs that an array of bytes holds along its last axis."""
        made = cls.__new__(cls)
        made._memory, made._struct = memory, struct
        return made

    @property
    def memory(self) -> Array:
        """The bytes, those of a struct along the last axis."""
        return self._memory

    @property
    def struct(self) -> Struct:
        """What its elements are."""
        return self._struct

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements, as NumPy's."""
        return self._struct.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self._memory.shape[:-1]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._memory.ndim - 1

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._memory.nbytes

    @property
    def device(self) -> object:
        """The device that the array is on."""
        return self._memory.device

    def copy(self) -> StructArray:
        """A copy, which keeps these values whatever is written here."""
        return StructArray.over(self._memory.copy(), self._struct)

    def numpy(self) -> NDArray[Any]:
        """The values as a new structured array of NumPy's."""
        return self._memory.numpy().reshape(-1).view(self.dtype).reshape(self.shape)

    def get(self) -> NDArray[Any]:
        """The same, as PyOpenCL and CuPy call it."""
        return self.numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The same, by NumPy's protocol. Raises `SharingError` for `copy=False`."""
        if copy is False:
            raise SharingError(
                "NumPy asks for structs of a device without a copy",
                place=calling_line(),
                remedy="copy them: x.numpy()",
            )
        return self.numpy() if dtype is None else self.numpy().astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"<StructArray of {self._struct.name}, shape {self.shape}>"


def new_memory(type_: DType | Struct, shape: tuple[int, ...], executor: Executor) -> Array:
    """Memory with undefined values for numbers, or for structs as bytes."""
    dtype, shape = (U8, (*shape, type_.size)) if isinstance(type_, Struct) else (type_, shape)
    return allocated(dtype, Layout.contiguous(shape), executor)


def result_in(memory: Array, struct: Struct | None) -> Array | StructArray:
    """What a user gets for memory that holds numbers or structs."""
    return memory if struct is None else StructArray.over(memory, struct)


def memory_of(kernel: str, parameter: str, struct: Struct | str, argument: object) -> Array:
    """The bytes of an argument for a parameter that points to a struct, of which perhaps only the name is known. Raises
    `DTypeError` for anything but an array of that struct."""
    name = struct.name if isinstance(struct, Struct) else struct
    if not isinstance(argument, StructArray):
        raise DTypeError(
            f"kernel {kernel} got {reprlib.repr(argument)} for {parameter}, which takes an array of struct {name}",
            place=calling_line(),
            remedy="make one of a structured array of NumPy's: ocl.tools.StructArray(values)",
        )
    if argument.struct.name != name or (isinstance(struct, Struct) and argument.dtype != struct.dtype):
        raise DTypeError(
            f"kernel {kernel} got an array of struct {argument.struct.name}, {argument.dtype}, for {parameter}, which "
            f"points to struct {name}{f', {struct.dtype}' if isinstance(struct, Struct) else ''}",
            place=calling_line(),
            remedy="give an array of that struct, or declare the kernel for this one",
        )
    return argument.memory
