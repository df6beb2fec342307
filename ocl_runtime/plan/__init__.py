"""From array expressions to kernels and launches.

In the order in which an expression goes through them:

    target.py           the device as the planner sees it
    natural.py          how a node's elements lie in memory
    chain.py            movements between a kernel's index space and what it reads
    naming.py           names and notes for the reader of generated code
    neighbours.py       which reads of one memory may share a pointer
    cost.py             what computing a value again costs, and what keeping it
    ways.py             how often a node would be computed if it was not stored
    fuse.py             cuts an expression into groups, each of which becomes one kernel
    bundle.py           groups that share a kernel
    merge.py            joins groups into kernels with several results
    form.py             what a kernel's code depends on: the key of the cache
    windows.py          what the terms of a stencil share
    accesses.py         how a kernel reaches the leaves of its values
    body.py             the parts of kernels that all share
    elementwise.py      launches for elementwise groups
    elementwise_kernel.py kernels for them
    order.py            in which order a reduction joins its elements
    reduce.py           launches for reductions
    reduce_kernel.py    what their kernels share
    reduce_rows.py      those that go along rows
    reduce_columns.py   those that go along columns
    contract.py         how matrices are multiplied
    contract_kernel.py  kernels for that
    scan.py             how a running sum is computed
    scan_kernel.py      kernels for running sums
    scatter.py          kernels that write at computed places
    cache.py            kernels by their form
    launch.py           a kernel with its arguments and sizes
    executor.py         what is needed of a runtime
    handles.py          where values are, until their last use
    memory.py           where the results of a plan lie, and what is written over what
    planner.py          all of it together
    relative.py         expressions without memory, sizes and scalars
    spare.py            what of them nobody else needs
    plans.py            plans that are made once for all expressions that are alike
    spread.py           their launches on several streams
    explain.py          a plan for a person to read
    tracing.py          who writes down what would be computed, instead of computing it
    registry.py         the arrays of a runtime
    checks.py           places in index arrays, checked on the device
    evaluate.py         computing nodes, and replacing them wherever they are
    host/               from a bound host program to one that can be replayed
"""
