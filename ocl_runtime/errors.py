"""The error tree. Each error states the fact, the place and the remedy.

Error
├── IRError                 a piece of IR that is not well formed
│   └── VerifyError         a whole kernel that broke a rule of the verifier
├── KernelError             a kernel in Python that is not well formed: points at its source
├── KernelAssertionError    (also AssertionError)  checked mode: an assertion of a kernel does not hold
├── ZeroDivisorError        (also ZeroDivisionError)  checked mode: a kernel divides an integer by 0
├── DTypeError              (also TypeError)   a dtype that an operation, argument or device does not take
├── ShapeError              (also ValueError)  shapes, axes, sizes or indices that do not fit
│   ├── MatrixShapeError    (also LinAlgError)  no matrices, or not square ones, where an algorithm needs them
│   ├── IndexingError       (also IndexError)  an index, a mask or an axis that an array does not have
│   └── RankError           (also TypeError)   len, iter or float of an array with too few or too many axes
├── MemoryAccessError       (also IndexError)  interpreter: access outside of an allocation
├── DataRaceError           interpreter: two work-items, one element, no order
├── NumberRangeError        (also OverflowError)  a number that a dtype, or an index of a kernel, cannot hold
├── LinAlgError             (also LinAlgError)  as NumPy's: a matrix that is singular or not positive definite
├── DistributionError       (also ValueError)  a seed, a state or a parameter that random numbers cannot have
├── SettingError            (also ValueError)  a setting or environment variable that makes no sense
├── InputFileError          (also OSError)     a file that is missing or cannot be read or written
├── SharingError            (also BufferError and ValueError)  memory that another library and this one cannot share
├── DeviceError             something about a device
│   ├── NoDeviceError       no usable OpenCL device at all: says what to install
│   ├── UnknownDeviceError  (also LookupError) no device by that name, vendor or kind: lists those there are
│   ├── MixedDevicesError   (also ValueError)  values of two runtimes in one operation
│   └── LaunchError         (also RuntimeError) the driver refused or failed a command
├── OutOfMemoryError        (also MemoryError) the device has no room
├── MissingNameError        (also AttributeError)  a name of NumPy's that `ocl_runtime.numpy` does not have
├── TransferError           (also TypeError)  a function of NumPy's that would download, where that is not allowed
└── BuildError              OpenCL C that did not build: source around the line, IR statement, Python line

Warnings, each a UserWarning:

TransferWarning             a function of NumPy's ran on a downloaded copy
PrecisionWarning            float32 stands for float64, which the device does not have
SettingWarning              an environment variable looks like a setting and is none
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ocl_ir.errors import (
    DataRaceError,
    DTypeError,
    Error,
    IndexingError,
    IRError,
    MemoryAccessError,
    RankError,
    ShapeError,
    VerifyError,
)
from ocl_ir.language.errors import KernelError, ZeroDivisorError


class KernelAssertionError(Error, AssertionError):
    """An assertion of a kernel that runs in checked mode does not hold."""


class NumberRangeError(Error, OverflowError):
    """A Python number that the dtype of the array beside it, or an index of a kernel, cannot hold."""


class LinAlgError(Error, np.linalg.LinAlgError):
    """A matrix that is singular or not positive definite, where that must not be."""


class MatrixShapeError(ShapeError, LinAlgError):
    """Arrays that an algorithm of linear algebra does not take as matrices: not square, or with too few axes."""


class DistributionError(Error, ValueError):
    """A seed, a state or a parameter that random numbers cannot have."""


class SettingError(Error, ValueError):
    """A setting or environment variable that makes no sense."""


class InputFileError(Error, OSError):
    """A file that is missing, or cannot be read or written."""


class SharingError(Error, BufferError, ValueError):
    """Memory that another library and this one cannot share, or not as asked: a BufferError for the array API standard,
    a ValueError for NumPy."""


class DeviceError(Error):
    """Something about a device."""


class NoDeviceError(DeviceError):
    """No usable OpenCL device at all."""


class UnknownDeviceError(DeviceError, LookupError):
    """No device by that name, vendor or kind."""


class MixedDevicesError(DeviceError, ValueError):
    """Values of two runtimes in one operation."""


class LaunchError(DeviceError, RuntimeError):
    """The driver refused or failed a command."""


class OutOfMemoryError(Error, MemoryError):
    """The device has no room for an allocation."""


class MissingNameError(Error, AttributeError):
    """A name of NumPy's that `ocl_runtime.numpy` does not have."""


class TransferError(Error, TypeError):
    """A function of NumPy's would download an array, and OCL_RUNTIME_NUMPY=error."""


class TransferWarning(UserWarning):
    """A function of NumPy's, which arrays do not have, ran on a copy that was downloaded for it."""


class SettingWarning(UserWarning):
    """The environment has a variable that looks like a setting and is none."""


class PrecisionWarning(UserWarning):
    """A device without float64 computes in float32 what NumPy computes in float64."""


class BuildError(Error):
    """OpenCL C that did not build; `source` is the whole text and `log` the compiler's."""

    def __init__(self, fact: str, *, source: str, log: str, place: str = "", remedy: str = "") -> None:
        self.source = source
        self.log = log
        super().__init__(fact, place=place, remedy=remedy)


class NoRoomYetError(Exception):
    """Memory has room for what was asked once commands have ended, for which `wait` waits. Only who asks for memory
    without waiting for it gets this: who has a lock gives it back, waits, and asks again."""

    def __init__(self, wait: Callable[[], None]) -> None:
        super().__init__("there is no room before commands have ended")
        self.wait = wait


__all__ = [
    "BuildError",
    "DTypeError",
    "DataRaceError",
    "DeviceError",
    "DistributionError",
    "Error",
    "IRError",
    "IndexingError",
    "InputFileError",
    "KernelAssertionError",
    "KernelError",
    "LaunchError",
    "LinAlgError",
    "MatrixShapeError",
    "MemoryAccessError",
    "MissingNameError",
    "MixedDevicesError",
    "NoDeviceError",
    "NumberRangeError",
    "OutOfMemoryError",
    "PrecisionWarning",
    "RankError",
    "SettingError",
    "SettingWarning",
    "ShapeError",
    "SharingError",
    "TransferError",
    "TransferWarning",
    "UnknownDeviceError",
    "VerifyError",
    "ZeroDivisorError",
]
