"""What `ocl_runtime.language` hands to users:

mathematics.py    builtins of numbers
complex_numbers.py those of complex numbers
tuples.py         Python's functions of tuples
work_items.py     builtins of the index space, memory and loops
printing.py       what work-items print
tiles.py          small arrays of a whole group
tile_builtins.py  builtins of tiles
groups.py         builtins of a whole group
subgroups.py      builtins of neighbouring work-items
registry.py       all builtins
"""
