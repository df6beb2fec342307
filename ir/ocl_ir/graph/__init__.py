"""Array expressions.

nodes.py      their grammar
library_algorithm.py  what an algorithm of the library is to it
fourier.py    Fourier transforms as such
linalg.py     algorithms of linear algebra as such
attention.py  attention as such
winograd.py   convolutions by Winograd's method as such
contiguous.py what is to be in memory, as such
order.py      the order in which axes lie in memory
readers.py    which parts of something were looked at
leaves.py     the way to make those without operands
movements.py  the way to make views
build.py      the way to make all others
printer.py    their text
forward.py    nodes that are in memory by now
substitute.py other nodes in place of some
"""
