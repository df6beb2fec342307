"""Linear algebra: what `ocl_ir.graph.linalg` names, as launches.

scalars.py     what formulas of real and complex numbers share
groups.py      what work-items of a group do together
matrices.py    parts of the matrices of a batch
triangular.py  triangular systems
cholesky.py    Cholesky factors
lu.py          LU factors with partial pivoting, and systems solved with them
qr.py          Householder reflectors, and what they make of a matrix
jacobi.py      rows made orthogonal, for eigenvalues and singular values
"""
