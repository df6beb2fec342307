"""Products of matrices:

contraction.py   what is to be multiplied, and the parts of a long inner axis
blocks.py        launches of kernels in which each work-item has a block
block_kernel.py  those kernels
panel.py         the panels that operands are packed in
packing.py       the launch that packs them
packing_kernel.py its kernels
panels.py        launches of kernels in which each work-item multiplies some panels, and which register block
panel_kernel.py  those kernels
tile.py          the tile of a work-group, and how its work-items share it
stage.py         an operand on its way to local memory
tiles.py         launches of kernels in which each work-group has a tile, and which tile
tile_kernel.py   those kernels
variant.py       the ways that are worth being measured, as data
launches.py      which of them it is
"""
