"""Products of matrices:

contraction.py     what is to be multiplied, and the parts of a long inner axis
blocks.py          launches of kernels in which each work-item has a block
block_kernel.py    those kernels
panel.py           the panels that operands are packed in
packing.py         the launch that packs them
packing_kernel.py  its kernels
panels.py          launches of kernels in which each work-item multiplies some panels, and which register block
panel_kernel.py    those kernels
tile.py            the tile of a work-group, and how its work-items share it
candidates.py      which tiles there are, and a model of their times, which chooses
stage.py           an operand on its way to local memory
fma.py             stages and sums of products by fused multiply-adds
matrix.py          the same by matrix instructions
warpgroup.py       the same by instructions of warpgroups
held.py            the same where work-items hold an operand
windows.py         operands of convolutions as windows of a tensor, which boxes can bring
box_copies.py      an operand on its way to local memory in boxes
pipeline.py        how the next steps come while a group multiplies one
maps_kernel.py     the kernel that describes operands for copies of boxes
tile_kernel.py     kernels in which each work-group has a tile
tiles.py           their launches
copies.py          operands that are copied before, so that they can be read fast
variant.py         the ways that are worth being measured, as data
launches.py        which of them it is
"""
