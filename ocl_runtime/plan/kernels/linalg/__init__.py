"""Linear algebra: what `ocl_ir.graph.linalg` names, as launches.

scalars.py     what formulas of real and complex numbers share
groups.py      what work-items of a group do together
matrices.py    parts of the matrices of a batch
panels.py      a few columns that a group of a GPU holds
triangular.py  triangular systems
cholesky.py    Cholesky factors
lu.py          LU factors with partial pivoting, and systems solved with them
qr.py          Householder reflectors, and what they make of a matrix
jacobi.py      rows made orthogonal, for eigenvalues of symmetric matrices and singular values
balance.py     rows and columns made of like length
hessenberg.py  matrices made upper Hessenberg by reflectors
standard_block.py  real blocks of 2 × 2 on a diagonal
schur.py       matrices made triangular by QR iterations
eigenvectors.py    vectors of triangular matrices by back substitution
eigen.py       eigenvalues and eigenvectors of general matrices, which these steps make
"""
