"""What each of NumPy's public names is here: one table, which the namespace and NumPy's protocols are made of.

ours       a function over arrays of the device, or an object like NumPy's
numpy      the very object of NumPy's: a dtype, a constant, a setting of the host
writes     NumPy's function on values that are downloaded, because it prints or stores them
reads      NumPy's function, whose result is uploaded
missing    not there; the entry says what comes nearest
"""

from __future__ import annotations

from dataclasses import dataclass
from types import FunctionType, MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np

from ocl_runtime.arrays import Array
from ocl_runtime.numpy import (
    calculus,
    counting,
    creation,
    einsum,
    elementwise,
    fft,
    grids,
    histograms,
    hosted,
    information,
    joining,
    linalg,
    mathematics,
    picking,
    places,
    polynomials,
    products,
    quantiles,
    reductions,
    searching,
    sets,
    shapes,
    sorting,
)
from ocl_runtime.numpy.results import numpys
from ocl_runtime.numpy.ufuncs import ufunc

Kind: TypeAlias = Literal["ours", "numpy", "writes", "reads", "missing"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What a name is: `value` is the object, `nearest` what to use where there is none."""

    kind: Kind
    value: Any = None
    nearest: str = ""


_MODULES = (
    calculus, counting, creation, einsum, grids, histograms, information, joining, mathematics, picking, places,
    polynomials, products, quantiles, reductions, searching, sets, shapes, sorting,
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
"""NumPy's own objects. Some depend on the platform."""

_DOWNLOADS = "numpy.{name}(x) takes arrays too: it runs in NumPy on a copy that is downloaded"
_OF_HOST = "numpy.{name} makes arrays of the host; asarray(…) uploads them"
_DATES = "arrays have no dates: use integers, and numpy.{name} on the host"
_OBJECTS = "arrays have no such elements: use numpy.{name} on the host"
_FUNCTIONS = (
    "write it with functions of arrays, such as where(…), which run as one kernel; or use numpy.{name} on x.numpy()"
)

_MISSING: dict[str, str] = {
    _DOWNLOADS: """
        sort_complex
    """,
    _OF_HOST: "memmap",
    _DATES: "busday_count busday_offset busdaycalendar datetime_as_string datetime_data is_busday isnat",
    _OBJECTS: "char rec recarray record strings",
    _FUNCTIONS: "apply_along_axis frompyfunc nditer nested_iters vectorize",
    "draw with numpy.random.default_rng(seed), and upload with asarray(…)": "random",
    "for missing elements, use NaN with nansum and its kin, or where(mask, x, value)": "ma",
    "use polyval, polyadd, polymul, polyder, polyint; or numpy.{name} on the host": "poly1d polynomial",
    "matrices are arrays with two axes here: use @ for their product": "asmatrix bmat matrix",
    "arrays are in row-major order: x.T has the columns as rows": "asfortranarray",
    "use broadcast_shapes or broadcast_arrays": "broadcast",
    "use ravel(x), which is a view": "flatiter",
    "arrays are real: check the domain first, as in where(x >= 0, sqrt(x), nan)": "emath",
    "use isin": "in1d",
    "use trapezoid": "trapz",
    "it is about NumPy itself: use numpy.{name}": "core ctypeslib f2py lib test",
}
"""What comes nearest, and for which names. Random numbers come later: then their names move from here to the modules
that compute them."""


def _entries() -> dict[str, Entry]:
    names: dict[str, Entry] = {}
    for nearest, missing in _MISSING.items():
        for name in missing.split():
            names[name] = Entry("missing", nearest=nearest.format(name=name))
    for name in _SAME.split():
        if hasattr(np, name):
            names[name] = Entry("numpy", getattr(np, name))
    for name, value in hosted.WRITERS.items():
        names[name] = Entry("writes", value)
    for name, value in hosted.READERS.items():
        names[name] = Entry("reads", _public(value))
    for name, value in elementwise.UFUNCS.items():
        names[name] = Entry("ours", value)
    for name, other in elementwise.ALIASES.items():
        names[name] = Entry("ours", elementwise.UFUNCS[other])
    for module in _MODULES:
        for name in module.__all__:
            names[name] = Entry("ours", _public(getattr(module, name)))
    names["linalg"] = Entry("ours", linalg)
    names["fft"] = Entry("ours", fft)
    names["ndarray"] = Entry("ours", Array)
    names["ufunc"] = Entry("ours", ufunc)
    return names


def _public(value: Any) -> Any:
    """A function as the namespace has it."""
    if not isinstance(value, FunctionType):
        return value
    public = numpys(value)
    public.__module__ = "ocl_runtime.numpy"  # where pickle finds it
    return public


TABLE = MappingProxyType(_entries())
"""By name."""
