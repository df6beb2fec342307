"""All cases, in the order in which they are shown.

elementwise.py  element by element, views, stencils
movement.py     reversed, transposed, permuted
reductions.py   sums, maxima, running sums, norms
indexing.py     masks, elements and writes by index, counts
programs.py     programs in which arithmetic counts
"""

from ocl_runtime.commands.bench.cases import elementwise, indexing, movement, programs, reductions

GROUPS = {
    "elementwise": elementwise.CASES,
    "movement": movement.CASES,
    "reductions": reductions.CASES,
    "indexing": indexing.CASES,
    "programs": programs.CASES,
}
CASES = tuple(case for cases in GROUPS.values() for case in cases)
