"""What `ocl_runtime.language` hands to users:

mathematics.py    builtins of numbers
complex_numbers.py those of complex numbers
tuples.py         Python's functions of tuples
work_items.py     builtins of the index space, memory and loops
printing.py       what work-items print
tile_accesses.py  how a group holds tiles, loads and stores them
tile_stages.py    operands of products on their way to local memory
tile_fma.py       products by fused multiply-adds
tile_matrices.py  products by matrix instructions
tile_products.py  products of tiles
tiles.py          small arrays of a whole group
tile_builtins.py  builtins of tiles
groups.py         builtins of a whole group
subgroups.py      builtins of neighbouring work-items
registry.py       all builtins
"""
