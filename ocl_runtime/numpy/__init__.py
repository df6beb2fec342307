"""NumPy's names and signatures over arrays of the device.

    import ocl_runtime.numpy as np

    x = np.linspace(0, 1, 1000)                  # float64, as in NumPy, where the device has it
    y = np.where(x > 0.5, np.sin(x), 0).sum()    # an expression, as with `ocl_runtime`

The arrays are those of `ocl_runtime`, whose namespace is the array API standard's, clean of NumPy's spellings.
`TABLE` says what each of NumPy's public names is here; one that is missing raises an `AttributeError` with what comes
nearest. See docs/NUMPY.md. In the order in which they use each other:

    promotion.py     which dtype NumPy gives, and what stands for float64 where there is none
    operands.py      what functions take: anything that makes an array, out=, where=
    results.py       results whose operators go on as NumPy's
    translated.py    functions that are written in the kernel language
    folds.py         what ufuncs make of several elements
    ufuncs.py        NumPy's elementwise functions as objects
    elementwise.py   the ufuncs, one row each
    mathematics.py   elementwise functions that are no ufuncs
    reductions.py    reductions and running sums
    shapes.py        elements moved
    joining.py       arrays put together, elements repeated
    grids.py         lines, grids, windows
    creation.py      arrays from data and from nothing
    places.py        places to index with, diagonals
    picking.py       elements at places, and by conditions
    products.py      products, covariances, convolutions
    linalg.py        factors, systems, eigenvalues and singular values of matrices
    subscripts.py    the labels of einsum
    einsum.py        sums of products of axes with labels
    searching.py     where elements are
    sorting.py       elements in order
    weighted_quantiles.py  quantiles of elements with weights
    quantiles.py     medians and quantiles
    sets.py          distinct elements, membership, what is in both or in one
    fft.py           Fourier transforms
    counting.py      how often values come
    bin_rules.py     how many bins a histogram has by a rule
    histograms.py    how many elements, or points, lie between edges
    calculus.py      differences, integrals, interpolation
    polynomials.py   polynomials: arithmetic, zeros, least squares
    information.py   questions about arrays and dtypes
    hosted.py        NumPy's own functions around a transfer that is meant
    table.py         what each name is, and for those that are missing what comes nearest
    protocols.py     NumPy's own functions called with arrays of the device
"""

from typing import Any

from ocl_ir.source_line import calling_line as _calling_line
from ocl_runtime.errors import MissingNameError as _MissingNameError
from ocl_runtime.numpy.table import TABLE

_there = {name: entry.value for name, entry in TABLE.items() if entry.kind != "missing"}
globals().update(_there)

__all__ = [*_there]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    entry = TABLE.get(name)
    if entry is None:
        raise AttributeError(f"module 'ocl_runtime.numpy' has no attribute {name!r}")
    raise _MissingNameError(f"ocl_runtime.numpy has no {name}", place=_calling_line(), remedy=entry.nearest)


def __dir__() -> list[str]:
    return __all__
