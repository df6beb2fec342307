"""All cases, in the order in which they are shown.

elementwise.py  element by element, views, stencils
movement.py     reversed, transposed, permuted
reductions.py   sums, maxima, running sums, norms
indexing.py     masks, elements and writes by index, counts
programs.py     programs in which arithmetic counts
products.py     products of matrices
attention.py    attention and its gradients
convolutions.py convolutions
algorithms.py   sorts, searches, Fourier transforms, linear algebra
"""

from ocl_runtime.commands.bench.cases import (
    algorithms,
    attention,
    convolutions,
    elementwise,
    indexing,
    movement,
    products,
    programs,
    reductions,
)

GROUPS = {
    "elementwise": elementwise.CASES,
    "movement": movement.CASES,
    "reductions": reductions.CASES,
    "indexing": indexing.CASES,
    "programs": programs.CASES,
    "matmul": products.CASES,
    "attention": attention.CASES,
    "conv": convolutions.CASES,
    "algorithms": algorithms.CASES,
}
CASES = tuple(case for cases in GROUPS.values() for case in cases)
