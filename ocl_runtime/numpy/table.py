"""What each of NumPy's public names is here: one table, which the namespace and NumPy's protocols are made of.

ours       a function over arrays of the device, or an object like NumPy's
numpy      the very object of NumPy's: a dtype, a constant, a setting of the host
writes     NumPy's function on values that are downloaded, because it prints or stores them
reads      NumPy's function, whose result is uploaded
missing    not there; the entry says what comes nearest
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np

from ocl_runtime.arrays import Array
from ocl_runtime.numpy import (
    calculus,
    creation,
    elementwise,
    grids,
    hosted,
    information,
    joining,
    mathematics,
    picking,
    places,
    products,
    reductions,
    searching,
    shapes,
)
from ocl_runtime.numpy.missing import MISSING
from ocl_runtime.numpy.ufuncs import ufunc

Kind: TypeAlias = Literal["ours", "numpy", "writes", "reads", "missing"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What a name is: `value` is the object, `nearest` what to use where there is none."""

    kind: Kind
    value: Any = None
    nearest: str = ""


_MODULES = (
    calculus, creation, grids, information, joining, mathematics, picking, places, products, reductions, searching,
    shapes,
)  # fmt: skip

_SAME = """
    False_ ScalarType True_ __version__ base_repr binary_repr bool bool_ byte bytes_ cdouble character clongdouble
    complex128 complex256 complex64 complexfloating csingle datetime64 double dtype dtypes e errstate euler_gamma
    exceptions finfo flexible float128 float16 float32 float64 floating generic get_include get_printoptions getbufsize
    geterr geterrcall half iinfo index_exp inexact inf info int16 int32 int64 int8 int_ intc integer intp isdtype
    issubdtype iterable little_endian long longdouble longlong mintypecode nan ndenumerate ndindex newaxis number
    object_ pi printoptions promote_types s_ sctypeDict set_printoptions setbufsize seterr seterrcall short show_config
    show_runtime signedinteger single str_ testing timedelta64 typecodes typename typing ubyte uint uint16 uint32 uint64
    uint8 uintc uintp ulong ulonglong unsignedinteger ushort void
"""


def _entries() -> dict[str, Entry]:
    names: dict[str, Entry] = {}
    for name, nearest in MISSING.items():
        names[name] = Entry("missing", nearest=nearest)
    for name in _SAME.split():
        if hasattr(np, name):  # some depend on the platform
            names[name] = Entry("numpy", getattr(np, name))
    for name, value in hosted.WRITERS.items():
        names[name] = Entry("writes", value)
    for name, value in hosted.READERS.items():
        names[name] = Entry("reads", value)
    for name, value in elementwise.UFUNCS.items():
        names[name] = Entry("ours", value)
    for name, other in elementwise.ALIASES.items():
        names[name] = Entry("ours", elementwise.UFUNCS[other])
    for module in _MODULES:
        for name in module.__all__:
            names[name] = Entry("ours", getattr(module, name))
    names["ndarray"] = Entry("ours", Array)
    names["ufunc"] = Entry("ours", ufunc)
    return names


TABLE = MappingProxyType(_entries())
"""By name."""
