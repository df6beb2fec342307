"""Linear algebra over lazy arrays: the extension `linalg` of the array API standard, and what SciPy users look for.

    import ocl_runtime as ocl

    x = ocl.linalg.solve(a, b)          # LU with partial pivoting
    u, s, vh = ocl.linalg.svd(a, full_matrices=False)

Matrices are the last two axes of float32, float64, complex64 and complex128 arrays, all axes in front are a batch.
Results are expressions; only what NumPy raises `LinAlgError` for is found out at once, by one flag (docs/LINALG.md). In
the order in which functions use each other:

    operands.py   what matrices are, and what is wrong with them
    vectors.py    diagonals, products and norms of vectors
    factors.py    Cholesky and QR factors, triangular systems
    systems.py    systems, inverses, determinants, powers
    spectra.py    eigenvalues of symmetric matrices, and singular values
    eigen.py      eigenvalues of general matrices
    ranks.py      what singular values tell: norms, ranks, pseudo-inverses, least squares
"""

from ocl_runtime.arrays import matmul, matrix_transpose, tensordot, vecdot
from ocl_runtime.linalg.eigen import eig, eigvals
from ocl_runtime.linalg.factors import cholesky, qr, solve_triangular
from ocl_runtime.linalg.ranks import cond, lstsq, matrix_norm, matrix_rank, pinv
from ocl_runtime.linalg.spectra import eigh, eigvalsh, svd, svdvals
from ocl_runtime.linalg.systems import det, inv, matrix_power, slogdet, solve
from ocl_runtime.linalg.vectors import cross, diagonal, outer, trace, vector_norm

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
