"""Memory handed out again, in the order of its history.

blocks.py       pages, blocks and the free list
sizes.py        how a pool cuts and keeps memory, and what it did
pool.py         blocks for whoever asks, taken back when they are gone
host_memory.py  arrays of the host
storage.py      memory that somebody holds
"""
