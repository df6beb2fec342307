"""What kernels and host programs mean: they run with NumPy, and faults are found.

operation.py     one operation on arrays
races.py         who touched what, and whether an order lies between
memory.py        memory that is watched for races and bounds
arguments.py     arguments and sizes, checked
counters.py      how much a run did
atomic.py        what an atomic makes of an element
collective.py    what a work-group makes of its values
faults.py        what is said of a fault
values.py        what values are for each work-item
accesses.py      accesses to memory, with every check
asynchronous.py  copies and products that go on
descriptions.py  what boxes are copied by: matrices, and windows of tensors
boxes.py         boxes that one work-item copies
sides.py         both sides of a branch whose warps specialise
turns.py         the turns that warpgroups take
kernel.py        kernels
host.py          host programs
"""
