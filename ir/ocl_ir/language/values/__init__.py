"""What expressions of a kernel have for values, what names and builtins are, and which types meet where:

values.py            what expressions have for values
grids.py             how a group shares a tile
multiples.py         which powers of two divide integers
promotion.py         which type numbers meet in
host_numbers.py      what the host computes with Python floats of a call
loops.py             what range, unrolled and hint give
swizzles.py          names of components of vectors
scopes.py            names and their versions
captures.py          names of Python's own scopes
table.py             what a builtin is
python_functions.py  Python's own functions as builtins
"""
