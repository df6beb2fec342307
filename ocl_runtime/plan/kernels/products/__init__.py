"""Products of matrices:

contraction.py   what is to be multiplied, and the parts of a long inner axis
blocks.py        launches of kernels in which each work-item has a block
block_kernel.py  those kernels
tile.py          the tile of a work-group, and how its work-items share it
candidates.py    which tile it is, and in how many parts
stage.py         an operand on its way to local memory
fma.py           products by fused multiply-adds
matrix.py        products by matrix instructions
warpgroup.py     products by instructions of warpgroups
pipeline.py      how the steps of an operand follow each other
tiles.py         launches of kernels in which each work-group has a tile
maps_kernel.py   the kernel that describes matrices to units that copy boxes
tile_kernel.py   those kernels
variant.py       the ways that are worth being measured, as data
launches.py      which of them it is
"""
