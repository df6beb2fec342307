"""From groups to kernels and their arguments:

lowering.py         with what expressions become launches
form.py             what a kernel's code depends on: the key of the cache
naming.py           names and notes for the reader of generated code
windows.py          what the terms of a stencil share
accesses.py         how a kernel reaches the leaves of its values
body.py             the parts of kernels that all share
instructions.py     single instructions of one vendor as operations
fragments.py        what work-items exchange of a warpgroup's product
elementwise.py      launches for elementwise groups
elementwise_kernel.py kernels for them
transpose.py        launches for those that turn some of what they read
transpose_kernel.py kernels for them
reduce.py           launches for reductions
reduce_team.py      the work-items that have a result together
reduce_kernel.py    what their kernels share
reduce_rows.py      those that go along rows
reduce_held.py      those that hold rows in registers
reduce_columns.py   those that go along columns
products/           products of matrices
scan.py             how a running sum is computed
scan_kernel.py      kernels for running sums
scan_tile.py        what of them reads, scans and writes a tile
scan_one_pass.py    those whose work-groups wait for each other
scatter.py          kernels that write at computed places
scatter_table_kernel.py kernels that join many values at computed places
pack_kernel.py      kernels that pack what a mask holds for
sort.py             how rows are sorted
sort_elements.py    the bits of elements, and the keys that order them
sort_rows_kernel.py kernels that sort short rows
sort_pass_kernel.py kernels of a pass of the radix sort
custom_call.py      which function lowers an algorithm of the library
library_kernel.py   kernels of such algorithms over arrays in memory, and their launches
fourier/            Fourier transforms
linalg/             linear algebra
attention/          attention in one kernel
winograd.py         convolutions by Winograd's method
contiguous.py       the launches of what is to be in memory
cache.py            kernels by their form
"""
