"""Kernels as plain Python: a thread for each work-item of a group, NumPy for its numbers, real frames for a debugger.

    work_item.py    the work-item that a thread is
    printing.py     what is printed
    numbers.py      an index and a typed number, with Python's operators
    arrays.py       elements and views
    builtins.py     what builtins of a work-item are
    collectives.py  what a group or a sub-group makes of its values
    tiles.py        tiles
    functions.py    functions of numbers
    names.py        a function that sees these meanings
    run.py          groups, one after the other

Its rules for types are those of `ocl_ir.language.values.promotion`; what it computes, NumPy does.
"""
