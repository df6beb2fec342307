"""What is known to be wrong with a kernel before a device sees it, and what barriers order:

fences.py        which memory barriers order
local_memory.py  what is provably wrong with local memory
divergence.py    barriers that only a part of a group comes to
"""
