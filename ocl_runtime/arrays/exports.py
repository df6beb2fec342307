"""What others get of the values of an array: NumPy arrays, Python's numbers, DLPack, PyOpenCL's arrays. All of it
computes the array first, and all but the last waits for it."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ocl_ir.bfloat16 import shown
from ocl_ir.graph.build import Buffer
from ocl_ir.source_line import calling_line
from ocl_runtime.arrays.core import ArrayCore, until_planned
from ocl_runtime.arrays.dlpack import CPU
from ocl_runtime.arrays.elements import settled_if_planned
from ocl_runtime.arrays.reals import base_executor
from ocl_runtime.arrays.values import capsule, lent, uncopied
from ocl_runtime.errors import DTypeError, RankError, ShapeError
from ocl_runtime.plan.donation import is_lent, references
from ocl_runtime.plan.evaluate import Missing
from ocl_runtime.plan.registry import alone
from ocl_runtime.plan.tracing import tracer


class Exports(ArrayCore):
    """The values of an array."""

    __slots__ = ()

    def _read(self) -> Buffer:
        """The array, computed, with no place behind it that the checks know to be wrong."""
        self._report_indices()
        return self._computed()

    def numpy(self) -> NDArray[Any]:
        """The values as a new NumPy array of the same shape and dtype. Those of bfloat16 have the dtype of the package
        `ml_dtypes` where that is installed, else float32."""
        return shown(self._held())

    def _held(self) -> NDArray[Any]:
        """The values as they lie in memory."""
        return self._copied(self._read())

    def to_numpy(self) -> NDArray[Any]:
        """The same as `numpy`, by the name that pandas gave it: matplotlib and others ask for it."""
        return self.numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The values, by NumPy's protocol: a copy, or for `copy=False` a view in place that is to be read only. Raises
        `SharingError` (a ValueError) for that on a device with memory of its own, for another dtype, and while PyOpenCL
        may write there."""
        if copy is False:
            return uncopied(self._read(), self._executor, dtype)
        return self.numpy() if dtype is None else self.numpy().astype(dtype, copy=False)

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of the values on the host, by the array API standard: `numpy.from_dlpack(x)` and the like.

        Where the device shares the host's memory and the taker knows of DLPack 1, that is the device's memory, to be
        read only, unless `copy` is True; else a copy. Raises `SharingError` (a BufferError) for a stream, for another
        device than the host, and where `copy` is False but one is needed.
        """
        return capsule(self._read(), self._executor, self._copied, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The host, as DLPack names it: that is where `__dlpack__` gives the values."""
        return CPU

    def to_pyopencl(self, queue: Any = None) -> Any:
        """A `pyopencl.array.Array` over the memory of this array, which is computed first; without a copy where nobody
        else needs that memory.

        It may be written to, which the array and its views see, and so does what is made of them later. Copies,
        elements and expressions of before do not, nor NumPy's views in place: as long as any of them is there, the
        array gets a copy of its memory first. An element that was read with integers is always copied.

        The PyOpenCL array keeps the memory, which is shared with `queue` (by default `Runtime.queue`) until the last
        one over it is gone: on the device, each command of ours on it comes after all that the queue was given before,
        and before all that it is given later. Other queues are ordered with it by events. Kernels of the user's take
        `base_data` and `offset`. Of bfloat16, which PyOpenCL lacks, the elements are the bits, as uint16.

        Raises `DeviceError` for an out-of-order queue, `MixedDevicesError` for one of another context (see
        `Runtime.over`), `LaunchError` where the values were spoilt.
        """
        self._report_indices()
        if tracer.get() is not None:
            return lent(self._computed(), self._executor, queue)  # raises
        if self._value:
            self._computed()
            self._detach()
        executor, cell, exported, copied = base_executor(self._executor), self._cell, list[Any](), False

        def attempt(make: bool) -> Missing | None:
            with executor.registry.lock:  # nobody reads an element, or writes, in between
                if type(cell.node) is not Buffer:
                    return None
                settled = settled_if_planned(cell, self._node, executor, make=make)
                if isinstance(settled, Missing):
                    return settled
                del settled  # whoever has it needs it
                uncounted = copied and references([]) is None
                if uncounted or is_lent(getattr(cell.node, "storage", None)) or alone(cell):
                    exported.append(lent(self._computed(), self._executor, queue))
                return None

        while not exported:
            until_planned(attempt)
            if not exported:
                copied = type(cell.node) is Buffer
                self._own()
        return exported[0]

    def _item(self, as_what: str, error: type[ShapeError] = ShapeError) -> Any:
        shape = self.shape
        if shape and (error is RankError or self.size != 1):
            raise error(
                f"{as_what} of an array of shape {shape}",
                place=calling_line(),
                remedy="only an array with shape () is a single number: index it, or reduce it with any, all, sum, …",
            )
        values = self.numpy()
        return values.reshape(())[()] if shape else values[()]

    def _real_item(self, as_what: str) -> Any:
        if self._dtype.is_complex:
            raise DTypeError(
                f"{as_what} of an array of {self.dtype}", place=calling_line(), remedy="take a part: x.real, or abs(x)"
            )
        return self._item(as_what, RankError)

    def __bool__(self) -> bool:
        return bool(self._item("bool"))

    def __int__(self) -> int:
        return int(self._real_item("int"))

    def __float__(self) -> float:
        return float(self._real_item("float"))

    def __complex__(self) -> complex:
        return complex(self._item("complex", RankError))

    def __index__(self) -> int:
        if not self._dtype.is_integer:
            raise DTypeError(
                f"an array of {self.dtype} is no index", place=calling_line(), remedy="convert it: astype(x, int64)"
            )
        return int(self._item("an index", RankError))
