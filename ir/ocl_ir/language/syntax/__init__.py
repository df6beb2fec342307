"""Functions of Python as syntax trees, and what is seen of them before they are translated:

source.py    the syntax tree of a function
liveness.py  names that are read behind a branch or a loop
returns.py   helpers with one result
products.py  `acc += a @ b`
"""
