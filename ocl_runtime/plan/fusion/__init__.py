"""From an expression to groups of operations, each of which becomes a kernel:

values.py           what a group reads, and what it computes of it
canonical.py        how a node's elements lie in memory
chain.py            movements between a kernel's index space and what it reads
layouts.py          layouts of one plan, each worked out once
neighbours.py       which reads of one memory may share a pointer
cost.py             what computing a value again costs, and what keeping it
readers.py          how often a node would be computed if it was not stored
decisions.py        what is decided, for who looks on
growing.py          one group while it grows
groups.py           cuts an expression into groups
operands.py         what products read where it lies
write_order.py      what reads memory before who writes over it
reduction_order.py  in which order a reduction joins its elements
bundles.py          groups that share a kernel
drafts.py           bundles to be
merge.py            joins groups into kernels with several results
products.py         joins products of matrices with what is computed of their elements
prologues.py        joins them with what computes their operands
"""
