"""Lazy arrays with NumPy's meaning and the names of the Python array API standard 2025.12.

In the order in which an operation goes through them:

    dtypes.py           dtypes, promotion, limits
    table.py            the elementwise functions, one row each
    semantics.py        what they mean in nodes of the graph
    current_runtime.py  which runtime is in use
    reals.py            runtimes with another default real
    basic_index.py      what basic indices pick, remembered
    broadcasting.py     two operands given one shape
    products.py         what products of matrices mean in nodes
    writing.py          what writes mean in nodes
    indexing.py         what index arrays mean in nodes
    masks.py            what masks mean in nodes
    elements.py         elements that were read, and writes behind them
    pending.py          long pending work, started by itself
    progress.py         a line on the terminal while planning and building take long
    core.py             what every array is
    axes.py             axes and shapes as users give them
    hosts.py            values of the host
    operands.py         operands as nodes
    operations.py       the node of an elementwise function
    operators.py        Python's operators
    subscripts.py       indexing and writing
    values.py           what others get of a computed array
    exports.py          values for NumPy, Python, DLPack and PyOpenCL
    display.py          arrays as text
    methods.py          the methods that people type
    numpy_calls.py      NumPy's own functions called with arrays
    array.py            the array
    functions.py        elementwise functions
    manipulation.py     views
    joining.py          arrays put together, repeated and padded
    taking.py           elements at computed places
    creation.py         arrays from data and from nothing
    statistics.py       reductions
    searching.py        where elements are
    linear_algebra.py   products of matrices and vectors
    scans.py            running sums
    explaining.py       what computing would do
    transfers.py        values to and from the host without waiting
    interop.py          arrays of other libraries
    inspection.py       what there is, by the standard
"""

from math import e, inf, nan, pi

from ocl_runtime.arrays.array import Array, compute
from ocl_runtime.arrays.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from ocl_runtime.arrays.current_runtime import current, set_default, use
from ocl_runtime.arrays.dtypes import bool_ as bool  # noqa: A004
from ocl_runtime.arrays.dtypes import (
    can_cast,
    finfo,
    float16,
    float32,
    float64,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    isdtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ocl_runtime.arrays.explaining import explain
from ocl_runtime.arrays.functions import (  # noqa: A004
    abs,
    acos,
    acosh,
    add,
    asin,
    asinh,
    astype,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_count,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    cbrt,
    ceil,
    clip,
    clz,
    conj,
    copysign,
    cos,
    cosh,
    divide,
    equal,
    erf,
    exp,
    exp2,
    expm1,
    floor,
    floor_divide,
    fma,
    fmod,
    greater,
    greater_equal,
    hypot,
    imag,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    pow,
    real,
    reciprocal,
    remainder,
    result_type,
    round,
    rsqrt,
    sign,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    trunc,
    where,
)
from ocl_runtime.arrays.inspection import __array_namespace_info__
from ocl_runtime.arrays.interop import from_dlpack, from_pyopencl
from ocl_runtime.arrays.joining import concat, diff, pad, repeat, roll, stack, tile
from ocl_runtime.arrays.linear_algebra import matmul, tensordot, vecdot
from ocl_runtime.arrays.manipulation import (  # noqa: A004
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    expand_dims,
    flip,
    matrix_transpose,
    moveaxis,
    permute_dims,
    reshape,
    squeeze,
    unstack,
)
from ocl_runtime.arrays.scans import cumulative_prod, cumulative_sum
from ocl_runtime.arrays.searching import argmax, argmin, isin, searchsorted
from ocl_runtime.arrays.statistics import (  # noqa: A004
    all,
    any,
    count_nonzero,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from ocl_runtime.arrays.taking import nonzero, take, take_along_axis
from ocl_runtime.arrays.transfers import Download, allocate, compute_into, download, pinned_empty, upload

newaxis = None
__array_api_version__ = "2025.12"

__all__ = [
    "Array",
    "Download",
    "__array_api_version__",
    "__array_namespace_info__",
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "allocate",
    "any",
    "arange",
    "argmax",
    "argmin",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bool",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "cbrt",
    "ceil",
    "clip",
    "clz",
    "compute",
    "compute_into",
    "concat",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "current",
    "diff",
    "divide",
    "download",
    "e",
    "empty",
    "empty_like",
    "equal",
    "erf",
    "exp",
    "exp2",
    "expand_dims",
    "explain",
    "expm1",
    "eye",
    "finfo",
    "flip",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "fma",
    "fmod",
    "from_dlpack",
    "from_pyopencl",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "hypot",
    "iinfo",
    "imag",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "linspace",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "nan",
    "negative",
    "newaxis",
    "nextafter",
    "nonzero",
    "not_equal",
    "ones",
    "ones_like",
    "pad",
    "permute_dims",
    "pi",
    "pinned_empty",
    "positive",
    "pow",
    "prod",
    "real",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "round",
    "rsqrt",
    "searchsorted",
    "set_default",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "tril",
    "triu",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unstack",
    "upload",
    "use",
    "var",
    "vecdot",
    "where",
    "zeros",
    "zeros_like",
]
