"""From a bound host program to one that can be replayed, in order:

lower.py     launches as statements of a program
copies.py    copies and fills as kernels
in_place.py  which results are written over operands
streams.py   on which stream each node runs
sweep.py     which scratch buffers interfere, and a first placement
bound.py     the least scratch memory that there must be
memory.py    where scratch memory lies
waits.py     for what each node waits
prepare.py   all of these
"""
